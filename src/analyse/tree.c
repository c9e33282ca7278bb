/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/tree.h"
#include "base/check.h"

uint32_t pm_tree_add_function(struct pm_tree *t, const struct pm_tree_function *f)
{
	pm_grow(t->function, t->nfunction, t->cap_function);
	t->function[t->nfunction] = *f;
	return (uint32_t)t->nfunction++;
}

void pm_tree_init(struct pm_tree *t, uint32_t max_depth, uint32_t max_nodes)
{
	*t = (struct pm_tree){ .max_depth = max_depth, .max_nodes = max_nodes, .nevent = 1,
		.event[0] = { "instructions", "instructions executed" } };
	t->mask = 4095;
	t->slot = pm_alloc((t->mask + 1) * sizeof *t->slot);
	pm_tree_add_function(t, &(struct pm_tree_function){ .name = "all", .linkage = "all" });
	pm_tree_add_function(t, &(struct pm_tree_function){ .name = "[other contexts]",
		.linkage = "[other contexts]" });
	pm_grow(t->node, t->n, t->cap);
	t->node[t->n++] = (struct pm_tree_node){ 0 };
	t->hashed = 1;
}

void pm_tree_release(struct pm_tree *t)
{
	free(t->node);
	free(t->function);
	free(t->cost);
	free(t->slot);
	pm_arena_release(&t->mem);
	*t = (struct pm_tree){ 0 };
}

static size_t slot_of(const struct pm_tree *t, uint32_t parent, uint32_t function)
{
	size_t i = pm_tree_hash(parent, function) & t->mask;

	for (; t->slot[i]; i = (i + 1) & t->mask) {
		const struct pm_tree_node *n = t->node + t->slot[i];

		if (n->parent == parent && n->function == function)
			break;
	}
	return i;
}

/* All contexts have slots then. Only when there are too few slots do those that have one get
 * another: of many small trees that are appended, each is hashed a few times. */
static void hash_rest(struct pm_tree *t)
{
	if (4 * t->n > t->mask) {		/* mostly the first slot is it */
		while (4 * t->n > t->mask)
			t->mask = 2 * t->mask + 1;
		free(t->slot);
		t->slot = pm_alloc((t->mask + 1) * sizeof *t->slot);
		t->hashed = 1;
	}
	for (; t->hashed < t->n; t->hashed++) {
		const struct pm_tree_node *n = t->node + t->hashed;

		if (t->hashed != t->overflow)
			t->slot[slot_of(t, n->parent, n->function)] = t->hashed;
	}
}

static uint32_t new_node(struct pm_tree *t, uint32_t parent, uint32_t function)
{
	pm_grow(t->node, t->n, t->cap);
	t->node[t->n] = (struct pm_tree_node){ .parent = parent, .function = function,
					       .depth = t->node[parent].depth + 1 };
	if (t->ncost && t->n >= t->cap_cost) {
		const size_t had = t->cap_cost * t->ncost;

		t->cap_cost = t->cap;
		t->cost = pm_realloc(t->cost, t->cap * t->ncost * sizeof *t->cost);
		memset(t->cost + had, 0, (t->cap * t->ncost - had) * sizeof *t->cost);
	}
	PM_INVARIANT(1, parent < t->n);
	return (uint32_t)t->n++;
}

uint32_t pm_tree_overflow(struct pm_tree *t)
{
	if (!t->overflow)
		t->overflow = new_node(t, 0, PM_TREE_OTHERS);
	return t->overflow;
}

uint32_t pm_tree_find_child(struct pm_tree *t, uint32_t parent, uint32_t function)
{
	size_t i;

	if (t->hashed < t->n)
		hash_rest(t);
	if (t->node[parent].depth >= t->max_depth)
		parent = t->node[parent].parent;
	i = slot_of(t, parent, function);
	if (!t->slot[i] && t->n >= t->max_nodes) {
		parent = pm_tree_overflow(t);
		i = slot_of(t, parent, function);
	}
	if (t->slot[i])
		return t->slot[i];
	if (4 * t->n > t->mask) {
		hash_rest(t);
		i = slot_of(t, parent, function);
	}
	t->hashed = (uint32_t)t->n + 1;
	return t->slot[i] = new_node(t, parent, function);
}

void pm_tree_reserve(struct pm_tree *t, size_t more)
{
	if (t->cap >= t->n + more)
		return;
	/* a large tree as it is; many small ones are not moved for each of them */
	t->cap = t->n + more > t->cap + t->cap / 2 ? t->n + more : t->cap + t->cap / 2;
	t->node = pm_realloc(t->node, t->cap * sizeof *t->node);
}

