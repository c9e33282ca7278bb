/* SPDX-License-Identifier: MIT */
/* compile.c - what a record stands for */
#include "collect/consume/trace_state.h"

static const struct x86_at *insn_at(void *ctx, uint32_t i)
{
	return (const struct x86_at *)ctx + i;
}

/* The block's place in the code table, 1 + index; 0: it cannot be read. @at gets its instructions.
 */
static uint32_t describe(struct tracer *t, uint32_t number, struct x86_at *at)
{
	const struct source *src = &t->source[number];
	struct compiled *c = &t->compiled[number];
	const uint32_t first = (uint32_t)t->code.ninsn;
	uint32_t off = 0;

	if (!src->bytes || t->code.ninsn + 256 > MAX_INSNS)
		return 0;
	for (uint32_t i = 0; i < src->n; i++) {
		struct x86_at *a = &at[i];

		a->p = src->bytes + off;
		a->pc = src->pc + off;
		if (!x86_decode(t->dec[src->wide], a->p, src->size - off, &a->x))
			return 0;
		off += a->x.len;
	}
	if (c->block)
		return c->block;
	for (uint32_t i = 0; i < src->n; i++) {
		struct pm_insn *in = &t->insn[first + i];

		*in = (struct pm_insn){ .pc = at[i].pc,
					.len = at[i].x.len,
					.flow = at[i].x.class,
					.nref = at[i].x.nref,
					.rep = !!(at[i].x.prop & X86_REP),
					.isa = src->wide ? PM_ISA_X86_64 : PM_ISA_X86_32,
					.object = src->object };
		memcpy(in->bytes, at[i].p, at[i].x.len);
	}
	t->block[t->code.nblock] = (struct pm_block){ src->pc, first, src->n };
	t->code.ninsn += src->n;
	t->code.nobject = __atomic_load_n(&t->main->nobject, __ATOMIC_ACQUIRE);
	return c->block = (uint32_t)++t->code.nblock;
}

static uint16_t quick_place(struct place p)
{
	return p.at | (p.from ? AT_KNOWN : 0) | p.how;
}

static struct quick_ref quick_of(const struct x86_ref *r)
{
	struct x86_sum sum;
	struct place base, index;
	struct quick_ref q;

	x86_ref_sum(r, &sum);
	base = place_of(sum.base);
	index = place_of(sum.index);
	q = (struct quick_ref){ .add = r->disp,
				.base = quick_place(base),
				.index = quick_place(index),
				.last = r->size ? r->size - 1 : 0,
				.scale = sum.scale,
				.how = QUICK_ANY };
	if (!base.from && base.how == X86_VAL_WHOLE && !index.from) {
		q.how = QUICK_INDEX + index.how;
		q.index = index.at;
	} else if (!base.from && base.how == X86_VAL_WHOLE && sum.index == X86_VAL_NONE) {
		q.how = QUICK_BASE;
	}
	return q;
}

/* What packed batches say of @c, if all its references are simple. */
static void pack(struct tracer *t, uint32_t number, struct compiled *c)
{
	struct pm_chain_ref *to = t->chain_ref + t->nchain_ref;
	const bool wide = t->source[number].wide;
	struct quick_ref *quick;
	struct x86_sum sum;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->npart; i++) {
		for (uint32_t j = 0; j < c->part[i].nref; j++)
			if (!x86_ref_sum(&c->part[i].ref[j], &sum))
				return;
		n += c->part[i].nref;
	}
	if (n > BATCH || c->record >= AT_KNOWN || t->nchain_ref + n > MAX_REFS ||
	    t->nchain_part + c->npart > MAX_PARTS)
		return;
	quick = pm_arena_alloc(&t->mem, (n + 1) * sizeof *quick);
	t->chain[number] = (struct pm_chain){ .pc = c->part->pc,
					      .part = t->nchain_part,
					      .npart = c->npart,
					      .ref = t->nchain_ref,
					      .nref = n };
	c->ref = t->nchain_ref;
	n = 0;
	for (uint32_t i = 0; i < c->npart; i++) {
		const struct expander_part *part = c->part + i;

		t->chain_part[t->nchain_part++] = (struct pm_chain_part){ part->block, part->nref };
		for (uint32_t j = 0; j < part->nref; j++, n++) {
			const struct x86_ref *r = part->ref + j;

			quick[n] = quick_of(r);
			to[n] = (struct pm_chain_ref){ .insn = t->block[part->block].insn + r->insn,
						       .size = r->size,
						       .kind = r->kind,
						       .flags = r->flags };
		}
	}
	t->nchain_ref += n;
	c->nref = n;
	c->keeps_rsp = c->rsp.from && !c->rsp_add && c->rsp.at == 8 * KNOWN_RSP;
	c->quick = quick;
	c->packs = true;
	if (t->expander)
		t->expansion[number].run =
			expander_compile(t->expander, EXPAND_ADDRESSES, c->part, c->npart,
					 c->plan_rsp, c->rsp_add, wide);
}

