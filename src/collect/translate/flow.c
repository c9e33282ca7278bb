/* SPDX-License-Identifier: MIT */
/* flow.c - which blocks of a unit need a counter, and what the others' counts follow from
 *
 * THE GRAPH (Knuth and Stevenson, 1973). Two blocks are entered from the same *class* if some block
 * can go to either. A block is then an edge from the class it is entered from to the class it flows
 * into, and what flows into a class equals what is entered from it. A maximum spanning tree, by
 * estimated frequency, takes the blocks that need no counter: as many equations as unknowns.
 *
 * OUTSIDE is a class, too, the root of the tree. It has no equation. A block belongs to it that is
 * entered, or leaves, otherwise than by a direct branch or fall within the unit: the unit's entry,
 * what follows a call, a system call or a step, the ends that call, return, jump indirectly or to
 * another unit. A closed block is entered from another class; where a later translation, a signal
 * handler's return or an indirect jump enters it after all, that is counted on the way, for its
 * class: in the counter of the tree's block between the class and its parent, which has no other
 * use for it. That block also gives the class its name.
 *
 * FREQUENCIES are guessed: loops go round eight times, and what leaves a loop is rare. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/translate/translate_internal.h"

#define ROUNDS_SHIFT	3
#define W_START		((uint64_t)1 << 20)
#define W_MAX		((uint64_t)1 << 48)

struct flow {
	uint32_t (*succ)[2];		/* within the unit, calls return; XL_NONE */
	uint32_t *pred, *pred_at;	/* preds of k: pred[pred_at[k] .. pred_at[k + 1]) */
	uint32_t *rpo, *pos;		/* reverse postorder, and the place in it */
	uint32_t *depth, *stamp, *stack;
	uint8_t *state, *header;
	uint64_t *weight;
	uint32_t *join;			/* union-find: in of k, out of n + k, outside 2n */
	uint32_t *in, *out, *name, *head, *next, *rank;
	size_t cap;
};

static _Thread_local struct flow flow;
static _Thread_local const uint64_t *sort_weight;

static void room(struct flow *f, size_t n)
{
	if (f->cap >= n)
		return;
	f->cap = 2 * n;
#define ROOM(v, times) (v) = pm_realloc((v), ((times) * f->cap + 2) * sizeof *(v))
	ROOM(f->succ, 1);
	ROOM(f->pred, 2);
	ROOM(f->pred_at, 1);
	ROOM(f->rpo, 1);
	ROOM(f->pos, 1);
	ROOM(f->depth, 1);
	ROOM(f->stamp, 1);
	ROOM(f->stack, 2);
	ROOM(f->state, 1);
	ROOM(f->header, 1);
	ROOM(f->weight, 1);
	ROOM(f->join, 2);
	ROOM(f->in, 1);
	ROOM(f->out, 1);
	ROOM(f->name, 2);
	ROOM(f->head, 2);
	ROOM(f->next, 2);
	ROOM(f->rank, 1);
#undef ROOM
}

static uint32_t root_of(uint32_t *join, uint32_t k)
{
	while (join[k] != k) {
		join[k] = join[join[k]];
		k = join[k];
	}
	return k;
}

static void unite(uint32_t *join, uint32_t a, uint32_t b)
{
	a = root_of(join, a);
	b = root_of(join, b);
	if (a < b)
		join[a] = b;		/* the highest, which outside is, stays the root */
	else
		join[b] = a;
}

/* ---- edges ---------------------------------------------------------------------------------- */
/* Each edge that may need a counter becomes a block between the two that it joins. What a counter
 * there costs is known no better than that it may have to save a register. */
void make_edge_blocks(struct scratch *s)
{
	const size_t n = s->nblock;

	s->nedge_block = 0;
	for (size_t k = 0; k < n; k++)
		s->block[k].edge = XL_NONE;
	for (uint32_t k = 0; k < n && s->in->count_edges; k++) {
		const size_t at = n + s->nedge_block;
		struct block *e;

		if (s->block[k].kind != X86_JCC && s->block[k].kind != X86_JCX)
			continue;
		pm_grow(s->block, at, s->cap_block);
		e = &s->block[at];
		*e = (struct block){ .pc = s->block[k].pc, .end = s->block[k].pc,
				     .kind = X86_JMP, .to = s->block[k].to,
				     .count_how = COUNT_SPILL, .first = k, .edge = XL_NONE };
		s->block[k].edge = (uint32_t)at;
		s->nedge_block++;
	}
}

