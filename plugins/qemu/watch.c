/* SPDX-License-Identifier: MIT */
#include "watch.h"

#include <string.h>
#include <sys/mman.h>

#include "guest.h"
#include "ring.h"

#define ALIGNED		0x1fffffull	/* a kernel is moved by a multiple of one more */
#define KERNEL		0xffffffff80000000ull
#define PLACES		1024u		/* a power of two: addresses where something is to be said */
#define CALLS		512u		/* under way at a time */
#define PRESENT		1u
#define LARGE		0x80u
#define FRAME		0x000ffffffffff000ull

static struct call {
	uint64_t to, sp;		/* where it returns to, with which stack pointer; 0: none */
	uint32_t watch;
	uint64_t value[QS_KEPT];
} calls[CALLS];

static struct place {
	uint64_t pc;			/* 0: none */
	const struct qs_watch *watch;	/* a function that begins there; NULL: none */
	bool behind;			/* one returns to there */
} place[PLACES];

static const struct qs_plan *plan;
static uint64_t slide;			/* to be added to an address as linked */
static bool found;			/* that is known */
static unsigned nplace, ncall;		/* ncall: how many of `calls` may be in use */

bool watch_open(int fd)
{
	void *p = mmap(NULL, sizeof *plan, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return false;
	plan = p;
	return plan->magic == QS_MAGIC && plan->nwatch <= QS_WATCHES;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* The one at @pc, or where it would go. */
static struct place *place_at(uint64_t pc)
{
	unsigned h = (unsigned)(pc ^ pc >> 11) % PLACES;

	while (place[h].pc && place[h].pc != pc)
		h = (h + 1) % PLACES;
	return &place[h];
}

/* NULL: there are too many. */
static struct place *add_place(uint64_t pc)
{
	struct place *p = place_at(pc);

	if (!p->pc) {
		if (nplace >= PLACES / 2)
			return NULL;
		nplace++;
		p->pc = pc;
	}
	return p;
}

/* Is @pc the early function's, in a kernel that was moved? */
static void find_kernel(uint64_t pc)
{
	uint8_t mark[QS_MARK];

	if (pc < KERNEL || (pc ^ plan->early) & ALIGNED || !guest.wide ||
	    !guest_read(plan->mark_at + (pc - plan->early), mark, sizeof mark) ||
	    memcmp(mark, plan->mark, sizeof mark))
		return;
	found = true;
	slide = pc - plan->early;
	for (uint32_t i = 0; i < plan->nwatch; i++)
		if (plan->watch[i].at)
			add_place(plan->watch[i].at + slide)->watch = &plan->watch[i];
}

bool watch_wants(uint64_t pc)
{
	if (!plan)
		return false;
	if (!found)
		find_kernel(pc);
	return found && place_at(pc)->pc;
}

/* ---- values ---------------------------------------------------------------------------------- */

static uint64_t memory(void)
{
	uint64_t v = 0;

	if (!plan->memory_at)
		return plan->memory;
	return guest_read(plan->memory_at + slide, &v, 8) ? v : 0;
}

/* What the page directory at @table says of the page of @addr: QS_PAGE. */
static uint64_t page(uint64_t table, uint64_t addr)
{
	const uint64_t all = memory();
	uint64_t entry = 0;

	for (int shift = 39; shift >= 12 && table; shift -= 9) {
		if (!guest_read(table + (addr >> shift & 511) * 8, &entry, 8) || !(entry & PRESENT))
			return shift == 12 ? entry & FRAME : 0;
		if (shift == 12)
			return (entry & FRAME) | 1;
		if (entry & LARGE && shift < 39)
			return ((entry & FRAME) & ~((1ull << shift) - 1)) |
			       (addr & ((1ull << shift) - 1) & FRAME) | 3;
		table = all + (entry & FRAME);
	}
	return 0;
}

static uint64_t begin_of(const struct qs_value *v, const struct call *c)
{
	if (v->from < QS_ARGUMENTS)
		return guest_argument(v->from);
	if (v->from == QS_SYMBOL)
		return v->start ? v->start + slide : 0;
	return c && v->start < QS_KEPT ? c->value[v->start] : 0;
}

static uint64_t number(const struct qs_value *v, const struct call *c)
{
	uint64_t at = begin_of(v, c), got;

	for (unsigned i = 0; i < v->steps && i < QS_STEPS; i++) {
		const size_t n = i + 1 == v->steps ? v->size : 8;

		if (!at || n > 8)
			return 0;
		at += (uint64_t)(int64_t)v->step[i];
		got = 0;
		if (n && !guest_read(at, &got, n))
			return 0;
		at = n ? got : at;
	}
	if (v->kind == QS_FRAME)
		return at ? (at - memory()) >> 12 : 0;
	if (v->kind == QS_PAGE)
		return c && v->address < QS_KEPT ? page(at, c->value[v->address]) : 0;
	return at;
}

static void put_text(uint64_t at)
{
	char text[QS_TEXT * 8] = { 0 };
	uint64_t word;

	/* it may end just before what cannot be read */
	for (unsigned i = 0; at && i + 1 < sizeof text; i++)
		if (!guest_read(at + i, text + i, 1) || !text[i])
			break;
	for (unsigned i = 0; i < QS_TEXT; i++) {
		memcpy(&word, text + 8 * i, 8);
		ring_put(word);
	}
}

/* @n values of the plan from number @first on. @keep: they are kept there, too. */
static void put_values(unsigned watch, uint64_t pc, unsigned first, unsigned n,
		       const struct call *c, uint64_t *keep)
{
	unsigned words = 1;

	for (unsigned i = 0; i < n; i++)
		words += plan->value[first + i].kind == QS_STRING ? QS_TEXT : 1;
	ring_room(1 + words);
	ring_put(qs_record(QS_WATCHED, words, watch | (keep ? 0 : QS_LEAVE)));
	ring_put(pc);
	for (unsigned i = 0; i < n; i++) {
		const struct qs_value *v = &plan->value[first + i];
		uint64_t got = number(v, c);

		if (keep && i < QS_KEPT)
			keep[i] = got;
		if (v->kind == QS_STRING)
			put_text(got);
		else
			ring_put(got);
	}
}

/* ---- calls ----------------------------------------------------------------------------------- */

static struct call *call_of(uint64_t to, uint64_t sp)
{
	struct call *free_one = NULL;

	for (unsigned i = 0; i < ncall; i++) {
		if (calls[i].to == to && calls[i].sp == sp)
			return &calls[i];
		if (!calls[i].to)
			free_one = &calls[i];
	}
	if (free_one)
		return free_one;
	/* calls that never return, of tasks that have ended, are in the way: begin anew */
	if (ncall == CALLS) {
		memset(calls, 0, sizeof calls);
		ncall = 0;
	}
	return &calls[ncall++];
}

static void say_return(uint64_t pc)
{
	const uint64_t sp = guest_stack_pointer();

	for (unsigned i = 0; i < ncall; i++) {
		struct call *c = &calls[i];
		const struct qs_watch *w = &plan->watch[c->watch];

		if (c->to != pc || c->sp != sp)
			continue;
		put_values(c->watch, pc, w->first + w->enter, w->leave, c, NULL);
		c->to = 0;
		break;
	}
}

static bool say_call(const struct qs_watch *w, uint64_t pc, uint64_t *became)
{
	const uint64_t sp = guest_stack_pointer();
	struct call none = { 0 }, *c = &none;
	uint64_t to = 0;
	struct place *p;

	if (w->returns && guest_read(sp, &to, 8) && to) {
		c = call_of(to, sp + 8);
		*c = (struct call){ .to = to, .sp = sp + 8, .watch = (uint32_t)(w - plan->watch) };
	}
	put_values((unsigned)(w - plan->watch), pc, w->first, w->enter, c, c->value);
	if (!to)
		return false;
	p = add_place(to);
	if (!p || p->behind)
		return false;
	p->behind = true;
	*became = to;
	return true;
}

bool watch_say(uint64_t pc, uint64_t *became)
{
	const struct place *p = place_at(pc);
	bool is_new = false;

	if (!p->pc)
		return false;
	if (p->behind)
		say_return(pc);
	if (p->watch)
		is_new = say_call(p->watch, pc, became);
	return is_new;
}
