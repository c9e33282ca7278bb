/* SPDX-License-Identifier: MIT */
/* flags: -static
 *
 * handover.c - threads of which one runs at a time, in a fixed order: each waits in read() until
 * the one before it is done, so that what every one of them executes is the same in all runs,
 * however they are scheduled
 *
 *   handover N      rounds; each thread makes some 50 instructions a round, with references of its
 *                   own
 *
 * They are not libc's: with glibc 2.41 a thread that begins writes its number into a name, and
 * remembers for the others whether the kernel takes such names. */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 3

static int token[THREADS + 1][2], gone[2];
static long rounds;
static uint32_t heap[THREADS][64];
static char stack[THREADS][65536] __attribute__((aligned(16)));

static int work(void *arg)
{
	const long me = (long)arg;
	char c;

	unshare(CLONE_FILES);		/* so that its end of @gone is closed when the kernel has
					 * seen it out */
	for (long turn = 0; turn < 4; turn++) {
		if (read(token[me][0], &c, 1) != 1)
			return 1;
		for (long i = 0; i < rounds; i++)
			for (unsigned k = 0; k < 8; k++)
				heap[me][(k * 7 + (unsigned long)i) & 63] += heap[me][k] ^
									     (uint32_t)(i * me);
		if (write(token[me + 1][1], &c, 1) != 1)
			return 1;
	}
	syscall(SYS_exit, 0);
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t sum = 0;
	char c = 0;

	rounds = argc > 1 ? atol(argv[1]) : 10;
	if (pipe(gone))
		return 1;
	for (int i = 0; i <= THREADS; i++)
		if (pipe(token[i]))
			return 1;
	for (long i = 0; i < THREADS; i++)
		if (clone(work, stack[i] + sizeof stack[i],
			  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
				  CLONE_SYSVSEM,
			  (void *)i) < 0)
			return 1;
	for (int turn = 0; turn < 4; turn++)
		if (write(token[0][1], &c, 1) != 1 || read(token[THREADS][0], &c, 1) != 1)
			return 1;
	for (int i = 0; i < THREADS; i++)
		for (int k = 0; k < 64; k++)
			sum = sum * 31 + heap[i][k];
	printf("%08x\n", sum);
	fflush(stdout);
	close(gone[1]);
	_exit(read(gone[0], &c, 1));	/* which the others have left by now */
}
