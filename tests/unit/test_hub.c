/* SPDX-License-Identifier: MIT */
/* The pipeline's sentence, the expander's order, slices: on a few blocks written out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/result.h"
#include "trace/expand.h"
#include "trace/sinks.h"
#include "transform/slice.h"
#include "transform/verify.h"

/* 0: mov (load); push; je 0x1000   1: call 0x2000   2: at 0x2000: rep movsb; ret */
static const struct pm_insn insn[] = {
	{ .pc = 0x1000, .bytes = { 0x48, 0x8b, 0x03 }, .len = 3, .nref = 1, .object = PM_NONE },
	{ .pc = 0x1003, .bytes = { 0x50 }, .len = 1, .nref = 1, .object = PM_NONE },
	{ .pc = 0x1004, .bytes = { 0x74, 0xfa }, .len = 2, .flow = PM_CLASS_COND,
	  .object = PM_NONE },
	{ .pc = 0x1006, .bytes = { 0xe8, 0xf5, 0x0f, 0, 0 }, .len = 5, .flow = PM_CLASS_CALL,
	  .nref = 1,
	  .object = PM_NONE },
	{ .pc = 0x2000, .bytes = { 0xf3, 0xa4 }, .len = 2, .nref = 2, .rep = 1, .object = PM_NONE },
	{ .pc = 0x2002, .bytes = { 0xc3 }, .len = 1, .flow = PM_CLASS_RET, .nref = 1,
	  .object = PM_NONE },
};
static const struct pm_block block[] = { { 0x1000, 0, 3 }, { 0x1006, 3, 1 }, { 0x2000, 4, 2 } };
static const struct pm_code code = { insn, block, NULL, NR(insn), NR(block), 0 };
static const struct pm_stream stream[] = { { 0, 10, 10, 0, NULL }, { 1, 10, 11, 0, NULL } };

#define PC(i) ((i) == 0 ? 0x1000 : (i) == 1 ? 0x1006 : 0x2000)
#define BLOCK(i, k) { .kind = PM_EV_BLOCK, .id = i, .addr = PC(i), .value = k }
#define REF(k, s, a) { .kind = k, .size = 8, .id = s, .addr = a }
#define REP(k, n) { .kind = k, .id = 0, .addr = 0x2000, .value = n }

static const struct pm_event loop[] = {
	BLOCK(0, 3), REF(PM_EV_READ, 0, 0x100), REF(PM_EV_WRITE, 1, 0x200),
	BLOCK(0, 3), REF(PM_EV_READ, 0, 0x108), REF(PM_EV_WRITE, 1, 0x208),
	BLOCK(1, 1), REF(PM_EV_WRITE, 0, 0x210),
	BLOCK(2, 2), REP(PM_EV_REP_ITER, 0), REF(PM_EV_READ, 0, 0x300), REF(PM_EV_WRITE, 0, 0x400),
	REP(PM_EV_REP_END, 1), REF(PM_EV_READ, 1, 0x210),
};

static const char expanded[] =
	"0 insn 0x1000 3 bytes=488b03\n0 read 0x100 8\n0 insn 0x1003 1 bytes=50\n0 write 0x200 8\n"
	"0 insn 0x1004 2 bytes=74fa\n0 branch 0x1004 2 target=0x1000 flags=taken,cond\n"
	"0 insn 0x1000 3 bytes=488b03\n0 read 0x108 8\n0 insn 0x1003 1 bytes=50\n0 write 0x208 8\n"
	"0 insn 0x1004 2 bytes=74fa\n0 branch 0x1004 2 target=0x1000 flags=cond\n"
	"0 insn 0x1006 5 bytes=e8f50f0000\n0 write 0x210 8\n0 branch 0x1006 5 target=0x2000 "
	"flags=taken,call\n"
	"0 insn 0x2000 2 bytes=f3a4\n0 rep-iter 0x2000 -\n0 read 0x300 8\n0 write 0x400 8\n"
	"0 rep-end 0x2000 - n=1\n0 insn 0x2002 1 bytes=c3\n0 read 0x210 8\n";

