/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/mem.h"
#include "trace/call_stack.h"

static void push(struct pm_call_stack *s, const struct pm_call *c)
{
	pm_grow(s->call, s->n, s->cap);
	s->call[s->n] = *c;
	s->call[s->n].insns = s->insns;
	s->call[s->n++].object = PM_NONE;
	if (s->began)
		s->began(s->ctx, s->call + s->n - 1);
}

/* All but the outermost @n. */
static void end_down_to(struct pm_call_stack *s, size_t n)
{
	while (s->n > n)
		s->ended(s->ctx, s->call + --s->n);	/* (1), (2) */
}

/* @slot is in use: calls whose return addresses lie below, or there, are over. If no call is left
 * then, @slot is on another stack, and says nothing about this one. */
static void end_dead(struct pm_call_stack *s, uint64_t slot)
{
	size_t n = s->n;

	while (n && s->call[n - 1].slot <= slot)
		n--;
	if (n)
		end_down_to(s, n);
}

static void call(struct pm_call_stack *s, const struct pm_event *e, uint64_t time)
{
	if (s->stack_ref)
		end_dead(s, s->stack_ref);
	push(s, &(struct pm_call){ .pc = e->value, .ret = e->addr + e->size, .slot = s->stack_ref,
				   .begin = time });
}

/* The call that a return to @ret ends, by its number from 1; 0: none. */
static size_t returning(const struct pm_call_stack *s, uint64_t ret)
{
	size_t n = s->n;

	while (n > 1 && (s->call[n - 1].ret != ret || s->call[n - 1].slot != s->stack_ref))
		n--;
	if (n > 1)
		return n;
	for (n = s->n; n > 1 && s->call[n - 1].ret != ret; )
		n--;
	return n > 1 ? n : 0;
}

static void branch(struct pm_call_stack *s, const struct pm_event *e, uint64_t time)
{
	size_t n;

	if (!(e->flags & PM_BR_TAKEN))
		return;
	if (e->flags & PM_BR_CALL) {
		call(s, e, time);
	} else if (e->flags & PM_BR_RET) {
		n = returning(s, e->value);
		if (n)
			end_down_to(s, n - 1);
		else if (s->stack_ref)
			end_dead(s, s->stack_ref);
	}
}

static void signal_begins(struct pm_call_stack *s, const struct pm_batch *b,
			  const struct pm_event *e, uint64_t time)
{
	const struct pm_rare *r = e->id < b->nrare ? b->rare + e->id : NULL;

	if (!r || !r->nargs || !r->arg[0])
		return;
	push(s, &(struct pm_call){ .pc = r->arg[0], .begin = time, .handler = true });
}

static void signal_ends(struct pm_call_stack *s)
{
	size_t n = s->n;

	while (n && !s->call[n - 1].handler)
		n--;
	if (n)
		end_down_to(s, n - 1);
}

void pm_call_stack_change(struct pm_call_stack *s, const struct pm_batch *b,
			  const struct pm_event *e, uint64_t time)
{
	switch (e->kind) {
	case PM_EV_INSN:
		push(s, &(struct pm_call){ .pc = e->addr, .begin = time });
		break;
	case PM_EV_BRANCH:
		if (s->n)
			branch(s, e, time);
		break;
	case PM_EV_SIGNAL:
		signal_begins(s, b, e, time);
		break;
	case PM_EV_SIGRETURN:
		signal_ends(s);
		break;
	case PM_EV_EXEC:		/* another program: nothing on the stack is left */
	case PM_EV_EXIT:
		end_down_to(s, 0);
		break;
	default:
		break;
	}
}

void pm_call_stack_end(struct pm_call_stack *s)
{
	end_down_to(s, 0);
}

void pm_call_stack_release(struct pm_call_stack *s)
{
	free(s->call);
	*s = (struct pm_call_stack){ 0 };
}
