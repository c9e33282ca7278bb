/* SPDX-License-Identifier: MIT */
/* requests.h - what threads ask of the controller by their mailboxes (enum rt_op of runtime/abi.h)
 *
 * requests.c copies a request out of its mailbox, finds its handler and copies the answer back.
 * Handlers are in request_code.c (what is translated where) and request_process.c (threads,
 * processes, programs).
 *
 * Ownership  a struct request lives while it is answered; what it points to is the session's.
 * Errors     none: a request that makes no sense has an empty answer.
 * Trust      the traced processes can write anything into any mailbox, at any time. So a request is
 *            copied before it is looked at, and every number in it is checked by its handler. Who
 *            asks, and which process that is, is what session.h (6) knows, not what it says.
 * Threads    one: the controller's. */
#ifndef PM_CONTROL_REQUESTS_H
#define PM_CONTROL_REQUESTS_H

#include "collect/control/session.h"

struct request {
	uint32_t block;			/* of the thread that asks */
	struct thread *t;		/* ... it, as we know it */
	struct proc *p;			/* its process, */
	struct space_user *user;	/* ... whose address space, perhaps another's, is p->mm's */
	struct rt_mail m;		/* op, a[]: the request; the rest: the answer */
	size_t payload;			/* bytes of m.cmd, of an answer that is no commands */
	struct rt_cmd undone[RT_MAX_CMDS];	/* commands of the answer before, from the one */
	uint32_t nundone;			/* that failed on; 0: none has */
	bool alone;	/* nobody else executes the space, nor waits for a part of this answer */
	bool stands;	/* the answer is the same once the commands have run */
	bool stands_for_all;	/* ... also if others execute the space meanwhile */
};

typedef void request_fn(struct session *s, struct request *q);

/* ---- requests.c ------------------------------------------------------------------------------ */
/* Answer the thread with thread block @bi, in whose mailbox a request is. */
void request_answer(struct session *s, uint32_t bi);

/* ---- request_code.c -------------------------------------------------------------------------- */
request_fn request_lookup, request_resolve, request_signal, request_cut, request_step,
	request_checkfail, request_map, request_unmap, request_changes, request_make_way,
	request_open, request_mapped, request_counting;

/* The original address of instruction @insn of @block. */
uint64_t code_original(const struct space *sp, uint32_t block, uint32_t insn);
/* The thread with thread block @bi of @p stops at @code, in translated code, for good; its rsi and
 * rdi. */
void request_leave(struct session *s, struct proc *p, uint32_t bi, uint64_t code, uint64_t rsi,
		   uint64_t rdi);

/* ---- request_process.c ----------------------------------------------------------------------- */
request_fn request_hello, request_block, request_unblock, request_forked, request_exec,
	request_execfail, request_exit, request_begin;

/* ---- functions.c ----------------------------------------------------------------------------- */
request_fn request_functions;

/* ---- request_log.c --------------------------------------------------------------------------- */
request_fn request_log, request_log_file, request_log_exec, request_log_end,
	request_log_shared, request_log_segment, request_check;

#endif
