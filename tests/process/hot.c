/* SPDX-License-Identifier: MIT */
/* hot.c - a process that ends, with an argument by abort(), while its threads run, call and sleep */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
volatile int sink[8];
static void *run(void *a) { for (;;) sink[(long)a]++; }
static void *calls(void *a) { for (;;) getppid(); return a; }
static void *sleeps(void *a) { for (;;) sleep(100); return a; }
int main(int argc, char **argv)
{
	pthread_t t;
	void *(*f[])(void *) = { run, run, calls, sleeps };
	struct timespec s = { 0, 20000000 };
	for (long i = 0; i < 4; i++)
		pthread_create(&t, 0, f[i], (void *)i);
	nanosleep(&s, 0);
	if (argc > 1)
		abort();
	return argv[0] ? 7 : 8;
}
