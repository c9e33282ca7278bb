/* SPDX-License-Identifier: MIT */
#include <cpuid.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "base/mem.h"
#include "isa/x86/plan_form.h"
#include "isa/x86/zydis_regs.h"
#include "pugmark/pugmark.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

/* What a register holds: a quantity, which is nobody's business, plus a constant. */
struct holds {
	uint32_t quantity;
	int64_t add;
};

struct quantity {
	bool known;			/* quantity = value + add; value may be X86_VAL_NONE: a
					 * constant */
	uint8_t how;			/* enum x86_val_how: what is to be recorded of it */
	uint16_t value;
	uint32_t of;			/* ZERO and SIGN: the low half of another quantity +
					 * of_add; NOTHING: of none */
	int64_t add, of_add;
};
#define NOTHING UINT32_MAX

struct course {
	struct x86_plan *plan;
	struct holds reg[16];
	struct quantity q[16 + 256 * 20];	/* an instruction changes 16 at most, and see
						 * rep() */
	uint32_t nq;
	uint32_t insn;
	uint16_t word;			/* bits of an address */
};

static void forget(struct course *c, unsigned reg)
{
	c->q[c->nq] = (struct quantity){ .of = NOTHING };
	c->reg[reg] = (struct holds){ c->nq++, 0 };
}

static int64_t low_half(int64_t v, enum x86_val_how how)
{
	return how == X86_VAL_ZERO ? (int64_t)(uint32_t)v : (int32_t)v;
}

/* Is @q, which was not recorded, half of something that is? */
static bool derive(struct course *c, struct quantity *q)
{
	struct quantity *of = q->of == NOTHING ? NULL : &c->q[q->of];

	if (!of || !(of->known || derive(c, of)) ||
	    (of->value != X86_VAL_NONE &&
	     (of->value >= X86_VAL_KNOWN || (uint32_t)(of->add + q->of_add))))
		return false;
	q->known = true;
	if (of->value == X86_VAL_NONE) {
		q->value = X86_VAL_NONE;
		q->add = low_half(of->add + q->of_add, q->how);
	} else {
		q->value = (uint16_t)(X86_VAL_AT(of->value) | q->how);
		q->add = 0;
	}
	return true;
}

/* The next value, of @size bytes. */
static uint16_t record(struct course *c, enum x86_store_what what, unsigned reg, bool after,
		       unsigned size)
{
	struct x86_plan *p = c->plan;
	const uint16_t at = p->size;

	p->size += (uint16_t)size;
	pm_grow(p->store, p->nstore, p->cap_store);
	p->store[p->nstore++] = (struct x86_store){
		(uint8_t)c->insn, (uint8_t)reg, (uint8_t)what, after, at, p->size
	};
	return at;
}

/* The value from which register @reg follows; *add is what has to be added to it. */
static uint16_t need(struct course *c, unsigned reg, bool after, int64_t *add)
{
	struct holds *h = &c->reg[reg];
	struct quantity *q = &c->q[h->quantity];

	if (!q->known && !derive(c, q)) {
		const bool low = q->how != X86_VAL_WHOLE && !h->add;

		q->known = true;
		q->value = low ? record(c, X86_STORE_LOW, reg, after, 4) | q->how :
				 record(c, X86_STORE_GPR, reg, after, c->word / 8u);
		q->add = -h->add;
	}
	*add += q->add + h->add;
	return q->value;
}