struct text {
	struct pm_buf b;
	uint64_t insns;			/* by stream 0, as first_insn must say */
};

static enum pm_status text_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct text *t = self;

	if (!b->stream->index)
		assert_int_equal(b->first_insn, t->insns);
	for (size_t i = 0; i < b->n; i++) {
		pm_dump_event(&t->b, b, b->ev + i);
		if (!b->stream->index)
			t->insns += b->ev[i].kind == PM_EV_INSN;
	}
	return PM_OK;
}

static const struct pm_sink_ops text_ops = { .abi = PM_ABI, .name = "text",
	.consume = text_consume };

static struct pm_pipeline *text_pipeline(struct text *t, uint32_t facts)
{
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_err err = { 0 };

	pm_pipeline_sink(p, &text_ops, t);
	assert_int_equal(pm_pipeline_start(p, facts, "tests", &err), PM_OK);
	return p;
}

static void push(struct pm_pipeline *p, unsigned s, const struct pm_event *ev, size_t n)
{
	struct pm_batch b = { .stream = &stream[s], .code = &code, .ev = ev, .n = n };
	struct pm_err err = { 0 };

	if (pm_pipeline_push(p, &b, &err) != PM_OK)
		fail_msg("%s", err.msg);
}

static void finish(struct pm_pipeline *p, struct text *t, const char *expected)
{
	struct pm_err err = { 0 };

	assert_int_equal(pm_pipeline_finish(p, NULL, &err), PM_OK);
	pm_pipeline_free(p);
	pm_buf_add(&t->b, "", 1);
	assert_string_equal((char *)t->b.p, expected);
	pm_buf_release(&t->b);
}

static void test_expand(void **state)
{
	/* however the events are cut into batches, also in the middle of a block */
	for (size_t cut = 0; cut <= NR(loop); cut++) {
		struct text t = { 0 };
		struct pm_pipeline *p = text_pipeline(&t, PM_HAS_BLOCKS);

		push(p, 0, loop, cut);
		push(p, 0, loop + cut, NR(loop) - cut);
		finish(p, &t, expanded);
	}
}

static void test_expand_two_streams(void **state)
{
	struct text t = { 0 };
	struct pm_pipeline *p = text_pipeline(&t, PM_HAS_BLOCKS);

	push(p, 0, loop + 6, 1);
	push(p, 1, loop, 3);
	push(p, 0, loop + 7, 1);
	push(p, 1, loop + 6, 1);
	finish(p, &t,
	       "1 insn 0x1000 3 bytes=488b03\n1 read 0x100 8\n1 insn 0x1003 1 bytes=50\n1 write "
	       "0x200 8\n"
	       "0 insn 0x1006 5 bytes=e8f50f0000\n0 write 0x210 8\n"
	       "1 insn 0x1004 2 bytes=74fa\n1 branch 0x1004 2 target=0x1000 flags=cond\n"
	       /* the end: a direct call goes where it must */
	       "0 branch 0x1006 5 target=0x2000 flags=taken,call\n"
	       "1 insn 0x1006 5 bytes=e8f50f0000\n1 branch 0x1006 5 target=0x2000 "
	       "flags=taken,call\n");
}

/* A block that a signal cuts executed less and has no branch; a signal behind a block tells where
 * its branch would have gone. */
static void test_expand_signal(void **state)
{
	const struct pm_event cut[] = {
		BLOCK(0, 1), REF(PM_EV_READ, 0, 0x100),
		{ .kind = PM_EV_SIGNAL, .id = PM_NONE, .addr = 0x1003, .value = 11 },
		BLOCK(0, 3), { .kind = PM_EV_SIGNAL, .id = PM_NONE, .addr = 0x1006, .value = 2 },
		BLOCK(2, 2), { .kind = PM_EV_EXIT, .id = PM_NONE, .value = 3 },
	};
	struct text t = { 0 };
	struct pm_pipeline *p = text_pipeline(&t, PM_HAS_BLOCKS);

	push(p, 0, cut, NR(cut));
	finish(p, &t,
	       "0 insn 0x1000 3 bytes=488b03\n0 read 0x100 8\n0 signal 0x1003 - signal=11\n"
	       "0 insn 0x1000 3 bytes=488b03\n0 insn 0x1003 1 bytes=50\n0 insn 0x1004 2 "
	       "bytes=74fa\n"
	       "0 branch 0x1004 2 target=0x1000 flags=cond\n0 signal 0x1006 - signal=2\n"
	       "0 insn 0x2000 2 bytes=f3a4\n0 insn 0x2002 1 bytes=c3\n0 exit - - status=3\n");
}

