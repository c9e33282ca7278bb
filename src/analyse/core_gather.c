/* SPDX-License-Identifier: MIT */
/* core_gather.c - operations that are gathered are predicted and timed; the rarer half of
 * core_gather.h */
#include <string.h>

#include "analyse/core_gather.h"

struct blamed_row *core_blamed(struct core_sink *s, uint64_t pc)
{
	bool fresh;
	uint64_t *at = pm_map_put(&s->by->at, pc, &fresh);

	if (fresh) {
		*at = s->by->n;
		pm_grow(s->by->row, s->by->n, s->by->cap);
		memset(s->by->row + s->by->n, 0, sizeof *s->by->row);
		s->by->row[s->by->n++].pc = pc;
	}
	return s->by->row + *at;
}

static void account(struct core_sink *s, const struct core_insn *op, const struct core_ref *load)
{
	const struct pm_core_blame *b = pm_core_blame(s->k);
	uint64_t *v = s->sum ? s->sum : core_blamed(s, op->pc)->v;

	v[BLAME_Ir] += op->len > 0;	/* what goes on with a long one has no bytes of its own */
	v[BLAME_Fm] += op->fetch_level > 0;
	v[BLAME_Bm] += op->redirect == PM_CORE_WRONG;
	for (unsigned i = 0; i < op->nload; i++) {
		v[BLAME_Lm] += load[i].level > 0;
		v[BLAME_Llm] += load[i].level == 3;
	}
	if (b->why && s->sum) {
		/* the branch before is to blame, and it was in the piece before */
		v = b->misled ? s->misled : s->sum;
		s->any_late |= v == s->late;
		v[BLAME_Cbr + (b->why - PM_CORE_BY_BRANCH)] += b->cycles;
	} else if (b->why) {
		core_blamed(s, b->pc)->v[BLAME_Cbr + (b->why - PM_CORE_BY_BRANCH)] += b->cycles;
	}
	s->misled = s->sum;
}

/* One that wants to see all instructions sees them in order: the first of the operations that are
 * gathered may have had its branch before, the last one may have it yet to come. */
static void direct_among_others(struct core_sink *s, struct core_gathered *g)
{
	uint64_t other[CORE_GATHER];
	size_t n = 0, k = 0;

	for (size_t i = 0; i < g->n; i++) {
		bool is = !i && s->first_branched;

		for (; k < g->nbr && (g->br_op[k] == i || g->br_op[k] == CORE_NO_OP); k++) {
			s->bp->pass(s->dir, other, n);
			n = 0;
			s->bp->run(s->dir, g->br + k, 1, g->dir + k);
			is |= g->br_op[k] == i;
		}
		if (i + s->open == g->n)
			s->first_branched = is;
		else if (!is && g->op[i].len)
			other[n++] = g->op[i].pc;
	}
	s->bp->pass(s->dir, other, n);
	s->bp->run(s->dir, g->br + k, g->nbr - k, g->dir + k);
	if (!s->open)
		s->first_branched = false;
}

/* What the predictors say of all branches that are gathered. */
static void predict(struct core_sink *s, struct core_gathered *g)
{
	if (s->bp->pass)
		direct_among_others(s, g);
	else
		s->bp->run(s->dir, g->br, g->nbr, g->dir);
	pm_bp_btb.run(s->btb, g->br, g->nbr, g->btb);
	pm_bp_ras.run(s->ras, g->br, g->nbr, g->ras);
	pm_bp_ittage.run(s->ittage, g->br, g->nbr, g->ittage);
	for (size_t i = 0; i < g->nbr; i++) {
		const unsigned flags = g->br[i].flags;
		const bool wrong = flags & PM_BR_COND	    ? g->dir[i]
				   : flags & PM_BR_RET	    ? g->ras[i]
				   : flags & PM_BR_INDIRECT ? g->ittage[i]
							    : false;

		s->branches += (flags & (PM_BR_COND | PM_BR_RET | PM_BR_INDIRECT)) != 0;
		if (g->br_op[i] == CORE_NO_OP)
			continue;
		/* a direct branch that the BTB does not know is found by the decoder */
		g->op[g->br_op[i]].redirect =
			wrong ? PM_CORE_WRONG
			: g->btb[i] && !(flags & (PM_BR_INDIRECT | PM_BR_RET)) ? PM_CORE_BUBBLE
									       : PM_CORE_STRAIGHT;
	}
	g->nbr = 0;
}

/* The first @n of @g take time, and are accounted for if somebody asks. */
static void time_operations(struct core_sink *s, const struct core_gathered *g, size_t n)
{
	const struct core_ref *load = g->load, *store = g->store;

	if (s->instead) {
		s->instead(s->whose, g->op, n, load, store);
		return;
	}
	if (!s->by && !s->sum) {
		core_run(s->k, g->op, n, load, store);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		core_run(s->k, g->op + i, 1, load, store);
		account(s, g->op + i, load);
		load += g->op[i].nload;
		store += g->op[i].nstore;
	}
}

/* Has all operations timed, but for one that is still open. */
void core_drain(struct core_sink *s)
{
	struct core_gathered *g = s->gathered;
	const size_t n = g->n - s->open;

	predict(s, g);
	if (!n)
		return;
	s->laid = false;
	if (!s->timeless)
		time_operations(s, g, n);
	if (s->open) {
		const struct core_insn last = g->op[n];

		memmove(g->load, g->load + g->nload - last.nload, last.nload * sizeof *g->load);
		memmove(g->store, g->store + g->nstore - last.nstore,
			last.nstore * sizeof *g->store);
		g->rule[0] = *last.rule;
		g->op[0] = last;
		g->op[0].rule = g->rule;
		g->nload = last.nload;
		g->nstore = last.nstore;
	} else {
		g->nload = g->nstore = 0;
	}
	g->n = s->open;
}

void core_submit(struct core_sink *s)
{
	s->open = false;
	core_drain(s);
}

/* The lines of @op's code that are not the one that was fetched last. */
void core_fetch(struct core_sink *s, struct core_insn *op, uint64_t line, uint64_t last)
{
	for (; line <= last; line++) {
		const uint64_t addr = line << CORE_LINE_SHIFT;
		unsigned wait, level = 0;

		if (line == s->fetch_line)
			continue;
		wait = core_page_wait(s, PM_OP_FETCH, addr, 1);
		if (!cache_quick(s->cache, s->cache->first_i, PM_OP_FETCH, addr, 1, false, op->pc))
			level = s->level[pm_cache_access(s->cache, PM_OP_FETCH, addr, 1, false,
							 op->pc)];
		op->fetch_level = level > op->fetch_level ? level : op->fetch_level;
		op->fetch_wait = wait > op->fetch_wait ? wait : op->fetch_wait;
		op->shape |= level || wait ? CORE_ANY : 0;
		s->fetch_line = line;
	}
}

/* rep and its like: a further operation goes on. The branch, if it is one, ends the last. */
struct core_insn *core_continue(struct core_sink *s)
{
	struct core_gathered *g = s->gathered;
	struct core_insn *op;

	if (g->n == CORE_GATHER)
		core_drain(s);
	op = g->op + g->n++;
	s->laid = false;
	s->continued += !s->timeless;
	*op = op[-1];
	op->nload = op->nstore = op->fetch_level = op->len = 0;
	op->fetch_wait = 0;
	op->shape &= CORE_ANY;
	op[-1].redirect = PM_CORE_STRAIGHT;
	for (size_t i = g->nbr; i-- > 0 && g->br_op[i] == g->n - 2; )
		g->br_op[i] = g->n - 1;
	return op;
}
