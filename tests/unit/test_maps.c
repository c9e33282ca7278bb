/* SPDX-License-Identifier: MIT */
/* verify's view of memory and of calls, on events written out by hand */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "transform/verify.h"

/* Two blocks: 0 calls 1, which returns. */
static const struct pm_insn insn[] = {
	{ .pc = 0x1000, .bytes = { 0xe8, 0xfb, 0x0f, 0, 0 }, .len = 5, .flow = PM_CLASS_CALL,
	  .object = PM_NONE },
	{ .pc = 0x2000, .bytes = { 0xc3 }, .len = 1, .flow = PM_CLASS_RET, .object = PM_NONE },
};
static const struct pm_block block[] = { { 0x1000, 0, 1 }, { 0x2000, 1, 1 } };
static const struct pm_code code = { insn, block, NULL, NR(insn), NR(block), 0 };
static const struct pm_stream main_thread = { 0, 10, 10, 0, NULL }, thread = { 1, 10, 11, 0, NULL },
			      child = { 2, 20, 20, 0, NULL },
			      program = { 3, 20, 20, 0, NULL };

struct world {
	struct pm_pipeline *p;
	void *verify;
	struct pm_err err;
};

static void begin(struct world *w)
{
	*w = (struct world){ .p = pm_pipeline_new(),
			     .verify = pm_verify_new(PM_HAS_THREADS | PM_HAS_BLOCKS) };
	pm_pipeline_sink(w->p, &pm_verify_ops, w->verify);
	assert_int_equal(pm_pipeline_start(w->p, UINT32_MAX, "test", &w->err), PM_OK);
}

static void event(struct world *w, const struct pm_stream *s, enum pm_kind kind, uint64_t addr,
		  uint64_t value, unsigned nargs, uint64_t a0, uint64_t a2, const char *name)
{
	struct pm_builder b = { 0 };
	struct pm_event *ev;

	pm_builder_reset(&b, s, &code);
	if (nargs || name) {
		struct pm_rare *r = pm_builder_rare(&b, kind, name);

		r->nargs = nargs;
		r->arg[0] = a0;
		r->arg[2] = a2;
		ev = b.ev + b.b.n - 1;
	} else {
		ev = pm_builder_event(&b, kind);
	}
	ev->addr = addr;
	ev->value = value;
	if (kind == PM_EV_BLOCK)
		ev->id = addr == 0x1000 ? 0 : 1;
	if (kind >= PM_EV_READ && kind <= PM_EV_MODIFY) {
		ev->size = 8;
		ev->id = 0;
	}
	assert_int_equal(pm_pipeline_push(w->p, pm_builder_batch(&b), &w->err), PM_OK);
	pm_builder_release(&b);
}

#define EV(s, kind, addr, value)	event(&w, s, kind, addr, value, 0, 0, 0, NULL)
#define RARE(s, kind, addr, value, ...)	event(&w, s, kind, addr, value, __VA_ARGS__)

static uint64_t end(struct world *w, enum pm_verify_check c, uint64_t *looked)
{
	uint64_t n;

	assert_int_equal(pm_pipeline_finish(w->p, NULL, &w->err), PM_OK);
	n = pm_verify_get(w->verify)->wrong[c];
	if (looked)
		*looked = pm_verify_get(w->verify)->looked[c];
	pm_pipeline_free(w->p);
	return n;
}

static void test_nothing_known(void **state)
{
	struct world w;
	uint64_t looked;

	begin(&w);
	EV(&main_thread, PM_EV_READ, 0x5000, 0);
	assert_int_equal(end(&w, PM_VERIFY_map, &looked), 0);
	assert_int_equal(looked, 0);
}

static void test_mapped(void **state)
{
	struct world w;
	uint64_t looked;

	begin(&w);
	RARE(&main_thread, PM_EV_MMAP, 0x10000, 0x1800, 2, 3, 0, "file");
	EV(&main_thread, PM_EV_READ, 0x10000, 0);
	EV(&main_thread, PM_EV_READ, 0x11ff8, 0);	/* pages are whole */
	EV(&main_thread, PM_EV_READ, 0x11ffc, 0);	/* reaches out of it */
	EV(&main_thread, PM_EV_BLOCK, 0x1000, 1);
	EV(&main_thread, PM_EV_MMAP, 0x12000, 0x1000);
	EV(&main_thread, PM_EV_READ, 0x11ffc, 0);	/* into the next one */
	EV(&main_thread, PM_EV_MUNMAP, 0x11000, 0x1000);
	EV(&main_thread, PM_EV_READ, 0x10ff8, 0);
	EV(&main_thread, PM_EV_READ, 0x12000, 0);
	EV(&main_thread, PM_EV_READ, 0x11000, 0);	/* no longer */
	EV(&main_thread, PM_EV_WRITE, 0x11008, 0);
	EV(&main_thread, PM_EV_BLOCK, 0x1000, 1);
	EV(&main_thread, PM_EV_READ, 0x13000, 0);	/* faults: that is how it should be */
	EV(&main_thread, PM_EV_SIGNAL, 0x1000, 11);
	EV(&main_thread, PM_EV_BLOCK, 0x1000, 1);
	assert_int_equal(end(&w, PM_VERIFY_map, &looked), 3);
	assert_int_equal(looked, 9);
}

