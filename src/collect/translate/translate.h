/* SPDX-License-Identifier: MIT */
/* translate.h - original code in, instrumented code out: one *unit* at a time
 *
 * A pure library: no process, no files, no clock. The same input gives the same output, byte for
 * byte, whether it is called on demand, ahead of time or for an .idt image. A unit is the set of
 * blocks found from one entry address: whole functions where they can be followed.
 *
 * The unit's code is relocatable: it is emitted for the place where it will live, and every field
 * that depends on the distance to the original, on the counters' numbers or on the links' numbers
 * is listed, so that a cached unit can be moved.
 *
 * Units      code offsets: bytes from the start of the unit's code.
 * Ownership  the unit owns its arrays until xl_unit_release(); xl_translate() may reuse them.
 * Errors     none: what cannot be decoded becomes an exit to the runtime that executes it in place;
 *            an entry whose first byte cannot be read gives a unit without blocks. */
#ifndef PM_TRANSLATE_TRANSLATE_H
#define PM_TRANSLATE_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the code writes. XL_PROFILE: a counter per block. The others: a record per block in the
 * trace buffer, its number (32 bits) and, but for XL_BRANCH, the values of its plan
 * (isa/x86/plan.h). The number stands for the block as soon as it is written; the cursor goes up
 * once, when the record is complete. */
/* XL_TREE, of 64-bit code: no record; the cursor register counts instructions, and a tree of
 * calling contexts grows (emit_tree.c). Blocks are in chains as in a trace. No block is of two
 * functions, as xl_input.segment tells them. */
enum xl_kind { XL_PROFILE, XL_BRANCH, XL_EXEC, XL_TREE };

/* Code [lo, hi) is of one function, which begins at @begin. */
struct xl_segment {
	uint64_t lo, hi, begin;
	uint32_t function, slots;	/* slots: of its contexts */
	bool stub;			/* of a procedure linkage table, or like one */
};

/* CHAINS. In a trace a block that is entered from one other block of the unit only, by falling
 * or jumping into it, continues that block's record: the record is written when control leaves the
 * chain, and its number is that of the last block that was executed. Values are those of the plan
 * of the whole chain's instructions. Such a block (xl_block.prev; there is none with patchable or
 * check_bytes) must not be entered in any other way: it is in no table, and where an outsider wants
 * its address, that is translated anew. */

/* COUNTING COPIES. With `counting_copies` every block has a second translation, its counting copy,
 * for where nothing of a trace is wanted: code that only counts instructions. The cursor register
 * is a budget there, from which it takes off those of each chain as the chain ends; once the budget
 * is negative it leaves by RT_DO_COUNT before few more: XL_UNCHECKED at most. Block i's counting
 * copy is block nblock / 2 + i. Both are entered and left at the same places, so that it does not
 * depend on who has executed what before which blocks there will be; the counting copies' shadow
 * lies RT_COUNTING_SHIFT addresses further. */
#define XL_UNCHECKED	32768u

/* EDGES. With `count_edges` a profile tells which way each conditional branch went, and in 64-bit
 * code where each indirect jump and call did, in the thread's table (RT_TARGETS). A unit then has,
 * behind its blocks, one for each such branch's edge to its target, with XL_EDGE: no instructions,
 * no code of its own, entered from nowhere else. Its `record` is the number of the block that
 * branches, its pc that block's. With XL_FALLS it is the edge to what follows the branch, because
 * the translation branches there. The other edge has the rest of the block's count. Few edges need
 * a counter: xl_solve() knows of them as of blocks. Behind these there is an XL_EDGE block with n 1
 * for each jump that looks first whether it goes where it is likely to: its pc is that target. Such
 * a jump is not in the table when it goes there: that count is what the table leaves of the
 * block's. Last come XL_EDGE blocks with n XL_ENTRY, one for each entry of a constant jump table
 * whose index the code counts, as counted_tables.c says: pc is where the entry leads, and each has
 * a counter, side by side in that order. What such a jump counts so is not in the thread's table.
 * Other indirect jumps and calls have two each, XL_FIRST and XL_FIRST_COUNT: the `counter' of the
 * one is the address to which the thread came first from there, that of the other how often. What
 * goes elsewhere is in the table. Of all three kinds `live' counts them, up to this one. */
enum { XL_ENTRY = 2, XL_FIRST, XL_FIRST_COUNT };

