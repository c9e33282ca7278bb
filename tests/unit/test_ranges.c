/* SPDX-License-Identifier: MIT */
/* test_ranges.c - what may be executed: ranges against a slow list of pages */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "collect/space/space_internal.h"

#define PAGES	64u
#define ROUNDS	20000u

/* What a page is; prot 0: not executable. */
struct page {
	uint32_t prot;
	bool shared, patched;
};

static uint64_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

static bool same_kind(const struct range *r, const struct page *p)
{
	return r->prot == p->prot && r->shared == p->shared && r->patched == p->patched;
}

/* Every page is in the one range that it should be in. */
static void compare(const struct space *sp, const struct page *page)
{
	for (uint32_t i = 0; i < PAGES; i++) {
		const struct range *r = space_range(sp, i * PAGE + any(PAGE));
		unsigned n = 0;

		assert_int_equal(r != NULL, page[i].prot != 0);
		assert_true(!r || same_kind(r, &page[i]));
		for (size_t k = 0; k < sp->nrange; k++)
			n += sp->range[k].lo <= i * PAGE && i * PAGE < sp->range[k].hi;
		assert_int_equal(n, page[i].prot != 0);
	}
	for (size_t i = 0; i < sp->nrange; i++)
		assert_true(sp->range[i].lo < sp->range[i].hi);
}

static void add_joins(const struct space *sp, uint64_t lo, uint64_t hi)
{
	const struct range *r = space_range(sp, lo);

	for (size_t i = 0; i < sp->nrange; i++) {
		const struct range *o = &sp->range[i];

		assert_true(r->shared || o == r || o->shared || o->prot != r->prot ||
			    o->patched != r->patched || (o->hi != r->lo && o->lo != r->hi));
	}
	assert_true(r->lo <= lo && hi <= r->hi);
}

static void added_and_removed(void **state)
{
	struct page page[PAGES] = { 0 };
	struct space sp = { 0 };

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		const uint32_t lo = any(PAGES), n = 1 + any(any(4) ? 4 : PAGES - lo),
			       hi = lo + n < PAGES ? lo + n : PAGES;
		const struct page p = { any(2) ? 5 : 7, !any(8), !any(4) };
		const bool add = any(3);

		space_range_del(&sp, lo * PAGE, hi * PAGE); /* as whoever maps something does */
		for (uint32_t i = lo; i < hi; i++)
			page[i] = add ? p : (struct page){ 0 };
		if (add) {
			space_range_add(&sp, lo * PAGE, hi * PAGE, p.prot, p.shared, p.patched);
			add_joins(&sp, lo * PAGE, hi * PAGE);
		}
		compare(&sp, page);
	}
	free(sp.range);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(added_and_removed),
	};

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)getpid();
	printf("# seed %llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
