/* SPDX-License-Identifier: MIT */
/* pug_read.c - .pug back into events
 *
 * Nothing in a file is believed: records carry checksums against accidents, and every number is
 * still checked against what it indexes, against malice. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/cur.h"
#include "trace/pug.h"
#include "trace/pug_file.h"

#define OUT_EVENTS	8192		/* events per batch, at most */

struct col {
	const uint8_t *p, *end;
};

struct rslot {
	const struct pm_stream *stream;
	struct pug_code *code;		/* NULL: none */
	uint64_t insns;			/* of the stream before the next batch */
	struct pug_ctx ctx;
};

struct pug_reader {
	struct pm_input *in;
	uint32_t facts;
	struct pm_buf info;
	struct pug_code **code;		/* pointers stay: batches lead to them */
	size_t ncode, cap_code;
	struct pm_stream **stream;	/* by index, NULL: not seen */
	size_t nstream;
	struct pm_arena mem;		/* streams and their names */

	/* where we are */
	uint64_t time;
	uint64_t skip_to;		/* chunks that end before this instruction are not read */
	bool skipped;			/* ... and some were not */
	uint64_t events, index_at;
	uint64_t chunks, records;
	bool ended, cut;
	struct pug_totals totals;	/* from the index; whole is false until it was seen */

	/* the chunk that is being read */
	bool inside;
	uint64_t at;			/* its file offset */
	struct pug_rec rec;
	enum pug_level level;
	uint32_t left;			/* events to come */
	uint32_t run;			/* of which free, before the next op */
	bool run_known;
	uint64_t chunk_insns;
	struct col col[PUG_NCOL];
	struct pm_buf room[PUG_NCOL], planes;
	struct pug_model m;
	struct pug_def *def;
	size_t ndef, cap_def;
	struct rslot *slot;
	size_t nslot, cap_slot;
	struct rslot *now;

	struct pm_builder b;
	struct pm_tally tally;
	struct pm_buf payload;
};

/* ---- records that are no chunks --------------------------------------------------------------------- */

static enum pm_status get_info(struct pug_reader *r, struct pm_cur *c)
{
	const uint8_t *p;
	size_t n;

	if (pug_unpack(c, &r->payload, &p, &n, "the description") != PM_OK)
		return PM_ERR;
	r->info.n = 0;
	pm_buf_add(&r->info, p, n);
	/* whatever it holds, it ends: name=value, a zero, ..., one more zero */
	pm_buf_add(&r->info, "\0", 2);
	return PM_OK;
}

static enum pm_status get_stream(struct pug_reader *r, struct pm_cur *c, uint64_t at)
{
	struct pm_cur in;
	const uint8_t *p;
	size_t n;
	struct pm_stream s = { 0 };
	uint64_t index, pid, tid;

	if (pug_unpack(c, &r->payload, &p, &n, "a stream") != PM_OK)
		return PM_ERR;
	in = pm_cur_init(p, n, at, c->err);
	index = pm_cur_varint(&in, "a stream's number");
	pid = pm_cur_varint(&in, "a process id");
	tid = pm_cur_varint(&in, "a thread id");
	s.space = pm_cur_varint(&in, "an address space");
	if (pug_string_get(&in, &r->mem, &s.name, "a stream's name") != PM_OK)
		return PM_ERR;
	if (index >= PUG_MAX_STREAMS || pid > UINT32_MAX || tid > UINT32_MAX || pm_cur_left(&in))
		return pm_fail(c->err, at, "a stream that cannot be: number %" PRIu64, index);
	s.index = (uint32_t)index;
	s.pid = (uint32_t)pid;
	s.tid = (uint32_t)tid;
	if (index >= r->nstream) {
		size_t m = r->nstream ? r->nstream : 8;

		while (m <= index)
			m *= 2;
		r->stream = pm_realloc(r->stream, m * sizeof *r->stream);
		memset(r->stream + r->nstream, 0, (m - r->nstream) * sizeof *r->stream);
		r->nstream = m;
	}
	/* a stream that changes keeps its place: sinks hold on to it */
	if (!r->stream[index])
		r->stream[index] = pm_arena_alloc(&r->mem, sizeof s);
	*r->stream[index] = s;
	return PM_OK;
}

static enum pm_status get_code(struct pug_reader *r, struct pm_cur *c, uint64_t at)
{
	struct pm_cur in;
	const uint8_t *p;
	size_t n;
	uint64_t number;

	if (pug_unpack(c, &r->payload, &p, &n, "code") != PM_OK)
		return PM_ERR;
	in = pm_cur_init(p, n, at, c->err);
	number = pm_cur_varint(&in, "a code table's number");
	if (pm_failed(c->err))
		return PM_ERR;
	if (number > r->ncode)
		return pm_fail(c->err, at, "code table %" PRIu64 ", but there are %zu", number, r->ncode);
	if (number == r->ncode) {
		pm_grow(r->code, r->ncode, r->cap_code);
		r->code[r->ncode++] = pm_alloc(sizeof **r->code);
	}
	return pug_code_get(&in, r->code[number]);
}

