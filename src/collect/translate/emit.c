/* SPDX-License-Identifier: MIT */
/* emit.c - blocks in, code, pc map, relocations and links out
 *
 * EMISSION INVARIANTS
 * (1) Every byte of a block's code is covered by its map, and an entry with XL_AT_START is true:
 *     with the slots that it names undone, registers and memory are as the original has them
 *     before instruction `insn`; insn == n stands for "all done, at the block's end". (Dead
 *     flags, and dead registers as live.c proves them, may differ.)
 * (2) No flag and no register that is live changes, except through the program's own instructions.
 * (3) The rel32 of a branch that may be patched does not cross a cache line, so that a thread
 *     that executes it sees the old or the new value. Units move by multiples of 64 only.
 * (4) What a block may need at most is reserved before it is emitted (bound), and forward rel8
 *     branches rely on the same bounds. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/runtime/abi.h"
#include "collect/translate/internal.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11 };

#define JMP_ALWAYS	16		/* for emit_jump(); else a condition code */
#define ENTRY_BYTES	18		/* restore rcx, restore rdx: at most */
#define PATCH_BYTES	8
#define PREFIX_ADDR	0x67

struct emit {
	struct scratch *s;
	const struct xl_input *in;
	struct xl_unit *u;
	bool i386;
	uint8_t *base, *c;		/* c: where the next byte goes */
	struct block *b;
	uint32_t index;			/* of b */
	uint32_t first;			/* in the unit: of those that this pass makes */
	bool counting;			/* ... which only count (translate.h) */
	uint8_t counted;		/* XL_COUNTED, XL_RECORDED or 0 */
	bool stolen;			/* xl_stolen() */
	uint8_t thief;			/* ... the register */
	bool own;			/* it is the program's, own_now.reg the cursor */
	bool own_saved;			/* the program's value of own_now.reg is in RT_S_TMP */
	bool own_restore;		/* it is live behind the range */
	struct own own_now;		/* or the next one */
	uint8_t lent;			/* XL_LENT() */
	uint32_t live[MAX_BLOCK_INSNS + 1];	/* of a block with such ranges */
	uint32_t ncheck;		/* blocks with cold check code */
	bool stale;			/* xl_link.stale of what is emitted */
};

static inline struct xl_block *placed(const struct emit *e, uint32_t block)
{
	return &e->u->block[e->first + block];
}

/* ---- bytes ---------------------------------------------------------------------------------- */
static inline uint32_t here(const struct emit *e)
{
	return e->c - e->base;
}

static inline void put8(struct emit *e, uint8_t v)
{
	*e->c++ = v;
}

static inline void put32(struct emit *e, uint32_t v)
{
	memcpy(e->c, &v, 4);
	e->c += 4;
}

static inline void put(struct emit *e, const char *bytes, unsigned n)
{
	memcpy(e->c, bytes, n);
	e->c += n;
}

static void nops(struct emit *e, unsigned n)
{
	static const char nop[9][9] = {
		"", "\x90", "\x66\x90", "\x0f\x1f\x00", "\x0f\x1f\x40\x00", "\x0f\x1f\x44\x00\x00",
		"\x66\x0f\x1f\x44\x00\x00", "\x0f\x1f\x80\x00\x00\x00\x00",
		"\x0f\x1f\x84\x00\x00\x00\x00\x00",
	};

	while (n) {
		unsigned k = n < 8 ? n : 8;

		put(e, nop[k], k);
		n -= k;
	}
}

/* WIDTH. The thread block is at gs:0, in 32-bit code at fs:0, and there are no rex prefixes there;
 * a modrm byte that means [rip + disp32] in 64-bit code means [disp32] in 32-bit code. In what
 * follows `slot` is an offset in the thread block. */
#define SLOT_OP_BYTES(i386)	((i386) ? 7 : 9)

static inline void put_rex_w(struct emit *e, unsigned reg, unsigned base)
{
	if (!e->i386)
		put8(e, 0x48 | (reg >> 3) << 2 | base >> 3);
}

static void put_slot(struct emit *e, unsigned reg, uint32_t slot)
{
	put8(e, (reg & 7) << 3 | (e->i386 ? 5 : 4));
	if (!e->i386)
		put8(e, 0x25);
	put32(e, slot);
}

/* op reg, [slot] of a word */
static void slot_op(struct emit *e, uint8_t op, unsigned reg, uint32_t slot)
{
	put8(e, e->i386 ? 0x64 : 0x65);
	put_rex_w(e, reg, 0);
	put8(e, op);
	put_slot(e, reg, slot);
}

static void slot_store(struct emit *e, unsigned reg, uint32_t slot)
{
	slot_op(e, 0x89, reg, slot);
}

static void slot_load(struct emit *e, unsigned reg, uint32_t slot)
{
	slot_op(e, 0x8b, reg, slot);
}

/* op [slot], 32 bits: 0xff/4 jumps, 0xc7/0 is a store of an immediate, which the caller puts */
static void slot_op32(struct emit *e, uint8_t op, unsigned ext, uint32_t slot)
{
	put8(e, e->i386 ? 0x64 : 0x65);
	put8(e, op);
	put_slot(e, ext, slot);
}

static void slot_jump(struct emit *e, uint32_t slot)
{
	slot_op32(e, 0xff, 4, slot);
}

static void add_reloc(struct emit *e, uint32_t at, enum xl_reloc_kind kind, uint32_t addend)
{
	e->u->reloc[e->u->nreloc++] = (struct xl_reloc){ at, kind, addend };
}

/* A disp32 to original address @addr, in an instruction that ends @behind bytes after the field. */
static void put_pc32(struct emit *e, uint64_t addr, unsigned behind)
{
	add_reloc(e, here(e), XL_REL_PC32, 0);
	put32(e, e->i386 ? (uint32_t)addr : (uint32_t)(addr - (e->in->place + here(e) + 4 + behind)));
}

static void lea_pc(struct emit *e, unsigned reg, uint64_t addr)
{
	put_rex_w(e, reg, 0);
	put8(e, 0x8d);
	put8(e, (reg & 7) << 3 | 5);
	put_pc32(e, addr, 0);
}

