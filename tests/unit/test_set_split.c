/* SPDX-License-Identifier: MIT */
/* Threads that share out the sets of caches (set_split.h) count together what one counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../oracle/random.h"
#include "analyse/cache_sim.h"
#include "analyse/set_split.h"
#include "real_trace.h"
#include "same_results.h"

#define N	20000

/* The results of two caches that were configured alike. */
static void same_caches(const char *config, struct pm_cache *one, struct pm_cache *other)
{
	const struct pm_sink_ops *ops = &pm_sim_cache.ops;
	struct pm_buf a = { 0 }, b = { 0 };

	text_of(ops, one, &a);
	text_of(ops, other, &b);
	same_text(config, "split", (char *)a.p, "whole", (char *)b.p);
	pm_buf_release(&a);
	pm_buf_release(&b);
}

static void compare(const struct pm_sink_ops *ops, const char *config, const struct pm_event *ev,
		    size_t n, unsigned of, struct o_random *r)
{
	static const struct pm_stream stream[2] = { { .index = 0 }, { .index = 1, .space = 5 } };
	const bool spaces = o_rnd(r) % 2;
	struct pm_set_part *part[9];
	struct pm_err err = { 0 };
	void *whole = ops->create(config, &err), *sum = ops->create(config, &err);

	if (!whole)
		fail_msg("%s: %s", config, err.msg);
	assert_true(pm_set_shares(sum) > 1);
	for (unsigned k = 0; k < of; k++)
		part[k] = pm_set_part_new(sum, k, of);
	for (size_t at = 0; at < n; ) {
		const size_t some = 1 + o_rnd(r) % 900, m = some < n - at ? some : n - at;
		const struct pm_batch b = { .stream = stream + (spaces && ev[at].addr & 64),
					    .ev = ev + at, .n = m };

		assert_int_equal(ops->consume(whole, &b, &err), PM_OK);
		for (unsigned k = 0; k < of; k++)
			assert_int_equal(pm_set_part_batch(part[k], &b, &err), PM_OK);
		at += m;
	}
	for (unsigned k = of; k-- > 0; )
		pm_set_part_end(part[k], sum);
	same_caches(config, sum, whole);
	ops->destroy(whole);
	ops->destroy(sum);
}

static char *level(char *p, struct o_random *r, const char *name, bool first, unsigned most)
{
	static const char *const policy[] = { "lru", "fifo", "plru", "srrip", "opt" },
		*const write[] = { "", "", ",wt", ",nwa", ",wt,nwa" },
		*const incl[] = { "", "", ",incl", ",excl" },
		*const more[] = { "", "", "", ",sub=16", ",nofetch", ",drain", ",nofetch,drain" };
	const unsigned line = 32u << o_rnd(r) % 2, ways = 1u << o_rnd(r) % 4;

	return p + sprintf(p, "%s=%u,%uway,%u,%s%s%s%s", name, (ways * line * 4) << o_rnd(r) % most,
			   ways, line, policy[o_rnd(r) % NR(policy)], write[o_rnd(r) % NR(write)],
			   first ? "" : incl[o_rnd(r) % NR(incl)], more[o_rnd(r) % NR(more)]);
}

/* One that can be split. */
static void random_config(struct o_random *r, char *config)
{
	struct pm_cache *c;
	struct pm_err err;
	unsigned shares;

	do {
		const unsigned levels = o_rnd(r) % 3;
		char *p = config;

		if (o_rnd(r) % 2) {
			p = level(p, r, "l1i", true, 5);
			*p++ = ';';
			p = level(p, r, "l1d", true, 5);
		} else {
			p = level(p, r, o_rnd(r) % 4 ? "l1" : "l1d", true, 5);
		}
		for (unsigned k = 0; k < levels; k++) {
			*p++ = ';';
			p = level(p, r, k ? "l3" : "l2", false, 8);
		}
		if (o_rnd(r) % 8 == 0)
			strcpy(p, ";flush=switch");
		err = (struct pm_err){ 0 };
		c = pm_cache_new(config, &err);
		shares = c ? pm_set_shares(c) : 0;
		pm_cache_free(c);
	} while (shares < 2);
}