static enum pm_status get_index(struct pug_reader *r, struct pm_cur *c, uint64_t at)
{
	struct pug_totals *t = &r->totals;
	struct pm_cur in;
	const uint8_t *p;
	size_t n;
	uint64_t kinds, streams;

	if (pug_unpack(c, &r->payload, &p, &n, "the index") != PM_OK)
		return PM_ERR;
	in = pm_cur_init(p, n, at, c->err);
	*t = (struct pug_totals){ 0 };
	kinds = pm_cur_varint(&in, "the totals");
	for (uint64_t k = 0; k < kinds && !pm_failed(c->err); k++) {
		uint64_t v = pm_cur_varint(&in, "the totals");

		if (k < PM_EV_COUNT)
			t->tally.kind[k] = v;
		t->events += v;
	}
	streams = pm_cur_varint(&in, "the totals");
	for (uint64_t k = 0; k < streams && !pm_failed(c->err); k++) {
		pm_cur_varint(&in, "the totals");
		t->tally.insns += pm_cur_varint(&in, "the totals");
	}
	t->records = pm_cur_varint(&in, "the totals");
	if (pm_failed(c->err))
		return PM_ERR;
	if (pm_cur_left(&in) != t->records * (8 + PUG_RECORD))
		return pm_fail(c->err, at, "an index of %zu bytes for %" PRIu64 " records", pm_cur_left(&in),
			       t->records);
	for (uint64_t k = 0; k < t->records; k++)
		t->chunks += pug_get32(in.p + k * (8 + PUG_RECORD) + 8) == PUG_DATA;
	t->whole = true;
	return PM_OK;
}

/* What the index says against itself and, if everything was read, against what was there. */
static enum pm_status check_totals(struct pug_reader *r, uint64_t at, struct pm_err *err)
{
	const struct pug_totals *t = &r->totals;

	if (t->tally.insns != r->rec.insns || t->events != r->rec.events)
		return pm_fail(err, at, "the index contradicts its own header");
	if (r->skipped)
		return PM_OK;
	if (t->records != r->records || t->chunks != r->chunks)
		return pm_fail(err, at, "the index lists %" PRIu64 " records, there were %" PRIu64, t->records,
			       r->records);
	for (unsigned k = 0; k < PM_EV_COUNT; k++)
		if (t->tally.kind[k] != r->tally.kind[k])
			return pm_fail(err, at, "the index counts %" PRIu64 " events of kind %s, there were %"
				       PRIu64, t->tally.kind[k], pm_kind_name(k), r->tally.kind[k]);
	return PM_OK;
}

/* ---- a chunk ------------------------------------------------------------------------------------------ */

static void from_planes(struct pm_buf *to, const uint8_t *p, size_t n, unsigned width)
{
	size_t count = n / width;

	if (to->cap < n) {
		free(to->p);
		to->p = pm_realloc(NULL, n);
		to->cap = n;
	}
	for (unsigned k = 0; k < width; k++)
		for (size_t i = 0; i < count; i++)
			to->p[i * width + k] = p[k * count + i];
	to->n = n;
}

static enum pm_status begin_chunk(struct pug_reader *r, struct pm_cur *c)
{
	uint8_t level = pm_cur_u8(c, "a chunk"), ncol = pm_cur_u8(c, "a chunk");
	uint64_t nslot;

