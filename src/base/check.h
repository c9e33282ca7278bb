/* SPDX-License-Identifier: MIT */
/* check.h - invariants that debug and test builds check
 *
 * Files state their invariants in a numbered list at the top. PM_INVARIANT(3, x <= y) stands where
 * number 3 could be broken. With -DPM_CHECKS (make SAN=..., make CHECKS=1) it ends the process and
 * names the file and the number; without, it costs nothing and is compiled all the same.
 *
 * What costs nothing is asserted with assert(), in every build, its number
 * behind it. A function that goes through whole tables is called where PM_CHECKED is 1, which is
 * where PM_INVARIANT() checks; fuzzers call it in any build.
 *
 * It is for mistakes of our own. What a file, a user or a traced process says is not an invariant:
 * that is an error (err.h). The condition must have no side effects. */
#ifndef PM_BASE_CHECK_H
#define PM_BASE_CHECK_H

#ifdef PM_CHECKS
#undef NDEBUG
#endif
#include <assert.h>

#undef PM_CHECKED
#ifdef PM_CHECKS
#define PM_CHECKED 1
#define PM_INVARIANT(n, cond) \
	((cond) ? (void)0 \
		: __assert_fail("invariant (" #n "): " #cond, __FILE__, __LINE__, __func__))
#else
#define PM_CHECKED 0
#define PM_INVARIANT(n, cond) ((void)sizeof((cond) ? 1 : 0))
#endif

#endif
