/* SPDX-License-Identifier: MIT */
/* shadow.c - indirect entries by original address */
#include <stdlib.h>
#include <string.h>

#include "collect/space/space_internal.h"

/* The entry of the i386 shadow for @pc; NULL: no room for another table. */
static int32_t *shadow32(struct spaces *s, struct space *sp, uint64_t pc)
{
	uint32_t *dir = (uint32_t *)(s->code + sp->base) + (pc >> 16), table = *dir;

	if (table == no_table(pc)) {
		if (sp->next + RT32_TABLE_SIZE > sp->base + RT32_CODE_SIZE)
			return NULL;
		table = (uint32_t)(RT32_CODE_VAULT + (sp->next - sp->base)) -
			4 * (uint32_t)(pc & ~0xffffull);
		sp->next += RT32_TABLE_SIZE;
		__atomic_store_n(dir, table, __ATOMIC_RELEASE);
	}
	return (int32_t *)(s->code + sp->base +
			   (uint32_t)(table + 4 * (uint32_t)pc - RT32_CODE_VAULT));
}

static bool in_gap(const struct module *m, uint64_t pc)
{
	for (uint32_t i = 0; i < m->shadow.ngap; i++)
		if (m->shadow.gap[i].lo <= pc && pc < m->shadow.gap[i].hi)
			return true;
	return false;
}

void space_shadow(struct spaces *s, struct space *sp, struct module *m, uint64_t pc, uint64_t to)
{
	int32_t *e = NULL;

	make_shadow_own(s, sp, m);
	if (sp->i386)
		e = shadow32(s, sp, pc);
	else if (m->shadow.present && !in_gap(m, pc))
		e = (int32_t *)(s->code + m->shadow.off) + (pc - m->text.lo);
	if (e)
		__atomic_store_n(e, to ? (int32_t)(int64_t)(to - pc) : 0, __ATOMIC_RELEASE);
}

void counting_shadow(struct spaces *s, const struct module *m, uint64_t pc, uint64_t to)
{
	int32_t *e = (int32_t *)(s->code + m->shadow.counting_off) + (pc - m->text.lo);

	__atomic_store_n(e, to ? (int32_t)(int64_t)(to - pc) : 0, __ATOMIC_RELEASE);
}

/* ---- aliases and gaps ------------------------------------------------------------------------
 * An address is looked up by its low 32 bits alone. Two that may be executed and are alike in them
 * are aliases: an entry for one would send whoever goes to the other astray, so there is none for
 * either, and each time the controller is asked. A module's parts that have aliases are its gaps:
 * without entries, and not mapped, so that of a region that is only reserved so far the rest is
 * shadowed, and what it is like, too. */
static void clear_gap(const struct spaces *s, const struct module *m, const struct gap *g)
{
	const uint64_t at = m->shadow.off + 4 * (g->lo - m->text.lo), n = 4 * (g->hi - g->lo);

	clear_data(s, at, at + n);
}

/* Gap @i swallows the next one. */
static void join_gaps(struct module *m, uint32_t i)
{
	struct gap *g = m->shadow.gap;

	if (g[i].hi < g[i + 1].hi)
		g[i].hi = g[i + 1].hi;
	m->shadow.ngap--;
	memmove(g + i + 1, g + i + 2, (m->shadow.ngap - i - 1) * sizeof *g);
}

static void add_gap(struct spaces *s, struct space *sp, struct module *m, uint64_t lo, uint64_t hi)
{
	struct gap *g = m->shadow.gap;
	uint32_t i, near = 0;

	for (i = 0; i < m->shadow.ngap; i++)
		if (g[i].lo <= lo && hi <= g[i].hi)
			return;
	make_shadow_own(s, sp, m);
	for (i = m->shadow.ngap++; i && g[i - 1].lo > lo; i--)
		g[i] = g[i - 1];
	g[i] = (struct gap){ lo, hi };
	for (i = 0; i + 1 < m->shadow.ngap; )
		if (g[i].hi >= g[i + 1].lo)
			join_gaps(m, i);
		else
			i++;
	if (m->shadow.ngap > MAX_GAPS) {
		for (i = 1; i + 1 < m->shadow.ngap; i++)
			if (g[i + 1].lo - g[i].hi < g[near + 1].lo - g[near].hi)
				near = i;
		join_gaps(m, near);
	}
	for (i = 0; i < m->shadow.ngap; i++)
		clear_gap(s, m, &g[i]);
}

