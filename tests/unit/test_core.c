/* SPDX-License-Identifier: MIT */
/* The modern core against its slow twin; what a larger window does; what instructions are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../oracle/core_sink.h"
#include "../oracle/topdown_slow.h"
#include "../oracle/random.h"
#include "../oracle/random_op.h"
#include "analyse/core_work.h"
#include "analyse/costs.h"
#include "base/mem.h"
#include "base/result.h"
#include "real_trace.h"

static uint64_t compared;

static const char *const slot_names[] = {
#define S(name, event, path, about) path,
	PM_CORE_SLOT_LIST(S)
#undef S
};
static uint64_t slots_compared[PM_CORE_SLOTS];

/* Slots by instruction, of which there are 64, and leaf. */
static void add_slots(void *ctx, uint64_t pc, enum pm_core_slot why, uint64_t slots)
{
	((uint64_t (*)[PM_CORE_SLOTS])ctx)[pc % 64][why] += slots;
}

/* (1) - (6) of core_slots.h, against asking each cycle; and their sums. @fast NULL: only these. */
static void compare_slots(size_t k, struct pm_core *c, struct o_core *o, uint32_t width,
			  uint64_t fast[64][PM_CORE_SLOTS])
{
	uint64_t slow[64][PM_CORE_SLOTS] = { { 0 } }, all = 0;
	const uint64_t *total = pm_core_slots(c);

	o_topdown(o, add_slots, slow);
	for (unsigned s = 0; s < PM_CORE_SLOTS; s++) {
		uint64_t sum = 0;

		for (unsigned pc = 0; pc < 64; pc++) {
			if (fast && fast[pc][s] != slow[pc][s])
				fail_msg("core %zu, %s of instruction %u: %llu slots, slow %llu", k,
					 slot_names[s], pc, (unsigned long long)fast[pc][s],
					 (unsigned long long)slow[pc][s]);
			sum += slow[pc][s];
		}
		assert_int_equal(sum, total[s]);
		slots_compared[s] += sum;
		all += sum;
	}
	assert_int_equal(all, width * pm_core_stats(c)->cycles);
}

/* Most addresses are in the first TLB, some in the second (7 cycles), others are walked for. */
static unsigned random_wait(struct o_random *r)
{
	const uint64_t x = o_rnd(r);

	return x % 16 ? 0 : x >> 8 & 1 ? 7 : 11 + (x >> 16) % 100;
}

static void random_waits(struct o_random *r, struct pm_core_op *op)
{
	op->fetch_wait = random_wait(r);
	for (unsigned i = 0; i < 4; i++) {
		op->load_wait[i] = random_wait(r);
		op->store_wait[i] = random_wait(r);
	}
}

static void compare_fdip(const struct pm_core *c, const struct o_core *o)
{
	const struct pm_core_fdip_stats *fast = pm_core_fdip_stats(c);

#define S(field, unit, about)							\
	assert_int_equal(fast->field, o->fdip.field);				\
	assert_true(!fast->field == !o->c.fdip);
	PM_CORE_FDIP_STATS(S)
#undef S
	assert_true(fast->fdip_useful <= fast->fdip_issued);
}

/* @blame: slots by instruction, too, for which each goes the long way of core_run(). */
static void twin(size_t k, const struct pm_core_conf *conf, bool blame)
{
	static const char *const stage[] = { "fetch", "dispatch", "completion", "commit" };
	struct pm_core *c = pm_core_from(conf);
	struct o_core *o = o_core_new(conf);
	struct o_random r = o_random_init(k + 9);
	uint64_t slots[64][PM_CORE_SLOTS] = { { 0 } };

	if (blame)
		pm_core_slots_blame(c, add_slots, slots);
	for (size_t i = 0; i < 60000; i++) {
		struct pm_core_op op = o_random_op(&r);
		uint64_t a[4], b[4];

		op.pc = i / 3 % 11 * 64 + i % 64;
		if (k)			/* the first has no TLBs */
			random_waits(&r, &op);
		if (o->commit > O_CYCLES - 100000)
			break;
		pm_core_op(c, &op, a);
		o_core_op(o, &op, b);
		for (int s = 0; s < 4; s++)
			if (a[s] != b[s])
				fail_msg("core %zu instruction %zu: %s at %llu, slow %llu", k, i,
					 stage[s], (unsigned long long)a[s],
					 (unsigned long long)b[s]);
		compared++;
	}
	assert_true(pm_core_stats(c)->forwarded > 0);
	compare_slots(k, c, o, conf->width, blame ? slots : NULL);
	compare_fdip(c, o);
	pm_core_free(c);
	o_core_free(o);
}