static void test_expand_nonsense(void **state)
{
	const struct pm_event bad[] = {
		{ .kind = PM_EV_BLOCK, .id = 3, .value = 1 },
		BLOCK(0, 4),
		{ .kind = PM_EV_BLOCK, .id = PM_NONE, .value = 1 },
	};

	for (size_t i = 0; i < NR(bad); i++) {
		struct text t = { 0 };
		struct pm_pipeline *p = text_pipeline(&t, PM_HAS_BLOCKS);
		struct pm_batch b = { .stream = stream, .code = &code, .ev = bad + i, .n = 1 };
		struct pm_err err = { 0 };

		assert_int_equal(pm_pipeline_push(p, &b, &err), PM_ERR);
		assert_true(pm_failed(&err));
		pm_pipeline_free(p);
		pm_buf_release(&t.b);
	}
}

static void test_targets(void **state)
{
	static const struct {
		struct pm_insn in;
		uint64_t target;	/* 0: none */
	} t[] = {
		{ { .pc = 0x100, .bytes = { 0xeb, 0xfe }, .len = 2 }, 0x100 },
		{ { .pc = 0x100, .bytes = { 0x0f, 0x85, 0x10, 0, 0, 0 }, .len = 6 }, 0x116 },
		{ { .pc = 0x100, .bytes = { 0x2e, 0x74, 0x01 }, .len = 3 }, 0x104 },
		{ { .pc = 0x100, .bytes = { 0xf2, 0xe9, 0, 1, 0, 0 }, .len = 6 }, 0x206 },
		{ { .pc = 0x100, .bytes = { 0xe2, 0x10 }, .len = 2 }, 0x112 },
		{ { .pc = 0x100, .bytes = { 0xff, 0xe0 }, .len = 2 }, 0 },
		{ { .pc = 0x100, .bytes = { 0xc3 }, .len = 1 }, 0 },
		{ { .pc = 0x100, .len = 0 }, 0 },
		{ { .pc = 0xfffffff0, .bytes = { 0xe8, 0x20, 0, 0, 0 }, .len = 5,
			.isa = PM_ISA_X86_32 }, 0x15 },
		{ { .pc = 0x100, .bytes = { 0x66, 0xe9, 0xfc, 0xff }, .len = 4,
			.isa = PM_ISA_X86_32 }, 0x100 },
		{ { .pc = 0x100, .bytes = { 0x10, 0x40, 0xff, 0xff }, .len = 4,
			.isa = PM_ISA_MIPS_BE }, 0x100 },
		{ { .pc = 0xffffffff80000100, .bytes = { 0x0c, 0, 0, 0x40 }, .len = 4,
			.isa = PM_ISA_MIPS_BE },
		  0xffffffff80000100 },
		{ { .pc = 0x100, .bytes = { 0x03, 0xe0, 0, 0x08 }, .len = 4,
			.isa = PM_ISA_MIPS_BE }, 0 },
		{ { .pc = 0x100, .bytes = { 0xff, 0xff, 0x40, 0x10 }, .len = 4,
			.isa = PM_ISA_MIPS }, 0x100 },
	};

	for (size_t i = 0; i < NR(t); i++) {
		uint64_t target = 0;

		assert_int_equal(pm_insn_target(&t[i].in, &target), t[i].target != 0);
		assert_int_equal(target, t[i].target);
	}
}

