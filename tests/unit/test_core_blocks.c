/* SPDX-License-Identifier: MIT */
/* The core takes blocks as they are, and says the same as if they had been expanded: of streams
 * that take turns, blocks that were cut, instructions that refer to memory more often than an
 * operation can, and events that stand where a block is open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../oracle/random.h"
#include "analyse/core_work.h"
#include "base/mem.h"
#include "base/result.h"

#define STREAMS	3
#define BLOCKS	60
#define INSNS	(BLOCKS * 40 + CORE_GATHER + 500)

struct made {
	struct pm_insn insn[INSNS];
	struct pm_block block[BLOCKS];
	struct pm_object object;
	struct pm_code code;
};

static void add_insn(struct made *m, uint64_t pc, bool last, uint64_t x)
{
	static const struct { uint8_t len, bytes[7], flow; } body[] = {
		{ 3, { 0x48, 0x01, 0xd8 }, 0 },				/* add rax, rbx */
		{ 4, { 0x48, 0x8b, 0x4d, 0xf8 }, 0 },			/* mov rcx, [rbp - 8] */
		{ 4, { 0x48, 0x0f, 0xaf, 0xc1 }, 0 },			/* imul rax, rcx */
		{ 3, { 0x48, 0xf7, 0xf3 }, 0 },				/* div rbx */
		{ 1, { 0x53 }, 0 },					/* push rbx */
		{ 7, { 0x48, 0x89, 0x84, 0x24, 0x10, 0, 0 }, 0 },
		{ 2, { 0xf3, 0xa4 }, 0 },				/* rep movsb */
		{ 2, { 0x0f, 0xa2 }, 0 },				/* cpuid */
	}, end[] = {
		{ 2, { 0x75, 0x10 }, PM_CLASS_COND }, { 5, { 0xe8, 0x40 }, PM_CLASS_CALL },
		{ 1, { 0xc3 }, PM_CLASS_RET }, { 2, { 0xff, 0xe0 }, PM_CLASS_JUMP_IND },
		{ 2, { 0xeb, 0x20 }, PM_CLASS_JUMP }, { 2, { 0x0f, 0x05 }, PM_CLASS_SYSCALL },
		{ 3, { 0x48, 0x01, 0xd8 }, PM_CLASS_NONE },
	};
	struct pm_insn *in = m->insn + m->code.ninsn++;
	const unsigned b = x % 97 ? x % (NR(body) - 2) : 6 + (x >> 20) % 2, e = x % NR(end);

	*in = (struct pm_insn){
		.pc = pc, .len = last ? end[e].len : body[b].len,
		.flow = last ? end[e].flow : body[b].flow, .isa = PM_ISA_X86_64
	};
	memcpy(in->bytes, last ? end[e].bytes : body[b].bytes, in->len);
}

static struct made *make_code(struct o_random *r)
{
	struct made *m = pm_alloc(sizeof *m);
	uint64_t pc = 0x401000;

	m->object = (struct pm_object){ "program", NULL, 0, 0x400000, 0x500000 };
	m->code = (struct pm_code){
		.insn = m->insn, .block = m->block, .object = &m->object, .nobject = 1
	};
	for (unsigned i = 0; i < BLOCKS; i++) {
		const uint64_t x = o_rnd(r);
		const unsigned n = i == BLOCKS / 2 ? CORE_GATHER + 300 : 1 + x % (x & 256 ? 5 : 40);

		pc += x >> 32 & (x & 512 ? 0 : 127);
		m->block[i] = (struct pm_block){ pc, m->code.ninsn, n };
		for (unsigned k = 0; k < n; k++) {
			add_insn(m, pc, k + 1 == n, o_rnd(r));
			pc += m->insn[m->code.ninsn - 1].len;
		}
		m->code.nblock++;
	}
	return m;
}

struct stream { uint32_t block; uint32_t size, slot; };

static struct pm_event reference(struct o_random *r, struct stream *s)
{
	static const uint8_t kinds[] = { PM_EV_READ, PM_EV_READ, PM_EV_WRITE, PM_EV_MODIFY,
					 PM_EV_REP_ITER, PM_EV_REP_END };
	const uint64_t x = o_rnd(r);

