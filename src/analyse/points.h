/* SPDX-License-Identifier: MIT */
/* points.h - simulation points: which intervals of a trace stand for all of it, and what follows
 * for the whole from what is counted in them
 *
 * From each phase (phases.h) come its representative and, by chance, as many others as there are to
 * be. The whole is estimated as stratified sampling does: a phase's rate is the mean of its
 * points', and it weighs as much as its share of the instructions. How far that may be off follows
 * from how much the points of a phase differ (E. Perelman and others, "Picking statistically valid
 * and early simulation points", PACT 2003). A phase with more intervals than points and only one
 * of these has no known variance: then there is no bound. */
#ifndef PM_ANALYSE_POINTS_H
#define PM_ANALYSE_POINTS_H

#include <stdbool.h>

#include "analyse/phases.h"

struct pm_point_of_phase {
	unsigned phase;
	bool representative;
	uint64_t interval;		/* its number */
	uint64_t first, insns;		/* instructions before it, and of it */
	uint64_t warmup;		/* instructions before it that warm up: as many as there
					 * are */
	double weight;			/* of the phase, divided among its points */
};

struct pm_points {
	uint64_t insns, interval, intervals;
	unsigned phases;
	double *share;			/* of each phase, of all instructions */
	uint64_t *members;		/* intervals of each phase */
	struct pm_point_of_phase *v;	/* ascending by interval */
	size_t n;
};

/* @each: points of a phase, at least 1. */
void pm_points_choose(const struct pm_phases *found, unsigned each, uint64_t warmup,
		      struct pm_points *to);
void pm_points_put(const struct pm_points *p, struct pm_result *to);	/* into the open object */
struct pm_result_node;
/* From such an object again. */
enum pm_status pm_points_get(const struct pm_result_node *root, struct pm_points *to,
			     struct pm_err *err);
void pm_points_release(struct pm_points *p);
/* "0007.pug": the file with point @i's slice. */
const char *pm_point_file(const struct pm_points *p, size_t i, char buf[static 32]);

/* @rate: per instruction, by point. */
struct pm_estimate { double mean, half; bool bound; };
struct pm_estimate pm_points_estimate(const struct pm_points *p, const double *rate,
				      double confidence);

#endif
