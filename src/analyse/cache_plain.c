/* SPDX-License-Identifier: MIT */
/* cache_plain.c - the rules of cache_sim.h once more, for what nearly everybody simulates: first
 * levels that are lru, wb, wa and nothing else; below them any level that does not reach upwards.
 * Nothing that happens below changes what is above then, so the levels take turns: what leaves one
 * is kept, and the next one takes it at the end of the batch. Where its set is can be fetched ahead
 * of its use. */
#include <stdlib.h>
#include <string.h>

#include "analyse/cache_refs.h"
#include "analyse/cache_set.h"

#define AHEAD	8		/* requests between fetching a set and using it */

bool pm_cache_plain_level(const struct pm_level_conf *lc)
{
	return lc->policy == PM_LRU && lc->wb && lc->wa && lc->incl == PM_NINE && !lc->sub &&
	       !lc->victim && !lc->wbuf && !lc->prefetch && !lc->three_c && !lc->nofetch;
}

/* ---- an access ------------------------------------------------------------------------------ */

static inline void go_on(struct pm_cache *c, struct cache_level *l, enum pm_cache_op op,
			 uint64_t addr, uint32_t size, unsigned cls)
{
	bool back = op == PM_OP_BACK;

	if (l->out) {
		cache_out_add(l->out, op, addr, size, cls);
		return;
	}
	*(back ? &c->mst.writes : &c->mst.reads) += 1;
	*(back ? &c->mst.bytes_written : &c->mst.bytes_read) += size;
}

static __attribute__((noinline)) void miss(struct pm_cache *c, struct cache_level *l, uint64_t *set,
					   uint64_t line, uint32_t size, enum pm_cache_op op,
					   unsigned cls)
{
	const bool write = op == PM_OP_WRITE || op == PM_OP_BACK;
	const uint32_t bytes = l->conf->line;
	const unsigned last = l->ways - 1;
	uint64_t old = set[last];

	l->miss[op][cls]++;
	if (op != PM_OP_BACK || size < bytes) {
		l->st.bytes_in += bytes;
		if (op != PM_OP_PREFETCH && c->reach <= l->hop)
			c->reach = l->hop + 1;
		go_on(c, l, op == PM_OP_FETCH || op == PM_OP_PREFETCH ? op : PM_OP_READ, line,
		      bytes, cls);
	}
	move_first(set, l->ways, last, line | LINE_VALID | (write ? LINE_DIRTY : 0));
	l->st.evictions += old & LINE_VALID;
	if (old & LINE_DIRTY) {
		l->st.writebacks++;
		l->st.bytes_out += bytes;
		go_on(c, l, PM_OP_BACK, old & ~(uint64_t)LINE_FLAGS, bytes, 0);
	}
}

static inline __attribute__((always_inline)) void
access_line(struct pm_cache *c, struct cache_level *l, uint64_t line, uint32_t size,
	    enum pm_cache_op op, unsigned cls)
{
	uint64_t *set = set_of(l, line);

	l->access[op][cls]++;
	if (!find_first(set, l->ways, line, op == PM_OP_WRITE || op == PM_OP_BACK ? LINE_DIRTY : 0))
		miss(c, l, set, line, size, op, cls);
}

/* ---- level by level ------------------------------------------------------------------------- */

static void level_requests(struct pm_cache *c, struct cache_level *l, const struct cache_request *v,
			   size_t n)
{
	const uint64_t offset = ~l->line_mask;

	for (size_t i = 0; i < n; i++) {
		uint64_t addr = v[i].addr, size = v[i].size;

		if (i + AHEAD < n) {
			const uint64_t *set = set_of(l, v[i + AHEAD].addr);

			__builtin_prefetch(set);
			__builtin_prefetch(set + l->ways - 1);
		}
		while (size) {
			uint64_t room = offset + 1 - (addr & offset), k = size < room ? size : room;

			if (l->plain)
				access_line(c, l, addr & l->line_mask, k, v[i].op, v[i].cls);
			else
				pm_cache_line(c, l, addr, k, v[i].op, v[i].cls);
			addr += k;
			size -= k;
		}
	}
}

void pm_cache_drain(struct pm_cache *c, unsigned from, unsigned to)
{
	for (unsigned i = from; c->apart && i < to; i++) {
		struct cache_out *o = c->apart + i;

		if (o->n)
			level_requests(c, c->level + i + 1, o->v, o->n);
		o->n = 0;
	}
}

