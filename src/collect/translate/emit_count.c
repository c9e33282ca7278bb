/* SPDX-License-Identifier: MIT */
/* emit_count.c - what a block does besides the program's work: it counts, writes its record, looks
 * whether its budget is used up or whether its bytes have changed */
#include <string.h>

#include "base/mem.h"
#include "collect/translate/emit.h"

/* ---- counting ------------------------------------------------------------------------------- */
void counter_field(struct emit *e)
{
	asm_reloc(e, here(e), XL_REL_COUNTER, e->index);
	asm_u32(e, RT_COUNTERS + xl_counter_size(e->i386) * e->index);
}

static void counter_op(struct emit *e, uint8_t op, unsigned reg)
{
	asm_slot_op(e, op, reg, 0);
	e->c -= 4;
	counter_field(e);
}

static void counter_add(struct emit *e, unsigned reg)
{
	counter_op(e, 0x8b, reg);
	asm_rex_w(e, reg, reg);				/* lea reg, [reg + 1] */
	asm_byte(e, 0x8d);
	asm_byte(e, 0x40 | (reg & 7) << 3 | (reg & 7));
	if ((reg & 7) == 4)
		asm_byte(e, 0x24);
	asm_byte(e, 1);
	counter_op(e, 0x89, reg);
}

void emit_count(struct emit *e, uint32_t insn)
{
	asm_map(e, insn, XL_AT_START);
	switch (e->b->count_how) {
	case COUNT_INC:
		counter_op(e, e->b->count_add ? 0x83 : 0xff, 0);	/* add, inc */
		if (e->b->count_add)
			asm_byte(e, 1);
		break;
	case COUNT_DEAD_GPR:
		counter_add(e, e->b->count_gpr);
		break;
	case COUNT_SPILL:
		asm_slot_store(e, RAX, RT_S_TMP);
		asm_map_tmp(e, insn, XL_AT_START | XL_TMP_SAVED, RAX);
		counter_add(e, RAX);
		e->counted |= XL_COUNTED;
		asm_map_tmp(e, insn, XL_AT_START | XL_TMP_SAVED, RAX);
		asm_slot_load(e, RAX, RT_S_TMP);
		break;
	}
	e->counted |= XL_COUNTED;
	asm_map(e, insn, XL_AT_START);
}

/* The entry of block.table that is about to be read. Returns where the rel32 is that goes elsewhere
 * if there is none; 0: there always is. */
uint32_t emit_count_entry(struct emit *e)
{
	const struct counted_table *t = &e->b->table;
	const uint32_t was = e->index;
	uint32_t elsewhere = 0;

	asm_map(e, t->insn, XL_AT_START);
	if (t->checked) {
		asm_byte(e, 0x48 | t->index >> 3);		/* cmp index, n */
		asm_byte(e, 0x81);
		asm_byte(e, 0xf8 | (t->index & 7));
		asm_u32(e, t->n);
		asm_bytes(e, "\x0f\x83", 2);			/* jae */
		asm_u32(e, 0);
		elsewhere = here(e) - 4;
	}
	asm_byte(e, 0x65);				/* inc qword [counters + index * 8] */
	asm_byte(e, 0x48 | t->index >> 3 << 1);
	asm_bytes(e, "\xff\x04", 2);
	asm_byte(e, 0xc5 | (t->index & 7) << 3);
	e->index = e->s->first_entry + t->at;
	counter_field(e);
	e->index = was;
	e->by_index = true;
	asm_map(e, t->insn, 0);
	return elsewhere;
}

/* ---- records -------------------------------------------------------------------------------- */
/* op [base + disp], reg; never rsp or r12 as base. The runtime reads these instructions when the
 * buffer is full: behind the REX prefix, which 64-bit code always has, C7 is a record's first
 * store, 89 another. */
static void cursor_op(struct emit *e, uint8_t op, unsigned reg, unsigned base, int32_t disp,
		      bool wide)
{
	if (!e->i386)
		asm_byte(e, 0x40 | wide << 3 | (reg >> 3) << 2 | base >> 3);
	asm_byte(e, op);
	if (!disp && (base & 7) != RBP) {
		asm_byte(e, (reg & 7) << 3 | (base & 7));
	} else if (fits8(disp)) {
		asm_byte(e, 0x40 | (reg & 7) << 3 | (base & 7));
		asm_byte(e, (uint8_t)disp);
	} else {
		asm_byte(e, 0x80 | (reg & 7) << 3 | (base & 7));
		asm_u32(e, (uint32_t)disp);
	}
}

