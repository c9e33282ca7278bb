/* SPDX-License-Identifier: MIT */
/* profile_blocks.c - regions of units to blocks: profile_work.h says how; and what is in a block */
#include <stdlib.h>
#include <string.h>

#include "analyse/profile_work.h"
#include "base/bound.h"

#define MAX_BYTES ((1u << 12) - 1)
#define MAX_N ((1u << 8) - 1)

struct insn_node {			/* a distinct instruction of a region */
	uint64_t count;			/* executions */
	const uint8_t *bytes;
	uint32_t off;			/* in the region */
	uint32_t same;			/* another one at the same address; PM_NONE: none */
	uint32_t pred, succ;		/* executed in front, behind; PM_NONE: none */
	uint32_t block;
	union {
		uint32_t pos;		/* in the block; until it has one: */
		uint32_t unit;		/* that @bytes are of, index in the region */
	};
	struct pm_form form;
	bool entered;			/* control may have come from elsewhere */
	bool preds, succs;		/* more than one */
	bool leader;
};

struct unit_flow {
	uint64_t end;
	uint32_t unit;			/* index in the region */
};

/* ---- a region: nodes ------------------------------------------------------------------------- */

static void link_nodes(struct pm_profile_work *w, uint32_t from, uint32_t to)
{
	struct insn_node *f = &w->node[from], *t = &w->node[to];

	if (f->succ == PM_NONE)
		f->succ = to;
	else if (f->succ != to)
		f->succs = true;
	if (t->pred == PM_NONE)
		t->pred = from;
	else if (t->pred != from)
		t->preds = true;
}

/* What the piece says is one instruction, and the decoder does not. */
static struct pm_form odd_form(uint32_t len)
{
	return (struct pm_form){ .len = (uint8_t)(len < 255 ? len : 255) };
}

static void set_unit_sums(const struct pm_profile *p, const struct profile_unit *u, unsigned reads,
			  unsigned writes, unsigned reps)
{
	struct profile_cover *c = p->work->cover ? &p->work->cover[number_of(p, u)] : NULL;

	if (!c)
		return;
	c->reads = (uint16_t)reads;
	c->writes = (uint16_t)writes;
	c->reps = (uint16_t)reps;
	c->slow = u->cut || (reads | writes | reps) >> 16;
}

/* The node of the instruction at @off with the bytes at @p; @left of them belong to the piece. */
static uint32_t node_at(struct pm_profile_work *w, struct pm_forms *forms, uint32_t off,
			const uint8_t *p, uint32_t left, bool last, uint32_t unit)
{
	const struct pm_form *m;
	struct insn_node *n;

	for (uint32_t i = w->slot[off] - 1; i != PM_NONE; i = w->node[i].same) {
		n = &w->node[i];
		if (n->form.len <= left && (n->bytes == p || !memcmp(n->bytes, p, n->form.len)) &&
		    (!last || n->form.len == left))
			return i;
	}
	m = pm_form_at(forms, p, left);
	pm_grow(w->node, w->nnode, w->cap_node);
	n = &w->node[w->nnode];
	*n = (struct insn_node){ .bytes = p,
				 .off = off,
				 .unit = unit,
				 .same = w->slot[off] - 1,
				 .pred = PM_NONE,
				 .succ = PM_NONE,
				 .block = PM_NONE,
				 .form = *m };
	if (last && n->form.len != left)
		n->form = odd_form(left);
	w->slot[off] = (uint32_t)++w->nnode;
	return (uint32_t)w->nnode - 1;
}

static void walk_unit(struct pm_profile *p, const struct profile_unit *all, uint32_t index)
{
	struct pm_profile_work *w = p->work;
	const struct profile_unit *u = &all[index];
	const struct pm_piece *pc = piece_of(p, u);
	struct pm_forms *forms = forms_of(p, u->object);
	uint32_t off = (uint32_t)(u->addr - all[0].addr), at = 0;
	unsigned reads = 0, writes = 0, reps = 0;

	for (uint32_t i = 0; i < pc->n && at < pc->size; i++) {
		uint32_t k = node_at(w, forms, off + at, pc->bytes + at, pc->size - at,
				     i + 1 == pc->n, index);
		struct insn_node *n = &w->node[k];

		n->count += u->cut ? done(p, u, i) : u->total;
		if (!i)
			n->entered = true;
		reads += n->form.reads;
		writes += n->form.writes;
		reps += n->form.rep;
		at += n->form.len;
		pm_grow(w->walk, w->nwalk, w->cap_walk);
		w->walk[w->nwalk++] = k;
	}
	set_unit_sums(p, u, reads, writes, reps);
}

