/* SPDX-License-Identifier: MIT */
/* stat.c - the thesis's tables and figures from a .cat: sizes raw and gzip-compressed (Fig. 5), bus
 * bytes against instructions (Fig. 4), instructions per byte, compression ratio, dilation; idle
 * loops left out */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/citcat/citcat.h"
#include "collect/machine/idle.h"
#include "collect/machine/tracer.h"
#include "collect/machine/window.h"
#include "trace/cat_cost.h"
#include "trace/sinks.h"

/* ---- sizes ---------------------------------------------------------------------------------- */

/* @bytes at @p, words of native order, as they lie in the file. */
static struct packed_size size_of(const void *p, size_t bytes)
{
	const uint8_t *q = p;
	struct size_packer k;
	uint32_t words[4096];

	size_packer_begin(&k);
	for (size_t done = 0; done < bytes; ) {
		const size_t n = bytes - done < sizeof words ? bytes - done : sizeof words;

		memcpy(words, q + done, n);
		for (size_t i = 0; i < n / 4; i++)
			words[i] = htobe32(words[i]);
		size_packer_add(&k, (uint8_t *)words, n);
		done += n;
	}
	return size_packer_end(&k);
}

static struct packed_size row(struct pm_result *r, const char *name, const void *p,
			      uint64_t records, size_t bytes)
{
	const struct packed_size s = size_of(p, bytes);

	cat_cost_row(r, name, records, s);
	return s;
}

/* ---- the curve ------------------------------------------------------------------------------ */
struct curve {
	uint64_t bytes;			/* data bytes on the bus so far */
	uint64_t stores[WINDOW_SIZE / 4];	/* to the window */
	struct { uint64_t insns, bytes; } *v;
	size_t n, cap;
};

static enum pm_status on_record(void *ctx, const struct cat_rec *rec, struct pm_err *err)
{
	struct curve *c = ctx;

	(void)err;
	c->bytes += rec->bytes;
	if (rec->kind == CAT_WRITE && rec->addr - WINDOW_BASE < WINDOW_SIZE)
		c->stores[(rec->addr - WINDOW_BASE) / 4]++;
	return PM_OK;
}

static void on_progress(void *ctx, uint64_t insns)
{
	struct curve *c = ctx;

	pm_grow(c->v, c->n, c->cap);
	c->v[c->n].insns = insns;
	c->v[c->n++].bytes = c->bytes;
}

/* What the window cost. @work: instructions without waiting. */
static void put_dilation(struct pm_result *r, const struct curve *k, uint64_t work)
{
	uint64_t extra;

	/* The window's stores are in the trace; with each goes what feeds it: the window's address,
	 * and reading EPC, Status, BadVAddr, EntryHi (Count and Cause would have been read
	 * anyway). */
	extra = k->stores[WIN_EPC / 4] * 3 +
		(k->stores[WIN_STATUS / 4] + k->stores[WIN_BADVADDR / 4] +
		 k->stores[WIN_ENTRYHI / 4]) *
			2 +
		k->stores[WIN_CAUSE / 4] +
		(k->stores[WIN_CAUSE_READ / 4] + k->stores[WIN_COUNT / 4]) * 2;
	pm_result_begin(r, "dilation");
	pm_result_u64(r, "reports_of_exceptions", k->stores[WIN_EPC / 4], NULL);
	pm_result_u64(r, "reports_of_cause", k->stores[WIN_CAUSE_READ / 4], NULL);
	pm_result_u64(r, "reports_of_count", k->stores[WIN_COUNT / 4], NULL);
	pm_result_u64(r, "extra_instructions", extra, NULL);
	pm_result_f64(r, "fraction", (double)extra / (double)(work - extra), NULL);
	pm_result_end(r);
}

static void put_curve(struct pm_result *r, const struct curve *k)
{
	const size_t step = k->n / 100 + 1;

	pm_result_begin_list(r, "curve");		/* Fig. 4 */
	for (size_t i = 0; i < k->n; i += step)
		cat_cost_point(r, k->v[i].insns, k->v[i].bytes, i ? k->v[i - step].insns : 0,
			       i ? k->v[i - step].bytes : 0);
	pm_result_end(r);
}

enum pm_status citcat_stat(const char *cat, struct pm_result *r, struct pm_err *err)
{
	struct pm_pipeline *p = NULL;
	struct curve k = { 0 };
	struct idle_config filter = { .keep = true };
	struct idle_counts idle;
	void *self;
	struct citcat_replay_opts o = {
		.record = on_record, .ctx = &k, .limit = UINT64_MAX, .progress = on_progress,
		.every = 50000,
	};
	struct citcat_result res = { 0 };
	struct packed_size aes = { 0 }, ims, s;
	struct citcat c;
	enum pm_status st = citcat_extract(cat, &c, err);
	uint64_t work;
	size_t dma_bytes;
	uint32_t *dma;

	if (st != PM_OK)
		goto out;
	err->file = cat;
	p = pm_pipeline_new();
	filter.big_endian = c.hdr.big_endian;
	self = idle_new(&filter);
	pm_pipeline_transform(p, &idle_ops, self);
	pm_pipeline_sink(p, &pm_discard_ops, pm_discard_ops.create("", err));
	o.trace = p;
	st = pm_pipeline_start(p, TRACER_FACTS, "replayed traces", err);
	if (st == PM_OK)
		st = citcat_replay(&c, &o, &res, err);
	if (st == PM_OK)
		st = pm_pipeline_finish(p, NULL, err);
	if (st != PM_OK)
		goto out;
	idle = *idle_counts(self);
	on_progress(&k, res.instructions);
	work = idle.total - idle.idle;

	pm_result_begin(r, "trace");
	pm_result_u64(r, "instructions", res.instructions, NULL);
	pm_result_u64(r, "idle", idle.idle, "instructions");
	pm_result_u64(r, "without_idle", work, "instructions");
	pm_result_u64(r, "branches", res.branches, NULL);
	pm_result_u64(r, "interrupts", res.interrupts, NULL);
	pm_result_u64(r, "bus_bytes", k.bytes, "bytes");
	pm_result_f64(r, "bus_bytes_per_instruction", (double)k.bytes / (double)work, NULL);
	pm_result_bool(r, "cut", c.cut);
	pm_result_end(r);

	pm_result_begin_list(r, "sizes");		/* Fig. 5 */
#define ADD(t, x) do { s = (x); (t).raw += s.raw; (t).packed += s.packed; } while (0)
	ADD(aes, row(r, "Count", c.cnt, c.ncnt, c.ncnt * 4));
	ADD(aes, row(r, "Cause", c.caus, c.ncaus, c.ncaus * 8));
	dma = citcat_dma(&c, &dma_bytes);
	ADD(aes, row(r, "DMA", dma, c.ndma, dma_bytes));
	free(dma);
	ADD(aes, row(r, "interrupts", c.intr, c.nintr, c.nintr * sizeof *c.intr));
	ADD(aes, row(r, "I/O", c.io, c.nio, c.nio * 4));
	ims = row(r, "IMS", c.mem, c.nmem, c.nmem * 8);
#undef ADD
	pm_result_end(r);

	cat_cost_schedule(r, aes, ims, work);
	put_dilation(r, &k, work);
	put_curve(r, &k);
out:
	pm_pipeline_free(p);
	tracer_free(res.tracer);
	citcat_release(&c);
	free(k.v);
	return st;
}
