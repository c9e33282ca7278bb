/* SPDX-License-Identifier: MIT */
/* test_idle.c - the idle filter and the warm-up on traces of small programs: what waits is left
 * out, what works stays */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "collect/machine/idle.h"
#include "collect/machine/machine.h"
#include "collect/machine/tracer.h"

#define CODE	0x1000u
#define FLAG	0x8000u

/* Everything that comes out, as addresses of instructions. */
struct seen {
	uint64_t *pc;
	size_t n, cap, events;
	uint64_t first_switch;		/* index among the instructions, UINT64_MAX: none */
};

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct seen *s = self;

	(void)err;
	for (size_t i = 0; i < b->n; i++) {
		if (b->ev[i].kind == PM_EV_SWITCH && s->first_switch == UINT64_MAX)
			s->first_switch = s->n;
		if (b->ev[i].kind != PM_EV_INSN)
			continue;
		pm_grow(s->pc, s->n, s->cap);
		s->pc[s->n++] = b->ev[i].addr;
	}
	s->events += b->n;
	return PM_OK;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	(void)self;
	(void)r;
	(void)err;
	return PM_OK;
}

static void destroy(void *self)
{
	(void)self;
}

static const struct pm_sink_ops sink = {
	.abi = PM_ABI, .name = "seen", .consume = consume, .finish = finish, .destroy = destroy,
};

/* Run @code for @ticks; after @wake of them the word at FLAG becomes 1. */
static struct idle_counts run(const uint32_t *code, size_t words, struct idle_config cfg,
			      unsigned ticks, unsigned wake, struct seen *s)
{
	struct machine_config mc = { .cpu = { .iline = 32, .dline = 32,
		.big_endian = cfg.big_endian }, .ram_size = 1 << 20 };
	struct pm_err err = { 0 };
	struct machine *m = machine_new(&mc, &err);
	struct pm_pipeline *p = pm_pipeline_new();
	struct idle_counts n;
	void *self = idle_new(&cfg);

	memset(s, 0, sizeof *s);
	s->first_switch = UINT64_MAX;
	for (size_t i = 0; i < words; i++)
		for (unsigned k = 0; k < 4; k++)
			m->ram[CODE + 4 * i + k] = (uint8_t)(code[i] >>
							     8 * (cfg.big_endian ? 3 - k : k));
	m->cpu->status = ST_CU0;
	m->cpu->pc = 0xffffffff80000000ULL + CODE;
	m->cpu->c0[C0_CONFIG] = (m->cpu->c0[C0_CONFIG] & ~7ULL) | 3;
	m->cpu->gpr[9] = 0xffffffffa0000000ULL + FLAG;		/* $9: the flag, uncached */
	m->cpu->gpr[10] = 0xffffffff80000000ULL + FLAG + 64;	/* $10: memory */
	cpu_sync(m->cpu);
	pm_pipeline_transform(p, &idle_ops, self);
	pm_pipeline_sink(p, &sink, s);
	assert_int_equal(pm_pipeline_start(p, TRACER_FACTS, "test", &err), PM_OK);
	m->tracer = tracer_new(p, m->cpu, &(struct tracer_config){ 0 });
	machine_step(m, wake);
	m->ram[FLAG + (cfg.big_endian ? 3 : 0)] = 1;
	machine_step(m, ticks - wake);
	assert_int_equal(tracer_finish(m->tracer, m->cpu, &err), PM_OK);
	assert_int_equal(pm_pipeline_finish(p, NULL, &err), PM_OK);
	n = *idle_counts(self);
	pm_pipeline_free(p);
	tracer_free(m->tracer);
	machine_free(m);
	return n;
}

static const uint32_t spin[] = {	/* a few instructions, a spin for the flag, a counting
					 * loop, a storing loop */
	0x24080003,			/* li $8, 3 */
	0x00000000,
	0x8d280000,			/* 1: lw $8, 0($9) */
	0x00000000,
	0x1100fffd,			/* beqz $8, 1b */
	0x00000000,
	0x24080020,			/* li $8, 32 */
	0x2508ffff,			/* 2: addiu $8, $8, -1 */
	0x1500fffe,			/* bnez $8, 2b */
	0x00000000,
	0xad490000,			/* 3: sw $9, 0($10) */
	0x1000fffe,			/* b 3b */
	0x00000000,
};

static void test_filter(void **state)
{
	(void)state;
	for (unsigned be = 0; be < 2; be++) {
		struct idle_config keep = { .big_endian = be, .keep = true },
		drop = { .big_endian = be };
		struct seen all, some;
		struct idle_counts a = run(spin, 13, keep, 5000, 3000, &all),
				   b = run(spin, 13, drop, 5000, 3000, &some);
		size_t k = 0;

		assert_int_equal(a.total, 5000);
		assert_int_equal(all.n, 5000);
		assert_memory_equal(&a, &b, sizeof a);
		/* of some 750 iterations of 4 instructions all but the first ones and the last are
		 * idle */
		assert_in_range(a.idle, 2980, 2998);
		assert_int_equal(a.idle % 4, 0);
		assert_int_equal(some.n, 5000 - a.idle);
		/* what is left is a subsequence, whole behind the spin: counting and storing are no
		 * waiting */
		for (size_t i = 0; i < all.n && k < some.n; i++)
			k += all.pc[i] == some.pc[k];
		assert_int_equal(k, some.n);
		assert_memory_equal(all.pc + 3010, some.pc + some.n - (all.n - 3010),
				    (all.n - 3010) * sizeof *all.pc);
		free(all.pc);
		free(some.pc);
	}
}

static void test_warmup(void **state)
{
	struct idle_config keep = { .keep = true }, cut = { .keep = true, .warmup = 1234 };
	struct seen all, some;

	(void)state;
	run(spin, 13, keep, 4000, 3000, &all);
	run(spin, 13, cut, 4000, 3000, &some);
	assert_int_equal(some.n, all.n - 1234);
	assert_memory_equal(some.pc, all.pc + 1234, some.n * sizeof *some.pc);
	assert_int_equal(some.first_switch, 0);		/* which address space it is in, the rest
							 * knows too */
	free(all.pc);
	free(some.pc);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_filter),
		cmocka_unit_test(test_warmup) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
