/* SPDX-License-Identifier: MIT */
/* Caches warmed from a store against caches that saw everything; stores through a file;
 * quantiles. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../oracle/random.h"
#include "analyse/cache_sim.h"
#include "analyse/confidence.h"
#include "analyse/warm.h"
#include "base/err.h"
#include "base/mem.h"
#include "real_trace.h"

static const char *const configs[] = {
	"l1i=4k,2way;l1d=4k,4way", "l1i=512,1way;l1d=16k,full", "l1=8k,16way", "l1=1k,2way",
	"l1d=24k,12way,128", "l1i=32k,8way;l1d=48k,12way", "l1=2m,16way",
};

/* The events of @n in intervals of @every instructions. */
static struct pm_warm store_of(const struct pm_event *ev, size_t n, uint64_t every)
{
	struct pm_warm_maker *m = pm_warm_maker_new();
	struct pm_warm w = { .every = every, .identity = 7 };
	size_t cap = 0, from = 0;

	for (size_t i = 0; i <= n; i++) {
		if (i < n && (ev[i].kind != PM_EV_INSN || !w.insns || w.insns % every)) {
			w.insns += ev[i].kind == PM_EV_INSN;
			continue;
		}
		pm_warm_maker_events(m, &(struct pm_batch){ .ev = ev + from, .n = i - from });
		pm_grow(w.part, w.n, cap);
		w.part[w.n++] = pm_warm_maker_end(m);
		from = i;
		w.insns += i < n;
	}
	pm_warm_maker_free(m);
	return w;
}

static void use(void *ctx, uint64_t line, bool fetched, bool written)
{
	pm_cache_warm(ctx, fetched ? PM_OP_FETCH : written ? PM_OP_WRITE : PM_OP_READ, line);
}

static uint64_t misses(const struct pm_cache *c)
{
	uint64_t sum = 0;

	for (unsigned l = 0; l < pm_cache_config(c)->n; l++)
		for (unsigned op = 0; op < PM_OP_COUNT; op++)
			for (unsigned cls = 0; cls < 2; cls++)
				sum += pm_cache_stats(c, l)->miss[op][cls];
	return sum;
}

static uint64_t dirty(struct pm_cache *c)
{
	const uint64_t before = pm_cache_memory_stats(c)->writes;

	pm_cache_flush(c);
	return pm_cache_memory_stats(c)->writes - before;
}

/* What a warmed cache does with the second half is what one does that saw the first. */
static void compare(const char *config, const struct pm_event *ev, size_t n, uint64_t every)
{
	struct pm_err err = { 0 };
	struct pm_cache *a = pm_cache_new(config, &err), *b = pm_cache_new(config, &err);
	struct pm_warm w = store_of(ev, n / 2, every);
	uint64_t ma, mb;

	assert_non_null(a);
	pm_cache_events(a, ev, n / 2);
	for (size_t i = 0; i < w.n; i++)
		pm_warm_each(&w, i, use, b);
	ma = misses(a);
	mb = misses(b);
	pm_cache_events(a, ev + n / 2, n - n / 2);
	pm_cache_events(b, ev + n / 2, n - n / 2);
	if (misses(a) - ma != misses(b) - mb)
		fail_msg("%s, intervals of %llu: %llu misses, %llu after all references", config,
			 (unsigned long long)every, (unsigned long long)(misses(b) - mb),
			 (unsigned long long)(misses(a) - ma));
	/* a large one in which nothing leaves has the same lines dirty */
	if (strstr(config, "2m"))
		assert_int_equal(dirty(a), dirty(b));
	pm_warm_release(&w);
	pm_cache_free(a);
	pm_cache_free(b);
}

static void lru_caches_are_the_same(void **state)
{
	const size_t n = 60000;
	struct pm_event *ev = calloc(n, sizeof *ev);
	struct o_random r = o_random_init(5);
	size_t real_n;
	struct pm_event *real = real_events(200000, &real_n);

	for (size_t i = 0; i < n; i++)
		ev[i] = o_random_ref(&r, 40000);
	for (size_t k = 0; k < NR(configs); k++)
		for (uint64_t every = 1; every < 100000; every *= 37) {
			compare(configs[k], ev, n, every);
			if (every > 1)
				compare(configs[k], real, real_n, every);
		}
	free(ev);
	free(real);
}

