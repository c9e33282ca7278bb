/* SPDX-License-Identifier: MIT */
/* oracle/cache_slow.h - the rules of src/analyse/cache_sim.h, slowly: every line carries time
 * stamps, every question is answered by a scan, nothing is remembered twice
 *
 * Only the parsed configuration and the counters' struct are shared with the fast twin. */
#ifndef ORACLE_CACHE_H
#define ORACLE_CACHE_H

#include <stdlib.h>
#include <string.h>

#include "analyse/cache_sim.h"
#include "prefetch_slow.h"

struct o_line {
	bool valid, dirty, fresh;
	uint64_t addr, used, filled;		/* times */
	bool sub_valid[32], sub_dirty[32];
	int rrpv;
	uint64_t again;				/* OPT */
};
struct o_wbuf { bool valid, byte[65536]; uint64_t addr, since; enum pm_cache_op op; };
struct o_list { uint64_t *v; size_t n, cap; };
struct o_level {
	const struct pm_level_conf *lc;
	struct o_level *next;
	int index;
	struct o_line *way;			/* sets * ways */
	uint64_t sets;
	bool *tree;				/* per set, ways nodes: true = the right half is
						 * older */
	uint64_t rnd, brrip;
	int psel;
	struct o_line *victim;
	struct o_wbuf *wbuf;
	struct o_prefetcher pf;
	struct o_list seen, shadow;		/* shadow: newest last */
	struct pm_level_stats st;
};
struct o_cache {
	const struct pm_cache_conf *cc;
	struct o_level level[PM_CACHE_LEVELS];
	uint64_t now, pc, again;
	struct pm_cache_memory_stats mem;
};

static void o_request(struct o_cache *o, struct o_level *l, uint64_t addr, uint64_t size,
		      enum pm_cache_op op, int cls);

static struct o_line *o_set(struct o_level *l, uint64_t addr)
{
	return l->way + addr / l->lc->line % l->sets * l->lc->ways;
}

static struct o_line *o_find(struct o_level *l, uint64_t addr)
{
	uint64_t line = addr / l->lc->line * l->lc->line;
	struct o_line *s = o_set(l, addr);

	for (unsigned w = 0; w < l->lc->ways; w++)
		if (s[w].valid && s[w].addr == line)
			return s + w;
	return NULL;
}

static struct o_line *o_find_victim(struct o_level *l, uint64_t addr)
{
	for (unsigned i = 0; i < l->lc->victim; i++)
		if (l->victim[i].valid && l->victim[i].addr == addr / l->lc->line * l->lc->line)
			return l->victim + i;
	return NULL;
}

static void o_list_add(struct o_list *s, uint64_t v)
{
	if (s->n == s->cap)
		s->v = realloc(s->v, (s->cap = s->cap * 2 + 64) * sizeof *s->v);
	s->v[s->n++] = v;
}

static long o_list_at(const struct o_list *s, uint64_t v)
{
	for (size_t i = s->n; i-- > 0; )
		if (s->v[i] == v)
			return i;
	return -1;
}

static void o_send_now(struct o_cache *o, struct o_level *l, uint64_t addr, uint64_t size,
		       enum pm_cache_op op, int cls)
{
	l->st.bytes_out += size;
	if (l->next) {
		o_request(o, l->next, addr, size, op, cls);
	} else {
		o->mem.writes++;
		o->mem.bytes_written += size;
	}
}

static void o_drain(struct o_cache *o, struct o_level *l, struct o_wbuf *e)
{
	struct o_wbuf *copy = malloc(sizeof *copy);

	*copy = *e;
	e->valid = false;
	for (unsigned b = 0; b < l->lc->line; b++) {
		unsigned n = 0;

		while (b + n < l->lc->line && copy->byte[b + n])
			n++;
		if (n)
			o_send_now(o, l, copy->addr + b, n, copy->op, 0);
		b += n;
	}
	free(copy);
}

static struct o_wbuf *o_oldest(struct o_level *l)
{
	struct o_wbuf *best = NULL;

	for (unsigned i = 0; i < l->lc->wbuf; i++)
		if (l->wbuf[i].valid && (!best || l->wbuf[i].since < best->since))
			best = l->wbuf + i;
	return best;
}

