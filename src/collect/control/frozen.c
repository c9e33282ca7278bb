/* SPDX-License-Identifier: MIT */
/* frozen.c - fork() of a held process with all its threads, by calls that they are made to make */
#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "collect/control/frozen.h"
#include "collect/control/remote.h"
#include "collect/record/nr_i386.h"

#define OPTIONS (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE | \
		 PTRACE_O_EXITKILL)
/* The same as the runtime makes (rt.h), which its filter lets pass. */
#define CLONE_COPY (CLONE_PARENT | SIGCHLD)
#define CLONE_AGAIN (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | \
		     CLONE_SYSVSEM)
#define MAX_VECTORS 16384u		/* bytes of XSAVE's area, with tiles */
#define SCRATCH (RT_STACK_TOP - 0x10000)	/* in a thread block: the far end of the stack */
#define PTRACE_GET_THREAD_AREA_ 25
#define PTRACE_SET_THREAD_AREA_ 26
#define FIRST_TLS 12			/* GDT_ENTRY_TLS_MIN of 64-bit Linux */

/* ---- of either width ------------------------------------------------------------------------- */
static bool is_narrow(const struct user_regs_struct *r)
{
	return r->cs == CS_I386;
}

static uint64_t first_argument(const struct user_regs_struct *r)
{
	return is_narrow(r) ? (uint32_t)r->rbx : r->rdi;
}

static bool is_futex(const struct user_regs_struct *r)
{
	return remote_is_futex(is_narrow(r), r->orig_rax);
}

static bool is_futex_again(const struct user_regs_struct *r)
{
	return r->orig_rax == (unsigned long long)(is_narrow(r) ? NR32_restart_syscall :
							      SYS_restart_syscall);
}

/* Where the process has it. */
static uint64_t block_at(struct session *s, uint32_t block)
{
	return session_block(s, block)->self;
}

/* ---- threads at their stops ------------------------------------------------------------------ */
/* How it will go on: who has waited looks again whether it still has to. */
static void end_wait(pid_t tid, struct user_regs_struct *r)
{
	if (remote_interrupted(tid, r) == GO_ON_WAITING) {
		r->rax = (unsigned long long)-EINTR;	/* the time left is not copied */
		r->orig_rax = ~0ull;
	} else {
		remote_begin_again(tid, r);
	}
}

/* Is it in a signal's handler of the runtime? What is on its signal stack is not copied. */
static bool is_in_handler(struct session *s, uint32_t block, const struct user_regs_struct *r)
{
	return r->rsp - (block_at(s, block) + RT_ALT_STACK) < RT_ALT_SIZE;
}

/* Does it wait for the token, and nobody has given it that? (2) of checkpoint.h. */
static bool waits_for_token(struct session *s, pid_t tid, uint32_t block,
			    const struct user_regs_struct *r)
{
	const uint64_t turn = block_at(s, block) + offsetof(struct rt_block, turn);

	return remote_interrupted(tid, r) != NOT_INTERRUPTED && first_argument(r) == turn &&
	       !is_in_handler(s, block, r) && (is_futex(r) || is_futex_again(r)) &&
	       __atomic_load_n(&session_block(s, block)->turn, __ATOMIC_ACQUIRE) ==
		       RT_TURN_OTHERS;
}

/* The process's first thread, which has ended: rt_park(). */
static bool is_parked(pid_t tid, const struct user_regs_struct *r)
{
	return remote_interrupted(tid, r) != NOT_INTERRUPTED && is_futex(r) &&
	       first_argument(r) == (is_narrow(r) ? RT32_DATA_VAULT : RT_DATA_VAULT);
}

static bool has_signals(pid_t tid)
{
	struct peek_status st;
	char dir[32];

	snprintf(dir, sizeof dir, "/proc/%d", tid);
	return !peek_status(dir, &st) || st.pending;
}

static bool read_vectors(struct frozen_thread *t)
{
	struct iovec v = { pm_alloc(MAX_VECTORS), MAX_VECTORS };

	t->vectors = v.iov_base;
	if (ptrace(PTRACE_GETREGSET, t->tid, NT_X86_XSTATE, &v) || v.iov_len == MAX_VECTORS)
		return false;
	t->nvectors = v.iov_len;
	return true;
}

/* Segments of thread @tid, into @t or from there, as @request says. fork() copies those of the
 * thread that makes it. */
