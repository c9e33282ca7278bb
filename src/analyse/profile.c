/* SPDX-License-Identifier: MIT */
/* profile.c - pieces to canonical blocks, and what is summed over them
 *
 * The units of work are the pieces of all processes that ran at all, sorted by object and address
 * and grouped into *regions*: runs of units that overlap or flow into each other. Inside a region
 * each distinct instruction (address and bytes) becomes a node with its executions and who flows
 * into it; the nodes give the block beginnings (the three rules of profile.h) and vanish. Where
 * there are several processes or threads, what stays is, for each unit, which stretch of which
 * block it covers: its *segments*. With them the figures of any of these are sums over its pieces.
 *
 * Memory that is used for the first time takes longer than what is done here with it: a compiler
 * runs 10^5 pieces, so that what there is for each of them is kept small, or not kept.
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

struct unit {				/* only while its region is worked on */
	uint64_t addr;			/* in the file */
	uint64_t total;			/* entries, all threads of its process */
	uint32_t process, piece, object;
	bool cut;			/* work->cuts has entries for it */
};

struct cover {				/* of a piece, for views; nseg 0: it is no unit */
	uint32_t seg;			/* its segments: work->seg[seg .. seg + nseg) */
	uint16_t nseg : 15;
	uint16_t slow : 1;		/* it is cut, or the sums below do not fit: count them again */
	uint16_t reads, writes, reps;	/* of a whole run */
};

struct seg {				/* instructions start.. of a unit are pos.. of a block */
	uint32_t block;			/* PM_NONE: never executed */
	uint32_t start, pos;
};

/* A block. Nearly all are a part of some piece and were entered as often as that. */
struct brief {
	uint32_t from;			/* number of the piece; n == 0: index into work->full */
	uint32_t off : 12, size : 12;	/* bytes */
	uint32_t n : 8;			/* instructions */
};
#define MAX_BYTES ((1u << 12) - 1)
#define MAX_N ((1u << 8) - 1)

/* How numbers are spread: those of each power of two. */
struct spread {
	uint64_t sum[64], count[64];
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
	uint32_t *first_piece;		/* number of a process's first piece: those of all are numbered through */
	uint32_t *object;		/* of the processes' objects one after the other: index, or PM_NONE */
	uint32_t *first_object;		/* where a process begins in it */
	uint32_t *order;		/* numbers of the units by object, address, number; until there are blocks */
	size_t nunit;
	struct brief *brief;		/* each block */
	size_t cap_brief;
	struct spread spread;		/* of their instructions executed */
	struct pm_profile_block *full;	/* those that are not so simple */
	size_t nfull, cap_full;
	struct cover *cover;		/* of each piece; NULL: there is one thread, and one view */
	struct seg *seg;
	size_t nseg, cap_seg;
	struct drop *drop;		/* by block, then pos */
	size_t ndrop, cap_drop;
	size_t cap_object;
	struct run {			/* from @pos of @block on, up to the next, code belongs to @function */
		uint32_t block, pos, function;
	} *run;				/* by block, then pos */
	size_t nrun, cap_run;
	uint64_t mnemonic[PM_FORM_MNEMONICS];
	bool *tried;			/* to open the object's ELF file */
	size_t cap_function;
	uint64_t *entries, *insns;	/* of blocks, in one view; all zero between views */
	uint32_t *touched;

	/* scratch of one region, kept from region to region */
	struct unit *unit;
	size_t cap_unit;
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

/* Entries of a piece, all threads. */
static uint64_t total(const struct pm_counts_process *pr, size_t piece)
{
	uint64_t n = 0;

	for (size_t t = 0; t < pr->nthread; t++)
		n += pr->thread[t].count[piece];
	return n;
}

/* The process of the piece of number @number. */
static size_t process_at(const struct pm_profile *p, uint32_t number)
{
	const struct pm_profile_work *w = p->work;
	size_t lo = 0, hi = p->counts->nprocess;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->first_piece[mid] <= number)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* The piece of number @number as a unit, whether it is one or not; @cut is left out. */
static struct unit unit_of(const struct pm_profile *p, uint32_t number)
{
	const struct pm_profile_work *w = p->work;
	const uint32_t process = (uint32_t)process_at(p, number);
	struct unit u = { .process = process, .piece = number - w->first_piece[process] };
	const struct pm_counts_process *pr = process_of(p, &u);
	const struct pm_piece *pc = piece_of(p, &u);

