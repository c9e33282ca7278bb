/* SPDX-License-Identifier: MIT */
/* cache_prefetch.c - the rules of cache_prefetch.h */
#include <stdlib.h>
#include <string.h>

#include "analyse/cache_prefetch.h"
#include "analyse/cache_pythia.h"
#include "base/mem.h"

#define PAGE_SHIFT	12
#define WAYS		4
#define REMEMBERED	1024

struct track { uint64_t last, used; int dir; };

/* Sets list their entries newest first; key: pc or page, + 1. */
struct ip { uint64_t key, last; int64_t stride; unsigned confidence; };
struct zone { uint64_t key, accessed, asked; };
struct signed_page { uint64_t key; uint32_t last, signature; };
struct pattern { uint8_t seen, count[4]; int8_t step[4]; };
struct berti_delta { int8_t delta; uint8_t coverage; bool in_use; };
struct berti {
	uint64_t pc, line[16], time[16], news, last;
	struct berti_delta delta[16];
	bool used;
};

struct cache_prefetcher {
	enum pm_cache_prefetch kind;
	const struct pm_level_stats *st;
	unsigned shift, degree;
	unsigned lines, page_shift;		/* lines of a page, and their logarithm */
	uint64_t step;				/* bytes of a line */
	uint64_t news, clock;
	struct { uint64_t line, news; } brought[REMEMBERED];	/* line + 1 */
	struct cache_stride stride[256];
	struct track track[16];
	struct ip ip[64][WAYS];
	struct zone zone[16][WAYS];
	struct signed_page sign[64][WAYS];
	struct pattern pattern[512];
	struct berti berti[64];
	struct cache_pythia *pythia;
};

struct cache_prefetcher *cache_prefetcher_new(const struct pm_level_conf *lc,
					      const struct pm_level_stats *st)
{
	struct cache_prefetcher *p = pm_alloc(sizeof *p);

	p->kind = lc->prefetch;
	p->st = st;
	p->degree = lc->degree;
	p->step = lc->line;
	p->shift = __builtin_ctz(lc->line);
	p->page_shift = PAGE_SHIFT > p->shift ? PAGE_SHIFT - p->shift : 0;
	p->lines = 1u << p->page_shift;
	if (p->kind == PM_PF_PYTHIA)
		p->pythia = cache_pythia_new(p->shift, p->degree);
	return p;
}

void cache_prefetcher_free(struct cache_prefetcher *p)
{
	if (p)
		cache_pythia_free(p->pythia);
	free(p);
}

bool cache_prefetcher_every(enum pm_cache_prefetch p)
{
	return p == PM_PF_STRIDE || p >= PM_PF_IPSTRIDE;
}

bool cache_prefetcher_by_pc(enum pm_cache_prefetch p)
{
	return p == PM_PF_STRIDE || p == PM_PF_IPSTRIDE || p == PM_PF_BERTI || p == PM_PF_PYTHIA;
}

/* The entry with @k becomes the first of @set; the oldest does, if there is none. */
#define NEWEST(set, k) do {							\
	if ((set)->key != (k)) {						\
		unsigned w_ = 1;						\
										\
		while (w_ < WAYS - 1 && (set)[w_].key != (k))			\
			w_++;							\
		__typeof__(*(set)) e_ = (set)[w_];				\
		memmove((set) + 1, (set), w_ * sizeof e_);			\
		*(set) = e_;							\
	}									\
} while (0)

/* ---- by address and by instruction ---------------------------------------------------------- */

static unsigned next(const struct cache_prefetcher *p, uint64_t addr, uint64_t *to)
{
	for (unsigned k = 1; k <= p->degree; k++)
		to[k - 1] = (addr & -p->step) + k * p->step;
	return p->degree;
}

struct cache_stride *cache_prefetcher_strides(struct cache_prefetcher *p)
{
	return p && p->kind == PM_PF_STRIDE ? p->stride : NULL;
}

static unsigned stride(struct cache_prefetcher *p, uint64_t pc, uint64_t addr, uint64_t *to)
{
	struct cache_stride *s = p->stride + cache_stride_at(pc);

	if (!cache_stride_learn(s, pc, addr))
		return 0;
	for (unsigned k = 1; k <= p->degree; k++)
		to[k - 1] = addr + (int64_t)k * s->stride;
	return p->degree;
}

static unsigned stream(struct cache_prefetcher *p, uint64_t addr, uint64_t *to)
{
	const uint64_t line = addr & -p->step;
	struct track *t = NULL, *oldest = p->track;

	p->clock++;
	for (unsigned i = 0; i < 16 && !t; i++) {
		struct track *k = p->track + i;

		if (k->used < oldest->used)
			oldest = k;
		if (!k->used)
			continue;
		if (k->dir ? line == k->last + k->dir * (int64_t)p->step
			   : line == k->last + p->step || line == k->last - p->step)
			t = k;
	}
	if (!t) {
		*oldest = (struct track){ .last = line, .used = p->clock };
		return 0;
	}
	t->dir = line == t->last + p->step ? 1 : -1;
	t->last = line;
	t->used = p->clock;
	for (unsigned k = 1; k <= p->degree; k++)
		to[k - 1] = line + (int64_t)k * t->dir * (int64_t)p->step;
	return p->degree;
}

