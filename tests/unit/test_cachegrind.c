/* SPDX-License-Identifier: MIT */
/* cachegrind's rules against a twin of lists searched from the front and tables searched in
 * full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../oracle/random.h"
#include "../oracle/stack_slow.h"
#include "analyse/cachegrind.h"
#include "base/mem.h"
#include "real_trace.h"
#include "trace/chain.h"
#include "trace/pipeline.h"

static enum pm_status plain_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	(void)err;
	pm_cg_events(self, b->ev, b->n);
	return PM_OK;
}

static enum pm_status plain_finish(void *self, struct pm_result *r, struct pm_err *err)
{
	(void)self;
	(void)r;
	(void)err;
	return PM_OK;
}

static void plain_destroy(void *self)
{
	(void)self;
}

/* takes the trace expanded */
static const struct pm_sink_ops plain_ops = { .abi = PM_ABI, .needs = PM_HAS_INSNS, .name = "plain",
	.consume = plain_consume, .finish = plain_finish, .destroy = plain_destroy };

struct slow { struct o_lru *set; struct pm_cg_cache c; };

static bool slow_miss(struct slow *s, uint64_t addr, unsigned size)
{
	uint64_t sets = s->c.size / s->c.line / s->c.ways;
	bool m = false;

	for (uint64_t l = addr / s->c.line; l <= (addr + size - 1) / s->c.line; l++)
		m |= o_lru_touch(s->set + l % sets, l, s->c.ways) < 0;
	return m;
}

static void check(const struct pm_cg_cache c[3], uint64_t seed, uint64_t span, size_t n)
{
	struct o_random r = o_random_init(seed);
	struct pm_event *ev = seed ? malloc(n * sizeof *ev) : real_events(n, &n);
	struct pm_cg *g = pm_cg_new(c);
	struct slow s[3];
	uint64_t v[PM_CG_COUNT] = { 0 }, fast[PM_CG_COUNT], pc = 0x401000, last[512] = { 0 },
	sum = 0;
	static uint8_t counter[128][128];
	bool past[7] = { false }, began = false;
	const struct pm_cg_insn *in;
	size_t nin;

	memset(counter, 0, sizeof counter);
	for (int k = 0; k < 3; k++) {
		s[k].c = c[k];
		s[k].set = calloc(c[k].size / c[k].line / c[k].ways, sizeof *s[k].set);
	}
	for (size_t i = 0; i < n; i++) {
		struct pm_event *e = ev + i;
		bool m, taken;
		uint64_t x = o_rnd(&r);

		if (seed)
			*e = o_random_ref(&r, span);
		if (seed && began && x % 8 == 0) {
			*e = (struct pm_event){ PM_EV_BRANCH,
						x & 64 ? PM_BR_COND | (x & 128 ? PM_BR_TAKEN : 0)
						       : PM_BR_INDIRECT | PM_BR_TAKEN |
								 (x & 256 ? PM_BR_RET : 0),
						4,
						PM_NONE,
						pc,
						0x500000 + (x >> 20 & 3) * 64 };
		}
		taken = e->flags & PM_BR_TAKEN;
		if (e->kind == PM_EV_INSN) {
			began = true;
			pc = e->addr;
			v[PM_CG_Ir]++;
			m = slow_miss(s, e->addr, e->size);
			v[PM_CG_I1mr] += m;
			v[PM_CG_ILmr] += m && slow_miss(s + 2, e->addr, e->size);
		} else if (!began) {
			continue;
		} else if (e->kind == PM_EV_READ || e->kind == PM_EV_MODIFY) {
			v[PM_CG_Dr]++;
			m = slow_miss(s + 1, e->addr, e->size);
			v[PM_CG_D1mr] += m;
			v[PM_CG_DLmr] += m && slow_miss(s + 2, e->addr, e->size);
		} else if (e->kind == PM_EV_WRITE) {
			v[PM_CG_Dw]++;
			m = slow_miss(s + 1, e->addr, e->size);
			v[PM_CG_D1mw] += m;
			v[PM_CG_DLmw] += m && slow_miss(s + 2, e->addr, e->size);
		} else if (e->kind != PM_EV_BRANCH) {
			continue;
		} else if (e->flags & PM_BR_COND) {
			unsigned h = 0;
			uint8_t *k;

			for (int j = 0; j < 7; j++)
				h += past[j] << j;
			k = &counter[h][e->addr % 128];
			v[PM_CG_Bc]++;
			v[PM_CG_Bcm] += (*k > 1) != taken;
			if (taken && *k < 3)
				++*k;
			if (!taken && *k > 0)
				--*k;
			memmove(past + 1, past, 6);
			past[0] = taken;
		} else if (e->flags & PM_BR_INDIRECT && !(e->flags & PM_BR_RET)) {
			v[PM_CG_Bi]++;
			v[PM_CG_Bim] += last[e->addr % 512] != e->value;
			last[e->addr % 512] = e->value;
		}
	}
	for (size_t i = 0; i < n; i += 1234)
		pm_cg_events(g, ev + i, n - i < 1234 ? n - i : 1234);
	pm_cg_totals(g, fast);
	for (int k = 0; k < PM_CG_COUNT; k++)
		if (fast[k] != v[k])
			fail_msg("event %d: %llu, slow %llu", k, (unsigned long long)fast[k],
				 (unsigned long long)v[k]);
	in = pm_cg_insns(g, &nin);
	for (size_t i = 0; i < nin; i++)
		sum += in[i].v[PM_CG_Ir];
	assert_int_equal(sum, v[PM_CG_Ir]);
	pm_cg_free(g);
	for (int k = 0; k < 3; k++) {
		for (uint64_t j = 0; j < c[k].size / c[k].line / c[k].ways; j++)
			free(s[k].set[j].v);
		free(s[k].set);
	}
	free(ev);
}