/* [@lo, @hi) may be executed: the aliases of that in @m become gaps. */
void shadow_find_aliases(struct spaces *s, struct space *sp, struct module *m, uint64_t lo,
			 uint64_t hi)
{
	const uint64_t size = m->text.hi - m->text.lo;
	/* from m->text.lo to the first address that is like @lo */
	const uint64_t off = (uint32_t)(lo - m->text.lo), len = hi - lo;

	if (len > 1ull << 32) {		/* all of @m is like something in there */
		add_gap(s, sp, m, m->text.lo, m->text.hi);
		return;
	}
	if (off < size && m->text.lo + off != lo)
		add_gap(s, sp, m, m->text.lo + off,
			 m->text.lo + (off + len < size ? off + len : size));
	if (off + len > 1ull << 32 && m->text.lo + off - (1ull << 32) != lo) {
		const uint64_t end = off + len - (1ull << 32);

		add_gap(s, sp, m, m->text.lo, m->text.lo + (end < size ? end : size));
	}
}

void space_find_aliases(struct spaces *s, struct space *sp, uint64_t lo, uint64_t hi)
{
	for (size_t i = 0; i < sp->nmodule; i++)
		if (sp->module[i].shadow.present && !sp->module[i].dead)
			shadow_find_aliases(s, sp, &sp->module[i], lo, hi);
}

/* The parts of @m whose shadow is mapped, each in one piece. */
unsigned shadow_pieces(const struct module *m, struct piece piece[MAX_PIECES])
{
	const uint64_t wraps = (m->text.lo | UINT32_MAX) + 1;
	uint64_t lo = m->text.lo;
	unsigned n = 0;

	for (uint32_t i = 0; i <= m->shadow.ngap; i++) {
		const uint64_t hi = i < m->shadow.ngap ? m->shadow.gap[i].lo : m->text.hi;

		if (lo < wraps && wraps < hi) {
			piece[n++] = (struct piece){ lo, wraps };
			lo = wraps;
		}
		if (lo < hi)
			piece[n++] = (struct piece){ lo, hi };
		if (i < m->shadow.ngap)
			lo = m->shadow.gap[i].hi;
	}
	return n;
}

bool space_whole_shadow(const struct module *m)
{
	struct piece piece[MAX_PIECES];

	return shadow_pieces(m, piece) == 1 && !m->shadow.ngap;
}

uint64_t shadow_entry_at(uint64_t pc)
{
	return RT_SHADOW + 4 * (uint64_t)(uint32_t)pc;
}

uint64_t shadow_at(const struct module *m)
{
	return shadow_entry_at(m->text.lo);
}

uint64_t counting_shadow_at(const struct module *m)
{
	return RT_SHADOW + 4 * (uint64_t)(uint32_t)(m->text.lo + RT_COUNTING_SHIFT);
}

/* Is there something of others where the shadow at @at of @m is to be? */
bool shadow_overlaps(const struct space *sp, const struct module *m, uint64_t at)
{
	const uint64_t end = at + m->shadow.len;

	for (const struct module *o = sp->module; o < sp->module + sp->nmodule; o++) {
		if (o == m || o->dead)
			continue;
		if ((shadow_at(o) < end && at < shadow_at(o) + o->shadow.len) ||
		    (o->counting_copies && counting_shadow_at(o) < end &&
		     at < counting_shadow_at(o) + o->shadow.len))
			return true;
	}
	return end > RT_SHADOW + RT_SHADOW_SIZE;
}

#define FILLED 16384u			/* bytes of text */

/* The counting copies' shadow around @pc is filled when it is first needed: with the counting
 * copies of what the other one has there. */
void fill_counting_shadow(struct spaces *s, struct space *sp, const struct module *m, uint64_t pc)
{
	const int32_t *shadow = (const int32_t *)(s->code + m->shadow.off);
	const uint64_t from = (pc - m->text.lo) / FILLED * FILLED;

	for (uint64_t k = from; k < from + FILLED && k < m->text.hi - m->text.lo; k++) {
		const struct blk *b = shadow[k] ? block_find(sp, m->text.lo + k) : NULL,
				 *t = b ? counting_copy_of(sp, b) : NULL;

		if (t && t->indirect != XL_NONE)
			counting_shadow(s, m, b->pc, m->code.at + t->indirect);
	}
}

