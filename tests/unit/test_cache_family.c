/* SPDX-License-Identifier: MIT */
/* Hierarchies simulated together (cache_family.h) count what each counts alone, and what the slow
 * twin counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../oracle/cache_slow.h"
#include "../oracle/random.h"
#include "analyse/cache_family.h"
#include "analyse/lru_below.h"
#include "real_trace.h"
#include "same_results.h"

#define N	50000		/* references; PM_REFS in the environment for more */
#define MOST	48		/* configurations at once */

static size_t nrefs(void)
{
	const char *s = getenv("PM_REFS");

	return s ? strtoull(s, NULL, 0) : N;
}

/* Batches of uneven lengths, of two address spaces if @spaces. */
static void push(const struct pm_sink_ops *ops, void *self, const struct pm_event *ev, size_t n,
		 bool spaces)
{
	struct pm_stream stream[2] = { { .index = 0 }, { .index = 1, .space = 77 } };
	struct pm_err err = { 0 };

	for (size_t i = 0, k = 1; i < n; i += k, k = k * 3 % 5003) {
		struct pm_batch b = { .stream = stream + (spaces && k % 2), .ev = ev + i };

		if (k > n - i)
			k = n - i;
		b.n = k;
		assert_int_equal(ops->consume(self, &b, &err), PM_OK);
	}
}

/* How many are served by another one. */
static size_t compare(const struct pm_sink_ops *ops, char config[][600], size_t n,
		      const struct pm_event *ev, size_t nev, bool spaces)
{
	struct pm_buf together = { 0 }, alone = { 0 };
	bool served[MOST] = { false };
	struct pm_err err = { 0 };
	size_t count = 0;
	void *c[MOST] = { NULL };

	for (size_t i = 0; i < n; i++) {
		c[i] = ops->create(config[i], &err);
		if (!c[i])
			fail_msg("%s: %s", config[i], err.msg);
	}
	((const struct pm_uniting_sink_ops *)ops)->unite(c, n, served);
	for (size_t i = 0; i < n; i++) {
		count += served[i];
		if (!served[i])
			push(ops, c[i], ev, nev, spaces);
	}
	/* the last one first: whoever is asked first ends the family */
	for (size_t i = n; i-- > 0; ) {
		void *one = ops->create(config[i], &err);

		push(ops, one, ev, nev, spaces);
		text_of(ops, c[i], &together);
		text_of(ops, one, &alone);
		same_text(config[i], "together", (char *)together.p, "alone", (char *)alone.p);
		ops->destroy(one);
	}
	for (size_t i = 0; i < n; i++)
		ops->destroy(c[i]);
	pm_buf_release(&together);
	pm_buf_release(&alone);
	return count;
}

/* ---- against the slow twin ------------------------------------------------------------------ */

static void same_counts(const char *config, struct pm_cache *c, const struct o_cache *o)
{
	const struct pm_cache_memory_stats *m = pm_cache_memory_stats(c);

	for (unsigned i = 0; i < o->cc->n; i++)
		if (memcmp(pm_cache_stats(c, i), &o->level[i].st, sizeof o->level[i].st))
			fail_msg("%s: %s differs from the slow twin", config, o->cc->level[i].name);
	assert_int_equal(m->reads, o->mem.reads);
	assert_int_equal(m->writes, o->mem.writes);
	assert_int_equal(m->bytes_read, o->mem.bytes_read);
	assert_int_equal(m->bytes_written, o->mem.bytes_written);
}

static void slow_events(struct o_cache *o, const struct pm_event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct pm_event *e = ev + i;
		bool stack = e->flags & PM_REF_STACK;

		if (e->kind == PM_EV_INSN)
			o_cache_ref(o, PM_OP_FETCH, e->addr, e->size, false, e->addr);
		if (e->kind == PM_EV_READ || e->kind == PM_EV_MODIFY)
			o_cache_ref(o, PM_OP_READ, e->addr, e->size, stack, 0);
		if (e->kind == PM_EV_WRITE || e->kind == PM_EV_MODIFY)
			o_cache_ref(o, PM_OP_WRITE, e->addr, e->size, stack, 0);
	}
}

