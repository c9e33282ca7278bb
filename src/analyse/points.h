/* SPDX-License-Identifier: MIT */
/* points.h - simulation points: which intervals of a trace stand for all of it, and what follows
 * for the whole from what is counted in them
 *
 * From each phase (phases.h) come its representative and, by chance, as many others as there are to
 * be. The whole is estimated as stratified sampling does: a phase's rate is that of its points
 * together, and it weighs as much as its share of the work. How far that may be off follows
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
	uint64_t work;			/* of it, those that do not wait; without loops all */
	uint64_t pc, count;		/* the loop entry at which it begins; count 0: none */
	uint64_t warmup;		/* instructions before it that warm up: as many as there
					 * are */
	double weight;			/* of the phase, divided among its points */
};

struct pm_points {
	uint64_t insns, interval, intervals;
	uint64_t work;			/* as of a point */
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

/* @value: counted in each point. The mean is per instruction of work. */
struct pm_estimate { double mean, half; bool bound; };
struct pm_estimate pm_points_estimate(const struct pm_points *p, const double *value,
				      double confidence);

#endif
