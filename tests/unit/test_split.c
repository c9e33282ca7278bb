/* SPDX-License-Identifier: MIT */
/* Simulators over slices that begin without knowing what came before (split.h) count what they
 * count over the whole. Threads are not needed for that: parts take turns here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../oracle/random.h"
#include "analyse/cache_sim.h"
#include "analyse/reuse.h"
#include "analyse/set_split.h"
#include "analyse/split.h"
#include "real_trace.h"
#include "same_results.h"

#define N	40000

static struct pm_batch batch(const struct pm_event *ev, size_t n, bool spaces)
{
	static const struct pm_stream stream[2] = { { .index = 0 }, { .index = 1, .space = 5 } };

	return (struct pm_batch){ .stream = stream + (spaces && (ev->addr & 64)), .ev = ev,
		.n = n };
}

/* @slices slices of random lengths, by @nparts parts in turn. */
static void compare(const struct pm_sink_ops *ops, struct pm_split (*split)(void *),
		    const char *config, const struct pm_event *ev, size_t n, unsigned slices,
		    unsigned nparts, struct o_random *r)
{
	struct pm_err err = { 0 };
	struct pm_buf a = { 0 }, b = { 0 };
	void *whole = ops->create(config, &err), *cut = ops->create(config, &err), *part[4];
	const bool spaces = o_rnd(r) % 2;
	struct pm_split s;
	size_t at = 0;

	if (!whole)
		fail_msg("%s: %s", config, err.msg);
	s = split(cut);
	assert_non_null(s.whole);
	for (unsigned k = 0; k < nparts; k++)
		part[k] = s.ops->part_new(s.whole);
	for (unsigned k = 0; k < slices; k++) {
		void *p = part[k % nparts];
		size_t end = k + 1 == slices ? n : at + o_rnd(r) % ((n - at) / 2 + 1);

		s.ops->begin(p);
		while (at < end) {
			size_t m = 1 + o_rnd(r) % 900;
			struct pm_batch x;

			m = m < end - at ? m : end - at;
			x = batch(ev + at, m, spaces);
			assert_int_equal(s.ops->consume(p, &x, &err), PM_OK);
			assert_int_equal(ops->consume(whole, &x, &err), PM_OK);
			at += m;
		}
		for (unsigned g = 0; g < s.ops->stages(s.whole); g++) {
			s.ops->join(p, g);
			if (g + 1 < s.ops->stages(s.whole))
				s.ops->proceed(p, g);
		}
	}
	for (unsigned k = 0; k < nparts; k++)
		s.ops->part_end(part[k]);
	s.ops->end(s.whole);
	text_of(ops, cut, &a);
	text_of(ops, whole, &b);
	same_text(config, "split", (char *)a.p, "whole", (char *)b.p);
	ops->destroy(whole);
	ops->destroy(cut);
	pm_buf_release(&a);
	pm_buf_release(&b);
}

static struct pm_split cache_split(void *c)
{
	return pm_cache_split(c);
}

static char *level(char *p, struct o_random *r, const char *name, unsigned most)
{
	unsigned line = 32u << o_rnd(r) % 2, ways = 1 + o_rnd(r) % 9;

	return p + sprintf(p, "%s=%u,%uway,%u%s", name, (ways * line) << o_rnd(r) % most, ways,
			   line, o_rnd(r) % 4 ? "" : ",drain");
}

static void random_config(struct o_random *r, char *p)
{
	unsigned what = o_rnd(r) % 5, levels = o_rnd(r) % 4;

	if (what < 3) {
		p = level(p, r, "l1i", 5);
		*p++ = ';';
		p = level(p, r, "l1d", 5);
	} else {
		p = level(p, r, what == 3 ? "l1" : "l1d", 5);
	}
	for (unsigned k = 0; k < levels; k++) {
		char name[8];

		sprintf(name, "l%u", k + 2);
		*p++ = ';';
		p = level(p, r, name, 8);
	}
}

static void test_caches(void **state)
{
	struct o_random r = o_random_init(3);
	char config[400];

	(void)state;
	for (unsigned k = 0; k < 300; k++) {
		struct pm_event *ev = random_events(k, 20000 << k % 6, N / 4);

		random_config(&r, config);
		compare(&pm_sim_cache.ops, cache_split, config, ev, N / 4, 1 + k % 9, 1 + k % 4,
			&r);
		free(ev);
	}
}

static void test_real(void **state)
{
	struct o_random r = o_random_init(4);
	char config[400];
	size_t n;
	struct pm_event *ev = real_events(200000, &n);

	(void)state;
	for (unsigned k = 0; k < 20; k++) {
		random_config(&r, config);
		compare(&pm_sim_cache.ops, cache_split, config, ev, n, 2 + k, 1 + k % 4, &r);
	}
	compare(&pm_sim_cache.ops, cache_split, "l1i=32k;l1d=32k;l2=1m,16way;l3=32m,16way", ev, n,
		7, 3, &r);
	compare(&pm_sim_reuse, pm_reuse_split, "", ev, n, 7, 3, &r);
	compare(&pm_sim_reuse, pm_reuse_split, "line=4096;insns=1", ev, n, 12, 2, &r);
	free(ev);
}

/* ---- whose sets are shared out --------------------------------------------------------------- */

static struct pm_split set_split(void *c)
{
	return pm_set_split(c, 3);
}

static char *any_level(char *p, struct o_random *r, const char *name, bool first, unsigned most)
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

