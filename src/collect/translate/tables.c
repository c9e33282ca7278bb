/* SPDX-License-Identifier: MIT */
/* tables.c - where a switch may go: the addresses that its jump table names
 *
 *   jmp *table(,%rax,8)                                       addresses, fixed code
 *   mov table(,%rax,8),%rax; jmp *%rax
 *   lea table(%rip),%rdx; jmp *(%rdx,%rax,8)                  addresses, relocated: computed goto
 *   lea table(%rip),%rdx; movslq (%rdx,%rax,4),%rax;          distances from the table
 *   add %rdx,%rax; jmp *%rax
 *
 * and how many, from the comparison in front of it. No more than a guess: what it misses is
 * translated when control comes there, and what it finds too much is never executed. */
#include <string.h>

#include "collect/translate/tables.h"

#define NEAR_INSNS	12u		/* that make up the address */
#define FAR_INSNS	64u		/* back to where the table's address is taken */
#define MAX_ENTRIES	1024u
#define UNBOUNDED	256u		/* entries of a table of which nothing
					 * says how long it is */
#define UNBOUNDED_REACH	(64 << 10)	/* ... and which go no further than that from the jump */

bool operand(const struct scratch *s, const struct insn *i, struct operand *o)
{
	const uint8_t rex = !s->in->i386 && i->x.op &&
		(i->p[i->x.op - 1] & 0xf0) == 0x40 ? i->p[i->x.op - 1] : 0;
	const uint8_t m = i->p[i->x.modrm];

	if (!i->x.modrm || i->x.modrm != i->x.op + 1 || (i->x.op && i->p[i->x.op - 1] == 0x0f))
		return false;
	*o = (struct operand){ .reg = (m >> 3 & 7) | (rex & 4) << 1, .rm = -1, .base = -1,
			       .index = -1 };
	if (m >> 6 == 3) {
		o->rm = (m & 7) | (rex & 1) << 3;
		return true;
	}
	if ((m & 7) == 4) {
		const uint8_t sib = i->p[i->x.modrm + 1];

		o->scale = 1u << (sib >> 6);
		o->index = (sib >> 3 & 7) | (rex & 2) << 2;
		o->index = o->index == 4 ? -1 : o->index;
		if ((sib & 7) != 5 || m >> 6)
			o->base = (sib & 7) | (rex & 1) << 3;
	} else if ((m & 7) != 5 || m >> 6) {
		o->base = (m & 7) | (rex & 1) << 3;
	}
	if (i->x.ndisp == 1)
		o->disp = (int8_t)i->p[i->x.disp];
	else if (i->x.ndisp == 4)
		memcpy(&o->disp, i->p + i->x.disp, 4);
	return true;
}

bool lea_address(const struct scratch *s, size_t stop, size_t k, int reg, uint64_t *at)
{
	struct operand o;

	while (k-- > stop) {
		const struct insn *i = &s->insn[k];

		if (!(i->x.write >> reg & 1))
			continue;
		if (!(i->x.prop & X86_RIP) || !(i->x.prop & X86_WIDE) || opcode(i) != OP_LEA ||
		    !operand(s, i, &o) || o.reg != reg)
			return false;
		*at = rip_operand(i);
		return true;
	}
	return false;
}

/* An operand [base + index * width + disp] of instruction @k. */
static bool table_in(const struct scratch *s, size_t k, const struct operand *o, unsigned width,
		     struct xl_table *t)
{
	*t = (struct xl_table){ (uint64_t)(int64_t)o->disp, width, false };
	if (o->rm >= 0 || o->index < 0 || o->scale != width)
		return false;
	if (o->base >= 0) {
		if (!lea_address(s, k < FAR_INSNS ? 0 : k - FAR_INSNS, k, o->base, &t->at))
			return false;
		t->at += (uint64_t)(int64_t)o->disp;
	}
	if (s->in->i386)
		t->at = (uint32_t)t->at;
	return true;
}

/* Instruction @k adds registers @a and @b: is one a table's address, and the
 * other an entry of it? */
