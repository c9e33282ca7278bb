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
 * format), loops.
 *
 * With `loops` an interval ends at the first entry of a loop behind which @interval instructions
 * have been executed that do not wait (loop_entries.h), by all threads together, and a block is
 * one of a thread: a vector has a part for each. Intervals weigh as many instructions as do not
 * wait. */
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

/* Where an interval begins: so many instructions of all threads before it; with `loops`, the
 * count-th entry of the loop at pc (count 0: the trace's beginning). */
struct pm_phase_place { uint64_t first, pc, count; };

/* What the sink @self has found, after its finish(); lent until it is destroyed. */
struct pm_phases {
	uint64_t interval;
	size_t n;			/* intervals; the last one may be shorter */
	unsigned max_k;
	const double (*point)[PM_PHASE_DIMS];
	const uint64_t *weight;		/* instructions of each; with `loops` those that work */
	const struct pm_phase_place *place;	/* where each begins */
	uint64_t insns;			/* of the whole trace */
};
struct pm_phases pm_phases_found(const void *self);

#endif
