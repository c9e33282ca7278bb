/* SPDX-License-Identifier: MIT */
/* cache_run.c - the rules of cache_sim.h, numbered as there: events to accesses of the first
 * levels, one access of a level, and what it sends to the next. In one file, because the compiler
 * shall see the whole path. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/cache_module.h"
#include "analyse/cache_prefetch.h"
#include "analyse/cache_set.h"
#include "analyse/cache_shadow.h"
#include "analyse/cache_state.h"

#define PAGE_SHIFT 12		/* prefetches stay within 4 KiB (6) */

static void request(struct pm_cache *c, struct cache_level *l, uint64_t addr, uint32_t size,
		    enum pm_cache_op op, unsigned cls);
static void put(struct pm_cache *c, struct cache_level *l, uint64_t line, bool dirty);
static bool take(struct pm_cache *c, struct cache_level *l, uint64_t line, enum pm_cache_op op,
		 unsigned cls);

/* ---- to the next level ---------------------------------------------------------------------- */

static void memory(struct pm_cache *c, enum pm_cache_op op, uint64_t addr, uint32_t size)
{
	bool out = op == PM_OP_WRITE || op == PM_OP_BACK;

	*(out ? &c->mst.writes : &c->mst.reads) += 1;
	*(out ? &c->mst.bytes_written : &c->mst.bytes_read) += size;
	if (c->mem.access) {
		uint64_t seg = addr >> 48;

		addr &= 0xffffffffffff;
		if (seg < c->nsegment)
			addr |= c->segment_high[seg] << 48;
		c->mem.access(c->mem.to, op, addr, size);
	}
}

static void send_now(struct pm_cache *c, struct cache_level *l, uint64_t addr, uint32_t size,
		     enum pm_cache_op op, unsigned cls)
{
	l->st.bytes_out += size;
	if (l->out)
		cache_out_add(l->out, op, addr, size, cls);
	else if (l->next)
		request(c, l->next, addr, size, op, cls);
	else
		memory(c, op, addr, size);
}

static unsigned wbuf_shift(const struct cache_level *l)
{
	return l->line_shift > 6 ? l->line_shift - 6 : 0;
}

/* (5) */
static void wbuf_drain(struct pm_cache *c, struct cache_level *l, unsigned i)
{
	struct cache_wbuf e = l->wbuf[i];
	unsigned shift = wbuf_shift(l);

	memmove(l->wbuf + i, l->wbuf + i + 1, (--l->nwbuf - i) * sizeof e);
	for (unsigned b = 0; b < 64; ) {
		unsigned from;

		while (b < 64 && !(e.mask >> b & 1))
			b++;
		from = b;
		while (b < 64 && (e.mask >> b & 1))
			b++;
		if (b > from)
			send_now(c, l, e.line + ((uint64_t)from << shift), (b - from) << shift,
				 e.op, 0);
	}
}

static void send(struct pm_cache *c, struct cache_level *l, uint64_t addr, uint32_t size,
		 enum pm_cache_op op, unsigned cls)
{
	uint64_t line = addr & l->line_mask, mask;
	unsigned shift, first, last;

	if (!l->wbuf) {
		send_now(c, l, addr, size, op, cls);
		return;
	}
	shift = wbuf_shift(l);
	first = (addr - line) >> shift;
	last = (addr - line + size - 1) >> shift;
	mask = (last == 63 ? ~0ull : (2ull << last) - 1) & ~((1ull << first) - 1);
	for (unsigned i = 0; i < l->nwbuf; i++)
		if (l->wbuf[i].line == line) {
			l->wbuf[i].mask |= mask;
			if (op == PM_OP_BACK)
				l->wbuf[i].op = op;
			l->st.wbuf_merged++;
			return;
		}
	if (l->nwbuf == l->conf->wbuf) {
		l->st.wbuf_full++;
		wbuf_drain(c, l, 0);
	}
	l->wbuf[l->nwbuf++] = (struct cache_wbuf){ line, mask, op };
}

/* Bring [addr, addr + size); true: it arrived dirty from an exclusive level. */
static bool fetch(struct pm_cache *c, struct cache_level *l, uint64_t addr, uint32_t size,
		  enum pm_cache_op op, unsigned cls)
{
	uint64_t line = addr & l->line_mask;

	if (op != PM_OP_FETCH && op != PM_OP_PREFETCH)
		op = PM_OP_READ;
	for (unsigned i = 0; i < l->nwbuf; i++)
		if (l->wbuf[i].line == line) {
			wbuf_drain(c, l, i);
			break;
		}
	l->st.bytes_in += size;
	if (op != PM_OP_PREFETCH && c->reach <= l->hop)
		c->reach = l->hop + 1;
	if (l->out || !l->next) {
		if (l->out)
			cache_out_add(l->out, op, addr, size, cls);
		else
			memory(c, op, addr, size);
		return false;
	}
	if (l->next->conf->incl == PM_EXCL)
		return take(c, l->next, addr, op, cls);
	request(c, l->next, addr, size, op, cls);
	return false;
}

