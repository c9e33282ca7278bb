/* SPDX-License-Identifier: MIT */
/* set_split.c - references dealt out to shares of the sets, each with caches of its own */
#include <stdlib.h>
#include <string.h>

#include "analyse/cache_state.h"
#include "analyse/set_split.h"
#include "base/err.h"

#define MOST_BITS	8u		/* that tell shares apart */
#define MOST_SHARES	16u		/* stages of a split, at most */
#define SLICE_MOST	1000000u	/* instructions: all that is dealt out waits in memory */
#define NO_LINE		1u		/* no line has this address */
#define BATCH		512u		/* events simulated at once */

struct set_whole {
	struct pm_cache *c, *share[MOST_SHARES];
	unsigned n, shift;
	uint64_t mask, grain;		/* grain: no less decides what a fetch hits */
	uint8_t owner[1u << MOST_BITS];	/* by those bits: which share's they are */
};

struct set_ref { uint64_t addr; uint32_t times; uint16_t size; uint8_t kind, flags; };

struct set_dealt { struct set_ref *ref; size_t n, cap; };	/* to a share */

struct set_span {			/* events of one address space */
	uint64_t space;
	size_t begin[MOST_SHARES];	/* its first one of each share */
};

struct set_part {
	struct set_whole *w;
	struct set_dealt dealt[MOST_SHARES];
	struct set_span *span;
	size_t nspan, cap_span;
	uint64_t last_at;		/* where the last instruction is, if that is one place */
	struct set_dealt *last;		/* who got it; it had so many then: */
	size_t last_n;
	uint64_t insns, refs[3][2];
	bool other, refused;		/* refused: something that has to be done in order */
};

/* ---- what can be split ----------------------------------------------------------------------- */

static bool sets_are_apart(const struct pm_level_conf *lc)
{
	return lc->policy != PM_RANDOM && lc->policy != PM_DRRIP &&
	       lc->policy != PM_MODULE && !lc->victim && !lc->wbuf &&
	       !lc->prefetch && !lc->three_c;
}

