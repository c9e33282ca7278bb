/* SPDX-License-Identifier: MIT */
/* cache_split.c - a hierarchy of LRU caches over slices of a trace: cold_level.h, level by level */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/cache_refs.h"
#include "analyse/cold_level.h"
#include "analyse/split.h"

struct cache_whole {
	struct pm_cache *c;
	unsigned first;			/* so many first levels: 1 or 2 */
	struct known_level known[PM_CACHE_LEVELS];
	pthread_mutex_t lock;		/* of the cache's numbers of address spaces */
};

struct cache_part {
	struct cache_whole *w;
	struct cold_level level[PM_CACHE_LEVELS];
	struct cold_level *li, *ld;	/* NULL: such references are not simulated */
	struct cache_out out, next;	/* what left the stage, uncertain; and certain */
	uint64_t insns, refs[3][2];
	bool other, refused;		/* refused: something that has to be done in order */
	uint64_t space;
	struct pm_map segment;		/* as pm_cache.segment, as far as this thread knows */
};

static unsigned stages(const void *whole)
{
	const struct cache_whole *w = whole;

	return w->c->conf.n - w->first + 1;
}

static void *part_new(void *whole)
{
	struct cache_part *p = pm_alloc(sizeof *p);
	const struct pm_cache_conf *cc;

	p->w = whole;
	cc = &p->w->c->conf;
	for (unsigned i = 0; i < cc->n; i++)
		cold_init(p->level + i, cc->level + i, i == 1 && p->w->first == 2);
	p->li = cc->first_i < 0 ? NULL : p->level + cc->first_i;
	p->ld = cc->first_d < 0 ? NULL : p->level + cc->first_d;
	p->out.kept = true;
	return p;
}

static void begin(void *part)
{
	struct cache_part *p = part;

	for (unsigned i = 0; i < p->w->c->conf.n; i++)
		cold_begin(p->level + i);
	p->out.n = p->next.n = 0;
}

/* The high bits of keys of this space and these high bits. Numbers are given as slices need them: a
 * key only has to be another one than others. */
static uint64_t segment(struct cache_part *p, uint64_t space, uint64_t high)
{
	const uint64_t name = (p->w->c->conf.shared ? 0 : space << 16) | high;
	bool fresh;
	uint64_t *v = pm_map_put(&p->segment, name, &fresh);

	if (fresh) {
		struct pm_map *all = &p->w->c->segment;
		uint64_t *mine;

		pthread_mutex_lock(&p->w->lock);
		mine = pm_map_put(all, name, &fresh);
		if (fresh)
			*mine = all->n - 1;
		*v = *mine << 48;
		pthread_mutex_unlock(&p->w->lock);
	}
	return *v;
}

static uint64_t key_of(void *part, const struct pm_event *e)
{
	struct cache_part *p = part;

	return (e->addr & 0xffffffffffff) | segment(p, p->space, e->addr >> 48);
}

static void miss_first(void *part, bool fetch, uint64_t *set, uint64_t line, enum pm_cache_op op,
		       unsigned cls)
{
	struct cache_part *p = part;

	cold_miss(fetch ? p->li : p->ld, set, line, 0, op, cls, &p->out);
}

static void access_first(void *part, uint64_t line, enum pm_cache_op op, unsigned cls)
{
	struct cache_part *p = part;

	cold_access(op == PM_OP_FETCH ? p->li : p->ld, line, 0, op, cls, &p->out);
}

static bool maintain_event(void *part, const struct pm_event *e, uint64_t key)
{
	((struct cache_part *)part)->refused = true;
	return false;
}

static struct ref_side side_of(const struct cold_level *l)
{
	if (!l)
		return (struct ref_side){ 0 };
	return (struct ref_side){ l->way, l->line_mask, l->set_mask, l->line_shift, l->ways };
}

static const struct ref_calls calls = { key_of, miss_first, access_first, maintain_event };

static REF_TARGET void look_up(void *part, const struct ref_side side[2],
			       const struct ref_list *list, const struct pm_event *ev)
{
	ref_look_up_all(&calls, part, side, list, ev);
}

static enum pm_status consume(void *part, const struct pm_batch *b, struct pm_err *err)
{
	struct cache_part *p = part;
	struct ref_counts k;

	p->space = b->stream->space;
	cache_run_refs(&calls, look_up, p, side_of(p->li), side_of(p->ld), segment(p, p->space, 0),
		       p->w->c->conf.tlb, b->ev, b->n, &k);
	p->insns += k.insns;
	p->other |= k.other;
	ref_add(&k, p->w->c->conf.tlb, p->refs, p->li ? p->li->st.access : NULL,
		p->ld ? p->ld->st.access : NULL);
	if (p->segment.n > 65535)
		return pm_fail_file(err, "cache: more than 65535 address spaces; spaces=shared "
					 "treats all as one");
	return p->refused ? PM_END : PM_OK;
}

