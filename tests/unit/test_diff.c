/* SPDX-License-Identifier: MIT */
/* test_diff.c - what differs: rules (1) to (4) of diff.h by their numbers, conditions, and traces
 * whose threads take turns in other ways on either side */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/diff.h"
#include "analyse/diff_trace.h"
#include "trace/format.h"

/* ---- tables -------------------------------------------------------------------------------- */

static void add(struct pm_diff_side *s, const char *table, const char *key, const char *place,
		uint64_t order, uint64_t v)
{
	struct pm_diff_table *t = pm_diff_table(s, table, strcmp(table, "worst") != 0);

	if (!strcmp(table, "lines"))
		t->shape = PM_DIFF_LINES;
	pm_diff_set_u64(t, pm_diff_add_row(s, t, key, place, order), pm_diff_column(s, t, "count"),
			v);
}

static struct pm_diff_side side(const char *file)
{
	return (struct pm_diff_side){ .file = file, .kind = "test" };
}

/* "key place nth a b" of each pair of a table, one behind the other. */
static void expect(const struct pm_diff *d, const char *table, const char *want)
{
	struct pm_buf seen = { 0 };

	for (size_t i = 0; i < d->nboth; i++) {
		const struct pm_diff_both *t = d->both[i];

		for (size_t k = 0; k < t->n && !strcmp(t->name, table); k++) {
			const struct pm_diff_value a = pm_diff_get(t, t->pair + k, 0, 0);
			const struct pm_diff_value b = pm_diff_get(t, t->pair + k, 0, 1);

			pm_buf_printf(&seen, "%s %s %u ", t->pair[k].key,
				      t->pair[k].place ? t->pair[k].place : "-", t->pair[k].nth);
			a.there ? pm_buf_printf(&seen, "%d ", (int)a.u64) :
				  pm_buf_printf(&seen, "- ");
			b.there ? pm_buf_printf(&seen, "%d%s", (int)b.u64,
						t->pair[k].differs ? "!;" : ";") :
				  pm_buf_printf(&seen, "-;");
		}
	}
	pm_buf_add(&seen, "", 1);
	assert_string_equal((const char *)seen.p, want);
	pm_buf_release(&seen);
}

static void rules(void **state)
{
	struct pm_diff_side a = side("a"), b = side("b");
	struct pm_err err = { 0 };
	struct pm_diff d;

	/* (1) by name, in whatever order; (2) a path, a last component, the only one left */
	add(&a, "functions", "f", "/lib/libx.so", 1, 10);
	add(&a, "functions", "g", "/old/prog", 2, 20);
	add(&a, "functions", "h", "/old/name", 3, 30);
	add(&b, "functions", "h", "/new/other", 1, 31);
	add(&b, "functions", "g", "/new/prog", 2, 20);
	add(&b, "functions", "f", "/lib/libx.so", 3, 11);
	/* (3) in the order of addresses */
	add(&a, "functions", "dup", "/old/prog", 0x200, 2);
	add(&a, "functions", "dup", "/old/prog", 0x100, 1);
	add(&b, "functions", "dup", "/new/prog", 0x900, 3);
	add(&b, "functions", "dup", "/new/prog", 0x800, 1);
	/* (2) files: by the last component, but only where there is one */
	add(&a, "lines", "7", "/old/x.c", 0, 1);
	add(&b, "lines", "7", "/new/x.c", 0, 2);
	add(&a, "lines", "8", "/old/1/y.c", 0, 1);
	add(&a, "lines", "8", "/old/2/y.c", 0, 1);
	add(&b, "lines", "8", "/new/y.c", 0, 1);
	/* (4) added and removed; in a list of the first few they are just not known */
	add(&a, "functions", "gone", "/lib/libx.so", 9, 5);
	add(&b, "functions", "new", "/lib/libx.so", 9, 6);
	add(&a, "worst", "p", NULL, 0, 1);
	add(&a, "worst", "q", NULL, 1, 1);
	add(&b, "worst", "q", NULL, 0, 1);
	assert_int_equal(pm_diff_new(&d, &a, &b, &err), PM_OK);
	expect(&d, "functions", "f /lib/libx.so 0 10 11!;gone /lib/libx.so 0 5 0!;"
		"new /lib/libx.so 0 0 6!;h /old/name 0 30 31!;dup /old/prog 1 1 1;"
		"dup /old/prog 2 2 3!;g /old/prog 0 20 20;");
	expect(&d, "lines", "8 /new/y.c 0 0 1!;8 /old/1/y.c 0 1 0!;8 /old/2/y.c 0 1 0!;"
		"7 /old/x.c 0 1 2!;");
	expect(&d, "worst", "p - 0 1 -;q - 0 1 1;");
	pm_diff_release(&d);
	pm_diff_side_release(&a);
	pm_diff_side_release(&b);
}