static int by_end(const void *a, const void *b)
{
	const struct unit_flow *x = a, *y = b;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return (x->unit > y->unit) - (x->unit < y->unit);
}

/* Rule (1) where the units u[0..n) begin and the units f[0..nf) flow in. */
static bool transfer_enters(const struct pm_profile *p, const struct profile_unit *u, size_t n,
			    const struct profile_unit *all, const struct unit_flow *f, size_t nf)
{
	for (size_t i = 0; i < n; i++) {
		const struct pm_counts_process *pr = process_of(p, &u[i]);

		if (i && u[i].process == u[i - 1].process)
			continue;
		for (size_t t = 0; t < pr->nthread; t++) {
			uint64_t in = 0, flow = 0;

			/* units at one address are in the order of their processes */
			for (size_t k = i; k < n && u[k].process == u[i].process; k++)
				in += pr->thread[t].count[u[k].piece];
			for (size_t k = 0; k < nf; k++) {
				const struct profile_unit *from = &all[f[k].unit];

				if (from->process != u[i].process)
					continue;
				flow += done_by(p, from, t, piece_of(p, from)->n);
			}
			if (in > flow)
				return true;
		}
	}
	return false;
}

static int compare_nodes(const struct insn_node *a, const struct insn_node *b)
{
	unsigned n = a->form.len < b->form.len ? a->form.len : b->form.len;
	int c = memcmp(a->bytes, b->bytes, n);

	return c ? c : (int)a->form.len - (int)b->form.len;
}

/* Two sorted lists become one. */
static uint32_t merge_same(struct pm_profile_work *w, uint32_t a, uint32_t b)
{
	uint32_t head, *at = &head;

	while (a != PM_NONE && b != PM_NONE) {
		uint32_t *least = compare_nodes(&w->node[a], &w->node[b]) <= 0 ? &a : &b;

		*at = *least;
		at = &w->node[*least].same;
		*least = *at;
	}
	*at = a != PM_NONE ? a : b;
	return head;
}

/* Several versions of an instruction at one address: put them into an order that does not depend
 * on which was seen first. There are thousands where a program writes its code again and again. */
static void sort_same(struct pm_profile_work *w, uint32_t *head)
{
	uint32_t list[32], n = 0, next;		/* list k: 2^k nodes, or none */
	uint32_t sorted = PM_NONE;

	for (uint32_t i = *head - 1; i != PM_NONE; i = next) {
		uint32_t k = 0;

		next = w->node[i].same;
		w->node[i].same = PM_NONE;
		for (; k < n && list[k] != PM_NONE; k++) {
			i = merge_same(w, list[k], i);
			list[k] = PM_NONE;
		}
		n = k < n ? n : k + 1;
		list[k] = i;
	}
	while (n-- > 0)
		sorted = merge_same(w, list[n], sorted);
	*head = sorted + 1;
}

