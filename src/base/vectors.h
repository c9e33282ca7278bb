/* SPDX-License-Identifier: MIT */
/* vectors.h - what of code there is a second form for, and whether this processor has it
 *
 * A function with __attribute__((target(PM_AVX2))) may be called if pm_has_avx2() says so; likewise
 * PM_AVX512. Both go by what such processors have in common: some bits are not asked for. */
#ifndef PM_BASE_VECTORS_H
#define PM_BASE_VECTORS_H

#include <stdbool.h>

#define PM_AVX2		"avx2,bmi,bmi2"
#define PM_AVX512	"avx2,avx512f,avx512bw,avx512vl,bmi,bmi2,lzcnt,popcnt"

static inline bool pm_has_avx2(void)
{
#ifdef __x86_64__
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
#else
	return false;
#endif
}

static inline bool pm_has_avx512(void)
{
#ifdef __x86_64__
	return pm_has_avx2() && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#else
	return false;
#endif
}

#endif
