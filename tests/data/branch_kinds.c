/* SPDX-License-Identifier: MIT */
/* branch_kinds.c - a program with branches of every kind, for tests of branch profiles */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int seen;
static jmp_buf back;

static void on_signal(int sig)
{
	seen += sig;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int add(int x)
{
	return x + 1;
}

static int twice(int x)
{
	return x * 2;
}

static int (*volatile const call[])(int) = { add, twice };

static __attribute__((noinline)) int ackermann(int m, int n)
{
	if (!m)
		return n + 1;
	return n ? ackermann(m - 1, ackermann(m, n - 1)) : ackermann(m - 1, 1);
}

static __attribute__((noinline)) int choose(int x)
{
	switch (x % 7) {
	case 0:
		return x * 3;
	case 1:
		return x + 9;
	case 2:
		x += 3;
		/* fall through */
	case 3:
		return x - 7;
	case 4:
		return x / 5;
	case 5:
		return x << 2;
	}
	return x & 15;
}

int main(int argc, char **argv)
{
	int v[500];
	char text[64];

	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 500; i++)
		v[i] = i * 7919 % 503;
	qsort(v, 80, sizeof *v, compare);	/* of which most instructions are libc's */
	for (volatile int i = 0; i < 20; i++) {
		if (!setjmp(back)) {
			if (i % 3 == 0)
				longjmp(back, 1);
			raise(SIGUSR1);
		}
		snprintf(text, sizeof text, "%d %s", i, argc > 9 ? argv[1] : "x");
		seen += (int)strlen(text) + call[i % 2](i) + choose(i * 5);
	}
	printf("%d %d %d\n", seen, v[7], ackermann(2, 5));
	return 0;
}