static void o_send(struct o_cache *o, struct o_level *l, uint64_t addr, uint64_t size,
		   enum pm_cache_op op, int cls)
{
	uint64_t line = addr / l->lc->line * l->lc->line;
	unsigned grain = l->lc->line > 64 ? l->lc->line / 64 : 1;
	struct o_wbuf *e = NULL;

	if (!l->lc->wbuf) {
		o_send_now(o, l, addr, size, op, cls);
		return;
	}
	for (unsigned i = 0; i < l->lc->wbuf; i++)
		if (l->wbuf[i].valid && l->wbuf[i].addr == line)
			e = l->wbuf + i;
	if (e) {
		l->st.wbuf_merged++;
	} else {
		unsigned n = 0;

		for (unsigned i = 0; i < l->lc->wbuf; i++)
			n += l->wbuf[i].valid;
		if (n == l->lc->wbuf) {
			l->st.wbuf_full++;
			o_drain(o, l, o_oldest(l));
		}
		for (e = l->wbuf; e->valid; e++)
			;
		memset(e, 0, sizeof *e);
		e->valid = true;
		e->addr = line;
		e->since = ++o->now;
		e->op = op;
	}
	if (op == PM_OP_BACK)
		e->op = op;
	for (uint64_t b = (addr - line) / grain * grain; b < addr - line + size || b % grain; b++)
		e->byte[b] = true;
}

static void o_out(struct o_cache *o, struct o_level *l, const struct o_line *x);

/* The way that the policy gives up, or an empty one. */
static struct o_line *o_choose(struct o_level *l, uint64_t addr)
{
	struct o_line *s = o_set(l, addr), *best = NULL;
	bool *tree = l->tree + (s - l->way);
	unsigned ways = l->lc->ways, lo = 0, hi = ways, node = 1;

	for (unsigned w = 0; w < ways; w++)
		if (!s[w].valid)
			return s + w;
	switch (l->lc->policy) {
	case PM_LRU:
	case PM_FIFO:
		for (unsigned w = 0; w < ways; w++) {
			uint64_t t = l->lc->policy == PM_LRU ? s[w].used : s[w].filled;

			if (!best || t < (l->lc->policy == PM_LRU ? best->used : best->filled))
				best = s + w;
		}
		return best;
	case PM_RANDOM:
		l->rnd ^= l->rnd >> 12;
		l->rnd ^= l->rnd << 25;
		l->rnd ^= l->rnd >> 27;
		return s + (l->rnd * 0x2545f4914f6cdd1dull >> 32) % ways;
	case PM_PLRU:
		while (hi - lo > 1) {
			unsigned mid = (lo + hi) / 2;

			if (tree[node]) {
				lo = mid;
				node = 2 * node + 1;
			} else {
				hi = mid;
				node = 2 * node;
			}
		}
		return s + lo;
	case PM_SRRIP:
	case PM_DRRIP:
		while (true) {
			for (unsigned w = 0; w < ways; w++)
				if (s[w].rrpv >= 3)
					return s + w;
			for (unsigned w = 0; w < ways; w++)
				s[w].rrpv++;
		}
	case PM_OPT:
		for (unsigned w = 0; w < ways; w++)
			if (!best || s[w].again > best->again)
				best = s + w;
		return best;
	case PM_MODULE:
		break;			/* tests/analyse/champsim.t */
	}
	abort();
}

static void o_used(struct o_cache *o, struct o_level *l, struct o_line *x)
{
	struct o_line *s = o_set(l, x->addr);
	unsigned ways = l->lc->ways, lo = 0, hi = ways, node = 1, me = x - s;
	bool *tree = l->tree + (s - l->way);

	x->used = ++o->now;
	x->again = o->again;
	while (l->lc->policy == PM_PLRU && hi - lo > 1) {
		unsigned mid = (lo + hi) / 2;

		tree[node] = me < mid;
		if (me < mid)
			hi = mid;
		else
			lo = mid;
		node = 2 * node + (me >= mid ? 1 : 0);
		if (hi - lo == 1)
			break;
	}
}

