/* SPDX-License-Identifier: MIT */
/* Orders of blocks against all orders there are, and of functions against what the paper says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../oracle/random.h"
#include "analyse/call_order.h"
#include "analyse/ext_tsp.h"
#include "base/mem.h"

#define MOST 7				/* blocks of a function of which all orders are tried */

static struct o_random dice;

static uint64_t random_below(uint64_t n)
{
	return (o_rnd(&dice) >> 16) % n;
}

static void swap(uint32_t *v, size_t a, size_t b)
{
	const uint32_t x = v[a];

	v[a] = v[b];
	v[b] = x;
}

/* The most that any order is worth whose first @k blocks are those of @v. */
static double best_of(const struct pm_tsp_block *b, size_t n, const struct pm_tsp_edge *e,
		      size_t ne, uint32_t *v, size_t k)
{
	double best = 0;

	if (k == n)
		return pm_ext_tsp_score(b, n, e, ne, v);
	for (size_t i = k; i < n; i++) {
		double s;

		swap(v, k, i);
		s = best_of(b, n, e, ne, v, k + 1);
		best = s > best ? s : best;
		swap(v, k, i);
	}
	return best;
}

static void is_order(const uint32_t *order, size_t n)
{
	bool *seen = pm_alloc(n + 1);

	assert_int_equal(order[0], 0);
	for (size_t i = 0; i < n; i++) {
		assert_true(order[i] < n && !seen[order[i]]);
		seen[order[i]] = true;
	}
	free(seen);
}

static size_t random_graph(struct pm_tsp_block *b, size_t n, struct pm_tsp_edge *e, size_t most)
{
	size_t ne = 0;

	for (size_t i = 0; i < n; i++)
		b[i] = (struct pm_tsp_block){ random_below(4) ? random_below(200) : 0,
					      random_below(1000) };
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < n; k++)
			if (random_below(n) < 2 && ne < most)
				e[ne++] = (struct pm_tsp_edge){ i, k, random_below(1000) };
	return ne;
}

/* Greedy is not always best; it is close, and never better than the best. */
static void against_all(void **state)
{
	struct pm_tsp_block b[MOST];
	struct pm_tsp_edge e[MOST * MOST];
	double sum = 0, sum_best = 0;

	(void)state;
	for (int i = 0; i < 400; i++) {
		const size_t n = 1 + random_below(MOST), ne = random_graph(b, n, e, MOST * MOST);
		uint32_t order[MOST], v[MOST];
		double got, best;

		for (uint32_t k = 0; k < n; k++)
			v[k] = k;
		pm_ext_tsp(b, n, e, ne, order);
		is_order(order, n);
		got = pm_ext_tsp_score(b, n, e, ne, order);
		best = best_of(b, n, e, ne, v, 1);
		assert_true(got <= best * (1 + 1e-9));
		sum += got;
		sum_best += best;
	}
	assert_true(sum > 0.97 * sum_best);
}

/* if (rare) {1} else {2}; a loop of 3 and 4 that was written the wrong way round */
static void known(void **state)
{
	const struct pm_tsp_block b[6] = { { 10, 100 }, { 10, 1 }, { 10, 99 }, { 10, 1000 },
					   { 10, 900 }, { 10, 100 } };
	const struct pm_tsp_edge e[] = {
		{ 0, 1, 1 }, { 0, 2, 99 }, { 1, 4, 1 }, { 2, 4, 99 }, { 4, 3, 1000 }, { 3, 4, 900 },
		{ 3, 5, 100 },
	};
	const uint32_t want[6] = { 0, 2, 4, 3, 5, 1 };
	uint32_t order[6];

	(void)state;
	pm_ext_tsp(b, 6, e, 7, order);
	assert_memory_equal(order, want, sizeof want);
}

/* Large ones end, and the same graph gives the same order. */
static void large(void **state)
{
	const size_t n = 3000, most = 9000;
	struct pm_tsp_block *b = pm_alloc(n * sizeof *b);
	struct pm_tsp_edge *e = pm_alloc(most * sizeof *e);
	uint32_t *one = pm_alloc(n * sizeof *one), *two = pm_alloc(n * sizeof *two);

	(void)state;
	for (size_t i = 0; i < n; i++)
		b[i] = (struct pm_tsp_block){ 1 + random_below(60), random_below(100000) };
	for (size_t i = 0; i < most; i++) {
		const uint32_t from = (uint32_t)random_below(n);

		e[i] = (struct pm_tsp_edge){ from, (from + (uint32_t)random_below(40)) % n,
					     random_below(10000) };
	}
	pm_ext_tsp(b, n, e, most, one);
	pm_ext_tsp(b, n, e, most, two);
	is_order(one, n);
	assert_memory_equal(one, two, n * sizeof *one);
	free(b);
	free(e);
	free(one);
	free(two);
}

/* The callee goes behind the caller that calls it most; what is hotter comes first. A function that
 * is too cold for the cluster of its caller, and one too big, stay where they are. */
static void calls(void **state)
{
	const struct pm_call_function f[6] = {
		{ 100, 1000 }, { 100, 90000 }, { 100, 80000 }, { 100, 20000 }, { 100000, 20 },
		{ 2000000, 4e9 },
	};
	const struct pm_call_edge e[] = {
		{ 0, 3, 5 }, { 3, 2, 10 }, { 1, 2, 700 }, { 1, 1, 9999 }, { 2, 4, 1 }, { 2, 5, 9 },
	};
	const uint32_t want[6] = { 5, 1, 2, 0, 3, 4 };
	uint32_t order[6];

	(void)state;
	pm_call_order(f, 6, e, 6, order);
	assert_memory_equal(order, want, sizeof want);
	pm_call_order(f, 0, e, 0, order);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known),
		cmocka_unit_test(against_all),
		cmocka_unit_test(large),
		cmocka_unit_test(calls),
	};

	dice = o_random_init(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
