/* SPDX-License-Identifier: MIT */
/* xorshift.h - numbers by chance, always the same ones from the same state: xorshift64* (S. Vigna,
 * An experimental exploration of Marsaglia's xorshift generators, scrambled, 2016) */
#ifndef PM_BASE_XORSHIFT_H
#define PM_BASE_XORSHIFT_H

#include <stdint.h>

/* 32 bits. The state is not 0, and never becomes 0. */
static inline uint64_t pm_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull >> 32;
}

#endif