static void test_facts(void **state)
{
	struct pm_sink_ops ops = text_ops;
	struct pm_err err = { 0 };
	struct pm_pipeline *p = pm_pipeline_new();
	char names[40];

	ops.needs = PM_HAS_BYTES | PM_HAS_REFS | PM_HAS_REGS;
	ops.name = "writing Penn traces";
	pm_pipeline_sink(p, &ops, NULL);
	assert_int_equal(pm_pipeline_start(p, PM_HAS_REFS, "Laplace traces", &err), PM_ERR);
	assert_string_equal(err.msg,
			    "Laplace traces hold no instruction bytes or register numbers; "
			    "writing Penn traces needs them");
	pm_pipeline_free(p);
	pm_fact_names(PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_VALUES, names, sizeof names);
	/* cut, never overrun */
	assert_string_equal(names, "data addresses, access sizes and data v");
}

/* Every window of a trace is that part of the whole, whatever the batches. */
static void test_slice(void **state)
{
	enum { INSNS = 9 };

	for (uint64_t from = 0; from <= INSNS; from++)
		for (uint64_t count = 1; count <= INSNS; count++)
			for (unsigned cut = 0; cut < 8; cut++) {
				struct pm_slice_opts o = { .from = from, .count = count,
					.time_to = UINT64_MAX,
							   .facts = PM_HAS_BLOCKS };
				struct pm_pipeline *p = pm_pipeline_new();
				struct text t = { 0 }, whole = { 0 };
				struct pm_err err = { 0 };
				char *want = pm_alloc(sizeof expanded), *got, *to = want;
				const char *s = expanded;
				uint64_t at = UINT64_MAX;

				/* the expected lines: those of the instructions in the window; a
				 * branch at its edge is told by a neighbour that the slice may
				 * lack, so it is not compared */
				while (*s) {
					size_t n = strcspn(s, "\n") + 1;

					at += !strncmp(s, "0 insn", 6);
					if (at >= from && at < from + count &&
					    strncmp(s, "0 branch", 8)) {
						memcpy(to, s, n);
						to += n;
					}
					s += n;
				}
				*to = 0;
				pm_pipeline_transform(p, &pm_slice_ops, pm_slice_new(&o));
				pm_pipeline_sink(p, &text_ops, &t);
				assert_int_equal(pm_pipeline_start(p, PM_HAS_BLOCKS, "x", &err),
						 PM_OK);
				push(p, 0, loop, cut);
				push(p, 0, loop + cut, NR(loop) - cut);
				assert_int_equal(pm_pipeline_finish(p, NULL, &err), PM_OK);
				pm_pipeline_free(p);
				pm_buf_add(&t.b, "", 1);
				got = to = pm_alloc(t.b.n);
				for (s = (char *)t.b.p; *s; ) {
					size_t n = strcspn(s, "\n") + 1;

					if (strncmp(s, "0 branch", 8)) {
						memcpy(to, s, n);
						to += n;
					}
					s += n;
				}
				*to = 0;
				assert_string_equal(got, want);
				free(want);
				free(got);
				pm_buf_release(&t.b);
				pm_buf_release(&whole.b);
			}
}

static void test_slice_range(void **state)
{
	struct pm_slice_range range = { 0x2000, 0x2001 };
	struct pm_slice_opts o = { .count = UINT64_MAX, .time_to = UINT64_MAX, .range = &range,
		.nrange = 1,
				   .facts = PM_HAS_BLOCKS };
	struct pm_pipeline *p = pm_pipeline_new();
	struct text t = { 0 };
	struct pm_err err = { 0 };

	assert_false(pm_slice_blocks(&o));
	pm_pipeline_transform(p, &pm_slice_expanded_ops, pm_slice_new(&o));
	pm_pipeline_sink(p, &text_ops, &t);
	assert_int_equal(pm_pipeline_start(p, PM_HAS_BLOCKS, "x", &err), PM_OK);
	/* first_insn counts the source's instructions, of which the slice has a part */
	t.insns = 0;
	struct pm_batch b = { .stream = &stream[1], .code = &code, .ev = loop, .n = NR(loop) };
	assert_int_equal(pm_pipeline_push(p, &b, &err), PM_OK);
	finish(p, &t,
	       "1 insn 0x2000 2 bytes=f3a4\n1 rep-iter 0x2000 -\n1 read 0x300 8\n1 write 0x400 8\n"
	       "1 rep-end 0x2000 - n=1\n");
}

