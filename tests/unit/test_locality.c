/* SPDX-License-Identifier: MIT */
/* Calls, phases and memory: against twins that recount everything, and on cases with known
 * answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../oracle/random.h"
#include "analyse/calls.h"
#include "analyse/memory.h"
#include "analyse/phases.h"
#include "base/mem.h"

/* ---- calls ---------------------------------------------------------------------------------- */

#define FN(i) (0x1000u + (i) * 0x100u)
#define NFN 12

/* Two costs: of every other instruction, and of a branch. */
static bool weigh(void *self, const struct pm_batch *p, bool over, uint64_t *sum, uint64_t *late)
{
	*(size_t *)self += p->n;
	for (size_t i = 0; i < p->n; i++) {
		sum[0] += p->ev[i].kind == PM_EV_INSN && p->ev[i].addr & 8;
		sum[1] += p->ev[i].kind == PM_EV_BRANCH;
	}
	return false;
}

/* One more, that counts every instruction only when the next is seen. */
static bool weigh_late(void *self, const struct pm_batch *p, bool over, uint64_t *sum,
		       uint64_t *late)
{
	bool *before = self, any = false;
	uint64_t *to = late;

	for (size_t i = 0; i < p->n; i++) {
		if (p->ev[i].kind != PM_EV_INSN)
			continue;
		*to += *before;
		any |= to == late && *before;
		*before = true;
		to = sum;
	}
	return any;
}

static void compare_functions(struct pm_calls *c, const uint64_t self[NFN],
			      const uint64_t incl[NFN], const uint64_t calls[NFN])
{
	size_t m;
	const struct pm_function_count *f = pm_calls_functions(c, &m);

	assert_int_equal(m, NFN);
	for (size_t i = 0; i < m; i++) {
		unsigned id = (f[i].pc - 0x1000) / 0x100;

		assert_int_equal(f[i].self, self[id]);
		assert_int_equal(f[i].inclusive, incl[id]);
		assert_int_equal(f[i].calls, calls[id]);
	}
}

static void compare_loop(struct pm_calls *c, uint64_t back, uint64_t leave)
{
	size_t m;
	const struct pm_loop_count *l = pm_calls_loops(c, &m);

	assert_int_equal(m, 1);
	assert_int_equal(l->back, back);
	assert_int_equal(l->leave, leave);
}

static struct pm_event branch_of(unsigned flags, uint16_t size, uint64_t pc, uint64_t to)
{
	return (struct pm_event){ PM_EV_BRANCH, (uint8_t)flags, size, PM_NONE, pc, to };
}

/* Random calls, returns, recursion and loops; the twin walks the whole stack for every
 * instruction. */
