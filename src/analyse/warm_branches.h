/* SPDX-License-Identifier: MIT */
/* warm_branches.h - all branches of an interval in few bytes: private to warm.c
 *
 * Most branches do what they did when the same eight were before them. A simple predictor says
 * which branch that is, with its target and outcome; only where it is wrong something is stored.
 * (K. Barr and K. Asanovic, "Branch Trace Compression for Snapshot-Based Simulation", ISPASS
 * 2006.) Each interval begins anew, so it can be told by itself.
 *
 *   varint  how many branches
 *   then, until these are told:
 *   varint  so many that were predicted
 *   varint  unless these were the last: the one that was not, counted back from the newest of those
 *           that differ (1); 0: a new one, and then
 *           varint  zigzag(its address - where the branch before it led)
 *           varint  zigzag(target - address)
 *           byte    PM_BR_*
 *           byte    bytes of the instruction
 *
 * Branches differ if any of address, target, outcome and size does. */
#ifndef PM_ANALYSE_WARM_BRANCHES_H
#define PM_ANALYSE_WARM_BRANCHES_H

#include <stdbool.h>

#include "analyse/bpred.h"
#include "base/mem.h"

struct warm_branches;
struct warm_branches *warm_branches_new(void);
void warm_branches_add(struct warm_branches *w, const struct pm_br *b);
/* All that came since the last call; the caller's. */
struct pm_buf warm_branches_end(struct warm_branches *w);
void warm_branches_free(struct warm_branches *w);

/* How many branches @p is. */
uint64_t warm_branches_count(const uint8_t *p, size_t n);
/* Tell @use, unless it is NULL, of all of them, some at a time. False: the bytes are none, or more
 * than @most. */
bool warm_branches_each(const uint8_t *p, size_t n, uint64_t most,
			void (*use)(void *ctx, const struct pm_br *b, size_t n), void *ctx);

#endif
