/* SPDX-License-Identifier: MIT */
/* remote.c - running processes are held, all threads of one at a time, and made to call the kernel
 *
 * A held thread stands at a stop of ptrace(PTRACE_SEIZE), which no program hears of. Two things of
 * such a stop can be heard of nevertheless, and are undone: a call that waits is interrupted, and
 * the kernel begins it again only if the thread goes on where it was; a few calls are not begun
 * again at all (signal(7): "interrupted by a stop signal"), and say EINTR. Those are interrupted by
 * signals that the program ignores, too, as long as somebody uses ptrace() on it. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/control/remote.h"
#include "collect/control/session.h"
#include "collect/record/nr_i386.h"

#define HOLD_MAX 2.0			/* seconds for a thread to stop */
#define OTHERS_FIRST 16			/* rounds: a first thread may make threads for ever */

pid_t wait_for(pid_t pid, int *status)
{
	pid_t got;

	do
		got = waitpid(pid, status, __WALL);
	while (got < 0 && errno == EINTR);		/* other children's SIGCHLD */
	return got;
}

/* ---- calls ----------------------------------------------------------------------------------- */
/* To the next stop at a system call. *@stopped: a SIGSTOP has come between, which is gone now. */
static bool to_call(pid_t tid, struct user_regs_struct *r, bool *stopped)
{
	int status;

	for (int i = 0; i < 8; i++) {
		if (ptrace(PTRACE_SYSCALL, tid, 0, 0) || wait_for(tid, &status) != tid ||
		    !WIFSTOPPED(status))
			return false;
		if (status >> 8 == (SIGTRAP | 0x80))
			return !ptrace(PTRACE_GETREGS, tid, 0, r);
		if (status >> 8 == SIGSTOP)
			*stopped = true;
	}
	return false;
}

void remote_prepare(struct user_regs_struct *r, uint64_t at, uint32_t nr, const uint64_t arg[6])
{
	r->rip = at;
	r->rax = nr;
	r->orig_rax = ~0ull;
	if (r->cs == CS_I386) {
		r->rbx = arg[0];
		r->rcx = arg[1];
		r->rdx = arg[2];
		r->rsi = arg[3];
		r->rdi = arg[4];
		r->rbp = arg[5];
		return;
	}
	r->rdi = arg[0];
	r->rsi = arg[1];
	r->rdx = arg[2];
	r->r10 = arg[3];
	r->r8 = arg[4];
	r->r9 = arg[5];
}

bool remote_call(pid_t tid, uint64_t at, uint32_t nr, const uint64_t arg[6], long *ret)
{
	struct user_regs_struct was, r;
	bool ok, stopped = false;

	if (ptrace(PTRACE_GETREGS, tid, 0, &was))
		return false;
	r = was;
	remote_prepare(&r, at, nr, arg);
	ok = !ptrace(PTRACE_SETREGS, tid, 0, &r) && to_call(tid, &r, &stopped) &&
	     to_call(tid, &r, &stopped);
	if (ok)
		*ret = (long)r.rax;
	if (stopped)			/* behind the call, or the next one's: as it is let go on */
		syscall(SYS_tkill, tid, SIGSTOP);
	was.orig_rax = ~0ull;		/* nothing is to be begun again but what the caller says */
	return !ptrace(PTRACE_SETREGS, tid, 0, &was) && ok;
}

/* ---- calls that are interrupted -------------------------------------------------------------- */
/* linux/errno.h: what the kernel alone sees of a call that it begins again */
enum { ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514, ERESTART_RESTARTBLOCK = 516 };

/* Calls that say EINTR though no handler has run: signal(7). */
static bool says_eintr(uint64_t nr)
{
	switch (nr) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_msgrcv:
	case SYS_msgsnd:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
	case SYS_rt_sigtimedwait:
		return true;
	}
	return false;
}

/* ---- stops ----------------------------------------------------------------------------------- */
static bool wait_until(pid_t tid, int *status, double end)
{
	for (unsigned i = 0;; i++) {
		const pid_t got = waitpid(tid, status, __WALL | WNOHANG);

		if (got == tid || (got < 0 && errno != EINTR))
			return got == tid;
		if (pm_now() > end)
			return false;
		if (i < 200)
			sched_yield();
		else
			usleep(100);
	}
}