static void maintain(struct pm_cache *c, uint64_t key, unsigned flags, unsigned from, unsigned to)
{
	pm_cache_drain(c, from, to);
	for (unsigned i = from; i < to; i++) {
		pm_cache_maintain(c, c->level + i, key, flags);
		pm_cache_drain(c, from, to);
	}
	pm_cache_maintained(c, key, flags, to);
}

void pm_cache_flush(struct pm_cache *c)
{
	maintain(c, 0, PM_REF_ALL, 0, c->conf.n);
}

void pm_cache_copy_back(struct pm_cache *c, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		if (c->conf.level[i].drain) {
			pm_cache_copy_back_level(c, c->level + i);
			pm_cache_drain(c, 0, c->conf.n);
		}
}

void pm_cache_requests(struct pm_cache *c, unsigned from, unsigned to,
		       const struct cache_request *v, size_t n)
{
	size_t done = 0;

	pm_cache_take_turns(c);
	for (size_t i = 0; i <= n; i++) {
		if (i < n && v[i].op != CACHE_OUT_MAINTAIN)
			continue;
		level_requests(c, c->level + from, v + done, i - done);
		pm_cache_drain(c, from, to);
		if (i < n)
			maintain(c, v[i].addr, v[i].cls, from, to);
		done = i + 1;
	}
}

void pm_cache_take_turns(struct pm_cache *c)
{
	unsigned first = 0;

	if (!c->turns || c->apart)
		return;
	while (first + 1 < c->conf.n && c->conf.level[first + 1].depth == c->conf.level[0].depth)
		first++;
	c->apart = pm_alloc(c->conf.n * sizeof *c->apart);
	for (unsigned i = 0; i < c->conf.n; i++) {
		struct cache_level *l = c->level + i;

		if (l->next && !l->out)
			l->out = c->apart + (i < first ? first : i);
		c->apart[i].kept = true;
	}
}

/* ---- references ----------------------------------------------------------------------------- */

static uint64_t key_of(void *cache, const struct pm_event *e)
{
	return pm_cache_key(cache, e->addr);
}

static void miss_first(void *cache, bool fetch, uint64_t *set, uint64_t line, enum pm_cache_op op,
		       unsigned cls)
{
	struct pm_cache *c = cache;

	miss(c, fetch ? c->first_i : c->first_d, set, line, 0, op, cls);
}

static void access_first(void *cache, uint64_t line, enum pm_cache_op op, unsigned cls)
{
	struct pm_cache *c = cache;

	access_line(c, op == PM_OP_FETCH ? c->first_i : c->first_d, line, 0, op, cls);
}

/* Dinero's copy-back and invalidate. */
static bool maintain_event(void *cache, const struct pm_event *e, uint64_t key)
{
	struct pm_cache *c = cache;

	maintain(c, key, e->flags, 0, c->own);
	return true;
}

static struct ref_side side_of(const struct cache_level *l)
{
	if (!l)
		return (struct ref_side){ 0 };
	return (struct ref_side){ l->tag, l->line_mask, l->set_mask, l->line_shift, l->ways };
}

static const struct ref_calls calls = { key_of, miss_first, access_first, maintain_event };

static REF_TARGET void look_up(void *cache, const struct ref_side side[2],
			       const struct ref_list *list, const struct pm_event *ev)
{
	ref_look_up_all(&calls, cache, side, list, ev);
}

static void run_plain(struct pm_cache *c, const struct pm_event *ev, size_t n)
{
	struct ref_counts k;

	pm_cache_take_turns(c);
	cache_run_refs(&calls, look_up, c, side_of(c->first_i), side_of(c->first_d), c->segment0,
		       c->conf.tlb, ev, n, &k);
	c->insns += k.insns;
	c->other |= k.other;
	ref_add(&k, c->conf.tlb, c->refs, c->first_i ? c->first_i->access : NULL,
		c->first_d ? c->first_d->access : NULL);
	pm_cache_drain(c, 0, c->own);
}

void pm_cache_events(struct pm_cache *c, const struct pm_event *ev, size_t n)
{
	if (c->plain)
		run_plain(c, ev, n);
	else
		pm_cache_run(c, ev, n, NULL);
}

void pm_cache_batch(struct pm_cache *c, const struct pm_batch *b)
{
	if (b->stream)
		pm_cache_enter_space(c, b->stream->space);
	if (c->plain)
		run_plain(c, b->ev, b->n);
	else
		pm_cache_run(c, b->ev, b->n, b);
}
