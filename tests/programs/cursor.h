/* SPDX-License-Identifier: MIT */
/* cursor.h - what both cursor.c share: rounds with signals in between (cursor [ROUNDS]), and a
 * thread that is at it when another one ends the process (cursor killed [hard], which prints how
 * often it went round at the least: it writes its count each time) */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile long ticks, rounds;

static long round_of(long i);

static void tick(int sig)
{
	ticks++;
}

static void *runner(void *arg)
{
	for (;;) {
		round_of(rounds);
		/* one instruction: the test counts it */
		asm volatile("add%z0 $1, %0" : "+m"(rounds) : : "cc");
	}
}

/* @times: rounds if none are asked for; @enough: before the thread is killed */
static int cursor_main(int argc, char **argv, long times, long enough)
{
	long sum = 0, n = argc > 1 ? atol(argv[1]) : times;
	struct itimerval every = { { 0, 500 }, { 0, 500 } };
	pthread_t thread;

	if (argc > 1 && !strcmp(argv[1], "killed")) {
		pthread_create(&thread, NULL, runner, NULL);
		while (rounds < enough)
			usleep(1000);
		printf("%ld\n", rounds);
		fflush(stdout);
		if (argc > 2)
			kill(getpid(), SIGKILL);
		_exit(0);
	}
	if (argc < 2) {
		signal(SIGALRM, tick);
		setitimer(ITIMER_REAL, &every, NULL);
	}
	for (long i = 0; i < n; i++)
		sum = sum * 5 + round_of(i);
	printf("%ld\n", sum);
	return 0;
}