static uint32_t graph_size(const struct scratch *s)
{
	return (uint32_t)(s->nblock + s->nedge_block);
}

/* Where a branch leads in the graph. */
static uint32_t branches_to(const struct block *b)
{
	if (b->edge != XL_NONE)
		return b->edge;
	return b->to.where == TO_UNIT && b->kind != X86_CALL ? b->to.block : XL_NONE;
}

/* ---- guessing frequencies ------------------------------------------------------------------- */
static void find_edges(const struct scratch *s, struct flow *f)
{
	const uint32_t n = graph_size(s);

	memset(f->pred_at, 0, (n + 1) * sizeof *f->pred_at);
	for (uint32_t k = 0; k < n; k++) {
		const struct block *b = &s->block[k];
		uint32_t *succ = f->succ[k];

		succ[0] = branches_to(b);
		succ[1] = XL_NONE;
		if (b->fall.where == TO_UNIT) {
			succ[1] = b->fall.block;
		} else if (b->kind == X86_CALL || b->kind == X86_CALL_IND || b->kind == X86_STEP ||
			   b->kind == X86_INT80) {
			if (b->order + 1 < s->nblock && s->order[b->order + 1].pc == b->end)
				succ[1] = s->order[b->order + 1].block;
		}
		for (int i = 0; i < 2; i++)
			if (succ[i] != XL_NONE)
				f->pred_at[succ[i] + 1]++;
	}
	for (uint32_t k = 0; k < n; k++)
		f->pred_at[k + 1] += f->pred_at[k];
	memset(f->stamp, 0, n * sizeof *f->stamp);		/* fill level, for now */
	for (uint32_t k = 0; k < n; k++)
		for (int i = 0; i < 2; i++) {
			uint32_t t = f->succ[k][i];

			if (t != XL_NONE)
				f->pred[f->pred_at[t] + f->stamp[t]++] = k;
		}
}

enum { UNSEEN, OPEN, DONE };

/* Depth first, from the entry and then from whatever was not reached. */
static void find_order(const struct scratch *s, struct flow *f)
{
	const uint32_t n = graph_size(s);
	uint32_t last = n, top;

	memset(f->state, UNSEEN, n);
	memset(f->header, 0, n);
	for (uint32_t start = 0; start < n; start++) {		/* the entry is block 0 */
		if (f->state[start] != UNSEEN)
			continue;
		/* rank: how many successors have been looked at */
		top = 0;
		f->stack[top++] = start;
		f->state[start] = OPEN;
		f->rank[start] = 0;
		while (top) {
			uint32_t k = f->stack[top - 1], t;

			if (f->rank[k] == 2) {
				f->state[k] = DONE;
				f->rpo[--last] = k;
				top--;
				continue;
			}
			t = f->succ[k][f->rank[k]++];
			if (t == XL_NONE)
				continue;
			if (f->state[t] == OPEN) {
				f->header[t] = 1;
			} else if (f->state[t] == UNSEEN) {
				f->state[t] = OPEN;
				f->rank[t] = 0;
				f->stack[top++] = t;
			}
		}
	}
	for (uint32_t i = 0; i < n; i++)
		f->pos[f->rpo[i]] = i;
}

static void find_loops(const struct scratch *s, struct flow *f)
{
	const uint32_t n = graph_size(s);
	uint32_t left = 32 * n + 4096;		/* of work: a guess is not worth more */

	memset(f->depth, 0, n * sizeof *f->depth);
	memset(f->stamp, 0, n * sizeof *f->stamp);
	for (uint32_t h = 0; h < n; h++) {
		uint32_t top = 0;

		if (!f->header[h])
			continue;
		f->stamp[h] = h + 1;
		f->depth[h]++;
		f->stack[top++] = h;
		while (top) {
			uint32_t k = f->stack[--top];

			for (uint32_t i = f->pred_at[k]; i < f->pred_at[k + 1]; i++) {
				uint32_t p = f->pred[i];

				if (f->stamp[p] == h + 1 || f->pos[p] < f->pos[h] || !left)
					continue;
				left--;
				f->stamp[p] = h + 1;
				f->depth[p]++;
				f->stack[top++] = p;
			}
		}
	}
}

