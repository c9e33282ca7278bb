/* SPDX-License-Identifier: MIT */
/* drain.h - what a thread has of its trace that is not yet in its file */
#ifndef PM_RUNTIME_DRAIN_H
#define PM_RUNTIME_DRAIN_H

#include "standalone.h"

#pragma GCC visibility push(hidden)

#define DRAIN_AT	0x60000u	/* in a thread block, behind its stacks */
#define OUT		0x90000u
#define MARGIN		0x8000u		/* one block's entries, but for those of rep
					 * instructions, are fewer */

#define MAX_KEPT	8		/* faults in handlers of faults */
#define MAX_CHAIN	64

struct drain {
	u64 rsp, fs, gs;		/* at the record that comes next */
	u32 n;				/* bytes in out */
	u32 hold;			/* 1 + place of a target that the next
					 * block tells; 0: none */
	u32 opened, failed;
	u32 nkept;
	u32 told, told_insn;		/* the next record goes on with this block (rt_stop.word),
					 * before this instruction: what is in front of it has been
					 * written. 0: it does not */
	u32 begun;			/* in out: where the last block begins */
	u32 alone, busy;		/* a block is in the file in part: others wait (merged
					 * traces); the buffer is being emptied */
	struct kept {			/* a chain of blocks that a fault has stopped,
					 * and that may go on */
		struct rt_stop stop;
		u64 rsp;		/* at its beginning */
		u32 record[2 * 256];
	} kept[MAX_KEPT];
	uint8_t out[OUT];
};
_Static_assert(DRAIN_AT + sizeof(struct drain) <= RT_COUNTERS, "before the counters");

static inline struct drain *rt_drain_of(struct rt_block *b)
{
	return PTR((word)b + DRAIN_AT);
}

struct drain_record {
	struct rt_block *b;
	struct drain *d;
	const uint8_t *plan;
	const void *value;		/* of the record */
	u64 pc;
	u64 lane[16];
	u64 told;			/* the block's entry, which is at begun, unless that has
					 * been written */
	u32 nlane, lane_size, record_size;	/* the last: in the block table, in units of 8
						 * bytes, i386: of 4 */
	u32 from, n;			/* the instructions of the block that are to be told */
	const u64 *cut;			/* what an RT_N_CUT says of the one behind them, or NULL */
	int part, marked;		/* that has references that happened; it has entries */
};

/* ---- trace_files.c --------------------------------------------------------------------------- */
/* What can be written of out goes to the file: of a merged trace whole blocks only, or with @part
 * what there is. @last: all. */
void rt_trace_write(struct rt_block *b, int last, int part);
void rt_merge_forked(void);		/* whoever was writing did so in the process that this one
					 * is a copy of */

/* ---- trace_entries.c ------------------------------------------------------------------------- */
/* The entries of block @i of @text, whose record is @r; returns what the stack
 * pointer is behind it. */
u64 rt_block_entries(struct drain_record *r, u32 text, u32 i);
void rt_note_entries(struct drain *d, u32 type, const u64 *arg);

/* ---- drain.c --------------------------------------------------------------------------------- */
void rt_empty_chunk(struct rt_block *b);

#pragma GCC visibility pop
#endif