static void test_twin(void **state)
{
	static const struct pm_cg_cache c[][3] = {
		{ { 32768, 8, 64 }, { 32768, 8, 64 }, { 1 << 20, 16, 64 } },
		{ { 4096, 2, 32 }, { 8192, 4, 32 }, { 65536, 4, 64 } },
		{ { 512, 1, 16 }, { 1024, 64, 16 }, { 4096, 8, 32 } },
	};

	(void)state;
	for (size_t i = 0; i < NR(c); i++) {
		check(c[i], i + 1, 30000, 300000);
		check(c[i], i + 20, 3000000, 300000);
		check(c[i], 0, 0, 400000);	/* a real program */
	}
}

/* Blocks and packed batches are tried with each. */
static const struct pm_cg_cache caches[][3] = {
	{ { 2048, 2, 32 }, { 2048, 2, 32 }, { 16384, 4, 64 } },
	{ { 256, 1, 16 }, { 512, 32, 16 }, { 4096, 4, 32 } },
	{ { 32768, 8, 64 }, { 32768, 8, 64 }, { 1 << 18, 8, 64 } },
};

/* Blocks taken as they are count what the expanded trace counts, instruction by instruction. */
#define NBLOCK 200

static void test_blocks(void **state)
{
	(void)state;
	for (size_t k = 0; k < NR(caches); k++) {
		struct o_random r = o_random_init(k + 77);
		struct pm_insn *insn = calloc(NBLOCK * 12, sizeof *insn);
		struct pm_block block[NBLOCK];
		struct pm_code code = { insn, block, NULL, 0, NBLOCK, 0 };
		struct pm_stream stream = { .index = 1 };
		struct pm_cg *g[2] = { pm_cg_new(caches[k]), pm_cg_new(caches[k]) };
		struct pm_event *ev = malloc(400000 * sizeof *ev);
		struct pm_pipeline *p = pm_pipeline_new();
		uint64_t v[2][PM_CG_COUNT], pc = 0x400000;
		const struct pm_cg_insn *in[2];
		struct pm_err err = { 0 };
		size_t n = 0, m[2];

		for (unsigned b = 0; b < NBLOCK; b++) {
			block[b] = (struct pm_block){ pc, code.ninsn, 1 + o_rnd(&r) % 12 };
			for (unsigned i = 0; i < block[b].n; i++, pc += insn[code.ninsn++].len)
				insn[code.ninsn] = (struct pm_insn){
					.pc = pc,
					.len = 1 + o_rnd(&r) % 11,
					.flow = i + 1 < block[b].n ? PM_CLASS_NONE : o_rnd(&r) % 7
				};
			if (o_rnd(&r) % 3 == 0)
				pc += o_rnd(&r) % 100;
		}
		while (n < 399000) {
			unsigned id = o_rnd(&r) % 4 ? o_rnd(&r) % 10 : o_rnd(&r) % NBLOCK, slot = 0;
			unsigned done = o_rnd(&r) % 50 ? block[id].n
						       : o_rnd(&r) % (block[id].n + 1);

			ev[n++] = (struct pm_event){ PM_EV_BLOCK, 0, 0, id, block[id].pc, done };
			while (slot < done && o_rnd(&r) % 3) {
				struct pm_event e;

				do
					e = o_random_ref(&r, 30000);
				while (e.kind == PM_EV_INSN);
				slot += o_rnd(&r) % (done - slot);
				e.id = slot;
				ev[n++] = e;
			}
			if (o_rnd(&r) % 200 == 0)
				ev[n++] = (struct pm_event){ PM_EV_SIGNAL,     0, 0, PM_NONE,
							     block[id].pc + 1, 11 };
			if (o_rnd(&r) % 300 == 0)
				ev[n++] = (struct pm_event){ PM_EV_SIGRETURN, 0, 0, PM_NONE, 0, 0 };
		}
		/* the same trace through the expander */
		pm_pipeline_sink(p, &plain_ops, g[1]);
		assert_int_equal(pm_pipeline_start(p, PM_HAS_BLOCKS | PM_HAS_INSNS | PM_HAS_REFS,
						   "these", &err),
				 PM_OK);
		for (size_t i = 0, c = 1; i < n; i += c, c = c * 7 % 4093) {
			struct pm_batch b = { .stream = &stream, .code = &code, .ev = ev + i };

			b.n = c = c > n - i ? n - i : c;
			assert_int_equal(pm_cg_batch(g[0], &b, &err), PM_OK);
			assert_int_equal(pm_pipeline_push(p, &b, &err), PM_OK);
		}
		assert_int_equal(pm_pipeline_finish(p, NULL, &err), PM_OK);
		pm_cg_end(g[0]);
		for (int j = 0; j < 2; j++) {
			pm_cg_totals(g[j], v[j]);
			in[j] = pm_cg_insns(g[j], m + j);
		}
		for (int e = 0; e < PM_CG_COUNT; e++)
			if (v[0][e] != v[1][e])
				fail_msg("caches %zu event %d: %llu as blocks, %llu expanded", k, e,
					 (unsigned long long)v[0][e], (unsigned long long)v[1][e]);
		assert_true(v[0][PM_CG_Bc] > 1000 && v[0][PM_CG_Bi] > 1000);
		assert_int_equal(m[0], m[1]);
		for (size_t i = 0; i < m[0]; i++)
			for (size_t j = 0; j < m[1]; j++)
				if (in[0][i].pc == in[1][j].pc)
					assert_memory_equal(in[0] + i, in[1] + j, sizeof *in[0]);
		pm_pipeline_free(p);
		pm_cg_free(g[0]);
		pm_cg_free(g[1]);
		free(ev);
		free(insn);
	}
}

