/* SPDX-License-Identifier: MIT */
/* Branch predictors against their slow twins, branch by branch; and their ranking. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../oracle/bpred_slow.h"
#include "../oracle/branches.h"
#include "base/mem.h"
#include "real_trace.h"

static size_t nbranches(size_t n)
{
	const char *s = getenv("PM_REFS");

	return s ? strtoull(s, NULL, 0) : n;
}

static uint64_t compared;

/* Seed 0: those of a real program. */
static size_t branches(struct pm_br *b, size_t n, uint64_t seed)
{
	return seed ? o_branches(b, n, seed) : real_branches(b, n);
}


/* Run @name over @b in uneven pieces; 1 where it was wrong. */
static uint8_t *fast4(const char *name, const uint64_t v[4], const struct pm_br *b, size_t n)
{
	const struct pm_bp_ops *ops = pm_bp_find(name);
	struct pm_bp_args a = { { v[0], v[1], v[2], v[3] }, 4 };
	uint8_t *miss = malloc(n);
	void *p = ops->create(&a);

	for (size_t i = 0, k = 1; i < n; i += k, k = k * 3 % 4999) {
		k = k > n - i ? n - i : k;
		ops->run(p, b + i, k, miss + i);
	}
	ops->destroy(p);
	return miss;
}

static uint8_t *fast(const char *name, uint64_t a0, uint64_t a1, const struct pm_br *b, size_t n)
{
	return fast4(name, (const uint64_t []){ a0, a1, 0, 0 }, b, n);
}

static void same(const char *what, const uint8_t *miss, size_t i, bool wrong)
{
	if (miss[i] != wrong)
		fail_msg("%s: branch %zu is %s, its twin says otherwise", what, i,
			 miss[i] ? "missed" : "hit");
	compared++;
}

static void test_course_on(uint64_t seed)
{
	static const struct { const char *name; char which; unsigned k, h, kb, kc; } p[] = {
		{ "bimodal", 'b', 5, 0 }, { "bimodal", 'b', 14, 0 }, { "gshare", 'g', 4, 4 },
		{ "gshare", 'g', 12, 9 }, { "gshare", 'g', 10, 20 }, { "tournament", 't', 3, 3 },
		{ "tournament", 't', 12, 10 }, { "tournament", 't', 4, 4, 3, 3 },
		{ "tournament", 't', 6, 9, 11, 2 },
	};
	size_t n = nbranches(200000);
	struct pm_br *b = malloc(n * sizeof *b);

	n = branches(b, n, seed);
	for (size_t i = 0; i < NR(p); i++) {
		const uint64_t v[4] = { p[i].k, p[i].h, p[i].kb, p[i].kc };
		uint8_t *miss = fast4(p[i].name, v, b, n);
		struct o_course *o = o_course_new(p[i].k, p[i].h, p[i].kb, p[i].kc);

		for (size_t j = 0; j < n; j++) {
			bool taken = b[j].flags & PM_BR_TAKEN;

			same(p[i].name, miss, j, b[j].flags & PM_BR_COND &&
			     o_course_branch(o, p[i].which, b[j].pc, taken) != taken);
		}
		o_course_free(o);
		free(miss);
	}
	free(b);
}