	pm_cur_u16(c, "a chunk");
	r->left = pm_cur_u32(c, "a chunk");
	nslot = pm_cur_varint(c, "a chunk");
	if (pm_failed(c->err))
		return PM_ERR;
	if (level < PUG_FAST || level > PUG_DENSE || ncol != PUG_NCOL || r->left > PUG_MAX_EVENTS ||
	    !r->left || !nslot || nslot > PUG_MAX_SLOTS)
		return pm_fail(c->err, r->at, "a chunk that cannot be: level %u, %u columns, %u events, "
			       "%" PRIu64 " streams", level, ncol, r->left, nslot);
	r->level = level;
	r->nslot = 0;
	for (uint64_t i = 0; i < nslot; i++) {
		uint64_t stream = pm_cur_varint(c, "a chunk's streams");
		uint64_t code = pm_cur_varint(c, "a chunk's streams");
		uint64_t insns = pm_cur_varint(c, "a chunk's streams");

		pm_cur_varint(c, "a chunk's streams");
		if (pm_failed(c->err))
			return PM_ERR;
		if (stream >= r->nstream || !r->stream[stream] || code > r->ncode)
			return pm_fail(c->err, r->at, "a chunk of stream %" PRIu64 " and code table %" PRIu64
				       ", which were not defined", stream, code);
		pm_grow(r->slot, r->nslot, r->cap_slot);
		r->slot[r->nslot++] = (struct rslot){
			.stream = r->stream[stream], .code = code ? r->code[code - 1] : NULL, .insns = insns,
			.ctx.code = (uint32_t)code,
		};
	}
	for (unsigned k = 0; k < PUG_NCOL; k++) {
		unsigned width = pug_col_width[k];
		const uint8_t *p;
		size_t n;

		if (pug_unpack(c, &r->room[k], &p, &n, "a column") != PM_OK)
			return PM_ERR;
		if (n % width)
			return pm_fail(c->err, r->at, "column %u of %zu bytes holds elements of %u", k, n, width);
		if (width > 1) {
			from_planes(&r->planes, p, n, width);
			/* the planes' buffer becomes the column's, and the other way round */
			struct pm_buf tmp = r->room[k];

			r->room[k] = r->planes;
			r->planes = tmp;
			p = r->room[k].p;
		} else if (n && p != r->room[k].p) {
			/* stored plain, inside the record, which goes away with the next one */
			r->room[k].n = 0;
			pm_buf_add(&r->room[k], p, n);
			p = r->room[k].p;
		}
		r->col[k] = (struct col){ p, n ? p + n : p };
	}
	if (pm_cur_left(c))
		return pm_fail(c->err, pm_cur_at(c), "%zu bytes behind a chunk", pm_cur_left(c));
	pug_model_reset(&r->m, r->level);
	r->ndef = 0;
	r->now = r->slot;
	r->run_known = false;
	r->chunk_insns = 0;
	r->inside = true;
	return PM_OK;
}

static enum pm_status damaged(const struct pug_reader *r, const char *what, struct pm_err *err)
{
	return pm_fail(err, r->at, "the chunk here makes no sense: %s", what);
}

static inline bool get_varint(struct col *c, uint64_t *v)
{
	const uint8_t *p = c->p;
	unsigned shift = 0;

	*v = 0;
	do {
		if (p == c->end || shift > 63)
			return false;
		*v |= (uint64_t)(*p & 0x7f) << shift;
		shift += 7;
	} while (*p++ & 0x80);
	c->p = p;
	return true;
}

static inline bool get_u32(struct col *c, uint32_t *v)
{
	if (c->end - c->p < 4)
		return false;
	*v = pug_get32(c->p);
	c->p += 4;
	return true;
}

static inline bool get_u64(struct col *c, uint64_t *v)
{
	if (c->end - c->p < 8)
		return false;
	*v = pug_get64(c->p);
	c->p += 8;
	return true;
}

/* What the side column has about the event at node @n, which becomes *@ev. */
static enum pm_status get_side(struct pug_reader *r, const struct pug_node *n, struct pm_event *ev,
			       struct pm_err *err)
{
	struct pm_builder *b = &r->b;
	struct col *side = r->col + PUG_COL_SIDE;
	struct pm_rare *rare;
	uint64_t v, nargs, code, len;
	size_t at;

	ev->kind &= 0x7f;
	switch (ev->kind) {
	case PM_EV_UOP: {
		const struct pug_def *d = r->def + r->m.cold[n - r->m.node].def;

		pm_grow(b->uop, b->b.nuop, b->cap_uop);
		b->uop[b->b.nuop] = d->uop;
		b->uop[b->b.nuop].mem = ev->addr;
		b->uop[b->b.nuop].target = ev->value;
		ev->id = (uint32_t)b->b.nuop++;
		ev->addr = d->addr;
		ev->value = d->value;
		return PM_OK;
	}
	case PM_EV_BUS: {
		const struct pug_def *d = r->def + r->m.cold[n - r->m.node].def;

		if (!get_varint(side, &v))
			return damaged(r, "a bus transaction has no time", err);
		pm_grow(b->bus, b->b.nbus, b->cap_bus);
		b->bus[b->b.nbus] = d->bus;
		b->bus[b->b.nbus].time = v - 1;
		b->bus[b->b.nbus].data = ev->value;
		ev->id = (uint32_t)b->b.nbus++;
		ev->value = d->value;
		return PM_OK;
	}
	case PM_EV_REG_READ:
	case PM_EV_REG_WRITE:
	case PM_EV_OPAQUE:
		len = ev->size == 16 ? 16 : 0;
		if (ev->kind == PM_EV_OPAQUE && !get_varint(side, &len))
			return damaged(r, "bytes of an event are missing", err);
		if (!len)
			return PM_OK;
		if ((uint64_t)(side->end - side->p) < len)
			return damaged(r, "bytes of an event are missing", err);
		ev->addr = pm_builder_bytes(b, side->p, len);
		side->p += len;
		return PM_OK;
	}
	if (ev->kind == PM_EV_TIME)
		r->time = ev->value;
	if (ev->id == PM_NONE)
		return PM_OK;
	if (!get_varint(side, &code) || !get_varint(side, &nargs) || code > UINT32_MAX || nargs > UINT32_MAX)
		return damaged(r, "an event's record is cut", err);
	pm_grow(b->rare, b->b.nrare, b->cap_rare);
	ev->id = (uint32_t)b->b.nrare;
	rare = b->rare + b->b.nrare++;
	*rare = (struct pm_rare){ .code = (uint32_t)code, .nargs = (uint32_t)nargs };
	for (unsigned i = 0; i < 8 && i < nargs; i++)
		if (!get_varint(side, rare->arg + i))
			return damaged(r, "an event's arguments are cut", err);
	if (!get_varint(side, &len))
		return damaged(r, "an event's name is cut", err);
	if (!len)
		return PM_OK;
	if ((uint64_t)(side->end - side->p) < len - 1)
		return damaged(r, "an event's name is cut", err);
	at = pm_builder_bytes(b, side->p, len - 1);
	pm_builder_bytes(b, "", 1);
	rare->name = (const char *)(uintptr_t)(at + 1);
	side->p += len - 1;
	return PM_OK;
}