static bool move_segments(int request, pid_t tid, const struct frozen_thread *t)
{
	for (unsigned i = 0; is_narrow(&t->regs) && i < FROZEN_TLS; i++)
		if (ptrace((enum __ptrace_request)request, tid, FIRST_TLS + i, &t->tls[i]))
			return false;
	return true;
}

static bool read_segments(struct frozen_thread *t)
{
	return move_segments(PTRACE_GET_THREAD_AREA_, t->tid, t);
}

static void let_go(const struct frozen_thread *t)
{
	ptrace(PTRACE_SETREGS, t->tid, 0, &t->regs);
	ptrace(PTRACE_DETACH, t->tid, 0, 0);
}

/* Thread @tid, which does not stand, is held, into @t. @first: fork() will copy it. */
static bool hold_waiting(struct session *s, struct proc *p, pid_t tid, bool first,
			 struct frozen_thread *t)
{
	struct user_regs_struct r;

	*t = (struct frozen_thread){ .tid = tid };
	for (size_t i = 0; i < p->nthread; i++)
		if (p->thread[i].live && p->thread[i].tid == (uint32_t)tid)
			t->block = p->thread[i].block;
	if ((!t->block && tid != (pid_t)p->pid) || hold_thread(tid) != HELD)
		return false;
	if (ptrace(PTRACE_GETREGS, tid, 0, &r)) {
		ptrace(PTRACE_DETACH, tid, 0, 0);
		return false;
	}
	t->regs = r;
	end_wait(tid, &t->regs);
	if (has_signals(tid) || ptrace(PTRACE_GETSIGMASK_, tid, 8, &t->mask) ||
	    (t->block ? !waits_for_token(s, tid, t->block, &r) : !is_parked(tid, &r)) ||
	    !read_segments(t) || (!first && !read_vectors(t))) {
		let_go(t);
		return false;
	}
	return true;
}

/* The thread that stands, which is held. */
static bool add_standing(struct session *s, const struct freeze *f, bool first,
			 struct frozen_thread *t)
{
	*t = (struct frozen_thread){ .tid = f->tid, .block = f->block, .regs = f->regs,
				     .mask = f->mask };
	end_wait(f->tid, &t->regs);
	return !has_signals(f->tid) && !is_in_handler(s, f->block, &f->regs) &&
	       read_segments(t) && (first || read_vectors(t));
}

/* Has the process's first thread ended, while others are there? */
static bool is_over(uint32_t pid)
{
	struct peek_status st;
	char dir[32];

	snprintf(dir, sizeof dir, "/proc/%u", pid);
	return peek_status(dir, &st) && st.state == 'Z';
}

/* All threads of f->p, that in front which is to fork: the first one, or if it has ended the one
 * that stands. False: some cannot be copied now; those that are held have been added
 * nevertheless. */
static bool hold_all(struct session *s, const struct freeze *f, struct frozen *z)
{
	const bool over = is_over(f->p->pid);
	const pid_t forks = over ? f->tid : (pid_t)f->p->pid;
	size_t cap = 0, live = 0;
	struct dirent *e;
	char dir[32];
	bool ok;
	DIR *d;

	snprintf(dir, sizeof dir, "/proc/%u/task", f->p->pid);
	d = opendir(dir);
	ok = d;
	while (ok && (e = readdir(d))) {
		const pid_t tid = (pid_t)atoi(e->d_name);
		struct frozen_thread t;

		if (!isdigit((unsigned char)*e->d_name) || (over && tid == (pid_t)f->p->pid))
			continue;
		ok = tid == f->tid ? add_standing(s, f, tid == forks, &t) :
			hold_waiting(s, f->p, tid, tid == forks, &t);
		if (!ok) {
			free(t.vectors);
			break;
		}
		pm_grow(z->thread, z->n, cap);
		z->thread[z->n++] = t;
		live += t.block != 0;
		if (tid == forks) {
			z->thread[z->n - 1] = z->thread[0];
			z->thread[0] = t;
		}
	}
	if (d)
		closedir(d);
	for (size_t i = 0; i < f->p->nthread; i++)
		live -= f->p->thread[i].live;
	return ok && !live && z->n && z->thread[0].tid == forks;
}

/* ---- copies ---------------------------------------------------------------------------------- */
/* Held thread @tid makes clone() with @flags: whom it has made, at the stop where that begins;
 * 0: nobody. */
