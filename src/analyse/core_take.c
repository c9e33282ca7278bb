/* SPDX-License-Identifier: MIT */
/* core_take.c - the sink `core`: what batches say becomes operations */
#include <stdlib.h>
#include <string.h>

#include "analyse/core_gather.h"

/* Places for all that a batch may name. */
static void more_places(struct core_code *c)
{
	const struct pm_code *code = c->code;

	c->op = pm_grow_zeroed(c->op, &c->cap_op, code->ninsn + CORE_COPY, sizeof *c->op);
	c->block = pm_grow_zeroed(c->block, &c->cap_block, code->nblock, sizeof *c->block);
}

static struct core_code *code_of(struct core_sink *s, const struct pm_code *code)
{
	struct core_code *c = NULL;

	for (size_t i = s->ncode; i-- > 0 && !c; )
		if (s->code[i]->code == code)
			c = s->code[i];
	if (!c) {
		pm_grow(s->code, s->ncode, s->cap_code);
		c = s->code[s->ncode++] = pm_alloc(sizeof *c);
		c->code = code;
	}
	more_places(c);
	return c;
}

static __attribute__((noinline)) const struct core_rule *decode(struct core_sink *s,
							       const struct pm_insn *in)
{
	struct pm_core_static st;
	struct core_rule r;

	core_decode_with(&s->ds, in->bytes, in->len, in->isa, &st);
	core_rule_of(s->k, &st, &r);
	return core_rule_kept(&s->rules, &r);
}

static inline const struct core_rule *rule_of(struct core_sink *s, struct core_code *c, uint32_t id)
{
	if (!c || id >= c->code->ninsn)
		return &s->plain;
	if (__builtin_expect(!c->op[id].rule, 0))
		c->op[id].rule = decode(s, c->code->insn + id);
	return c->op[id].rule;
}

static void one_uop(struct core_sink *s, const struct pm_uop *u)
{
	struct core_gathered *g = s->gathered;
	const unsigned len = u->index == 1 ? (unsigned)(u->fall - u->pc) & 15 : 0;
	struct pm_core_static st;
	struct core_insn *op;
	struct core_rule *rule;

	core_uop_static(u, &st);
	op = core_begin(s, u->pc, len ? len : 1, &s->plain);
	s->pc = u->pc;
	rule = g->rule + (op - g->op);
	core_rule_of(s->k, &st, rule);
	op->rule = rule;
	op->shape = CORE_ANY;
	if (u->index != 1) {
		op->len = 0;
		s->continued += !s->timeless;
	}
	if (u->access == PM_UOP_LOAD || u->access == PM_UOP_STORE)
		core_refer(s, u->access == PM_UOP_LOAD ? PM_OP_READ : PM_OP_WRITE, u->mem,
			  u->msize ? u->msize : 8, false);
	if (u->target) {
		struct pm_br b = { u->pc, u->target,
			(u->outcome == PM_UOP_TAKEN ? PM_BR_TAKEN : 0) |
			(u->flag_use == PM_UOP_READS_FLAGS ? PM_BR_COND : 0) | (strcmp(u->macro,
				"CALL") ? 0 : PM_BR_CALL) |
			(strcmp(u->macro, "RET") ? 0 : PM_BR_RET) |
			(strcmp(u->micro, "JMP_REG") ? 0 : PM_BR_INDIRECT),
			(uint8_t)(u->fall - u->pc) };

		core_branch(s, &b);
	}
}

/* Are micro-ops all that there is? Beside instructions with bytes they come from a cracker that
 * another sink asked for, and may not change what this one says. */
static bool only_uops(const struct pm_batch *b)
{
	if (!b->nuop)
		return false;
	for (size_t i = 0; b->code && i < b->code->ninsn; i++)
		if (b->code->insn[i].len)
			return false;
	return true;
}

static inline __attribute__((always_inline))
void reference(struct core_sink *s, const struct pm_event *e)
{
	if (e->kind == PM_EV_READ || e->kind == PM_EV_MODIFY)
		core_refer(s, PM_OP_READ, e->addr, e->size, e->flags & PM_REF_STACK);
	if (e->kind == PM_EV_WRITE || e->kind == PM_EV_MODIFY)
		core_refer(s, PM_OP_WRITE, e->addr, e->size, e->flags & PM_REF_STACK);
}

/* Not of a block: it says itself where it happened. */
static inline void plain_event(struct core_sink *s, struct core_code *c, const struct pm_event *e,
			       unsigned slot)
{
	switch (e->kind) {
	case PM_EV_INSN:
		core_begin(s, e->addr, e->size ? e->size & 255 : 1, rule_of(s, c, e->id));
		s->pc = e->addr;
		break;
	case PM_EV_READ:
	case PM_EV_MODIFY:
	case PM_EV_WRITE:
		reference(s, e);
		break;
	case PM_EV_BRANCH: {
		struct pm_br br = pm_br_of(e, slot);

		core_branch(s, &br);
		break;
	}
	default:
		break;
	}
}

