/* SPDX-License-Identifier: MIT */
/* tree_costs.c - the sink `tree-costs`: single instructions in, all that simulators count out
 *
 * The slow, obvious twin of tree_sink.c. What meters (calls.h) measure belongs to the context in
 * which the events lie that they are fed. */
#include <stdlib.h>
#include <string.h>

#include "analyse/names.h"
#include "analyse/tree_work.h"

#define ENTRY_BIT (1u << 31)

struct tree_meter { struct pm_calls_meter m; unsigned first; };	/* first: of its values in cost[] */

void pm_sim_tree_charge(void *self, const struct pm_calls_meter *m,
			const struct pm_tree_event *const *event)
{
	struct tree_sink *s = self;
	struct pm_tree *t = &s->raw;

	pm_grow(s->meter, s->nmeter, s->cap_meter);
	s->meter[s->nmeter++] = (struct tree_meter){ *m, t->ncost };
	for (unsigned k = 0; k < m->n; k++)
		if (event[k] && t->nevent < PM_TREE_EVENTS) {
			t->column[t->nevent] = t->ncost + k;
			t->event[t->nevent++] = *event[k];
		}
	t->ncost += m->n;
	t->cap_cost = t->cap;
	t->cost = pm_realloc(t->cost, t->cap * t->ncost * sizeof *t->cost);
	memset(t->cost, 0, t->cap * t->ncost * sizeof *t->cost);
	s->last.late = pm_realloc(s->last.late, t->ncost * sizeof *s->last.late);
}

static void feed_piece(struct tree_sink *s, uint32_t node, const struct pm_batch *piece, bool over)
{
	uint64_t *sum = s->raw.cost + (size_t)node * s->raw.ncost;
	uint64_t *last = s->raw.cost + (size_t)s->last.node * s->raw.ncost;

	for (size_t i = 0; i < s->nmeter; i++) {
		const struct tree_meter *m = s->meter + i;
		uint64_t *late = s->last.late;

		memset(late, 0, m->m.n * sizeof *late);
		if (m->m.feed(m->m.self, piece, over, sum + m->first, late) && s->last.any)
			for (unsigned k = 0; k < m->m.n; k++)
				last[m->first + k] += late[k];
	}
	s->last.node = node;
	s->last.any = true;
}

/* The events from *@from up to @upto are the context's where control is. */
static void feed(struct tree_sink *s, const struct tree_thread *t, const struct pm_batch *b,
		 const struct pm_event **from, const struct pm_event *upto, bool over)
{
	struct pm_batch piece = *b;

	if (!s->nmeter || *from == upto)
		return;
	piece.ev = *from;
	piece.n = (size_t)(upto - *from);
	*from = upto;
	feed_piece(s, t->node, &piece, over);
}

/* A trace without code tables: the names that --object gives, or one function for all. */
static struct tree_place place_without_code(struct tree_sink *s, uint64_t pc)
{
	struct pm_code code = { .nobject = 0 };
	struct tree_code none = { .code = &code };
	struct pm_object o;
	struct pm_insn in = { .pc = pc };
	struct tree_place p;
	struct pm_name n;

	if (!s->names || !pm_names_at(s->names, pc, false, &n) || !n.object)
		return (struct tree_place){ TREE_GENERATED, true };
	o = (struct pm_object){ .path = n.object, .base = n.base };
	code.object = &o;
	code.nobject = 1;
	p = tree_function_of(&s->functions, &s->raw, &none, &in, NULL);
	free(none.object);
	return p;
}

static struct tree_place place_of(struct tree_sink *s, struct tree_thread *t,
				  const struct pm_batch *b, const struct pm_event *e)
{
	struct tree_code *c = t->code;
	struct tree_place p;

	if (!c || !b->code || e->id >= c->code->ninsn)
		return place_without_code(s, e->addr);
	if (e->id >= c->ninsn) {
		const size_t n = c->code->ninsn + c->code->ninsn / 2 + 1024;

		c->insn = pm_realloc(c->insn, n * sizeof *c->insn);
		memset(c->insn + c->ninsn, 0, (n - c->ninsn) * sizeof *c->insn);
		c->ninsn = n;
	}
	if (!c->insn[e->id]) {
		p = tree_function_of(&s->functions, &s->raw, c, c->code->insn + e->id, NULL);
		c->insn[e->id] = p.function | (p.entry ? ENTRY_BIT : 0);
	}
	return (struct tree_place){ c->insn[e->id] & ~ENTRY_BIT, c->insn[e->id] & ENTRY_BIT };
}

static void branch(struct tree_thread *t, const struct pm_event *e)
{
	if (e->flags & PM_BR_CALL)
		t->end = e->flags & PM_BR_TAKEN ? TREE_CALLS : TREE_GOES_ON;
	else if (e->flags & PM_BR_RET)
		t->end = TREE_RETURNS;
	else
		t->end = e->flags & PM_BR_INDIRECT ? TREE_JUMPS : TREE_GOES_ON;
	t->next = e->addr + e->size;
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct tree_sink *s = self;
	struct tree_thread *t = tree_thread_of(s, b);
	const struct pm_event *from = b->ev, *end = b->ev + b->n;
	struct tree_place p;

	(void)err;
	if (s->names)
		pm_names_learn(s->names, b->code);
	if (!b->code && !t->code)		/* generated code needs one */
		t->code = tree_code_of(s, b);
	for (const struct pm_event *e = b->ev; e < end; e++)
		switch (e->kind) {
		case PM_EV_INSN:
			p = place_of(s, t, b, e);
			if (t->function != p.function || t->end >= TREE_CALLS) {
				feed(s, t, b, &from, e, true);
				tree_arrive(s, t, e->addr, p);
			}
			t->end = TREE_GOES_ON;
			s->raw.node[t->node].self++;
			break;
		case PM_EV_BRANCH:
			/* a call is the caller's cost, a return the callee's */
			if (e->flags & (PM_BR_CALL | PM_BR_RET))
				feed(s, t, b, &from, e + 1, true);
			if (t->depth)
				branch(t, e);
			break;
		case PM_EV_SIGNAL:
		case PM_EV_SIGRETURN:
		case PM_EV_PROCESS:
		case PM_EV_EXEC:
		case PM_EV_EXIT:
		case PM_EV_LOST:
			feed(s, t, b, &from, e, true);
			tree_other_event(t, e);
			break;
		default:
			break;
		}
	feed(s, t, b, &from, end, false);
	return PM_OK;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct tree_sink *s = self;

	(void)err;
	if (s->last.any)			/* no instruction goes on */
		feed_piece(s, s->last.node, &(struct pm_batch){ 0 }, true);
	return tree_sink_finish(s, r);
}

static void *create(const char *config, struct pm_err *err)
{
	struct tree_sink *s = tree_sink_new(config, err);

	if (s)
		s->names = pm_alloc(sizeof *s->names);
	return s;
}

static void destroy(void *self)
{
	tree_sink_free(self);
}

struct pm_names *pm_sim_tree_names(void *self)
{
	return ((struct tree_sink *)self)->names;
}

const struct pm_sink_ops pm_sim_tree_costs = {
	.abi = PM_ABI, .needs = PM_HAS_INSNS | PM_HAS_BRANCHES, .name = "tree-costs",
	.about = "calling-context tree with the costs that simulators find",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};
