/* SPDX-License-Identifier: MIT */
/* profile.c - pieces to canonical blocks, and what is summed over them
 *
 * The units of work are the pieces of all processes that ran at all, sorted by object and address
 * and grouped into *regions*: runs of units that overlap or flow into each other. Inside a region
 * each distinct instruction (address and bytes) becomes a node with its executions and who flows
 * into it; the nodes give the block beginnings (the three rules of profile.h) and vanish. What
 * stays is, for each unit, which stretch of which block it covers: its *segments*. With them the
 * figures of any process or thread are sums over its pieces.
 *
 * Let count(u) be the entries of unit u and done(u, i) the executions of its instruction i: count(u)
 * less the cuts at or in front of i. Rule (1) compares, for the address where u begins, the entries
 * of all units that begin there with done(n), the completed runs, of all units that flow into it.
 * It is evaluated for each thread by itself: a thread that is killed between two units, and whose
 * last cut is not told, loses one entry, which must not hide an entry that another thread made. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <Zydis/Zydis.h>

#include "analyse/kept_forms.h"
#include "analyse/profile.h"
#include "elf/symbols.h"
#include "isa/x86/text.h"
#include "pugmark/pugmark.h"

struct unit {
	uint64_t addr;			/* in the file */
	uint64_t total;			/* entries, all threads of its process */
	uint32_t process, piece, object;
	uint32_t seg, nseg;		/* its segments: work->seg[seg .. seg + nseg) */
	uint16_t reads, writes, reps;	/* of a whole run; saturated: see wide */
	bool cut;			/* work->cut has entries for it */
	bool wide;			/* the sums above do not fit: count them again */
};

struct key {				/* a unit to be sorted */
	uint64_t addr;
	uint32_t object, process, piece;
};

struct seg {				/* instructions start.. of a unit are pos.. of a block */
	uint32_t block;			/* PM_NONE: never executed */
	uint32_t start, pos;
};

struct drop {				/* from its instruction @pos on, @block ran @times fewer times */
	uint32_t block, pos;
	uint64_t times;
};

struct node {				/* a distinct instruction of a region */
	uint64_t count;			/* executions */
	const uint8_t *bytes;
	uint32_t off;			/* in the region */
	uint32_t same;			/* another one at the same address; PM_NONE: none */
	uint32_t pred, succ;		/* executed in front, behind; PM_NONE: none */
	uint32_t block, pos;
	struct pm_form form;
	bool entered;			/* control may have come from elsewhere */
	bool preds, succs;		/* more than one */
	bool leader;
};

struct flow {
	uint64_t end;
	uint32_t unit;			/* index in the region */
};

struct cuts {
	struct pm_cut *v;		/* by piece, then done */
	size_t n;
};

struct pm_profile_work {
	struct cuts *cuts;		/* of each thread of each process */
	size_t *first_cuts, ncuts;	/* where a process begins in it */
	struct pm_kept_forms forms[2];	/* 64, 32 bit; once there is such an object */
	uint32_t *isa;			/* of each object: index into forms */
	struct key *key;		/* only while they are sorted */
	size_t cap_key;
	struct unit *unit;
	size_t nunit;
	struct seg *seg;
	size_t nseg, cap_seg;
	struct drop *drop;		/* by block, then pos */
	size_t ndrop, cap_drop;
	size_t cap_block, cap_object;
	struct split {			/* block from @pos on belongs to @function */
		uint32_t block, pos, function;
	} *split;			/* by block, then pos */
	size_t nsplit, cap_split;
	uint64_t mnemonic[PM_FORM_MNEMONICS];
	bool *tried;			/* to open the object's ELF file */
	size_t cap_function;
	uint32_t *order;		/* units by process */
	size_t *first_unit;		/* where a process begins in it */
	uint64_t *entries, *insns;	/* of blocks, in one view; all zero between views */
	uint32_t *touched;

	/* scratch of one region, kept from region to region */
	struct node *node;
	size_t nnode, cap_node;
	uint32_t *slot;			/* byte of the region -> node + 1 */
	size_t cap_slot;
	uint32_t *walk;			/* the nodes of each unit of the region, in order */
	size_t nwalk, cap_walk;
	struct flow *flow;		/* units that flow into what follows them, by end and process */
	size_t nflow, cap_flow;
};

static const struct pm_counts_process *process_of(const struct pm_profile *p, const struct unit *u)
{
	return &p->counts->process[u->process];
}

static const struct pm_piece *piece_of(const struct pm_profile *p, const struct unit *u)
{
	return &process_of(p, u)->piece[u->piece];
}

static struct pm_forms *forms_of(const struct pm_profile *p, uint32_t object)
{
	return p->work->forms[p->work->isa[object]].f;
}

/* ---- cuts ------------------------------------------------------------------------------------ */

static int by_piece(const void *a, const void *b)
{
	const struct pm_cut *x = a, *y = b;

	if (x->piece != y->piece)
		return x->piece < y->piece ? -1 : 1;
	return (x->done > y->done) - (x->done < y->done);
}

/* Sorted copies: a program that lives on signals has many. */
static void sort_cuts(struct pm_profile *p)
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
			struct cuts *to = &p->work->cuts[p->work->first_cuts[i] + t];

			if (!th->ncut)
				continue;
			to->v = pm_alloc(th->ncut * sizeof *to->v);
			to->n = th->ncut;
			memcpy(to->v, th->cut, th->ncut * sizeof *to->v);
			qsort(to->v, to->n, sizeof *to->v, by_piece);
		}
}

/* The first cut of @piece or, if it has none, of a later one. */
static size_t first_cut(const struct cuts *c, uint32_t piece)
{
	size_t lo = 0, hi = c->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->v[mid].piece < piece)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool has_cut(const struct cuts *c, uint32_t piece)
{
	size_t i = first_cut(c, piece);

	return i < c->n && c->v[i].piece == piece;
}

