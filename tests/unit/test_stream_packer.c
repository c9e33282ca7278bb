/* SPDX-License-Identifier: MIT */
/* The words of an x86 guest's plug-in are the same events whether batches are packed or not: blocks
 * as ever, cut ones, other references than before, rep instructions, interrupts, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collect/qemu/stream.h"
#include "collect/qemu/stream_reader.h"
#include "trace/chain.h"

#define NBLOCK	40u
#define STEPS	4000u

static uint64_t state;

static uint32_t below(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

/* ---- sinks ----------------------------------------------------------------------------------- */

struct seen {
	uint64_t hash, n, chains;
};

static enum pm_status hash_events(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct seen *s = self;

	(void)err;
	for (size_t i = 0; i < b->n; i++) {
		uint64_t w[sizeof b->ev[i] / 8];

		memcpy(w, b->ev + i, sizeof w);
		for (size_t k = 0; k < NR(w); k++) {
			s->hash = (s->hash ^ w[k]) * 0x9e3779b97f4a7c15u;
			s->hash ^= s->hash >> 29;
		}
		s->n++;
	}
	return PM_OK;
}

static const struct pm_sink_ops hash_ops = {
	.abi = PM_ABI, .name = "hash", .flags = PM_SINK_BLOCKS, .consume = hash_events,
};

static enum pm_status no_events(void *self, const struct pm_batch *b, struct pm_err *err)
{
	(void)self;
	(void)b;
	(void)err;
	return PM_OK;
}

static enum pm_status count_chains(void *self, const struct pm_batch *b, const struct pm_packed *k,
				   struct pm_err *err)
{
	struct seen *s = self;
	size_t events = 0;

	(void)err;
	for (size_t i = 0; i < k->n; i++) {
		if (k->id[i] & PM_CHAIN_EVENTS)
			events += k->id[i] & ~PM_CHAIN_EVENTS;
		else
			s->chains++;
	}
	assert_int_equal(events, b->n);
	return PM_OK;
}

static const struct pm_chain_sink_ops chain_ops = {
	.ops = { .abi = PM_ABI, .name = "chains", .flags = PM_SINK_BLOCKS | PM_SINK_CHAINS,
		 .consume = no_events },
	.packed = count_chains,
};

/* ---- a guest --------------------------------------------------------------------------------- */

struct guest {
	uint64_t *w;
	size_t n, cap;
	uint64_t pc[NBLOCK + 1];
	uint32_t insns[NBLOCK];
	uint16_t tag[NBLOCK][6];
	unsigned nref[NBLOCK];
};

static void put(struct guest *g, uint64_t w)
{
	pm_grow(g->w, g->n, g->cap);
	g->w[g->n++] = w;
}

/* nops that lead to the next block; every fifth ends in ret, every seventh in rep stosb. */
static void define(struct guest *g, uint32_t i)
{
	const uint32_t n = g->insns[i] = 1 + below(5);
	const bool ret = i % 5 == 4 || i == NBLOCK - 1, rep = !ret && i % 7 == 3;
	uint8_t len[8] = { 0 }, code[8] = { 0 };

	memset(len, 1, n);
	memset(code, 0x90, n);
	if (ret)
		code[n - 1] = 0xc3;
	if (rep) {
		len[n - 1] = 2;
		memcpy(code + n - 1, "\xf3\xaa", 2);
	}
	put(g, qs_record(QS_DEFINE, 6, i));
	put(g, g->pc[i]);
	put(g, n | 1u << 16);
	put(g, QS_NOWHERE);
	put(g, QS_NOWHERE);
	put(g, 0);
	memcpy(g->w + g->n - 1, len, 8);
	put(g, 0);
	memcpy(g->w + g->n - 1, code, 8);
	g->pc[i + 1] = g->pc[i] + n + rep;
	g->nref[i] = below(NR(g->tag[i]));
	for (unsigned k = 0; k < g->nref[i]; k++)
		g->tag[i][k] = (uint16_t)(below(n) << QS_SLOT_SHIFT |
					  below(4) << QS_SIZE_SHIFT | below(2) * QS_WRITE);
}

