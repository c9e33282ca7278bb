/* SPDX-License-Identifier: MIT */
/* ext_tsp.c - see ext_tsp.h
 *
 * PAIRS. Two chains with an edge between them are a pair; what joining them would gain is kept
 * until one of them changes. INVARIANTS
 * (1) Block 0 begins its chain, and the chain of a join that has it.
 * (2) Joining X and Y changes what edges inside X or inside Y are worth only if X is split, so
 *     only then all their edges are looked at; else those between the two.
 * (3) X is split only where a new fall-through comes of it, and only if it is short (SPLIT_MOST):
 *     that bounds the time. */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/ext_tsp.h"
#include "base/mem.h"

#define FORWARD_MOST	1024
#define BACK_MOST	640
#define JUMP_WORTH	0.1
#define SPLIT_MOST	128		/* blocks */
#define GAIN_LEAST	1e-6

enum tsp_form { X_Y, X1_Y_X2, Y_X2_X1, X2_X1_Y, FORMS };

struct tsp_join {				/* a way of joining, and what it gains */
	double gain;
	uint32_t x, y;			/* chains */
	uint32_t offset;		/* where x is split */
	enum tsp_form form;
};

struct tsp_chain {
	uint32_t *block;
	size_t n, cap;
	double score;
	uint64_t size;
	bool dead;
};

struct tsp_pair {
	uint32_t a, b;			/* chains */
	struct tsp_join best;
	bool known;
};

struct tsp {
	const struct pm_tsp_block *block;
	const struct pm_tsp_edge *edge;
	size_t n;
	struct tsp_chain *chain;		/* a block's number is that of its first chain */
	uint32_t *chain_of;
	uint64_t *at;			/* of blocks, in the order that is tried */
	uint32_t *first, *list;		/* edges of block b, in and out: list[first[b]..[b + 1]) */
	uint32_t *joined;		/* room for a chain */
	uint32_t *seen, round;		/* chains that were seen in this round */
	struct tsp_pair *pair;
	size_t npair, cap_pair;
};

/* ---- worth ----------------------------------------------------------------------------------- */
static double worth(uint64_t end, uint64_t to, uint64_t count)
{
	const bool back = to < end;
	const uint64_t distance = back ? end - to : to - end;
	const uint64_t most = back ? BACK_MOST : FORWARD_MOST;

	if (!distance)
		return (double)count;
	if (distance > most)
		return 0;
	return JUMP_WORTH * (double)count * (1 - (double)distance / (double)most);
}

static double worth_of(const struct tsp *t, const struct pm_tsp_edge *e)
{
	return worth(t->at[e->from] + t->block[e->from].size, t->at[e->to], e->count);
}

/* Puts @n blocks from @at on; where they end. */
static uint64_t place(struct tsp *t, const uint32_t *v, size_t n, uint64_t at)
{
	for (size_t i = 0; i < n; i++) {
		t->at[v[i]] = at;
		at += t->block[v[i]].size;
	}
	return at;
}

/* Edges from @block into chains @a and @b. */
static double worth_out(const struct tsp *t, uint32_t block, uint32_t a, uint32_t b)
{
	double sum = 0;

	for (uint32_t i = t->first[block]; i < t->first[block + 1]; i++) {
		const struct pm_tsp_edge *e = &t->edge[t->list[i]];
		const uint32_t to = t->chain_of[e->to];

		if (e->from == block && (to == a || to == b))
			sum += worth_of(t, e);
	}
	return sum;
}

/* All edges between blocks of chains @a and @b, these included, as they are placed. */
static double worth_inside(const struct tsp *t, uint32_t a, uint32_t b)
{
	double sum = 0;

	for (int k = 0; k < (a == b ? 1 : 2); k++) {
		const struct tsp_chain *c = &t->chain[k ? b : a];

		for (size_t i = 0; i < c->n; i++)
			sum += worth_out(t, c->block[i], a, b);
	}
	return sum;
}

/* Only those from the one to the other. */
static double worth_between(const struct tsp *t, uint32_t a, uint32_t b)
{
	const bool a_is_less = t->chain[a].n < t->chain[b].n;
	const struct tsp_chain *c = &t->chain[a_is_less ? a : b];
	const uint32_t other = a_is_less ? b : a;
	double sum = 0;

	for (size_t i = 0; i < c->n; i++)
		for (uint32_t j = t->first[c->block[i]]; j < t->first[c->block[i] + 1]; j++) {
			const struct pm_tsp_edge *e = &t->edge[t->list[j]];
			const uint32_t to = e->from == c->block[i] ? e->to : e->from;

			if (t->chain_of[to] == other)
				sum += worth_of(t, e);
		}
	return sum;
}

/* ---- joins ----------------------------------------------------------------------------------- */
struct tsp_part { const uint32_t *v; size_t n; };

