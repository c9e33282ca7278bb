/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "trace/group.h"

static struct pm_group *slot_of(struct pm_grouper *g, const struct pm_stream *s)
{
	if (s->index >= g->cap) {
		size_t cap = g->cap ? g->cap : 4;

		while (cap <= s->index)
			cap *= 2;
		g->open = pm_realloc(g->open, cap * sizeof *g->open);
		g->busy = pm_realloc(g->busy, cap);
		memset(g->open + g->cap, 0, (cap - g->cap) * sizeof *g->open);
		memset(g->busy + g->cap, 0, cap - g->cap);
		g->cap = cap;
	}
	if (!g->open[s->index])
		g->open[s->index] = pm_alloc(sizeof **g->open);
	return g->open[s->index];
}

static enum pm_status flush(struct pm_grouper *g, uint32_t index, struct pm_err *err)
{
	if (!g->busy[index])
		return PM_OK;
	g->busy[index] = false;
	return g->group(g->self, g->open[index], err);
}

static void begin(struct pm_grouper *g, struct pm_group *o, const struct pm_batch *b,
		  const struct pm_event *e, uint64_t number)
{
	o->stream = b->stream;
	o->pc = e->addr;
	o->number = number;
	o->id = e->id;
	o->epoch = b->code ? b->code->epoch : 0;
	o->size = e->size;
	o->tag = e->flags;
	o->known = b->code && e->id < b->code->ninsn;
	if (o->known)
		o->insn = b->code->insn[e->id];
	o->again = o->rep = o->rep_end = o->has_branch = o->next_known = false;
	o->nref = o->nrd = o->nwr = o->nuop = 0;
	g->busy[b->stream->index] = true;
}

/* The same instruction goes on: its next iteration, or more references than a group holds. */
static enum pm_status again(struct pm_grouper *g, struct pm_group *o, uint32_t index,
			    struct pm_err *err)
{
	o->next_known = true;
	o->next_pc = o->pc;
	if (flush(g, index, err) == PM_ERR)
		return PM_ERR;
	o->again = true;
	o->has_branch = o->next_known = o->rep_end = false;
	o->nref = o->nrd = o->nwr = o->nuop = 0;
	g->busy[index] = true;
	return PM_OK;
}

static inline void add_reg(const struct pm_batch *b, const struct pm_event *e,
			   struct pm_group_reg *to, unsigned *n)
{
	struct pm_group_reg *r = &to[*n];

	if (*n == PM_GROUP_REGS)
		return;
	++*n;
	*r = (struct pm_group_reg){ e->id, e->size, e->value, 0 };
	if (e->size == 16 && b->narena >= 16 && e->addr <= b->narena - 16) {
		memcpy(&r->value, b->arena + e->addr, 8);
		memcpy(&r->high, b->arena + e->addr + 8, 8);
	}
}

/* Not the open instruction's, but of one that did not complete, and thus of no group. */
static bool foreign(const struct pm_batch *b, const struct pm_event *e, const struct pm_group *o)
{
	return o->known && e->id != PM_NONE && b->code && e->id < b->code->ninsn &&
	       b->code->insn[e->id].pc != o->pc;
}

/* The code table has begun anew: is the open instruction among those that it began with? */
static void find_again(struct pm_group *o, const struct pm_code *code)
{
	for (uint32_t i = 0; i < 2 && i < code->ninsn; i++)
		if (code->insn[i].pc == o->pc && code->insn[i].len == o->insn.len &&
		    !memcmp(code->insn[i].bytes, o->insn.bytes, o->insn.len)) {
			o->id = i;
			o->epoch = code->epoch;
			return;
		}
}

/* HOT: once per event. */
enum pm_status pm_grouper_batch(struct pm_grouper *g, const struct pm_batch *b, struct pm_err *err)
{
	uint32_t index = b->stream->index;
	struct pm_group *o = slot_of(g, b->stream);
	uint64_t number = b->first_insn;
	const struct pm_event *e = b->ev, *end = b->ev + b->n;
	const bool renewed = g->busy[index] && o->known && b->code && o->epoch != b->code->epoch;

