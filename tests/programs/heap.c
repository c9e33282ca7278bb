/* SPDX-License-Identifier: MIT */
/* flags: -O1 -static -no-pie */
/* heap.c - four places that allocate in the four ways of glibc, each block written a known number
 * of times: fresh from the top (7), from the thread's cache (11), by calloc (13), mapped (17) */
#include <stdlib.h>

volatile char *sink;

__attribute__((noinline)) static char *fresh(void) { return malloc(1000); }
__attribute__((noinline)) static char *again(void) { return malloc(200); }
__attribute__((noinline)) static char *zeroed(void) { return calloc(50, 10); }
__attribute__((noinline)) static char *large(void) { return malloc(1 << 20); }

__attribute__((noinline)) static void touch(volatile char *p, int n)
{
	sink = p;
	for (int i = 0; i < n; i++)
		p[8 * i] = 1;
}

int main(void)
{
	char *first = malloc(200), *second = malloc(200), *block;

	free(first);
	free(second);
	for (int i = 0; i < 100; i++) {
		touch(fresh(), 7);
		block = again();	/* what the round before freed */
		touch(block, 11);
		free(block);
		touch(zeroed(), 13);
	}
	touch(large(), 17);
	return 0;
}