/* ---- the pc map ----------------------------------------------------------------------------- */
static void map_tmp(struct emit *e, uint32_t insn, unsigned flags, unsigned tmp)
{
	struct xl_unit *u = e->u;
	struct xl_map m = { here(e), insn, flags | e->counted, tmp };
	struct xl_map *last = &u->map[u->nmap - 1];

	if (e->own_saved) {
		m.flags |= XL_TMP_SAVED;
		m.tmp = e->own_now.reg;
	}
	if (e->own)
		m.tmp |= XL_OWN;
	m.tmp |= (uint8_t)(e->lent << 4);
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

static inline void map(struct emit *e, uint32_t insn, unsigned flags)
{
	map_tmp(e, insn, flags, 0);
}

/* ---- branches ------------------------------------------------------------------------------- */
static bool fits8(int64_t d)
{
	return d == (int8_t)d;
}

/* The most bytes that can lie between the end of the current branch and @t's direct entry. */
static bool near_ahead(const struct emit *e, const struct block *t)
{
	uint32_t tail = 24;		/* what may follow the branch in its own block */

	return !e->s->far_only && t->order > e->b->order &&
	       t->sum - (e->b->sum + e->b->bound) + tail + ENTRY_BYTES + PATCH_BYTES <= 127;
}

static bool is_placed(const struct emit *e, uint32_t block)
{
	return placed(e, block)->code != XL_NONE;
}

static void add_fixup(struct emit *e, uint32_t block, bool byte)
{
	struct scratch *s = e->s;

	pm_grow(s->fixup, s->nfixup, s->cap_fixup);
	s->fixup[s->nfixup++] = (struct fixup){ here(e), block, byte };
}

/* @nop bytes of opcode and a rel32 to @t. */
static void put_rel32(struct emit *e, const uint8_t *op, unsigned nop, const struct target *t)
{
	const uint64_t code = e->counting ? t->twin : t->code;
	struct xl_unit *u = e->u;

	if (t->where == TO_UNIT) {
		memcpy(e->c, op, nop);
		e->c += nop;
		if (is_placed(e, t->block))
			put32(e, placed(e, t->block)->code - (here(e) + 4));
		else {
			add_fixup(e, t->block, false);
			put32(e, 0);
		}
		return;
	}
	unsigned at = (e->in->place + here(e) + nop) & 63;

	if (at > 60)
		nops(e, 64 - at);					/* (3) */
	memcpy(e->c, op, nop);
	e->c += nop;
	if (t->where == TO_KNOWN && code && xl_near(e->in, code)) {
		add_reloc(e, here(e), XL_REL_CODE32, (uint32_t)(t->pc - e->in->lo) | (e->counting ? XL_TWIN : 0));
		put32(e, (uint32_t)(code - (e->in->place + here(e) + 4)));
	} else {
		u->link[u->nlink++] = (struct xl_link){ t->pc, here(e), 0, e->counting, e->stale };
		put32(e, 0);
	}
}

/* Can a rel8 whose instruction ends @n bytes from here reach @t? */
static bool reach8(const struct emit *e, const struct target *t, unsigned n)
{
	if (t->where != TO_UNIT)
		return false;
	if (is_placed(e, t->block))
		return fits8((int64_t)placed(e, t->block)->code - (here(e) + n));
	return near_ahead(e, &e->s->block[t->block]);
}

static void put_rel8(struct emit *e, uint8_t op, const struct target *t)
{
	put8(e, op);
	if (is_placed(e, t->block)) {
		put8(e, placed(e, t->block)->code - (here(e) + 1));
	} else {
		add_fixup(e, t->block, true);
		put8(e, 0);
	}
}

static void emit_jump(struct emit *e, unsigned cc, const struct target *t)
{
	if (reach8(e, t, 2))
		put_rel8(e, cc == JMP_ALWAYS ? 0xeb : 0x70 | cc, t);
	else if (cc == JMP_ALWAYS)
		put_rel32(e, (const uint8_t []){ 0xe9 }, 1, t);
	else
		put_rel32(e, (const uint8_t []){ 0x0f, 0x80 | cc }, 2, t);
}

static void emit_jcx(struct emit *e, const struct insn *i, const struct target *t)
{
	bool addr = i->x.prop & X86_ADDR;

	if (reach8(e, t, 2 + addr)) {
		if (addr)
			put8(e, PREFIX_ADDR);
		put_rel8(e, i->p[i->x.op], t);
		return;
	}
	if (t->where != TO_UNIT) {		/* keep the three together: pad first */
		unsigned at = (e->in->place + here(e) + addr + 5) & 63;

		if (at > 60)
			nops(e, 64 - at);
	}
	if (addr)
		put8(e, PREFIX_ADDR);
	put8(e, i->p[i->x.op]);
	put8(e, 2);
	map(e, e->b->n, XL_AT_START);
	put(e, "\xeb\x05", 2);
	map(e, e->b->n, 0);
	put_rel32(e, (const uint8_t []){ 0xe9 }, 1, t);
}

/* ---- pieces --------------------------------------------------------------------------------- */
/* CALLS AND RETURNS are paired in the translation as they are in the original, so that the
 * processor's return stack predicts them: a call is a call to a *tail* in the unit's cold part, which
 * replaces the return address that was pushed by the original one and goes on to the target; a
 * return looks its target up, puts the translation in place of the original address and returns. The
 * bytes behind a translated call are the return point's indirect entry. With abi_flags both add the distance
 * between the two to what is on the stack. */
static void emit_call(struct emit *e)
{
	struct scratch *s = e->s;

	pm_grow(s->tail, s->ntail, s->cap_tail);
	put8(e, 0xe8);
	s->tail[s->ntail++] = (struct tail){ here(e), e->index };
	put32(e, 0);
}

/* mov [rsp], original address @pc, by way of @reg */
static void store_at_top(struct emit *e, unsigned reg, uint64_t pc)
{
	lea_pc(e, reg, pc);
	put_rex_w(e, reg, RSP);
	put8(e, 0x89);
	put8(e, 0x04 | (reg & 7) << 3);
	put8(e, 0x24);
}

/* The address on top of the stack becomes @pc. @spare: a register that is free, or -1. */
static void emit_return_address(struct emit *e, uint64_t pc, int spare)
{
	const unsigned reg = e->stolen ? R10 : R11;

	if (e->i386) {
		put(e, "\xc7\x04\x24", 3);		/* mov dword [esp], pc */
		put_pc32(e, pc, 0);
	} else if (e->in->absolute && pc < 1ull << 31) {
		put(e, "\x48\xc7\x04\x24", 4);		/* mov qword [rsp], pc */
		put32(e, pc);
	} else if (spare >= 0) {
		store_at_top(e, (unsigned)spare, pc);
	} else {
		slot_store(e, reg, RT_S_TMP);
		store_at_top(e, reg, pc);
		slot_load(e, reg, RT_S_TMP);
	}
}

/* The same where it is the address behind the call at @call: its rel32. */
static void add_return_distance(struct emit *e, uint64_t pc, uint32_t call)
{
	put(e, "\x48\x81\x04\x24", 4);		/* add qword [rsp], distance */
	add_reloc(e, here(e), XL_REL_PC32, 0);
	put32(e, (uint32_t)(pc - (e->in->place + call + 4)));
}

/* RT_EXIT_PC = @pc, all registers kept. */
static void emit_exit_pc(struct emit *e, uint64_t pc)
{
	if (e->i386) {
		slot_op32(e, 0xc7, 0, RT_EXIT_PC);
		put_pc32(e, pc, 0);
		return;
	}
	if (e->in->absolute && pc < 1ull << 31) {
		slot_op(e, 0xc7, 0, RT_EXIT_PC);
		put32(e, pc);
		return;
	}
	slot_store(e, RAX, RT_S_TMP);
	lea_pc(e, RAX, pc);
	slot_store(e, RAX, RT_EXIT_PC);
	slot_load(e, RAX, RT_S_TMP);
}

/* The same inside a block, with its map: instruction @insn has not begun. */
static void emit_trap(struct emit *e, uint32_t insn, uint64_t pc, uint32_t where)
{
	map(e, insn, XL_AT_START);
	if (e->i386 || (e->in->absolute && pc < 1ull << 31)) {
		emit_exit_pc(e, pc);
	} else {
		slot_store(e, RAX, RT_S_TMP);
		map_tmp(e, insn, XL_AT_START | XL_TMP_SAVED, RAX);
		lea_pc(e, RAX, pc);
		slot_store(e, RAX, RT_EXIT_PC);
		slot_load(e, RAX, RT_S_TMP);
		map(e, insn, XL_AT_START);
	}
	slot_jump(e, where);
}

/* rcx = an original address, rdx free: rcx = its translation's indirect entry. No flag changes; in
 * 32-bit code, where the shadow has two levels, edx is the upper half of the address already. */
static void emit_lookup(struct emit *e)
{
	if (e->i386) {
		put(e, "\x8b\x14\x95", 3);		/* mov edx, [edx*4 + RT32_SHADOW] */
		put32(e, RT32_SHADOW);
		put(e, "\x8b\x14\x8a", 3);		/* mov edx, [edx + ecx*4] */
		put(e, "\x8d\x0c\x11", 3);		/* lea ecx, [ecx + edx] */
		return;
	}
	if (e->counting) {
		put(e, "\x8d\x91", 2);			/* lea edx, [rcx + RT_TWIN_SHIFT] */
		put32(e, RT_TWIN_SHIFT);
	} else {
		put(e, "\x89\xca", 2);			/* mov edx, ecx */
	}
	put(e, "\x48\x63\x14\x95", 4);			/* movsxd rdx, dword [rdx*4 + RT_SHADOW] */
	put32(e, (uint32_t)RT_SHADOW);
	put(e, "\x48\x8d\x0c\x11", 4);			/* lea rcx, [rcx + rdx] */
}

/* edx = the upper half of the address in ecx, with no shift that would change flags. */
static void emit_upper_half(struct emit *e)
{
	slot_store(e, RCX, RT_S_TMP);
	put(e, "\x64\x0f\xb7\x15", 4);			/* movzx edx, word fs:[RT_S_TMP + 2] */
	put32(e, RT_S_TMP + 2);
}

static const char upper_half_on_stack[] = "\x0f\xb7\x54\x24\x02";	/* movzx edx, word [esp + 2] */

static const char jmp_rcx[] = "\xff\xe1";

static void emit_jump_rcx(struct emit *e)
{
	emit_lookup(e);
	if (!e->i386)
		slot_load(e, RDX, RT_S_RDX);
	put(e, jmp_rcx, 2);
}

static void emit_save_pair(struct emit *e, uint32_t insn)
{
	map(e, insn, XL_AT_START);
	slot_store(e, RCX, RT_S_RCX);
	map(e, insn, XL_AT_START | XL_RCX_SAVED);
	slot_store(e, RDX, RT_S_RDX);
	map(e, insn, XL_AT_START | XL_RCX_SAVED | XL_RDX_SAVED);
}

/* rcx = the distance from the address in rcx, whose upper half is 0 if it is @low, to its translation. */
static void load_distance(struct emit *e, bool low)
{
	if (e->counting) {
		put(e, "\x8d\x89", 2);			/* lea ecx, [rcx + RT_TWIN_SHIFT] */
		put32(e, RT_TWIN_SHIFT);
	} else if (!low) {
		put(e, "\x89\xc9", 2);			/* mov ecx, ecx */
	}
	put(e, "\x48\x63\x0c\x8d", 4);			/* movsxd rcx, dword [rcx*4 + RT_SHADOW] */
	put32(e, (uint32_t)RT_SHADOW);
}

/* The address on top of the stack becomes its translation's, without rdx. */
static void add_distance(struct emit *e, uint32_t n)
{
	map(e, n, XL_AT_START);
	slot_store(e, RCX, RT_S_RCX);
	map(e, n, XL_AT_START | XL_RCX_SAVED);
	put(e, "\x8b\x0c\x24", 3);			/* mov ecx, [rsp] */
	load_distance(e, true);
	put(e, "\x48\x01\x0c\x24", 4);			/* add [rsp], rcx */
	map(e, n, XL_RCX_SAVED);
}

static void emit_ret(struct emit *e, const struct insn *i)
{
	uint32_t n = e->b->n - 1;

	if (e->in->abi_flags) {
		add_distance(e, n);
	} else {
		emit_save_pair(e, n);
		put_rex_w(e, RCX, RSP);
		put(e, "\x8b\x0c\x24", 3);		/* mov rcx, [rsp] */
		if (e->i386)
			put(e, upper_half_on_stack, 5);
		emit_lookup(e);
		put_rex_w(e, RCX, RSP);
		put(e, "\x89\x0c\x24", 3);		/* mov [rsp], rcx */
		map(e, n, XL_RCX_SAVED | XL_RDX_SAVED);
		if (!e->i386)
			slot_load(e, RDX, RT_S_RDX);
	}
	if (i->x.nimm) {
		uint16_t imm = x86_imm(&i->x, i->p);

		put8(e, 0xc2);
		put8(e, imm & 255);
		put8(e, imm >> 8);
	} else {
		put8(e, 0xc3);
	}
}

/* The bytes of a memory operand that contains the stolen register, rdx or rcx in its place, whichever the operand
 * does not contain; that one is loaded. */
static void replace_stolen(struct emit *e, uint8_t *rex, uint8_t *modrm, uint8_t *sib)
{
	const uint8_t low = e->thief & 7, high = e->thief >> 3;
	bool b = (*rex & 1) == high && (*modrm & 7) == low;
	unsigned reg = RDX;

	if ((*modrm & 7) == 4) {
		bool x = (*rex >> 1 & 1) == high && (*sib >> 3 & 7) == low;

		/* (ebp as the base of nothing: none) */
		b = (*rex & 1) == high && (*sib & 7) == low && (low != RBP || *modrm >> 6);
		if ((!b && !(*rex & 1) && (*sib & 7) == RDX) || (!x && !(*rex & 2) && (*sib >> 3 & 7) == RDX))
			reg = RCX;
		if (b)
			*sib = (uint8_t)((*sib & ~7u) | reg);
		if (x) {
			*sib = (uint8_t)((*sib & ~0x38u) | reg << 3);
			*rex &= ~2u;
		}
	} else {
		*modrm = (uint8_t)((*modrm & ~7u) | reg);
	}
	if (b)
		*rex &= ~1u;
	slot_load(e, reg, RT_S_R11);
}

/* mov rcx, the operand of an indirect jump or call. */
static void emit_load_target(struct emit *e, const struct insn *i)
{
	const uint8_t *p = i->p;
	const unsigned rest = i->x.modrm + 1u, n = i->x.len - rest;
	const bool is_register = p[i->x.modrm] >= 0xc0, stolen = e->stolen && i->x.read >> e->thief & 1;
	uint8_t rex = 0x48, modrm = p[i->x.modrm], sib = n ? p[rest] : 0;

	if (!e->i386 && i->x.op && (p[i->x.op - 1] & 0xf0) == 0x40)
		rex |= p[i->x.op - 1] & 3;
	if (stolen && is_register) {
		slot_load(e, RCX, RT_S_R11);
		return;
	}
	if (is_register && (modrm & 7) == RCX && !(rex & 1))
		return;
	if (stolen)
		replace_stolen(e, &rex, &modrm, &sib);
	if (i->far) {
		lea_pc(e, RCX, i->pc + i->x.len);
		modrm = 0x80 | RCX;
		rex &= ~1u;
	}
	if (i->x.prop & X86_TLS)
		put8(e, e->i386 ? 0x65 : 0x64);
	if (i->x.prop & X86_ADDR)
		put8(e, PREFIX_ADDR);
	if (!e->i386)
		put8(e, rex);
	put8(e, 0x8b);
	put8(e, (modrm & 0xc7) | RCX << 3);
	if (i->x.prop & X86_RIP && !i->far) {
		put_pc32(e, rip_operand(i), 0);
		return;
	}
	memcpy(e->c, p + rest, n);
	if (n && (modrm & 7) == 4)
		e->c[0] = sib;
	e->c += n;
}

/* The register that an indirect jump or call goes to, if that alone does; else RCX. */
static unsigned target_register(const struct emit *e, const struct insn *i)
{
	const uint8_t modrm = i->p[i->x.modrm];
	const unsigned rex = i->x.op && (i->p[i->x.op - 1] & 0xf0) == 0x40 ? i->p[i->x.op - 1] : 0;
	const unsigned reg = (modrm & 7) | (rex & 1) << 3;

	return e->i386 || e->counting || modrm < 0xc0 || reg == RSP || (e->stolen && reg == e->thief) ||
		(i->x.kind == X86_CALL_IND && !e->in->abi_flags) ? RCX : reg;
}

/* Does an indirect jump or call need rdx, too? */
static bool needs_pair(const struct emit *e, const struct insn *i)
{
	return target_register(e, i) == RCX &&
		(e->i386 || !flags_free(e->s, i->x.kind) || (e->stolen && i->x.read >> e->thief & 1));
}

/* Does @i, jmp [rip + slot], go to @likely? rcx changes. */
static void compare_likely(struct emit *e, const struct insn *i, const struct target *likely)
{
	lea_pc(e, RCX, likely->pc);
	put(e, "\x48\x3b\x0d", 3);			/* cmp rcx, [rip + slot] */
	put_pc32(e, rip_operand(i), 0);
}

/* Jump to block.likely, if that is where @i, jmp [rip + slot], goes. The program's rcx is in its slot, else it is there when
 * control comes out of here. Flags change. */
static void emit_likely(struct emit *e, uint32_t n, const struct insn *i, const struct target *likely)
{
	uint32_t miss;

	compare_likely(e, i, likely);
	put(e, "\x75\x00", 2);				/* jne */
	miss = here(e);
	slot_load(e, RCX, RT_S_RCX);
	map(e, n, XL_AT_START);
	e->stale = true;
	emit_jump(e, JMP_ALWAYS, likely);
	e->base[miss - 1] = (uint8_t)(here(e) - miss);
	map(e, n, XL_AT_START | XL_RCX_SAVED);
}

/* rcx = the translation of what indirect jump or call @i goes to. Flags change. */
static void emit_lookup_slot(struct emit *e, uint32_t n, const struct insn *i)
{
	map(e, n, XL_AT_START);
	slot_store(e, RCX, RT_S_RCX);
	map(e, n, XL_AT_START | XL_RCX_SAVED);
	if (e->b->likely.where != TO_NOWHERE)
		emit_likely(e, n, i, &e->b->likely);
	emit_load_target(e, i);
	slot_store(e, RCX, RT_S_TMP);
	load_distance(e, false);
	slot_op(e, 0x03, RCX, RT_S_TMP);		/* add rcx, [RT_S_TMP] */
}

/* rcx = the translation of the address in @reg. No flag changes. */
static void emit_lookup_register(struct emit *e, uint32_t n, unsigned reg)
{
	map(e, n, XL_AT_START);
	slot_store(e, RCX, RT_S_RCX);
	map(e, n, XL_AT_START | XL_RCX_SAVED);
	if (reg >> 3)
		put8(e, 0x41);
	put8(e, 0x8b);					/* mov ecx, reg */
	put8(e, 0xc0 | RCX << 3 | (reg & 7));
	load_distance(e, true);
	put8(e, 0x48 | reg >> 3 << 1);			/* lea rcx, [rcx + reg] */
	put(e, "\x8d\x0c", 2);
	put8(e, (reg & 7) << 3 | RCX);
}

static void emit_indirect(struct emit *e, const struct insn *i)
{
	const uint32_t n = e->b->n - 1;
	const unsigned reg = target_register(e, i);
	const bool pair = needs_pair(e, i);

	if (pair) {
		emit_save_pair(e, n);
		emit_load_target(e, i);
		map(e, n, XL_AT_START | XL_RCX_SAVED | XL_RDX_SAVED);
	} else if (reg != RCX) {
		emit_lookup_register(e, n, reg);
	} else {
		emit_lookup_slot(e, n, i);
	}
	if (i->x.kind == X86_CALL_IND) {
		emit_call(e);
	} else if (!pair) {
		put(e, jmp_rcx, 2);
	} else {
		if (e->i386)
			emit_upper_half(e);
		emit_jump_rcx(e);
	}
}

/* What holds behind system call @i: after the vDSO's fast ones control is not at the block's end. */
static unsigned at_end(const struct emit *e, const struct insn *i)
{
	return behind_call(e->s, i) == e->b->end ? XL_AT_START : 0;
}

/* Behind `syscall` rcx is lost, so it is free here. The runtime goes on at `cont`
 * with everything set as the kernel would have. */
static void emit_syscall(struct emit *e, const struct insn *i)
{
	uint32_t n = e->b->n - 1;

	map(e, n, XL_AT_START);
	if (e->i386) {
		emit_exit_pc(e, behind_call(e->s, i));
		slot_op32(e, 0xc7, 0, RT_CONT);
		add_reloc(e, here(e), XL_REL_PLACE, 0);
		put32(e, (uint32_t)(e->in->place + here(e) + 4 + 7));
		slot_jump(e, at_end(e, i) ? RT_DO_SYSCALL : RT_DO_INT80);
		map(e, n + 1, at_end(e, i));
		return;
	}
	put(e, "\x48\x8d\x0d", 3);			/* lea rcx, [rip + cont] */
	put32(e, SLOT_OP_BYTES(false) + 7 + 8);
	map(e, n, 0);
	slot_store(e, RCX, RT_CONT);
	lea_pc(e, RCX, e->b->end);
	slot_jump(e, RT_DO_SYSCALL);
	map(e, n + 1, XL_AT_START);			/* cont */
}

/* FAR. What an instruction addresses relative to rip and its copy cannot reach, the copy addresses relative to a register
 * that holds what rip is behind the original; the displacement stays. That register is one of the first eight, which
 * need no REX prefix, not rsp, whose encoding means something else, nor rax, so that XL_LENT() can be 0. */
#define LENDABLE (1u << RCX | 1u << RDX | 1u << RBX | 1u << RBP | 1u << RSI | 1u << RDI)
#define FAR_BOUND (9 + 7 + 9)

static unsigned opcode_at(const uint8_t *p)
{
	unsigned k = 0;

	while (p[k] == 0x66 || p[k] == 0x67 || p[k] == 0xf2 || p[k] == 0xf3 || p[k] == 0xf0 || p[k] == 0x2e ||
	       p[k] == 0x36 || p[k] == 0x3e || p[k] == 0x26 || p[k] == 0x64 || p[k] == 0x65 || (p[k] & 0xf0) == 0x40)
		k++;
	return k;
}

/* The instruction with [reg + disp32] in place of [rip + disp32]. */
static void put_based(struct emit *e, const struct insn *i, unsigned reg)
{
	const unsigned k = opcode_at(i->p), high = reg >> 3;

	memcpy(e->c, i->p, i->x.len);
	if (i->p[k] == 0xc4 || i->p[k] == 0x62 || (i->p[k] == 0x8f && (i->p[k + 1] & 0x1f) >= 8))
		e->c[k + 1] |= 0x20;			/* VEX, EVEX, XOP: B, inverted */
	else if (k && (i->p[k - 1] & 0xf0) == 0x40)
		e->c[k - 1] = (uint8_t)((i->p[k - 1] & ~1u) | high);
	e->c[i->x.modrm] = (uint8_t)(0x80 | (i->p[i->x.modrm] & 0x38) | (reg & 7));
	e->c += i->x.len;
}

/* Instruction @n of the block. */
static void emit_far(struct emit *e, const struct insn *i, uint32_t n)
{
	const struct x86_insn *x = &i->x;
	const unsigned k = opcode_at(i->p);
	const unsigned dest = (i->p[x->modrm] >> 3 & 7) | (k && (i->p[k - 1] & 0xf0) == 0x40 ? i->p[k - 1] << 1 & 8 : 0);
	const uint32_t killed = x->kill & ~x->read;
	uint32_t use = LENDABLE & ~((uint32_t)x->read | x->write);
	const unsigned stored = e->stolen ? XL_STORED : 0;

	if (i->p[k] == 0x8d && x->kill >> dest & 1 && (dest & 7) != RSP) {
		lea_pc(e, dest, i->pc + x->len);		/* lea: dead */
		put_based(e, i, dest);
		return;
	}
	if (e->own)
		use &= ~(1u << e->own_now.reg);
	if (killed & LENDABLE)			/* it need not be loaded again */
		use = killed & LENDABLE;
	assert(use);				/* only cmpxchg16b uses three of them */
	slot_store(e, (unsigned)__builtin_ctz(use), RT_S_TMP2);
	e->lent = (uint8_t)__builtin_ctz(use);
	map(e, n, XL_AT_START | stored);
	lea_pc(e, e->lent, i->pc + x->len);
	put_based(e, i, e->lent);
	if (!(killed & use)) {
		map(e, n + 1, XL_AT_START);
		slot_load(e, e->lent, RT_S_TMP2);
	}
	e->lent = 0;
	map(e, n + 1, XL_AT_START);
}

static void emit_plain(struct emit *e, const struct insn *i, uint32_t n)
{
	const unsigned len = i->x.len;

	if (i->far) {
		emit_far(e, i, n);
		return;
	}
	for (unsigned k = 0; k < len; k++)
		e->c[k] = i->p[k];
	if (i->x.prop & X86_RIP) {
		uint8_t *start = e->c;

		e->c += i->x.disp;
		put_pc32(e, rip_operand(i), len - i->x.disp - 4);
		e->c = start;
	}
	e->c += len;
}

/* ---- counting ------------------------------------------------------------------------------- */
static void put_counter(struct emit *e)
{
	add_reloc(e, here(e), XL_REL_COUNTER, e->index);
	put32(e, RT_COUNTERS + xl_counter_size(e->i386) * e->index);
}

static void counter_op(struct emit *e, uint8_t op, unsigned reg)
{
	slot_op(e, op, reg, 0);
	e->c -= 4;
	put_counter(e);
}

static void counter_add(struct emit *e, unsigned reg)
{
	counter_op(e, 0x8b, reg);
	put_rex_w(e, reg, reg);				/* lea reg, [reg + 1] */
	put8(e, 0x8d);
	put8(e, 0x40 | (reg & 7) << 3 | (reg & 7));
	if ((reg & 7) == 4)
		put8(e, 0x24);
	put8(e, 1);
	counter_op(e, 0x89, reg);
}

static void emit_count(struct emit *e, uint32_t insn)
{
	map(e, insn, XL_AT_START);
	switch (e->b->count_how) {
	case COUNT_INC:
		counter_op(e, e->b->count_add ? 0x83 : 0xff, 0);	/* add, inc */
		if (e->b->count_add)
			put8(e, 1);
		break;
	case COUNT_DEAD_GPR:
		counter_add(e, e->b->count_gpr);
		break;
	case COUNT_SPILL:
		slot_store(e, RAX, RT_S_TMP);
		map_tmp(e, insn, XL_AT_START | XL_TMP_SAVED, RAX);
		counter_add(e, RAX);
		e->counted |= XL_COUNTED;
		map_tmp(e, insn, XL_AT_START | XL_TMP_SAVED, RAX);
		slot_load(e, RAX, RT_S_TMP);
		break;
	}
	e->counted |= XL_COUNTED;
	map(e, insn, XL_AT_START);
}

/* ---- records -------------------------------------------------------------------------------- */
/* op [base + disp], reg; never rsp or r12 as base. The runtime reads these instructions when the buffer
 * is full: behind the REX prefix, which 64-bit code always has, C7 is a record's first store, 89 another. */
static void cursor_op(struct emit *e, uint8_t op, unsigned reg, unsigned base, int32_t disp, bool wide)
{
	if (!e->i386)
		put8(e, 0x40 | wide << 3 | (reg >> 3) << 2 | base >> 3);
	put8(e, op);
	if (!disp && (base & 7) != RBP) {
		put8(e, (reg & 7) << 3 | (base & 7));
	} else if (fits8(disp)) {
		put8(e, 0x40 | (reg & 7) << 3 | (base & 7));
		put8(e, (uint8_t)disp);
	} else {
		put8(e, 0x80 | (reg & 7) << 3 | (base & 7));
		put32(e, (uint32_t)disp);
	}
}

/* The same of a mask or vector register, or of none, for as many bytes as @what says. Also in rt_trace_full(). */
static void wide_store(struct emit *e, enum x86_store_what what, unsigned reg, unsigned base, uint32_t disp)
{
	const unsigned length = what - X86_STORE_V16;
	const uint8_t high = (uint8_t)((~reg & 8) << 4 | 0x40 | (~base & 8) << 2 | 1);

	if (what == X86_STORE_K) {			/* kmovw */
		put8(e, 0xc4);
		put8(e, high);
		put(e, "\x78\x91", 2);
	} else if (what == X86_STORE_TILES) {		/* sttilecfg */
		put8(e, 0xc4);
		put8(e, high ^ 3);
		put(e, "\x79\x49", 2);
	} else if (reg < 16 && what != X86_STORE_V64) {	/* vmovdqu */
		put8(e, 0xc4);
		put8(e, high);
		put8(e, (uint8_t)(0x7a | length << 2));
		put8(e, 0x7f);
	} else {					/* vmovdqu64 */
		put8(e, 0x62);
		put8(e, (uint8_t)(high | (~reg & 16)));
		put8(e, 0xfe);
		put8(e, (uint8_t)(8 | length << 5));
		put8(e, 0x7f);
	}
	put8(e, 0x80 | (reg & 7) << 3 | (base & 7));
	put32(e, disp);
}

static void emit_number(struct emit *e, uint32_t block, unsigned reg)
{
	cursor_op(e, 0xc7, 0, reg, 0, false);
	add_reloc(e, here(e), XL_REL_BLOCK, block);
	put32(e, block);
}

static void put_number(struct emit *e, uint32_t at, unsigned reg)
{
	emit_number(e, e->index, reg);
	if (!e->in->count_records)
		e->counted |= XL_COUNTED;
	map(e, at, XL_AT_START);
}

static uint32_t live_at(const struct emit *e, const struct target *t)
{
	return t->where == TO_UNIT ? e->s->block[t->block].live_in : t->live;
}

/* Registers that may be overwritten where control goes to, all of @live being live there. */
static uint32_t spare(const struct emit *e, uint32_t live)
{
	return cursor_registers(e->s) & ~((uint32_t)e->stolen << e->thief) & ~live;
}

/* The record of @block is complete, and counts: the block branches out of its chain. In the cold part. */
static void count_edge(struct emit *e, uint32_t block)
{
	const uint32_t was = e->index, live = live_at(e, &e->s->block[block].to), dead = spare(e, live);
	const unsigned reg = dead ? (unsigned)__builtin_ctz(dead) : RAX;

	e->index = block;
	if (!(live & LV_INC)) {
		counter_op(e, 0xff, 0);
	} else {
		if (!dead)
			slot_store(e, reg, RT_S_TMP);
		counter_add(e, reg);
		if (!dead)
			slot_load(e, reg, RT_S_TMP);
	}
	e->index = was;
}

/* Code that counts: @b and the blocks of its chain before it are done. */
static void spend(struct emit *e, const struct block *b, unsigned reg)
{
	cursor_op(e, 0x8d, reg, reg, -(int32_t)b->rec.insns, true);
}

static bool leaves_stale(const struct block *b)
{
	return b->flags_stale & ~b->flags_set;
}

/* A conditional branch out of the middle of a chain goes through the cold part, which writes the record. */
static void emit_edge(struct emit *e, const struct edge *edge)
{
	const struct block *b = &e->s->block[edge->block];
	uint32_t rel = here(e) - (edge->at + 4);

	memcpy(e->base + edge->at, &rel, 4);
	if (e->counting) {
		spend(e, b, e->thief);
	} else {
		emit_number(e, edge->block, e->thief);
		cursor_op(e, 0x8d, e->thief, e->thief, (int32_t)b->rec.size, true);
	}
	if (e->in->count_records)
		count_edge(e, edge->block);
	e->stale = leaves_stale(b);
	put_rel32(e, (const uint8_t []){ 0xe9 }, 1, &b->to);
}

/* What the block records before instruction @at. */
static void emit_record(struct emit *e, uint32_t at)
{
	const struct record *r = &e->b->rec;
	const struct x86_store *const store = e->s->store + r->store;
	const bool ends = r->next == XL_NONE && at == r->last;
	const unsigned reg = e->own ? e->own_now.reg : e->thief;
	bool any = ends;

	if (at > r->last)
		return;
	for (uint32_t k = 0; !any && k < r->nstore && !e->counting; k++)
		any = store[k].insn + (uint32_t)store[k].after == at;
	if (!any)
		return;
	map(e, at, XL_AT_START);		/* the instruction before it is done */
	for (uint32_t k = 0; k < r->nstore && !e->counting; k++) {
		if (store[k].insn + (uint32_t)store[k].after != at)
			continue;
		if (store[k].what <= X86_STORE_LOW)
			cursor_op(e, 0x89, store[k].reg, reg, 4 + store[k].at, store[k].what == X86_STORE_GPR);
		else
			wide_store(e, store[k].what, store[k].reg, reg, 4u + store[k].at);
	}
	if (!ends)
		return;
	if (e->counting) {
		spend(e, e->b, reg);
		e->counted |= XL_COUNTED;
	} else {
		put_number(e, at, reg);
		cursor_op(e, 0x8d, reg, reg, (int32_t)r->size, true);
	}
	e->counted |= XL_RECORDED;
	map(e, at, XL_AT_START);
}

/* mov to, from */
static void move(struct emit *e, unsigned to, unsigned from)
{
	put_rex_w(e, from, to);
	put8(e, 0x89);
	put8(e, 0xc0 | (from & 7) << 3 | (to & 7));
}

/* The stolen register is the cursor again before place @at of the block. */
static void close_own(struct emit *e, uint32_t at)
{
	const unsigned reg = e->own_now.reg;
	bool written = false;

	if (!e->own)
		return;
	map(e, at, XL_AT_START);
	for (uint32_t k = e->own_now.from; k < e->own_now.to && k < e->b->n; k++)
		written |= e->s->insn[e->b->first + k].x.write >> e->thief & 1;
	if (written && e->live[at] >> e->thief & 1)
		slot_store(e, e->thief, RT_S_R11);
	move(e, e->thief, reg);
	e->own = false;
	map(e, at, XL_AT_START);
	if (e->own_restore)
		slot_load(e, reg, RT_S_TMP);
	e->own_saved = false;
	map(e, at, XL_AT_START);
	e->own_now = own_range(e->s, e->b, e->own_now.to);
}

static void open_own(struct emit *e, uint32_t at)
{
	const unsigned reg = e->own_now.reg;

	map(e, at, XL_AT_START);
	slot_store(e, reg, RT_S_TMP);
	e->own_saved = true;
	e->own_restore = e->live[at] >> reg & 1;
	map(e, at, XL_AT_START);
	move(e, reg, e->thief);
	if (e->live[at] >> e->thief & 1)
		slot_load(e, e->thief, RT_S_R11);
	e->own = true;
	map(e, at, XL_AT_START);
}

/* Before place @at: whose the stolen register is. */
static void turn_own(struct emit *e, uint32_t at)
{
	if (e->own && at == e->own_now.to)
		close_own(e, at);
	if (at == e->own_now.from)
		open_own(e, at);
}

/* ---- budgets --------------------------------------------------------------------------------
 * Code that counts leaves when its budget is used up: at the beginning of some chains, so few that no cycle is without
 * one. A cycle within a unit goes back somewhere, in the order of the chains' heads; any other leaves units. */
static bool leaves_unit(const struct block *b)
{
	switch (b->kind) {
	case X86_PLAIN:
	case X86_SYSCALL:
		return b->fall.where != TO_UNIT;
	case X86_JMP:
		return b->to.where != TO_UNIT;
	case X86_JCC:
	case X86_JCX:
	case X86_XBEGIN:
	case X86_CALL:
		return b->to.where != TO_UNIT || (b->fall.where != TO_UNIT && b->fall.where != TO_NOWHERE);
	default:
		return true;
	}
}

static uint32_t head_of(const struct scratch *s, uint32_t block)
{
	while (s->block[block].rec.prev != XL_NONE)
		block = s->block[block].rec.prev;
	return block;
}

static void goes_back(struct scratch *s, const struct target *t, uint32_t head)
{
	if (t->where == TO_UNIT && s->block[t->block].rec.prev == XL_NONE &&
	    s->block[t->block].order <= s->block[head].order)
		s->block[t->block].checks = true;
}

static void choose_checks(struct scratch *s)
{
	for (size_t k = 0; k < s->nblock; k++)
		s->block[k].checks = false;
	for (uint32_t k = 0; k < s->nblock; k++) {
		const struct block *b = &s->block[k];
		const uint32_t head = head_of(s, k);

		if (leaves_unit(b))
			s->block[head].checks = true;
		goes_back(s, &b->to, head);
		goes_back(s, &b->fall, head);
	}
}

/* ---- byte checks ---------------------------------------------------------------------------- */
static bool check_keeps_flags(const struct block *b)
{
	return b->live_in & LV_FLAGS;
}

static unsigned check_part(uint64_t left)
{
	return left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

/* Compare the block's bytes with what was translated. The rel32s of the jumps to the cold part are
 * chained through their own fields until emit_check_cold() knows the place. */
static void emit_check(struct emit *e, uint32_t *chain)
{
	const struct block *b = e->b;
	bool keep = check_keeps_flags(b);
	uint32_t k = b->first, used = 0;

	map(e, 0, XL_AT_START);
	if (keep) {
		slot_store(e, RAX, RT_S_TMP);
		map(e, 0, 0);
		put(e, "\x9f\x0f\x90\xc0", 4);		/* lahf; seto al */
	}
	for (uint64_t pc = b->pc; pc < b->end; ) {
		unsigned n = check_part(b->end - pc);
		uint8_t bytes[4];

		for (unsigned j = 0; j < n; j++) {
			while (used == e->s->insn[k].x.len) {
				k++;
				used = 0;
			}
			bytes[j] = e->s->insn[k].p[used++];
		}
		if (n == 2)
			put8(e, 0x66);
		put8(e, n == 1 ? 0x80 : 0x81);		/* cmp [rip + pc], bytes */
		put8(e, 0x3d);
		put_pc32(e, pc, n);
		memcpy(e->c, bytes, n);
		e->c += n;
		put(e, "\x0f\x85", 2);			/* jne cold */
		put32(e, *chain);
		*chain = here(e) - 4;
		pc += n;
	}
	if (keep) {
		put(e, "\x04\x7f\x9e", 3);		/* add al, 127; sahf */
		slot_load(e, RAX, RT_S_TMP);
	}
	map(e, 0, XL_AT_START);
}

/* Leave here if nothing is left. */
static void emit_budget_check(struct emit *e, uint32_t *chain)
{
	const bool keep = check_keeps_flags(e->b);

	map(e, 0, XL_AT_START);
	if (keep) {
		slot_store(e, RAX, RT_S_TMP);
		map(e, 0, 0);
		put(e, "\x9f\x0f\x90\xc0", 4);		/* lahf; seto al */
	}
	put_rex_w(e, e->thief, e->thief);		/* test thief, thief */
	put8(e, 0x85);
	put8(e, 0xc0 | (e->thief & 7) * 9);
	put(e, "\x0f\x88", 2);				/* js cold */
	put32(e, 0);
	*chain = here(e) - 4;
	if (keep) {
		put(e, "\x04\x7f\x9e", 3);		/* add al, 127; sahf */
		slot_load(e, RAX, RT_S_TMP);
	}
	map(e, 0, XL_AT_START);
}

static void emit_check_cold(struct emit *e, const struct block *b, uint32_t chain)
{
	uint32_t to = here(e);

	while (chain) {
		uint32_t next, rel = to - (chain + 4);

		memcpy(&next, e->base + chain, 4);
		memcpy(e->base + chain, &rel, 4);
		chain = next;
	}
	if (check_keeps_flags(b)) {
		put(e, "\x04\x7f\x9e", 3);
		slot_load(e, RAX, RT_S_TMP);
	}
	emit_exit_pc(e, b->pc);
	slot_jump(e, e->counting ? RT_DO_COUNT : RT_DO_CHECK);
}

/* ---- bounds (4) ----------------------------------------------------------------------------- */
#define JUMP_BOUND	9		/* jcc rel32 and padding */
#define EDGE_BYTES	(RECORD_BOUND + COUNT_BOUND + JUMP_BOUND)
#define TRAP_BOUND	42
#define RECORD_BOUND	(7 + 7)			/* number, advance */
#define OWN_BOUND	(2 * (9 + 3 + 9))
#define COUNT_BOUND	41			/* spill, load, lea, store, restore */
#define LOOKUP_BOUND	20
#define TWIN_BOUND	(36 + 4)		/* test, and its flags kept; the longer look-up */
#define PAIR_BOUND	18
#define LIKELY_BOUND	(7 + 7 + 2 + 9 + JUMP_BOUND)
#define PUSH_BOUND	27
#define TAIL_BYTES	(PUSH_BOUND + JUMP_BOUND + LOOKUP_BOUND)
#define CHECK_COLD_BYTES 54

static uint32_t number_far(const struct scratch *s, const struct block *b)
{
	uint32_t n = 0;

	for (uint32_t i = 0; s->nfar && i < b->n; i++)
		n += s->insn[b->first + i].far;
	return n;
}

static uint32_t block_bound(const struct scratch *s, const struct block *b, bool counting)
{
	const struct xl_input *in = s->in;
	const struct insn *last = b->n ? &s->insn[b->first + b->n - 1] : NULL;
	uint32_t n = b->end - b->pc;

	if (xl_stolen(in))
		n += RECORD_BOUND + (in->count_records ? COUNT_BOUND : 0) + 7 * b->rec.nstore + OWN_BOUND * b->rec.nown;
	else
		n += b->derived ? PATCH_BYTES : b->count_how == COUNT_INC ? 10 : b->count_how == COUNT_DEAD_GPR ? 23 : 40;
	if (b->entry_inline)
		n += ENTRY_BYTES;
	if (in->patchable)
		n += 2 * PATCH_BYTES;
	if (counting)
		n += TWIN_BOUND;
	if (in->check_bytes)
		n += 13 + 12 + (16 + 1) * (b->end - b->pc + 8) / 4;
	switch (b->kind) {
	case X86_JMP:
	case X86_JCC:
		n += b->to.where == TO_UNIT ? 4 : JUMP_BOUND - 2;
		break;
	case X86_JCX:
	case X86_XBEGIN:
		n += 8 + JUMP_BOUND;
		break;
	case X86_CALL:
		n += PUSH_BOUND + JUMP_BOUND;
		break;
	case X86_RET:
		n += PAIR_BOUND + 1 + 8 + LOOKUP_BOUND + 9;
		break;
	case X86_JMP_IND:
		if (b->likely.where != TO_NOWHERE)
			n += LIKELY_BOUND;
		/* fall through */
	case X86_CALL_IND:
		n += PAIR_BOUND + last->x.len + 4 + PUSH_BOUND + LOOKUP_BOUND + 9;
		break;
	case X86_SYSCALL:
		n += 31;
		break;
	case X86_STEP:
	case X86_INT80:
	case X86_UNKNOWN:
		n += TRAP_BOUND;
		break;
	}
	if (b->fall.where != TO_NOWHERE && !b->next_adjacent)
		n += JUMP_BOUND;
	return n + FAR_BOUND * number_far(s, b);
}

/* Behind what the unit has. */
static void reserve(struct scratch *s, struct xl_unit *u, bool counting)
{
	uint64_t code = 0, nmap = 2, nreloc = 0, nlink = 0;

	for (size_t k = 0; k < s->nblock; k++) {
		struct block *b = &s->block[s->order[k].block];

		b->bound = block_bound(s, b, counting);
		b->sum = code;
		code += b->bound;
		nmap += b->n + 17 + 4ull * number_far(s, b);
		nreloc += b->n + 8;
		if (s->in->kind != XL_PROFILE) {
			nmap += 6 + 6ull * b->rec.nstore + 6ull * b->rec.nown;
			nreloc += 4;
			if (b->rec.next != XL_NONE)
				code += EDGE_BYTES;
		}
		nlink += 2;
		if (b->kind == X86_CALL || b->kind == X86_CALL_IND)
			code += TAIL_BYTES;
		if (calls_stub(s, b))
			code += 9 + LIKELY_BOUND;
		if (s->in->check_bytes)
			nreloc += (b->end - b->pc) / 4 + 4;
	}
	code += nlink * XL_STUB_MAX + 64;
	if (s->in->check_bytes || counting)
		code += s->nblock * CHECK_COLD_BYTES;
	if (counting)
		nreloc += 2 * s->nblock;
	nreloc += nlink;
#define ROOM(v, cap, need) \
	if ((cap) < (need)) { \
		(cap) = (need) + (need) / 2; \
		(v) = pm_realloc((v), (cap) * sizeof *(v)); \
	}
	ROOM(u->code, u->cap_code, u->ncode + code)
	ROOM(u->block, u->cap_block, u->nblock + s->nblock)
	ROOM(u->map, u->cap_map, u->nmap + nmap)
	ROOM(u->reloc, u->cap_reloc, u->nreloc + nreloc)
	ROOM(u->link, u->cap_link, u->nlink + nlink)
#undef ROOM
}

/* ---- blocks --------------------------------------------------------------------------------- */
static uint32_t external_live(uint32_t live)
{
	return (live & LV_GPRS) | (live & LV_FLAGS ? XL_LIVE_FLAGS : 0);
}

/* Which of rcx and rdx are in their slots at an indirect entry, as xl_map.flags. */
static unsigned entry_saved(const struct emit *e)
{
	return XL_AT_START | XL_RCX_SAVED | (e->i386 ? XL_RDX_SAVED : 0);
}

static unsigned entry_length(const struct emit *e, uint32_t live)
{
	return SLOT_OP_BYTES(e->i386) * ((live >> RCX & 1) + (e->i386 && live >> RDX & 1));
}

static void emit_entry(struct emit *e, uint32_t live)
{
	unsigned pad = e->in->patchable ?
		-(e->in->place + here(e) + entry_length(e, live)) & (PATCH_BYTES - 1) : 0;

	placed(e, e->index)->indirect = here(e);
	if (pad) {			/* behind the entry's address: it is where a call returns to */
		map(e, 0, entry_saved(e));
		nops(e, pad);
	}
	if (live >> RCX & 1) {
		map(e, 0, entry_saved(e));
		slot_load(e, RCX, RT_S_RCX);
	}
	if (e->i386 && live >> RDX & 1) {
		map(e, 0, XL_AT_START | XL_RDX_SAVED);
		slot_load(e, RDX, RT_S_RDX);
	}
}

static bool trace_goes_on(const struct emit *e)
{
	return e->stolen && e->b->rec.next != XL_NONE;
}

static void emit_last(struct emit *e, const struct insn *i)
{
	const struct block *b = e->b;
	uint32_t n = b->n - 1;

	map(e, n, XL_AT_START | (e->in->kind != XL_PROFILE ? XL_STORED : 0));
	switch (i->x.kind) {
	case X86_JMP:
		emit_jump(e, JMP_ALWAYS, &b->to);
		break;
	case X86_JCC:
		if (trace_goes_on(e)) {
			struct scratch *s = e->s;

			put8(e, 0x0f);
			put8(e, 0x80 | ((i->p[i->x.op] & 15) ^ b->invert));
			pm_grow(s->edge, s->nedge, s->cap_edge);
			s->edge[s->nedge++] = (struct edge){ here(e), e->index };
			put32(e, 0);
		} else {
			emit_jump(e, (i->p[i->x.op] & 15) ^ b->invert, &b->to);
		}
		break;
	case X86_JCX:
		emit_jcx(e, i, &b->to);
		break;
	case X86_XBEGIN:
		put_rel32(e, (const uint8_t []){ 0xc7, 0xf8 }, 2, &b->to);
		break;
	case X86_CALL:
		emit_call(e);
		break;
	case X86_RET:
		emit_ret(e, i);
		break;
	case X86_JMP_IND:
	case X86_CALL_IND:
		emit_indirect(e, i);
		break;
	case X86_SYSCALL:
		emit_syscall(e, i);
		break;
	case X86_INT80:
		emit_trap(e, n, i->pc, RT_DO_INT80);
		break;
	case X86_STEP:
		emit_trap(e, n, i->pc, RT_DO_STEP);
		break;
	default:					/* X86_PLAIN, X86_STOP */
		emit_plain(e, i, n);
		break;
	}
}

static uint8_t block_flags(const struct scratch *s, const struct block *b)
{
	const struct insn *last = b->n ? &s->insn[b->first + b->n - 1] : NULL;
	uint8_t f = 0;

	if (!last || !last->x.class)
		f |= XL_FALLS;
	if (b->kind == X86_UNKNOWN)
		f |= XL_FALLS | XL_UNKNOWN;
	return f;
}

/* A jump can be written over any direct entry. Most blocks that are too short for it get padding at
 * their end, but right behind a call is the place where it returns to. */
static void pad_call(struct emit *e, const struct insn *call)
{
	uint32_t n = call->pc - e->b->pc + 5;

	if (n < PATCH_BYTES) {
		map(e, 0, XL_AT_START);
		nops(e, PATCH_BYTES - n);
	}
}

static void emit_block(struct emit *e, uint32_t *chain)
{
	struct xl_unit *u = e->u;
	struct block *b = e->b;
	struct xl_block *o = placed(e, e->index);
	const struct insn *i = &e->s->insn[b->first];
	const uint32_t begin = here(e), end = last_place(b);
	const bool trace = e->stolen;
	/* a record counts in the block that ends it, unless control leaves the chain before: emit_edge() */
	const bool counts = trace ? e->in->count_records && b->rec.next == XL_NONE : !b->derived;

	*o = (struct xl_block){
		.pc = b->pc, .size = b->end - b->pc, .n = b->n,
		.code = XL_NONE, .indirect = XL_NONE,
		.live = external_live(b->live_in), .record = trace ? b->rec.size : 0,
		.prev = trace && b->rec.prev != XL_NONE ? e->first + b->rec.prev : XL_NONE,
		.map = u->nmap, .flags = block_flags(e->s, b) | (e->counting ? XL_COUNTS : 0) |
			(!e->in->abi_flags || !b->flags_needed ? 0 :
			 b->mark & MARK_TARGET && e->s->table_flags ? XL_READS_FLAGS | XL_JUMP_TARGET : XL_READS_FLAGS),
		.flow = { b->in == XL_NONE ? XL_OPEN : b->in, b->out == XL_NONE ? XL_OPEN : b->out },
	};
	e->stale = leaves_stale(b);
	e->counted = b->derived ? XL_COUNTED : 0;
	e->own_now.from = UINT32_MAX;
	if (e->stolen && b->rec.nown) {
		live_course(e->s, b, e->live);
		e->own_now = own_range(e->s, b, 0);
	}
	if (b->entry_inline)
		emit_entry(e, o->live);
	o->code = here(e);
	if (e->in->patchable) {
		map(e, 0, XL_AT_START);
		nops(e, PATCH_BYTES);
	}
	if (e->in->check_bytes && b->n)
		emit_check(e, chain);
	if (e->counting && b->checks)
		emit_budget_check(e, chain);
	if (b->derived && b->kind == X86_CALL)
		pad_call(e, i + b->n - 1);
	for (uint32_t k = 0; k < b->n; k++, i++) {
		if (counts && k == b->count_at)
			emit_count(e, k);
		turn_own(e, k);
		if (trace)
			emit_record(e, k);
		if (k == end)
			close_own(e, k);
		map(e, k, XL_AT_START | (trace ? XL_STORED : 0));
		if (k + 1 < b->n || b->kind == X86_UNKNOWN)	/* one more follows */
			emit_plain(e, i, k);
		else
			emit_last(e, i);
	}
	if (counts && b->count_at == b->n)
		emit_count(e, b->n);
	if (trace && end == b->n) {
		turn_own(e, b->n);
		emit_record(e, b->n);
		close_own(e, b->n);
		map(e, b->n, XL_AT_START);
	}
	if (b->kind == X86_UNKNOWN)
		emit_trap(e, b->n, b->end, RT_DO_STEP);
	if (b->fall.where != TO_NOWHERE && !b->next_adjacent) {
		map(e, b->n, b->fall.pc == b->end ? XL_AT_START : 0);
		emit_jump(e, JMP_ALWAYS, &b->fall);
	}
	if (here(e) - o->code < PATCH_BYTES) {
		map(e, b->n, XL_AT_START);
		nops(e, PATCH_BYTES - (here(e) - o->code));
	}
	o->code_end = here(e);
	if (u->nmap > o->map + 1 && u->map[u->nmap - 1].code == o->code_end)
		u->nmap--;		/* what holds there, the next block says itself */
	assert(here(e) - begin <= b->bound);				/* (4) */
}

/* In generated code a direct entry is 8-byte aligned. The padding belongs to the block above, which
 * may fall through it. */
static void align_for(struct emit *e, const struct block *next, const struct block *above)
{
	unsigned pad = -(e->in->place + here(e)) & (PATCH_BYTES - 1);

	if (!pad || next->entry_inline)		/* emit_entry() pads by itself */
		return;
	if (above)
		map(e, above->n, XL_AT_START);
	nops(e, pad);
	if (above)
		placed(e, e->index)->code_end = here(e);
}

static const struct insn *last_insn(const struct emit *e, const struct block *b)
{
	return &e->s->insn[b->first + b->n - 1];
}

/* A jump to what is no address at all faults in the tail; in 32-bit code there is none. */
static bool has_mapped_tail(const struct emit *e, const struct block *b)
{
	return b->kind == X86_CALL_IND && !e->i386;
}

/* A copy of a stub that counts nothing may be left out: discover.c, STUBS. */
static bool goes_to_stub(const struct emit *e, const struct block *b)
{
	const struct block *to = calls_stub(e->s, b) ? &e->s->block[b->to.block] : NULL;

	return to && to->derived && to->likely.where != TO_NOWHERE;
}

static void emit_to_likely(struct emit *e, const struct block *stub, const struct target *there)
{
	slot_store(e, RCX, RT_S_RCX);
	compare_likely(e, last_insn(e, stub), &stub->likely);
	slot_load(e, RCX, RT_S_RCX);
	put_rel32(e, (const uint8_t []){ 0x0f, 0x85 }, 2, there);	/* jne */
	emit_jump(e, JMP_ALWAYS, &stub->likely);
}

static void emit_tail(struct emit *e, const struct tail *t)
{
	const struct block *b = &e->s->block[t->block];
	const struct xl_block *o = placed(e, t->block);
	uint32_t rel = here(e) - (t->at + 4);

	if (has_mapped_tail(e, b))
		e->u->map[o->map + o->nmap - 1].code = here(e);
	memcpy(e->base + t->at, &rel, 4);
	if (b->kind == X86_CALL) {
		const uint32_t dead = spare(e, live_at(e, &b->to));

		if (e->in->abi_flags)
			add_return_distance(e, b->end, t->at);
		else
			emit_return_address(e, b->end, dead ? __builtin_ctz(dead) : -1);
		e->stale = true;
		if (goes_to_stub(e, b))
			emit_to_likely(e, &e->s->block[b->to.block], &b->to);
		else
			put_rel32(e, (const uint8_t []){ 0xe9 }, 1, &b->to);
	} else if (!needs_pair(e, last_insn(e, b))) {
		add_return_distance(e, b->end, t->at);
		put(e, jmp_rcx, 2);
	} else {
		if (e->i386) {
			put(e, "\x89\x0c\x24", 3);		/* mov [esp], ecx */
			put(e, upper_half_on_stack, 5);
		}
		emit_return_address(e, b->end, RDX);
		emit_jump_rcx(e);
	}
}

/* The map of the block before is complete but for where its tail is. */
static void close_map(struct emit *e)
{
	struct xl_unit *u = e->u;
	struct xl_block *o = placed(e, e->index);

	if (has_mapped_tail(e, e->b))
		u->map[u->nmap++] = (struct xl_map){ UINT32_MAX, (uint8_t)(e->b->n - 1),
			XL_RCX_SAVED | XL_CALLED | e->counted |
			(needs_pair(e, last_insn(e, e->b)) ? XL_RDX_SAVED : 0), 0 };
	o->nmap = u->nmap - o->map;
}

/* Adds to the unit the code of all its blocks, or with @counting that of their twins. */
static void emit_pass(struct scratch *s, bool counting)
{
	struct xl_unit *u = s->out;
	struct emit e = { .s = s, .in = s->in, .u = u, .i386 = s->in->i386, .first = (uint32_t)u->nblock, .counting = counting,
			  .stolen = xl_stolen(s->in), .thief = (uint8_t)xl_stolen_register(s->in->i386) };
	const size_t link0 = u->nlink;
	uint32_t *chain = NULL;

	s->nfixup = s->ntail = s->nedge = 0;
	reserve(s, u, counting);
	u->nblock += s->nblock;
	e.base = u->code;
	e.c = u->code + u->ncode;
	for (uint32_t k = 0; k < s->nblock; k++)
		placed(&e, k)->code = XL_NONE;
	if (s->in->check_bytes || counting)
		chain = pm_alloc(s->nblock * sizeof *chain);

	for (size_t k = 0; k < s->nblock; k++) {
		struct block *b = &s->block[s->order[k].block];

		if (s->in->patchable)
			align_for(&e, b, e.b);
		if (e.b)
			close_map(&e);
		e.b = b;
		e.index = s->order[k].block;
		emit_block(&e, chain ? &chain[e.index] : NULL);
	}
	/* the cold part: whoever is there has left its block and steps on into the runtime */
	u->map[u->nmap++] = (struct xl_map){ here(&e), e.b->n, XL_COUNTED, 0 };
	close_map(&e);
	for (size_t k = 0; k < s->ntail; k++)
		emit_tail(&e, &s->tail[k]);
	if (s->ntail) {
		u->map[u->nmap++] = (struct xl_map){ here(&e), e.b->n, XL_COUNTED, 0 };
		placed(&e, e.index)->nmap++;
	}
	for (size_t k = 0; k < s->nedge; k++)
		emit_edge(&e, &s->edge[k]);
	for (uint32_t k = (uint32_t)link0; k < u->nlink; k++) {
		uint32_t rel;

		u->link[k].stub = here(&e);
		rel = here(&e) - (u->link[k].site + 4);
		memcpy(u->code + u->link[k].site, &rel, 4);
		add_reloc(&e, here(&e) + XL_STUB_LINK(e.i386), XL_REL_LINK, k);
		e.c += xl_stub(e.c, e.i386, k);
	}
	if (chain)
		for (uint32_t k = 0; k < s->nblock; k++)
			if (chain[k])
				emit_check_cold(&e, &s->block[k], chain[k]);
	free(chain);
	u->ncode = here(&e);
	assert(u->ncode <= u->cap_code && u->nmap <= u->cap_map && u->nreloc <= u->cap_reloc);

	for (size_t k = 0; k < s->nfixup; k++) {
		const struct fixup *f = &s->fixup[k];
		uint32_t to = placed(&e, f->block)->code;

		if (f->byte) {
			int64_t d = (int64_t)to - (f->at + 1);

			if (!fits8(d))
				s->overflow = true;
			u->code[f->at] = d;
		} else {
			uint32_t rel = to - (f->at + 4);

			memcpy(u->code + f->at, &rel, 4);
		}
	}
}

static void emit_all(struct scratch *s)
{
	struct xl_unit *u = s->out;

	s->overflow = false;
	u->ncode = u->nblock = u->nmap = u->nreloc = u->nlink = 0;
	emit_pass(s, false);
	if (xl_has_twins(s->in)) {
		choose_checks(s);
		emit_pass(s, true);
	}
}

void emit_unit(struct scratch *s)
{
	s->far_only = false;
	emit_all(s);
	if (s->overflow) {		/* cannot happen (4); but a wrong jump is worse than a slow one */
		s->far_only = true;
		emit_all(s);
	}
}

size_t xl_stub(uint8_t *buf, bool i386, uint32_t link)
{
	struct emit e = { .base = buf, .c = buf, .i386 = i386 };

	slot_op32(&e, 0xc7, 0, RT_EXIT_ID);		/* mov dword [RT_EXIT_ID], link */
	put32(&e, link);
	slot_jump(&e, RT_DO_RESOLVE);
	return here(&e);
}

size_t xl_count(uint8_t *buf, bool i386, uint32_t live, uint32_t counter, int by, uint32_t at[2],
		unsigned *nat)
{
	const uint32_t disp = RT_COUNTERS + xl_counter_size(i386) * counter;
	struct emit e = { .base = buf, .c = buf, .i386 = i386 };

	*nat = 0;
	if (!(live & XL_LIVE_FLAGS)) {
		slot_op(&e, 0xff, by < 0, disp);		/* inc or dec */
		at[(*nat)++] = here(&e) - 4;
		return here(&e);
	}
	slot_store(&e, RAX, RT_S_TMP);
	slot_load(&e, RAX, disp);
	at[(*nat)++] = here(&e) - 4;
	put_rex_w(&e, RAX, RAX);
	put(&e, "\x8d\x40", 2);				/* lea rax, [rax + by] */
	put8(&e, by);
	slot_store(&e, RAX, disp);
	at[(*nat)++] = here(&e) - 4;
	slot_load(&e, RAX, RT_S_TMP);
	return here(&e);
}

size_t xl_indirect_entry(uint8_t *buf, bool i386, uint64_t place, uint64_t direct, uint32_t live)
{
	struct emit e = { .base = buf, .c = buf, .i386 = i386 };

	if (live >> RCX & 1)
		slot_load(&e, RCX, RT_S_RCX);
	if (i386 && live >> RDX & 1)
		slot_load(&e, RDX, RT_S_RDX);
	put8(&e, 0xe9);
	put32(&e, (uint32_t)(direct - (place + here(&e) + 4)));
	return here(&e);
}
