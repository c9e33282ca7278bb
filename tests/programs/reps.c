/* SPDX-License-Identifier: MIT */
/* flags: -no-pie -fno-pie
 *
 * reps.c - string instructions that fault between two iterations and are gone on with, that run
 * backwards, that compare, and one of very many iterations */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096ul
#define MANY (64ul << 20)

static volatile long seen;

static void open_page(int sig, siginfo_t *i, void *context)
{
	(void)sig;
	(void)context;
	mprotect((char *)((unsigned long)i->si_addr & -PAGE), PAGE, PROT_READ | PROT_WRITE);
}

static char *fill(char *at, unsigned long n, char with)
{
	__asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(with) : "memory");
	return at;
}

int main(void)
{
	struct sigaction a = { .sa_sigaction = open_page, .sa_flags = SA_SIGINFO };
	static const char hay[5000] = "x";
	char *page = mmap((void *)0x10000000, 3 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	char *many = mmap(NULL, MANY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *from = hay + 1;
	char *end = page + PAGE;
	unsigned long n = sizeof hay - 1;

	if (page == MAP_FAILED || many == MAP_FAILED)
		return 1;
	sigaction(SIGSEGV, &a, NULL);
	mprotect(page + PAGE, 2 * PAGE, PROT_NONE);
	seen = fill(page, 3 * PAGE, 'y') - page;
	__asm__ volatile("repe scasb" : "+D"(from), "+c"(n) : "a"(0) : "memory", "cc");
	seen = (long)n;
	n = 4000;
	__asm__ volatile("std; rep stosb; cld" : "+D"(end), "+c"(n) : "a"('z') : "memory", "cc");
	seen = end - page;
	seen = fill(many, MANY, 'm') - many;
	printf("%c %ld\n", page[3 * PAGE - 1], seen);
	return 0;
}
