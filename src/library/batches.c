/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "library/batches.h"
#include "trace/sinks.h"

#define STREAMS_MAX	(1u << 16)

struct batches_code {			/* a caller's code table */
	const void *at;			/* where the caller has it */
	struct pm_code code;		/* as it was seen last, laid out as here */
	size_t nblock;			/* checked so far: with as many instructions as it had */
	void *room[3];			/* NULL: the caller's arrays serve */
};

struct batches_stream {
	const void *at;
	struct pm_stream s;
	uint32_t size;			/* instructions of the block that references belong to;
					 * 0: none */
};

enum { EVENT, UOP, BUS, RARE, ARRAYS };

struct pm_batches {
	struct batches_code **code;
	size_t ncode, cap_code;
	struct batches_stream **stream;	/* by index; NULL: none yet */
	size_t nstream;
	struct pm_batch b;
	void *room[ARRAYS];
	size_t cap[ARRAYS];
};

struct pm_batches *pm_batches_new(void)
{
	return pm_alloc(sizeof(struct pm_batches));
}

void pm_batches_free(struct pm_batches *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->ncode; i++) {
		for (unsigned k = 0; k < NR(c->code[i]->room); k++)
			free(c->code[i]->room[k]);
		free(c->code[i]);
	}
	for (size_t i = 0; i < c->nstream; i++)
		free(c->stream[i]);
	for (unsigned k = 0; k < ARRAYS; k++)
		free(c->room[k]);
	free(c->code);
	free(c->stream);
	free(c);
}

/* @n elements that are @from bytes apart become @n that are @to apart: what is more is 0. */
static void lay_out(void *to, size_t to_size, const void *from, size_t from_size, size_t n)
{
	const size_t part = to_size < from_size ? to_size : from_size;

	memset(to, 0, n * to_size);
	for (size_t i = 0; i < n; i++)
		memcpy((char *)to + i * to_size, (const char *)from + i * from_size, part);
}

static const void *array(struct pm_batches *c, unsigned k, const void *from, size_t n,
			 uint32_t from_size, uint32_t size)
{
	if (from_size == size || !n)
		return from;
	if (c->cap[k] < n * size) {
		c->cap[k] = n * size;
		free(c->room[k]);
		c->room[k] = pm_alloc(c->cap[k]);
	}
	lay_out(c->room[k], size, from, from_size, n);
	return c->room[k];
}

/* Sizes may be those of an older header, or a newer one; smaller than they ever were they are
 * wrong. */
static bool sizes_make_sense(const struct pm_sizes *s)
{
	return s->sizes >= sizeof *s && s->batch >= sizeof(struct pm_batch) &&
	       s->stream >= sizeof(struct pm_stream) && s->code >= sizeof(struct pm_code) &&
	       s->event >= sizeof(struct pm_event) && s->uop >= sizeof(struct pm_uop) &&
	       s->bus >= sizeof(struct pm_bus) && s->rare >= sizeof(struct pm_rare) &&
	       s->insn >= sizeof(struct pm_insn) && s->block >= sizeof(struct pm_block) &&
	       s->object >= sizeof(struct pm_object);
}

/* ---- code tables ---------------------------------------------------------------------------- */

static const void *code_array(struct batches_code *k, unsigned i, const void *from, size_t n,
			      uint32_t from_size, uint32_t size)
{
	if (from_size == size || !n)
		return from;
	k->room[i] = pm_realloc(k->room[i], n * size);
	lay_out(k->room[i], size, from, from_size, n);
	return k->room[i];
}

/* (1) of the blocks that are new */
static enum pm_status check_blocks(struct batches_code *k, struct pm_err *err)
{
	const struct pm_code *c = &k->code;

	for (; k->nblock < c->nblock; k->nblock++) {
		const struct pm_block *b = c->block + k->nblock;

		if (b->insn > c->ninsn || b->n > c->ninsn - b->insn)
			return pm_fail_file(err,
					    "block %zu of the code table has instructions %" PRIu32
					    "+%" PRIu32 " of %zu",
					    k->nblock, b->insn, b->n, c->ninsn);
	}
	return PM_OK;
}