	if (x % 3 == 0)
		s->slot += 1 + (x >> 8) % 4;
	if (s->slot >= s->size)
		s->slot = s->size - 1;
	return (struct pm_event){
		.kind = kinds[(x >> 16) % NR(kinds)], .flags = x & 1 << 20 ? PM_REF_STACK : 0,
		.size = 1 << (x >> 24) % 8, .id = (x >> 32) % 100 ? s->slot : PM_NONE,
		.addr = 0x7f0000 + (o_rnd(r) & (x & 1 << 21 ? 0xfffff : 0x3ff)),
	};
}

static struct pm_event other(struct o_random *r, const struct made *m, struct stream *s)
{
	static const uint8_t kinds[] = { PM_EV_SIGNAL, PM_EV_INTERRUPT, PM_EV_INSN, PM_EV_EXIT,
		PM_EV_EXEC, PM_EV_SIGRETURN, PM_EV_LOST, PM_EV_REG_READ, PM_EV_SYSCALL,
		PM_EV_MARKER, PM_EV_BRANCH, PM_EV_OPAQUE, PM_EV_TIME, PM_EV_READ };
	const uint32_t insn = o_rnd(r) % m->code.ninsn;
	struct pm_event e = { .kind = kinds[o_rnd(r) % NR(kinds)], .id = PM_NONE };

	if (e.kind == PM_EV_OPAQUE)
		e.flags = o_rnd(r) & 1 ? PM_OPAQUE_INSIDE : 0;
	if (e.kind == PM_EV_INSN || e.kind == PM_EV_BRANCH) {
		e.id = insn;
		e.size = m->insn[insn].len;
		e.flags = e.kind == PM_EV_BRANCH ? PM_BR_COND | (o_rnd(r) & 1) : 0;
		s->block = PM_NONE;
	}
	e.addr = m->insn[insn].pc;
	e.value = m->insn[o_rnd(r) % m->code.ninsn].pc;
	return e;
}

/* The next event of a stream. Often the same few blocks in a row: branches are learnt then. */
static struct pm_event next_event(struct o_random *r, const struct made *m, struct stream *s)
{
	const uint64_t x = o_rnd(r);
	const struct pm_block *b;

	if (x % 300 == 0)
		return other(r, m, s);
	if (s->block != PM_NONE && x % 3)
		return reference(r, s);
	s->block = x & 256 ? (s->block + 1) % BLOCKS : (x >> 32) % BLOCKS;
	if (s->block == BLOCKS / 2 && x >> 40 & 7)
		s->block = 0;
	b = m->block + s->block;
	s->size = b->n;
	s->slot = 0;
	return (struct pm_event){ .kind = PM_EV_BLOCK, .id = s->block, .addr = b->pc,
				  .value = (x >> 16) % 50 ? b->n : (x >> 24) % (b->n + 1) };
}

static void as_expanded(uint64_t seed, const char *config)
{
	struct o_random r = o_random_init(seed);
	struct made *m = make_code(&r);
	struct pm_sink_ops plain = pm_sim_core;
	struct pm_result *result[2] = { pm_result_new(), pm_result_new() };
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_buf text[2] = { { 0 } };
	struct stream stream[STREAMS];
	struct pm_stream said[STREAMS] = { { 0 } };
	struct pm_event ev[3000];
	struct pm_err each[2] = { 0 };
	struct pm_err err = { 0 };

	plain.flags &= ~(uint32_t)PM_SINK_BLOCKS;
	pm_pipeline_sink(p, &pm_sim_core, pm_sim_core.create(config, &err));
	pm_pipeline_sink(p, &plain, plain.create(config, &err));
	for (unsigned i = 0; i < STREAMS; i++) {
		stream[i] = (struct stream){ PM_NONE, 0, 0 };
		said[i].index = i;
	}
	assert_int_equal(pm_pipeline_start(p, PM_HAS_BLOCKS | PM_HAS_INSNS | PM_HAS_REFS |
					   PM_HAS_BRANCHES | PM_HAS_BYTES, "made", &err), PM_OK);
	for (unsigned i = 0; i < 60; i++) {
		const unsigned which = o_rnd(&r) % STREAMS,
			       n = o_rnd(&r) & 1 ? o_rnd(&r) % 20 : o_rnd(&r) % NR(ev);
		const struct pm_batch b = { .stream = said + which, .code = &m->code, .ev = ev,
					    .n = n };

		for (unsigned k = 0; k < n; k++)
			ev[k] = next_event(&r, m, stream + which);
		assert_int_equal(pm_pipeline_push(p, &b, &err), PM_OK);
	}
	assert_int_equal(pm_pipeline_finish_each(p, result, each, &err), PM_OK);
	for (unsigned i = 0; i < 2; i++) {
		pm_result_json(result[i], text + i);
		*pm_buf_more(text + i, 1) = 0;
		pm_result_free(result[i]);
	}
	assert_true(text[0].n > 2000);
	assert_string_equal(text[0].p, text[1].p);
	pm_buf_release(text);
	pm_buf_release(text + 1);
	pm_pipeline_free(p);
	free(m);
}

