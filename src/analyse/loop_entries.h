/* SPDX-License-Identifier: MIT */
/* loop_entries.h - loop entries of all threads of a program, and its work: instructions but for
 * those that only wait
 *
 * After A. Sabu and others, "LoopPoint" (HPCA 2022): threads take turns differently each time, and
 * wait for different lengths. How often a loop has been entered by all threads together does not
 * depend on that, so such a count says where a region of the program begins.
 *
 * (1) A loop's header is where a jump back leads that was taken: a direct one, not a call.
 * (2) An entry of it is each time that the instruction there executes, by whatever thread, from the
 *     beginning of the trace.
 * (3) Waiting: instructions of libraries for synchronisation (libgomp, libomp, libiomp5,
 *     libpthread, libtbb), and iterations of spin loops. An iteration is from header to header of
 *     one loop. It spins if it has at most 64 instructions, writes nothing, and has a pause
 *     instruction; or if it consists of loads, comparisons and jumps alone and reads what the
 *     iteration before read.
 *
 * x86 only: of other instructions none spins. */
#ifndef PM_ANALYSE_LOOP_ENTRIES_H
#define PM_ANALYSE_LOOP_ENTRIES_H

#include <stdbool.h>

#include "pugmark/pugmark.h"

struct pm_loops;
struct pm_loops *pm_loops_new(void);
void pm_loops_free(struct pm_loops *l);		/* NULL is fine */

/* @to is told of each block that has ended: @insns instructions of @thread in the block at @pc.
 * Of a spin loop's it is told once more, with the same number to be taken away (@undo). */
struct pm_loops_to {
	void (*block)(void *ctx, uint32_t thread, uint64_t pc, uint64_t insns, bool undo);
	/* The loop at @pc, in code that does not wait, is entered for the @count-th time; its first
	 * instruction is not in *before yet. */
	void (*entry)(void *ctx, uint64_t pc, uint64_t count);
	void *ctx;
};
/* @before, instructions of all threads that have come so far, is raised. */
void pm_loops_batch(struct pm_loops *l, const struct pm_batch *b, const struct pm_loops_to *to,
		    uint64_t *before);
/* The blocks that have not ended are told, too. */
void pm_loops_flush(struct pm_loops *l, const struct pm_loops_to *to);

#endif
