/* SPDX-License-Identifier: MIT */
/* flags: -static -no-pie
 *
 * loops.c - small loops that are entered in their middle, left from there, and stopped there by
 * faults: those are repaired and resumed, or left by siglongjmp. "loops long": one goes round and
 * round. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGES 8
static sigjmp_buf out;
static unsigned char *window;
static unsigned short next[1024];
static volatile int leave;

static void fault(int sig, siginfo_t *si, void *uc)
{
	if (leave)
		siglongjmp(out, 1);
	mprotect((void *)((unsigned long)si->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE);
}

/* Follows the chain from @at until there is @want, *left times at most. */
__attribute__((noinline)) static unsigned chase(unsigned at, long off, long *left,
						unsigned char want)
{
	unsigned eax;

	__asm__ volatile("	jmp 2f\n"
			 "1:	and $0x3ff, %%edx\n"
			 "	movzwl (%[next], %%rdx, 2), %%edx\n"
			 "	cmp $0xffff, %%edx\n"
			 "	je 3f\n"
			 "	sub $1, %[left]\n"
			 "	je 3f\n"
			 "2:	mov %%edx, %%eax\n"
			 "	add %[window], %%rax\n"
			 "	cmpb %[want], (%%rax, %[off])\n"
			 "	jne 1b\n"
			 "	addb $1, 1(%%rax, %[off])\n"
			 "3:"
			 : "+d"(at), [left] "+r"(*left), "=&a"(eax)
			 : [next] "r"(next), [window] "r"(window), [off] "r"(off), [want] "q"(want)
			 : "cc", "memory");
	return at + eax % 4096;
}

/* A while loop: what decides stands at its beginning, and a jump at its end. */
__attribute__((noinline)) static long sums(const unsigned char *p, long n)
{
	long sum = 0, value = 0;

	__asm__ volatile("1:	test %[n], %[n]\n"
			 "	je 2f\n"
			 "	movzbl (%[p]), %k[value]\n"
			 "	add %[value], %[sum]\n"
			 "	inc %[p]\n"
			 "	dec %[n]\n"
			 "	jmp 1b\n"
			 "2:"
			 : [p] "+r"(p), [n] "+r"(n), [sum] "+r"(sum), [value] "+&r"(value)
			 :: "cc", "memory");
	return sum;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = fault, .sa_flags = SA_NODEFER | SA_SIGINFO };
	unsigned long sum = 0;
	long left;

	sigaction(SIGSEGV, &sa, NULL);
	window = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	for (unsigned i = 0; i < 1024; i++)
		next[i] = (unsigned short)((i * 389 + 7) % (PAGES * 4096 - 2));
	for (unsigned long i = 0; i < PAGES * 4096 / sizeof i; i++)
		((unsigned long *)(void *)window)[i] = i * i * 0x9e3779b97f4a7c15;
	if (argc > 1) {
		left = 200000;
		memset(window, 0, PAGES * 4096);
		printf("%u\n", chase(3, 0, &left, 1));
		return 0;
	}
	for (int i = 0; i < 24; i++) {
		leave = i & 1;
		for (unsigned k = 1; k < PAGES; k += 2)
			mprotect(window + k * 4096, 4096, PROT_NONE);
		left = 2 + i % 7;
		if (!sigsetjmp(out, 1))
			sum += chase((unsigned)i * 5, i % 3, &left, (unsigned char)(i * 17));
		sum = sum * 3 + (unsigned long)left;
		if (!sigsetjmp(out, 1))
			sum += (unsigned long)sums(window + 4096 - 9, 5 + i);
	}
	printf("%lu\n", sum);
	return 0;
}
