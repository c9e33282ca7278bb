/* SPDX-License-Identifier: MIT */
/* cache.c - the rules of cache.h, numbered as there
 *
 * A way is one word: the line's address with flags in the bits that a line address leaves free.
 * LRU and FIFO sets list their ways newest first, so they need no clock, and an empty way is always
 * the last; the other policies keep a line where it was put. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/cache.h"
#include "analyse/calls.h"
#include "analyse/costs.h"
#include "analyse/names.h"

#define VALID	1u
#define DIRTY	2u
#define FRESH	4u		/* prefetched and not used yet */
#define FLAGS	7u

#define PAGE_SHIFT 12		/* prefetches stay within 4 KiB (6) */

struct stride { uint64_t pc, last; int64_t stride; bool trained; };
struct track { uint64_t last, used; int dir; bool trained; };
struct wbuf { uint64_t line, mask; enum pm_cache_op op; };
struct place { uint64_t prev, next, line; };	/* in the list of a shadow cache */

/* Rule (7): what a fully associative LRU cache of the same size would do. */
struct shadow {
	struct pm_map at;		/* line -> index into place, + 1 */
	struct pm_map seen;
	struct place *place;		/* [0] is the list's head: next = newest, prev = oldest */
	uint64_t n, cap;
};

struct level {
	/* hot */
	uint64_t *tag;			/* ways of set 0, of set 1... */
	uint64_t set_mask, line_mask;	/* line_mask clears the offset */
	unsigned line_shift, ways;
	bool ordered, quick;		/* quick: a plain hit sends nothing anywhere and triggers nothing */
	bool lru;
	uint8_t *rrpv;
	uint64_t *plru;
	uint64_t plru_keep[64], plru_set[64];	/* by way: what being used does to the tree's bits */
	uint64_t (*access)[2], (*miss)[2];
	/* warm */
	struct pm_level_stats st;
	const struct pm_level_conf *conf;
	struct level *next;		/* NULL: memory */
	unsigned index, hop;		/* hop: levels between this one and the processor */
	uint32_t *sub_valid, *sub_dirty;	/* by way, NULL without sub-blocks */
	unsigned sub_shift;
	uint64_t rnd, brrip_fills;
	unsigned psel;
	uint64_t *victim;		/* newest first */
	unsigned nvictim;
	struct wbuf *wbuf;		/* oldest first */
	unsigned nwbuf;
	struct stride *stride;
	struct track *track;
	uint64_t clock;			/* of track */
	struct shadow *shadow;
	/* OPT: what arrived (address | bits), when each line comes again, and for each way */
	uint64_t *next_use, now_next;
	bool replay;
};

/* References that reached the OPT levels of one depth: line | OPT_* */
#define OPT_FETCH	0u
#define OPT_READ	2u
#define OPT_WRITE	4u
#define OPT_BACK	6u		/* bit 0: only a part of the line */
#define OPT_SIDE_D	8u
struct tape { uint64_t *v; size_t n, cap; };

#define BRK_X86_64	12		/* the number of the system call */

enum region { REGION_CODE, REGION_STACK, REGION_HEAP, REGION_GLOBAL, REGION_OTHER, REGIONS };
static const char *const region_names[] = { "code", "stack", "heap", "global", "other" };
struct range { uint64_t lo, hi; enum region region; };

struct pm_cache {
	struct pm_cache_conf conf;
	struct level level[PM_CACHE_LEVELS];
	struct level *first_i, *first_d;
	struct pm_cache_memory mem;
	struct pm_cache_memory_stats mst;
	uint64_t pc, insns, flush_left;
	uint64_t refs[3][2];		/* references before splitting: fetch, read, write by class */
	unsigned reach;			/* how deep the present reference has gone */
	/* address spaces: the high 16 bits of an address and its space become a small number */
	struct pm_map segment;
	uint64_t *segment_high;		/* back again: the high bits of each */
	size_t nsegment, cap_segment;
	uint64_t space, segment0;
	bool began, other;		/* other: data references that no level takes */
	struct tape tape[9];		/* by depth */
	uint64_t blamed[PM_CACHE_LEVELS];	/* misses of all instructions */
	/* byinsn */
	struct pm_map insn_at;
	struct pm_cache_insn *insn;
	size_t ninsn, cap_insn;
	struct pm_names names;
	/* regions */
	struct range *range;
	size_t nrange, cap_range;
	uint64_t region_refs[REGIONS], region_miss[REGIONS];
	uint64_t brk;			/* where the heap that brk() moves begins; 0: not known yet */
	bool in_brk;			/* the system call whose result comes next */
};

static bool access_line(struct pm_cache *c, struct level *l, uint64_t addr, uint32_t size,
			enum pm_cache_op op, unsigned cls);
static void request(struct pm_cache *c, struct level *l, uint64_t addr, uint32_t size,
		    enum pm_cache_op op, unsigned cls);
static void put(struct pm_cache *c, struct level *l, uint64_t line, bool dirty);
static bool take(struct pm_cache *c, struct level *l, uint64_t line, enum pm_cache_op op, unsigned cls);

/* ---- sets ------------------------------------------------------------------------------------ */

static inline uint64_t *set_of(const struct level *l, uint64_t line)
{
	return l->tag + ((line >> l->line_shift) & l->set_mask) * l->ways;
}

static inline unsigned find(const uint64_t *set, unsigned ways, uint64_t line)
{
	unsigned w = 0;

	while (w < ways && ((set[w] ^ (line | VALID)) & ~(uint64_t)(DIRTY | FRESH)))
		w++;
	return w;
}

static void plru_init(struct level *l)
{
	for (unsigned way = 0; way < l->ways; way++) {
		l->plru_keep[way] = ~0ull;
		/* node 1 is the root; a bit says which half is older: 0 left, 1 right */
		for (unsigned node = way + l->ways; node > 1; node /= 2)
			if (node & 1)
				l->plru_keep[way] &= ~(1ull << (node / 2));
			else
				l->plru_set[way] |= 1ull << (node / 2);
	}
}

static inline void plru_touch(struct level *l, uint64_t set, unsigned way)
{
	l->plru[set] = (l->plru[set] & l->plru_keep[way]) | l->plru_set[way];
}

