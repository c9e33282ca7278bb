/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "isa/x86/crack.h"
#include "trace/expand.h"
#include "trace/group.h"
#include "trace/penn.h"
#include "trace/text.h"
#include "transform/to_uops.h"

struct tmpl {
	bool known;			/* the bytes are an instruction */
	uint32_t generic;		/* index; only if it is not specific */
	struct x86_cracked c;		/* last, because it is cut behind its micro-ops */
};

struct crack {
	struct pm_grouper g;
	struct pm_builder b;
	const struct pm_emit *emit;	/* of the call that runs */
	struct tmpl **tmpl;		/* by insn id, of epoch; in mem */
	size_t cap;
	uint32_t epoch;
	struct pm_arena mem;
	struct tmpl late;		/* of an instruction of an epoch that is over */
	/* executions by the generic recipe */
	struct generic { char name[12]; uint64_t runs; } *generic;
	size_t ngeneric, cap_generic;
	struct pm_crack_stats stats;
};

static enum pm_status flush(struct crack *c, struct pm_err *err)
{
	enum pm_status st;

	if (!c->b.b.n)
		return PM_OK;
	st = c->emit->batch(c->emit->to, pm_builder_batch(&c->b), err);
	c->b.b.n = 0;
	return st;
}

/* The builder belongs to one stream at a time. */
static enum pm_status target(struct crack *c, const struct pm_stream *s, uint64_t number,
			     struct pm_err *err)
{
	if (c->b.b.n && (c->b.b.stream != s || c->b.b.n >= PM_BATCH_EVENTS) &&
	    flush(c, err) == PM_ERR)
		return PM_ERR;
	if (!c->b.b.n) {
		pm_builder_reset(&c->b, s, c->g.code);
		c->b.b.first_insn = number;
	}
	c->b.b.code = c->g.code;
	return PM_OK;
}

static uint32_t generic_of(struct crack *c, const char *name)
{
	uint32_t i = 0;

	while (i < c->ngeneric && strcmp(c->generic[i].name, name))
		i++;
	if (i == c->ngeneric) {
		pm_grow(c->generic, c->ngeneric, c->cap_generic);
		c->generic[c->ngeneric] = (struct generic){ .runs = 0 };
		strcpy(c->generic[c->ngeneric++].name, name);
	}
	return i;
}

static void make(struct crack *c, const struct pm_group *g, struct tmpl *t)
{
	t->known = x86_crack(g->insn.bytes, g->insn.len, g->insn.isa == PM_ISA_X86_64, &t->c);
	if (t->known && !t->c.specific)
		t->generic = generic_of(c, t->c.macro);
}

/* NULL: the bytes are no instruction. Until the next call. */
static const struct tmpl *tmpl_of(struct crack *c, const struct pm_group *g)
{
	struct tmpl **t;

	if (!g->known || !g->insn.len || g->insn.len > 15 || g->insn.isa > PM_ISA_X86_32)
		return NULL;
	if (g->epoch != c->epoch) {
		if (!pm_epoch_begins(&c->epoch, g)) {
			make(c, g, &c->late);
			return c->late.known ? &c->late : NULL;
		}
		pm_arena_release(&c->mem);
		if (c->cap)
			memset(c->tmpl, 0, c->cap * sizeof *c->tmpl);
	}
	if (g->id >= c->cap) {
		size_t cap = c->cap ? c->cap : 1024;

		while (cap <= g->id)
			cap *= 2;
		c->tmpl = pm_realloc(c->tmpl, cap * sizeof *c->tmpl);
		memset(c->tmpl + c->cap, 0, (cap - c->cap) * sizeof *c->tmpl);
		c->cap = cap;
	}
	t = &c->tmpl[g->id];
	if (!*t) {
		size_t n;

		make(c, g, &c->late);
		n = offsetof(struct tmpl, c.uop) +
		    (c->late.known ? c->late.c.n : 0) * sizeof c->late.c.uop[0];
		*t = pm_arena_alloc(&c->mem, n);
		memcpy(*t, &c->late, n);
	}
	return (*t)->known ? *t : NULL;
}

static struct pm_uop *put(struct crack *c, const struct pm_group *g, const struct x86_cracked *t,
			  const struct x86_uop *from, int32_t *index)
{
	struct pm_uop *u = pm_builder_uop(&c->b);

	c->b.ev[c->b.b.n - 1].addr = g->pc;
	u->pc = g->pc;
	u->imm = from->imm;
	u->fall = g->pc + t->len;
	u->src1 = from->src1;
	u->src2 = from->src2;
	u->dest = from->dest;
	u->flag_use = penn_value(PENN_FLAG_USE, from->flags);
	u->index = ++*index;
	memcpy(u->macro, t->macro, sizeof u->macro);
	strcpy(u->micro, from->micro);
	c->stats.uops++;
	return u;
}

