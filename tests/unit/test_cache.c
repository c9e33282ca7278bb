/* SPDX-License-Identifier: MIT */
/* Caches against their slow twin: every counter of every level, over random references. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../oracle/cache_slow.h"
#include "../oracle/random.h"
#include "analyse/cache_refs.h"
#include "real_trace.h"
#include "same_results.h"

#define N 60000		/* references per configuration; PM_REFS in the environment for more */

static size_t nrefs(void)
{
	const char *s = getenv("PM_REFS");

	return s ? strtoull(s, NULL, 0) : N;
}

static uint64_t compared;

static void same(const char *config, const char *what, uint64_t fast, uint64_t slow)
{
	if (fast != slow)
		fail_msg("%s: %s is %llu, the slow twin has %llu", config, what,
			 (unsigned long long)fast, (unsigned long long)slow);
}

static void compare(const char *config, const struct pm_cache *c, const struct o_cache *o)
{
	const struct pm_cache_memory_stats *m = pm_cache_memory_stats(c);
	char what[64];

	for (unsigned i = 0; i < o->cc->n; i++) {
		const struct pm_level_stats *a = pm_cache_stats(c, i), *b = &o->level[i].st;
		const char *name = o->cc->level[i].name;

		for (int op = 0; op < PM_OP_COUNT; op++)
			for (int cls = 0; cls < 2; cls++) {
				snprintf(what, sizeof what, "%s access[%d][%d]", name, op, cls);
				same(config, what, a->access[op][cls], b->access[op][cls]);
				snprintf(what, sizeof what, "%s miss[%d][%d]", name, op, cls);
				same(config, what, a->miss[op][cls], b->miss[op][cls]);
			}
#define S(field, unit, about)						\
		snprintf(what, sizeof what, "%s %s", name, #field);	\
		same(config, what, a->field, b->field);
		PM_LEVEL_STATS(S)
#undef S
	}
	same(config, "memory reads", m->reads, o->mem.reads);
	same(config, "memory writes", m->writes, o->mem.writes);
	same(config, "bytes read", m->bytes_read, o->mem.bytes_read);
	same(config, "bytes written", m->bytes_written, o->mem.bytes_written);
}

static void slow_run(struct o_cache *o, const struct pm_event *ev, size_t n)
{
	uint64_t pc = 0, insns = 0;

	for (size_t i = 0; i < n; i++) {
		const struct pm_event *e = ev + i;
		bool stack = e->flags & PM_REF_STACK;

		if (e->kind == PM_EV_INSN) {
			if (o->cc->flush_insns && insns && insns % o->cc->flush_insns == 0)
				o_flush(o);
			insns++;
			pc = e->addr;
			o_cache_ref(o, PM_OP_FETCH, e->addr, e->size, false, pc);
		}
		if (e->kind == PM_EV_READ || e->kind == PM_EV_MODIFY)
			o_cache_ref(o, PM_OP_READ, e->addr, e->size, stack, pc);
		if (e->kind == PM_EV_WRITE || e->kind == PM_EV_MODIFY)
			o_cache_ref(o, o->cc->tlb ? PM_OP_READ : PM_OP_WRITE, e->addr, e->size,
				    stack, pc);
	}
}

static void check_events(const char *what, const char *config, const struct pm_event *ev, size_t n)
{
	const struct pm_stream stream = { .index = 0 };
	struct pm_err err = { 0 };
	struct pm_cache_conf cc;
	struct pm_cache *c;
	struct o_cache *o;

	if (pm_cache_conf_parse(&cc, what, config, &err))
		fail_msg("%s: %s", config, err.msg);
	c = pm_cache_from(&cc);
	o = o_cache_new(&cc);
	/* in uneven pieces, as batches come */
	for (size_t i = 0, k = 1; i < n; i += k, k = k * 3 % 5003) {
		if (k > n - i)
			k = n - i;
		pm_cache_batch(c, &(struct pm_batch){ .stream = &stream, .ev = ev + i, .n = k });
	}
	pm_cache_end(c);
	slow_run(o, ev, n);
	o_end(o);
	compare(config, c, o);
	compared += n;
	pm_cache_free(c);
	o_cache_free(o);
}

static void check(const char *what, const char *config, uint64_t seed, uint64_t span)
{
	const size_t n = nrefs();
	struct pm_event *ev = random_events(seed, span, n);

	check_events(what, config, ev, n);
	free(ev);
}

static const char *const configs[] = {
	"l1=8k,4way,16,lru",
	"l1=8k,4way,16,lru,wt,nwa",
	"l1=8k,1way,32,fifo",
	"l1=4k,full,64,lru,3c",
	"l1=8k,2way,64,lru,wt,wa,3c",
	"l1=8k,4way,64,fifo,3c,wt,nwa",
	"l1=8k,8way,64,random,seed=7",
	"l1=8k,8way,64,plru",
	"l1=8k,1way,64,plru",
	"l1=8k,8way,64,srrip",
	"l1=16k,8way,64,drrip",
	"l1=64k,4way,64,drrip",
	"l1=8k,4way,64,lru,sub=16",
	"l1=8k,4way,64,random,sub=8,wt,nwa,wbuf=4",
	"l1=8k,4way,64,lru,sub=2",
	"l1=8k,4way,16,wt,nwa,wbuf=4",
	"l1=8k,2way,128,wb,wbuf=2",
	"l1=8k,1way,32,victim=4",
	"l1=8k,2way,64,lru,prefetch=next",
	"l1=8k,2way,64,lru,prefetch=next,degree=3,victim=3",
	"l1=8k,4way,64,plru,prefetch=stride,degree=2",
	"l1=8k,4way,64,lru,prefetch=stream,degree=4",
	"l1d=8k,4way,64,prefetch=ipstride,degree=2;l2=64k,8way,64,prefetch=spp",
	"l1d=8k,4way,64,prefetch=berti,degree=3;l2=64k,8way,64,prefetch=ampm",
	"l1i=8k,4way,64,prefetch=ampm;l1d=8k,4way,64,prefetch=ampm;l2=64k,8way,128,prefetch=spp",
	"l1=8k,1way,256,prefetch=spp,degree=12;l2=64k,8way,1k,prefetch=ampm,victim=3",
	"l1=4k,4way,64,random,prefetch=berti;l2=64k,8way,64,prefetch=berti,degree=8",
	"l1d=8k,4way,64,prefetch=pythia;l2=64k,8way,64,prefetch=pythia,degree=3",
	"l1=8k,2way,256,prefetch=pythia,degree=2;l2=64k,8way,1k,prefetch=pythia",
	"l1=8k,8way,64,drrip,prefetch=ipstride;l2=64k,16way,64,plru,prefetch=ampm,degree=2",
	"l1i=4k,2way,32;l1d=4k,2way,32;l2=32k,4way,64",
	("l1i=4k,2way,32,prefetch=next;l1d=4k,2way,32,prefetch=stride;"
	 "l2=32k,4way,64,prefetch=stream,degree=2"),
	"l1i=4k,2way,64;l1d=4k,2way,64;l2=16k,4way,64,incl",
	"l1i=4k,2way,16;l1d=4k,2way,32,victim=2;l2=16k,4way,64,incl;l3=32k,8way,128,incl",
	"l1i=4k,2way,64,fifo;l1d=4k,2way,64,plru;l2=16k,4way,64,random;l3=32k,8way,64,incl,drrip",
	"l1i=4k,2way,64;l1d=4k,2way,64;l2=8k,4way,64,excl",
	"l1i=4k,2way,64;l1d=4k,2way,64,victim=4;l2=8k,4way,64,excl,plru,victim=2;l3=32k,4way,64",
	"l1=4k,4way,64,nwa;l2=16k,4way,64,excl,random;l3=64k,16way,64,excl,srrip",
	"l1=4k,4way,64,prefetch=next;l2=16k,4way,64,excl;l3=64k,16way,64,incl",
	"l1i=4k,2way,64;l1d=4k,2way,64,wt,nwa,wbuf=4;l2=16k,4way,64,incl",
	"l1d=4k,2way,64,wt,wa,wbuf=4;l2=16k,4way,64,wt,wa,wbuf=2;l3=64k,8way,64",
	"l1=4k,2way,128;l2=16k,4way,32;l3=32k,4way,64",
	"l1=4k,2way,64,sub=8;l2=16k,4way,64,sub=32",
	"l1d=4k,2way,64",
	"l1i=4k,2way,64;l2=16k,4way,64",
	"l1i=4k,2way,64;l1d=4k,2way,64;l2=16k,4way,64,incl;flush=1000",
	"l1i=4k,2way,64,plru;l1d=4k,2way,64,sub=16;l2=16k,4way,64,fifo,wbuf=3,victim=3;flush=777",
	"l1d=4k,2way,64,3c,prefetch=stream;l2=16k,4way,64,excl;l3=64k,4way,64;flush=1500",
	"l1=4k,2way,8,nofetch,drain",
	"l1i=4k,2way,8;l1d=4k,2way,8,nofetch,drain;l2=16k,4way,64,nofetch,drain",
	"l1d=4k,2way,16,nofetch,wt;l2=16k,4way,16,nofetch,drain,fifo;l3=32k,2way,64,drain",
	"l1=4k,4way,64,plru,sub=4,nofetch,drain,wbuf=3;l2=16k,4way,32,sub=8,nofetch,drain",
	"l1=4k,4way,16,random,victim=5;l2=16k,4way,64,incl,drain;flush=5000",
};

static void test_configs(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR(configs); i++) {
		check("cache", configs[i], i + 1, 40000);
		check("cache", configs[i], i + 1001, 400000);
	}
}

