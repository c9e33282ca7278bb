/* SPDX-License-Identifier: MIT */
/* champsim_abi.h - between pugmark, in C, and a module of ChampSim that was compiled for it
 *
 * A module is C++ source for the simulator ChampSim: a branch predictor, a branch target buffer, a
 * prefetcher or a replacement policy. pugmark compiles it against plugins/champsim, which has
 * ChampSim's interface in its own words; what comes out is a shared object that defines
 * pm_champsim_table. C and C++ both read this file.
 *
 * Units      addresses are 64 bits, virtual; sets and ways count from 0
 * Ownership  create() gives an object, destroy() takes it back. Strings live as long as the object.
 * Errors     a module may throw. Then failed() says what, and every later call does nothing and
 *            answers 0. Nobody has to ask before the end of a batch.
 * Threads    objects of one module may share what they like: all of them belong to one thread */
#ifndef PM_TRACE_CHAMPSIM_ABI_H
#define PM_TRACE_CHAMPSIM_ABI_H

#include <stdbool.h>
#include <stdint.h>

#define PM_CHAMPSIM_ABI		1
#define PM_CHAMPSIM_QUEUE	64	/* requests that a prefetcher may have waiting */

enum pm_champsim_kind {
	PM_CHAMPSIM_BRANCH, PM_CHAMPSIM_BTB, PM_CHAMPSIM_PREFETCHER, PM_CHAMPSIM_REPLACEMENT
};

/* As ChampSim numbers them. */
enum pm_champsim_access {
	PM_CHAMPSIM_LOAD, PM_CHAMPSIM_RFO, PM_CHAMPSIM_PREFETCH, PM_CHAMPSIM_WRITE
};
enum pm_champsim_branch {
	PM_CHAMPSIM_DIRECT_JUMP, PM_CHAMPSIM_INDIRECT, PM_CHAMPSIM_CONDITIONAL,
	PM_CHAMPSIM_DIRECT_CALL, PM_CHAMPSIM_INDIRECT_CALL, PM_CHAMPSIM_RETURN,
	PM_CHAMPSIM_OTHER, PM_CHAMPSIM_NOT_BRANCH
};

/* The level of caches that a module works for. */
struct pm_champsim_level {
	const char *name;			/* as ChampSim would call it */
	uint32_t sets, ways;
	bool virtual_prefetch;			/* prefetches may leave their page */
};

struct pm_champsim_request {
	uint64_t addr;
	uint32_t metadata;
	bool fill;				/* this level; else the next one only */
};

/* Flags in the lowest bits of a line, as find_victim() gets them; the rest is its address. */
#define PM_CHAMPSIM_VALID	1u
#define PM_CHAMPSIM_DIRTY	2u
#define PM_CHAMPSIM_PREFETCHED	4u
#define PM_CHAMPSIM_LINE_FLAGS	7u

struct pm_champsim_module {
	uint32_t abi, kind;
	const char *name;			/* of the struct */
	void *(*create)(const struct pm_champsim_level *l);	/* NULL for branches */
	void (*destroy)(void *self);
	void (*finish)(void *self);		/* its *_final_stats() */
	const char *(*failed)(const void *self);		/* NULL: it has not */
	/* branch predictor: of every instruction, then what a branch did */
	bool (*predict)(void *self, uint64_t pc, uint64_t target, bool always, unsigned type);
	void (*resolve)(void *self, uint64_t pc, uint64_t target, bool taken, unsigned type);
	/* branch target buffer */
	uint64_t (*target)(void *self, uint64_t pc, unsigned type, bool *always);
	void (*update)(void *self, uint64_t pc, uint64_t target, bool taken, unsigned type);
	/* replacement: @lines are the set's. victim() may answer `ways`: the line shall not
	 * stay. */
	uint64_t (*victim)(void *self, uint64_t insn, uint64_t set, const uint64_t *lines,
			   uint64_t pc, uint64_t addr, unsigned type);
	void (*looked_up)(void *self, uint64_t set, uint64_t way, uint64_t addr, uint64_t pc,
			  unsigned type, bool hit);
	void (*filled)(void *self, uint64_t set, uint64_t way, uint64_t addr, uint64_t pc,
		       uint64_t victim, unsigned type);
	/* prefetcher: what it wants is in its queue, and take() empties that into @to */
	void (*operate)(void *self, uint64_t addr, uint64_t pc, bool hit, bool useful,
			unsigned type, uint32_t metadata);
	void (*fill)(void *self, uint64_t addr, uint64_t set, uint64_t way, bool prefetch,
		     uint64_t evicted, uint32_t metadata);
	void (*cycle)(void *self);
	unsigned (*take)(void *self, struct pm_champsim_request *to);
};

#endif
