/* SPDX-License-Identifier: MIT */
/* processes.c - processes, their threads and thread blocks: from the first to the last */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <unistd.h>

#include "collect/consume/trace.h"
#include "collect/control/check_calls.h"
#include "collect/control/recorder.h"
#include "collect/control/stop_at.h"

/* ---- thread blocks --------------------------------------------------------------------------- */
uint32_t block_new(struct session *s, uint32_t proc, bool i386)
{
	for (uint32_t i = 1; i < RT_BLOCKS - 1; i++) {	/* the last: functions.c */
		struct rt_block *b;

		b = session_block(s, i);
		if (s->block_used[i] == BLOCK_HELD &&
		    !__atomic_load_n(&b->holds, __ATOMIC_ACQUIRE) &&
		    !__atomic_load_n(&b->lost, __ATOMIC_ACQUIRE))
			s->block_used[i] = BLOCK_OVER;
		if ((s->block_used[i] != BLOCK_FREE && s->block_used[i] != BLOCK_OVER) ||
		    trace_busy(s->tracer, i))
			continue;
		if (s->block_used[i] == BLOCK_OVER) {
			/* recycle: nothing of the old thread may be left */
			fallocate(s->data_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				  (off_t)(i * RT_BLOCK_SIZE), (off_t)RT_BLOCK_SIZE);
		}
		s->block_used[i] = BLOCK_USED;
		s->block_proc[i] = proc + 1;
		if (i >= s->block_high)		/* consumers read it */
			__atomic_store_n(&s->block_high, i + 1, __ATOMIC_RELEASE);
		b->state = BLK_READY;
		b->spin = s->spin;
		b->number = i;
		if (s->tracer)
			trace_thread(s->tracer, i, i386);
		return i;
	}
	return 0;
}

void block_free(struct session *s, uint32_t i)
{
	struct rt_block *b = session_block(s, i);

	if (s->tracer)			/* where it ended by itself, that has been said already */
		trace_over(s->tracer, i, 0, 0);
	b->state = BLK_DEAD;
	b->mail.state = MAIL_IDLE;
	s->block_used[i] = b->holds || b->lost ? BLOCK_HELD : BLOCK_OVER;
	s->block_proc[i] = 0;
}

/* ---- threads --------------------------------------------------------------------------------- */
struct thread *thread_new(struct proc *p, uint32_t block)
{
	const struct thread t = { .block = block, .live = true };

	for (size_t i = 0; i < p->nthread; i++)
		if (!p->thread[i].live) {
			p->thread[i] = t;
			return &p->thread[i];
		}
	pm_grow(p->thread, p->nthread, p->cap_thread);
	p->thread[p->nthread] = t;
	return &p->thread[p->nthread++];
}

struct thread *thread_of(struct proc *p, uint32_t block)
{
	for (size_t i = 0; i < p->nthread; i++)
		if (p->thread[i].block == block && p->thread[i].live)
			return &p->thread[i];
	return NULL;
}

uint32_t threads_in(const struct session *s, const struct proc *mm)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->nproc; i++)
		for (size_t k = 0; s->proc[i]->mm == mm && k < s->proc[i]->nthread; k++)
			n += s->proc[i]->thread[k].live;
	return n;
}

/* ---- processes ------------------------------------------------------------------------------- */
struct proc *proc_new(struct session *s, bool i386, uint32_t *bi)
{
	const uint32_t *unused = (const uint32_t *)(const void *)s->unused_procs.p;
	const size_t nunused = s->unused_procs.n / sizeof *unused;
	const uint32_t index = nunused ? unused[nunused - 1] : (uint32_t)s->nproc;
	struct proc *p;

	*bi = block_new(s, index, i386);
	if (!*bi)
		return NULL;
	if (nunused) {
		s->unused_procs.n -= sizeof *unused;
	} else {
		pm_grow(s->proc, s->nproc, s->cap_proc);
		s->proc[s->nproc++] = pm_alloc(sizeof *p);
	}
	p = s->proc[index];
	*p = (struct proc){ .pidfd = -1, .status = -1, .signal = -1, .mm = p,
			    .log.block = *bi };
	thread_new(p, *bi);
	return p;
}