static void test_tlb(void **state)
{
	(void)state;
	check("tlb", "itlb=8,2way,4k;dtlb=8,full,4k;stlb=64,4way,4k", 1, 4000000);
	check("tlb", "tlb=16,4way,4k,plru;stlb=32,4way,64k", 2, 40000000);
	check("tlb", "dtlb=16,4way,4k,random;stlb=32,4way,4k,3c", 3, 4000000);
}

/* The same over a real trace. */
static void test_real(void **state)
{
	size_t n;
	struct pm_event *ev = real_events(nrefs() * 4, &n);

	(void)state;
	for (size_t k = 0; k < NR(configs); k++) {
		struct pm_err err = { 0 };
		struct pm_cache_conf cc;
		struct pm_cache *c;
		struct o_cache *o;

		assert_int_equal(pm_cache_conf_parse(&cc, "cache", configs[k], &err), PM_OK);
		c = pm_cache_from(&cc);
		o = o_cache_new(&cc);
		pm_cache_events(c, ev, n);
		pm_cache_end(c);
		slow_run(o, ev, n);
		o_end(o);
		compare(configs[k], c, o);
		compared += n;
		pm_cache_free(c);
		o_cache_free(o);
	}
	free(ev);
}

/* First levels that are listed before they are looked up, and as they are without AVX-512. */
static void test_lists(void **state)
{
	static const char *const lists[] = {
		"l1i=4k,8way,64;l1d=4k,8way,64;l2=16k,16way,64;l3=64k,8way,64",
		"l1i=4k,8way,16;l1d=8k,8way,16;l2=16k,4way,64",
		"l1i=4k,4way,64;l1d=6k,3way,64;l2=16k,16way,64,prefetch=stream",
		"l1i=4k,1way,32;l1d=4k,16way,32",
		"l1i=4k,full,64;l1d=4k,1way,64;l2=16k,2way,64,fifo",
	};
	size_t n;
	struct pm_event *ev = real_events(nrefs() * 4, &n);

	(void)state;
	for (size_t i = 0; i < n; i++)		/* few have high bits */
		if (i / 512 % 7 == 6 && i % 64 == 0)
			ev[i].addr |= 0xffff000000000000;
	for (size_t i = 0; i < 2 * NR(lists); i++) {
		cache_refs_plain = i % 2;
		check_events("cache", lists[i / 2], ev, n);
		check("cache", lists[i / 2], i + 1, 40000);
	}
	cache_refs_plain = false;
	free(ev);
}

