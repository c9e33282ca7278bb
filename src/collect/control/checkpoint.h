/* SPDX-License-Identifier: MIT */
/* checkpoint.h - a replay is kept where it has been, and goes on from there again
 *
 * A *checkpoint* is a copy of the replayed process at a safepoint: its memory, by fork(); what the
 * kernel has of its threads; and what the controller has of it. The copy itself never runs: whoever
 * goes back forks it once more. A replay that is kept makes one about every half second. There are
 * at most CHECKPOINTS of them, and fewer where memory is short: the farther back, the fewer are
 * kept.
 *
 * Only the recording's first process is copied, while there is no other one, and its memory is not
 * shared. Where no checkpoint can be made a replay goes back to the one before, or begins anew.
 *
 * INVARIANTS
 * (1) A checkpoint's process is stopped, by ptrace(), from its first moment on. It dies with us.
 * (2) At a checkpoint one thread stands (RQ_STOP), and all others wait for the token; none is in a
 *     handler of the runtime, nor has it a signal coming. So all that the kernel has of them is
 *     registers, signal mask and where their signal stack is.
 * (3) While a process replays no other one has its thread blocks: the live one has ended before a
 *     checkpoint gets them again.
 * (4) A checkpoint holds its code space, as a process does.
 *
 * Ownership  the session owns checkpoints; one is lent to pm_stops.from().
 * Errors     what keeps one from being made is none: it is not made.
 * Threads    the session's. */
#ifndef PM_CONTROL_CHECKPOINT_H
#define PM_CONTROL_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/position.h"

struct checkpoint;

enum checkpoint_thread {
	CHECKPOINT_BEFORE,		/* the thread has not begun */
	CHECKPOINT_STANDS,		/* in front of *@at */
	CHECKPOINT_WAITS,		/* behind safepoint at->clock, nobody knows how far */
	CHECKPOINT_BEHIND,		/* it has ended: another one of that number begins at *@at,
					 * if one does */
};
enum checkpoint_thread checkpoint_thread(const struct checkpoint *c, uint32_t tid,
					 struct pm_position *at);
/* Safepoints that all threads have passed up to there: the later of two checkpoints has more. */
uint64_t checkpoint_passed(const struct checkpoint *c);
/* Where the thread stands that stands. */
const struct pm_position *checkpoint_stands(const struct checkpoint *c);

/* ---- for the session ------------------------------------------------------------------------- */
struct session;
struct space;
struct freeze;

void checkpoints_open(struct session *s);
void checkpoints_close(struct session *s);
/* A thread stands at a safepoint, @f (stop_work.h), where one may be made; @goal: it will soon be
 * where it is to stop. */
void checkpoints_pass(struct session *s, const struct freeze *f, bool goal);
/* The session, in which no process lives, goes on from the last checkpoint that its stops allow.
 * False: there is none. */
bool checkpoints_return(struct session *s);
uint32_t checkpoints_refs(const struct session *s, const struct space *sp);	/* (4) */

#endif
