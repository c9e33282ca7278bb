/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyse/idt_counts.h"

/* ---- counters ------------------------------------------------------------------------------- */
struct row {
	char name[24];
	uint64_t n;
};

static int by_count(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->n != y->n ? (x->n < y->n ? 1 : -1) : strcmp(x->name, y->name);
}

static int descending(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

static void mix(const struct idt_blk *blk, const struct idt_cnt *cnt, uint64_t total,
		struct pm_result *r)
{
	uint64_t *of = pm_alloc(65536 * sizeof *of);
	struct row *row = NULL;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < blk->nblock; i++)
		for (uint32_t k = 0; k < blk->block[i].n; k++)
			of[blk->insn[blk->block[i].insn + k].id] += cnt->count[i];
	for (uint32_t id = 0; id < 65536; id++) {
		struct row x = { .n = of[id] };
		size_t k = 0;

		if (!x.n)
			continue;
		idt_id_name((uint16_t)id, blk->wide, x.name, sizeof x.name);
		while (k < n && strcmp(row[k].name, x.name))
			k++;
		if (k < n) {
			row[k].n += x.n;
			continue;
		}
		pm_grow(row, n, cap);
		row[n++] = x;
	}
	if (n)
		qsort(row, n, sizeof *row, by_count);
	pm_result_begin_list(r, "mix");
	for (size_t i = 0; i < n; i++) {
		pm_result_begin(r, NULL);
		pm_result_str(r, "instruction", row[i].name);
		pm_result_u64(r, "executed", row[i].n, "instructions");
		pm_result_f64(r, "percent", 100.0 * (double)row[i].n / (double)total, "%");
		pm_result_end(r);
	}
	pm_result_end(r);
	free(row);
	free(of);
}

void pm_idt_counts(const struct idt_blk *blk, const struct idt_cnt *cnt, struct pm_result *r)
{
	uint64_t insns = 0, blocks = 0, distinct = 0, sum = 0, few = 0;
	uint64_t *work = pm_alloc((blk->nblock + 1) * sizeof *work);

	for (size_t i = 0; i < blk->nblock; i++) {
		if (!cnt->count[i])
			continue;
		work[distinct++] = cnt->count[i] * blk->block[i].n;
		blocks += cnt->count[i];
		insns += cnt->count[i] * blk->block[i].n;
	}
	if (distinct)
		qsort(work, distinct, sizeof *work, descending);
	/* sums above a tenth of 2^64 are not reached by counting */
	while (few < distinct && sum * 10 < insns * 9)
		sum += work[few++];
	free(work);
	pm_result_u64(r, "instructions", insns, "instructions");
	pm_result_u64(r, "blocks", blocks, "blocks");
	pm_result_f64(r, "instructions_per_block", blocks ? (double)insns / (double)blocks : 0,
		      NULL);
	pm_result_u64(r, "blocks_in_the_program", blk->nblock, "blocks");
	pm_result_u64(r, "different_blocks_executed", distinct, "blocks");
	pm_result_u64(r, "blocks_making_90_percent", few, "blocks");
	mix(blk, cnt, insns ? insns : 1, r);
}

/* ---- rep instructions ----------------------------------------------------------------------- */
struct size_of {
	uint64_t bytes, n;
};
struct reps {
	uint64_t now[2];		/* bytes read, written by the one that runs */
	uint64_t refs;			/* its references */
	uint64_t total, none, nref;
	uint64_t bytes[2];
	struct pm_map size[2];		/* bytes -> how often */
};

static void *reps_create(const char *config, struct pm_err *err)
{
	(void)config;
	(void)err;
	return pm_alloc(sizeof(struct reps));
}

static void reps_end(struct reps *s)
{
	s->total++;
	s->none += !s->refs;
	for (int k = 0; k < 2; k++)
		if (s->now[k]) {
			++*pm_map_put(&s->size[k], s->now[k], NULL);
			s->bytes[k] += s->now[k];
		}
	s->now[0] = s->now[1] = s->refs = 0;
}

static enum pm_status reps_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct reps *s = self;

	(void)err;
	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *e = &b->ev[i];

		if (e->kind == PM_EV_REP_END) {
			reps_end(s);
		} else if ((e->kind == PM_EV_READ || e->kind == PM_EV_WRITE) &&
			   e->flags & PM_REF_REP) {
			s->now[e->kind == PM_EV_WRITE] += e->size;
			s->refs++;
			s->nref++;
		}
	}
	return PM_OK;
}

static int by_size(const void *a, const void *b)
{
	const struct size_of *x = a, *y = b;

	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static void sizes(const struct pm_map *m, const char *name, struct pm_result *r)
{
	struct size_of *v = pm_alloc((m->n + 1) * sizeof *v);
	size_t n = 0;
	uint64_t key, val;

	for (size_t i = 0; pm_map_next(m, &i, &key, &val); )
		v[n++] = (struct size_of){ key, val };
	if (n)
		qsort(v, n, sizeof *v, by_size);
	pm_result_begin_list(r, name);
	for (size_t i = 0; i < n; i++) {
		pm_result_begin(r, NULL);
		pm_result_u64(r, "bytes", v[i].bytes, "bytes");
		pm_result_u64(r, "accesses", v[i].n, "accesses");
		pm_result_end(r);
	}
	pm_result_end(r);
	free(v);
}

static enum pm_status reps_finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct reps *s = self;

	(void)err;
	if (s->refs)			/* the trace ends inside one */
		reps_end(s);
	if (!r)
		return PM_OK;
	pm_result_u64(r, "block_accesses", s->total, "instructions");
	pm_result_u64(r, "of_no_bytes", s->none, "instructions");
	pm_result_u64(r, "references", s->nref, "references");
	pm_result_u64(r, "bytes_read", s->bytes[0], "bytes");
	pm_result_u64(r, "bytes_written", s->bytes[1], "bytes");
	sizes(&s->size[0], "read", r);
	sizes(&s->size[1], "written", r);
	return PM_OK;
}

static void reps_destroy(void *self)
{
	struct reps *s = self;

	if (!s)
		return;
	pm_map_release(&s->size[0]);
	pm_map_release(&s->size[1]);
	free(s);
}

const struct pm_sink_ops pm_reps_ops = {
	.abi = PM_ABI, .needs = PM_HAS_REFS | PM_HAS_SIZES, .name = "reps",
	.about = "numbers and sizes of block accesses by rep instructions",
	.create = reps_create, .consume = reps_consume, .finish = reps_finish,
	.destroy = reps_destroy,
};
