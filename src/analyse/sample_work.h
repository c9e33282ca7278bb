/* SPDX-License-Identifier: MIT */
/* sample_work.h - between sample.c, which simulates windows, sample_places.c, which chooses them,
 * and sample_estimate.c */
#ifndef PM_ANALYSE_SAMPLE_WORK_H
#define PM_ANALYSE_SAMPLE_WORK_H

#include "analyse/sample.h"
#include "analyse/thousands.h"

#define SAMPLE_STATS	(sizeof(struct pm_core_stats) / sizeof(uint64_t))

struct sampler {
	const char *path;
	const struct pm_warm *warm;
	const struct pm_sample_opts *o;
	size_t ncore;
	const char *const *config;
	uint64_t insns, period, n;	/* n: periods */
	uint64_t *start;		/* of each period's window; UINT64_MAX: there is no room */
	uint64_t *same;			/* the first period that has this window */
	bool *done, *taken;		/* by period; taken: its window is measured */
	struct pm_core_stats *got;	/* by period and core; where @same is the period */
	uint64_t in_time, trained;
	/* With guesses: windows are chosen by them. */
	bool guessed;
	const char *plain_because;	/* why not */
	double *guess;			/* by period: cycles of its window */
	double *count;			/* by period: its PM_THOUSAND_COUNTS over guess */
	double known[PM_THOUSAND_COUNTS];	/* the same of all windows together */
	double scale;			/* all guesses over all instructions */
};

/* sample_places.c: start, same, and what is guessed. */
void sample_place_windows(struct sampler *s);
void sample_places_release(struct sampler *s);
/* sample_estimate.c: what the windows so far say of core @k. */
void sample_estimate(const struct sampler *s, size_t k, struct pm_sampled *to);

#endif
