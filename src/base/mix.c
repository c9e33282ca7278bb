/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/mix.h"

/* four multiply-rotate lanes */
uint64_t pm_mix(const void *p, size_t n, uint64_t seed)
{
	const uint64_t k = 0x9e3779b97f4a7c15u;
	uint64_t h[4] = { seed ^ n, seed + k, seed * k + 1, ~seed };
	const uint8_t *b = p;
	uint64_t v[4];

	for (; n >= 32; n -= 32, b += 32) {
		memcpy(v, b, 32);
		for (int i = 0; i < 4; i++) {
			h[i] = (h[i] ^ v[i]) * k;
			h[i] ^= h[i] >> 29;
		}
	}
	memset(v, 0, sizeof v);
	memcpy(v, b, n);
	for (int i = 0; i < 4; i++) {
		h[i] = (h[i] ^ v[i]) * k;
		h[i] ^= h[i] >> 32;
	}
	h[0] = (h[0] + h[1] * 3 + h[2] * 5 + h[3] * 7) * k;
	return h[0] ^ h[0] >> 31;
}
