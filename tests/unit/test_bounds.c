/* SPDX-License-Identifier: MIT */
/* Bounds: each lane against its slow twin, window by window; bounds against the detailed core; the
 * whole simulator, alone and with others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../oracle/bounds_slow.h"
#include "../oracle/random_op.h"
#include "analyse/bounds_work.h"
#include "base/mem.h"
#include "base/result.h"
#include "trace/format.h"
#include "trace/pipeline.h"

static const char *const names[] = {
#define R(name, sure, about) #name,
	PM_BOUNDS_RESOURCES(R)
#undef R
};
static uint64_t compared, bounds, of_ports;

#ifndef BOUNDED
#define BOUNDED 150		/* cores */
#endif

/* ---- a pass is told operations, as core_feed.c tells them ------------------------------------ */

struct told {
	struct core_insn op[CORE_GATHER];
	struct core_rule rule[CORE_GATHER];
	struct core_ref load[4 * CORE_GATHER], store[4 * CORE_GATHER];
	struct pm_core *k;		/* knows the rules */
};

static void tell(struct bounds_pass *p, struct told *t, const struct pm_core_op *op, size_t n)
{
	size_t nload = 0, nstore = 0;

	for (size_t i = 0; i < n; i++) {
		const struct pm_core_op *o = op + i;
		const struct pm_core_static s = { .addr_regs = o->addr_regs,
						  .data_regs = o->data_regs,
						  .writes = o->writes,
						  .class = o->class,
						  .uops = o->uops,
						  .stack = o->stack,
						  .serial = o->serial };

		core_rule_of(t->k, &s, t->rule + i);
		t->op[i] = (struct core_insn){ .rule = t->rule + i,
					       .nload = o->nload,
					       .nstore = o->nstore,
					       .len = o->len,
					       .redirect = o->redirect,
					       .fetch_level = o->fetch_level,
					       .taken = o->taken };
		for (unsigned j = 0; j < o->nload; j++)
			t->load[nload++] = (struct core_ref){
				o->load[j], o->load_size[j] ? o->load_size[j] : 1, o->load_level[j]
			};
		for (unsigned j = 0; j < o->nstore; j++)
			t->store[nstore++] =
				(struct core_ref){ o->store[j],
						   o->store_size[j] ? o->store_size[j] : 1,
						   o->store_level[j] };
	}
	bounds_pass_run(p, t->op, n, t->load, t->store);
}

/* In pieces of many sizes, of which no result may know. */
static void tell_all(struct bounds_pass *p, const struct pm_core_op *op, size_t n)
{
	struct told *t = pm_alloc(sizeof *t);
	size_t piece = 1;

	t->k = pm_core_from(&pm_core_mid);
	while (n) {
		const size_t now = n < piece ? n : piece;

		tell(p, t, op, now);
		op += now;
		n -= now;
		piece = piece * 3 % CORE_GATHER + 1;
	}
	bounds_pass_end(p);
	pm_core_free(t->k);
	free(t);
}

/* Any core that a configuration can say. */
static struct pm_core_conf random_conf(struct o_random *r)
{
	const struct pm_core_conf *const base[] = { &pm_core_big, &pm_core_mid, &pm_core_small };
	struct pm_core_conf c = *base[o_rnd(r) % 3];
	const struct { uint32_t *to, lo, hi; } v[] = {
		{ &c.fetch, 1, 12 }, { &c.bytes, 15, 64 }, { &c.queue, 1, 100 },
		{ &c.front, 1, 20 }, { &c.bubble, 0, 8 }, { &c.width, 1, 10 },
		{ &c.rob, 8, 600 }, { &c.iq, 8, 200 },
		{ &c.lq, 4, 100 }, { &c.sq, 4, 100 }, { &c.mshr, 1, 50 }, { &c.gap, 0, 20 },
		{ &c.forward, 1, 20 }, { &c.alu, 1, 8 }, { &c.vec, 1, 8 }, { &c.loads, 1, 4 },
		{ &c.stores, 1, 4 },
	};