/* The parts that @j is made of, in order. */
static void parts_of(const struct tsp *t, const struct tsp_join *j, struct tsp_part p[3])
{
	const struct tsp_chain *x = &t->chain[j->x], *y = &t->chain[j->y];
	const struct tsp_part x1 = { x->block, j->offset }, whole = { y->block, y->n };
	const struct tsp_part x2 = { x->block + j->offset, x->n - j->offset };
	const struct tsp_part forms[FORMS][3] = {
		[X_Y] = { x1, x2, whole }, [X1_Y_X2] = { x1, whole, x2 },
		[Y_X2_X1] = { whole, x2, x1 }, [X2_X1_Y] = { x2, x1, whole },
	};

	memcpy(p, forms[j->form], sizeof forms[0]);
}

/* @best, if that is better than this way of joining. */
static void try_join(struct tsp *t, struct tsp_join *best, uint32_t x, uint32_t y,
		     enum tsp_form form, size_t offset)
{
	struct tsp_join j = { 0, x, y, (uint32_t)offset, form };
	struct tsp_part p[3];
	uint64_t at = 0;
	uint32_t begins = UINT32_MAX;

	parts_of(t, &j, p);
	for (int i = 0; i < 3; i++) {
		if (p[i].n && begins == UINT32_MAX)
			begins = p[i].v[0];
		at = place(t, p[i].v, p[i].n, at);
	}
	if (begins && (t->chain[x].block[0] == 0 || t->chain[y].block[0] == 0))
		return;					/* (1) */
	j.gain = form == X_Y ? worth_between(t, x, y) :	/* (2) */
		worth_inside(t, x, y) - t->chain[x].score - t->chain[y].score;
	if (j.gain > best->gain + GAIN_LEAST)
		*best = j;
}

static size_t offset_in(const struct tsp_chain *c, uint32_t block)
{
	size_t i = 0;

	while (c->block[i] != block)
		i++;
	return i;
}

/* Chain @y, and @x as a whole or split. */
static void try_joins(struct tsp *t, struct tsp_join *best, uint32_t x, uint32_t y)
{
	const struct tsp_chain *cx = &t->chain[x], *cy = &t->chain[y];
	const uint32_t ends[2] = { cy->block[0], cy->block[cy->n - 1] };

	try_join(t, best, x, y, X_Y, 0);
	for (int k = 0; k < 2 && cx->n <= SPLIT_MOST; k++)	/* (3) */
		for (uint32_t i = t->first[ends[k]]; i < t->first[ends[k] + 1]; i++) {
			const struct pm_tsp_edge *e = &t->edge[t->list[i]];
			const uint32_t other = k ? e->to : e->from;
			size_t offset;

			/* into y's first block, or out of its last */
			if ((k ? e->from : e->to) != ends[k] || t->chain_of[other] != x)
				continue;
			offset = offset_in(cx, other) + !k;
			if (!offset || offset == cx->n)
				continue;
			try_join(t, best, x, y, X1_Y_X2, offset);
			try_join(t, best, x, y, k ? Y_X2_X1 : X2_X1_Y, offset);
		}
}

static void do_join(struct tsp *t, const struct tsp_join *j)
{
	struct tsp_chain *x = &t->chain[j->x], *y = &t->chain[j->y];
	struct tsp_part p[3];
	size_t n = 0;

	parts_of(t, j, p);
	for (int i = 0; i < 3; n += p[i++].n)
		if (p[i].n)
			memcpy(t->joined + n, p[i].v, p[i].n * sizeof *p[i].v);
	for (size_t i = 0; i < y->n; i++)
		t->chain_of[y->block[i]] = j->x;
	while (x->cap < n)
		x->block = pm_grow_raw(x->block, &x->cap, sizeof *x->block);
	memcpy(x->block, t->joined, n * sizeof *x->block);
	x->n = n;
	x->size += y->size;
	x->score += y->score + j->gain;
	y->dead = true;
}

/* ---- pairs ----------------------------------------------------------------------------------- */
/* Pairs that are one now: of those with chain @x the first with each other chain stays. */
static void tidy_pairs(struct tsp *t, uint32_t x)
{
	size_t n = 0;

	t->round++;
	for (size_t i = 0; i < t->npair; i++) {
		const struct tsp_pair *p = &t->pair[i];
		const uint32_t other = p->a == x ? p->b : p->a;

		if (p->a == p->b)
			continue;
		if (p->a == x || p->b == x) {
			if (t->seen[other] == t->round)
				continue;
			t->seen[other] = t->round;
		}
		t->pair[n++] = *p;
	}
	t->npair = n;
}

/* An edge there and one back are two pairs; that costs time only, and ends with the first join. */
static void find_pairs(struct tsp *t, size_t nedge)
{
	for (size_t i = 0; i < nedge; i++) {
		if (t->edge[i].from == t->edge[i].to)
			continue;
		pm_grow(t->pair, t->npair, t->cap_pair);
		t->pair[t->npair++] = (struct tsp_pair){ .a = t->edge[i].from, .b = t->edge[i].to };
	}
}

static const struct tsp_join *best_join(struct tsp *t)
{
	const struct tsp_join *best = NULL;

	for (size_t i = 0; i < t->npair; i++) {
		struct tsp_pair *p = &t->pair[i];

		if (!p->known) {
			p->best = (struct tsp_join){ .x = p->a, .y = p->b };
			try_joins(t, &p->best, p->a, p->b);
			try_joins(t, &p->best, p->b, p->a);
			p->known = true;
		}
		if (p->best.gain > GAIN_LEAST && (!best || p->best.gain > best->gain))
			best = &p->best;
	}
	return best;
}