static void test_twin(void **state)
{
	struct pm_core_conf confs[] = { pm_core_big, pm_core_mid, pm_core_small, pm_core_small,
		pm_core_big, pm_core_mid, pm_core_big, pm_core_small, pm_core_big, pm_core_small };

	(void)state;
	confs[3].alu = confs[3].vec = confs[3].width = confs[3].mshr = confs[3].queue = 1;
	confs[3].rob = confs[3].iq = 8;
	confs[3].lq = confs[3].sq = 4;
	confs[4].lat[3] = 9000;		/* the calendar of ports has to grow, several times */
	confs[4].gap = 100;
	confs[1].stlb = confs[3].stlb = 7;
	confs[1].walkers = 3;
	confs[2].walkers = confs[3].walkers = 1;
	confs[5].fdip = 24;
	confs[6].fdip = 3;
	confs[7].fdip = 300;
	confs[5].blocks = confs[7].blocks = 1;
	confs[6].blocks = 2;
	confs[1].regs = 40;
	confs[8].regs = 1;		/* all that writes registers, one after another */
	confs[9].regs = 17;
	for (size_t k = 0; k < NR(confs); k++) {
		core_run_plain = k % 2;
		twin(k, confs + k, true);
		if (confs[k].fdip || confs[k].regs)	/* which goes the long way, too */
			continue;
		twin(k, confs + k, false);
		core_run_plain = !core_run_plain;
		twin(k, confs + k, false);
	}
	core_run_plain = false;
	for (unsigned s = 0; s < PM_CORE_SLOTS; s++)
		if (!slots_compared[s])
			fail_msg("no slots for %s: nothing has been compared", slot_names[s]);
}

/* A larger window, queue or width is never slower by more than 1 %. */
static void test_monotone(void **state)
{
	static const struct { size_t at; uint32_t from; const char *name; } dim[] = {
		{ offsetof(struct pm_core_conf, rob), 16, "rob" },
		{ offsetof(struct pm_core_conf, iq), 8, "iq" },
		{ offsetof(struct pm_core_conf, width), 1, "width" },
		{ offsetof(struct pm_core_conf, mshr), 1, "mshr" },
		{ offsetof(struct pm_core_conf, lq), 4, "lq" },
		{ offsetof(struct pm_core_conf, sq), 4, "sq" },
		{ offsetof(struct pm_core_conf, regs), 8, "regs" },
	};

	(void)state;
	for (size_t d = 0; d < NR(dim); d++) {
		uint64_t last = 0;

		for (unsigned k = 0; k < 6; k++) {
			struct pm_core_conf conf = pm_core_mid;
			struct o_random r = o_random_init(33);
			struct pm_core *c;
			uint64_t cycles;

			*(uint32_t *)((char *)&conf + dim[d].at) = dim[d].from << k;
			c = pm_core_from(&conf);
			for (size_t i = 0; i < 40000; i++) {
				struct pm_core_op op = o_random_op(&r);

				pm_core_op(c, &op, NULL);
			}
			cycles = pm_core_stats(c)->cycles;
			if (last && cycles > last + last / 100)
				fail_msg("%s %u: %llu cycles, with half as much %llu", dim[d].name,
					 dim[d].from << k, (unsigned long long)cycles,
					 (unsigned long long)last);
			last = cycles;
			pm_core_free(c);
		}
	}
}

/* A chain of n additions takes n cycles and the pipeline's ends; independent ones share the
 * ports. */
static void test_by_hand(void **state)
{
	struct pm_core_conf conf = pm_core_mid;
	struct pm_core *c = pm_core_from(&conf);
	struct pm_core_op add = { .data_regs = 1, .writes = 1, .class = PM_CORE_ALU, .uops = 1,
		.len = 3 };
	uint64_t t[4];

	(void)state;
	for (int i = 0; i < 100; i++)
		pm_core_op(c, &add, t);
	assert_int_equal(t[2], conf.front + 1 + 100);	/* first issues one after dispatch */
	assert_int_equal(t[3], t[2] + 1);
	pm_core_free(c);
	c = pm_core_from(&conf);
	add.data_regs = 0;
	for (int i = 0; i < 400; i++)
		pm_core_op(c, &add, t);
	assert_int_equal(t[2], conf.front + 1 + 400 / conf.alu);
	pm_core_free(c);
}