/* Levels of a stage: *n of them from the index returned on. */
static unsigned levels_of(const struct cache_whole *w, unsigned stage, unsigned *n)
{
	*n = stage ? 1 : w->first;
	return stage ? w->first + stage - 1 : 0;
}

static void join(void *part, unsigned stage)
{
	struct cache_part *p = part;
	unsigned n, at = levels_of(p->w, stage, &n);

	p->next.kept = stage + 1 < stages(p->w);
	for (size_t i = 0; i < p->out.n; i++) {
		const struct cache_request *r = p->out.v + i;
		unsigned k = at + ((r->op & COLD_DATA) != 0);

		if (r->op < COLD_TOUCH)
			cache_out_add(&p->next, r->op, r->addr, r->size, r->cls);
		else
			cold_resolve(p->level + k, p->w->known + k, r, &p->next);
	}
	for (unsigned k = at; k < at + n; k++)
		cold_settle(p->level + k, p->w->known + k);
	if (!p->next.kept) {		/* it reached memory */
		struct pm_cache_memory_stats *m = &p->w->c->mst;

		m->reads += p->next.st.reads;
		m->writes += p->next.st.writes;
		m->bytes_read += p->next.st.bytes_read;
		m->bytes_written += p->next.st.bytes_written;
	}
	p->next.st = (struct pm_cache_memory_stats){ 0 };
}

static void proceed(void *part, unsigned stage)
{
	struct cache_part *p = part;
	unsigned n, at = levels_of(p->w, stage + 1, &n);
	struct cold_level *l = p->level + at;

	p->out.n = 0;
	for (size_t i = 0; i < p->next.n; i++) {
		const struct cache_request *r = p->next.v + i;
		uint64_t addr = r->addr, size = r->size;

		while (size) {
			uint64_t room = l->line - (addr & ~l->line_mask), k = size < room ? size
											  : room;

			cold_access(l, addr, k, r->op, r->cls, &p->out);
			addr += k;
			size -= k;
		}
	}
	p->next.n = 0;
}

void pm_cache_add_totals(struct pm_cache *c, uint64_t insns, const uint64_t refs[3][2], bool other)
{
	c->insns += insns;
	c->other |= other;
	for (int k = 0; k < 3; k++)
		for (int cls = 0; cls < 2; cls++)
			c->refs[k][cls] += refs[k][cls];
}

void pm_cache_add_stats(struct pm_level_stats *to, const struct pm_level_stats *from)
{
	for (int op = 0; op < PM_OP_COUNT; op++)
		for (int cls = 0; cls < 2; cls++) {
			to->access[op][cls] += from->access[op][cls];
			to->miss[op][cls] += from->miss[op][cls];
		}
#define S(name, unit, about) to->name += from->name;
	PM_LEVEL_STATS(S)
#undef S
}

static void part_end(void *part)
{
	struct cache_part *p = part;
	struct pm_cache *c = p->w->c;

	pm_cache_add_totals(c, p->insns, p->refs, p->other);
	for (unsigned i = 0; i < c->conf.n; i++) {
		pm_cache_add_stats(&c->level[i].st, &p->level[i].st);
		cold_release(p->level + i);
	}
	pm_map_release(&p->segment);
	free(p->out.v);
	free(p->next.v);
	free(p);
}

static void end(void *whole)
{
	struct cache_whole *w = whole;

	pthread_mutex_destroy(&w->lock);
	free(w);
}

static void give_up(void *whole)
{
	struct pm_cache *c = ((struct cache_whole *)whole)->c;

	for (unsigned i = 0; i < c->conf.n; i++) {
		const struct pm_level_conf *lc = c->conf.level + i;

		c->level[i].st = (struct pm_level_stats){ 0 };
		memset(c->level[i].tag, 0, lc->size / lc->line * sizeof *c->level[i].tag);
	}
	pm_map_release(&c->segment);
	c->segment = (struct pm_map){ 0 };
	c->mst = (struct pm_cache_memory_stats){ 0 };
	c->insns = 0;
	c->other = false;
	memset(c->refs, 0, sizeof c->refs);
	end(whole);
}

struct pm_split pm_cache_split(struct pm_cache *c)
{
	static const struct pm_split_ops ops = { stages, part_new, begin, consume, join, proceed,
		part_end, end, give_up };
	bool fits = c->turns && !c->family;
	struct cache_whole *w;

	for (unsigned i = 0; i < c->conf.n; i++)
		fits = fits && c->level[i].plain;
	if (!fits)
		return (struct pm_split){ NULL, NULL };
	w = pm_alloc(sizeof *w);
	w->c = c;
	w->first = c->conf.n > 1 && c->conf.level[1].depth == c->conf.level[0].depth ? 2 : 1;
	for (unsigned i = 0; i < c->conf.n; i++)
		w->known[i].way = c->level[i].tag;
	pthread_mutex_init(&w->lock, NULL);
	return (struct pm_split){ &ops, w };
}