static unsigned found_in(uint32_t facts, const struct pm_event *ev, size_t n,
			 enum pm_verify_check c)
{
	struct pm_pipeline *p = pm_pipeline_new();
	void *sink = pm_verify_new(PM_HAS_BLOCKS | PM_HAS_SIZES | facts);
	struct pm_err err = { 0 };
	unsigned wrong, others = 0;

	pm_pipeline_sink(p, &pm_verify_ops, sink);
	assert_int_equal(pm_pipeline_start(p, PM_HAS_BLOCKS, "x", &err), PM_OK);
	push(p, 0, ev, n);
	assert_int_equal(pm_pipeline_finish(p, NULL, &err), PM_OK);
	for (unsigned i = 0; i < PM_VERIFY_COUNT; i++)
		others += i != (unsigned)c && pm_verify_get(sink)->wrong[i];
	assert_int_equal(others, 0);
	wrong = (unsigned)pm_verify_get(sink)->wrong[c];
	assert_int_equal(pm_verify_get(sink)->ntext, wrong);
	pm_pipeline_free(p);
	return wrong;
}

static unsigned found(const struct pm_event *ev, size_t n, enum pm_verify_check c)
{
	return found_in(PM_HAS_KERNEL, ev, n, c);
}

static void test_verify(void **state)
{
	const struct pm_event wrong_way[] = { BLOCK(0, 3), BLOCK(2, 2) };
	const struct pm_event signal[] = { BLOCK(0, 3), { .kind = PM_EV_SIGNAL, .id = PM_NONE,
		.addr = 0x1006 },
					   BLOCK(2, 2) };
	const struct pm_event stopped[] = { BLOCK(0, 2), BLOCK(0, 3) };
	const struct pm_event slot[] = { BLOCK(0, 3), REF(PM_EV_READ, 1, 8),
		REF(PM_EV_READ, 0, 8) };
	const struct pm_event size[] = { BLOCK(0, 3), { .kind = PM_EV_READ, .addr = 8 } };
	const struct pm_event rep[] = { BLOCK(2, 2), REP(PM_EV_REP_ITER, 0),
		REP(PM_EV_REP_END, 2) };
	const struct pm_event ret[] = { BLOCK(1, 1), BLOCK(2, 2), BLOCK(0, 3) };
	const struct pm_event dead[] = { BLOCK(0, 3), { .kind = PM_EV_EXIT, .id = PM_NONE },
		BLOCK(0, 3) };
	const struct pm_event late[] = { { .kind = PM_EV_TIME, .value = 5 },
		{ .kind = PM_EV_TIME, .value = 4 } };
	const struct pm_event addr[] = { { .kind = PM_EV_BLOCK, .id = 0, .addr = 0x1001,
		.value = 3 } };

	assert_int_equal(found(loop, NR(loop), PM_VERIFY_flow), 0);
	assert_int_equal(found(wrong_way, NR(wrong_way), PM_VERIFY_flow), 1);
	assert_int_equal(found(signal, NR(signal), PM_VERIFY_flow), 0);
	assert_int_equal(found(stopped, NR(stopped), PM_VERIFY_flow), 1);
	/* here it may have been a signal, of which the trace does not tell */
	assert_int_equal(found_in(0, stopped, NR(stopped), PM_VERIFY_flow), 0);
	assert_int_equal(found_in(0, wrong_way, NR(wrong_way), PM_VERIFY_flow), 1);
	assert_int_equal(found(slot, NR(slot), PM_VERIFY_slot), 1);
	assert_int_equal(found(size, NR(size), PM_VERIFY_size), 1);
	assert_int_equal(found(rep, NR(rep), PM_VERIFY_rep), 1);
	assert_int_equal(found(ret, NR(ret), PM_VERIFY_calls), 1);
	assert_int_equal(found(dead, NR(dead), PM_VERIFY_exit), 1);
	assert_int_equal(found(late, NR(late), PM_VERIFY_time), 1);
	assert_int_equal(found(addr, NR(addr), PM_VERIFY_block), 1);
}

