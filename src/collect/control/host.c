/* SPDX-License-Identifier: MIT */
/* host.c - what code spaces ask of whoever runs processes in them: space_hooks of space/space.h */
#include <signal.h>

#include "collect/consume/trace.h"
#include "collect/control/session.h"

static ssize_t hook_read(struct spaces *s, void *to, uint64_t at, size_t n)
{
	return session_read(session_of(s), to, at, n);
}

static bool hook_unwritten(struct spaces *s, uint64_t lo, uint64_t hi)
{
	return peek_unwritten((pid_t)session_of(s)->asking_tid, lo, hi);
}

static bool hook_read_maps(struct spaces *s, struct maps *m)
{
	return session_read_maps(session_of(s), m);
}

static uint64_t hook_likely(struct spaces *s, const struct module *m, uint64_t slot)
{
	return slot_target(session_of(s), m, slot);
}

static bool hook_constant(struct spaces *s, const struct module *m, uint64_t lo, uint64_t hi)
{
	return is_constant(session_of(s), m, lo, hi);
}

static bool hook_only_counts(struct spaces *s)
{
	return s->counts && trace_counts(session_of(s)->tracer, s->asking);
}

static uint32_t hook_next_number(struct spaces *s)
{
	return trace_next(session_of(s)->tracer);
}

static void hook_number(struct spaces *s, const struct space *sp, uint32_t first, uint32_t n)
{
	trace_numbers(session_of(s)->tracer, sp, first, n);
}

static void hook_points(struct spaces *s, const char *path, uint64_t bias, struct pm_buf *to)
{
	trace_points(session_of(s)->tracer, path, bias, to);
}

static void hook_links_moved(struct spaces *s, struct space_user *user, uint64_t at)
{
	struct session *session = session_of(s);

	for (size_t i = 0; i < session->nproc; i++) {
		const struct proc *p = session->proc[i];

		for (size_t k = 0; &p->mm->user == user && k < p->nthread; k++)
			if (p->thread[k].live)
				session_block(session, p->thread[k].block)->links = at;
	}
}

static void hook_give_up(struct spaces *s, const struct space_user *user, const char *why)
{
	const struct proc *p = (const struct proc *)(const void *)((const char *)user -
								   offsetof(struct proc, user));

	pm_warn(&s->warn, "process %u cannot be traced any longer and is killed: %s", p->pid,
		why);
	/* its number may be another one's by now, unless it is our child */
	if (p->is_child ||
	    peek_is_ours(session_of(s), p->pid, p->mm->user.space->i386) == PEEK_OURS)
		kill((pid_t)p->pid, SIGKILL);
}

static void hook_note_used(struct spaces *s, struct space *sp)
{
	gather_used(session_of(s), sp);
}

static bool hook_running(struct spaces *s)
{
	return session_running(session_of(s));
}

const struct space_hooks session_hooks = {
	.read = hook_read,
	.unwritten = hook_unwritten,
	.read_maps = hook_read_maps,
	.likely = hook_likely,
	.constant = hook_constant,
	.only_counts = hook_only_counts,
	.next_number = hook_next_number,
	.number = hook_number,
	.points = hook_points,
	.links_moved = hook_links_moved,
	.give_up = hook_give_up,
	.note_used = hook_note_used,
	.running = hook_running,
	.segment = functions_segment,
	.segments = functions_hash,
};
