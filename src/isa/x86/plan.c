/* SPDX-License-Identifier: MIT */
#include <cpuid.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "base/mem.h"
#include "isa/x86/plan.h"
#include "isa/x86/zydis_regs.h"
#include "pugmark/pugmark.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

/* What a register holds: a quantity, which is nobody's business, plus a constant. */
struct holds {
	uint32_t quantity;
	int64_t add;
};

struct quantity {
	uint16_t value;			/* from which it follows, X86_VAL_NONE: from none so far */
	int64_t add;			/* quantity = value + add */
};

struct course {
	struct x86_plan *plan;
	struct holds reg[16];
	struct quantity q[16 + 256 * 20];	/* an instruction changes 16 at most, and see rep() */
	uint32_t nq;
	uint32_t insn;
	uint16_t word;			/* bits of an address */
};

static void forget(struct course *c, unsigned reg)
{
	c->q[c->nq].value = X86_VAL_NONE;
	c->reg[reg] = (struct holds){ c->nq++, 0 };
}

/* The value from which register @reg follows; *add is what has to be added to it. */
static uint16_t need(struct course *c, unsigned reg, bool after, int64_t *add)
{
	struct holds *h = &c->reg[reg];
	struct quantity *q = &c->q[h->quantity];

	if (q->value == X86_VAL_NONE) {
		struct x86_plan *p = c->plan;

		pm_grow(p->store, p->nstore, p->cap_store);
		q->value = (uint16_t)p->nstore;
		q->add = -h->add;
		p->store[p->nstore++] = (struct x86_store){ (uint8_t)c->insn, (uint8_t)reg, X86_STORE_GPR, after };
	}
	*add += q->add + h->add;
	return q->value;
}

/* A register that is no GPR, as it is before the instruction: the first of its values. */
static uint16_t need_wide(struct course *c, enum x86_store_what what, unsigned reg)
{
	struct x86_plan *p = c->plan;
	const uint16_t first = (uint16_t)p->nstore;
	unsigned n = what == X86_STORE_K ? 1 : (128u << (what - X86_STORE_V16)) / c->word;

	for (unsigned i = 0; i < n; i++) {
		pm_grow(p->store, p->nstore, p->cap_store);
		p->store[p->nstore++] = (struct x86_store){ (uint8_t)c->insn, (uint8_t)reg,
							    (uint8_t)(i ? X86_STORE_MORE : what), false };
	}
	return first;
}

static struct x86_ref *new_ref(struct course *c)
{
	struct x86_plan *p = c->plan;

	pm_grow(p->ref, p->nref, p->cap_ref);
	p->ref[p->nref] = (struct x86_ref){ .insn = (uint8_t)c->insn, .base = X86_VAL_NONE,
					    .index = X86_VAL_NONE, .segment = X86_VAL_NONE,
					    .after = X86_VAL_NONE };
	return &p->ref[p->nref++];
}

static int gpr(ZydisRegister r)
{
	int n = r == ZYDIS_REGISTER_NONE ? -1 : x86_reg_number(r);

	return n >= 0 && n < 16 ? n : -1;
}

static uint16_t segment(const ZydisDecodedOperand *op)
{
	return op->mem.segment == ZYDIS_REGISTER_FS ? X86_VAL_FS :
	       op->mem.segment == ZYDIS_REGISTER_GS ? X86_VAL_GS : X86_VAL_NONE;
}

static bool is_xsave(const ZydisDecodedInstruction *in)
{
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_XSAVE: case ZYDIS_MNEMONIC_XSAVE64:
	case ZYDIS_MNEMONIC_XSAVEOPT: case ZYDIS_MNEMONIC_XSAVEOPT64:
	case ZYDIS_MNEMONIC_XSAVEC: case ZYDIS_MNEMONIC_XSAVEC64:
	case ZYDIS_MNEMONIC_XRSTOR: case ZYDIS_MNEMONIC_XRSTOR64:
		return true;
	default:
		return false;
	}
}

