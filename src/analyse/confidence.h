/* SPDX-License-Identifier: MIT */
/* confidence.h - means of samples, and how sure they are */
#ifndef PM_ANALYSE_CONFIDENCE_H
#define PM_ANALYSE_CONFIDENCE_H

#include <stdint.h>

struct pm_moments { uint64_t n; double mean, squares; };	/* squares: of differences to it */

static inline void pm_moments_add(struct pm_moments *m, double x)
{
	const double d = x - m->mean;

	m->mean += d / (double)++m->n;
	m->squares += d * (x - m->mean);
}

/* Of the values themselves, not of their mean; 0 of less than two. */
static inline double pm_moments_variance(const struct pm_moments *m)
{
	return m->n > 1 ? m->squares / (double)(m->n - 1) : 0;
}

/* The x below which a part @p (0 < p < 1) of the normal distribution lies, to 10^-9. */
double pm_normal_quantile(double p);
/* ... of Student's with @df degrees of freedom, which need be no whole number (>= 1), to 1 %
 * (@df of 3 and more: to 0.1 %). */
double pm_student_quantile(double p, double df);

#endif