/* Loads that miss, each with one result, and their flags: as many at once as there are registers,
 * whatever the reorder buffer holds. What writes none needs none. */
static void test_regs_by_hand(void **state)
{
	struct pm_core_op load = { .writes = 1, .class = PM_CORE_MOVE, .uops = 1, .len = 4,
		.nload = 1, .load_size = { 8 }, .load_level = { 3 } };
	const uint64_t flags = 1ull << 49;

	(void)state;
	for (unsigned way = 0; way < 4; way++) {
		struct pm_core_conf conf = pm_core_big;
		unsigned at_once = way == 1 ? 4 : way == 2 ? 2 : 48;	/* else: mshr */
		struct pm_core *c;
		uint64_t cycles;

		conf.gap = 0;
		conf.regs = way ? 4 : 0;
		load.writes = way == 2 ? 1 | flags : way == 3 ? 1ull << PM_CORE_RSP : 1;
		load.stack = way == 3;
		c = pm_core_from(&conf);
		for (unsigned i = 0; i < 4800; i++) {
			load.load[0] += 64;
			pm_core_op(c, &load, NULL);
		}
		cycles = pm_core_stats(c)->cycles;
		if (cycles < 4800 / at_once * conf.lat[3] ||
		    cycles > 4800 / at_once * (conf.lat[3] + 4) + 50)
			fail_msg("way %u: %llu cycles", way, (unsigned long long)cycles);
		pm_core_free(c);
	}
}

/* The scheduler and the store queue are full, and what waits is dispatched when the calendar of
 * ports, which covers what issues, is long over. */
static void test_long_wait(void **state)
{
	struct pm_core_conf conf = pm_core_big;
	struct pm_core_op op = { .class = PM_CORE_ALU, .uops = 1, .len = 3, .nstore = 1,
		.store = { 64 }, .store_size = { 8 }, .store_level = { 3 } };
	struct pm_core *c;
	struct o_core *o;

	(void)state;
	conf.sq = 4;
	conf.iq = 8;			/* a store takes two */
	conf.lat[3] = 9000;
	c = pm_core_from(&conf);
	o = o_core_new(&conf);
	for (unsigned i = 0; i < 100; i++) {
		uint64_t a[4], b[4];

		op.store[0] += 64;
		pm_core_op(c, &op, a);
		o_core_op(o, &op, b);
		for (unsigned s = 0; s < 4; s++)
			assert_int_equal(a[s], b[s]);
	}
	pm_core_free(c);
	o_core_free(o);
}

/* Cycles of 4,000 instructions of 16 bytes, all lines of which are missing, in the second level. */
static uint64_t cycles_of_lines(uint32_t fdip, uint32_t blocks, enum pm_core_redirect redirect)
{
	struct pm_core_conf conf = pm_core_mid;
	struct pm_core_op op = { .class = PM_CORE_ALU, .uops = 1, .len = 16 };
	struct pm_core *c;
	uint64_t t[4];

	conf.fdip = fdip;
	conf.blocks = blocks;
	conf.queue = 1024;
	c = pm_core_from(&conf);
	for (int i = 0; i < 4000; i++) {
		op.pc = 16 * i;
		op.fetch_level = i % 4 == 0;
		op.redirect = i % 4 == 3 ? redirect : PM_CORE_STRAIGHT;
		pm_core_op(c, &op, t);
	}
	pm_core_free(c);
	return t[3];
}

/* N lines on their way at once; none of them, if each block ends with a misprediction; and no more
 * than are predicted in a cycle. */