/* The 1994 report's table; local histories and perceptron as plain integers. */
static void test_simple_on(uint64_t seed)
{
	size_t n = nbranches(200000);
	struct pm_br *b = malloc(n * sizeof *b);
	uint8_t *idt, *local, *perc, *ras, *btb;
	static int counter[1024], pattern[1 << 9], weight[64][20];
	static unsigned hist[128];
	int past[20] = { 0 };
	uint64_t stack[8] = { 0 };
	int depth = 0;
	struct { uint64_t pc, target, used; } e[16][4];

	memset(counter, 0, sizeof counter);
	memset(pattern, 0, sizeof pattern);
	memset(weight, 0, sizeof weight);
	memset(hist, 0, sizeof hist);
	memset(e, 0, sizeof e);
	n = branches(b, n, seed);
	idt = fast("idtrace", 10, 0, b, n);
	local = fast("local", 7, 9, b, n);
	perc = fast("perceptron", 6, 19, b, n);
	ras = fast("ras", 8, 0, b, n);
	btb = fast("btb", 64, 4, b, n);
	for (size_t i = 0; i < n; i++) {
		bool taken = b[i].flags & PM_BR_TAKEN, cond = b[i].flags & PM_BR_COND;
		unsigned l = b[i].pc % 128, row = b[i].pc % 64;
		int *c = counter + b[i].pc % 1024, sum, set, w, old;

		same("idtrace", idt, i, cond && (*c >= 0) != taken);
		same("local", local, i, cond && (pattern[hist[l]] >= 2) != taken);
		sum = weight[row][0];
		for (int k = 0; k < 19; k++)
			sum += past[k] ? weight[row][k + 1] : -weight[row][k + 1];
		same("perceptron", perc, i, cond && (sum >= 0) != taken);
		if (cond) {
			*c += taken ? 1 : -1;
			*c = *c > 1 ? 1 : *c < -1 ? -1 : *c;
			pattern[hist[l]] = o_bump(pattern[hist[l]], taken, 0, 3);
			hist[l] = (hist[l] * 2 + taken) % 512;
			if ((sum >= 0) != taken || abs(sum) <= (int)(1.93 * 19 + 14))
				for (int k = 0; k < 20; k++)
					weight[row][k] = o_bump(weight[row][k],
								(k ? past[k - 1] : 1) == taken,
								-128, 127);
			memmove(past + 1, past, 18 * sizeof *past);
			past[0] = taken;
		}
		/* return stack: a full one forgets its oldest */
		if (b[i].flags & PM_BR_CALL) {
			if (depth == 8)
				memmove(stack, stack + 1, 7 * sizeof *stack), depth--;
			stack[depth++] = b[i].pc + b[i].size;
			same("ras", ras, i, false);
		} else if (b[i].flags & PM_BR_RET) {
			same("ras", ras, i, !depth || stack[depth - 1] != b[i].target);
			depth -= depth > 0;
		}
		if (!taken) {
			same("btb", btb, i, false);
			continue;
		}
		set = (b[i].pc ^ b[i].pc / 4096) % 16;
		for (w = 3; w >= 0 && e[set][w].pc != b[i].pc; w--)
			;
		same("btb", btb, i, w < 0 || e[set][w].target != b[i].target);
		for (old = 0; w < 0 && old < 4; old++)
			if (e[set][old].used <= e[set][0].used &&
			    e[set][old].used <= e[set][1].used &&
			    e[set][old].used <= e[set][2].used &&
			    e[set][old].used <= e[set][3].used)
				w = old;
		e[set][w].pc = b[i].pc;
		e[set][w].target = b[i].target;
		e[set][w].used = i + 1;
	}
	free(idt);
	free(local);
	free(perc);
	free(ras);
	free(btb);
	free(b);
}

static void test_tage_on(uint64_t seed)
{
	size_t n = nbranches(60000);
	struct pm_br *b = malloc(n * sizeof *b);
	struct o_tage *o[2] = { o_tage_new(), o_tage_new() };
	struct o_ittage *it = calloc(1, sizeof *it);
	uint8_t *miss[3];

	n = branches(b, n, seed);
	miss[0] = fast("tage", 0, 0, b, n);
	miss[1] = fast("tagescl", 0, 0, b, n);
	miss[2] = fast("ittage", 0, 0, b, n);
	for (size_t i = 0; i < n; i++) {
		bool taken = b[i].flags & PM_BR_TAKEN, cond = b[i].flags & PM_BR_COND;

		for (int k = 0; k < 2; k++)
			same(k ? "tagescl" : "tage", miss[k], i,
			     o_tage_branch(o[k], b + i, k) != taken && cond);
		same("ittage", miss[2], i, !o_ittage_branch(it, b + i));
	}
	for (int k = 0; k < 2; k++)
		o_tage_free(o[k]);
	free(it->h.v);
	free(it->path.v);
	free(it);
	for (int k = 0; k < 3; k++)
		free(miss[k]);
	free(b);
}

static size_t count(const char *name, uint64_t a0, uint64_t a1, const struct pm_br *b, size_t n)
{
	uint8_t *miss = fast(name, a0, a1, b, n);
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += miss[i];
	free(miss);
	return sum;
}

/* More branches than the corrector has counters: 1500 functions in random order, each with eleven
 * branches that always go the same way and one that goes as the two outcomes before it say. */
static size_t many_branches(struct pm_br *b, size_t n)
{
	struct o_random r = o_random_init(11);
	bool last[2] = { false };
	size_t k = 0;

	while (k + 12 <= n) {
		uint64_t f = o_rnd(&r) % 1500;
		struct o_random fixed = o_random_init(f + 1);

		for (unsigned j = 0; j < 12; j++, k++) {
			uint64_t pc = 0x400000 + f * 0x170 + j * 23;
			bool taken = j == 5 ? last[0] != last[1] : o_rnd(&fixed) >> 20 & 1;

			if (j == 3)
				taken = o_rnd(&r) >> 20 & 1;
			b[k] = (struct pm_br){ pc, pc + 40, PM_BR_COND | (taken ? PM_BR_TAKEN : 0),
					       2 };
			last[1] = last[0];
			last[0] = taken;
		}
	}
	return k;
}

