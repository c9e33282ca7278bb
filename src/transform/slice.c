/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "transform/slice.h"

enum slice_unit { UNIT_INSN, UNIT_EVENT };

struct slice_stream {
	uint32_t block;			/* that is being taken apart or cut; PM_NONE: none */
	uint32_t first, end;		/* its wanted instructions */
	bool apart;			/* it goes out as instructions: its beginning is not
					 * wanted */
	uint32_t out;			/* ... of which these are out */
	bool inside;			/* does the instruction that comes last belong? */
	bool begun;			/* there was one */
	uint64_t lo, hi;		/* the last answer of where() holds here */
	bool answer, asked;
	const struct pm_stream *stream;	/* NULL: not seen yet */
	const struct pm_code *code;
};

struct slice_cut {
	struct pm_slice_opts o;
	enum slice_unit unit;
	uint64_t at;			/* position of the next instruction */
	uint64_t time;
	struct slice_stream *stream;
	size_t cap;
	struct pm_event *ev;
	size_t n, cap_ev;
	uint64_t kept;			/* instructions, or events */
	bool done;
	bool has_thread;		/* the trace has o.tid; if not, it has these: */
	uint32_t tid[8];
	unsigned ntid;			/* perhaps more than there is room for */
};

bool pm_slice_blocks(const struct pm_slice_opts *o)
{
	return !o->nrange && !o->where;
}

void *pm_slice_new(const struct pm_slice_opts *o)
{
	struct slice_cut *s = pm_alloc(sizeof *s);

	s->o = *o;
	s->at = o->skipped;
	s->unit = o->facts & (PM_HAS_INSNS | PM_HAS_BLOCKS) ? UNIT_INSN : UNIT_EVENT;
	return s;
}

bool pm_slice_done(const void *self)
{
	return ((const struct slice_cut *)self)->done;
}

uint64_t pm_slice_kept(const void *self, uint64_t *seen)
{
	const struct slice_cut *s = self;

	*seen = s->at;
	return s->kept;
}

static struct slice_stream *stream_of(struct slice_cut *s, uint32_t index)
{
	if (index >= s->cap) {
		size_t cap = s->cap ? s->cap : 8;

		while (cap <= index)
			cap *= 2;
		s->stream = pm_realloc(s->stream, cap * sizeof *s->stream);
		memset(s->stream + s->cap, 0, (cap - s->cap) * sizeof *s->stream);
		s->cap = cap;
	}
	if (!s->stream[index].stream)
		s->stream[index] = (struct slice_stream){ .block = PM_NONE };
	return s->stream + index;
}

static void put(struct slice_cut *s, const struct pm_event *ev)
{
	pm_grow(s->ev, s->n, s->cap_ev);
	s->ev[s->n++] = *ev;
}

static bool in_window(const struct slice_cut *s, uint64_t at)
{
	return at >= s->o.from && at - s->o.from < s->o.count && s->time >= s->o.time_from &&
	       s->time < s->o.time_to;
}

static bool in_range(const struct slice_cut *s, uint64_t addr)
{
	for (size_t i = 0; i < s->o.nrange; i++)
		if (addr >= s->o.range[i].lo && addr < s->o.range[i].hi)
			return true;
	return !s->o.nrange;
}

static bool wanted_code(struct slice_cut *s, struct slice_stream *st, const struct pm_batch *b,
			uint64_t pc, uint32_t insn)
{
	const struct pm_object *object = NULL;
	uint64_t hi = pc + 1;

	if (!in_range(s, pc))
		return false;
	if (!s->o.where)
		return true;
	if (st->asked && pc >= st->lo && pc < st->hi)
		return st->answer;
	if (b->code && insn < b->code->ninsn && b->code->insn[insn].object < b->code->nobject)
		object = b->code->object + b->code->insn[insn].object;
	st->answer = s->o.where(s->o.where_arg, object, pc, &hi);
	st->lo = pc;
	st->hi = hi;
	st->asked = true;
	return st->answer;
}

