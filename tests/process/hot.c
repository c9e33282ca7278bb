/* SPDX-License-Identifier: MIT */
/* hot.c - a process that ends, with an argument by abort() or by executing another program, while
 * its threads run, call and sleep */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
volatile int sink[8];
/* What they execute is traced: with pauses it is less. */
static void *run(void *a)
{
	for (;;) {
		sink[(long)a]++;
		__builtin_ia32_pause();
	}
}
static void *calls(void *a) { for (;;) getppid(), sink[(long)a]++; return a; }
static void *sleeps(void *a)
{
	int p[2];
	char c;

	if (pipe(p))
		return a;
	for (sink[(long)a]++;;)
		if (read(p[0], &c, 1) < 0)
			_exit(99);
}
/* Until thread @i has gone on. */
static void wait_for(long i)
{
	const int was = sink[i];
	struct timespec s = { 0, 2000000 };

	do
		nanosleep(&s, 0);
	while (sink[i] == was);
}
/* First what is no program: all go on. */
static void execute(void)
{
	for (int i = 0; i < 3; i++) {
		execl("/no/such/program", "program", (char *)NULL);
		for (long k = 0; k < 3; k++)
			wait_for(k);
	}
	execl("/bin/true", "true", (char *)NULL);
}
int main(int argc, char **argv)
{
	pthread_t t;
	void *(*f[])(void *) = { run, run, calls, sleeps };
	for (long i = 0; i < 4; i++)
		pthread_create(&t, 0, f[i], (void *)i);
	for (long i = 0; i < 3; i++)
		wait_for(i);
	while (!sink[3])
		wait_for(0);
	if (argc > 1 && !strcmp(argv[1], "exec"))
		execute();
	if (argc > 1)
		abort();
	return argv[0] ? 7 : 8;
}
