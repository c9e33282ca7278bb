/* SPDX-License-Identifier: MIT */
/* asm.c - bytes of code, the fields that are relocated, the pc map, and branches: see emit.h */
#include <string.h>

#include "base/mem.h"
#include "collect/translate/emit.h"

void asm_nops(struct emit *e, unsigned n)
{
	static const char nop[9][9] = {
		"", "\x90", "\x66\x90", "\x0f\x1f\x00", "\x0f\x1f\x40\x00", "\x0f\x1f\x44\x00\x00",
		"\x66\x0f\x1f\x44\x00\x00", "\x0f\x1f\x80\x00\x00\x00\x00",
		"\x0f\x1f\x84\x00\x00\x00\x00\x00",
	};

	while (n) {
		unsigned k = n < 8 ? n : 8;

		asm_bytes(e, nop[k], k);
		n -= k;
	}
}

static void put_slot(struct emit *e, unsigned reg, uint32_t slot)
{
	asm_byte(e, (reg & 7) << 3 | (e->i386 ? 5 : 4));
	if (!e->i386)
		asm_byte(e, 0x25);
	asm_u32(e, slot);
}

void asm_slot_op(struct emit *e, uint8_t op, unsigned reg, uint32_t slot)
{
	asm_byte(e, e->i386 ? 0x64 : 0x65);
	asm_rex_w(e, reg, 0);
	asm_byte(e, op);
	put_slot(e, reg, slot);
}

void asm_slot_store(struct emit *e, unsigned reg, uint32_t slot)
{
	asm_slot_op(e, 0x89, reg, slot);
}

void asm_slot_load(struct emit *e, unsigned reg, uint32_t slot)
{
	asm_slot_op(e, 0x8b, reg, slot);
}

void asm_slot_op32(struct emit *e, uint8_t op, unsigned ext, uint32_t slot)
{
	asm_byte(e, e->i386 ? 0x64 : 0x65);
	asm_byte(e, op);
	put_slot(e, ext, slot);
}

void asm_slot_jump(struct emit *e, uint32_t slot)
{
	asm_slot_op32(e, 0xff, 4, slot);
}

void asm_reloc(struct emit *e, uint32_t at, enum xl_reloc_kind kind, uint32_t addend)
{
	e->u->reloc[e->u->nreloc++] = (struct xl_reloc){ at, kind, addend };
}

void asm_pc32(struct emit *e, uint64_t addr, unsigned behind)
{
	asm_reloc(e, here(e), XL_REL_PC32, 0);
	asm_u32(e, e->i386 ? (uint32_t)addr :
		(uint32_t)(addr - (e->in->place + here(e) + 4 + behind)));
}

void asm_lea_pc(struct emit *e, unsigned reg, uint64_t addr)
{
	asm_rex_w(e, reg, 0);
	asm_byte(e, 0x8d);
	asm_byte(e, (reg & 7) << 3 | 5);
	asm_pc32(e, addr, 0);
}

void asm_compare_likely(struct emit *e, const struct insn *i, const struct xl_target *likely,
			unsigned reg)
{
	asm_lea_pc(e, reg, likely->pc);
	asm_bytes(e, "\x48\x3b", 2);				/* cmp reg, [rip + slot] */
	asm_byte(e, (uint8_t)(reg << 3 | 5));
	asm_pc32(e, rip_operand(i), 0);
}

void asm_map_tmp(struct emit *e, uint32_t insn, unsigned flags, unsigned tmp)
{
	struct xl_unit *u = e->u;
	struct xl_map m = { here(e), insn, flags | e->counted, tmp };
	struct xl_map *last = &u->map[u->nmap - 1];

	if (e->by_index)		/* who goes away here would count that again */
		m.flags &= (uint8_t)~XL_AT_START;

	if (e->restored_saved) {
		m.flags |= XL_TMP_SAVED;
		m.tmp = e->restored_now.reg;
	}
	if (e->restored)
		m.tmp |= XL_RESTORED;
	m.tmp |= (uint8_t)(e->borrowed << 4);
	if (u->nmap > placed(e, e->index)->map) {
		if (last->code == m.code) {
			*last = m;
			return;
		}
		if (last->insn == m.insn && last->flags == m.flags && last->tmp == m.tmp)
			return;
	}
	u->map[u->nmap++] = m;
}

/* The most bytes that can lie between the end of the current branch and @t's direct entry. */
static bool near_ahead(const struct emit *e, const struct block *t)
{
	uint32_t tail = 24;		/* what may follow the branch in its own block */

	return !e->s->far_only && t->order > e->b->order && !has_call_entry(t) &&
	       t->sum - (e->b->sum + e->b->bound) + tail + ENTRY_BYTES(e->in) + PATCH_BYTES <= 127;
}