/* Executions of instruction @i of a unit by thread @t that are missing from the unit's entries. */
static uint64_t missing(const struct pm_profile *p, const struct unit *u, size_t t, uint32_t i)
{
	const struct cuts *c = &p->work->cuts[p->work->first_cuts[u->process] + t];
	uint64_t n = 0;

	for (size_t k = first_cut(c, u->piece);
	     k < c->n && c->v[k].piece == u->piece && c->v[k].done <= i; k++)
		n += c->v[k].times;
	return n;
}

/* Executions of it by thread @t. A thread killed between two stores may have told of a cut and not
 * of the entry: nothing ran then. */
static uint64_t done_by(const struct pm_profile *p, const struct unit *u, size_t t, uint32_t i)
{
	uint64_t n = process_of(p, u)->thread[t].count[u->piece], less = u->cut ? missing(p, u, t, i) : 0;

	return less < n ? n - less : 0;
}

static uint64_t done(const struct pm_profile *p, const struct unit *u, uint32_t i)
{
	uint64_t n = 0;

	if (!u->cut)
		return u->total;
	for (size_t t = 0; t < process_of(p, u)->nthread; t++)
		n += done_by(p, u, t, i);
	return n;
}

/* Room for @n bytes that will be used at once: in huge pages where there are some, for faulting in small
 * ones takes longer than filling them. free() releases it. */
static void *room(size_t n)
{
	const uintptr_t huge = 2u << 20;
	void *p = pm_alloc(n);
	uintptr_t lo = ((uintptr_t)p + huge - 1) & ~(huge - 1), hi = ((uintptr_t)p + n) & ~(huge - 1);

	if (hi > lo)
		madvise((void *)lo, hi - lo, MADV_HUGEPAGE);
	return p;
}

/* ---- units ----------------------------------------------------------------------------------- */

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

static void add_units(struct pm_profile *p, uint32_t process)
{
	const struct pm_counts_process *pr = &p->counts->process[process];
	uint32_t isa = pr->isa == PM_ISA_X86_32;
	uint32_t *object = pm_alloc(pr->nobject * sizeof *object);
	struct pm_profile_work *w = p->work;

	memset(object, 0xff, pr->nobject * sizeof *object);
	for (size_t i = 0; i < pr->npiece; i++) {
		const struct pm_piece *pc = &pr->piece[i];
		uint64_t total = 0;

		for (size_t t = 0; t < pr->nthread; t++)
			total += pr->thread[t].count[i];
		if (!total || !pc->n || !pc->size || pc->object >= pr->nobject)
			continue;
		if (object[pc->object] == PM_NONE)
			object[pc->object] = object_index(p, &pr->object[pc->object], isa);
		pm_grow(w->key, w->nunit, w->cap_key);
		w->key[w->nunit++] = (struct key){
			pc->pc - pr->object[pc->object].bias, object[pc->object], process, (uint32_t)i,
		};
	}
	free(object);
}

static inline __attribute__((always_inline))
void radix_pass(const struct key *from, struct key *to, size_t n, unsigned shift, bool object)
{
	uint32_t at[2048] = { 0 }, sum = 0;

#define DIGIT(k) (object ? ((k)->object >> shift) & 2047 : ((k)->addr >> shift) & 2047)
	for (size_t i = 0; i < n; i++)
		at[DIGIT(&from[i])]++;
	for (unsigned d = 0; d < NR(at); d++) {
		uint32_t c = at[d];

		at[d] = sum;
		sum += c;
	}
	for (size_t i = 0; i < n; i++)
		to[at[DIGIT(&from[i])]++] = from[i];
#undef DIGIT
}

/* The units by object, then address, then process: radix, because a compiler's run has 10^5. */
static void sort_units(struct pm_profile *p)
{
	struct pm_profile_work *w = p->work;
	size_t n = w->nunit;
	struct key *a = w->key, *b = room(n * sizeof *b), *t;
	uint64_t bits = 0;

	for (size_t i = 0; i < n; i++)
		bits |= a[i].addr;
	for (unsigned shift = 0; shift < 64 && bits >> shift; shift += 11) {
		radix_pass(a, b, n, shift, false);
		t = a, a = b, b = t;
	}
	for (unsigned shift = 0; shift < 32 && p->nobject >> shift; shift += 11) {
		radix_pass(a, b, n, shift, true);
		t = a, a = b, b = t;
	}
	free(b);
	w->unit = room(n * sizeof *w->unit);
	for (size_t i = 0; i < n; i++) {
		const struct pm_counts_process *pr = &p->counts->process[a[i].process];
		struct unit *u = &w->unit[i];

		*u = (struct unit){ .addr = a[i].addr, .object = a[i].object, .process = a[i].process,
				    .piece = a[i].piece };
		for (size_t k = 0; k < pr->nthread; k++) {
			const struct cuts *c = &w->cuts[w->first_cuts[u->process] + k];

			u->total += pr->thread[k].count[u->piece];
			u->cut |= c->n && has_cut(c, u->piece);
		}
	}
	free(a);
	w->key = NULL;
}

/* ---- a region: nodes ------------------------------------------------------------------------- */

