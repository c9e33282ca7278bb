/* SPDX-License-Identifier: MIT */
/* sample_estimate.c - what windows say of the whole trace
 *
 * Plainly: all cycles over all instructions of the windows. That is a ratio of sums, whose error
 * follows from how each window's cycles differ from it (W. Cochran, Sampling Techniques, 1977,
 * chapter 6).
 *
 * Where windows were chosen by a guess (sample_places.c): the regression estimator (regression.h)
 * of the mean of cycles / guess, with counts / guess, whose mean over the whole trace is known.
 * The guess is made of the counts, so a constant is what stands for the instructions. All other
 * counters have the same weights. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "analyse/confidence.h"
#include "analyse/regression.h"
#include "analyse/sample_work.h"
#include "base/mem.h"

#define CYCLES	(offsetof(struct pm_core_stats, cycles) / sizeof(uint64_t))
_Static_assert(SAMPLE_STATS <= sizeof(((struct pm_sampled *)0)->each) / sizeof(double),
	       "pm_sampled.each has room for all counters");
_Static_assert(PM_THOUSAND_COUNTS <= REGRESSION_COLUMNS, "a column for each count");

static const struct pm_core_stats *window_of(const struct sampler *s, size_t k, uint64_t i)
{
	return s->got + s->same[i] * s->ncore + k;
}

/* Half the interval, and what follows from it. */
static void judge(const struct sampler *s, double error, uint64_t n, size_t used,
		  struct pm_sampled *to)
{
	const double part = (1 + s->o->confidence) / 2,
		     t = pm_student_quantile(part, (double)(n - used - 1));

	to->half = t * error;
	to->variation = error * sqrt((double)n) / to->cpi;
	to->reached = !(s->o->error > 0) || to->half <= s->o->error * to->cpi;
	if (s->o->error > 0)
		to->needed = (uint64_t)ceil(pow(t * to->variation / s->o->error, 2));
}

static void estimate_plainly(const struct sampler *s, size_t k, struct pm_sampled *to)
{
	struct pm_moments off = { 0 };
	double sum[SAMPLE_STATS] = { 0 }, insns = 0;

	for (uint64_t i = 0; i < s->n; i++) {
		const struct pm_core_stats *g = window_of(s, k, i);

		to->windows += s->done[i] && g->instructions;
		insns += (double)g->instructions;
		for (size_t j = 0; j < SAMPLE_STATS; j++)
			sum[j] += (double)((const uint64_t *)g)[j];
	}
	for (size_t j = 0; j < SAMPLE_STATS && insns > 0; j++)
		to->each[j] = sum[j] / insns;
	to->cpi = to->plain = to->each[CYCLES];
	if (to->windows < 2 || !(to->cpi > 0))
		return;
	for (uint64_t i = 0; i < s->n; i++) {
		const struct pm_core_stats *g = window_of(s, k, i);

		if (g->instructions)
			pm_moments_add(&off, (double)g->cycles - to->cpi * (double)g->instructions);
	}
	insns /= (double)to->windows;
	judge(s, sqrt(pm_moments_variance(&off) / (double)to->windows) / insns, to->windows, 0,
	      to);
	to->plain_half = to->half;
}

/* Counters of one point, for each cycle that was guessed. */
static double for_guess(const struct sampler *s, size_t k, uint64_t i, size_t counter)
{
	const struct pm_core_stats *g = window_of(s, k, i);

	return (double)((const uint64_t *)g)[counter] / (double)g->instructions *
	       (double)s->o->window / s->guess[i];
}

void sample_estimate(const struct sampler *s, size_t k, struct pm_sampled *to)
{
	double *z, *v, *weight;
	struct regression r;
	uint64_t *point;
	size_t n = 0;

	*to = (struct pm_sampled){ .reached = false };
	if (!s->guessed) {
		estimate_plainly(s, k, to);
		return;
	}
	point = pm_alloc((s->n + 1) * sizeof *point);
	for (uint64_t i = 0; i < s->n; i++)
		if (s->done[i] && window_of(s, k, i)->instructions) {
			to->windows += !n || s->same[i] != s->same[point[n - 1]];
			point[n++] = i;
		}
	z = pm_alloc((n + 1) * sizeof *z);
	weight = pm_alloc((n + 1) * sizeof *weight);
	v = pm_alloc((n + 1) * PM_THOUSAND_COUNTS * sizeof *v);
	for (size_t i = 0; i < n; i++) {
		z[i] = for_guess(s, k, point[i], CYCLES);
		for (unsigned c = 0; c < PM_THOUSAND_COUNTS; c++)
			v[i * PM_THOUSAND_COUNTS + c] = s->count[point[i] * PM_THOUSAND_COUNTS + c];
	}
	if (n >= 2) {
		regression_estimate(v, PM_THOUSAND_COUNTS, s->known, z, n, weight, &r);
		for (size_t j = 0; j < SAMPLE_STATS; j++) {
			for (size_t i = 0; i < n; i++)
				to->each[j] += weight[i] * for_guess(s, k, point[i], j) * s->scale;
			/* what is rare may be estimated as less than nothing */
			to->each[j] = to->each[j] > 0 ? to->each[j] : 0;
		}
		to->cpi = r.mean * s->scale;
		to->plain = r.plain * s->scale;
		to->explained = r.explained;
		to->counts = (unsigned)r.used;
		judge(s, r.plain_error * s->scale, n, 0, to);
		to->plain_half = to->half;
		judge(s, r.error * s->scale, n, r.used, to);
	}
	free(point);
	free(z);
	free(weight);
	free(v);
}