static unsigned ipstride(struct cache_prefetcher *p, uint64_t pc, uint64_t line, uint64_t *to)
{
	struct ip *e = p->ip[(pc ^ pc >> 6) & 63];
	int64_t d;

	NEWEST(e, pc + 1);
	if (e->key != pc + 1) {
		*e = (struct ip){ .key = pc + 1, .last = line };
		return 0;
	}
	d = line - e->last;
	if (!d)
		return 0;
	e->last = line;
	if (d == e->stride)
		e->confidence += e->confidence < 3;
	else if (e->confidence)
		e->confidence--;
	else
		e->stride = d;
	if (e->confidence < 2)
		return 0;
	for (unsigned k = 1; k <= p->degree; k++)
		to[k - 1] = (line + (int64_t)k * e->stride) << p->shift;
	return p->degree;
}

/* ---- access maps ----------------------------------------------------------------------------- */

static bool has(uint64_t bits, unsigned lines, int at)
{
	return at >= 0 && at < (int)lines && bits >> at & 1;
}

static bool is_new(const struct zone *z, unsigned lines, int at)
{
	return at >= 0 && at < (int)lines && !((z->accessed | z->asked) >> at & 1);
}

static struct zone *zone_of(struct cache_prefetcher *p, uint64_t page)
{
	struct zone *z = p->zone[page & 15];

	NEWEST(z, page + 1);
	if (z->key != page + 1)
		*z = (struct zone){ .key = page + 1 };
	return z;
}

static unsigned ampm(struct cache_prefetcher *p, uint64_t line, uint64_t *to)
{
	const uint64_t page = line >> p->page_shift, first = page << p->page_shift;
	const int o = line & (p->lines - 1), half = p->lines / 2;
	struct zone *z = zone_of(p, page);
	unsigned n = 0;

	if (z->accessed >> o & 1)
		return 0;
	z->accessed |= 1ull << o;
	for (int k = 1; k < half && n < p->degree; k++) {
		const bool up = has(z->accessed, p->lines, o - k) &&
				has(z->accessed, p->lines, o - 2 * k) && is_new(z, p->lines, o + k);
		const bool down = has(z->accessed, p->lines, o + k) &&
				  has(z->accessed, p->lines, o + 2 * k) &&
				  is_new(z, p->lines, o - k);

		if (up) {
			z->asked |= 1ull << (o + k);
			to[n++] = (first + o + k) << p->shift;
		}
		if (down && n < p->degree) {
			z->asked |= 1ull << (o - k);
			to[n++] = (first + o - k) << p->shift;
		}
	}
	return n;
}

/* ---- signatures ------------------------------------------------------------------------------ */

static void learn_step(struct pattern *e, int step)
{
	unsigned at = 0;

	for (unsigned i = 0; i < 4; i++) {
		if (e->count[i] && e->step[i] == step) {
			at = i;
			break;
		}
		if (e->count[i] < e->count[at])
			at = i;
	}
	if (!e->count[at] || e->step[at] != step) {
		e->step[at] = step;
		e->count[at] = 0;
	}
	e->count[at]++;
	if (++e->seen < 16)
		return;
	e->seen /= 2;
	for (unsigned i = 0; i < 4; i++)
		e->count[i] /= 2;
}

static unsigned sign_with(unsigned signature, int step)
{
	return (signature << 3 ^ (step & 127)) & 4095;
}

static unsigned accuracy_of(const struct pm_level_stats *st)
{
	uint64_t percent = st->pf_issued < 256 ? 90 : 100 * st->pf_useful / st->pf_issued;

	return percent > 90 ? 90 : percent;
}

static unsigned follow_path(const struct cache_prefetcher *p, unsigned signature, uint64_t first,
			    int at, uint64_t *to)
{
	const unsigned accuracy = accuracy_of(p->st);
	unsigned n = 0, confidence = 100;

	while (confidence >= 25) {
		const struct pattern *e = p->pattern + signature % 512;
		unsigned best = 0;

		if (!e->seen)
			break;
		for (unsigned i = 0; i < 4; i++) {
			const int o = at + e->step[i];

			if (e->count[i] > e->count[best])
				best = i;
			if (confidence * e->count[i] / e->seen < 25 || o < 0 || o >= (int)p->lines)
				continue;
			if (n == p->degree)
				return n;
			to[n++] = (first + o) << p->shift;
		}
		confidence = confidence * e->count[best] / e->seen * accuracy / 100;
		at += e->step[best];
		if (at < 0 || at >= (int)p->lines)
			break;
		signature = sign_with(signature, e->step[best]);
	}
	return n;
}