static void link_nodes(struct pm_profile_work *w, uint32_t from, uint32_t to)
{
	struct node *f = &w->node[from], *t = &w->node[to];

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

static void set_unit_sums(struct unit *u, unsigned reads, unsigned writes, unsigned reps)
{
	u->reads = (uint16_t)reads;
	u->writes = (uint16_t)writes;
	u->reps = (uint16_t)reps;
	u->wide = (reads | writes | reps) >> 16;
}

/* The node of the instruction at @off with the bytes at @p; @left of them belong to the piece. */
static uint32_t node_at(struct pm_profile_work *w, struct pm_forms *forms, uint32_t off,
			const uint8_t *p, uint32_t left, bool last)
{
	const struct pm_form *m;
	struct node *n;

	for (uint32_t i = w->slot[off] - 1; i != PM_NONE; i = w->node[i].same) {
		n = &w->node[i];
		if (n->form.len <= left && (n->bytes == p || !memcmp(n->bytes, p, n->form.len)) &&
		    (!last || n->form.len == left))
			return i;
	}
	m = pm_form_at(forms, p, left);
	pm_grow(w->node, w->nnode, w->cap_node);
	n = &w->node[w->nnode];
	*n = (struct node){ .bytes = p, .off = off, .same = w->slot[off] - 1, .pred = PM_NONE,
			    .succ = PM_NONE, .block = PM_NONE, .form = *m };
	if (last && n->form.len != left)
		n->form = odd_form(left);
	w->slot[off] = (uint32_t)++w->nnode;
	return (uint32_t)w->nnode - 1;
}

static void walk_unit(struct pm_profile *p, struct unit *u, uint64_t base)
{
	struct pm_profile_work *w = p->work;
	const struct pm_piece *pc = piece_of(p, u);
	struct pm_forms *forms = forms_of(p, u->object);
	uint32_t off = (uint32_t)(u->addr - base), at = 0;
	unsigned reads = 0, writes = 0, reps = 0;

	for (uint32_t i = 0; i < pc->n && at < pc->size; i++) {
		uint32_t k = node_at(w, forms, off + at, pc->bytes + at, pc->size - at,
				     i + 1 == pc->n);
		struct node *n = &w->node[k];

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
	set_unit_sums(u, reads, writes, reps);
}

static int by_end(const void *a, const void *b)
{
	const struct flow *x = a, *y = b;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return (x->unit > y->unit) - (x->unit < y->unit);
}

/* Rule (1) where the units u[0..n) begin and the units f[0..nf) flow in. */
static bool transfer_enters(const struct pm_profile *p, const struct unit *u, size_t n,
			    const struct unit *all, const struct flow *f, size_t nf)
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
				const struct unit *from = &all[f[k].unit];

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

static int compare_nodes(const struct node *a, const struct node *b)
{
	unsigned n = a->form.len < b->form.len ? a->form.len : b->form.len;
	int c = memcmp(a->bytes, b->bytes, n);

	return c ? c : (int)a->form.len - (int)b->form.len;
}

/* Several versions of an instruction at one address: put them into an order that does not depend
 * on which was seen first. */
static void sort_same(struct pm_profile_work *w, uint32_t *head)
{
	uint32_t sorted = PM_NONE;

	for (uint32_t i = *head - 1, next; i != PM_NONE; i = next) {
		uint32_t *at = &sorted;

		next = w->node[i].same;
		while (*at != PM_NONE && compare_nodes(&w->node[*at], &w->node[i]) < 0)
			at = &w->node[*at].same;
		w->node[i].same = *at;
		*at = i;
	}
	*head = sorted + 1;
}

static void find_leaders(struct pm_profile *p, struct unit *u, size_t n, size_t bytes)
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
		w->flow[w->nflow++] = (struct flow){ u[i].addr + pc->size, (uint32_t)i };
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
		struct node *a = &w->node[i];
		const struct node *b = a->pred == PM_NONE ? NULL : &w->node[a->pred];

		a->leader = a->count && (a->entered || a->preds || !b || b->form.ends || b->succs);
	}
}

/* ---- a region: blocks ------------------------------------------------------------------------ */

static void add_drop(struct pm_profile_work *w, uint32_t block, uint32_t pos, uint64_t times)
{
	pm_grow(w->drop, w->ndrop, w->cap_drop);
	w->drop[w->ndrop++] = (struct drop){ block, pos, times };
}

static void add_block(struct pm_profile *p, uint32_t object, uint64_t base, uint32_t leader)
{
	struct pm_profile_work *w = p->work;
	uint32_t index = (uint32_t)p->nblock, last = leader, pos = 0;
	const struct node *first = &w->node[leader];
	struct pm_profile_block *b;
	bool together = true;

	pm_grow(p->block, p->nblock, w->cap_block);
	b = &p->block[p->nblock++];
	*b = (struct pm_profile_block){
		.addr = base + first->off, .bytes = first->bytes, .object = object,
		.function = PM_NONE, .entries = first->count,
	};
	for (uint32_t i = leader; i != PM_NONE; i = w->node[i].succ) {
		struct node *a = &w->node[i];

		if (i != leader && (a->leader || !a->count))
			break;
		if (i != leader && a->count != w->node[last].count)
			add_drop(w, index, pos, w->node[last].count - a->count);
		together &= a->bytes == b->bytes + b->size;
		a->block = index;
		a->pos = pos++;
		b->size += a->form.len;
		b->n++;
		b->insns += a->count;
		last = i;
	}
	if (!together) {			/* its pieces' bytes lie here and there */
		uint8_t *to = pm_arena_alloc(&p->mem, b->size);

		b->bytes = to;
		for (uint32_t i = leader; ; i = w->node[i].succ) {
			memcpy(to, w->node[i].bytes, w->node[i].form.len);
			to += w->node[i].form.len;
			if (i == last)
				break;
		}
	}
}

static void add_segments(struct pm_profile_work *w, struct unit *u, const uint32_t *walk, uint32_t n)
{
	u->seg = (uint32_t)w->nseg;
	for (uint32_t i = 0; i < n; i++) {
		const struct node *a = &w->node[walk[i]];

		if (i && w->node[walk[i - 1]].block == a->block)
			continue;
		pm_grow(w->seg, w->nseg, w->cap_seg);
		w->seg[w->nseg++] = (struct seg){ a->block, i, a->pos };
	}
	u->nseg = (uint32_t)w->nseg - u->seg;
}

