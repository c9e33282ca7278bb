/* SPDX-License-Identifier: MIT */
/* flags: -static -no-pie
 *
 * cuts.c - a deterministic program whose blocks are cut: faults that are repaired and resumed,
 * faults that are left by siglongjmp, signals to itself, a fork. No threads, no time, few
 * instructions. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf out;
static char *page;
static volatile int leave, seen;

static void fault(int sig)
{
	if (leave)
		siglongjmp(out, 1);
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static void note(int sig)
{
	seen++;
}

/* Straight code with the faulting store in its middle. */
__attribute__((noinline)) static int touch(volatile char *p, int k)
{
	int a = k * 3;

	a ^= k;
	p[5] = (char)a;
	a += p[7];
	return a * 2;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = fault, .sa_flags = SA_NODEFER };
	int sum = 0, status;
	char buf[600];

	sigaction(SIGSEGV, &sa, NULL);
	signal(SIGUSR1, note);
	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 30; i++) {
		leave = i & 1;
		mprotect(page, 4096, PROT_NONE);
		if (!sigsetjmp(out, 1))
			sum += touch(page, i);
		raise(SIGUSR1);
	}
	if (!fork()) {
		memset(buf, 'x', sizeof buf);
		buf[599] = 0;
		_exit((int)strlen(buf) & 63);
	}
	wait(&status);
	printf("%d %d %d\n", sum, seen, WEXITSTATUS(status));
	return 3;
}