/* Combinations nobody wrote down: a random hierarchy that the parser accepts. */
static void random_config(struct o_random *r, char *buf)
{
	static const char *const policy[] = { "lru", "fifo", "random", "plru", "srrip", "drrip" };
	static const char *const write[] = { "", ",wt", ",nwa", ",wt,nwa" };
	static const char *const incl[] = { "", ",incl", ",excl" };
	static const char *const pf[] = { "", "", ",prefetch=next", ",prefetch=stride,degree=2",
					  ",prefetch=stream,degree=3", ",prefetch=ipstride",
					  ",prefetch=ampm,degree=2", ",prefetch=spp,degree=6",
					  ",prefetch=berti", ",prefetch=pythia" };
	unsigned levels = 1 + o_rnd(r) % 3, line = 16u << o_rnd(r) % 3;
	bool split = o_rnd(r) % 2;
	char *p = buf;

	for (unsigned k = 1; k <= levels; k++) {
		for (int side = 0; side < (k == 1 && split ? 2 : 1); side++) {
			unsigned ways = 1u << o_rnd(r) % 4;

			p += sprintf(p, "%sl%u%s=%u,%uway,%u,%s%s%s%s", p == buf ? "" : ";", k,
				     k == 1 && split ? side ? "d" : "i" : "",
				     line * ways << (1 + k + o_rnd(r) % 3), ways, line,
				     policy[o_rnd(r) % 6], write[o_rnd(r) % 4],
				     k > 1 ? incl[o_rnd(r) % 3] : "", pf[o_rnd(r) % NR(pf)]);
			if (o_rnd(r) % 4 == 0)
				p += sprintf(p, ",victim=%u", (unsigned)(1 + o_rnd(r) % 5));
			if (o_rnd(r) % 4 == 0)
				p += sprintf(p, ",wbuf=%u", (unsigned)(1 + o_rnd(r) % 5));
			if (o_rnd(r) % 5 == 0)
				p += sprintf(p, ",sub=%u", line / 2);
			if (o_rnd(r) % 4 == 0)
				p += sprintf(p, ",3c");
			if (o_rnd(r) % 4 == 0)
				p += sprintf(p, ",nofetch");
			if (o_rnd(r) % 4 == 0)
				p += sprintf(p, ",drain");
		}
		if (o_rnd(r) % 4 == 0)
			line *= 2;
	}
	if (o_rnd(r) % 3 == 0)
		sprintf(p, ";flush=%u", (unsigned)(500 + o_rnd(r) % 3000));
}

