/* SPDX-License-Identifier: MIT */
/* set_split.h - hierarchies of caches over one trace, by several threads that share out the sets
 *
 * Address bits that are part of the set's number at every level, and of no level's offset in a
 * line, tell sets of the whole hierarchy apart: what happens to lines that differ in them has
 * nothing to do with each other. So each thread simulates the whole hierarchy on its share of the
 * addresses, in the trace's order, and all counters are sums. Each reads the trace for itself.
 *
 * What can be split so: lru, fifo, plru, srrip, opt; wb, wt, wa, nwa; nine, incl, excl; sub,
 * nofetch, drain; flush=switch; TLBs; if levels have such bits in common (a fully associative
 * level has none). Not what sets have in common: random (one generator), drrip (one duel), victim,
 * wbuf, prefetch, 3c; nor flush=N, regions, byinsn. .pug files, of any number of threads.
 *
 * Threads    a part belongs to one thread; parts are joined one by one. */
#ifndef PM_ANALYSE_SET_SPLIT_H
#define PM_ANALYSE_SET_SPLIT_H

#include "analyse/cache_sim.h"

/* Into how many shares @c can be split; 1: it cannot. */
unsigned pm_set_shares(const struct pm_cache *c);
/* Simulate the trace at @path with @threads threads, all of @c[0..n), which have seen no event and
 * can be split. PM_END: the trace is none that can be read so, @why says in which way. Unless it
 * returns PM_OK they have seen nothing. */
enum pm_status pm_set_split_run(const char *path, unsigned threads, struct pm_cache *const *c,
				size_t n, const char **why, struct pm_err *err);

/* ---- one thread's share ---------------------------------------------------------------------- */
struct pm_set_part;
/* Share @me of @of of what @whole simulates. */
struct pm_set_part *pm_set_part_new(const struct pm_cache *whole, unsigned me, unsigned of);
enum pm_status pm_set_part_batch(struct pm_set_part *p, const struct pm_batch *b,
				 struct pm_err *err);
/* The trace has ended. What it counted becomes @whole's, unless that is NULL. Frees it. */
void pm_set_part_end(struct pm_set_part *p, struct pm_cache *whole);

#endif