/* A register that is no GPR, as it is before the instruction. */
static uint16_t need_wide(struct course *c, enum x86_store_what what, unsigned reg)
{
	return record(c, what, reg, false,
		      what == X86_STORE_K	? 4
		      : what == X86_STORE_TILES ? X86_TILES
						: 16u << (what - X86_STORE_V16));
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

static uint16_t segment(const struct plan_operand *op)
{
	return op->segment == ZYDIS_REGISTER_FS ? X86_VAL_FS :
	       op->segment == ZYDIS_REGISTER_GS ? X86_VAL_GS : X86_VAL_NONE;
}

static bool is_xsave(const struct plan_insn *in)
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

static bool is_string_operand(const struct plan_insn *in, const struct plan_operand *op)
{
	return in->is_string && op->visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT;
}

/* Bit instructions with a register operand address a string of bits. */
static bool is_bit_string(const struct plan_insn *in, const struct plan_operand *op)
{
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTC:
		return op[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		       op[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
	default:
		return false;
	}
}

static void operand(struct course *c, const struct plan_insn *in, const struct plan_operand *ops,
		    const struct plan_operand *op, uint64_t pc, uint8_t kind)
{
	struct x86_ref *r = new_ref(c);
	int base = gpr(op->base), index = gpr(op->index);
	bool leave = in->mnemonic == ZYDIS_MNEMONIC_LEAVE;
	bool hidden_stack = op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
			    (base == RSP || leave);
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
		add = op->value;
	if (op->base == ZYDIS_REGISTER_RIP)
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
		r->scale = op->scale;
		add += skew * op->scale;
	}
	r->disp = add;
	if (is_xsave(in)) {
		int64_t skew = 0;

		r->how = X86_REF_XSAVE;
		r->lanes.a32 = in->address_width == 32;
		r->lanes.k = in->mnemonic == ZYDIS_MNEMONIC_XSAVEC ||
			     in->mnemonic == ZYDIS_MNEMONIC_XSAVEC64;
		forget(c, RAX);		/* as it is, no constant apart */
		r->after = need(c, RAX, false, &skew);
	}
	if (is_bit_string(in, ops)) {
		/* base and index leave no room for a third value: record their sum's parts apart,
		 * and the bit number in `after` */
		int64_t skew = 0;
		int bit = gpr(ops[1].reg);

		r->how = X86_REF_BITS;
		forget(c, (unsigned)bit);	/* as it is, no constant apart */
		r->after = need(c, (unsigned)bit, false, &skew);
	}
}

bool x86_has_lanes(const struct x86_insn *x, const uint8_t *p)
{
	const uint8_t *op = p + x->op;

	/* 0f38 4b, VEX: tiles; 90..93, VEX or EVEX; a0..a3, EVEX */
	if (x->op >= 3 && op[-3] == 0xc4)
		return (op[-2] & 0x1f) == 2 && (*op == 0x4b || (*op >= 0x90 && *op <= 0x93));
	return x->op >= 4 && op[-4] == 0x62 && (op[-3] & 7) == 2 && (*op & 0xcc) == 0x80 &&
	       ((*op & 0x30) == 0x10 || (*op & 0x30) == 0x20);
}

static enum x86_store_what vector_of(unsigned bytes)
{
	return bytes == 16 ? X86_STORE_V16 : bytes == 32 ? X86_STORE_V32 : X86_STORE_V64;
}

/* Operands: destination, memory, mask; (EVEX) destination, mask, memory; (scatter) memory, mask,
 * source. */
static void gather(struct course *c, const struct plan_insn *in, const struct plan_operand *op,
		   const struct plan_operand *m)
{
	const bool evex = in->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
	struct x86_ref *r = new_ref(c);
	int base = gpr(m->base);
	int64_t add = m->value;
	unsigned width = ZydisRegisterGetWidth(in->machine_mode, m->index) / 8, n;
	const uint16_t other = op[evex && op[0].type == ZYDIS_OPERAND_TYPE_MEMORY ? 2 : 0].reg;
	unsigned data = ZydisRegisterGetWidth(in->machine_mode, other) / 8;
	const ZydisRegister mask = op[evex ? 1 : 2].reg;

	r->how = X86_REF_VSIB;
	r->kind = m->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? PM_EV_WRITE : PM_EV_READ;
	r->size = m->element;
	r->segment = segment(m);
	r->scale = m->scale;
	r->lanes.wide = in->opcode & 1;
	n = width / (r->lanes.wide ? 8 : 4);
	r->lanes.n = data / r->size < n ? data / r->size : n;
	r->lanes.k = evex;
	r->lanes.a32 = in->address_width == 32;
	if (base >= 0)
		r->base = need(c, (unsigned)base, false, &add);
	r->disp = add;
	r->index = need_wide(c, vector_of(width), (unsigned)ZydisRegisterGetId(m->index));
	r->after = evex ? need_wide(c, X86_STORE_K, (unsigned)ZydisRegisterGetId(mask)) :
			  need_wide(c, vector_of(data), (unsigned)ZydisRegisterGetId(mask));
}

unsigned x86_lanes(const struct x86_ref *r, uint64_t base, const uint8_t *index,
		   const uint8_t *mask, uint64_t to[16])
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

static bool is_tile(const struct plan_insn *in)
{
	return in->mnemonic == ZYDIS_MNEMONIC_TILELOADD ||
	       in->mnemonic == ZYDIS_MNEMONIC_TILELOADDT1 ||
	       in->mnemonic == ZYDIS_MNEMONIC_TILESTORED;
}

static void tile(struct course *c, const struct plan_insn *in, const struct plan_operand *op,
		 const struct plan_operand *m)
{
	struct x86_ref *r = new_ref(c);
	const int base = gpr(m->base), index = gpr(m->index);
	int64_t add = m->value, none = 0;

	r->how = X86_REF_TILE;
	r->kind = m->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? PM_EV_WRITE : PM_EV_READ;
	r->segment = segment(m);
	r->lanes.n = (unsigned)ZydisRegisterGetId(op[m == op].reg) & 7;
	r->lanes.a32 = in->address_width == 32;
	if (base >= 0)
		r->base = need(c, (unsigned)base, false, &add);
	r->disp = add;
	if (index >= 0) {
		forget(c, (unsigned)index);	/* as it is, no constant apart */
		r->index = need(c, (unsigned)index, false, &none);
		r->scale = m->scale;
	}
	r->after = need_wide(c, X86_STORE_TILES, 0);
}

unsigned x86_tile(const struct x86_ref *r, uint64_t base, uint64_t stride,
		  const uint8_t config[X86_TILES], uint64_t to[X86_TILE_ROWS], unsigned *first,
		  uint16_t *size)
{
	const unsigned said = config[48 + r->lanes.n], begin = config[1];
	const unsigned rows = said < X86_TILE_ROWS ? said : X86_TILE_ROWS;
	unsigned n = 0;

	*first = begin;
	memcpy(size, config + 16 + 2 * r->lanes.n, 2);
	for (unsigned i = begin; i < rows; i++) {
		const uint64_t a = base + (uint64_t)r->disp + i * stride * r->scale;

		to[n++] = r->lanes.a32 ? (uint32_t)a : a;
	}
	return n;
}

static void rep(struct course *c, const struct plan_insn *in, const struct plan_operand *op)
{
	struct x86_ref *r = new_ref(c);
	int64_t none = 0;
	bool src = false, dst = false;

	r->how = X86_REF_REP;
	r->flags = PM_REF_REP;
	for (unsigned i = 0; i < in->noperand; i++) {
		if (op[i].type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		r->size = op[i].size / 8;
		if (gpr(op[i].base) == RSI) {
			src = true;
			r->segment = segment(&op[i]);
		} else if (gpr(op[i].base) == RDI) {
			dst = true;
		}
	}
	r->scale = !src	  ? (in->mnemonic >= ZYDIS_MNEMONIC_SCASB &&
					     in->mnemonic <= ZYDIS_MNEMONIC_SCASW
				     ? X86_REP_SCAS
				     : X86_REP_STOS)
		   : !dst ? X86_REP_LODS
		   : in->mnemonic >= ZYDIS_MNEMONIC_CMPSB && in->mnemonic <= ZYDIS_MNEMONIC_CMPSW
			   ? X86_REP_CMPS
			   : X86_REP_MOVS;
	/* addresses are masked with it */
	r->disp = in->address_width == 64 ? -1 : (1ll << in->address_width) - 1;
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

static void references(struct course *c, const struct plan_insn *in,
		       const struct plan_operand *op, uint64_t pc)
{
	if (in->is_hint)
		return;
	if (in->is_string && in->has_rep) {
		rep(c, in, op);
		return;
	}
	for (int writes = 0; writes < 2; writes++)
		for (unsigned i = 0; i < in->noperand; i++) {
			bool rd = op[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ;
			bool wr = op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

			if (op[i].type != ZYDIS_OPERAND_TYPE_MEMORY || !(rd || wr) || writes != !rd)
				continue;
			if (op[i].mem_type == ZYDIS_MEMOP_TYPE_VSIB) {
				gather(c, in, op, &op[i]);
				continue;
			}
			if (op[i].mem_type != ZYDIS_MEMOP_TYPE_MEM)
				continue;
			if (is_tile(in)) {
				tile(c, in, op, &op[i]);
				continue;
			}
			operand(c, in, op, &op[i], pc,
				!wr ? PM_EV_READ : rd ? PM_EV_MODIFY : PM_EV_WRITE);
		}
}

/* ---- what an instruction does to the registers ---------------------------------------------- */
/* reg = another register + a constant, as wide as addresses (@word) are. */
static bool moves(unsigned word, const struct plan_insn *in, const struct plan_operand *op,
		  int *to, int *from, int64_t *add)
{
	if (in->noperand < 1 || op[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    op[0].size != word)
		return false;
	*to = gpr(op[0].reg);
	*from = *to;
	*add = 0;
	if (*to < 0)
		return false;
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		*from = op[1].type == ZYDIS_OPERAND_TYPE_REGISTER && op[1].size == word
				? gpr(op[1].reg)
				: -1;
		return *from >= 0;
	case ZYDIS_MNEMONIC_LEA:
		*from = gpr(op[1].base);
		*add = op[1].value;
		return *from >= 0 && op[1].index == ZYDIS_REGISTER_NONE &&
		       in->address_width == word;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (op[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return false;
		*add = in->mnemonic == ZYDIS_MNEMONIC_ADD ? op[1].value : -op[1].value;
		return true;
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		*add = in->mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1;
		return true;
	default:
		return false;
	}
}

/* reg = a constant. */
static bool loads_constant(const struct plan_insn *in, const struct plan_operand *op,
			   uint64_t pc, int *to, int64_t *value)
{
	if (in->noperand < 2 || op[0].type != ZYDIS_OPERAND_TYPE_REGISTER || op[0].size < 32)
		return false;
	*to = gpr(op[0].reg);
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		*value = op[1].value;
		if (op[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return false;
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (op[1].base != ZYDIS_REGISTER_RIP || in->address_width != 64)
			return false;
		*value = (int64_t)(pc + in->length) + op[1].value;
		break;
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_XOR:
		*value = 0;
		if (op[1].type != ZYDIS_OPERAND_TYPE_REGISTER || op[1].reg != op[0].reg)
			return false;
		break;
	default:
		return false;
	}
	if (op[0].size == 32)
		*value = (uint32_t)*value;
	return *to >= 0 && *to != RSP;
}

/* Those that write all of a 64-bit register when they write 32 bits of it, whatever they find: not
 * so where nothing is written (bsf of zero, cmpxchg), nor perhaps with shifts by nothing. */
static bool clears_upper_half(const struct plan_insn *in, const struct plan_operand *op)
{
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_ADC:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_SBB:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_NOT:
	case ZYDIS_MNEMONIC_NEG:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_IMUL:
	case ZYDIS_MNEMONIC_MUL:
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV:
	case ZYDIS_MNEMONIC_BSWAP:
	case ZYDIS_MNEMONIC_CMOVB:
	case ZYDIS_MNEMONIC_CMOVBE:
	case ZYDIS_MNEMONIC_CMOVL:
	case ZYDIS_MNEMONIC_CMOVLE:
	case ZYDIS_MNEMONIC_CMOVNB:
	case ZYDIS_MNEMONIC_CMOVNBE:
	case ZYDIS_MNEMONIC_CMOVNL:
	case ZYDIS_MNEMONIC_CMOVNLE:
	case ZYDIS_MNEMONIC_CMOVNO:
	case ZYDIS_MNEMONIC_CMOVNP:
	case ZYDIS_MNEMONIC_CMOVNS:
	case ZYDIS_MNEMONIC_CMOVNZ:
	case ZYDIS_MNEMONIC_CMOVO:
	case ZYDIS_MNEMONIC_CMOVP:
	case ZYDIS_MNEMONIC_CMOVS:
	case ZYDIS_MNEMONIC_CMOVZ:
	case ZYDIS_MNEMONIC_POPCNT:
	case ZYDIS_MNEMONIC_LZCNT:
	case ZYDIS_MNEMONIC_TZCNT:
	case ZYDIS_MNEMONIC_ANDN:
	case ZYDIS_MNEMONIC_BZHI:
	case ZYDIS_MNEMONIC_BEXTR:
	case ZYDIS_MNEMONIC_BLSR:
	case ZYDIS_MNEMONIC_SHLX:
	case ZYDIS_MNEMONIC_SHRX:
	case ZYDIS_MNEMONIC_SARX:
	case ZYDIS_MNEMONIC_RORX:
	case ZYDIS_MNEMONIC_MOVD:
	case ZYDIS_MNEMONIC_VMOVD:
	case ZYDIS_MNEMONIC_KMOVB:
	case ZYDIS_MNEMONIC_KMOVW:
	case ZYDIS_MNEMONIC_KMOVD:
	case ZYDIS_MNEMONIC_PMOVMSKB: case ZYDIS_MNEMONIC_VPMOVMSKB: case ZYDIS_MNEMONIC_MOVMSKPS:
	case ZYDIS_MNEMONIC_MOVMSKPD: case ZYDIS_MNEMONIC_PEXTRW: case ZYDIS_MNEMONIC_VPEXTRW:
		return true;
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
		return op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && op[1].value & 31;
	default:
		return false;
	}
}

/* Register @reg is the low half, extended as @how says, of @of + @add: like other registers
 * perhaps. */
static void extend(struct course *c, unsigned reg, enum x86_val_how how, struct holds of,
		   int64_t add)
{
	const uint32_t fresh = c->reg[reg].quantity;

	of.add += add;
	if (!of.add && c->q[of.quantity].how == how) {
		c->reg[reg] = of;
		return;
	}
	for (uint32_t i = 16; i < fresh; i++)
		if (c->q[i].of == of.quantity && c->q[i].how == how && c->q[i].of_add == of.add) {
			c->reg[reg] = (struct holds){ i, 0 };
			return;
		}
	c->q[fresh].how = (uint8_t)how;
	c->q[fresh].of = of.quantity;
	c->q[fresh].of_add = of.add;
}

/* Is op[0], of 32 bits, or of 64 that the instruction extends to, half of a register and a
 * constant? */
static bool takes_half(const struct plan_insn *in, const struct plan_operand *op, int *from,
		       int64_t *add)
{
	const bool immediate = op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	*from = gpr(op[0].reg);
	*add = 0;
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_CDQE:
		*from = op[1].type == ZYDIS_OPERAND_TYPE_REGISTER && op[1].size == 32
				? gpr(op[1].reg)
				: -1;
		return *from >= 0;
	case ZYDIS_MNEMONIC_LEA:
		*from = gpr(op[1].base);
		*add = op[1].value;
		return *from >= 0 && op[1].index == ZYDIS_REGISTER_NONE;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		*add = in->mnemonic == ZYDIS_MNEMONIC_ADD ? op[1].value : -op[1].value;
		return immediate;
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		*add = in->mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1;
		return true;
	default:
		return false;
	}
}

/* Registers of 64 bits of which 32 tell the rest; @before: what they held before the
 * instruction. */
static void halves(struct course *c, const struct plan_insn *in, const struct plan_operand *op,
		   const struct holds before[16])
{
	const bool zero = clears_upper_half(in, op);
	const bool sign = in->mnemonic == ZYDIS_MNEMONIC_MOVSX ||
			  in->mnemonic == ZYDIS_MNEMONIC_MOVSXD ||
			  in->mnemonic == ZYDIS_MNEMONIC_CDQE;

	for (unsigned i = 0; i < in->noperand && (zero || sign); i++) {
		enum x86_val_how how = op[i].size == 32 && zero ? X86_VAL_ZERO :
				       op[i].size == 64 && sign ? X86_VAL_SIGN : X86_VAL_WHOLE;
		int to = op[i].type == ZYDIS_OPERAND_TYPE_REGISTER ? gpr(op[i].reg) : -1,
		    from;
		int64_t add;

		if (to < 0 || how == X86_VAL_WHOLE ||
		    !(op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		c->q[c->reg[to].quantity].how = (uint8_t)how;
		if (!i && in->noperand > 1 && takes_half(in, op, &from, &add))
			extend(c, (unsigned)to, how, before[from], add);
	}
}

/* Pushes and pops: by how much the stack pointer goes up. */
static bool stack_step(const struct plan_insn *in, const struct plan_operand *op,
		       int64_t *by)
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
	for (unsigned i = 0; i < in->noperand; i++) {
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY && gpr(op[i].base) == RSP &&
		    op[i].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
			*by += (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? -1 : 1) *
			       (int64_t)(op[i].size / 8);
		if (in->mnemonic == ZYDIS_MNEMONIC_RET &&
		    op[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			*by += (int64_t)(op[i].value & 0xffff);
	}
	return *by != 0;
}

static void effects(struct course *c, const struct x86_insn *x, const struct plan_insn *in,
		    const struct plan_operand *op, uint64_t pc)
{
	struct holds before[16];
	uint32_t changed = x->write;
	int to, from;
	int64_t add;

	memcpy(before, c->reg, sizeof before);

	if (x->kind == X86_SYSCALL)		/* sysenter: it is the vDSO's, control comes back */
		changed &= ~(1u << RSP);
	if (stack_step(in, op, &add)) {
		c->reg[RSP].add += add;
		/* `pop rsp` loads it, after all */
		if (!(in->mnemonic == ZYDIS_MNEMONIC_POP &&
		      op[0].type == ZYDIS_OPERAND_TYPE_REGISTER && gpr(op[0].reg) == RSP))
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
	if (loads_constant(in, op, pc, &to, &add)) {
		struct quantity *q = &c->q[c->reg[to].quantity];

		q->known = true;
		q->value = X86_VAL_NONE;
		q->add = add;
	} else if (c->word == 64) {
		halves(c, in, op, before);
	}
	/* the stack pointer is never lost sight of */
	if (!c->q[c->reg[RSP].quantity].known) {
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

/* ---- all of it ------------------------------------------------------------------------------- */
void x86_plan(const struct x86_at *(*at)(void *ctx, uint32_t i), void *ctx, uint32_t n, bool wide,
	      struct x86_plan *plan)
{
	struct course c;		/* mostly not initialised: it is large */

	c.plan = plan;
	c.word = wide ? 64 : 32;
	c.nq = 16;
	plan->nref = plan->nstore = plan->size = 0;
	for (unsigned r = 0; r < 16; r++) {
		c.reg[r] = (struct holds){ r, 0 };
		c.q[r] = (struct quantity){ .of = NOTHING };
	}
	c.q[RSP] = (struct quantity){ .known = true, .value = X86_VAL_RSP, .of = NOTHING };
	for (uint32_t i = 0; i < n; i++) {
		const struct x86_at *a = at(ctx, i);
		const struct plan_form *f = plan_form_of(&plan->forms, a, wide);

		c.insn = i;
		if (f) {
			references(&c, &f->in, f->op, a->pc);
			effects(&c, &a->x, &f->in, f->op, a->pc);
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
	plan_forms_free(plan->forms);
	memset(plan, 0, sizeof *plan);
}