/* A new node from its definition; its number, or 0. */
static uint32_t new_node(struct pug_reader *r, uint8_t op, struct pm_err *err)
{
	struct col *neu = r->col + PUG_COL_NEW;
	const struct pm_code *code = r->now->code ? &r->now->code->code : NULL;
	struct pug_ctx *x = &r->now->ctx;
	uint64_t size, diff, kind, flags, delta = 0;
	struct pm_event ev = { 0 };
	struct pug_node *n;
	uint32_t to;
	uint8_t k;

	if (neu->end - neu->p < 2)
		goto cut;
	kind = neu->p[0];
	flags = neu->p[1];
	neu->p += 2;
	if (!get_varint(neu, &size) || !get_varint(neu, &diff))
		goto cut;
	k = kind & 0x7f;
	if (!k || k >= PM_EV_COUNT || (pug_class[k] == PUG_SIDE) != (kind >> 7) || size > UINT16_MAX) {
		damaged(r, "a new event's kind", err);
		return 0;
	}
	ev.kind = (uint8_t)kind;
	ev.flags = (uint8_t)flags;
	ev.size = (uint16_t)size;
	ev.id = r->m.new_id + (uint32_t)pug_unzigzag(diff);
	r->m.new_id = ev.id;
	to = pug_model_add(&r->m);
	n = r->m.node + to;
	memcpy(&n->sig, &ev, 8);
	n->class = pug_class[k];
	if (n->class == PUG_REF)
		n->class |= PUG_IS_REF;
	if (k == PM_EV_UOP || k == PM_EV_BUS) {
		struct pm_cur c = pm_cur_init(neu->p, (size_t)(neu->end - neu->p), r->at, err);

		pm_grow(r->def, r->ndef, r->cap_def);
		pug_def_get(&c, k, r->def + r->ndef);
		if (pm_failed(err))
			return 0;
		neu->p = c.p;
		if (k == PM_EV_BUS || r->def[r->ndef].uop.ldst != '-')
			n->class |= PUG_IS_REF;
		r->m.cold[to].def = (uint32_t)r->ndef++;
	}
	if (PUG_CLASS(n) == PUG_STATIC) {
		uint64_t addr = r->m.new_addr;

		n->off[1] = x->code;
		if (k == PM_EV_BLOCK) {
			if (ev.id != PM_NONE) {
				if (!code || ev.id >= code->nblock) {
					damaged(r, "a block that is not in the code table", err);
					return 0;
				}
				addr = code->block[ev.id].pc;
				n->value = code->block[ev.id].n;
			}
		} else if (code && ev.id < code->ninsn) {
			addr = code->insn[ev.id].pc;
		} else if (code && ev.id != PM_NONE && (k == PM_EV_INSN || k == PM_EV_BRANCH)) {
			damaged(r, "an instruction that is not in the code table", err);
			return 0;
		}
		switch (op & 7 << 3) {
		case 0:
			break;
		case PUG_ADDR_D16:
			if (r->col[PUG_COL_D16].end - r->col[PUG_COL_D16].p < 2)
				goto cut;
			delta = (uint64_t)(int64_t)(int16_t)(r->col[PUG_COL_D16].p[0] |
							     r->col[PUG_COL_D16].p[1] << 8);
			r->col[PUG_COL_D16].p += 2;
			addr = r->m.new_addr + delta;
			break;
		case PUG_ADDR_D32: {
			uint32_t v;

			if (!get_u32(r->col + PUG_COL_D32, &v))
				goto cut;
			addr = r->m.new_addr + (uint64_t)(int64_t)(int32_t)v;
			break;
		}
		case PUG_ADDR_A64:
			if (!get_u64(r->col + PUG_COL_A64, &addr))
				goto cut;
			break;
		default:
			damaged(r, "a new event's address", err);
			return 0;
		}
		n->last = addr;
		r->m.new_addr = addr;
	}
	pug_model_place(&r->m, to, x->cur);
	return to;
cut:
	damaged(r, "a new event's definition is cut", err);
	return 0;
}