static unsigned spp(struct cache_prefetcher *p, uint64_t line, uint64_t *to)
{
	const uint64_t page = line >> p->page_shift;
	struct signed_page *e = p->sign[page & 63];
	const unsigned o = line & (p->lines - 1);
	int step;

	NEWEST(e, page + 1);
	if (e->key != page + 1) {
		*e = (struct signed_page){ .key = page + 1, .last = o };
		return 0;
	}
	step = (int)o - (int)e->last;
	if (!step)
		return 0;
	learn_step(p->pattern + e->signature % 512, step);
	e->signature = sign_with(e->signature, step);
	e->last = o;
	return follow_path(p, e->signature, page * p->lines, o, to);
}

/* ---- local deltas ---------------------------------------------------------------------------- */

static unsigned delta_place(const struct berti *e, int delta)
{
	unsigned at = 0;

	for (unsigned i = 0; i < 16; i++) {
		if (e->delta[i].delta == delta)
			return i;
		if (e->delta[i].coverage < e->delta[at].coverage)
			at = i;
	}
	return at;
}

static void learn_deltas(const struct cache_prefetcher *p, struct berti *e, uint64_t line)
{
	const unsigned known = e->news < 16 ? e->news : 16;
	unsigned gained = 0, n = 0;

	for (unsigned i = 1; i <= known && n < 8; i++) {
		const unsigned h = (e->news - i) % 16;
		const int64_t d = line - e->line[h];
		unsigned at;

		if (e->time[h] + CACHE_PF_TIMELY > p->news || !d || d <= -(int64_t)p->lines ||
		    d >= p->lines)
			continue;
		n++;
		at = delta_place(e, d);
		if (e->delta[at].delta != d)
			e->delta[at] = (struct berti_delta){ .delta = d };
		else if (gained >> at & 1)
			continue;
		gained |= 1u << at;
		e->delta[at].coverage++;
	}
	e->line[e->news % 16] = line;
	e->time[e->news++ % 16] = p->news;
	if (e->news % 16)
		return;
	for (unsigned i = 0; i < 16; i++) {
		e->delta[i].in_use = e->delta[i].coverage >= 10;
		e->delta[i].coverage = 0;
	}
}

static unsigned berti(struct cache_prefetcher *p, uint64_t pc, uint64_t line, bool news,
		      uint64_t *to)
{
	struct berti *e = p->berti + ((pc ^ pc >> 6) & 63);
	unsigned n = 0;

	if (!e->used || e->pc != pc) {
		if (!news)
			return 0;
		*e = (struct berti){ .pc = pc, .used = true, .last = UINT64_MAX };
	}
	if (news)
		learn_deltas(p, e, line);
	if (e->last == line)
		return 0;
	e->last = line;
	for (unsigned i = 0; i < 16 && n < p->degree; i++)
		if (e->delta[i].in_use)
			to[n++] = (line + e->delta[i].delta) << p->shift;
	return n;
}

/* HOT: once per access. */
unsigned cache_prefetcher_ask(struct cache_prefetcher *p, uint64_t pc, uint64_t addr, bool fetch,
			      bool news, uint64_t *to)
{
	const uint64_t line = addr >> p->shift;

	p->news += news;
	switch (p->kind) {
	case PM_PF_NONE:
	case PM_PF_MODULE:
		break;
	case PM_PF_NEXT:
		return news ? next(p, addr, to) : 0;
	case PM_PF_STRIDE:
		return fetch ? 0 : stride(p, pc, addr, to);
	case PM_PF_STREAM:
		return news ? stream(p, addr, to) : 0;
	case PM_PF_IPSTRIDE:
		return fetch ? 0 : ipstride(p, pc, line, to);
	case PM_PF_AMPM:
		return ampm(p, line, to);
	case PM_PF_SPP:
		return spp(p, line, to);
	case PM_PF_BERTI:
		return fetch ? 0 : berti(p, pc, line, news, to);
	case PM_PF_PYTHIA:
		return fetch ? 0 : cache_pythia_ask(p->pythia, pc, line, p->news, to);
	}
	return 0;
}

/* ---- timeliness ------------------------------------------------------------------------------ */

void cache_prefetcher_brought(struct cache_prefetcher *p, uint64_t addr)
{
	const uint64_t line = addr >> p->shift;

	p->brought[line % REMEMBERED].line = line + 1;
	p->brought[line % REMEMBERED].news = p->news;
}

bool cache_prefetcher_late(const struct cache_prefetcher *p, uint64_t addr)
{
	const uint64_t line = addr >> p->shift;

	return p->brought[line % REMEMBERED].line == line + 1 &&
	       p->news < p->brought[line % REMEMBERED].news + CACHE_PF_TIMELY;
}
