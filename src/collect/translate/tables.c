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
 * translated when control comes there, and what it finds too much is never executed.
 *
 * COUNTED TABLES. Where such a jump leads is counted by the table's index, before the instruction
 * that reads the table (EDGES in translate.h): one instruction, where to look a target up in the
 * thread's table takes fifteen. That is no guess. The block itself has to show
 * (1) where the table is: an absolute address, or that of a `lea` in the block;
 * (2) that nothing between there and the jump can fault, or change what was read;
 * (3) that no flag is live there;
 * (4) that the index is a byte, or smaller, and as many entries there are. Else it is compared with
 *     their number first, and behind the block there is another copy of its end, which counts as other
 *     indirect jumps do;
 * and the entries have to be constants of the text's file, that all lead into it. */
#include <string.h>

#include "base/mem.h"
#include "collect/translate/translate_internal.h"

#define NEAR_INSNS	12u		/* that make up the address */
#define FAR_INSNS	64u		/* back to where the table's address is taken */
#define MAX_ENTRIES	1024u
#define UNBOUNDED	256u		/* entries of a table of which nothing
					 * says how long it is */
#define UNBOUNDED_REACH	(64 << 10)	/* ... and which go no further than that from the jump */

enum { OP_ADD_TO = 0x01, OP_ADD = 0x03, OP_MOVSXD = 0x63, OP_MOV = 0x8b, OP_LEA = 0x8d,
       OP_GROUP1 = 0x81, OP_GROUP1_8 = 0x83, OP_GROUP5 = 0xff, PREFIX_16 = 0x66 };

struct operand {
	int reg;			/* the other one */
	int rm;				/* register; -1: memory */
	int base, index;		/* -1: none */
	unsigned scale;
	int32_t disp;
};

static uint8_t opcode(const struct insn *i)
{
	return i->p[i->x.op];
}

/* False: no modrm, or a two-byte opcode. */
static bool operand(const struct scratch *s, const struct insn *i, struct operand *o)
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

/* What `lea x(%rip)` has put into @reg before instruction @k, as far as the order in which they
 * were found tells. */
static bool address_in(const struct scratch *s, size_t k, int reg, uint64_t *at)
{
	const size_t stop = k < FAR_INSNS ? 0 : k - FAR_INSNS;
	struct operand o;

	while (k-- > stop) {
		const struct insn *i = &s->insn[k];

		if (!(i->x.write >> reg & 1))
			continue;
		if (!(i->x.prop & X86_RIP) || opcode(i) != OP_LEA || !operand(s, i, &o) ||
		    o.reg != reg)
			return false;
		*at = i->pc + i->x.len + (uint64_t)(int64_t)o.disp;
		return true;
	}
	return false;
}

struct xl_table {
	uint64_t at;
	unsigned width;			/* of an entry, in bytes */
	bool relative;			/* entries are distances from @at */
};

/* An operand [base + index * width + disp] of instruction @k. */
static bool table_in(const struct scratch *s, size_t k, const struct operand *o, unsigned width,
		     struct xl_table *t)
{
	*t = (struct xl_table){ (uint64_t)(int64_t)o->disp, width, false };
	if (o->rm >= 0 || o->index < 0 || o->scale != width)
		return false;
	if (o->base >= 0) {
		if (!address_in(s, k, o->base, &t->at))
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

/* Entries of the table of the jump at @k: one more than what the nearest comparison compares with,
 * if a branch on the result follows; 0: unknown. */
static uint32_t entries(const struct scratch *s, size_t k)
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
		size_t avail = 0;
		const uint8_t *p = in->data(in->ctx, t.at + (uint64_t)i * t.width, &avail);
		int32_t d = 0;

		if (!p || avail < t.width)
			return;
		to = 0;
		memcpy(t.relative ? (void *)&d : (void *)&to, p, t.width);
		if (t.relative)
			to = t.at + (uint64_t)(int64_t)d;
		if (to < in->lo || to >= in->hi)
			return;
		if (!known && (to - from) + UNBOUNDED_REACH > 2 * UNBOUNDED_REACH)
			return;
		if (to != last)
			add(s, to);
		last = to;
	}
}

/* ---- counted tables -------------------------------------------------------------------------- */
/* Is what @i, of @b, reads from the table what its jump goes to? *@reg, if not negative, is the
 * register that has to be it, *@base that to be added; negative: none. */
static bool reads_entry(const struct scratch *s, const struct insn *i, const struct operand *o,
			int reg, int base)
{
	(void)s;
	if (o->rm >= 0 || o->index < 0 || i->x.prop & (X86_TLS | X86_ADDR | X86_RIP))
		return false;
	if (base >= 0)
		return opcode(i) == OP_MOVSXD && i->x.prop & X86_WIDE && o->scale == 4 &&
		       !o->disp && o->base == base && o->reg == reg;
	return o->scale == 8 && (reg < 0 || (opcode(i) == OP_MOV && i->x.prop & X86_WIDE &&
					     o->reg == reg));
}

/* (1), (2): the instruction of @b that reads the table, its operand and @t but for its place.
 * XL_NONE: there is none. */
static uint32_t reading(const struct scratch *s, const struct block *b, struct operand *o,
			struct xl_table *t)
{
	const struct insn *const i = &s->insn[b->first];
	uint32_t k = b->n - 1;
	int reg, base = -1;

