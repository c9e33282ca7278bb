/* SPDX-License-Identifier: MIT */
/* The i486 model against its cycle-by-cycle twin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../oracle/i486_slow.h"
#include "../oracle/random.h"
#include "base/mem.h"
#include "real_trace.h"

static uint64_t compared;

static void check(const struct pm_i486_conf *c, uint64_t seed, size_t n, uint64_t span)
{
	struct pm_i486 *m = pm_i486_new(c);
	struct o_i486 o = { .c = *c };
	struct o_random r = o_random_init(seed);
	const struct pm_i486_stats *a;
	struct pm_event *real = seed ? NULL : real_events(n, &n);

	o.set = calloc(c->size / c->line / c->ways, sizeof *o.set);
	for (size_t i = 0; i < n; i++) {
		struct pm_event e = real ? real[i] : o_random_ref(&r, span);
		unsigned own = 1 + o_rnd(&r) % 3 * (o_rnd(&r) % 8 == 0 ? 10 : 1),
			 more = o_rnd(&r) % 6 == 0 ? 2 : 0;

		if (e.kind == PM_EV_INSN) {
			pm_i486_insn(m, e.addr, e.size, own);
			o_i486_insn(&o, e.addr, e.size, own);
			pm_i486_more(m, more);
			o.own += more;
		}
		if (e.kind == PM_EV_READ || e.kind == PM_EV_MODIFY) {
			pm_i486_read(m, e.addr, e.size);
			o_i486_read(&o, e.addr, e.size);
		}
		if (e.kind == PM_EV_WRITE || e.kind == PM_EV_MODIFY) {
			pm_i486_write(m, e.addr, e.size);
			o_i486_write(&o, e.addr, e.size);
		}
	}
	a = pm_i486_end(m);
	o_i486_end_insn(&o);
	o.st.cycles = o.now;
#define S(field, unit, about)								\
	if (a->field != o.st.field)							\
		fail_msg("line %u ways %u wbuf %u: %s is %llu, slow %llu", c->line,	\
			c->ways, c->wbuf,						\
			 #field, (unsigned long long)a->field, (unsigned long long)o.st.field);
	PM_I486_STATS(S)
#undef S
	compared += n;
	free(real);
	for (uint64_t s = 0; s < c->size / c->line / c->ways; s++)
		free(o.set[s].v);
	free(o.set);
	pm_i486_free(m);
}

static void test_twin(void **state)
{
	static const struct pm_i486_conf c[] = {
		{ 8192, 16, 4, 4, 50000 }, { 8192, 8, 4, 4, 50000 }, { 8192, 32, 4, 4, 1000 },
		{ 8192, 64, 4, 4, 0 }, { 8192, 16, 8, 4, 777 }, { 8192, 16, 1, 4, 0 },
		{ 8192, 16, 4, 2, 0 }, { 1024, 4, 2, 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < NR(c); i++) {
		check(c + i, i + 1, 100000, 8000);
		check(c + i, i + 50, 100000, 80000);
		check(c + i, 0, 200000, 0);		/* a real program */
	}
}

/* By hand: a miss takes 2 + 3 cycles. An instruction of one cycle leaves no time to prefetch, one
 * of five does; the next line is there then. */
static void test_by_hand(void **state)
{
	const struct pm_i486_conf c = { 8192, 16, 4, 4, 0 };
	struct pm_i486 *m = pm_i486_new(&c);
	const struct pm_i486_stats *st;

	(void)state;
	pm_i486_insn(m, 0x1000, 15, 1);		/* 0: miss, until 5; done at 6 */
	pm_i486_insn(m, 0x100f, 2, 5);		/* 6: second line missing until 11 */
	pm_i486_read(m, 0x2000, 4);		/* at 11: miss, until 16; done at 21, prefetch */
	pm_i486_insn(m, 0x1020, 1, 1);		/* 21: it is there; done at 22 */
	st = pm_i486_end(m);
	assert_int_equal(st->cycles, 22);
	assert_int_equal(st->instr_misses, 2);
	assert_int_equal(st->memory_prefetches, 1);
	assert_int_equal(st->read_misses, 1);
	assert_int_equal(st->stall, 15);
	pm_i486_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_twin),
	};
	int failed = cmocka_run_group_tests_name("i486", tests, NULL, NULL);

	printf("compared %llu references\n", (unsigned long long)compared);
	return failed;
}