static void do_region(struct pm_profile *p, struct unit *u, size_t n, size_t bytes)
{
	struct pm_profile_work *w = p->work;
	uint64_t base = u[0].addr;
	uint32_t few[64], *first_walk = n < NR(few) ? few : pm_alloc((n + 1) * sizeof *first_walk);

	if (bytes + 1 > w->cap_slot) {		/* always all zero between regions */
		free(w->slot);
		w->cap_slot = 2 * (bytes + 1);
		w->slot = pm_alloc(w->cap_slot * sizeof *w->slot);
	}
	w->nnode = w->nwalk = 0;
	for (size_t i = 0; i < n; i++) {
		first_walk[i] = (uint32_t)w->nwalk;
		walk_unit(p, &u[i], base);
	}
	first_walk[n] = (uint32_t)w->nwalk;
	find_leaders(p, u, n, bytes);

	for (size_t i = 0; i < w->nnode; i++)
		if (w->node[i].same != PM_NONE)
			sort_same(w, &w->slot[w->node[i].off]);
	for (size_t off = 0; off < bytes; off++)
		for (uint32_t k = w->slot[off] - 1; k != PM_NONE; k = w->node[k].same)
			if (w->node[k].leader)
				add_block(p, u[0].object, base, k);
	for (size_t i = 0; i < n; i++)
		add_segments(w, &u[i], w->walk + first_walk[i], first_walk[i + 1] - first_walk[i]);
	for (size_t i = 0; i < w->nnode; i++) {
		const struct node *a = &w->node[i];

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

static void new_block(struct pm_profile *p, const struct unit *u, const struct pm_piece *pc,
		      uint32_t at)
{
	pm_grow(p->block, p->nblock, p->work->cap_block);
	p->block[p->nblock++] = (struct pm_profile_block){
		.addr = u->addr + at, .bytes = pc->bytes + at, .object = u->object,
		.function = PM_NONE, .entries = u->total,
	};
}

/* HOT: a region of one unit that nothing cut, as most are: the general way without nodes. */
static void do_single(struct pm_profile *p, struct unit *u)
{
	struct pm_profile_work *w = p->work;
	const struct pm_piece *pc = piece_of(p, u);
	struct pm_forms *forms = forms_of(p, u->object);
	unsigned reads = 0, writes = 0, reps = 0;
	struct pm_profile_block *b = NULL;
	uint32_t at = 0, i;

	u->seg = (uint32_t)w->nseg;
	for (i = 0; i < pc->n && at < pc->size; i++) {
		const struct pm_form *m = pm_form_at(forms, pc->bytes + at, pc->size - at);
		struct pm_form odd;

		if (i + 1 == pc->n && m->len != pc->size - at) {
			odd = odd_form(pc->size - at);
			m = &odd;
		}
		if (!b) {
			new_block(p, u, pc, at);
			b = &p->block[p->nblock - 1];
			pm_grow(w->seg, w->nseg, w->cap_seg);
			w->seg[w->nseg++] = (struct seg){ (uint32_t)p->nblock - 1, i, 0 };
		}
		b->n++;
		b->size += m->len;
		reads += m->reads;
		writes += m->writes;
		reps += m->rep;
		w->mnemonic[m->mnemonic] += u->total;
		at += m->len;
		if (m->ends) {
			b->insns = b->n * u->total;
			b = NULL;
		}
	}
	if (b)
		b->insns = b->n * u->total;
	u->nseg = (uint32_t)w->nseg - u->seg;
	set_unit_sums(u, reads, writes, reps);
	p->sum.insns += u->total * i;
	p->sum.reads += u->total * reads;
	p->sum.writes += u->total * writes;
	p->sum.reps += u->total * reps;
}

static void do_regions(struct pm_profile *p)
{
	struct pm_profile_work *w = p->work;

	for (size_t i = 0, k; i < w->nunit; i = k) {
		uint64_t end = w->unit[i].addr + piece_of(p, &w->unit[i])->size;
		bool falls = piece_of(p, &w->unit[i])->falls;

		for (k = i + 1; k < w->nunit; k++) {
			const struct unit *u = &w->unit[k];
			const struct pm_piece *pc = piece_of(p, u);

			if (u->object != w->unit[i].object || u->addr > end ||
			    (u->addr == end && !falls))
				break;
			if (u->addr + pc->size > end) {
				end = u->addr + pc->size;
				falls = pc->falls;
			} else if (u->addr + pc->size == end) {
				falls |= pc->falls;
			}
		}
		if (k == i + 1 && !w->unit[i].cut)
			do_single(p, &w->unit[i]);
		else
			do_region(p, &w->unit[i], k - i, end - w->unit[i].addr);
	}
}

/* ---- views: one process, one thread ------------------------------------------------------------ */

#define ALL_THREADS SIZE_MAX

/* The fewest of the numbers that make 90 % of their sum. Only numbers of one power of two need
 * sorting: those among which the sum is reached. */
static int descending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

static uint64_t locality(const uint64_t *v, const uint32_t *index, size_t n)
{
	uint64_t sum[64] = { 0 }, total = 0, want, got = 0, count[64] = { 0 }, blocks = 0, *some;
	size_t k = 0;
	int b = 63;

#define NUMBER(i) v[index ? index[i] : (i)]
	for (size_t i = 0; i < n; i++) {
		uint64_t x = NUMBER(i);

		if (x) {
			sum[63 - __builtin_clzll(x)] += x;
			count[63 - __builtin_clzll(x)]++;
			total += x;
		}
	}
	if (!total)
		return 0;
	want = total - total / 10;		/* got >= 0.9 total, in whole numbers */
	for (; got + sum[b] < want; b--) {
		got += sum[b];
		blocks += count[b];
	}
	some = pm_alloc(count[b] * sizeof *some);
	for (size_t i = 0; i < n; i++)
		if (NUMBER(i) && 63 - __builtin_clzll(NUMBER(i)) == b)
			some[k++] = NUMBER(i);
#undef NUMBER
	qsort(some, k, sizeof *some, descending);
	for (size_t i = 0; i < k && got < want; i++, blocks++)
		got += some[i];
	free(some);
	return blocks;
}

static uint64_t view_done(const struct pm_profile *p, const struct unit *u, size_t thread, uint32_t i)
{
	return thread == ALL_THREADS ? done(p, u, i) : done_by(p, u, thread, i);
}

uint32_t pm_profile_function_of(const struct pm_profile *p, uint32_t block, uint32_t pos)
{
	const struct pm_profile_work *w = p->work;
	uint32_t f = p->block[block].function;
	size_t lo = 0, hi = w->nsplit;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->split[mid].block < block)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < w->nsplit && w->split[lo].block == block && w->split[lo].pos <= pos; lo++)
		f = w->split[lo].function;
	return f;
}

