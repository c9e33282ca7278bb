/* SPDX-License-Identifier: MIT */
/* emit.c - blocks in, code, pc map, relocations and links out; see emit.h */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/translate/emit.h"

/* FAR. What an instruction addresses relative to rip and its copy cannot reach, the copy addresses
 * relative to a register that holds what rip is behind the original; the displacement stays. That
 * register is one of the first eight, which need no REX prefix, not rsp, whose encoding means
 * something else, nor rax, so that XL_BORROWED() can be 0. */
#define BORROWABLE (1u << RCX | 1u << RDX | 1u << RBX | 1u << RBP | 1u << RSI | 1u << RDI)
#define FAR_BOUND (9 + 7 + 9)

static unsigned opcode_at(const uint8_t *p)
{
	unsigned k = 0;

	while (x86_is_prefix(p[k]) || (p[k] & 0xf0) == 0x40)
		k++;
	return k;
}

/* The instruction with [reg + disp32] in place of [rip + disp32]. */
static void emit_based(struct emit *e, const struct insn *i, unsigned reg)
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
	const unsigned dest = (i->p[x->modrm] >> 3 & 7) |
		(k && (i->p[k - 1] & 0xf0) == 0x40 ? i->p[k - 1] << 1 & 8 : 0);
	const uint32_t killed = x->kill & ~x->read;
	uint32_t use = BORROWABLE & ~((uint32_t)x->read | x->write);
	const unsigned stored = e->has_cursor ? XL_STORED : 0;

	if (i->p[k] == 0x8d && x->kill >> dest & 1 && (dest & 7) != RSP) {
		asm_lea_pc(e, dest, i->pc + x->len);		/* lea: dead */
		emit_based(e, i, dest);
		return;
	}
	if (e->restored)
		use &= ~(1u << e->restored_now.reg);
	if (killed & BORROWABLE)			/* it need not be loaded again */
		use = killed & BORROWABLE;
	assert(use);				/* only cmpxchg16b uses three of them */
	asm_slot_store(e, (unsigned)__builtin_ctz(use), RT_S_TMP2);
	e->borrowed = (uint8_t)__builtin_ctz(use);
	asm_map(e, n, XL_AT_START | stored);
	asm_lea_pc(e, e->borrowed, i->pc + x->len);
	emit_based(e, i, e->borrowed);
	if (!(killed & use)) {
		asm_map(e, n + 1, XL_AT_START);
		asm_slot_load(e, e->borrowed, RT_S_TMP2);
	}
	e->borrowed = 0;
	asm_map(e, n + 1, XL_AT_START);
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
		asm_pc32(e, rip_operand(i), len - i->x.disp - 4);
		e->c = start;
	}
	e->c += len;
}

