/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/confidence.h"
#include "analyse/regression.h"
#include "base/mem.h"

#define DRAWS		10u		/* for each column */
#define LEAST_OWN	1e-8		/* share of a column's squares that is its own */
#define MOST_OF_ONE	0.2		/* ... that is of one draw */
#define LEAST_LEFT	0.05		/* one minus a leverage, at least */

struct least_squares {
	const double *v, *z;
	size_t p, n, used;
	size_t column[REGRESSION_COLUMNS];	/* which are used */
	double mean[REGRESSION_COLUMNS];	/* by column of v */
	/* Of those used: the triangle L with L L' = sums of products of differences to the mean. */
	double l[REGRESSION_COLUMNS][REGRESSION_COLUMNS];
};

static double off_mean(const struct least_squares *f, size_t i, size_t c)
{
	return f->v[i * f->p + c] - f->mean[c];
}

static double product(const struct least_squares *f, size_t a, size_t b)
{
	double sum = 0;

	for (size_t i = 0; i < f->n; i++)
		sum += off_mean(f, i, a) * off_mean(f, i, b);
	return sum;
}

static bool of_one_draw(const struct least_squares *f, size_t c, double squares)
{
	for (size_t i = 0; i < f->n; i++)
		if (off_mean(f, i, c) * off_mean(f, i, c) > MOST_OF_ONE * squares)
			return true;
	return false;
}

/* Solve L u = @to, in place. */
static void forward(const struct least_squares *f, double *to)
{
	for (size_t a = 0; a < f->used; a++) {
		for (size_t b = 0; b < a; b++)
			to[a] -= f->l[a][b] * to[b];
		to[a] /= f->l[a][a];
	}
}

/* Solve L' u = @to, in place. */
static void backward(const struct least_squares *f, double *to)
{
	for (size_t a = f->used; a-- > 0; ) {
		for (size_t b = a + 1; b < f->used; b++)
			to[a] -= f->l[b][a] * to[b];
		to[a] /= f->l[a][a];
	}
}

/* Column @c becomes one more row of L (Cholesky), unless it is to be left out. */
static void add_column(struct least_squares *f, size_t c)
{
	double row[REGRESSION_COLUMNS], own;
	const double squares = product(f, c, c);
	const size_t k = f->used;

	if (!(squares > 0) || !isfinite(squares) || of_one_draw(f, c, squares))
		return;
	for (size_t a = 0; a < k; a++)
		row[a] = product(f, c, f->column[a]);
	forward(f, row);
	own = squares;
	for (size_t a = 0; a < k; a++)
		own -= row[a] * row[a];
	if (!(own > LEAST_OWN * squares))
		return;
	memcpy(f->l[k], row, k * sizeof *row);
	f->l[k][k] = sqrt(own);
	f->column[f->used++] = c;
}

static void choose_columns(struct least_squares *f)
{
	for (size_t c = 0; c < f->p; c++) {
		struct pm_moments m = { 0 };

		for (size_t i = 0; i < f->n; i++)
			pm_moments_add(&m, f->v[i * f->p + c]);
		f->mean[c] = m.mean;
		if ((f->used + 1) * DRAWS <= f->n)
			add_column(f, c);
	}
}

/* What is left of z, its share of the whole, and the weighted variance. */
static void residuals(const struct least_squares *f, const double *b, const double *weight,
		      struct regression *r)
{
	double squares = 0, all = 0, sum = 0;

	for (size_t i = 0; i < f->n; i++) {
		double u[REGRESSION_COLUMNS], d = f->z[i] - r->plain, left = 1 - 1 / (double)f->n;

		all += d * d;
		for (size_t a = 0; a < f->used; a++) {
			u[a] = off_mean(f, i, f->column[a]);
			d -= b[a] * u[a];
		}
		forward(f, u);
		for (size_t a = 0; a < f->used; a++)
			left -= u[a] * u[a];
		squares += d * d;
		d *= weight[i] / (left > LEAST_LEFT ? left : LEAST_LEFT);
		sum += d * d;
	}
	r->explained = all > 0 ? 1 - squares / all : 0;
	r->error = sqrt(sum * (double)(f->n - 1) / (double)(f->n - f->used - 1));
}

void regression_estimate(const double *v, size_t p, const double *known, const double *z, size_t n,
			 double *weight, struct regression *r)
{
	struct least_squares f = { .v = v, .z = z, .p = p, .n = n };
	double b[REGRESSION_COLUMNS] = { 0 }, by[REGRESSION_COLUMNS];
	struct pm_moments m = { 0 };

	for (size_t i = 0; i < n; i++)
		pm_moments_add(&m, z[i]);
	*r = (struct regression){ .plain = m.mean };
	r->plain_error = sqrt(pm_moments_variance(&m) / (double)n);
	choose_columns(&f);
	r->used = f.used;
	for (size_t a = 0; a < f.used; a++) {
		const size_t c = f.column[a];

		by[a] = known[c] - f.mean[c];
		for (size_t i = 0; i < n; i++)
			b[a] += off_mean(&f, i, c) * (z[i] - m.mean);
	}
	forward(&f, b);
	backward(&f, b);
	forward(&f, by);
	backward(&f, by);
	for (size_t i = 0; i < n; i++) {
		weight[i] = 1 / (double)n;
		for (size_t a = 0; a < f.used; a++)
			weight[i] += by[a] * off_mean(&f, i, f.column[a]);
		r->mean += weight[i] * z[i];
	}
	if (f.used) {
		residuals(&f, b, weight, r);
	} else {
		r->mean = r->plain;
		r->error = r->plain_error;
	}
}