/* The same of a mask or vector register, or of none, for as many bytes as @what says. Also in
 * rt_trace_full(). */
static void wide_store(struct emit *e, enum x86_store_what what, unsigned reg, unsigned base,
		       uint32_t disp)
{
	const unsigned length = what - X86_STORE_V16;
	const uint8_t high = (uint8_t)((~reg & 8) << 4 | 0x40 | (~base & 8) << 2 | 1);

	if (what == X86_STORE_K) {			/* kmovw */
		asm_byte(e, 0xc4);
		asm_byte(e, high);
		asm_bytes(e, "\x78\x91", 2);
	} else if (what == X86_STORE_TILES) {		/* sttilecfg */
		asm_byte(e, 0xc4);
		asm_byte(e, high ^ 3);
		asm_bytes(e, "\x79\x49", 2);
	} else if (reg < 16 && what != X86_STORE_V64) {	/* vmovdqu */
		asm_byte(e, 0xc4);
		asm_byte(e, high);
		asm_byte(e, (uint8_t)(0x7a | length << 2));
		asm_byte(e, 0x7f);
	} else {					/* vmovdqu64 */
		asm_byte(e, 0x62);
		asm_byte(e, (uint8_t)(high | (~reg & 16)));
		asm_byte(e, 0xfe);
		asm_byte(e, (uint8_t)(8 | length << 5));
		asm_byte(e, 0x7f);
	}
	asm_byte(e, 0x80 | (reg & 7) << 3 | (base & 7));
	asm_u32(e, disp);
}

static void emit_number(struct emit *e, uint32_t block, unsigned reg)
{
	cursor_op(e, 0xc7, 0, reg, 0, false);
	asm_reloc(e, here(e), XL_REL_BLOCK, block);
	asm_u32(e, block);
}

static void emit_own_number(struct emit *e, uint32_t at, unsigned reg)
{
	emit_number(e, e->index, reg);
	if (!e->in->count_records)
		e->counted |= XL_COUNTED;
	asm_map(e, at, XL_AT_START);
}

/* Counts for @block on the way to its target: an edge, or a block whose record is complete, for it
 * branches out of its chain. In the cold part. */
static void count_edge(struct emit *e, uint32_t block)
{
	const uint32_t was = e->index, live = live_behind(e, &e->s->block[block]),
		       dead = dead_registers(e, live);
	const unsigned reg = dead ? (unsigned)__builtin_ctz(dead) : RAX;

	e->index = block;
	if (!(live & LV_INC)) {
		counter_op(e, 0xff, 0);
	} else {
		if (!dead)
			asm_slot_store(e, reg, RT_S_TMP);
		counter_add(e, reg);
		if (!dead)
			asm_slot_load(e, reg, RT_S_TMP);
	}
	e->index = was;
}

/* Code that counts, or grows a tree: @b and the blocks of its chain before it are done. */
static void count_insns(struct emit *e, const struct block *b, unsigned reg)
{
	const int32_t n = (int32_t)b->rec.insns;

	cursor_op(e, 0x8d, reg, reg, grows_tree(e) ? n : -n, true);
}

void emit_chain_left(struct emit *e, uint32_t k)
{
	const struct block *b = &e->s->block[k];

	if (b->rec.next == XL_NONE)
		return;				/* the record is complete */
	if (e->counting || grows_tree(e)) {
		count_insns(e, b, e->cursor_reg);
		return;
	}
	emit_number(e, k, e->cursor_reg);
	cursor_op(e, 0x8d, e->cursor_reg, e->cursor_reg, (int32_t)b->rec.size, true);
}

void emit_edge_counts(struct emit *e, const struct edge *edge)
{
	const struct block *b = &e->s->block[edge->block];

	if (!e->has_cursor) {
		if (counts_edge(e->s, b))
			count_edge(e, b->edge);
	} else {
		emit_chain_left(e, edge->block);
	}
	if (e->in->count_records && b->rec.next != XL_NONE)
		count_edge(e, edge->block);
}