/* Chain @y is a part of @x now. */
static void renew_pairs(struct tsp *t, uint32_t x, uint32_t y)
{
	for (size_t i = 0; i < t->npair; i++) {
		struct tsp_pair *p = &t->pair[i];

		if (p->a != x && p->b != x && p->a != y && p->b != y)
			continue;
		p->known = false;
		p->a = p->a == y ? x : p->a;
		p->b = p->b == y ? x : p->b;
	}
	tidy_pairs(t, x);
}

/* ---- all of it ------------------------------------------------------------------------------- */
static void find_edges(struct tsp *t, size_t nedge)
{
	uint32_t *at;

	for (size_t i = 0; i < nedge; i++) {
		t->first[t->edge[i].from + 1]++;
		if (t->edge[i].to != t->edge[i].from)
			t->first[t->edge[i].to + 1]++;
	}
	for (size_t i = 0; i < t->n; i++)
		t->first[i + 1] += t->first[i];
	at = pm_alloc_unset((t->n + 1) * sizeof *at);
	memcpy(at, t->first, (t->n + 1) * sizeof *at);
	for (size_t i = 0; i < nedge; i++) {
		t->list[at[t->edge[i].from]++] = (uint32_t)i;
		if (t->edge[i].to != t->edge[i].from)
			t->list[at[t->edge[i].to]++] = (uint32_t)i;
	}
	free(at);
}

struct tsp_ranked { double density; uint32_t chain; };

/* Block 0's chain, and the others by how often a byte of them was executed. */
static int by_density(const void *a, const void *b)
{
	const struct tsp_ranked *x = a, *y = b;

	if (x->density != y->density)
		return x->density > y->density ? -1 : 1;
	return x->chain < y->chain ? -1 : x->chain > y->chain;
}

static void put_order(const struct tsp *t, uint32_t *order)
{
	struct tsp_ranked *r = pm_alloc((t->n + 1) * sizeof *r);
	size_t n = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct tsp_chain *c = &t->chain[i];
		double executed = 0;

		if (c->dead)
			continue;
		for (size_t k = 0; k < c->n; k++)
			executed += (double)t->block[c->block[k]].count *
				    (double)t->block[c->block[k]].size;
		r[n].chain = i;
		r[n++].density = c->block[0] == 0 ? 1e300 :
			executed / (double)(c->size ? c->size : 1);
	}
	qsort(r, n, sizeof *r, by_density);
	for (size_t i = 0; i < n; i++) {
		const struct tsp_chain *c = &t->chain[r[i].chain];

		memcpy(order, c->block, c->n * sizeof *order);
		order += c->n;
	}
	free(r);
}

void pm_ext_tsp(const struct pm_tsp_block *block, size_t n, const struct pm_tsp_edge *edge,
		size_t nedge, uint32_t *order)
{
	struct tsp t = { .block = block, .edge = edge, .n = n };
	const struct tsp_join *j;

	if (!n)
		return;
	t.chain = pm_alloc(n * sizeof *t.chain);
	t.chain_of = pm_alloc(n * sizeof *t.chain_of);
	t.at = pm_alloc(n * sizeof *t.at);
	t.first = pm_alloc((n + 1) * sizeof *t.first);
	t.list = pm_alloc((2 * nedge + 1) * sizeof *t.list);
	t.joined = pm_alloc(n * sizeof *t.joined);
	t.seen = pm_alloc(n * sizeof *t.seen);
	find_edges(&t, nedge);
	for (uint32_t i = 0; i < n; i++) {
		struct tsp_chain *c = &t.chain[i];

		pm_grow(c->block, c->n, c->cap);
		c->block[c->n++] = i;
		c->size = block[i].size;
		t.chain_of[i] = i;
		place(&t, c->block, 1, 0);
		c->score = worth_inside(&t, i, i);
	}
	find_pairs(&t, nedge);
	while ((j = best_join(&t))) {
		const uint32_t x = j->x, y = j->y;

		do_join(&t, j);
		renew_pairs(&t, x, y);
	}
	put_order(&t, order);
	assert(order[0] == 0);				/* (1) */
	for (size_t i = 0; i < n; i++)
		free(t.chain[i].block);
	free(t.chain);
	free(t.chain_of);
	free(t.at);
	free(t.first);
	free(t.list);
	free(t.joined);
	free(t.seen);
	free(t.pair);
}

double pm_ext_tsp_score(const struct pm_tsp_block *block, size_t n, const struct pm_tsp_edge *edge,
			size_t nedge, const uint32_t *order)
{
	uint64_t *at = pm_alloc((n + 1) * sizeof *at), next = 0;
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		at[order[i]] = next;
		next += block[order[i]].size;
	}
	for (size_t i = 0; i < nedge; i++)
		sum += worth(at[edge[i].from] + block[edge[i].from].size, at[edge[i].to],
			     edge[i].count);
	free(at);
	return sum;
}