	for (size_t i = 0; i < NR(v); i++)
		if (o_rnd(r) % 2)
			*v[i].to = v[i].lo + o_rnd(r) % (v[i].hi - v[i].lo + 1);
	if (o_rnd(r) % 16 == 0)
		c.rob = 4096;
	return c;
}

/* Operations of one kind more often than of others, so that each resource matters somewhere. */
static void random_ops(struct o_random *r, struct pm_core_op *op, size_t n)
{
	const unsigned kind = o_rnd(r) % 8;	/* bits */

	for (size_t i = 0; i < n; i++) {
		op[i] = o_random_op(r);
		if (kind & 1) {		/* nothing but widths, queues and ports */
			op[i].data_regs = op[i].addr_regs = 0;
			op[i].redirect = op[i].fetch_level = op[i].taken = 0;
		} else if (op[i].redirect == PM_CORE_WRONG && o_rnd(r) % 8) {
			op[i].redirect = PM_CORE_STRAIGHT;
		}
		if (kind & 2 && op[i].nload)	/* memory */
			op[i].load_level[0] = o_rnd(r) % 4;
		if (kind & 4 && op[i].class == PM_CORE_SYSTEM) {
			op[i].class = PM_CORE_FADD + o_rnd(r) % 5;
			op[i].serial = false;
		}
	}
}

struct windows { struct bounds_pass *p; uint64_t *v[64]; size_t n[64]; };

static void keep_windows(void *self, size_t n)
{
	struct windows *w = self;

	for (size_t i = 0; i < w->p->nlane; i++) {
		w->v[i] = pm_realloc(w->v[i], (w->n[i] + n + 1) * sizeof *w->v[i]);
		for (size_t k = 0; k < n; k++)
			w->v[i][w->n[i]++] = w->p->lane[i].column[k];
	}
}

static void compare_lane(const struct windows *w, size_t lane, const struct pm_core_conf *c,
			 unsigned resource, uint32_t window, const struct pm_core_op *op, size_t n)
{
	struct b_lane *slow = b_lane_new(c, resource, window);

	for (size_t i = 0; i < n; i++)
		b_lane_op(slow, op + i);
	b_lane_end(slow);
	assert_int_equal(slow->cycles.n, w->n[lane]);
	for (size_t i = 0; i < slow->cycles.n; i++)
		if (slow->cycles.v[i] != w->v[lane][i])
			fail_msg("%s, window %zu of %u: %llu cycles, slow %llu", names[resource], i,
				 window, (unsigned long long)w->v[lane][i],
				 (unsigned long long)slow->cycles.v[i]);
	assert_int_equal(w->p->lane[lane].cycles, slow->commit);
	compared += n;
	b_lane_free(slow);
}

static void compare_lanes(const struct pm_core_conf *c, size_t nc, uint32_t window,
			  const struct pm_core_op *op, size_t n, const struct bounds_origin *origin)
{
	struct windows w = { .p = bounds_pass_new(window) };
	size_t lane[4][PM_BOUNDS_COUNT];

	if (origin)
		w.p->origin = *origin;
	if (n % 2)			/* without the instructions of newer processors */
		w.p->run = bounds_run_plain;

	for (size_t i = 0; i < nc; i++)
		for (unsigned r = 0; r < PM_BOUNDS_COUNT; r++)
			lane[i][r] = bounds_lane_of(w.p, c + i, r);
	bounds_pass_tell(w.p, keep_windows, &w);
	tell_all(w.p, op, n);
	for (size_t i = 0; i < nc; i++)
		for (unsigned r = 0; r < PM_BOUNDS_COUNT; r++)
			compare_lane(&w, lane[i][r], c + i, r, window, op, n);
	for (size_t i = 0; i < w.p->nlane; i++) {
		if (origin)		/* it has moved */
			assert_true(w.p->lane[i].cycles > 2u * origin->late);
		free(w.v[i]);
	}
	bounds_pass_free(w.p);
}

