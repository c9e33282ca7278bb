/* SPDX-License-Identifier: MIT */
/* invariants.c - the numbered invariants of session.h, over all of a session */
#include "base/check.h"
#include "collect/control/checkpoint.h"
#include "collect/control/session.h"

static bool is_of(const struct session *s, const struct proc *p)
{
	for (size_t i = 0; i < s->nproc; i++)
		if (s->proc[i] == p)
			return true;
	return false;
}

static void check_process(const struct session *s, uint32_t index)
{
	const struct proc *p = s->proc[index];

	for (size_t k = 0; k < p->nthread; k++) {
		const struct thread *t = &p->thread[k];

		if (!t->live)
			continue;
		assert(t->block && t->block < s->block_high &&			/* (2) */
		       s->block_used[t->block] == BLOCK_USED &&
		       s->block_proc[t->block] == index + 1);
		assert(!p->gone && (!t->tid || p->pid));			/* (2), (5) */
	}
	if (p->gone)
		return;
	assert(is_of(s, p->mm) && !p->mm->gone && p->mm->mm == p->mm &&		/* (3) */
	       p->mm->user.space);
	for (size_t i = 0; p->pid && p->pid < PID_UNKNOWN && i < index; i++)
		assert(s->proc[i]->gone || s->proc[i]->pid != p->pid);		/* (5) */
}

static void check_blocks(const struct session *s)
{
	for (uint32_t i = 0; i < RT_BLOCKS; i++) {
		unsigned n = 0;

		if (s->block_used[i] != BLOCK_USED) {
			assert(!s->block_proc[i]);				/* (2) */
			continue;
		}
		assert(i && i < s->block_high && s->block_proc[i] &&		/* (2) */
		       s->block_proc[i] <= s->nproc);
		for (size_t k = 0; k < s->proc[s->block_proc[i] - 1]->nthread; k++) {
			const struct thread *t = &s->proc[s->block_proc[i] - 1]->thread[k];

			n += t->live && t->block == i;
		}
		assert(n == 1);							/* (2) */
	}
}

static void check_space(const struct session *s, const struct space *sp)
{
	uint32_t refs = checkpoints_refs(s, sp);

	for (size_t i = 0; i < s->nproc; i++) {
		const struct proc *p = s->proc[i];

		if (!p->gone && p->mm == p)
			refs += (p->user.space == sp) + (p->user.left == sp);
	}
	assert(refs == sp->refs);						/* (4) */
	for (size_t i = 0; i < sp->nmodule; i++) {
		const struct module *m = &sp->module[i];

		assert(m->code.len <= m->code.cap && m->text.lo < m->text.hi);
		for (size_t k = 0; k < i && !m->dead; k++)
			assert(sp->module[k].dead || sp->module[k].text.hi <= m->text.lo ||
			       m->text.hi <= sp->module[k].text.lo);	/* (6) of space/space.h */
	}
}

void session_check(const struct session *s)
{
	check_blocks(s);
	for (size_t i = 0; i < s->nproc; i++)
		check_process(s, (uint32_t)i);
	for (const struct space *sp = s->spaces.all; sp; sp = sp->next_space)
		check_space(s, sp);
}
