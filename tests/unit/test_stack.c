/* SPDX-License-Identifier: MIT */
/* One pass over all LRU geometries, and reuse distances, against lists searched from the front. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../oracle/random.h"
#include "../oracle/stack_slow.h"
#include "analyse/cache_sim.h"
#include "analyse/reuse.h"
#include "analyse/stack.h"
#include "real_trace.h"

static size_t nrefs(size_t n)
{
	const char *s = getenv("PM_REFS");

	return s ? strtoull(s, NULL, 0) : n;
}

static uint64_t compared;

/* @span addresses; every fourth far away, so that lists get long */
static uint64_t *addresses(uint64_t seed, uint64_t span, size_t n)
{
	struct o_random r = o_random_init(seed);
	uint64_t *a = malloc(n * sizeof *a);
	size_t m = 0, k = 0;
	struct pm_event *ev;

	for (size_t i = 0; seed && i < n; i++)
		a[i] = o_random_ref(&r, span).addr;
	if (seed)
		return a;
	ev = real_events(SIZE_MAX, &m);
	for (size_t i = 0; i < m && k < n; i++)
		if (ev[i].kind >= PM_EV_READ && ev[i].kind <= PM_EV_MODIFY)
			a[k++] = ev[i].addr;
	free(ev);
	if (k < n)
		fail_msg("the trace has only %zu references", k);
	return a;
}

static void test_geometries(void **state)
{
	const unsigned ways = 16, first = 0, levels = 11;
	size_t n = nrefs(20000);

	(void)state;
	for (unsigned round = 0; round < 8; round++) {
		uint64_t line = 16u << round % 4,
			 *a = addresses(round < 4 ? line : 0, line * 3000, n);
		struct pm_stack *s = pm_stack_new(__builtin_ctzll(line), first, levels, ways);

		for (size_t i = 0; i < n; i += 999)
			pm_stack_run(s, a + i, n - i < 999 ? n - i : 999);
		for (unsigned l = 0; l < levels; l++)
			for (unsigned w = 1; w <= ways; w++) {
				uint64_t slow = o_lru_misses(a, n, line, 1ull << l, w);

				if (pm_stack_misses(s, l, w) != slow)
					fail_msg("line %d sets %d ways %u: %llu misses, slow %llu",
						 (int)line, 1 << l, w,
						 (unsigned long long)pm_stack_misses(s, l, w),
						 (unsigned long long)slow);
				compared += n;
			}
		pm_stack_free(s);
		free(a);
	}
}

/* The cache simulator, one configuration at a time, says the same as the one pass. */
static void against_cache(uint64_t seed)
{
	size_t n = nrefs(50000);
	struct pm_event *ev = malloc(n * sizeof *ev);
	uint64_t *real = seed ? NULL : addresses(0, 0, n);
	struct o_random r = o_random_init(seed);
	struct pm_err err = { 0 };
	struct pm_stack *s = pm_stack_new(6, 3, 7, 8);

	for (size_t i = 0; i < n; i++) {
		ev[i] = o_random_ref(&r, 300000);
		ev[i].size = 1;
		if (ev[i].kind == PM_EV_MODIFY)
			ev[i].kind = PM_EV_READ;
		if (real)
			ev[i].addr = real[i];
		pm_stack_run(s, &ev[i].addr, 1);
	}
	for (unsigned l = 0; l < 7; l++)
		for (unsigned w = 1; w <= 8; w++) {
			char config[60];
			struct pm_cache *c;
			uint64_t m = 0;

			snprintf(config, sizeof config, "l1=%u,%uway,64", 64 * w * (8u << l), w);
			c = pm_cache_new(config, &err);
			assert_non_null(c);
			pm_cache_events(c, ev, n);
			for (int op = 0; op < PM_OP_COUNT; op++)
				m += pm_cache_stats(c, 0)->miss[op][0] +
				     pm_cache_stats(c, 0)->miss[op][1];
			assert_int_equal(m, pm_stack_misses(s, l, w));
			compared += n;
			pm_cache_free(c);
		}
	pm_stack_free(s);
	free(real);
	free(ev);
}

static void test_against_cache(void **state)
{
	(void)state;
	against_cache(11);
	against_cache(0);
}