static void access_memory(struct pm_uop *u, const struct pm_event *e, char ldst)
{
	u->access = penn_value(PENN_ACCESS, ldst);
	u->mem = e->addr;
	u->msize = e->size > 255 ? 0 : (uint8_t)e->size;
}

/* The next reference of the kind, from *at on; NULL: there is none. */
static const struct pm_event *next_ref(const struct pm_group *g, unsigned *at, char ldst)
{
	while (*at < g->nref) {
		const struct pm_event *e = &g->ref[(*at)++];

		if (e->kind != (ldst == 'L' ? PM_EV_WRITE : PM_EV_READ) && e->addr)
			return e;
	}
	return NULL;
}

static void instantiate(struct crack *c, const struct pm_group *g, const struct x86_cracked *t)
{
	unsigned rd = 0, wr = 0, last_load = t->n, last_store = t->n;
	bool idle = t->rep && !g->nref && !g->rep && !g->again;	/* zero iterations */
	int32_t index = 0;

	for (unsigned i = 0; i < t->n; i++) {
		if (t->uop[i].ldst == 'L')
			last_load = i;
		if (t->uop[i].ldst == 'S')
			last_store = i;
	}
	if (idle && t->n) {
		static const struct x86_uop test = { 1, -1, 44, '-', '-', '-', 0, 0, "SUB_IMM" };

		put(c, g, t, &test, &index);
		return;
	}
	for (unsigned i = 0; i < t->n; i++) {
		const struct x86_uop *from = &t->uop[i];
		const struct pm_event *e;
		struct pm_uop *u;
		uint64_t to;

		if (from->ldst != '-') {
			unsigned *at = from->ldst == 'L' ? &rd : &wr;
			bool last = i == (from->ldst == 'L' ? last_load : last_store);

			e = next_ref(g, at, from->ldst);
			if (!e)
				c->stats.missing++;
			for (; e; e = last ? next_ref(g, at, from->ldst) : NULL)
				access_memory(put(c, g, t, from, &index), e, from->ldst);
			continue;
		}
		u = put(c, g, t, from, &index);
		if (from->branch == '-')
			continue;
		to = g->has_branch ? g->branch.value : 0;
		if (g->has_branch)
			u->outcome = g->branch.flags & PM_BR_TAKEN || !t->cond ? PM_UOP_TAKEN :
				     PM_UOP_NOT_TAKEN;
		else if (t->cond)
			u->outcome = g->next_known && g->next_pc != u->fall ? PM_UOP_TAKEN :
				     PM_UOP_NOT_TAKEN;
		else
			u->outcome = PM_UOP_TAKEN;
		if (from->branch == 'D') {
			/* a direct target needs nobody to tell it */
			to = u->fall + (uint64_t)from->imm;
			if (g->insn.isa == PM_ISA_X86_32)
				to &= UINT32_MAX;
		} else if (!to && g->next_known) {
			to = g->next_pc;
		}
		u->target = to;
		if (!to)
			u->outcome = PM_UOP_NO_BRANCH;	/* the trace ends here, and nobody knows
							 * where it went */
	}
}

static enum pm_status crack_group(void *self, const struct pm_group *g, struct pm_err *err)
{
	struct crack *c = self;
	const struct tmpl *t = tmpl_of(c, g);
	const uint32_t epoch = c->g.code ? c->g.code->epoch : 0,
		       id = g->epoch == epoch ? g->id : PM_NONE;
	struct pm_event *e;