/* The address of an event at @node that the op gives. */
static bool get_addr(struct pug_reader *r, uint32_t node, uint8_t op, uint64_t *addr)
{
	struct pug_node *n = r->m.node + node;
	struct pug_ctx *x = &r->now->ctx;
	uint64_t base = op & PUG_BASE_PREV ? x->base[1] : n->last;
	unsigned k = op >> 3 & 7;
	struct col *c;
	uint32_t v;

	switch (k << 3) {
	case PUG_ADDR_STRIDE:
		*addr = n->last + n->off[0];
		n->mode = 0;
		return true;
	case PUG_ADDR_PREV:
	case PUG_ADDR_PREV2:
	case PUG_ADDR_STACK:
		*addr = x->base[k] + n->off[k];
		n->mode = (uint8_t)k;
		return n->class & PUG_IS_REF;
	case PUG_ADDR_SEEN:
		if (r->level == PUG_FAST || !(n->class & PUG_IS_REF))
			return false;
		*addr = r->m.seen[pug_seen_slot(node, n->last)];
		n->mode = PUG_MODE_SEEN;
		return true;
	case PUG_ADDR_D16:
		c = r->col + PUG_COL_D16;
		if (c->end - c->p < 2)
			return false;
		*addr = base + (uint64_t)(int64_t)(int16_t)(c->p[0] | c->p[1] << 8);
		c->p += 2;
		break;
	case PUG_ADDR_D32:
		if (!get_u32(r->col + PUG_COL_D32, &v))
			return false;
		*addr = base + (uint64_t)(int64_t)(int32_t)v;
		break;
	default:
		if (!get_u64(r->col + PUG_COL_A64, addr))
			return false;
		break;
	}
	if (r->level > PUG_FAST && (n->class & PUG_IS_REF))
		r->m.seen[pug_seen_slot(node, n->last)] = *addr;
	return true;
}

/* One op and its event, if it has one: *@made. */
static enum pm_status get_op(struct pug_reader *r, bool *made, struct pm_err *err)
{
	struct pug_model *m = &r->m;
	struct pug_ctx *x = &r->now->ctx;
	const struct pug_node *cur = m->node + x->cur;
	bool asked = cur->multi;
	uint32_t hs = pug_hist_slot(x->cur, x->hist), to = 0;
	struct col *ops = r->col + PUG_COL_OP;
	struct pug_node *n;
	struct pm_event *ev;
	uint64_t v, addr;
	uint8_t op;

	*made = false;
	if (ops->p == ops->end)
		return damaged(r, "it ends too early", err);
	op = *ops->p++;
	switch (op & 7) {
	case PUG_NODE_EXPECTED:
		to = asked && m->expect[hs] ? m->expect[hs] : cur->next;
		break;
	case PUG_NODE_NEXT:
		to = cur->next;
		break;
	case PUG_NODE_ALT:
		to = m->cold[x->cur].alt;
		break;
	case PUG_NODE_KNOWN:
		if (!get_u32(r->col + PUG_COL_NODE, &to))
			return damaged(r, "an event's number is missing", err);
		break;
	case PUG_NODE_NEW:
		to = new_node(r, op, err);
		if (!to)
			return PM_ERR;
		break;
	case PUG_NODE_SWITCH:
		if (!get_varint(r->col + PUG_COL_SIDE, &v) || !v || v > r->nslot)
			return damaged(r, "a switch to a stream that it does not have", err);
		r->now = r->slot + v - 1;
		return PM_OK;
	}
	if (!to || to >= m->n)
		return damaged(r, "an event that was not defined", err);
	n = m->node + to;
	if (PUG_CLASS(n) == PUG_STATIC) {
		if (n->off[1] != x->code)
			return damaged(r, "an instruction of another code table", err);
		addr = n->last;
	} else {
		if (!get_addr(r, to, op, &addr))
			return damaged(r, "an address is missing", err);
		pug_restride(n, addr);
		if (n->class & PUG_IS_REF)
			pug_ref_done(n, x, addr);
		else
			n->last = addr;
	}
	if (op & PUG_VALUE) {
		if (!get_u64(r->col + PUG_COL_VAL, &v))
			return damaged(r, "a value is missing", err);
		n->value += v;
		if ((uint8_t)n->sig == PM_EV_BLOCK && n->sig >> 32 != PM_NONE) {
			const struct pm_code *code = &r->now->code->code;

			if (n->value > code->block[n->sig >> 32].n)
				return damaged(r, "a block executed more instructions than it has", err);
		}
	}
	if (asked) {
		m->expect[hs] = to;
		x->hist = pug_hist_next(x->hist, to);
	}
	if (op & 7)
		pug_learn(m, x->cur, to);
	x->cur = to;
	ev = r->b.ev + r->b.b.n++;
	memcpy(ev, &n->sig, 8);
	ev->addr = addr;
	ev->value = n->value;
	*made = true;
	return PUG_CLASS(n) == PUG_SIDE ? get_side(r, n, ev, err) : PM_OK;
}