static void test_random_configs(void **state)
{
	struct o_random r = o_random_init(99);
	unsigned accepted = 0;

	(void)state;
	for (unsigned i = 0; accepted < 60; i++) {
		struct pm_err err = { 0 };
		struct pm_cache_conf cc;
		char config[600];

		random_config(&r, config);
		if (pm_cache_conf_parse(&cc, "cache", config, &err)) {
			assert_true(i < 5000);
			continue;
		}
		accepted++;
		check("cache", config, i, 60000);
	}
}

/* Fetches and references of a real program. */
static struct pm_event *real_references(size_t n)
{
	size_t m, k = 0;
	struct pm_event *ev = real_events(n * 2, &m);

	for (size_t i = 0; i < m && k < n; i++)
		if (ev[i].kind == PM_EV_INSN ||
		    (ev[i].kind >= PM_EV_READ && ev[i].kind <= PM_EV_MODIFY))
			ev[k++] = ev[i];
	assert_int_equal(k, n);
	return ev;
}

/* OPT: the twin looks ahead for each line; and no other policy may beat it. */
static void test_opt(void **state)
{
	static const char *const shapes[] = { "8k,4way,64", "4k,full,32", "16k,2way,16",
		"8k,1way,64" };
	size_t n = 12000;

	(void)state;
	for (size_t s = 0; s < NR(shapes) * 2; s++) {
		struct pm_event *ev = s < NR(shapes) ? random_events(s + 5, 60000, n)
						     : real_references(n);
		uint64_t best = 0;

		for (int p = PM_OPT; p >= PM_LRU; p--) {
			struct pm_err err = { 0 };
			char config[80];
			struct pm_cache *c;
			uint64_t m = 0;

			snprintf(config, sizeof config, "l1=%s,%s", shapes[s % NR(shapes)],
				 pm_cache_policies[p]);
			c = pm_cache_new(config, &err);
			if (!c && p == PM_PLRU)
				continue;		/* 128 ways are too many for it */
			if (!c)
				fail_msg("%s", err.msg);
			pm_cache_events(c, ev, n);
			pm_cache_end(c);
			for (int op = 0; op < PM_OP_COUNT; op++)
				m += pm_cache_stats(c, 0)->miss[op][0] +
				     pm_cache_stats(c, 0)->miss[op][1];
			if (p == PM_OPT)
				best = m;
			else if (m < best)
				fail_msg("%s misses %llu times, opt %llu", config,
					 (unsigned long long)m, (unsigned long long)best);
			if (p == PM_OPT) {	/* the twin: next use by searching */
				struct o_cache *o = o_cache_new(pm_cache_config(c));
				uint64_t line = o->cc->level[0].line, nacc = 0;
				struct {
					uint64_t addr;
					enum pm_cache_op op;
					int cls;
				} *acc = malloc(n * 4 * sizeof *acc);

				for (size_t i = 0; i < n; i++)
					for (int half = 0; half < 2; half++) {
						int kind = ev[i].kind,
						    cls = kind != PM_EV_INSN &&
							  ev[i].flags & PM_REF_STACK;
						enum pm_cache_op op = kind == PM_EV_INSN
									      ? PM_OP_FETCH
								      : half ? PM_OP_WRITE
									     : PM_OP_READ;

						if ((kind == PM_EV_INSN && half) ||
						    (kind == PM_EV_READ && half) ||
						    (kind == PM_EV_WRITE && !half))
							continue;
						for (uint64_t a = ev[i].addr / line;
						     a <= (ev[i].addr + ev[i].size - 1) / line;
						     a++) {
							acc[nacc].addr = a * line;
							acc[nacc].op = op;
							acc[nacc++].cls = cls;
						}
					}
				for (uint64_t i = 0; i < nacc; i++) {
					uint64_t j = i + 1;

					while (j < nacc && acc[j].addr != acc[i].addr)
						j++;
					o->again = j < nacc ? j : UINT64_MAX;
					o_access(o, o->level, acc[i].addr, line, acc[i].op,
						 acc[i].cls);
				}
				compare(config, c, o);
				compared += nacc;
				free(acc);
				o_cache_free(o);
			}
			pm_cache_free(c);
		}
		free(ev);
	}
}