static bool o_recall(struct o_cache *o, struct o_level *l, uint64_t addr, uint64_t size)
{
	bool dirty = false;

	for (int i = 0; i < l->index; i++) {
		struct o_level *u = o->level + i;

		if (u->next != l)
			continue;
		dirty |= o_recall(o, u, addr, size);
		for (uint64_t a = addr; a < addr + size; a += u->lc->line) {
			struct o_line *x[2] = { o_find(u, a), o_find_victim(u, a) };
			bool was = false;

			for (int k = 0; k < 2; k++)
				if (x[k]) {
					was |= x[k]->dirty;
					u->st.pf_unused += x[k]->fresh;
					u->st.invalidated++;
					x[k]->valid = false;
				}
			for (unsigned k = 0; k < u->lc->wbuf; k++)
				if (u->wbuf[k].valid && u->wbuf[k].addr == a) {
					u->wbuf[k].valid = false;
					was = true;
				}
			if (was) {
				u->st.writebacks++;
				u->st.bytes_out += u->lc->line;
			}
			dirty |= was;
		}
	}
	return dirty;
}

/* Enter a line and see the old one off. */
static void o_fill(struct o_cache *o, struct o_level *l, struct o_line x)
{
	struct o_line *w = o_choose(l, x.addr), old = *w, *v, last;
	uint64_t set = (o_set(l, x.addr) - l->way) / l->lc->ways;

	x.valid = true;
	x.filled = ++o->now;
	x.rrpv = 2;
	*w = x;
	o_used(o, l, w);
	if (l->lc->policy == PM_DRRIP && l->sets > 1) {
		uint64_t period = l->sets < 64 ? l->sets : 64, k = set % period;
		bool brrip;

		if (k == 0) {
			brrip = false;
			if (l->psel < 1023)
				l->psel++;
		} else if (k == period / 2) {
			brrip = true;
			if (l->psel > 0)
				l->psel--;
		} else {
			brrip = l->psel >= 512;
		}
		if (brrip && l->brrip++ % 32)
			w->rrpv = 3;
	}
	if (!old.valid)
		return;
	l->st.evictions++;
	if (l->lc->incl == PM_INCL)
		old.dirty |= o_recall(o, l, old.addr, l->lc->line);
	if (!l->lc->victim) {
		l->st.pf_unused += old.fresh;
		o_out(o, l, &old);
		return;
	}
	/* the victim cache's oldest makes room */
	v = NULL;
	last.valid = false;
	for (unsigned i = 0; i < l->lc->victim; i++)
		if (!l->victim[i].valid)
			v = l->victim + i;
	if (!v) {
		v = l->victim;
		for (unsigned i = 1; i < l->lc->victim; i++)
			if (l->victim[i].filled < v->filled)
				v = l->victim + i;
		last = *v;
		for (int b = 0; b < 32; b++)
			last.sub_dirty[b] = true;
	}
	*v = old;
	v->filled = ++o->now;
	if (last.valid) {
		l->st.pf_unused += last.fresh;
		o_out(o, l, &last);
	}
}

static bool o_fetch(struct o_cache *o, struct o_level *l, uint64_t addr, uint64_t size,
		    enum pm_cache_op op, int cls);

/* An exclusive level is asked for a line. */
static bool o_take(struct o_cache *o, struct o_level *l, uint64_t addr, enum pm_cache_op op,
		   int cls)
{
	struct o_line *x = o_find(l, addr);

	l->st.access[op][cls]++;
	if (x) {
		x->valid = false;
		return x->dirty;
	}
	l->st.miss[op][cls]++;
	x = o_find_victim(l, addr);
	if (x) {
		l->st.victim_hits++;
		x->valid = false;
		return x->dirty;
	}
	return o_fetch(o, l, addr, l->lc->line, op, cls);
}

static bool o_fetch(struct o_cache *o, struct o_level *l, uint64_t addr, uint64_t size,
		    enum pm_cache_op op, int cls)
{
	if (op != PM_OP_FETCH && op != PM_OP_PREFETCH)
		op = PM_OP_READ;
	for (unsigned i = 0; i < l->lc->wbuf; i++)
		if (l->wbuf[i].valid && l->wbuf[i].addr == addr / l->lc->line * l->lc->line)
			o_drain(o, l, l->wbuf + i);
	l->st.bytes_in += size;
	if (!l->next) {
		o->mem.reads++;
		o->mem.bytes_read += size;
		return false;
	}
	if (l->next->lc->incl == PM_EXCL)
		return o_take(o, l->next, addr, op, cls);
	o_request(o, l->next, addr, size, op, cls);
	return false;
}