static enum pm_status check_insns(const struct pm_code *c, size_t from, struct pm_err *err)
{
	for (size_t i = from; i < c->ninsn; i++) {
		const struct pm_insn *insn = c->insn + i;

		if (insn->len > sizeof insn->bytes)
			return pm_fail_file(err, "instruction %zu of the code table has %u bytes",
					    i, insn->len);
		if (insn->object != PM_NONE && insn->object >= c->nobject)
			return pm_fail_file(err,
					    "instruction %zu of the code table has object %" PRIu32
					    " of %zu",
					    i, insn->object, c->nobject);
	}
	return PM_OK;
}

/* What stands for the caller's table @from; NULL on error. */
static const struct pm_code *code_of(struct pm_batches *c, const struct pm_code *from,
				     const struct pm_sizes *s, struct pm_err *err)
{
	struct batches_code *k = NULL;
	size_t before;

	for (size_t i = 0; i < c->ncode && !k; i++)
		if (c->code[i]->at == from)
			k = c->code[i];
	if (!k) {
		pm_grow(c->code, c->ncode, c->cap_code);
		k = c->code[c->ncode++] = pm_alloc(sizeof *k);
		k->at = from;
	}
	if (from->epoch != k->code.epoch) {
		pm_fail_file(err, "the code table's epoch changed: a caller's table only grows");
		return NULL;
	}
	if (from->ninsn < k->code.ninsn || from->nblock < k->code.nblock ||
	    from->nobject < k->code.nobject) {
		pm_fail_file(err, "the code table has shrunk");			/* (3) */
		return NULL;
	}
	if ((from->ninsn && !from->insn) || (from->nblock && !from->block) ||
	    (from->nobject && !from->object)) {
		pm_fail_file(err, "the code table has elements at NULL");
		return NULL;
	}
	before = k->code.ninsn;
	if (before == from->ninsn && k->code.nblock == from->nblock &&
	    k->code.nobject == from->nobject && s->insn == pm_struct_sizes.insn &&
	    k->code.insn == from->insn && k->code.block == from->block)
		return &k->code;
	k->code = *from;
	k->code.insn = code_array(k, 0, from->insn, from->ninsn, s->insn, pm_struct_sizes.insn);
	k->code.block = code_array(k, 1, from->block, from->nblock, s->block,
				   pm_struct_sizes.block);
	k->code.object = code_array(k, 2, from->object, from->nobject, s->object,
				    pm_struct_sizes.object);
	if (check_insns(&k->code, before, err) != PM_OK || check_blocks(k, err) != PM_OK)
		return NULL;
	return &k->code;
}

/* ---- streams and events --------------------------------------------------------------------- */

static struct batches_stream *stream_of(struct pm_batches *c, const struct pm_stream *from,
					struct pm_err *err)
{
	struct batches_stream *st;

	if (from->index >= STREAMS_MAX) {					/* (4) */
		pm_fail_file(err, "stream %" PRIu32 " is more than the %u that there can be",
			     from->index, STREAMS_MAX);
		return NULL;
	}
	if (from->index >= c->nstream) {
		const size_t n = (size_t)from->index * 2 + 16;

		c->stream = pm_realloc(c->stream, n * sizeof *c->stream);
		memset(c->stream + c->nstream, 0, (n - c->nstream) * sizeof *c->stream);
		c->nstream = n;
	}
	st = c->stream[from->index];
	if (!st) {
		st = c->stream[from->index] = pm_alloc(sizeof *st);
		st->at = from;
		st->s = *from;
	}
	if (st->at != from) {							/* (3) */
		pm_fail_file(err, "stream %" PRIu32 " has moved, or there are two of that number",
			     from->index);
		return NULL;
	}
	return st;
}