	u.addr = pc->pc - pr->object[pc->object].bias;
	u.total = total(pr, u.piece);
	u.object = w->object[w->first_object[process] + pc->object];
	return u;
}

static uint32_t number_of(const struct pm_profile *p, const struct unit *u)
{
	return p->work->first_piece[u->process] + u->piece;
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

static bool is_cut(const struct pm_profile *p, const struct unit *u)
{
	const struct pm_profile_work *w = p->work;

	for (size_t t = 0; t < process_of(p, u)->nthread; t++) {
		const struct cuts *c = &w->cuts[w->first_cuts[u->process] + t];

		if (c->n && has_cut(c, u->piece))
			return true;
	}
	return false;
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

static void number_pieces(struct pm_profile *p)
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

/* Units of an object whose addresses begin with the same 32 bits: nearly always all of an object. What
 * they are sorted by, and which they are, is one number then. */
struct group {
	uint64_t object_high;
	size_t first, n;
};

struct groups {
	struct group *v;
	size_t n, cap;
	struct pm_map index;		/* of object << 32 | high: + 1 */
	uint64_t last_key;		/* the last answer */
	size_t last;
};

static struct group *group_of(struct groups *g, uint32_t object, uint64_t addr)
{
	const uint64_t key = (uint64_t)object << 32 | addr >> 32;

	if (!g->n || key != g->last_key) {
		uint64_t *at = pm_map_put(&g->index, key, NULL);

		if (!*at) {
			pm_grow(g->v, g->n, g->cap);
			g->v[g->n] = (struct group){ .object_high = key };
			*at = ++g->n;
		}
		g->last_key = key;
		g->last = *at - 1;
	}
	return &g->v[g->last];
}

/* The pieces that ran at all, to their groups: how many, or (@key) which. */
static void add_units(struct pm_profile *p, struct groups *g, uint64_t *key)
{
	const struct pm_counts *c = p->counts;
	struct pm_profile_work *w = p->work;

	for (uint32_t k = 0; k < c->nprocess; k++) {
		const struct pm_counts_process *pr = &c->process[k];
		uint32_t *object = w->object + w->first_object[k];

		for (size_t i = 0; i < pr->npiece; i++) {
			const struct pm_piece *pc = &pr->piece[i];
			struct group *to;
			uint64_t addr;

			if (!pc->n || !pc->size || pc->object >= pr->nobject || !total(pr, i))
				continue;
			if (object[pc->object] == PM_NONE)
				object[pc->object] = object_index(p, &pr->object[pc->object],
								  pr->isa == PM_ISA_X86_32);
			addr = pc->pc - pr->object[pc->object].bias;
			to = group_of(g, object[pc->object], addr);
			if (key)
				key[to->first + to->n] = addr << 32 | (w->first_piece[k] + (uint32_t)i);
			to->n++;
		}
	}
}

static int by_group(const void *a, const void *b)
{
	const struct group *const *x = a, *const *y = b;

	return (*x)->object_high < (*y)->object_high ? -1 : (*x)->object_high > (*y)->object_high;
}

/* By address, which is the upper half; the lower ones, numbers, ascend. Radix, because a compiler's run
 * has 10^5. The result is in @a. */
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
static void sort_units(struct pm_profile *p)
{
	struct pm_profile_work *w = p->work;
	struct groups g = { 0 };
	struct group **sorted;
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

static void set_unit_sums(const struct pm_profile *p, const struct unit *u, unsigned reads, unsigned writes,
			  unsigned reps)
{
	struct cover *c = p->work->cover ? &p->work->cover[number_of(p, u)] : NULL;

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
	*n = (struct node){ .bytes = p, .off = off, .unit = unit, .same = w->slot[off] - 1, .pred = PM_NONE,
			    .succ = PM_NONE, .block = PM_NONE, .form = *m };
	if (last && n->form.len != left)
		n->form = odd_form(left);
	w->slot[off] = (uint32_t)++w->nnode;
	return (uint32_t)w->nnode - 1;
}

static void walk_unit(struct pm_profile *p, const struct unit *all, uint32_t index)
{
	struct pm_profile_work *w = p->work;
	const struct unit *u = &all[index];
	const struct pm_piece *pc = piece_of(p, u);
	struct pm_forms *forms = forms_of(p, u->object);
	uint32_t off = (uint32_t)(u->addr - all[0].addr), at = 0;
	unsigned reads = 0, writes = 0, reps = 0;

	for (uint32_t i = 0; i < pc->n && at < pc->size; i++) {
		uint32_t k = node_at(w, forms, off + at, pc->bytes + at, pc->size - at,
				     i + 1 == pc->n, index);
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
	set_unit_sums(p, u, reads, writes, reps);
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

static void find_leaders(struct pm_profile *p, const struct unit *u, size_t n, size_t bytes)
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

static void spread_add(struct spread *s, uint64_t x)
{
	if (!x)
		return;
	s->sum[63 - __builtin_clzll(x)] += x;
	s->count[63 - __builtin_clzll(x)]++;
}

static void sum_block(struct pm_profile *p, uint32_t object, uint64_t entries, uint64_t insns)
{
	p->object[object].insns += insns;
	p->sum.blocks += entries;
	spread_add(&p->work->spread, insns);
}

/* The @n instructions, @size bytes, of the unit @u from byte @off on; executed as often as that. */
static void add_brief(struct pm_profile *p, const struct unit *u, uint32_t off, uint32_t size, uint32_t n)
{
	struct pm_profile_work *w = p->work;

	pm_grow(w->brief, p->nblock, w->cap_brief);
	w->brief[p->nblock++] = (struct brief){ number_of(p, u), off & MAX_BYTES, size & MAX_BYTES, n & MAX_N };
	sum_block(p, u->object, u->total, n * u->total);
}

static void add_full(struct pm_profile *p, const struct pm_profile_block *b)
{
	struct pm_profile_work *w = p->work;

	pm_grow(w->full, w->nfull, w->cap_full);
	w->full[w->nfull++] = *b;
	pm_grow(w->brief, p->nblock, w->cap_brief);
	w->brief[p->nblock++] = (struct brief){ .from = (uint32_t)w->nfull - 1 };
	sum_block(p, b->object, b->entries, b->insns);
}

static bool is_brief(uint32_t off, uint32_t size, uint32_t n)
{
	return off <= MAX_BYTES && size <= MAX_BYTES && n <= MAX_N;
}

static void add_block(struct pm_profile *p, const struct unit *all, uint32_t leader)
{
	struct pm_profile_work *w = p->work;
	uint32_t index = (uint32_t)p->nblock, last = leader, pos = 0, off;
	const struct node *first = &w->node[leader];
	const struct unit *u = &all[first->unit];
	struct pm_profile_block b = {
		.addr = all[0].addr + first->off, .bytes = first->bytes, .object = u->object, .entries = first->count,
	};
	bool together = true;

	for (uint32_t i = leader; i != PM_NONE; i = w->node[i].succ) {
		struct node *a = &w->node[i];

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
	if (together && b.entries == u->total && b.insns == b.n * b.entries && is_brief(off, b.size, b.n)) {
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
	w->seg[w->nseg++] = (struct seg){ block, start, pos };
}

/* @c's are all that have been added since there were @from. */
static void set_segments(const struct pm_profile_work *w, struct cover *c, size_t from)
{
	c->seg = (uint32_t)from;
	c->nseg = (w->nseg - from) & 0x7fff;
}

static void add_segments(struct pm_profile_work *w, struct cover *c, const uint32_t *walk, uint32_t n)
{
	const size_t from = w->nseg;

	for (uint32_t i = 0; i < n; i++) {
		const struct node *a = &w->node[walk[i]];

		if (i && w->node[walk[i - 1]].block == a->block)
			continue;
		add_seg(w, a->block, i, a->pos);
	}
	set_segments(w, c, from);
}

static void do_region(struct pm_profile *p, const struct unit *u, size_t n, size_t bytes)
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

	for (size_t i = 0; i < w->nnode; i++)
		if (w->node[i].same != PM_NONE)
			sort_same(w, &w->slot[w->node[i].off]);
	for (size_t off = 0; off < bytes; off++)
		for (uint32_t k = w->slot[off] - 1; k != PM_NONE; k = w->node[k].same)
			if (w->node[k].leader)
				add_block(p, u, k);
	for (size_t i = 0; w->cover && i < n; i++)
		add_segments(w, &w->cover[number_of(p, &u[i])], w->walk + first_walk[i], first_walk[i + 1] - first_walk[i]);
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

/* HOT: a region of one unit that nothing cut, as most are: the general way without nodes. */
static void do_single(struct pm_profile *p, const struct unit *u)
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
				.addr = u->addr + from, .bytes = pc->bytes + from, .size = at - from, .n = i - first,
				.object = u->object, .entries = u->total, .insns = (i - first) * u->total,
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

static void do_regions(struct pm_profile *p)
{
	struct pm_profile_work *w = p->work;
	struct unit next;

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

/* ---- blocks ------------------------------------------------------------------------------------ */

struct pm_profile_block pm_profile_block(const struct pm_profile *p, size_t i)
{
	const struct brief b = p->work->brief[i];
	struct unit u;

	if (!b.n)
		return p->work->full[b.from];
	u = unit_of(p, b.from);
	return (struct pm_profile_block){
		.addr = u.addr + b.off, .bytes = piece_of(p, &u)->bytes + b.off, .size = b.size, .n = b.n,
		.object = u.object, .entries = u.total, .insns = b.n * u.total,
	};
}

static uint64_t block_insns(const struct pm_profile *p, size_t i)
{
	const struct brief b = p->work->brief[i];
	size_t process;

	if (!b.n)
		return p->work->full[b.from].insns;
	/* not by way of the piece, for a large program's are not in the processor's cache */
	process = process_at(p, b.from);
	return b.n * total(&p->counts->process[process], b.from - p->work->first_piece[process]);
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

/* Of all blocks, or of the blocks @index in a view, which are spread as @s. */
static uint64_t locality(const struct pm_profile *p, const struct spread *s, const uint32_t *index, size_t n)
{
	uint64_t total = 0, want, got = 0, blocks = 0, *some;
	size_t k = 0;
	int b = 63;

	for (unsigned i = 0; i < NR(s->sum); i++)
		total += s->sum[i];
	if (!total)
		return 0;
	want = total - total / 10;		/* got >= 0.9 total, in whole numbers */
	for (; got + s->sum[b] < want; b--) {
		got += s->sum[b];
		blocks += s->count[b];
	}
	some = pm_alloc_unset(s->count[b] * sizeof *some);
	for (size_t i = 0; i < n; i++) {
		uint64_t x = index ? p->work->insns[index[i]] : block_insns(p, i);

		if (x && 63 - __builtin_clzll(x) == b)
			some[k++] = x;
	}
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

/* The last run that begins at or in front of @pos of @block. */
static const struct run *run_at(const struct pm_profile_work *w, uint32_t block, uint32_t pos)
{
	size_t lo = 0, hi = w->nrun;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;
		const struct run *r = &w->run[mid];

		if (r->block < block || (r->block == block && r->pos <= pos))
			lo = mid;
		else
			hi = mid;
	}
	return &w->run[lo];
}

static bool run_has(const struct pm_profile_work *w, const struct run *r, uint32_t block, uint32_t pos)
{
	return r + 1 == w->run + w->nrun || r[1].block > block || (r[1].block == block && r[1].pos > pos);
}

uint32_t pm_profile_function_of(const struct pm_profile *p, uint32_t block, uint32_t pos)
{
	return run_at(p->work, block, pos)->function;
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
	const struct pm_counts_process *pr = &p->counts->process[process];
	struct pm_profile_work *w = p->work;
	size_t n = 0;

	for (size_t i = 0; i < pr->npiece; i++) {
		const struct cover *c = &w->cover[w->first_piece[process] + i];
		uint64_t count = !c->nseg ? 0 : thread == ALL_THREADS ? total(pr, i) : pr->thread[thread].count[i];
		struct unit u;

		if (!count)
			continue;
		if (c->slow) {
			u = unit_of(p, w->first_piece[process] + (uint32_t)i);
			u.cut = is_cut(p, &u);
			slow_unit(p, &u, thread, s);
		} else {
			s->reads += count * c->reads;
			s->writes += count * c->writes;
			s->reps += count * c->reps;
		}
		for (uint32_t g = 0; g < c->nseg; g++) {
			const struct seg *sg = &w->seg[c->seg + g];
			uint32_t end = g + 1 < c->nseg ? sg[1].start : pr->piece[i].n;
			uint64_t insns = count * (end - sg->start);
			const struct run *r;

			if (sg->block == PM_NONE)
				continue;
			if (c->slow) {
				insns = 0;
				for (uint32_t k = sg->start; k < end; k++)
					insns += view_done(p, &u, thread, k);
			}
			if (!insns)
				continue;
			if (!w->insns[sg->block])
				w->touched[n++] = sg->block;
			w->insns[sg->block] += insns;
			if (!sg->pos)
				w->entries[sg->block] += c->slow ? view_done(p, &u, thread, sg->start) :
								   count;
			s->insns += insns;
			if (!by_function)
				continue;
			r = run_at(w, sg->block, sg->pos);
			if (run_has(w, r, sg->block, sg->pos + end - sg->start - 1)) {
				by_function[r->function] += insns;
				continue;
			}
			for (uint32_t k = sg->start; k < end; k++) {
				while (!run_has(w, r, sg->block, sg->pos + k - sg->start))
					r++;
				by_function[r->function] += c->slow ? view_done(p, &u, thread, k) : count;
			}
		}
	}
	if (!by_function) {
		struct spread spread = { 0 };

		for (size_t i = 0; i < n; i++)
			spread_add(&spread, w->insns[w->touched[i]]);
		s->locality_90 = locality(p, &spread, w->touched, n);
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t b = w->touched[i];

		s->blocks += w->entries[b];
		s->blocks_distinct += w->entries[b] > 0;
		w->entries[b] = w->insns[b] = 0;
	}
}

/* Does anybody want the figures of less than all? */
static bool has_views(const struct pm_counts *c)
{
	for (size_t i = 0; i < c->nprocess; i++)
		if (c->nprocess > 1 || c->process[i].nthread > 1)
			return true;
	return false;
}

static void do_views(struct pm_profile *p)
{
	const struct pm_counts *c = p->counts;
	struct pm_profile_work *w = p->work;

	if (w->cover) {
		w->entries = pm_alloc(p->nblock * sizeof *w->entries);
		w->insns = pm_alloc(p->nblock * sizeof *w->insns);
		w->touched = pm_alloc_unset(p->nblock * sizeof *w->touched);
	}
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

	p->counts = c;
	p->work = w;
	sort_cuts(p);
	number_pieces(p);
	sort_units(p);
	/* most pieces are a block and a segment */
	w->cap_brief = w->nunit + w->nunit / 4 + 16;
	w->brief = pm_alloc_unset(w->cap_brief * sizeof *w->brief);
	if (has_views(c)) {
		w->cap_seg = w->cap_brief;
		w->seg = pm_alloc_unset(w->cap_seg * sizeof *w->seg);
		w->cover = pm_alloc(w->first_piece[c->nprocess] * sizeof *w->cover);
	}
	do_regions(p);
	p->sum.blocks_distinct = p->nblock;
	p->sum.locality_90 = locality(p, &w->spread, NULL, p->nblock);
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
	free(w->run);
	free(w->tried);
	free(w->first_piece);
	free(w->object);
	free(w->first_object);
	free(w->brief);
	free(w->full);
	free(w->cover);
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
	free(p->function);
	pm_arena_release(&p->mem);
	free(p);
}

/* ---- instructions of a block ------------------------------------------------------------------- */

void pm_profile_insns(const struct pm_profile *p, uint32_t block, struct pm_profile_insn *v)
{
	const struct pm_profile_work *w = p->work;
	const struct pm_profile_block b = pm_profile_block(p, block);
	uint64_t count = b.entries;
	size_t lo = 0, hi = w->ndrop;
	uint32_t at = 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->drop[mid].block < block)
			lo = mid + 1;
		else
			hi = mid;
	}
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

static void begin_run(struct pm_profile_work *w, uint32_t block, uint32_t pos, uint32_t function)
{
	if (w->nrun && w->run[w->nrun - 1].function == function)
		return;
	pm_grow(w->run, w->nrun, w->cap_run);
	w->run[w->nrun++] = (struct run){ block, pos, function };
}

/* A block that runs on into the next function without a jump: its instructions are shared out. */
static void split_block(struct pm_profile *p, struct finder *f, uint32_t index, uint32_t n)
{
	struct pm_profile_insn *v = pm_alloc(n * sizeof *v);

	pm_profile_insns(p, index, v);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t now = find_function(p, f, v[i].addr);

		begin_run(p->work, index, i, now);
		p->function[now].insns += v[i].count;
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
		const struct pm_profile_block b = pm_profile_block(p, i);
		uint32_t function;

		if (b.object != f.object) {
			pm_map_release(&f.seen);
			f = (struct finder){ .elf = elf_of(p, b.object), .object = b.object,
					     .unknown = PM_NONE };
		}
		function = find_function(p, &f, b.addr);
		begin_run(p->work, (uint32_t)i, 0, function);
		if (b.addr + b.size <= f.hi)
			p->function[function].insns += b.insns;
		else
			split_block(p, &f, (uint32_t)i, b.n);
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

static uint64_t function_insns(const struct pm_profile *p, size_t i)
{
	return p->function[i].insns;
}

static uint64_t object_insns(const struct pm_profile *p, size_t i)
{
	return p->object[i].insns;
}

/* The @max largest of @n (0: all), into *@order. Of few, all below the smallest of the best so far are
 * passed over. */
static size_t top(const struct pm_profile *p, uint64_t (*insns)(const struct pm_profile *, size_t), size_t n,
		  size_t max, uint32_t **order)
{
	struct ranked *v;
	size_t k = 0;
	bool few;

	if (!max || max > n)
		max = n;
	few = max <= 64;
	v = pm_alloc_unset((few ? max : n) * sizeof *v);
	for (size_t i = 0; i < n && max; i++) {
		struct ranked r = { insns(p, i), (uint32_t)i };
		size_t at = k;

		if (!few) {
			v[k++] = r;
			continue;
		}
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
	if (!few)
		qsort(v, n, sizeof *v, by_rank);
	*order = pm_alloc(max * sizeof **order);
	for (size_t i = 0; i < max; i++)
		(*order)[i] = v[i].index;
	free(v);
	return max;
}

size_t pm_profile_top_functions(const struct pm_profile *p, size_t max, uint32_t **order)
{
	return top(p, function_insns, p->nfunction, max, order);
}

size_t pm_profile_top_objects(const struct pm_profile *p, uint32_t **order)
{
	return top(p, object_insns, p->nobject, 0, order);
}

size_t pm_profile_top_blocks(const struct pm_profile *p, size_t max, uint32_t **order)
{
	return top(p, block_insns, p->nblock, max, order);
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