/* The instructions of a unit one by one, for the few for which products will not do. */
static void slow_unit(const struct pm_profile *p, const struct unit *u, size_t thread,
		      struct pm_profile_sum *s)
{
	const struct pm_piece *pc = piece_of(p, u);

	for (uint32_t i = 0, at = 0; i < pc->n && at < pc->size; i++) {
		const struct pm_form *m = pm_form_at(forms_of(p, u->object), pc->bytes + at,
						     pc->size - at);
		uint64_t k = view_done(p, u, thread, i);

		s->reads += k * m->reads;
		s->writes += k * m->writes;
		s->reps += k * m->rep;
		at += m->len;
	}
}

/* Figures of one process, or of one thread of it, into @s; instructions by function into
 * @by_function unless it is NULL. */
static void view(struct pm_profile *p, size_t process, size_t thread, struct pm_profile_sum *s,
		 uint64_t *by_function)
{
	struct pm_profile_work *w = p->work;
	size_t n = 0;

	for (size_t i = w->first_unit[process]; i < w->first_unit[process + 1]; i++) {
		const struct unit *u = &w->unit[w->order[i]];
		uint64_t count = thread == ALL_THREADS ? u->total :
				 process_of(p, u)->thread[thread].count[u->piece];

		if (!count)
			continue;
		if (u->cut || u->wide) {
			slow_unit(p, u, thread, s);
		} else {
			s->reads += count * u->reads;
			s->writes += count * u->writes;
			s->reps += count * u->reps;
		}
		for (uint32_t g = 0; g < u->nseg; g++) {
			const struct seg *sg = &w->seg[u->seg + g];
			uint32_t end = g + 1 < u->nseg ? sg[1].start : piece_of(p, u)->n;
			uint64_t insns = count * (end - sg->start);

			if (sg->block == PM_NONE)
				continue;
			if (u->cut) {
				insns = 0;
				for (uint32_t k = sg->start; k < end; k++)
					insns += view_done(p, u, thread, k);
			}
			if (!insns)
				continue;
			if (!w->insns[sg->block])
				w->touched[n++] = sg->block;
			w->insns[sg->block] += insns;
			if (!sg->pos)
				w->entries[sg->block] += u->cut ? view_done(p, u, thread, sg->start) :
							 count;
			s->insns += insns;
			if (!by_function)
				continue;
			if (!w->nsplit)
				by_function[p->block[sg->block].function] += insns;
			else
				for (uint32_t k = sg->start; k < end; k++)
					by_function[pm_profile_function_of(p, sg->block,
									   sg->pos + k - sg->start)]
						+= u->cut ? view_done(p, u, thread, k) : count;
		}
	}
	if (!by_function)
		s->locality_90 = locality(w->insns, w->touched, n);
	for (size_t i = 0; i < n; i++) {
		uint32_t b = w->touched[i];

		s->blocks += w->entries[b];
		s->blocks_distinct += w->entries[b] > 0;
		w->entries[b] = w->insns[b] = 0;
	}
}

static void do_views(struct pm_profile *p)
{
	const struct pm_counts *c = p->counts;
	struct pm_profile_work *w = p->work;
	size_t n = 0;

	w->first_unit = pm_alloc((c->nprocess + 1) * sizeof *w->first_unit);
	w->order = pm_alloc(w->nunit * sizeof *w->order);
	for (size_t i = 0; i < w->nunit; i++)
		w->first_unit[w->unit[i].process]++;
	for (size_t i = 0; i <= c->nprocess; i++) {
		size_t k = i < c->nprocess ? w->first_unit[i] : 0;

		w->first_unit[i] = n;
		n += k;
	}
	for (size_t i = 0; i < w->nunit; i++)
		w->order[w->first_unit[w->unit[i].process]++] = (uint32_t)i;
	memmove(w->first_unit + 1, w->first_unit, c->nprocess * sizeof *w->first_unit);
	w->first_unit[0] = 0;
	w->entries = pm_alloc(p->nblock * sizeof *w->entries);
	w->insns = pm_alloc(p->nblock * sizeof *w->insns);
	w->touched = pm_alloc(p->nblock * sizeof *w->touched);

	p->nprocess = c->nprocess;
	p->process = pm_alloc(p->nprocess * sizeof *p->process);
	for (size_t i = 0; i < p->nprocess; i++) {
		struct pm_profile_process *pr = &p->process[i];

		pr->from = &c->process[i];
		p->incomplete |= pr->from->incomplete;
		pr->nthread = pr->from->nthread;
		pr->thread = pm_arena_alloc(&p->mem, pr->nthread * sizeof *pr->thread);
		if (p->nprocess == 1) {
			pr->sum = p->sum;
		} else {
			view(p, i, ALL_THREADS, &pr->sum, NULL);
		}
		for (size_t t = 0; t < pr->nthread; t++) {
			pr->thread[t].tid = pr->from->thread[t].tid;
			if (pr->nthread == 1)
				pr->thread[t].sum = pr->sum;
			else
				view(p, i, t, &pr->thread[t].sum, NULL);
		}
		/* nobody knows which thread ran them unless there is but one */
		for (size_t t = 0; pr->nthread == 1 && t < 1; t++) {
			pr->thread[t].sum.insns += pr->from->unknown;
			pr->thread[t].sum.unknown = pr->from->unknown;
		}
		pr->sum.insns += pr->from->unknown;
		pr->sum.unknown = pr->from->unknown;
	}
	for (size_t i = 0; i < p->nprocess; i++)
		p->sum.unknown += c->process[i].unknown;
	p->sum.insns += p->sum.unknown;
	w->mnemonic[0] += p->sum.unknown;
}

