/* SPDX-License-Identifier: MIT */
/* compile.c - what a record stands for */
#include "collect/consume/trace_state.h"

static const struct x86_at *insn_at(void *ctx, uint32_t i)
{
	return (const struct x86_at *)ctx + i;
}

/* The block's place in the code table, 1 + index; 0: it cannot be read. @at gets its instructions.
 */
static uint32_t describe(struct consumer *w, uint32_t number, struct x86_at *at)
{
	const struct source *src = &w->source[number];
	struct compiled *c = &w->compiled[number];
	const uint32_t first = (uint32_t)w->code.ninsn;
	uint32_t off = 0;

	if (!src->bytes || w->code.ninsn + 256 > MAX_INSNS)
		return 0;
	for (uint32_t i = 0; i < src->n; i++) {
		struct x86_at *a = &at[i];

		a->p = src->bytes + off;
		a->pc = src->pc + off;
		if (!x86_decode(w->dec[src->wide], a->p, src->size - off, &a->x))
			return 0;
		off += a->x.len;
	}
	if (c->block)
		return c->block;
	for (uint32_t i = 0; i < src->n; i++) {
		struct pm_insn *in = &w->insn[first + i];

		*in = (struct pm_insn){ .pc = at[i].pc,
					.len = at[i].x.len,
					.flow = at[i].x.class,
					.nref = at[i].x.nref,
					.rep = !!(at[i].x.prop & X86_REP),
					.isa = src->wide ? PM_ISA_X86_64 : PM_ISA_X86_32,
					.object = src->object };
		memcpy(in->bytes, at[i].p, at[i].x.len);
	}
	w->block[w->code.nblock] = (struct pm_block){ src->pc, first, src->n };
	w->code.ninsn += src->n;
	w->code.nobject = __atomic_load_n(&w->trace->nobject, __ATOMIC_ACQUIRE);
	return c->block = (uint32_t)++w->code.nblock;
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

/* All 0 if its stack pointer takes more than that. */
static struct skipped skipped_of(const struct compiled *c)
{
	const struct skipped s = { .insns = c->insns, .rsp_add = (int32_t)c->rsp_add,
				   .record = c->record, .rsp = c->rsp.from ? 0 : c->rsp.at,
				   .how = PM_DROP_ALWAYS };

	if (c->rsp.how != X86_VAL_WHOLE || c->plan_rsp == X86_VAL_NONE || s.rsp_add != c->rsp_add)
		return (struct skipped){ 0 };
	return s;
}

/* What packed batches say of @c, if all its references are simple. */
static void pack(struct consumer *w, uint32_t number, struct compiled *c)
{
	struct pm_chain_ref *to = w->chain_ref + w->nchain_ref;
	const bool wide = w->source[number].wide;
	struct quick_ref *quick;
	struct x86_sum sum;
	uint64_t kinds = c->npart;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->npart; i++) {
		for (uint32_t j = 0; j < c->part[i].nref; j++) {
			const struct x86_ref *r = &c->part[i].ref[j];

			if (!x86_ref_sum(r, &sum))
				return;
			kinds += 1ull << (r->kind - PM_EV_READ + 1) * PM_CHAIN_KIND_BITS;
		}
		n += c->part[i].nref;
	}
	if (n > BATCH || c->record >= AT_KNOWN || w->nchain_ref + n > MAX_REFS ||
	    w->nchain_part + c->npart > MAX_PARTS)
		return;
	quick = pm_arena_alloc(&w->mem, (n + 1) * sizeof *quick);
	w->chain[number] = (struct pm_chain){ .pc = c->part->pc,
					      .part = w->nchain_part,
					      .npart = c->npart,
					      .ref = w->nchain_ref,
					      .nref = n,
					      .kinds = kinds };
	c->ref = w->nchain_ref;
	n = 0;
	for (uint32_t i = 0; i < c->npart; i++) {
		const struct expander_part *part = c->part + i;

		w->chain_part[w->nchain_part++] = (struct pm_chain_part){ part->block, part->nref };
		for (uint32_t j = 0; j < part->nref; j++, n++) {
			const struct x86_ref *r = part->ref + j;

			quick[n] = quick_of(r);
			to[n] = (struct pm_chain_ref){ .insn = w->block[part->block].insn + r->insn,
						       .size = r->size,
						       .kind = r->kind,
						       .flags = r->flags };
		}
	}
	w->nchain_ref += n;
	c->nref = n;
	c->keeps_rsp = c->rsp.from && !c->rsp_add && c->rsp.at == 8 * KNOWN_RSP;
	c->quick = quick;
	c->packs = true;
	if (c->record == NUMBER)
		w->number_insns[number] = (uint16_t)c->insns;
	if (w->numbered)
		w->numbered[number] = skipped_of(c);
	else if (w->expander)
		w->expansion[number].run =
			expander_compile(w->expander, EXPAND_ADDRESSES, c->part, c->npart,
					 c->plan_rsp, c->rsp_add, wide);
}

