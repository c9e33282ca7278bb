/* SPDX-License-Identifier: MIT */
/* test_place.c - where code is put: free, and in reach of all of its text */
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
#include "collect/translate/reach.h"
#include "collect/translate/translate_internal.h"

#define MIB	(1ull << 20)
#define TEXT	0x7f0000000000ull
#define ROUNDS	3000
#define MAPPED	24
#define MODULES	6

static uint64_t seed;

static uint64_t any(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

/* Byte for byte, but slowly: may code of @size bytes be at @at? */
static bool good_place(const struct space *sp, const struct maps *m, uint64_t lo, uint64_t hi,
		       uint64_t at, uint64_t size)
{
	const int64_t back = (int64_t)(at - (hi - 1)), forth = (int64_t)(at + size - 1 - lo);

	if (back != (int32_t)back || forth != (int32_t)forth)
		return false;
	/* the translator accepts that text in each unit there */
	for (uint64_t unit = at; unit <= at + size; unit += size) {
		const struct xl_input in = { .place = unit };

		if (!xl_near(&in, lo) || !xl_near(&in, hi))
			return false;
	}
	if (at < RT_SHADOW + RT_SHADOW_SIZE && RT_SHADOW < at + size)
		return false;
	for (size_t i = 0; i < m->n; i++)
		if (at < m->v[i].hi && m->v[i].lo < at + size)
			return false;
	for (size_t i = 0; i < sp->nmodule; i++)
		if (at < sp->module[i].code.at + sp->module[i].code.cap &&
		    sp->module[i].code.at < at + size)
			return false;
	return true;
}

static void free_and_in_reach(void **state)
{
	unsigned found = 0;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		const uint64_t lo = (any(4) ? TEXT : 4 * MIB) + any(1000) * MIB,
			       hi = lo + (1 + any(1024)) * MIB, size = (1 + any(400)) * MIB;
		struct mapping v[MAPPED + 1] = { { .lo = lo, .hi = hi } };
		struct maps maps = { .v = v, .n = 1 };
		struct module module[MODULES];
		struct space sp = { .module = module };
		uint64_t at;

		memset(module, 0, sizeof module);
		for (uint64_t n = any(MAPPED); n; n--) {
			const uint64_t from = lo > 2048 * MIB ? lo - 2048 * MIB : 16 * MIB,
				       where = from + any(4096) * MIB;

			v[maps.n++] = (struct mapping){ .lo = where,
							.hi = where + (1 + any(300)) * MIB };
		}
		for (uint64_t n = any(MODULES); n; n--) {
			at = choose_place(&sp, &maps, lo, hi, 16 * MIB, any(2) ? n : 0);
			if (!at)
				continue;
			assert_true(good_place(&sp, &maps, lo, hi, at, 16 * MIB));
			module[sp.nmodule++] = (struct module){.code.at = at, .code.cap = 16 * MIB};
		}
		at = choose_place(&sp, &maps, lo, hi, size, any(2));
		if (!at)
			continue;
		found++;
		assert_true(good_place(&sp, &maps, lo, hi, at, size));
	}
	assert_true(found > ROUNDS / 2);
}

/* A stack may grow: what lies near the highest library may not be below it. */
static void not_where_a_stack_grows(void **state)
{
	const uint64_t hi = TEXT + 64 * MIB, stack = hi + 300 * MIB;
	struct mapping v[] = { { .lo = 0x10000, .hi = hi },
			       { .lo = stack - MIB, .hi = stack, .path = "[stack]" },
			       { .lo = stack, .hi = stack + 8192 * MIB } };
	struct maps maps = { .v = v, .n = NR(v) };
	struct space sp = { 0 };
	uint64_t at;

	(void)state;
	at = choose_place(&sp, &maps, TEXT, hi, 150 * MIB, 0);
	assert_true(at && at + 150 * MIB <= stack - 128 * MIB);
	assert_int_equal(choose_place(&sp, &maps, TEXT, hi, 200 * MIB, 0), 0);
	v[1].path = "";
	assert_true(choose_place(&sp, &maps, TEXT, hi, 200 * MIB, 0));
}

/* Free is only what lies 1,500 MiB below: no displacement reaches from there to the end. */
static void not_where_shadows_overflow(void **state)
{
	const uint64_t lo = TEXT, hi = lo + 256 * MIB, size = 400 * MIB;
	const uint64_t at = lo - 1500 * MIB - size;
	struct mapping v[] = { { .lo = lo - 1500 * MIB, .hi = lo + 4096 * MIB },
			       { .lo = 0x10000, .hi = at - 20 * MIB } };
	struct maps maps = { .v = v, .n = NR(v) };
	struct space sp = { 0 };
	uint64_t found;

	(void)state;
	assert_int_equal(choose_place(&sp, &maps, lo, hi, size, 0), 0);
	/* to the end of a smaller one it does */
	found = choose_place(&sp, &maps, lo, lo + 64 * MIB, size, 0);
	assert_true(found && good_place(&sp, &maps, lo, lo + 64 * MIB, found, size));
}

static bool all_is_free(const void *ctx, uint64_t lo, uint64_t hi)
{
	(void)ctx;
	return lo < hi;
}

/* What a library becomes ahead of time has room for nine times its text: that of a large one may be
 * more than any displacement reaches. */
static void none_if_too_large(void **state)
{
	(void)state;
	for (uint64_t mib = 1; mib < 400; mib++) {
		const uint64_t hi = TEXT + mib * MIB, size = 9 * mib * MIB,
			       at = xl_find_place(TEXT, hi, size, all_is_free, NULL);
		struct maps maps = { 0 };
		struct space sp = { 0 };

		if (at)
			assert_true(good_place(&sp, &maps, TEXT, hi, at, size));
		else
			assert_true(size > 1024 * MIB);
	}
}

static void same_distance_for_a_file(void **state)
{
	struct mapping v[] = { { .lo = TEXT, .hi = TEXT + MIB } },
		       w[] = { { .lo = TEXT + 77 * MIB, .hi = TEXT + 78 * MIB } };
	struct maps maps = { .v = v, .n = 1 }, others = { .v = w, .n = 1 };
	struct space sp = { 0 };

	(void)state;
	for (uint64_t id = 1; id < 100; id++)
		assert_int_equal(choose_place(&sp, &maps, TEXT, TEXT + MIB, 8 * MIB, id) - TEXT,
				 choose_place(&sp, &others, TEXT + 77 * MIB, TEXT + 78 * MIB,
					      8 * MIB, id) - (TEXT + 77 * MIB));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(free_and_in_reach),
		cmocka_unit_test(not_where_shadows_overflow),
		cmocka_unit_test(not_where_a_stack_grows),
		cmocka_unit_test(none_if_too_large),
		cmocka_unit_test(same_distance_for_a_file),
	};

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)getpid();
	printf("# seed %llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
