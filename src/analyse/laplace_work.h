/* SPDX-License-Identifier: MIT */
/* laplace_work.h - the parts of laplace.c: processes, their pages, and caches that all share
 *
 * Units      time is counted in references of user addresses by a process in user mode (its own
 *            time), or in references of all (`seq`). */
#ifndef PM_ANALYSE_LAPLACE_WORK_H
#define PM_ANALYSE_LAPLACE_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "pugmark/pugmark.h"

#define LAP_WINDOWS	4		/* sizes of working-set windows, at most */
#define LAP_BUCKETS	24		/* powers of two of references after a switch */
#define LAP_KERNEL	0xffffu		/* as an agent: the kernel, for whomever it works */
#define LAP_AGENTS	0xffffu		/* processes, at most */

enum lap_access { LAP_FETCH, LAP_LOAD, LAP_STORE };
enum lap_cause { LAP_COLD, LAP_SELF, LAP_BY_KERNEL, LAP_BY_OTHER, LAP_CAUSES };

struct lap_process {
	uint64_t pid;
	char name[64];
	uint64_t refs[2][3];		/* [in the kernel][enum lap_access] */
	uint64_t user;			/* references in user mode: its own time */
	uint64_t switches;		/* to it, from another process */
	uint64_t in, out;		/* seq when it came and went last */
	uint64_t since;			/* its references in user mode since it came */
	uint64_t pages, window[LAP_WINDOWS];	/* sums, as lap_pages_touch() says */
};

/* ---- pages (laplace_pages.c) ---- */
struct lap_pages {
	struct lap_page { uint64_t key, last, refs; } *page;	/* of one process */
	size_t n, cap;
	struct pm_map at;		/* key -> index + 1 */
	struct { uint64_t key; size_t i; } recent[4096];
	uint64_t size[LAP_WINDOWS];
	unsigned windows;
};

/* Process @who in its reference number @p->user touches canonical page @page. */
void lap_pages_touch(struct lap_pages *s, uint32_t who, struct lap_process *p, uint64_t page);
/* At the end: what the last touches add to each process's windows, and how many pages it has. */
void lap_pages_end(struct lap_pages *s, struct lap_process *p);
void lap_pages_sharing(const struct lap_pages *s, struct pm_result *r);
void lap_pages_release(struct lap_pages *s);

/* ---- caches (laplace_cache.c) ---- */
struct lap_counts {
	uint64_t accesses, misses[LAP_CAUSES];
	uint64_t switched;		/* misses on what was displaced while it was away */
};

struct lap_cache {
	const char *name;
	uint64_t size;
	unsigned ways, line;		/* line in bytes */
	uint64_t sets;
	struct lap_cache_line { /* recent first */
		uint64_t line;
		uint32_t agent;
		bool valid;
	} *v;
	struct pm_map gone;		/* line -> seq << 16 | agent that displaced it */
	struct pm_map pairs;		/* agent that misses << 16 | that displaced -> misses */
	struct lap_counts user, kernel;
	struct { uint64_t accesses, misses; } after[LAP_BUCKETS];	/* a switch */
};

/* "16k,1way,32". */
enum pm_status lap_cache_init(struct lap_cache *c, const char *name, const char *config,
			      struct pm_err *err);
/* @va: which set; @line: what is there, whatever address it has; @p: NULL is the kernel. */
void lap_cache_access(struct lap_cache *c, uint64_t va, uint64_t line, uint32_t agent,
		      const struct lap_process *p, uint64_t seq);
void lap_cache_result(const struct lap_cache *c, struct pm_result *r);
/* The pairs of agents with the most misses, @most of them. */
void lap_cache_pairs(const struct lap_cache *c, const struct lap_process *p, unsigned most,
		     struct pm_result *r);
void lap_cache_release(struct lap_cache *c);

/* "pid name" of an agent. */
const char *lap_agent(const struct lap_process *p, uint32_t agent, char *buf, size_t n);

#endif
