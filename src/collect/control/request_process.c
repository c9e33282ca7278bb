/* SPDX-License-Identifier: MIT */
/* request_process.c - requests that are about threads, processes and programs */
#include <stdio.h>
#include <string.h>

#include "collect/consume/trace.h"
#include "collect/control/requests.h"

/* ---- a thread begins ------------------------------------------------------------------------- */
void request_hello(struct session *s, struct request *q)
{
	struct rt_block *b = session_block(s, q->block);
	struct thread *t = thread_of(q->p, q->block);
	struct rt_mail *m = q->m;
	struct proc *p = q->p;

	if (p->apart && m->a[2] && !p->pid)
		m->a[0] = pid_here(s, (uint32_t)m->a[0], p->parent);
	else if (p->apart)
		m->a[0] = p->pid;
	if (p->apart)
		m->a[1] = m->a[2] ? m->a[0] : tid_here(s, p->pid, (uint32_t)m->a[1]);
	b->apart = p->apart;
	b->seen_pid = (uint32_t)m->a[0];
	b->seen_tid = (uint32_t)m->a[1];
	if (t)
		t->tid = b->seen_tid;
	if (m->a[2] && p->forker) {
		space_release(&s->spaces, &p->user, p->forker);
		p->forker = 0;
	}
	if (s->tracer && !m->a[2] && !m->a[5])
		trace_note(s->tracer, q->block, RT_N_THREAD, &m->a[1], 1, NULL);
	else if (s->tracer && !p->pid)
		trace_note(s->tracer, q->block, RT_N_PROCESS,
			   (const uint64_t[]){ m->a[0], p->parent }, 2, p->user.program);
	if (m->a[2] && !p->pid) {
		p->pid = (uint32_t)m->a[0];
		if (!p->user.program)
			p->user.program = peek_exe(s, p->pid);
		if (!p->is_child)
			p->pidfd = wake_watch(p->pid);
	}
}

/* ---- a thread or a process is about to be made ----------------------------------------------- */
/* A process like @p, with its first thread block; 0: there is none. @origin: enum rt_origin. */
static uint32_t prepare_child(struct session *s, struct request *q, uint64_t origin)
{
	struct proc *p = q->p, *c;
	uint32_t index, bi;

	c = proc_new(s, &index);
	bi = block_new(s, index, q->user->space->i386);
	c->parent = p->pid;
	c->apart = p->apart;
	c->user.program = p->user.program;
	c->user.space = p->user.space;
	if (origin == BLK_VFORKED) {
		c->mm = p->mm;			/* which holds the reference */
	} else {
		c->user.space->refs++;
		pm_buf_add(&c->user.placed, q->user->placed.p, q->user->placed.n);
		/* the child begins with what the parent's memory holds when it forks */
		c->forker = q->block;
		if (bi)
			c->user.space->busy = q->block;
	}
	if (bi)
		thread_new(c, bi);
	return bi;
}

void request_block(struct session *s, struct request *q)
{
	const uint64_t origin = q->m->a[0];
	uint32_t bi;

	q->p->apart |= q->m->a[1];
	if (origin == BLK_THREAD) {
		bi = block_new(s, s->block_proc[q->block] - 1, q->user->space->i386);
		if (bi)
			thread_new(q->p, bi);
	} else {
		bi = prepare_child(s, q, origin);
	}
	q->m->r[0] = bi;
}

/* Is block @i one that @p was given for a thread or process that has not begun? No other is its to
 * give back. */
static bool not_begun_by(const struct session *s, const struct proc *p, uint32_t i)
{
	const struct proc *c = s->proc[s->block_proc[i] - 1];
	const struct thread *t = thread_of((struct proc *)c, i);

	return t && !t->tid && (c == p || (!c->pid && !c->loads && c->parent == p->pid));
}

void request_unblock(struct session *s, struct request *q)
{
	const uint32_t i = (uint32_t)q->m->a[0];
	struct thread *t;
	struct proc *c;

	if (!i || i >= RT_BLOCKS || !s->block_proc[i] || !not_begun_by(s, q->p, i))
		return;
	c = s->proc[s->block_proc[i] - 1];
	t = thread_of(c, i);
	if (t)
		t->live = false;
	block_free(s, i);
	if (c == q->p)
		return;
	c->gone = true;				/* the fork failed */
	if (c->mm == c) {
		space_unref(&s->spaces, c->user.space);
		pm_buf_release(&c->user.placed);
	}
}

void request_forked(struct session *s, struct request *q)
{
	const uint32_t i = (uint32_t)q->m->a[0];
	struct proc *c = i && i < RT_BLOCKS && s->block_proc[i] ? s->proc[s->block_proc[i] - 1]
								: NULL;

	if (c && c->forker == q->block)
		c->forker = 0;
}

/* ---- a program is about to be executed ------------------------------------------------------- */
/* The program in descriptor @m->a[2] - 1 of the thread that asks is to be loaded. */
static void load_next(struct session *s, struct rt_mail *m)
{
	const uint32_t pid = session_block(s, s->spaces.asking)->seen_pid;
	const struct proc *next;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/fd/%d", session_asking(s), (int)m->a[2] - 1);
	next = load_from(s, path, pid);
	if (!next)
		return;
	m->r[0] = RT_LOAD_IT;
	m->r[1] = (uint64_t)next->loading->file;
	m->r[2] = next->loading->nstring;
	memcpy(m->cmd, next->loading->bytes, next->loading->nbytes);
}

void request_exec(struct session *s, struct request *q)
{
	struct rt_mail *m = q->m;

	m->r[0] = RT_NOT_FOLLOWED;
	q->p->apart |= m->a[1];
	q->p->own_no_aslr = m->a[0];
	if (s->opts->no_follow && q->p->parent)
		return;
	if (s->loaded) {
		if (m->a[2] && !q->p->apart)
			load_next(s, m);
	} else if (exec_follow(q->p, session_asking(s))) {
		m->r[0] = RT_FOLLOWED;
	}
}

void request_execfail(struct session *s, struct request *q)
{
	load_cancel(s, session_block(s, s->spaces.asking)->seen_pid);
	exec_unfollow(q->p, session_asking(s));
}

void request_begin(struct session *s, struct request *q)
{
	struct rt_boot boot = { 0 };

	if (!load_finish(s, q->p, q->block, &boot))
		return;
	memcpy(q->m->cmd, boot.range, sizeof boot.range);
	q->m->r[0] = boot.nrange;
	q->m->r[1] = boot.vdso;
}

/* ---- a thread ends --------------------------------------------------------------------------- */
void request_exit(struct session *s, struct request *q)
{
	const struct rt_block *b = session_block(s, q->block);
	struct thread *t = thread_of(q->p, q->block);

	if (!t)
		return;
	gather_thread(s, q->p, t);
	if (s->tracer)
		trace_over(s->tracer, q->block, 0, 0);
	/* the block is free once the thread has marked it dead */
	s->block_proc[q->block] = 0;
	s->block_used[q->block] = 2;
	if (b->pid == b->tid)
		q->p->clean_exit = true;
}