/* HOT: up to @count events that are as the model expects; how many, and why it stopped. */
static uint32_t free_events(struct pug_reader *r, uint32_t count, enum pm_status *status, struct pm_err *err)
{
	struct pug_node *node = r->m.node;
	uint32_t *expect = r->m.expect;
	const uint64_t *seen = r->m.seen;
	struct pug_ctx *x = &r->now->ctx;	/* runs are short: copying it would cost more */
	uint32_t at = x->cur;
	struct pm_event *ev = r->b.ev + r->b.b.n;
	uint32_t i;

	*status = PM_OK;
	for (i = 0; i < count; i++, ev++) {
		const struct pug_node *cur = node + at;
		uint32_t p = cur->next, hs = 0;
		bool asked = cur->multi;
		struct pug_node *n;
		uint64_t addr;

		if (asked) {
			hs = pug_hist_slot(at, x->hist);
			p = expect[hs] ? expect[hs] : p;
			expect[hs] = p;
			x->hist = pug_hist_next(x->hist, p);
		}
		n = node + p;
		if (n->class & PUG_IS_REF) {
			if (n->mode == PUG_MODE_SEEN)
				addr = seen[pug_seen_slot(p, n->last)];
			else
				addr = n->mode ? x->base[n->mode] + n->off[n->mode] : n->last + n->off[0];
			n->sure = 1;
			pug_ref_done(n, x, addr);
		} else if (n->class == PUG_STATIC) {
			addr = n->last;
			if (n->off[1] != x->code)
				goto bad;
		} else {
			if (!p)
				goto bad;
			addr = n->last + n->off[0];
			n->last = addr;
			n->sure = 1;
		}
		memcpy(ev, &n->sig, 8);
		ev->addr = addr;
		ev->value = n->value;
		at = p;
		if (PUG_CLASS(n) == PUG_SIDE) {
			x->cur = at;
			*status = get_side(r, n, ev, err);
			if (*status != PM_OK)
				return i;
		}
	}
	x->cur = at;
	r->b.b.n += i;
	return i;
bad:
	*status = damaged(r, "an event that cannot be expected", err);
	return i;
}

/* A batch of the chunk's events, all of one stream. */
static enum pm_status chunk_batch(struct pug_reader *r, const struct pm_batch **b, struct pm_err *err)
{
	struct rslot *slot;

	if (r->b.cap_ev < OUT_EVENTS) {
		r->b.cap_ev = OUT_EVENTS;
		r->b.ev = pm_realloc(r->b.ev, OUT_EVENTS * sizeof *r->b.ev);
	}
again:
	slot = r->now;
	pm_builder_reset(&r->b, slot->stream, slot->code ? &slot->code->code : NULL);
	while (r->left && r->b.b.n < OUT_EVENTS && r->now == slot) {
		enum pm_status s;
		uint32_t want;
		bool made;

		if (!r->run_known) {
			uint64_t run;

			if (!get_varint(r->col + PUG_COL_RUN, &run) || run > r->left)
				return damaged(r, "a run of events is longer than the chunk", err);
			r->run = (uint32_t)run;
			r->run_known = true;
		}
		want = (uint32_t)(OUT_EVENTS - r->b.b.n);
		if (want > r->run)
			want = r->run;
		if (want) {
			uint32_t got = free_events(r, want, &s, err);

			if (s != PM_OK)
				return s;
			r->run -= got;
			r->left -= got;
		}
		if (r->run || !r->left || r->b.b.n == OUT_EVENTS)
			continue;
		r->run_known = false;
		if (get_op(r, &made, err) != PM_OK)
			return PM_ERR;
		r->left -= made;
	}
	if (!r->b.b.n && r->left)
		goto again;
	r->b.b.first_insn = slot->insns;
	{
		uint64_t insns = pm_tally_add(&r->tally, r->b.ev, r->b.b.n);

		slot->insns += insns;
		r->chunk_insns += insns;
	}
	if (!r->left) {
		r->inside = false;
		if (r->chunk_insns != r->rec.ninsn)
			return pm_fail(err, r->at, "the chunk here has %" PRIu64 " instructions, its header says %u",
				       r->chunk_insns, r->rec.ninsn);
	}
	*b = pm_builder_batch(&r->b);
	return PM_OK;
}

/* ---- records ------------------------------------------------------------------------------------------ */

