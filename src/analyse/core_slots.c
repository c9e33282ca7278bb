/* SPDX-License-Identifier: MIT */
/* core_slots.c - the rules of core_slots.h */
#include <stdlib.h>

#include "analyse/core_slots.h"
#include "base/mem.h"

/* A stretch of cycles without micro-ops, but for @used slots of the first one. */
struct stretch { uint64_t pc, first, used; };

void core_slots_init(struct core_slots *s, uint32_t width, uint32_t rob)
{
	uint32_t places = 1;

	while (places < rob)
		places *= 2;
	*s = (struct core_slots){ .width = width, .size = rob, .mask = places - 1 };
	s->ring = pm_alloc(places * sizeof *s->ring);
	s->pc = pm_alloc(places * sizeof *s->pc);
}

void core_slots_release(struct core_slots *s)
{
	free(s->ring);
	free(s->pc);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void charge(struct core_slots *s, const struct stretch *g, uint64_t pc,
		   enum pm_core_slot why, uint64_t from, uint64_t to)
{
	uint64_t slots;

	if (from >= to)
		return;
	slots = (to - from) * s->width - (from == g->first ? g->used : 0);
	s->total[why] += slots;
	if (s->blame && slots)
		s->blame(s->ctx, pc, why, slots);
}

/* (5) of one instruction: cycles up to @to, in all of which it is the oldest. */
static uint64_t charge_head(struct core_slots *s, const struct stretch *g,
			    const struct core_slots_head *h, uint64_t pc, uint64_t from,
			    uint64_t to)
{
	const uint32_t commit = h->commit;
	/* how long before commit; 0: it never was */
	const struct { uint32_t before; enum pm_core_slot why; } phase[] = {
		{ h->loads ? commit - h->load : 0, PM_CORE_SLOT_ports },
		{ h->loads ? commit - h->data : 0, PM_CORE_SLOT_l1 + h->level },
		{ commit - h->exec, PM_CORE_SLOT_ports },
		{ commit - h->done, h->busy },
	};

	for (size_t i = 0; i < NR(phase); i++) {
		/* what it did a cycle before */
		uint64_t upto = least(h->commit - phase[i].before + 2, to);

		if (!phase[i].before || upto <= from)
			continue;
		charge(s, g, pc, phase[i].why, from, upto);
		from = upto;
	}
	charge(s, g, pc, PM_CORE_SLOT_ports, from, to);
	return most(from, to);
}

/* (5) */
static void charge_oldest(struct core_slots *s, const struct stretch *g, uint64_t from, uint64_t to)
{
	/* who has left the ring has left the reorder buffer */
	if (s->oldest + s->size < s->n)
		s->oldest = s->n - s->size;
	while (from < to) {
		const struct core_slots_head *h;

		while (s->oldest < s->n && s->ring[s->oldest & s->mask].commit < from)
			s->oldest++;
		if (s->oldest == s->n)
			break;
		h = s->ring + (s->oldest & s->mask);
		from = charge_head(s, g, h, s->pc[s->oldest & s->mask], from,
				   least(h->commit + 1, to));
	}
	charge(s, g, g->pc, PM_CORE_SLOT_ports, from, to);
}

/* (4) */
static void charge_back_end(struct core_slots *s, const struct stretch *g,
			    const struct core_slots_wait *w, uint64_t from)
{
	const uint64_t serial = most(from, least(w->serial, w->dispatch));
	const uint64_t left = most(serial, least(w->store_left, w->dispatch));
	const uint64_t store = most(serial, least(w->store, left));

	charge(s, g, w->serial_pc, PM_CORE_SLOT_serial, from, serial);
	charge_oldest(s, g, serial, store);
	charge(s, g, w->pc, PM_CORE_SLOT_store, store, left);
	charge_oldest(s, g, left, w->dispatch);
}

/* (2) */
static void charge_front_end(struct core_slots *s, const struct stretch *g,
			     const struct core_slots_wait *w)
{
	const uint64_t from = w->before, missed = most(from, w->missed);
	const bool branch = s->n && w->branch != PM_CORE_SLOT_bandwidth;
	const uint64_t pc = branch ? w->branch_pc : w->pc;
	uint64_t full = missed, resolved = missed;

	if (w->branch == PM_CORE_SLOT_speculation) {
		full = least(from + s->size / s->width, missed);
		resolved = least(most(full, w->resolved), missed);
	}
	charge(s, g, pc, w->branch, from, full);
	charge_oldest(s, g, full, resolved);
	charge(s, g, pc, w->branch, resolved, missed);
	charge(s, g, w->pc, PM_CORE_SLOT_icache, missed, w->came);
}

/* HOT: once per instruction that does not share the cycle of the one before. */
void core_slots_before(struct core_slots *s, uint64_t n, const struct core_slots_wait *w)
{
	const struct stretch g = { w->pc, w->before, least(w->used, s->width) };
	uint64_t from = w->before;

	s->n = n;
	if (w->came > from) {
		charge_front_end(s, &g, w);
		from = w->came;
	} else if (w->used && w->used + w->uops > s->width) {		/* (3) */
		charge(s, &g, w->pc, PM_CORE_SLOT_bandwidth, from, from + 1);
		from++;
	}
	if (from < w->dispatch)
		charge_back_end(s, &g, w, from);
}

void core_slots_end(struct core_slots *s, uint64_t n, uint64_t dispatch, unsigned used,
		    uint64_t commit)
{
	const struct stretch g = { s->pc[(n - 1) & s->mask], dispatch,
		least(used, s->width) };

	s->n = n;
	charge_oldest(s, &g, dispatch, commit);
}