/* Packed batches, with all references and with those only that are not to the newest line of a set,
 * count what the same trace counts unpacked. */
#define NCHAIN 60

struct packed_code {
	struct pm_insn insn[NBLOCK * 12];
	struct pm_block block[NBLOCK];
	struct pm_chain chain[NCHAIN];
	struct pm_chain_part part[NCHAIN * 4];
	struct pm_chain_ref ref[NCHAIN * 4 * 12 * 2];
};

static struct pm_code random_chains(struct o_random *r, struct packed_code *c)
{
	static const uint8_t kinds[] = { PM_EV_READ, PM_EV_WRITE, PM_EV_MODIFY };
	struct pm_code code = { c->insn, c->block, NULL, 0, NBLOCK, 0 };
	uint64_t pc = 0x400000;
	uint32_t nref = 0;

	for (unsigned b = 0; b < NBLOCK; b++) {
		c->block[b] = (struct pm_block){ pc, code.ninsn, 1 + o_rnd(r) % 12 };
		for (unsigned i = 0; i < c->block[b].n; i++, pc += c->insn[code.ninsn++].len)
			c->insn[code.ninsn] = (struct pm_insn){ .pc = pc, .len = 1 + o_rnd(r) % 11,
				.flow = i + 1 < c->block[b].n ? PM_CLASS_NONE : o_rnd(r) % 7 };
		if (o_rnd(r) % 3 == 0)
			pc += o_rnd(r) % 100;
	}
	for (unsigned k = 0; k < NCHAIN; k++) {
		struct pm_chain *to = c->chain + k;

		*to = (struct pm_chain){ .part = k * 4, .npart = 1 + o_rnd(r) % 4, .ref = nref };
		for (unsigned j = 0; j < to->npart; j++) {
			struct pm_chain_part *part = c->part + to->part + j;
			const struct pm_block *b;

			*part = (struct pm_chain_part){ .block = o_rnd(r) % NBLOCK };
			b = c->block + part->block;
			for (unsigned i = 0; i < b->n; i++)
				while (o_rnd(r) % 3 == 0 && part->nref < 24) {
					c->ref[nref++] = (struct pm_chain_ref){ b->insn + i,
										1u << o_rnd(r) % 7,
										kinds[o_rnd(r) % 3],
										0 };
					part->nref++;
				}
			to->nref += part->nref;
		}
		to->pc = c->block[c->part[to->part].block].pc;
	}
	return code;
}

