/* SPDX-License-Identifier: MIT */
/* reuse.h - exact reuse distances: how many other lines were touched since a line was touched last
 *
 * The distance histogram is the miss-ratio curve of a fully associative LRU cache: a reference with
 * distance d hits in every cache of more than d lines. First touches have no distance ("cold").
 *
 * A bit per point in time says whether the line touched then has not been touched since; the
 * distance is the number of such bits behind the line's previous touch, summed over words, blocks
 * of 64 words and blocks of blocks. When time runs out, the live bits are numbered anew.
 *
 * SHARDS (Waldspurger et al., FAST 2015) keeps only the lines whose hash is below a threshold, 1 in
 * N; distances and counts are multiplied by N, and the difference between the references expected
 * and seen is added to distance 0 (the "adjusted" form). The error is stated: the sampled lines are
 * split by other hash bits into 8 groups, each with a curve of its own, and the curve's standard
 * error is that of the groups' mean. */
#ifndef PM_ANALYSE_REUSE_H
#define PM_ANALYSE_REUSE_H

#include "pugmark/pugmark.h"

struct pm_reuse;
struct pm_reuse *pm_reuse_new(void);
/* One touch of each line (an address shifted right, or anything else that is no ~0) in order. */
void pm_reuse_run(struct pm_reuse *u, const uint64_t *line, size_t n);
/* hist[d] for d < *n; lookups = the sum + cold. */
const uint64_t *pm_reuse_hist(const struct pm_reuse *u, size_t *n);
uint64_t pm_reuse_cold(const struct pm_reuse *u);
uint64_t pm_reuse_lookups(const struct pm_reuse *u);
/* Lines touched at least once since the previous call (or the beginning). */
uint64_t pm_reuse_window(struct pm_reuse *u);
void pm_reuse_free(struct pm_reuse *u);

/* Is @line one of 1 in @rate, and in which of 8 groups? -1: not sampled. */
int pm_shards_group(uint64_t line, uint64_t rate);

extern const struct pm_sink_ops pm_sim_reuse;

#endif