static enum pm_status check_rare(const struct pm_batch *b, struct pm_err *err)
{
	for (size_t i = 0; i < b->nrare; i++) {
		const struct pm_rare *r = b->rare + i;
		const uintptr_t at = (uintptr_t)r->name - (uintptr_t)b->arena;

		if (r->nargs > NR(r->arg))
			return pm_fail_file(err, "rare event %zu has %" PRIu32 " arguments", i,
					    r->nargs);
		if (r->name && (at >= b->narena || !memchr(r->name, 0, b->narena - at)))
			return pm_fail_file(err, "the name of rare event %zu is not in the arena",
					    i);		/* (2) */
	}
	return PM_OK;
}

static bool in_arena(const struct pm_batch *b, uint64_t at, uint64_t n)
{
	return n <= b->narena && at <= b->narena - n;
}

/* Is event @e of stream @st possible? */
static bool event_makes_sense(const struct pm_batch *b, struct batches_stream *st,
			      const struct pm_event *e)
{
	const size_t ninsn = b->code ? b->code->ninsn : 0;

	switch (e->kind) {
	case PM_EV_INSN:
		st->size = 0;
		return e->id == PM_NONE || e->id < ninsn;
	case PM_EV_BLOCK:
		if (!b->code || e->id >= b->code->nblock ||
		    e->value > b->code->block[e->id].n)
			return false;
		st->size = b->code->block[e->id].n;
		return true;
	case PM_EV_READ: case PM_EV_WRITE: case PM_EV_MODIFY: case PM_EV_BRANCH:
	case PM_EV_REP_ITER: case PM_EV_REP_END:
		return e->id == PM_NONE || e->id < (st->size ? st->size : ninsn);
	case PM_EV_UOP:
		return e->id < b->nuop;
	case PM_EV_BUS:
		return e->id < b->nbus;
	case PM_EV_REG_READ: case PM_EV_REG_WRITE:
		return e->size <= 8 || in_arena(b, e->addr, e->size);
	case PM_EV_LINE: case PM_EV_DMA: case PM_EV_DEVICE:
	case PM_EV_OPAQUE:		/* pm_opaque_bytes() looks */
		return true;
	default:
		return e->id == PM_NONE || e->id < b->nrare;
	}
}

const struct pm_batch *pm_batches_check(struct pm_batches *c, const struct pm_batch *b,
					struct pm_err *err)
{
	const struct pm_sizes *s;
	struct batches_stream *st;

	if (!b || !b->stream) {
		pm_fail_file(err, b ? "the batch has no stream" : "the batch is NULL");
		return NULL;
	}
	s = b->sizes ? b->sizes : &pm_struct_sizes;
	if (!sizes_make_sense(s)) {
		pm_fail_file(err, "the batch's sizes are not those of any header");
		return NULL;
	}
	if ((b->n && !b->ev) || (b->nuop && !b->uop) || (b->nbus && !b->bus) ||
	    (b->nrare && !b->rare) || (b->narena && !b->arena)) {
		pm_fail_file(err, "the batch has elements at NULL");
		return NULL;
	}
	st = stream_of(c, b->stream, err);
	if (!st)
		return NULL;
	c->b = *b;
	c->b.sizes = &pm_struct_sizes;
	c->b.stream = &st->s;
	c->b.code = b->code ? code_of(c, b->code, s, err) : NULL;
	if (b->code && !c->b.code)
		return NULL;
	c->b.ev = array(c, EVENT, b->ev, b->n, s->event, pm_struct_sizes.event);
	c->b.uop = array(c, UOP, b->uop, b->nuop, s->uop, pm_struct_sizes.uop);
	c->b.bus = array(c, BUS, b->bus, b->nbus, s->bus, pm_struct_sizes.bus);
	c->b.rare = array(c, RARE, b->rare, b->nrare, s->rare, pm_struct_sizes.rare);
	if (check_rare(&c->b, err) != PM_OK)
		return NULL;
	for (size_t i = 0; i < c->b.n; i++)
		if (!event_makes_sense(&c->b, st, c->b.ev + i)) {
			pm_fail_file(err,
				     "event %zu of the batch (%s, id %" PRIu32
				     ", value %" PRIu64 ") leads to nothing that there is",
				     i, pm_kind_name(c->b.ev[i].kind), c->b.ev[i].id,
				     c->b.ev[i].value);
			return NULL;
		}
	return &c->b;
}
