/* SPDX-License-Identifier: MIT */
/* call_stack.h - the calls of one stream that have not returned, from the control flow that was
 * executed
 *
 * A call begins with its branch, and ends with the return that takes its return address. The first
 * instruction of a stream is in a call, too: of a function that nobody has seen called. A jump to
 * another function (a tail call) stays in the call that jumps. A signal's handler is a call until
 * sigreturn. Calls that are left otherwise - longjmp, exceptions - end with the next call or
 * return, if the trace has addresses of the stack: what lies below those in use is over. A return
 * that fits nothing ends nothing.
 *
 * Invariants
 * (1) Calls nest: one ends only when all that began after it have ended.
 * (2) Every call ends exactly once, at the latest with pm_call_stack_end().
 *
 * Units      times are whatever the user counts. Threads: one per stack. No errors. */
#ifndef PM_TRACE_CALL_STACK_H
#define PM_TRACE_CALL_STACK_H

#include <stdbool.h>

#include "pugmark/pugmark.h"

struct pm_call {
	uint64_t pc;			/* where the function was entered */
	uint64_t ret;			/* where it is to return to; 0: not known */
	uint64_t slot;			/* ... which stands there on the stack, or would, if not
					 * below; 0: not known */
	uint64_t insns;			/* of the stream, before it */
	uint64_t begin;			/* time */
	uint32_t object;		/* the user's; PM_NONE until then */
	bool handler;			/* a signal's */
};

struct pm_call_stack {			/* all 0: empty */
	struct pm_call *call;		/* the innermost is the last */
	size_t n, cap;
	uint64_t insns;			/* of the stream, so far */
	uint64_t stack_ref;		/* this instruction's last address on the stack; 0: none */
	/* @c has begun, and is the innermost; NULL: nobody wants to know. @c has ended, and was the
	 * innermost. @c is borrowed. Set by the user. */
	void (*began)(void *ctx, const struct pm_call *c);
	void (*ended)(void *ctx, const struct pm_call *c);
	void *ctx;
};

/* Does @e begin or end calls, perhaps? */
static inline bool pm_call_stack_may_change(const struct pm_call_stack *s,
					    const struct pm_event *e)
{
	switch (e->kind) {
	case PM_EV_INSN:
		return !s->n;
	case PM_EV_BRANCH:
		return e->flags & (PM_BR_CALL | PM_BR_RET);
	case PM_EV_SIGNAL: case PM_EV_SIGRETURN: case PM_EV_EXEC: case PM_EV_EXIT:
		return true;
	default:
		return false;
	}
}

void pm_call_stack_change(struct pm_call_stack *s, const struct pm_batch *b,
			  const struct pm_event *e, uint64_t time);

/* The next event of the stream, at @time, of any kind. Behind an instruction some call is open. */
static inline void pm_call_stack_event(struct pm_call_stack *s, const struct pm_batch *b,
				       const struct pm_event *e, uint64_t time)
{
	if (pm_call_stack_may_change(s, e))
		pm_call_stack_change(s, b, e, time);
	if (e->kind == PM_EV_INSN) {
		s->insns++;
		s->stack_ref = 0;
	} else if (e->flags & PM_REF_STACK &&
		   (e->kind == PM_EV_READ || e->kind == PM_EV_WRITE || e->kind == PM_EV_MODIFY)) {
		s->stack_ref = e->addr;
		/* what nobody has called - a handler, the first function of a stream - stands above
		 * what it uses first */
		if (s->n && !s->call[s->n - 1].slot)
			s->call[s->n - 1].slot = e->addr + 1;
	}
}

/* The stream is over: so are its calls. */
void pm_call_stack_end(struct pm_call_stack *s);
void pm_call_stack_release(struct pm_call_stack *s);

#endif