/* ---- bounds (4) ----------------------------------------------------------------------------- */
#define JUMP_BOUND	9		/* jcc rel32 and padding */
#define EDGE_BYTES	(RECORD_BOUND + COUNT_BOUND + JUMP_BOUND)
#define TRAP_BOUND	42
#define RECORD_BOUND	(7 + 7)			/* number, advance */
#define RESTORED_BOUND	(2 * (9 + 3 + 9))
#define COUNT_BOUND	41			/* spill, load, lea, store, restore */
#define LOOKUP_BOUND	20
#define COUNTING_BOUND	(36 + 4)	/* test, and its flags kept; the longer look-up */
#define PAIR_BOUND	18
#define LIKELY_BOUND	(7 + 7 + 2 + 9 + JUMP_BOUND)
#define PUSH_BOUND	27
#define TAIL_BYTES	(PUSH_BOUND + JUMP_BOUND + LOOKUP_BOUND)
#define TARGET_BOUND	200		/* hash, probe, claim; flags and rax kept */
#define FIRST_BOUND	24			/* compare, jump, count */
#define OTHER_BOUND	240			/* the same as TARGET_BOUND, and what is first */
#define INDEX_BOUND	22			/* compare, jump, count */
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

	if (xl_has_cursor(in))
		n += RECORD_BOUND + (in->count_records ? COUNT_BOUND : 0) + 7 * b->rec.nstore +
			RESTORED_BOUND * b->rec.nrestored + (b->derived ? PATCH_BYTES : 0);
	else
		n += b->derived ? PATCH_BYTES : b->count_how == COUNT_INC ? 10 :
			b->count_how == COUNT_DEAD_GPR ? 23 : 40;
	if (b->entry_inline)
		n += ENTRY_BYTES(in);
	if (in->patchable)
		n += 2 * PATCH_BYTES;
	if (counting || in->kind == XL_TREE)
		n += COUNTING_BOUND;
	if (in->check_bytes)
		n += 13 + 12 + (16 + 1) * (b->end - b->pc + 8) / 4;
	if (counts_targets(in) && (b->kind == X86_JMP_IND || b->kind == X86_CALL_IND))
		n += b->first_target == XL_NONE ? TARGET_BOUND : FIRST_BOUND;
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
		n += PAIR_BOUND + 1 + 8 + LOOKUP_BOUND + 9 + (in->logged ? KEPT_BOUND : 0);
		break;
	case X86_JMP_IND:
		if (b->likely.where != TO_NOWHERE)
			n += LIKELY_BOUND;
		if (in->logged)
			n += KEPT_BOUND;
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
	if (b->table.n)
		n = INDEX_BOUND + (b->table.checked ? 2 * n : n);
	if (b->fall.where != TO_NOWHERE && !b->next_adjacent)
		n += JUMP_BOUND;
	if (b->loops)
		n += HEAD_BOUND;
	if (begins_iteration(s, b))
		n += ITERATION_BOUND;
	if (has_call_entry(b))
		n += 4 + xl_call_entry(XL_LIVE_ALL);
	if (in->kind == XL_TREE)
		n += b->kind == X86_JMP_IND ? 2 * TREE_BOUND :
			b->kind == X86_RET || b->kind == X86_CALL_IND ||
			(b->fall.where != TO_NOWHERE && !b->next_adjacent) ? TREE_BOUND : 0;
	return n + FAR_BOUND * number_far(s, b);
}

/* EDGES: is how often @b goes where it is likely to what the table leaves? */
static bool counts_likely(const struct scratch *s, const struct block *b)
{
	return counts_targets(s->in) && b->kind == X86_JMP_IND && b->likely.where != TO_NOWHERE;
}