static void test_growing(void **state)
{
	struct world w;

	begin(&w);
	RARE(&main_thread, PM_EV_MMAP, 0x7fff0000, 0x1000, 1, 3, 0, "[stack]");
	EV(&main_thread, PM_EV_WRITE, 0x7ffef008, 0);
	EV(&main_thread, PM_EV_WRITE, 0x7ffe0000, 0);
	EV(&main_thread, PM_EV_WRITE, 0x7ffe8000, 0);
	RARE(&main_thread, PM_EV_SYSCALL, 0, 12, 6, 0, 0, NULL);
	EV(&main_thread, PM_EV_SYSRET, 0, 0x600000);
	EV(&main_thread, PM_EV_READ, 0x600000, 0);	/* nothing yet */
	EV(&main_thread, PM_EV_BLOCK, 0x1000, 1);
	RARE(&main_thread, PM_EV_SYSCALL, 0, 12, 6, 0x621000, 0, NULL);
	EV(&main_thread, PM_EV_SYSRET, 0, 0x621000);
	EV(&main_thread, PM_EV_READ, 0x620ff8, 0);
	RARE(&main_thread, PM_EV_SYSCALL, 0, 25, 6, 0x1000, 0x3000, NULL);
	EV(&main_thread, PM_EV_SYSRET, 0, 0x900000);
	EV(&main_thread, PM_EV_READ, 0x902ff8, 0);
	EV(&main_thread, PM_EV_READ, 0x903000, 0);	/* that is behind it */
	EV(&main_thread, PM_EV_BLOCK, 0x1000, 1);
	assert_int_equal(end(&w, PM_VERIFY_map, NULL), 2);
}

static void test_processes(void **state)
{
	struct world w;

	begin(&w);
	EV(&main_thread, PM_EV_MMAP, 0x10000, 0x1000);
	RARE(&child, PM_EV_PROCESS, 0, 20, 1, 10, 0, NULL);
	EV(&child, PM_EV_READ, 0x10000, 0);		/* inherited */
	EV(&child, PM_EV_MUNMAP, 0x10000, 0x1000);
	EV(&main_thread, PM_EV_READ, 0x10000, 0);	/* only the child's went away */
	EV(&child, PM_EV_READ, 0x10000, 0);
	EV(&child, PM_EV_BLOCK, 0x1000, 1);
	RARE(&child, PM_EV_EXEC, 0, 20, 0, 0, 0, "other");
	EV(&child, PM_EV_READ, 0x30000, 0);		/* unknown again */
	EV(&child, PM_EV_BLOCK, 0x1000, 1);
	assert_int_equal(end(&w, PM_VERIFY_map, NULL), 1);
}

/* What another thread maps may come late in the trace, and what it unmaps early. */
static void test_threads(void **state)
{
	struct world w;

	begin(&w);
	EV(&main_thread, PM_EV_MMAP, 0x10000, 0x1000);
	EV(&thread, PM_EV_THREAD, 0, 11);
	EV(&thread, PM_EV_READ, 0x10000, 0);
	EV(&thread, PM_EV_READ, 0x20000, 0);
	EV(&thread, PM_EV_READ, 0x40000, 0);		/* this one never comes */
	EV(&thread, PM_EV_BLOCK, 0x1000, 1);
	EV(&thread, PM_EV_READ, 0x50000, 0);		/* faults */
	EV(&thread, PM_EV_SIGNAL, 0x1000, 11);
	EV(&main_thread, PM_EV_MMAP, 0x20000, 0x1000);
	EV(&main_thread, PM_EV_MUNMAP, 0x10000, 0x1000);
	EV(&thread, PM_EV_READ, 0x10008, 0);
	assert_int_equal(end(&w, PM_VERIFY_map, NULL), 1);
}

/* What process 20 executes is another stream than what it was before, which comes later, and so
 * does what its parent has mapped. */