/* Counts beyond what a double holds differ by one. */
static void exact(void **state)
{
	struct pm_diff_side a = side("a"), b = side("b");
	struct pm_diff_gate g;
	struct pm_err err = { 0 };
	struct pm_diff d;

	pm_diff_total(&a, "instructions", (1ull << 60) + 1);
	pm_diff_total(&b, "instructions", (1ull << 60) + 2);
	assert_int_equal(pm_diff_new(&d, &a, &b, &err), PM_OK);
	assert_int_equal(d.differing, 1);
	assert_int_equal(pm_diff_gate_read(&g, "instructions>+0", &err), PM_OK);
	assert_int_equal(pm_diff_gate_ask(&g, &d, false, &err), PM_OK);
	assert_true(g.broken);
	pm_diff_gate_release(&g);
	assert_int_equal(pm_diff_gate_read(&g, "instructions>+1", &err), PM_OK);
	assert_int_equal(pm_diff_gate_ask(&g, &d, false, &err), PM_OK);
	assert_false(g.broken);
	pm_diff_gate_release(&g);
	pm_diff_release(&d);
	pm_diff_side_release(&a);
	pm_diff_side_release(&b);
}

static void conditions(void **state)
{
	static const struct { const char *text; int answer; } tried[] = {	/* -1: refused */
		{ "different", 1 },
		{ "cycles>+1%", 0 }, { "cycles>+0.99%", 1 }, { "cycles>=+1%", 1 },
		{ "cycles<+1%", 0 }, { "cycles<=+1%", 1 }, { "cycles>+10", 0 }, { "cycles>+9", 1 },
		{ "cycles>1009", 1 }, { "cycles>1.01k", 0 }, { "cycles > 1010", 0 },
		{ " cycles>= 1010 ", 1 }, { "cycles<-1%", 0 }, { "cycles<+2%", 1 },
		{ "misses>+0", 1 }, { "misses>+5", 0 }, { "l1.misses>+0", 0 },
		{ "l2.misses>+4", 1 },
		{ "cache.l2.misses>+4", 1 }, { "zero>+1000%", 1 },
		{ "function f(int, char) count>+0", 1 }, { "function f* count>+1", 0 },
		{ "functions g count>-1", 1 }, { "function a<b> count>+0", 0 },
		{ "nothing>1", -1 }, { "function nosuch count>1", -1 },
		{ "function g misses>1", -1 },
		{ "tables g count>1", -1 },
		{ "", -1 }, { "cycles", -1 }, { "cycles>", -1 }, { ">1", -1 }, { "cycles>1%", -1 },
		{ "cycles>+x", -1 }, { "cycles>+1%%", -1 }, { "cycles>+-1", -1 },
		{ "cycles>+nan", -1 }, { "cycles>+inf", -1 }, { "cycles>+0x10", -1 },
		{ "cycles>+1e999", -1 }, { "f g>1", -1 },
	};
	struct pm_diff_side a = side("a"), b = side("b");
	struct pm_err err = { 0 };
	struct pm_diff d;

	pm_diff_total(&a, "cycles", 1000);
	pm_diff_total(&b, "cycles", 1010);
	pm_diff_total(&a, "zero", 0);
	pm_diff_total(&b, "zero", 1);
	pm_diff_total(&a, "cache.l1.misses", 7);
	pm_diff_total(&b, "cache.l1.misses", 7);
	pm_diff_total(&a, "cache.l2.misses", 7);
	pm_diff_total(&b, "cache.l2.misses", 12);
	add(&a, "functions", "f(int, char)", "p", 0, 3);
	add(&b, "functions", "f(int, char)", "p", 0, 4);
	add(&a, "functions", "g", "p", 0, 3);
	add(&b, "functions", "g", "p", 0, 3);
	add(&a, "functions", "a<b>", "p", 0, 3);
	add(&b, "functions", "a<b>", "p", 0, 3);
	assert_int_equal(pm_diff_new(&d, &a, &b, &err), PM_OK);
	for (size_t i = 0; i < NR(tried); i++) {
		struct pm_err e = { 0 };
		struct pm_diff_gate g;
		int seen = -1;

		if (!pm_diff_gate_read(&g, tried[i].text, &e) &&
		    !pm_diff_gate_ask(&g, &d, false, &e))
			seen = g.broken;
		pm_diff_gate_release(&g);
		if (seen != tried[i].answer || pm_failed(&e) != (seen < 0))
			fail_msg("%s: %d, %s", tried[i].text, seen, e.msg);
		assert_true(seen >= 0 || e.place == PM_AT_REQUEST);
	}
	pm_diff_release(&d);
	pm_diff_side_release(&a);
	pm_diff_side_release(&b);
}

