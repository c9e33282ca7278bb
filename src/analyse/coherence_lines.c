/* SPDX-License-Identifier: MIT */
/* coherence_lines.c - rules (7) to (9): why a core misses, and what a miss brings */
#include <stdlib.h>

#include "analyse/coherence_state.h"

#define PAIRS_MAX 64			/* of a line; all further ones are one, without places */

uint32_t coherence_line_of(struct pm_coherence *c, uint64_t key)
{
	const unsigned k = (key >> c->line_shift) % KNOWN_LINES;
	uint64_t *at;
	bool fresh;

	if (c->known[k].key == key)
		return c->known[k].line;
	at = pm_map_put(&c->line_at, key, &fresh);
	if (fresh) {
		*at = c->nline;
		pm_grow(c->line, c->nline, c->cap_line);
		c->line[c->nline++] = (struct coherence_line){ .key = key };
	}
	c->known[k].key = key;
	c->known[k].line = (uint32_t)*at;
	return (uint32_t)*at;
}

/* The parts of a line that an access covers, a bit each. */
static uint64_t bytes_of(const struct pm_coherence *c, const struct own_access *a)
{
	const uint64_t off = a->key & ~c->line_mask;
	const unsigned first = off >> c->grain_shift,
		       last = (off + a->size - 1) >> c->grain_shift;

	return (last >= 63 ? ~0ull : (2ull << last) - 1) & ~((1ull << first) - 1);
}

uint64_t coherence_missed(struct pm_coherence *c, uint32_t line, const struct own_access *a)
{
	struct coherence_line *l = c->line + line;
	struct pm_core_counts *n = &c->core[a->core].n;
	const uint64_t me = 1ull << a->core;
	const bool first = !(l->seen & me), coherence = l->taken & me;
	uint64_t watch = 0;

	n->misses++;
	n->cold += first;
	n->recalled += !first && (l->recalled & me);
	n->replacement += !first && !coherence && !(l->recalled & me);
	l->taken &= ~me;
	l->recalled &= ~me;
	if (first) {
		if (l->seen && !l->sharer) {
			l->sharer = pm_alloc(c->conf.cores * sizeof *l->sharer);
			watch = l->seen;
		}
		l->seen |= me;
	}
	if (l->sharer) {
		struct sharer *s = l->sharer + a->core;

		s->coherence = coherence;
		s->essential = false;
		if (!coherence)
			s->unseen = 0;
		s->missed = a->pc;
		s->missed_at = (uint16_t)(a->key & ~c->line_mask);
		s->wrote = s->taken;
		s->wrote_at = s->taken_at;
	}
	return watch;
}

