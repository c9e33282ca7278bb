/* SPDX-License-Identifier: MIT */
/* The course's pipelines against their slow twins, on random micro-ops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../oracle/course_slow.h"
#include "../oracle/random.h"
#include "base/mem.h"

static uint64_t compared;

static struct pm_uop *make_uops(uint64_t seed, size_t n)
{
	struct pm_uop *u = calloc(n, sizeof *u);
	struct o_random r = o_random_init(seed);

	for (size_t i = 0; i < n; i++) {
		uint64_t x = o_rnd(&r);

		u[i] = (struct pm_uop){ .pc = 0x400000 + i % 5000 * 4,
					.index = 1 + (x & 3) / 3,
					.src1 = -1,
					.src2 = -1,
					.dest = -1 };
		u[i].src1 = x >> 8 & 1 ? (int)(x >> 16) % 16 & 15 : -1;
		u[i].src2 = x >> 9 & 1 ? (int)(x >> 20 & 15) : -1;
		u[i].dest = x >> 10 & 3 ? (int)(x >> 24 & 15) : -1;
		switch (x >> 40 & 7) {
		case 0:
		case 1:
			u[i].access = PM_UOP_LOAD;
			u[i].mem = 0x1000 + (x >> 48 & 31) * 8;
			break;
		case 2:
			u[i].access = PM_UOP_STORE;
			u[i].mem = 0x1000 + (x >> 48 & 31) * 8;
			u[i].dest = -1;
			break;
		case 3:
			u[i].flag_use = PM_UOP_WRITES_FLAGS;
			break;
		case 4:
			u[i].flag_use = PM_UOP_READS_FLAGS;
			u[i].outcome = x >> 50 & 1 ? PM_UOP_TAKEN : PM_UOP_NOT_TAKEN;
			u[i].target = 0x400100;
			u[i].dest = -1;
			break;
		}
		if ((x >> 52) % 20 == 0 && u[i].access == PM_UOP_NO_ACCESS &&
		    u[i].flag_use == PM_UOP_NO_FLAGS) {
			u[i].outcome = PM_UOP_TAKEN;
			u[i].target = 0x400200;
		}
	}
	return u;
}

static void test_inorder(void **state)
{
	const size_t n = 60000;

	(void)state;
	for (unsigned width = 1; width <= 8; width *= 2)
		for (unsigned latency = 1; latency <= 9; latency += 2) {
			struct pm_uop *u = make_uops(width * 16 + latency, n);
			struct pm_inorder p;

			pm_inorder_init(&p, latency, width);
			for (size_t i = 0, k = 1; i < n; i += k, k = k * 5 % 4001) {
				k = k > n - i ? n - i : k;
				pm_inorder_run(&p, u + i, k);
			}
			assert_int_equal(pm_inorder_cycles(&p),
					 o_inorder_cycles(u, n, latency, width));
			compared += n;
			free(u);
		}
}

struct seen {
	const struct o_op *op;
	size_t i;
	const bool *wrong, *miss;
	const struct pm_uop *u;
	size_t next_branch;
};

static bool mispredict(void *to, const struct pm_uop *u)
{
	struct seen *s = to;

	/* asked in program order, once per conditional branch */
	while (!(s->u[s->next_branch].target &&
		 s->u[s->next_branch].flag_use == PM_UOP_READS_FLAGS))
		s->next_branch++;
	return s->wrong[s->next_branch++];
}

static bool miss_by_address(uint64_t mem, uint64_t pc)
{
	return (mem * 7 + pc / 4) % 11 == 0;
}

static bool miss(void *to, const struct pm_uop *u)
{
	(void)to;
	return miss_by_address(u->mem, u->pc);
}

static void committed(void *to, const struct pm_uop *u, const uint64_t cycle[4],
		      const int map[5][2], const int freed[2])
{
	struct seen *s = to;

	(void)map;
	(void)freed;
	if (memcmp(cycle, s->op[s->i].at, 4 * sizeof *cycle))
		fail_msg("micro-op %zu: %d %d %d %d, slow %d %d %d %d", s->i, (int)cycle[0],
			 (int)cycle[1], (int)cycle[2], (int)cycle[3], (int)s->op[s->i].at[0],
			 (int)s->op[s->i].at[1], (int)s->op[s->i].at[2], (int)s->op[s->i].at[3]);
	assert_int_equal(u->pc, s->u[s->i].pc);
	s->i++;
}

static void test_ooo(void **state)
{
	static const struct pm_ooo_conf confs[] = {
		{ 1, 1, 4, 7, 3, PM_OOO_PERFECT }, { 1, 16, 4, 7, 3, PM_OOO_IGNORE },
		{ 4, 32, 4, 7, 3, PM_OOO_CONSERVATIVE }, { 8, 128, 4, 7, 3, PM_OOO_PERFECT },
		{ 2, 7, 1, 0, 0, PM_OOO_PERFECT }, { 8, 200, 10, 50, 20, PM_OOO_CONSERVATIVE },
		{ 16, 256, 4, 7, 3, PM_OOO_IGNORE },
	};
	const size_t n = 20000;

	(void)state;
	for (size_t k = 0; k < NR(confs); k++) {
		struct pm_uop *u = make_uops(k + 100, n);
		bool *wrong = calloc(n, 1), *misses = calloc(n, 1);
		struct pm_ooo *o = pm_ooo_from(confs + k);
		struct o_op *op;
		struct seen s = { .u = u, .wrong = wrong };
		struct pm_ooo_hooks h = { mispredict, miss, &s, committed };
		uint64_t slow;

		for (size_t i = 0; i < n; i++) {
			wrong[i] = i * 2654435761u % 9 == 0;
			misses[i] = miss_by_address(u[i].mem, u[i].pc);
		}
		slow = o_ooo_cycles(u, n, confs + k, wrong, misses, &op);
		s.op = op;
		pm_ooo_hooks(o, &h);
		for (size_t i = 0, m = 1; i < n; i += m, m = m * 5 % 4001) {
			m = m > n - i ? n - i : m;
			pm_ooo_run(o, u + i, m);
		}
		pm_ooo_end(o);
		assert_int_equal(s.i, n);
		assert_int_equal(pm_ooo_stats(o)->cycles, slow);
		compared += n;
		pm_ooo_free(o);
		free(op);
		free(wrong);
		free(misses);
		free(u);
	}
}

/* A larger window is never slower by more than 1 %. */
static void test_window(void **state)
{
	const size_t n = 30000;
	struct pm_uop *u = make_uops(77, n);
	uint64_t last = UINT64_MAX;

	(void)state;
	for (unsigned rob = 8; rob <= 512; rob *= 2) {
		struct pm_ooo_conf c = { 4, rob, 4, 7, 3, PM_OOO_PERFECT };
		struct pm_ooo *o = pm_ooo_from(&c);

		pm_ooo_run(o, u, n);
		pm_ooo_end(o);
		assert_true(last == UINT64_MAX || pm_ooo_stats(o)->cycles <= last + last / 100);
		last = pm_ooo_stats(o)->cycles;
		pm_ooo_free(o);
	}
	free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inorder),
		cmocka_unit_test(test_ooo),
		cmocka_unit_test(test_window),
	};
	int failed = cmocka_run_group_tests_name("course", tests, NULL, NULL);

	printf("compared %llu micro-ops\n", (unsigned long long)compared);
	return failed;
}
