/* SPDX-License-Identifier: MIT */
/* record.c - which values the blocks of a unit record (isa/x86/plan.h), and which register holds
 * the trace buffer's cursor meanwhile
 *
 * That is the cursor register (xl_cursor_register()). Where instructions of the program use that
 * register, the program's value is restored, and another register holds the cursor. */
#include <string.h>

#include "base/mem.h"
#include "collect/translate/translate_internal.h"
#include "pugmark/pugmark.h"

struct xl_walk {			/* through the instructions of a chain */
	const struct scratch *s;
	uint32_t block, begin;		/* where we are, and the number of that
					 * block's first instruction */
	struct x86_at at;
};

static const struct x86_at *insn_at(void *ctx, uint32_t i)
{
	struct xl_walk *w = ctx;
	const struct insn *in;

	while (i >= w->begin + w->s->block[w->block].n) {
		w->begin += w->s->block[w->block].n;
		w->block = w->s->block[w->block].rec.next;
	}
	in = &w->s->insn[w->s->block[w->block].first + (i - w->begin)];
	w->at = (struct x86_at){ in->p, in->pc, in->x };
	return &w->at;
}

/* ---- chains --------------------------------------------------------------------------------- */
static void count_pred(struct scratch *s, const struct xl_target *t, bool other)
{
	if (t->where != TO_UNIT)
		return;
	if (other)
		s->preds[t->block] |= ENTERED;
	else if ((s->preds[t->block] & 3) < 2)
		s->preds[t->block]++;
}

static uint32_t successor(struct scratch *s, const struct block *b)
{
	if (b->kind == X86_JMP && jumps_back(s, b))
		return XL_NONE;			/* it may leave there: its record is complete */
	switch (b->kind) {
	case X86_PLAIN:
	case X86_JCC:
		return b->fall.where == TO_UNIT && !tree_crosses(s, b, b->fall.pc) ?
			b->fall.block : XL_NONE;
	case X86_JMP:
		return b->to.where == TO_UNIT && !tree_crosses(s, b, b->to.pc) ?
			b->to.block : XL_NONE;
	default:
		return XL_NONE;
	}
}

/* What follows one of these begins a record of its own. */
static bool ends_record(const struct scratch *s, const struct block *b)
{
	const struct insn *last = &s->insn[b->first + b->n];

	return b->n && x86_has_lanes(&last[-1].x, last[-1].p);
}

void count_preds(struct scratch *s)
{
	if (s->cap_preds < s->nblock) {
		s->cap_preds = 2 * s->nblock;
		s->preds = pm_realloc(s->preds, s->cap_preds);
	}
	memset(s->preds, 0, s->nblock);
	s->preds[0] = ENTERED;
	for (size_t k = 0; k < s->nblock; k++) {
		const struct block *b = &s->block[k];

		count_pred(s, &b->to,
			   b->kind != X86_JMP && b->kind != X86_JCC && b->kind != X86_JCX);
		count_pred(s, &b->fall,
			   b->kind != X86_PLAIN && b->kind != X86_JCC && b->kind != X86_JCX);
		if (b->entry_inline || b->mark & MARK_INDIRECT)
			s->preds[k] |= ENTERED;
		if (successor(s, b) != XL_NONE)
			s->preds[successor(s, b)] |= FOLLOWS;
	}
}

static void make_chains(struct scratch *s)
{
	for (size_t k = 0; k < s->nblock; k++)
		s->block[k].rec.prev = s->block[k].rec.next = XL_NONE;
	if (s->in->patchable || s->in->check_bytes || xl_has_clock(s->in))
		return;
	count_preds(s);
	for (size_t k = 0; k < s->nblock; k++) {
		uint32_t n = s->block[k].n, at = (uint32_t)k, next;

		if (s->preds[k] == CONTINUES || s->block[k].rec.prev != XL_NONE)
			continue;		/* no head, or not yet known to be one */
		for (; (next = successor(s, &s->block[at])) != XL_NONE; at = next) {
			n += s->block[next].n;
			if (s->preds[next] != CONTINUES || n > XL_EXEC_INSNS || next == k ||
			    ends_record(s, &s->block[at]))
				break;
			s->block[at].rec.next = next;
			s->block[next].rec.prev = at;
		}
		if (next != XL_NONE && s->preds[next] == CONTINUES &&
		    s->block[next].rec.prev == XL_NONE) {
			s->preds[next] = ENTERED;	/* too long: that one begins a chain */
			if (next < k)
				k = next - 1;
		}
	}
}