static enum pm_status unpacked(void *g, const struct pm_batch *b, struct pm_err *err)
{
	return pm_cg_batch(g, b, err);
}

static void test_packed(void **state)
{
	(void)state;
	for (size_t k = 0; k < NR(caches); k++) {
		struct o_random r = o_random_init(k + 177);
		struct packed_code *c = calloc(1, sizeof *c);
		struct pm_code code = random_chains(&r, c);
		struct pm_stream stream = { .index = 0 };
		struct pm_cg *g[2] = { pm_cg_new(caches[k]), pm_cg_new(caches[k]) };
		struct pm_unpacker *u = pm_unpacker_new();
		uint64_t v[2][PM_CG_COUNT];
		struct pm_err err = { 0 };

		for (unsigned n = 0; n < 300; n++) {
			static uint32_t id[2000];
			static uint64_t all[2000 * 100];
			static struct pm_event ev[8000];
			struct pm_packed p = { .chains = { c->chain, c->part, c->ref, NCHAIN },
				.id = id, .addr = all };
			struct pm_batch b = { .stream = &stream, .code = &code, .ev = ev };

			while (p.n < 1000 && o_rnd(&r) % 500) {
				if (o_rnd(&r) % 20) {
					uint32_t x = o_rnd(&r) % 4 ? o_rnd(&r) % 6
								   : o_rnd(&r) % NCHAIN;

					id[p.n++] = x;
					for (uint32_t i = c->chain[x].ref;
					     i < c->chain[x].ref + c->chain[x].nref; i++) {
						uint64_t addr = 0x10000 +
								o_rnd(&r) % (o_rnd(&r) % 3 ? 700
											   : 40000);

						all[p.nref++] = addr;
					}
				} else {	/* a block of which not all is executed, or a
						 * signal */
					uint32_t x = o_rnd(&r) % NBLOCK,
						 done = o_rnd(&r) % (c->block[x].n + 1);
					uint64_t addr = 0x10000 + o_rnd(&r) % 5000;

					id[p.n++] = PM_CHAIN_EVENTS | (done ? 3 : 2);
					ev[b.n++] = (struct pm_event){ PM_EV_BLOCK,    0,   0, x,
								       c->block[x].pc, done };
					if (done) {
						ev[b.n++] = (struct pm_event){
							PM_EV_READ, 0, 8, done - 1, addr, 0
						};
					}
					ev[b.n++] = (struct pm_event){
						o_rnd(&r) % 2 ? PM_EV_SIGNAL : PM_EV_SIGRETURN,
						0,
						0,
						PM_NONE,
						c->block[x].pc + 1,
						11
					};
				}
			}
			assert_int_equal(pm_unpack(u, &b, &p, &(struct pm_emit){ unpacked, g[0] },
						   &err),
					 PM_OK);
			assert_int_equal(pm_cg_packed(g[1], &b, &p, &err), PM_OK);
		}
		for (int j = 0; j < 2; j++) {
			pm_cg_end(g[j]);
			pm_cg_totals(g[j], v[j]);
		}
		for (int j = 1; j < 2; j++) {
			size_t m[2];
			const struct pm_cg_insn *in[2] = { pm_cg_insns(g[0], m),
				pm_cg_insns(g[j], m + 1) };

			for (int e = 0; e < PM_CG_COUNT; e++)
				if (v[0][e] != v[j][e])
					fail_msg("caches %zu event %d: %llu unpacked, %llu packed",
						 k, e, (unsigned long long)v[0][e],
						 (unsigned long long)v[j][e]);
			assert_int_equal(m[0], m[1]);
			for (size_t i = 0; i < m[0]; i++)
				for (size_t q = 0; q < m[1]; q++)
					if (in[0][i].pc == in[1][q].pc)
						assert_memory_equal(in[0] + i, in[1] + q,
								    sizeof *in[0]);
		}
		assert_true(v[0][PM_CG_Bc] > 1000 && v[0][PM_CG_Bi] > 1000 &&
			    v[0][PM_CG_DLmr] > 100);
		for (int j = 0; j < 2; j++)
			pm_cg_free(g[j]);
		pm_unpacker_free(u);
		free(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_twin),
					    cmocka_unit_test(test_blocks),
					    cmocka_unit_test(test_packed) };

	return cmocka_run_group_tests_name("cachegrind", tests, NULL, NULL);
}
