/* SPDX-License-Identifier: MIT */
/* sha256.c - FIPS 180-4 */
#include <string.h>

#include "base/sha256.h"

static const uint32_t round_constant[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t turned(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void add_block(uint32_t sum[static 8], const uint8_t *p)
{
	uint32_t w[64], s[8];

	for (unsigned i = 0; i < 16; i++, p += 4)
		w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	for (unsigned i = 16; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(s, sum, sizeof s);
	for (unsigned i = 0; i < 64; i++) {
		uint32_t a = s[7] + round_constant[i] + w[i] + ((s[4] & s[5]) ^ (~s[4] & s[6])) +
			     (turned(s[4], 6) ^ turned(s[4], 11) ^ turned(s[4], 25));
		uint32_t b = (turned(s[0], 2) ^ turned(s[0], 13) ^ turned(s[0], 22)) +
			     ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

		memmove(s + 1, s, 7 * sizeof *s);
		s[4] += a;
		s[0] = a + b;
	}
	for (unsigned i = 0; i < 8; i++)
		sum[i] += s[i];
}

void pm_sha256_begin(struct pm_sha256 *h)
{
	static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memcpy(h->sum, first, sizeof first);
	h->n = 0;
}

void pm_sha256_add(struct pm_sha256 *h, const void *from, size_t n)
{
	const uint8_t *p = from;
	size_t have = h->n % 64;

	h->n += n;
	if (have) {
		size_t k = n < 64 - have ? n : 64 - have;

		memcpy(h->rest + have, p, k);
		if (have + k < 64)
			return;
		add_block(h->sum, h->rest);
		p += k;
		n -= k;
	}
	for (; n >= 64; p += 64, n -= 64)
		add_block(h->sum, p);
	if (n)
		memcpy(h->rest, p, n);
}

void pm_sha256_end(struct pm_sha256 *h, uint8_t out[static PM_SHA256])
{
	const size_t have = h->n % 64, last = have < 56 ? 64 : 128;
	uint8_t end[128] = { 0 };

	memcpy(end, h->rest, have);
	end[have] = 0x80;
	for (unsigned i = 0; i < 8; i++)
		end[last - 1 - i] = (uint8_t)(h->n * 8 >> 8 * i);
	for (size_t i = 0; i < last; i += 64)
		add_block(h->sum, end + i);
	for (unsigned i = 0; i < PM_SHA256; i++)
		out[i] = (uint8_t)(h->sum[i / 4] >> (24 - i % 4 * 8));
}

void pm_sha256_base64(const void *p, size_t n, char out[static 45])
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t byte[PM_SHA256 + 1] = { 0 };
	struct pm_sha256 h;

	pm_sha256_begin(&h);
	pm_sha256_add(&h, p, n);
	pm_sha256_end(&h, byte);
	for (unsigned i = 0, k = 0; i < 33; i += 3) {
		uint32_t v = (uint32_t)byte[i] << 16 | (uint32_t)byte[i + 1] << 8 | byte[i + 2];

		for (unsigned j = 0; j < 4; j++)
			out[k++] = digit[v >> (18 - 6 * j) & 63];
	}
	out[43] = '=';
	out[44] = 0;
}

void pm_sha256_hex(const uint8_t *p, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++) {
		out[2 * i] = "0123456789abcdef"[p[i] >> 4];
		out[2 * i + 1] = "0123456789abcdef"[p[i] & 15];
	}
	out[2 * n] = 0;
}