static void o_out(struct o_cache *o, struct o_level *l, const struct o_line *x)
{
	struct o_level *n = l->next;
	unsigned sub = l->lc->sub ? l->lc->sub : l->lc->line;

	if (x->dirty)
		l->st.writebacks++;
	if (n && n->lc->incl == PM_EXCL) {
		struct o_line *y = o_find(n, x->addr), *v = o_find_victim(n, x->addr);

		l->st.bytes_out += l->lc->line;
		n->st.access[PM_OP_BACK][0]++;
		if (y) {
			y->dirty |= x->dirty;
			y->rrpv = 0;
			o_used(o, n, y);
		} else {
			struct o_line z = { .addr = x->addr, .dirty = x->dirty };

			if (v) {
				z.dirty |= v->dirty;
				v->valid = false;
			}
			o_fill(o, n, z);
		}
		return;
	}
	if (!x->dirty)
		return;
	for (unsigned b = 0; b < l->lc->line / sub; b++) {
		unsigned k = 0;

		while (b + k < l->lc->line / sub && (!l->lc->sub || x->sub_dirty[b + k]))
			k++;
		if (k)
			o_send(o, l, x->addr + b * sub, k * sub, PM_OP_BACK, 0);
		b += k;
	}
}

static void o_prefetch(struct o_cache *o, struct o_level *l, uint64_t from, uint64_t addr)
{
	struct o_line x = { .addr = addr / l->lc->line * l->lc->line, .fresh = true };

	if (x.addr == from / l->lc->line * l->lc->line || addr / 4096 != from / 4096)
		return;
	if (o_find(l, addr) || o_find_victim(l, addr))
		return;
	l->st.pf_issued++;
	l->pf.asked[x.addr / l->lc->line % 1024] = (struct o_asked){ x.addr, l->pf.news, true };
	x.dirty = o_fetch(o, l, x.addr, l->lc->line, PM_OP_PREFETCH, 0);
	for (int b = 0; b < 32; b++)
		x.sub_valid[b] = true;
	o_fill(o, l, x);
}

static void o_first_use(struct o_level *l, uint64_t addr)
{
	uint64_t line = addr / l->lc->line;
	const struct o_asked *a = l->pf.asked + line % 1024;

	l->st.pf_useful++;
	if (a->used && a->addr == line * l->lc->line && l->pf.news + 1 - a->news <= 4)
		l->st.pf_late++;
}

static void o_trigger(struct o_cache *o, struct o_level *l, uint64_t addr, enum pm_cache_op op,
		      bool news)
{
	uint64_t to[64];
	unsigned n = o_wanted(&l->pf, l->lc, &l->st, o->pc, addr, op == PM_OP_FETCH, news, to);

	for (unsigned i = 0; i < n; i++)
		o_prefetch(o, l, addr, to[i]);
}

/* Would a fully associative cache miss line @addr, too? 0: no, 1: it is the first time, 2: yes.
 * @enters: it is there from now on, if it was not. */
static int o_kind(struct o_level *l, uint64_t addr, bool enters)
{
	long s = o_list_at(&l->shadow, addr);
	const bool seen = o_list_at(&l->seen, addr) >= 0;
	const int kind = s >= 0 ? 0 : seen ? 2 : 1;

	if (!seen)
		o_list_add(&l->seen, addr);
	if (s >= 0 || enters) {
		if (s < 0 && l->shadow.n == l->lc->size / l->lc->line)
			s = 0;
		if (s >= 0)
			memmove(l->shadow.v + s, l->shadow.v + s + 1, (--l->shadow.n - s) * 8);
		o_list_add(&l->shadow, addr);
	}
	return kind;
}

static void o_access(struct o_cache *o, struct o_level *l, uint64_t addr, uint64_t size,
		     enum pm_cache_op op, int cls)
{
	bool write = op == PM_OP_WRITE || op == PM_OP_BACK, demand = op <= PM_OP_WRITE,
	     news = false;
	unsigned sub = l->lc->sub ? l->lc->sub : l->lc->line, off = addr % l->lc->line;
	bool all = (op == PM_OP_BACK || (op == PM_OP_WRITE && l->lc->nofetch)) &&
		   addr % sub == 0 && size % sub == 0;
	struct o_line *x = o_find(l, addr), z = { .addr = addr - off };
	int kind = -1;