static void test_calls(void **state)
{
	const size_t n = 200000;
	struct pm_event *ev = calloc(n, sizeof *ev);
	struct o_random r = o_random_init(4);
	struct pm_calls *c = pm_calls_new();
	unsigned stack[64], depth = 1;
	uint64_t ret[64], self[NFN] = { 0 }, incl[NFN] = { 0 }, calls[NFN] = { 0 },
	edges[NFN][NFN] = { 0 },
		back = 0, leave = 0, edge_incl[NFN][NFN] = { 0 },
		edge_cost[NFN][NFN][2] = { { { 0 } } };
	bool edge_last[NFN][NFN], before = false;
	size_t fed = 0;
	const struct pm_calls_meter meter = { 2, &fed, weigh }, late = { 1, &before, weigh_late };
	const struct pm_edge_count *e;
	size_t k = 0, m;

	(void)state;
	pm_calls_charge(c, &meter);
	pm_calls_charge(c, &late);
	stack[0] = 0;
	calls[0] = 1;
	while (k + 2 < n) {
		size_t began = k;
		unsigned now = stack[depth - 1], x = o_rnd(&r) % 16, to;
		bool seen[NFN] = { false }, edge_seen[NFN][NFN] = { { false } };

		ev[k] = (struct pm_event){
			PM_EV_INSN, 0, 4, PM_NONE, FN(now) + (k ? x * 4 : 0), 0
		};
		k++;
		self[now]++;
		for (unsigned d = 0; d < depth; d++) {
			incl[stack[d]] += !seen[stack[d]];
			seen[stack[d]] = true;
			if (d) {
				edge_incl[stack[d - 1]][stack[d]] += !edge_seen[stack[d - 1]]
									       [stack[d]];
				edge_seen[stack[d - 1]][stack[d]] = true;
			}
		}
		memcpy(edge_last, edge_seen, sizeof edge_last);
		if (x < 3 && depth < 64) {
			to = o_rnd(&r) % NFN;
			ev[k++] = branch_of(PM_BR_CALL | PM_BR_TAKEN, 4, FN(now) + x * 4, FN(to));
			ret[depth] = FN(now) + x * 4 + 4;
			stack[depth++] = to;
			calls[to]++;
			edges[now][to]++;
		} else if (x < 6 && depth > 1) {
			/* longjmp */
			unsigned pops = x == 5 && depth > 2 && o_rnd(&r) % 4 == 0 ? 2 : 1;

			depth -= pops;
			/* a return address that stands twice on the stack means the nearer one */
			while (pops == 2 && ret[depth] == ret[depth + 1]) {
				depth++;
				pops = 1;
			}
			ev[k++] = branch_of(PM_BR_RET | PM_BR_TAKEN, 1, FN(now) + x * 4,
					    ret[depth]);
		} else if (x == 7) {
			bool taken = o_rnd(&r) % 3;

			ev[k++] = branch_of(PM_BR_COND | (taken ? PM_BR_TAKEN : 0), 4, FN(3) + 28,
					    FN(3));
			back += taken;
			leave += !taken;
		}
		/* a call's own cost and a return's are those of where they were executed */
		for (unsigned a = 0; a < NFN; a++)
			for (unsigned b = 0; b < NFN; b++)
				if (edge_seen[a][b]) {
					edge_cost[a][b][0] += ev[began].addr >> 3 & 1;
					edge_cost[a][b][1] += k - began == 2;
				}
	}
	for (size_t i = 0; i < k; i += 777)
		pm_calls_batch(c,
			       &(struct pm_batch){ .ev = ev + i, .n = k - i < 777 ? k - i : 777 });
	pm_calls_end(c);
	compare_functions(c, self, incl, calls);
	e = pm_calls_edges(c, &m);
	for (size_t i = 0; i < m; i++) {
		unsigned a = (e[i].from - 0x1000) / 0x100, b = (e[i].to - 0x1000) / 0x100;

		assert_int_equal(e[i].calls, edges[a][b]);
		assert_int_equal(e[i].inclusive, edge_incl[a][b]);
		assert_memory_equal(pm_calls_edge_costs(c, e + i), edge_cost[a][b],
				    sizeof edge_cost[a][b]);
		assert_int_equal(pm_calls_edge_costs(c, e + i)[2],
				 edge_incl[a][b] - edge_last[a][b]);
	}
	assert_int_equal(fed, k);
	compare_loop(c, back, leave);
	pm_calls_free(c);
	free(ev);
}

#define INSN(pc) { PM_EV_INSN, 0, 4, PM_NONE, (pc), 0 }
#define ON_STACK(kind, addr) { (kind), PM_REF_STACK, 8, PM_NONE, (addr), 0 }
#define BRANCH(flags, pc, to) { PM_EV_BRANCH, (flags) | PM_BR_TAKEN, 4, PM_NONE, (pc), (to) }

/* FN(0) calls FN(1), that calls FN(2), which jumps back to FN(0), where calls end with the next one
 * that uses their part of the stack. A handler is a call of its own. */