/* The wanted rest of a block that is taken apart, before its instruction @upto. */
static void put_insns(struct slice_cut *s, struct slice_stream *st, const struct pm_code *code,
		      uint32_t upto)
{
	const struct pm_block *blk = code->block + st->block;

	if (upto > st->end)
		upto = st->end;
	for (uint32_t i = st->out > st->first ? st->out : st->first; i < upto; i++) {
		const struct pm_insn *in = code->insn + blk->insn + i;

		put(s, &(struct pm_event){ .kind = PM_EV_INSN, .size = in->len, .id = blk->insn + i,
					   .addr = in->pc });
	}
	if (upto > st->out)
		st->out = upto;
}

static void leave_block(struct slice_cut *s, struct slice_stream *st, const struct pm_code *code)
{
	if (st->apart)
		put_insns(s, st, code, st->end);
	st->apart = false;
}

static enum pm_status enter_block(struct slice_cut *s, struct slice_stream *st,
				  const struct pm_batch *b, const struct pm_event *ev,
				  struct pm_err *err)
{
	uint64_t n = ev->value, first = 0, end = 0;

	if (!b->code || ev->id >= b->code->nblock || n > b->code->block[ev->id].n)
		return pm_fail_file(err, "block number %u is not in the code table", ev->id);
	if (s->time >= s->o.time_from && s->time < s->o.time_to && s->at + n > s->o.from &&
	    (s->at < s->o.from || s->at - s->o.from < s->o.count)) {
		first = s->at < s->o.from ? s->o.from - s->at : 0;
		end = n;
		if (s->o.count < UINT64_MAX - s->o.from && s->o.from + s->o.count < s->at + n)
			end = s->o.from + s->o.count - s->at;
	}
	st->inside = false;
	st->block = ev->id;
	st->first = (uint32_t)first;
	st->end = (uint32_t)end;
	st->out = 0;
	st->apart = first && end > first;
	if (!first && end) {
		struct pm_event cut = *ev;

		cut.value = end;
		put(s, &cut);
	}
	s->at += n;
	s->kept += end > first ? end - first : 0;
	return PM_OK;
}

bool pm_slice_is_context(uint8_t kind)
{
	return kind == PM_EV_PROCESS || kind == PM_EV_EXEC || kind == PM_EV_THREAD ||
	       kind == PM_EV_MMAP || kind == PM_EV_MUNMAP;
}

/* An event that belongs to the instruction before it. */
static bool belongs(uint8_t kind)
{
	return (kind >= PM_EV_READ && kind <= PM_EV_REP_END) || kind == PM_EV_REG_READ ||
	       kind == PM_EV_REG_WRITE;
}

/* What only the trace's own format understands goes with the instruction (or event) before it, and
 * what says how the trace begins stays; but where blocks are taken apart, all of it would be
 * wrong. */
static bool keeps_opaque(const struct slice_cut *s, const struct slice_stream *st,
			 const struct pm_event *ev)
{
	return !(s->o.facts & PM_HAS_BLOCKS) &&
	       (ev->flags == PM_OPAQUE_HEADER || !st->begun || st->inside);
}

/* Has everything come that belongs to instructions that are wanted? */
static bool nothing_open(const struct slice_cut *s)
{
	for (size_t i = 0; i < s->cap; i++)
		if (s->stream[i].block != PM_NONE ? s->stream[i].end > s->stream[i].first
						  : s->stream[i].inside)
			return false;
	return true;
}

static void note_thread(struct slice_cut *s, uint32_t tid)
{
	if (!tid)
		return;
	for (unsigned i = 0; i < s->ntid && i < NR(s->tid); i++)
		if (s->tid[i] == tid)
			return;
	if (s->ntid < NR(s->tid))
		s->tid[s->ntid] = tid;
	if (s->ntid <= NR(s->tid))
		s->ntid++;
}

static enum pm_status slice_consume(void *self, const struct pm_batch *b, const struct pm_emit *to,
				    struct pm_err *err)
{
	struct slice_cut *s = self;
	struct slice_stream *st;
	struct pm_batch out = *b;

	s->has_thread |= b->stream->tid == s->o.tid;
	if (s->o.tid && !s->has_thread)
		note_thread(s, b->stream->tid);
	if (s->done || (s->o.tid && b->stream->tid != s->o.tid)) {
		for (size_t i = 0; i < b->n; i++)	/* positions count all streams */
			s->at += b->ev[i].kind == PM_EV_BLOCK ? b->ev[i].value :
				 b->ev[i].kind == PM_EV_INSN;
		return PM_OK;
	}
	st = stream_of(s, b->stream->index);
	st->stream = b->stream;
	st->code = b->code;
	s->n = 0;
	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *ev = b->ev + i;
		bool starts = ev->kind == PM_EV_INSN;