static void find_leaders(struct pm_profile *p, const struct profile_unit *u, size_t n, size_t bytes)
{
	struct pm_profile_work *w = p->work;
	uint64_t base = u[0].addr;
	size_t f = 0;

	w->nflow = 0;
	for (size_t i = 0; i < n; i++) {
		const struct pm_piece *pc = piece_of(p, &u[i]);

		if (!pc->falls || !done(p, &u[i], pc->n - 1))
			continue;
		pm_grow(w->flow, w->nflow, w->cap_flow);
		w->flow[w->nflow++] = (struct unit_flow){ u[i].addr + pc->size, (uint32_t)i };
	}
	if (w->nflow) {
		qsort(w->flow, w->nflow, sizeof *w->flow, by_end);
		for (size_t i = 0; i < n; ) {
			uint64_t addr = u[i].addr;
			size_t k = i + 1, g;

			while (k < n && u[k].addr == addr)
				k++;
			while (f < w->nflow && w->flow[f].end < addr)
				f++;
			for (g = f; g < w->nflow && w->flow[g].end == addr; g++)
				;
			if (g > f && !transfer_enters(p, u + i, k - i, u, w->flow + f, g - f))
				for (uint32_t at = w->slot[addr - base] - 1; at != PM_NONE;
				     at = w->node[at].same)
					w->node[at].entered = false;
			f = g;
			i = k;
		}
	}
	/* who stands in front of whom, whether control came that way or not */
	for (uint32_t i = 0; i < w->nnode; i++) {
		size_t end = (size_t)w->node[i].off + w->node[i].form.len;

		if (w->node[i].count && end < bytes)
			for (uint32_t to = w->slot[end] - 1; to != PM_NONE; to = w->node[to].same)
				if (w->node[to].count)
					link_nodes(w, i, to);
	}
	for (size_t i = 0; i < w->nnode; i++) {
		struct insn_node *a = &w->node[i];
		const struct insn_node *b = a->pred == PM_NONE ? NULL : &w->node[a->pred];

		a->leader = a->count && (a->entered || a->preds || !b || b->form.ends || b->succs);
	}
}

/* ---- a region: blocks ------------------------------------------------------------------------ */

static void add_drop(struct pm_profile_work *w, uint32_t block, uint32_t pos, uint64_t times)
{
	pm_grow(w->drop, w->ndrop, w->cap_drop);
	w->drop[w->ndrop++] = (struct profile_drop){ block, pos, times };
}

static void sum_block(struct pm_profile *p, uint32_t object, uint64_t entries, uint64_t insns)
{
	p->object[object].insns += insns;
	p->sum.blocks += entries;
	spread_add(&p->work->spread, insns);
}

/* The @n instructions, @size bytes, of the unit @u from byte @off on; executed as often as that. */
static void add_brief(struct pm_profile *p, const struct profile_unit *u, uint32_t off,
		      uint32_t size, uint32_t n)
{
	struct pm_profile_work *w = p->work;

	pm_grow(w->brief, p->nblock, w->cap_brief);
	w->brief[p->nblock++] = (struct brief_block){ number_of(p, u), off & MAX_BYTES,
						      size & MAX_BYTES, n & MAX_N };
	sum_block(p, u->object, u->total, n * u->total);
}

static void add_full(struct pm_profile *p, const struct pm_profile_block *b)
{
	struct pm_profile_work *w = p->work;

	pm_grow(w->full, w->nfull, w->cap_full);
	w->full[w->nfull++] = *b;
	pm_grow(w->brief, p->nblock, w->cap_brief);
	w->brief[p->nblock++] = (struct brief_block){ .from = (uint32_t)w->nfull - 1 };
	sum_block(p, b->object, b->entries, b->insns);
}

static bool is_brief(uint32_t off, uint32_t size, uint32_t n)
{
	return off <= MAX_BYTES && size <= MAX_BYTES && n <= MAX_N;
}

static void add_block(struct pm_profile *p, const struct profile_unit *all, uint32_t leader)
{
	struct pm_profile_work *w = p->work;
	uint32_t index = (uint32_t)p->nblock, last = leader, pos = 0, off;
	const struct insn_node *first = &w->node[leader];
	const struct profile_unit *u = &all[first->unit];
	struct pm_profile_block b = {
		.addr = all[0].addr + first->off, .bytes = first->bytes, .object = u->object,
		.entries = first->count,
	};
	bool together = true;

	for (uint32_t i = leader; i != PM_NONE; i = w->node[i].succ) {
		struct insn_node *a = &w->node[i];

		if (i != leader && (a->leader || !a->count))
			break;
		if (i != leader && a->count != w->node[last].count)
			add_drop(w, index, pos, w->node[last].count - a->count);
		together &= a->bytes == b.bytes + b.size;
		a->block = index;
		a->pos = pos++;
		b.size += a->form.len;
		b.n++;
		b.insns += a->count;
		last = i;
	}
	off = (uint32_t)(b.addr - u->addr);
	if (together && b.entries == u->total && b.insns == b.n * b.entries &&
	    is_brief(off, b.size, b.n)) {
		add_brief(p, u, off, b.size, b.n);
		return;
	}
	if (!together) {			/* its pieces' bytes lie here and there */
		uint8_t *to = pm_arena_alloc(&p->mem, b.size);

		b.bytes = to;
		for (uint32_t i = leader; ; i = w->node[i].succ) {
			memcpy(to, w->node[i].bytes, w->node[i].form.len);
			to += w->node[i].form.len;
			if (i == last)
				break;
		}
	}
	add_full(p, &b);
}

