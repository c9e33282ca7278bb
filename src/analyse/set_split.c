/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyse/cache_state.h"
#include "analyse/set_split.h"
#include "analyse/split.h"
#include "base/err.h"
#include "base/thread.h"
#include "trace/expand.h"
#include "trace/pug_file.h"

#define MOST_BITS	8u		/* shares beyond 256 would make none of them smaller */

struct pm_set_part {
	struct pm_cache *c;
	unsigned shift;
	uint64_t mask;
	bool counts;			/* the one that counts what is not an access of a set */
	bool mine[1u << MOST_BITS];
	struct pm_event *ev;		/* what is left of a batch */
	size_t n, cap;
	uint64_t insns, refs[3][2];
	bool other;
};

/* ---- what can be split ----------------------------------------------------------------------- */

static bool sets_are_apart(const struct pm_level_conf *lc)
{
	return lc->policy != PM_RANDOM && lc->policy != PM_DRRIP && !lc->victim && !lc->wbuf &&
	       !lc->prefetch && !lc->three_c;
}

/* The address bits from @*shift on that tell shares apart. */
static unsigned bits_of(const struct pm_cache *c, unsigned *shift)
{
	const struct pm_cache_conf *cc = &c->conf;
	unsigned from = 0, to = 64;

	if (c->family || c->mem.access || cc->flush_insns || cc->regions || cc->by_insn)
		return 0;
	for (unsigned i = 0; i < cc->n; i++) {
		const struct cache_level *l = c->level + i;
		const unsigned end = l->line_shift + __builtin_popcountll(l->set_mask);

		if (!sets_are_apart(l->conf))
			return 0;
		from = l->line_shift > from ? l->line_shift : from;
		to = end < to ? end : to;
	}
	*shift = from;
	return to <= from ? 0 : to - from < MOST_BITS ? to - from : MOST_BITS;
}

unsigned pm_set_shares(const struct pm_cache *c)
{
	unsigned shift;

	return 1u << bits_of(c, &shift);
}

/* ---- a share --------------------------------------------------------------------------------- */

struct pm_set_part *pm_set_part_new(const struct pm_cache *whole, unsigned me, unsigned of)
{
	struct pm_set_part *p = pm_alloc(sizeof *p);

	p->c = pm_cache_from(&whole->conf);
	p->mask = (1ull << bits_of(whole, &p->shift)) - 1;
	p->counts = me == 0;
	for (uint64_t k = me; k <= p->mask; k += of)
		p->mine[k] = true;
	return p;
}

static inline bool is_mine(const struct pm_set_part *p, uint64_t addr)
{
	return p->mine[addr >> p->shift & p->mask];
}

static __attribute__((noinline)) void add_pieces(struct pm_set_part *p, const struct pm_event *e)
{
	const uint64_t unit = 1ull << p->shift;
	uint64_t addr = e->addr, left = e->size;

	while (left) {
		const uint64_t room = unit - (addr & (unit - 1)), k = left < room ? left : room;

		pm_grow(p->ev, p->n, p->cap);
		if (is_mine(p, addr)) {
			p->ev[p->n] = *e;
			p->ev[p->n].addr = addr;
			p->ev[p->n++].size = (uint16_t)k;
		}
		addr += k;
		left -= k;
	}
}

/* HOT: what is mine of a reference is simulated. */
static inline void add_ref(struct pm_set_part *p, const struct pm_event *e, enum pm_kind kind)
{
	const uint64_t last = e->addr + (e->size ? e->size - 1 : 0);

	if (__builtin_expect((e->addr ^ last) >> p->shift != 0, 0)) {
		struct pm_event piece = *e;

		piece.kind = kind;
		add_pieces(p, &piece);
		return;
	}
	p->ev[p->n] = *e;
	p->ev[p->n].kind = kind;
	p->n += is_mine(p, e->addr);
}

static void add_data(struct pm_set_part *p, const struct pm_event *e)
{
	const unsigned cls = (e->flags & PM_REF_STACK) != 0;

	if (__builtin_expect(e->addr >> 48 != 0, 0))
		pm_cache_key(p->c, e->addr);	/* all parts give spaces the same numbers */
	if (__builtin_expect(e->flags & (PM_REF_COPYBACK | PM_REF_INVAL | PM_REF_UNCACHED), 0)) {
		p->ev[p->n] = *e;
		p->n += !(e->flags & PM_REF_UNCACHED) &&
			(e->flags & PM_REF_ALL || is_mine(p, e->addr));
		return;
	}
	p->refs[PM_OP_READ][cls] += e->kind != PM_EV_WRITE;
	p->refs[PM_OP_WRITE][cls] += e->kind != PM_EV_READ;
	add_ref(p, e, e->kind);
}

/* HOT: once per event and part. An instruction that is not simulated here is none here. */
static void sift(struct pm_set_part *p, const struct pm_event *ev, size_t n)
{
	const bool fetches = p->c->first_i, data = p->c->first_d;

	for (const struct pm_event *e = ev, *end = ev + n; e < end; e++) {
		pm_grow(p->ev, p->n, p->cap);
		if (e->kind == PM_EV_INSN || e->kind == PM_EV_LINE) {
			p->insns += e->kind == PM_EV_INSN;
			if (!fetches)
				continue;
			if (__builtin_expect(e->addr >> 48 != 0, 0))
				pm_cache_key(p->c, e->addr);
			p->refs[PM_OP_FETCH][0]++;
			add_ref(p, e, PM_EV_LINE);
		} else if (e->kind >= PM_EV_READ && e->kind <= PM_EV_MODIFY) {
			if (data)
				add_data(p, e);
			else
				p->other = true;
		} else if (e->kind == PM_EV_SWITCH) {
			p->ev[p->n++] = *e;
		}
	}
}