/* ---- traces -------------------------------------------------------------------------------- */

#define THREADS	5

struct turn { unsigned thread, n; };	/* so many instructions of that thread */

/* Thread t executes instruction i at 0x1000 * t + i; at @planted of @thread another one. */
static void write_trace(const char *path, const struct turn *turn, size_t nturn, unsigned thread,
			uint64_t planted)
{
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_stream stream[THREADS] = { 0 };
	uint64_t at[THREADS] = { 0 };
	struct pm_builder b = { 0 };
	struct pm_err err = { 0 };
	const uint32_t facts = PM_HAS_INSNS | PM_HAS_THREADS | PM_HAS_REFS | PM_HAS_SIZES;

	assert_int_equal(pm_trace_create(p, path, "pug", facts, &err), PM_OK);
	assert_int_equal(pm_pipeline_start(p, facts, "made", &err), PM_OK);
	for (size_t i = 0; i < nturn; i++) {
		const unsigned t = turn[i].thread;

		stream[t] = (struct pm_stream){ .index = t, .pid = 100, .tid = 100 + t };
		pm_builder_reset(&b, stream + t, NULL);
		for (unsigned k = 0; k < turn[i].n; k++, at[t]++) {
			struct pm_event *e = pm_builder_event(&b, PM_EV_INSN);

			e->addr = 0x1000 * (t + 1) + at[t] + (t == thread && at[t] == planted);
			e->size = 1;
		}
		assert_int_equal(pm_pipeline_push(p, pm_builder_batch(&b), &err), PM_OK);
	}
	assert_int_equal(pm_pipeline_finish(p, NULL, &err), PM_OK);
	pm_pipeline_free(p);
	pm_builder_release(&b);
}

struct compared { struct pm_diff_threads t; struct pm_diff_side a, b; };

static void compare(struct compared *c, const char *a, const char *b, uint32_t waiting)
{
	const struct pm_diff_trace_opts o = { .waiting = waiting };
	const char *path[2] = { a, b };
	struct pm_err err = { 0 };

	*c = (struct compared){ 0 };
	if (pm_diff_traces(path, &o, &c->a, &c->b, &c->t, &err))
		fail_msg("%s", err.msg);
}

static void release(struct compared *c)
{
	pm_diff_threads_release(&c->t);
	pm_diff_side_release(&c->a);
	pm_diff_side_release(&c->b);
}

/* The planted instruction is found wherever it is, however the threads take turns and however few
 * events may wait; all else is the same. */