static void guess(const struct scratch *s, struct flow *f)
{
	const uint32_t n = graph_size(s);

	find_edges(s, f);
	find_order(s, f);
	find_loops(s, f);
	memset(f->weight, 0, n * sizeof *f->weight);
	f->weight[0] = W_START;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = f->rpo[i], *t = f->succ[k];
		uint64_t w = f->weight[k], p[2] = { 26, 38 };

		if (f->header[k])
			w <<= ROUNDS_SHIFT;
		if (w > W_MAX)
			w = W_MAX;
		if (w < 64)
			w = 64;
		f->weight[k] = w;
		if (t[0] == XL_NONE || t[1] == XL_NONE) {
			p[0] = p[1] = s->block[k].kind == X86_JCC ? 38 : 64;
		} else if (f->depth[t[0]] != f->depth[t[1]]) {
			int stay = f->depth[t[1]] > f->depth[t[0]];
			uint32_t by = f->depth[t[stay]] - f->depth[t[!stay]];

			p[!stay] = by > 2 ? 1 : 64 >> by * ROUNDS_SHIFT;
			p[stay] = 64 - p[!stay];
		}
		for (int j = 0; j < 2; j++)
			if (t[j] != XL_NONE && f->pos[t[j]] > i)
				f->weight[t[j]] += w / 64 * p[j];
	}
	/* a counter where flags and registers are live costs more */
	for (uint32_t k = 0; k < n; k++)
		f->weight[k] = s->block[k].mark &
			MARK_STUB ? UINT64_MAX : f->weight[k] * (2 + s->block[k].count_how);
}

/* ---- the tree ------------------------------------------------------------------------------- */
static void flows(const struct scratch *s, struct flow *f, uint32_t k, const struct xl_target *t)
{
	const uint32_t n = graph_size(s);

	unite(f->join, n + k, t->where == TO_UNIT ? t->block : 2 * n);
}

/* False: no block may go without a counter. */
static bool find_classes(const struct scratch *s, struct flow *f)
{
	const uint32_t n = graph_size(s);

	for (uint32_t k = 0; k <= 2 * n; k++)
		f->join[k] = k;
	for (uint32_t k = 0; k < n; k++) {
		const struct block *b = &s->block[k];

		if (k == 0 || b->entry_inline ||
		    (f->pred_at[k] == f->pred_at[k + 1] && !(b->mark & MARK_STUB)))
			unite(f->join, k, 2 * n);
		switch (b->kind) {
		case X86_PLAIN:
			flows(s, f, k, &b->fall);
			break;
		case X86_JMP:
			flows(s, f, k, &b->to);
			break;
		case X86_JCC:
		case X86_JCX:
			if (b->edge != XL_NONE)
				unite(f->join, n + k, b->edge);
			else
				flows(s, f, k, &b->to);
			flows(s, f, k, &b->fall);
			break;
		case X86_XBEGIN:		/* an abort takes counts back */
			return false;
		case X86_CALL:
			if (calls_stub(s, b)) {
				flows(s, f, k, &b->to);
				break;
			}
			/* fall through */
		default:			/* goes through the outside, whatever comes next */
			unite(f->join, n + k, 2 * n);
			if (b->to.where == TO_UNIT)
				unite(f->join, b->to.block, 2 * n);
			if (b->fall.where == TO_UNIT)
				unite(f->join, b->fall.block, 2 * n);
			break;
		}
	}
	for (uint32_t k = 0; k < n; k++) {
		f->in[k] = root_of(f->join, k);
		f->out[k] = root_of(f->join, n + k);
	}
	return true;
}

