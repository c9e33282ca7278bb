/* SPDX-License-Identifier: MIT */
/* recorder.h - a session that records what it runs, or that runs a recording again
 *
 * Recorded: each process is a stream. Its runtime logs (runtime/to_log.c), and here
 * what is logged goes into the recording, with what the program began with and the files that it
 * maps.
 * Replayed: the process executes the runtime alone, which maps what the program began with
 * (runtime/replay_start.c), and asks for more of the log when it has used what there is.
 *
 * Ownership  the session owns both; recordings are opened by whoever runs the session.
 * Errors     a recording that cannot be written: record_close() says so, and the program has gone
 *            on.
 * Threads    the controller's. */
#ifndef PM_CONTROL_RECORDER_H
#define PM_CONTROL_RECORDER_H

#include "collect/control/session.h"

/* ---- recorder.c ----------------------------------------------------------------------------- */
/* Before the program is launched. PM_ERR: the recording cannot be written. */
enum pm_status record_open(struct session *s, struct pm_err *err);
/* @pid, with thread block @block, stands at its exec stop: from here on it is recorded. False: it
 * cannot be; @why says. */
bool record_begin(struct session *s, pid_t pid, uint32_t block, const struct user_regs_struct *regs,
		  uint64_t mask, bool exec_all, char *why, size_t n);
/* What has been logged so far is written. To be called now and then: who is killed has written
 * the rest only up to here. */
void record_drain_all(struct session *s);
void record_over(struct session *s, struct proc *p);	/* @p has ended */
/* Processes that have the same memory log in one place: whose that is. */
struct proc *record_logger(struct proc *p);
/* @p executes another program. 1 + the stream whose program that is executed by; 0: nothing more is
 * recorded of it. Where others keep @p's memory that is another one than theirs. */
uint32_t record_executes(struct session *s, struct proc *p);
/* @p has ended, before record_over(): one that goes on has its log then, and p->stream is 0. */
void record_leaves(struct session *s, struct proc *p);
/* @p is about to make a process, @child: 1 + its stream; 0: it will not be recorded. */
uint32_t record_child(struct session *s, struct proc *p, struct proc *child);
void record_logged(struct session *s, struct proc *p);	/* what @p has logged is written */
void record_full(struct session *s, struct proc *p);	/* its log is */
/* 1 + the number of file @link, of which [off, off + n) is mapped; 0: it cannot be recorded. */
uint32_t record_mapped(struct session *s, const char *link, uint64_t off, uint64_t n);
/* May file @link be mapped there, to share what is written? Not if it is no ordinary file, or if a
 * recorded process has mapped a part of that to share already, and @writes, or that one. */
bool record_shares(struct session *s, const char *link, uint64_t off, uint64_t n, bool writes);
/* Where @p has mapped [off, off + n) of it to share: up to three addresses and lengths. */
void record_shared(const struct proc *p, const char *link, uint64_t off, uint64_t n,
		   uint64_t to[6]);
/* From here on nothing is recorded; @why: enum rt_log_end. */
void record_stop(struct session *s, struct proc *p, uint64_t why, uint64_t more);
enum pm_status record_close(struct session *s, struct pm_err *err);

/* ---- segments.c ------------------------------------------------------------------------------ */
/* Which one, RT_SEGMENT(), @p is about to attach by its identifier @id. 0: it cannot be recorded;
 * *@more: for RT_END_SEGMENT. */
uint64_t segment_find(struct session *s, const struct proc *p, int id, uint64_t *more);
/* Which one the file @link is, of which [off, off + n) is about to be mapped to share; 0: it is no
 * POSIX shared memory, or, if *@more is not 0, it cannot be recorded. */
uint64_t segment_of_file(struct session *s, const char *link, uint64_t off, uint64_t n,
			 uint64_t *more);
/* Can it be recorded that @p has @n bytes at @at of what it has mapped there? */
bool segment_may_grow(const struct session *s, const struct proc *p, uint64_t at, uint64_t n);
/* To be called now and then: if a process that is not recorded has attached one that recorded ones
 * have, their recording ends. */
void segments_watch(struct session *s);
/* Replayed: where in the data file the memory of segment @which is; 0: there is no room. */
uint64_t segment_memory(struct session *s, uint64_t which);
/* Where a part is mapped of what @p has attached at @at; *n: how many bytes, 0: none is. */
uint64_t segment_part(const struct session *s, const struct proc *p, uint64_t at, uint64_t *n);
void segments_clear(struct session *s);		/* the replay begins anew: they are as at first */
void segments_release(struct session *s);

/* ---- replay_begin.c, replay_log.c ------------------------------------------------------------ */
enum pm_status replay_launch(struct session *s, struct pm_err *err);
/* More of the log of @p: bytes. *execs: behind them another program is executed. */
size_t replay_more(struct session *s, struct proc *p, uint64_t *execs);
/* @child, a copy of @p, is about to be made again: its stream, its number then. */
void replay_child(struct session *s, const struct proc *p, struct proc *child, uint64_t stream,
		  uint64_t pid);
/* @p executes its next program: @m is the answer to RQ_LOG_EXEC. */
void replay_exec(struct session *s, struct proc *p, struct rt_mail *m);
/* The program, at @pc, does by system call @call what it has not done when it was recorded. */
void replay_differs(struct session *s, const struct proc *p, uint32_t block, uint64_t pc,
		    uint64_t call);
/* Nobody wants to see the rest: all processes are killed. */
void replay_ends(struct session *s);
/* To be called now and then: processes that wait for the group's token, which nobody has any more,
 * are ended. */
void replay_check_group(struct session *s);
/* @p has ended: there has to be nothing more in its log. */
void replay_over(struct session *s, const struct proc *p);
void replay_release(struct session *s);
/* @p has ended. If it was made to, where its log ends, it ended as the recording says: its status
 * and signal become -1 where that was not seen. */
void replay_ended_as(const struct session *s, struct proc *p);
/* The program is over: what is wrong with the replay, or with its recording? Changes @c's status to
 * what was recorded. */
enum pm_status replay_result(const struct session *s, struct pm_counts *c, struct pm_err *err);
/* How much of the recording has been used, into @m, which the caller releases; it goes on from
 * there, with process @p, whose log, if it has begun, is filled again. */
struct replay_mark {
	uint32_t root;
	size_t *read;			/* of each stream */
};
void replay_mark(const struct session *s, struct replay_mark *m);
void replay_return(struct session *s, const struct replay_mark *m, struct proc *p);
/* Is @p the recording's first process, with memory that a copy of it will have? */
bool replay_is_copied(struct session *s, const struct proc *p);

#endif