/* The address bits from @*shift on that tell shares apart: how many. */
static unsigned bits_of(const struct pm_cache *c, unsigned *shift)
{
	const struct pm_cache_conf *cc = &c->conf;
	unsigned from = 0, to = 64;

	if (c->family || c->mem.access || cc->flush_insns || cc->flush_switch || cc->regions ||
	    cc->by_insn)
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

/* ---- dealing out ----------------------------------------------------------------------------- */

static void *part_new(void *whole)
{
	struct set_part *p = pm_alloc(sizeof *p);

	p->w = whole;
	return p;
}

static void begin(void *part)
{
	struct set_part *p = part;

	for (unsigned k = 0; k < p->w->n; k++)
		p->dealt[k].n = 0;
	p->nspan = 0;
}

/* HOT: to the share that has these addresses. */
static inline void deal(struct set_part *p, const struct pm_event *e, unsigned kind, uint64_t addr,
			uint64_t size)
{
	struct set_dealt *h = p->dealt + p->w->owner[addr >> p->w->shift & p->w->mask];

	pm_grow(h->ref, h->n, h->cap);
	h->ref[h->n++] = (struct set_ref){ addr, 1, (uint16_t)size, (uint8_t)kind, e->flags };
}

static __attribute__((noinline)) void deal_pieces(struct set_part *p, const struct pm_event *e,
						  unsigned kind)
{
	const uint64_t unit = 1ull << p->w->shift;
	uint64_t addr = e->addr, left = e->size;

	while (left) {
		const uint64_t room = unit - (addr & (unit - 1)), k = left < room ? left : room;

		deal(p, e, kind, addr, k);
		addr += k;
		left -= k;
	}
}

static inline void deal_ref(struct set_part *p, const struct pm_event *e, unsigned kind)
{
	const uint64_t last = e->addr + (e->size ? e->size - 1 : 0);

	if (__builtin_expect((e->addr ^ last) >> p->w->shift != 0, 0))
		deal_pieces(p, e, kind);
	else
		deal(p, e, kind, e->addr, e->size);
}

/* HOT: the next instruction is usually where the last one was: its share sees the same line again,
 * if it has got nothing else since. */
static inline void deal_fetch(struct set_part *p, const struct pm_event *e)
{
	const uint64_t at = e->addr & ~p->w->grain;
	const bool one = e->size && ((e->addr + e->size - 1) & ~p->w->grain) == at;
	struct set_dealt *h = p->last;

	if (one && at == p->last_at && h->n == p->last_n && h->ref[h->n - 1].times < UINT32_MAX) {
		h->ref[h->n - 1].times++;
		return;
	}
	deal_ref(p, e, PM_EV_LINE);
	p->last_at = one ? at : NO_LINE;
	p->last = p->dealt + p->w->owner[e->addr >> p->w->shift & p->w->mask];
	p->last_n = p->last->n;
}

/* HOT: once per event. To a share a fetch is no instruction: these are counted here. */
static void deal_events(struct set_part *p, const struct pm_event *ev, size_t n)
{
	const bool fetches = p->w->c->first_i, data = p->w->c->first_d;

	for (const struct pm_event *e = ev, *end = ev + n; e < end; e++) {
		const unsigned cls = (e->flags & PM_REF_STACK) != 0;

		if (e->kind == PM_EV_INSN || e->kind == PM_EV_LINE) {
			p->insns += e->kind == PM_EV_INSN;
			if (!fetches)
				continue;
			p->refs[PM_OP_FETCH][0]++;
			deal_fetch(p, e);
		} else if (e->kind >= PM_EV_READ && e->kind <= PM_EV_MODIFY) {
			p->other |= !data;
			if (!data || e->flags & PM_REF_UNCACHED)
				continue;
			if (e->flags & (PM_REF_COPYBACK | PM_REF_INVAL)) {
				p->refused = true;
				return;
			}
			p->refs[PM_OP_READ][cls] += e->kind != PM_EV_WRITE;
			p->refs[PM_OP_WRITE][cls] += e->kind != PM_EV_READ;
			deal_ref(p, e, e->kind);
		}
	}
}

static enum pm_status consume(void *part, const struct pm_batch *b, struct pm_err *err)
{
	struct set_part *p = part;
	struct set_span *s = p->nspan ? p->span + p->nspan - 1 : NULL;

	if (!s || s->space != b->stream->space) {
		pm_grow(p->span, p->nspan, p->cap_span);
		s = p->span + p->nspan++;
		s->space = b->stream->space;
		p->last_at = NO_LINE;
		for (unsigned k = 0; k < p->w->n; k++)
			s->begin[k] = p->dealt[k].n;
	}
	deal_events(p, b->ev, b->n);
	return p->refused ? PM_END : PM_OK;
}

/* ---- shares ---------------------------------------------------------------------------------- */

static unsigned stages(const void *whole)
{
	return ((const struct set_whole *)whole)->n;
}

/* HOT */
static void simulate(struct pm_cache *c, const struct set_ref *r, const struct set_ref *end)
{
	struct pm_event ev[BATCH];
	size_t n = 0;

	for (; r < end; r++)
		for (uint32_t k = 0; k < r->times; k++) {
			ev[n++] = (struct pm_event){ r->kind, r->flags, r->size, PM_NONE, r->addr,
						     0 };
			if (n == BATCH)
				pm_cache_events(c, ev, n);
			n %= BATCH;
		}
	pm_cache_events(c, ev, n);
}

static void join(void *part, unsigned k)
{
	struct set_part *p = part;
	const struct set_dealt *h = p->dealt + k;

	for (size_t i = 0; i < p->nspan; i++) {
		const size_t end = i + 1 < p->nspan ? p->span[i + 1].begin[k] : h->n;

		pm_cache_enter_space(p->w->share[k], p->span[i].space);
		if (end > p->span[i].begin[k])
			simulate(p->w->share[k], h->ref + p->span[i].begin[k], h->ref + end);
	}
}

static void proceed(void *part, unsigned stage)
{
	(void)part;
	(void)stage;
}

static void part_end(void *part)
{
	struct set_part *p = part;
	struct pm_cache *c = p->w->c;

	pm_cache_add_totals(c, p->insns, p->refs, p->other);
	for (unsigned k = 0; k < p->w->n; k++)
		free(p->dealt[k].ref);
	free(p->span);
	free(p);
}

static void release(struct set_whole *w)
{
	for (unsigned k = 0; k < w->n; k++)
		pm_cache_free(w->share[k]);
	free(w);
}

static void end(void *whole)
{
	struct set_whole *w = whole;
	struct pm_cache *c = w->c;

	for (unsigned k = 0; k < w->n; k++) {
		struct pm_cache *s = w->share[k];

		pm_cache_end(s);
		for (unsigned i = 0; i < c->conf.n; i++)
			pm_cache_add_stats(&c->level[i].st, &s->level[i].st);
		c->mst.reads += s->mst.reads;
		c->mst.writes += s->mst.writes;
		c->mst.bytes_read += s->mst.bytes_read;
		c->mst.bytes_written += s->mst.bytes_written;
	}
	release(w);
}

static void give_up(void *whole)
{
	struct set_whole *w = whole;

	w->c->insns = 0;
	w->c->other = false;
	memset(w->c->refs, 0, sizeof w->c->refs);
	release(w);
}

struct pm_split pm_set_split(struct pm_cache *c, unsigned threads)
{
	static const struct pm_split_ops ops = {
		stages, part_new, begin, consume, join, proceed, part_end, end, give_up, SLICE_MOST
	};
	unsigned shift = 0, bits = bits_of(c, &shift);
	struct set_whole *w;

	if (!bits)
		return (struct pm_split){ NULL, NULL };
	w = pm_alloc(sizeof *w);
	w->c = c;
	w->shift = shift;
	w->mask = (1ull << bits) - 1;
	w->grain = c->first_i ? (c->first_i->conf->sub ? c->first_i->conf->sub
						       : c->first_i->conf->line) - 1 : 0;
	/* two for each thread: who waits for one has less to wait for */
	w->n = 2 * threads < MOST_SHARES ? 2 * threads : MOST_SHARES;
	w->n = w->n <= w->mask ? w->n : (unsigned)w->mask + 1;
	for (unsigned k = 0; k <= w->mask; k++)
		w->owner[k] = (uint8_t)(k % w->n);
	for (unsigned k = 0; k < w->n; k++)
		w->share[k] = pm_cache_from(&c->conf);
	return (struct pm_split){ &ops, w };
}