static void against_twin(char config[][600], size_t n, const struct pm_event *ev, size_t nev)
{
	const struct pm_sink_ops *ops = &pm_sim_cache.ops;
	bool served[MOST] = { false };
	struct pm_err err = { 0 };
	void *c[MOST] = { NULL };

	for (size_t i = 0; i < n; i++)
		c[i] = ops->create(config[i], &err);
	pm_cache_unite((struct pm_cache *const *)c, n, served);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(served[i], i > 0);
		if (!served[i])
			push(ops, c[i], ev, nev, false);
	}
	for (size_t i = 0; i < n; i++) {
		struct o_cache *o = o_cache_new(pm_cache_config(c[i]));

		slow_events(o, ev, nev);
		o_end(o);
		assert_int_equal(ops->finish(c[i], NULL, &err), PM_OK);
		same_counts(config[i], c[i], o);
		o_cache_free(o);
	}
	for (size_t i = 0; i < n; i++)
		ops->destroy(c[i]);
}

static void test_twin(void **state)
{
	struct pm_event *ev = random_events(5, 100000, nrefs());
	char config[MOST][600];
	size_t n = 0;

	(void)state;
	for (unsigned sets = 1; sets <= 64; sets *= 4)	/* first levels in one pass, two below */
		for (unsigned ways = 1; ways <= 16; ways += 3)
			sprintf(config[n++], "l1i=%u,%uway,32;l1d=%u,%uway,64;l2=64k,8way,64",
				sets * 4 * 32 * 2, 2, sets * ways * 64, ways);
	against_twin(config, n, ev, nrefs());
	n = 0;
	for (unsigned sets = 1; sets <= 64; sets *= 4)	/* second ones, a third below some */
		for (unsigned ways = 1; ways <= 16; ways += 3)
			sprintf(config[n++], "l1i=2k,2way,32,plru;l1d=1k,2way,32;l2=%u,%uway,64%s",
				sets * ways * 64, ways, ways % 2 ? ";l3=64k,8way,128" : "");
	against_twin(config, n, ev, nrefs());
	free(ev);
}

/* ---- against each alone --------------------------------------------------------------------- */

static char *put_random(char *p, struct o_random *r, const char *name, uint64_t most, bool lru)
{
	static const char *const odd[] = { "", "", "", ",fifo", ",plru", ",wt,nwa", ",drrip",
		",victim=3", ",prefetch=next", ",wt", ",3c", ",sub=16", ",wbuf=2", ",nofetch" };
	unsigned line = 32u << (o_rnd(r) % 8 == 0), ways = 1u << o_rnd(r) % 4;
	uint64_t sets = 1ull << o_rnd(r) % most;

	if (o_rnd(r) % 3 == 0 && lru)
		ways = 1 + o_rnd(r) % 30;
	return p + sprintf(p, "%s=%llu,%uway,%u%s%s", name,
			   (unsigned long long)(sets * ways * line), ways, line,
			   lru ? "" : odd[o_rnd(r) % NR(odd)], o_rnd(r) % 4 ? "" : ",drain");
}

/* Some of what a user may give: a few first levels, below them this or that. */
static void random_group(struct o_random *r, char config[][600], size_t n)
{
	const bool odd = o_rnd(r) % 2;
	char first[6][300];
	const size_t nfirst = 1 + o_rnd(r) % NR(first);

	for (size_t i = 0; i < nfirst; i++) {
		unsigned what = o_rnd(r) % 6;
		char *p = first[i];

		if (what < 4) {
			p = put_random(p, r, "l1i", 6, !odd);
			*p++ = ';';
			put_random(p, r, "l1d", 6, !odd);
		} else {
			put_random(p, r, what == 4 ? "l1" : o_rnd(r) % 2 ? "l1i" : "l1d", 6, !odd);
		}
	}
	for (size_t i = 0; i < n; i++) {
		char *p = config[i];

		p += sprintf(p, "%s", first[o_rnd(r) % nfirst]);
		for (unsigned level = 2; level < 4 && o_rnd(r) % 3; level++) {
			*p++ = ';';
			p = put_random(p, r, level == 2 ? "l2" : "l3", 9, !odd || o_rnd(r) % 2);
			if (o_rnd(r) % 16 == 0)
				p += sprintf(p, ",incl");
		}
		if (o_rnd(r) % 16 == 0)
			p += sprintf(p, o_rnd(r) % 2 ? ";flush=1000" : ";spaces=shared");
	}
}