/* What the block records before instruction @at. */
void emit_record(struct emit *e, uint32_t at)
{
	const struct xl_record *r = &e->b->rec;
	const struct x86_store *const store = e->s->store + r->store;
	const bool ends = r->next == XL_NONE && at == r->last;
	const unsigned reg = e->restored ? e->restored_now.reg : e->cursor_reg;
	bool any = ends;

	if (at > r->last || xl_has_clock(e->in))
		return;
	for (uint32_t k = 0; !any && k < r->nstore && !e->counting; k++)
		any = store[k].insn + (uint32_t)store[k].after == at;
	if (!any)
		return;
	asm_map(e, at, XL_AT_START);		/* the instruction before it is done */
	for (uint32_t k = 0; k < r->nstore && !e->counting; k++) {
		if (store[k].insn + (uint32_t)store[k].after != at)
			continue;
		if (store[k].what <= X86_STORE_LOW)
			cursor_op(e, 0x89, store[k].reg, reg, 4 + store[k].at,
				  store[k].what == X86_STORE_GPR);
		else
			wide_store(e, store[k].what, store[k].reg, reg, 4u + store[k].at);
	}
	if (!ends)
		return;
	if (e->counting || grows_tree(e)) {
		count_insns(e, e->b, reg);
		e->counted |= XL_COUNTED;
	} else {
		emit_own_number(e, at, reg);
		cursor_op(e, 0x8d, reg, reg, (int32_t)r->size, true);
	}
	e->counted |= XL_RECORDED;
	asm_map(e, at, XL_AT_START);
}

/* mov to, from */
static void move_gpr(struct emit *e, unsigned to, unsigned from)
{
	asm_rex_w(e, from, to);
	asm_byte(e, 0x89);
	asm_byte(e, 0xc0 | (from & 7) << 3 | (to & 7));
}

static void swap_gprs(struct emit *e, unsigned a, unsigned b)
{
	asm_rex_w(e, a, b);
	asm_byte(e, 0x87);
	asm_byte(e, 0xc0 | (a & 7) << 3 | (b & 7));
}

/* The cursor register is the cursor again before place @at of the block. */
void emit_own_end(struct emit *e, uint32_t at)
{
	const unsigned reg = e->restored_now.reg;
	bool written = false;

	if (!e->restored)
		return;
	asm_map(e, at, XL_AT_START);
	for (uint32_t k = e->restored_now.from; k < e->restored_now.to && k < e->b->n; k++)
		written |= e->s->insn[e->b->first + k].x.write >> e->cursor_reg & 1;
	if (written && e->live[at] >> e->cursor_reg & 1)
		asm_slot_store(e, e->cursor_reg, RT_S_R11);
	move_gpr(e, e->cursor_reg, reg);
	e->restored = false;
	asm_map(e, at, XL_AT_START);
	if (e->own_restore)
		asm_slot_load(e, reg, RT_S_TMP);
	e->restored_saved = false;
	asm_map(e, at, XL_AT_START);
	e->restored_now = restored_range(e->s, e->b, e->restored_now.to);
}

static void emit_own_begin(struct emit *e, uint32_t at)
{
	const unsigned reg = e->restored_now.reg;

	asm_map(e, at, XL_AT_START);
	asm_slot_store(e, reg, RT_S_TMP);
	e->restored_saved = true;
	e->own_restore = e->live[at] >> reg & 1;
	asm_map(e, at, XL_AT_START);
	/* at no time do two registers hold the cursor: a signal may come that changes it */
	if (e->live[at] >> e->cursor_reg & 1) {
		asm_slot_load(e, reg, RT_S_R11);
		swap_gprs(e, reg, e->cursor_reg);
	} else {
		move_gpr(e, reg, e->cursor_reg);
	}
	e->restored = true;
	asm_map(e, at, XL_AT_START);
}

/* Before place @at: whose value the cursor register has. */
void emit_own_changes(struct emit *e, uint32_t at)
{
	if (e->restored && at == e->restored_now.to)
		emit_own_end(e, at);
	if (at == e->restored_now.from)
		emit_own_begin(e, at);
}

/* ---- budgets --------------------------------------------------------------------------------
 * Code that counts leaves when its budget is used up: at the beginning of some chains, so few that
 * no cycle is without one. A cycle within a unit goes back somewhere, in the order of the chains'
 * heads; any other leaves units. Code that grows a tree adds what it has counted to the context
 * before half the register overflows; there is no need where calls, returns and jumps to other
 * functions do. */