static struct dropped dropped_of(struct tracer *t, const struct compiled *c)
{
	struct dropped g = { .insns = c->insns, .rsp_add = (int32_t)c->rsp_add, .record = c->record,
			    .rsp = c->rsp.from ? 0 : c->rsp.at };

	if (c->rsp.how != X86_VAL_WHOLE || c->plan_rsp == X86_VAL_NONE)
		return (struct dropped){ 0 };
	for (uint32_t i = 0; i < c->npart; i++) {
		const enum pm_drop how =
			pm_pipeline_drop(t->o.pipeline, &t->code, c->part[i].block);

		if (how == PM_DROP_NEVER || (i && how != g.how) || g.rsp_add != c->rsp_add)
			return (struct dropped){ 0 };
		g.how = (uint8_t)how;
	}
	return g;
}

#define MAX_CHAIN 64

/* HOT only for programs that never run anything twice. */
struct compiled *compile(struct tracer *t, uint32_t number)
{
	struct compiled *c = &t->compiled[number];
	const bool wide = t->source[number].wide;
	uint32_t chain[MAX_CHAIN], n = 0, insns = 0, begin = 0, r = 0;
	struct x86_at at[512];
	struct x86_ref *ref;
	struct expander_part *part;

	for (uint32_t k = number; k; k = t->source[k].prev) {
		if (n == MAX_CHAIN)
			return NULL;
		chain[n++] = k;
	}
	part = pm_arena_alloc(&t->mem, n * sizeof *part);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t k = chain[n - 1 - i];

		if (insns + t->source[k].n > NR(at))
			return NULL;
		part[i] = (struct expander_part){ .pc = t->source[k].pc, .n = t->source[k].n,
						  .block = describe(t, k, at + insns) };
		if (!part[i].block--)
			return NULL;
		insns += part[i].n;
	}
	t->plan.nref = t->plan.size = 0;
	t->plan.rsp = X86_VAL_RSP;
	t->plan.rsp_add = 0;
	if (t->o.kind == XL_EXEC)
		x86_plan(insn_at, at, insns, wide, &t->plan);
	if (t->source[number].record != 4 + t->plan.size)
		return NULL;
	ref = pm_arena_alloc(&t->mem, (t->plan.nref + 1) * sizeof *ref);
	if (t->plan.nref)			/* else there may be no array */
		memcpy(ref, t->plan.ref, t->plan.nref * sizeof *ref);
	for (uint32_t i = 0; i < n; i++) {
		part[i].ref = ref + r;
		for (; r < t->plan.nref && ref[r].insn < begin + part[i].n; r++) {
			ref[r].insn -= (uint8_t)begin;
			part[i].nref++;
		}
		begin += part[i].n;
	}
	c->record = t->source[number].record;
	c->rsp = place_of(t->plan.rsp);
	c->plan_rsp = t->plan.rsp;
	c->rsp_add = t->plan.rsp_add;
	c->npart = (uint16_t)n;
	c->insns = insns;
	c->part = part;
	if (t->dropped)
		t->dropped[number] = dropped_of(t, c);
	t->expansion[number] = (struct expansion){ .record = c->record, .insns = insns };
	if (t->packs)
		pack(t, number, c);
	return c;
}
