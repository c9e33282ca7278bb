/* SPDX-License-Identifier: MIT */
/* phases.h - phases over time: basic-block vectors, clustered into representative regions
 *
 * After SimPoint: every `interval` instructions make a vector of instructions executed per block;
 * vectors are normalised, projected to 15 dimensions by fixed pseudo-random numbers in -1..1, and
 * clustered by k-means (k-means++ starts, 5 of them, fixed seed) for 1..k clusters; the smallest
 * number of clusters whose BIC reaches 90 % of the range of BICs is taken. Each cluster is
 * represented by the interval next to its centre and weighs as much as its share of the
 * instructions.
 *
 * A block begins behind a control transfer or where control does not come from the instruction
 * before. Configuration: interval=N (1000000), k=N (10), bbv=FILE (vectors in SimPoint's
 * format). */
#ifndef PM_ANALYSE_PHASES_H
#define PM_ANALYSE_PHASES_H

#include "pugmark/pugmark.h"

#define PM_PHASE_DIMS 15

struct pm_clusters {
	unsigned k;
	unsigned *of;			/* cluster of each point */
	size_t *best;			/* of each cluster: the point next to its centre */
	double *share;			/* of each cluster */
	double bic;
};
/* @point: n vectors; weight[i] is each one's instructions. */
struct pm_clusters pm_cluster(const double (*point)[PM_PHASE_DIMS], const uint64_t *weight,
			      size_t n, unsigned max_k);
void pm_clusters_release(struct pm_clusters *c);

extern const struct pm_sink_ops pm_sim_phases;

/* What the sink @self has found, after its finish(); lent until it is destroyed. */
struct pm_phases {
	uint64_t interval;
	size_t n;			/* intervals; the last one may be shorter */
	unsigned max_k;
	const double (*point)[PM_PHASE_DIMS];
	const uint64_t *weight;		/* instructions of each */
};
struct pm_phases pm_phases_found(const void *self);

#endif
