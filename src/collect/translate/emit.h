/* SPDX-License-Identifier: MIT */
/* emit.h - what the parts of the emitter share
 *
 * asm.c writes bytes, relocations, the pc map and branches. emit_transfer.c (how control leaves a
 * block) and emit_count.c (what a block counts and records) stand upon it, and emit.c puts blocks
 * and units together.
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
#ifndef PM_TRANSLATE_EMIT_H
#define PM_TRANSLATE_EMIT_H

#include <string.h>

#include "collect/runtime/abi.h"
#include "collect/translate/translate_internal.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11 };

#define JMP_ALWAYS	16		/* for asm_jump(); else a condition code */
#define RETURN_BYTES(i386) ((i386) ? 8 : 12)	/* lea rcx, mov [rsp - 8], rcx */
#define ENTRY_BYTES(in)	(18 + ((in)->logged ? RETURN_BYTES(false) : 0))	/* restore rcx, restore
							 * rdx: at most */
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
	bool has_cursor;		/* xl_has_cursor() */
	uint8_t cursor_reg;		/* ... the register */
	bool restored;			/* it is the program's, restored_now.reg the cursor */
	bool restored_saved;		/* ... whose program's value is in RT_S_TMP */
	bool own_restore;		/* it is live behind the range */
	struct restored restored_now;	/* or the next one */
	uint8_t borrowed;		/* XL_BORROWED() */
	uint32_t live[MAX_BLOCK_INSNS + 1];	/* of a block with such ranges */
	bool stale;			/* xl_link.stale of what is emitted */
	bool back;			/* what is emitted is a jump back: block.back */
	bool calls;			/* ... a call: to the call entry */
	bool call_entries;		/* the unit has one */
	/* the unit's routines for them, and for calls through stubs: emit_tree.c; 0: none */
	uint32_t tree_call, tree_jump, tree_through, tree_stub_insns;
	uint32_t tree_sites;		/* how many calls, and ways of jumps, have slots */
	struct {			/* those of the last callees: call_slot() */
		uint64_t pc;
		uint32_t function, slot;
	} tree_callee[64];
	bool by_index;			/* block.table has counted where its jump goes */
	uint8_t *kept;			/* behind the rel8 of a safepoint in the block, 0: none */
};

static inline struct xl_block *placed(const struct emit *e, uint32_t block)
{
	return &e->u->block[e->first + block];
}

static inline bool is_placed(const struct emit *e, uint32_t block)
{
	return placed(e, block)->code != XL_NONE;
}

/* ---- asm.c ---------------------------------------------------------------------------------- */
static inline uint32_t here(const struct emit *e)
{
	return e->c - e->base;
}

static inline void asm_byte(struct emit *e, uint8_t v)
{
	*e->c++ = v;
}

static inline void asm_u32(struct emit *e, uint32_t v)
{
	memcpy(e->c, &v, 4);
	e->c += 4;
}

static inline void asm_bytes(struct emit *e, const char *bytes, unsigned n)
{
	memcpy(e->c, bytes, n);
	e->c += n;
}

void asm_nops(struct emit *e, unsigned n);

/* Does code have to count where indirect jumps and calls go? */
static inline bool counts_target(const struct emit *e)
{
	return counts_targets(e->in) && !e->by_index;
}

/* WIDTH. The thread block is at gs:0, in 32-bit code at fs:0, and there are no rex prefixes there;
 * a modrm byte that means [rip + disp32] in 64-bit code means [disp32] in 32-bit code. In what
 * follows `slot` is an offset in the thread block. */
#define SLOT_OP_BYTES(i386)	((i386) ? 7 : 9)

static inline void asm_rex_w(struct emit *e, unsigned reg, unsigned base)
{
	if (!e->i386)
		asm_byte(e, 0x48 | (reg >> 3) << 2 | base >> 3);
}