static void test_fdip_by_hand(void **state)
{
	const uint64_t none = cycles_of_lines(0, 0, PM_CORE_STRAIGHT),
		       wrong = cycles_of_lines(0, 0, PM_CORE_WRONG);
	const uint32_t lat = pm_core_mid.lat[1], lines = 1000;
	uint64_t t;

	(void)state;
	for (uint32_t n = 2; n <= 4; n++) {
		t = cycles_of_lines(n, 1, PM_CORE_STRAIGHT);
		/* an entry is free when its last instruction is fetched, a cycle after the first:
		 * two of 16 bytes are fetched in a cycle */
		if (t < lines * (lat + 1) / n || t > lines * (lat + 1) / n + 50)
			fail_msg("%u entries: %llu cycles", n, (unsigned long long)t);
	}
	assert_true(none >= lines * (lat + 1));
	/* fetch is the limit: two cycles a line */
	t = cycles_of_lines(64, 1, PM_CORE_STRAIGHT);
	assert_true(t >= 2 * lines && t < 2 * lines + 50);
	t = cycles_of_lines(64, 1, PM_CORE_WRONG);
	if (t > wrong || t + lines < wrong)
		fail_msg("mispredictions: %llu cycles, without %llu", (unsigned long long)t,
			 (unsigned long long)wrong);
	assert_true(cycles_of_lines(1, 1, PM_CORE_STRAIGHT) <= none);
}

static void test_decode(void **state)
{
	static const struct {
		uint8_t bytes[8], len;
		uint64_t addr, data, writes;
		uint8_t class;
		bool stack;
	} t[] = {
#define FL (1ull << 49)
		{ { 0x48, 0x01, 0xd8 }, 3, 0, 1 | 8, 1 | FL, PM_CORE_ALU },	/* add rax, rbx */
		/* add rax, [rbx+rcx*8] */
		{ { 0x48, 0x03, 0x04, 0xcb }, 4, 8 | 2, 1, 1 | FL, PM_CORE_ALU },
		/* mov rax, [r8+r9*8+16] */
		{ { 0x4b, 0x8b, 0x44, 0xc8, 0x10 }, 5, 1 << 8 | 1 << 9, 0, 1, PM_CORE_MOVE },
		/* lea rax, [rbx+rcx*8] */
		{ { 0x48, 0x8d, 0x04, 0xcb }, 4, 0, 8 | 2, 1, PM_CORE_ALU },
		{ { 0x48, 0x89, 0x1e }, 3, 1 << 6, 8, 0, PM_CORE_MOVE },	/* mov [rsi], rbx */
		{ { 0x31, 0xc0 }, 2, 0, 0, 1 | FL, PM_CORE_MOVE },	/* xor eax, eax */
		{ { 0x53 }, 1, 1 << 4, 8, 1 << 4, PM_CORE_MOVE, true },	/* push rbx */
		{ { 0x48, 0x89, 0xd8 }, 3, 0, 8, 1, PM_CORE_MOVE },	/* mov rax, rbx */
		{ { 0x0f, 0xaf, 0xc3 }, 3, 0, 1 | 8, 1 | FL, PM_CORE_MUL },	/* imul eax, ebx */
		/* addsd xmm0, xmm1 */
		{ { 0xf2, 0x0f, 0x58, 0xc1 }, 4, 0, 3 << 16, 1 << 16, PM_CORE_FADD },
		/* mulsd xmm0, [rdi] */
		{ { 0xf2, 0x0f, 0x59, 0x07 }, 4, 1 << 7, 1 << 16, 1 << 16, PM_CORE_FMUL },
		{ { 0x74, 0x05 }, 2, 0, FL, 0, PM_CORE_BRANCH },	/* je */
		{ { 0x0f, 0x05 }, 2, 0, ~0ull, ~0ull, PM_CORE_SYSTEM },	/* syscall: any registers */
	};

	(void)state;
	for (size_t i = 0; i < NR(t); i++) {
		struct pm_core_static s;

		pm_core_decode(t[i].bytes, t[i].len, PM_ISA_X86_64, &s);
		if (s.class != t[i].class || (t[i].data != ~0ull && (s.addr_regs != t[i].addr ||
		    s.data_regs != t[i].data || s.writes != t[i].writes || s.stack != t[i].stack)))
			fail_msg("instruction %zu: class %d (want %d) addr %llx (%llx) data %llx "
				 "(%llx) writes %llx (%llx)",
				 i, s.class, t[i].class, (unsigned long long)s.addr_regs,
				 (unsigned long long)t[i].addr, (unsigned long long)s.data_regs,
				 (unsigned long long)t[i].data, (unsigned long long)s.writes,
				 (unsigned long long)t[i].writes);
	}
}

/* ---- the whole sink on a real program's trace */
static enum pm_status slow_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	(void)err;
	for (size_t i = 0; i < b->n; i++)
		o_core_event(self, b->ev + i, b->code);
	return PM_OK;
}

static enum pm_status slow_finish(void *self, struct pm_result *r, struct pm_err *err)
{
	(void)r;
	(void)err;
	o_instruction(self);
	return PM_OK;
}