static bool sum_of(const struct scratch *s, size_t k, int a, int b, struct xl_table *t)
{
	const size_t stop = k < NEAR_INSNS ? 0 : k - NEAR_INSNS;
	struct operand o;

	while (k-- > stop) {
		const struct insn *i = &s->insn[k];

		if (!((i->x.write >> a | i->x.write >> b) & 1))
			continue;
		if (opcode(i) == OP_LEA)
			continue;
		if (opcode(i) != OP_MOVSXD || !operand(s, i, &o) || o.disp ||
		    !table_in(s, k, &o, 4, t) ||
		    !((o.reg == a && o.base == b) || (o.reg == b && o.base == a)))
			return false;
		t->relative = true;
		return true;
	}
	return false;
}

static bool find_table(const struct scratch *s, size_t k, struct xl_table *t)
{
	const unsigned word = s->in->i386 ? 4 : 8;
	const size_t stop = k < NEAR_INSNS ? 0 : k - NEAR_INSNS;
	struct operand o;
	int reg;

	if (opcode(&s->insn[k]) != OP_GROUP5 || !operand(s, &s->insn[k], &o))
		return false;
	if (o.rm < 0)
		return table_in(s, k, &o, word, t);
	reg = o.rm;
	while (k-- > stop) {
		const struct insn *i = &s->insn[k];

		if (!(i->x.write >> reg & 1))
			continue;
		if (!operand(s, i, &o))
			return false;
		switch (opcode(i)) {
		case OP_MOV:
			return o.reg == reg && table_in(s, k, &o, word, t);
		case OP_ADD:
		case OP_ADD_TO:
			return !s->in->i386 && o.rm >= 0 && sum_of(s, k, o.reg, o.rm, t);
		default:
			return false;
		}
	}
	return false;
}

uint32_t entries(const struct scratch *s, size_t k)
{
	const size_t stop = k < 2 * NEAR_INSNS ? 0 : k - 2 * NEAR_INSNS;

	while (k-- > stop + 1) {
		const struct insn *jcc = &s->insn[k], *cmp = jcc - 1;
		const uint8_t op = opcode(cmp);
		int64_t imm;

		if (jcc->x.kind != X86_JCC)
			continue;
		if ((opcode(jcc) & 0xa) != 2)		/* jb, jae, jbe, ja */
			return 0;
		if (!(((op & ~3) == 0x80 && cmp->x.modrm && (cmp->p[cmp->x.modrm] >> 3 & 7) == 7) ||
		      (op & ~1) == 0x3c))
			return 0;
		imm = x86_imm(&cmp->x, cmp->p);
		return imm >= 0 && imm < MAX_ENTRIES ? (uint32_t)imm + 1 : 0;
	}
	return 0;
}

bool table_entry(const struct xl_input *in, const struct xl_table *t, uint32_t i, uint64_t *to)
{
	size_t avail = 0;
	const uint8_t *p = in->data(in->ctx, t->at + (uint64_t)i * t->width, &avail);
	int32_t d = 0;

	if (!p || avail < t->width)
		return false;
	*to = 0;
	memcpy(t->relative ? (void *)&d : (void *)to, p, t->width);
	if (t->relative)
		*to = t->at + (uint64_t)(int64_t)d;
	return *to >= in->lo && *to < in->hi;
}

void find_targets(struct scratch *s, size_t k, void (*add)(struct scratch *s, uint64_t pc))
{
	const struct xl_input *in = s->in;
	const uint64_t from = s->insn[k].pc;
	uint64_t last = 0, to;
	struct xl_table t;
	uint32_t n, known;

	if (!in->data || !find_table(s, k, &t))
		return;
	known = entries(s, k);
	n = known ? known : UNBOUNDED;
	for (uint32_t i = 0; i < n; i++) {
		if (!table_entry(in, &t, i, &to))
			return;
		if (!known && (to - from) + UNBOUNDED_REACH > 2 * UNBOUNDED_REACH)
			return;
		if (to != last)
			add(s, to);
		last = to;
	}
}