void proc_discard(struct session *s, struct proc *p, uint32_t bi)
{
	const uint32_t index = s->block_proc[bi] - 1;

	record_over(s, p);		/* a child that was killed before it said anything */
	block_free(s, bi);
	if (p->mm == p && p->user.space) {
		space_unref(&s->spaces, p->user.space);
		pm_buf_release(&p->user.placed);
	}
	if (p->pidfd >= 0)
		close(p->pidfd);
	free(p->thread);
	*p = (struct proc){ .pidfd = -1, .mm = p, .gone = true };
	pm_buf_add(&s->unused_procs, &index, sizeof index);
}

struct proc *proc_by_pid(const struct session *s, uint32_t pid)
{
	for (size_t i = s->nproc; i-- > 0; )
		if (s->proc[i]->pid == pid && !s->proc[i]->gone)
			return s->proc[i];
	return NULL;
}

bool session_knows(const struct session *s, uint32_t pid)
{
	return proc_by_pid(s, pid);
}

bool session_running(const struct session *s)
{
	for (size_t i = 0; i < s->nproc; i++)
		if (s->proc[i]->pid && !s->proc[i]->gone)
			return true;
	return s->watched.n;
}

uint32_t session_persona(const struct session *s, uint32_t block)
{
	return !s->opts->aslr && !s->proc[s->block_proc[block] - 1]->own_no_aslr
		       ? ADDR_NO_RANDOMIZE
		       : 0;
}

/* What thread @t of @p counted is final, its block is free. */
static void thread_finish(struct session *s, struct proc *p, struct thread *t)
{
	const uint32_t b = t->block;

	p->clean_exit |= session_block(s, b)->leaving != 0;
	space_release(&s->spaces, &p->mm->user, b);
	gather_thread(s, p, t);
	if (s->tracer && p->let_go) {
		trace_left(s->tracer, b);
	} else if (s->tracer) {
		const bool main_thread = t->tid == p->pid;

		if (p->signal > 0)
			trace_over(s->tracer, b, (uint64_t)p->signal,
				   PM_EXIT_SIGNAL | (main_thread ? PM_EXIT_PROCESS : 0));
		else
			trace_over(s->tracer, b, p->status > 0 ? (uint64_t)p->status : 0,
				   main_thread ? PM_EXIT_PROCESS : 0);
	}
	block_free(s, b);
}

/* Nobody needs @p's address space but, perhaps, vfork children that outlive it: the first of them
 * becomes its owner. */
static void leave_space(struct session *s, struct proc *p)
{
	struct proc *heir = NULL;

	for (size_t i = 0; i < s->nproc; i++)
		if (s->proc[i] != p && s->proc[i]->mm == p && !s->proc[i]->gone) {
			if (!heir) {
				heir = s->proc[i];
				heir->user = p->user;
			}
			s->proc[i]->mm = heir;
		}
	if (!heir) {
		space_unref(&s->spaces, p->user.space);
		pm_buf_release(&p->user.placed);
		pm_buf_release(&p->user.moving);
	}
}

void proc_finish(struct session *s, struct proc *p)
{
	bool logs;

	if (p->gone)
		return;
	p->gone = true;
	if (p->mm != p && p->mm->user.space)
		p->user.space = p->mm->user.space;
	logs = p->stream;
	record_leaves(s, p);
	logs = logs && !p->stream;	/* others do */
	record_over(s, p);
	replay_over(s, p);
	replay_ended_as(s, p);
	check_calls_over(s, p);
	for (size_t i = 0; i < p->nthread; i++)
		if (p->thread[i].live) {
			stops_thread_over(s, p, &p->thread[i]);
			thread_finish(s, p, &p->thread[i]);
		}
	if (p->pidfd >= 0)
		close(p->pidfd);
	p->pidfd = -1;
	gather_process(s, p);
	if (p->mm == p)
		leave_space(s, p);
	if (logs)
		s->block_used[p->log.block] = BLOCK_KEPT;
	else if (s->block_used[p->log.block] == BLOCK_KEPT)
		s->block_used[p->log.block] = BLOCK_OVER;
	p->user.space = NULL;
	free(p->thread);
	p->thread = NULL;
	p->nthread = p->cap_thread = 0;
}

void procs_finish_ended(struct session *s)
{
	for (size_t i = 0; i < s->nproc; i++) {
		struct proc *p = s->proc[i];
		struct pollfd f = { .fd = p->pidfd, .events = POLLIN };

		if (p->gone || p->pidfd < 0)
			continue;
		if (poll(&f, 1, 0) == 1)
			proc_finish(s, p);
	}
}
