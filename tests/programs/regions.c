/* SPDX-License-Identifier: MIT */
/* regions.c - functions for a region to begin and end at: setup(), kernel() twice, a signal,
 * finish() */
#include <signal.h>
#include <stdio.h>

static int v[1000];
static volatile sig_atomic_t seen;

static void handler(int sig)
{
	seen = sig;
}

__attribute__((noinline)) void setup(void)
{
	for (int i = 0; i < 1000; i++)
		v[i] = i * 7;
}

__attribute__((noinline)) int kernel(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += v[i];
	return sum;
}

__attribute__((noinline)) int finish(int sum)
{
	return sum == 3496500 + 34650 ? seen - SIGUSR1 : 1;
}

int main(void)
{
	int sum;

	signal(SIGUSR1, handler);
	setup();
	sum = kernel(1000);
	puts("between");
	raise(SIGUSR1);
	sum += kernel(100);
	puts("done");
	return finish(sum);
}