void core_take(struct core_sink *s, const struct pm_batch *b)
{
	const unsigned slot = pm_delay_slot(b);
	struct core_code *c = b->code ? code_of(s, b->code) : NULL;

	s->uops = s->uops || only_uops(b);
	if (s->by)
		pm_names_learn(&s->by->names, b->code);
	for (const struct pm_event *e = b->ev, *end = e + b->n; e < end; e++) {
		if (__builtin_expect(s->uops, 0)) {
			/* micro-ops say it all; what stands beside them says it again */
			if (e->kind == PM_EV_UOP && e->id < b->nuop)
				one_uop(s, b->uop + e->id);
			continue;
		}
		plain_event(s, c, e, slot);
	}
	core_drain(s);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static struct core_place *place_of(struct core_sink *s, const struct pm_stream *stream)
{
	const size_t index = stream ? stream->index : 0, had = s->cap_place;

	s->place = pm_grow_zeroed(s->place, &s->cap_place, index + 1, sizeof *s->place);
	for (size_t i = had; i < s->cap_place; i++)
		s->place[i].block = PM_NONE;
	return s->place + index;
}

static __attribute__((noinline)) void learn_block(struct core_sink *s, struct core_code *c,
						  const struct pm_block *blk, struct core_block *k)
{
	const struct pm_insn *in = c->code->insn + blk->insn;
	struct core_insn *op = c->op + blk->insn;

	for (uint32_t i = 0; i < blk->n; i++) {
		op[i].rule = rule_of(s, c, blk->insn + i);
		op[i].pc = in[i].pc;
		op[i].len = in[i].len ? in[i].len : 1;
		op[i].shape = core_shape(op[i].rule, op[i].len);
	}
	*k = (struct core_block){ .insn = blk->insn, .n = blk->n, .known = true };
	if (blk->n)
		pm_block_end_of(c->code, blk, &k->end);
	for (k->cross = 1; k->cross < blk->n; k->cross++) {
		const struct core_insn *o = op + k->cross;

		if (((o->pc ^ (o[-1].pc + o[-1].len - 1)) |
		     (o->pc ^ (o->pc + o->len - 1))) >> CORE_LINE_SHIFT)
			break;
	}
}

/* The lines of @op[0 .. n). */
static __attribute__((noinline)) void check_lines(struct core_sink *s, struct core_insn *op,
						  uint32_t n)
{
	for (; n--; op++) {
		const uint64_t line = op->pc >> CORE_LINE_SHIFT,
			       last = (op->pc + op->len - 1) >> CORE_LINE_SHIFT;

		if ((line ^ s->fetch_line) | (line ^ last))
			core_fetch(s, op, line, last);
	}
}

/* The block's next instructions, as many as there is room for, come to lie behind the last
 * operation: what is gathered then has only to be counted. */
static __attribute__((noinline)) void lay(struct core_sink *s, struct core_place *p)
{
	const struct core_insn *from = p->code->op + p->insn + p->done;
	struct core_gathered *g = s->gathered;
	uint32_t n = p->n - p->done;

	if (n > CORE_GATHER - g->n) {
		s->open = false;
		core_drain(s);
		n = n < CORE_GATHER ? n : CORE_GATHER;
	}
	for (uint32_t i = 0; i < n; i += CORE_COPY)
		memcpy(g->op + g->n + i, from + i, CORE_COPY * sizeof *from);
	p->laid = p->done + n;
	s->laid = true;
}

/* HOT: the block's instructions before number @upto, as far as they have not been gathered. */
static inline void gather_to(struct core_sink *s, struct core_place *p, uint32_t upto)
{
	struct core_gathered *g = s->gathered;

	while (p->done < upto) {
		uint32_t end;

		if (!s->laid || p->done == p->laid)
			lay(s, p);
		end = upto < p->laid ? upto : p->laid;
		if (end > p->check) {
			const uint32_t from = p->check > p->done ? p->check : p->done;

			check_lines(s, g->op + g->n + (from - p->done), end - from);
			p->check = end > p->cross ? end : p->cross;
		}
		g->n += end - p->done;
		p->done = end;
		s->pc = g->op[g->n - 1].pc;
		s->open = true;
	}
}

/* Where the last block's branch went becomes known: to @next (@told), or nobody said. */
static inline void went(struct core_sink *s, struct core_place *p, bool told, uint64_t next)
{
	const struct pm_block_end *e = &p->open->block[p->open_block].end;
	uint8_t flags;

	p->open = NULL;
	if (pm_block_went(e, told, &next, &flags)) {
		const struct pm_br br = { e->pc, next, flags, (uint8_t)(e->size + p->slot) };

		core_branch(s, &br);
	}
}

static inline enum pm_status begin_block(struct core_sink *s, struct core_place *p,
					 const struct pm_event *e, struct pm_err *err)
{
	const struct core_insn *first;
	struct core_code *c = p->code;
	struct core_block *k = c ? c->block + e->id : NULL;

	if (!c || e->id >= c->code->nblock || !k->known || e->value > k->n) {
		const struct pm_block *blk = pm_block_begun(c ? c->code : NULL, e);

		if (!blk)
			return pm_block_wrong(c ? c->code : NULL, e, err);
		learn_block(s, c, blk, k);
	}
	if (p->open)
		went(s, p, true, e->addr);
	p->block = e->id;
	p->insn = k->insn;
	p->n = (uint32_t)e->value;
	p->size = k->n;
	p->cross = k->cross;
	p->done = 0;
	s->laid = false;
	first = c->op + k->insn;
	p->check = ((first->pc >> CORE_LINE_SHIFT) ^ s->fetch_line) |
		   ((first->pc ^ (first->pc + first->len - 1)) >> CORE_LINE_SHIFT) ? 0 : k->cross;
	if (p->n && p->n == k->n && k->end.kind != PM_END_NONE) {
		p->open = c;
		p->open_block = e->id;
	}
	return PM_OK;
}

/* Of a stream that is in a block: as the expander has it (expand.c). */
static __attribute__((noinline)) enum pm_status other_event(struct core_sink *s,
							    struct core_place *p,
							    const struct pm_event *e,
							    struct pm_err *err)
{
	if (pm_in_block(e->kind)) {
		if (p->block != PM_NONE && PM_SLOT_OF(e) != PM_NONE)
			return pm_slot_wrong(p->code->code, p->block, e, err);
	} else {
		if (p->block != PM_NONE && !pm_is_aside(e))
			gather_to(s, p, p->n);
		if (p->open && pm_says_next(e->kind))
			went(s, p, true, e->addr);
		else if (p->open && e->kind == PM_EV_EXIT)
			went(s, p, false, 0);
		if (pm_ends_path(e->kind)) {
			p->open = NULL;
			p->block = PM_NONE;
			p->size = 0;
		}
	}
	plain_event(s, p->code, e, p->slot);
	return PM_OK;
}

static bool has_blocks(const struct pm_batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->ev[i].kind == PM_EV_BLOCK)
			return true;
	return false;
}

