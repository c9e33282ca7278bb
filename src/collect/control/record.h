/* SPDX-License-Identifier: MIT */
/* record.h - a session that records what it runs, or that runs a recording again
 *
 * Recorded: the first process is. Its runtime logs (runtime/record.c), and here what is logged goes
 * into the recording, with what the program began with and the files that it maps.
 * Replayed: the process executes the runtime alone, which maps what the program began with
 * (runtime/replay_start.c), and asks for more of the log when it has used what there is.
 *
 * Ownership  the session owns both; recordings are opened by whoever runs the session.
 * Errors     a recording that cannot be written: record_close() says so, and the program has gone on.
 * Threads    the controller's. */
#ifndef PM_CONTROL_RECORD_H
#define PM_CONTROL_RECORD_H

#include "collect/control/session.h"

/* ---- record.c -------------------------------------------------------------------------------- */
void record_open(struct session *s);
/* @pid, with thread block @block, stands at its exec stop: from here on it is recorded. False: it
 * cannot be; @why says. */
bool record_begin(struct session *s, pid_t pid, uint32_t block, const struct user_regs_struct *regs,
		  char *why, size_t n);
/* What has been logged so far is written. To be called now and then: who is killed has written
 * the rest only up to here. */
void record_drain_all(struct session *s);
void record_over(struct session *s, struct proc *p);	/* @p has ended */
void record_child(struct session *s, const struct proc *p);	/* ... has a child */
void record_full(struct session *s, const struct proc *p, uint32_t block);	/* its log is */
/* 1 + the number of file @link, of which [off, off + n) is mapped; 0: it cannot be recorded. */
uint32_t record_mapped(struct session *s, const char *link, uint64_t off, uint64_t n);
/* From here on nothing is recorded; @why: enum rt_log_end. */
void record_stop(struct session *s, const struct proc *p, uint32_t block, uint64_t why,
		 uint64_t more);
enum pm_status record_close(struct session *s, struct pm_err *err);

/* ---- replay.c -------------------------------------------------------------------------------- */
enum pm_status replay_launch(struct session *s, struct pm_err *err);
size_t replay_more(struct session *s, const struct proc *p, uint32_t block);	/* of the log: bytes */
/* The program, at @pc, does by system call @call what it has not done when it was recorded. */
void replay_differs(struct session *s, uint32_t block, uint64_t pc, uint64_t call);
/* The program is over: what is wrong with the replay, or with its recording? Changes @c's status to
 * what was recorded. */
enum pm_status replay_close(struct session *s, struct pm_counts *c, struct pm_err *err);

#endif