/* The line at @way moves to the front of an ordered set, or the policy is told. */
static unsigned touch(struct level *l, uint64_t *set, unsigned way)
{
	size_t at = set - l->tag;

	switch (l->conf->policy) {
	case PM_LRU: {
		uint64_t e = set[way];

		for (unsigned w = way; w > 0; w--)
			set[w] = set[w - 1];
		set[0] = e;
		if (l->sub_valid && way) {
			uint32_t v = l->sub_valid[at + way], d = l->sub_dirty[at + way];

			memmove(l->sub_valid + at + 1, l->sub_valid + at, way * sizeof v);
			memmove(l->sub_dirty + at + 1, l->sub_dirty + at, way * sizeof d);
			l->sub_valid[at] = v;
			l->sub_dirty[at] = d;
		}
		return 0;
	}
	case PM_PLRU:
		plru_touch(l, at / l->ways, way);
		break;
	case PM_SRRIP:
	case PM_DRRIP:
		l->rrpv[at + way] = 0;
		break;
	case PM_OPT:
		l->next_use[at + way] = l->now_next;
		break;
	case PM_FIFO:
	case PM_RANDOM:
		break;
	}
	return way;
}

/* Take the line at @way out of its set. */
static void drop(struct level *l, uint64_t *set, unsigned way)
{
	size_t at = set - l->tag;
	unsigned last = l->ways - 1;

	if (!l->ordered) {
		set[way] = 0;
		return;
	}
	memmove(set + way, set + way + 1, (last - way) * sizeof *set);
	set[last] = 0;
	if (l->sub_valid) {
		memmove(l->sub_valid + at + way, l->sub_valid + at + way + 1, (last - way) * 4);
		memmove(l->sub_dirty + at + way, l->sub_dirty + at + way + 1, (last - way) * 4);
	}
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state;			/* xorshift64* */

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull >> 32;
}

/* DRRIP: which policy a set obeys: -1 leads SRRIP, 1 leads BRRIP, 0 follows. */
static int duel(const struct level *l, uint64_t set)
{
	uint64_t period = l->set_mask + 1 < 64 ? l->set_mask + 1 : 64;

	if (period < 2)
		return -1;
	return set % period == 0 ? -1 : set % period == period / 2 ? 1 : 0;
}

static unsigned choose(struct level *l, uint64_t *set)
{
	size_t at = set - l->tag;
	unsigned best = 0;

	for (unsigned w = 0; w < l->ways; w++)
		if (!(set[w] & VALID))
			return w;
	switch (l->conf->policy) {
	case PM_RANDOM:
		return next_random(&l->rnd) % l->ways;
	case PM_PLRU: {
		unsigned node = 1;

		while (node < l->ways)
			node = node * 2 + ((l->plru[at / l->ways] >> node) & 1);
		return node - l->ways;
	}
	case PM_SRRIP:
	case PM_DRRIP:
		for (;;) {
			for (unsigned w = 0; w < l->ways; w++)
				if (l->rrpv[at + w] == 3)
					return w;
			for (unsigned w = 0; w < l->ways; w++)
				l->rrpv[at + w]++;
		}
	default:	/* OPT: the one that comes again last */
		for (unsigned w = 1; w < l->ways; w++)
			if (l->next_use[at + w] > l->next_use[at + best])
				best = w;
		return best;
	}
}

static unsigned rrip_insertion(struct level *l, uint64_t set)
{
	bool brrip = false;

	if (l->conf->policy == PM_DRRIP) {
		int d = duel(l, set);

		brrip = d ? d > 0 : l->psel >= 512;
		if (d < 0 && l->psel < 1023)
			l->psel++;
		if (d > 0 && l->psel > 0)
			l->psel--;
	}
	if (!brrip)
		return 2;
	return l->brrip_fills++ % 32 ? 3 : 2;
}

/* Enter a line; the one that had its place is returned (0: the way was empty). */
static uint64_t enter(struct level *l, uint64_t *set, uint64_t entry, uint32_t valid, uint32_t dirty,
		      uint32_t *old_dirty)
{
	size_t at = set - l->tag;
	unsigned w = l->ways - 1;
	uint64_t old;

	if (l->ordered) {
		old = set[w];
		if (l->sub_valid) {
			*old_dirty = l->sub_dirty[at + w];
			memmove(l->sub_valid + at + 1, l->sub_valid + at, w * 4);
			memmove(l->sub_dirty + at + 1, l->sub_dirty + at, w * 4);
			l->sub_valid[at] = valid;
			l->sub_dirty[at] = dirty;
		}
		for (; w > 0; w--)
			set[w] = set[w - 1];
		set[0] = entry;
		return old;
	}
	w = choose(l, set);
	old = set[w];
	set[w] = entry;
	if (l->sub_valid) {
		*old_dirty = l->sub_dirty[at + w];
		l->sub_valid[at + w] = valid;
		l->sub_dirty[at + w] = dirty;
	}
	switch (l->conf->policy) {
	case PM_PLRU:
		plru_touch(l, at / l->ways, w);
		break;
	case PM_SRRIP:
	case PM_DRRIP:
		l->rrpv[at + w] = rrip_insertion(l, at / l->ways);
		break;
	case PM_OPT:
		l->next_use[at + w] = l->now_next;
		break;
	default:
		break;
	}
	return old;
}

/* ---- 3C (7) ---------------------------------------------------------------------------------- */

static void shadow_unlink(struct shadow *s, uint64_t i)
{
	s->place[s->place[i].prev].next = s->place[i].next;
	s->place[s->place[i].next].prev = s->place[i].prev;
}

static void shadow_front(struct shadow *s, uint64_t i)
{
	struct place *head = s->place;

	s->place[i].prev = 0;
	s->place[i].next = head->next;
	s->place[head->next].prev = i;
	head->next = i;
}

/* Look @line up and, if @fill, keep it. 0 hit, 1 compulsory, 2 capacity: what a miss would be. */
static int shadow_look(struct shadow *s, uint64_t line, bool fill)
{
	uint64_t *at = pm_map_get(&s->at, line), i;
	bool fresh;

	pm_map_put(&s->seen, line, &fresh);
	if (at) {
		shadow_unlink(s, *at - 1);
		shadow_front(s, *at - 1);
		return 0;
	}
	if (fill) {
		if (s->n < s->cap) {
			i = ++s->n;
		} else {
			i = s->place->prev;
			shadow_unlink(s, i);
			pm_map_del(&s->at, s->place[i].line);
		}
		s->place[i].line = line;
		shadow_front(s, i);
		*pm_map_put(&s->at, line, NULL) = i + 1;
	}
	return fresh ? 1 : 2;
}

static void shadow_empty(struct shadow *s)
{
	pm_map_release(&s->at);
	s->at = (struct pm_map){ 0 };
	s->n = 0;
	s->place[0] = (struct place){ 0 };
}

/* ---- to the next level ------------------------------------------------------------------------ */

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

static void send_now(struct pm_cache *c, struct level *l, uint64_t addr, uint32_t size,
		     enum pm_cache_op op, unsigned cls)
{
	l->st.bytes_out += size;
	if (l->next)
		request(c, l->next, addr, size, op, cls);
	else
		memory(c, op, addr, size);
}

static unsigned wbuf_shift(const struct level *l)
{
	return l->line_shift > 6 ? l->line_shift - 6 : 0;
}