/* ---- the mix ----------------------------------------------------------------------------------- */

static int by_count(const void *a, const void *b)
{
	const struct pm_profile_mix *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void do_mix(struct pm_profile *p)
{
	const uint64_t *count = p->work->mnemonic;
	size_t n = 0;

	for (unsigned m = 0; m < PM_FORM_MNEMONICS; m++)
		n += count[m] > 0;
	p->mnemonic = pm_arena_alloc(&p->mem, n * sizeof *p->mnemonic);
	p->class = pm_arena_alloc(&p->mem, n * sizeof *p->class);
	for (unsigned m = 0; m < PM_FORM_MNEMONICS; m++) {
		const char *class;
		size_t k = 0;

		if (!count[m])
			continue;
		p->mnemonic[p->nmnemonic++] = (struct pm_profile_mix){ pm_form_mnemonic(m), count[m] };
		class = pm_form_class(m);
		while (k < p->nclass && strcmp(p->class[k].name, class))
			k++;
		if (k == p->nclass)
			p->class[p->nclass++] = (struct pm_profile_mix){ class, 0 };
		p->class[k].count += count[m];
	}
	qsort(p->mnemonic, p->nmnemonic, sizeof *p->mnemonic, by_count);
	qsort(p->class, p->nclass, sizeof *p->class, by_count);
}

struct pm_profile *pm_profile_new(const struct pm_counts *c)
{
	struct pm_profile *p = pm_alloc(sizeof *p);
	struct pm_profile_work *w = pm_alloc(sizeof *w);
	uint64_t *insns;
	size_t n = 0;

	p->counts = c;
	p->work = w;
	sort_cuts(p);
	for (size_t i = 0; i < c->nprocess; i++)
		n += c->process[i].npiece;
	w->cap_key = n + 1;
	w->key = room(w->cap_key * sizeof *w->key);
	for (size_t i = 0; i < c->nprocess; i++)
		add_units(p, (uint32_t)i);
	sort_units(p);
	/* most pieces are a block and a segment */
	w->cap_block = w->cap_seg = w->nunit + w->nunit / 4 + 16;
	p->block = room(w->cap_block * sizeof *p->block);
	w->seg = room(w->cap_seg * sizeof *w->seg);
	do_regions(p);
	insns = pm_alloc(p->nblock * sizeof *insns);
	for (size_t i = 0; i < p->nblock; i++) {
		insns[i] = p->block[i].insns;
		p->object[p->block[i].object].insns += insns[i];
		p->sum.blocks += p->block[i].entries;
	}
	p->sum.blocks_distinct = p->nblock;
	p->sum.locality_90 = locality(insns, NULL, p->nblock);
	free(insns);
	do_views(p);
	do_mix(p);
	for (unsigned i = 0; i < NR(w->forms); i++)
		if (w->forms[i].f)
			pm_kept_forms_save(&w->forms[i]);
	return p;
}

void pm_profile_free(struct pm_profile *p)
{
	struct pm_profile_work *w;

	if (!p)
		return;
	w = p->work;
	for (size_t i = 0; i < w->ncuts; i++)
		free(w->cuts[i].v);
	free(w->cuts);
	free(w->first_cuts);
	pm_kept_forms_close(&w->forms[0]);
	pm_kept_forms_close(&w->forms[1]);
	free(w->isa);
	free(w->unit);
	free(w->seg);
	free(w->drop);
	free(w->split);
	free(w->tried);
	free(w->order);
	free(w->first_unit);
	free(w->entries);
	free(w->insns);
	free(w->touched);
	free(w->node);
	free(w->slot);
	free(w->walk);
	free(w->flow);
	free(w);
	for (size_t i = 0; i < p->nobject; i++)
		pm_elf_close(p->object[i].elf);
	for (size_t i = 0; i < p->nprocess; i++)
		free(p->process[i].share);
	free(p->process);
	free(p->object);
	free(p->block);
	free(p->function);
	pm_arena_release(&p->mem);
	free(p);
}

/* ---- instructions of a block ------------------------------------------------------------------- */

void pm_profile_insns(const struct pm_profile *p, const struct pm_profile_block *b,
		      struct pm_profile_insn *v)
{
	const struct pm_profile_work *w = p->work;
	uint32_t index = (uint32_t)(b - p->block), at = 0;
	uint64_t count = b->entries;
	size_t lo = 0, hi = w->ndrop;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->drop[mid].block < index)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (uint32_t i = 0; i < b->n; i++) {
		struct pm_form m = { .len = (uint8_t)(b->size - at) };

		if (at < b->size)
			m = *pm_form_at(forms_of(p, b->object), b->bytes + at, b->size - at);
		if (lo < w->ndrop && w->drop[lo].block == index && w->drop[lo].pos == i)
			count -= w->drop[lo++].times;
		v[i] = (struct pm_profile_insn){
			.addr = b->addr + at, .count = count, .len = m.len,
			.reads = m.reads, .writes = m.writes, .flow = m.flow,
			.target = pm_form_target(&m, b->bytes + at, b->addr + at),
		};
		at += m.len;
	}
}

