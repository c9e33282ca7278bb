/* SPDX-License-Identifier: MIT */
/* flags: -O1 -static -no-pie */
/* moved.c - blocks that realloc moves, and one that is mapped: each written a known number of
 * times, as given to touch(). In glibc and in musl alike. */
#include <stdlib.h>
#include <sys/mman.h>
volatile char *sink;
__attribute__((noinline)) static char *first(void) { return malloc(1000); }
__attribute__((noinline)) static char *other(void) { return malloc(200); }
__attribute__((noinline)) static char *moved(char *p) { return realloc(p, 4000); }
__attribute__((noinline)) static char *zeroed(void) { return calloc(50, 10); }
__attribute__((noinline)) static char *map(void)
{
	return mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
__attribute__((noinline)) static void touch(volatile char *p, int n)
{
	sink = p;
	for (int i = 0; i < n; i++)
		p[8 * i] = 1;
}
int main(void)
{
	for (int i = 0; i < 100; i++) {
		char *p = first(), *q = other();
		touch(p, 7);
		touch(q, 11);
		p = moved(p);
		touch(p, 19);
		touch(zeroed(), 13);
	}
	touch(map(), 17);
	return 0;
}
