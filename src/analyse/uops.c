/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/conf.h"
#include "analyse/uops.h"
#include "base/mem.h"
#include "base/number.h"

enum { BINS = 66 };

struct uops_counts {
	uint64_t uops, macros, bytes;
	uint64_t bin[BINS];
	uint64_t load, store, uncond, cond;
	uint64_t pairs, branches;
	uint64_t bits;			/* brdist: offset bits of the instruction set to cost */
	/* by stream: what the micro-op before was */
	struct last { uint32_t n; uint8_t flag_use; } *last;
	size_t nlast;
};

static void *create(const char *config, struct pm_err *err)
{
	if (*config) {
		pm_fail_request(err,
				"uops, isize, mix, fusion: '%s' is not a setting; there are none",
			     config);
		return NULL;
	}
	return pm_alloc(sizeof(struct uops_counts));
}

static void destroy(void *self)
{
	if (self)
		free(((struct uops_counts *)self)->last);
	free(self);
}

static struct last *last_of(struct uops_counts *c, uint32_t stream)
{
	if (stream >= c->nlast) {
		size_t n = stream + 8;

		c->last = pm_realloc(c->last, n * sizeof *c->last);
		memset(c->last + c->nlast, 0, (n - c->nlast) * sizeof *c->last);
		c->nlast = n;
	}
	return &c->last[stream];
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void bin(struct uops_counts *c, uint64_t at)
{
	c->bin[at < BINS ? at : BINS - 1]++;
}

/* ---- uops: how many micro-ops a macro-op has, is known when the next one begins ------------- */

static enum pm_status uops_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct uops_counts *c = self;
	struct last *l = last_of(c, b->stream->index);

	for (size_t i = 0; i < b->nuop; i++) {
		if (b->uop[i].index == 1) {
			if (l->n)
				bin(c, l->n);
			l->n = 0;
			c->macros++;
		}
		l->n++;
	}
	c->uops += b->nuop;
	return PM_OK;
}

static void put_bins(struct pm_result *r, const struct uops_counts *c, const char *key,
		     uint64_t whole)
{
	uint64_t sum = 0;

	pm_result_begin_list(r, "distribution");
	for (unsigned i = 0; i < BINS; i++) {
		if (!c->bin[i])
			continue;
		sum += c->bin[i];
		pm_result_begin(r, NULL);
		pm_result_u64(r, key, i, NULL);
		pm_result_u64(r, "count", c->bin[i], NULL);
		pm_result_f64(r, "percent", percent(c->bin[i], whole), "%");
		pm_result_f64(r, "cumulative", percent(sum, whole), "%");
		pm_result_end(r);
	}
	pm_result_end(r);
}

static enum pm_status uops_finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct uops_counts *c = self;

	for (size_t i = 0; i < c->nlast; i++) {
		if (c->last[i].n)
			bin(c, c->last[i].n);
		c->last[i].n = 0;
	}
	if (!r)
		return PM_OK;
	pm_result_begin(r, "uops");
	pm_result_u64(r, "uops", c->uops, "micro-ops");
	pm_result_u64(r, "macros", c->macros, "macro-ops");
	pm_result_f64(r, "mean", c->macros ? (double)c->uops / (double)c->macros : 0, "micro-ops");
	put_bins(r, c, "uops", c->macros);
	pm_result_end(r);
	return PM_OK;
}

/* ---- isize ---------------------------------------------------------------------------------- */

static enum pm_status isize_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct uops_counts *c = self;

	for (size_t i = 0; i < b->nuop; i++) {
		const struct pm_uop *u = &b->uop[i];

		if (u->index != 1)
			continue;
		if (u->fall - u->pc >= BINS)
			return pm_fail_file(err, "no instruction goes from 0x%" PRIx64 " to 0x%"
					    PRIx64 ", where the next one is said to be",
					    u->pc, u->fall);
		c->macros++;
		c->bytes += u->fall - u->pc;
		bin(c, u->fall - u->pc);
	}
	return PM_OK;
}

static enum pm_status isize_finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct uops_counts *c = self;

	if (!r)
		return PM_OK;
	pm_result_begin(r, "isize");
	pm_result_u64(r, "macros", c->macros, "macro-ops");
	pm_result_u64(r, "bytes", c->bytes, "bytes");
	pm_result_f64(r, "mean", c->macros ? (double)c->bytes / (double)c->macros : 0, "bytes");
	put_bins(r, c, "bytes", c->macros);
	pm_result_end(r);
	return PM_OK;
}

/* ---- brdist --------------------------------------------------------------------------------- */

static void *brdist_create(const char *config, struct pm_err *err)
{
	struct uops_counts *c;
	uint64_t bits = 8;
	const struct pm_conf_key keys[] = {
		{ "bits", &bits, 1, 64, false, "bits of a branch's offset" },
		{ 0 }
	};

	if (pm_conf_keys("brdist", config, keys, err))
		return NULL;
	c = pm_alloc(sizeof *c);
	c->bits = bits;
	return c;
}