static void reuse_check(uint64_t seed, uint64_t span, size_t n, unsigned shift)
{
	uint64_t *a = addresses(seed, span, n), cold = 0, *hist = calloc(n + 1, sizeof *hist),
		 window = 0;
	struct pm_reuse *u = pm_reuse_new();
	struct o_lru l = { 0 }, seen = { 0 };
	const uint64_t *h;
	size_t m;

	for (size_t i = 0; i < n; i++)
		a[i] >>= shift;
	for (size_t i = 0; i < n; ) {
		size_t k = 1 + (i * 7 + 13) % 3000;

		k = k > n - i ? n - i : k;
		pm_reuse_run(u, a + i, k);
		for (size_t j = i; j < i + k; j++) {
			long d = o_lru_touch(&l, a[j], SIZE_MAX);

			if (d < 0)
				cold++;
			else
				hist[d]++;
		}
		i += k;
	}
	h = pm_reuse_hist(u, &m);
	assert_int_equal(pm_reuse_cold(u), cold);
	assert_int_equal(pm_reuse_lookups(u), n);
	for (size_t d = 0; d < n; d++)
		if ((d < m ? h[d] : 0) != hist[d])
			fail_msg("distance %zu: %llu times, slow %llu", d,
				 (unsigned long long)(d < m ? h[d] : 0),
				 (unsigned long long)hist[d]);
	compared += n;
	pm_reuse_free(u);
	/* working sets: distinct lines of each stretch of 5000 */
	u = pm_reuse_new();
	for (size_t i = 0; i + 5000 <= n; i += 5000) {
		seen.n = 0;
		window = 0;
		for (size_t j = i; j < i + 5000; j++)
			window += o_lru_touch(&seen, a[j], SIZE_MAX) < 0;
		pm_reuse_run(u, a + i, 5000);
		assert_int_equal(pm_reuse_window(u), window);
	}
	pm_reuse_free(u);
	free(seen.v);
	free(l.v);
	free(hist);
	free(a);
}

static void test_reuse(void **state)
{
	(void)state;
	reuse_check(1, 20000, nrefs(150000), 3);
	reuse_check(2, 2000000, nrefs(150000), 6);	/* more lines than the first capacity
							 * divided by 8 */
	reuse_check(3, 1000, nrefs(300000), 0);
	reuse_check(0, 0, 50000, 6);
}

/* SHARDS: at rate 1 exact; at 1 in 8 within four of its own standard errors, and 0.02 at most. */
static void test_shards(void **state)
{
	size_t n = 400000, ns[2];
	uint64_t *a = addresses(5, 6000000, n), kept = 0;
	struct pm_reuse *exact = pm_reuse_new(), *some = pm_reuse_new(), *g[8];
	const uint64_t *h[2];

	(void)state;
	for (int k = 0; k < 8; k++)
		g[k] = pm_reuse_new();
	for (size_t i = 0; i < n; i++) {
		uint64_t line = a[i] >> 6;
		int k = pm_shards_group(line, 8);

		assert_true(pm_shards_group(line, 1) >= 0);
		pm_reuse_run(exact, &line, 1);
		if (k < 0)
			continue;
		kept++;
		pm_reuse_run(some, &line, 1);
		pm_reuse_run(g[k], &line, 1);
	}
	assert_true(kept > n / 16 && kept < n / 4);
	h[0] = pm_reuse_hist(exact, ns);
	h[1] = pm_reuse_hist(some, ns + 1);
	for (size_t size = 64; size < 60000; size *= 2) {
		double m[2] = { pm_reuse_cold(exact), pm_reuse_cold(some) }, mean = 0, var = 0,
		mg[8], se;

		for (size_t d = size; d < ns[0]; d++)
			m[0] += h[0][d];
		for (size_t d = size / 8; d < ns[1]; d++)
			m[1] += h[1][d];
		m[0] /= n;
		m[1] = m[1] * 8 / n;
		for (int k = 0; k < 8; k++) {
			size_t ng;
			const uint64_t *hg = pm_reuse_hist(g[k], &ng);

			mg[k] = pm_reuse_cold(g[k]);
			for (size_t d = size / 64; d < ng; d++)
				mg[k] += hg[d];
			mg[k] = mg[k] * 64 / n;
			mean += mg[k] / 8;
		}
		for (int k = 0; k < 8; k++)
			var += (mg[k] - mean) * (mg[k] - mean) / 7;
		se = sqrt(var / 8);
		if (fabs(m[0] - m[1]) > 4 * se || fabs(m[0] - m[1]) > 0.05)
			fail_msg("size %zu: exact %f, sampled %f, standard error %f", size, m[0],
				 m[1], se);
	}
	for (int k = 0; k < 8; k++)
		pm_reuse_free(g[k]);
	pm_reuse_free(exact);
	pm_reuse_free(some);
	free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_geometries),
		cmocka_unit_test(test_against_cache),
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_shards),
	};
	int failed = cmocka_run_group_tests_name("stack", tests, NULL, NULL);

	printf("compared %llu references\n", (unsigned long long)compared);
	return failed;
}