static void test_errors(void **state)
{
	static const struct { const char *what, *config, *says; } bad[] = {
		{ "cache", "", "no level is given" },
		{ "cache", "l1d=0", "outside" },
		{ "cache", "l1d=32k,0way,64", "the number of ways is 1 to 65536" },
		{ "cache", "l1d=32k,8way,48", "48 is not a power of two" },
		{ "cache", "l1d=48k,8way,64", "number of sets must be a power of two" },
		{ "cache", "l1d=32k,7way,64", "do not divide" },
		{ "cache", "l1d=32k,8way,64,mru",
		  "'mru' is not a field; did you mean 'lru'?" },
		{ "cache", "l1d=32k,8way,64,prefetch=magic",
		  "'magic' is not a prefetcher; allowed: none, next" },
		{ "cache", "l1d=32k,32way,64,9", "'9' is a third number" },
		{ "cache", "l1d", "the size is missing" },
		{ "cache", "l0=4k", "'l0' is not a level" },
		{ "cache", "l1d=4k;l1=4k", "l1d is there already" },
		{ "cache", "l1=4k;l2d=8k", "split level cannot follow a unified one" },
		{ "cache", "l1=4k,incl", "no" },
		{ "cache", "l1=4k,4way,64;l2=8k,4way,32,incl", "lines at least as long" },
		{ "cache", "l1=4k,wt;l2=8k,excl", "excl needs l1 to be wb" },
		{ "cache", "l1=4k,opt,nwa", "opt goes with" },
		{ "cache", "l1=4k,opt;flush=100", "opt does not go with flush" },
		{ "cache", "l1=4k,opt,drain", "opt goes with" },
		{ "cache", "l1=4k;l2=8k,nofetch;l3=16k,excl", "nofetch of l2 needs all levels" },
		{ "cache", "l1=4k,drain;l2=8k,incl", "drain of l1 needs all levels" },
		{ "cache", "l1=12k,12way,64,plru", "plru needs" },
		{ "cache", "l1=4k;flush=0", "allowed: flush=N" },
		{ "cache", "l1=4k;;l2=8k", "an item is empty" },
		{ "cache", "l1=4k,,lru", "an empty field" },
		{ "cache", "=4k", "a name is missing" },
		{ "cache", "l1=4k,sub=64,64", "sub=64" },
		{ "cache", "l1=4k,victim=0", "outside" },
		{ "cache", "l1=4k,victim=2,sub=16", "victim does not go with sub" },
		{ "tlb", "itlb=64,4way,3000", "not a power of two" },
		{ "tlb", "l1=64", "'l1' is not a level; allowed: itlb" },
		{ "tlb", "itlb=64,wb", "'wb' is not a field" },
	};

	(void)state;
	for (size_t i = 0; i < NR(bad); i++) {
		struct pm_err err = { 0 };
		struct pm_cache_conf cc;

		if (!pm_cache_conf_parse(&cc, bad[i].what, bad[i].config, &err))
			fail_msg("'%s' was accepted", bad[i].config);
		if (!strstr(err.msg, bad[i].says))
			fail_msg("'%s' says '%s', not '%s'", bad[i].config, err.msg, bad[i].says);
	}
}

