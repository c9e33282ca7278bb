/* SPDX-License-Identifier: MIT */
/* flags: -O1 -static -no-pie */
/* given.c - an allocator of its own that touches nothing near what it gives away, and a function
 * that allocates for others: each caller's blocks are written a known number of times, as given to
 * touch(). */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static size_t used[1 << 10], at;
static char *heap;

__attribute__((noinline)) void *malloc(size_t n)
{
	char *p;

	if (!heap)
		heap = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p = heap + at;
	used[at >> 10] = n;
	at += (n + 1023) & ~(size_t)1023;
	return p;
}
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t size) { return malloc(n * size); }
__attribute__((noinline)) void *realloc(void *p, size_t n)
{
	char *q = malloc(n);

	return p ? memcpy(q, p, 8) : q;
}

/* what a block is kept in before it is used: registers, the stack, a structure */
struct kept { long n; char *p; };
__attribute__((noinline)) static void *wrapped(size_t n)
{
	void *p = malloc(n);

	if (!p)
		abort();
	return p;
}
__attribute__((noinline)) static void touch(volatile char *p, int n)
{
	for (int i = 0; i < n; i++)
		p[8 * i] = 1;
}
__attribute__((noinline)) static void fill(struct kept *k, int n) { touch(k->p + 16, n); }
__attribute__((noinline)) static char *one(void) { return wrapped(1000); }
__attribute__((noinline)) static char *two(void) { return wrapped(2000); }
__attribute__((noinline)) static void keep(struct kept *k) { k->p = malloc(500); }
__attribute__((noinline)) static char *more(char *p) { return realloc(p, 1500); }

int main(void)
{
	for (int i = 0; i < 50; i++) {
		char *p = one(), *q = two();
		struct kept k;

		keep(&k);
		touch(p + 8, 3);
		touch(q, 5);
		fill(&k, 7);
		touch(more(p), 11);
	}
	return 0;
}
