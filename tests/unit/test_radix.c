/* SPDX-License-Identifier: MIT */
/* base/radix.h against qsort(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/radix.h"

struct record {
	uint64_t a;
	uint32_t b;
	uint8_t c;
	uint32_t number;		/* where it was */
};

static int compare(const void *x, const void *y)
{
	const struct record *p = x, *q = y;

	if (p->b != q->b)
		return p->b < q->b ? -1 : 1;
	if (p->a != q->a)
		return p->a < q->a ? -1 : 1;
	if (p->c != q->c)
		return p->c < q->c ? -1 : 1;
	return p->number < q->number ? -1 : p->number > q->number;
}

static void random_records(void **state)
{
	static const struct pm_radix_key key[] = {
		{ offsetof(struct record, b), 4 }, { offsetof(struct record, a), 8 },
		{ offsetof(struct record, c), 1 },
	};
	static const uint64_t masks[] = { 0, 1, 0xff, 0xfff000, ~0ull, 1ull << 63,
					  1ull << 63 | 1 };
	struct record *v = pm_alloc(3000 * sizeof *v), *want = pm_alloc(3000 * sizeof *want);

	(void)state;
	srand(1);
	for (unsigned round = 0; round < 300; round++) {
		const size_t n = round % 10 ? (size_t)rand() % 40 : (size_t)rand() % 3000;
		const uint64_t mask = masks[round % NR(masks)], more = masks[round / 7 % NR(masks)];

		for (size_t i = 0; i < n; i++)
			v[i] = (struct record){
				.a = (((uint64_t)rand() << 33) ^ ((uint64_t)rand() << 11) ^
				      (uint64_t)rand()) & mask,
				.b = (uint32_t)rand() & (uint32_t)more, .c = (uint8_t)(rand() & 3),
				.number = (uint32_t)i,
			};
		memcpy(want, v, n * sizeof *v);
		qsort(want, n, sizeof *want, compare);
		pm_radix_sort(v, n, sizeof *v, key, NR(key));
		assert_memory_equal(v, want, n * sizeof *v);
		pm_radix_sort(v, n, sizeof *v, key, NR(key));		/* nothing to do */
		assert_memory_equal(v, want, n * sizeof *v);
	}
	free(v);
	free(want);
}

/* Few sorted runs, and one more than are merged. */
static void nearly_sorted_records(void **state)
{
	static const struct pm_radix_key key[] = {
		{ offsetof(struct record, b), 4 }, { offsetof(struct record, a), 8 },
		{ offsetof(struct record, c), 1 },
	};
	struct record v[500], want[500];

	(void)state;
	for (unsigned runs = 1; runs <= 6; runs++) {
		for (uint32_t i = 0; i < NR(v); i++)
			v[i] = (struct record){ .b = i % (NR(v) / runs) / 3, .number = i };
		memcpy(want, v, sizeof v);
		qsort(want, NR(v), sizeof *want, compare);
		pm_radix_sort(v, NR(v), sizeof *v, key, NR(key));
		assert_memory_equal(v, want, sizeof v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_records),
		cmocka_unit_test(nearly_sorted_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
