/* SPDX-License-Identifier: MIT */
/* frozen.h - a copy of a replayed process that never runs, and copies of that which do
 *
 * fork() copies one thread, which is the process's first one unless that has ended. When the copy
 * is copied again, to run, all others are made anew in that, and get what they had: registers,
 * vectors, signal mask, signal stack, and 32-bit ones their segments. Thread blocks are shared
 * memory, and the caller's to copy.
 *
 * Errors     false: nothing has been made, and the process is as it was.
 * Threads    the session's (it is ptrace()). */
#ifndef PM_CONTROL_FROZEN_H
#define PM_CONTROL_FROZEN_H

#include <asm/ldt.h>

#include "collect/control/stop_work.h"

#define FROZEN_TLS 3			/* GDT_ENTRY_TLS_ENTRIES of Linux */

struct frozen_thread {
	pid_t tid;			/* of the process that was copied */
	uint32_t block;			/* 0: it has none any more, and will never go on */
	struct user_regs_struct regs;
	uint64_t mask;
	struct user_desc tls[FROZEN_TLS];	/* of a 32-bit thread: segments of its own */
	uint8_t *vectors;		/* NULL: they are in the copy */
	size_t nvectors;
};

struct frozen {
	pid_t pid;			/* it is at a stop of ptrace(); 0: there is none */
	uint64_t pass;			/* where a syscall instruction is */
	struct frozen_thread *thread;	/* [0]: the one that fork() has copied */
	size_t n;
};

bool frozen_make(struct session *s, const struct freeze *f, struct frozen *z);
/* Copy @z: the new process's threads, @tid, in the order of z->thread, are at stops, and go on by
 * frozen_run(). */
bool frozen_copy(struct session *s, const struct frozen *z, pid_t *tid);
void frozen_run(const struct frozen *z, const pid_t *tid);
void frozen_release(struct frozen *z);

#endif
