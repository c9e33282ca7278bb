/* SPDX-License-Identifier: MIT */
/* radix.c - see radix.h: some bits at a time, from the least significant ones on; a few sorted runs
 * are merged */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/radix.h"

#define DIGIT 11u		/* bits: two of them are what addresses in 4 MiB differ in */

/* A record's number, and of the key what is being sorted by. Half as large as a whole key would
 * make it: what is sorted seldom fits the second cache. */
struct radix_item {
	uint32_t key, record;
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

static bool is_after(const uint8_t *x, const uint8_t *y, const struct pm_radix_key *key,
		     unsigned nkey)
{
	for (unsigned k = 0; k < nkey; k++) {
		const uint64_t a = number_at(x + key[k].at, key[k].bytes),
			       b = number_at(y + key[k].at, key[k].bytes);

		if (a != b)
			return a > b;
	}
	return false;
}

/* ---- what is nearly sorted ------------------------------------------------------------------- */
#define MOST_RUNS 4u			/* to merge more takes longer than to sort */

/* Where the sorted runs of the records begin, and their end: run[0 .. *nrun]. False: there are
 * more. */
static bool find_runs(const uint8_t *v, size_t n, size_t size, const struct pm_radix_key *key,
		      unsigned nkey, size_t run[MOST_RUNS + 1], unsigned *nrun)
{
	*nrun = 1;
	run[0] = 0;
	for (size_t i = 1; i < n; i++) {
		if (!is_after(v + (i - 1) * size, v + i * size, key, nkey))
			continue;
		if (*nrun == MOST_RUNS)
			return false;
		run[(*nrun)++] = i;
	}
	run[*nrun] = n;
	return true;
}

static void merge_runs(uint8_t *v, size_t size, const struct pm_radix_key *key, unsigned nkey,
		       size_t run[MOST_RUNS + 1], unsigned nrun)
{
	const size_t n = run[nrun];
	uint8_t *const was = pm_alloc_unset(n * size);
	size_t end[MOST_RUNS];

	memcpy(was, v, n * size);
	memcpy(end, run + 1, nrun * sizeof *end);
	for (size_t i = 0; i < n; i++) {
		unsigned first = nrun;

		for (unsigned k = 0; k < nrun; k++)
			if (run[k] < end[k] &&
			    (first == nrun || is_after(was + run[first] * size,
						       was + run[k] * size, key, nkey)))
				first = k;
		memcpy(v + i * size, was + run[first]++ * size, size);
	}
	free(was);
}

/* ---- what is not ----------------------------------------------------------------------------- */
/* By DIGIT bits of their keys from @shift on, from @a to @b. */
static void sort_digit(const struct radix_item *a, struct radix_item *b, size_t n, unsigned shift)
{
	const uint32_t mask = (1u << DIGIT) - 1;
	uint32_t at[1u << DIGIT] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[a[i].key >> shift & mask]++;
	for (unsigned k = 0; k <= mask; k++) {
		const uint32_t count = at[k];

		at[k] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		b[at[a[i].key >> shift & mask]++] = a[i];
}

/* By 32 bits of key @key from @low on; the other bits do not matter. Returns where the items are
 * then, @a or @b. */
static struct radix_item *sort_word(const uint8_t *v, size_t size, const struct pm_radix_key *key,
				    unsigned low, struct radix_item *a, struct radix_item *b,
				    size_t n)
{
	uint32_t differs = 0;

	for (size_t i = 0; i < n; i++) {
		a[i].key = (uint32_t)(number_at(v + a[i].record * size + key->at, key->bytes) >>
				      low);
		differs |= a[i].key ^ a[0].key;
	}
	for (unsigned shift = 0; shift < 32 && differs >> shift; shift += DIGIT) {
		struct radix_item *const was = a;

		shift += (unsigned)__builtin_ctz(differs >> shift);
		sort_digit(a, b, n, shift);
		a = b;
		b = was;
	}
	return a;
}

void pm_radix_sort(void *records, size_t n, size_t size, const struct pm_radix_key *key,
		   unsigned nkey)
{
	struct radix_item *room, *a, *b;
	uint8_t *v = records, *was;
	size_t run[MOST_RUNS + 1];
	unsigned nrun;

	if (find_runs(v, n, size, key, nkey, run, &nrun)) {
		if (nrun > 1)
			merge_runs(v, size, key, nkey, run, nrun);
		return;
	}
	assert(n <= UINT32_MAX);
	room = pm_alloc_unset(2 * n * sizeof *room);
	a = room;
	b = room + n;
	for (size_t i = 0; i < n; i++)
		a[i].record = (uint32_t)i;
	for (unsigned k = nkey; k-- > 0; )
		for (unsigned low = 0; low < 8 * key[k].bytes; low += 32)
			if (sort_word(v, size, &key[k], low, a, b, n) != a) {
				struct radix_item *const other = a;

				a = b;
				b = other;
			}
	was = pm_alloc_unset(n * size);
	memcpy(was, v, n * size);
	for (size_t i = 0; i < n; i++)
		memcpy(v + i * size, was + a[i].record * size, size);
	free(was);
	free(room);
}
