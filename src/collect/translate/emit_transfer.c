/* SPDX-License-Identifier: MIT */
/* emit_transfer.c - control leaves a block: calls, returns, indirect jumps, system calls, traps */
#include <string.h>

#include "base/mem.h"
#include "collect/translate/emit.h"

/* CALLS AND RETURNS are paired in the translation as they are in the original, so that the
 * processor's return stack predicts them: a call is a call to a *tail* in the unit's cold part,
 * which replaces the return address that was pushed by the original one and goes on to the target;
 * a return looks its target up, puts the translation in place of the original address and returns.
 * The bytes behind a translated call are the return point's indirect entry. With abi_flags both add
 * the distance between the two to what is on the stack. */
void emit_call(struct emit *e)
{
	struct scratch *s = e->s;

	pm_grow(s->tail, s->ntail, s->cap_tail);
	asm_byte(e, 0xe8);
	s->tail[s->ntail++] = (struct tail){ here(e), e->index };
	asm_u32(e, 0);
}

/* mov [rsp], original address @pc, by way of @reg */
static void store_at_top(struct emit *e, unsigned reg, uint64_t pc)
{
	asm_lea_pc(e, reg, pc);
	asm_rex_w(e, reg, RSP);
	asm_byte(e, 0x89);
	asm_byte(e, 0x04 | (reg & 7) << 3);
	asm_byte(e, 0x24);
}

/* The address on top of the stack becomes @pc. @spare: a register that is free, or -1. */
static void emit_return_address(struct emit *e, uint64_t pc, int spare)
{
	const unsigned reg = e->has_cursor ? R10 : R11;

	if (e->i386) {
		asm_bytes(e, "\xc7\x04\x24", 3);		/* mov dword [esp], pc */
		asm_pc32(e, pc, 0);
	} else if (e->in->absolute && pc < 1ull << 31) {
		asm_bytes(e, "\x48\xc7\x04\x24", 4);		/* mov qword [rsp], pc */
		asm_u32(e, pc);
	} else if (spare >= 0) {
		store_at_top(e, (unsigned)spare, pc);
	} else {
		asm_slot_store(e, reg, RT_S_TMP);
		store_at_top(e, reg, pc);
		asm_slot_load(e, reg, RT_S_TMP);
	}
}

/* The same where it is the address behind the call at @call: its rel32. */
static void add_return_distance(struct emit *e, uint64_t pc, uint32_t call)
{
	asm_bytes(e, "\x48\x81\x04\x24", 4);		/* add qword [rsp], distance */
	asm_reloc(e, here(e), XL_REL_PC32, 0);
	asm_u32(e, (uint32_t)(pc - (e->in->place + call + 4)));
}

void emit_trap(struct emit *e, uint32_t insn, uint64_t pc, uint32_t where)
{
	asm_map(e, insn, XL_AT_START);
	if (e->i386 || (e->in->absolute && pc < 1ull << 31)) {
		asm_exit_pc(e, pc);
	} else {
		asm_slot_store(e, RAX, RT_S_TMP);
		asm_map_tmp(e, insn, XL_AT_START | XL_TMP_SAVED, RAX);
		asm_lea_pc(e, RAX, pc);
		asm_slot_store(e, RAX, RT_EXIT_PC);
		asm_slot_load(e, RAX, RT_S_TMP);
		asm_map(e, insn, XL_AT_START);
	}
	asm_slot_jump(e, where);
}

/* rcx = an original address, rdx free: rcx = its translation's indirect entry. No flag changes; in
 * 32-bit code, where the shadow has two levels, edx is the upper half of the address already. */
static void emit_lookup(struct emit *e)
{
	if (e->i386) {
		asm_bytes(e, "\x8b\x14\x95", 3);		/* mov edx, [edx*4 + RT32_SHADOW] */
		asm_u32(e, RT32_SHADOW);
		asm_bytes(e, "\x8b\x14\x8a", 3);		/* mov edx, [edx + ecx*4] */
		asm_bytes(e, "\x8d\x0c\x11", 3);		/* lea ecx, [ecx + edx] */
		return;
	}
	if (e->counting) {
		asm_bytes(e, "\x8d\x91", 2);		/* lea edx, [rcx + RT_COUNTING_SHIFT] */
		asm_u32(e, RT_COUNTING_SHIFT);
	} else {
		asm_bytes(e, "\x89\xca", 2);			/* mov edx, ecx */
	}
	asm_bytes(e, "\x48\x63\x14\x95", 4);		/* movsxd rdx, dword [rdx*4 + RT_SHADOW] */
	asm_u32(e, (uint32_t)RT_SHADOW);
	asm_bytes(e, "\x48\x8d\x0c\x11", 4);			/* lea rcx, [rcx + rdx] */
}

