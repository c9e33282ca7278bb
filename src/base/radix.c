/* SPDX-License-Identifier: MIT */
/* radix.c - see radix.h: some bits at a time, from the least significant ones on */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/radix.h"

#define DIGIT 11u		/* bits: two of them are what addresses in 4 MiB differ in */

struct radix_item {
	uint64_t key;
	uint64_t record;		/* its number */
};

static uint64_t number_at(const uint8_t *p, unsigned bytes)
{
	uint64_t v8;
	uint32_t v4;

	switch (bytes) {
	case 8:
		memcpy(&v8, p, 8);
		return v8;
	case 4:
		memcpy(&v4, p, 4);
		return v4;
	default:
		assert(bytes == 1);
		return *p;
	}
}

static bool is_sorted(const uint8_t *v, size_t n, size_t size, const struct pm_radix_key *key,
		      unsigned nkey)
{
	for (size_t i = 1; i < n; i++)
		for (unsigned k = 0; k < nkey; k++) {
			const uint64_t a = number_at(v + (i - 1) * size + key[k].at, key[k].bytes),
				       b = number_at(v + i * size + key[k].at, key[k].bytes);

			if (a > b)
				return false;
			if (a < b)
				break;
		}
	return true;
}

/* By DIGIT bits of their keys from @shift on, from @a to @b. */
static void sort_digit(const struct radix_item *a, struct radix_item *b, size_t n, unsigned shift)
{
	const uint64_t mask = (1u << DIGIT) - 1;
	size_t at[1u << DIGIT] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[a[i].key >> shift & mask]++;
	for (unsigned k = 0; k <= mask; k++) {
		const size_t count = at[k];

		at[k] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		b[at[a[i].key >> shift & mask]++] = a[i];
}

void pm_radix_sort(void *records, size_t n, size_t size, const struct pm_radix_key *key,
		   unsigned nkey)
{
	struct radix_item *a, *b, *other;
	uint8_t *v = records, *was;

	if (is_sorted(v, n, size, key, nkey))
		return;
	a = pm_alloc_unset(n * sizeof *a);
	b = pm_alloc_unset(n * sizeof *b);
	for (size_t i = 0; i < n; i++)
		a[i].record = i;
	for (unsigned k = nkey; k-- > 0; ) {
		uint64_t differs = 0;

		for (size_t i = 0; i < n; i++) {
			a[i].key = number_at(v + a[i].record * size + key[k].at, key[k].bytes);
			differs |= a[i].key ^ a[0].key;
		}
		for (unsigned shift = 0; shift < 64 && differs >> shift; shift += DIGIT) {
			shift += (unsigned)__builtin_ctzll(differs >> shift);
			sort_digit(a, b, n, shift);
			other = a;
			a = b;
			b = other;
		}
	}
	was = pm_alloc_unset(n * size);
	memcpy(was, v, n * size);
	for (size_t i = 0; i < n; i++)
		memcpy(v + i * size, was + a[i].record * size, size);
	free(was);
	free(a);
	free(b);
}
