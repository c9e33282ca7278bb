/* SPDX-License-Identifier: MIT */
#include "collect/qemu/guest_bus.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/qemu/stream.h"
#include "isa/x86/decode.h"

#define PAGE		4096u
#define SCREEN_BEGIN	0xa0000u
#define SCREEN_END	0xc0000u
#define QUADWORD	8u		/* bytes that the bus is wide */
#define MOST		(QS_MAX_INSNS * 3 + 64)	/* transactions that one event becomes at most */

struct bus_block {
	uint64_t physical, rest;
	uint32_t first, n;		/* instructions */
	uint16_t in_page;		/* bytes up to the next page */
};

struct bus_insn {
	uint16_t begin, end;		/* from the block's first byte on */
	bool locked;
};

struct guest_bus {
	struct pm_pipeline *p;
	struct guest_bus_config cfg;
	struct pm_builder b;
	struct pm_stream stream;

	struct bus_block *block;
	struct bus_insn *insn;
	size_t nblock, cap_block, ninsn, cap_insn;

	const struct bus_block *now;	/* that runs; NULL: none */
	uint32_t next, completed;	/* its instructions fetched, and those that complete */
	uint64_t straight;		/* where the next instruction is, if nothing branches */
	uint64_t quadword;		/* fetched last; GUEST_NOWHERE: none */
	uint64_t done;			/* instructions completed before the block */
	uint64_t said;			/* the time */
	bool reset_asked;
	struct guest_bus_totals t;
};

struct guest_bus *guest_bus_new(struct pm_pipeline *p, const struct guest_bus_config *cfg)
{
	struct guest_bus *g = pm_alloc(sizeof *g);

	g->p = p;
	g->cfg = *cfg;
	g->stream.name = "bus";
	g->straight = g->quadword = g->said = GUEST_NOWHERE;
	pm_builder_reset(&g->b, &g->stream, NULL);
	pm_bus_room(&g->b, MOST);
	return g;
}

void guest_bus_free(struct guest_bus *g)
{
	if (!g)
		return;
	pm_builder_release(&g->b);
	free(g->block);
	free(g->insn);
	free(g);
}

const struct guest_bus_totals *guest_bus_totals(const struct guest_bus *g)
{
	return &g->t;
}

/* lock, or xchg with memory, which is locked without it. */
static bool is_locked(const struct pm_insn *in)
{
	unsigned i = 0;

	for (; i + 1 < in->len; i++) {
		const uint8_t c = in->bytes[i];

		if (c == 0xf0)
			return true;
		if (!x86_is_prefix(c) && (in->isa != PM_ISA_X86_64 || (c & 0xf0) != 0x40))
			break;
	}
	return (in->bytes[i] & 0xfe) == 0x86 && i + 1 < in->len && in->bytes[i + 1] < 0xc0;
}

