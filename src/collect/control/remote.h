/* SPDX-License-Identifier: MIT */
/* remote.h - running processes are held, and made to call the kernel: for attaching and detaching
 *
 * Ownership  a struct held belongs to the caller; hold_release() lets its threads go on, as they
 *            are, and frees it.
 * Errors     enum hold_result says why a process is not held: then none of its threads is.
 * Threads    the session's (it is ptrace()). */
#ifndef PM_CONTROL_REMOTE_H
#define PM_CONTROL_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct held {				/* all threads of a process, at their stops */
	pid_t pid;
	pid_t *tid;
	size_t n, cap;
};

enum hold_result {
	HELD,
	HOLD_GONE,			/* there is no such process any more */
	HOLD_REFUSED,			/* errno says why */
	HOLD_STOPPED,			/* it has been stopped, by SIGSTOP or from a terminal */
	HOLD_BUSY,			/* a thread does not stop: the kernel keeps it */
};

enum hold_result hold_process(struct held *h, pid_t pid);
/* Thread @tid alone. It goes on by PTRACE_DETACH. */
enum hold_result hold_thread(pid_t tid);
/* Threads that have been made since. */
enum hold_result hold_rest(struct held *h);
/* One of @h's, that was let go on. */
enum hold_result hold_again(pid_t tid);
void hold_release(struct held *h);

/* waitpid() that is not interrupted. */
pid_t wait_for(pid_t pid, int *status);

#define CS_I386 0x23			/* the kernel's __USER32_CS: 32-bit code runs there */

/* @r is at @at, where a system call is, with number (of its width) and arguments. */
void remote_prepare(struct user_regs_struct *r, uint64_t at, uint32_t nr, const uint64_t arg[6]);
/* Held thread @tid makes a call by the syscall instruction at @at; its registers are as before. */
bool remote_call(pid_t tid, uint64_t at, uint32_t nr, const uint64_t arg[6], long *ret);

/* Is system call @nr of a program of that width futex(), whichever time it takes? */
bool remote_is_futex(bool i386, uint64_t nr);

/* Was held thread @tid, with registers @r, in a call that its stop has interrupted? */
enum interrupted {
	NOT_INTERRUPTED,
	AGAIN,				/* it is to be made again */
	GO_ON_WAITING,			/* likewise by restart_syscall(), for the time left */
	BY_SIGNAL,			/* a signal has, too, which has a handler: EINTR */
};
enum interrupted remote_interrupted(pid_t tid, const struct user_regs_struct *r);
/* @r will go on with it, from wherever. */
void remote_begin_again(pid_t tid, struct user_regs_struct *r);

#endif
