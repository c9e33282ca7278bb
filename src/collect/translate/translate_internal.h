/* SPDX-License-Identifier: MIT */
/* translate_internal.h - what the parts of the translator share
 *
 * A unit passes through: discover.c (decode from the entry, cut into blocks; tables.c), live.c
 * (which state is dead where, and where to count), flow.c (who needs no counter), emit.h (code, pc
 * map, relocations, links). The scratch struct carries it; its arrays are kept from one unit to the
 * next, so that nothing is allocated per instruction. */
#ifndef PM_TRANSLATE_TRANSLATE_INTERNAL_H
#define PM_TRANSLATE_TRANSLATE_INTERNAL_H

#include "collect/translate/reach.h"
#include "collect/translate/translate.h"
#include "isa/x86/decode.h"
#include "isa/x86/plan.h"

/* Liveness inside the translator: bit r = GPR r, bit 16 + f = enum x86_flag bit f. */
#define LV_GPRS		0xffffu
#define LV_FLAG(f)	((uint32_t)(f) << 16)
#define LV_FLAGS	LV_FLAG(X86_ALL_FLAGS)
#define LV_ALL		(LV_GPRS | LV_FLAGS)
#define LV_INC		LV_FLAG(X86_ALL_FLAGS & ~X86_CF)	/* what `inc` overwrites */

#define MAX_BLOCK_INSNS	254		/* xl_map.insn holds 0..n */
#define MAX_UNIT_INSNS	32768
#define MAX_CHECK_BYTES	64		/* of a block that compares its bytes */

enum mark {
	MARK_RUN	= 1 << 0,	/* does not follow the insn before it in the array */
	MARK_LEADER	= 1 << 1,	/* a block starts here */
	MARK_RETURN	= 1 << 2,	/* behind a call */
	MARK_RESUMED	= 1 << 3,	/* behind an instruction that the runtime executes */
	MARK_TARGET	= 1 << 4,	/* named by a jump table */
	MARK_STUB	= 1 << 5,	/* a copy of a procedure linkage table's jump, for the
					 * unit's calls: STUBS */
	MARK_INDIRECT	= MARK_RETURN | MARK_RESUMED | MARK_TARGET,
};

struct insn {
	uint64_t pc;
	const uint8_t *p;
	struct x86_insn x;
	uint32_t block;			/* the block that starts here, or XL_NONE */
	uint8_t mark;			/* enum mark */
	bool far;			/* what it addresses relative to rip the copy cannot */
};

enum where { TO_NOWHERE, TO_UNIT, TO_KNOWN, TO_LINK };

struct xl_target {
	uint64_t pc;
	uint64_t code, counting;	/* TO_KNOWN */
	uint32_t live;			/* TO_KNOWN: LV_*, else all */
	uint32_t block;			/* TO_UNIT */
	uint8_t where;			/* enum where */
	bool known, reads_flags;	/* not TO_UNIT: there is such a block; it is
					 * XL_READS_FLAGS */
};

enum count_how { COUNT_INC, COUNT_DEAD_GPR, COUNT_SPILL };

