/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "analyse/confidence.h"

double pm_normal_quantile(double p)
{
	double lo = -40, hi = 40;

	for (int i = 0; i < 100; i++) {
		const double x = (lo + hi) / 2;

		*(erfc(-x / M_SQRT2) / 2 < p ? &lo : &hi) = x;
	}
	return (lo + hi) / 2;
}

/* G. Hill, Algorithm 396: Student's t-quantiles, Communications of the ACM 13 (1970). */
double pm_student_quantile(double p, double df)
{
	const double two = p < 0.5 ? 2 * p : 2 * (1 - p), sign = p < 0.5 ? -1 : 1;
	double a, b, c, d, x, y;

	if (df < 1.5)
		return sign / tan(two * M_PI / 2);
	if (df < 2.5)
		return sign * sqrt(2 / (two * (2 - two)) - 2);
	a = 1 / (df - 0.5);
	b = 48 / (a * a);
	c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
	d = ((94.5 / (b + c) - 3) / b + 1) * sqrt(a * M_PI / 2) * df;
	y = pow(d * two, 2 / df);
	if (y > 0.05 + a) {
		x = pm_normal_quantile(two / 2);
		y = x * x;
		if (df < 5)
			c += 0.3 * (df - 4.5) * (x + 0.6);
		c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c;
		y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
		y = expm1(a * y * y);
	} else {
		y = ((1 / (((df + 6) / (df * y) - 0.089 * d - 0.822) * (df + 2) * 3) +
		      0.5 / (df + 4)) * y - 1) * (df + 1) / (df + 2) + 1 / y;
	}
	return sign * sqrt(df * y);
}