static uint32_t place_of(const struct x86_store *st)
{
	return st->insn + st->after;
}

/* What place @i and the instruction behind it use: instructions that leave the block see to the
 * cursor register themselves. */
static uint32_t used_at(const struct scratch *s, const struct block *b, uint32_t i)
{
	uint32_t used = 0;

	if (i < last_place(b)) {
		const struct x86_insn *x = &s->insn[b->first + i].x;

		used = x->read | x->write;
	}
	for (uint32_t k = 0; k < b->rec.nstore; k++)
		if (place_of(&s->store[b->rec.store + k]) == i &&
		    s->store[b->rec.store + k].what <= X86_STORE_LOW)
			used |= 1u << s->store[b->rec.store + k].reg;
	return used;
}

struct restored restored_range(const struct scratch *s, const struct block *b, uint32_t from)
{
	const uint32_t end = last_place(b);
	struct restored o = { .from = UINT32_MAX, .to = UINT32_MAX };
	const unsigned cursor = xl_cursor_register(s->in->i386);
	uint32_t free = cursor_registers(s) & ~(1u << cursor), used;

	for (uint32_t i = from; i <= end; i++) {
		used = used_at(s, b, i);
		if (o.from == UINT32_MAX && !(used >> cursor & 1))
			continue;
		if (o.from == UINT32_MAX)
			o.from = i;
		free &= ~used;
		if (!free)
			break;
		if (used >> cursor & 1) {
			o.to = i + 1;
			o.reg = (uint8_t)__builtin_ctz(free);
		}
	}
	return o;
}

static uint32_t count_ranges(const struct scratch *s, const struct block *b)
{
	struct restored o = { 0 };
	uint32_t n = 0;

	while ((o = restored_range(s, b, o.to)).from != UINT32_MAX)
		n++;
	return n;
}

static void plan_chain(struct scratch *s, uint32_t head)
{
	struct xl_walk w = { .s = s, .block = head };
	uint32_t n = 0, begin = 0, at = 0, size = 0;

	for (uint32_t k = head; k != XL_NONE; k = s->block[k].rec.next)
		n += s->block[k].n;
	s->plan.nstore = 0;
	if (s->in->kind == XL_EXEC)
		x86_plan(insn_at, &w, n, !s->in->i386, &s->plan);
	for (uint32_t k = head; k != XL_NONE; k = s->block[k].rec.next) {
		struct block *b = &s->block[k];
		const uint32_t last = last_place(b);

		b->derived = false;
		b->in = b->out = XL_NONE;
		b->rec.store = (uint32_t)s->nstore;
		b->rec.nstore = 0;
		for (; at < s->plan.nstore && s->plan.store[at].insn < begin + b->n; at++) {
			struct x86_store st = s->plan.store[at];

			size = st.end;
			st.insn -= (uint8_t)begin;
			/* behind a transfer there is no place: the runtime
			 * tells what it would be */
			if (place_of(&st) > last)
				continue;
			pm_grow(s->store, s->nstore, s->cap_store);
			s->store[s->nstore++] = st;
			b->rec.nstore++;
		}
		b->rec.size = 4 + size;
		b->rec.last = b->rec.nstore ? place_of(&s->store[s->nstore - 1]) : 0;
		b->rec.nrestored = count_ranges(s, b);
		begin += b->n;
		b->rec.insns = begin;
	}
}

void plan_records(struct scratch *s)
{
	s->nstore = 0;
	make_chains(s);
	for (size_t k = 0; k < s->nblock; k++)
		if (s->block[k].rec.prev == XL_NONE)
			plan_chain(s, (uint32_t)k);
}
