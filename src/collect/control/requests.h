/* SPDX-License-Identifier: MIT */
/* requests.h - what threads ask of the controller by their mailboxes (enum rt_op of runtime/abi.h)
 *
 * requests.c takes a request out of its mailbox, finds its handler and puts the answer back.
 * Handlers are in request_code.c (what is translated where) and request_process.c (threads,
 * processes, programs).
 *
 * Ownership  a struct request lives while it is answered; what it points to is the session's.
 * Errors     none: a request that makes no sense has an empty answer.
 * Threads    one: the controller's. */
#ifndef PM_CONTROL_REQUESTS_H
#define PM_CONTROL_REQUESTS_H

#include "collect/control/session.h"

struct request {
	uint32_t block;			/* of the thread that asks */
	struct proc *p;			/* its process, */
	struct space_user *user;	/* ... whose address space, perhaps another's, is p->mm's */
	struct rt_mail *m;		/* a[]: the request; r[], commands: the answer */
	bool alone;	/* nobody else executes the space, nor waits for a part of this answer */
	bool stands;	/* the answer is the same once the commands have run */
};

typedef void request_fn(struct session *s, struct request *q);

/* ---- requests.c ------------------------------------------------------------------------------ */
/* Answer the thread with thread block @bi, in whose mailbox a request is. */
void request_answer(struct session *s, uint32_t bi);

/* ---- request_code.c -------------------------------------------------------------------------- */
request_fn request_lookup, request_resolve, request_signal, request_cut, request_step,
	request_checkfail, request_map, request_unmap, request_make_way, request_open,
	request_mapped, request_counting;

/* ---- request_process.c ----------------------------------------------------------------------- */
request_fn request_hello, request_block, request_unblock, request_forked, request_exec,
	request_execfail, request_exit, request_begin;

#endif
