/* SPDX-License-Identifier: MIT */
/* oracle/coherence_slow.h - the rules of src/analyse/coherence.h, slowly: no directory, whoever
 * wants a line asks every core; copies have time stamps; whether a byte is news to a core is a flag
 * for each byte and core
 *
 * Only the parsed configuration and the counters' structs are shared with the fast twin. */
#ifndef ORACLE_COHERENCE_H
#define ORACLE_COHERENCE_H

#include <stdlib.h>
#include <string.h>

#include "analyse/coherence.h"

enum o_loss { O_NEVER, O_HERE, O_REPLACED, O_RECALLED, O_TAKEN };
struct o_copy { bool here, dirty; uint64_t line, used; };
struct o_store { unsigned ways; uint64_t sets; struct o_copy *copy; };	/* ways 0: none */
struct o_pair { uint64_t missed, wrote, falsely, truly; };
struct o_core_line {
	enum o_loss how;
	bool may_write;			/* E or M */
	bool news[64];			/* by part of the line: written by others, not seen */
	bool coherence, essential;
	uint64_t missed, wrote, taken;
};
struct o_line_record {
	uint64_t line, falsely, truly, invalidations;
	struct o_core_line core[PM_COHERENCE_CORES];
	struct o_pair *pair;
	size_t npair;
	struct o_line_record *next;
};
struct o_coherence {
	const struct pm_coherence_conf *cc;
	uint64_t now, length;
	struct o_store l1i[PM_COHERENCE_CORES], l1d[PM_COHERENCE_CORES], l2[PM_COHERENCE_CORES];
	struct o_store last;
	struct pm_core_counts n[PM_COHERENCE_CORES];
	struct pm_shared_counts shared;
	struct o_line_record *bucket[4096];
};

static struct o_store oc_store(const struct pm_coherence_conf *cc, int level)
{
	struct o_store s = { 0 };

	if (level < 0)
		return s;
	s.ways = cc->caches.level[level].ways;
	s.sets = cc->caches.level[level].size / cc->caches.level[level].line / s.ways;
	s.copy = calloc(s.sets * s.ways, sizeof *s.copy);
	return s;
}

static void oc_new(struct o_coherence *o, const struct pm_coherence_conf *cc)
{
	memset(o, 0, sizeof *o);
	o->cc = cc;
	o->length = cc->caches.level[0].line;
	for (unsigned k = 0; k < cc->cores; k++) {
		o->l1i[k] = oc_store(cc, cc->l1i);
		o->l1d[k] = oc_store(cc, cc->l1d);
		o->l2[k] = oc_store(cc, cc->l2);
	}
	o->last = oc_store(cc, cc->last);
}

static struct o_line_record *oc_record(struct o_coherence *o, uint64_t line)
{
	struct o_line_record **b = &o->bucket[line / o->length * 2654435761u % 4096], *r;

	for (r = *b; r; r = r->next)
		if (r->line == line)
			return r;
	r = calloc(1, sizeof *r);
	r->line = line;
	r->next = *b;
	return *b = r;
}

static struct o_copy *oc_find(const struct o_store *s, uint64_t length, uint64_t line)
{
	for (unsigned w = 0; w < s->ways; w++) {
		struct o_copy *c = s->copy + line / length % s->sets * s->ways + w;

		if (c->here && c->line == line)
			return c;
	}
	return NULL;
}

/* Where the line will go: an empty place, or the one used longest ago. */
static struct o_copy *oc_place(const struct o_store *s, uint64_t length, uint64_t line)
{
	struct o_copy *set = s->copy + line / length % s->sets * s->ways, *best = set;

	for (unsigned w = 0; w < s->ways; w++)
		if (!set[w].here)
			return set + w;
	for (unsigned w = 1; w < s->ways; w++)
		if (set[w].used < best->used)
			best = set + w;
	return best;
}

static bool oc_has(struct o_coherence *o, unsigned k, uint64_t line)
{
	return oc_find(&o->l1i[k], o->length, line) || oc_find(&o->l1d[k], o->length, line) ||
	       oc_find(&o->l2[k], o->length, line);
}

/* A core's copies are gone, or clean: was one dirty? */
static bool oc_clean(struct o_coherence *o, unsigned k, uint64_t line, bool keep)
{
	struct o_store *all[] = { &o->l1i[k], &o->l1d[k], &o->l2[k] };
	bool dirty = false;

	for (unsigned i = 0; i < 3; i++) {
		struct o_copy *c = oc_find(all[i], o->length, line);

		if (!c)
			continue;
		dirty |= c->dirty;
		c->dirty = false;
		c->here = keep;
	}
	oc_record(o, line)->core[k].may_write = false;
	return dirty;
}