uint32_t pm_tree_append(struct pm_tree *t, uint32_t parent, uint32_t function)
{
	return new_node(t, parent, function);
}

enum pm_status pm_tree_event(const struct pm_tree *t, const char *name, unsigned *event,
			     struct pm_err *err)
{
	struct pm_buf all = { 0 };

	*event = 0;
	if (!strcmp(name, "Ir"))
		return PM_OK;
	for (unsigned i = 0; i < t->nevent; i++)
		if (!strcmp(name, t->event[i].name)) {
			*event = i;
			return PM_OK;
		}
	for (unsigned i = 0; i < t->nevent; i++)
		pm_buf_printf(&all, "%s%s", i ? ", " : "", t->event[i].name);
	pm_buf_add(&all, "", 1);
	pm_fail_request(err, "no event '%s' was counted; there are: %s%s", name, (char *)all.p,
			t->nevent == 1 ? " (simulators count others, as --sim cachegrind)" : "");
	pm_buf_release(&all);
	return PM_ERR;
}

uint64_t *pm_tree_inclusive(const struct pm_tree *t, unsigned event)
{
	uint64_t *v = pm_alloc(t->n * sizeof *v);

	for (size_t i = t->n; i-- > 0; ) {
		v[i] += pm_tree_self(t, i, event);
		if (i)
			v[t->node[i].parent] += v[i];
	}
	return v;
}

static int by_inclusive(const void *a, const void *b)
{
	const struct pm_tree_sum *x = a, *y = b;

	if (x->inclusive != y->inclusive)
		return x->inclusive < y->inclusive ? 1 : -1;
	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	return x->function < y->function ? -1 : x->function > y->function;
}

/* on[function] was how often each function stands on the path to context @from; now to @to. Most
 * contexts have been made near the one before, so that is less than to walk to [0]. */
static void move_path(const struct pm_tree *t, uint32_t from, uint32_t to, uint32_t *on)
{
	while (from != to) {
		uint32_t *const up = from > to ? &from : &to;	/* (1): the other is not below it */

		on[t->node[*up].function] += from > to ? -1u : 1;
		*up = t->node[*up].parent;
	}
}

struct pm_tree_sum *pm_tree_functions(const struct pm_tree *t)
{
	struct pm_tree_sum *row = pm_alloc(t->nfunction * sizeof *row);
	uint64_t *inclusive = pm_tree_inclusive(t, 0), below = 0;
	uint32_t *on = pm_alloc(t->nfunction * sizeof *on);

	for (uint32_t i = 1; i < t->n; i++) {
		const struct pm_tree_node *n = t->node + i;

		move_path(t, i - 1, n->parent, on);
		row[n->function].self += n->self;
		row[n->function].calls += n->calls;
		if (!on[n->function]++)
			row[n->function].inclusive += inclusive[i];
		below += n->parent ? 0 : inclusive[i];
	}
	free(on);
	assert(!t->node[0].self && below == inclusive[0]);		/* (2) */
	for (uint32_t i = 0; i < t->nfunction; i++)
		row[i].function = i;
	free(inclusive);
	return row;
}

void pm_tree_sort_functions(struct pm_tree_sum *v, size_t n)
{
	qsort(v, n, sizeof *v, by_inclusive);
}

/* Where @function is when the context @parent calls it; 0: nowhere yet. */
static uint32_t find_above(const struct pm_tree *t, uint32_t parent, uint32_t function)
{
	while (parent && t->node[parent].function != function)
		parent = t->node[parent].parent;
	return parent;
}

/* Does each context of @from stay one of its own? */
static bool all_stay(const struct pm_tree *from, const uint32_t *of, size_t nfunction,
		     const bool *folds)
{
	bool *taken = pm_alloc(nfunction), stay = true;

	for (size_t i = 0; stay && i < from->nfunction; i++) {
		stay = !taken[of[i]];
		taken[of[i]] = true;
	}
	for (size_t i = 1; stay && i < from->n; i++) {
		const struct pm_tree_node *n = from->node + i;

		stay = !folds[of[n->function]] || from->node[n->parent].function != n->function;
	}
	free(taken);
	return stay;
}

/* @to, which has no contexts, gets those of @from with their functions' new numbers. */
static void move_contexts(struct pm_tree *from, struct pm_tree *to, const uint32_t *of)
{
	const struct pm_tree had = *to;

	to->node = from->node;
	to->n = from->n;
	to->cap = from->cap;
	to->cost = from->cost;
	to->cap_cost = from->cap_cost;
	to->overflow = from->overflow;
	to->hashed = 1;
	for (size_t i = 0; i < to->n; i++)
		to->node[i].function = of[to->node[i].function];
	from->node = had.node;
	from->n = had.n;
	from->cap = had.cap;
	from->cost = NULL;
	from->cap_cost = 0;
	from->overflow = 0;
	from->hashed = 1;
	memset(from->slot, 0, (from->mask + 1) * sizeof *from->slot);
}

