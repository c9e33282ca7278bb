/* SPDX-License-Identifier: MIT */
/* mix.h - 64-bit checksums, as fast as memory; not against an adversary */
#ifndef PM_BASE_MIX_H
#define PM_BASE_MIX_H

#include <stddef.h>
#include <stdint.h>

/* Of @n bytes. Those that follow are added with the sum so far as @seed. */
uint64_t pm_mix(const void *p, size_t n, uint64_t seed);

#endif
