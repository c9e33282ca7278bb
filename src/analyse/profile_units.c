/* SPDX-License-Identifier: MIT */
/* profile_units.c - the pieces that ran, sorted by object and address; and their cuts */
#include <stdlib.h>
#include <string.h>

#include "analyse/profile_work.h"

static int by_piece(const void *a, const void *b)
{
	const struct pm_cut *x = a, *y = b;

	if (x->piece != y->piece)
		return x->piece < y->piece ? -1 : 1;
	return (x->done > y->done) - (x->done < y->done);
}

/* Sorted copies: a program that lives on signals has many. */
void pm_profile_sort_cuts(struct pm_profile *p)
{
	const struct pm_counts *c = p->counts;
	size_t n = 0;

	p->work->first_cuts = pm_alloc(c->nprocess * sizeof *p->work->first_cuts);
	for (size_t i = 0; i < c->nprocess; i++) {
		p->work->first_cuts[i] = n;
		n += c->process[i].nthread;
	}
	p->work->cuts = pm_alloc(n * sizeof *p->work->cuts);
	p->work->ncuts = n;
	for (size_t i = 0; i < c->nprocess; i++)
		for (size_t t = 0; t < c->process[i].nthread; t++) {
			const struct pm_counts_thread *th = &c->process[i].thread[t];
			struct profile_cuts *to = &p->work->cuts[p->work->first_cuts[i] + t];

			if (!th->ncut)
				continue;
			to->v = pm_alloc(th->ncut * sizeof *to->v);
			to->n = th->ncut;
			memcpy(to->v, th->cut, th->ncut * sizeof *to->v);
			qsort(to->v, to->n, sizeof *to->v, by_piece);
		}
}

static uint32_t object_index(struct pm_profile *p, const struct pm_counts_object *o, uint32_t isa)
{
	struct pm_profile_work *w = p->work;
	struct pm_profile_object *n;

	for (size_t i = 0; i < p->nobject; i++) {
		const struct pm_profile_object *k = &p->object[i];

		if (w->isa[i] == isa && !strcmp(k->path, o->path) && !k->build_id == !o->build_id &&
		    (!k->build_id || !strcmp(k->build_id, o->build_id)))
			return (uint32_t)i;
	}
	if (p->nobject == w->cap_object) {
		w->cap_object = w->cap_object ? 2 * w->cap_object : 16;
		p->object = pm_realloc(p->object, w->cap_object * sizeof *p->object);
		w->isa = pm_realloc(w->isa, w->cap_object * sizeof *w->isa);
	}
	n = &p->object[p->nobject];
	*n = (struct pm_profile_object){ .path = o->path, .build_id = o->build_id };
	w->isa[p->nobject] = isa;
	if (!w->forms[isa].f)
		pm_kept_forms_open(&w->forms[isa], isa);
	return (uint32_t)p->nobject++;
}

void pm_profile_number_pieces(struct pm_profile *p)
{
	const struct pm_counts *c = p->counts;
	struct pm_profile_work *w = p->work;
	uint32_t piece = 0, object = 0;

	w->first_piece = pm_alloc((c->nprocess + 1) * sizeof *w->first_piece);
	w->first_object = pm_alloc((c->nprocess + 1) * sizeof *w->first_object);
	for (size_t i = 0; i < c->nprocess; i++) {
		w->first_piece[i] = piece;
		w->first_object[i] = object;
		piece += (uint32_t)c->process[i].npiece;
		object += (uint32_t)c->process[i].nobject;
	}
	w->first_piece[c->nprocess] = piece;
	w->first_object[c->nprocess] = object;
	w->object = pm_alloc(object * sizeof *w->object);
	memset(w->object, 0xff, object * sizeof *w->object);
}

/* Units of an object whose addresses begin with the same 32 bits: nearly always all of an object.
 * What they are sorted by, and which they are, is one number then. */
struct unit_group {
	uint64_t object_high;
	size_t first, n;
};

struct unit_groups {
	struct unit_group *v;
	size_t n, cap;
	struct pm_map index;		/* of object << 32 | high: + 1 */
	uint64_t last_key;		/* the last answer */
	size_t last;
};

static struct unit_group *group_of(struct unit_groups *g, uint32_t object, uint64_t addr)
{
	const uint64_t key = (uint64_t)object << 32 | addr >> 32;