/* At a stop: the call that it has interrupted will say EINTR if a signal is handled, and be made
 * again if none is, whenever the thread goes on. */
static void as_without_ptrace(pid_t tid)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, tid, 0, &r) || (long)r.orig_rax < 0 ||
	    (long)r.rax != -EINTR || !says_eintr(r.orig_rax))
		return;
	r.rax = (unsigned long long)-ERESTARTNOHAND;
	ptrace(PTRACE_SETREGS, tid, 0, &r);
}

/* A fault of the instruction at which the thread stands. */
static bool is_fault(const siginfo_t *info)
{
	return info->si_code > 0 &&
	       (info->si_signo == SIGSEGV || info->si_signo == SIGBUS ||
		info->si_signo == SIGILL || info->si_signo == SIGFPE || info->si_signo == SIGTRAP);
}

/* Is a fault on its way to the thread, or a SIGSTOP to it or its process? Our stop may come in
 * front of them. */
static bool has_to_take(pid_t tid)
{
	static const uint32_t queue[2] = { 0, PTRACE_PEEKSIGINFO_SHARED };
	siginfo_t info;

	for (int i = 0; i < 2; i++) {
		struct __ptrace_peeksiginfo_args from = { .nr = 1, .flags = queue[i] };

		for (; ptrace(PTRACE_PEEKSIGINFO, tid, &from, &info) == 1; from.off++)
			if (info.si_signo == SIGSTOP || (!queue[i] && is_fault(&info)))
				return true;
	}
	return false;
}

/* It has been interrupted: to its stop. Signals on the way are its own; but a fault belongs to the
 * place where the thread stands, and whoever holds it may move it. So it takes that first. It takes
 * a SIGSTOP, too: a process that somebody has stopped is to be found stopped. */
static enum hold_result to_stop(pid_t tid)
{
	const double end = pm_now() + HOLD_MAX;
	bool given = true;
	int status;

	for (;;) {
		int sig = 0;

		if (!wait_until(tid, &status, end))
			return pm_now() > end ? HOLD_BUSY : HOLD_GONE;
		if (!WIFSTOPPED(status))
			return HOLD_GONE;
		as_without_ptrace(tid);
		if (status >> 16 != PTRACE_EVENT_STOP)
			sig = WSTOPSIG(status);
		else if (WSTOPSIG(status) != SIGTRAP)
			return HOLD_STOPPED;
		else if (!has_to_take(tid))
			return HELD;
		else if (pm_now() > end)
			return HOLD_BUSY;
		if (ptrace(PTRACE_CONT, tid, 0, sig))
			return HOLD_GONE;
		/* not before the signal has been given: it would stop in front of that again */
		if (!given && sig && ptrace(PTRACE_INTERRUPT, tid, 0, 0))
			return HOLD_GONE;
		given = sig;
	}
}

enum hold_result hold_again(pid_t tid)
{
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0))
		return HOLD_GONE;
	return to_stop(tid);
}

enum hold_result hold_thread(pid_t tid)
{
	if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD))
		return errno == ESRCH ? HOLD_GONE : HOLD_REFUSED;
	return hold_again(tid);
}

static bool is_held(const struct held *h, pid_t tid)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->tid[i] == tid)
			return true;
	return false;
}

/* It has been tried to hold @tid: is it in the list from now on? What @r means for all of them. */
static enum hold_result note_held(struct held *h, pid_t tid, enum hold_result r)
{
	if (r == HELD || r == HOLD_STOPPED || r == HOLD_BUSY) {
		pm_grow(h->tid, h->n, h->cap);
		h->tid[h->n++] = tid;
	} else if (r == HOLD_GONE && tid != h->pid) {
		r = HELD;		/* it has ended meanwhile */
	}
	return r;
}

/* Threads that are not held yet, the first one aside. *@more: there were some. */
static enum hold_result hold_new(struct held *h, bool *more)
{
	enum hold_result r = HELD;
	struct dirent *e;
	char dir[64];
	DIR *d;