static void oc_lifetime_ends(struct o_coherence *o, unsigned k, struct o_line_record *r)
{
	struct o_core_line *c = r->core + k;
	size_t i = 0;

	if (!c->coherence)
		return;
	c->coherence = false;
	while (i < r->npair && (r->pair[i].missed != c->missed || r->pair[i].wrote != c->wrote))
		i++;
	if (i == r->npair) {
		r->pair = realloc(r->pair, ++r->npair * sizeof *r->pair);
		r->pair[i] = (struct o_pair){ c->missed, c->wrote, 0, 0 };
	}
	if (c->essential) {
		o->n[k].true_sharing++;
		r->truly++;
		r->pair[i].truly++;
	} else {
		o->n[k].false_sharing++;
		r->falsely++;
		r->pair[i].falsely++;
	}
}

static void oc_lost(struct o_coherence *o, unsigned k, uint64_t line, enum o_loss how)
{
	struct o_line_record *r = oc_record(o, line);

	oc_lifetime_ends(o, k, r);
	r->core[k].how = how;
}

static void oc_to_last(struct o_coherence *o, unsigned k, uint64_t line)
{
	o->n[k].writebacks++;
	oc_find(&o->last, o->length, line)->dirty = true;
}

/* The copy at @c of core @k's cache @s goes, by replacement. */
static void oc_replace(struct o_coherence *o, unsigned k, struct o_store *s, struct o_copy *c)
{
	const uint64_t line = c->line;
	struct o_copy *below = oc_find(&o->l2[k], o->length, line);
	bool dirty = c->dirty;

	c->here = c->dirty = false;
	if (s != &o->l2[k] && o->cc->l2 >= 0) {
		below->dirty |= dirty;
		o->n[k].l1_writebacks += dirty;
		return;
	}
	if (s == &o->l2[k])
		dirty |= oc_clean(o, k, line, false);
	if (dirty)
		oc_to_last(o, k, line);
	if (s != &o->l1i[k])
		oc_record(o, line)->core[k].may_write = false;
	if (!oc_has(o, k, line))
		oc_lost(o, k, line, O_REPLACED);
}

static void oc_fill(struct o_coherence *o, unsigned k, struct o_store *s, uint64_t line, bool dirty)
{
	struct o_copy *c = oc_place(s, o->length, line);

	if (c->here)
		oc_replace(o, k, s, c);
	*c = (struct o_copy){ true, dirty, line, ++o->now };
}

static void oc_last(struct o_coherence *o, unsigned k, uint64_t line)
{
	struct o_copy *c = oc_find(&o->last, o->length, line);

	o->shared.requests++;
	if (c) {
		c->used = ++o->now;
		return;
	}
	o->shared.misses++;
	o->n[k].l3_misses++;
	c = oc_place(&o->last, o->length, line);
	if (c->here) {
		bool dirty = c->dirty;

		for (unsigned j = 0; j < o->cc->cores; j++)
			if (oc_has(o, j, c->line)) {
				dirty |= oc_clean(o, j, c->line, false);
				o->n[j].recalls++;
				oc_lost(o, j, c->line, O_RECALLED);
			}
		o->shared.replaced++;
		o->shared.memory_writes += dirty;
	}
	*c = (struct o_copy){ true, false, line, ++o->now };
}

/* Everybody else loses the line to a write of core @k. */
static void oc_take(struct o_coherence *o, unsigned k, uint64_t line, uint64_t pc)
{
	struct o_line_record *r = oc_record(o, line);

	for (unsigned j = 0; j < o->cc->cores; j++) {
		bool alone = r->core[j].may_write;

		if (j == k || !oc_has(o, j, line))
			continue;
		if (oc_clean(o, j, line, false)) {
			o->n[j].dirty_interventions++;
			oc_find(&o->last, o->length, line)->dirty = true;
		} else if (alone) {
			o->n[j].clean_interventions++;
		}
		o->n[j].invalidations++;
		o->n[k].invalidates++;
		r->invalidations++;
		oc_lost(o, j, line, O_TAKEN);
		r->core[j].taken = pc;
	}
}