static void keep(void *self)
{
	(void)self;
}

struct slow_slots { struct pm_map row; uint64_t (*v)[PM_CORE_SLOTS]; size_t n, cap; };

static void note_slots(void *ctx, uint64_t pc, enum pm_core_slot why, uint64_t slots)
{
	struct slow_slots *s = ctx;
	bool fresh;
	uint64_t *row = pm_map_put(&s->row, pc, &fresh);

	if (fresh) {
		*row = s->n;
		pm_grow(s->v, s->n, s->cap);
		memset(s->v[s->n++], 0, sizeof *s->v);
	}
	s->v[*row][why] += slots;
}

/* Each instruction's slots; the tree's leaves are the sums of all, its branches those of leaves. */
static void compare_sink_slots(const struct o_core_sink *o, const struct pm_costs *costs,
			       const struct pm_result_node *core)
{
	static const char *const events[] = {
#define S(name, event, path, about) event,
		PM_CORE_SLOT_LIST(S)
#undef S
	};
	struct slow_slots slow = { .n = 0 };
	const struct pm_result_node *tree = pm_result_find(core, "top_down")->first;
	uint64_t level[4] = { 0 };

	o_topdown(o->core, note_slots, &slow);
	assert_int_equal(slow.n, costs->n);
	for (unsigned s = 0; s < PM_CORE_SLOTS; s++) {
		uint64_t *v = costs->v[pm_costs_find(costs, events[s])], sum = 0;

		for (size_t i = 0; i < costs->n; sum += v[i++])
			if (v[i] != slow.v[*pm_map_get(&slow.row, costs->pc[i])][s])
				fail_msg("%s of 0x%llx", events[s],
					 (unsigned long long)costs->pc[i]);
		for (const struct pm_result_node *row = tree; row; row = row->next)
			if (!strcmp(pm_result_find(row, "category")->str, slot_names[s])) {
				assert_int_equal(pm_result_find(row, "slots")->u64, sum);
				level[0] += sum;
			}
	}
	for (const struct pm_result_node *row = tree; row; row = row->next)
		level[pm_result_find(row, "level")->u64] += pm_result_find(row, "slots")->u64;
	assert_int_equal(level[0], pm_result_find(core, "width")->u64 *
				   pm_result_find(core, "cycles")->u64);
	assert_int_equal(level[1], level[0]);
	free(slow.v);
	pm_map_release(&slow.row);
}