static void out(struct pm_cache *c, struct cache_level *l, uint64_t line, bool dirty, uint32_t subs)
{
	if (dirty)
		l->st.writebacks++;
	if (l->next && l->next->conf->incl == PM_EXCL) {
		l->st.bytes_out += l->conf->line;
		put(c, l->next, line, dirty);
	} else if (dirty && l->sub_valid) {
		for (unsigned b = 0; b < 32; ) {
			unsigned from;

			while (b < 32 && !(subs >> b & 1))
				b++;
			from = b;
			while (b < 32 && (subs >> b & 1))
				b++;
			if (b > from)
				send(c, l, line + ((uint64_t)from << l->sub_shift),
				     (b - from) << l->sub_shift, PM_OP_BACK, 0);
		}
	} else if (dirty) {
		send(c, l, line, l->conf->line, PM_OP_BACK, 0);
	}
}

/* (4) All copies above @l of [addr, addr + size) go; true if one was dirty. */
static bool recall(struct pm_cache *c, struct cache_level *l, uint64_t addr, uint32_t size)
{
	bool dirty = false;

	for (unsigned i = 0; i < l->index; i++) {
		struct cache_level *u = c->level + i;

		if (u->next != l)
			continue;
		dirty |= recall(c, u, addr, size);
		for (uint64_t line = addr; line - addr < size; line += u->conf->line) {
			uint64_t *set = set_of(u, line);
			unsigned w = find(set, u->ways, line);
			bool was = false;

			if (w < u->ways) {
				was = set[w] & LINE_DIRTY;
				u->st.pf_unused += (set[w] & LINE_FRESH) != 0;
				drop(u, set, w);
				u->st.invalidated++;
			}
			w = find(u->victim, u->nvictim, line);
			if (w < u->nvictim) {
				was |= (u->victim[w] & LINE_DIRTY) != 0;
				u->st.pf_unused += (u->victim[w] & LINE_FRESH) != 0;
				memmove(u->victim + w, u->victim + w + 1,
					(--u->nvictim - w) * sizeof *set);
				u->st.invalidated++;
			}
			for (w = 0; w < u->nwbuf; w++)
				if (u->wbuf[w].line == line) {
					memmove(u->wbuf + w, u->wbuf + w + 1,
						(--u->nwbuf - w) * sizeof *u->wbuf);
					was = true;
					break;
				}
			if (was) {
				u->st.writebacks++;
				u->st.bytes_out += u->conf->line;
			}
			dirty |= was;
		}
	}
	return dirty;
}

/* @old was replaced. */
static void leave(struct pm_cache *c, struct cache_level *l, uint64_t old, uint32_t subs)
{
	uint64_t line = old & ~(uint64_t)LINE_FLAGS;
	bool dirty = old & LINE_DIRTY;

	l->st.evictions++;
	if (l->conf->incl == PM_INCL)
		dirty |= recall(c, l, line, l->conf->line);
	if (!l->victim) {
		l->st.pf_unused += (old & LINE_FRESH) != 0;
		out(c, l, line, dirty, subs);
		return;
	}
	if (l->nvictim == l->conf->victim) {
		uint64_t last = l->victim[--l->nvictim];

		l->st.pf_unused += (last & LINE_FRESH) != 0;
		memmove(l->victim + 1, l->victim, l->nvictim++ * sizeof last);
		l->victim[0] = line | LINE_VALID | (dirty ? LINE_DIRTY : 0) | (old & LINE_FRESH);
		out(c, l, last & ~(uint64_t)LINE_FLAGS, last & LINE_DIRTY, ~0u);
		return;
	}
	memmove(l->victim + 1, l->victim, l->nvictim++ * sizeof old);
	l->victim[0] = line | LINE_VALID | (dirty ? LINE_DIRTY : 0) | (old & LINE_FRESH);
}

static void fill(struct pm_cache *c, struct cache_level *l, uint64_t entry, uint32_t valid,
		 uint32_t dirty)
{
	uint32_t old_dirty = ~0u;
	uint64_t old;

	if (l->module && !cache_module_stays(c, l, entry)) {
		l->st.pf_unused += (entry & LINE_FRESH) != 0;
		out(c, l, entry & ~(uint64_t)LINE_FLAGS, entry & LINE_DIRTY, ~0u);
		return;
	}
	old = l->module ? cache_module_enter(l, entry)
			: enter(l, set_of(l, entry), entry, valid, dirty, &old_dirty);
	if (old & LINE_VALID)
		leave(c, l, old, old_dirty);
}