/* ---- functions, lines, disassembly -------------------------------------------------------------- */

/* Our own vDSO: the same kernel gave the traced process the same image. */
static struct pm_elf *open_vdso(const char *build_id)
{
	const uint8_t *v = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	struct pm_err err = { 0 };
	struct pm_elf *e;
	uint64_t shoff;
	uint16_t shentsize, shnum;

	if (!v)
		return NULL;
	memcpy(&shoff, v + 40, sizeof shoff);
	memcpy(&shentsize, v + 58, sizeof shentsize);
	memcpy(&shnum, v + 60, sizeof shnum);
	e = pm_elf_open_memory(v, shoff + (size_t)shentsize * shnum, "[vdso]", &err);
	if (e && build_id && (!pm_elf_build_id(e) || strcmp(build_id, pm_elf_build_id(e)))) {
		pm_elf_close(e);
		e = NULL;
	}
	return e;
}

static struct pm_elf *elf_of(struct pm_profile *p, uint32_t object)
{
	struct pm_profile_object *o = &p->object[object];
	struct pm_profile_work *w = p->work;
	struct pm_err err = { 0 };

	if (!w->tried)
		w->tried = pm_alloc(p->nobject * sizeof *w->tried);
	if (!w->tried[object]) {
		w->tried[object] = true;
		if (o->path[0] == '/')
			o->elf = pm_elf_open(o->path, o->build_id, &err);
		else if (!strcmp(o->path, "[vdso]") && !w->isa[object])
			o->elf = open_vdso(o->build_id);
	}
	return o->elf;
}

static const char *unknown_name(struct pm_profile *p, uint32_t object)
{
	const char *path = p->object[object].path, *base = strrchr(path, '/');
	char *s;

	if (path[0] == '[')
		return path;
	base = base ? base + 1 : path;
	s = pm_arena_alloc(&p->mem, strlen(base) + 3);
	s[0] = '[';
	strcpy(s + 1, base);
	strcat(s, "]");
	return s;
}

struct finder {				/* the functions of one object, by ascending address */
	struct pm_elf *elf;
	uint32_t object, unknown;	/* index of the row of code without a name */
	struct pm_map seen;		/* lo -> function + 1 */
	uint64_t lo, hi;		/* the last answer */
	uint32_t last;
};

static uint32_t new_function(struct pm_profile *p, const char *linkage, uint32_t object, uint64_t lo)
{
	pm_grow(p->function, p->nfunction, p->work->cap_function);
	p->function[p->nfunction] = (struct pm_profile_function){
		.linkage = linkage, .object = object, .lo = lo,
	};
	return (uint32_t)p->nfunction++;
}

static uint32_t find_function(struct pm_profile *p, struct finder *f, uint64_t addr)
{
	struct pm_elf_function e;

	if (addr >= f->lo && addr < f->hi)
		return f->last;
	if (f->elf && pm_elf_function_at(f->elf, addr, &e)) {
		uint64_t *at = pm_map_put(&f->seen, e.lo, NULL);

		if (!*at)
			*at = new_function(p, e.name, f->object, e.lo) + 1;
		f->last = (uint32_t)*at - 1;
		f->lo = addr;
		f->hi = e.hi;
		return f->last;
	}
	if (f->unknown == PM_NONE)
		f->unknown = new_function(p, unknown_name(p, f->object), f->object, 0);
	f->last = f->unknown;
	f->lo = f->elf ? addr : 0;
	f->hi = f->elf ? e.hi : UINT64_MAX;
	return f->last;
}

/* A block that runs on into the next function without a jump: its instructions are shared out. */
static void split_block(struct pm_profile *p, struct finder *f, uint32_t index)
{
	struct pm_profile_work *w = p->work;
	struct pm_profile_block *b = &p->block[index];
	struct pm_profile_insn *v = pm_alloc(b->n * sizeof *v);
	uint32_t fn = b->function;

	pm_profile_insns(p, b, v);
	for (uint32_t i = 0; i < b->n; i++) {
		uint32_t now = find_function(p, f, v[i].addr);

		if (now != fn) {
			pm_grow(w->split, w->nsplit, w->cap_split);
			w->split[w->nsplit++] = (struct split){ index, i, now };
			fn = now;
		}
		p->function[fn].insns += v[i].count;
	}
	free(v);
}

static int by_share(const void *a, const void *b)
{
	const struct pm_profile_share *x = a, *y = b;

	if (x->insns != y->insns)
		return x->insns < y->insns ? 1 : -1;
	return (x->function > y->function) - (x->function < y->function);
}

void pm_profile_functions(struct pm_profile *p)
{
	struct finder f = { .object = PM_NONE };

	if (p->function || !p->nblock)
		return;
	for (size_t i = 0; i < p->nblock; i++) {
		struct pm_profile_block *b = &p->block[i];

		if (b->object != f.object) {
			pm_map_release(&f.seen);
			f = (struct finder){ .elf = elf_of(p, b->object), .object = b->object,
					     .unknown = PM_NONE };
		}
		b->function = find_function(p, &f, b->addr);
		if (b->addr + b->size <= f.hi)
			p->function[b->function].insns += b->insns;
		else
			split_block(p, &f, (uint32_t)i);
	}
	pm_map_release(&f.seen);
}

