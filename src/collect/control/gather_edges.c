/* SPDX-License-Identifier: MIT */
/* gather_edges.c - which way branches went, from counters and the threads' tables of targets */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bound.h"
#include "base/radix.h"
#include "collect/control/gather.h"
#include "collect/space/space.h"

bool gather_next_data(const struct session *s, off_t base, off_t end, off_t *at, off_t *stop)
{
	*at = lseek(s->data_fd, *at < base ? base : *at, SEEK_DATA);
	if (*at < 0 || *at >= end)
		return false;
	*stop = lseek(s->data_fd, *at, SEEK_HOLE);
	if (*stop < 0 || *stop > end)
		*stop = end;
	return true;
}

size_t gather_index_of(const uint32_t *v, size_t n, uint32_t x)
{
	size_t at = 0;

	while (at < n) {
		const size_t mid = at + (n - at) / 2;

		if (v[mid] < x)
			at = mid + 1;
		else
			n = mid;
	}
	return at;
}

uint32_t gather_flow_blocks(const struct space *sp, const struct unit *u)
{
	const struct blk *last = &sp->block[u->block + u->nblock - 1];

	return last->flags & XL_EDGE && last->n >= XL_ENTRY && last->live < u->nblock ?
		u->nblock - last->live : u->nblock;
}

/* Edges that are not conditional branches': where the indirect branch of block @b led so often.
 * *@first is kept from block to block: the last XL_FIRST, and what was counted there. */
static void add_target(const struct space *sp, struct proc *p, uint32_t block, uint64_t count,
		       struct target_at *first)
{
	const struct blk *b = &sp->block[block];
	const uint32_t from = unit_of(sp, block)->block + b->record;

	if (b->n == XL_FIRST) {
		*first = (struct target_at){ from, count, 0 };
		return;
	}
	pm_grow(p->target, p->ntarget, p->cap_target);
	p->target[p->ntarget++] = (struct target_at){
		from, b->n == XL_ENTRY ? b->pc : first->block == from ? first->to : 0, count };
}

void gather_split_edges(const struct space *sp, struct proc *p, struct counts_of *c,
			struct pm_map *edge)
{
	struct target_at first = { XL_NONE, 0, 0 };
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct blk *b = &sp->block[c->block[i]];

		if (!(b->flags & XL_EDGE)) {
			c->block[n] = c->block[i];
			c->count[n++] = c->count[i];
		} else if (b->n >= XL_ENTRY) {
			add_target(sp, p, c->block[i], c->count[i], &first);
		} else {
			*pm_map_put(edge, c->block[i], NULL) += c->count[i];
		}
	}
	c->n = n;
}

/* Where the indirect branches of a thread that is over led goes to the process. Pages that were
 * never touched are not looked at. The program may have written anything there. */
void gather_targets(struct session *s, struct proc *p, const struct thread *t)
{
	const off_t block = (off_t)(t->block * RT_BLOCK_SIZE), base = block + RT_TARGETS;
	const off_t end = base + RT_TARGETS_SIZE;
	const struct space *sp = p->user.space;
	const struct module *last = NULL;
	uint64_t lost;
	off_t at = 0, stop;

	for (; gather_next_data(s, base, end, &at, &stop); at = stop) {
		struct rt_target *v = (struct rt_target *)(void *)(s->data + at);

		for (size_t i = 0; i < (size_t)(stop - at) / sizeof *v; i++) {
			const uint64_t k = ((uint64_t)v[i].counter - RT_COUNTERS) / 8;

			if (!v[i].count || k >= sp->nblock)
				continue;
			pm_grow(p->target, p->ntarget, p->cap_target);
			p->target[p->ntarget++] = (struct target_at){
				counter_block(sp, (uint32_t)k, &last), v[i].to, v[i].count };
		}
		memset(v, 0, (size_t)(stop - at));
	}
	memcpy(&lost, s->data + block + RT_TARGETS_LOST, sizeof lost);
	p->targets_lost += lost;
	memset(s->data + block + RT_TARGETS_USED, 0, 16);
}