static void test_twin(void **state)
{
	static struct pm_core_op op[12000];

	(void)state;
	for (unsigned k = 0; k < 8; k++) {
		struct o_random r = o_random_init(k + 1);
		struct pm_core_conf c[4];

		for (unsigned i = 0; i < 4; i++)
			c[i] = random_conf(&r);
		random_ops(&r, op, NR(op));
		compare_lanes(c, 1 + k % 4, k ? 1 + o_rnd(&r) % 200 : 1, op, NR(op) - k % 2, NULL);
	}
}

/* The origin of times moves: often, and once times are beyond 32 bits. */
static void test_long(void **state)
{
	enum { N = 200000, CHAIN = 300000 };
	static const struct bounds_origin often = { 1 << 17, 1 << 16, 1 << 15 };
	struct pm_core_op *op = pm_alloc(CHAIN * sizeof *op);
	struct pm_core_conf c = pm_core_small;
	struct o_random r = o_random_init(5);
	struct bounds_pass *p;
	size_t none, mshr;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		op[i] = o_random_op(&r);
		if (i % 4 == 0)
			op[i].load_level[0] = 3;
	}
	c.lat[3] = 150;
	compare_lanes(&c, 1, 64, op, N, &often);
	/* without twins, whose calendars would be long: the chain's length is known */
	for (size_t i = 0; i < CHAIN; i++)
		op[i] = (struct pm_core_op){ .addr_regs = 1, .writes = 1, .nload = 1,
			.load = { 0x100000 + i % 5000 * 64 }, .load_level = { 3 }, .uops = 1,
			.class = PM_CORE_MOVE, .len = 4 };
	c.lat[3] = 10000;
	p = bounds_pass_new(4096);
	none = bounds_lane_of(p, &c, PM_BOUNDS_none);
	mshr = bounds_lane_of(p, &c, PM_BOUNDS_mshr);
	tell_all(p, op, CHAIN);
	assert_int_equal(p->lane[none].cycles, c.front + 1 + 10000ull * CHAIN + 1);
	assert_int_equal(p->lane[mshr].cycles, p->lane[none].cycles);
	bounds_pass_free(p);
	free(op);
}

/* Loads that have their data from stores do not wait for their lines: these may be late without
 * end, if not for (2). */
static void test_far(void **state)
{
	static struct pm_core_op op[3000];
	struct pm_core_conf c = pm_core_small;

	(void)state;
	c.mshr = 1;
	c.gap = 1000;
	c.lat[3] = 10000;
	for (size_t i = 0; i < NR(op); i++) {
		op[i] = (struct pm_core_op){ .uops = 1, .class = PM_CORE_MOVE, .len = 4 };
		if (i % 2) {
			op[i].nload = 1;
			op[i].load[0] = op[i - 1].store[0];
			op[i].load_level[0] = 3;
		} else {
			op[i].nstore = 1;
			op[i].store[0] = 0x10000 + i * 64;
		}
		if (i % 1000 == 999) {		/* the rest of a line */
			op[i].load[0] += 8;
			op[i].load_level[0] = 0;
			op[i].load[0] -= 128;
		}
	}
	compare_lanes(&c, 1, 10, op, NR(op), NULL);
}