static void left_by_jumps_and_signals(void **state)
{
	static const struct pm_event ev[] = {
		INSN(FN(0)), ON_STACK(PM_EV_WRITE, 0x7000), BRANCH(PM_BR_CALL, FN(0), FN(1)),
		INSN(FN(1)), ON_STACK(PM_EV_WRITE, 0x6ff0), BRANCH(PM_BR_CALL, FN(1), FN(2)),
		INSN(FN(2)), BRANCH(PM_BR_INDIRECT, FN(2), FN(0) + 0x40),
		INSN(FN(0) + 0x40), ON_STACK(PM_EV_WRITE, 0x7000),
		BRANCH(PM_BR_CALL, FN(0) + 0x40, FN(3)),
		INSN(FN(3)), ON_STACK(PM_EV_READ, 0x7000), BRANCH(PM_BR_RET, FN(3), FN(0) + 0x44),
		INSN(FN(0) + 0x44),
		{ PM_EV_SIGNAL, 0, 0, 0, 0, 0 }, INSN(FN(4)),
		{ PM_EV_SIGRETURN, 0, 0, PM_NONE, 0, 0 },
		INSN(FN(0) + 0x48),
	};
	static const uint64_t self[] = { 3, 1, 2, 1, 1 }, inclusive[] = { 8, 3, 2, 1, 1 };
	static const unsigned from[] = { 0, 1, 0, 0 }, to[] = { 1, 2, 3, 4 };
	const struct pm_rare rare = { .nargs = 1, .arg = { FN(4) } };
	const struct pm_batch b = { .ev = ev, .n = sizeof ev / sizeof *ev, .rare = &rare,
				    .nrare = 1 };
	struct pm_calls *c = pm_calls_new();
	const struct pm_function_count *f;
	const struct pm_edge_count *e;
	size_t n;

	(void)state;
	pm_calls_batch(c, &b);
	pm_calls_end(c);
	f = pm_calls_functions(c, &n);
	assert_int_equal(n, 5);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(f[i].pc, FN(i));
		assert_int_equal(f[i].calls, 1);
		assert_int_equal(f[i].self, self[i]);
		assert_int_equal(f[i].inclusive, inclusive[i]);
	}
	e = pm_calls_edges(c, &n);
	assert_int_equal(n, 4);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(e[i].from, FN(from[i]));
		assert_int_equal(e[i].to, FN(to[i]));
		assert_int_equal(e[i].inclusive, inclusive[to[i]]);
	}
	pm_calls_free(c);
}

/* ---- phases --------------------------------------------------------------------------------- */

static void test_clusters(void **state)
{
	enum { N = 300 };
	static double p[N][PM_PHASE_DIMS];
	uint64_t w[N];
	struct o_random r = o_random_init(8);
	struct pm_clusters c;
	double share = 0;

	(void)state;
	for (int i = 0; i < N; i++) {
		w[i] = 1000;
		for (int d = 0; d < PM_PHASE_DIMS; d++)
			p[i][d] = (i % 3 == 0 ? 0.5 : i % 3 == 1 ? -0.5 : d & 1 ? 0.4 : -0.4) +
				(double)(o_rnd(&r) % 1000) / 50000;
	}
	c = pm_cluster((const double (*)[PM_PHASE_DIMS])p, w, N, 8);
	assert_int_equal(c.k, 3);
	for (int i = 3; i < N; i++)
		assert_int_equal(c.of[i], c.of[i % 3]);
	assert_true(c.of[0] != c.of[1] && c.of[1] != c.of[2] && c.of[0] != c.of[2]);
	for (unsigned j = 0; j < c.k; j++) {
		assert_int_equal(c.of[c.best[j]], j);
		share += c.share[j];
	}
	assert_true(fabs(share - 1) < 1e-9);
	pm_clusters_release(&c);
	/* one point, and points that coincide */
	c = pm_cluster((const double (*)[PM_PHASE_DIMS])p, w, 1, 8);
	assert_int_equal(c.k, 1);
	pm_clusters_release(&c);
	for (int i = 1; i < N; i++)
		memcpy(p[i], p[0], sizeof p[0]);
	c = pm_cluster((const double (*)[PM_PHASE_DIMS])p, w, N, 8);
	assert_int_equal(c.k, 1);
	pm_clusters_release(&c);
	c = pm_cluster(NULL, NULL, 0, 8);
	assert_int_equal(c.k, 0);
	pm_clusters_release(&c);
}

/* ---- memory --------------------------------------------------------------------------------- */