/* (3) @line out of the victim cache; false: it is not there. */
static bool from_victim(struct cache_level *l, uint64_t line, uint64_t *flags)
{
	unsigned w = find(l->victim, l->nvictim, line);

	if (w == l->nvictim)
		return false;
	*flags = l->victim[w] & LINE_FLAGS;
	memmove(l->victim + w, l->victim + w + 1, (--l->nvictim - w) * sizeof *l->victim);
	return true;
}

/* The present instruction's counts, until the next call. */
static struct pm_cache_insn *row_of(struct pm_cache *c)
{
	bool fresh;
	uint64_t *at = pm_map_put(&c->insn_at, c->pc, &fresh);

	if (fresh) {
		*at = c->ninsn;
		pm_grow(c->insn, c->ninsn, c->cap_insn);
		c->insn[c->ninsn++] = (struct pm_cache_insn){ .pc = c->pc };
	}
	return c->insn + *at;
}

/* ---- prefetch (6) --------------------------------------------------------------------------- */

static bool is_there(const struct cache_level *l, uint64_t line)
{
	return find(set_of(l, line), l->ways, line) < l->ways ||
	       find(l->victim, l->nvictim, line) < l->nvictim;
}

static void bring(struct pm_cache *c, struct cache_level *l, uint64_t line)
{
	bool dirty;

	l->st.pf_issued++;
	cache_prefetcher_brought(l->prefetcher, line);
	if (c->conf.by_insn)
		row_of(c)->prefetched[l->index]++;
	if (c->watch.to)
		c->watch.brought(c->watch.to, l->index, line);
	dirty = fetch(c, l, line, l->conf->line, PM_OP_PREFETCH, 0);
	fill(c, l, line | LINE_VALID | LINE_FRESH | (dirty ? LINE_DIRTY : 0), ~0u, 0);
}

static void prefetch(struct pm_cache *c, struct cache_level *l, uint64_t from, uint64_t addr)
{
	uint64_t line = addr & l->line_mask;

	if (line == (from & l->line_mask) || (addr ^ from) >> PAGE_SHIFT || is_there(l, line))
		return;
	bring(c, l, line);
}

/* (10) What the module asked for since the access began. */
static void module_prefetches(struct pm_cache *c, struct cache_level *l)
{
	struct pm_champsim_request v[PM_CHAMPSIM_QUEUE];
	const unsigned n = c->warming ? 0 : cache_module_wants(l, v);

	for (unsigned i = 0; i < n; i++) {
		const uint64_t line = v[i].addr & l->line_mask;

		if (is_there(l, line))
			continue;
		cache_module_prefetch(c, l, line, v[i].metadata);
		if (v[i].fill)
			bring(c, l, line);
		else if (l->next)
			request(c, l->next, line, l->conf->line, PM_OP_PREFETCH, 0);
		else
			memory(c, PM_OP_PREFETCH, line, l->conf->line);
	}
}

/* A demand access of this level happened; @news: it missed or used a prefetched line first. */
static void trigger(struct pm_cache *c, struct cache_level *l, uint64_t addr, enum pm_cache_op op,
		    bool news)
{
	uint64_t to[CACHE_PF_MOST];
	unsigned n;

	if (!l->prefetcher || c->warming)
		return;
	n = cache_prefetcher_ask(l->prefetcher, c->pc, addr, op == PM_OP_FETCH, news, to);
	/* what large levels know of their lines is not in the caches of who simulates them: it
	 * comes for all at once */
	for (unsigned i = 0; i < n && l->next; i++)
		__builtin_prefetch(set_of(l->next, to[i]));
	for (unsigned i = 0; i < n; i++)
		if ((to[i] ^ addr) & l->line_mask)
			prefetch(c, l, addr, to[i]);
}

/* @line, which was prefetched, is used for the first time. */
static void used(struct pm_cache *c, struct cache_level *l, uint64_t line)
{
	const bool late = cache_prefetcher_late(l->prefetcher, line);

	l->st.pf_useful++;
	l->st.pf_late += late;
	if (c->conf.by_insn) {
		struct pm_cache_insn *row = row_of(c);

		row->useful[l->index]++;
		row->late[l->index] += late;
	}
	if (c->watch.to)
		c->watch.used(c->watch.to, l->index, line, late);
}

/* ---- one access (2) (3) --------------------------------------------------------------------- */

static void blame(struct pm_cache *c, const struct cache_level *l)
{
	row_of(c)->miss[l->index]++;
	c->blamed[l->index]++;
}

