/* SPDX-License-Identifier: MIT */
/* exec_spots.h - where recorded processes execute other programs
 *
 * The events of a thread end with its execve(), or with its process, since another thread has
 * executed. Those of the new program begin another stream. Streams are numbered as they begin: who
 * has executed began behind the program before, and in front of the next one.
 *
 * Ownership  exec_spots_release() frees what is kept.
 * Threads    none: one struct for each. */
#ifndef PM_QUERY_EXEC_SPOTS_H
#define PM_QUERY_EXEC_SPOTS_H

#include "base/mem.h"
#include "trace/position.h"

struct executed {
	uint32_t pid, stream;		/* by pm_stream.index */
	struct pm_position at;		/* of a call: in front of it; else where a program begins */
	bool forked;			/* a process begins with it */
};

struct exec_spots {			/* all zero: none */
	struct executed *call;		/* that has not returned */
	size_t ncall, cap_call;
	struct executed *program;	/* in each process in order, its first one included */
	size_t nprogram, cap_program;
};

/* Event @ev of @b is about to happen to @t, which executes code of 64 bits or @i386's; any that is
 * none of an instruction. */
void exec_spots_pass(struct exec_spots *e, const struct pm_batch *b,
		     const struct pm_position_thread *t, bool i386, const struct pm_event *ev);
/* Does program @i come behind another one of its process? */
bool exec_spots_executed(const struct exec_spots *e, size_t i);
/* The call that has led to program @i, which another one has executed; NULL: not known. */
const struct pm_position *exec_spots_call(const struct exec_spots *e, size_t i);
void exec_spots_release(struct exec_spots *e);

#endif
