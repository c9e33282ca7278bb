/* SPDX-License-Identifier: MIT */
/* The regression estimator against least squares by elimination, and against populations whose mean
 * is known: how often the interval holds it, and how wide it is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../oracle/random.h"
#include "analyse/confidence.h"
#include "analyse/regression.h"

#define P	6u			/* columns; what they are: make_population() */
#define UNITS	5000u
#define DRAWS	200u

static double v[UNITS][P], z[UNITS], known[P], true_mean;

static double uniform(struct o_random *r)
{
	return (double)(o_rnd(r) % 1000003) / 1000003.0;
}

static double normal(struct o_random *r)
{
	double sum = -6;

	for (unsigned i = 0; i < 12; i++)
		sum += uniform(r);
	return sum;
}

/* 0 to 2: what z follows from, with long tails; 3: the sum of 0 and 1; 4: 0; 5: 0 but for few. */
static void make_population(struct o_random *r, double noise)
{
	memset(known, 0, sizeof known);
	true_mean = 0;
	for (unsigned i = 0; i < UNITS; i++) {
		double *x = v[i];

		for (unsigned c = 0; c < 3; c++)
			x[c] = exp(normal(r) / 2);
		x[3] = x[0] + x[1];
		x[4] = 0;
		x[5] = i % 1000 == 7;
		z[i] = 1 + 2 * x[0] - x[1] + 0.5 * x[2] + noise * normal(r) * x[2];
		for (unsigned c = 0; c < P; c++)
			known[c] += x[c] / UNITS;
		true_mean += z[i] / UNITS;
	}
}

struct drawn { double v[DRAWS][P], z[DRAWS]; };

static void draw(struct o_random *r, struct drawn *d, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const unsigned k = (unsigned)(uniform(r) * UNITS) % UNITS;

		memcpy(d->v[i], v[k], sizeof v[k]);
		d->z[i] = z[k];
	}
}

/* The estimate by [1 v0 v1 v2], normal equations and elimination. */
static double by_elimination(const struct drawn *d, unsigned n)
{
	double a[4][5] = { { 0 } }, estimate = 0;

	for (unsigned i = 0; i < n; i++) {
		const double x[5] = { 1, d->v[i][0], d->v[i][1], d->v[i][2], d->z[i] };

		for (unsigned j = 0; j < 4; j++)
			for (unsigned k = 0; k < 5; k++)
				a[j][k] += x[j] * x[k];
	}
	for (unsigned j = 0; j < 4; j++)
		for (unsigned k = 0; k < 4; k++) {
			const double f = k == j ? 0 : a[k][j] / a[j][j];

			for (unsigned c = 0; c < 5; c++)
				a[k][c] -= f * a[j][c];
		}
	for (unsigned j = 0; j < 4; j++)
		estimate += a[j][4] / a[j][j] * (j ? known[j - 1] : 1);
	return estimate;
}

static void the_same_as_elimination(void **state)
{
	struct o_random r = o_random_init(3);
	static struct drawn d;
	double weight[DRAWS], sum = 0, with[3] = { 0 };
	struct regression g;

	make_population(&r, 1);
	draw(&r, &d, DRAWS);
	d.v[0][5] = 1;			/* one draw decides column 5: it is left out */
	regression_estimate(d.v[0], P, known, d.z, DRAWS, weight, &g);
	assert_int_equal(g.used, 3);	/* and the sum of others, and nothing but zeros */
	assert_true(fabs(g.mean - by_elimination(&d, DRAWS)) < 1e-9);
	for (unsigned i = 0; i < DRAWS; i++) {
		sum += weight[i];
		for (unsigned c = 0; c < 3; c++)
			with[c] += weight[i] * d.v[i][c];
	}
	assert_true(fabs(sum - 1) < 1e-12);
	for (unsigned c = 0; c < 3; c++)
		assert_true(fabs(with[c] - known[c]) < 1e-9);
}

/* Without noise nothing is left; and 10 draws for each column. */
static void few_draws(void **state)
{
	struct o_random r = o_random_init(4);
	static struct drawn d;
	double weight[DRAWS];
	struct regression g;

	make_population(&r, 0);
	draw(&r, &d, DRAWS);
	regression_estimate(d.v[0], P, known, d.z, DRAWS, weight, &g);
	assert_true(fabs(g.mean - true_mean) < 1e-9 && g.error < 1e-9);
	assert_true(fabs(g.explained - 1) < 1e-9 && g.plain_error > 0.01);
	regression_estimate(d.v[0], P, known, d.z, 9, weight, &g);
	assert_int_equal(g.used, 0);
	assert_true(g.mean == g.plain && g.error == g.plain_error);
	regression_estimate(d.v[0], P, known, d.z, 29, weight, &g);
	assert_true(g.used <= 2);
}

/* 2,000 samples: the interval of 95 % holds the truth in 93 to 97 % of them, which chance misses
 * once in 16,000 times (four standard deviations of a binomial distribution, each 0.49 %). */
static void the_interval_is_honest(void **state)
{
	const unsigned trials = 2000;
	struct o_random r = o_random_init(5);
	static struct drawn d;
	double weight[DRAWS], width = 0, plain_width = 0;
	unsigned held = 0, plain_held = 0;

	make_population(&r, 0.3);
	for (unsigned i = 0; i < trials; i++) {
		struct regression g;

		draw(&r, &d, DRAWS);
		regression_estimate(d.v[0], P, known, d.z, DRAWS, weight, &g);
		held += fabs(g.mean - true_mean) <=
			g.error * pm_student_quantile(0.975, (double)(DRAWS - g.used - 1));
		plain_held += fabs(g.plain - true_mean) <=
			      g.plain_error * pm_student_quantile(0.975, DRAWS - 1.0);
		width += g.error;
		plain_width += g.plain_error;
	}
	if (held < 0.93 * trials || held > 0.97 * trials || plain_held < 0.925 * trials ||
	    plain_held > 0.97 * trials)
		fail_msg("of %u intervals %u hold the mean, and %u plain ones", trials, held,
			 plain_held);
	assert_true(width < plain_width / 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_as_elimination),
		cmocka_unit_test(few_draws),
		cmocka_unit_test(the_interval_is_honest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