static void count_miss(struct pm_cache *c, struct cache_level *l, enum pm_cache_op op, unsigned cls,
		       int kind)
{
	l->st.miss[op][cls]++;
	if (kind >= 0)
		*(kind == 1   ? &l->st.compulsory
		  : kind == 2 ? &l->st.capacity
			      : &l->st.conflict) += 1;
	if (c->conf.by_insn && op <= PM_OP_WRITE)
		blame(c, l);
}

static void defer(struct pm_cache *c, struct cache_level *l, uint64_t addr, uint32_t size,
		  enum pm_cache_op op, unsigned cls)
{
	static const uint8_t code[] = { OPT_FETCH, OPT_READ, OPT_WRITE, OPT_BACK };
	struct opt_tape *t = c->tape + l->conf->depth;
	uint64_t rec = (addr & l->line_mask) | code[op] | cls;

	if (op == PM_OP_BACK && size < l->conf->line)
		rec |= 1;
	if (l->conf->side == 'd')
		rec |= OPT_SIDE_D;
	pm_grow(t->v, t->n, t->cap);
	t->v[t->n++] = rec;
}

/* The sub-blocks that [addr, addr + size) touches. */
static uint32_t subs_of(const struct cache_level *l, uint64_t addr, uint32_t size)
{
	unsigned first = (addr & ~l->line_mask) >> l->sub_shift;
	unsigned last = ((addr & ~l->line_mask) + size - 1) >> l->sub_shift;

	return (last == 31 ? ~0u : (2u << last) - 1) & ~((1u << first) - 1);
}

static void fetch_subs(struct pm_cache *c, struct cache_level *l, uint64_t line, uint32_t subs,
		       enum pm_cache_op op, unsigned cls)
{
	for (unsigned b = 0; b < 32; ) {
		unsigned from;

		while (b < 32 && !(subs >> b & 1))
			b++;
		from = b;
		while (b < 32 && (subs >> b & 1))
			b++;
		if (b > from)
			fetch(c, l, line + ((uint64_t)from << l->sub_shift),
			      (b - from) << l->sub_shift, op, cls);
	}
}

/* Does a request bring every byte of what it touches, in units of @unit bytes? */
static bool brings_all(const struct cache_level *l, uint64_t addr, uint32_t size,
		       enum pm_cache_op op, uint32_t unit)
{
	return (op == PM_OP_BACK || (op == PM_OP_WRITE && l->conf->nofetch)) &&
	       !((addr | size) & (unit - 1));
}

/* A hit at @way. True if it used a prefetched line for the first time. */
static bool hit(struct pm_cache *c, struct cache_level *l, uint64_t *set, unsigned way,
		uint64_t addr, uint32_t size, enum pm_cache_op op, unsigned cls)
{
	bool write = op == PM_OP_WRITE || op == PM_OP_BACK, fresh = false;

	if (op <= PM_OP_WRITE && (set[way] & LINE_FRESH)) {
		set[way] &= ~(uint64_t)LINE_FRESH;
		used(c, l, addr & l->line_mask);
		fresh = true;
	}
	way = touch(l, set, way);
	if (write && l->conf->wb) {
		set[way] |= LINE_DIRTY;
		if (l->sub_valid)
			l->sub_dirty[set - l->tag + way] |= subs_of(l, addr, size);
	} else if (write) {
		send(c, l, addr, size, op, cls);
	}
	return fresh;
}

static void sub_miss(struct pm_cache *c, struct cache_level *l, uint64_t addr, uint32_t size,
		     uint32_t want, enum pm_cache_op op, unsigned cls)
{
	uint64_t line = addr & l->line_mask, *set = set_of(l, line);
	unsigned w = find(set, l->ways, line);
	uint32_t missing = want & ~l->sub_valid[set - l->tag + w];

	l->st.sub_misses++;
	count_miss(c, l, op, cls, -1);
	if (!brings_all(l, addr, size, op, 1u << l->sub_shift))
		fetch_subs(c, l, line, missing, op, cls);
	w = find(set, l->ways, line);		/* the fetch may have moved it */
	if (w < l->ways) {
		l->sub_valid[set - l->tag + w] |= missing;
		hit(c, l, set, w, addr, size, op, cls);
	}
}

static void miss(struct pm_cache *c, struct cache_level *l, uint64_t addr, uint32_t size,
		 enum pm_cache_op op, unsigned cls)
{
	bool write = op == PM_OP_WRITE || op == PM_OP_BACK;
	uint64_t line = addr & l->line_mask, entry = line | LINE_VALID, flags;
	uint32_t valid = ~0u, want = ~0u;

