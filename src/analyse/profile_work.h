/* SPDX-License-Identifier: MIT */
/* profile_work.h - what a profile is made with: private to the files of profile.h
 *
 *   profile_units.c    pieces to units of work, sorted
 *   profile_blocks.c   units to blocks, and what is in a block
 *   profile_views.c    the figures of one process, of one thread
 *   profile_names.c    functions, lines, disassembly
 *   profile.c          all of it in its order, and the mix
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
 * Let count(u) be the entries of unit u and done(u, i) the executions of its instruction i:
 * count(u) less the cuts at or in front of i. Rule (1) compares, for the address where u begins,
 * the entries of all units that begin there with done(n), the completed runs, of all units that
 * flow into it. It is evaluated for each thread by itself: a thread that is killed between two
 * units, and whose last cut is not told, loses one entry, which must not hide an entry that another
 * thread made. */
#ifndef PM_ANALYSE_PROFILE_WORK_H
#define PM_ANALYSE_PROFILE_WORK_H

#include "analyse/kept_forms.h"
#include "analyse/profile.h"
#include "base/bound.h"
#include "pugmark/pugmark.h"

struct insn_node;
struct unit_flow;

struct profile_unit {			/* only while its region is worked on */
	uint64_t addr;			/* in the file */
	uint64_t total;			/* entries, all threads of its process */
	uint32_t process, piece, object;
	bool cut;			/* work->cuts has entries for it */
};

struct profile_cover {			/* of a piece, for views; nseg 0: it is no unit */
	uint32_t seg;			/* its segments: work->seg[seg .. seg + nseg) */
	uint16_t nseg : 15;
	uint16_t slow : 1;		/* it is cut, or the sums below do not fit: count them
					 * again */
	uint16_t reads, writes, reps;	/* of a whole run */
};

struct profile_seg {			/* instructions start.. of a unit are pos.. of a block */
	uint32_t block;			/* PM_NONE: never executed */
	uint32_t start, pos;
};

/* A block. Nearly all are a part of some piece and were entered as often as that. */
struct brief_block {
	uint32_t from;			/* number of the piece; n == 0: index into work->full */
	uint32_t off : 12, size : 12;	/* bytes */
	uint32_t n : 8;			/* instructions */
};

/* How numbers are spread: those of each power of two. */
struct profile_spread {
	uint64_t sum[64], count[64];
};

struct profile_drop {	/* from its instruction @pos on, @block ran @times fewer times */
	uint32_t block, pos;
	uint64_t times;
};

struct profile_cuts {
	struct pm_cut *v;		/* by piece, then done */
	size_t n;
};

struct pm_profile_work {
	struct profile_cuts *cuts;		/* of each thread of each process */
	size_t *first_cuts, ncuts;	/* where a process begins in it */
	struct pm_kept_forms forms[2];	/* 64, 32 bit; once there is such an object */
	uint32_t *isa;			/* of each object: index into forms */
	uint32_t *first_piece;		/* number of a process's first piece: those of all are
					 * numbered through */
	uint32_t *object;		/* of the processes' objects one after the other: index,
					 * or PM_NONE */
	uint32_t *first_object;		/* where a process begins in it */
	uint32_t *order;		/* numbers of the units by object, address, number; until
					 * there are blocks */
	size_t nunit;
	struct brief_block *brief;		/* each block */
	size_t cap_brief;
	struct profile_spread spread;		/* of their instructions executed */
	struct pm_profile_block *full;	/* those that are not so simple */
	size_t nfull, cap_full;
	struct profile_cover *cover;		/* of each piece; NULL: there is one thread, and
						 * one view */
	struct profile_seg *seg;
	size_t nseg, cap_seg;
	struct profile_drop *drop;		/* by block, then pos */
	size_t ndrop, cap_drop;
	size_t cap_object;
	struct profile_run {			/* from @pos of @block on, up to the next, code
						 * belongs to @function */
		uint32_t block, pos, function;
	} *run;				/* by block, then pos */
	size_t nrun, cap_run;
	uint64_t mnemonic[PM_FORM_MNEMONICS];
	bool *tried;			/* to open the object's ELF file */
	size_t cap_function;
	uint64_t *entries, *insns;	/* of blocks, in one view; all zero between views */
	uint32_t *touched;

	/* scratch of one region, kept from region to region */
	struct profile_unit *unit;
	size_t cap_unit;
	struct insn_node *node;
	size_t nnode, cap_node;
	uint32_t *slot;			/* byte of the region -> node + 1 */
	size_t cap_slot;
	uint32_t *walk;			/* the nodes of each unit of the region, in order */
	size_t nwalk, cap_walk;
	struct unit_flow *flow;		/* units that flow into what follows them, by end and
					 * process */
	size_t nflow, cap_flow;
};

