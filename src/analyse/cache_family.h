/* SPDX-License-Identifier: MIT */
/* cache_family.h - many hierarchies of caches over one trace: what is the same is simulated once
 *
 * Hierarchies whose first levels are the same share these, whatever their policies: what leaves a
 * level is kept, and goes to each of the next ones. Levels that follow the same ones (or are the
 * first), and are LRU with one line size, are simulated in one pass, whatever their sets and ways
 * (lru_family.h), and an LRU level below each of these takes what leaves several of them at once
 * (lru_below.h). What each of them counts is what it counts alone, to the last counter.
 *
 * What fits into a family: hierarchies of which only the first level is split, if at all; all
 * levels `nine`, none `opt`; no flush=, regions, byinsn. A level can be in one pass with others if
 * it is lru, wb, wa, without sub, victim, wbuf, prefetch, 3c, and has at most line - 2 ways.
 *
 * Threads    a family is called by one thread. */
#ifndef PM_ANALYSE_CACHE_FAMILY_H
#define PM_ANALYSE_CACHE_FAMILY_H

#include "analyse/cache_sim.h"

/* Make families of @c[0..n), which have seen no event. served[i] is set if another one does @c[i]'s
 * work from now on: then it gets no batches, and is asked for results as ever. */
void pm_cache_unite(struct pm_cache *const *c, size_t n, bool *served);

#endif