	if (write && !l->conf->wa) {
		send(c, l, addr, size, op, cls);
		return;
	}
	if (l->sub_valid)
		want = subs_of(l, addr, size);
	if (from_victim(l, line, &flags)) {
		l->st.victim_hits++;
		if (op <= PM_OP_WRITE && (flags & LINE_FRESH)) {
			flags &= ~(uint64_t)LINE_FRESH;
			used(c, l, line);
		}
		entry |= flags;
	} else if (l->sub_valid) {
		if (!brings_all(l, addr, size, op, 1u << l->sub_shift))
			fetch_subs(c, l, line, want, op, cls);
		valid = want;
	} else if (!brings_all(l, addr, size, op, l->conf->line)) {
		if (fetch(c, l, line, l->conf->line, op, cls))
			entry |= LINE_DIRTY;
	}
	if (write && l->conf->wb)
		entry |= LINE_DIRTY;
	fill(c, l, entry, valid, write && l->conf->wb ? want : 0);
	if (write && !l->conf->wb)
		send(c, l, addr, size, op, cls);
}

static inline bool look_up(struct pm_cache *c, struct cache_level *l, uint64_t addr, uint32_t size,
			   enum pm_cache_op op, unsigned cls)
{
	uint64_t line = addr & l->line_mask, *set = set_of(l, line);
	uint32_t want;
	int kind = -1;
	unsigned w;

	if (l->next_use && !l->replay) {
		defer(c, l, addr, size, op, cls);
		return false;
	}
	l->access[op][cls]++;
	if (l->shadow && op != PM_OP_PREFETCH)
		kind = shadow_look(l->shadow, line, l->conf->wa || op < PM_OP_WRITE);
	w = find(set, l->ways, line);
	if (l->module)
		cache_module_lookup(c, l, addr, op, w);
	if (w == l->ways) {
		count_miss(c, l, op, cls, kind);
		miss(c, l, addr, size, op, cls);
		if (op <= PM_OP_WRITE)
			trigger(c, l, addr, op, true);
		return false;
	}
	if (l->sub_valid) {
		want = subs_of(l, addr, size);
		if (want & ~l->sub_valid[set - l->tag + w]) {
			sub_miss(c, l, addr, size, want, op, cls);
			if (op <= PM_OP_WRITE)
				trigger(c, l, addr, op, true);
			return false;
		}
	}
	if (hit(c, l, set, w, addr, size, op, cls))
		trigger(c, l, addr, op, true);
	else if (op <= PM_OP_WRITE && l->every)
		trigger(c, l, addr, op, false);
	return true;
}

bool pm_cache_line(struct pm_cache *c, struct cache_level *l, uint64_t addr, uint32_t size,
		   enum pm_cache_op op, unsigned cls)
{
	const bool hits = look_up(c, l, addr, size, op, cls);

	if (l->module)
		module_prefetches(c, l);
	return hits;
}

static void request(struct pm_cache *c, struct cache_level *l, uint64_t addr, uint32_t size,
		    enum pm_cache_op op, unsigned cls)
{
	while (size) {
		uint64_t room = l->conf->line - (addr & ~l->line_mask);
		uint32_t n = size < room ? size : room;

		pm_cache_line(c, l, addr, n, op, cls);
		addr += n;
		size -= n;
	}
}

/* (4) An exclusive level gives a line up, or has it brought to the level above. */
static bool take(struct pm_cache *c, struct cache_level *l, uint64_t line, enum pm_cache_op op,
		 unsigned cls)
{
	uint64_t *set = set_of(l, line), flags;
	unsigned w = find(set, l->ways, line);

	l->access[op][cls]++;
	if (w < l->ways) {
		flags = set[w];
		drop(l, set, w);
		return flags & LINE_DIRTY;
	}
	count_miss(c, l, op, cls, -1);
	if (from_victim(l, line, &flags)) {
		l->st.victim_hits++;
		return flags & LINE_DIRTY;
	}
	return fetch(c, l, line, l->conf->line, op, cls);
}

static void put(struct pm_cache *c, struct cache_level *l, uint64_t line, bool dirty)
{
	uint64_t *set = set_of(l, line), flags = 0;
	unsigned w = find(set, l->ways, line);

	l->access[PM_OP_BACK][0]++;
	if (w < l->ways) {
		w = touch(l, set, w);
		set[w] |= dirty ? LINE_DIRTY : 0;
		return;
	}
	from_victim(l, line, &flags);
	fill(c, l, line | LINE_VALID | (flags & LINE_DIRTY) | (dirty ? LINE_DIRTY : 0), ~0u, 0);
}

/* ---- flush (8) ------------------------------------------------------------------------------ */

static int by_line(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a & ~(uint64_t)LINE_FLAGS,
		 y = *(const uint64_t *)b & ~(uint64_t)LINE_FLAGS;

	return x < y ? -1 : x > y;
}