static void test_count(void **state)
{
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_result *r = pm_result_new();
	struct pm_err err = { 0 };
	const struct pm_result_node *c;

	assert_int_equal(pm_sink_add(p, "count", NULL, &err), PM_OK);
	assert_int_equal(pm_sink_add(p, "discard", NULL, &err), PM_OK);
	assert_int_equal(pm_sink_add(p, "no-such-sink", NULL, &err), PM_ERR);
	assert_non_null(strstr(err.msg, "'no-such-sink' is not a sink"));
	err = (struct pm_err){ 0 };
	assert_int_equal(pm_sink_add(p, "count:x", NULL, &err), PM_ERR);
	err = (struct pm_err){ 0 };
	assert_int_equal(pm_sink_add(p, "./none.so", NULL, &err), PM_ERR);
	assert_non_null(strstr(err.msg, "cannot load the plug-in './none.so'"));
	err = (struct pm_err){ 0 };
	assert_int_equal(pm_pipeline_start(p, PM_HAS_BLOCKS, "x", &err), PM_OK);
	push(p, 0, loop, NR(loop));
	push(p, 1, loop, 3);
	assert_int_equal(pm_pipeline_finish(p, r, &err), PM_OK);
	c = pm_result_find(pm_result_root(r), "count");
	assert_int_equal(pm_result_find(c, "instructions")->u64, 12);
	assert_int_equal(pm_result_find(c, "events")->u64, 17);
	assert_int_equal(pm_result_find(pm_result_find(c, "kinds"), "block")->u64, 5);
	assert_int_equal(pm_result_find(pm_result_find(c, "kinds"), "read")->u64, 5);
	assert_int_equal(pm_result_find(pm_result_find(c, "streams")->last, "instructions")->u64,
			 3);
	pm_pipeline_free(p);
	pm_result_free(r);
}

static void test_result_json(void **state)
{
	struct pm_result *r = pm_result_new();
	struct pm_buf b = { 0 };

	pm_result_u64(r, "n", UINT64_MAX, "bytes");
	pm_result_f64(r, "x", 0.1, NULL);
	pm_result_f64(r, "bad", 0.0 / 0.0, NULL);
	pm_result_str(r, "s", "a\"b\\\n\x01\xff\xc3\xa4");
	pm_result_hex(r, "h", 0x1f);
	pm_result_null(r, "z");
	pm_result_begin_list(r, "l");
	pm_result_u64(r, NULL, 1, NULL);
	pm_result_bool(r, NULL, 5);
	pm_result_end(r);
	pm_result_begin(r, "o");
	pm_result_end(r);
	pm_result_json(r, &b);
	pm_buf_add(&b, "", 1);
	assert_string_equal((char *)b.p,
			    "{\n  \"n\": 18446744073709551615,\n  \"x\": 0.1,\n  \"bad\": null,\n"
			    "  \"s\": \"a\\\"b\\\\\\n\\u0001\\\\xff\xc3\xa4\",\n  \"h\": "
			    "\"0x1f\",\n  \"z\": null,\n"
			    "  \"l\": [1, true],\n  \"o\": {}\n}\n");
	pm_buf_release(&b);
	pm_result_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expand), cmocka_unit_test(test_expand_two_streams),
		cmocka_unit_test(test_expand_signal), cmocka_unit_test(test_expand_nonsense),
		cmocka_unit_test(test_targets), cmocka_unit_test(test_facts),
		cmocka_unit_test(test_slice), cmocka_unit_test(test_slice_range),
		cmocka_unit_test(test_verify), cmocka_unit_test(test_count),
		cmocka_unit_test(test_result_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