void pm_tree_rename(struct pm_tree *from, struct pm_tree *to, const uint32_t *of,
		    const bool *folds, bool recursion)
{
	uint32_t *number;

	to->nevent = from->nevent;
	to->ncost = from->ncost;
	memcpy(to->event, from->event, sizeof to->event);
	memcpy(to->column, from->column, sizeof to->column);
	to->max_depth = UINT32_MAX;
	to->max_nodes = UINT32_MAX;
	if (!recursion && all_stay(from, of, to->nfunction, folds)) {
		move_contexts(from, to, of);
		return;
	}
	number = pm_alloc(from->n * sizeof *number);
	if (to->ncost) {
		to->cap_cost = to->cap;
		to->cost = pm_alloc(to->cap * to->ncost * sizeof *to->cost);
	}
	for (size_t i = 0; i < from->n; i++) {
		const struct pm_tree_node *n = from->node + i;
		const uint32_t function = of[n->function], parent = number[n->parent];

		if (!i || (folds[function] && to->node[parent].function == function))
			number[i] = parent;
		else if (!recursion || !(number[i] = find_above(to, parent, function)))
			number[i] = pm_tree_child(to, parent, function);
		to->node[number[i]].self += n->self;
		to->node[number[i]].calls += n->calls;
		for (unsigned k = 0; k < from->ncost; k++)
			to->cost[(size_t)number[i] * to->ncost + k] += from->cost[i * from->ncost +
				 k];
	}
	to->overflow = from->overflow ? number[from->overflow] : 0;
	free(number);
}

static int by_name(const void *a, const void *b, void *function)
{
	const struct pm_tree_function *f = function;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return strcmp(f[x].name, f[y].name);
}

/* Of each function, how many names are in front of its own. */
static uint32_t *rank_names(const struct pm_tree *t)
{
	uint32_t *v = pm_alloc(t->nfunction * sizeof *v);
	uint32_t *rank = pm_alloc(t->nfunction * sizeof *rank);

	for (uint32_t i = 0; i < t->nfunction; i++)
		v[i] = i;
	qsort_r(v, t->nfunction, sizeof *v, by_name, t->function);
	for (uint32_t i = 1; i < t->nfunction; i++)
		rank[v[i]] = strcmp(t->function[v[i - 1]].name, t->function[v[i]].name) ? i :
			rank[v[i - 1]];
	free(v);
	return rank;
}

/* @count[k + 1] of key k becomes where the first one of that key goes. */
static void sum_up(uint32_t *count, size_t n)
{
	for (size_t i = 0; i < n; i++)
		count[i + 1] += count[i];
}

/* All contexts but [0] by name, then by number. */
static uint32_t *sort_by_name(const struct pm_tree *t)
{
	uint32_t *rank = rank_names(t), *v = pm_alloc(t->n * sizeof *v);
	uint32_t *at = pm_alloc((t->nfunction + 1) * sizeof *at);

	for (size_t i = 1; i < t->n; i++)
		at[rank[t->node[i].function] + 1]++;
	sum_up(at, t->nfunction);
	for (uint32_t i = 1; i < t->n; i++)
		v[at[rank[t->node[i].function]]++] = i;
	free(rank);
	free(at);
	return v;
}

uint32_t *pm_tree_order(const struct pm_tree *t)
{
	uint32_t *named = sort_by_name(t), *below = pm_alloc(t->n * sizeof *below);
	uint32_t *first = pm_alloc((t->n + 2) * sizeof *first);
	uint32_t *order = pm_alloc(t->n * sizeof *order), *todo = named;
	size_t n = 0, ntodo = 0;

	for (size_t i = 1; i < t->n; i++)
		first[t->node[i].parent + 2]++;
	sum_up(first + 1, t->n);
	for (size_t i = 0; i + 1 < t->n; i++)
		below[first[t->node[named[i]].parent + 1]++] = named[i];
	/* below context i stand below[first[i] .. first[i + 1]) */
	todo[ntodo++] = 0;
	while (ntodo) {
		const uint32_t i = order[n++] = todo[--ntodo];

		for (uint32_t k = first[i + 1]; k-- > first[i]; )
			todo[ntodo++] = below[k];
	}
	assert(n == t->n);
	free(named);
	free(below);
	free(first);
	return order;
}
