/* SPDX-License-Identifier: MIT */
/* slice.h - a part of a trace: by position, by time, by thread, by place in the code
 *
 * Positions count instructions over all streams in the order of the trace, from 0. What belongs to
 * an instruction (references, micro-ops, its branch) goes where it goes. In a trace without
 * instructions every event counts as one, but not what only the trace's own format understands.
 * Events between instructions (system calls, mmaps, markers...) are kept if the position is inside
 * the window; those that say what a stream is (process, thread, exec, mmap) are also kept before
 * it.
 *
 * A window that begins inside a block gives that block's rest as instructions; one that ends inside
 * a block gives a block that executed less. Selecting by code expands all blocks. */
#ifndef PM_TRANSFORM_SLICE_H
#define PM_TRANSFORM_SLICE_H

#include "trace/pipeline.h"

struct pm_slice_range {
	uint64_t lo, hi;		/* lo <= address < hi */
};

/* Is the instruction at @pc wanted? The answer holds from @pc on to *hi (exclusive). */
typedef bool pm_slice_where(void *arg, const struct pm_object *object, uint64_t pc, uint64_t *hi);

struct pm_slice_opts {
	uint64_t from, count;		/* instructions; count UINT64_MAX: to the end */
	uint64_t time_from, time_to;	/* PM_EV_TIME values; 0, UINT64_MAX: all */
	uint32_t tid;			/* 0: all threads */
	const struct pm_slice_range *range;	/* borrowed; instructions (references, if there
						 * are none) */
	size_t nrange;
	pm_slice_where *where;		/* NULL: no such condition */
	void *where_arg;
	uint64_t skipped;		/* instructions that the source left out before its first
					 * event */
	uint32_t facts;			/* what the source offers: decides what an instruction is */
};

/* PM_SINK_BLOCKS unless code is selected: pick by pm_slice_blocks(). */
extern const struct pm_transform_ops pm_slice_ops, pm_slice_expanded_ops;
bool pm_slice_blocks(const struct pm_slice_opts *o);
void *pm_slice_new(const struct pm_slice_opts *o);
/* Is it of those that say what a stream is? */
bool pm_slice_is_context(uint8_t kind);
/* Set once nothing behind this point can be wanted: the driver may stop reading. */
bool pm_slice_done(const void *self);
/* How many instructions are in it; if the trace has none, events. *@seen: of all that were read. */
uint64_t pm_slice_kept(const void *self, uint64_t *seen);

#endif
