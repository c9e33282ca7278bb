/* SPDX-License-Identifier: MIT */
/* stack.h - every LRU cache of a line size in one pass (Mattson's stack, set refinement)
 *
 * For each number of sets the lines of a set are kept most recent first; where a line is found in
 * that list is the smallest associativity that hits. A line that is the most recent of its set is
 * so too with twice the sets, so the pass over the set counts ends there.
 *
 * Counts are those of an LRU cache that allocates on reads and writes: `pm_cache` of the same
 * geometry has the same misses. References that cross a line are two lookups.
 * Configuration: line=N[,N...] (64), sets=FROM-TO (16-16384), ways=N (16),
 * refs=data|insns|all|split. */
#ifndef PM_ANALYSE_STACK_H
#define PM_ANALYSE_STACK_H

#include "pugmark/pugmark.h"

#define PM_STACK_SETS 24		/* set counts at most */

struct pm_stack {			/* one line size, one kind of references */
	unsigned line_shift, ways, first, n;	/* set counts 2^first ... 2^(first + n - 1) */
	uint64_t *tag[PM_STACK_SETS];	/* line + 1; 0 is empty */
	uint64_t lookups;
	uint64_t stop[PM_STACK_SETS];	/* found most recent here and not with fewer sets */
	uint64_t *hist[PM_STACK_SETS];	/* found at place 1.. (place 0 is the sum of stop) */
	uint64_t last;			/* line + 1 of the previous lookup */
};
struct pm_stack *pm_stack_new(unsigned line_shift, unsigned first, unsigned n, unsigned ways);
/* Lookups of @n addresses that cross no line. */
void pm_stack_run(struct pm_stack *s, const uint64_t *addr, size_t n);
/* Misses of the cache with 2^(first + i) sets and @ways ways. */
uint64_t pm_stack_misses(const struct pm_stack *s, unsigned i, unsigned ways);
void pm_stack_free(struct pm_stack *s);

extern const struct pm_sink_ops pm_sim_allcache;

#endif
