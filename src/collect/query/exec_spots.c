/* SPDX-License-Identifier: MIT */
/* exec_spots.c - calls that have executed programs, and these */
#include <stdlib.h>
#include <sys/syscall.h>

#include "collect/query/exec_spots.h"
#include "collect/record/nr_i386.h"

/* A system call; what has been noted of an earlier one of the thread has returned. */
static void pass_call(struct exec_spots *e, const struct pm_batch *b,
		      const struct pm_position_thread *t, bool i386, const struct pm_event *ev)
{
	if (ev->value != (i386 ? NR32_execve : SYS_execve) &&
	    ev->value != (i386 ? NR32_execveat : SYS_execveat))
		return;
	pm_grow(e->call, e->ncall, e->cap_call);
	e->call[e->ncall] = (struct executed){ b->stream->pid, b->stream->index, t->at };
	e->call[e->ncall++].at.insns -= t->at.insns > 0;
}

/* A stream is over: is the last instruction that call? */
static void pass_end(struct exec_spots *e, const struct pm_batch *b,
		     const struct pm_position_thread *t)
{
	size_t n = 0;

	for (size_t i = 0; i < e->ncall; i++) {
		const struct executed *c = &e->call[i];

		if (c->stream != b->stream->index ||
		    (c->at.clock == t->at.clock && c->at.insns + 1 == t->at.insns))
			e->call[n++] = *c;
	}
	e->ncall = n;
}

void exec_spots_pass(struct exec_spots *e, const struct pm_batch *b,
		     const struct pm_position_thread *t, bool i386, const struct pm_event *ev)
{
	switch (ev->kind) {
	case PM_EV_SYSCALL:
		pass_call(e, b, t, i386, ev);
		break;
	case PM_EV_EXIT:
		pass_end(e, b, t);
		break;
	case PM_EV_PROCESS:
	case PM_EV_EXEC:
		pm_grow(e->program, e->nprogram, e->cap_program);
		e->program[e->nprogram++] = (struct executed){ b->stream->pid, b->stream->index,
							       t->at, ev->kind == PM_EV_PROCESS };
		break;
	default:
		break;
	}
}

/* The program that has been executed in the same process before program @i; NULL: there is none. */
static const struct executed *former(const struct exec_spots *e, size_t i)
{
	for (size_t k = i; k-- > 0 && !e->program[i].forked; )
		if (e->program[k].pid == e->program[i].pid)
			return &e->program[k];
	return NULL;
}

bool exec_spots_executed(const struct exec_spots *e, size_t i)
{
	return former(e, i);
}

const struct pm_position *exec_spots_call(const struct exec_spots *e, size_t i)
{
	const struct executed *to = &e->program[i], *from = former(e, i);

	for (const struct executed *c = e->call; from && c < e->call + e->ncall; c++)
		if (c->pid == to->pid && c->stream >= from->stream && c->stream < to->stream)
			return &c->at;
	return NULL;
}

void exec_spots_release(struct exec_spots *e)
{
	free(e->call);
	free(e->program);
	*e = (struct exec_spots){ 0 };
}