/* Where a branch to block @k, which is placed, goes. */
static uint32_t entry_of(const struct emit *e, uint32_t k)
{
	if (e->calls)
		return placed(e, k)->code - xl_call_entry(placed(e, k)->live);
	return e->back ? e->s->block[k].back : placed(e, k)->code;
}

static void add_fixup(struct emit *e, uint32_t block, bool byte)
{
	struct scratch *s = e->s;

	pm_grow(s->fixup, s->nfixup, s->cap_fixup);
	s->fixup[s->nfixup++] = (struct fixup){ here(e), block, byte, e->back };
}

void asm_rel32(struct emit *e, const uint8_t *op, unsigned nop, const struct xl_target *t)
{
	const bool other = e->counting || e->calls;
	const uint64_t code = other ? t->counting : t->code;
	struct xl_unit *u = e->u;

	if (t->where == TO_UNIT) {
		memcpy(e->c, op, nop);
		e->c += nop;
		if (is_placed(e, t->block))
			asm_u32(e, entry_of(e, t->block) - (here(e) + 4));
		else {
			add_fixup(e, t->block, false);
			asm_u32(e, 0);
		}
		return;
	}
	unsigned at = (e->in->place + here(e) + nop) & 63;

	if (at > 60)
		asm_nops(e, 64 - at);					/* (3) */
	memcpy(e->c, op, nop);
	e->c += nop;
	if (t->where == TO_KNOWN && code && xl_near(e->in, code)) {
		asm_reloc(e, here(e), XL_REL_CODE32,
			  (uint32_t)(t->pc - e->in->lo) | (other ? XL_COUNTING : 0));
		asm_u32(e, (uint32_t)(code - (e->in->place + here(e) + 4)));
	} else {
		u->link[u->nlink++] = (struct xl_link){ t->pc, here(e), 0, other, e->stale };
		asm_u32(e, 0);
	}
}

/* Can a rel8 whose instruction ends @n bytes from here reach @t? */
static bool reach8(const struct emit *e, const struct xl_target *t, unsigned n)
{
	if (t->where != TO_UNIT)
		return false;
	if (is_placed(e, t->block))
		return fits8((int64_t)entry_of(e, t->block) - (here(e) + n));
	return near_ahead(e, &e->s->block[t->block]);
}

static void rel8(struct emit *e, uint8_t op, const struct xl_target *t)
{
	asm_byte(e, op);
	if (is_placed(e, t->block)) {
		asm_byte(e, entry_of(e, t->block) - (here(e) + 1));
	} else {
		add_fixup(e, t->block, true);
		asm_byte(e, 0);
	}
}

void asm_jump(struct emit *e, unsigned cc, const struct xl_target *t)
{
	if (reach8(e, t, 2))
		rel8(e, cc == JMP_ALWAYS ? 0xeb : 0x70 | cc, t);
	else if (cc == JMP_ALWAYS)
		asm_rel32(e, (const uint8_t []){ 0xe9 }, 1, t);
	else
		asm_rel32(e, (const uint8_t []){ 0x0f, 0x80 | cc }, 2, t);
}

void asm_jcx(struct emit *e, const struct insn *i, const struct xl_target *t)
{
	bool addr = i->x.prop & X86_ADDR;

	if (t && reach8(e, t, 2 + addr)) {
		if (addr)
			asm_byte(e, PREFIX_ADDR);
		rel8(e, i->p[i->x.op], t);
		return;
	}
	if (t && t->where != TO_UNIT) {		/* keep the three together: pad first */
		unsigned at = (e->in->place + here(e) + addr + 5) & 63;

		if (at > 60)
			asm_nops(e, 64 - at);
	}
	if (addr)
		asm_byte(e, PREFIX_ADDR);
	asm_byte(e, i->p[i->x.op]);
	asm_byte(e, 2);
	asm_map(e, e->b->n, XL_AT_START);
	asm_bytes(e, "\xeb\x05", 2);
	asm_map(e, e->b->n, 0);
	if (t)
		asm_rel32(e, (const uint8_t []){ 0xe9 }, 1, t);
	else
		asm_byte(e, 0xe9);
}

void asm_exit_pc(struct emit *e, uint64_t pc)
{
	if (e->i386) {
		asm_slot_op32(e, 0xc7, 0, RT_EXIT_PC);
		asm_pc32(e, pc, 0);
		return;
	}
	if (e->in->absolute && pc < 1ull << 31) {
		asm_slot_op(e, 0xc7, 0, RT_EXIT_PC);
		asm_u32(e, pc);
		return;
	}
	asm_slot_store(e, RAX, RT_S_TMP);
	asm_lea_pc(e, RAX, pc);
	asm_slot_store(e, RAX, RT_EXIT_PC);
	asm_slot_load(e, RAX, RT_S_TMP);
}