/* A cut is an error like any other, but it says what there was. */
static enum pm_status cut(struct pug_reader *r, uint64_t at, struct pm_err *err)
{
	r->cut = true;
	return pm_fail(err, at, "the trace is cut here, after %" PRIu64 " instructions", r->tally.insns);
}

static enum pm_status skip_chunk(struct pug_reader *r, uint64_t at, struct pm_err *err)
{
	size_t left = PUG_RECORD + (size_t)r->rec.size, got;

	r->skipped = true;
	r->tally.insns = r->rec.insns + r->rec.ninsn;
	while (left) {
		size_t part = left < 1 << 20 ? left : 1 << 20;

		if (!pm_input_peek(r->in, part, &got, err))
			return PM_ERR;
		if (got < part)
			return cut(r, at, err);
		part = got < left ? got : left;
		pm_input_skip(r->in, part);
		left -= part;
	}
	r->rec.tag = 0;
	return PM_OK;
}

static enum pm_status next_record(struct pug_reader *r, struct pm_err *err)
{
	uint64_t at = pm_input_offset(r->in);
	const uint8_t *p;
	struct pm_cur c;
	enum pm_status s;
	size_t got;

	p = pm_input_peek(r->in, PUG_RECORD, &got, err);
	if (!p)
		return PM_ERR;
	if (got < PUG_RECORD)
		return cut(r, at, err);
	if (!pug_rec_get(p, &r->rec))
		return pm_fail(err, at, "expected a record header, found one with a wrong checksum");
	if (r->rec.size > PUG_MAX_PAYLOAD)
		return pm_fail(err, at, "a record of %u bytes", r->rec.size);
	if (r->rec.tag == PUG_DATA && r->skip_to && r->rec.insns + r->rec.ninsn <= r->skip_to)
		return skip_chunk(r, at, err);
	p = pm_input_peek(r->in, PUG_RECORD + (size_t)r->rec.size, &got, err);
	if (!p)
		return PM_ERR;
	if (got < PUG_RECORD + (size_t)r->rec.size)
		return cut(r, at, err);
	if (pug_crc(p + PUG_RECORD, r->rec.size) != r->rec.crc)
		return pm_fail(err, at, "the record here has a wrong checksum");
	c = pm_cur_init(p + PUG_RECORD, r->rec.size, at + PUG_RECORD, err);
	r->at = at;
	switch (r->rec.tag) {
	case PUG_INFO:
		s = get_info(r, &c);
		break;
	case PUG_STRM:
		s = get_stream(r, &c, at);
		break;
	case PUG_CODE:
		s = get_code(r, &c, at);
		break;
	case PUG_DATA:
		if (r->skipped) {		/* what was not read is not known to have been right */
			r->tally.insns = r->rec.insns;
			r->events = r->rec.events;
		}
		if (r->rec.insns != r->tally.insns || r->rec.events != r->events)
			return pm_fail(err, at, "the chunk here should follow instruction %" PRIu64 ", it follows %"
				       PRIu64, r->rec.insns, r->tally.insns);
		s = begin_chunk(r, &c);
		r->events += r->left;
		r->chunks++;
		break;
	case PUG_INDX:
		s = get_index(r, &c, at);
		if (s == PM_OK)
			s = check_totals(r, at, err);
		r->index_at = at;
		r->ended = true;
		break;
	default:
		s = PM_OK;	/* a later minor version may have more to say */
		break;
	}
	r->records++;
	if (s != PM_OK)
		return PM_ERR;
	pm_input_skip(r->in, PUG_RECORD + (size_t)r->rec.size);
	return PM_OK;
}

static enum pm_status check_trailer(struct pug_reader *r, struct pm_err *err)
{
	uint64_t at = pm_input_offset(r->in);
	const uint8_t *p;
	size_t got;

	p = pm_input_peek(r->in, PUG_TRAILER + 1, &got, err);
	if (!p)
		return PM_ERR;
	if (got < PUG_TRAILER)
		return cut(r, at, err);
	if (memcmp(p + 16, PUG_TRAIL_MAGIC, 8) || pug_get32(p + 12) != pug_crc(p, 12) ||
	    pug_get64(p) != r->index_at)
		return pm_fail(err, at, "expected the trailer, found something else");
	if (got > PUG_TRAILER)
		return pm_fail(err, at + PUG_TRAILER, "something follows the trace");
	pm_input_skip(r->in, PUG_TRAILER);
	return PM_OK;
}

enum pm_status pug_read_next(void *self, const struct pm_batch **b, struct pm_err *err)
{
	struct pug_reader *r = self;

	for (;;) {
		if (r->inside)
			return chunk_batch(r, b, err);
		if (r->ended)
			return PM_END;
		if (next_record(r, err) != PM_OK)
			return PM_ERR;
		if (r->ended && check_trailer(r, err) != PM_OK)
			return PM_ERR;
	}
}