static void flush_line(struct pm_cache *c, struct cache_level *l, uint64_t entry, uint32_t subs)
{
	l->st.flushed++;
	l->st.pf_unused += (entry & LINE_FRESH) != 0;
	if (entry & LINE_DIRTY)
		out(c, l, entry & ~(uint64_t)LINE_FLAGS, true, subs);
}

static void flush_level(struct pm_cache *c, struct cache_level *l)
{
	uint64_t *list = pm_alloc((l->ways + (size_t)l->conf->victim) * sizeof *list);
	uint32_t *subs = pm_alloc(l->ways * sizeof *subs);
	unsigned n;

	for (uint64_t s = 0; s <= l->set_mask; s++) {
		uint64_t *set = l->tag + s * l->ways;

		/* lines leave by ascending address, so that the order does not depend on the
		 * policy's */
		n = 0;
		for (unsigned w = 0; w < l->ways; w++)
			if (set[w] & LINE_VALID)
				list[n++] = set[w];
		if (!n)
			continue;
		qsort(list, n, sizeof *list, by_line);
		for (unsigned i = 0; i < n && l->sub_valid; i++)
			subs[i] = l->sub_dirty[set - l->tag +
				   find(set, l->ways, list[i] & ~(uint64_t)LINE_FLAGS)];
		memset(set, 0, l->ways * sizeof *set);
		if (l->plru)
			l->plru[s] = 0;
		for (unsigned i = 0; i < n; i++)
			flush_line(c, l, list[i], subs[i]);
	}
	n = l->nvictim;
	if (n)
		memcpy(list, l->victim, n * sizeof *list);
	qsort(list, n, sizeof *list, by_line);
	l->nvictim = 0;
	for (unsigned i = 0; i < n; i++)
		flush_line(c, l, list[i], ~0u);
	while (l->nwbuf)
		wbuf_drain(c, l, 0);
	if (l->shadow)
		shadow_empty(l->shadow);
	free(list);
	free(subs);
}

static void flush_all(struct pm_cache *c)
{
	for (unsigned i = 0; i < c->conf.n; i++)
		flush_level(c, c->level + i);
}

/* (9) */
void pm_cache_copy_back_level(struct pm_cache *c, struct cache_level *l)
{
	const size_t ways = (l->set_mask + 1) * l->ways;

	for (size_t i = ways; i-- > 0; )
		if (l->tag[i] & LINE_DIRTY) {
			l->tag[i] &= ~(uint64_t)LINE_DIRTY;
			out(c, l, l->tag[i] & ~(uint64_t)LINE_FLAGS, true,
			    l->sub_valid ? l->sub_dirty[i] : ~0u);
			if (l->sub_valid)
				l->sub_dirty[i] = 0;
		}
	for (unsigned i = l->nvictim; i-- > 0; )
		if (l->victim[i] & LINE_DIRTY) {
			l->victim[i] &= ~(uint64_t)LINE_DIRTY;
			out(c, l, l->victim[i] & ~(uint64_t)LINE_FLAGS, true, ~0u);
		}
	while (l->nwbuf)
		wbuf_drain(c, l, 0);
}

/* ---- references ----------------------------------------------------------------------------- */

static uint64_t segment(struct pm_cache *c, uint64_t space, uint64_t high)
{
	bool fresh;
	uint64_t *v;

	if (c->conf.shared)
		space = 0;
	v = pm_map_put(&c->segment, space << 16 | high, &fresh);
	if (fresh) {
		*v = c->segment.n - 1;
		pm_grow(c->segment_high, c->nsegment, c->cap_segment);
		c->segment_high[c->nsegment++] = high;
	}
	return *v;
}

/* Addresses become keys: 48 bits of address and a small number for (space, high bits). */
static inline uint64_t key_of(struct pm_cache *c, uint64_t addr)
{
	if (addr >> 48)
		return (addr & 0xffffffffffff) | segment(c, c->space, addr >> 48) << 48;
	return addr | c->segment0;
}

void pm_cache_enter_space(struct pm_cache *c, uint64_t space)
{
	if (c->began && space == c->space)
		return;
	if (c->began && c->conf.flush_switch)
		flush_all(c);
	c->began = true;
	c->space = space;
	c->segment0 = segment(c, space, 0) << 48;
}

void pm_cache_copy_place(struct pm_cache *to, const struct pm_cache *from)
{
	uint64_t key, val;

	to->space = from->space;
	to->segment0 = from->segment0;
	to->began = from->began;
	to->other = from->other;
	to->insns = from->insns;
	memcpy(to->refs, from->refs, sizeof to->refs);
	for (size_t i = 0; pm_map_next(&from->segment, &i, &key, &val); )
		*pm_map_put(&to->segment, key, NULL) = val;
	for (size_t i = to->nsegment; i < from->nsegment; i++) {
		pm_grow(to->segment_high, to->nsegment, to->cap_segment);
		to->segment_high[to->nsegment++] = from->segment_high[i];
	}
}

