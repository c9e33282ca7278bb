/* SPDX-License-Identifier: MIT */
/* reach.c - see reach.h */
#include "collect/runtime/abi.h"
#include "collect/translate/reach.h"

#define STEP	(16ull << 20)
#define PAGE	4096ull

bool xl_reaches(uint64_t lo, uint64_t hi, uint64_t at, uint64_t size)
{
	return (int64_t)(at + size - lo) < XL_REACH && (int64_t)(hi - at) < XL_REACH;
}

uint64_t xl_find_place(uint64_t lo, uint64_t hi, uint64_t size, xl_is_free_fn *is_free,
		       const void *ctx)
{
#define GOOD(at) (xl_reaches(lo, hi, (at), size) && is_free(ctx, (at), (at) + size))
	if (lo < RT_SHADOW) /* not position-independent: the heap grows right behind it */
		for (uint64_t at = RT_SHADOW - (size + PAGE - 1) / PAGE * PAGE; at > lo;
		     at -= STEP) {
			if (GOOD(at))
				return at;
			if (at < STEP)
				break;
		}
	for (uint64_t d = 512ull << 20; d < 1536ull << 20; d += STEP)
		if (lo > d + size && GOOD(lo - d - size))
			return lo - d - size;
	for (uint64_t d = 256ull << 20; d + size < 1536ull << 20; d += STEP)
		if (GOOD(lo + d))
			return lo + d;
	for (uint64_t d = STEP; d + size < 1900ull << 20; d += 1 << 20) {
		if (lo > d + size && GOOD(lo - d - size))
			return lo - d - size;
		if (GOOD(lo + d))
			return lo + d;
	}
	return 0;
#undef GOOD
}
