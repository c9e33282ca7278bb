/* SPDX-License-Identifier: MIT */
/* flags: -pthread */
/* exits.c - one way to end for each argument */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "self_check.h"

static void bye(void) { puts("atexit"); }

static void *ends(void *arg)
{
	usleep(10000);
	if (arg)
		syscall(SYS_exit_group, 23);
	return NULL;
}

static void *spins(void *arg)
{
	for (volatile int i = 0;; i++)
		;
	return arg;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "0";
	pthread_t t;

	atexit(bye);
	printf("about to end: %s\n", how);
	fflush(stdout);
	if (*how >= '0' && *how <= '9')
		return atoi(how);
	if (!strcmp(how, "_exit"))
		_exit(12);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "term"))
		raise(SIGTERM);
	if (!strcmp(how, "segv"))
		*(volatile int *)8 = 1;
	if (!strcmp(how, "jump"))
		((void (*)(void))0)();
	if (!strcmp(how, "fpe")) {
		volatile int zero = 0;

		return argc / zero;
	}
	if (!strcmp(how, "ill"))
		__builtin_trap();
	if (!strcmp(how, "thread")) {
		pthread_create(&t, NULL, ends, &t);
		for (;;)
			pause();
	}
	if (!strcmp(how, "spinning")) {		/* others are in the middle of a loop */
		for (int i = 0; i < 3; i++)
			pthread_create(&t, NULL, spins, NULL);
		usleep(10000);
		return 14;
	}
	if (!strcmp(how, "last")) { /* main ends first, the last thread's end is the process's */
		pthread_create(&t, NULL, ends, NULL);
		pthread_exit(NULL);
	}
	if (!strcmp(how, "unmapped")) {		/* the stack goes away, then exit */
#ifdef __x86_64__
		__asm__ volatile(
			"mov $231, %%eax\n\tmov $15, %%edi\n\txor %%esp, %%esp\n\tsyscall" ::
				: "memory");
#else
		__asm__ volatile(
			"mov $252, %%eax\n\tmov $15, %%ebx\n\txor %%esp, %%esp\n\tint $0x80" ::
				: "memory");
#endif
	}
	fprintf(stderr, "exits: unknown way %s\n", how);
	return 99;
}