struct block {
	uint64_t pc, end;		/* end: behind the last instruction */
	uint64_t place;			/* in the layout: pc, or that of the block that
					 * copies are put behind */
	uint32_t first, n;		/* insns; n does not count one that is unknown */
	uint8_t kind;			/* enum x86_kind of the last; X86_PLAIN: falls */
	uint8_t mark;			/* of the first */
	bool invert;			/* jcc: the condition is the opposite of the original's */
	bool entry_inline;		/* has an inline indirect entry */
	bool begins;			/* a function: begins_function() */
	bool next_adjacent;		/* falls into the next block of the
					 * layout, no jump needed */
	uint8_t count_how, count_gpr;
	bool count_add;			/* COUNT_INC: the carry is dead, too,
					 * and `add` is cheaper */
	uint32_t count_at;		/* increment before this insn; n: at the end */
	struct xl_record {			/* in a trace; see record.c */
		uint32_t store, nstore;		/* scratch.store[store .. store + nstore) */
		uint32_t size;			/* bytes in the buffer */
		uint32_t insns;			/* of the chain up to its end */
		uint32_t last;			/* complete before this
						 * instruction; n: at the end */
		uint32_t prev, next;		/* of the chain; XL_NONE */
		uint32_t nrestored;		/* ranges in which the cursor register is the
						 * program's: xl_has_cursor() */
	} rec;
	bool loops;			/* a jump back within the unit leads to it: SAFEPOINTS */
	uint32_t back;			/* ... to this offset, in front of its direct entry */
	uint32_t edge;			/* EDGES: scratch.block[edge] is that to its target;
					 * XL_NONE: none */
	bool derived;			/* has no counter */
	bool checks;			/* its counting copy looks whether there is budget left */
	uint32_t in, out;		/* classes, by the block that names
					 * them; XL_NONE: outside */
	uint32_t use, def, live_in, live_out;
	uint8_t flags_read, flags_set;	/* abi_flags, X86_*: before it sets them; certainly */
	uint8_t flags_needed;		/* ... at its entry, by itself or what
					 * follows in the unit */
	uint8_t flags_stale;		/* ... at its entry, that may come from a call or return */
	uint8_t flags_popped, popped_in; /* ... at its end by itself, and at its entry, that may
					  * come from a popf */
	struct counted_table {		/* EDGES: before the instruction that reads it a jump
					 * table's index is counted */
		uint32_t at;			/* its entries: scratch.entry[at .. at + n) */
		uint16_t n;			/* 0: nothing is counted there */
		uint8_t insn, index;		/* the instruction, of the block; a register */
		bool checked;			/* it may be beyond that */
	} table;
	uint32_t first_target;		/* EDGES: number of its XL_FIRST among those of the unit;
					 * XL_NONE: it has none */
	struct xl_target to, fall, likely;	/* likely: of most jumps, the others look where they
						 * go; never TO_UNIT */
	uint32_t order;			/* place in the layout */
	uint32_t bound;			/* no more code bytes than this */
	uint32_t sum;			/* bounds of all blocks before it in the layout */
};

#define RSP_BIT	(1u << 4)
#define R12_BIT	(1u << 12) /* as a base it takes a SIB byte, which the runtime would have to read */

struct order {
	uint64_t pc;
	uint32_t block;
};

struct fixup {				/* a branch to a block of the unit that
					 * was not yet placed */
	uint32_t at;
	uint32_t block;
	bool byte;
	bool back;			/* to what lies in front of its direct entry */
};

struct tail {				/* of a call, see emit_transfer.c */
	uint32_t at;			/* the call's rel32 */
	uint32_t block;
};

struct tree_rest {			/* what is rare, see emit_tree.c */
	uint32_t from;			/* the rel32 that leads to it */
	uint32_t cont;			/* where the call goes on */
	uint32_t event, key, routine;	/* event 0: of a call through a stub, to be made as any */
	uint32_t block;
	uint64_t pc, likely;		/* the stub is likely to lead there */
	bool entry;			/* it is a call entry's */
	uint8_t carry_of;		/* 1 + the register of the context whose count overflows */
};

struct edge {				/* a branch that leaves a chain, see emit_count.c */
	uint32_t at;			/* its rel32 */
	uint32_t block;
};

struct other_target {			/* an indirect branch does not go where it did first */
	uint32_t at, back;		/* the rel32 that leads there; behind counting */
	uint32_t count;			/* where the first target is counted */
	uint32_t block;
};

enum leaves { LEAVES_HEAD, LEAVES_RETURN, LEAVES_RCX, LEAVES_REGISTER, LEAVES_ITERATION };

struct leave {				/* a safepoint that leaves: emit_clock.c */
	uint32_t at;			/* its rel32 */
	uint32_t block;
	uint8_t how;			/* enum leaves */
	uint8_t reg;
};

struct xl_pending {
	uint64_t pc;
	uint8_t mark;
};

/* scratch.preds: number of predecessors, up to 2; from one of them control can only come by falling
 * or jumping; it can come from elsewhere, too */
enum preds { FOLLOWS = 0x40, ENTERED = 0x80, CONTINUES = FOLLOWS | 1 };

struct scratch {
	struct x86_decoder *dec;	/* of in's width: one of decs */
	struct x86_decoder *decs[2];
	const struct xl_input *in;
	struct xl_unit *out;
	uint32_t max_insns, max_blocks;
	uint32_t gprs;			/* that the program has and counting may borrow: not rsp */

