/* SPDX-License-Identifier: MIT */
/* stop_at.h - a replay stops at positions (trace/position.h), exactly, and there its program can be
 * looked at
 *
 * The replay runs at full speed to the safepoint that a position names. From there the program's
 * own instructions are executed in their original places, one at a time, by the processor. System
 * calls and what else the log has are done by the runtime, as ever. What is seen is what the
 * recorded program had: all registers, flags, vectors and memory.
 *
 * Where each position is the next instruction's, a thread is stepped: a system call in which
 * another one has its turn lets that run at full speed, to where it is to stop itself.
 *
 * Ownership  a struct standing is lent to stopped().
 * Errors     what keeps it from going on ends the replay; pm_run() says what that was.
 * Threads    the session's. */
#ifndef PM_CONTROL_STOP_AT_H
#define PM_CONTROL_STOP_AT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#include "trace/position.h"

struct standing;
struct checkpoint;

struct pm_stops {
	void *self;
	/* Where the thread is to stop next, @to, that begins at @from (@begins), or stands there:
	 * then it is another one behind that. @to may be where the next safepoint is passed: it
	 * stands at that then. False: nowhere any more. */
	bool (*next)(void *self, const struct pm_position *from, bool begins,
		     struct pm_position *to);
	/* There is no @to: its safepoint has only @insns instructions in front of the next one. The
	 * replay ends. NULL: with an error. */
	void (*missed)(void *self, const struct pm_position *to, uint64_t insns);
	/* It stands there. False: nothing more is wanted, the replay ends. */
	bool (*stopped)(void *self, struct standing *st);
	/* Of a replay that is kept (pm_replay_go()): is @c, which lies farther back than those that
	 * were asked about before, in front of all where it is to stop? Then it goes on there, if
	 * it can. NULL: it begins anew. */
	bool (*from)(void *self, const struct checkpoint *c);
};

const struct pm_position *stopped_position(const struct standing *st);
/* The program that it executes there: its number in the recording, as rec_start_of() has it. */
uint32_t stopped_program(const struct standing *st);
/* So many events of that program's log are behind it. With the position that orders all stops in a
 * program: from one event to the next a single thread executes. */
uint64_t stopped_event(const struct standing *st);
bool stopped_is_i386(const struct standing *st);
void stopped_regs(struct standing *st, struct user_regs_struct *to);
/* Its vector and floating-point state, as XSAVE lays it out: how many bytes, at most @n; 0: it
 * cannot be read. */
size_t stopped_vectors(struct standing *st, void *to, size_t n);
/* Memory of its process; false: not all of that is mapped. */
bool stopped_read(struct standing *st, void *to, uint64_t at, size_t n);
/* Threads of its process that have begun and not ended, by number, at most @n: how many. */
size_t stopped_threads(const struct standing *st, uint32_t *tid, size_t n);
/* Of one of these that waits for its turn: where it goes on, without the base of fs. False: there
 * is no such thread. */
bool stopped_others_regs(struct standing *st, uint32_t tid, struct user_regs_struct *to);

/* ---- for the session ------------------------------------------------------------------------- */
struct session;
struct proc;
struct thread;
void stops_open(struct session *s);
/* The next journey of a replay that is kept: s->opts->stops are others. */
void stops_again(struct session *s);
void stops_close(struct session *s);
/* Thread @t of @p begins, or has ended: its clock counts from there. */
void stops_thread(struct session *s, struct proc *p, struct thread *t);
void stops_thread_over(struct session *s, struct proc *p, const struct thread *t);
/* Is the request in thread block @i one to stop? It is answered in stops_run(). */
bool stops_takes(struct session *s, uint32_t i);
/* Whoever stands is seen to. */
void stops_run(struct session *s);
/* Why the replay could not go on; NULL: it could. */
const char *stops_error(const struct session *s);

#endif
