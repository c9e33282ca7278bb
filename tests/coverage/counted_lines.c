/* SPDX-License-Identifier: MIT */
/* counted_lines.c - code whose lines gcov and pugmark count alike at -O0, but for those that a
 * comment marks: what it says is the reason (docs/coverage.md) */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf env;
struct s { int a, b; };
static int table[] = { 1, 2, 3 };
static inline int twice(int x) { return 2 * x; }
static int add(int x, int y)
{
	return x + y;
}
static int unused(int x)
{
	if (x > 3)
		return 1;
	return 0;
}
static int fact(int n)
{
	return n < 2 ? 1 : n * fact(n - 1);
}
static int sw(int x)
{
	switch (x) {
	case 0: return 5;
	case 1:				/* gcov only: label */
		return 6;
	case 2: x++; break;
	case 3: case 4: case 5:			/* gcov only: label */
		x += 2;
	case 6:				/* gcov only: label */
		x--;
		break;
	default:			/* gcov only: label */
		x = 0;
	}
	return x;
}
int main(int argc, char **argv)
{
	int sum = 0;
	struct s s = {			/* gcov counts more: pieces */
		.a = argc,
		.b = twice(argc),
	};
	for (int i = 0; i < 10; i++)
		sum += i;
	for (int i = 0; i < 10; i++) sum += i;
	for (int i = 0;
	     i < 7;
	     i++)
		for (int j = 0; j < i; j++)
			if (i > 2 && (j & 1 || i == 5))
				sum ^= j;
	while (sum > 20) { sum -= 3; if (sum == 22) break; }
	do {
		sum++;
		if (sum == 5)
			continue;	/* gcov only: jump */
	} while (sum < 30);
	do sum++; while (sum < 40);
	sum += twice(sum) +
	       fact(5) +
	       twice(fact(3));
	for (int i = 0; i < 9; i++)
		sum += sw(i);
	char *p = malloc(10), *q = p;
	for (q = p; q < p + 9; *q++ = 'x')
		;
	*q = 0;
	while (*q-- != 'x' && q > p);
	if (argc > 5)
		sum = unused(sum);
	else if (argc > 3)
		sum = 3;
	else
		sum = sum ? sum : s.b;
	for (;;) {
		if (sum++ > 300)
			break;
		sum++;
	}
	while (1) {
		sum++;
		s.a = sum;
		if (sum > 400)
			break;
	}
	struct s *sp = &s;
	for (int i = 0; i < 3; i++) {
		sum++;
		sp->a = add(sp->a + 1,
			    sp->b - 2);
		sum++;
	}
	sum = sum == 1 ? 5
	      : sum == 2 ? 6		/* gcov counts more: pieces */
	      : 7;
	printf("%d %d %s\n", sum,
	       table[1],
	       p);
	if (setjmp(env))		/* gcov counts less: setjmp */
		goto out;
	if (sum)
		longjmp(env, 1);
	sum = 7;
out:					/* gcov only: label */
	if (argc == 1)
		exit(sum & 1);
	return 0;
}