static bool all_good(char config[][600], size_t n)
{
	struct pm_cache_conf cc;
	struct pm_err err = { 0 };

	for (size_t i = 0; i < n; i++)
		if (pm_cache_conf_parse(&cc, "cache", config[i], &err))
			return false;
	return true;
}

static void test_random(void **state)
{
	struct o_random r = o_random_init(11);
	char config[MOST][600];
	size_t served = 0;

	(void)state;
	for (unsigned k = 0; k < 150; k++) {
		size_t n = 1 + o_rnd(&r) % 12;
		struct pm_event *ev = random_events(k, 20000 << k % 5, 8000);

		do
			random_group(&r, config, n);
		while (!all_good(config, n));
		if (k % 3 == 0)		/* lines are taken away, written back */
			for (unsigned i = 0; i < 12; i++)
				ev[o_rnd(&r) % 8000].flags |= i < 6 ? PM_REF_INVAL
							      : i < 11 ? PM_REF_COPYBACK
							      : PM_REF_COPYBACK | PM_REF_ALL;
		if (k % 4 == 0)
			for (unsigned i = 0; i < 8000; i += 3)
				ev[i].addr |= (uint64_t)(i % 5) << 60;
		served += compare(&pm_sim_cache.ops, config, n, ev, 8000, k % 2);
		free(ev);
	}
	assert_true(served > 300);
}

/* First levels in one pass, and a second level below each, mostly of as many sets: members of
 * bundles (lru_below.h). Sometimes a third. */
static void random_below(struct o_random *r, char config[][600], size_t n)
{
	const unsigned line = 32u << o_rnd(r) % 2, below = 64u << o_rnd(r) % 4;
	const bool split = o_rnd(r) % 2;

	for (size_t i = 0; i < n; i++) {
		char *p = config[i];

		for (unsigned k = 0; k < 1u + split; k++) {
			const unsigned ways = 1 + o_rnd(r) % 9, sets = 2u << o_rnd(r) % 2 * 3;

			p += sprintf(p, "l1%s=%u,%uway,%u%s;", !split ? "" : k ? "d" : "i",
				     sets * ways * line, ways, line,
				     o_rnd(r) % 12 ? "" : ",drain");
		}
		for (unsigned level = 2; level < 3 + (o_rnd(r) % 3 == 0); level++) {
			const unsigned ways = 1 + o_rnd(r) % (level == 2 ? 17 : 4),
				       sets = below << (o_rnd(r) % 4 ? 0 : o_rnd(r) % 3);

			p += sprintf(p, "l%u=%u,%uway,%u%s;", level, sets * ways * line, ways,
				     line, o_rnd(r) % 8 ? "" : ",drain");
		}
		p[-1] = 0;
	}
}

static void test_below(void **state)
{
	const size_t nev = nrefs() / 2;
	struct o_random r = o_random_init(13);
	char config[MOST][600];
	size_t served = 0;

	(void)state;
	for (unsigned k = 0; k < 24; k++) {
		struct pm_event *ev = random_events(k, 20000 << k % 5, nev);

		const size_t n = 3 + o_rnd(&r) % 38;

		random_below(&r, config, n);
		if (k % 3 == 0)
			for (unsigned i = 0; i < 6; i++)
				ev[o_rnd(&r) % nev].flags |= i ? PM_REF_INVAL : PM_REF_COPYBACK;
		if (k % 5 == 1)
			for (size_t i = 0; i < nev; i += 3)
				ev[i].addr |= (uint64_t)(i % 5) << 60;
		lru_below_plain = k % 2;
		served += compare(&pm_sim_cache.ops, config, n, ev, nev, k / 2 % 2);
		free(ev);
	}
	lru_below_plain = false;
	assert_true(served > 400);
}

