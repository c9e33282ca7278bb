/* SPDX-License-Identifier: MIT */
/* request_process.c - requests that are about threads, processes and programs */
#include <stdio.h>
#include <string.h>

#include "collect/consume/trace.h"
#include "collect/control/recorder.h"
#include "collect/control/requests.h"
#include "collect/control/stop_at.h"

/* ---- a thread begins ------------------------------------------------------------------------- */
/* Which process is it whose first thread calls itself @number? Nobody is taken for a traced process
 * who does not share our memory, or whom we know as another one: PID_UNKNOWN. */
static uint32_t pid_of(const struct session *s, const struct proc *p, uint32_t number)
{
	const uint32_t pid = p->apart ? pid_here(s, number, p->parent) : number;

	if (!pid || pid >= PID_UNKNOWN || session_knows(s, pid) ||
	    peek_is_ours(s, pid, p->mm->user.space->i386) == PEEK_FOREIGN)
		return PID_UNKNOWN | (number & (PID_UNKNOWN - 1));
	return pid;
}

static uint32_t tid_of(const struct session *s, const struct proc *p, uint32_t number)
{
	if (p->apart)
		return tid_here(s, p->pid, number);
	return peek_is_thread(p->pid, number) ? number
					      : PID_UNKNOWN | (number & (PID_UNKNOWN - 1));
}

/* What a new thread or process is called: for the consumer, and for the thread itself. */
static void show_names(struct session *s, const struct request *q)
{
	struct rt_block *b = session_block(s, q->block);

	b->apart = q->p->apart;
	__atomic_store_n(&b->seen_pid, proc_name(q->p), __ATOMIC_RELAXED);
	__atomic_store_n(&b->seen_tid, thread_name(q->p, q->t), __ATOMIC_RELAXED);
}

static void process_begins(struct session *s, const struct request *q)
{
	struct proc *p = q->p, *parent = proc_by_pid(s, p->parent);

	if (s->tracer)
		trace_note(s->tracer, q->block, RT_N_PROCESS,
			   (const uint64_t[]){ proc_name(p),
					       parent ? proc_name(parent) : p->parent },
			   2, p->user.program);
	if (!p->user.program)
		p->user.program = peek_exe(s, p->pid);
	if (!p->is_child)
		p->pidfd = wake_watch(p->pid);
}

void request_hello(struct session *s, struct request *q)
{
	const bool first = q->m.a[2], begins = first && !q->p->pid;
	struct proc *p = q->p;

	if (!first && !p->pid)			/* a thread of nobody */
		return;
	if (begins)
		p->pid = pid_of(s, p, (uint32_t)q->m.a[0]);
	q->t->tid = first ? p->pid : tid_of(s, p, (uint32_t)q->m.a[1]);
	show_names(s, q);
	stops_thread(s, q->p, q->t);
	if (first && p->forker) {
		space_release(&s->spaces, &p->user, p->forker);
		p->forker = 0;
	}
	if (begins)
		process_begins(s, q);
}

/* ---- a thread or a process is about to be made ----------------------------------------------- */
/* A process like @p, with its first thread block; 0: there is none. @origin: enum rt_origin. */
static uint32_t prepare_child(struct session *s, struct request *q, uint64_t origin)
{
	struct proc *p = q->p, *c;
	uint32_t bi;

	c = proc_new(s, q->user->space->i386, &bi);
	if (!c)
		return 0;
	if (s->recorder && origin == BLK_VFORKED)
		c->logger = record_logger(p);
	else if (s->recorder)
		q->m.r[1] = record_child(s, record_logger(p), c);
	if (s->replayer)
		replay_child(s, p, c, q->m.a[2], q->m.a[3]);
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
		c->user.space->busy = q->block;
	}
	return bi;
}

