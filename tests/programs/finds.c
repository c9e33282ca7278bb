/* SPDX-License-Identifier: MIT */
/* flags: -pthread -Og -g0 */
/* finds.c - threads that compute, and keep finding functions that none has called before, with a
 * fourth argument that matters
 *
 *   finds [ROUNDS]      prints "begun", then a sum that depends on ROUNDS only */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS	4
#define ROUNDS_PER_FUNCTION	15000

typedef uint32_t function(uint32_t a, uint32_t b, uint32_t c, uint32_t d);
#define F(n) __attribute__((noinline)) static uint32_t \
	f##n(uint32_t a, uint32_t b, uint32_t c, uint32_t d) \
	{ return ((a * (2 * (1##n - 100000) + 1) + b) ^ c >> (1##n % 13 + 1)) ^ (d + 1##n); }
#define F10(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
#define F100(n) F10(n##0) F10(n##1) F10(n##2) F10(n##3) F10(n##4) F10(n##5) F10(n##6) F10(n##7) \
	F10(n##8) F10(n##9)
#define F1000(n) F100(n##0) F100(n##1) F100(n##2) F100(n##3) F100(n##4) F100(n##5) F100(n##6) \
	F100(n##7) F100(n##8) F100(n##9)
F1000(00) F1000(01) F1000(02)
#undef F
#define F(n) f##n,
static function *const functions[] = { F1000(00) F1000(01) F1000(02) };
enum { N = sizeof functions / sizeof *functions };

static uint32_t rounds = 30000000;

static void *work(void *seed)
{
	uint32_t x = (uint32_t)(uintptr_t)seed, y = 1, z = 2, n = 1;

	for (uint32_t i = 1; i <= rounds; i++) {
		const uint32_t r = functions[(x >> 16) % n](x, y, z, i);

		n += n < N && i % ROUNDS_PER_FUNCTION == 0;
		z = y;
		y = x;
		x = r * 1664525 + 1013904223;
	}
	return (void *)(uintptr_t)x;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	uint32_t sum = 0;

	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 0);
	printf("begun\n");
	fflush(stdout);
	for (int i = 0; i < THREADS; i++)
		pthread_create(t + i, NULL, work, (void *)(uintptr_t)(77 * i + 1));
	for (int i = 0; i < THREADS; i++) {
		void *x;

		pthread_join(t[i], &x);
		sum += (uint32_t)(uintptr_t)x * (i + 1);
	}
	printf("sum %08x\n", sum);
}