/* (5): no core needs fewer cycles than its bound. */
static void test_bound(void **state)
{
	static struct pm_core_op op[20000];
	double nearest = 0;

	(void)state;
	for (unsigned k = 0; k < BOUNDED; k++) {
		struct o_random r = o_random_init(k + 100);
		const struct pm_core_conf c = random_conf(&r);
		struct bounds_pass *p = bounds_pass_new(64);
		struct pm_core *core = pm_core_from(&c);
		uint64_t issues[PM_CORE_CLASS_COUNT + 2] = { 0 }, most, ports;
		size_t lane[PM_BOUNDS_COUNT];

		for (unsigned i = 0; i < PM_BOUNDS_COUNT; i++)
			lane[i] = bounds_lane_of(p, &c, i);
		random_ops(&r, op, NR(op));
		tell_all(p, op, NR(op));
		for (size_t i = 0; i < NR(op); i++) {
			pm_core_op(core, op + i, NULL);
			issues[op[i].class]++;
			issues[PM_CORE_CLASS_COUNT] += op[i].nload;
			issues[PM_CORE_CLASS_COUNT + 1] += op[i].nstore;
		}
		most = ports = bounds_of_ports(p, &c);
		assert_int_equal(ports, b_ports_bound(&c, issues));
#define R(name, sure, about)						\
		if (sure && p->lane[lane[PM_BOUNDS_##name]].cycles > most)	\
			most = p->lane[lane[PM_BOUNDS_##name]].cycles;
		PM_BOUNDS_RESOURCES(R)
#undef R
		if (most > pm_core_stats(core)->cycles)
			fail_msg("core %u: bound %llu, cycles %llu", k, (unsigned long long)most,
				 (unsigned long long)pm_core_stats(core)->cycles);
		bounds++;
		of_ports += ports == most;
		if ((double)most / pm_core_stats(core)->cycles > nearest)
			nearest = (double)most / pm_core_stats(core)->cycles;
		pm_core_free(core);
		bounds_pass_free(p);
	}
	/* a bound that nobody comes near would hold, too */
	if (nearest < 0.95 || !of_ports)
		fail_msg("the highest bound is %.3f of the cycles", nearest);
}

/* ---- the whole simulator on a real program's trace ------------------------------------------- */

#define CACHES "l1i=8k,2way,64;l1d=8k,4way,64,prefetch=stride,degree=2;l2=128k,8way,64"
#define TLBS ";itlb=4,full;dtlb=8,2way;stlb=16"

/* Runs all of @spec together. */
static struct pm_result *simulate(const char *const *spec, size_t n)
{
	struct pm_result *r = pm_result_new();
	struct pm_pipeline *p = pm_pipeline_new();
	const struct pm_sink_ops *const sims[] = { &pm_sim_bounds.ops, &pm_sim_core, NULL };
	struct pm_err err = { 0 };
	struct pm_source src;
	char name[4096];

	snprintf(name, sizeof name, "%s/data/real.pug",
		 getenv("TESTS") ? getenv("TESTS") : "tests");
	for (size_t i = 0; i < n; i++)
		if (pm_sink_add(p, spec[i], sims, &err))
			fail_msg("%s", err.msg);
	if (pm_trace_open(name, NULL, &src, NULL, &err) || pm_pipeline_run(p, &src, r, &err))
		fail_msg("%s", err.msg);
	src.ops->close(src.self);
	pm_pipeline_free(p);
	return r;
}

static void assert_same(const struct pm_result_node *a, const struct pm_result_node *b)
{
	struct pm_buf x = { 0 }, y = { 0 };

	pm_result_json_node(a, &x, 0);
	pm_result_json_node(b, &y, 0);
	assert_true(x.n > 300);
	assert_int_equal(x.n, y.n);
	assert_memory_equal(x.p, y.p, x.n);
	pm_buf_release(&x);
	pm_buf_release(&y);
}

static void test_together(void **state)
{
	static const char *const spec[] = {
		"bounds:preset=mid;rob=32..256*2;iq=16|48;" CACHES,
		"bounds:preset=big;rob=64;alu=1..3;front=4|12;" CACHES,
		"bounds:preset=mid;rob=32|64;bpred=bimodal;" CACHES,	/* sees something else */
		"bounds:preset=mid;rob=32|64;window=17;" CACHES,
		"bounds:preset=small;loads=1..3;lat=4,9,30,200;" CACHES,
		"bounds:preset=mid;rob=32|64;" CACHES TLBS,
	};
	struct pm_result *all = simulate(spec, NR(spec));
	const struct pm_result_node *k = pm_result_root(all)->first;

	(void)state;
	for (size_t i = 0; i < NR(spec); i++, k = k->next) {
		struct pm_result *one = simulate(spec + i, 1);

		assert_same(k, pm_result_root(one)->first);
		pm_result_free(one);
	}
	assert_null(k);
	pm_result_free(all);
}

static uint64_t number(const struct pm_result_node *of, const char *name)
{
	return pm_result_find(of, name)->u64;
}

/* What `core` says of the same configurations; one and the same trace for both. */
static void compare_with_core(const char *bounds_config, const char *more)
{
	static const uint32_t rob[] = { 32, 64, 128, 256 }, width[] = { 2, 5 }, iq[] = { 16, 64 };
	struct pm_result *b = simulate(&bounds_config, 1);
	const struct pm_result_node *at = pm_result_root(b)->first;

	at = pm_result_find(at, "configurations")->first;
	for (size_t i = 0; i < 16; i++, at = at->next) {
		char text[300];
		const char *one = text;
		struct pm_result *r;
		uint64_t cycles;

		assert_int_equal(number(at, "rob"), rob[i / 4]);
		assert_int_equal(number(at, "width"), width[i / 2 % 2]);
		assert_int_equal(number(at, "iq"), iq[i % 2]);
		snprintf(text, sizeof text, "core:preset=mid;rob=%u;width=%u;iq=%u;" CACHES "%s",
			 rob[i / 4], width[i / 2 % 2], iq[i % 2], more);
		r = simulate(&one, 1);
		cycles = number(pm_result_root(r)->first, "cycles");
		if (number(at, "bound") > cycles)
			fail_msg("%s: bound %llu, cycles %llu", text,
				 (unsigned long long)number(at, "bound"),
				 (unsigned long long)cycles);
		bounds++;
		pm_result_free(r);
	}
	assert_null(at);
	pm_result_free(b);
}

static void test_real(void **state)
{
	(void)state;
	compare_with_core("bounds:preset=mid;rob=32..256*2;width=2|5;iq=16|64;" CACHES, "");
	compare_with_core("bounds:preset=mid;rob=32..256*2;width=2|5;iq=16|64;" CACHES TLBS, TLBS);
}

struct kept { struct pm_core_op *v; size_t n, cap; };

static void keep_ops(void *self, const struct core_insn *op, size_t n, const struct core_ref *load,
		     const struct core_ref *store)
{
	struct kept *k = self;

	for (size_t i = 0; i < n; i++, op++) {
		const struct core_rule *r = op->rule;
		struct pm_core_op *o;

		pm_grow(k->v, k->n, k->cap);
		o = k->v + k->n++;
		*o = (struct pm_core_op){ .addr_regs = r->addr_regs,
					  .data_regs = r->data_regs,
					  .writes = r->writes,
					  .class = r->class,
					  .uops = r->uops,
					  .serial = r->serial,
					  .len = op->len,
					  .redirect = op->redirect,
					  .fetch_level = op->fetch_level,
					  .taken = op->taken,
					  .nload = op->nload,
					  .nstore = op->nstore };
		for (unsigned j = 0; j < op->nload; j++, load++) {
			o->load[j] = load->addr;
			o->load_size[j] = load->size;
			o->load_level[j] = load->level;
		}
		for (unsigned j = 0; j < op->nstore; j++, store++) {
			o->store[j] = store->addr;
			o->store_size[j] = store->size;
			o->store_level[j] = store->level;
		}
	}
}

/* What a real program's operations are to a core: core_feed.c has its own twin. */
static struct kept real_ops(void)
{
	struct core_sink *s = pm_sim_core.create("preset=mid;" CACHES, &(struct pm_err){ 0 });
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_err err = { 0 };
	struct kept k = { 0 };
	struct pm_source src;
	char name[4096];

	snprintf(name, sizeof name, "%s/data/real.pug",
		 getenv("TESTS") ? getenv("TESTS") : "tests");
	s->instead = keep_ops;
	s->whose = &k;
	pm_pipeline_sink(p, &pm_sim_core, s);
	if (pm_trace_open(name, NULL, &src, NULL, &err) || pm_pipeline_run(p, &src, NULL, &err))
		fail_msg("%s", err.msg);
	src.ops->close(src.self);
	pm_pipeline_free(p);
	return k;
}

/* (4), (5): estimate, bound, and which resource it was most, from twins of all lanes. */
static void compare_core(const struct pm_result_node *at, const struct pm_core_conf *c,
			 const struct kept *k)
{
	struct b_lane *lane[PM_BOUNDS_COUNT];
	uint64_t limited[PM_BOUNDS_COUNT] = { 0 }, estimate = 0, bound,
		 issues[PM_CORE_CLASS_COUNT + 2] = { 0 };
	unsigned mostly = 0;

	for (unsigned r = 0; r < PM_BOUNDS_COUNT; r++) {
		lane[r] = b_lane_new(c, r, 64);
		for (size_t i = 0; i < k->n; i++)
			b_lane_op(lane[r], k->v + i);
		b_lane_end(lane[r]);
	}
	for (size_t i = 0; i < k->n; i++) {
		issues[k->v[i].class]++;
		issues[PM_CORE_CLASS_COUNT] += k->v[i].nload;
		issues[PM_CORE_CLASS_COUNT + 1] += k->v[i].nstore;
	}
	for (size_t w = 0; w < lane[0]->cycles.n; w++) {
		unsigned who = 0;

		for (unsigned r = 1; r < PM_BOUNDS_COUNT; r++)
			if (lane[r]->cycles.v[w] > lane[who]->cycles.v[w])
				who = r;
		limited[who] += lane[who]->cycles.v[w];
		estimate += lane[who]->cycles.v[w];
	}
	bound = b_ports_bound(c, issues);
#define R(name, sure, about)						\
	if (sure)							\
		bound = b_later(bound, lane[PM_BOUNDS_##name]->commit);
	PM_BOUNDS_RESOURCES(R)
#undef R
	for (unsigned r = 1; r < PM_BOUNDS_COUNT; r++)
		if (limited[r] > limited[mostly])
			mostly = r;
	assert_int_equal(number(at, "estimate"), estimate);
	assert_int_equal(number(at, "bound"), bound);
	assert_string_equal(pm_result_find(at, "mostly")->str, names[mostly]);
	for (unsigned r = 0; r < PM_BOUNDS_COUNT; r++)
		b_lane_free(lane[r]);
	compared += PM_BOUNDS_COUNT * k->n;
}

static void test_whole(void **state)
{
	static const char *const spec[] = { "bounds:preset=mid;rob=48|200;alu=1|4;" CACHES };
	struct pm_result *b = simulate(spec, 1);
	const struct pm_result_node *at = pm_result_root(b)->first;
	struct kept k = real_ops();

	(void)state;
	assert_int_equal(number(at, "instructions"), k.n);
	assert_int_equal(number(at, "windows"), (k.n + 63) / 64);
	at = pm_result_find(at, "configurations")->first;
	for (unsigned i = 0; i < 4; i++, at = at->next) {
		struct pm_core_conf c = pm_core_mid;

		c.rob = i / 2 ? 200 : 48;
		c.alu = i % 2 ? 4 : 1;
		compare_core(at, &c, &k);
	}
	free(k.v);
	pm_result_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_twin),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_far),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_together),
		cmocka_unit_test(test_real),
		cmocka_unit_test(test_whole),
	};
	int failed = cmocka_run_group_tests_name("bounds", tests, NULL, NULL);

	printf("compared %llu instructions; %llu bounds, %llu of them of ports\n",
	       (unsigned long long)compared, (unsigned long long)bounds,
	       (unsigned long long)of_ports);
	return failed;
}