/* edx = the upper half of the address in ecx, with no shift that would change flags. */
static void emit_upper_half(struct emit *e)
{
	asm_slot_store(e, RCX, RT_S_TMP);
	asm_bytes(e, "\x64\x0f\xb7\x15", 4);		/* movzx edx, word fs:[RT_S_TMP + 2] */
	asm_u32(e, RT_S_TMP + 2);
}

/* movzx edx, word [esp + 2] */
static const char upper_half_on_stack[] = "\x0f\xb7\x54\x24\x02";

static const char jmp_rcx[] = "\xff\xe1";

static void emit_jump_rcx(struct emit *e)
{
	emit_lookup(e);
	if (!e->i386)
		asm_slot_load(e, RDX, RT_S_RDX);
	asm_bytes(e, jmp_rcx, 2);
}

static void emit_save_rcx(struct emit *e, uint32_t insn)
{
	asm_map(e, insn, XL_AT_START);
	asm_slot_store(e, RCX, RT_S_RCX);
	asm_map(e, insn, XL_AT_START | XL_RCX_SAVED);
}

static void emit_save_rdx(struct emit *e, uint32_t insn)
{
	asm_slot_store(e, RDX, RT_S_RDX);
	asm_map(e, insn, XL_AT_START | XL_RCX_SAVED | XL_RDX_SAVED);
}

/* rcx = the distance from the address in rcx, whose upper half is 0 if it is @low, to its
 * translation. */
static void load_distance(struct emit *e, bool low)
{
	if (e->counting) {
		asm_bytes(e, "\x8d\x89", 2);		/* lea ecx, [rcx + RT_COUNTING_SHIFT] */
		asm_u32(e, RT_COUNTING_SHIFT);
	} else if (!low) {
		asm_bytes(e, "\x89\xc9", 2);			/* mov ecx, ecx */
	}
	asm_bytes(e, "\x48\x63\x0c\x8d", 4);		/* movsxd rcx, dword [rcx*4 + RT_SHADOW] */
	asm_u32(e, (uint32_t)RT_SHADOW);
}

/* The address on top of the stack becomes its translation's, without rdx. */
static void add_distance(struct emit *e, uint32_t n)
{
	emit_save_rcx(e, n);
	asm_bytes(e, "\x8b\x0c\x24", 3);			/* mov ecx, [rsp] */
	if (e->in->logged)
		emit_safepoint(e, true, LEAVES_RETURN, RCX);
	load_distance(e, true);
	asm_bytes(e, "\x48\x01\x0c\x24", 4);			/* add [rsp], rcx */
	asm_map(e, n, XL_RCX_SAVED);
}

/* The rest of a return of 32-bit code that takes @n bytes more off, where runs are to be repeated:
 * no address of a translation stays behind below the stack. What it would take off is often a
 * hidden argument; ld.so calls a function by such a return, and then no entry of a return repairs
 * what lies there. */
static void emit_far_pop(struct emit *e, uint32_t n)
{
	asm_map(e, e->b->n - 1, XL_RCX_SAVED | XL_RDX_SAVED);
	asm_bytes(e, "\x89\x8c\x24", 3);			/* mov [esp + n], ecx */
	asm_u32(e, n);
	emit_lookup(e);
	asm_take_off(e, 4 + n);
	asm_bytes(e, jmp_rcx, 2);
}

/* By way of rcx and rdx, flags kept. */
static void emit_ret_pair(struct emit *e, const struct insn *i)
{
	const uint32_t n = e->b->n - 1;

	emit_save_rcx(e, n);
	emit_save_rdx(e, n);
	asm_rex_w(e, RCX, RSP);
	asm_bytes(e, "\x8b\x0c\x24", 3);		/* mov rcx, [rsp] */
	if (e->in->logged)
		emit_safepoint(e, false, LEAVES_RCX, RCX);
	if (e->i386)
		asm_bytes(e, upper_half_on_stack, 5);
	if (jumps_to_return(e->in, i)) {
		emit_far_pop(e, ret_takes_off(i));
		return;
	}
	emit_lookup(e);
	asm_rex_w(e, RCX, RSP);
	asm_bytes(e, "\x89\x0c\x24", 3);		/* mov [rsp], rcx */
	asm_map(e, n, XL_RCX_SAVED | XL_RDX_SAVED);
	if (!e->i386)
		asm_slot_load(e, RDX, RT_S_RDX);
}