/* Behind what the unit has. */
static void reserve(struct scratch *s, struct xl_unit *u, bool counting)
{
	uint64_t code = 0, nmap = 2, nreloc = 0, nlink = 0, likely = 0;

	for (size_t k = 0; k < s->nblock; k++) {
		struct block *b = &s->block[s->order[k].block];

		b->bound = block_bound(s, b, counting);
		b->sum = code;
		code += b->bound;
		nmap += b->n + 17 + 4ull * number_far(s, b);
		nreloc += b->n + 8 + 3 * counts_targets(s->in);
		if (b->first_target != XL_NONE) {
			code += OTHER_BOUND;
			nreloc += 8;
		}
		if (b->table.n) {
			nmap += b->n + 17 + 4ull * number_far(s, b);
			nreloc += b->n + 8 + 4;
		}
		if (xl_has_cursor(s->in)) {
			nmap += 6 + 6ull * b->rec.nstore + 6ull * b->rec.nrestored;
			nreloc += 4;
			if (b->rec.next != XL_NONE)
				code += EDGE_BYTES;
		}
		if (s->in->kind == XL_TREE) {
			code += 2 * TREE_BOUND + EDGE_BYTES;
			nreloc += 16;
			nmap += 8;
		}
		nlink += 2;
		likely += counts_likely(s, b);
		if (!xl_has_cursor(s->in) && counts_edge(s, b)) {
			code += EDGE_BYTES;
			nreloc += 3;
		}
		if (b->kind == X86_CALL || b->kind == X86_CALL_IND)
			code += TAIL_BYTES;
		if (calls_stub(s, b))
			code += 9 + LIKELY_BOUND;
		if (s->in->logged) {
			code += LEAVE_BYTES + (jumps_back(s, b) ? HEAD_BOUND + EDGE_BYTES : 0) +
				(begins_iteration(s, b) ? EDGE_BYTES : 0);
			nmap += 8;
			nreloc += 6;
		}
		if (s->in->check_bytes)
			nreloc += (b->end - b->pc) / 4 + 4;
	}
	code += nlink * XL_STUB_MAX + 64 + (s->in->kind == XL_TREE ? 3 * TREE_BOUND : 0);
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
	ROOM(u->block, u->cap_block, u->nblock + s->nblock + s->nedge_block + likely +
	     s->nentry + 2 * s->nfirst)
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

/* A return leaves behind the translation's address where the program's stack ends; who uses what is
 * there without having written it would not do the same in another run. */
static bool restores_return(const struct xl_input *in, const struct block *b)
{
	return in->logged && b->mark & MARK_RETURN;
}

static void emit_restored_return(struct emit *e, uint64_t pc)
{
	if (e->i386) {
		asm_bytes(e, "\xc7\x44\x24\xfc", 4);		/* mov dword [esp - 4], pc */
		asm_pc32(e, pc, 0);
		return;
	}
	asm_lea_pc(e, RCX, pc);
	asm_bytes(e, "\x48\x89\x4c\x24\xf8", 5);		/* mov [rsp - 8], rcx */
}

static unsigned entry_length(const struct emit *e, uint32_t live)
{
	return SLOT_OP_BYTES(e->i386) * ((live >> RCX & 1) + (e->i386 && live >> RDX & 1)) +
	       (restores_return(e->in, e->b) ? RETURN_BYTES(e->i386) : 0);
}

static void emit_entry(struct emit *e, uint32_t live)
{
	unsigned pad = e->in->patchable ?
		-(e->in->place + here(e) + entry_length(e, live)) & (PATCH_BYTES - 1) : 0;

	placed(e, e->index)->indirect = here(e);
	if (pad) {		/* behind the entry's address: it is where a call returns to */
		asm_map(e, 0, entry_saved(e));
		asm_nops(e, pad);
	}
	if (restores_return(e->in, e->b)) {
		asm_map(e, 0, entry_saved(e));
		emit_restored_return(e, e->b->pc);
	}
	if (live >> RCX & 1) {
		asm_map(e, 0, entry_saved(e));
		asm_slot_load(e, RCX, RT_S_RCX);
	}
	if (e->i386 && live >> RDX & 1) {
		asm_map(e, 0, XL_AT_START | XL_RDX_SAVED);
		asm_slot_load(e, RDX, RT_S_RDX);
	}
}

/* Does a direct branch go through the cold part? Out of a chain, which has a record; because the
 * edge has a counter; or a safepoint. */
static bool edge_is_cold(const struct emit *e)
{
	if (safepoint_is_cold(e, e->b) || tree_crosses(e->s, e->b, e->b->to.pc))
		return true;
	if (e->b->kind == X86_JMP)
		return false;
	return e->has_cursor ? e->b->rec.next != XL_NONE : counts_edge(e->s, e->b);
}

static void asm_rel32_to_edge(struct emit *e)
{
	struct scratch *s = e->s;

	pm_grow(s->edge, s->nedge, s->cap_edge);
	s->edge[s->nedge++] = (struct edge){ here(e), e->index };
	asm_u32(e, 0);
}

static void emit_last(struct emit *e, const struct insn *i)
{
	const struct block *b = e->b;
	uint32_t n = b->n - 1;

	asm_map(e, n, XL_AT_START | (e->has_cursor ? XL_STORED : 0));
	e->back = jumps_back(e->s, b);
	switch (i->x.kind) {
	case X86_JMP:
		if (edge_is_cold(e)) {
			asm_byte(e, 0xe9);
			asm_rel32_to_edge(e);
		} else {
			asm_jump(e, JMP_ALWAYS, &b->to);
		}
		break;
	case X86_JCC:
		if (edge_is_cold(e)) {
			asm_byte(e, 0x0f);
			asm_byte(e, 0x80 | ((i->p[i->x.op] & 15) ^ b->invert));
			asm_rel32_to_edge(e);
		} else {
			asm_jump(e, (i->p[i->x.op] & 15) ^ b->invert, &b->to);
		}
		break;
	case X86_JCX:
		if (edge_is_cold(e)) {
			asm_jcx(e, i, NULL);
			asm_rel32_to_edge(e);
		} else {
			asm_jcx(e, i, &b->to);
		}
		break;
	case X86_XBEGIN:
		asm_rel32(e, (const uint8_t []){ 0xc7, 0xf8 }, 2, &b->to);
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
	e->back = false;
}

static struct xl_flow flow_of(const struct block *b)
{
	return (struct xl_flow){ b->in == XL_NONE ? XL_OPEN : (uint16_t)b->in,
				 b->out == XL_NONE ? XL_OPEN : (uint16_t)b->out };
}

static uint8_t block_flags(const struct emit *e, const struct block *b)
{
	const struct insn *last = b->n ? &e->s->insn[b->first + b->n - 1] : NULL;
	uint8_t f = e->counting ? XL_COUNTS : 0;

	if (!last || !last->x.class)
		f |= XL_FALLS;
	if (b->kind == X86_UNKNOWN)
		f |= XL_FALLS | XL_UNKNOWN;
	if (e->in->abi_flags && b->flags_needed)
		f |= XL_READS_FLAGS;
	if (f & XL_READS_FLAGS && b->mark & MARK_TARGET && e->s->table_flags)
		f |= XL_JUMP_TARGET;
	if (has_call_entry(b))
		f |= XL_CALL_ENTRY;
	return f;
}

/* A jump can be written over any direct entry. Most blocks that are too short for it get padding at
 * their end, but right behind a call is the place where it returns to. */
static void pad_call(struct emit *e, const struct insn *call)
{
	uint32_t n = call->pc - e->b->pc + 5;

	if (n < PATCH_BYTES) {
		asm_map(e, 0, XL_AT_START);
		asm_nops(e, PATCH_BYTES - n);
	}
}

/* Instructions [@k, @to) of the block, with what it does besides. */
static void emit_insns(struct emit *e, uint32_t k, uint32_t to, bool counts)
{
	const struct block *b = e->b;
	const struct insn *i = &e->s->insn[b->first + k];
	const uint32_t end = last_place(b);

	for (; k < to; k++, i++) {
		if (counts && k == b->count_at)
			emit_count(e, k);
		emit_own_changes(e, k);
		if (e->has_cursor)
			emit_record(e, k);
		if (k == end)
			emit_own_end(e, k);
		asm_map(e, k, XL_AT_START | (e->has_cursor ? XL_STORED : 0));
		if (k + 1 < b->n || b->kind == X86_UNKNOWN)	/* one more follows */
			emit_plain(e, i, k);
		else
			emit_last(e, i);
	}
}

/* The same of the whole block: block.table counts, and where it cannot, what follows is there
 * once more. */
static void emit_counted(struct emit *e, bool counts)
{
	const struct block *b = e->b;
	uint32_t elsewhere, rel;
	uint8_t counted;

	emit_insns(e, 0, b->table.insn, counts);
	counted = e->counted;
	elsewhere = emit_count_entry(e);
	emit_insns(e, b->table.insn, b->n, counts);
	e->by_index = false;
	if (!elsewhere)
		return;
	rel = here(e) - (elsewhere + 4);
	memcpy(e->base + elsewhere, &rel, 4);
	e->counted = counted;
	emit_insns(e, b->table.insn, b->n, counts);
}

static void emit_block(struct emit *e, uint32_t *chain, uint32_t *add)
{
	struct xl_unit *u = e->u;
	struct block *b = e->b;
	struct xl_block *o = placed(e, e->index);
	const struct insn *i = &e->s->insn[b->first];
	const uint32_t begin = here(e), end = last_place(b);
	const bool trace = e->has_cursor;
	/* a record counts in the block that ends it, unless control leaves the chain
	 * before: emit_edge() */
	const bool counts = trace ? e->in->count_records && b->rec.next == XL_NONE : !b->derived;

	*o = (struct xl_block){
		.pc = b->pc, .size = b->end - b->pc, .n = b->n,
		.code = XL_NONE, .indirect = XL_NONE,
		.live = external_live(b->live_in), .record = trace ? b->rec.size : 0,
		.prev = trace && b->rec.prev != XL_NONE ? e->first + b->rec.prev : XL_NONE,
		.map = u->nmap, .flags = block_flags(e, b),
		.flow = flow_of(b),
	};
	e->stale = leaves_stale(b);
	e->counted = b->derived ? XL_COUNTED : 0;
	e->restored_now.from = UINT32_MAX;
	if (e->has_cursor && b->rec.nrestored) {
		live_course(e->s, b, e->live);
		e->restored_now = restored_range(e->s, b, 0);
	}
	if (has_call_entry(b))
		emit_call_entry(e, o->live);
	if (b->entry_inline)
		emit_entry(e, o->live);
	if (b->entry_inline && b->loops) {
		asm_map(e, 0, XL_AT_START);
		emit_back(e, b, true);
	}
	o->code = here(e);
	if (e->in->patchable) {
		asm_map(e, 0, XL_AT_START);
		asm_nops(e, PATCH_BYTES);
	}
	if (e->in->check_bytes && b->n)
		emit_check(e, chain);
	if (e->counting && b->checks)
		emit_budget_check(e, chain);
	if (add && b->checks)
		emit_budget_check(e, add);
	if (b->derived && b->kind == X86_CALL)
		pad_call(e, i + b->n - 1);
	if (b->table.n)
		emit_counted(e, counts);
	else
		emit_insns(e, 0, b->n, counts);
	if (counts && b->count_at == b->n)
		emit_count(e, b->n);
	if (trace && end == b->n) {
		emit_own_changes(e, b->n);
		emit_record(e, b->n);
		emit_own_end(e, b->n);
		asm_map(e, b->n, XL_AT_START);
	}
	if (b->kind == X86_UNKNOWN)
		emit_trap(e, b->n, b->end, RT_DO_STEP);
	if (begins_iteration(e->s, b))
		emit_iteration(e);
	if (b->fall.where != TO_NOWHERE && !b->next_adjacent) {
		const bool crosses = tree_crosses(e->s, b, b->fall.pc);

		asm_map(e, b->n, b->fall.pc == b->end && !crosses ? XL_AT_START : 0);
		if (crosses)
			emit_tree_jump(e, &b->fall, b->kind == X86_PLAIN);
		asm_jump(e, JMP_ALWAYS, &b->fall);
	}
	if (here(e) - o->code < PATCH_BYTES) {
		asm_map(e, b->n, XL_AT_START);
		asm_nops(e, PATCH_BYTES - (here(e) - o->code));
	}
	o->code_end = here(e);
	if (u->nmap > o->map + 1 && u->map[u->nmap - 1].code == o->code_end)
		u->nmap--;		/* what holds there, the next block says itself */
	assert(here(e) - begin <= b->bound);				/* (4) */
}

/* A loop's head with nothing but its direct entry: what is in front of that belongs to the block
 * above. */
static void emit_back_above(struct emit *e, struct block *b, const struct block *above)
{
	if (above)
		asm_map(e, above->n, 0);
	emit_back(e, b, above && above->next_adjacent);
	if (above)
		placed(e, e->index)->code_end = here(e);
}

/* In generated code a direct entry is 8-byte aligned. The padding belongs to the block above, which
 * may fall through it. */
static void align_for(struct emit *e, const struct block *next, const struct block *above)
{
	unsigned pad = -(e->in->place + here(e)) & (PATCH_BYTES - 1);

	if (!pad || next->entry_inline)		/* emit_entry() pads by itself */
		return;
	if (above)
		asm_map(e, above->n, XL_AT_START);
	asm_nops(e, pad);
	if (above)
		placed(e, e->index)->code_end = here(e);
}

static void add_edge_blocks(const struct scratch *s, struct xl_unit *u)
{
	for (size_t k = s->nblock; k < s->nblock + s->nedge_block; k++) {
		const struct block *b = &s->block[k], *from = &s->block[b->first];

		u->block[u->nblock++] = (struct xl_block){
			.pc = b->pc, .code = u->block[b->first].code,
			.code_end = u->block[b->first].code,
			.indirect = XL_NONE, .live = XL_LIVE_ALL, .record = b->first,
			.prev = XL_NONE, .map = u->nmap, .flow = flow_of(b),
			.flags = XL_EDGE | (from->to.pc == from->end ? XL_FALLS : 0),
		};
	}
}

static void add_table_edges(const struct scratch *s, struct xl_unit *u)
{
	assert(!s->nentry || u->nblock == s->first_entry);
	for (uint32_t k = 0; k < s->nblock && s->nentry; k++) {
		const struct counted_table *t = &s->block[k].table;

		for (uint32_t i = 0; i < t->n; i++)
			u->block[s->first_entry + t->at + i] = (struct xl_block){
				.pc = s->entry[t->at + i], .n = XL_ENTRY, .code = u->block[k].code,
				.code_end = u->block[k].code, .indirect = XL_NONE,
				.live = t->at + i + 1, .record = k, .prev = XL_NONE,
				.map = u->nmap, .flow = { XL_OPEN, XL_OPEN }, .flags = XL_EDGE,
			};
	}
	u->nblock += s->nentry;
}

static void add_first_targets(const struct scratch *s, struct xl_unit *u)
{
	for (uint32_t k = 0; k < s->nblock && s->nfirst; k++) {
		const uint32_t at = s->block[k].first_target;

		for (uint32_t i = 0; at != XL_NONE && i < 2; i++)
			u->block[u->nblock + 2 * at + i] = (struct xl_block){
				.pc = u->block[k].pc, .n = XL_FIRST + i, .code = u->block[k].code,
				.code_end = u->block[k].code, .indirect = XL_NONE,
				.live = (uint32_t)s->nentry + 2 * at + i + 1, .record = k,
				.prev = XL_NONE, .map = u->nmap,
				.flow = { XL_OPEN, XL_OPEN }, .flags = XL_EDGE,
			};
	}
	u->nblock += 2 * s->nfirst;
}

static void add_likely_edges(const struct scratch *s, struct xl_unit *u)
{
	for (uint32_t k = 0; k < s->nblock; k++) {
		const struct block *b = &s->block[k];

		if (!counts_likely(s, b))
			continue;
		u->block[u->nblock++] = (struct xl_block){
			.pc = b->likely.pc, .n = 1, .code = u->block[k].code,
			.code_end = u->block[k].code, .indirect = XL_NONE, .live = XL_LIVE_ALL,
			.record = k, .prev = XL_NONE, .map = u->nmap,
			.flow = { XL_OPEN, XL_OPEN }, .flags = XL_EDGE,
		};
	}
}

/* A conditional branch out of the middle of a chain goes through the cold part, which
 * writes the record; one whose edge has a counter, too. */
static void emit_edge(struct emit *e, const struct edge *edge)
{
	const struct block *b = &e->s->block[edge->block];
	const uint32_t rel = here(e) - (edge->at + 4);

	memcpy(e->base + edge->at, &rel, 4);
	emit_edge_counts(e, edge);
	e->stale = leaves_stale(b);
	if (safepoint_is_cold(e, b)) {
		emit_cold_back(e, b);
		return;
	}
	if (tree_crosses(e->s, b, b->to.pc)) {
		struct block *const last = e->b;
		const uint32_t was = e->index;

		e->b = &e->s->block[edge->block];
		e->index = edge->block;
		emit_tree_jump(e, &b->to, true);
		e->b = last;
		e->index = was;
	}
	e->back = jumps_back(e->s, b);
	asm_rel32(e, (const uint8_t []){ 0xe9 }, 1, &b->to);
	e->back = false;
}

/* Adds to the unit the code of all its blocks, or with @counting that of their counting copies. */
static void emit_pass(struct scratch *s, bool counting)
{
	struct xl_unit *u = s->out;
	struct emit e = { .s = s, .in = s->in, .u = u, .i386 = s->in->i386,
			  .first = (uint32_t)u->nblock, .counting = counting,
			  .has_cursor = xl_has_cursor(s->in),
			  .cursor_reg = (uint8_t)xl_cursor_register(s->in->i386) };
	const size_t link0 = u->nlink;
	uint32_t *chain = NULL, *add = NULL;

	s->nfixup = s->ntail = s->nedge = s->nleave = s->ntree_rest = s->nother = 0;
	reserve(s, u, counting);
	u->nblock += s->nblock;
	e.base = u->code;
	e.c = u->code + u->ncode;
	for (uint32_t k = 0; k < s->nblock; k++)
		placed(&e, k)->code = XL_NONE;
	if (s->in->check_bytes || counting)
		chain = pm_alloc(s->nblock * sizeof *chain);
	if (grows_tree(&e)) {
		choose_checks(s);
		add = pm_alloc(s->nblock * sizeof *add);
	}

	for (size_t k = 0; k < s->nblock; k++) {
		struct block *b = &s->block[s->order[k].block];

		if (s->in->patchable)
			align_for(&e, b, e.b);
		if (b->loops && !b->entry_inline)
			emit_back_above(&e, b, e.b);
		if (e.b)
			emit_map_end(&e);
		e.b = b;
		e.index = s->order[k].block;
		emit_block(&e, chain ? &chain[e.index] : NULL, add ? &add[e.index] : NULL);
	}
	/* the cold part: whoever is there has left its block and steps on into the runtime */
	u->map[u->nmap++] = (struct xl_map){ here(&e), e.b->n, XL_COUNTED, 0 };
	emit_map_end(&e);
	if (grows_tree(&e))
		emit_tree_routines(&e, (s->ntail || e.call_entries) && s->in->abi_flags, s->nedge);
	for (size_t k = 0; k < s->ntail; k++)
		emit_tail(&e, &s->tail[k]);
	if (s->ntail) {
		u->map[u->nmap++] = (struct xl_map){ here(&e), e.b->n, XL_COUNTED, 0 };
		placed(&e, e.index)->nmap++;
	}
	for (size_t k = 0; k < s->nedge; k++)
		emit_edge(&e, &s->edge[k]);
	for (uint32_t k = 0; add && k < s->nblock; k++)
		if (add[k])
			emit_tree_add(&e, add[k]);
	for (size_t k = 0; k < s->ntree_rest; k++)	/* one may add one */
		emit_tree_rest(&e, s->tree_rest[k]);
	for (size_t k = 0; k < s->nother; k++)
		emit_other_target(&e, &s->other[k]);
	for (size_t k = 0; k < s->nleave; k++)
		emit_leave(&e, &s->leave[k]);
	for (uint32_t k = (uint32_t)link0; k < u->nlink; k++) {
		uint32_t rel;

		u->link[k].stub = here(&e);
		rel = here(&e) - (u->link[k].site + 4);
		memcpy(u->code + u->link[k].site, &rel, 4);
		if (grows_tree(&e) && u->link[k].counting)
			emit_call_stub(&e);
		asm_reloc(&e, here(&e) + XL_STUB_LINK(e.i386), XL_REL_LINK, k);
		e.c += xl_stub(e.c, e.i386, k);
	}
	if (chain)
		for (uint32_t k = 0; k < s->nblock; k++)
			if (chain[k])
				emit_check_cold(&e, &s->block[k], chain[k]);
	free(chain);
	free(add);
	u->ncode = here(&e);
	assert(u->ncode <= u->cap_code && u->nmap <= u->cap_map && u->nreloc <= u->cap_reloc);

	for (size_t k = 0; k < s->nfixup; k++) {
		const struct fixup *f = &s->fixup[k];
		uint32_t to = f->back ? s->block[f->block].back : placed(&e, f->block)->code;

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
	find_loops(s);
	s->first_entry = (uint32_t)(s->nblock + s->nedge_block);
	for (size_t k = 0; k < s->nblock; k++)
		s->first_entry += counts_likely(s, &s->block[k]);
	emit_pass(s, false);
	add_edge_blocks(s, u);
	add_likely_edges(s, u);
	add_table_edges(s, u);
	add_first_targets(s, u);
	if (xl_has_counting(s->in)) {
		choose_checks(s);
		emit_pass(s, true);
	}
}

void emit_unit(struct scratch *s)
{
	s->far_only = false;
	emit_all(s);
	if (s->overflow) {	/* cannot happen (4); but a wrong jump is worse than a slow one */
		s->far_only = true;
		emit_all(s);
	}
}

size_t xl_stub(uint8_t *buf, bool i386, uint32_t link)
{
	struct emit e = { .base = buf, .c = buf, .i386 = i386 };

	asm_slot_op32(&e, 0xc7, 0, RT_EXIT_ID);		/* mov dword [RT_EXIT_ID], link */
	asm_u32(&e, link);
	asm_slot_jump(&e, RT_DO_RESOLVE);
	return here(&e);
}

size_t xl_count(uint8_t *buf, bool i386, uint32_t live, uint32_t counter, int by, uint32_t at[2],
		unsigned *nat)
{
	const uint32_t disp = RT_COUNTERS + xl_counter_size(i386) * counter;
	struct emit e = { .base = buf, .c = buf, .i386 = i386 };

	*nat = 0;
	if (!(live & XL_LIVE_FLAGS)) {
		asm_slot_op(&e, 0xff, by < 0, disp);		/* inc or dec */
		at[(*nat)++] = here(&e) - 4;
		return here(&e);
	}
	asm_slot_store(&e, RAX, RT_S_TMP);
	asm_slot_load(&e, RAX, disp);
	at[(*nat)++] = here(&e) - 4;
	asm_rex_w(&e, RAX, RAX);
	asm_bytes(&e, "\x8d\x40", 2);				/* lea rax, [rax + by] */
	asm_byte(&e, by);
	asm_slot_store(&e, RAX, disp);
	at[(*nat)++] = here(&e) - 4;
	asm_slot_load(&e, RAX, RT_S_TMP);
	return here(&e);
}

size_t xl_indirect_entry(uint8_t *buf, bool i386, uint64_t place, uint64_t direct, uint32_t live)
{
	struct emit e = { .base = buf, .c = buf, .i386 = i386 };

	if (live >> RCX & 1)
		asm_slot_load(&e, RCX, RT_S_RCX);
	if (i386 && live >> RDX & 1)
		asm_slot_load(&e, RDX, RT_S_RDX);
	asm_byte(&e, 0xe9);
	asm_u32(&e, (uint32_t)(direct - (place + here(&e) + 4)));
	return here(&e);
}
