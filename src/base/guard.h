/* SPDX-License-Identifier: MIT */
/* guard.h - faults of this process that files of the cache may be the cause of
 *
 * A file that is cut short while it is mapped: zeros come to the place of what is missing, and the
 * process goes on. Who reads mapped files must stay inside whatever the bytes say, also if they
 * have just been something else.
 *
 * A fault of any other kind ends the process, as it would without us, but first the kept files that
 * it uses are removed (kept.h): if one of them is why, the next run does not die of it. Then those
 * who have asked for it are told: who has promised something to other processes, and who says what
 * has happened.
 *
 * Threads    any; the handler runs in that which has the fault. */
#ifndef PM_BASE_GUARD_H
#define PM_BASE_GUARD_H

#include <stdbool.h>

/* From now on, for good; but not signals that somebody else handles already. */
void pm_guard(void);
/* From now on, in the first thread: @fn is called, and does not return, when its stack has to grow
 * and cannot: there is no memory, or RLIMIT_AS or RLIMIT_STACK leave none. */
void pm_guard_stack(void (*fn)(void));
/* Called in the handler of signal @sig, when @removed kept files have been removed: nothing of the
 * process can be relied upon. In the order of slots; NULL: nobody. */
enum pm_guard_slot { PM_GUARD_SESSION, PM_GUARD_COMMAND, PM_GUARD_SLOTS };
typedef void pm_guard_fn(void *ctx, int sig, unsigned removed);
void pm_guard_last(enum pm_guard_slot slot, pm_guard_fn *fn, void *ctx);
/* The process is about to end for a reason of its own: who has promised something is called, with
 * signal 0. */
void pm_guard_let_go(void);
/* Has a file been cut short under us? */
bool pm_guard_cut(void);

#endif