/* Three references worked out by hand: 1 set, 2 ways, lines of 16 bytes. */
static void test_by_hand(void **state)
{
	const struct pm_event ev[] = {
		{ PM_EV_READ, 0, 4, PM_NONE, 0x00, 0 },		/* miss */
		{ PM_EV_WRITE, 0, 4, PM_NONE, 0x1e, 0 },	/* crosses: 0x10 miss, 0x20 miss
								 * (out: 0x00) */
		{ PM_EV_READ, 0, 4, PM_NONE, 0x14, 0 },		/* hit */
		{ PM_EV_READ, 0, 4, PM_NONE, 0x00, 0 },		/* miss (out: 0x20, dirty) */
	};
	struct pm_err err = { 0 };
	struct pm_cache *c = pm_cache_new("l1=32,2way,16", &err);

	(void)state;
	assert_non_null(c);
	pm_cache_events(c, ev, NR(ev));
	assert_int_equal(pm_cache_stats(c, 0)->access[PM_OP_READ][0], 3);
	assert_int_equal(pm_cache_stats(c, 0)->miss[PM_OP_READ][0], 2);
	assert_int_equal(pm_cache_stats(c, 0)->access[PM_OP_WRITE][0], 2);
	assert_int_equal(pm_cache_stats(c, 0)->miss[PM_OP_WRITE][0], 2);
	assert_int_equal(pm_cache_stats(c, 0)->writebacks, 1);
	assert_int_equal(pm_cache_memory_stats(c)->bytes_read, 64);
	assert_int_equal(pm_cache_memory_stats(c)->bytes_written, 16);
	pm_cache_free(c);
}

static uint64_t misses(const struct pm_cache *c, unsigned level)
{
	uint64_t m = 0;

	for (int op = 0; op < PM_OP_COUNT; op++)
		m += pm_cache_stats(c, level)->miss[op][0] + pm_cache_stats(c, level)->miss[op][1];
	return m;
}

/* Address spaces do not share lines unless told to; a switch flushes if told to; addresses whose
 * high bits differ are different. */
static void test_spaces(void **state)
{
	static const struct { const char *config; uint64_t misses; } t[] = {
		{ "l1d=4k,4way,64", 3 },	/* 0x1000 of two spaces, and a high address */
		{ "l1d=4k,4way,64;spaces=shared", 2 },
		/* in the last two rounds space 2 has no reference */
		{ "l1d=4k,4way,64;flush=switch", 2 + 1 + 2 + 2 },
	};
	const struct pm_stream one = { .index = 0, .space = 1 }, two = { .index = 1, .space = 2 };
	const struct pm_event low = { PM_EV_READ, 0, 4, PM_NONE, 0x1000, 0 },
		high = { PM_EV_READ, 0, 4, PM_NONE, 0xffff800000001000, 0 };

	(void)state;
	for (size_t i = 0; i < NR(t); i++) {
		struct pm_err err = { 0 };
		struct pm_cache *c = pm_cache_new(t[i].config, &err);
		struct pm_event both[] = { low, high, low, high };

		assert_non_null(c);
		for (int k = 0; k < 3; k++) {
			pm_cache_batch(c, &(struct pm_batch){ .stream = &one, .ev = both, .n = 4 });
			pm_cache_batch(c, &(struct pm_batch){
						  .stream = &two, .ev = both, .n = k == 0 });
		}
		assert_int_equal(misses(c, 0), t[i].misses);
		pm_cache_free(c);
	}
}

