/* SPDX-License-Identifier: MIT */
/* counted_tables.c - how it is counted where indirect jumps and calls lead (EDGES in translate.h)
 *
 * Where a jump through a table (tables.c) leads is counted by the table's index, before the
 * instruction that reads the table: one instruction, where to look a target up in the thread's
 * table takes fifteen. That is no guess. The block itself has to show
 * (1) where the table is: an absolute address, or that of a `lea` in the block;
 * (2) that nothing between there and the jump can fault, or change what was read;
 * (3) that no flag is live there;
 * (4) that the index is a byte, or smaller, and as many entries there are. Else it is compared with
 *     their number first, and behind the block there is another copy of its end, which counts as
 *     other indirect jumps do;
 * and the entries have to be constants of the text's file, which all lead into it. */
#include <string.h>

#include "base/mem.h"
#include "collect/translate/tables.h"

/* Does @i, whose operand is @o, read an entry of a table? @reg is the register that gets it,
 * negative: @i jumps there; @base that which is added to it, negative: none. */
static bool reads_entry(const struct insn *i, const struct operand *o, int reg, int base)
{
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
			if (reads_entry(&i[k], o, reg, base))
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
	return reg >= 0 || reads_entry(&i[k], o, -1, -1) ? k : XL_NONE;
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
		uint64_t to;

		if (!table_entry(in, t, k, &to))
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
		if (!lea_address(s, b->first, b->first + k, o.base, &t.at))	/* (1) */
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