/* Better predictors are better, at no more bits: 2^18 counters of gshare are 64 KB. */
static void test_ranking(void **state)
{
	size_t n = 400000, bimodal, gshare, tage, scl;
	const struct pm_bp_ops *ops = pm_bp_find("tagescl");
	struct pm_br *b = malloc(n * sizeof *b);
	struct pm_bp_args a = { .n = 0 };
	void *p = ops->create(&a);

	(void)state;
	assert_true(ops->bits(p) <= 64 * 1024 * 8);
	ops->destroy(p);
	n = o_branches(b, n, 6);
	bimodal = count("bimodal", 18, 0, b, n);
	gshare = count("gshare", 18, 18, b, n);
	tage = count("tage", 0, 0, b, n);
	scl = count("tagescl", 0, 0, b, n);
	print_message("bimodal %zu gshare %zu tage %zu tagescl %zu of %zu\n", bimodal, gshare, tage,
		      scl, n);
	assert_true(tage < gshare && tage < bimodal && scl < tage);
	n = many_branches(b, 400000);
	gshare = count("gshare", 18, 18, b, n);
	tage = count("tage", 0, 0, b, n);
	scl = count("tagescl", 0, 0, b, n);
	print_message("many: gshare %zu tage %zu tagescl %zu of %zu\n", gshare, tage, scl, n);
	assert_true(scl <= tage * 1.05 && scl <= gshare * 0.75);
	free(b);
}

static void test_course(void **state)
{
	(void)state;
	test_course_on(3);
	test_course_on(0);
}

static void test_simple(void **state)
{
	(void)state;
	test_simple_on(4);
	test_simple_on(0);
}

static void test_tage(void **state)
{
	(void)state;
	test_tage_on(5);
	test_tage_on(0);
	tage_no_512 = true;
	test_tage_on(7);
	tage_plain = true;
	test_tage_on(6);
	tage_plain = tage_no_512 = false;
}

static void test_concentration(void **state)
{
	struct pm_branch_stat v[] = { { 1, 5, 0, 3 }, { 2, 80, 0, 0 }, { 3, 15, 0, 7 } };

	(void)state;
	assert_int_equal(pm_branch_concentration(v, 3, 0, 0.8), 1);
	assert_int_equal(pm_branch_concentration(v, 3, 0, 0.9), 2);
	assert_int_equal(pm_branch_concentration(v, 3, 0, 1.0), 3);
	assert_int_equal(pm_branch_concentration(v, 3, 1, 0.7), 1);
	assert_int_equal(pm_branch_concentration(v, 3, 1, 0.9), 2);
	assert_int_equal(pm_branch_concentration(v, 0, 1, 0.9), 0);
}

static void test_errors(void **state)
{
	static const struct { const char *config, *says; } bad[] = {
		{ "magic", "'magic' is not a predictor; allowed: taken, nottaken" },
		{ "gshare=99", "outside 1..24" },
		{ "gshare=10,10,10", "one number too many" },
		{ "bimodal=k=3", "is not a number" },
		{ "btb=100,3", "do not make a power of two" },
		{ "tagescl;debug=-", "debug shows idtrace, bimodal, gshare and tournament" },
		{ "top=3", "no predictor is given" },
		{ "gshare=ten", "'ten' is not a number" },
	};

	(void)state;
	for (size_t i = 0; i < NR(bad); i++) {
		struct pm_err err = { 0 };

		if (pm_sim_bpred.create(bad[i].config, &err))
			fail_msg("'%s' was accepted", bad[i].config);
		if (!strstr(err.msg, bad[i].says))
			fail_msg("'%s' says '%s', not '%s'", bad[i].config, err.msg, bad[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_course),
		cmocka_unit_test(test_simple),
		cmocka_unit_test(test_tage),
		cmocka_unit_test(test_ranking),
		cmocka_unit_test(test_concentration),
		cmocka_unit_test(test_errors),
	};
	int failed = cmocka_run_group_tests_name("bpred", tests, NULL, NULL);

	printf("compared %llu predictions\n", (unsigned long long)compared);
	return failed;
}