static void test_random(void **state)
{
	struct o_random r = o_random_init(21);
	char config[600];

	(void)state;
	for (unsigned k = 0; k < 500; k++) {
		struct pm_event *ev = random_events(k, 20000 << k % 6, N);

		random_config(&r, config);
		if (k % 3 == 0)		/* lines are taken away, written back */
			for (unsigned i = 0; i < 12; i++)
				ev[o_rnd(&r) % N].flags |= i < 6 ? PM_REF_INVAL
							   : i < 11 ? PM_REF_COPYBACK
							   : PM_REF_COPYBACK | PM_REF_ALL;
		if (k % 4 == 0)
			for (unsigned i = 0; i < N; i += 3)
				ev[i].addr |= (uint64_t)(i % 5) << 60;
		if (k % 5 == 0)
			for (unsigned i = 7; i < N; i += 5000)
				ev[i].kind = PM_EV_SWITCH;
		compare(&pm_sim_cache.ops, config, ev, N, 1 + k % 9, &r);
		free(ev);
	}
}

static void test_real(void **state)
{
	struct o_random r = o_random_init(22);
	char config[600];
	size_t n;
	struct pm_event *ev = real_events(300000, &n);

	(void)state;
	for (unsigned k = 0; k < 20; k++) {
		random_config(&r, config);
		compare(&pm_sim_cache.ops, config, ev, n, 2 + k % 4, &r);
	}
	compare(&pm_sim_tlb.ops, "itlb=64,8way,4k,plru;dtlb=64,4way,4k,fifo;stlb=1536,12way,4k", ev,
		n, 3, &r);
	free(ev);
}

/* The threads themselves. */
static void test_threads(void **state)
{
	static const char *const config[] = {
		"l1i=8k,2way,fifo;l1d=8k,4way,plru;l2=64k,8way,srrip", "l1=4k,8way,opt,64",
		"l1=16k,4way,32,wt;l2=64k,4way,128,incl,drain", "l1=8k;l2=32k,excl",
	};
	struct pm_cache *split[NR(config)], *whole;
	const char *tests = getenv("TESTS"), *why = NULL;
	struct pm_err err = { 0 };
	char path[4096];
	size_t n;
	struct pm_event *ev = real_events(SIZE_MAX, &n);
	const struct pm_stream stream = { .index = 0 };
	const struct pm_batch b = { .stream = &stream, .ev = ev, .n = n };

	(void)state;
	snprintf(path, sizeof path, "%s/data/real.pug", tests ? tests : "tests");
	for (unsigned threads = 1; threads < 6; threads++) {
		for (size_t i = 0; i < NR(config); i++)
			split[i] = pm_cache_new(config[i], &err);
		assert_int_equal(pm_set_split_run(path, threads, split, NR(config), &why, &err),
				 PM_OK);
		for (size_t i = 0; i < NR(config); i++) {
			whole = pm_cache_new(config[i], &err);
			pm_cache_batch(whole, &b);
			same_caches(config[i], split[i], whole);
			pm_cache_free(whole);
			pm_cache_free(split[i]);
		}
	}
	free(ev);
}

/* Sets that have something in common, and traces that cannot be read by several. */
static void test_refused(void **state)
{
	static const char *const odd[] = {
		"l1=4k,full", "l1=4k,random", "l1=4k,drrip", "l1=4k,victim=2", "l1=4k,wt,wbuf=2",
		"l1=4k,prefetch=next", "l1=4k,3c", "l1=4k;flush=100", "l1=4k;byinsn",
		"l1=4k;regions",
		"l1=4k;l2=64k,full", "l1=64,1way,64", "l1=128,1way,64;l2=64k,8way,128",
	};
	struct pm_err err = { 0 };
	struct pm_cache *c;
	const char *why = NULL;

	(void)state;
	for (size_t i = 0; i < NR(odd); i++) {
		c = pm_cache_new(odd[i], &err);
		assert_non_null(c);
		assert_int_equal(pm_set_shares(c), 1);
		pm_cache_free(c);
	}
	c = pm_cache_new("l1=4k,plru", &err);
	assert_int_equal(pm_set_split_run("/dev/null", 2, &c, 1, &why, &err), PM_END);
	assert_string_equal(why, "it can be read only once");
	assert_int_equal(pm_set_split_run("/nonexistent", 2, &c, 1, &why, &err), PM_END);
	pm_cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random), cmocka_unit_test(test_real),
		cmocka_unit_test(test_threads), cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