/* Core @k asks for a line that it does not have. */
static void oc_miss(struct o_coherence *o, unsigned k, enum pm_cache_op op, uint64_t line,
		    uint64_t pc)
{
	struct o_line_record *r = oc_record(o, line);
	struct o_core_line *c = r->core + k;
	bool others = false;

	o->n[k].misses++;
	oc_last(o, k, line);
	o->n[k].cold += c->how == O_NEVER;
	o->n[k].replacement += c->how == O_REPLACED;
	o->n[k].recalled += c->how == O_RECALLED;
	c->coherence = c->how == O_TAKEN;
	c->essential = false;
	c->missed = pc;
	c->wrote = c->taken;
	if (!c->coherence)
		memset(c->news, 0, sizeof c->news);
	c->how = O_HERE;
	if (op == PM_OP_WRITE)
		oc_take(o, k, line, pc);
	for (unsigned j = 0; j < o->cc->cores; j++) {
		bool alone = r->core[j].may_write;

		if (j == k || !oc_has(o, j, line))
			continue;
		others = true;
		if (oc_clean(o, j, line, true)) {
			o->n[j].dirty_interventions++;
			oc_find(&o->last, o->length, line)->dirty = true;
		} else if (alone) {
			o->n[j].clean_interventions++;
		}
	}
	c->may_write = op == PM_OP_WRITE || (op == PM_OP_READ && !others);
}

static void oc_seen(struct o_coherence *o, unsigned k, enum pm_cache_op op, uint64_t line,
		    unsigned at, unsigned size)
{
	struct o_line_record *r = oc_record(o, line);
	const unsigned grain = o->length > 64 ? (unsigned)o->length / 64 : 1;
	bool news = false;

	for (unsigned b = at / grain; b <= (at + size - 1) / grain; b++) {
		news |= r->core[k].news[b];
		for (unsigned j = 0; op == PM_OP_WRITE && j < o->cc->cores; j++)
			if (j != k)
				r->core[j].news[b] = true;
	}
	if (news) {
		r->core[k].essential = true;
		memset(r->core[k].news, 0, sizeof r->core[k].news);
	}
}

/* One access within one line. */
static void oc_line(struct o_coherence *o, unsigned k, enum pm_cache_op op, uint64_t line,
		    unsigned at, unsigned size, uint64_t pc)
{
	struct o_store *l1 = op == PM_OP_FETCH ? &o->l1i[k] : &o->l1d[k];
	struct o_copy *c = oc_find(l1, o->length, line), *l2;
	struct o_line_record *r = oc_record(o, line);

	o->n[k].fetches += op == PM_OP_FETCH;
	o->n[k].reads += op == PM_OP_READ;
	o->n[k].writes += op == PM_OP_WRITE;
	if (c)
		c->used = ++o->now;
	else if (op == PM_OP_FETCH)
		o->n[k].l1i_misses++;
	else
		o->n[k].l1d_misses++;
	if (!c && (l2 = oc_find(&o->l2[k], o->length, line)))
		l2->used = ++o->now;
	if (!oc_has(o, k, line)) {
		oc_miss(o, k, op, line, pc);
		if (o->cc->l2 >= 0)
			oc_fill(o, k, &o->l2[k], line, false);
	} else if (op == PM_OP_WRITE && !r->core[k].may_write) {
		o->n[k].upgrades++;
		oc_take(o, k, line, pc);
		r->core[k].may_write = true;
	}
	if (op != PM_OP_FETCH || !c)
		oc_seen(o, k, op, line, at, size);
	if (!c)
		oc_fill(o, k, l1, line, op == PM_OP_WRITE);
	else if (op == PM_OP_WRITE)
		c->dirty = true;
}

static void oc_access(struct o_coherence *o, unsigned k, enum pm_cache_op op, uint64_t addr,
		      unsigned size, uint64_t pc)
{
	if (op == PM_OP_FETCH && o->cc->l1i < 0)
		return;
	while (size) {
		const unsigned at = addr % o->length;
		const unsigned part = size < o->length - at ? size : (unsigned)o->length - at;

		oc_line(o, k, op, addr - at, at, part, pc);
		addr += part;
		size -= part;
	}
}

static void oc_end(struct o_coherence *o)
{
	for (unsigned b = 0; b < 4096; b++)
		for (struct o_line_record *r = o->bucket[b]; r; r = r->next)
			for (unsigned k = 0; k < o->cc->cores; k++)
				oc_lifetime_ends(o, k, r);
}

static void oc_free(struct o_coherence *o)
{
	for (unsigned k = 0; k < o->cc->cores; k++) {
		free(o->l1i[k].copy);
		free(o->l1d[k].copy);
		free(o->l2[k].copy);
	}
	free(o->last.copy);
	for (unsigned b = 0; b < 4096; b++)
		for (struct o_line_record *r = o->bucket[b], *next; r; r = next) {
			next = r->next;
			free(r->pair);
			free(r);
		}
}

#endif