	if (opcode(&i[k]) != OP_GROUP5 || !operand(s, &i[k], o))
		return XL_NONE;
	reg = o->rm;
	while (reg >= 0) {
		if (!k-- || i[k].x.kind != X86_PLAIN)
			return XL_NONE;
		if (i[k].x.write >> reg & 1) {
			if (!operand(s, &i[k], o))
				return XL_NONE;
			if (reads_entry(s, &i[k], o, reg, base))
				break;
			/* add base, reg */
			if (base >= 0 || !(i[k].x.prop & X86_WIDE) || o->rm < 0)
				return XL_NONE;
			if (opcode(&i[k]) == OP_ADD_TO && o->rm == reg)
				base = o->reg;
			else if (opcode(&i[k]) == OP_ADD && o->reg == reg)
				base = o->rm;
			else
				return XL_NONE;
		}
		if (i[k].x.prop & X86_MAY_FAULT || (base >= 0 && i[k].x.write >> base & 1))
			return XL_NONE;
	}
	*t = (struct xl_table){ .width = base >= 0 ? 4 : 8, .relative = base >= 0 };
	return reg >= 0 || reads_entry(s, &i[k], o, -1, -1) ? k : XL_NONE;
}

/* (1): what the block has put into @reg before its instruction @k. */
static bool block_address(const struct scratch *s, const struct block *b, uint32_t k, int reg,
			  uint64_t *at)
{
	struct operand o;

	while (k-- > 0) {
		const struct insn *i = &s->insn[b->first + k];

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

/* (4): movzx of a byte, or `and` with a small number: what the index is below; 0: unknown. */
static uint32_t index_limit(const struct scratch *s, const struct block *b, uint32_t k, int reg)
{
	while (k-- > 0) {
		const struct insn *i = &s->insn[b->first + k];
		const uint8_t *p = i->p + i->x.op;
		struct operand o;
		unsigned rex;

		if (!(i->x.write >> reg & 1))
			continue;
		if (i->x.kill >> reg & 1 && i->x.modrm && i->x.op && p[-1] == 0x0f && *p == 0xb6) {
			rex = i->x.op > 1 && (p[-2] & 0xf0) == 0x40 ? p[-2] : 0;
			return (int)((p[1] >> 3 & 7) | (rex & 4) << 1) == reg ? 256 : 0;
		}
		if ((*p != OP_GROUP1_8 && *p != OP_GROUP1) || memchr(i->p, PREFIX_16, i->x.op) ||
		    !operand(s, i, &o) || o.rm != reg || (o.reg & 7) != 4)
			return 0;
		return (uint64_t)x86_imm(&i->x, i->p) < 256 ?
			       (uint32_t)x86_imm(&i->x, i->p) + 1 : 0;
	}
	return 0;
}

/* As many of the @n entries as lead into the text go to s->entry. */
static uint32_t add_entries(struct scratch *s, const struct xl_table *t, uint32_t n)
{
	const struct xl_input *in = s->in;

	if (!in->constant(in->ctx, t->at, (uint64_t)n * t->width))
		return 0;
	for (uint32_t k = 0; k < n; k++) {
		size_t avail = 0;
		const uint8_t *p = in->data(in->ctx, t->at + (uint64_t)k * t->width, &avail);
		uint64_t to = 0;
		int32_t d = 0;

		if (!p || avail < t->width)
			return k;
		memcpy(t->relative ? (void *)&d : (void *)&to, p, t->width);
		if (t->relative)
			to = t->at + (uint64_t)(int64_t)d;
		if (to < in->lo || to >= in->hi)
			return k;
		pm_grow(s->entry, s->nentry, s->cap_entry);
		s->entry[s->nentry++] = to;
	}
	return n;
}

static struct counted_table counted_table(struct scratch *s, const struct block *b, uint32_t most)
{
	static const struct counted_table none;
	struct counted_table c = { .at = (uint32_t)s->nentry };
	uint32_t live[MAX_BLOCK_INSNS + 1], k, limit, n;
	struct xl_table t;
	struct operand o;

	k = reading(s, b, &o, &t);
	if (k == XL_NONE)
		return none;
	t.at = (uint64_t)(int64_t)o.disp;
	if (o.base >= 0) {
		if (!block_address(s, b, k, o.base, &t.at))
			return none;
		t.at += (uint64_t)(int64_t)o.disp;
	}
	live_course(s, b, live);
	if (live[k] & LV_FLAGS)							/* (3) */
		return none;
	limit = index_limit(s, b, k, o.index);
	n = limit ? limit : entries(s, b->first + b->n - 1);
	if (!n || n > most)
		return none;
	n = add_entries(s, &t, n);
	c.n = (uint16_t)n;
	c.insn = (uint8_t)k;
	c.index = (uint8_t)o.index;
	c.checked = !limit || n < limit;
	return c;
}

void choose_how_targets_count(struct scratch *s)
{
	const struct xl_input *in = s->in;
	const bool any = counts_targets(in) && !in->logged && !in->patchable && !in->check_bytes;
	/* numbers of blocks fit into xl_flow */
	uint32_t room = XL_MAX_FLOW - 1 - (uint32_t)s->nblock - (uint32_t)s->nedge_block;

	s->nentry = s->nfirst = 0;
	for (size_t k = 0; k < s->nblock; k++) {
		const uint8_t kind = s->block[k].kind;

		s->block[k].table.n = 0;
		s->block[k].first_target = XL_NONE;
		if (!any || (kind != X86_JMP_IND && kind != X86_CALL_IND) || room < 2)
			continue;
		room -= 2;		/* for its first target, or the likely one */
		if (s->block[k].likely.where == TO_NOWHERE && flags_free(s, kind))
			s->block[k].first_target = s->nfirst++;
	}
	for (size_t k = 0; k < s->nblock && in->constant && in->data; k++) {
		struct block *b = &s->block[k];

		if (b->first_target != XL_NONE && b->kind == X86_JMP_IND)
			b->table = counted_table(s, b, room);
		room -= b->table.n;
	}
}