	*more = false;
	snprintf(dir, sizeof dir, "/proc/%d/task", h->pid);
	d = opendir(dir);
	if (!d)
		return HOLD_GONE;
	while (r == HELD && (e = readdir(d))) {
		const pid_t tid = (pid_t)atoi(e->d_name);

		if (!isdigit((unsigned char)*e->d_name) || tid == h->pid || is_held(h, tid))
			continue;
		*more = true;
		r = note_held(h, tid, hold_thread(tid));
	}
	closedir(d);
	return r;
}

enum hold_result hold_rest(struct held *h)
{
	enum hold_result r;
	bool more;

	do
		r = hold_new(h, &more);
	while (r == HELD && more);
	return r;
}

/* The first thread last: signals to the process that it ignores are dropped unless that thread is
 * held (sig_ignored() of Linux, kernel/signal.c). Then they wake any thread, and one that is not
 * held would hear of it by EINTR. What the first thread makes meanwhile is the rest. */
enum hold_result hold_process(struct held *h, pid_t pid)
{
	enum hold_result r = HELD;
	bool more = true;

	*h = (struct held){ .pid = pid };
	for (int i = 0; i < OTHERS_FIRST && r == HELD && more; i++)
		r = hold_new(h, &more);
	if (r == HELD)
		r = note_held(h, pid, hold_thread(pid));
	if (r == HELD)
		r = hold_rest(h);
	if (r != HELD) {
		const int why = errno;

		hold_release(h);
		errno = why;
	}
	return r;
}

static void release_thread(pid_t tid)
{
	int status;

	if (!ptrace(PTRACE_DETACH, tid, 0, 0) || errno != ESRCH)
		return;
	/* it never stopped: it has to, to be let go */
	if (wait_until(tid, &status, pm_now() + HOLD_MAX))
		ptrace(PTRACE_DETACH, tid, 0, 0);
}

void hold_release(struct held *h)
{
	if (is_held(h, h->pid))			/* see hold_process() */
		release_thread(h->pid);
	for (size_t i = 0; i < h->n; i++)
		if (h->tid[i] != h->pid)
			release_thread(h->tid[i]);
	free(h->tid);
	*h = (struct held){ 0 };
}

/* ---- what a stop has interrupted ------------------------------------------------------------- */
/* Is there a signal on its way to the thread that has a handler? Not one that only the call itself
 * lets in, for as long as it waits: sigsuspend(), ppoll(). */
static bool will_handle(pid_t tid)
{
	struct peek_status st;
	uint64_t blocked = 0;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d", tid);
	peek_status(path, &st);
	ptrace(PTRACE_GETSIGMASK_, tid, 8, &blocked);
	return st.pending & ~blocked & st.caught;
}

bool remote_is_futex(bool i386, uint64_t nr)
{
	return i386 ? nr == NR32_futex || nr == NR32_futex_time64 : nr == SYS_futex;
}

enum interrupted remote_interrupted(pid_t tid, const struct user_regs_struct *r)
{
	if ((long)r->orig_rax < 0)
		return NOT_INTERRUPTED;
	switch (-(long)r->rax) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
		return AGAIN;
	case ERESTARTNOHAND:
		return will_handle(tid) ? BY_SIGNAL : AGAIN;
	case ERESTART_RESTARTBLOCK:
		return will_handle(tid) ? BY_SIGNAL : GO_ON_WAITING;
	default:
		return NOT_INTERRUPTED;
	}
}

void remote_begin_again(pid_t tid, struct user_regs_struct *r)
{
	switch (remote_interrupted(tid, r)) {
	case AGAIN:
		r->rax = r->orig_rax;
		r->rip -= 2;			/* syscall */
		break;
	case GO_ON_WAITING:
		r->rax = r->cs == CS_I386 ? 0 : SYS_restart_syscall;
		r->rip -= 2;
		break;
	case BY_SIGNAL:
		r->rax = (unsigned long long)-EINTR;
		break;
	case NOT_INTERRUPTED:
		break;
	}
	r->orig_rax = ~0ull;
}
