/* SPDX-License-Identifier: MIT */
/* Bounds in all sorted arrays of up to 6 numbers below 5, against looking at each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bound.h"

#define MOST	6
#define VALUES	5

struct item { char other; uint64_t key; };

static void check(const struct item *v, const uint64_t *number, size_t n)
{
	for (uint64_t key = 0; key <= VALUES; key++) {
		size_t below = 0, upto = 0;

		for (size_t i = 0; i < n; i++) {
			below += v[i].key < key;
			upto += v[i].key <= key;
		}
		assert_int_equal(pm_lower_bound(v, n, .key, key), below);
		assert_int_equal(pm_upper_bound(v, n, .key, key), upto);
		assert_int_equal(pm_lower_bound(number, n, , key), below);
		assert_int_equal(pm_upper_bound(number, n, , key), upto);
	}
}

static void try_all(struct item *v, uint64_t *number, size_t n)
{
	check(v, number, n);
	if (n == MOST)
		return;
	for (uint64_t key = n ? number[n - 1] : 0; key < VALUES; key++) {
		v[n].key = number[n] = key;
		try_all(v, number, n + 1);
	}
}

static void test_bounds(void **state)
{
	struct item v[MOST] = { { 0 } };
	uint64_t number[MOST] = { 0 };

	(void)state;
	try_all(v, number, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_bounds) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
