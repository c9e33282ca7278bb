/* SPDX-License-Identifier: MIT */
/* test_hold.c - threads of a running process are held where they may be moved, unheard */
#include <dirent.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/sanitizer.h"
#include "collect/control/remote.h"

#define HOLDS 400

static volatile int *volatile nowhere = (volatile int *)0x10;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)sig;
	if (info->si_addr != (void *)nowhere)
		_exit(1);
	u->uc_mcontext.gregs[REG_RIP] += 2;	/* movl %eax, (%rcx) */
}

static void *fault_for_ever(void *arg)
{
	for (;;)
		__asm__ volatile("movl %%eax, (%%rcx)" : : "c"(nowhere), "a"(0) : "memory");
	return arg;
}

static void run_child(void)
{
	const struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	pthread_t t;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGSEGV, &sa, NULL);
	pthread_create(&t, NULL, fault_for_ever, NULL);
	fault_for_ever(NULL);
}

static unsigned threads_there(pid_t pid)
{
	char path[64];
	struct dirent **e;
	int all;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	all = scandir(path, &e, NULL, NULL);
	for (int i = 0; i < all; i++)
		free(e[i]);
	assert_true(all > 2);			/* "." and ".." */
	free(e);
	return (unsigned)all - 2;
}

/* Threads of @pid, which has begun @n; a sanitizer may have begun more in it. */
static unsigned threads_of(pid_t pid, unsigned n)
{
	if (!PM_THREAD_SANITIZER)
		return n;
	assert_true(threads_there(pid) >= n);
	return threads_there(pid);
}

static unsigned pending_faults(const struct held *h)
{
	unsigned n = 0;

	for (size_t i = 0; i < h->n; i++) {
		struct __ptrace_peeksiginfo_args from = { .nr = 1 };
		siginfo_t info;

		for (; ptrace(PTRACE_PEEKSIGINFO, h->tid[i], &from, &info) == 1; from.off++)
			n += info.si_signo == SIGSEGV;
	}
	return n;
}

/* Whoever moves a held thread must not take a fault along that belongs to where it was. */
static void held_without_faults_on_their_way(void **state)
{
	const pid_t pid = fork();
	struct held h;
	int status;

	(void)state;
	if (!pid)
		run_child();
	assert_true(pid > 0);
	usleep(50000);
	for (int i = 0; i < HOLDS; i++) {
		assert_int_equal(hold_process(&h, pid), HELD);
		assert_int_equal(h.n, threads_of(pid, 2));
		assert_int_equal(pending_faults(&h), 0);
		hold_release(&h);
	}
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);	/* each fault was its own */
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

static void *wait_for_ever(void *arg)
{
	const int fd = epoll_create1(0);
	struct epoll_event e;

	epoll_wait(fd, &e, 1, -1);
	_exit(1);
	return arg;
}

static void run_waiting_child(void)
{
	pthread_t t;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < 3; i++)
		pthread_create(&t, NULL, wait_for_ever, NULL);
	for (;;)
		pause();
}

static void run_sender(pid_t to)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		kill(to, SIGCHLD);
}

/* epoll_wait() says EINTR of a signal that the process ignores, if that comes to the thread at all.
 * It does while ptrace() is used on the first thread. */
static void waits_go_on(void **state)
{
	pid_t pid, sender;
	struct held h;
	int status;

	(void)state;
	pid = fork();
	if (!pid)
		run_waiting_child();
	assert_true(pid > 0);
	/* pthread_create() blocks all signals meanwhile: then others would hear of them */
	for (int i = 0; i < 1000 && threads_there(pid) < 4; i++)
		usleep(10000);
	usleep(50000);
	sender = fork();
	if (!sender)
		run_sender(pid);
	assert_true(sender > 0);
	usleep(50000);
	for (int i = 0; i < HOLDS; i++) {
		assert_int_equal(hold_process(&h, pid), HELD);
		assert_int_equal(h.n, threads_of(pid, 4));
		hold_release(&h);
	}
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	kill(sender, SIGKILL);
	kill(pid, SIGKILL);
	waitpid(sender, &status, 0);
	waitpid(pid, &status, 0);
}

/* Child and test on one processor: what the one sends, the other has not taken when it goes on. */
static pid_t begin_spinning(void)
{
	cpu_set_t one, all;
	pid_t pid;

	CPU_ZERO(&one);
	sched_getaffinity(0, sizeof all, &all);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	sched_setaffinity(0, sizeof one, &one);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			__asm__ volatile("");
	}
	assert_true(pid > 0);
	usleep(1000);
	return pid;
}

static void end_spinning(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) == pid && !WIFSIGNALED(status))
		;
}

static void a_stop_on_its_way_is_a_stop(void **state)
{
	cpu_set_t all;

	(void)state;
	sched_getaffinity(0, sizeof all, &all);
	for (int i = 0; i < 50; i++) {
		const pid_t pid = begin_spinning();
		struct held h;
		int status;

		kill(pid, SIGSTOP);
		assert_int_equal(hold_process(&h, pid), HOLD_STOPPED);
		assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
		assert_true(WIFSTOPPED(status));
		kill(pid, SIGCONT);
		assert_int_equal(hold_process(&h, pid), HELD);
		hold_release(&h);
		end_spinning(pid);
	}
	sched_setaffinity(0, sizeof all, &all);
}

extern const uint8_t a_call[];
__asm__(".text\na_call: syscall\n ud2\n");

static void a_stop_outlives_calls(void **state)
{
	const pid_t pid = begin_spinning();
	struct held h;
	long r = 0;
	int status;

	(void)state;
	assert_int_equal(hold_process(&h, pid), HELD);
	kill(pid, SIGSTOP);
	for (int i = 0; i < 3; i++) {
		assert_true(remote_call(pid, (uintptr_t)a_call, SYS_getpid,
					(const uint64_t[6]){ 0 }, &r));
		assert_int_equal(r, pid);
	}
	hold_release(&h);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(WSTOPSIG(status), SIGSTOP);
	end_spinning(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(held_without_faults_on_their_way),
		cmocka_unit_test(waits_go_on),
		cmocka_unit_test(a_stop_on_its_way_is_a_stop),
		cmocka_unit_test(a_stop_outlives_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
