/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "trace/pug_chunk.h"

#define PIECE	2048		/* events, or instructions in chains, between two looks at the
				 * limits, about */
#define CHAINS	512

/* ---- batches -> chunks ---------------------------------------------------------------------- */

void pug_make_begin(struct pug_maker *m, struct pug_chunk *c)
{
	c->nslot = 0;
	c->events = 0;
	c->insns = c->time = 0;
	m->c = c;
	m->slot = NULL;
	m->e.time = 0;
	pug_encode_begin(&m->e, &c->cols, m->level.path_bits, m->level.seen_bits);
}

void pug_make_end(struct pug_maker *m)
{
	struct pug_chunk *c = m->c;

	pug_encode_end(&m->e);
	memset(c->kind, 0, sizeof c->kind);
	pug_model_tally(&m->e.m, c->kind);
	c->insns = m->e.insns;
	c->time = m->e.time;
}

static enum pm_status next_chunk(struct pug_maker *m, struct pm_err *err)
{
	pug_make_end(m);
	return m->full(m->arg, err);
}

/* The slot of the batch's stream; an op tells the reader that it changed. @done: instructions of
 * the batch that went into earlier pieces. */
static enum pm_status choose_slot(struct pug_maker *m, const struct pug_origin *of, uint64_t done,
				  struct pm_err *err)
{
	struct pug_chunk *c = m->c;
	size_t i;

	if (m->slot && m->slot->of.stream == of->stream && m->slot->of.code == of->code)
		return PM_OK;
	for (i = 0; i < c->nslot; i++)
		if (c->slot[i].of.stream == of->stream && c->slot[i].of.code == of->code)
			break;
	if (i == c->nslot) {
		if (of->stream >= PUG_MAX_STREAMS)
			return pm_fail_file(err, "stream number %u is more than a .pug can hold",
					    of->stream);
		pm_grow(c->slot, c->nslot, c->cap_slot);
		c->slot[c->nslot++] = (struct pug_slot){ .of = { of->stream, of->code,
			of->insns + done } };
		c->slot[i].ctx.code = of->code + 1u;
	}
	if (m->slot || i)
		pug_encode_switch(&m->e, i);
	m->slot = c->slot + i;
	return PM_OK;
}

/* What has come since the encoder's count was @before belongs to the slot. */
static void count(struct pug_maker *m, uint64_t before, size_t events, uint64_t *insns)
{
	const uint64_t n = m->e.insns - before;

	m->slot->insns += n;
	m->c->events += (uint32_t)events;
	*insns += n;
}

/* Where a chunk may end: at the next block or instruction, so that no reference is cut off. */
static size_t next_boundary(const struct pm_batch *b, size_t i)
{
	for (size_t n = 0; i < b->n && n < PIECE; i++, n++)
		if (b->ev[i].kind == PM_EV_BLOCK || b->ev[i].kind == PM_EV_INSN ||
		    (b->ev[i].kind == PM_EV_UOP && b->ev[i].id < b->nuop &&
		     b->uop[b->ev[i].id].index == 1))
			break;
	return i;
}

/* Is there @part eighths of what a chunk may take in memory? Of traces whose values are new each
 * time (times, data, messages that are kept whole), a chunk is much shorter than of others. */
static bool is_large(const struct pug_maker *m, unsigned part)
{
	return pug_columns_bytes(m->e.c) >= PUG_CHUNK_BYTES / 8 * part ||
	       m->e.m.n + m->e.m.nelem >= PUG_CHUNK_MODEL / 8 * part ||
	       m->c->nslot == PUG_MAX_SLOTS;
}

/* Is it time, and is it high time? */
static bool is_full(const struct pug_maker *m)
{
	return m->e.insns >= m->level.insns || m->c->events >= m->level.events || is_large(m, 7);
}

static bool is_overfull(const struct pug_maker *m)
{
	return m->c->events >= 2 * m->level.events || is_large(m, 8);
}

