/* SPDX-License-Identifier: MIT */
/* record.c - which values the blocks of a unit record (isa/x86/plan.h), and which register holds the
 * trace buffer's cursor meanwhile
 *
 * From its first store to its last a block keeps the cursor in one register that no instruction in
 * between touches. The program's value of it is spilled, unless it is dead, and comes back behind the
 * last store, unless the block overwrites it before it reads it. Where no register is left alone that
 * long, one is borrowed anew at each place. */
#include <string.h>

#include "base/mem.h"
#include "collect/translate/internal.h"
#include "pugmark/pugmark.h"

#define RSP_BIT	(1u << 4)
#define R12_BIT	(1u << 12)		/* as a base it takes a SIB byte, which the runtime would have to read */
#define USABLE	(LV_GPRS & ~RSP_BIT & ~R12_BIT)

struct walk {
	const struct scratch *s;
	const struct block *b;
	struct x86_at at;
};

static const struct x86_at *insn_at(void *ctx, uint32_t i)
{
	struct walk *w = ctx;
	const struct insn *in = &w->s->insn[w->b->first + i];

	w->at.p = in->p;
	w->at.x = in->x;
	return &w->at;
}

static uint32_t place_of(const struct x86_store *st)
{
	return st->insn + st->after;
}

/* Does the program need @reg's value back behind the last store? */
static bool comes_back(const struct scratch *s, const struct block *b, const uint32_t *live, uint32_t from,
		       unsigned reg)
{
	uint32_t end = last_place(b);

	for (uint32_t i = from; i < end; i++) {
		const struct x86_insn *x = &s->insn[b->first + i].x;

		if (x->read >> reg & 1)
			return true;
		if (x->kill >> reg & 1)
			return false;
		if (x->write >> reg & 1)
			return true;
	}
	return live[end] >> reg & 1;
}

static void choose_register(const struct scratch *s, struct block *b, const uint32_t *live)
{
	struct record *r = &b->rec;
	uint32_t free = USABLE, best = UINT32_MAX;

	for (uint32_t i = r->first; i < r->last; i++)
		free &= ~(uint32_t)(s->insn[b->first + i].x.read | s->insn[b->first + i].x.write);
	for (uint32_t k = 0; k < r->nstore; k++)
		free &= ~(1u << s->store[r->store + k].reg);
	r->reg = RECORD_BY_TURNS;
	for (; free; free &= free - 1) {
		unsigned reg = (unsigned)__builtin_ctz(free);
		bool spill = live[r->first] >> reg & 1;
		bool restore = spill && comes_back(s, b, live, r->last, reg);
		uint32_t cost = spill + 2u * restore;	/* a reload may be waited for */

		if (cost < best) {
			best = cost;
			r->reg = (uint8_t)reg;
			r->spill = spill;
			r->restore = restore;
		}
	}
}

static void plan_block(struct scratch *s, struct block *b)
{
	struct walk w = { .s = s, .b = b };
	struct record *r = &b->rec;
	uint32_t live[MAX_BLOCK_INSNS + 1], last = last_place(b);

	*r = (struct record){ .store = (uint32_t)s->nstore };
	b->derived = false;
	b->in = b->out = XL_NONE;
	live_course(s, b, live);
	s->plan.nstore = 0;
	if (s->in->kind == XL_EXEC)
		x86_plan(insn_at, &w, b->pc, b->n, &s->plan);
	for (size_t k = 0; k < s->plan.nstore; k++) {
		const struct x86_store *st = &s->plan.store[k];

		/* behind a transfer there is no place: the runtime tells what the value would have */
		if (place_of(st) > last)
			break;
		pm_grow(s->store, s->nstore, s->cap_store);
		s->store[s->nstore++] = *st;
		r->nstore++;
	}
	r->size = 4 + 8 * (uint32_t)s->plan.nstore;
	if (r->nstore) {
		r->first = place_of(&s->store[r->store]);
		r->last = place_of(&s->store[s->nstore - 1]);
	} else {
		for (uint32_t i = 0; i <= last; i++)
			if (USABLE & ~live[i]) {
				r->first = r->last = i;
				break;
			}
	}
	choose_register(s, b, live);
}

void plan_records(struct scratch *s)
{
	s->nstore = 0;
	for (size_t k = 0; k < s->nblock; k++)
		plan_block(s, &s->block[k]);
}