static void test_as_expanded(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		as_expanded(seed, "preset=big;byinsn;topdown");
		as_expanded(seed + 100, "preset=small;l1i=2k,2way;l1d=2k,2way;byinsn");
		as_expanded(seed + 200, "preset=zen4;fdip=6;topdown");
	}
}

static void test_errors(void **state)
{
	(void)state;
	struct o_random r = o_random_init(1);
	struct made *m = make_code(&r);
	const struct pm_stream stream = { 0 };
	const uint32_t n = m->block[3].n;
	const struct { struct pm_event ev; const char *says; } wrong[] = {
		{ { .kind = PM_EV_BLOCK, .id = BLOCKS }, "block number 60 is not in the code" },
		{ { .kind = PM_EV_BLOCK, .id = 3, .value = n + 1 }, "block 3 executed" },
		{ { .kind = PM_EV_READ, .id = n }, "of block 3, which has" },
	};

	for (size_t i = 0; i < NR(wrong); i++) {
		const struct pm_event ev[] = {
			{ .kind = PM_EV_BLOCK, .id = 3, .addr = m->block[3].pc, .value = n },
			wrong[i].ev
		};
		const struct pm_batch b = { .stream = &stream, .code = &m->code, .ev = ev, .n = 2 };
		struct pm_err err = { 0 };
		void *s = pm_sim_core.create("", &err);

		assert_int_equal(pm_sim_core.consume(s, &b, &err), PM_ERR);
		assert_non_null(strstr(err.msg, wrong[i].says));
		pm_sim_core.destroy(s);
	}
	free(m);
}

/* Micro-ops of all blocks once, of code tables @first to before @end. */
static uint64_t uops_of(struct made *const *m, unsigned first, unsigned end)
{
	struct pm_err err = { 0 };
	struct core_sink *s = pm_sim_core.create("", &err);
	uint64_t uops;

	for (unsigned i = first; i < end; i++) {
		const struct pm_stream stream = { .index = i };
		struct pm_event ev[BLOCKS];
		const struct pm_batch b = { .stream = &stream, .code = &m[i]->code, .ev = ev,
					    .n = BLOCKS };

		for (unsigned k = 0; k < BLOCKS; k++)
			ev[k] = (struct pm_event){ .kind = PM_EV_BLOCK, .id = k,
						   .addr = m[i]->block[k].pc,
						   .value = m[i]->block[k].n };
		assert_int_equal(pm_sim_core.consume(s, &b, &err), PM_OK);
	}
	assert_int_equal(pm_sim_core.finish(s, NULL, &err), PM_OK);
	uops = pm_core_stats(s->k)->uops;
	pm_sim_core.destroy(s);
	return uops;
}

/* Traces that are simulated together have code tables of their own. */
static void test_code_tables(void **state)
{
	(void)state;
	struct o_random r = o_random_init(7);
	struct made *m[] = { make_code(&r), make_code(&r) };

	assert_int_equal(uops_of(m, 0, 2), uops_of(m, 0, 1) + uops_of(m, 1, 2));
	free(m[0]);
	free(m[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_expanded),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_code_tables),
	};

	return cmocka_run_group_tests_name("core_blocks", tests, NULL, NULL);
}