enum pm_status pug_make(struct pug_maker *m, const struct pug_origin *of, const struct pm_batch *b,
			uint64_t *insns, struct pm_err *err)
{
	*insns = 0;
	for (size_t i = 0; i < b->n; ) {
		size_t from = i, stop = b->n - i < PIECE ? b->n : i + PIECE;
		uint64_t before;

		if (is_full(m)) {
			stop = next_boundary(b, i);
			if (stop == i || is_overfull(m)) {
				if (next_chunk(m, err) != PM_OK)
					return PM_ERR;
				continue;
			}
		}
		before = m->e.insns;
		if (choose_slot(m, of, *insns, err) != PM_OK ||
		    pug_encode(&m->e, &m->slot->ctx, b, &i, stop, err) != PM_OK)
			return PM_ERR;
		count(m, before, i - from, insns);
	}
	return PM_OK;
}

enum pm_status pug_make_chains(struct pug_maker *m, const struct pug_origin *of,
			       const struct pug_chains *k, const uint32_t *id, size_t n,
			       const uint64_t **addr, uint64_t *insns, struct pm_err *err)
{
	*insns = 0;
	for (size_t i = 0; i < n; ) {
		const size_t some = n - i < CHAINS ? n - i : CHAINS;
		uint64_t before;
		size_t events;

		if (is_full(m) && next_chunk(m, err) != PM_OK)
			return PM_ERR;
		before = m->e.insns;
		if (choose_slot(m, of, *insns, err) != PM_OK ||
		    pug_encode_chains(&m->e, &m->slot->ctx, k, id + i, some, addr, &events, err) !=
			    PM_OK)
			return PM_ERR;
		count(m, before, events, insns);
		i += some;
	}
	return PM_OK;
}

void pug_maker_release(struct pug_maker *m)
{
	pug_encoder_release(&m->e);
}

/* ---- chunks -> bytes ------------------------------------------------------------------------ */

/* Elements of @width bytes become @width planes: bytes of like meaning lie together. */
static const uint8_t *to_planes(struct pm_buf *b, const uint8_t *p, size_t n, unsigned width)
{
	size_t count = n / width;

	if (b->cap < n) {
		free(b->p);
		b->p = pm_realloc(NULL, n);
		b->cap = n;
	}
	for (unsigned k = 0; k < width; k++) {
		uint8_t *to = b->p + k * count;

		for (size_t i = 0; i < count; i++)
			to[i] = p[i * width + k];
	}
	return b->p;
}

enum pm_status pug_chunk_pack(struct pm_buf *to, const struct pug_chunk *c,
			      const struct pug_level_info *level, struct pm_buf *scratch,
			      ZSTD_CCtx *z, struct pm_err *err)
{
	uint8_t head[9];

	head[0] = (uint8_t)level->level;
	head[1] = PUG_NCOL;
	head[2] = PUG_PHRASES;
	head[3] = level->path_bits;
	pug_put32(head + 4, c->events);
	head[8] = level->seen_bits;
	pm_buf_add(to, head, sizeof head);
	pug_varint(to, c->nslot);
	for (size_t i = 0; i < c->nslot; i++) {
		const struct pug_slot *s = c->slot + i;

		pug_varint(to, s->of.stream);
		pug_varint(to, s->of.code + 1u);
		pug_varint(to, s->of.insns);
		pug_varint(to, s->insns);
	}
	for (unsigned k = 0; k < PUG_NCOL; k++) {
		size_t n;
		const uint8_t *p = pug_column(&c->cols, k, &n);

		if (n > PUG_MAX_RAW)
			return pm_fail_file(err,
					    "%zu bytes in one column of a chunk, more than a .pug "
					    "can hold",
					    n);
		if (pug_col_width[k] > 1)
			p = to_planes(scratch, p, n, pug_col_width[k]);
		pug_pack(to, p, n, z, level->zstd);
	}
	return PM_OK;
}

void pug_chunk_release(struct pug_chunk *c)
{
	pug_columns_release(&c->cols);
	free(c->slot);
}