/* SAFEPOINTS. With `logged` the thread counts down RT_UNTIL, or with `bare` the cursor register in
 * its place, wherever control passes a safepoint: at each near return, at most indirect jumps, and
 * at each direct jump, conditional or not, that is taken and does not lead to a higher address than
 * its own (x86_passes()). No loop of compiled code is without one. Of indirect jumps 64-bit code
 * leaves out those through a pointer beside the code (jmp [rip + slot], of procedure linkage
 * tables), 32-bit code only those with an address size prefix: its linkage tables' jumps pass one.
 * Where the count becomes 0 it leaves by RT_DO_SAFEPOINT, and RT_EXIT_PC is where the transfer
 * leads to: all of the transfer is done. What passes a safepoint depends on the original
 * instructions alone, never on how they have been cut into blocks and units. All general registers
 * are live there. In a trace one may lie within a chain, between two iterations of a loop: who
 * leaves there has written the record of the blocks up to it.
 *
 * 32-bit code always counts in memory, in the lower half of RT_UNTIL; the upper one is 0. Where
 * flags are free that is one `dec`. Else it is mov ecx, fs:[RT_UNTIL]; lea ecx, [ecx - 1];
 * mov fs:[RT_UNTIL], ecx; jecxz. Who changes RT_UNTIL in a signal handler has to change ecx as
 * well if that interrupts the second or the third of these. No instruction of a program is copied
 * that has the third one's bytes. */

/* CALL ENTRIES. With XL_TREE and `abi_flags` the block with which a function begins has one for
 * direct calls (XL_CALL_ENTRY, xl_call_entry()) in front of its indirect entry: code that takes the
 * tree to the function's context. It is there once, and not at each call, for what is executed
 * should stay in the processor's caches. Who comes there has the program's rax in RT_S_TMP, and in
 * rax 8 times the slot of its own context that may know the callee's; the return address is on the
 * stack. The four bytes in front of it are the distance to the direct entry. Links to it, and
 * XL_REL_CODE32, are `counting`: there are no counting copies then. */

/* FLAGS. The ABI (System V AMD64, 3.2.3) says that no arithmetic flag means anything at a
 * function's entry, nor behind a call. With `abi_flags` calls, returns and counters near them
 * change flags, which saves a third of what they cost, as do indirect jumps, unless a table of the
 * unit's leads out of it or to what needs flags. A unit ends before what may read flags that a call
 * or a return has left; one that would begin with it says so (breaks_abi), and is not to be used,
 * nor anything else that was translated with `abi_flags`. For what a unit cannot see: a block that
 * reads flags from before it has XL_READS_FLAGS, and is not to be called or returned to, nor,
 * without XL_JUMP_TARGET, jumped to indirectly, nor entered through a link that is `stale`. Nobody
 * sees flags that pass through an indirect jump (of a PLT) behind a call, or through a return to
 * what no call is in front of, to where a jump table leads, too. */

/* Live state: bit r = GPR r in hardware order, XL_LIVE_FLAGS = any arithmetic flag. */
#define XL_LIVE_FLAGS	(1u << 16)
#define XL_LIVE_ALL	0x1ffffu

#define XL_EXEC_INSNS	62	/* of a block: its record stays small */

struct x86_insn;

struct xl_known {			/* a block that exists already */
	uint64_t code;			/* absolute address of an entry for
					 * outsiders, 0: none yet */
	uint64_t counting;		/* ... of its counting copy; or its call entry */
	uint32_t live;			/* XL_LIVE_* at its entry */
	bool reads_flags;		/* XL_READS_FLAGS */
};