void coherence_accessed(struct pm_coherence *c, uint32_t line, const struct own_access *a)
{
	struct coherence_line *l = c->line + line;
	uint64_t bytes, others;

	if (!l->sharer)
		return;
	bytes = bytes_of(c, a);
	if (l->sharer[a->core].unseen & bytes) {
		l->sharer[a->core].unseen = 0;
		l->sharer[a->core].essential = true;
	}
	if (a->op != PM_OP_WRITE)
		return;
	for (others = l->seen & ~(1ull << a->core); others; others &= others - 1)
		l->sharer[__builtin_ctzll(others)].unseen |= bytes;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static struct line_pair **bucket_of(const struct pm_coherence *c, uint32_t line, uint64_t missed,
				    uint64_t wrote)
{
	uint64_t h = ((missed * 0x9e3779b97f4a7c15 + wrote) ^ line) * 0xbf58476d1ce4e5b9;

	return c->bucket + (h >> 32 & (c->nbucket - 1));
}

static void more_buckets(struct pm_coherence *c)
{
	struct line_pair **old = c->bucket;
	const size_t n = c->nbucket;

	c->nbucket = n ? n * 4 : 256;
	c->bucket = pm_alloc(c->nbucket * sizeof *c->bucket);
	for (size_t i = 0; i < n; i++)
		for (struct line_pair *q = old[i], *next; q; q = next) {
			struct line_pair **at = bucket_of(c, q->line, q->p.missed, q->p.wrote);

			next = q->same_hash;
			q->same_hash = *at;
			*at = q;
		}
	free(old);
}

static struct line_pair *find_pair(const struct pm_coherence *c, uint32_t line, uint64_t missed,
				   uint64_t wrote)
{
	struct line_pair *q = c->npair ? *bucket_of(c, line, missed, wrote) : NULL;

	while (q && (q->p.missed != missed || q->p.wrote != wrote || q->line != line))
		q = q->same_hash;
	return q;
}

static struct pm_sharing_pair *pair_of(struct pm_coherence *c, uint32_t line,
				       const struct sharer *s)
{
	struct coherence_line *l = c->line + line;
	const bool full = l->npair >= PAIRS_MAX;
	struct line_pair *q = find_pair(c, line, s->missed, s->wrote), **at;

	if (!q && full)
		q = find_pair(c, line, 0, 0);
	if (q)
		return &q->p;
	if (c->npair == c->nbucket)
		more_buckets(c);
	q = pm_alloc(sizeof *q);
	*q = (struct line_pair){ .p.next = l->pair, .line = line };
	if (!full) {
		q->p.missed = s->missed;
		q->p.wrote = s->wrote;
		q->p.missed_at = s->missed_at;
		q->p.wrote_at = s->wrote_at;
	}
	at = bucket_of(c, line, q->p.missed, q->p.wrote);
	q->same_hash = *at;
	*at = q;
	c->npair++;
	l->npair++;
	l->pair = &q->p;
	return &q->p;
}

void coherence_lifetime_ends(struct pm_coherence *c, uint32_t line, unsigned core)
{
	struct coherence_line *l = c->line + line;
	struct sharer *s = l->sharer ? l->sharer + core : NULL;
	struct pm_sharing_pair *p;

	if (!s || !s->coherence)
		return;
	s->coherence = false;
	c->core[core].n.true_sharing += s->essential;
	c->core[core].n.false_sharing += !s->essential;
	l->truly += s->essential;
	l->falsely += !s->essential;
	p = pair_of(c, line, s);
	p->truly += s->essential;
	p->falsely += !s->essential;
	if (!l->named) {
		l->named = true;
		pm_grow(c->fresh, c->nfresh, c->cap_fresh);
		c->fresh[c->nfresh++] = line;
	}
}

unsigned coherence_flags(const struct pm_coherence *c, uint32_t line, unsigned core)
{
	const struct coherence_line *l = c->line + line;

	if (!l->sharer)
		return 0;
	return WAY_SHARED | (l->sharer[core].unseen ? WAY_WATCH : 0);
}

void pm_coherence_end(struct pm_coherence *c)
{
	for (size_t i = 0; i < c->nline; i++)
		for (unsigned k = 0; c->line[i].sharer && k < c->conf.cores; k++)
			coherence_lifetime_ends(c, (uint32_t)i, k);
}

static int by_misses(const void *a, const void *b)
{
	const struct pm_sharing_line *x = a, *y = b;

	if (x->falsely != y->falsely)
		return x->falsely < y->falsely ? 1 : -1;
	if (x->truly != y->truly)
		return x->truly < y->truly ? 1 : -1;
	return x->line < y->line ? -1 : x->line > y->line;
}

struct pm_sharing_line *pm_coherence_lines(const struct pm_coherence *c, size_t *n)
{
	struct pm_sharing_line *v = NULL;
	size_t cap = 0;

	*n = 0;
	for (size_t i = 0; i < c->nline; i++) {
		const struct coherence_line *l = c->line + i;
		const uint64_t high = c->segment_high[l->key >> 48];

		if (!l->truly && !l->falsely)
			continue;
		pm_grow(v, *n, cap);
		v[(*n)++] = (struct pm_sharing_line){
			.line = (l->key & 0xffffffffffff) | high << 48, .falsely = l->falsely,
			.truly = l->truly, .invalidations = l->invalidations,
			.cores = (uint64_t)__builtin_popcountll(l->seen), .pair = l->pair,
			.object = l->object,
		};
	}
	if (*n)
		qsort(v, *n, sizeof *v, by_misses);
	return v;
}

void coherence_lines_free(struct pm_coherence *c)
{
	for (size_t i = 0; i < c->nline; i++) {
		for (struct pm_sharing_pair *p = c->line[i].pair, *next; p; p = next) {
			next = p->next;
			free(p);
		}
		free(c->line[i].sharer);
		free(c->line[i].object);
	}
	free(c->line);
	free(c->bucket);
	free(c->fresh);
	pm_map_release(&c->line_at);
}