void guest_bus_block(struct guest_bus *g, uint64_t physical, uint64_t rest,
		     const struct pm_insn *in, uint32_t n)
{
	const ptrdiff_t now = g->now ? g->now - g->block : -1;
	struct bus_block *b;
	uint16_t at = 0;

	pm_grow(g->block, g->nblock, g->cap_block);
	if (now >= 0)
		g->now = g->block + now;
	b = g->block + g->nblock++;
	*b = (struct bus_block){ .physical = physical, .rest = rest, .n = n,
				 .first = (uint32_t)g->ninsn };
	b->in_page = (uint16_t)(PAGE - in->pc % PAGE);
	for (uint32_t i = 0; i < n; i++) {
		pm_grow(g->insn, g->ninsn, g->cap_insn);
		g->insn[g->ninsn++] = (struct bus_insn){
			.begin = at, .end = (uint16_t)(at + in[i].len), .locked = is_locked(in + i),
		};
		at = (uint16_t)(at + in[i].len);
	}
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* PM_REF_UNCACHED, or 0 */
static unsigned uncached(const struct guest_bus *g, uint64_t addr)
{
	return g->cfg.cached && addr < g->cfg.ram && (addr < SCREEN_BEGIN || addr >= SCREEN_END)
	       ? 0 : PM_REF_UNCACHED;
}

/* Of instruction @slot; @flags of the event. HOT */
static inline struct pm_bus *add_transaction(struct guest_bus *g, enum pm_bus_type type,
					     uint64_t addr, unsigned size, unsigned flags,
					     uint32_t slot)
{
	const uint64_t now = g->done + (slot < g->completed ? slot : g->completed);
	struct pm_bus *u;

	if (now != g->said)
		pm_ev_put(&g->b, PM_EV_TIME, 0, 0, 0, now);
	u = pm_bus_put(&g->b, addr, size, g->said == GUEST_NOWHERE ? UINT64_MAX : now - g->said);
	g->said = now;
	u->type = (uint8_t)type;
	u->lanes = pm_bus_lanes(addr, size);
	u->attr = flags & PM_REF_UNCACHED ? PM_BUS_UNCACHED : PM_BUS_WRITE_BACK;
	g->b.ev[g->b.b.n - 1].flags = (uint8_t)flags;
	if (!g->cfg.cached)
		pm_bus_access(&g->b, type, addr, size);
	g->t.transactions.of[type]++;
	g->t.locked += flags & PM_BUS_LOCKED;
	return u;
}

static void add_special(struct guest_bus *g, enum pm_bus_special which, uint32_t slot)
{
	add_transaction(g, PM_BUS_SPECIAL, 0, 1, PM_REF_UNCACHED, slot)->lanes = (uint8_t)which;
}

/* Instruction @i of the block that runs. HOT */
static inline void fetch(struct guest_bus *g, uint32_t i)
{
	const struct bus_block *b = g->now;
	const struct bus_insn *in = g->insn + b->first + i;

	for (uint32_t at = in->begin, end; at < in->end; at = end) {
		const bool far = at >= b->in_page;
		const uint64_t base = far ? b->rest : b->physical;
		uint64_t addr, quadword;

		if (__builtin_expect(base == GUEST_NOWHERE, 0)) {
			g->t.lost++;
			g->straight = g->quadword = GUEST_NOWHERE;
			return;
		}
		addr = base + at - (far ? b->in_page : 0);
		quadword = addr & ~(uint64_t)(QUADWORD - 1);
		if (quadword != g->quadword)
			add_transaction(g, PM_BUS_FETCH, quadword, QUADWORD,
					uncached(g, quadword), i);
		g->quadword = quadword;
		/* pages end where quadwords do */
		end = at + QUADWORD - (uint32_t)(addr - quadword);
		if (end > in->end)
			end = in->end;
		g->straight = addr + end - at;
	}
}

static inline void fetch_up_to(struct guest_bus *g, uint32_t n)
{
	while (g->next < n)
		fetch(g, g->next++);
}

/* @size bytes at @addr, which do not leave a page. */
static void transfer(struct guest_bus *g, const struct pm_event *e, uint64_t addr, unsigned size)
{
	const unsigned locked = g->insn[g->now->first + e->id].locked ? PM_BUS_LOCKED : 0;

	if (addr == GUEST_NOWHERE) {
		g->t.lost++;
		return;
	}
	while (size) {
		const unsigned left = QUADWORD - (unsigned)(addr % QUADWORD),
			       n = size < left ? size : left;

		add_transaction(g, e->kind == PM_EV_WRITE ? PM_BUS_WRITE : PM_BUS_READ, addr, n,
				(e->flags & PM_REF_UNCACHED) | uncached(g, addr) | locked, e->id);
		addr += n;
		size -= n;
	}
}

/* ---- events ---------------------------------------------------------------------------------- */

static enum pm_status make_room(struct guest_bus *g, struct pm_err *err)
{
	enum pm_status st = PM_OK;

	if (g->b.b.n >= PM_BATCH_EVENTS) {
		st = pm_pipeline_push(g->p, pm_builder_batch(&g->b), err);
		pm_builder_reset(&g->b, &g->stream, NULL);
	}
	pm_bus_room(&g->b, MOST);
	return st;
}

/* All of the block that completes is fetched, and counts. */
static void close_block(struct guest_bus *g)
{
	if (!g->now)
		return;
	fetch_up_to(g, g->completed);
	g->done += g->completed;
	g->completed = 0;
	g->now = NULL;
}

static void open_block(struct guest_bus *g, const struct pm_event *e)
{
	g->now = g->block + e->id;
	g->next = 0;
	g->completed = (uint32_t)e->value;
	/* another way than straight on: what was fetched behind is of no use */
	if (g->now->physical != g->straight)
		g->quadword = GUEST_NOWHERE;
}

static void on_note(struct guest_bus *g, const struct guest_note *n)
{
	if (g->now)
		fetch_up_to(g, n->slot + 1 < g->now->n ? n->slot + 1 : g->now->n);
	switch (n->kind) {
	case GUEST_PORT:
		add_transaction(g, n->write ? PM_BUS_IO_WRITE : PM_BUS_IO_READ, n->value, n->size,
				PM_REF_UNCACHED, n->slot)->data = n->data;
		/* keyboard controller, port 92, PCI chip sets */
		g->reset_asked |= n->write && (n->value == 0x64 || n->value == 0x92 ||
					       n->value == 0xcf9);
		break;
	case GUEST_HALT:
		add_special(g, PM_BUS_HALT, n->slot);
		break;
	case GUEST_FLUSH:
		add_special(g, PM_BUS_FLUSH, n->slot);
		break;
	case GUEST_INVALIDATE:
		add_special(g, PM_BUS_INVALIDATE, n->slot);
		break;
	}
}

static void on_reference(struct guest_bus *g, const struct pm_event *e, uint64_t where,
			 uint64_t rest)
{
	const unsigned left = PAGE - (unsigned)(where % PAGE);

	if (!g->now || e->id >= g->now->n)
		return;
	fetch_up_to(g, e->id + 1);
	if (where == GUEST_NOWHERE || e->size <= left) {
		transfer(g, e, where, e->size);
		return;
	}
	transfer(g, e, where, left);
	transfer(g, e, rest, e->size - left);
}

static void on_event(struct guest_bus *g, const struct pm_event *e, uint64_t where, uint64_t rest)
{
	switch (e->kind) {
	case PM_EV_BLOCK:
		close_block(g);
		open_block(g, e);
		break;
	case PM_EV_READ: case PM_EV_WRITE:
		on_reference(g, e, where, rest);
		break;
	case PM_EV_INTERRUPT:
		close_block(g);
		if (where != GUEST_EXTERNAL)
			break;
		add_transaction(g, PM_BUS_INTACK, 0, 1, PM_REF_UNCACHED, 0)->data = e->value;
		break;
	default:
		break;
	}
}

enum pm_status guest_bus_events(struct guest_bus *g, const struct pm_event *ev, size_t n,
				const uint64_t *where, const struct guest_note *note, size_t notes,
				struct pm_err *err)
{
	const struct guest_note *end = note + notes;
	enum pm_status st = PM_OK;

	for (size_t i = 0; i < n && st == PM_OK; i++) {
		uint64_t rest = GUEST_NOWHERE;

		for (; note < end && note->at <= i && st == PM_OK; note++) {
			if (note->kind == GUEST_REST)
				rest = note->value;
			else
				on_note(g, note);
			st = make_room(g, err);
		}
		if (st == PM_OK)
			on_event(g, ev + i, where[i], rest);
		if (st == PM_OK)
			st = make_room(g, err);
	}
	for (; note < end && st == PM_OK; note++) {
		on_note(g, note);
		st = make_room(g, err);
	}
	return st;
}

enum pm_status guest_bus_end(struct guest_bus *g, bool reset, struct pm_err *err)
{
	enum pm_status st = make_room(g, err);

	close_block(g);
	if (reset && !g->reset_asked)
		add_special(g, PM_BUS_SHUTDOWN, 0);
	if (st == PM_OK && g->b.b.n)
		st = pm_pipeline_push(g->p, pm_builder_batch(&g->b), err);
	pm_builder_reset(&g->b, &g->stream, NULL);
	return st;
}