static void add_seg(struct pm_profile_work *w, uint32_t block, uint32_t start, uint32_t pos)
{
	pm_grow(w->seg, w->nseg, w->cap_seg);
	w->seg[w->nseg++] = (struct profile_seg){ block, start, pos };
}

/* @c's are all that have been added since there were @from. */
static void set_segments(const struct pm_profile_work *w, struct profile_cover *c, size_t from)
{
	c->seg = (uint32_t)from;
	c->nseg = (w->nseg - from) & 0x7fff;
}

static void add_segments(struct pm_profile_work *w, struct profile_cover *c, const uint32_t *walk,
			 uint32_t n)
{
	const size_t from = w->nseg;

	for (uint32_t i = 0; i < n; i++) {
		const struct insn_node *a = &w->node[walk[i]];

		if (i && w->node[walk[i - 1]].block == a->block)
			continue;
		add_seg(w, a->block, i, a->pos);
	}
	set_segments(w, c, from);
}

static void do_region(struct pm_profile *p, const struct profile_unit *u, size_t n, size_t bytes)
{
	struct pm_profile_work *w = p->work;
	uint32_t few[64], *first_walk = n < NR(few) ? few : pm_alloc((n + 1) * sizeof *first_walk);

	if (bytes + 1 > w->cap_slot) {		/* always all zero between regions */
		free(w->slot);
		w->cap_slot = 2 * (bytes + 1);
		w->slot = pm_alloc(w->cap_slot * sizeof *w->slot);
	}
	w->nnode = w->nwalk = 0;
	for (size_t i = 0; i < n; i++) {
		first_walk[i] = (uint32_t)w->nwalk;
		walk_unit(p, u, (uint32_t)i);
	}
	first_walk[n] = (uint32_t)w->nwalk;
	find_leaders(p, u, n, bytes);

	for (size_t off = 0; off < bytes; off++)
		if (w->slot[off] && w->node[w->slot[off] - 1].same != PM_NONE)
			sort_same(w, &w->slot[off]);
	for (size_t off = 0; off < bytes; off++)
		for (uint32_t k = w->slot[off] - 1; k != PM_NONE; k = w->node[k].same)
			if (w->node[k].leader)
				add_block(p, u, k);
	for (size_t i = 0; w->cover && i < n; i++)
		add_segments(w, &w->cover[number_of(p, &u[i])], w->walk + first_walk[i],
			     first_walk[i + 1] - first_walk[i]);
	for (size_t i = 0; i < w->nnode; i++) {
		const struct insn_node *a = &w->node[i];

		w->slot[a->off] = 0;
		w->mnemonic[a->form.mnemonic] += a->count;
		p->sum.insns += a->count;
		p->sum.reads += a->count * a->form.reads;
		p->sum.writes += a->count * a->form.writes;
		p->sum.reps += a->count * a->form.rep;
	}
	if (first_walk != few)
		free(first_walk);
}