struct xl_input {
	enum xl_kind kind;
	bool i386;			/* 32-bit code; addresses wrap at 4 GiB */
	uint64_t entry;			/* original address asked for */
	uint64_t lo, hi;		/* the text mapping: nothing outside is followed or read */
	uint64_t place;			/* absolute address where code byte 0 of the unit will live:
					 * within 2 GiB (less 64 MiB) of all of [lo, hi), or the
					 * unit stays empty (i386: anywhere); a unit may later move
					 * by multiples of 64 bytes */
	bool absolute;			/* original addresses are fixed
					 * (non-PIE): may be immediates */
	bool patchable;			/* generated code: direct entries are 8-byte aligned, and 8
					 * bytes can be overwritten there by a jump without touching
					 * the next entry */
	bool check_bytes;		/* compare the block's bytes at every entry
					 * (dual-mapped JITs) */
	bool writable;			/* with check_bytes: by itself, too; a block ends where it
					 * may have changed what follows */
	bool count_all;			/* give every block a counter */
	bool count_edges;		/* in a profile: see EDGES */
	bool count_records;		/* in a trace: each record counts, too, for the
					 * block that it names */
	bool abi_flags;			/* no arithmetic flag passes through a call or a return (see
					 * FLAGS); 64-bit code */
	bool logged;			/* what another run would not repeat (x86_is_odd())
					 * the runtime executes: RT_DO_STEP; and see
					 * SAFEPOINTS */
	bool bare;			/* a profile that counts nothing */
	bool all_live;			/* where blocks end, all flags and registers are taken for
					 * live: they are everywhere what they are natively */
	bool counting_copies;		/* of 64-bit code that is neither patchable nor
					 * check_bytes, in a trace */
	uint32_t max_insns;		/* stop a block after so many (1 = single step); 0: 127 */
	uint32_t max_blocks;		/* of the unit; 0: 4096 */
	/* Original bytes at @addr: a pointer valid during the call, *avail of them (0:
	 * unreadable). */
	const uint8_t *(*read)(void *ctx, uint64_t addr, size_t *avail);
	/* Bytes of data at @addr likewise: jump tables; NULL: they are not looked at. */
	const uint8_t *(*data)(void *ctx, uint64_t addr, size_t *avail);
	/* Do the @n bytes of data at @addr stay as they are while the text is mapped, and are they
	 * the same in each process that maps it? NULL: nothing is known of data. */
	bool (*constant)(void *ctx, uint64_t addr, uint64_t n);
	/* Is there a block that starts at @addr? Only called inside [lo, hi). */
	bool (*known)(void *ctx, uint64_t addr, struct xl_known *out);
	/* Where a jump through the pointer at @slot, of a procedure linkage table, is likely to
	 * lead to, inside [lo, hi); 0: anywhere. With abi_flags; NULL: always anywhere. */
	uint64_t (*likely)(void *ctx, uint64_t slot);
	/* Is @addr the start of another function (a tail jump there leaves the unit)? */
	bool (*function)(void *ctx, uint64_t addr);
	/* XL_TREE: whose code is at @addr, inside [lo, hi)? */
	void (*segment)(void *ctx, uint64_t addr, struct xl_segment *out);
	/* Told of every instruction of the unit when it is made, block by
	 * block; NULL: nobody is. */
	void (*insn)(void *ctx, const struct x86_insn *x);
	void *ctx;
};

enum xl_block_flag {
	XL_FALLS	= 1 << 0,	/* last instruction is no control transfer */
	XL_JUMP_TARGET	= 1 << 1,	/* of XL_READS_FLAGS: a jump through a table, to
					 * it, brings them along */
	XL_CALL_ENTRY	= XL_JUMP_TARGET,	/* ... of others: it has one */
	XL_UNKNOWN	= 1 << 2,	/* an instruction that the decoder does not know follows:
					 * it is in neither size nor n (n may be 0), and
					 * RT_DO_STEP executes it; as often as the block was
					 * counted, but for cuts */
	XL_COUNTS	= 1 << 3,	/* a counting copy */
	XL_EDGE		= XL_COUNTS,	/* ... or, in a profile, an edge. Neither is
					 * entered by its pc */
	XL_READS_FLAGS	= 1 << 4,	/* with abi_flags: reads flags that come from before it */
};

/* Of a block with these flags. */
static inline bool xl_has_call_entry(uint8_t flags)
{
	return (flags & (XL_CALL_ENTRY | XL_READS_FLAGS)) == XL_CALL_ENTRY;
}

/* How many bytes in front of its direct entry that is, if @live is live there: rax and rcx are
 * given back. */
static inline uint32_t xl_call_entry(uint32_t live)
{
	return 78 + 9 * (live & 1) + 18 * (live >> 1 & 1);
}

/* Not every block of a unit has a counter: where flow within the unit tells, the count is derived
 * from others. @in and @out name classes of the unit, by a block's number, or are XL_OPEN. A block
 * whose `in` is not open must not be entered from elsewhere through its direct entry, but through
 * code that adds one to counter number `in` first (xl_count()). A class is named after a block
 * without counter of its own, and only such blocks name one. */
