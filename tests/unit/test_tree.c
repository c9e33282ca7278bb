/* SPDX-License-Identifier: MIT */
/* test_tree.c - contexts that are appended and contexts that are looked for, in one tree */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "analyse/tree.h"

#define THREADS 50000u
#define DEEP 4u
/* Of processors: it takes 0.05; slots made anew for each tree took over 500. */
#define SECONDS 20

/* As threads' trees come one after the other: a root that is looked for, and what is below it. */
static void many_small_trees(void **state)
{
	const clock_t began = clock();
	struct pm_tree t;

	(void)state;
	pm_tree_init(&t, PM_TREE_DEPTH, PM_TREE_NODES);
	for (uint32_t k = 0; k < THREADS; k++) {
		const struct pm_tree_function x = { .name = "x" };
		const uint32_t f = pm_tree_add_function(&t, &x);
		uint32_t at = pm_tree_child(&t, 0, f);

		assert_int_equal(at, 1 + k * DEEP);
		pm_tree_reserve(&t, DEEP);
		for (unsigned i = 1; i < DEEP; i++)
			at = pm_tree_append(&t, at, i + 1);
	}
	assert_int_equal(t.n, 1 + THREADS * DEEP);
	/* each is found where it was put, and none is made */
	for (uint32_t k = 0; k < THREADS; k++) {
		uint32_t at = pm_tree_child(&t, 0, k + 2);

		assert_int_equal(at, 1 + k * DEEP);
		for (unsigned i = 1; i < DEEP; i++) {
			at = pm_tree_child(&t, at, i + 1);
			assert_int_equal(at, 1 + k * DEEP + i);
		}
	}
	assert_int_equal(t.n, 1 + THREADS * DEEP);
	assert_true(clock() - began < SECONDS * (clock_t)CLOCKS_PER_SEC);
	pm_tree_release(&t);
}

/* What finds no place has its function below `overflow`, which nobody can look for. */
static void no_more_room(void **state)
{
	struct pm_tree t;
	uint32_t a, b;

	(void)state;
	pm_tree_init(&t, PM_TREE_DEPTH, 4);
	a = pm_tree_append(&t, 0, 2);
	b = pm_tree_append(&t, a, 3);
	assert_int_equal(pm_tree_child(&t, 0, 4), 3);
	assert_int_equal(t.overflow, 0);
	assert_int_equal(pm_tree_child(&t, a, 5), 5);
	assert_int_equal(t.overflow, 4);
	assert_int_equal(t.node[5].parent, t.overflow);
	assert_int_equal(pm_tree_child(&t, b, 5), 5);
	assert_int_equal(pm_tree_child(&t, 0, 2), a);
	assert_int_equal(pm_tree_child(&t, a, 3), b);
	assert_int_equal(pm_tree_child(&t, 0, 4), 3);
	pm_tree_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_small_trees),
		cmocka_unit_test(no_more_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