static enum pm_status brdist_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct uops_counts *c = self;

	for (size_t i = 0; i < b->nuop; i++) {
		const struct pm_uop *u = &b->uop[i];
		uint64_t d;

		c->macros += u->index == 1;
		if (!u->target)
			continue;
		d = u->target > u->pc ? u->target - u->pc : u->pc - u->target;
		c->branches++;
		bin(c, d ? 65 - (unsigned)__builtin_clzll(d) : 1);
	}
	return PM_OK;
}

static enum pm_status brdist_finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct uops_counts *c = self;
	uint64_t more = 0;

	if (!r)
		return PM_OK;
	for (unsigned i = (unsigned)c->bits + 1; i < BINS; i++)
		more += c->bin[i];
	pm_result_begin(r, "brdist");
	pm_result_u64(r, "branches", c->branches, "micro-ops");
	put_bins(r, c, "bits", c->branches);
	pm_result_u64(r, "offset_bits", c->bits, "bits");
	pm_result_u64(r, "needing_more", more, "branches");
	pm_result_f64(r, "needing_more_percent", percent(more, c->branches), "%");
	pm_result_u64(r, "macros", c->macros, "macro-ops");
	pm_result_f64(r, "extra_instructions_percent", percent(more, c->macros), "%");
	pm_result_end(r);
	return PM_OK;
}

/* ---- mix ------------------------------------------------------------------------------------ */

static enum pm_status mix_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct uops_counts *c = self;

	for (size_t i = 0; i < b->nuop; i++) {
		const struct pm_uop *u = &b->uop[i];

		if (u->access == PM_UOP_LOAD)
			c->load++;
		else if (u->access == PM_UOP_STORE)
			c->store++;
		else if (u->target && u->flag_use == PM_UOP_READS_FLAGS)
			c->cond++;
		else if (u->target && u->flag_use == PM_UOP_NO_FLAGS)
			c->uncond++;
	}
	c->uops += b->nuop;
	return PM_OK;
}

static enum pm_status mix_finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct uops_counts *c = self;
	const struct { const char *name; uint64_t n; } kind[] = {
		{ "loads", c->load }, { "stores", c->store }, { "unconditional", c->uncond },
		{ "conditional", c->cond },
		{ "other", c->uops - c->load - c->store - c->uncond - c->cond },
	};

	if (!r)
		return PM_OK;
	pm_result_begin(r, "mix");
	pm_result_u64(r, "uops", c->uops, "micro-ops");
	for (size_t i = 0; i < NR(kind); i++) {
		pm_result_begin(r, kind[i].name);
		pm_result_u64(r, "count", kind[i].n, "micro-ops");
		pm_result_f64(r, "percent", percent(kind[i].n, c->uops), "%");
		pm_result_end(r);
	}
	pm_result_end(r);
	return PM_OK;
}

/* ---- fusion --------------------------------------------------------------------------------- */

static enum pm_status fusion_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct uops_counts *c = self;
	struct last *l = last_of(c, b->stream->index);

	for (size_t i = 0; i < b->nuop; i++) {
		const struct pm_uop *u = &b->uop[i];

		if (u->target && u->flag_use == PM_UOP_READS_FLAGS) {
			c->branches++;
			c->pairs += l->flag_use == PM_UOP_WRITES_FLAGS;
		}
		l->flag_use = u->flag_use;
	}
	c->uops += b->nuop;
	return PM_OK;
}

static enum pm_status fusion_finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct uops_counts *c = self;

	if (!r)
		return PM_OK;
	pm_result_begin(r, "fusion");
	pm_result_u64(r, "uops", c->uops, "micro-ops");
	pm_result_u64(r, "conditional", c->branches, "micro-ops");
	pm_result_u64(r, "pairs", c->pairs, "pairs");
	pm_result_f64(r, "in_pairs_percent", percent(2 * c->pairs, c->uops), "%");
	pm_result_f64(r, "saved_percent", percent(c->pairs, c->uops), "%");
	pm_result_end(r);
	return PM_OK;
}

#define SINK(id, make, text) const struct pm_sink_ops pm_sink_##id = {			\
	.abi = PM_ABI, .needs = PM_HAS_UOPS, .flags = PM_SINK_EPOCHS, .name = #id,	\
	.about = text, .create = make,							\
	.consume = id##_consume, .finish = id##_finish, .destroy = destroy,		\
}
SINK(uops, create, "micro-ops per macro-op");
SINK(isize, create, "bytes per macro-op");
SINK(brdist, brdist_create, "bits of branch distances");
SINK(mix, create, "loads, stores, branches and the rest");
SINK(fusion, create, "flag writers fused with the branch behind them");
