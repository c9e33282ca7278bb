/* SPDX-License-Identifier: MIT */
/* bound.h - binary searches in sorted arrays
 *
 *	i = pm_lower_bound(v, n, .lo, addr);	how many of v[0..n) have .lo < addr
 *	i = pm_upper_bound(v, n, .lo, addr);	how many have .lo <= addr
 *
 * So v[i] is the first that is not below, or that is above; there is none if i is n. Elements that
 * are numbers themselves have nothing between the commas. */
#ifndef PM_BASE_BOUND_H
#define PM_BASE_BOUND_H

#include <stddef.h>

#define pm_lower_bound(v, n, field, key)	PM_BOUND(v, n, field, <, key)
#define pm_upper_bound(v, n, field, key)	PM_BOUND(v, n, field, <=, key)
#define PM_BOUND(v, n, field, is, key) __extension__({						\
	size_t pm_lo = 0, pm_hi = (n);								\
	while (pm_lo < pm_hi) {									\
		const size_t pm_mid = pm_lo + (pm_hi - pm_lo) / 2;				\
		if ((v)[pm_mid]field is (key))							\
			pm_lo = pm_mid + 1;							\
		else										\
			pm_hi = pm_mid;								\
	}											\
	pm_lo;											\
})

#endif