enum pm_status core_take_blocks(struct core_sink *s, const struct pm_batch *b, struct pm_err *err)
{
	struct core_place *p = place_of(s, b->stream);
	struct pm_batch whole = *b;
	enum pm_status st = PM_OK;

	if (b->code && (!p->code || p->code->code != b->code)) {
		s->laid = false;
		if (p->block != PM_NONE)
			gather_to(s, p, p->n);
		p->code = code_of(s, b->code);
	} else if (b->code) {
		more_places(p->code);
	}
	if (p->block == PM_NONE && !has_blocks(b)) {
		core_take(s, b);
		return PM_OK;
	}
	whole.code = p->code ? p->code->code : NULL;
	s->uops = s->uops || only_uops(&whole);
	if (s->uops) {
		core_take(s, &whole);
		return PM_OK;
	}
	if (s->by)
		pm_names_learn(&s->by->names, whole.code);
	p->slot = pm_delay_slot(&whole);
	p->check = p->done;		/* another stream may have been elsewhere */
	s->laid = false;
	for (const struct pm_event *e = b->ev, *end = e + b->n; e < end && st == PM_OK; e++) {
		if (e->kind == PM_EV_BLOCK) {
			if (p->block != PM_NONE)
				gather_to(s, p, p->n);
			st = begin_block(s, p, e, err);
		} else if (PM_SLOT_OF(e) < p->size && pm_in_block(e->kind)) {
			/* of an instruction that did not complete, it still happened */
			gather_to(s, p, PM_SLOT_OF(e) < p->n ? PM_SLOT_OF(e) + 1 : p->n);
			reference(s, e);
		} else {
			st = other_event(s, p, e, err);
		}
	}
	core_drain(s);
	return st;
}

void core_end_blocks(struct core_sink *s)
{
	for (size_t i = 0; i < s->cap_place && !s->uops; i++) {
		struct core_place *p = s->place + i;

		if (p->block == PM_NONE)
			continue;
		p->check = p->done;
		s->laid = false;
		gather_to(s, p, p->n);
		if (p->open)
			went(s, p, false, 0);
		p->block = PM_NONE;
		p->size = 0;
	}
}