void *pug_read_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts, struct pm_err *err)
{
	struct pug_reader *r;
	const uint8_t *p;
	size_t got;
	uint64_t has;

	if (o->options && *o->options) {
		pm_fail_file(err, "reading pug takes no options, not '%s'", o->options);
		return NULL;
	}
	p = pm_input_peek(in, PUG_HEADER, &got, err);
	if (!p)
		return NULL;
	if (got < PUG_HEADER || memcmp(p, PUG_MAGIC, 8)) {
		if (!got)
			pm_fail(err, 0, "the file is empty");
		else if (got >= 8 && memcmp(p, PUG_MAGIC, 8))
			pm_fail(err, 0, "not a .pug trace");
		else
			pm_fail(err, got, "the trace is cut here, inside its header");
		return NULL;
	}
	if ((p[8] | p[9] << 8) > PUG_MAJOR) {
		pm_fail(err, 8, "written in version %u of the format; this pugmark reads up to version %u",
			p[8] | p[9] << 8, PUG_MAJOR);
		return NULL;
	}
	if (pug_get32(p + 28) != pug_crc(p, 28) || pug_get32(p + 12) != PUG_HEADER) {
		pm_fail(err, 0, "the header has a wrong checksum");
		return NULL;
	}
	has = pug_get64(p + 16);
	pm_input_skip(in, PUG_HEADER);
	r = pm_alloc(sizeof *r);
	r->in = in;
	r->facts = *facts = (uint32_t)has;
	pug_model_init(&r->m);
	pm_buf_add(&r->info, "\0", 2);
	/* the description stands first: know it before the first event */
	p = pm_input_peek(in, PUG_RECORD, &got, err);
	if (p && got >= PUG_RECORD && pug_get32(p) == PUG_INFO)
		next_record(r, err);
	if (pm_failed(err) && !r->cut) {
		pug_read_close(r);
		return NULL;
	}
	if (r->cut)
		*err = (struct pm_err){ 0 };	/* the first next() will say it */
	return r;
}

void pug_read_close(void *self)
{
	struct pug_reader *r = self;

	if (!r)
		return;
	for (size_t i = 0; i < r->ncode; i++) {
		pug_code_release(r->code[i]);
		free(r->code[i]);
	}
	free(r->code);
	free(r->stream);
	pm_arena_release(&r->mem);
	for (unsigned k = 0; k < PUG_NCOL; k++)
		pm_buf_release(&r->room[k]);
	pm_buf_release(&r->planes);
	pm_buf_release(&r->payload);
	pm_buf_release(&r->info);
	pug_model_release(&r->m);
	free(r->def);
	free(r->slot);
	pm_builder_release(&r->b);
	free(r);
}

const char *pug_read_info(const struct pug_reader *r)
{
	return (const char *)r->info.p;
}

enum pm_status pug_read_seek(void *self, uint64_t insn, uint64_t *first, struct pm_err *err)
{
	struct pug_reader *r = self;

	r->skip_to = insn;
	for (;;) {
		if (r->inside) {
			*first = r->rec.insns;
			return PM_OK;
		}
		if (r->ended || r->cut) {
			*first = r->tally.insns;
			return PM_OK;		/* nothing is left; next() says so */
		}
		if (next_record(r, err) != PM_OK) {
			if (!r->cut)
				return PM_ERR;
			*err = (struct pm_err){ 0 };
		}
		if (r->ended && check_trailer(r, err) != PM_OK)
			return PM_ERR;
	}
}

enum pm_status pug_read_totals(struct pug_reader *r, struct pug_totals *t, struct pm_err *err)
{
	const uint8_t *p;
	size_t n;
	uint64_t at;
	struct pug_rec rec;
	struct pm_cur c;

	*t = r->totals;
	p = pm_input_map(r->in, &n);
	if (t->whole || !p || n < PUG_HEADER + PUG_RECORD + PUG_TRAILER ||
	    memcmp(p + n - 8, PUG_TRAIL_MAGIC, 8) || pug_get32(p + n - 12) != pug_crc(p + n - PUG_TRAILER, 12))
		return PM_OK;
	at = pug_get64(p + n - PUG_TRAILER);
	if (at < PUG_HEADER || at > n - PUG_TRAILER - PUG_RECORD || !pug_rec_get(p + at, &rec) ||
	    rec.tag != PUG_INDX || rec.size != n - PUG_TRAILER - PUG_RECORD - at)
		return pm_fail(err, n - PUG_TRAILER, "the trailer leads to no index");
	if (pug_crc(p + at + PUG_RECORD, rec.size) != rec.crc)
		return pm_fail(err, at, "the index has a wrong checksum");
	c = pm_cur_init(p + at + PUG_RECORD, rec.size, at + PUG_RECORD, err);
	if (get_index(r, &c, at) != PM_OK)
		return PM_ERR;
	*t = r->totals;
	r->totals = (struct pug_totals){ 0 };
	return PM_OK;
}