/* One whose sets can be shared out. */
static void random_sets(struct o_random *r, char *config)
{
	bool fits = false;

	while (!fits) {
		const unsigned levels = o_rnd(r) % 3;
		struct pm_err err = { 0 };
		struct pm_cache *c;
		char *p = config;

		if (o_rnd(r) % 2) {
			p = any_level(p, r, "l1i", true, 5);
			*p++ = ';';
			p = any_level(p, r, "l1d", true, 5);
		} else {
			p = any_level(p, r, o_rnd(r) % 4 ? "l1" : "l1d", true, 5);
		}
		for (unsigned k = 0; k < levels; k++) {
			*p++ = ';';
			p = any_level(p, r, k ? "l3" : "l2", false, 8);
		}
		c = pm_cache_new(config, &err);
		if (c) {
			struct pm_split s = set_split(c);

			fits = s.whole;
			if (fits)
				s.ops->give_up(s.whole);
		}
		pm_cache_free(c);
	}
}

static void test_sets(void **state)
{
	struct o_random r = o_random_init(21);
	char config[600];

	(void)state;
	for (unsigned k = 0; k < 500; k++) {
		struct pm_event *ev = random_events(k, 20000 << k % 6, N / 2);

		random_sets(&r, config);
		if (k % 4 == 0)
			for (unsigned i = 0; i < N / 2; i += 3)
				ev[i].addr |= (uint64_t)(i % 5) << 60;
		compare(&pm_sim_cache.ops, set_split, config, ev, N / 2, 1 + k % 9, 1 + k % 4, &r);
		free(ev);
	}
}

static void test_real_sets(void **state)
{
	struct o_random r = o_random_init(22);
	char config[600];
	size_t n;
	struct pm_event *ev = real_events(300000, &n);

	(void)state;
	for (unsigned k = 0; k < 20; k++) {
		random_sets(&r, config);
		compare(&pm_sim_cache.ops, set_split, config, ev, n, 2 + k, 1 + k % 4, &r);
	}
	compare(&pm_sim_tlb.ops, set_split,
		"itlb=64,8way,4k,plru;dtlb=64,4way,4k,fifo;stlb=1536,12way,4k", ev, n, 7, 3, &r);
	free(ev);
}

/* Sets that have something in common, and a trace that says what becomes of lines. */
static void test_common_sets(void **state)
{
	static const char *const odd[] = {
		"l1=4k,full", "l1=4k,random", "l1=4k,drrip", "l1=4k,victim=2", "l1=4k,wt,wbuf=2",
		"l1=4k,prefetch=next", "l1=4k,3c", "l1=4k;flush=100", "l1=4k;flush=switch",
		"l1=4k;byinsn", "l1=4k;regions", "l1=4k;l2=64k,full", "l1=64,1way,64",
		"l1=128,1way,64;l2=64k,8way,128",
	};
	const struct pm_event ev = { .kind = PM_EV_WRITE, .flags = PM_REF_COPYBACK, .size = 4 };
	const struct pm_batch b = batch(&ev, 1, false);
	struct pm_err err = { 0 };
	struct pm_cache *c;
	struct pm_split s;
	void *part;

	(void)state;
	for (size_t i = 0; i < NR(odd); i++) {
		c = pm_cache_new(odd[i], &err);
		assert_non_null(c);
		assert_null(set_split(c).whole);
		pm_cache_free(c);
	}
	c = pm_cache_new("l1=4k,plru", &err);
	s = set_split(c);
	part = s.ops->part_new(s.whole);
	s.ops->begin(part);
	assert_int_equal(s.ops->consume(part, &b, &err), PM_END);
	s.ops->part_end(part);
	s.ops->give_up(s.whole);
	pm_cache_free(c);
}

/* ---- others ---------------------------------------------------------------------------------- */

static void test_tlb(void **state)
{
	struct pm_event *ev = random_events(6, 40000000, N);
	struct o_random r = o_random_init(5);

	(void)state;
	for (unsigned k = 1; k < 12; k++) {
		compare(&pm_sim_tlb.ops, cache_split,
			"itlb=8,2way,4k;dtlb=8,full,4k;stlb=64,4way,4k", ev, N, k, 3, &r);
		compare(&pm_sim_tlb.ops, cache_split, "tlb=16,4way,4k;stlb=32,4way,64k", ev, N, k,
			2, &r);
	}
	free(ev);
}

static void test_reuse(void **state)
{
	struct o_random r = o_random_init(7);

	(void)state;
	for (unsigned k = 1; k < 40; k++) {
		struct pm_event *ev = random_events(k, 20000 << k % 9, N);

		compare(&pm_sim_reuse, pm_reuse_split, k % 2 ? "" : "line=32;insns=1", ev, N,
			1 + k % 13, 1 + k % 4, &r);
		free(ev);
	}
}

/* What cannot be split. */
static void test_refused(void **state)
{
	static const char *const odd[] = {
		"l1=4k,fifo", "l1=4k,wt", "l1=4k,nwa", "l1=4k;l2=8k,incl", "l1=4k;l2=8k,plru",
		"l1=4k;flush=100", "l1=4k;byinsn", "l1=4k;regions", "l1=4k,opt", "l1=4k,3c",
		"l1i=4k;l1d=4k;l2i=8k;l2d=8k",
	};
	struct pm_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < NR(odd); i++) {
		struct pm_cache *c = pm_cache_new(odd[i], &err);

		assert_non_null(c);
		assert_null(pm_cache_split(c).whole);
		pm_cache_free(c);
	}
	for (unsigned i = 0; i < 2; i++) {
		void *s = pm_sim_reuse.create(i ? "sample=10" : "window=100", &err);

		assert_null(pm_reuse_split(s).whole);
		pm_sim_reuse.destroy(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_caches), cmocka_unit_test(test_real),
		cmocka_unit_test(test_tlb), cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_sets),
		cmocka_unit_test(test_real_sets), cmocka_unit_test(test_common_sets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