uint16_t x86_xsave_size(const struct x86_ref *r, uint64_t rax)
{
	unsigned a, b, c, d, end = 576;		/* legacy region and header */
	uint32_t enabled = 0, high;

	if (__get_cpuid(1, &a, &b, &c, &d) && c & bit_OSXSAVE)
		__asm__("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
	for (unsigned i = 2; i < 32; i++) {
		if (!(enabled & rax & 1u << i) || !__get_cpuid_count(0xd, i, &a, &b, &c, &d))
			continue;
		if (!r->lanes.k)
			end = a + b > end ? a + b : end;
		else
			end = (c & 2 ? (end + 63) & ~63u : end) + a;
	}
	return (uint16_t)end;
}

static bool is_string_operand(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op)
{
	return in->meta.category == ZYDIS_CATEGORY_STRINGOP && op->visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT;
}

/* Bit instructions with a register operand address a string of bits. */
static bool is_bit_string(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op)
{
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTC:
		return op[0].type == ZYDIS_OPERAND_TYPE_MEMORY && op[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
	default:
		return false;
	}
}

static void operand(struct course *c, const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops,
		    const ZydisDecodedOperand *op, uint64_t pc, uint8_t kind)
{
	struct x86_ref *r = new_ref(c);
	int base = gpr(op->mem.base), index = gpr(op->mem.index);
	bool leave = in->mnemonic == ZYDIS_MNEMONIC_LEAVE;
	bool hidden_stack = op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && (base == RSP || leave);
	int64_t add = 0;

	r->kind = kind;
	r->size = op->size / 8;
	if (hidden_stack) {
		r->flags = PM_REF_STACK;
		if (leave)
			base = RBP;
		else if (kind == PM_EV_WRITE)
			add -= op->size / 8;
		r->base = need(c, (unsigned)base, false, &add);
		r->disp = add;
		return;
	}
	r->how = in->address_width == c->word ? X86_REF_SUM :
		 in->address_width == 32 ? X86_REF_SUM32 : X86_REF_SUM16;
	r->segment = segment(op);
	if (!is_string_operand(in, op))
		add = op->mem.disp.has_displacement ? op->mem.disp.value : 0;
	if (op->mem.base == ZYDIS_REGISTER_RIP)
		add += (int64_t)(pc + in->length);
	/* `pop [rsp + x]` addresses with what rsp is after the pop */
	if (base == RSP && in->mnemonic == ZYDIS_MNEMONIC_POP)
		add += op->size / 8;
	if (base >= 0)
		r->base = need(c, (unsigned)base, false, &add);
	if (in->mnemonic == ZYDIS_MNEMONIC_XLAT) {
		int64_t skew = 0;

		r->how = X86_REF_XLAT;
		r->scale = (uint8_t)(in->address_width / 8);
		r->index = need(c, RAX, false, &skew);
		r->after = (uint16_t)skew;	/* of the low byte, which is all that counts */
	} else if (index >= 0) {
		int64_t skew = 0;

		r->index = need(c, (unsigned)index, false, &skew);
		r->scale = op->mem.scale;
		add += skew * op->mem.scale;
	}
	r->disp = add;
	if (is_xsave(in)) {
		int64_t skew = 0;

		r->how = X86_REF_XSAVE;
		r->lanes.a32 = in->address_width == 32;
		r->lanes.k = in->mnemonic == ZYDIS_MNEMONIC_XSAVEC || in->mnemonic == ZYDIS_MNEMONIC_XSAVEC64;
		forget(c, RAX);		/* as it is, no constant apart */
		r->after = need(c, RAX, false, &skew);
	}
	if (is_bit_string(in, ops)) {
		/* base and index leave no room for a third value: record their sum's parts apart, and the
		 * bit number in `after` */
		int64_t skew = 0;
		int bit = gpr(ops[1].reg.value);

		r->how = X86_REF_BITS;
		forget(c, (unsigned)bit);	/* as it is, no constant apart */
		r->after = need(c, (unsigned)bit, false, &skew);
	}
}

bool x86_is_vsib(const struct x86_insn *x, const uint8_t *p)
{
	const uint8_t *op = p + x->op;

	/* 0f38 90..93, VEX or EVEX; a0..a3, EVEX */
	if (x->op >= 3 && op[-3] == 0xc4)
		return (op[-2] & 0x1f) == 2 && *op >= 0x90 && *op <= 0x93;
	return x->op >= 4 && op[-4] == 0x62 && (op[-3] & 7) == 2 && (*op & 0xcc) == 0x80 &&
	       ((*op & 0x30) == 0x10 || (*op & 0x30) == 0x20);
}

static enum x86_store_what vector_of(unsigned bytes)
{
	return bytes == 16 ? X86_STORE_V16 : bytes == 32 ? X86_STORE_V32 : X86_STORE_V64;
}

/* Operands: destination, memory, mask; (EVEX) destination, mask, memory; (scatter) memory, mask, source. */
static void gather(struct course *c, const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op,
		   const ZydisDecodedOperand *m)
{
	const bool evex = in->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
	struct x86_ref *r = new_ref(c);
	int base = gpr(m->mem.base);
	int64_t add = m->mem.disp.has_displacement ? m->mem.disp.value : 0;
	unsigned width = ZydisRegisterGetWidth(in->machine_mode, m->mem.index) / 8, n;
	unsigned data = ZydisRegisterGetWidth(in->machine_mode, op[evex && op[0].type == ZYDIS_OPERAND_TYPE_MEMORY ?
								   2 : 0].reg.value) / 8;
	ZydisRegister mask = op[evex ? 1 : 2].reg.value;

	r->how = X86_REF_VSIB;
	r->kind = m->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? PM_EV_WRITE : PM_EV_READ;
	r->size = m->element_size / 8;
	r->segment = segment(m);
	r->scale = m->mem.scale;
	r->lanes.wide = in->opcode & 1;
	n = width / (r->lanes.wide ? 8 : 4);
	r->lanes.n = data / r->size < n ? data / r->size : n;
	r->lanes.k = evex;
	r->lanes.a32 = in->address_width == 32;
	if (base >= 0)
		r->base = need(c, (unsigned)base, false, &add);
	r->disp = add;
	r->index = need_wide(c, vector_of(width), (unsigned)ZydisRegisterGetId(m->mem.index));
	r->after = evex ? need_wide(c, X86_STORE_K, (unsigned)ZydisRegisterGetId(mask)) :
			  need_wide(c, vector_of(data), (unsigned)ZydisRegisterGetId(mask));
}

unsigned x86_lanes(const struct x86_ref *r, uint64_t base, const uint8_t *index, const uint8_t *mask,
		   uint64_t to[16])
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->lanes.n; i++) {
		uint64_t a;

		if (!(r->lanes.k ? mask[i / 8] >> (i & 7) & 1 : mask[(i + 1) * r->size - 1] >> 7))
			continue;
		if (r->lanes.wide) {
			memcpy(&a, index + 8 * i, 8);
		} else {
			int32_t x;

			memcpy(&x, index + 4 * i, 4);
			a = (uint64_t)(int64_t)x;
		}
		a = base + a * r->scale + (uint64_t)r->disp;
		to[n++] = r->lanes.a32 ? (uint32_t)a : a;
	}
	return n;
}