static void whole_sink(struct pm_core_conf conf, const char *config, const char *caches,
		       const char *tlbs)
{
	const struct pm_core_conf *c = &conf;
	static const struct pm_sink_ops slow_ops = { .abi = PM_ABI, .needs = PM_HAS_INSNS,
		.name = "slow",
		.consume = slow_consume, .finish = slow_finish, .destroy = keep };
	static const char *const events[] = { "Ir", "Fm", "Lm", "Llm", "Bm", "Cbr", "Cfe", "Cme",
		"Cst", "Cco" };
	struct o_core_sink *o = o_core_sink_new(c, caches, tlbs);
	struct pm_result *r = pm_result_new();
	struct pm_pipeline *p = pm_pipeline_new();
	const struct pm_result_node *k;
	char name[4096], text[400];
	struct pm_costs costs = { 0 };
	struct pm_err err = { 0 };
	struct pm_source src;
	uint64_t sum = 0;
	void *self;

	snprintf(name, sizeof name, "%s/data/real.pug",
		 getenv("TESTS") ? getenv("TESTS") : "tests");
	snprintf(text, sizeof text, "%s;%s;topdown%s%s", config, caches, tlbs ? ";" : "",
		 tlbs ? tlbs : "");
	self = pm_sim_core.create(text, &err);
	if (!self)
		fail_msg("%s", err.msg);
	pm_pipeline_sink(p, &pm_sim_core, self);
	pm_pipeline_sink(p, &slow_ops, o);
	if (pm_trace_open(name, NULL, &src, NULL, &err) || pm_pipeline_run(p, &src, r, &err))
		fail_msg("%s", err.msg);
	k = pm_result_find(pm_result_root(r), "core");
	assert_non_null(k);
#define S(field, unit, about) if (strcmp(#field, "forwarded")) {		\
		uint64_t fast = pm_result_find(k, #field)->u64;			\
										\
		if (fast != o->st.field)					\
			fail_msg("%s: " #field " %llu, slow %llu", config,	\
				(unsigned long long)fast,			\
				 (unsigned long long)o->st.field);		\
	}
	PM_CORE_STATS(S)
#undef S
#define S(field, unit, about)							\
	if (tlbs) {								\
		assert_int_equal(pm_result_find(k, #field)->u64,		\
				 o->paging->st.field);			\
		assert_true(o->paging->st.field > 0);			\
	} else {								\
		assert_null(pm_result_find(k, #field));				\
	}
	PAGING_STATS(S)
#undef S
#define S(field, unit, about)							\
	if (conf.fdip)								\
		assert_int_equal(pm_result_find(k, #field)->u64, o->core->fdip.field);	\
	else									\
		assert_null(pm_result_find(k, #field));
	PM_CORE_FDIP_STATS(S)
#undef S
	pm_core_costs(self, &costs);
	for (size_t i = 0; i < costs.n; i++) {
		const struct o_row *row = o_row_of(o, costs.pc[i]);
		const uint64_t slow[] = { row->times, row->fetch_miss, row->load_miss, row->memory,
			row->wrong,
			row->stall[PM_CORE_BY_BRANCH], row->stall[PM_CORE_BY_FETCH],
			row->stall[PM_CORE_BY_MEMORY],
			row->stall[PM_CORE_BY_STORE], row->stall[PM_CORE_BY_CORE] };

		for (size_t e = 0; e < NR(events); e++) {
			uint64_t fast = costs.v[pm_costs_find(&costs, events[e])][i];

			if (fast != slow[e])
				fail_msg("%s: %s of 0x%llx: %llu, slow %llu", config, events[e],
					 (unsigned long long)row->pc, (unsigned long long)fast,
					 (unsigned long long)slow[e]);
			sum += fast;
		}
	}
	assert_true(sum > 100000 && o->st.mispredicted > 100);
	compare_sink_slots(o, &costs, k);
	compared += o->st.instructions;
	pm_costs_release(&costs);
	src.ops->close(src.self);
	pm_pipeline_free(p);
	pm_result_free(r);
	o_core_sink_free(o);
}

static void test_whole_sink(void **state)
{
	(void)state;
	static const char plain[] =
		"l1i=32k,8way,64;l1d=32k,8way,64;l2=256k,8way,64;l3=1m,16way,64",
		tiny[] = "l1i=4k,2way,64,prefetch=next;l1d=4k,4way,64,prefetch=stride,degree=2;"
			 "l2=64k,8way,64,prefetch=stream,degree=4";
	struct pm_core_conf c = pm_core_mid;

	whole_sink(pm_core_mid, "preset=mid", plain, NULL);
	whole_sink(pm_core_small, "preset=small", tiny, NULL);
	c.stlb = 9;
	c.walkers = 2;
	whole_sink(c, "preset=mid;stlblat=9;walkers=2", plain,
		   "itlb=4,full,4k;dtlb=8,2way,4k;stlb=16,4way,4k");
	c.stlb = 7;
	c.walkers = 4;
	whole_sink(c, "preset=mid", plain,
		   "itlb=2,full,4k;dtlb=2,full,4k;istlb=8,2way,4k;dstlb=8,4way,4k");
	c.stlb = 0;
	c.walkers = 1;
	whole_sink(c, "preset=mid;walkers=1", tiny, "itlb=1,full,2m;dtlb=2,full,2m");
	c = pm_core_mid;
	c.fdip = 24;
	c.blocks = 2;
	whole_sink(c, "preset=mid;fdip=24", plain, NULL);
	c = pm_core_small;
	c.fdip = 8;
	c.blocks = 1;
	whole_sink(c, "preset=small;fdip=8,1", tiny, NULL);
	c = pm_core_mid;
	c.regs = 24;
	whole_sink(c, "preset=mid;regs=24", plain, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_twin),
		cmocka_unit_test(test_long_wait),
		cmocka_unit_test(test_regs_by_hand),
		cmocka_unit_test(test_monotone),
		cmocka_unit_test(test_fdip_by_hand),
		cmocka_unit_test(test_decode),
		cmocka_unit_test(test_whole_sink),
	};
	int failed = cmocka_run_group_tests_name("core", tests, NULL, NULL);

	printf("compared %llu instructions\n", (unsigned long long)compared);
	return failed;
}