	l->st.access[op][cls]++;
	if (l->lc->three_c && op != PM_OP_PREFETCH)
		kind = o_kind(l, z.addr, !write || l->lc->wa);
	if (!x) {
		news = true;
		l->st.miss[op][cls]++;
		l->st.compulsory += kind == 1;
		l->st.capacity += kind == 2;
		l->st.conflict += kind == 0;
		if (write && !l->lc->wa) {
			o_send(o, l, addr, size, op, cls);
			goto done;
		}
		x = o_find_victim(l, addr);
		if (x) {
			l->st.victim_hits++;
			z = *x;
			x->valid = false;
			for (int b = 0; b < 32; b++) {
				z.sub_valid[b] = true;
				z.sub_dirty[b] = false;
			}
			if (demand && z.fresh) {
				z.fresh = false;
				o_first_use(l, addr);
			}
		} else if (l->lc->sub) {
			unsigned lo = off / sub, hi = (off + size - 1) / sub;

			if (!all)
				o_fetch(o, l, z.addr + lo * sub, (hi - lo + 1) * sub, op, cls);
			for (unsigned b = lo; b <= hi; b++)
				z.sub_valid[b] = true;
		} else {
			if (!all)
				z.dirty = o_fetch(o, l, z.addr, l->lc->line, op, cls);
		}
		if (write && l->lc->wb) {
			z.dirty = true;
			for (unsigned b = off / sub; b <= (off + size - 1) / sub; b++)
				z.sub_dirty[b] = true;
		}
		o_fill(o, l, z);
		if (write && !l->lc->wb)
			o_send(o, l, addr, size, op, cls);
	} else {
		bool whole = true;

		for (unsigned b = off / sub; l->lc->sub && b <= (off + size - 1) / sub; b++)
			whole &= x->sub_valid[b];
		if (!whole) {
			news = true;
			l->st.miss[op][cls]++;
			l->st.sub_misses++;
			for (unsigned b = off / sub; !all && b <= (off + size - 1) / sub; b++) {
				unsigned n = 0;

				while (b + n <= (off + size - 1) / sub && !x->sub_valid[b + n])
					n++;
				if (n)
					o_fetch(o, l, z.addr + b * sub, n * sub, op, cls);
				b += n;
			}
			for (unsigned b = off / sub; b <= (off + size - 1) / sub; b++)
				x->sub_valid[b] = true;
		}
		if (demand && x->fresh) {
			x->fresh = false;
			o_first_use(l, addr);
			news = true;
		}
		x->rrpv = 0;
		o_used(o, l, x);
		if (write && l->lc->wb) {
			x->dirty = true;
			for (unsigned b = off / sub; b <= (off + size - 1) / sub; b++)
				x->sub_dirty[b] = true;
		} else if (write) {
			o_send(o, l, addr, size, op, cls);
		}
	}
done:
	if (demand)
		o_trigger(o, l, addr, op, news);
}

static void o_request(struct o_cache *o, struct o_level *l, uint64_t addr, uint64_t size,
		      enum pm_cache_op op, int cls)
{
	uint64_t end = addr + size;

	while (addr < end) {
		uint64_t stop = (addr / l->lc->line + 1) * l->lc->line;

		if (stop > end)
			stop = end;
		o_access(o, l, addr, stop - addr, op, cls);
		addr = stop;
	}
}