static void rep(struct course *c, const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op)
{
	struct x86_ref *r = new_ref(c);
	int64_t none = 0;
	bool src = false, dst = false;

	r->how = X86_REF_REP;
	r->flags = PM_REF_REP;
	for (unsigned i = 0; i < in->operand_count; i++) {
		if (op[i].type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		r->size = op[i].size / 8;
		if (gpr(op[i].mem.base) == RSI) {
			src = true;
			r->segment = segment(&op[i]);
		} else if (gpr(op[i].mem.base) == RDI) {
			dst = true;
		}
	}
	r->scale = !src ? (in->mnemonic >= ZYDIS_MNEMONIC_SCASB && in->mnemonic <= ZYDIS_MNEMONIC_SCASW ?
			   X86_REP_SCAS : X86_REP_STOS) :
		   !dst ? X86_REP_LODS :
		   in->mnemonic >= ZYDIS_MNEMONIC_CMPSB && in->mnemonic <= ZYDIS_MNEMONIC_CMPSW ?
			   X86_REP_CMPS : X86_REP_MOVS;
	r->disp = in->address_width == 64 ? -1 : (1ll << in->address_width) - 1;	/* addresses are masked with it */
	/* the values themselves, no constants apart */
	if (src) {
		forget(c, RSI);
		r->base = need(c, RSI, false, &none);
	}
	if (dst) {
		forget(c, RDI);
		r->index = need(c, RDI, false, &none);
		forget(c, RDI);
		r->after = need(c, RDI, true, &none);
	} else {
		forget(c, RSI);
		r->after = need(c, RSI, true, &none);
	}
}

static void references(struct course *c, const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op,
		       uint64_t pc)
{
	if (x86_is_hint(in))
		return;
	if (in->meta.category == ZYDIS_CATEGORY_STRINGOP &&
	    (in->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))) {
		rep(c, in, op);
		return;
	}
	for (int writes = 0; writes < 2; writes++)
		for (unsigned i = 0; i < in->operand_count; i++) {
			bool rd = op[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ;
			bool wr = op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

			if (op[i].type != ZYDIS_OPERAND_TYPE_MEMORY || !(rd || wr) || writes != !rd)
				continue;
			if (op[i].mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
				gather(c, in, op, &op[i]);
				continue;
			}
			if (op[i].mem.type != ZYDIS_MEMOP_TYPE_MEM)
				continue;
			operand(c, in, op, &op[i], pc,
				!wr ? PM_EV_READ : rd ? PM_EV_MODIFY : PM_EV_WRITE);
		}
}

/* ---- what an instruction does to the registers -------------------------------------------------- */
/* reg = another register + a constant, as wide as addresses (@word) are. */
static bool moves(unsigned word, const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op, int *to,
		  int *from, int64_t *add)
{
	if (in->operand_count < 1 || op[0].type != ZYDIS_OPERAND_TYPE_REGISTER || op[0].size != word)
		return false;
	*to = gpr(op[0].reg.value);
	*from = *to;
	*add = 0;
	if (*to < 0)
		return false;
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		*from = op[1].type == ZYDIS_OPERAND_TYPE_REGISTER && op[1].size == word ? gpr(op[1].reg.value) : -1;
		return *from >= 0;
	case ZYDIS_MNEMONIC_LEA:
		*from = gpr(op[1].mem.base);
		*add = op[1].mem.disp.has_displacement ? op[1].mem.disp.value : 0;
		return *from >= 0 && op[1].mem.index == ZYDIS_REGISTER_NONE && in->address_width == word;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (op[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return false;
		*add = in->mnemonic == ZYDIS_MNEMONIC_ADD ? op[1].imm.value.s : -op[1].imm.value.s;
		return true;
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		*add = in->mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1;
		return true;
	default:
		return false;
	}
}

/* Pushes and pops: by how much the stack pointer goes up. */
static bool stack_step(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op, int64_t *by)
{
	*by = 0;
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH: case ZYDIS_MNEMONIC_PUSHF: case ZYDIS_MNEMONIC_PUSHFQ:
	case ZYDIS_MNEMONIC_POP: case ZYDIS_MNEMONIC_POPF: case ZYDIS_MNEMONIC_POPFQ:
	case ZYDIS_MNEMONIC_PUSHFD: case ZYDIS_MNEMONIC_PUSHA: case ZYDIS_MNEMONIC_PUSHAD:
	case ZYDIS_MNEMONIC_POPFD: case ZYDIS_MNEMONIC_POPA: case ZYDIS_MNEMONIC_POPAD:
	case ZYDIS_MNEMONIC_CALL: case ZYDIS_MNEMONIC_RET:
		break;
	default:
		return false;
	}
	for (unsigned i = 0; i < in->operand_count; i++) {
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY && gpr(op[i].mem.base) == RSP &&
		    op[i].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
			*by += (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? -1 : 1) *
			       (int64_t)(op[i].size / 8);
		if (in->mnemonic == ZYDIS_MNEMONIC_RET && op[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			*by += (int64_t)(op[i].imm.value.u & 0xffff);
	}
	return *by != 0;
}

static void effects(struct course *c, const struct x86_insn *x, const ZydisDecodedInstruction *in,
		    const ZydisDecodedOperand *op)
{
	uint32_t changed = x->write;
	int to, from;
	int64_t add;

	if (x->kind == X86_SYSCALL)		/* sysenter: it is the vDSO's, control comes back */
		changed &= ~(1u << RSP);
	if (stack_step(in, op, &add)) {
		c->reg[RSP].add += add;
		/* `pop rsp` loads it, after all */
		if (!(in->mnemonic == ZYDIS_MNEMONIC_POP && op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		      gpr(op[0].reg.value) == RSP))
			changed &= ~(1u << RSP);
	} else if (in->mnemonic == ZYDIS_MNEMONIC_LEAVE && in->operand_width == c->word) {
		c->reg[RSP] = c->reg[RBP];
		c->reg[RSP].add += c->word / 8;
		changed &= ~(1u << RSP);
	} else if (moves(c->word, in, op, &to, &from, &add)) {
		c->reg[to] = c->reg[from];
		c->reg[to].add += add;
		changed &= ~(1u << to);
	}
	for (; changed; changed &= changed - 1)
		forget(c, (unsigned)__builtin_ctz(changed));
	/* the stack pointer is never lost sight of */
	if (c->q[c->reg[RSP].quantity].value == X86_VAL_NONE) {
		add = 0;
		need(c, RSP, true, &add);
	}
}

static void touch(struct course *c, const struct x86_insn *x)
{
	uint32_t changed = x->write;

	for (; changed; changed &= changed - 1)
		forget(c, (unsigned)__builtin_ctz(changed));
}

/* ---- instructions in detail ------------------------------------------------------------------------ */
/* What Zydis says follows from an instruction's form (decode.h), but for the displacement and the immediate. */
struct form {
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];	/* in.operand_count of them */
};

struct x86_forms {
	struct pm_map at;		/* key of a form -> struct form; 0: there is more to it */
	struct pm_arena mem;
	struct form other;
};
#define FORM_BYTES 7

static int64_t displacement(const struct x86_at *a)
{
	int64_t v = 0;

	memcpy(&v, a->p + a->x.disp, a->x.ndisp);
	return a->x.ndisp ? (int64_t)((uint64_t)v << (64 - 8 * a->x.ndisp)) >> (64 - 8 * a->x.ndisp) : 0;
}

static void fill_in(const struct x86_at *a, const ZydisDecodedInstruction *in, ZydisDecodedOperand *op)
{
	for (unsigned i = 0; i < in->operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			op[i].imm.value.s = x86_imm(&a->x, a->p);
		else if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY && op[i].mem.disp.has_displacement)
			op[i].mem.disp.value = displacement(a);
}

/* Does that make what Zydis has said? (It does not where displacements are scaled, or immediates are without sign.) */
static bool fills_in(const struct x86_at *a, const struct form *f)
{
	struct form g = *f;

	if (f->in.raw.imm[1].size || f->in.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX)
		return false;
	fill_in(a, &g.in, g.op);
	for (unsigned i = 0; i < f->in.operand_count; i++)
		if (f->op[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? g.op[i].imm.value.s != f->op[i].imm.value.s :
		    f->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY && g.op[i].mem.disp.value != f->op[i].mem.disp.value)
			return false;
	return true;
}

/* HOT. NULL: Zydis does not know it. Valid until the next call. */
static const struct form *detail(struct x86_plan *plan, const struct x86_at *a, bool wide)
{
	const unsigned n = a->x.ndisp ? a->x.disp : a->x.nimm ? a->x.imm : a->x.len;
	struct x86_forms *all = plan->forms;
	uint64_t key = 0, *slot;
	struct form *f;
	bool fresh;

	if (!all)
		all = plan->forms = pm_alloc(sizeof *all);
	if (n > FORM_BYTES)
		return x86_zydis(a->p, a->x.len, wide, &all->other.in, all->other.op) ? &all->other : NULL;
	memcpy(&key, a->p, n);
	slot = pm_map_put(&all->at, key | (uint64_t)n << 56 | (uint64_t)wide << 60, &fresh);
	f = (struct form *)(uintptr_t)*slot;
	if (f) {
		fill_in(a, &f->in, f->op);
		return f;
	}
	if (!x86_zydis(a->p, a->x.len, wide, &all->other.in, all->other.op))
		return NULL;
	if (fresh && fills_in(a, &all->other)) {
		const size_t size = offsetof(struct form, op) + all->other.in.operand_count * sizeof f->op[0];

		f = pm_arena_alloc(&all->mem, size);
		memcpy(f, &all->other, size);
		*slot = (uintptr_t)f;
	}
	return &all->other;
}

void x86_plan(const struct x86_at *(*at)(void *ctx, uint32_t i), void *ctx, uint32_t n, bool wide,
	      struct x86_plan *plan)
{
	struct course c;		/* mostly not initialised: it is large */

	c.plan = plan;
	c.word = wide ? 64 : 32;
	c.nq = 16;
	plan->nref = plan->nstore = 0;
	for (unsigned r = 0; r < 16; r++) {
		c.reg[r] = (struct holds){ r, 0 };
		c.q[r].value = X86_VAL_NONE;
	}
	c.q[RSP] = (struct quantity){ X86_VAL_RSP, 0 };
	for (uint32_t i = 0; i < n; i++) {
		const struct x86_at *a = at(ctx, i);
		const struct form *f = detail(plan, a, wide);

		c.insn = i;
		if (f) {
			references(&c, &f->in, f->op, a->pc);
			effects(&c, &a->x, &f->in, f->op);
		} else {
			touch(&c, &a->x);
		}
	}
	plan->rsp_add = 0;
	plan->rsp = need(&c, RSP, true, &plan->rsp_add);
}

void x86_plan_release(struct x86_plan *plan)
{
	free(plan->ref);
	free(plan->store);
	if (plan->forms) {
		pm_map_release(&plan->forms->at);
		pm_arena_release(&plan->forms->mem);
		free(plan->forms);
	}
	memset(plan, 0, sizeof *plan);
}
