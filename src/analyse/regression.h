/* SPDX-License-Identifier: MIT */
/* regression.h - the regression estimator: the mean of a population from a sample of it, and from
 * what is known of all of it
 *
 * Of each of @n draws the value z is known, and @p other numbers v, whose means over the whole
 * population are known, too. Then mean(z) + b * (population's mean of v - mean(v)) is a better
 * estimate than mean(z), the more z follows from v. b comes from least squares over the draws, with
 * a constant. (W. Cochran, Sampling Techniques, 3rd ed. 1977, chapter 7; the same idea is called
 * control variates where the population is simulated.) The estimate is a weighted sum of the z; the
 * same weights serve other values of the draws (C. Sarndal and others, Model Assisted Survey
 * Sampling, 1992, chapter 6).
 *
 * A column of v is left out
 *   if draws are fewer than 10 for each that is used: the first ones are;
 *   if one draw has more than a fifth of its sum of squares: such a draw decides its coefficient,
 *   and has no residual by which one could judge that;
 *   if less than 10^-8 of its sum of squares is its own, and not explained by columns before it:
 *   it says nothing new, and rounding, about 10^-12 of that sum for thousands of draws, would say
 *   much.
 *
 * The variance is of residuals times weights, with as many degrees of freedom as draws less
 * columns less 1. Each residual is divided by one minus its leverage, as in a jackknife (J.
 * MacKinnon and H. White, Journal of Econometrics 29, 1985: HC3), so that what few draws say is not
 * taken for sure. */
#ifndef PM_ANALYSE_REGRESSION_H
#define PM_ANALYSE_REGRESSION_H

#include <stddef.h>

#define REGRESSION_COLUMNS 32u		/* p at most */

struct regression {
	double mean, error;		/* the estimate; standard error of it */
	double plain, plain_error;	/* mean(z), and its */
	double explained;		/* share of the variance of z: R squared */
	size_t used;			/* columns; 0: the plain estimate is the estimate */
};
/* @v: row by row. @known: the population's means. @weight: @n, whose sum is 1. @n at least 2. */
void regression_estimate(const double *v, size_t p, const double *known, const double *z, size_t n,
			 double *weight, struct regression *r);

#endif