	if (g->known && g->insn.isa > PM_ISA_X86_32)
		return pm_fail_file(err,
				    "the instruction at 0x%llx is no x86 instruction; micro-ops "
				    "need x86 "
				    "instructions to be cracked from",
				    (unsigned long long)g->pc);
	if (target(c, g->stream, g->number, err) == PM_ERR)
		return PM_ERR;
	if (!g->again) {
		e = pm_ev_add(&c->b, PM_EV_INSN, g->tag, g->size, g->pc, 0);
		e->id = id;
	}
	if (g->rep)
		pm_ev_add(&c->b, PM_EV_REP_ITER, 0, 0, g->pc, 0)->id = id;
	for (unsigned i = 0; i < g->nref; i++) {
		e = pm_ev_add(&c->b, PM_EV_READ, 0, 0, 0, 0);
		*e = g->ref[i];
		/* it has the instruction's number or none: that of its epoch means something else
		 * now */
		if (id == PM_NONE)
			e->id = PM_NONE;
	}
	if (g->rep_end)
		pm_ev_add(&c->b, PM_EV_REP_END, 0, 0, g->pc, 0)->id = id;
	c->stats.insns++;
	if (!t) {
		c->stats.unknown++;
	} else {
		if (t->c.integer) {
			c->stats.integer++;
			c->stats.integer_specific += t->c.specific;
		} else {
			c->stats.other++;
			c->stats.other_specific += t->c.specific;
		}
		if (!t->c.specific)
			c->generic[t->generic].runs++;
		instantiate(c, g, &t->c);
	}
	if (g->has_branch) {
		e = pm_ev_add(&c->b, PM_EV_BRANCH, 0, 0, 0, 0);
		*e = g->branch;
		if (id == PM_NONE)
			e->id = PM_NONE;
	}
	return PM_OK;
}

static enum pm_status crack_other(void *self, const struct pm_batch *b, const struct pm_event *e,
				  struct pm_err *err)
{
	struct crack *c = self;
	const struct pm_rare *r;

	/* what a format keeps for itself is not worth a copy here */
	if (e->kind == PM_EV_OPAQUE)
		return PM_OK;
	if (target(c, b->stream, b->first_insn, err) == PM_ERR)
		return PM_ERR;
	if (e->id < b->nrare && e->kind >= PM_EV_KERNEL && e->kind <= PM_EV_MARKER) {
		struct pm_rare *to;
		uint32_t id;
		const char *name;

		r = &b->rare[e->id];
		to = pm_builder_rare(&c->b, (enum pm_kind)e->kind, r->name);
		name = to->name;
		*to = *r;
		to->name = name;
		id = c->b.ev[c->b.b.n - 1].id;
		c->b.ev[c->b.b.n - 1] = *e;
		c->b.ev[c->b.b.n - 1].id = id;
		return PM_OK;
	}
	*pm_ev_add(&c->b, PM_EV_NONE, 0, 0, 0, 0) = *e;
	return PM_OK;
}

static enum pm_status crack_consume(void *self, const struct pm_batch *b,
				    const struct pm_emit *emit, struct pm_err *err)
{
	struct crack *c = self;

	c->emit = emit;
	if (pm_grouper_batch(&c->g, b, err) == PM_ERR)
		return PM_ERR;
	/* the code table may move before the next batch: what points to it goes out now */
	return flush(c, err);
}

static enum pm_status crack_finish(void *self, const struct pm_emit *emit, struct pm_err *err)
{
	struct crack *c = self;

	c->emit = emit;
	if (pm_grouper_finish(&c->g, err) == PM_ERR)
		return PM_ERR;
	return flush(c, err);
}

static void crack_destroy(void *self)
{
	struct crack *c = self;

	if (!c)
		return;
	pm_grouper_release(&c->g);
	pm_builder_release(&c->b);
	pm_arena_release(&c->mem);
	free(c->tmpl);
	free(c->generic);
	free(c);
}

void *pm_crack_new(void)
{
	struct crack *c = pm_alloc(sizeof *c);

	c->g = (struct pm_grouper){ .group = crack_group, .other = crack_other, .self = c };
	return c;
}

const struct pm_crack_stats *pm_crack_stats(const void *self)
{
	return &((const struct crack *)self)->stats;
}

static int more_runs(const void *a, const void *b)
{
	const struct generic *x = a, *y = b;

	return x->runs != y->runs ? x->runs < y->runs ? 1 : -1 : strcmp(x->name, y->name);
}

unsigned pm_crack_generic(const void *self, char (*name)[12], uint64_t *count, unsigned n)
{
	const struct crack *c = self;
	struct generic *all = c->ngeneric ? pm_alloc(c->ngeneric * sizeof *all) : NULL;

	if (n > c->ngeneric)
		n = (unsigned)c->ngeneric;
	if (all) {
		memcpy(all, c->generic, c->ngeneric * sizeof *all);
		qsort(all, c->ngeneric, sizeof *all, more_runs);
	}
	for (unsigned i = 0; i < n; i++) {
		memcpy(name[i], all[i].name, 12);
		count[i] = all[i].runs;
	}
	free(all);
	return n;
}

const struct pm_transform_ops pm_crack_ops = {
	.name = "cracking into micro-ops",
	.needs = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS,
	.adds = PM_HAS_UOPS | PM_HAS_REGS,
	.flags = PM_SINK_EPOCHS,
	.consume = crack_consume,
	.finish = crack_finish,
	.destroy = crack_destroy,
};
