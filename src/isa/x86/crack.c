/* SPDX-License-Identifier: MIT */
/* crack.c - shapes: short functions that emit micro-ops from the decoded operands
 *
 * Instructions without a recipe (crack_recipes.h) get the generic shape, which works from the
 * decoder's operand sets alone: loads, one computing micro-op (more if there are more than two
 * sources or one destination), stores. docs/formats/penn.md lists what was decided where the
 * course's traces show nothing. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "isa/x86/crack.h"
#include "isa/x86/crack_recipes.h"
#include "isa/x86/regs.h"
#include "isa/x86/zydis_regs.h"

#define RAX 0
#define RCX 1
#define RDX 2
#define RBX 3
#define RSP 4
#define RBP 5
#define RSI 6
#define RDI 7
#define T 44			/* the cracker's temporaries: 44-48, floating point 40-42 */
#define U 45
#define V 46

/* ---- emitting ------------------------------------------------------------------------------- */

struct uop_maker {
	struct x86_cracked *o;
	const ZydisDecodedInstruction *in;
	const ZydisDecodedOperand *op;
	const struct recipe *r;
	uint64_t live;			/* temporaries in use */
	bool reads_flags, writes_flags;
	bool full;			/* more micro-ops than a template holds: give up */
	struct x86_uop spare;		/* where the surplus goes */
};

static struct x86_uop *emit(struct uop_maker *m, const char *micro, int dest, int src1, int src2,
			    int64_t imm)
{
	struct x86_uop *u = &m->spare;

	if (m->o->n == X86_CRACK_MAX)
		m->full = true;
	else
		u = &m->o->uop[m->o->n++];
	*u = (struct x86_uop){ (int16_t)src1, (int16_t)src2, (int16_t)dest, '-', '-', '-', 0,
			       imm,	      micro };
	return u;
}

static int temp(struct uop_maker *m, bool fp)
{
	int first = fp ? 40 : T, last = fp ? 42 : 48;

	for (int t = first; t <= last; t++)
		if (!(m->live >> t & 1)) {
			m->live |= 1ull << t;
			return t;
		}
	m->full = true;
	return first;
}

static void done(struct uop_maker *m, int t)
{
	if (t >= 40 && t <= 48)
		m->live &= ~(1ull << t);
}

