/* SPDX-License-Identifier: MIT */
/* schedule.h - threads of one or several traces on simulated cores, as one source
 *
 * The scheduler reads every stream at its own pace. What comes out is in the order of simulated
 * time: an instruction takes one unit of time on its core, whatever it does. As a stream begins to
 * run on a core it gets an event PM_KERNEL_CORE. Streams are numbered anew: those of the first
 * trace, of the second... Address spaces of different traces are different.
 *
 * THE RULES
 * (1) The core whose time is least goes on, the lowest number first: @step instructions, to the end
 *     of a block. So cores differ by a step, about. A step is never longer than a quantum.
 * (2) A stream that has run @quantum instructions makes room at the end of the step, if others
 *     wait for a core. They wait in one line, in the order in which they became ready; the first
 *     one that may run on a core that is idle gets it, if possible the one that it ran on last.
 *     With @pinned, stream i runs on core i mod @cores only.
 * (3) A thread begins when another stream of its trace has made it (clone, fork: the result is its
 *     tid), if its first event says that it began. Otherwise it is ready at once.
 * (4) A thread leaves its core where its next instruction would be, after a system call that
 *     - is a futex wait that succeeded: until another stream's futex wake that woke somebody there
 *       (one that came before counts), or for a join until the joined thread ends;
 *     - the trace gives times around: as long as that took, a unit for a nanosecond or cycle;
 *     - waits by its nature (poll, nanosleep, accept, wait4, fsync...): @wait units;
 *     - is sched_yield: to the end of the line.
 *     System calls are known by their x86-64 numbers.
 * (5) If nothing else can run, what has not begun begins, and then who waits longest goes on.
 *
 * A schedule can be kept and replayed. It is text:
 *     pugmark-schedule 1
 *     cores 4 step 100 streams 5
 *     CORE START INSTRUCTIONS STREAM       one line for each time that a stream ran
 * A replay does what the lines say, and no waits are looked at. If it is of other traces, it fails.
 *
 * A trace with several threads has to be a .pug file with an index. The trace's own order of what
 * threads do to each other (locks) is not kept, but for (3) and (4).
 *
 * Errors     name the trace, or the schedule's file and line.
 * Threads    one thread. */
#ifndef PM_TRANSFORM_SCHEDULE_H
#define PM_TRANSFORM_SCHEDULE_H

#include <stdbool.h>

#include "trace/format.h"

struct pm_schedule_conf {
	uint32_t cores;
	uint64_t quantum, step, wait;	/* instructions; 0: 100,000, 100, 10,000 */
	bool pinned;
	const char *from, *to;		/* schedules: to replay, to write; NULL: none; borrowed */
};

struct pm_schedule;
struct pm_schedule *pm_schedule_new(const struct pm_schedule_conf *c);
/* One more trace. */
enum pm_status pm_schedule_add(struct pm_schedule *s, const char *path, const char *format,
			       const struct pm_format **which, struct pm_err *err);
/* After all traces. The source owns @s; on an error nobody does. */
enum pm_status pm_schedule_source(struct pm_schedule *s, struct pm_source *src, struct pm_err *err);
void pm_schedule_free(struct pm_schedule *s);	/* NULL is fine */

#endif