/* The same against the slow twin: more members than one bundle has. */
static void test_below_twin(void **state)
{
	struct pm_event *ev = random_events(7, 300000, nrefs());
	char config[MOST][600];
	size_t n = 0;

	(void)state;
	for (unsigned i = 1; i <= 3; i++)
		for (unsigned d = 1; d <= 12; d++)
			sprintf(config[n++], "l1i=%u,%uway;l1d=%u,%uway;l2=%uk,%uway%s", 8 * 64 * i,
				i, 8 * 64 * d, d, d % 2 ? 64 : 32, d % 2 ? 16 : 8,
				d % 5 ? "" : ";l3=256k,8way");
	against_twin(config, n, ev, nrefs());
	free(ev);
}

static void test_real(void **state)
{
	struct o_random r = o_random_init(12);
	char config[MOST][600];
	size_t n, served = 0;
	struct pm_event *ev = real_events(nrefs() * 4, &n);

	(void)state;
	for (unsigned k = 0; k < 8; k++) {
		do
			random_group(&r, config, 20);
		while (!all_good(config, 20));
		served += compare(&pm_sim_cache.ops, config, 20, ev, n, false);
	}
	assert_true(served > 60);
	free(ev);
}

static void test_tlb(void **state)
{
	struct pm_event *ev = random_events(6, 40000000, nrefs());
	char config[MOST][600];
	size_t n = 0;

	(void)state;
	for (unsigned entries = 4; entries <= 64; entries *= 2)
		for (unsigned ways = 1; ways <= 4; ways *= 2)
			sprintf(config[n++],
				"itlb=16,%uway,4k;dtlb=%u,%uway,4k;stlb=%u,8way,%s", ways, entries,
				ways, entries * 8, entries == 16 ? "64k" : "4k");
	assert_int_equal(compare(&pm_sim_tlb.ops, config, n, ev, nrefs(), true), n - 1);
	free(ev);
}

/* What fits, and what does not. */
static void test_fits(void **state)
{
	static const struct { const char *config[3]; size_t served; } t[] = {
		{ { "l1=4k", "l1=8k", "l1=16k" }, 2 },
		{ { "l1=4k", "l1=4k", "l1=16k" }, 1 },
		{ { "l1=4k", "l1=8k", "l1=8k,4way,32" }, 0 },
		{ { "l1=4k", "l1=8k", "l1=16k,wt" }, 0 },
		{ { "l1=4k,plru;l2=8k", "l1=4k,plru;l2=8k,drrip", "l1=4k,plru" }, 2 },
		{ { "l1=4k;l2=8k,incl", "l1=4k;l2=16k", "l1=4k" }, 1 },
		{ { "l1=4k;flush=5", "l1=4k;regions", "l1=4k;byinsn" }, 0 },
		{ { "l1=4k;l2=8k,opt", "l1=4k;l2=16k", "l1=4k;spaces=shared" }, 0 },
		{ { "l1i=4k;l1d=4k;l2i=8k;l2d=8k", "l1i=4k;l1d=4k;l2=8k", "l1i=4k;l1d=4k" }, 1 },
	};
	struct pm_event ev = { .kind = PM_EV_INSN, .size = 4, .addr = 0x1000 };

	(void)state;
	for (size_t i = 0; i < NR(t); i++) {
		char config[3][600];

		for (size_t k = 0; k < 3; k++)
			strcpy(config[k], t[i].config[k]);
		assert_int_equal(compare(&pm_sim_cache.ops, config, 3, &ev, 1, false),
				 t[i].served);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_twin), cmocka_unit_test(test_random),
		cmocka_unit_test(test_below), cmocka_unit_test(test_below_twin),
		cmocka_unit_test(test_real), cmocka_unit_test(test_tlb),
		cmocka_unit_test(test_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
