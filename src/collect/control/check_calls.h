/* SPDX-License-Identifier: MIT */
/* check_calls.h - does the table of system calls (runtime/calls.inc) have all that calls write?
 *
 * A recorded process asks in front of each call and behind it (RQ_CHECK). What has been written
 * between, and what the log does not have, is a *hole*: a replay would have other memory there.
 *
 * Nobody can tell who has written if other threads executed meanwhile: such a call is not checked,
 * and counted. If others only waited in calls of their own, the kernel may have written for one of
 * these: then the hole is one only if the log does not have it when these are over, either.
 *
 * Ownership  the session owns it: s->checks, from check_calls_open() to check_calls_close().
 * Trust      what a process says of its calls only makes what is said of it wrong.
 * Threads    the controller's. */
#ifndef PM_CONTROL_CHECK_CALLS_H
#define PM_CONTROL_CHECK_CALLS_H

#include "collect/control/session.h"

struct check_call {
	uint32_t nr;
	bool real;			/* it changes the address space, and is done again when
					 * replaying */
	uint64_t arg[6];
};

void check_calls_open(struct session *s);	/* if that is wanted */
/* A thread of @p, with thread block @block, is about to make a call, in front of which all has been
 * logged. @uffd: 1 + number of a userfaultfd in @p; 0: none. False: one is wanted, ask again. */
bool check_calls_begin(struct session *s, struct proc *p, uint32_t block, uint64_t uffd,
		       const struct check_call *call);
/* ... and has made it. */
void check_calls_end(struct session *s, struct proc *p, uint32_t block);
/* Events that have been logged, whole ones. */
void check_calls_log(struct session *s, struct proc *p, const uint8_t *events, size_t n);
void check_calls_over(struct session *s, struct proc *p);	/* @p has ended */
/* Says what has been found, in lines for the user, and counts it for the caller of pm_run(). */
void check_calls_report(struct session *s);
void check_calls_close(struct session *s);

#endif