#define XL_OPEN		0xffffu
#define XL_MAX_FLOW	0xfff0u
struct xl_flow {
	uint16_t in, out;
};

static inline bool xl_derived(const struct xl_flow *f, uint32_t k)
{
	return f->in == k || f->out == k;
}

/* From counters to counts, in place, for a unit of @n blocks. count[k] of a block with a counter:
 * all entries of the block; of another one: what xl_count() counted, and then its entries. cut[k]:
 * entries that did not come out at the block's end. */
void xl_solve(const struct xl_flow *flow, uint32_t n, uint64_t *count, const uint64_t *cut);

/* Two blocks of a unit may begin at one pc: the copies of a small loop. Whichever
 * is entered, their counts add up. The first of the two in the array is the one to enter. */
struct xl_block {
	uint64_t pc;
	uint32_t size, n;		/* original bytes, instructions */
	uint32_t code;			/* direct entry, offset in the unit */
	uint32_t indirect;		/* indirect entry, or XL_NONE: none emitted. One that is
					 * emitted lies right before the direct entry and runs into
					 * it, and the block's code and map begin there */
	uint32_t code_end;
	uint32_t live;			/* XL_LIVE_* at entry */
	uint32_t record;		/* bytes of its record, or of its chain's up
					 * to it; XL_PROFILE: 0, or see EDGES */
	uint32_t prev;			/* the block of the unit whose record it
					 * continues, XL_NONE: none */
	uint32_t map, nmap;		/* unit->map[map .. map + nmap) */
	struct xl_flow flow;
	uint8_t flags;			/* enum xl_block_flag */
};
#define XL_NONE UINT32_MAX

/* Which original state a copy address stands for. Entries ascend by `code`; each holds up to the
 * next. A fault at `code` happened at original instruction `insn` of the block. insn == n: all of
 * the block is done; with XL_AT_START control is at pc + size, without it has gone elsewhere.
 * Code behind the last block's code_end (exit stubs, failed checks) belongs to no block: there the
 * last placed block's last entry says "all done, step on"; but the tail of an indirect call, which
 * ends in the jump, is the last entry of the block that calls (XL_CALLED). */
enum xl_map_flag {
	XL_AT_START	= 1 << 0,	/* no effect of instruction `insn` has happened yet: state
					 * can be delivered to a signal handler after the slots
					 * below are undone */
	XL_RCX_SAVED	= 1 << 1,	/* rcx is in RT_S_RCX */
	XL_RDX_SAVED	= 1 << 2,	/* rdx is in RT_S_RDX, and maybe in rdx, too */
	XL_TMP_SAVED	= 1 << 3,	/* register `tmp` & 15 is in RT_S_TMP */
	XL_COUNTED	= 1 << 4,	/* the block's counter has been incremented, or it has none;
					 * in a trace without count_records: the record's number has
					 * been written */
	XL_RECORDED	= 1 << 5,	/* the block's record is complete, the cursor behind it */
	XL_STORED	= 1 << 6,	/* what instruction `insn` has to record before
					 * it runs is recorded */
	XL_CALLED	= 1 << 7,	/* `insn` is an indirect call, its return address is on the
					 * stack: only the processor's complaint about where it is
					 * to go undoes that */
};
struct xl_map {
	uint32_t code;			/* offset in the unit */
	uint8_t insn;			/* instruction index in its block */
	uint8_t flags;			/* enum xl_map_flag; without XL_AT_START: step on */
	uint8_t tmp;			/* GPR number; see XL_RESTORED and XL_BORROWED(tmp) */
};

/* Register XL_BORROWED(tmp), if not 0, is in RT_S_TMP2. */
#define XL_BORROWED(tmp)	((tmp) >> 4 & 7)

/* In a trace a register is the cursor of the trace buffer, r11 or i386's ebp, and the
 * program's is in RT_S_R11 (abi.h (7)); at a place with XL_RESTORED in xl_map.tmp it is the
 * program's, and `tmp` the cursor. */
#define XL_RESTORED		0x80

/* SAFEPOINTS: with `bare` it holds what else would be in RT_UNTIL. */
static inline bool xl_has_clock(const struct xl_input *in)
{
	return in->logged && in->bare && in->kind == XL_PROFILE && !in->i386;
}