	if (!g->n || key != g->last_key) {
		uint64_t *at = pm_map_put(&g->index, key, NULL);

		if (!*at) {
			pm_grow(g->v, g->n, g->cap);
			g->v[g->n] = (struct unit_group){ .object_high = key };
			*at = ++g->n;
		}
		g->last_key = key;
		g->last = *at - 1;
	}
	return &g->v[g->last];
}

/* The pieces that ran at all, to their groups: how many, or (@key) which. */
static void add_units(struct pm_profile *p, struct unit_groups *g, uint64_t *key)
{
	const struct pm_counts *c = p->counts;
	struct pm_profile_work *w = p->work;

	for (uint32_t k = 0; k < c->nprocess; k++) {
		const struct pm_counts_process *pr = &c->process[k];
		uint32_t *object = w->object + w->first_object[k];

		for (size_t i = 0; i < pr->npiece; i++) {
			const struct pm_piece *pc = &pr->piece[i];
			struct unit_group *to;
			uint64_t addr;

			if (!pc->n || !pc->size || pc->object >= pr->nobject || !total(pr, i))
				continue;
			if (object[pc->object] == PM_NONE)
				object[pc->object] = object_index(p, &pr->object[pc->object],
								  pr->isa == PM_ISA_X86_32);
			addr = pc->pc - pr->object[pc->object].bias;
			to = group_of(g, object[pc->object], addr);
			if (key)
				key[to->first + to->n] = addr << 32 |
							 (w->first_piece[k] + (uint32_t)i);
			to->n++;
		}
	}
}

static int by_group(const void *a, const void *b)
{
	const struct unit_group *const *x = a, *const *y = b;

	return (*x)->object_high < (*y)->object_high ? -1 : (*x)->object_high > (*y)->object_high;
}

/* By address, which is the upper half; the lower ones, numbers, ascend. Radix, because a compiler's
 * run has 10^5. The result is in @a. */
static void sort_keys(uint64_t *a, uint64_t *b, size_t n)
{
	uint64_t differ = 0, *const result = a, *t;
	bool sorted = true;

	for (size_t i = 1; i < n; i++) {
		differ |= a[i] ^ a[0];
		sorted &= a[i - 1] < a[i];
	}
	for (unsigned shift = 32; !sorted && shift < 64; shift += 11) {
		uint32_t at[2048] = { 0 }, sum = 0;

		if (!(differ >> shift & (NR(at) - 1)))
			continue;
		for (size_t i = 0; i < n; i++)
			at[a[i] >> shift & (NR(at) - 1)]++;
		for (unsigned d = 0; d < NR(at); d++) {
			uint32_t c = at[d];

			at[d] = sum;
			sum += c;
		}
		for (size_t i = 0; i < n; i++)
			b[at[a[i] >> shift & (NR(at) - 1)]++] = a[i];
		t = a, a = b, b = t;
	}
	if (a != result)
		memcpy(result, a, n * sizeof *a);
}

/* A few: by insertion. */
static void sort_few_keys(uint64_t *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const uint64_t x = v[i];
		size_t k = i;

		for (; k && v[k - 1] > x; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}
#define FEW_KEYS 64

/* The units by object, then address, then process. */
void pm_profile_sort_units(struct pm_profile *p)
{
	struct pm_profile_work *w = p->work;
	struct unit_groups g = { 0 };
	struct unit_group **sorted;
	uint64_t *key, *spare;
	size_t most = 0;

	add_units(p, &g, NULL);
	sorted = pm_alloc(g.n * sizeof *sorted);
	for (size_t i = 0; i < g.n; i++)
		sorted[i] = &g.v[i];
	if (g.n)
		qsort(sorted, g.n, sizeof *sorted, by_group);
	for (size_t i = 0; i < g.n; i++) {
		if (sorted[i]->n > most)
			most = sorted[i]->n;
		sorted[i]->first = w->nunit;
		w->nunit += sorted[i]->n;
		sorted[i]->n = 0;
	}
	key = pm_alloc_unset(w->nunit * sizeof *key);
	add_units(p, &g, key);
	spare = pm_alloc_unset(most * sizeof *spare);
	for (size_t i = 0; i < g.n; i++)
		if (g.v[i].n <= FEW_KEYS)
			sort_few_keys(key + g.v[i].first, g.v[i].n);
		else
			sort_keys(key + g.v[i].first, spare, g.v[i].n);
	free(spare);
	w->order = pm_alloc_unset(w->nunit * sizeof *w->order);
	for (size_t i = 0; i < w->nunit; i++)
		w->order[i] = (uint32_t)key[i];
	free(key);
	free(sorted);
	free(g.v);
	pm_map_release(&g.index);
}