		if (ev->kind == PM_EV_TIME)
			s->time = ev->value;
		if (ev->kind == PM_EV_OPAQUE) {
			if (keeps_opaque(s, st, ev))
				put(s, ev);
			continue;
		}
		if (s->unit == UNIT_EVENT)
			starts = true;
		if (ev->kind == PM_EV_BLOCK && s->unit == UNIT_INSN) {
			if (st->block != PM_NONE)
				leave_block(s, st, b->code);
			if (enter_block(s, st, b, ev, err) != PM_OK)
				return PM_ERR;
			continue;
		}
		if (st->block != PM_NONE && belongs(ev->kind) && ev->kind != PM_EV_BRANCH) {
			uint32_t slot = PM_SLOT_OF(ev);

			if (slot == PM_NONE || slot < st->first || slot >= st->end)
				continue;
			if (st->apart) {
				struct pm_event plain = *ev;

				put_insns(s, st, b->code, slot + 1);
				plain.id = b->code->block[st->block].insn + slot;
				put(s, &plain);
			} else {
				put(s, ev);
			}
			continue;
		}
		if (st->block != PM_NONE && b->code)
			leave_block(s, st, b->code);
		if (starts) {
			st->block = PM_NONE;
			st->begun = true;
			st->inside = in_window(s, s->at++);
			if (st->inside && !pm_slice_blocks(&s->o)) {
				if (s->unit == UNIT_EVENT)
					st->inside = in_range(s, ev->addr);
				else
					st->inside = wanted_code(s, st, b, ev->addr, ev->id);
			}
			if (st->inside) {
				put(s, ev);
				s->kept++;
			}
		} else if (belongs(ev->kind) || ev->kind == PM_EV_UOP) {
			if (st->inside)
				put(s, ev);
		} else if (in_window(s, s->at) || pm_slice_is_context(ev->kind)) {
			put(s, ev);
		}
	}
	if ((s->o.count < UINT64_MAX - s->o.from && s->at >= s->o.from + s->o.count) ||
	    s->time >= s->o.time_to)
		s->done = nothing_open(s);
	if (!s->n)
		return PM_OK;
	out.ev = s->ev;
	out.n = s->n;
	return to->batch(to->to, &out, err);
}

static enum pm_status no_thread(const struct slice_cut *s, struct pm_err *err)
{
	char text[120] = "";
	size_t n = 0;

	for (unsigned i = 0; i < s->ntid && i < NR(s->tid); i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%" PRIu32, i ? ", " : "",
				      s->tid[i]);
	return pm_fail_file(err, "the trace has no thread %" PRIu32 "; %s%s%s", s->o.tid,
			    s->ntid ? "there are " : "it does not say which threads there are",
			    text, s->ntid > NR(s->tid) ? " and others" : "");
}

static enum pm_status slice_finish(void *self, const struct pm_emit *to, struct pm_err *err)
{
	struct slice_cut *s = self;

	/* a part that is complete may end before the thread begins */
	if (s->o.tid && !s->has_thread && !s->done)
		return no_thread(s, err);
	for (size_t i = 0; i < s->cap; i++) {
		struct slice_stream *st = s->stream + i;
		struct pm_batch out = { .stream = st->stream, .code = st->code };

		if (!st->stream || !st->apart || !st->code)
			continue;
		s->n = 0;
		leave_block(s, st, st->code);
		out.ev = s->ev;
		out.n = s->n;
		if (s->n && to->batch(to->to, &out, err) == PM_ERR)
			return PM_ERR;
	}
	return PM_OK;
}

static void slice_destroy(void *self)
{
	struct slice_cut *s = self;

	if (!s)
		return;
	free(s->stream);
	free(s->ev);
	free(s);
}

const struct pm_transform_ops pm_slice_ops = {
	.name = "slice", .flags = PM_SINK_BLOCKS, .consume = slice_consume, .finish = slice_finish,
	.destroy = slice_destroy,
};

const struct pm_transform_ops pm_slice_expanded_ops = {
	.name = "slice", .consume = slice_consume, .finish = slice_finish,
	.destroy = slice_destroy,
};