static bool is_mem(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

static bool is_imm(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

static int reg_of(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER ? x86_reg_number(op->reg.value) : -1;
}

static bool rip_relative(const ZydisDecodedOperand *op)
{
	return op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP;
}

static uint8_t bytes_of(const ZydisDecodedOperand *op)
{
	return op->size / 8 > 255 ? 0 : (uint8_t)(op->size / 8);
}

static void load(struct uop_maker *m, const ZydisDecodedOperand *op, int dest)
{
	int base = x86_reg_number(op->mem.base), index = x86_reg_number(op->mem.index);
	int64_t disp = op->mem.disp.value;
	struct x86_uop *u;

	if (rip_relative(op)) {
		base = dest >= T && dest <= 48 ? dest : temp(m, false);
		emit(m, "SAVE_PC", base, -1, -1, disp);
		u = emit(m, "LOAD", dest, -1, base, 0);
		if (base != dest)
			done(m, base);
	} else {
		u = emit(m, "LOAD", dest, index, base, disp);
	}
	u->ldst = 'L';
	u->msize = bytes_of(op);
}

static void store(struct uop_maker *m, const ZydisDecodedOperand *op, int data)
{
	int base = x86_reg_number(op->mem.base), index = x86_reg_number(op->mem.index), t;
	int64_t disp = op->mem.disp.value;
	struct x86_uop *u;

	if (rip_relative(op) || index >= 0) {
		t = temp(m, false);
		if (index >= 0)
			emit(m, "LEA", t, index, base, disp);
		else
			emit(m, "SAVE_PC", t, -1, -1, disp);
		u = emit(m, "STORE", -1, data, t, 0);
		done(m, t);
	} else {
		u = emit(m, "STORE", -1, data, base, disp);
	}
	u->ldst = 'S';
	u->msize = bytes_of(op);
}

/* The value of @op in a register: its own, or a temporary that was loaded. -1: an immediate. */
static int value_of(struct uop_maker *m, const ZydisDecodedOperand *op, bool fp)
{
	int t;

	if (!is_mem(op))
		return reg_of(op);
	t = temp(m, fp);
	load(m, op, t);
	return t;
}

static int64_t imm_of(const ZydisDecodedOperand *op)
{
	return is_imm(op) ? op->imm.value.s : 0;
}

/* dest <- sources, more than two of them by way of temporaries. An instruction that reads and
 * writes the flags needs two micro-ops for it: CARRY takes them in first. */
static struct x86_uop *compute(struct uop_maker *m, const char *micro, int dest, const int *from,
			       unsigned n, int64_t imm, bool reads, bool writes, bool fp)
{
	struct x86_uop *u;
	int s[16];

	n = n < 16 ? n : 16;
	memcpy(s, from, n * sizeof *s);
	if (reads && writes) {
		int t = temp(m, fp), last = n ? s[n - 1] : -1;

		emit(m, "CARRY", t, last, -1, imm)->flags = 'R';
		s[n ? n - 1 : n++] = t;
		reads = false;
		done(m, last);
		done(m, t);
	}
	while (n > 2) {
		int t = temp(m, fp);

		emit(m, micro, t, s[n - 2], s[n - 1], 0);
		done(m, s[n - 1]);
		done(m, s[n - 2]);
		s[n-- - 2] = t;
		done(m, t);
	}
	u = emit(m, micro, dest, n > 0 ? s[0] : -1, n > 1 ? s[1] : -1, imm);
	u->flags = writes ? 'W' : reads ? 'R' : '-';
	return u;
}

static void add_set(int *s, unsigned *n, int reg)
{
	if (reg < 0 || reg == X86_REG_FLAGS || *n == 16)
		return;
	for (unsigned i = 0; i < *n; i++)
		if (s[i] == reg)
			return;
	s[(*n)++] = reg;
}

/* From the operand sets alone. */
static void generic(struct uop_maker *m, const char *micro)
{
	const ZydisDecodedOperand *out[8];
	int src[16], dst[16], result;
	unsigned ns = 0, nd = 0, nout = 0;
	bool fp = !m->o->integer;
	int64_t imm = 0;

	for (unsigned i = 0; i < m->in->operand_count; i++) {
		const ZydisDecodedOperand *op = &m->op[i];
		bool rd = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
		bool wr = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

		if (is_imm(op) && op->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT) {
			imm = imm_of(op);
		} else if (is_mem(op) && op->mem.type == ZYDIS_MEMOP_TYPE_MEM && (rd || wr)) {
			if (rd) {
				int t = temp(m, fp);

				load(m, op, t);
				add_set(src, &ns, t);
			}
			if (wr && nout < 8)
				out[nout++] = op;
		} else if (is_mem(op)) {
			/* an address that is only computed, or many addresses (gather): its
			 * registers */
			add_set(src, &ns, x86_reg_number(op->mem.base));
			add_set(src, &ns, x86_reg_number(op->mem.index));
			if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB && rd) {
				struct x86_uop *u = emit(m, "LOAD", fp ? 42 : V, -1,
							 x86_reg_number(op->mem.base),
							 op->mem.disp.value);

				u->ldst = 'L';
				add_set(src, &ns, u->dest);
			} else if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB && wr) {
				emit(m, "STORE", -1, -1, x86_reg_number(op->mem.base),
				     op->mem.disp.value)->ldst = 'S';
			}
		} else if (op->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			if (rd)
				add_set(src, &ns, reg_of(op));
			if (wr)
				add_set(dst, &nd, reg_of(op));
		}
	}
	result = nd == 1 && !nout ? dst[0] : nd || nout ? temp(m, fp) :
		 ns || m->writes_flags ? (fp ? 40 : T) : -1;
	compute(m, micro, result, src, ns, imm, m->reads_flags, m->writes_flags, fp);
	for (unsigned i = 0; i < nout; i++)
		store(m, out[i], result);
	for (unsigned i = 0; i < nd && (nd > 1 || nout); i++)
		emit(m,
		     i == 1 && nd == 2 ? "UPPER_HALF"
		     : fp	       ? "FP_MOV"
				       : "ADD",
		     dst[i], result, -1, 0);
}

