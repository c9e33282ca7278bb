/* SPDX-License-Identifier: MIT */
/* diff_trace.h - where two traces part: for each thread the first event that is not the same
 *
 * Threads are matched by their order of creation (pm_stream.index). Events of a thread are compared
 * one by one, blocks expanded to instructions. What is compared is what both traces hold: if one
 * has no sizes, sizes are not. Never compared are times, and the numbers that a thread and its
 * process have, also where a system call returns them.
 *
 * Memory does not grow with the traces. Where their threads take turns differently, events wait for
 * those of the other side, PM_DIFF_WAITING at most; when there are more, threads are put off, and
 * the files read again for them.
 *
 * Ownership  pm_diff_threads_release() gives everything back. */
#ifndef PM_ANALYSE_DIFF_TRACE_H
#define PM_ANALYSE_DIFF_TRACE_H

#include "analyse/diff.h"
#include "pugmark/pugmark.h"

#define PM_DIFF_WAITING	(1u << 19)	/* events */
#define PM_DIFF_BEFORE	4		/* instructions shown that are still the same */
#define PM_DIFF_AFTER	4		/* ... and from the difference on */

struct pm_diff_trace_opts {
	const char *format[2];		/* NULL: by content */
	uint64_t kinds;			/* 1 << enum pm_kind; 0: all */
	uint32_t waiting;		/* 0: PM_DIFF_WAITING */
};

struct pm_diff_moment {			/* one event, for readers */
	uint64_t event, insn;		/* of its thread, from 0; of an instruction: its own number,
					 * of others: that of the instruction they belong to */
	bool is_insn;
	char *text;			/* as dump has it, without the stream */
	char *code, *place;		/* assembler; function and line; NULL: not known */
};

struct pm_diff_thread {
	uint32_t index;
	struct { bool there; uint32_t pid, tid; char *name; uint64_t events, insns; } of[2];
	uint64_t events, insns;		/* that are the same, from the beginning */
	bool diverged;			/* false: all of it is the same, or only one side has it */
	struct pm_diff_moment *before, *after[2];	/* after[side] is empty where that side
							 * ends */
	size_t nbefore, nafter[2];
};

struct pm_diff_threads {
	struct pm_diff_thread *v;	/* by index; of neither side if none is there */
	size_t n;
	unsigned passes;
	bool differ;
};

/* Also fills the sides with what there is to count: totals and threads. */
enum pm_status pm_diff_traces(const char *const path[2], const struct pm_diff_trace_opts *o,
			      struct pm_diff_side *a, struct pm_diff_side *b,
			      struct pm_diff_threads *to, struct pm_err *err);
void pm_diff_threads_release(struct pm_diff_threads *t);

#endif