static unsigned demand(struct pm_cache *c, struct cache_level *l, enum pm_cache_op op, uint64_t key,
		       uint32_t size, unsigned cls)
{
	c->reach = 0;
	c->storing = op == PM_OP_WRITE;
	if (c->conf.tlb && op == PM_OP_WRITE)
		op = PM_OP_READ;
	request(c, l, key, size ? size : 1, op, cls);
	return c->reach;
}

static void slow_ref(struct pm_cache *c, struct cache_level *l, enum pm_cache_op op, uint64_t key,
		     const struct pm_event *e, unsigned cls)
{
	unsigned reach;

	c->refs[op][cls]++;
	reach = demand(c, l, op, key, e->size, cls);
	if (c->conf.regions) {
		enum cache_region r = op == PM_OP_FETCH ? REGION_CODE
							: pm_cache_region_of(c, e->addr);

		c->region_refs[r]++;
		c->region_miss[r] += reach > 0;
	}
}

void pm_cache_maintain(struct pm_cache *c, struct cache_level *l, uint64_t key, unsigned flags)
{
	uint64_t line = key & l->line_mask, *set = set_of(l, line), was;
	unsigned w = find(set, l->ways, line);

	if (flags & PM_REF_ALL) {
		flush_level(c, l);
		return;
	}
	if (l->next_use || w == l->ways)
		return;
	was = set[w];
	if (flags & PM_REF_INVAL) {
		drop(l, set, w);
		l->st.invalidated++;
	} else if (was & LINE_DIRTY) {
		uint32_t subs = l->sub_valid ? l->sub_dirty[set - l->tag + w] : ~0u;

		set[w] &= ~(uint64_t)LINE_DIRTY;
		if (l->sub_valid)
			l->sub_dirty[set - l->tag + w] = 0;
		out(c, l, line, true, subs);
	}
}

void pm_cache_maintained(struct pm_cache *c, uint64_t key, unsigned flags, unsigned to)
{
	const struct cache_level *l = c->level + to - 1;

	if (l->out && !l->next)
		cache_out_add(l->out, CACHE_OUT_MAINTAIN, key, 0, flags);
}

static void maintain_own(struct pm_cache *c, const struct pm_event *e)
{
	const uint64_t key = key_of(c, e->addr);

	for (unsigned i = 0; i < c->own; i++)
		pm_cache_maintain(c, c->level + i, key, e->flags);
	pm_cache_maintained(c, key, e->flags, c->own);
}

uint64_t pm_cache_key(struct pm_cache *c, uint64_t addr)
{
	return key_of(c, addr);
}

static void rare_event(struct pm_cache *c, const struct pm_event *e, const struct pm_batch *b)
{
	switch (e->kind) {
	case PM_EV_SWITCH:
		if (c->conf.flush_switch)
			flush_all(c);
		break;
	default:
		if (c->conf.regions)
			pm_cache_region_event(c, e, b);
		break;
	}
}

/* A hit that sends nothing anywhere: the line is there and was used before; the policy is told. */
static inline bool quick_hit(struct cache_level *l, uint64_t *set, uint64_t line, uint64_t dirty)
{
	const unsigned w = find(set, l->ways, line);

	if (w == l->ways || set[w] & LINE_FRESH)
		return false;
	set[w] |= dirty;
	if (l->lru)
		move_first(set, l->ways, w, set[w]);
	else if (l->plru)
		plru_touch(l, (line >> l->line_shift) & l->set_mask, w);
	else if (l->rrpv)
		l->rrpv[set - l->tag + w] = 0;
	return true;
}

/* HOT: once per reference of who walks through events himself. As in pm_cache_run(), plain hits do
 * not take the general path; they train a stride prefetcher. */
unsigned pm_cache_access(struct pm_cache *c, enum pm_cache_op op, uint64_t addr, uint32_t size,
			 bool stack, uint64_t pc)
{
	struct cache_level *l = op == PM_OP_FETCH ? c->first_i : c->first_d;
	const uint64_t key = addr >> 48 ? key_of(c, addr) : addr | c->segment0;

	assert(!c->apart);
	c->pc = pc;
	if (!l)
		return 0;
	c->refs[op][stack]++;
	if (l->close && ((key + size - 1) & l->line_mask) == (key & l->line_mask)) {
		const uint64_t line = key & l->line_mask;
		const uint64_t dirty = op == PM_OP_WRITE ? LINE_DIRTY : 0;
		uint64_t *set = set_of(l, line);

		if ((l->ordered && (set[0] | dirty) == set[0] &&
		     (set[0] & ~(uint64_t)LINE_DIRTY) == (line | LINE_VALID)) ||
		    quick_hit(l, set, line, dirty)) {
			l->access[op][stack]++;
			if (l->every)
				trigger(c, l, key, op, false);
			return 0;
		}
	}
	return demand(c, l, op, key, size, stack);
}