static bool leaves_function(struct scratch *s, const struct block *b)
{
	switch (b->kind) {
	case X86_CALL:
	case X86_CALL_IND:
	case X86_RET:
	case X86_STOP:
		return true;
	case X86_JMP:
		return tree_crosses(s, b, b->to.pc);
	default:
		return false;
	}
}

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
		return b->to.where != TO_UNIT ||
		       (b->fall.where != TO_UNIT && b->fall.where != TO_NOWHERE);
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

static void goes_back(struct scratch *s, const struct xl_target *t, uint32_t head)
{
	if (t->where == TO_UNIT && s->block[t->block].rec.prev == XL_NONE &&
	    s->block[t->block].order <= s->block[head].order)
		s->block[t->block].checks = true;
}

void choose_checks(struct scratch *s)
{
	for (size_t k = 0; k < s->nblock; k++)
		s->block[k].checks = false;
	for (uint32_t k = 0; k < s->nblock; k++) {
		const struct block *b = &s->block[k];
		const uint32_t head = head_of(s, k);

		if (s->in->kind == XL_TREE && leaves_function(s, b))
			continue;
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
void emit_check(struct emit *e, uint32_t *chain)
{
	const struct block *b = e->b;
	bool keep = check_keeps_flags(b);
	uint32_t k = b->first, used = 0;

	asm_map(e, 0, XL_AT_START);
	if (keep) {
		asm_slot_store(e, RAX, RT_S_TMP);
		asm_map(e, 0, 0);
		asm_bytes(e, "\x9f\x0f\x90\xc0", 4);		/* lahf; seto al */
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
			asm_byte(e, 0x66);
		asm_byte(e, n == 1 ? 0x80 : 0x81);		/* cmp [rip + pc], bytes */
		asm_byte(e, 0x3d);
		asm_pc32(e, pc, n);
		memcpy(e->c, bytes, n);
		e->c += n;
		asm_bytes(e, "\x0f\x85", 2);			/* jne cold */
		asm_u32(e, *chain);
		*chain = here(e) - 4;
		pc += n;
	}
	if (keep) {
		asm_bytes(e, "\x04\x7f\x9e", 3);		/* add al, 127; sahf */
		asm_slot_load(e, RAX, RT_S_TMP);
	}
	asm_map(e, 0, XL_AT_START);
}

/* Leave here if nothing is left; in code that grows a tree, if much is to be added. */
void emit_budget_check(struct emit *e, uint32_t *chain)
{
	const bool keep = check_keeps_flags(e->b);

	asm_map(e, 0, XL_AT_START);
	if (keep) {
		asm_slot_store(e, RAX, RT_S_TMP);
		asm_map(e, 0, 0);
		asm_bytes(e, "\x9f\x0f\x90\xc0", 4);		/* lahf; seto al */
	}
	if (grows_tree(e))
		asm_byte(e, 0x45);				/* the lower half */
	else
		asm_rex_w(e, e->cursor_reg, e->cursor_reg);
	asm_byte(e, 0x85);					/* test cursor, cursor */
	asm_byte(e, 0xc0 | (e->cursor_reg & 7) * 9);
	asm_bytes(e, "\x0f\x88", 2);				/* js cold */
	asm_u32(e, 0);
	*chain = here(e) - 4;
	if (keep) {
		asm_bytes(e, "\x04\x7f\x9e", 3);		/* add al, 127; sahf */
		asm_slot_load(e, RAX, RT_S_TMP);
	}
	asm_map(e, 0, XL_AT_START);
}

void emit_check_cold(struct emit *e, const struct block *b, uint32_t chain)
{
	uint32_t to = here(e);

	while (chain) {
		uint32_t next, rel = to - (chain + 4);

		memcpy(&next, e->base + chain, 4);
		memcpy(e->base + chain, &rel, 4);
		chain = next;
	}
	if (check_keeps_flags(b)) {
		asm_bytes(e, "\x04\x7f\x9e", 3);
		asm_slot_load(e, RAX, RT_S_TMP);
	}
	asm_exit_pc(e, b->pc);
	asm_slot_jump(e, e->counting ? RT_DO_COUNT : RT_DO_CHECK);
}
