/* SPDX-License-Identifier: MIT */
/* start.c - how long it takes from the start of a process to the first instruction of its main()
 *
 *   start            the program that is started: writes what the clock says
 *   start N PROG...  starts each of the programs N times, in turn; prints the medians in
 *                    milliseconds */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST 1001

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Nanoseconds; -1: it did not say. */
static int64_t started(const char *path)
{
	int64_t begin, there = 0;
	int fd[2], status;
	pid_t pid;

	if (pipe(fd))
		return -1;
	begin = now();
	pid = vfork();
	if (pid == 0) {
		dup2(fd[1], 1);
		execl(path, path, NULL);
		_exit(127);
	}
	close(fd[1]);
	if (read(fd[0], &there, sizeof there) != sizeof there)
		there = begin - 1;
	close(fd[0]);
	waitpid(pid, &status, 0);
	return there - begin;
}

int main(int argc, char **argv)
{
	const int64_t first = now();
	static int64_t took[16][MOST];
	int n = argc > 2 ? atoi(argv[1]) : 0;

	if (argc < 3)
		return write(1, &first, sizeof first) != sizeof first;
	if (n < 1 || n > MOST || argc - 2 > 16)
		return 2;
	for (int k = 0; k < n; k++)
		for (int p = 2; p < argc; p++)
			took[p - 2][k] = started(argv[p]);
	for (int p = 2; p < argc; p++) {
		qsort(took[p - 2], (size_t)n, sizeof took[0][0], by_size);
		if (took[p - 2][0] < 0)
			return 1;
		printf("%.2f%c", (double)took[p - 2][n / 2] / 1e6, p == argc - 1 ? '\n' : ' ');
	}
	return 0;
}