void emit_ret(struct emit *e, const struct insn *i)
{
	uint32_t n = e->b->n - 1;
	uint8_t *miss = NULL;

	if (grows_tree(e)) {
		emit_save_rcx(e, n);
		miss = emit_tree_return(e, i);
		if (!miss)
			return;
		load_distance(e, false);
		asm_bytes(e, "\x48\x01\x0c\x24", 4);		/* add [rsp], rcx */
	} else if (e->in->abi_flags) {
		add_distance(e, n);
	} else {
		emit_ret_pair(e, i);
	}
	if (jumps_to_return(e->in, i)) {
		/* it has left */
	} else if (i->x.nimm) {
		const uint16_t imm = ret_takes_off(i);

		asm_byte(e, 0xc2);
		asm_byte(e, imm & 255);
		asm_byte(e, imm >> 8);
	} else {
		asm_byte(e, 0xc3);
	}
	emit_safepoint_end(e, LEAVES_RETURN, RCX);
	emit_tree_return_end(e, i, miss);
}

/* The bytes of a memory operand that contains the cursor register, rdx or rcx in its place,
 * whichever the operand does not contain; that one is loaded. */
static void replace_cursor_register(struct emit *e, uint8_t *rex, uint8_t *modrm, uint8_t *sib)
{
	const uint8_t low = e->cursor_reg & 7, high = e->cursor_reg >> 3;
	bool b = (*rex & 1) == high && (*modrm & 7) == low;
	unsigned reg = RDX;

	if ((*modrm & 7) == 4) {
		bool x = (*rex >> 1 & 1) == high && (*sib >> 3 & 7) == low;

		/* (ebp as the base of nothing: none) */
		b = (*rex & 1) == high && (*sib & 7) == low && (low != RBP || *modrm >> 6);
		if ((!b && !(*rex & 1) && (*sib & 7) == RDX) ||
		    (!x && !(*rex & 2) && (*sib >> 3 & 7) == RDX))
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
	asm_slot_load(e, reg, RT_S_R11);
}

/* mov rcx, the operand of an indirect jump or call. */
static void emit_load_target(struct emit *e, const struct insn *i)
{
	const uint8_t *p = i->p;
	const unsigned rest = i->x.modrm + 1u, n = i->x.len - rest;
	const bool is_register = p[i->x.modrm] >= 0xc0,
		   reads_cursor = e->has_cursor && i->x.read >> e->cursor_reg & 1;
	uint8_t rex = 0x48, modrm = p[i->x.modrm], sib = n ? p[rest] : 0;

	if (!e->i386 && i->x.op && (p[i->x.op - 1] & 0xf0) == 0x40)
		rex |= p[i->x.op - 1] & 3;
	if (reads_cursor && is_register) {
		asm_slot_load(e, RCX, RT_S_R11);
		return;
	}
	if (is_register && (modrm & 7) == RCX && !(rex & 1))
		return;
	if (reads_cursor)
		replace_cursor_register(e, &rex, &modrm, &sib);
	if (i->far) {
		asm_lea_pc(e, RCX, i->pc + i->x.len);
		modrm = 0x80 | RCX;
		rex &= ~1u;
	}
	if (i->x.prop & X86_TLS)
		asm_byte(e, e->i386 ? 0x65 : 0x64);
	if (i->x.prop & X86_ADDR)
		asm_byte(e, PREFIX_ADDR);
	if (!e->i386)
		asm_byte(e, rex);
	asm_byte(e, 0x8b);
	asm_byte(e, (modrm & 0xc7) | RCX << 3);
	if (i->x.prop & X86_RIP && !i->far) {
		asm_pc32(e, rip_operand(i), 0);
		return;
	}
	memcpy(e->c, p + rest, n);
	if (n && (modrm & 7) == 4)
		e->c[0] = sib;
	e->c += n;
}

/* The register that an indirect jump or call goes to, if that alone does; else RCX. */
static unsigned target_register(const struct emit *e, const struct block *b, const struct insn *i)
{
	const uint8_t modrm = i->p[i->x.modrm];
	const unsigned rex = i->x.op && (i->p[i->x.op - 1] & 0xf0) == 0x40 ? i->p[i->x.op - 1] : 0;
	const unsigned reg = (modrm & 7) | (rex & 1) << 3;

	return e->i386 || e->counting || counts_target(e) || grows_tree(e) ||
	       modrm < 0xc0 || reg == RSP ||
	       (e->has_cursor && reg == e->cursor_reg) ||
	       (i->x.kind == X86_CALL_IND && !e->in->abi_flags) ? RCX : reg;
}

/* Does an indirect jump or call need rdx, too? */
static bool needs_pair(const struct emit *e, const struct block *b, const struct insn *i)
{
	return (counts_target(e) && b->first_target == XL_NONE) || grows_tree(e) ||
	       (target_register(e, b, i) == RCX &&
		(e->i386 || !flags_free(e->s, i->x.kind) ||
		 (e->has_cursor && i->x.read >> e->cursor_reg & 1)));
}

/* Jump to block.likely, if that is where @i, jmp [rip + slot], goes. The program's rcx is in its
 * slot, else it is there when control comes out of here. Flags change. */
static void emit_likely(struct emit *e, uint32_t n, const struct insn *i,
			const struct xl_target *likely)
{
	uint32_t miss, rel;

	asm_compare_likely(e, i, likely, RCX);
	if (grows_tree(e)) {
		asm_bytes(e, "\x0f\x85", 2);			/* jne */
		asm_u32(e, 0);
	} else {
		asm_bytes(e, "\x75\x00", 2);			/* jne */
	}
	miss = here(e);
	asm_slot_load(e, RCX, RT_S_RCX);
	asm_map(e, n, XL_AT_START);
	e->stale = true;
	if (grows_tree(e)) {
		asm_map(e, n + 1, 0);
		emit_tree_jump(e, likely, true);
	}
	asm_jump(e, JMP_ALWAYS, likely);
	rel = here(e) - miss;
	if (grows_tree(e))
		memcpy(e->base + miss - 4, &rel, 4);
	else
		e->base[miss - 1] = (uint8_t)rel;
	asm_map(e, n, XL_AT_START | XL_RCX_SAVED);
}

/* op gs:[rdx + place], with the REX.W prefix if @wide */
static void entry_op(struct emit *e, bool wide, uint8_t op, unsigned reg, uint32_t place)
{
	asm_byte(e, 0x65);
	if (wide)
		asm_byte(e, 0x48);
	asm_byte(e, op);
	asm_byte(e, (uint8_t)(0x80 | reg << 3 | RDX));
	asm_u32(e, place);
}

/* jcc @cc or jmp, to what bind() will say */
static uint8_t *short_jump(struct emit *e, uint8_t op)
{
	asm_byte(e, op);
	asm_byte(e, 0);
	return e->c;
}

static void bind(const struct emit *e, uint8_t *from)
{
	from[-1] = (uint8_t)(e->c - from);
}

static void jump_back(struct emit *e, uint8_t op, const uint8_t *to)
{
	uint8_t *from = short_jump(e, op);

	from[-1] = (uint8_t)(to - from);
}

/* op [counter of XL_FIRST, or of what is @behind it], reg */
static void first_op(struct emit *e, uint32_t behind, uint8_t op, unsigned reg)
{
	const struct scratch *s = e->s;
	const uint32_t was = e->index;

	asm_slot_op(e, op, reg, 0);
	e->c -= 4;
	e->index = s->first_entry + (uint32_t)s->nentry +
		   2 * s->block[e->index].first_target + behind;
	counter_field(e);
	e->index = was;
}

/* Most indirect branches mostly go to one place: that, which is in rcx, is compared first. Flags
 * change. A program's handler never runs behind that. */
static void count_first_target(struct emit *e, uint32_t n)
{
	struct scratch *s = e->s;
	struct other_target o = { .block = e->index };

	asm_map(e, n, XL_AT_START | XL_RCX_SAVED);
	first_op(e, 0, 0x39, RCX);				/* cmp [first], rcx */
	asm_bytes(e, "\x0f\x85", 2);				/* jne */
	asm_u32(e, 0);
	o.at = here(e) - 4;
	o.count = here(e);
	first_op(e, 1, 0xff, 0);				/* inc qword [count] */
	o.back = here(e);
	pm_grow(s->other, s->nother, s->cap_other);
	s->other[s->nother++] = o;
	asm_map(e, n, XL_RCX_SAVED);
}

static void jump_to(struct emit *e, uint32_t to)
{
	asm_byte(e, 0xe9);
	asm_u32(e, to - (here(e) + 4));
}

/* Where the target in rcx has been counted: the code goes on, or in the cold part back to @o. */
static uint8_t *target_counted(struct emit *e, const struct other_target *o)
{
	if (!o)
		return short_jump(e, 0xeb);
	asm_slot_load(e, RDX, RT_S_RDX);
	jump_to(e, o->back);
	return NULL;
}

/* The target in rcx is the first one there, if there was none. An address in the kernel's half
 * would be taken for a counter below zero. */
static void set_first_target(struct emit *e, const struct other_target *o)
{
	uint8_t *negative, *counted;

	asm_bytes(e, "\x48\x85\xc9", 3);			/* test rcx, rcx; js */
	negative = short_jump(e, 0x78);
	first_op(e, 1, 0x83, 7);				/* cmp qword [count], 0; jne */
	asm_byte(e, 0);
	counted = short_jump(e, 0x75);
	first_op(e, 0, 0x89, RCX);				/* mov [first], rcx */
	asm_slot_load(e, RDX, RT_S_RDX);
	jump_to(e, o->count);
	bind(e, negative);
	bind(e, counted);
}

/* The thread's table of targets counts the one in rcx. rdx is free; flags change. A program's
 * handler never runs in between. @o: in the cold part, where what is new may be the first
 * target. */
static void count_in_table(struct emit *e, const struct other_target *o)
{
	const uint32_t to = RT_TARGETS, counter = RT_TARGETS + 8, count = RT_TARGETS + 16;
	const uint8_t *again, *hit;
	uint8_t *other, *differs, *done, *is_free, *full;

	asm_bytes(e, "\x8d\x91", 2);			/* lea edx, [rcx + counter] */
	counter_field(e);
	asm_bytes(e, "\x69\xd2\xb1\x79\x37\x9e", 6);	/* imul edx, edx, 2^32 / phi */
	asm_bytes(e, "\xc1\xea\x10\xc1\xe2\x05", 6);	/* shr edx, 16; shl edx, 5 */
	again = e->c;
	entry_op(e, true, 0x39, RCX, to);		/* cmp [to], rcx */
	other = short_jump(e, 0x75);
	entry_op(e, false, 0x81, 7, counter);		/* cmp dword [counter], counter */
	counter_field(e);
	differs = short_jump(e, 0x75);
	hit = e->c;
	entry_op(e, true, 0xff, 0, count);		/* inc qword [count] */
	done = target_counted(e, o);
	bind(e, other);
	bind(e, differs);
	entry_op(e, true, 0x83, 7, count);		/* cmp qword [count], 0 */
	asm_byte(e, 0);
	is_free = short_jump(e, 0x74);
	asm_bytes(e, "\x83\xc2\x20\x81\xe2", 5);	/* add edx, 32; and edx, size - 1 */
	asm_u32(e, RT_TARGETS_SIZE - 1);
	jump_back(e, 0xeb, again);
	bind(e, is_free);
	if (o)
		set_first_target(e, o);
	asm_slot_op32(e, 0x81, 7, RT_TARGETS_USED);	/* cmp dword [used], most */
	asm_u32(e, RT_TARGETS_MAX);
	full = short_jump(e, 0x73);
	asm_slot_op32(e, 0xff, 0, RT_TARGETS_USED);	/* inc dword [used] */
	entry_op(e, true, 0x89, RCX, to);		/* mov [to], rcx */
	entry_op(e, false, 0xc7, 0, counter);		/* mov dword [counter], counter */
	counter_field(e);
	jump_to(e, (uint32_t)(hit - e->base));
	bind(e, full);
	asm_slot_op(e, 0xff, 0, RT_TARGETS_LOST);	/* inc qword [lost] */
	if (o)
		target_counted(e, o);
	else
		bind(e, done);
}

/* In the cold part: it goes elsewhere, or has not gone anywhere before. */
void emit_other_target(struct emit *e, const struct other_target *o)
{
	const uint32_t was = e->index, rel = here(e) - (o->at + 4);

	memcpy(e->base + o->at, &rel, 4);
	e->index = o->block;
	asm_slot_store(e, RDX, RT_S_RDX);
	count_in_table(e, o);
	e->index = was;
}

/* rcx = the translation of what indirect jump or call @i goes to. Flags change. */
static void emit_lookup_slot(struct emit *e, uint32_t n, const struct insn *i)
{
	emit_save_rcx(e, n);
	if (e->b->likely.where != TO_NOWHERE)
		emit_likely(e, n, i, &e->b->likely);
	emit_load_target(e, i);
	if (counts_target(e))
		count_first_target(e, n);
	if (jumps_anywhere(e->in, i))
		emit_safepoint(e, true, LEAVES_RCX, RCX);
	asm_slot_store(e, RCX, RT_S_TMP);
	load_distance(e, false);
	asm_slot_op(e, 0x03, RCX, RT_S_TMP);		/* add rcx, [RT_S_TMP] */
}

/* rcx = the translation of the address in @reg, to which @i goes. Flags change where they are
 * free. */
static void emit_lookup_register(struct emit *e, uint32_t n, const struct insn *i, unsigned reg)
{
	emit_save_rcx(e, n);
	if (jumps_anywhere(e->in, i))
		emit_safepoint(e, flags_free(e->s, i->x.kind), LEAVES_REGISTER, reg);
	if (reg >> 3)
		asm_byte(e, 0x41);
	asm_byte(e, 0x8b);					/* mov ecx, reg */
	asm_byte(e, 0xc0 | RCX << 3 | (reg & 7));
	load_distance(e, true);
	asm_byte(e, 0x48 | reg >> 3 << 1);			/* lea rcx, [rcx + reg] */
	asm_bytes(e, "\x8d\x0c", 2);
	asm_byte(e, (reg & 7) << 3 | RCX);
}

/* The same, flags kept where they may mean something. */
static void emit_count_target(struct emit *e, const struct insn *i)
{
	const bool keep = !flags_free(e->s, i->x.kind);
	const uint32_t n = e->b->n - 1;

	asm_map(e, n, XL_RCX_SAVED | XL_RDX_SAVED);
	if (keep) {
		asm_slot_store(e, RAX, RT_S_TMP);
		asm_map_tmp(e, n, XL_RCX_SAVED | XL_RDX_SAVED | XL_TMP_SAVED, RAX);
		asm_bytes(e, "\x9f\x0f\x90\xc0", 4);		/* lahf; seto al */
	}
	count_in_table(e, NULL);
	if (keep) {
		asm_bytes(e, "\x04\x7f\x9e", 3);		/* add al, 127; sahf */
		asm_slot_load(e, RAX, RT_S_TMP);
		asm_map(e, n, XL_RCX_SAVED | XL_RDX_SAVED);
	}
}

void emit_indirect(struct emit *e, const struct insn *i)
{
	const uint32_t n = e->b->n - 1;
	const unsigned reg = target_register(e, e->b, i);
	const bool pair = needs_pair(e, e->b, i);

	if (pair) {
		emit_save_rcx(e, n);
		if ((counts_targets(e->in) || grows_tree(e)) &&
		    e->b->likely.where != TO_NOWHERE)
			emit_likely(e, n, i, &e->b->likely);
		emit_save_rdx(e, n);
		emit_load_target(e, i);
		if (counts_targets(e->in))
			emit_count_target(e, i);
		else
			asm_map(e, n, XL_AT_START | XL_RCX_SAVED | XL_RDX_SAVED);
		if (grows_tree(e) && i->x.kind == X86_JMP_IND)
			emit_tree_jump_target(e, flags_free(e->s, i->x.kind));
		else if (grows_tree(e))
			asm_slot_store(e, RCX, RT_EXIT_PC);
		if (jumps_anywhere(e->in, i))
			emit_safepoint(e, flags_free(e->s, i->x.kind), LEAVES_RCX, RDX);
	} else if (reg != RCX) {
		emit_lookup_register(e, n, i, reg);
	} else {
		emit_lookup_slot(e, n, i);
	}
	if (i->x.kind == X86_CALL_IND) {
		emit_call(e);
	} else if (!pair) {
		asm_bytes(e, jmp_rcx, 2);
	} else {
		if (e->i386)
			emit_upper_half(e);
		emit_jump_rcx(e);
	}
	emit_safepoint_end(e, reg == RCX ? LEAVES_RCX : LEAVES_REGISTER, pair ? RDX : reg);
}

/* What holds behind system call @i: after the vDSO's fast ones control is not
 * at the block's end. */
static unsigned at_end(const struct emit *e, const struct insn *i)
{
	return behind_call(e->s, i) == e->b->end ? XL_AT_START : 0;
}

/* Behind `syscall` rcx is lost, so it is free here. The runtime goes on at `cont`
 * with everything set as the kernel would have. */
void emit_syscall(struct emit *e, const struct insn *i)
{
	uint32_t n = e->b->n - 1;

	asm_map(e, n, XL_AT_START);
	if (e->i386) {
		asm_exit_pc(e, behind_call(e->s, i));
		asm_slot_op32(e, 0xc7, 0, RT_CONT);
		asm_reloc(e, here(e), XL_REL_PLACE, 0);
		asm_u32(e, (uint32_t)(e->in->place + here(e) + 4 + 7));
		asm_slot_jump(e, at_end(e, i) ? RT_DO_SYSCALL : RT_DO_INT80);
		asm_map(e, n + 1, at_end(e, i));
		return;
	}
	asm_bytes(e, "\x48\x8d\x0d", 3);			/* lea rcx, [rip + cont] */
	asm_u32(e, SLOT_OP_BYTES(false) + 7 + 8);
	asm_map(e, n, 0);
	asm_slot_store(e, RCX, RT_CONT);
	asm_lea_pc(e, RCX, e->b->end);
	asm_slot_jump(e, RT_DO_SYSCALL);
	asm_map(e, n + 1, XL_AT_START);			/* cont */
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

static void emit_to_likely(struct emit *e, const struct block *stub, const struct xl_target *there)
{
	asm_slot_store(e, RCX, RT_S_RCX);
	asm_compare_likely(e, last_insn(e, stub), &stub->likely, RCX);
	asm_slot_load(e, RCX, RT_S_RCX);
	asm_rel32(e, (const uint8_t []){ 0x0f, 0x85 }, 2, there);	/* jne */
	asm_jump(e, JMP_ALWAYS, &stub->likely);
}

void emit_tail(struct emit *e, const struct tail *t)
{
	const struct block *b = &e->s->block[t->block];
	const struct xl_block *o = placed(e, t->block);
	const uint32_t was = e->index;
	uint32_t rel = here(e) - (t->at + 4);

	e->index = t->block;

	if (has_mapped_tail(e, b))
		e->u->map[o->map + o->nmap - 1].code = here(e);
	memcpy(e->base + t->at, &rel, 4);
	if (b->kind == X86_CALL) {
		const uint32_t dead = dead_registers(e, live_at(e, &b->to));

		if (e->in->abi_flags)
			add_return_distance(e, b->end, t->at);
		else
			emit_return_address(e, b->end, dead ? __builtin_ctz(dead) : -1);
		e->stale = true;
		if (!calls_through(e, b) && emit_call_of_entry(e, &b->to)) {
			e->index = was;
			return;
		}
		if (calls_through(e, b))
			emit_tree_call_through(e, b);
		else if (grows_tree(e))
			emit_tree_call(e, b->to.pc);
		if (calls_through(e, b))
			asm_jump(e, JMP_ALWAYS, &e->s->block[b->to.block].likely);
		else if (goes_to_stub(e, b))
			emit_to_likely(e, &e->s->block[b->to.block], &b->to);
		else
			asm_rel32(e, (const uint8_t []){ 0xe9 }, 1, &b->to);
	} else if (!needs_pair(e, b, last_insn(e, b))) {
		add_return_distance(e, b->end, t->at);
		asm_bytes(e, jmp_rcx, 2);
	} else {
		if (e->i386) {
			asm_bytes(e, "\x89\x0c\x24", 3);		/* mov [esp], ecx */
			asm_bytes(e, upper_half_on_stack, 5);
		}
		emit_return_address(e, b->end, RDX);
		if (grows_tree(e))
			emit_tree_call_target(e);
		emit_jump_rcx(e);
	}
	e->index = was;
}

/* The map of the block before is complete but for where its tail is. */
void emit_map_end(struct emit *e)
{
	struct xl_unit *u = e->u;
	struct xl_block *o = placed(e, e->index);

	if (has_mapped_tail(e, e->b))
		u->map[u->nmap++] = (struct xl_map){ UINT32_MAX, (uint8_t)(e->b->n - 1),
			XL_RCX_SAVED | XL_CALLED | e->counted |
			(needs_pair(e, e->b, last_insn(e, e->b)) ? XL_RDX_SAVED : 0), 0 };
	o->nmap = u->nmap - o->map;
}