static struct skipped dropped_of(struct consumer *w, const struct compiled *c)
{
	struct skipped g = skipped_of(c);

	if (!w->trace->feed.drop || !g.insns)
		return g;
	for (uint32_t i = 0; i < c->npart; i++) {
		const enum pm_drop how =
			w->trace->feed.drop(w->trace->feed.self, &w->code, c->part[i].block);

		if (how == PM_DROP_NEVER || (i && how != g.how))
			return (struct skipped){ 0 };
		g.how = (uint8_t)how;
	}
	return g;
}

#define MAX_CHAIN 64

/* HOT only for programs that never run anything twice. */
struct compiled *compile(struct consumer *w, uint32_t number)
{
	struct compiled *c = &w->compiled[number];
	const bool wide = w->source[number].wide;
	uint32_t chain[MAX_CHAIN], n = 0, insns = 0, begin = 0, r = 0;
	struct x86_at at[512];
	struct x86_ref *ref;
	struct expander_part *part;

	for (uint32_t k = number; k; k = w->source[k].prev) {
		PM_INVARIANT(1, w->source[k].prev != k);
		if (n == MAX_CHAIN)
			return NULL;
		chain[n++] = k;
	}
	part = pm_arena_alloc(&w->mem, n * sizeof *part);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t k = chain[n - 1 - i];

		if (insns + w->source[k].n > NR(at))
			return NULL;
		part[i] = (struct expander_part){ .pc = w->source[k].pc, .n = w->source[k].n,
						  .block = describe(w, k, at + insns) };
		if (!part[i].block--)
			return NULL;
		insns += part[i].n;
	}
	w->plan.nref = w->plan.size = 0;
	w->plan.rsp = X86_VAL_RSP;
	w->plan.rsp_add = 0;
	if (w->trace->o.kind == XL_EXEC)
		x86_plan(insn_at, at, insns, wide, &w->plan);
	if (w->source[number].record != 4 + w->plan.size)
		return NULL;
	ref = pm_arena_alloc(&w->mem, (w->plan.nref + 1) * sizeof *ref);
	if (w->plan.nref)			/* else there may be no array */
		memcpy(ref, w->plan.ref, w->plan.nref * sizeof *ref);
	for (uint32_t i = 0; i < n; i++) {
		part[i].ref = ref + r;
		for (; r < w->plan.nref && ref[r].insn < begin + part[i].n; r++) {
			ref[r].insn -= (uint8_t)begin;
			part[i].nref++;
		}
		begin += part[i].n;
	}
	c->record = w->source[number].record;
	c->rsp = place_of(w->plan.rsp);
	c->plan_rsp = w->plan.rsp;
	c->rsp_add = w->plan.rsp_add;
	c->npart = (uint16_t)n;
	c->insns = insns;
	c->part = part;
	if (w->dropped)
		w->dropped[number] = dropped_of(w, c);
	w->expansion[number] = (struct expansion){ .record = c->record, .insns = insns };
	if (w->packs)
		pack(w, number, c);
	return c;
}
