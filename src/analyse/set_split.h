/* SPDX-License-Identifier: MIT */
/* set_split.h - hierarchies of caches over one trace, by several threads that share out the sets
 *
 * Address bits that are part of the set's number at every level, and of no level's offset in a
 * line, tell sets of the whole hierarchy apart: what happens to lines that differ in them has
 * nothing to do with each other. So each share of the addresses has a hierarchy of its own, and
 * all counters are sums. A slice of the trace (split.h) is dealt out to the shares by any thread,
 * before its turn has come; each share is a stage, which takes what it got from slices in their
 * order.
 *
 * What can be split so: lru, fifo, plru, srrip, opt; wb, wt, wa, nwa; nine, incl, excl; sub,
 * nofetch, drain; TLBs; if levels have such bits in common (a fully associative level has none).
 * Not what sets have in common: random (one generator), drrip (one duel), victim, wbuf, prefetch,
 * 3c; nor flush, regions, byinsn. */
#ifndef PM_ANALYSE_SET_SPLIT_H
#define PM_ANALYSE_SET_SPLIT_H

#include "analyse/cache_sim.h"
#include "analyse/split.h"

/* NULL whole: its sets cannot be shared out. @threads: how many there will be. */
struct pm_split pm_set_split(struct pm_cache *c, unsigned threads);

#endif
