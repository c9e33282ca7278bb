/* SPDX-License-Identifier: MIT */
/* chains.c - chains N [M...]: N of 200 chains of three functions, of which each calls the next one
 * if it is told to; chains M are. Runs of it with other Ms need other links of code that is there
 * already. */
#include "self_check.h"

static int sum;

#define EACH10(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define EACH(X) EACH10(X, 10) EACH10(X, 11) EACH10(X, 12) EACH10(X, 13) EACH10(X,	\
	14) EACH10(X, 15) EACH10(X, 16)							\
	EACH10(X, 17) EACH10(X, 18) EACH10(X, 19) EACH10(X, 20) EACH10(X, 21) EACH10(X,	\
		22) EACH10(X, 23)							\
	EACH10(X, 24) EACH10(X, 25) EACH10(X, 26) EACH10(X, 27) EACH10(X, 28) EACH10(X, 29)
#define APART __attribute__((noipa)) static void

#define LAST(n) APART last##n(int x) { sum += x * n; if (sum == 77) sum ^= n; }
#define NEXT(n) APART next##n(int x) { sum += x + n; if (x > 6) last##n(x); sum ^= n; }
#define FIRST(n) APART first##n(int x) { sum ^= x + n; if (x > 5) next##n(x); sum++; }
#define NAME(n) first##n,
EACH(LAST)
EACH(NEXT)
EACH(FIRST)
static void (*const first[])(int) = { EACH(NAME) };

int main(int argc, char **argv)
{
	CHECK(argc > 1 && atoi(argv[1]) <= 200);
	for (int i = 0; i < atoi(argv[1]); i++)
		first[i](0);
	for (int i = 2; i < argc; i++) {
		CHECK(atoi(argv[i]) < 200);
		first[atoi(argv[i])](9);
	}
	printf("%d\n", sum);
	return 0;
}
