/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/string_table.h"

#define STRINGS 5000

static void test_numbers(void **state)
{
	struct pm_string_table t = { 0 };
	char s[32];

	(void)state;
	assert_int_equal(pm_string_find(&t, ""), PM_NO_STRING);
	for (unsigned round = 0; round < 2; round++)
		for (uint32_t i = 0; i < STRINGS; i++) {
			snprintf(s, sizeof s, "name %u", i);
			if (!i)
				*s = 0;
			assert_int_equal(pm_string_find(&t, s), round ? i : PM_NO_STRING);
			assert_int_equal(pm_string_add(&t, s), i);
			assert_int_equal(t.n, round ? STRINGS : i + 1);
			assert_string_equal(t.v[i], s);
		}
	assert_int_equal(pm_string_find(&t, "name 0"), PM_NO_STRING);
	pm_string_table_release(&t);
	assert_int_equal(t.n, 0);
	assert_int_equal(pm_string_add(&t, "first"), 0);
	pm_string_table_release(&t);
}

/* Where another string has a string's hash already, it stands behind that. */
static void test_collision(void **state)
{
	struct pm_string_table t = { 0 };
	uint64_t key = 0, number;
	size_t at = 0;

	(void)state;
	assert_int_equal(pm_string_add(&t, "known"), 0);
	assert_true(pm_map_next(&t.at, &at, &key, &number));
	/* what would be there if "other" had the hash of "known" */
	t.v[0] = "other";
	assert_int_equal(pm_string_find(&t, "known"), PM_NO_STRING);
	assert_int_equal(pm_string_add(&t, "known"), 1);
	assert_int_equal(pm_string_find(&t, "known"), 1);
	assert_non_null(pm_map_get(&t.at, key + 1));
	pm_string_table_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_collision),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