/* profile_units.c: the cuts sorted; the pieces numbered; those that ran in work->order */
void pm_profile_sort_cuts(struct pm_profile *p);
void pm_profile_number_pieces(struct pm_profile *p);
void pm_profile_sort_units(struct pm_profile *p);
/* profile_blocks.c: the units of work->order to blocks */
void pm_profile_regions(struct pm_profile *p);
/* profile_views.c: the figures of processes and threads, and of all */
void pm_profile_views(struct pm_profile *p);
bool pm_profile_has_views(const struct pm_counts *c);
/* Figures of one process, or of one thread of it, into @s; instructions by function into
 * @by_function unless it is NULL. */
#define ALL_THREADS SIZE_MAX
void pm_profile_view(struct pm_profile *p, size_t process, size_t thread, struct pm_profile_sum *s,
		     uint64_t *by_function);

static inline const struct pm_counts_process *process_of(const struct pm_profile *p,
							 const struct profile_unit *u)
{
	return &p->counts->process[u->process];
}

static inline const struct pm_piece *piece_of(const struct pm_profile *p,
					      const struct profile_unit *u)
{
	return &process_of(p, u)->piece[u->piece];
}

/* Entries of a piece, all threads. */
static inline uint64_t total(const struct pm_counts_process *pr, size_t piece)
{
	uint64_t n = 0;

	for (size_t t = 0; t < pr->nthread; t++)
		n += pr->thread[t].count[piece];
	return n;
}

/* The process of the piece of number @number. */
static inline size_t process_at(const struct pm_profile *p, uint32_t number)
{
	const struct pm_profile_work *w = p->work;

	return pm_upper_bound(w->first_piece, p->counts->nprocess, , number) - 1;
}

/* The piece of number @number as a unit, whether it is one or not; @cut is left out. */
static inline struct profile_unit unit_of(const struct pm_profile *p, uint32_t number)
{
	const struct pm_profile_work *w = p->work;
	const uint32_t process = (uint32_t)process_at(p, number);
	struct profile_unit u = { .process = process, .piece = number - w->first_piece[process] };
	const struct pm_counts_process *pr = process_of(p, &u);
	const struct pm_piece *pc = piece_of(p, &u);

	u.addr = pc->pc - pr->object[pc->object].bias;
	u.total = total(pr, u.piece);
	u.object = w->object[w->first_object[process] + pc->object];
	return u;
}

static inline uint32_t number_of(const struct pm_profile *p, const struct profile_unit *u)
{
	return p->work->first_piece[u->process] + u->piece;
}

static inline struct pm_forms *forms_of(const struct pm_profile *p, uint32_t object)
{
	return p->work->forms[p->work->isa[object]].f;
}

/* The first cut of @piece or, if it has none, of a later one. */
static inline size_t first_cut(const struct profile_cuts *c, uint32_t piece)
{
	return pm_lower_bound(c->v, c->n, .piece, piece);
}

static inline bool has_cut(const struct profile_cuts *c, uint32_t piece)
{
	size_t i = first_cut(c, piece);

	return i < c->n && c->v[i].piece == piece;
}

/* Executions of instruction @i of a unit by thread @t that are missing from the unit's entries. */
static inline uint64_t missing(const struct pm_profile *p, const struct profile_unit *u, size_t t,
			       uint32_t i)
{
	const struct profile_cuts *c = &p->work->cuts[p->work->first_cuts[u->process] + t];
	uint64_t n = 0;

	for (size_t k = first_cut(c, u->piece);
	     k < c->n && c->v[k].piece == u->piece && c->v[k].done <= i; k++)
		n += c->v[k].times;
	return n;
}

/* Executions of it by thread @t. A thread killed between two stores may have told of a cut and not
 * of the entry: nothing ran then. */
static inline uint64_t done_by(const struct pm_profile *p, const struct profile_unit *u, size_t t,
			       uint32_t i)
{
	uint64_t n = process_of(p, u)->thread[t].count[u->piece],
		 less = u->cut ? missing(p, u, t, i) : 0;

	return less < n ? n - less : 0;
}

static inline uint64_t done(const struct pm_profile *p, const struct profile_unit *u, uint32_t i)
{
	uint64_t n = 0;

	if (!u->cut)
		return u->total;
	for (size_t t = 0; t < process_of(p, u)->nthread; t++)
		n += done_by(p, u, t, i);
	return n;
}

static inline bool is_cut(const struct pm_profile *p, const struct profile_unit *u)
{
	const struct pm_profile_work *w = p->work;

	for (size_t t = 0; t < process_of(p, u)->nthread; t++) {
		const struct profile_cuts *c = &w->cuts[w->first_cuts[u->process] + t];

		if (c->n && has_cut(c, u->piece))
			return true;
	}
	return false;
}

static inline void spread_add(struct profile_spread *s, uint64_t x)
{
	if (!x)
		return;
	s->sum[63 - __builtin_clzll(x)] += x;
	s->count[63 - __builtin_clzll(x)]++;
}

static inline uint64_t block_insns(const struct pm_profile *p, size_t i)
{
	const struct brief_block b = p->work->brief[i];
	size_t process;

	if (!b.n)
		return p->work->full[b.from].insns;
	/* not by way of the piece, for a large program's are not in the processor's cache */
	process = process_at(p, b.from);
	return b.n * total(&p->counts->process[process], b.from - p->work->first_piece[process]);
}

#endif