	if (renewed)
		find_again(o, b->code);
	g->code = b->code;
	while (e < end) {
		/* what belongs to an instruction that has begun */
		if (g->busy[index])
			for (; e < end; e++) {
				const unsigned kind = e->kind;

				if (kind == PM_EV_REG_READ || kind == PM_EV_REG_WRITE) {
					if (g->no_regs) {
						o->nrd += kind == PM_EV_REG_READ;
						o->nwr += kind == PM_EV_REG_WRITE;
					} else if (kind == PM_EV_REG_READ) {
						add_reg(b, e, o->rd, &o->nrd);
					} else {
						add_reg(b, e, o->wr, &o->nwr);
					}
				} else if (kind == PM_EV_READ || kind == PM_EV_WRITE ||
					   kind == PM_EV_MODIFY) {
					if ((e->id != o->id || renewed) && foreign(b, e, o))
						break;
					if (o->nref == PM_GROUP_REFS &&
					    again(g, o, index, err) == PM_ERR)
						return PM_ERR;
					o->ref[o->nref++] = *e;
				} else if (kind == PM_EV_BRANCH) {
					o->has_branch = true;
					o->branch = *e;
				} else if (kind == PM_EV_UOP) {
					if (o->nuop < PM_GROUP_UOPS)
						o->uop[o->nuop++] = b->uop[e->id];
				} else if (kind == PM_EV_REP_ITER) {
					if ((e->id != o->id || renewed) && foreign(b, e, o))
						break;
					if ((o->rep || o->nref) &&
					    again(g, o, index, err) == PM_ERR)
						return PM_ERR;
					o->rep = true;
				} else if (kind == PM_EV_REP_END) {
					o->rep_end = true;
				} else if (
					kind !=
					PM_EV_BUS) { /* its reference or fetch stands beside it */
					break;
				}
			}
		if (e == end)
			break;
		if (e->kind == PM_EV_INSN) {
			if (g->busy[index]) {
				o->next_known = true;
				o->next_pc = e->addr;
				if (flush(g, index, err) == PM_ERR)
					return PM_ERR;
			}
			begin(g, o, b, e++, number++);
			continue;
		}
		/* An outcome still to come, or further iterations, may stand behind events that
		 * tell nothing about it. */
		if (g->busy[index] && !(o->rep && !o->rep_end) &&
		    !(o->known && o->insn.flow != PM_CLASS_NONE &&
		      o->insn.flow != PM_CLASS_SYSCALL && !o->has_branch) &&
		    flush(g, index, err) == PM_ERR)
			return PM_ERR;
		if (e->kind != PM_EV_BUS && g->other && g->other(g->self, b, e, err) == PM_ERR)
			return PM_ERR;
		e++;
	}
	return PM_OK;
}

enum pm_status pm_grouper_flush(struct pm_grouper *g, const struct pm_stream *s, struct pm_err *err)
{
	return s->index < g->cap ? flush(g, s->index, err) : PM_OK;
}

enum pm_status pm_grouper_finish(struct pm_grouper *g, struct pm_err *err)
{
	for (uint32_t i = 0; i < g->cap; i++)
		if (flush(g, i, err) == PM_ERR)
			return PM_ERR;
	return PM_OK;
}

void pm_grouper_release(struct pm_grouper *g)
{
	for (size_t i = 0; i < g->cap; i++)
		free(g->open[i]);
	free(g->open);
	free(g->busy);
	g->open = NULL;
	g->busy = NULL;
	g->cap = 0;
}

const struct x86_regs *pm_regs_of(struct pm_regs_cache *c, const struct pm_group *g)
{
	if (!g->known || !g->insn.len || g->insn.len > 15 || g->insn.isa > PM_ISA_X86_32)
		return NULL;
	if (c->epoch != g->epoch) {
		if (!pm_epoch_begins(&c->epoch, g))
			return x86_regs(g->insn.bytes, g->insn.len, g->insn.isa == PM_ISA_X86_64,
					&c->late)
				       ? &c->late
				       : NULL;
		if (c->cap)
			memset(c->state, 0, c->cap);
	}
	if (g->id >= c->cap) {
		size_t cap = c->cap ? c->cap : 1024;

		while (cap <= g->id)
			cap *= 2;
		c->v = pm_realloc(c->v, cap * sizeof *c->v);
		c->state = pm_realloc(c->state, cap);
		memset(c->state + c->cap, 0, cap - c->cap);
		c->cap = cap;
	}
	if (!c->state[g->id])
		c->state[g->id] = x86_regs(g->insn.bytes, g->insn.len, g->insn.isa == PM_ISA_X86_64,
					   &c->v[g->id]) ? 1 : 2;
	return c->state[g->id] == 1 ? &c->v[g->id] : NULL;
}

void pm_regs_release(struct pm_regs_cache *c)
{
	free(c->v);
	free(c->state);
	*c = (struct pm_regs_cache){ 0 };
}