/* ---- pages that earlier runs needed ----------------------------------------------------------
 * Entries are sparse, some ten in a page, and a run needs those of a part of the program only. The
 * pages that no earlier run needed are filled when the first indirect transfer there faults. */
static uint32_t page_of(const struct module *m, uint64_t pc)
{
	return (uint32_t)((pc - m->text.lo) / SHADOW_TEXT);
}

static uint32_t shadow_pages(const struct module *m)
{
	return (uint32_t)((m->text.hi - m->text.lo + SHADOW_TEXT - 1) / SHADOW_TEXT);
}

static bool has_page(const uint8_t *set, uint32_t page)
{
	return set[page / 8] >> page % 8 & 1;
}

static void add_page(uint8_t *set, uint32_t page)
{
	set[page / 8] |= (uint8_t)(1 << page % 8);
}

void shadow_note_used(struct module *m, uint64_t pc)
{
	if (m->stored.needed && m->text.lo <= pc && pc < m->text.hi)
		add_page(m->stored.needed, page_of(m, pc));
}

uint32_t *shadow_copy_index(const struct module *m)
{
	const size_t n = (shadow_pages(m) + 1) * sizeof *m->shadow.entry_from;

	return m->shadow.entry_from ? memcpy(pm_alloc(n), m->shadow.entry_from, n) : NULL;
}

/* Where much of a large page of the shadow is needed, it is one: each return reads it. Recordings
 * are to take little memory: of a page three fifths have to be needed, else a quarter. */
static void make_shadow_large(const struct spaces *s, const struct module *m)
{
	const uint64_t end = m->shadow.off + m->shadow.len;
	const unsigned least = LARGE_PAGE / PAGE * (s->logged ? 60 : 25) / 100;
	uint64_t at = up(m->shadow.off, LARGE_PAGE);

	for (; at + LARGE_PAGE <= end; at += LARGE_PAGE) {
		const uint32_t first = (uint32_t)((at - m->shadow.off) / PAGE);
		uint32_t n = 0;

		for (uint32_t i = 0; i < LARGE_PAGE / PAGE; i++)
			n += has_page(m->stored.needed, first + i);
		if (n >= least)
			make_large_pages(s, at, LARGE_PAGE);
	}
}

void shadow_fill(struct spaces *s, struct space *sp, struct module *m)
{
	const struct shadow_entry *e = m->stored.entries;
	const uint32_t n = m->stored.nentry, npages = shadow_pages(m);
	uint32_t indexed = 0;

	if (sp->i386 || !m->shadow.present || m->shadow.ngap) {
		for (uint32_t i = 0; i < n; i++)
			space_shadow(s, sp, m, m->text.lo + e[i].pc, m->code.at + e[i].code);
		return;
	}
	make_shadow_large(s, m);
	m->shadow.entry_from = pm_alloc((npages + 1ull) * sizeof *m->shadow.entry_from);
	memcpy(m->shadow.filled, m->stored.needed, shadow_bits(m));
	for (uint32_t i = 0; i <= n; i++) {
		const uint32_t page = i < n ? e[i].pc / SHADOW_TEXT : UINT32_MAX;

		while (indexed <= npages && indexed <= page)
			m->shadow.entry_from[indexed++] = i;
		if (i < n && has_page(m->stored.needed, page))
			space_shadow(s, sp, m, m->text.lo + e[i].pc, m->code.at + e[i].code);
	}
}

bool shadow_need(struct spaces *s, struct space *sp, struct module *m, uint64_t pc)
{
	const uint32_t page = page_of(m, pc);

	if (!m->stored.file || m->stored.shadow_from_file || !m->shadow.entry_from ||
	    has_page(m->shadow.filled, page))
		return false;
	add_page(m->shadow.filled, page);
	add_page(m->stored.needed, page);
	for (uint32_t i = m->shadow.entry_from[page]; i < m->shadow.entry_from[page + 1]; i++)
		space_shadow(s, sp, m, m->text.lo + m->stored.entries[i].pc,
			     m->code.at + m->stored.entries[i].code);
	return true;
}

void make_shadow_own(struct spaces *s, struct space *sp, struct module *m)
{
	if (!m->stored.shadow_from_file)
		return;
	m->stored.shadow_from_file = false;
	shadow_fill(s, sp, m);
	sp->nmade_own++;
	s->nmade_own++;
}
