/* SPDX-License-Identifier: MIT */
/* where.c - a program with something to find: misses in one line, a branch and targets that nobody
 * can predict, recursion, threads that do nothing */
#include <stdint.h>
#include <stdio.h>

static uint32_t table[1 << 20];

__attribute__((noinline)) static uint32_t scattered(uint32_t n)
{
	uint32_t sum = 0, x = 12345;

	for (uint32_t i = 0; i < n; i++) {
		x = x * 1103515245u + 12345u;
		sum += table[x >> 12];
	}
	return sum;
}

__attribute__((noinline)) static uint32_t fib(uint32_t n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static uint32_t more(uint32_t x) { return x + 1; }
static uint32_t thrice(uint32_t x) { return x * 3; }
static uint32_t other(uint32_t x) { return x ^ 7; }

__attribute__((noinline)) static uint32_t dispatch(uint32_t n)
{
	static uint32_t (*const op[])(uint32_t) = { more, thrice, other };
	uint32_t sum = 0, x = 1;

	for (uint32_t i = 0; i < n; i++) {
		x = x * 1664525u + 1013904223u;
		sum = op[(x >> 20) % 3](sum);
	}
	return sum;
}

int main(void)
{
	for (uint32_t i = 0; i < sizeof table / sizeof *table; i += 16)
		table[i] = i;
	printf("%u\n", scattered(100000) + fib(18) + dispatch(50000));
	return 0;
}