static int by_target(const void *a, const void *b)
{
	const struct target_at *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static void sort_targets(struct proc *p)
{
	static const struct pm_radix_key key[] = {
		{ offsetof(struct target_at, block), 4 }, { offsetof(struct target_at, to), 8 },
	};

	pm_radix_sort(p->target, p->ntarget, sizeof *p->target, key, NR(key));
}

/* How often each piece ran to its end and went on; the caller's to free(). */
static uint64_t *whole_counts(const struct proc *p, const uint32_t *ran)
{
	const struct pm_counts_process *q = &p->result;
	uint64_t *v = pm_alloc((q->npiece + 1) * sizeof *v);

	for (size_t i = 0; i < q->nthread; i++)
		for (size_t k = 0; k < q->npiece; k++)
			v[k] += q->thread[i].count[k];
	for (size_t i = 0; i < p->ncut; i++) {
		const size_t k = gather_index_of(ran, q->npiece, p->cut[i].block);

		/* what was cut before its first instruction is not in the count */
		if (p->cut[i].done && k < q->npiece && ran[k] == p->cut[i].block)
			v[k] -= p->cut[i].times < v[k] ? p->cut[i].times : v[k];
	}
	return v;
}

/* How often the table says that @block led anywhere. p->target[0 .. n) are sorted. */
static uint64_t in_table(const struct proc *p, size_t n, uint32_t block)
{
	size_t lo = pm_lower_bound(p->target, n, .block, block);
	uint64_t sum = 0;

	for (; lo < n && p->target[lo].block == block; lo++)
		sum += p->target[lo].count;
	return sum;
}

/* Jumps that went where they were likely to. */
static void likely_targets(const struct space *sp, struct proc *p, const uint32_t *ran)
{
	const struct pm_counts_process *q = &p->result;
	uint64_t *whole = whole_counts(p, ran);
	size_t n;

	sort_targets(p);
	n = p->ntarget;
	for (size_t i = 0; i < sp->nunit; i++) {
		const struct unit *u = &sp->unit[i];

		for (uint32_t k = u->block + gather_flow_blocks(sp, u); k-- > u->block; ) {
			const struct blk *b = &sp->block[k];
			const uint32_t from = u->block + b->record;
			uint64_t elsewhere;
			size_t piece;

			if (!(b->flags & XL_EDGE) || !b->n)
				break;
			piece = gather_index_of(ran, q->npiece, from);
			if (piece == q->npiece || ran[piece] != from)
				continue;
			elsewhere = in_table(p, n, from);
			if (whole[piece] <= elsewhere)
				continue;
			pm_grow(p->target, p->ntarget, p->cap_target);
			p->target[p->ntarget++] = (struct target_at){
				from, b->pc, whole[piece] - elsewhere };
		}
	}
	free(whole);
}

static void targets_of_process(struct proc *p, struct pm_counts_process *q, const uint32_t *ran)
{
	q->targets_lost = p->targets_lost;
	sort_targets(p);
	for (size_t i = 0; i < p->ntarget; i++) {
		const struct target_at *t = &p->target[i];
		const size_t piece = gather_index_of(ran, q->npiece, t->block);

		if (piece == q->npiece || ran[piece] != t->block)
			continue;
		if (i && !by_target(t - 1, t) && q->ntarget) {
			q->target[q->ntarget - 1].count += t->count;
			continue;
		}
		pm_grow(q->target, q->ntarget, q->cap_target);
		q->target[q->ntarget++] = (struct pm_counts_target){
			(uint32_t)piece, t->to, t->count };
	}
	free(p->target);
	p->target = NULL;
	p->ntarget = p->cap_target = 0;
}

/* An edge that nobody took is told where it is the one to what follows: the other one is
 * the rest. */
static void conditional_edges(const struct space *sp, struct pm_counts_process *q,
			      const uint32_t *ran, const struct pm_map *edge)
{
	for (size_t i = 0; i < sp->nunit; i++) {
		const struct unit *u = &sp->unit[i];

		for (uint32_t k = u->block + gather_flow_blocks(sp, u); k-- > u->block; ) {
			const struct blk *b = &sp->block[k];
			const uint64_t *count = pm_map_get(edge, k);
			const bool falls = b->flags & XL_FALLS;
			size_t piece;

			if (!(b->flags & XL_EDGE))
				break;
			if (b->n || (!count && !falls))
				continue;
			piece = gather_index_of(ran, q->npiece, u->block + b->record);
			if (piece == q->npiece || ran[piece] != u->block + b->record)
				continue;	/* or it was killed on its way to the counter */
			pm_grow(q->edge, q->nedge, q->cap_edge);
			q->edge[q->nedge++] = (struct pm_counts_edge){
				(uint32_t)piece, falls, count ? *count : 0 };
		}
	}
}

void gather_edges(const struct space *sp, struct proc *p, const uint32_t *ran,
		  const struct pm_map *edge)
{
	struct pm_counts_process *q = &p->result;

	q->edges = true;
	conditional_edges(sp, q, ran, edge);
	if (sp->i386)
		return;
	likely_targets(sp, p, ran);
	targets_of_process(p, q, ran);
}