static void test_memory(void **state)
{
	const size_t n = 300000;
	struct pm_event *ev = calloc(n, sizeof *ev);
	struct o_random r = o_random_init(12);
	struct pm_memory *m = pm_memory_new(4096, 64);
	const struct pm_page_heat *pg;
	size_t k;

	(void)state;
	for (size_t i = 0; i < n; i++)
		ev[i] = o_random_ref(&r, 300000);
	for (size_t i = 0; i < n; i += 1000)
		pm_memory_batch(m, &(struct pm_batch){ .ev = ev + i, .n = 1000 });
	pg = pm_memory_pages(m, &k);
	for (size_t p = 0; p < k; p++) {
		uint64_t f = 0, rd = 0, wr = 0, slice[PM_HEAT_SLICES] = { 0 };

		for (size_t i = 0; i < n; i++) {
			if (ev[i].addr / 4096 * 4096 != pg[p].page)
				continue;
			f += ev[i].kind == PM_EV_INSN;
			rd += ev[i].kind == PM_EV_READ || ev[i].kind == PM_EV_MODIFY;
			wr += ev[i].kind == PM_EV_WRITE || ev[i].kind == PM_EV_MODIFY;
			slice[i / pm_memory_slice(m)]++;
		}
		assert_int_equal(pg[p].fetches, f);
		assert_int_equal(pg[p].reads, rd);
		assert_int_equal(pg[p].writes, wr);
		for (int s = 0; s < PM_HEAT_SLICES; s++)
			assert_int_equal(pg[p].slice[s], slice[s]);
	}
	pm_memory_free(m);
	free(ev);
}

static void test_strides_and_sharing(void **state)
{
	const struct pm_stream one = { .index = 0 }, two = { .index = 1 };
	struct pm_memory *m = pm_memory_new(4096, 64);
	const struct pm_stride *s;
	const struct pm_shared_line *l;
	size_t n;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		const struct pm_event a[] = {
			{ PM_EV_INSN, 0, 4, PM_NONE, 0x400000, 0 },
			{ PM_EV_READ, 0, 8, PM_NONE, 0x10000 + i * 24, 0 },	/* stride 24 */
			{ PM_EV_INSN, 0, 4, PM_NONE, 0x400004, 0 },
			{ PM_EV_WRITE, 0, 8, PM_NONE, 0x900000, 0 },	/* false sharing */
			{ PM_EV_INSN, 0, 4, PM_NONE, 0x400008, 0 },
			{ PM_EV_WRITE, 0, 8, PM_NONE, 0x900040, 0 },	/* true sharing */
		}, b[] = {
			{ PM_EV_INSN, 0, 4, PM_NONE, 0x40000c, 0 },
			{ PM_EV_WRITE, 0, 8, PM_NONE, 0x900008, 0 },
			{ PM_EV_INSN, 0, 4, PM_NONE, 0x400010, 0 },
			{ PM_EV_READ, 0, 4, PM_NONE, 0x900044, 0 },
			{ PM_EV_INSN, 0, 4, PM_NONE, 0x400014, 0 },
			{ PM_EV_READ, 0, 4, PM_NONE, 0x900080, 0 },	/* read only */
		};

		pm_memory_batch(m, &(struct pm_batch){ .stream = &one, .ev = a, .n = NR(a) });
		pm_memory_batch(m, &(struct pm_batch){ .stream = &two, .ev = b, .n = NR(b) });
		pm_memory_batch(m, &(struct pm_batch){ .stream = &one, .ev = b + 4, .n = 2 });
	}
	s = pm_memory_strides(m, &n);
	assert_int_equal(s[0].pc, 0x400000);
	assert_int_equal(s[0].stride[0], 24);
	assert_int_equal(s[0].count[0], 999);
	assert_int_equal(s[1].stride[0], 0);
	l = pm_memory_lines(m, &n);
	for (size_t i = 0; i < n; i++)
		if (l[i].line == 0x900000) {
			assert_true(pm_line_shared(l + i) && pm_line_falsely(l + i));
			assert_int_equal(l[i].transfers, 1999);
		} else if (l[i].line == 0x900040) {
			assert_true(pm_line_shared(l + i) && !pm_line_falsely(l + i));
			assert_int_equal(l[i].transfers, 1999);
		} else {
			assert_true(!pm_line_shared(l + i) && !l[i].transfers);
		}
	pm_memory_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(left_by_jumps_and_signals),
		cmocka_unit_test(test_clusters),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_strides_and_sharing),
	};

	return cmocka_run_group_tests_name("locality", tests, NULL, NULL);
}