/* (5) */
static void wbuf_drain(struct pm_cache *c, struct level *l, unsigned i)
{
	struct wbuf e = l->wbuf[i];
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
			send_now(c, l, e.line + ((uint64_t)from << shift), (b - from) << shift, e.op, 0);
	}
}

static void send(struct pm_cache *c, struct level *l, uint64_t addr, uint32_t size,
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
	l->wbuf[l->nwbuf++] = (struct wbuf){ line, mask, op };
}

/* Bring [addr, addr + size); true: it arrived dirty from an exclusive level. */
static bool fetch(struct pm_cache *c, struct level *l, uint64_t addr, uint32_t size,
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
	if (!l->next) {
		memory(c, op, addr, size);
		return false;
	}
	if (l->next->conf->incl == PM_EXCL)
		return take(c, l->next, addr, op, cls);
	request(c, l->next, addr, size, op, cls);
	return false;
}

/* The line leaves for good: down it goes if it is dirty or the next level is exclusive. */
static void out(struct pm_cache *c, struct level *l, uint64_t line, bool dirty, uint32_t subs)
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
static bool recall(struct pm_cache *c, struct level *l, uint64_t addr, uint32_t size)
{
	bool dirty = false;

	for (unsigned i = 0; i < l->index; i++) {
		struct level *u = c->level + i;

		if (u->next != l)
			continue;
		dirty |= recall(c, u, addr, size);
		for (uint64_t line = addr; line - addr < size; line += u->conf->line) {
			uint64_t *set = set_of(u, line);
			unsigned w = find(set, u->ways, line);
			bool was = false;

			if (w < u->ways) {
				was = set[w] & DIRTY;
				u->st.pf_unused += (set[w] & FRESH) != 0;
				drop(u, set, w);
				u->st.invalidated++;
			}
			w = find(u->victim, u->nvictim, line);
			if (w < u->nvictim) {
				was |= (u->victim[w] & DIRTY) != 0;
				u->st.pf_unused += (u->victim[w] & FRESH) != 0;
				memmove(u->victim + w, u->victim + w + 1, (--u->nvictim - w) * sizeof *set);
				u->st.invalidated++;
			}
			for (w = 0; w < u->nwbuf; w++)
				if (u->wbuf[w].line == line) {
					memmove(u->wbuf + w, u->wbuf + w + 1, (--u->nwbuf - w) * sizeof *u->wbuf);
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
static void leave(struct pm_cache *c, struct level *l, uint64_t old, uint32_t subs)
{
	uint64_t line = old & ~(uint64_t)FLAGS;
	bool dirty = old & DIRTY;

	l->st.evictions++;
	if (l->conf->incl == PM_INCL)
		dirty |= recall(c, l, line, l->conf->line);
	if (!l->victim) {
		l->st.pf_unused += (old & FRESH) != 0;
		out(c, l, line, dirty, subs);
		return;
	}
	if (l->nvictim == l->conf->victim) {
		uint64_t last = l->victim[--l->nvictim];

		l->st.pf_unused += (last & FRESH) != 0;
		memmove(l->victim + 1, l->victim, l->nvictim++ * sizeof last);
		l->victim[0] = line | VALID | (dirty ? DIRTY : 0) | (old & FRESH);
		out(c, l, last & ~(uint64_t)FLAGS, last & DIRTY, ~0u);
		return;
	}
	memmove(l->victim + 1, l->victim, l->nvictim++ * sizeof old);
	l->victim[0] = line | VALID | (dirty ? DIRTY : 0) | (old & FRESH);
}

static void fill(struct pm_cache *c, struct level *l, uint64_t entry, uint32_t valid, uint32_t dirty)
{
	uint32_t old_dirty = ~0u;
	uint64_t old = enter(l, set_of(l, entry), entry, valid, dirty, &old_dirty);

	if (old & VALID)
		leave(c, l, old, old_dirty);
}

/* (3) @line out of the victim cache; false: it is not there. */
static bool from_victim(struct level *l, uint64_t line, uint64_t *flags)
{
	unsigned w = find(l->victim, l->nvictim, line);

	if (w == l->nvictim)
		return false;
	*flags = l->victim[w] & FLAGS;
	memmove(l->victim + w, l->victim + w + 1, (--l->nvictim - w) * sizeof *l->victim);
	return true;
}

/* ---- prefetch (6) ------------------------------------------------------------------------------ */

static void prefetch(struct pm_cache *c, struct level *l, uint64_t from, uint64_t addr)
{
	uint64_t line = addr & l->line_mask;
	bool dirty;

	if (line == (from & l->line_mask) || (addr ^ from) >> PAGE_SHIFT)
		return;
	if (find(set_of(l, line), l->ways, line) < l->ways ||
	    find(l->victim, l->nvictim, line) < l->nvictim)
		return;
	l->st.pf_issued++;
	dirty = fetch(c, l, line, l->conf->line, PM_OP_PREFETCH, 0);
	fill(c, l, line | VALID | FRESH | (dirty ? DIRTY : 0), ~0u, 0);
}

static void prefetch_stream(struct pm_cache *c, struct level *l, uint64_t addr)
{
	int64_t step = l->conf->line;
	uint64_t line = addr & l->line_mask;
	struct track *t = NULL, *oldest = l->track;

	l->clock++;
	for (unsigned i = 0; i < 16 && !t; i++) {
		struct track *k = l->track + i;

		if (k->used < oldest->used)
			oldest = k;
		if (!k->used)
			continue;
		if (k->dir ? line == k->last + k->dir * step
		    : line == k->last + step || line == k->last - step)
			t = k;
	}
	if (!t) {
		*oldest = (struct track){ .last = line, .used = l->clock };
		return;
	}
	t->dir = line == t->last + step ? 1 : -1;
	t->last = line;
	t->used = l->clock;
	for (unsigned k = 1; k <= l->conf->degree; k++)
		prefetch(c, l, line, line + (int64_t)k * t->dir * step);
}

static void prefetch_stride(struct pm_cache *c, struct level *l, uint64_t addr)
{
	struct stride *s = l->stride + ((c->pc ^ c->pc >> 8) & 255);
	int64_t d = addr - s->last;
	bool again = s->pc == c->pc && d && d == s->stride;

	if (s->pc != c->pc)
		d = 0;
	*s = (struct stride){ .pc = c->pc, .last = addr, .stride = d };
	for (unsigned k = 1; again && k <= l->conf->degree; k++)
		prefetch(c, l, addr, addr + (int64_t)k * d);
}

/* A demand access of this level happened; @news: it missed or used a prefetched line first. */
static void trigger(struct pm_cache *c, struct level *l, uint64_t addr, enum pm_cache_op op, bool news)
{
	switch (l->conf->prefetch) {
	case PM_PF_NONE:
		break;
	case PM_PF_NEXT:
		for (unsigned k = 1; news && k <= l->conf->degree; k++)
			prefetch(c, l, addr, (addr & l->line_mask) + (uint64_t)k * l->conf->line);
		break;
	case PM_PF_STRIDE:
		if (op != PM_OP_FETCH)
			prefetch_stride(c, l, addr);
		break;
	case PM_PF_STREAM:
		if (news)
			prefetch_stream(c, l, addr);
		break;
	}
}

/* ---- one access (2) (3) ------------------------------------------------------------------------ */

static void blame(struct pm_cache *c, const struct level *l)
{
	uint64_t *at;
	bool fresh;

	at = pm_map_put(&c->insn_at, c->pc, &fresh);
	if (fresh) {
		*at = c->ninsn;
		pm_grow(c->insn, c->ninsn, c->cap_insn);
		c->insn[c->ninsn++] = (struct pm_cache_insn){ .pc = c->pc };
	}
	c->insn[*at].miss[l->index]++;
	c->blamed[l->index]++;
}

static void count_miss(struct pm_cache *c, struct level *l, enum pm_cache_op op, unsigned cls, int kind)
{
	l->st.miss[op][cls]++;
	if (kind >= 0)
		*(kind == 1 ? &l->st.compulsory : kind == 2 ? &l->st.capacity : &l->st.conflict) += 1;
	if (c->conf.by_insn && op <= PM_OP_WRITE)
		blame(c, l);
}

static void defer(struct pm_cache *c, struct level *l, uint64_t addr, uint32_t size,
		  enum pm_cache_op op, unsigned cls)
{
	static const uint8_t code[] = { OPT_FETCH, OPT_READ, OPT_WRITE, OPT_BACK };
	struct tape *t = c->tape + l->conf->depth;
	uint64_t rec = (addr & l->line_mask) | code[op] | cls;

	if (op == PM_OP_BACK && size < l->conf->line)
		rec |= 1;
	if (l->conf->side == 'd')
		rec |= OPT_SIDE_D;
	pm_grow(t->v, t->n, t->cap);
	t->v[t->n++] = rec;
}

/* The sub-blocks that [addr, addr + size) touches. */
static uint32_t subs_of(const struct level *l, uint64_t addr, uint32_t size)
{
	unsigned first = (addr & ~l->line_mask) >> l->sub_shift;
	unsigned last = ((addr & ~l->line_mask) + size - 1) >> l->sub_shift;

	return (last == 31 ? ~0u : (2u << last) - 1) & ~((1u << first) - 1);
}

static void fetch_subs(struct pm_cache *c, struct level *l, uint64_t line, uint32_t subs,
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
			fetch(c, l, line + ((uint64_t)from << l->sub_shift), (b - from) << l->sub_shift, op,
			      cls);
	}
}

/* A hit at @way. True if it used a prefetched line for the first time. */
static bool hit(struct pm_cache *c, struct level *l, uint64_t *set, unsigned way, uint64_t addr,
		uint32_t size, enum pm_cache_op op, unsigned cls)
{
	bool write = op == PM_OP_WRITE || op == PM_OP_BACK, fresh = false;

	if (op <= PM_OP_WRITE && (set[way] & FRESH)) {
		set[way] &= ~(uint64_t)FRESH;
		l->st.pf_useful++;
		fresh = true;
	}
	way = touch(l, set, way);
	if (write && l->conf->wb) {
		set[way] |= DIRTY;
		if (l->sub_valid)
			l->sub_dirty[set - l->tag + way] |= subs_of(l, addr, size);
	} else if (write) {
		send(c, l, addr, size, op, cls);
	}
	return fresh;
}

static void sub_miss(struct pm_cache *c, struct level *l, uint64_t addr, uint32_t size, uint32_t want,
		     enum pm_cache_op op, unsigned cls)
{
	uint64_t line = addr & l->line_mask, *set = set_of(l, line);
	unsigned w = find(set, l->ways, line);
	uint32_t missing = want & ~l->sub_valid[set - l->tag + w];

	l->st.sub_misses++;
	count_miss(c, l, op, cls, -1);
	/* a write-back from above brings whole sub-blocks or is read around */
	if (op != PM_OP_BACK || (addr | size) & ((1u << l->sub_shift) - 1))
		fetch_subs(c, l, line, missing, op, cls);
	w = find(set, l->ways, line);		/* the fetch may have moved it */
	if (w < l->ways) {
		l->sub_valid[set - l->tag + w] |= missing;
		hit(c, l, set, w, addr, size, op, cls);
	}
}

static void miss(struct pm_cache *c, struct level *l, uint64_t addr, uint32_t size,
		 enum pm_cache_op op, unsigned cls)
{
	bool write = op == PM_OP_WRITE || op == PM_OP_BACK;
	uint64_t line = addr & l->line_mask, entry = line | VALID, flags;
	uint32_t valid = ~0u, want = ~0u;

	if (write && !l->conf->wa) {
		send(c, l, addr, size, op, cls);
		return;
	}
	if (l->sub_valid)
		want = subs_of(l, addr, size);
	if (from_victim(l, line, &flags)) {
		l->st.victim_hits++;
		if (op <= PM_OP_WRITE && (flags & FRESH)) {
			flags &= ~(uint64_t)FRESH;
			l->st.pf_useful++;
		}
		entry |= flags;
	} else if (l->sub_valid) {
		if (op != PM_OP_BACK || (addr | size) & ((1u << l->sub_shift) - 1))
			fetch_subs(c, l, line, want, op, cls);
		valid = want;
	} else if (op != PM_OP_BACK || size < l->conf->line) {
		if (fetch(c, l, line, l->conf->line, op, cls))
			entry |= DIRTY;
	}
	if (write && l->conf->wb)
		entry |= DIRTY;
	fill(c, l, entry, valid, write && l->conf->wb ? want : 0);
	if (write && !l->conf->wb)
		send(c, l, addr, size, op, cls);
}

/* One access within one line. True: it hit. */
static bool access_line(struct pm_cache *c, struct level *l, uint64_t addr, uint32_t size,
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
	else if (op <= PM_OP_WRITE && l->stride)
		trigger(c, l, addr, op, false);
	return true;
}

static void request(struct pm_cache *c, struct level *l, uint64_t addr, uint32_t size,
		    enum pm_cache_op op, unsigned cls)
{
	while (size) {
		uint64_t room = l->conf->line - (addr & ~l->line_mask);
		uint32_t n = size < room ? size : room;

		access_line(c, l, addr, n, op, cls);
		addr += n;
		size -= n;
	}
}

/* (4) An exclusive level gives a line up, or has it brought to the level above. */
static bool take(struct pm_cache *c, struct level *l, uint64_t line, enum pm_cache_op op, unsigned cls)
{
	uint64_t *set = set_of(l, line), flags;
	unsigned w = find(set, l->ways, line);

	l->access[op][cls]++;
	if (w < l->ways) {
		flags = set[w];
		drop(l, set, w);
		return flags & DIRTY;
	}
	count_miss(c, l, op, cls, -1);
	if (from_victim(l, line, &flags)) {
		l->st.victim_hits++;
		return flags & DIRTY;
	}
	return fetch(c, l, line, l->conf->line, op, cls);
}

static void put(struct pm_cache *c, struct level *l, uint64_t line, bool dirty)
{
	uint64_t *set = set_of(l, line), flags = 0;
	unsigned w = find(set, l->ways, line);

	l->access[PM_OP_BACK][0]++;
	if (w < l->ways) {
		w = touch(l, set, w);
		set[w] |= dirty ? DIRTY : 0;
		return;
	}
	from_victim(l, line, &flags);
	fill(c, l, line | VALID | (flags & DIRTY) | (dirty ? DIRTY : 0), ~0u, 0);
}

/* ---- flush (8) -------------------------------------------------------------------------------- */

static int by_line(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a & ~(uint64_t)FLAGS, y = *(const uint64_t *)b & ~(uint64_t)FLAGS;

	return x < y ? -1 : x > y;
}

static void flush_line(struct pm_cache *c, struct level *l, uint64_t entry, uint32_t subs)
{
	l->st.flushed++;
	l->st.pf_unused += (entry & FRESH) != 0;
	if (entry & DIRTY)
		out(c, l, entry & ~(uint64_t)FLAGS, true, subs);
}

static void flush_level(struct pm_cache *c, struct level *l)
{
	uint64_t *list = pm_alloc((l->ways + (size_t)l->conf->victim) * sizeof *list);
	uint32_t *subs = pm_alloc(l->ways * sizeof *subs);
	unsigned n;

	for (uint64_t s = 0; s <= l->set_mask; s++) {
		uint64_t *set = l->tag + s * l->ways;

		/* lines leave by ascending address, so that the order does not depend on the policy's */
		n = 0;
		for (unsigned w = 0; w < l->ways; w++)
			if (set[w] & VALID)
				list[n++] = set[w];
		if (!n)
			continue;
		qsort(list, n, sizeof *list, by_line);
		for (unsigned i = 0; i < n && l->sub_valid; i++)
			subs[i] = l->sub_dirty[set - l->tag +
				   find(set, l->ways, list[i] & ~(uint64_t)FLAGS)];
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

void pm_cache_flush(struct pm_cache *c)
{
	for (unsigned i = 0; i < c->conf.n; i++)
		flush_level(c, c->level + i);
}

/* ---- references -------------------------------------------------------------------------------- */

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

static void enter_space(struct pm_cache *c, uint64_t space)
{
	if (c->began && space == c->space)
		return;
	if (c->began && c->conf.flush_switch)
		pm_cache_flush(c);
	c->began = true;
	c->space = space;
	c->segment0 = segment(c, space, 0) << 48;
}

static enum region region_of(const struct pm_cache *c, uint64_t addr)
{
	for (size_t i = c->nrange; i-- > 0; )	/* newest first: it covers what it overlaps */
		if (addr - c->range[i].lo < c->range[i].hi - c->range[i].lo)
			return c->range[i].region;
	return REGION_OTHER;
}

static void map_region(struct pm_cache *c, const struct pm_event *e, const struct pm_batch *b)
{
	const char *name = b && e->id < b->nrare ? b->rare[e->id].name : NULL;
	enum region r = !name || !*name || !strcmp(name, "[heap]") ? REGION_HEAP
		: !strcmp(name, "[stack]") ? REGION_STACK : REGION_GLOBAL;

	if (e->kind == PM_EV_MUNMAP)
		r = REGION_OTHER;
	/* what nobody names right behind a file's data is its zeroed data */
	else if (r == REGION_HEAP && !(name && *name) && c->nrange && c->range[c->nrange - 1].hi == e->addr &&
		 c->range[c->nrange - 1].region == REGION_GLOBAL)
		r = REGION_GLOBAL;
	pm_grow(c->range, c->nrange, c->cap_range);
	c->range[c->nrange++] = (struct range){ e->addr, e->addr + e->value, r };
}

/* brk() tells its end of the heap each time; the first answer is the beginning. */
static void brk_region(struct pm_cache *c, const struct pm_event *e)
{
	if (e->kind == PM_EV_SYSCALL) {
		c->in_brk = e->value == BRK_X86_64;
		return;
	}
	if (c->in_brk && !c->brk) {
		c->brk = e->value;
	} else if (c->in_brk && e->value > c->brk) {
		pm_grow(c->range, c->nrange, c->cap_range);
		c->range[c->nrange++] = (struct range){ c->brk, e->value, REGION_HEAP };
	}
	c->in_brk = false;
}

static unsigned demand(struct pm_cache *c, struct level *l, enum pm_cache_op op, uint64_t key,
		       uint32_t size, unsigned cls)
{
	c->reach = 0;
	if (c->conf.tlb && op == PM_OP_WRITE)
		op = PM_OP_READ;
	request(c, l, key, size ? size : 1, op, cls);
	return c->reach;
}

unsigned pm_cache_access(struct pm_cache *c, enum pm_cache_op op, uint64_t addr, uint32_t size,
			 bool stack, uint64_t pc)
{
	struct level *l = op == PM_OP_FETCH ? c->first_i : c->first_d;

	c->pc = pc;
	if (!l)
		return 0;
	c->refs[op > PM_OP_WRITE ? PM_OP_WRITE : op][stack]++;
	return demand(c, l, op, key_of(c, addr), size, stack);
}

static void slow_ref(struct pm_cache *c, struct level *l, enum pm_cache_op op, uint64_t key,
		     const struct pm_event *e, unsigned cls)
{
	unsigned reach;

	c->refs[op][cls]++;
	reach = demand(c, l, op, key, e->size, cls);
	if (c->conf.regions) {
		enum region r = op == PM_OP_FETCH ? REGION_CODE : region_of(c, e->addr);

		c->region_refs[r]++;
		c->region_miss[r] += reach > 0;
	}
}

/* Dinero's copy-back and invalidate: one line (each level's own), or everything. */
static void maintain(struct pm_cache *c, const struct pm_event *e)
{
	uint64_t key = key_of(c, e->addr);

	if (e->flags & PM_REF_ALL) {
		pm_cache_flush(c);
		return;
	}
	for (unsigned i = 0; i < c->conf.n; i++) {
		struct level *l = c->level + i;
		uint64_t line = key & l->line_mask, *set = set_of(l, line);
		unsigned w = find(set, l->ways, line);
		uint64_t was;

		if (l->next_use || w == l->ways)
			continue;
		was = set[w];
		if (e->flags & PM_REF_INVAL) {
			drop(l, set, w);
			l->st.invalidated++;
		} else if (was & DIRTY) {
			uint32_t subs = l->sub_valid ? l->sub_dirty[set - l->tag + w] : ~0u;

			set[w] &= ~(uint64_t)DIRTY;
			if (l->sub_valid)
				l->sub_dirty[set - l->tag + w] = 0;
			out(c, l, line, true, subs);
		}
	}
}

static void rare_event(struct pm_cache *c, const struct pm_event *e, const struct pm_batch *b)
{
	switch (e->kind) {
	case PM_EV_SWITCH:
		if (c->conf.flush_switch)
			pm_cache_flush(c);
		break;
	case PM_EV_EXEC:
		c->brk = 0;
		break;
	case PM_EV_SYSCALL:
	case PM_EV_SYSRET:
		if (c->conf.regions)
			brk_region(c, e);
		break;
	case PM_EV_MMAP:
	case PM_EV_MUNMAP:
		if (c->conf.regions)
			map_region(c, e, b);
		break;
	default:
		break;
	}
}

/* A hit that sends nothing anywhere: the line is there and was used before; the policy is told. */
static inline bool quick_hit(struct level *l, uint64_t *set, uint64_t line, uint64_t dirty)
{
	const unsigned ways = l->ways;

	for (unsigned w = 0; w < ways; w++) {
		uint64_t e = set[w];

		if ((e & ~(uint64_t)DIRTY) != (line | VALID))
			continue;
		if (l->lru) {
			for (; w > 0; w--)
				set[w] = set[w - 1];
		} else if (l->plru) {
			plru_touch(l, (line >> l->line_shift) & l->set_mask, w);
		} else if (l->rrpv) {
			l->rrpv[set - l->tag + w] = 0;
		}
		set[w] = e | dirty;
		return true;
	}
	return false;
}

/* HOT: once per event. The newest way of an ordered set is looked at first: a hit on it changes
 * nothing but a count. Plain hits elsewhere change the order or what else the policy keeps; all the
 * rest takes the general path, as does everything on levels that are not `quick` (3C, sub-blocks, a
 * stride prefetcher, OPT). */
static void run(struct pm_cache *c, const struct pm_event *ev, size_t n, const struct pm_batch *b)
{
	struct level *li = c->first_i, *ld = c->first_d;
	const bool qi = li && li->quick, qd = ld && ld->quick, oi = li && li->ordered, od = ld && ld->ordered;
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
				pm_cache_flush(c);
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

				if ((oi && set[0] == (line | VALID)) || quick_hit(li, set, line, 0)) {
					fetches++;
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
			if (__builtin_expect(e->flags & (PM_REF_COPYBACK | PM_REF_INVAL | PM_REF_UNCACHED), 0)) {
				if (!(e->flags & PM_REF_UNCACHED))
					maintain(c, e);
				break;
			}
			line = key & ld->line_mask;
			if (qd && ((key + e->size - 1) & ld->line_mask) == line) {
				uint64_t *set = set_of(ld, line);

				/* a read-modify-write hits twice on the same line */
				if (e->kind == PM_EV_READ ? (od && (set[0] & ~(uint64_t)DIRTY) == (line | VALID)) ||
				    quick_hit(ld, set, line, 0)
				    : wb && ((od && set[0] == (line | VALID | DIRTY)) ||
					     quick_hit(ld, set, line, DIRTY))) {
					reads[cls] += e->kind != PM_EV_WRITE;
					writes[cls] += e->kind != PM_EV_READ;
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

void pm_cache_events(struct pm_cache *c, const struct pm_event *ev, size_t n)
{
	run(c, ev, n, NULL);
}

void pm_cache_batch(struct pm_cache *c, const struct pm_batch *b)
{
	if (b->stream)
		enter_space(c, b->stream->space);
	run(c, b->ev, b->n, b);
}

/* ---- OPT: from the end backwards, then forwards ------------------------------------------------- */

static void replay(struct pm_cache *c, unsigned depth)
{
	static const enum pm_cache_op ops[] = { PM_OP_FETCH, PM_OP_READ, PM_OP_WRITE, PM_OP_BACK };
	struct tape *t = c->tape + depth;
	struct level *side[2] = { NULL, NULL };
	struct pm_map next = { 0 };
	uint64_t *when = pm_alloc((t->n + 1) * sizeof *when);

	for (unsigned i = 0; i < c->conf.n; i++)
		if (c->conf.level[i].depth == depth) {
			c->level[i].replay = true;
			side[c->conf.level[i].side == 'd'] = c->level + i;
		}
	for (size_t i = t->n; i-- > 0; ) {
		/* rule (2) keys: the line and which of the two caches; 0 means never again */
		uint64_t *at = pm_map_put(&next, t->v[i] & ~7ull, NULL);

		when[i] = *at ? *at : UINT64_MAX;
		*at = i + 1;
	}
	pm_map_release(&next);
	for (size_t i = 0; i < t->n; i++) {
		uint64_t r = t->v[i];
		struct level *l = side[(r & OPT_SIDE_D) != 0];
		enum pm_cache_op op = ops[(r & 7) >> 1];
		bool back = op == PM_OP_BACK;

		l->now_next = when[i];
		access_line(c, l, r & l->line_mask, back && (r & 1) ? l->conf->line / 2 : l->conf->line, op,
			    back ? 0 : r & 1);
	}
	free(when);
	free(t->v);
	*t = (struct tape){ 0 };
}

void pm_cache_end(struct pm_cache *c)
{
	for (unsigned depth = 1; depth < NR(c->tape); depth++)
		if (c->tape[depth].n)
			replay(c, depth);
}

/* ---- life ------------------------------------------------------------------------------------- */

static void level_init(struct pm_cache *c, unsigned i)
{
	const struct pm_level_conf *lc = c->conf.level + i;
	struct level *l = c->level + i;
	size_t lines = lc->size / lc->line;

	l->conf = lc;
	l->index = i;
	l->ways = lc->ways;
	l->line_shift = __builtin_ctz(lc->line);
	l->line_mask = ~(uint64_t)(lc->line - 1);
	l->set_mask = lines / lc->ways - 1;
	l->tag = pm_alloc(lines * sizeof *l->tag);
	l->access = l->st.access;
	l->miss = l->st.miss;
	l->lru = lc->policy == PM_LRU;
	l->ordered = lc->policy == PM_LRU || lc->policy == PM_FIFO;
	l->quick = lc->policy != PM_OPT && !lc->three_c && !lc->sub && lc->prefetch != PM_PF_STRIDE &&
		!c->conf.regions;
	l->next = c->conf.next[i] < 0 ? NULL : c->level + c->conf.next[i];
	l->rnd = lc->seed;
	l->psel = 511;
	if (lc->policy == PM_SRRIP || lc->policy == PM_DRRIP)
		l->rrpv = pm_alloc(lines);
	if (lc->policy == PM_PLRU) {
		l->plru = pm_alloc((l->set_mask + 1) * sizeof *l->plru);
		plru_init(l);
	}
	if (lc->policy == PM_OPT)
		l->next_use = pm_alloc(lines * sizeof *l->next_use);
	if (lc->sub) {
		l->sub_shift = __builtin_ctz(lc->sub);
		l->sub_valid = pm_alloc(lines * sizeof *l->sub_valid);
		l->sub_dirty = pm_alloc(lines * sizeof *l->sub_dirty);
	}
	if (lc->victim)
		l->victim = pm_alloc(lc->victim * sizeof *l->victim);
	if (lc->wbuf)
		l->wbuf = pm_alloc(lc->wbuf * sizeof *l->wbuf);
	if (lc->prefetch == PM_PF_STRIDE)
		l->stride = pm_alloc(256 * sizeof *l->stride);
	if (lc->prefetch == PM_PF_STREAM)
		l->track = pm_alloc(16 * sizeof *l->track);
	if (lc->three_c) {
		l->shadow = pm_alloc(sizeof *l->shadow);
		l->shadow->cap = lines;
		l->shadow->place = pm_alloc((lines + 1) * sizeof *l->shadow->place);
	}
}

struct pm_cache *pm_cache_from(const struct pm_cache_conf *cc)
{
	struct pm_cache *c = pm_alloc(sizeof *c);

	c->conf = *cc;
	c->flush_left = cc->flush_insns;
	for (unsigned i = 0; i < cc->n; i++)
		level_init(c, i);
	for (unsigned i = 0; i < cc->n; i++) {	/* the next level always stands later in the list */
		struct level *l = c->level + i;

		if (l->next && l->next->hop <= l->hop)
			l->next->hop = l->hop + 1;
	}
	c->first_i = cc->first_i < 0 ? NULL : c->level + cc->first_i;
	c->first_d = cc->first_d < 0 ? NULL : c->level + cc->first_d;
	return c;
}

struct pm_cache *pm_cache_new(const char *config, struct pm_err *err)
{
	struct pm_cache_conf cc;

	if (pm_cache_conf_parse(&cc, "cache", config, err))
		return NULL;
	return pm_cache_from(&cc);
}

void pm_cache_memory(struct pm_cache *c, const struct pm_cache_memory *m)
{
	c->mem = *m;
}

const struct pm_cache_conf *pm_cache_config(const struct pm_cache *c)
{
	return &c->conf;
}

const struct pm_level_stats *pm_cache_stats(const struct pm_cache *c, unsigned level)
{
	return &c->level[level].st;
}

const struct pm_cache_memory_stats *pm_cache_memory_stats(const struct pm_cache *c)
{
	return &c->mst;
}

static int by_misses(const void *a, const void *b)
{
	const struct pm_cache_insn *x = a, *y = b;

	for (unsigned l = 0; l < PM_CACHE_LEVELS; l++)
		if (x->miss[l] != y->miss[l])
			return x->miss[l] > y->miss[l] ? -1 : 1;
	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

const struct pm_cache_insn *pm_cache_by_insn(struct pm_cache *c, size_t *n)
{
	*n = c->ninsn;
	if (!c->ninsn)
		return NULL;
	qsort(c->insn, c->ninsn, sizeof *c->insn, by_misses);
	for (size_t i = 0; i < c->ninsn; i++)
		*pm_map_put(&c->insn_at, c->insn[i].pc, NULL) = i;
	return c->insn;
}

void pm_cache_costs(void *self, struct pm_costs *to)
{
	static const char *const about = "references that missed this cache";
	const struct pm_cache *c = self;

	for (unsigned l = 0; c->conf.by_insn && l < c->conf.n; l++) {
		char name[24];
		int col;

		snprintf(name, sizeof name, "%sm", c->conf.level[l].name);
		col = pm_costs_column(to, name, about, true);
		for (size_t i = 0; col >= 0 && i < c->ninsn; i++) {
			size_t row = pm_costs_row(to, c->insn[i].pc);

			to->v[col][row] = c->insn[i].miss[l];
		}
	}
}

static bool charge(void *self, const struct pm_batch *piece, bool over, uint64_t *sum, uint64_t *late)
{
	struct pm_cache *c = self;
	uint64_t was[PM_CACHE_LEVELS];

	memcpy(was, c->blamed, sizeof was);
	pm_cache_batch(c, piece);
	for (unsigned l = 0; l < c->conf.n; l++)
		sum[l] += c->blamed[l] - was[l];
	return false;
}

void pm_cache_meter(const void *self, struct pm_calls_meter *m)
{
	const struct pm_cache_conf *cc = &((const struct pm_cache *)self)->conf;

	*m = (struct pm_calls_meter){ 0 };
	if (cc->by_insn)
		*m = (struct pm_calls_meter){ cc->n, pm_cache_from(cc), charge };
}

void pm_cache_meter_free(void *self)
{
	pm_cache_free(self);
}

void pm_cache_free(struct pm_cache *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->conf.n; i++) {
		struct level *l = c->level + i;

		free(l->tag);
		free(l->rrpv);
		free(l->plru);
		free(l->next_use);
		free(l->sub_valid);
		free(l->sub_dirty);
		free(l->victim);
		free(l->wbuf);
		free(l->stride);
		free(l->track);
		if (l->shadow) {
			pm_map_release(&l->shadow->at);
			pm_map_release(&l->shadow->seen);
			free(l->shadow->place);
			free(l->shadow);
		}
	}
	for (size_t i = 0; i < NR(c->tape); i++)
		free(c->tape[i].v);
	pm_map_release(&c->segment);
	pm_map_release(&c->insn_at);
	free(c->insn);
	pm_names_release(&c->names);
	free(c->range);
	free(c->segment_high);
	free(c);
}

/* ---- results ---------------------------------------------------------------------------------- */

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / b : 0;
}

static void counts_result(struct pm_result *r, const char *name, uint64_t access, uint64_t miss)
{
	if (!access)
		return;
	pm_result_begin(r, name);
	pm_result_u64(r, "accesses", access, "lookups");
	pm_result_u64(r, "misses", miss, "lookups");
	pm_result_f64(r, "miss_ratio", ratio(miss, access), "misses/access");
	pm_result_end(r);
}

uint64_t pm_cache_instructions(const struct pm_cache *c)
{
	return c->insns;
}

static void level_result(const struct pm_cache *c, const struct level *l, struct pm_result *r)
{
	static const char *const ops[] = { "fetch", "read", "write", "writeback", "prefetch" };
	static const char *const stack[] = { NULL, "pop", "push", NULL, NULL };
	const struct pm_level_conf *lc = l->conf;
	const struct pm_level_stats *s = &l->st;
	uint64_t access = 0, miss = 0;

	for (unsigned op = 0; op < PM_OP_COUNT; op++)
		for (unsigned cls = 0; cls < 2; cls++) {
			access += s->access[op][cls];
			miss += s->miss[op][cls];
		}
	pm_result_begin(r, lc->name);
	pm_result_u64(r, "size", c->conf.tlb ? lc->size / lc->line : lc->size, c->conf.tlb ? "entries" : "bytes");
	pm_result_u64(r, "ways", lc->ways, NULL);
	pm_result_u64(r, c->conf.tlb ? "page" : "line", lc->line, "bytes");
	pm_result_str(r, "policy", pm_cache_policies[lc->policy]);
	pm_result_u64(r, "accesses", access, "lookups");
	pm_result_u64(r, "misses", miss, "lookups");
	pm_result_f64(r, "miss_ratio", ratio(miss, access), "misses/access");
	if (c->insns)
		pm_result_f64(r, "mpki", 1000 * ratio(miss, c->insns), "misses/1000 instructions");
	for (unsigned op = 0; op < PM_OP_COUNT; op++)
		counts_result(r, ops[op], s->access[op][0] + s->access[op][1], s->miss[op][0] + s->miss[op][1]);
	/* push and pop against the rest, where references say which they are */
	for (unsigned op = PM_OP_READ; op <= PM_OP_WRITE; op++)
		if (s->access[op][1]) {
			counts_result(r, stack[op], s->access[op][1], s->miss[op][1]);
			counts_result(r, op == PM_OP_READ ? "other_read" : "other_write", s->access[op][0],
				      s->miss[op][0]);
		}
#define S(name, unit, about)								\
	if (s->name && !(c->conf.tlb && !strncmp(#name, "bytes", 5)))			\
		pm_result_u64(r, #name, s->name, unit);
	PM_LEVEL_STATS(S)
#undef S
	pm_result_end(r);
}

void pm_cache_result(struct pm_cache *c, struct pm_result *r)
{
	size_t n;

	pm_result_begin(r, c->conf.tlb ? "tlb" : "cache");
	pm_result_u64(r, "instructions", c->insns, "instructions");
	pm_result_u64(r, "fetches", c->refs[0][0] + c->refs[0][1], "references");
	pm_result_u64(r, "reads", c->refs[1][0] + c->refs[1][1], "references");
	pm_result_u64(r, "writes", c->refs[2][0] + c->refs[2][1], "references");
	for (unsigned i = 0; i < c->conf.n; i++)
		level_result(c, c->level + i, r);
	if (!c->conf.tlb) {
		pm_result_begin(r, "memory");
		pm_result_u64(r, "reads", c->mst.reads, "requests");
		pm_result_u64(r, "writes", c->mst.writes, "requests");
		pm_result_u64(r, "bytes_read", c->mst.bytes_read, "bytes");
		pm_result_u64(r, "bytes_written", c->mst.bytes_written, "bytes");
		pm_result_end(r);
	}
	if (c->conf.regions) {
		pm_result_begin(r, "regions");
		for (unsigned i = 0; i < REGIONS; i++)
			counts_result(r, region_names[i], c->region_refs[i], c->region_miss[i]);
		pm_result_end(r);
	}
	if (c->conf.by_insn) {
		const struct pm_cache_insn *v = pm_cache_by_insn(c, &n);

		pm_result_begin_list(r, "by_instruction");
		for (size_t i = 0; i < n && i < 50; i++) {
			pm_result_begin(r, NULL);
			pm_names_result(&c->names, r, v[i].pc);
			for (unsigned l = 0; l < c->conf.n; l++) {
				char name[32];

				snprintf(name, sizeof name, "%s_misses", c->conf.level[l].name);
				pm_result_u64(r, name, v[i].miss[l], "lookups");
			}
			pm_result_end(r);
		}
		pm_result_end(r);
	}
	pm_result_end(r);
}

/* ---- the sinks -------------------------------------------------------------------------------- */

static void *create(const char *what, const char *config, struct pm_err *err)
{
	struct pm_cache_conf cc;

	if (pm_cache_conf_parse(&cc, what, config, err))
		return NULL;
	return pm_cache_from(&cc);
}

static void *cache_create(const char *config, struct pm_err *err)
{
	return create("cache", *config ? config : "l1i=32k,8way,64;l1d=32k,8way,64;l2=1m,16way,64", err);
}

static void *tlb_create(const char *config, struct pm_err *err)
{
	return create("tlb", *config ? config : "itlb=64,8way,4k;dtlb=64,4way,4k;stlb=1536,12way,4k", err);
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct pm_cache *c = self;

	if (c->conf.by_insn)
		pm_names_learn(&c->names, b->code);
	pm_cache_batch(c, b);
	if (c->segment.n > 65535)
		return pm_fail_file(err, "cache: more than 65535 address spaces; spaces=shared gives up telling them apart");
	return PM_OK;
}

struct pm_names *pm_cache_names(void *self)
{
	return &((struct pm_cache *)self)->names;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct pm_cache *c = self;
	bool code = c->refs[0][0] + c->refs[0][1], data = c->refs[1][0] + c->refs[1][1] + c->refs[2][0] + c->refs[2][1];

	/* which facts are needed depends on the levels: half a trace is simulated, none is an error */
	if (!c->first_i && !data && c->insns)
		return pm_fail_file(err, "%s: the trace holds no data references, and %s simulates nothing else",
				    c->conf.tlb ? "tlb" : "cache", c->conf.level[0].name);
	if (!c->first_d && !code && c->other)
		return pm_fail_file(err, "%s: the trace holds no instructions, and %s simulates nothing else",
				    c->conf.tlb ? "tlb" : "cache", c->conf.level[0].name);
	pm_cache_end(self);
	if (r)
		pm_cache_result(self, r);
	return PM_OK;
}

static void destroy(void *self)
{
	pm_cache_free(self);
}

const struct pm_sink_ops pm_sim_cache = {
	.abi = PM_ABI, .flags = PM_SINK_REFS, .name = "cache", .about = "a hierarchy of caches",
	.create = cache_create, .consume = consume, .finish = finish, .destroy = destroy,
};
const struct pm_sink_ops pm_sim_tlb = {
	.abi = PM_ABI, .flags = PM_SINK_REFS, .name = "tlb", .about = "a hierarchy of TLBs",
	.create = tlb_create, .consume = consume, .finish = finish, .destroy = destroy,
};
