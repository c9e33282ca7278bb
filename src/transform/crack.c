/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "isa/x86/crack.h"
#include "trace/expand.h"
#include "trace/group.h"
#include "trace/text.h"
#include "transform/crack.h"

struct crack {
	struct pm_grouper g;
	struct pm_builder b;
	const struct pm_emit *emit;	/* of the call that runs */
	struct x86_cracked *tmpl;	/* by insn id; len 0xff: not decodable */
	uint64_t *runs;			/* executions of generic templates, by insn id */
	size_t cap;
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
static enum pm_status target(struct crack *c, const struct pm_stream *s, uint64_t number, struct pm_err *err)
{
	if (c->b.b.n && (c->b.b.stream != s || c->b.b.n >= PM_BATCH_EVENTS) && flush(c, err) == PM_ERR)
		return PM_ERR;
	if (!c->b.b.n) {
		pm_builder_reset(&c->b, s, c->g.code);
		c->b.b.first_insn = number;
	}
	c->b.b.code = c->g.code;
	return PM_OK;
}

static const struct x86_cracked *tmpl_of(struct crack *c, const struct pm_group *g)
{
	struct x86_cracked *t;

	if (!g->known || !g->insn.len || g->insn.len > 15 || g->insn.isa > PM_ISA_X86_32)
		return NULL;
	if (g->id >= c->cap) {
		size_t cap = c->cap ? c->cap : 1024;

		while (cap <= g->id)
			cap *= 2;
		c->tmpl = pm_realloc(c->tmpl, cap * sizeof *c->tmpl);
		c->runs = pm_realloc(c->runs, cap * sizeof *c->runs);
		memset(c->tmpl + c->cap, 0, (cap - c->cap) * sizeof *c->tmpl);
		memset(c->runs + c->cap, 0, (cap - c->cap) * sizeof *c->runs);
		c->cap = cap;
	}
	t = &c->tmpl[g->id];
	if (!t->len && !x86_crack(g->insn.bytes, g->insn.len, g->insn.isa == PM_ISA_X86_64, t))
		t->len = 0xff;
	return t->len == 0xff ? NULL : t;
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
	u->flags = from->flags;
	u->index = ++*index;
	memcpy(u->macro, t->macro, sizeof u->macro);
	strcpy(u->micro, from->micro);
	c->stats.uops++;
	return u;
}

static void access_memory(struct pm_uop *u, const struct pm_event *e, char ldst)
{
	u->ldst = ldst;
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
			u->branch = g->branch.flags & PM_BR_TAKEN || !t->cond ? 'T' : 'N';
		else if (t->cond)
			u->branch = g->next_known && g->next_pc != u->fall ? 'T' : 'N';
		else
			u->branch = 'T';
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
			u->branch = '-';	/* the trace ends here, and nobody knows where it went */
	}
}

static enum pm_status crack_group(void *self, const struct pm_group *g, struct pm_err *err)
{
	struct crack *c = self;
	const struct x86_cracked *t = tmpl_of(c, g);
	struct pm_event *e;

	if (g->known && g->insn.isa > PM_ISA_X86_32)
		return pm_fail_file(err, "the instruction at 0x%llx is no x86 instruction; micro-ops need x86 "
				    "instructions to be cracked from", (unsigned long long)g->pc);
	if (target(c, g->stream, g->number, err) == PM_ERR)
		return PM_ERR;
	if (!g->again) {
		e = pm_ev_add(&c->b, PM_EV_INSN, g->tag, g->size, g->pc, 0);
		e->id = g->id;
	}
	if (g->rep)
		pm_ev_add(&c->b, PM_EV_REP_ITER, 0, 0, g->pc, 0)->id = g->id;
	for (unsigned i = 0; i < g->nref; i++)
		*pm_ev_add(&c->b, PM_EV_READ, 0, 0, 0, 0) = g->ref[i];
	if (g->rep_end)
		pm_ev_add(&c->b, PM_EV_REP_END, 0, 0, g->pc, 0)->id = g->id;
	c->stats.insns++;
	if (!t) {
		c->stats.unknown++;
	} else {
		if (t->integer) {
			c->stats.integer++;
			c->stats.integer_specific += t->specific;
		} else {
			c->stats.other++;
			c->stats.other_specific += t->specific;
		}
		c->runs[g->id] += !t->specific;
		instantiate(c, g, t);
	}
	if (g->has_branch)
		*pm_ev_add(&c->b, PM_EV_BRANCH, 0, 0, 0, 0) = g->branch;
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

static enum pm_status crack_consume(void *self, const struct pm_batch *b, const struct pm_emit *emit,
				    struct pm_err *err)
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
	free(c->tmpl);
	free(c->runs);
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

unsigned pm_crack_generic(const void *self, char (*name)[12], uint64_t *count, unsigned n)
{
	const struct crack *c = self;
	unsigned have = 0;

	for (size_t i = 0; i < c->cap; i++) {
		unsigned k, at;

		if (!c->runs[i])
			continue;
		for (k = 0; k < have && strcmp(name[k], c->tmpl[i].macro); k++)
			;
		if (k == have) {
			if (have == n)
				continue;
			have++;
			strcpy(name[k], c->tmpl[i].macro);
			count[k] = 0;
		}
		count[k] += c->runs[i];
		for (at = k; at && count[at - 1] < count[at]; at--) {
			char t[12];
			uint64_t v = count[at];

			memcpy(t, name[at], 12);
			memcpy(name[at], name[at - 1], 12);
			memcpy(name[at - 1], t, 12);
			count[at] = count[at - 1];
			count[at - 1] = v;
		}
	}
	return have;
}

const struct pm_transform_ops pm_crack_ops = {
	.name = "cracking into micro-ops",
	.needs = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS,
	.adds = PM_HAS_UOPS | PM_HAS_REGS,
	.consume = crack_consume,
	.finish = crack_finish,
	.destroy = crack_destroy,
};