/* op reg, [slot] of a word; mov */
void asm_slot_op(struct emit *e, uint8_t op, unsigned reg, uint32_t slot);
void asm_slot_store(struct emit *e, unsigned reg, uint32_t slot);
void asm_slot_load(struct emit *e, unsigned reg, uint32_t slot);
/* op [slot], 32 bits: 0xff/4 jumps, 0xc7/0 is a store of an immediate, which the caller puts */
void asm_slot_op32(struct emit *e, uint8_t op, unsigned ext, uint32_t slot);
void asm_slot_jump(struct emit *e, uint32_t slot);

void asm_reloc(struct emit *e, uint32_t at, enum xl_reloc_kind kind, uint32_t addend);
/* A disp32 to original address @addr, in an instruction that ends @behind bytes after the field. */
void asm_pc32(struct emit *e, uint64_t addr, unsigned behind);
void asm_lea_pc(struct emit *e, unsigned reg, uint64_t addr);
/* Does @i, jmp [rip + slot], go to @likely? @reg changes. */
void asm_compare_likely(struct emit *e, const struct insn *i, const struct xl_target *likely,
			unsigned reg);
/* RT_EXIT_PC = @pc, all registers kept. */
void asm_exit_pc(struct emit *e, uint64_t pc);

/* The pc map: what holds from here on, xl_map.insn, flags and tmp. */
void asm_map_tmp(struct emit *e, uint32_t insn, unsigned flags, unsigned tmp);
static inline void asm_map(struct emit *e, uint32_t insn, unsigned flags)
{
	asm_map_tmp(e, insn, flags, 0);
}

static inline bool fits8(int64_t d)
{
	return d == (int8_t)d;
}

/* @nop bytes of opcode and a rel32 to @t. */
void asm_rel32(struct emit *e, const uint8_t *op, unsigned nop, const struct xl_target *t);
void asm_jump(struct emit *e, unsigned cc, const struct xl_target *t);
/* @t NULL: the caller puts the rel32, which a branch always has then. */
void asm_jcx(struct emit *e, const struct insn *i, const struct xl_target *t);

/* ---- emit_transfer.c: the last instruction of a block ---------------------------------------- */
void emit_call(struct emit *e);
void emit_ret(struct emit *e, const struct insn *i);
void emit_indirect(struct emit *e, const struct insn *i);
void emit_syscall(struct emit *e, const struct insn *i);
/* Inside a block, with its map: instruction @insn, at @pc, has not begun, and the runtime's @where
 * executes it. */
void emit_trap(struct emit *e, uint32_t insn, uint64_t pc, uint32_t where);
void emit_other_target(struct emit *e, const struct other_target *o);
void emit_tail(struct emit *e, const struct tail *t);
/* The map of the current block is complete but for where its tail is. */
void emit_map_end(struct emit *e);

/* ---- emit_count.c ---------------------------------------------------------------------------- */
void emit_count(struct emit *e, uint32_t insn);
/* Four bytes: the place of the current block's counter in the thread's block. */
uint32_t emit_count_entry(struct emit *e);
void counter_field(struct emit *e);
/* What the block records before instruction @at. */
void emit_record(struct emit *e, uint32_t at);
/* Before place @at the cursor moves to another register, or back: struct restored. The
 * second: it is back. */
void emit_own_changes(struct emit *e, uint32_t at);
void emit_own_end(struct emit *e, uint32_t at);
/* Control leaves the chain behind block @k: what has been written of its record is all. */
void emit_chain_left(struct emit *e, uint32_t k);
/* In the cold part: what @edge counts and records. */
void emit_edge_counts(struct emit *e, const struct edge *edge);
/* Which blocks look whether there is budget left; and code that does, or compares the block's
 * bytes. The rel32s of its jumps to the cold part are chained through their own fields, from
 * *@chain, until emit_check_cold(). */
void choose_checks(struct scratch *s);
void emit_budget_check(struct emit *e, uint32_t *chain);
void emit_check(struct emit *e, uint32_t *chain);
void emit_check_cold(struct emit *e, const struct block *b, uint32_t chain);