static void threads(void **state)
{
	enum { N = 400 };
	static const struct turn one[] = { { 0, N }, { 1, N }, { 2, N }, { 3, N }, { 4, N } };
	static const struct turn other[] = { { 4, N }, { 3, 1 }, { 1, N }, { 0, N - 1 },
		{ 3, N - 1 }, { 2, N }, { 0, 1 } };
	static const uint64_t places[] = { 0, 1, 17, N / 2, N - 1 };
	static const uint32_t waiting[] = { 1, 64, N, 1u << 19 };
	char dir[] = "/tmp/test-diff.XXXXXX", a[64], b[64];

	assert_non_null(mkdtemp(dir));
	snprintf(a, sizeof a, "%s/a.pug", dir);
	snprintf(b, sizeof b, "%s/b.pug", dir);
	write_trace(a, one, NR(one), THREADS, 0);
	for (size_t i = 0; i < NR(places); i++)
		for (unsigned t = 0; t <= THREADS; t++) {
			write_trace(b, other, NR(other), t, places[i]);
			for (size_t w = 0; w < NR(waiting); w++) {
				struct compared c;

				compare(&c, a, b, waiting[w]);
				assert_int_equal(c.t.n, THREADS);
				assert_int_equal(c.t.differ, t < THREADS);
				for (unsigned k = 0; k < THREADS; k++) {
					const struct pm_diff_thread *th = c.t.v + k;

					assert_int_equal(th->diverged, k == t);
					assert_int_equal(th->insns, k == t ? places[i] : N);
					assert_int_equal(th->events, th->insns);
					assert_int_equal(th->of[0].insns, N);
					assert_int_equal(th->of[1].insns, N);
					if (k == t) {
						assert_true(th->nafter[0] > 0 && th->nafter[1] > 0);
						assert_int_equal(th->after[0][0].insn, places[i]);
						assert_int_equal(th->after[1][0].insn, places[i]);
						assert_int_equal(th->nbefore,
								 places[i] < PM_DIFF_BEFORE ?
								 places[i] : PM_DIFF_BEFORE);
					}
				}
				assert_true(w + 1 < NR(waiting) ? c.t.passes > 1 : c.t.passes == 1);
				release(&c);
			}
		}
	unlink(a);
	unlink(b);
	rmdir(dir);
}

/* One side ends earlier, and one has a thread that the other lacks. */
static void ends(void **state)
{
	static const struct turn one[] = { { 0, 10 }, { 1, 10 }, { 3, 5 } };
	static const struct turn other[] = { { 1, 9 }, { 0, 10 }, { 2, 2000 } };
	char dir[] = "/tmp/test-diff.XXXXXX", a[64], b[64];
	struct compared c;

	assert_non_null(mkdtemp(dir));
	snprintf(a, sizeof a, "%s/a.pug", dir);
	snprintf(b, sizeof b, "%s/b.pug", dir);
	write_trace(a, one, NR(one), THREADS, 0);
	write_trace(b, other, NR(other), THREADS, 0);
	for (uint32_t waiting = 1; waiting < 100; waiting += 33) {
		compare(&c, a, b, waiting);
		assert_true(c.t.differ);
		assert_false(c.t.v[0].diverged);
		assert_true(c.t.v[1].diverged);
		assert_int_equal(c.t.v[1].insns, 9);
		assert_int_equal(c.t.v[1].nafter[0], 1);
		assert_int_equal(c.t.v[1].nafter[1], 0);
		assert_true(c.t.v[2].of[1].there && !c.t.v[2].of[0].there);
		assert_int_equal(c.t.v[2].of[1].insns, 2000);
		assert_true(c.t.v[3].of[0].there && !c.t.v[3].of[1].there);
		release(&c);
	}
	unlink(a);
	unlink(b);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules), cmocka_unit_test(exact), cmocka_unit_test(conditions),
		cmocka_unit_test(threads), cmocka_unit_test(ends),
	};

	return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