static int by_weight(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (sort_weight[x] != sort_weight[y])
		return sort_weight[x] > sort_weight[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void add_edge(struct flow *f, uint32_t at, uint32_t edge)
{
	f->next[edge] = f->head[at];
	f->head[at] = edge;
}

/* From the root outwards: each class is named after the block through which it is reached. */
static void name_classes(struct scratch *s, struct flow *f)
{
	const uint32_t n = graph_size(s), outside = 2 * n;
	uint32_t top = 0;

	for (uint32_t k = 0; k <= outside; k++)
		f->head[k] = f->name[k] = XL_NONE;
	for (uint32_t k = 0; k < n; k++)
		if (s->block[k].derived) {
			add_edge(f, f->in[k], 2 * k);
			add_edge(f, f->out[k], 2 * k + 1);
		}
	memset(f->state, 0, n);			/* the block has given its name */
	f->stack[top++] = outside;
	while (top) {
		uint32_t c = f->stack[--top];

		for (uint32_t e = f->head[c]; e != XL_NONE; e = f->next[e]) {
			uint32_t k = e / 2, to = e & 1 ? f->in[k] : f->out[k];

			if (f->state[k])
				continue;
			f->state[k] = 1;
			f->name[to] = k;
			f->stack[top++] = to;
		}
	}
	for (uint32_t k = 0; k < n; k++) {
		struct block *b = &s->block[k];

		b->derived = b->derived && f->state[k];
		b->in = f->name[f->in[k]];
		b->out = f->name[f->out[k]];
	}
}

void drop_counters(struct scratch *s)
{
	struct flow *f = &flow;
	const uint32_t n = graph_size(s);

	for (uint32_t k = 0; k < n; k++) {
		s->block[k].derived = false;
		s->block[k].in = s->block[k].out = XL_NONE;
	}
	if (s->in->count_all || s->in->patchable || s->in->check_bytes ||
	    s->in->kind != XL_PROFILE || n < 2 || n > XL_MAX_FLOW)
		return;
	room(f, n + 1);
	guess(s, f);
	if (!find_classes(s, f))
		return;
	for (uint32_t k = 0; k < n; k++)
		f->rank[k] = k;
	sort_weight = f->weight;
	qsort(f->rank, n, sizeof *f->rank, by_weight);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = f->rank[i];

		if (root_of(f->join, f->in[k]) == root_of(f->join, f->out[k]))
			continue;
		unite(f->join, f->in[k], f->out[k]);
		s->block[k].derived = true;
	}
	name_classes(s, f);
}

/* ---- the equations -------------------------------------------------------------------------- */
#define FEW 256u			/* blocks; most units have no more */

void xl_solve(const struct xl_flow *flw, uint32_t n, uint64_t *count, const uint64_t *cut)
{
	uint64_t few[2 * FEW];
	uint64_t *balance = n < FEW ? memset(few, 0, 2 * n * sizeof *few) :
		pm_alloc(2 * n * sizeof *balance);
	/* balance: flowed in, less entered */
	uint32_t *wait = (uint32_t *)(balance + n), *stack = wait + n, top = 0;

	for (uint32_t k = 0; k < n; k++) {
		const struct xl_flow *x = &flw[k];
		uint32_t up;

		if (xl_derived(x, k)) {
			balance[k] += count[k];
			up = x->in == k ? x->out : x->in;
			if (up < n)
				wait[up]++;
			continue;
		}
		if (x->in < n)
			balance[x->in] -= count[k];
		if (x->out < n)
			balance[x->out] += count[k] - cut[k];
	}
	for (uint32_t k = 0; k < n; k++)
		if (xl_derived(&flw[k], k) && !wait[k])
			stack[top++] = k;
	while (top) {
		uint32_t k = stack[--top], up;
		const struct xl_flow *x = &flw[k];

		if (x->in == k) {
			count[k] = balance[k];
			up = x->out;
			if (up < n)
				balance[up] += count[k] - cut[k];
		} else {
			count[k] = cut[k] - balance[k];
			up = x->in;
			if (up < n)
				balance[up] -= count[k];
		}
		if (up < n && !--wait[up])
			stack[top++] = up;
	}
	if (balance != few)
		free(balance);
}

void count_nothing(struct scratch *s)
{
	for (size_t k = 0; k < s->nblock; k++) {
		s->block[k].derived = true;
		s->block[k].in = s->block[k].out = s->block[k].edge = XL_NONE;
	}
}