static void reference(struct guest *g, uint16_t tag)
{
	const uint64_t addr = 0x7000 + below(1u << 20);

	if (below(50)) {
		put(g, tag | (below(60) ? 0 : QS_DEVICE) | addr << QS_ADDR_SHIFT);
		return;
	}
	put(g, qs_record(QS_WIDE_REF, 2, 0));
	put(g, tag);
	put(g, addr | 1ull << 60);
}

/* Block @i begins; the next one. */
static uint32_t step(struct guest *g, uint32_t i)
{
	put(g, QS_BLOCK | (uint64_t)i << 32);
	for (unsigned k = 0; k < g->nref[i]; k++)
		if (below(40))
			reference(g, g->tag[i][k]);
	if (!below(60))
		reference(g, 0);
	if (!below(80)) {
		put(g, qs_record(QS_AGAIN, 2, i));
		put(g, 0);
		put(g, 0xfee00000);
	}
	if (!below(50)) {
		put(g, qs_record(QS_INTERRUPT, 1, below(2) ? 14 : 48));
		put(g, g->pc[i] + below(g->insns[i] + 1));
		return below(NBLOCK);
	}
	if (!below(90)) {
		put(g, qs_record(QS_SPACE, 1, 0));
		put(g, (uint64_t)below(9) << 12);
	}
	return i % 5 == 4 || i == NBLOCK - 1 || !below(70) ? below(NBLOCK) : i + 1;
}

static void make_guest(struct guest *g)
{
	g->pc[0] = 0x401000;
	for (uint32_t i = 0; i < NBLOCK; i++)
		define(g, i);
	for (uint32_t i = 0, n = 0; n < STEPS; n++)
		i = step(g, i);
}

/* ---- both ways ------------------------------------------------------------------------------- */

static size_t record_words(const uint64_t *w)
{
	return (*w & 3) == QS_RECORD ? 1 + qs_words(*w) : 1;
}

static struct seen read_all(const struct guest *g, bool packed, size_t each, uint64_t limit,
			    struct qs_totals *t)
{
	struct pm_pipeline *p = pm_pipeline_new();
	struct seen s = { 0 };
	struct pm_err err = { 0 };
	enum pm_status st = PM_OK;
	struct qs_reader *r;

	if (packed)
		pm_pipeline_sink(p, &chain_ops.ops, &s);
	pm_pipeline_sink(p, &hash_ops, &s);
	assert_int_equal(pm_pipeline_start(p, QS_FACTS, "words", &err), PM_OK);
	r = qs_reader_new(p, limit);
	for (size_t i = 0, n; st == PM_OK && i < g->n; i += n) {
		for (n = 0; i + n < g->n && n < each; )
			n += record_words(g->w + i + n);
		st = qs_read(r, g->w + i, n, &err);
	}
	assert_int_not_equal(st, PM_ERR);
	assert_int_equal(qs_reader_finish(r, &err), PM_OK);
	assert_int_equal(pm_pipeline_finish(p, NULL, &err), PM_OK);
	*t = *qs_reader_totals(r);
	pm_pipeline_free(p);
	qs_reader_free(r);
	return s;
}

static void test_same_events(void **unused)
{
	uint64_t chains = 0, events = 0;

	(void)unused;
	for (unsigned seed = 0; seed < 60; seed++) {
		struct guest g = { 0 };
		struct qs_totals t[2];
		struct seen a, b;
		uint64_t limit;
		size_t each;

		state = seed;
		make_guest(&g);
		each = seed % 3 ? 1 + below(200) : 100000;
		limit = seed % 4 ? 0 : 1 + below(2 * STEPS);
		a = read_all(&g, false, each, limit, &t[0]);
		b = read_all(&g, true, each, limit, &t[1]);
		assert_int_equal(a.n, b.n);
		assert_true(a.hash == b.hash);
		assert_memory_equal(&t[0], &t[1], sizeof t[0]);
		assert_int_equal(a.chains, 0);
		chains += b.chains;
		events += b.n;
		free(g.w);
	}
	/* not for want of chains */
	assert_true(chains > events / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_same_events) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