static void through_a_file(void **state)
{
	size_t n;
	struct pm_event *real = real_events(100000, &n);
	struct pm_warm w = store_of(real, n, 1000), back;
	struct pm_buf b = { 0 };
	struct pm_err err = { 0 };

	pm_warm_put(&w, &b);
	assert_int_equal(pm_warm_get(b.p, b.n, &back, &err), PM_OK);
	assert_int_equal(back.n, w.n);
	assert_int_equal(back.insns, w.insns);
	for (size_t i = 0; i < w.n; i++) {
		assert_int_equal(back.part[i].n, w.part[i].n);
		assert_memory_equal(back.part[i].p, w.part[i].p, w.part[i].n);
		assert_int_equal(back.part[i].nbranch, w.part[i].nbranch);
		assert_memory_equal(back.part[i].branch, w.part[i].branch, w.part[i].nbranch);
	}
	pm_warm_release(&back);
	for (size_t i = 0; i < b.n; i += 1 + b.n / 997) {	/* each byte counts */
		err = (struct pm_err){ 0 };
		b.p[i] ^= 0x10;
		assert_int_equal(pm_warm_get(b.p, b.n, &back, &err), PM_ERR);
		assert_true(err.msg[0]);
		b.p[i] ^= 0x10;
		err = (struct pm_err){ 0 };
		assert_int_equal(pm_warm_get(b.p, i, &back, &err), PM_ERR);
	}
	pm_buf_release(&b);
	pm_warm_release(&w);
	free(real);
}

struct told { const struct pm_br *br; size_t n, at; };

static void same_branches(void *ctx, const struct pm_br *b, size_t n)
{
	struct told *t = ctx;

	for (size_t i = 0; i < n; i++, t->at++) {
		assert_true(t->at < t->n);
		assert_int_equal(b[i].pc, t->br[t->at].pc);
		assert_int_equal(b[i].target, t->br[t->at].target);
		assert_int_equal(b[i].flags, t->br[t->at].flags);
		assert_int_equal(b[i].size, t->br[t->at].size);
	}
}

/* All branches, as they were: of a real program, and by chance. */
static void branches_are_the_same(void **state)
{
	const size_t random_n = 20000;
	struct o_random r = o_random_init(8);
	size_t n;
	struct pm_event *real = real_events(200000, &n),
			*ev = calloc(random_n, sizeof *ev), *v[] = { real, ev };
	const size_t nev[] = { n, random_n };

	for (size_t i = 0; i < random_n; i++) {
		ev[i] = o_random_ref(&r, 400);
		if (ev[i].kind != PM_EV_INSN)
			ev[i] = (struct pm_event){ PM_EV_BRANCH, (uint8_t)o_rnd(&r), 1, PM_NONE,
				o_rnd(&r) % 3 ? ev[i].addr : ~ev[i].addr, o_rnd(&r) % 9 };
	}
	for (unsigned k = 0; k < 2; k++)
		for (uint64_t every = 1; every < 1000000; every *= 97) {
			struct pm_warm w = store_of(v[k], nev[k], every);
			struct pm_br *br = calloc(nev[k] + 1, sizeof *br);
			struct told t = { .br = br };
			uint64_t sum = 0;

			for (size_t i = 0; i < nev[k]; i++)
				if (v[k][i].kind == PM_EV_BRANCH)
					br[t.n++] = (struct pm_br){ v[k][i].addr, v[k][i].value,
						v[k][i].flags, (uint8_t)v[k][i].size };
			for (size_t i = 0; i < w.n; i++) {
				sum += pm_warm_branches(&w, i);
				pm_warm_each_branch(&w, i, same_branches, &t);
				assert_int_equal(t.at, sum);
			}
			assert_int_equal(t.at, t.n);
			assert_true(t.n > 100);
			pm_warm_release(&w);
			free(br);
		}
	free(real);
	free(ev);
}

/* From tables of Student's distribution. */
static void quantiles(void **state)
{
	static const struct { double p, df, t; } known[] = {
		{ 0.975, 1, 12.706 }, { 0.975, 2, 4.303 }, { 0.975, 3, 3.182 }, { 0.975, 5, 2.571 },
		{ 0.975, 10, 2.228 }, { 0.975, 30, 2.042 }, { 0.975, 120, 1.980 },
		{ 0.995, 4, 4.604 }, { 0.995, 60, 2.660 }, { 0.95, 7, 1.895 }, { 0.05, 7, -1.895 },
	};

	for (size_t i = 0; i < NR(known); i++)
		if (fabs(pm_student_quantile(known[i].p, known[i].df) / known[i].t - 1) > 0.002)
			fail_msg("t of %g with %g degrees of freedom: %g, expected %g", known[i].p,
				 known[i].df, pm_student_quantile(known[i].p, known[i].df),
				 known[i].t);
	assert_true(fabs(pm_normal_quantile(0.975) - 1.9599639845) < 1e-9);
	assert_true(fabs(pm_normal_quantile(0.01) + 2.3263478740) < 1e-9);
	assert_true(fabs(pm_student_quantile(0.975, 1e9) - 1.9599639845) < 1e-5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lru_caches_are_the_same),
		cmocka_unit_test(through_a_file),
		cmocka_unit_test(branches_are_the_same),
		cmocka_unit_test(quantiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
