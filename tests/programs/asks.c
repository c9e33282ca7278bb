/* SPDX-License-Identifier: MIT */
/* flags: -pthread -no-pie -O1 */
/* asks.c - what a recording of it is asked about: stores of threads, of a system call and of a
 * string instruction, calls, signals, a process that executes another program */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

volatile long total;
char text[32];

__attribute__((noinline)) long add(long a, long b)
{
	total += a;
	return a + b;
}

static void *adds(void *arg)
{
	for (long i = 0; i < 200; i++)
		add(i, (long)arg);
	return 0;
}

static void handler(int sig)
{
	add(1000, sig);
}

int main(int argc, char **argv)
{
	pthread_t t[2];
	int ends[2];

	if (argc > 1)
		return (int)add(7, 35);
	signal(SIGUSR1, handler);
	for (long k = 0; k < 2; k++)
		pthread_create(&t[k], 0, adds, (void *)k);
	for (int k = 0; k < 2; k++)
		pthread_join(t[k], 0);
	raise(SIGUSR1);
	pipe(ends);
	write(ends[1], "from a pipe", 12);
	read(ends[0], text, sizeof text);
	__asm__ volatile("rep stosb" : : "D"(text + 1), "c"(5L), "a"('x') : "memory");
	if (!fork()) {
		add(5, 5);
		execl("/proc/self/exe", argv[0], "again", NULL);
	}
	wait(0);
	printf("%ld %s\n", total, text);
	return 0;
}