static void test_streams_out_of_order(void **state)
{
	struct world w;
	uint64_t looked;

	begin(&w);
	RARE(&program, PM_EV_EXEC, 0, 20, 0, 0, 0, "program");
	EV(&program, PM_EV_MMAP, 0x70000, 0x1000);
	EV(&program, PM_EV_READ, 0x70000, 0);
	EV(&program, PM_EV_EXIT, 0, 0);
	RARE(&child, PM_EV_PROCESS, 0, 20, 1, 10, 0, NULL);
	EV(&child, PM_EV_READ, 0x10000, 0);
	EV(&child, PM_EV_MMAP, 0x20000, 0x1000);
	EV(&child, PM_EV_READ, 0x10000, 0);		/* its parent's, and all there is */
	EV(&child, PM_EV_READ, 0x12000, 0);		/* the parent has not got that any more */
	EV(&child, PM_EV_READ, 0x70000, 0);		/* the program's: not told apart here */
	EV(&child, PM_EV_READ, 0x30000, 0);		/* nobody's */
	EV(&child, PM_EV_BLOCK, 0x1000, 1);
	EV(&child, PM_EV_MUNMAP, 0x10000, 0x1000);
	EV(&child, PM_EV_READ, 0x10000, 0);		/* it cannot have it from its parent */
	EV(&child, PM_EV_BLOCK, 0x1000, 1);
	EV(&main_thread, PM_EV_MMAP, 0x10000, 0x3000);
	EV(&main_thread, PM_EV_MUNMAP, 0x12000, 0x1000);
	assert_int_equal(end(&w, PM_VERIFY_map, &looked), 2);
	assert_int_equal(looked, 6);
}

/* The first stream of all may lie before the others' in the trace. */
static void test_thread_behind(void **state)
{
	struct world w;

	begin(&w);
	EV(&main_thread, PM_EV_MMAP, 0x10000, 0x1000);
	EV(&main_thread, PM_EV_READ, 0x30000, 0);	/* the other one's */
	EV(&main_thread, PM_EV_BLOCK, 0x1000, 1);
	EV(&main_thread, PM_EV_READ, 0x40000, 0);	/* nobody's */
	EV(&main_thread, PM_EV_BLOCK, 0x1000, 1);
	EV(&thread, PM_EV_THREAD, 0, 11);
	EV(&thread, PM_EV_MMAP, 0x30000, 0x1000);
	assert_int_equal(end(&w, PM_VERIFY_map, NULL), 1);
}

/* A child whose parent's heap is not known has one nevertheless. */
static void test_heap_of_a_child(void **state)
{
	struct world w;

	begin(&w);
	RARE(&child, PM_EV_PROCESS, 0, 20, 1, 10, 0, NULL);
	EV(&child, PM_EV_MMAP, 0x20000, 0x1000);
	RARE(&child, PM_EV_SYSCALL, 0, 12, 6, 0x621000, 0, NULL);
	EV(&child, PM_EV_SYSRET, 0, 0x621000);
	EV(&child, PM_EV_READ, 0x620ff8, 0);
	EV(&child, PM_EV_BLOCK, 0x1000, 1);
	EV(&main_thread, PM_EV_MMAP, 0x10000, 0x1000);
	assert_int_equal(end(&w, PM_VERIFY_map, NULL), 0);
}

static void test_calls(void **state)
{
	struct world w;
	uint64_t looked;

	begin(&w);
	EV(&main_thread, PM_EV_BLOCK, 0x1000, 1);
	EV(&main_thread, PM_EV_BLOCK, 0x2000, 1);
	EV(&main_thread, PM_EV_SIGNAL, 0x1005, 10);	/* the return went to 0x1005 */
	EV(&main_thread, PM_EV_BLOCK, 0x1000, 1);	/* a handler that calls... */
	EV(&main_thread, PM_EV_BLOCK, 0x2000, 1);
	EV(&main_thread, PM_EV_BLOCK, 0x1000, 1);	/* ... and returns, to where only the
							 * system knows */
	EV(&main_thread, PM_EV_BLOCK, 0x2000, 1);
	EV(&main_thread, PM_EV_BLOCK, 0x1000, 1); /* but here no call and no handler is waiting */
	assert_int_equal(end(&w, PM_VERIFY_calls, &looked), 1);
	assert_int_equal(looked, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_known), cmocka_unit_test(test_mapped),
		cmocka_unit_test(test_growing), cmocka_unit_test(test_processes),
		cmocka_unit_test(test_threads), cmocka_unit_test(test_streams_out_of_order),
		cmocka_unit_test(test_thread_behind),
		cmocka_unit_test(test_heap_of_a_child), cmocka_unit_test(test_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