static int o_by_addr(const void *a, const void *b)
{
	const struct o_line *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static __attribute__((unused)) void o_flush(struct o_cache *o)
{
	for (unsigned i = 0; i < o->cc->n; i++) {
		struct o_level *l = o->level + i;
		uint64_t ways = l->lc->ways;

		for (uint64_t s = 0; s <= l->sets; s++) {
			struct o_line *from = s < l->sets ? l->way + s * ways : l->victim, *list;
			uint64_t n = s < l->sets ? ways : l->lc->victim;

			if (!n)
				continue;
			list = malloc(n * sizeof *list);
			memcpy(list, from, n * sizeof *list);
			qsort(list, n, sizeof *list, o_by_addr);
			for (uint64_t w = 0; w < n; w++)
				from[w].valid = false;
			for (uint64_t w = 0; s < l->sets && w < ways; w++)
				l->tree[s * ways + w] = false;
			for (uint64_t w = 0; w < n; w++)
				if (list[w].valid) {
					l->st.flushed++;
					l->st.pf_unused += list[w].fresh;
					for (int b = 0; s == l->sets && b < 32; b++)
						list[w].sub_dirty[b] = true;
					if (list[w].dirty)
						o_out(o, l, list + w);
				}
			free(list);
		}
		while (l->lc->wbuf && o_oldest(l))
			o_drain(o, l, o_oldest(l));
		l->shadow.n = 0;
	}
}

/* Which of the dirty lines among @n leaves first when its level is drained? */
static struct o_line *o_next_drained(const struct o_level *l, struct o_line *v, unsigned n)
{
	const enum pm_cache_policy p = v == l->victim ? PM_FIFO : l->lc->policy;
	struct o_line *best = NULL;

	for (unsigned i = 0; i < n; i++)
		if (v[i].valid && v[i].dirty &&
		    (!best || (p == PM_LRU    ? v[i].used < best->used
			       : p == PM_FIFO ? v[i].filled < best->filled
					      : true)))
			best = v + i;
	return best;
}

/* The end of the trace. */
static __attribute__((unused)) void o_end(struct o_cache *o)
{
	for (unsigned i = 0; i < o->cc->n; i++) {
		struct o_level *l = o->level + i;
		struct o_line *x;

		if (!l->lc->drain)
			continue;
		for (uint64_t s = l->sets; s-- > 0; )
			while ((x = o_next_drained(l, l->way + s * l->lc->ways, l->lc->ways))) {
				o_out(o, l, x);
				x->dirty = false;
				memset(x->sub_dirty, 0, sizeof x->sub_dirty);
			}
		while ((x = o_next_drained(l, l->victim, l->lc->victim))) {
			for (int b = 0; b < 32; b++)
				x->sub_dirty[b] = true;
			o_out(o, l, x);
			x->dirty = false;
		}
		while (l->lc->wbuf && o_oldest(l))
			o_drain(o, l, o_oldest(l));
	}
}

static struct o_cache *o_cache_new(const struct pm_cache_conf *cc)
{
	struct o_cache *o = calloc(1, sizeof *o);

	o->cc = cc;
	for (unsigned i = 0; i < cc->n; i++) {
		struct o_level *l = o->level + i;
		uint64_t lines = cc->level[i].size / cc->level[i].line;

		l->lc = cc->level + i;
		l->index = i;
		l->next = cc->next[i] < 0 ? NULL : o->level + cc->next[i];
		l->sets = lines / l->lc->ways;
		l->way = calloc(lines, sizeof *l->way);
		l->tree = calloc(lines + 1, 1);
		l->victim = calloc(l->lc->victim + 1, sizeof *l->victim);
		l->wbuf = calloc(l->lc->wbuf + 1, sizeof *l->wbuf);
		l->rnd = l->lc->seed;
		l->psel = 511;
	}
	return o;
}

static void o_cache_ref(struct o_cache *o, enum pm_cache_op op, uint64_t addr, uint64_t size,
			bool stack, uint64_t pc)
{
	int first = op == PM_OP_FETCH ? o->cc->first_i : o->cc->first_d;

	o->pc = pc;
	if (first >= 0)
		o_request(o, o->level + first, addr, size ? size : 1, op, stack);
}

static void o_cache_free(struct o_cache *o)
{
	for (unsigned i = 0; i < o->cc->n; i++) {
		free(o->level[i].way);
		free(o->level[i].tree);
		free(o->level[i].victim);
		free(o->level[i].wbuf);
		free(o->level[i].seen.v);
		free(o->level[i].shadow.v);
		for (unsigned k = 0; k < 64; k++)
			free(o->level[i].pf.ip[k].v);
		if (o->level[i].pf.pythia)
			free(o->level[i].pf.pythia->v);
		free(o->level[i].pf.pythia);
	}
	free(o);
}

#endif