/* HOT: once per event. The newest way of an ordered set is looked at first: a hit on it changes
 * nothing but a count. Plain hits elsewhere change the order or what else the policy keeps; all the
 * rest takes the general path, as does everything on levels that are neither `quick` nor `close`
 * (3C, sub-blocks, OPT), and a read-modify-write that a prefetcher may see twice. */
void pm_cache_run(struct pm_cache *c, const struct pm_event *ev, size_t n,
		  const struct pm_batch *b)
{
	struct cache_level *li = c->first_i, *ld = c->first_d;
	const bool qi = li && (li->quick || li->close), qd = ld && (ld->quick || ld->close),
		   oi = li && li->ordered, od = ld && ld->ordered;
	const bool ti = li && li->every, td = ld && ld->every;
	const bool wb = ld && ld->conf->wb && !c->conf.tlb;
	uint64_t fetches = 0, reads[2] = { 0, 0 }, writes[2] = { 0, 0 };
	const uint64_t seg0 = c->segment0, flush = c->conf.flush_insns;

	for (const struct pm_event *e = ev, *end = ev + n; e < end; e++) {
		unsigned cls = (e->flags & PM_REF_STACK) != 0;
		uint64_t key = e->addr | seg0, line;

		switch (e->kind) {
		case PM_EV_INSN:
			c->insns++;
			if (flush && !c->flush_left--) {
				flush_all(c);
				c->flush_left = flush - 1;
			}
			c->pc = e->addr;
			/* fall through */
		case PM_EV_LINE:
			if (!li)
				break;
			if (e->addr >> 48)
				key = key_of(c, e->addr);
			line = key & li->line_mask;
			if (qi && ((key + e->size - 1) & li->line_mask) == line) {
				uint64_t *set = set_of(li, line);

				if ((oi && set[0] == (line | LINE_VALID)) ||
				    quick_hit(li, set, line, 0)) {
					fetches++;
					if (ti)
						trigger(c, li, key, PM_OP_FETCH, false);
					break;
				}
			}
			slow_ref(c, li, PM_OP_FETCH, key, e, 0);
			break;
		case PM_EV_READ:
		case PM_EV_MODIFY:
		case PM_EV_WRITE:
			if (!ld) {
				c->other = true;
				break;
			}
			if (e->addr >> 48)
				key = key_of(c, e->addr);
			if (__builtin_expect(e->flags & (PM_REF_COPYBACK | PM_REF_INVAL |
							 PM_REF_UNCACHED),
					     0)) {
				if (!(e->flags & PM_REF_UNCACHED))
					maintain_own(c, e);
				break;
			}
			line = key & ld->line_mask;
			if (qd && !(td && e->kind == PM_EV_MODIFY) &&
			    ((key + e->size - 1) & ld->line_mask) == line) {
				uint64_t *set = set_of(ld, line);

				/* a read-modify-write hits twice on the same line */
				if (e->kind == PM_EV_READ
					    ? (od && (set[0] & ~(uint64_t)LINE_DIRTY) ==
							     (line | LINE_VALID)) ||
						      quick_hit(ld, set, line, 0)
					    : wb && ((od &&
						      set[0] == (line | LINE_VALID | LINE_DIRTY)) ||
						     quick_hit(ld, set, line, LINE_DIRTY))) {
					reads[cls] += e->kind != PM_EV_WRITE;
					writes[cls] += e->kind != PM_EV_READ;
					if (td)
						trigger(c, ld, key, PM_OP_READ, false);
					break;
				}
			}
			if (e->kind != PM_EV_WRITE)
				slow_ref(c, ld, PM_OP_READ, key, e, cls);
			if (e->kind != PM_EV_READ)
				slow_ref(c, ld, PM_OP_WRITE, key, e, cls);
			break;
		default:
			rare_event(c, e, b);
			break;
		}
	}
	if (li) {
		li->access[PM_OP_FETCH][0] += fetches;
		c->refs[PM_OP_FETCH][0] += fetches;
	}
	for (unsigned cls = 0; ld && cls < 2; cls++) {
		ld->access[PM_OP_READ][cls] += reads[cls];
		ld->access[c->conf.tlb ? PM_OP_READ : PM_OP_WRITE][cls] += writes[cls];
		c->refs[PM_OP_READ][cls] += reads[cls];
		c->refs[PM_OP_WRITE][cls] += writes[cls];
	}
}