/* Dinero's instructions to the cache: copy back, invalidate, flush; uncached references. */
static void test_maintenance(void **state)
{
	struct pm_err err = { 0 };
	struct pm_cache *c = pm_cache_new("l1d=4k,4way,64", &err);
	struct pm_event w = { PM_EV_WRITE, 0, 4, PM_NONE, 0x1000, 0 }, x = w;

	(void)state;
	assert_non_null(c);
	pm_cache_events(c, &w, 1);		/* miss, dirty */
	x.flags = PM_REF_COPYBACK;
	pm_cache_events(c, &x, 1);
	assert_int_equal(pm_cache_stats(c, 0)->writebacks, 1);
	pm_cache_events(c, &x, 1);		/* clean by now */
	assert_int_equal(pm_cache_stats(c, 0)->writebacks, 1);
	assert_int_equal(pm_cache_memory_stats(c)->bytes_written, 64);
	pm_cache_events(c, &w, 1);		/* hit, dirty again */
	assert_int_equal(misses(c, 0), 1);
	x.flags = PM_REF_INVAL;			/* what was written is lost */
	pm_cache_events(c, &x, 1);
	pm_cache_events(c, &w, 1);		/* miss */
	assert_int_equal(misses(c, 0), 2);
	assert_int_equal(pm_cache_stats(c, 0)->writebacks, 1);
	x.flags = PM_REF_COPYBACK | PM_REF_ALL;
	pm_cache_events(c, &x, 1);
	assert_int_equal(pm_cache_stats(c, 0)->writebacks, 2);
	x.flags = PM_REF_UNCACHED;
	pm_cache_events(c, &x, 1);
	assert_int_equal(pm_cache_stats(c, 0)->access[PM_OP_WRITE][0], 3);
	pm_cache_free(c);
}

/* Misses are the instruction's that ran. */
static void test_by_insn(void **state)
{
	const struct pm_event ev[] = {
		{ PM_EV_INSN, 0, 4, PM_NONE, 0x400000, 0 },
		{ PM_EV_READ, 0, 4, PM_NONE, 0x1000, 0 },
		{ PM_EV_INSN, 0, 4, PM_NONE, 0x400004, 0 },
		{ PM_EV_READ, 0, 4, PM_NONE, 0x2000, 0 },
		{ PM_EV_READ, 0, 4, PM_NONE, 0x3000, 0 }, { PM_EV_READ, 0, 4, PM_NONE, 0x1000, 0 },
	};
	struct pm_err err = { 0 };
	struct pm_cache *c = pm_cache_new("l1d=4k,4way,64;byinsn", &err);
	const struct pm_cache_insn *v;
	size_t n;

	(void)state;
	assert_non_null(c);
	pm_cache_events(c, ev, NR(ev));
	v = pm_cache_by_insn(c, &n);
	assert_int_equal(n, 2);
	assert_int_equal(v[0].pc, 0x400004);
	assert_int_equal(v[0].miss[0], 2);
	assert_int_equal(v[1].pc, 0x400000);
	assert_int_equal(v[1].miss[0], 1);
	pm_cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_configs),
		cmocka_unit_test(test_tlb),
		cmocka_unit_test(test_random_configs),
		cmocka_unit_test(test_real),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_opt),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_spaces),
		cmocka_unit_test(test_maintenance),
		cmocka_unit_test(test_by_insn),
	};
	int failed = cmocka_run_group_tests_name("cache", tests, NULL, NULL);

	printf("compared %llu references\n", (unsigned long long)compared);
	return failed;
}