	struct insn *insn;
	size_t ninsn, cap_insn;
	size_t nfar;			/* of them */
	struct block *block;
	size_t nblock, cap_block;
	size_t nedge_block;		/* EDGES: behind them, jumps without instructions */
	struct order *order;
	size_t cap_order;
	struct xl_pending *pending;
	size_t npending, cap_pending;
	struct fixup *fixup;
	size_t nfixup, cap_fixup;
	struct tail *tail;
	size_t ntail, cap_tail;
	struct tree_rest *tree_rest;
	size_t ntree_rest, cap_tree_rest;
	struct edge *edge;
	size_t nedge, cap_edge;
	struct other_target *other;
	size_t nother, cap_other;
	struct leave *leave;
	size_t nleave, cap_leave;
	uint64_t *entry;		/* EDGES: where entries of tables lead to */
	size_t nentry, cap_entry;
	uint32_t nfirst;		/* block.first_target */
	uint32_t first_entry;		/* the unit's block that stands for the first one */
	uint8_t *preds;			/* of each block, enum preds */
	size_t cap_preds;
	uint8_t (*odd)[16];		/* instructions that straddle two readable pieces */
	size_t nodd, cap_odd;

	struct x86_plan plan;
	struct x86_store *store;
	size_t nstore, cap_store;

	struct xl_slot { uint64_t pc; uint32_t insn, gen; } *slot;	/* pc -> insn */
	uint32_t slot_mask, nslot, gen;

	const uint8_t *win;		/* bytes at win_pc, win_n of them */
	uint64_t win_pc;
	size_t win_n;

	bool table_flags;		/* jumps through tables do not carry stale flags */
	bool table_leaves;		/* some table leads to what is not of the unit */
	bool jumps_free;		/* indirect jumps may change flags */
	uint64_t cut[16];		/* instructions that the unit ends before: keeps_abi() */
	uint32_t ncut;

	struct xl_segment segment;	/* the last answer of in->segment */

	bool far_only;			/* no rel8 to blocks that are not yet placed */
	bool overflow;			/* one was needed and did not fit */
};

/* Is @addr within reach of a rel32 from all of a unit at @place? In 32-bit code everything is. */
static inline bool xl_near(const struct xl_input *in, uint64_t addr)
{
	int64_t d = (int64_t)(addr - in->place);

	return in->i386 || (d > -XL_REACH && d < XL_REACH);
}

/* live[i]: before instruction i of @b; live[n]: behind it. */
void live_course(const struct scratch *s, const struct block *b,
		 uint32_t live[MAX_BLOCK_INSNS + 1]);

/* The last place in @b where something can be put: before its last instruction if that transfers
 * control, else behind it. */
static inline uint32_t last_place(const struct block *b)
{
	return b->kind == X86_UNKNOWN || b->kind == X86_PLAIN ? b->n : b->n - 1;
}

/* Places and instructions [from, to) of a block: there the cursor register is the program's and
 * @reg the cursor. */
struct restored {
	uint32_t from, to;
	uint8_t reg;
};
/* The first such range from place @from on, whose end is beyond all places if there is none. */
struct restored restored_range(const struct scratch *s, const struct block *b, uint32_t from);
/* Those that can hold the trace buffer's cursor. */
static inline uint32_t cursor_registers(const struct scratch *s)
{
	return s->gprs & ~(RSP_BIT | R12_BIT);
}

bool discover(struct scratch *s);
/* @add: what the indirect jump that is instruction @k may go to. */
void find_targets(struct scratch *s, size_t k, void (*add)(struct scratch *s, uint64_t pc));
/* EDGES: block.table and first_target of all blocks. */
void choose_how_targets_count(struct scratch *s);
void find_liveness(struct scratch *s);
/* FLAGS in translate.h: is the ABI kept? If not, then by what begins with the instruction at *@at,
 * if that is executed. */
bool keeps_abi(struct scratch *s, uint64_t *at);
/* May what is at @pc, not of the unit, read flags that it has not set? @unreadable: the answer
 * where that cannot be seen. */
