/* SPDX-License-Identifier: MIT */
/* reach.h - where code may lie that addresses its text relative to itself */
#ifndef PM_TRANSLATE_REACH_H
#define PM_TRANSLATE_REACH_H

#include <stdbool.h>
#include <stdint.h>

/* Is nothing in [@lo, @hi)? */
typedef bool xl_is_free_fn(const void *ctx, uint64_t lo, uint64_t hi);

/* The distance from where a unit begins that is still in reach of a rel32 in any of its
 * instructions: a unit is far below 64 MiB. */
#define XL_REACH	((1ll << 31) - (64ll << 20))

/* Can units anywhere in [@at, @at + @size) be copies of code anywhere in [@lo, @hi)? They address
 * what they are copies of, and the entries of shadows are such distances, too. */
bool xl_reaches(uint64_t lo, uint64_t hi, uint64_t at, uint64_t size);

/* A free place for @size bytes of code that reaches all of the text [@lo, @hi), and mostly what
 * code there can address relative to itself: within 1.5 GiB of @lo. 0: there is none. Downwards
 * first, away from where the kernel puts new mappings and from the heap behind a
 * position-independent program. */
uint64_t xl_find_place(uint64_t lo, uint64_t hi, uint64_t size, xl_is_free_fn *is_free,
		       const void *ctx);

#endif