void pm_profile_shares(struct pm_profile *p)
{
	uint64_t *by;

	if (p->shared)
		return;
	p->shared = true;
	by = pm_alloc(p->nfunction * sizeof *by);
	for (size_t i = 0; i < p->nprocess; i++) {
		struct pm_profile_process *pr = &p->process[i];
		struct pm_profile_sum ignored = { 0 };

		if (p->nprocess == 1)
			for (size_t k = 0; k < p->nfunction; k++)
				by[k] = p->function[k].insns;
		else
			view(p, i, ALL_THREADS, &ignored, by);
		for (size_t k = 0; k < p->nfunction; k++)
			pr->nshare += by[k] > 0;
		pr->share = pm_alloc(pr->nshare * sizeof *pr->share);
		pr->nshare = 0;
		for (size_t k = 0; k < p->nfunction; k++) {
			if (by[k])
				pr->share[pr->nshare++] =
					(struct pm_profile_share){ (uint32_t)k, by[k] };
			by[k] = 0;
		}
		qsort(pr->share, pr->nshare, sizeof *pr->share, by_share);
	}
	free(by);
}

const char *pm_profile_name(struct pm_profile *p, uint32_t function)
{
	struct pm_profile_function *f = &p->function[function];

	if (!f->name) {
		struct pm_elf *e = p->object[f->object].elf;
		const char *s = e ? pm_elf_demangle(e, f->linkage) : f->linkage;

		f->name = s == f->linkage ? s : pm_arena_strdup(&p->mem, s);
	}
	return f->name;
}

const char *pm_profile_function_at(struct pm_profile *p, uint32_t object, uint64_t addr)
{
	struct pm_elf *e = elf_of(p, object);
	struct pm_elf_function f;

	return e && pm_elf_function_at(e, addr, &f) ? pm_elf_demangle(e, f.name) : NULL;
}

struct ranked {
	uint64_t insns;
	uint32_t index;
};

static int by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->insns != y->insns)
		return x->insns < y->insns ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

/* The @max largest of @n: all below the smallest of the best so far are passed over. */
static size_t top(struct ranked *v, size_t n, size_t max, uint32_t **order)
{
	size_t k = 0;

	if (!max || max > n)
		max = n;
	if (max <= 64) {
		for (size_t i = 0; i < n && max; i++) {
			struct ranked r = v[i];
			size_t at = k;

			if (k == max && by_rank(&r, &v[k - 1]) > 0)
				continue;
			if (k == max)
				at--;
			else
				k++;
			while (at && by_rank(&r, &v[at - 1]) < 0) {
				v[at] = v[at - 1];
				at--;
			}
			v[at] = r;
		}
	} else {
		qsort(v, n, sizeof *v, by_rank);
	}
	*order = pm_alloc(max * sizeof **order);
	for (size_t i = 0; i < max; i++)
		(*order)[i] = v[i].index;
	free(v);
	return max;
}

size_t pm_profile_top_functions(const struct pm_profile *p, size_t max, uint32_t **order)
{
	struct ranked *v = pm_alloc(p->nfunction * sizeof *v);

	for (size_t i = 0; i < p->nfunction; i++)
		v[i] = (struct ranked){ p->function[i].insns, (uint32_t)i };
	return top(v, p->nfunction, max, order);
}

size_t pm_profile_top_objects(const struct pm_profile *p, uint32_t **order)
{
	struct ranked *v = pm_alloc(p->nobject * sizeof *v);

	for (size_t i = 0; i < p->nobject; i++)
		v[i] = (struct ranked){ p->object[i].insns, (uint32_t)i };
	return top(v, p->nobject, 0, order);
}

size_t pm_profile_top_blocks(const struct pm_profile *p, size_t max, uint32_t **order)
{
	struct ranked *v = pm_alloc(p->nblock * sizeof *v);

	for (size_t i = 0; i < p->nblock; i++)
		v[i] = (struct ranked){ p->block[i].insns, (uint32_t)i };
	return top(v, p->nblock, max, order);
}

bool pm_profile_line(struct pm_profile *p, uint32_t object, uint64_t addr, bool patient,
		     const char **file, unsigned *line)
{
	struct pm_elf *e = elf_of(p, object);

	return e && (patient || !pm_elf_lines_are_slow(e)) && pm_elf_line_at(e, addr, file, line);
}

bool pm_profile_has_lines(struct pm_profile *p, uint32_t object)
{
	struct pm_elf *e = elf_of(p, object);

	return e && pm_elf_has_lines(e);
}

bool pm_profile_i386(const struct pm_profile *p, uint32_t object)
{
	return p->work->isa[object];
}

unsigned pm_profile_disasm(struct pm_profile *p, const struct pm_profile_block *b, uint32_t off,
			   enum pm_syntax syntax, char *buf, size_t size)
{
	struct pm_elf_function f;
	struct pm_form m;
	uint64_t target;
	struct pm_elf *e;
	unsigned len;
	size_t n;

	if (off >= b->size)
		return 1;
	len = x86_text(b->bytes + off, b->size - off, b->addr + off, p->work->isa[b->object],
		       syntax == PM_SYNTAX_INTEL, buf, size);
	m = *pm_form_at(forms_of(p, b->object), b->bytes + off, b->size - off);
	target = pm_form_target(&m, b->bytes + off, b->addr + off);
	e = target ? elf_of(p, b->object) : NULL;
	n = strlen(buf);
	if (e && n < size && pm_elf_function_at(e, target, &f)) {
		if (target == f.lo)
			snprintf(buf + n, size - n, " <%s>", f.name);
		else
			snprintf(buf + n, size - n, " <%s+0x%llx>", f.name,
				 (unsigned long long)(target - f.lo));
	}
	return len;
}