enum pm_status pm_set_part_batch(struct pm_set_part *p, const struct pm_batch *b,
				 struct pm_err *err)
{
	struct pm_batch mine = *b;

	if (b->stream)
		pm_cache_enter_space(p->c, b->stream->space);
	p->n = 0;
	sift(p, b->ev, b->n);
	mine.ev = p->ev;
	mine.n = p->n;
	pm_cache_batch(p->c, &mine);
	if (p->c->segment.n > 65535)
		return pm_fail_file(err, "cache: more than 65535 address spaces; spaces=shared "
					 "treats all as one");
	return PM_OK;
}

void pm_set_part_end(struct pm_set_part *p, struct pm_cache *whole)
{
	struct pm_cache *c = p->c;

	for (unsigned i = 0; whole && i < c->conf.n; i++) {
		if (!i)
			pm_cache_end(c);
		pm_cache_add_stats(&whole->level[i].st, &c->level[i].st);
	}
	if (whole) {
		whole->mst.reads += c->mst.reads;
		whole->mst.writes += c->mst.writes;
		whole->mst.bytes_read += c->mst.bytes_read;
		whole->mst.bytes_written += c->mst.bytes_written;
	}
	if (whole && p->counts) {
		whole->insns = p->insns;
		whole->other = p->other;
		memcpy(whole->refs, p->refs, sizeof whole->refs);
	}
	pm_cache_free(c);
	free(p->ev);
	free(p);
}

/* ---- all of them ----------------------------------------------------------------------------- */

struct set_thread {
	const char *path;
	struct pm_set_part **part;
	size_t n;
	bool *stopped;			/* by any of the threads */
	enum pm_status st;
	struct pm_err err;
};

static enum pm_status consume(void *to, const struct pm_batch *b, struct pm_err *err)
{
	struct set_thread *t = to;

	for (size_t i = 0; i < t->n; i++)
		if (pm_set_part_batch(t->part[i], b, err) != PM_OK)
			return PM_ERR;
	return PM_OK;
}

static enum pm_status read_all(struct set_thread *t, struct pm_source *src)
{
	const struct pm_emit to = { consume, t };
	void *expander = src->facts & PM_HAS_BLOCKS ? pm_expand_new() : NULL;
	enum pm_status st = PM_OK;

	while (!st && !__atomic_load_n(t->stopped, __ATOMIC_RELAXED)) {
		const struct pm_batch *b;

		st = src->ops->next(src->self, &b, &t->err);
		if (!st)
			st = expander ? pm_expand_ops.consume(expander, b, &to, &t->err)
				      : consume(t, b, &t->err);
	}
	if (st == PM_END && expander)
		st = pm_expand_ops.finish(expander, &to, &t->err) == PM_ERR ? PM_ERR : PM_END;
	if (expander)
		pm_expand_ops.destroy(expander);
	return st == PM_END ? PM_OK : PM_ERR;
}

static void *run(void *arg)
{
	struct set_thread *t = arg;
	struct pm_source src = { 0 };
	const char *why = NULL;

	t->st = pm_split_open(t->path, &src, &why, &t->err) ? PM_ERR : PM_OK;
	if (!t->st) {
		t->st = read_all(t, &src);
		src.ops->close(src.self);
	}
	if (t->st)
		__atomic_store_n(t->stopped, true, __ATOMIC_RELAXED);
	return NULL;
}

enum pm_status pm_set_split_run(const char *path, unsigned threads, struct pm_cache *const *c,
				size_t n, const char **why, struct pm_err *err)
{
	struct pm_source src = { 0 };
	enum pm_status st = pm_split_open(path, &src, why, err);
	unsigned shares = 1;
	bool stopped = false;
	struct set_thread *t;

	if (st)
		return st;
	src.ops->close(src.self);
	for (size_t i = 0; i < n; i++)
		shares = pm_set_shares(c[i]) > shares ? pm_set_shares(c[i]) : shares;
	threads = shares < threads ? shares : threads;
	t = pm_alloc(threads * sizeof *t);
	for (unsigned k = 0; k < threads; k++) {
		t[k] = (struct set_thread){ .path = path, .n = n, .stopped = &stopped };
		t[k].part = pm_alloc(n * sizeof(void *));
		for (size_t i = 0; i < n; i++)
			t[k].part[i] = pm_set_part_new(c[i], k, threads);
	}
	pm_threads_run(run, t, sizeof *t, threads);
	for (unsigned k = 0; k < threads; k++)
		if (t[k].st && !st) {
			st = t[k].st;
			*err = t[k].err;
		}
	for (unsigned k = 0; k < threads; k++) {
		for (size_t i = 0; i < n; i++)
			pm_set_part_end(t[k].part[i], st ? NULL : c[i]);
		free(t[k].part);
	}
	free(t);
	return st;
}