void request_block(struct session *s, struct request *q)
{
	const uint64_t origin = q->m.a[0];
	uint32_t bi;

	if (origin > BLK_VFORKED)
		return;
	q->p->apart |= q->m.a[1] & 1;
	if (origin == BLK_THREAD) {
		bi = block_new(s, s->block_proc[q->block] - 1, q->user->space->i386);
		if (bi)
			thread_new(q->p, bi)->recorded_tid =
				s->replayer ? (uint32_t)q->m.a[3] & 0x3fffffff : 0;
	} else {
		bi = prepare_child(s, q, origin);
	}
	q->m.r[0] = bi;
}

/* The thread block that is called @number, of a process; 0: there is none. */
static uint32_t block_of(const struct session *s, uint64_t number)
{
	return number < RT_BLOCKS && s->block_proc[number] ? (uint32_t)number : 0;
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
	const uint32_t i = block_of(s, q->m.a[0]);
	struct proc *c;

	if (!i || !not_begun_by(s, q->p, i))
		return;
	c = s->proc[s->block_proc[i] - 1];
	if (c == q->p) {
		thread_of(c, i)->live = false;
		block_free(s, i);
	} else {
		proc_discard(s, c, i);		/* the fork failed */
	}
}

void request_forked(struct session *s, struct request *q)
{
	const uint32_t i = block_of(s, q->m.a[0]);
	struct proc *c = i ? s->proc[s->block_proc[i] - 1] : NULL;

	if (c && c->forker == q->block)
		c->forker = 0;
}

/* ---- a program is about to be executed ------------------------------------------------------- */
/* The program in descriptor a[2] - 1 of the thread that asks is to be loaded. */
static void load_next(struct session *s, struct request *q)
{
	struct rt_mail *m = &q->m;
	const struct proc *next;
	char path[64];

	snprintf(path, sizeof path, "/proc/%u/fd/%u", q->t->tid, (unsigned)(m->a[2] - 1));
	next = load_from(s, path, q->p->pid);
	if (!next)
		return;
	m->r[0] = RT_LOAD_IT;
	m->r[1] = (uint64_t)next->loading->file;
	m->r[2] = next->loading->nstring;
	memcpy(m->cmd, next->loading->bytes, next->loading->nbytes);
	q->payload = next->loading->nbytes;
}

void request_exec(struct session *s, struct request *q)
{
	struct rt_mail *m = &q->m;

	m->r[0] = RT_NOT_FOLLOWED;
	q->p->apart |= m->a[1] & 1;
	q->p->own_no_aslr = m->a[0];
	if (s->opts->no_follow && q->p->parent)
		return;
	if (s->recorder &&
	    (!record_logger(q->p)->stream || record_logger(q->p)->log.over))
		return;
	if (s->loaded) {
		if (m->a[2] && !q->p->apart)
			load_next(s, q);
	} else if (exec_follow(s, q->p, q->t->tid)) {
		m->r[0] = RT_FOLLOWED;
	}
	q->p->execing = m->r[0] == RT_NOT_FOLLOWED && !peek_is_ending(q->p->pid);
}

void request_execfail(struct session *s, struct request *q)
{
	q->p->execing = false;
	load_cancel(s, q->p->pid);
	exec_unfollow(s, q->p, q->t->tid);
}

void request_begin(struct session *s, struct request *q)
{
	struct rt_boot boot = { 0 };

	if (!load_finish(s, q->p, q->block, &boot))
		return;
	memcpy(q->m.cmd, boot.range, sizeof boot.range);
	q->payload = sizeof boot.range;
	q->m.r[0] = boot.nrange;
	q->m.r[1] = boot.vdso;
	stops_thread(s, q->p, q->t);
}

/* ---- a thread ends --------------------------------------------------------------------------- */
void request_exit(struct session *s, struct request *q)
{
	stops_thread_over(s, q->p, q->t);
	gather_thread(s, q->p, q->t);
	if (s->tracer)
		trace_over(s->tracer, q->block, 0, 0);
	/* the block is free once the thread has marked it dead */
	s->block_proc[q->block] = 0;
	s->block_used[q->block] = q->p->stream && q->block == q->p->log.block ? BLOCK_KEPT :
								      BLOCK_ENDING;
	if (q->t->tid == q->p->pid)
		q->p->clean_exit = true;
}