static void push(struct uop_maker *m, int data, unsigned size)
{
	struct x86_uop *u = emit(m, "STORE", -1, data, RSP, -(int64_t)size);

	u->ldst = 'S';
	u->msize = (uint8_t)size;
	emit(m, "SUB_IMM", RSP, RSP, -1, size);
}

/* Size of the stack operand that the decoder lists. */
static unsigned stack_size(const struct uop_maker *m)
{
	for (unsigned i = 0; i < m->in->operand_count; i++)
		if (is_mem(&m->op[i]) && m->op[i].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
			return bytes_of(&m->op[i]);
	return 8;
}

static const char *ext_name(bool sign, unsigned from, unsigned to)
{
	static const char *const name[2][3][3] = {
		{ { "ZEXT_BYTE_TO_WORD", "ZEXT_BYTE_TO_DWORD", "ZEXT_BYTE_TO_QWORD" },
		  { "ZEXT_WORD_TO_WORD", "ZEXT_WORD_TO_DWORD", "ZEXT_WORD_TO_QWORD" },
		  { "ZEXT_DWORD_TO_WORD", "ZEXT_DWORD_TO_DWORD", "ZEXT_DWORD_TO_QWORD" } },
		{ { "SEXT_BYTE_TO_WORD", "SEXT_BYTE_TO_DWORD", "SEXT_BYTE_TO_QWORD" },
		  { "SEXT_WORD_TO_WORD", "SEXT_WORD_TO_DWORD", "SEXT_WORD_TO_QWORD" },
		  { "SEXT_DWORD_TO_WORD", "SEXT_DWORD_TO_DWORD", "SEXT_DWORD_TO_QWORD" } },
	};

	return name[sign][from == 8 ? 0 : from == 16 ? 1 : 2][to == 16 ? 0 : to == 32 ? 1 : 2];
}

static void branch(struct uop_maker *m, const char *micro, int src, int64_t imm, bool direct)
{
	struct x86_uop *u = emit(m, micro, -1, src, -1, imm);

	u->branch = direct ? 'D' : 'I';
	if (m->reads_flags)
		u->flags = 'R';
}

/* String instructions: pointers move by the element's size, in the direction that a flag gives. */
static void advance(struct uop_maker *m, int reg, unsigned size)
{
	emit(m, "ADD_IMM", reg, reg, -1, size)->flags = m->reads_flags ? 'R' : '-';
}

static const ZydisDecodedOperand *mem_based(const struct uop_maker *m, int base)
{
	for (unsigned i = 0; i < m->in->operand_count; i++)
		if (is_mem(&m->op[i]) && x86_reg_number(m->op[i].mem.base) == base)
			return &m->op[i];
	return NULL;
}

/* Results of two operands, or of one, in the first. */
static bool arithmetic(struct uop_maker *m)
{
	const ZydisDecodedOperand *op = m->op;
	const struct recipe *r = m->r;
	const bool fl = m->reads_flags, fw = m->writes_flags;
	int s[4], d, t;
	unsigned n;

	switch (r->shape) {
	case S_ALU:
		if (m->in->mnemonic == ZYDIS_MNEMONIC_XOR && reg_of(&op[0]) >= 0 &&
		    !is_imm(&op[1]) && op[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    op[0].reg.value == op[1].reg.value) {
			emit(m, "ADD", reg_of(&op[0]), -1, -1, 0);
			return true;
		}
		d = value_of(m, &op[0], false);
		n = 0;
		s[n++] = d;
		if (!is_imm(&op[1]))
			s[n++] = value_of(m, &op[1], false);
		else if (fl)
			s[n++] = -1;
		compute(m, is_imm(&op[1]) ? r->micro_imm : r->micro, d, s, n, imm_of(&op[1]), fl,
			fw, false);
		if (is_mem(&op[0]))
			store(m, &op[0], d);
		return true;
	case S_CMP:
		m->live |= 1ull << T;		/* the result that nobody wants goes there */
		n = 0;
		s[n++] = value_of(m, &op[0], false);
		if (!is_imm(&op[1]))
			s[n++] = value_of(m, &op[1], false);
		compute(m, is_imm(&op[1]) ? r->micro_imm : r->micro, T, s, n, imm_of(&op[1]), fl,
			fw, false);
		return true;
	case S_INCDEC:
		d = value_of(m, &op[0], false);
		emit(m, r->micro, d, d, -1, 1);
		if (is_mem(&op[0]))
			store(m, &op[0], d);
		return true;
	case S_NEG:
		d = value_of(m, &op[0], false);
		emit(m, r->micro, d, -1, d, 0)->flags = 'W';
		if (is_mem(&op[0]))
			store(m, &op[0], d);
		return true;
	case S_NOT:
		d = value_of(m, &op[0], false);
		emit(m, r->micro, d, d, -1, -1);
		if (is_mem(&op[0]))
			store(m, &op[0], d);
		return true;
	case S_SHIFT: {
		bool imm = false;
		int64_t count = 0;

		d = value_of(m, &op[0], false);
		n = 0;
		s[n++] = d;
		for (unsigned i = 1; i < m->in->operand_count && op[i].visibility !=
		     ZYDIS_OPERAND_VISIBILITY_HIDDEN; i++)
			if (is_imm(&op[i])) {
				imm = true;
				count = imm_of(&op[i]);
			} else if (reg_of(&op[i]) >= 0 && reg_of(&op[i]) != d) {
				s[n++] = reg_of(&op[i]);
			}
		/* a shift of a register by itself (shl cl, cl) has one source */
		if (fl && n == 1)
			s[n++] = -1;
		compute(m, imm ? r->micro_imm : r->micro, d, s, n, count, fl, fw, false);
		if (is_mem(&op[0]))
			store(m, &op[0], d);
		return true;
	}
	case S_BT:
		/* bt only tests: its result goes nowhere */
		n = 0;
		if (m->in->mnemonic == ZYDIS_MNEMONIC_BT)
			m->live |= 1ull << T;
		d = value_of(m, &op[0], false);
		s[n++] = d;
		if (!is_imm(&op[1]) && reg_of(&op[1]) != d)
			s[n++] = reg_of(&op[1]);
		t = m->in->mnemonic == ZYDIS_MNEMONIC_BT ? T : d;
		compute(m, is_imm(&op[1]) ? r->micro_imm : r->micro, t, s, n, imm_of(&op[1]), fl,
			fw, false);
		if (is_mem(&op[0]) && m->in->mnemonic != ZYDIS_MNEMONIC_BT)
			store(m, &op[0], d);
		return true;
	default:
		return false;
	}
}

/* Multiplications and divisions: two halves of a result. */
static bool multiply(struct uop_maker *m)
{
	const ZydisDecodedOperand *op = m->op;
	const struct recipe *r = m->r;
	const bool fl = m->reads_flags, fw = m->writes_flags;
	int src[16], dst[16], s[4], t, v;
	unsigned ns = 0, nd = 0, n;

	if (r->shape == S_IMUL && m->in->operand_count_visible > 1) {
		bool imm = is_imm(&op[m->in->operand_count_visible - 1]);

		n = 0;
		if (!imm)
			s[n++] = reg_of(&op[0]);
		v = value_of(m, &op[1], false);
		if (imm || v != s[0])
			s[n++] = v;
		compute(m, imm ? r->micro_imm : r->micro, reg_of(&op[0]), s, n,
			imm ? imm_of(&op[m->in->operand_count_visible - 1]) : 0, fl, fw, false);
		return true;
	}
	for (unsigned i = 0; i < m->in->operand_count; i++) {
		if (is_mem(&op[i]))
			add_set(src, &ns, value_of(m, &op[i], false));
		else if (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			add_set(src, &ns, reg_of(&op[i]));
	}
	/* mulx names its destinations high, low; the others write rax, then rdx */
	for (unsigned i = m->in->operand_count; i--; )
		if (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			add_set(dst, &nd, reg_of(&op[i]));
	if (nd == 2 && dst[0] == RDX && dst[1] == RAX && m->in->mnemonic != ZYDIS_MNEMONIC_MULX) {
		dst[0] = RAX;
		dst[1] = RDX;
	}
	t = temp(m, false);
	compute(m, r->shape == S_IMUL ? "IMUL" : r->micro, t, src, ns, 0, fl, fw, false);
	emit(m, "ADD", nd ? dst[0] : -1, t, -1, 0);
	if (nd > 1)
		emit(m, r->shape == S_DIV ? "REMAINDER" : "UPPER_HALF", dst[1], t, -1, 0);
	return true;
}

static bool move(struct uop_maker *m)
{
	const ZydisDecodedOperand *op = m->op;
	const struct recipe *r = m->r;
	const bool fw = m->writes_flags;
	int d, t, v;

	switch (r->shape) {
	case S_MOV:
		if (is_mem(&op[0])) {
			v = reg_of(&op[1]);
			if (v < 0) {		/* an immediate, or a segment register */
				v = temp(m, false);
				emit(m, is_imm(&op[1]) ? r->micro_imm : r->micro, v, -1, -1,
				     imm_of(&op[1]));
			}
			store(m, &op[0], v);
			return true;
		}
		d = reg_of(&op[0]);
		if (is_mem(&op[1]))
			load(m, &op[1], d >= 0 ? d : T);
		else
			emit(m, is_imm(&op[1]) ? r->micro_imm : r->micro, d, reg_of(&op[1]), -1,
			     imm_of(&op[1]))
				->flags = fw ? 'W' : '-';
		return true;
	case S_EXT:
		v = value_of(m, &op[1], false);
		emit(m, ext_name(r->micro[0] == 'S', op[1].size, op[0].size), reg_of(&op[0]), v, -1,
		     0);
		return true;
	case S_CBW:
		emit(m, r->micro, RAX, RAX, -1, 0);
		return true;
	case S_CWD:
		emit(m, r->micro, RDX, RAX, -1, m->in->mnemonic == ZYDIS_MNEMONIC_CWD ? 15 :
		     m->in->mnemonic == ZYDIS_MNEMONIC_CDQ ? 31 : 63);
		return true;
	case S_LEA:
		d = reg_of(&op[0]);
		if (rip_relative(&op[1]))
			emit(m, "SAVE_PC", d, -1, -1, op[1].mem.disp.value);
		else
			emit(m, "LEA", d, x86_reg_number(op[1].mem.index),
			     x86_reg_number(op[1].mem.base), op[1].mem.disp.value);
		return true;
	case S_SETCC:
		d = is_mem(&op[0]) ? temp(m, false) : reg_of(&op[0]);
		emit(m, r->micro, d, -1, -1, 0);
		emit(m, r->micro_imm, d, -1, -1, 1)->flags = 'R';
		if (is_mem(&op[0]))
			store(m, &op[0], d);
		return true;
	case S_CMOV:
		v = value_of(m, &op[1], false);
		emit(m, r->micro, reg_of(&op[0]), v, -1, 0)->flags = 'R';
		return true;
	case S_MOVBE:
		if (is_mem(&op[0])) {
			t = temp(m, false);
			emit(m, r->micro, t, reg_of(&op[1]), -1, 0);
			store(m, &op[0], t);
		} else {
			emit(m, r->micro, reg_of(&op[0]), value_of(m, &op[1], false), -1, 0);
		}
		return true;
	case S_XLAT: {
		struct x86_uop *u = emit(m, "LOAD", RAX, RAX, RBX, 0);

		u->ldst = 'L';
		u->msize = 1;
		return true;
	}
	case S_FPMOV:
		if (m->in->operand_count_visible != 2 || is_imm(&op[1]))
			return false;		/* masked, or merging with a third register */
		if (is_mem(&op[0]) && reg_of(&op[1]) >= 0 &&
		    !(op[0].actions & ZYDIS_OPERAND_ACTION_MASK_READ)) {
			store(m, &op[0], reg_of(&op[1]));
			return true;
		}
		if (reg_of(&op[0]) < 0 || op[0].actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			return false;
		if (is_mem(&op[1]))
			load(m, &op[1], reg_of(&op[0]));
		else
			emit(m, r->micro, reg_of(&op[0]), reg_of(&op[1]), -1, 0);
		return true;
	default:
		return false;
	}
}

static bool stack(struct uop_maker *m)
{
	const ZydisDecodedOperand *op = m->op;
	const bool fl = m->reads_flags, fw = m->writes_flags;
	struct x86_uop *u;
	int s[4], d, t, v;
	unsigned size;

	switch (m->r->shape) {
	case S_PUSH:
		v = is_imm(&op[0]) ? -1 : value_of(m, &op[0], false);
		if (v < 0) {
			v = temp(m, false);
			emit(m, is_imm(&op[0]) ? "ADD_IMM" : "ADD", v, -1, -1, imm_of(&op[0]));
		}
		push(m, v, stack_size(m));
		return true;
	case S_POP:
		size = stack_size(m);
		d = reg_of(&op[0]);
		t = is_mem(&op[0]) || d < 0 || d == RSP ? temp(m, false) : d;
		u = emit(m, "LOAD", t, -1, RSP, 0);
		u->ldst = 'L';
		u->msize = (uint8_t)size;
		emit(m, "ADD_IMM", RSP, RSP, -1, size);
		if (is_mem(&op[0]))
			store(m, &op[0], t);
		else if (d == RSP)
			emit(m, "ADD", RSP, t, -1, 0);
		return true;
	case S_PUSHF:
		t = temp(m, false);
		emit(m, "FLAGS", t, -1, -1, 0)->flags = 'R';
		push(m, t, stack_size(m));
		return true;
	case S_POPF:
		size = stack_size(m);
		t = temp(m, false);
		u = emit(m, "LOAD", t, -1, RSP, 0);
		u->ldst = 'L';
		u->msize = (uint8_t)size;
		emit(m, "ADD_IMM", RSP, RSP, -1, size);
		s[0] = t;
		compute(m, "FLAGS", U, s, 1, 0, fl, fw, false);
		return true;
	case S_LEAVE:
		size = stack_size(m);
		emit(m, "ADD", RSP, RBP, -1, 0);
		u = emit(m, "LOAD", RBP, -1, RSP, 0);
		u->ldst = 'L';
		u->msize = (uint8_t)size;
		emit(m, "ADD_IMM", RSP, RSP, -1, size);
		return true;
	default:
		return false;
	}
}

static bool control(struct uop_maker *m)
{
	const ZydisDecodedOperand *op = m->op;
	const struct recipe *r = m->r;
	const bool fl = m->reads_flags;
	struct x86_uop *u;
	int v;
	unsigned size;

	switch (r->shape) {
	case S_CALL:
		if (op[0].type == ZYDIS_OPERAND_TYPE_POINTER ||
		    m->in->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
			return false;
		size = stack_size(m);
		v = -1;
		m->live |= 1ull << T;
		if (!is_imm(&op[0]))
			v = value_of(m, &op[0], false);
		emit(m, "SAVE_PC", T, -1, -1, 0);
		emit(m, "SUB_IMM", RSP, RSP, -1, size);
		u = emit(m, "STORE", -1, T, RSP, 0);
		u->ldst = 'S';
		u->msize = (uint8_t)size;
		branch(m, v < 0 ? r->micro : r->micro_imm, v, imm_of(&op[0]), v < 0);
		return true;
	case S_RET:
		if (m->in->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
			return false;
		size = stack_size(m);
		u = emit(m, "LOAD", T, -1, RSP, 0);
		u->ldst = 'L';
		u->msize = (uint8_t)size;
		emit(m, "ADD_IMM", RSP, RSP, -1,
		     size + (is_imm(&op[0]) ? (uint64_t)op[0].imm.value.u : 0));
		branch(m, r->micro, T, 0, false);
		return true;
	case S_JMP:
		if (op[0].type == ZYDIS_OPERAND_TYPE_POINTER ||
		    m->in->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
			return false;
		v = is_imm(&op[0]) ? -1 : value_of(m, &op[0], false);
		branch(m, v < 0 ? r->micro : r->micro_imm, v, imm_of(&op[0]), v < 0);
		return true;
	case S_JCC:
		/* jrcxz and its narrower kin look at rcx, not at the flags */
		branch(m, r->micro, fl ? -1 : RCX, imm_of(&op[0]), true);
		return true;
	case S_LOOP:
		emit(m, "SUB_IMM", RCX, RCX, -1, 1);
		branch(m, r->micro, RCX, imm_of(&op[0]), true);
		return true;
	default:
		return false;
	}
}

static bool exchange(struct uop_maker *m)
{
	const ZydisDecodedOperand *op = m->op, *a, *b;
	const struct recipe *r = m->r;
	int t, v;

	switch (r->shape) {
	case S_XCHG:
		a = is_mem(&op[1]) ? &op[1] : &op[0];
		b = is_mem(&op[1]) ? &op[0] : &op[1];
		t = temp(m, false);
		if (is_mem(a)) {
			load(m, a, t);
			store(m, a, reg_of(b));
		} else {
			emit(m, r->micro, t, reg_of(a), -1, 0);
			emit(m, r->micro, reg_of(a), reg_of(b), -1, 0);
		}
		emit(m, r->micro, reg_of(b), t, -1, 0);
		return true;
	case S_XADD:
		t = temp(m, false);
		if (is_mem(&op[0])) {
			load(m, &op[0], t);
			v = temp(m, false);
			emit(m, r->micro, v, t, reg_of(&op[1]), 0)->flags = 'W';
			store(m, &op[0], v);
		} else {
			emit(m, r->micro, t, reg_of(&op[0]), -1, 0);
			emit(m, r->micro, reg_of(&op[0]), reg_of(&op[0]), reg_of(&op[1]), 0)
				->flags = 'W';
		}
		emit(m, r->micro, reg_of(&op[1]), t, -1, 0);
		return true;
	case S_CMPXCHG:
		t = temp(m, false);
		v = temp(m, false);
		if (is_mem(&op[0])) {
			load(m, &op[0], t);
			emit(m, r->micro, v, RAX, t, 0)->flags = 'W';
			store(m, &op[0], reg_of(&op[1]));
		} else {
			emit(m, "ADD", t, reg_of(&op[0]), -1, 0);
			emit(m, r->micro, v, RAX, t, 0)->flags = 'W';
			emit(m, "ADD", reg_of(&op[0]), reg_of(&op[1]), -1, 0);
		}
		emit(m, "ADD", RAX, t, -1, 0);
		return true;
	case S_CMPXCHG16:
		t = temp(m, false);
		v = temp(m, false);
		load(m, &op[0], t);
		emit(m, "SUB", v, RAX, t, 0);
		emit(m, "SUB", v, RDX, v, 0)->flags = 'W';
		emit(m, "MERGE", v, RBX, RCX, 0);
		store(m, &op[0], v);
		emit(m, "ADD", RAX, t, -1, 0);
		emit(m, "UPPER_HALF", RDX, t, -1, 0);
		return true;
	default:
		return false;
	}
}

static bool string(struct uop_maker *m)
{
	const ZydisDecodedOperand *a, *b;
	const struct recipe *r = m->r;
	int t;
	unsigned size;

	a = mem_based(m, RSI);
	b = mem_based(m, RDI);
	if ((r->shape != S_STOS && r->shape != S_SCAS && !a) || (r->shape != S_LODS && !b))
		return false;		/* the SSE instructions movsd and cmpsd share the name */
	size = bytes_of(a ? a : b);
	switch (r->shape) {
	case S_MOVS:
		t = temp(m, false);
		load(m, a, t);
		store(m, b, t);
		break;
	case S_STOS:
		store(m, b, RAX);
		break;
	case S_LODS:
		load(m, a, RAX);
		break;
	case S_SCAS:
		load(m, b, U);
		emit(m, "SUB", T, RAX, U, 0)->flags = 'W';
		break;
	default:
		load(m, a, U);
		load(m, b, V);
		emit(m, "SUB", T, U, V, 0)->flags = 'W';
	}
	if (a)
		advance(m, RSI, size);
	if (b)
		advance(m, RDI, size);
	if (m->o->rep)
		emit(m, "SUB_IMM", RCX, RCX, -1, 1);
	return true;
}

/* An address or a register may be named; no memory is touched. */
static bool nothing(struct uop_maker *m)
{
	const ZydisDecodedOperand *op = m->op;
	const struct recipe *r = m->r;
	int src[16];
	unsigned ns = 0;

	for (unsigned i = 0; i < m->in->operand_count; i++)
		if (is_mem(&op[i])) {
			add_set(src, &ns, x86_reg_number(op[i].mem.index));
			add_set(src, &ns, x86_reg_number(op[i].mem.base));
		} else if (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ) {
			add_set(src, &ns, reg_of(&op[i]));
		}
	compute(m, r->micro, -1, src, ns, 0, false, false, false);
	return true;
}

/* False: the operands are not what the shape expects, use the generic one. */
static bool shape(struct uop_maker *m)
{
	switch (m->r->shape) {
	case S_GENERIC:
		return false;
	case S_NAMED:
		generic(m, m->r->micro);
		return true;
	case S_ALU: case S_CMP: case S_INCDEC: case S_NEG: case S_NOT: case S_SHIFT: case S_BT:
		return arithmetic(m);
	case S_MUL: case S_DIV: case S_IMUL:
		return multiply(m);
	case S_MOV: case S_EXT: case S_CBW: case S_CWD: case S_LEA: case S_SETCC: case S_CMOV:
	case S_MOVBE: case S_XLAT: case S_FPMOV:
		return move(m);
	case S_PUSH: case S_POP: case S_PUSHF: case S_POPF: case S_LEAVE:
		return stack(m);
	case S_CALL: case S_RET: case S_JMP: case S_JCC: case S_LOOP:
		return control(m);
	case S_XCHG: case S_XADD: case S_CMPXCHG: case S_CMPXCHG16:
		return exchange(m);
	case S_MOVS: case S_STOS: case S_LODS: case S_SCAS: case S_CMPS:
		return string(m);
	case S_NOP:
		return nothing(m);
	}
	return false;
}

/* Two mnemonics name both a string instruction and one of SSE. */
static const struct recipe *recipe_of(const ZydisDecodedInstruction *in)
{
	static const struct recipe movsd = { NULL, "FP_MOV", NULL, S_FPMOV };
	static const struct recipe cmpsd = { NULL, "FP_CMP", NULL, S_NAMED };

	if (in->mnemonic == ZYDIS_MNEMONIC_MOVSD && in->meta.category != ZYDIS_CATEGORY_STRINGOP)
		return &movsd;
	if (in->mnemonic == ZYDIS_MNEMONIC_CMPSD && in->meta.category != ZYDIS_CATEGORY_STRINGOP)
		return &cmpsd;
	return &recipes[in->mnemonic];
}

bool x86_crack(const uint8_t *bytes, unsigned len, bool wide, struct x86_cracked *out)
{
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	struct uop_maker m = { .o = out, .in = &in, .op = op };
	const char *name;
	unsigned i;

	memset(out, 0, sizeof *out);
	if (!x86_zydis(bytes, len, wide, &in, op))
		return false;
	m.r = recipe_of(&in);
	out->len = in.length;
	out->integer = true;
	for (i = 0; i < in.operand_count; i++) {
		if (op[i].type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		switch (ZydisRegisterGetClass(op[i].reg.value)) {
		case ZYDIS_REGCLASS_FLAGS:
			m.reads_flags |= !!(op[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ);
			m.writes_flags |= !!(op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
			break;
		case ZYDIS_REGCLASS_X87: case ZYDIS_REGCLASS_MMX: case ZYDIS_REGCLASS_XMM:
		case ZYDIS_REGCLASS_YMM: case ZYDIS_REGCLASS_ZMM: case ZYDIS_REGCLASS_MASK:
			out->integer = false;
			break;
		default:
			break;
		}
	}
	out->rep = in.attributes &
		   (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
	out->cond = in.meta.category == ZYDIS_CATEGORY_COND_BR;
	name = m.r->macro ? m.r->macro : ZydisMnemonicGetString(in.mnemonic);
	for (i = 0; i < sizeof out->macro - 1 && name && name[i]; i++)
		out->macro[i] = (char)toupper((unsigned char)name[i]);
	out->specific = shape(&m) && !m.full;
	if (!out->specific) {
		out->n = 0;
		m.full = false;
		m.live = 0;
		generic(&m, m.r->micro ? m.r->micro : out->integer ? "OP" : "FP_OP");
		/* a recipe whose shape did not fit has names of its own all the same */
		out->specific = m.r->shape != S_GENERIC;
	}
	/* control transfers that only the generic recipe knows: far ones, xbegin, system calls
	 * excepted */
	if (in.meta.category == ZYDIS_CATEGORY_CALL || in.meta.category == ZYDIS_CATEGORY_RET ||
	    in.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
	    in.meta.category == ZYDIS_CATEGORY_COND_BR) {
		struct x86_uop *last = out->n ? &out->uop[out->n - 1] : NULL;

		for (i = 0; i < out->n && out->uop[i].branch == '-'; i++)
			;
		if (i == out->n && last)
			last->branch = 'I';
	}
	return true;
}