static inline bool xl_has_cursor(const struct xl_input *in)
{
	return in->kind != XL_PROFILE || xl_has_clock(in);
}

static inline unsigned xl_cursor_register(bool i386)
{
	return i386 ? 5 : 11;
}

static inline bool xl_has_counting(const struct xl_input *in)
{
	return in->counting_copies && in->kind != XL_PROFILE && !in->i386 && !in->patchable &&
	       !in->check_bytes;
}

enum xl_reloc_kind {
	XL_REL_PC32,		/* disp32 to an original address: subtract the change of distance;
				 * i386: the address itself */
	XL_REL_COUNTER,		/* disp32 = RT_COUNTERS + xl_counter_size() *
				 * (counter base + addend) */
	XL_REL_LINK,		/* imm32 = link base + addend, in an exit stub */
	XL_REL_CODE32,		/* rel32 to an absolute address in the code cache
				 * outside the unit: the block at lo + addend, or with
				 * XL_COUNTING its counting copy, or call entry */
	XL_REL_PLACE,		/* imm32, i386: the absolute address of a place in the unit */
	XL_REL_BLOCK,		/* imm32 = block number base + addend, in a record */
};
#define XL_COUNTING 0x80000000u
struct xl_reloc {
	uint32_t at;			/* offset of the 4-byte field in the unit */
	uint8_t kind;			/* enum xl_reloc_kind */
	uint32_t addend;		/* block or link index in the unit, or see there */
};

/* A direct branch out of the unit to an address without translation. Its rel32 at `site` goes to
 * the stub at `stub`; once the target exists the controller writes the rel32 anew. */
struct xl_link {			/* (the field never crosses a cache line) */
	uint64_t target;		/* original address */
	uint32_t site;			/* offset of the branch's rel32 */
	uint32_t stub;
	bool counting;			/* a counting copy's: goes to the target's counting copy;
					 * or a call's, to its call entry */
	bool stale;			/* with abi_flags: flags may be what a
					 * call or a return left */
};

struct xl_unit {
	uint8_t *code;
	struct xl_block *block;		/* block[0] is the entry's */
	struct xl_map *map;
	struct xl_reloc *reloc;
	struct xl_link *link;
	size_t ncode, nblock, nmap, nreloc, nlink;
	size_t cap_code, cap_block, cap_map, cap_reloc, cap_link;
	bool breaks_abi;		/* see FLAGS */
};

/* Fields emitted with counter base 0 and link base 0; the caller applies XL_REL_COUNTER and
 * XL_REL_LINK when it has numbered the unit's blocks and links. */
void xl_translate(const struct xl_input *in, struct xl_unit *out);
void xl_unit_release(struct xl_unit *u);
/* What xl_translate() keeps from unit to unit of this thread goes back. */
void xl_thread_done(void);

/* An indirect entry for a block that has none: restores rcx (i386: and rdx) as `live`
 * demands and jumps to @direct. Returns the length (at most XL_ENTRY_MAX) of what was put
 * at @buf, to live at @place. */
#define XL_ENTRY_MAX 32
size_t xl_indirect_entry(uint8_t *buf, bool i386, uint64_t place, uint64_t direct, uint32_t live);

/* Code that adds @by (1 or -1) to counter @counter where @live is live. Returns its length (at most
 * XL_COUNT_MAX); at[0 .. *nat) are the offsets of the counter's XL_REL_COUNTER fields in it. */
#define XL_COUNT_MAX 40
size_t xl_count(uint8_t *buf, bool i386, uint32_t live, uint32_t counter, int by, uint32_t at[2],
		unsigned *nat);

/* Bytes of a counter. 64 bits cannot be counted by one instruction of 32-bit code: there a counter
 * wraps, and the controller reads it often enough to notice. */
static inline unsigned xl_counter_size(bool i386)
{
	return i386 ? 4 : 8;
}

/* The exit through link @link: asks for the link's target. The number is a XL_REL_LINK field at
 * offset XL_STUB_LINK(i386). Returns the length, at most XL_STUB_MAX. */
#define XL_STUB_MAX 20
#define XL_STUB_LINK(i386) ((i386) ? 7 : 8)
size_t xl_stub(uint8_t *buf, bool i386, uint32_t link);

#endif
