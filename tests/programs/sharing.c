/* SPDX-License-Identifier: MIT */
/* sharing STRIDE: four threads count, each in a word of its own, STRIDE bytes from the next one.
 * With 8 all are in one cache line, which each write takes from the others; with 64 none is. */
#include <pthread.h>
#include <stdlib.h>

#define TURNS 2000

static char counters[4096] __attribute__((aligned(64)));

static void *count(void *at)
{
	volatile long *counter = at;

	for (int i = 0; i < TURNS; i++)
		++*counter;
	return NULL;
}

int main(int argc, char **argv)
{
	const int stride = argc > 1 ? atoi(argv[1]) : 8;
	pthread_t t[4];
	long sum = 0;

	for (int i = 0; i < 4; i++)
		pthread_create(t + i, NULL, count, counters + i * stride);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 4; i++)
		sum += *(long *)(counters + i * stride);
	return sum != 4 * TURNS;
}