static pid_t clone_at(pid_t tid, bool narrow, uint64_t pass, uint64_t flags)
{
	long made = 0;
	int status;

	if (!remote_call(tid, pass, narrow ? NR32_clone : SYS_clone, (const uint64_t[6]){ flags },
			 &made) || made <= 0)
		return 0;
	if (wait_for((pid_t)made, &status) != (pid_t)made || !WIFSTOPPED(status))
		return 0;
	return (pid_t)made;
}

bool frozen_make(struct session *s, const struct freeze *f, struct frozen *z)
{
	*z = (struct frozen){ .pass = f->pass };
	if (hold_all(s, f, z) && !ptrace(PTRACE_SETOPTIONS, z->thread[0].tid, 0, OPTIONS))
		z->pid = clone_at(z->thread[0].tid, is_narrow(&f->regs), z->pass, CLONE_COPY);
	if (z->n && z->thread[0].tid == f->tid)
		ptrace(PTRACE_SETOPTIONS, f->tid, 0, PTRACE_O_TRACESYSGOOD);
	for (size_t i = 0; i < z->n; i++)
		if (z->thread[i].tid != f->tid)
			let_go(&z->thread[i]);
	if (z->pid)
		return true;
	frozen_release(z);
	return false;
}

static bool set_thread(pid_t tid, const struct frozen_thread *t)
{
	struct iovec v = { t->vectors, t->nvectors };

	return move_segments(PTRACE_SET_THREAD_AREA_, tid, t) &&
	       (!t->vectors || !ptrace(PTRACE_SETREGSET, tid, NT_X86_XSTATE, &v)) &&
	       !ptrace(PTRACE_SETSIGMASK_, tid, 8, &t->mask) &&
	       !ptrace(PTRACE_SETREGS, tid, 0, &t->regs);
}

/* *tid: a thread of @leader's process, 0 if none could be made. False: it is not like @t. */
static bool make_thread(struct session *s, pid_t leader, uint64_t pass,
			const struct frozen_thread *t, pid_t *tid)
{
	const uint64_t block = block_at(s, t->block), at = block + RT_ALT_STACK;
	const stack_t stack = { .ss_sp = (void *)(uintptr_t)at, .ss_size = RT_ALT_SIZE };
	const uint32_t stack32[3] = { (uint32_t)at, 0, RT_ALT_SIZE };	/* stack_t of i386 */
	const bool narrow = is_narrow(&t->regs);
	uint8_t *const to = (uint8_t *)session_block(s, t->block) + SCRATCH;
	long r = -1;

	*tid = clone_at(leader, narrow, pass, CLONE_AGAIN);
	if (!*tid)
		return false;
	if (narrow)
		memcpy(to, stack32, sizeof stack32);
	else
		memcpy(to, &stack, sizeof stack);
	return remote_call(*tid, pass, narrow ? NR32_sigaltstack : SYS_sigaltstack,
			   (const uint64_t[6]){ block + SCRATCH }, &r) && !r && set_thread(*tid, t);
}

/* All @n threads of a process of ours, the first one in front, which cannot be waited for before
 * the others. */
static void end_process(const pid_t *tid, size_t n)
{
	int status;

	/* Only what is ours: the number may be another's. PTRACE_KILL asks for that, too, but does
	 * nothing at most stops before Linux 5.19. */
	if (!ptrace(PTRACE_SETOPTIONS, tid[0], 0, OPTIONS))
		kill(tid[0], SIGKILL);
	while (n--)
		while (tid[n] && wait_for(tid[n], &status) == tid[n] && !WIFEXITED(status) &&
		       !WIFSIGNALED(status))
			;
}

bool frozen_copy(struct session *s, const struct frozen *z, pid_t *tid)
{
	bool ok = true;
	size_t n = 1;

	tid[0] = clone_at(z->pid, is_narrow(&z->thread[0].regs), z->pass, CLONE_COPY);
	if (!tid[0])
		return false;
	for (; ok && n < z->n; n++)
		ok = make_thread(s, tid[0], z->pass, &z->thread[n], &tid[n]);
	if (ok && set_thread(tid[0], &z->thread[0]))
		return true;
	end_process(tid, n);
	return false;
}

void frozen_run(const struct frozen *z, const pid_t *tid)
{
	for (size_t i = 0; i < z->n; i++)
		ptrace(PTRACE_DETACH, tid[i], 0, 0);
}

void frozen_release(struct frozen *z)
{
	if (z->pid)
		end_process(&z->pid, 1);
	for (size_t i = 0; i < z->n; i++)
		free(z->thread[i].vectors);
	free(z->thread);
	*z = (struct frozen){ 0 };
}