/* HOT: a region of one unit that nothing cut, as most are: the general way without nodes. */
static void do_single(struct pm_profile *p, const struct profile_unit *u)
{
	struct pm_profile_work *w = p->work;
	const struct pm_piece *pc = piece_of(p, u);
	struct pm_forms *forms = forms_of(p, u->object);
	unsigned reads = 0, writes = 0, reps = 0;
	uint32_t at = 0, i = 0, first = 0, from = 0;	/* of the block: instruction, byte */
	const size_t nseg = w->nseg;

	while (i < pc->n && at < pc->size) {
		const struct pm_form *m = pm_form_at(forms, pc->bytes + at, pc->size - at);
		struct pm_form odd;

		if (i + 1 == pc->n && m->len != pc->size - at) {
			odd = odd_form(pc->size - at);
			m = &odd;
		}
		reads += m->reads;
		writes += m->writes;
		reps += m->rep;
		w->mnemonic[m->mnemonic] += u->total;
		at += m->len;
		i++;
		if (!m->ends && i < pc->n && at < pc->size)
			continue;
		if (w->cover)
			add_seg(w, (uint32_t)p->nblock, first, 0);
		if (is_brief(from, at - from, i - first))
			add_brief(p, u, from, at - from, i - first);
		else
			add_full(p, &(struct pm_profile_block){
				.addr = u->addr + from, .bytes = pc->bytes + from,
				.size = at - from, .n = i - first,
				.object = u->object, .entries = u->total,
				.insns = (i - first) * u->total,
			});
		first = i;
		from = at;
	}
	if (w->cover)
		set_segments(w, &w->cover[number_of(p, u)], nseg);
	set_unit_sums(p, u, reads, writes, reps);
	p->sum.insns += u->total * i;
	p->sum.reads += u->total * reads;
	p->sum.writes += u->total * writes;
	p->sum.reps += u->total * reps;
}

void pm_profile_regions(struct pm_profile *p)
{
	struct pm_profile_work *w = p->work;
	struct profile_unit next;

	if (w->nunit)
		next = unit_of(p, w->order[0]);
	for (size_t i = 0; i < w->nunit; ) {
		uint64_t end = 0;
		bool falls = false;
		size_t n = 0;

		do {
			const struct pm_piece *pc = piece_of(p, &next);

			pm_grow(w->unit, n, w->cap_unit);
			next.cut = is_cut(p, &next);
			w->unit[n++] = next;
			if (n == 1 || next.addr + pc->size > end) {
				end = next.addr + pc->size;
				falls = pc->falls;
			} else if (next.addr + pc->size == end) {
				falls |= pc->falls;
			}
			if (++i < w->nunit)
				next = unit_of(p, w->order[i]);
		} while (i < w->nunit && next.object == w->unit[0].object &&
			 (next.addr < end || (next.addr == end && falls)));
		if (n == 1 && !w->unit[0].cut)
			do_single(p, w->unit);
		else
			do_region(p, w->unit, n, end - w->unit[0].addr);
	}
	free(w->order);
	w->order = NULL;
}

/* ---- blocks --------------------------------------------------------------------------------- */

struct pm_profile_block pm_profile_block(const struct pm_profile *p, size_t i)
{
	const struct brief_block b = p->work->brief[i];
	struct profile_unit u;

	if (!b.n)
		return p->work->full[b.from];
	u = unit_of(p, b.from);
	return (struct pm_profile_block){
		.addr = u.addr + b.off, .bytes = piece_of(p, &u)->bytes + b.off, .size = b.size,
		.n = b.n,
		.object = u.object, .entries = u.total, .insns = b.n * u.total,
	};
}

void pm_profile_insns(const struct pm_profile *p, uint32_t block, struct pm_profile_insn *v)
{
	const struct pm_profile_work *w = p->work;
	const struct pm_profile_block b = pm_profile_block(p, block);
	uint64_t count = b.entries;
	size_t lo = pm_lower_bound(w->drop, w->ndrop, .block, block);
	uint32_t at = 0;

	for (uint32_t i = 0; i < b.n; i++) {
		struct pm_form m = { .len = (uint8_t)(b.size - at) };

		if (at < b.size)
			m = *pm_form_at(forms_of(p, b.object), b.bytes + at, b.size - at);
		if (lo < w->ndrop && w->drop[lo].block == block && w->drop[lo].pos == i)
			count -= w->drop[lo++].times;
		v[i] = (struct pm_profile_insn){
			.addr = b.addr + at, .count = count, .len = m.len,
			.reads = m.reads, .writes = m.writes, .flow = m.flow,
			.target = pm_form_target(&m, b.bytes + at, b.addr + at),
		};
		at += m.len;
	}
}
