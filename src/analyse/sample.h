/* SPDX-License-Identifier: MIT */
/* sample.h - the time of a core on a long trace from many short windows of it
 *
 * Systematic sampling (R. Wunderlich and others, "SMARTS", ISCA 2003). The trace is cut into
 * periods. In each, a window of `window` instructions at a place by chance is measured. How far the
 * estimate may be off follows from how much windows differ, and from their number.
 *
 * The store has counts of each 1,000 instructions (thousands.h), which explain most of how
 * windows differ. They are used twice: windows that may take long are chosen more often
 * (sample_places.c), and what windows say is carried over to all by a regression on their counts
 * (regression.h, sample_estimate.c). Periods are parts that may take equally long then.
 * Any numbers would do as counts: what they say wrongly makes the interval wider, not false.
 * Where there are no counts, or windows are no multiple of 1,000 instructions, periods have equally
 * many instructions, and the estimate is *plain*: all windows' cycles over their instructions.
 *
 * What is done before a window, from far to near:
 *   warm      the caches are told of all lines that were used before, from a store that is the
 *             same for all cores (warm.h); this takes next to no time. Predictors are told of
 *             `branches` branches at least, the last ones, from the same store
 *   training  `training` instructions at least, from the beginning of an interval of the store:
 *             caches, prefetchers and predictors see what happens, no time passes
 *   warm-up   `warmup` instructions in time, not measured: they fill the core's queues
 * Predictors keep what they learned before earlier windows.
 *
 * Windows are independent of each other but for that, so threads take runs of them. With @error,
 * as many are simulated as it takes: an eighth of the periods at first; their variance says how
 * many there have to be.
 *
 * The confidence interval holds what chance does. It does not hold what imperfect warming adds:
 * docs/simulators.md has that, measured. */
#ifndef PM_ANALYSE_SAMPLE_H
#define PM_ANALYSE_SAMPLE_H

#include <stdbool.h>

#include "analyse/core.h"
#include "analyse/warm.h"

struct pm_sample_opts {
	uint64_t window, warmup, training;	/* instructions */
	uint64_t branches;		/* ... that predictors are told of, before training */
	uint64_t period;		/* instructions of a period; 0: as short as @most allows */
	double most;			/* at most this part of the instructions in time */
	double error;			/* wanted: half the interval, over the mean; 0: all
					 * periods */
	double confidence;		/* that the true value is inside: 0.95 */
	uint64_t seed;			/* of the places in their periods */
	unsigned threads;
};
#define PM_SAMPLE_DEFAULTS { .window = 1000, .warmup = 2000, .training = 200000,		\
			     .branches = 100000, .most = 0.01, .error = 0.02,		\
			     .confidence = 0.95, .seed = 1, .threads = 1 }

/* Per instruction, of one core, over all windows. */
struct pm_sampled {
	uint64_t windows;
	double cpi, half;		/* cpi - half to cpi + half, with opts->confidence */
	double variation;		/* of the windows' cycles: standard deviation over mean */
	uint64_t needed;		/* so many windows opts->error takes, as far as one knows */
	double plain, plain_half;	/* cpi and half without the regression */
	double explained;		/* part of the variance that the regression explains */
	unsigned counts;		/* ... by so many counts; 0: cpi is the plain estimate */
	bool reached;			/* half <= error * cpi; true if no error was asked for */
	double each[12];		/* the counters of PM_CORE_STATS, in their order */
};

struct pm_sample_result {
	uint64_t insns, period, periods;
	uint64_t in_time, trained;	/* instructions simulated so, by one core */
	unsigned rounds;
	bool guessed;			/* windows were chosen by their counts; else: why not */
	const char *plain_because;
	struct pm_sampled *core;	/* by configuration */
};

/* *@period: instructions from one window to the next. PM_ERR: @o makes no sense, or the trace of @w
 * is too short. pm_sample_run() asks, too; who keeps a store wants to know it before. */
enum pm_status pm_sample_period(const struct pm_warm *w, const struct pm_sample_opts *o,
				uint64_t *period, struct pm_err *err);
/* @config: NULL-ended configurations of `core`. @w: the store for this trace. */
enum pm_status pm_sample_run(const char *path, const struct pm_warm *w, const char *const *config,
			     const struct pm_sample_opts *o, struct pm_sample_result *r,
			     struct pm_err *err);
/* "sample", into @to. */
void pm_sample_put(const struct pm_sample_result *r, const char *const *config,
		   const struct pm_sample_opts *o, const struct pm_warm *w, struct pm_result *to);
void pm_sample_release(struct pm_sample_result *r);

#endif