/* ---- emit_tree.c ----------------------------------------------------------------------------- */
#define TREE_BOUND	500
static inline bool grows_tree(const struct emit *e)
{
	return e->in->kind == XL_TREE;
}
/* In the cold part: what emit_budget_check() leaves to, whose rel32 is at @from. */
void emit_tree_add(struct emit *e, uint32_t from);
/* In the cold part, before who uses them. */
void emit_tree_routines(struct emit *e, bool calls, bool jumps);
void emit_tree_call(struct emit *e, uint64_t pc);
/* CALL ENTRIES in translate.h: has @b one; that of the current block; and a direct call to such an
 * entry, behind what puts the return address on the stack. False: there is none. */
static inline bool has_call_entry(const struct block *b)
{
	return b->begins && !b->flags_needed;
}
void emit_call_entry(struct emit *e, uint32_t live);
/* In front of the stub of such a call's link. */
void emit_call_stub(struct emit *e);
bool emit_call_of_entry(struct emit *e, const struct xl_target *t);
/* Does call @b lead through a stub that is a block of the unit? */
bool calls_through(struct emit *e, const struct block *b);
void emit_tree_call_through(struct emit *e, const struct block *b);
/* What is rare of these, behind all that is not. */
void emit_tree_rest(struct emit *e, struct tree_rest r);
void emit_tree_jump(struct emit *e, const struct xl_target *t, bool memo);
/* What it returns is for the second, or NULL: nothing comes behind the first. */
uint8_t *emit_tree_return(struct emit *e, const struct insn *ret);
void emit_tree_return_end(struct emit *e, const struct insn *ret, uint8_t *miss);
void emit_tree_call_target(struct emit *e);
void emit_tree_jump_target(struct emit *e, bool free);

/* ---- emit_clock.c: SAFEPOINTS in translate.h ------------------------------------------------- */
#define HEAD_BOUND	150		/* in front of a loop's head; or in the cold part */
#define KEPT_BOUND	100		/* at a return or an indirect jump */
#define ITERATION_BOUND	150		/* between two iterations of a loop */
#define LEAVE_BYTES	64
void find_loops(struct scratch *s);
/* In front of the direct entry of @b: what jumps back to it goes through. @above: something comes
 * from above. */
void emit_back(struct emit *e, struct block *b, bool above);
/* Does the current block's direct jump pass a safepoint in the cold part, where that begins? */
bool safepoint_is_cold(const struct emit *e, const struct block *b);
void emit_cold_back(struct emit *e, const struct block *b);
/* Behind the current block, which begins_iteration(). */
void emit_iteration(struct emit *e);
/* At a return or an indirect jump, whose way out is @how. The program's rcx is in its slot, and
 * with LEAVES_RCX the register is where control goes; it still is behind. Flags change if @free.
 * In 32-bit code edx is in its slot, too, and changes. */
void emit_safepoint(struct emit *e, bool free, enum leaves how, unsigned reg);
/* Behind that jump. */
void emit_safepoint_end(struct emit *e, enum leaves how, unsigned reg);
/* lea rsp, [rsp + @n] */
void asm_take_off(struct emit *e, uint32_t n);
/* In the cold part. */
void emit_leave(struct emit *e, const struct leave *l);

static inline uint32_t live_at(const struct emit *e, const struct xl_target *t)
{
	return t->where == TO_UNIT ? e->s->block[t->block].live_in : t->live;
}

/* ... where the branch of @b goes. */
static inline uint32_t live_behind(const struct emit *e, const struct block *b)
{
	const struct block *from = b->n ? b : &e->s->block[b->first];	/* of an edge */

	return live_at(e, &b->to) | (jumps_back(e->s, from) ? LV_GPRS : 0);
}

/* Registers that may be overwritten where control goes to, all of @live being live there. */
static inline uint32_t dead_registers(const struct emit *e, uint32_t live)
{
	return cursor_registers(e->s) & ~((uint32_t)e->has_cursor << e->cursor_reg) & ~live;
}

/* xl_link.stale of what leaves @b. */
static inline bool leaves_stale(const struct block *b)
{
	return b->flags_stale & ~b->flags_set;
}

#endif