bool reads_flags_at(struct scratch *s, uint64_t pc, bool unreadable);

/* What @i, X86_RIP, addresses. */
static inline uint64_t rip_operand(const struct insn *i)
{
	int32_t disp;

	memcpy(&disp, i->p + i->x.disp, 4);
	return i->pc + i->x.len + (uint64_t)(int64_t)disp;
}

/* May flags be anything behind an instruction of @kind, which goes where the unit does not see? See
 * live.c, (4). */
static inline bool flags_free(const struct scratch *s, uint8_t kind)
{
	return kind == X86_JMP_IND ? s->jumps_free : (kind == X86_RET || kind == X86_CALL_IND) &&
	       s->in->abi_flags;
}

/* Does @b call what the unit has a copy of? STUBS in discover.c. */
static inline bool calls_stub(const struct scratch *s, const struct block *b)
{
	return b->kind == X86_CALL && b->to.where == TO_UNIT && s->block[b->to.block].mark &
	       MARK_STUB;
}

/* That an instruction reads, and certainly sets. What a system call does to flags is to keep them;
 * that r11 shows them then is not a use. What repe cmpsb reads is what it has set. */
static inline uint8_t reads_flags(const struct x86_insn *x)
{
	return x->kind == X86_SYSCALL || x->kind == X86_INT80 || x->prop & X86_REP ? 0 : x->fread;
}

static inline uint8_t sets_flags(const struct x86_insn *x)
{
	return x->kind == X86_PLAIN || x->kind == X86_STEP ? x->fkill : 0;
}

/* How many bytes return @i takes off the stack besides the address. */
static inline uint16_t ret_takes_off(const struct insn *i)
{
	return i->x.nimm ? (uint16_t)x86_imm(&i->x, i->p) : 0;
}

/* Is that return translated as a jump? emit_far_pop() in emit_transfer.c */
static inline bool jumps_to_return(const struct xl_input *in, const struct insn *i)
{
	return in->logged && in->i386 && ret_takes_off(i);
}

/* SAFEPOINTS in translate.h: does the direct jump that ends @b pass one when it is taken; and
 * indirect jump @i? */
static inline bool jumps_back(const struct scratch *s, const struct block *b)
{
	return s->in->logged &&
	       (b->kind == X86_JMP || b->kind == X86_JCC || b->kind == X86_JCX) &&
	       b->to.pc <= s->insn[b->first + b->n - 1].pc;
}

/* Does @b fall into another iteration of a loop (SMALL LOOPS in discover.c) where the program jumps
 * back, and so passes a safepoint? */
static inline bool begins_iteration(const struct scratch *s, const struct block *b)
{
	return s->in->logged && b->invert;
}

static inline bool jumps_anywhere(const struct xl_input *in, const struct insn *i)
{
	return in->logged && i->x.kind == X86_JMP_IND &&
	       x86_passes(&i->x, in->i386) == X86_PASSES_ALWAYS;
}

/* XL_TREE: is @to of another function than @b? */
bool tree_crosses(struct scratch *s, const struct block *b, uint64_t to);
void tree_segment(struct scratch *s, uint64_t pc, struct xl_segment *out);
/* Does a function begin with @b that direct calls enter by an entry of its own? */
bool begins_function(struct scratch *s, const struct block *b);
uint32_t tree_function(struct scratch *s, uint64_t pc);
void choose_counters(struct scratch *s);
void drop_counters(struct scratch *s);
void count_nothing(struct scratch *s);
void make_edge_blocks(struct scratch *s);
/* EDGES: does code count where indirect jumps and calls lead? */
static inline bool counts_targets(const struct xl_input *in)
{
	return in->count_edges && in->kind == XL_PROFILE && !in->i386;
}

static inline bool counts_edge(const struct scratch *s, const struct block *b)
{
	return b->edge != XL_NONE && !s->block[b->edge].derived;
}
void count_preds(struct scratch *s);
void plan_records(struct scratch *s);
void emit_unit(struct scratch *s);

/* Where does control go on after system call @i? */
uint64_t behind_call(const struct scratch *s, const struct insn *i);
/* Where does a transfer to @pc go? */
struct xl_target resolve(struct scratch *s, uint64_t pc);

#endif
