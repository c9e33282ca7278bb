/* SPDX-License-Identifier: MIT */
/* points_run.h - simulators on simulation points, and what follows for the whole trace
 *
 * Each point is simulated twice: its warm-up alone, and warm-up and interval together. Simulators
 * are deterministic, so the difference of each counter is the interval's, whatever the simulator.
 * All counters that are whole numbers outside of lists are weighted so (points.h), but
 * numbers of unique things. What is counted per instruction is so per instruction of work
 * (loop_entries.h). */
#ifndef PM_SWEEP_POINTS_RUN_H
#define PM_SWEEP_POINTS_RUN_H

#include "analyse/points.h"

struct points_options {
	const char *const *spec;	/* NULL-ended simulators */
	unsigned threads;
	double confidence;
	void (*tell)(void *ctx, size_t done);	/* points so far; NULL: nobody wants to know */
	void *ctx;
};

/* @dir: where the points' files are. Into @to: "simulated", a list of counters. */
enum pm_status points_run(const char *dir, const struct pm_points *p,
			  const struct points_options *o, struct pm_result *to,
			  struct pm_err *err);

#endif
