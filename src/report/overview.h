/* SPDX-License-Identifier: MIT */
/* overview.h - the first screen of a page: what ran, where it went, what is odd, what to try next
 *
 * Filled in any order before the page is written, for it stands in front of what it is about.
 * docs/report.md says what each finding means, and why its threshold is what it is.
 *
 * Ownership  all strings are copied; pm_overview_release(). */
#ifndef PM_REPORT_OVERVIEW_H
#define PM_REPORT_OVERVIEW_H

#include <stdint.h>
#include <time.h>

#include "base/mem.h"

struct pm_html;

enum pm_overview_top { PM_TOP_FUNCTIONS, PM_TOP_LINES, PM_TOP_OBJECTS, PM_TOPS };
#define PM_TOP_ROWS	8

struct pm_overview {
	struct pm_arena mem;
	const char *what, *command, *measure;	/* measure: what the shares are of */
	size_t processes, threads;	/* 0: not known */
	struct pm_shown_fact { const char *label, *value, *hint; } *fact;
	size_t nfact, cap_fact;
	struct pm_top { const char *name, *place, *link; double percent; }
		top[PM_TOPS][PM_TOP_ROWS];
	unsigned ntop[PM_TOPS];
	struct pm_finding {
		/* cautions are about the numbers themselves: they stand first */
		enum pm_finding_kind { PM_FIND_CAUTION, PM_FIND_ODD } kind;
		double weight;			/* larger ones first */
		const char *id, *number, *title, *text, *link;
	} *finding;
	size_t nfinding, cap_finding;
	struct pm_try { const char *question, *command; } *try;
	size_t ntry, cap_try;
};

/* A command line that a shell takes apart as @argv; borrowed until release. */
const char *pm_overview_command(struct pm_overview *o, char *const *argv);
__attribute__((format(printf, 2, 3)))
const char *pm_overview_text(struct pm_overview *o, const char *fmt, ...);

void pm_overview_fact(struct pm_overview *o, const char *label, const char *value,
		      const char *hint);
/* A moment, in the time zone of whoever writes the page. */
void pm_overview_when(struct pm_overview *o, const char *label, time_t t);
/* Beyond PM_TOP_ROWS nothing is kept. @place and @link may be NULL. */
void pm_overview_top(struct pm_overview *o, enum pm_overview_top which, const char *name,
		     const char *place, const char *link, double percent);
/* @f: its strings are copied. */
void pm_overview_find(struct pm_overview *o, struct pm_finding f);
/* Asked twice, the first stays. */
void pm_overview_try(struct pm_overview *o, const char *question, const char *command);

/* Questions that @root has no answer to, with the command that has: about a program (a command
 * line) or a trace. After the functions at the top are known. */
struct pm_result_node;
void pm_overview_asks(struct pm_overview *o, const struct pm_result_node *root, const char *program,
		      const char *trace);

void pm_overview_html(const struct pm_overview *o, struct pm_html *h);
void pm_overview_release(struct pm_overview *o);

#endif
