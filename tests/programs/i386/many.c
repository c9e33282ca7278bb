/* SPDX-License-Identifier: MIT */
/* flags: -pthread */
/* many.c - two hundred threads at once, twice; forks and vforks among them */
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include "self_check.h"

static pthread_barrier_t all;
static volatile int sum[200];

static void *work(void *arg)
{
	int k = (int)(intptr_t)arg;

	for (int i = 0; i < 1000; i++)
		sum[k] += i & k;
	pthread_barrier_wait(&all);
	return arg;
}

int main(void)
{
	static pthread_t t[200];
	char *child[] = { "true", NULL };
	pthread_attr_t small;
	int status, total = 0;
	pid_t pid;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int round = 0; round < 2; round++) {
		pthread_barrier_init(&all, NULL, 201);
		for (int k = 0; k < 200; k++)
			CHECK(pthread_create(&t[k], &small, work, (void *)(intptr_t)k) == 0);
		pid = fork();
		if (!pid)
			_exit(9);
		CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 9);
		CHECK(posix_spawn(&pid, "/bin/true", NULL, NULL, child, NULL) == 0);
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
		pthread_barrier_wait(&all);
		for (int k = 0; k < 200; k++)
			CHECK(pthread_join(t[k], NULL) == 0);
	}
	for (int k = 0; k < 200; k++)
		total += sum[k];
	SECTION("200 threads, twice: %d", total);
	return 0;
}
