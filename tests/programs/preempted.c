/* SPDX-License-Identifier: MIT */
/* preempted.c - preempted [N] - N signals of a timer into code of every shape that goes round: what
 * it prints depends on where each of them came, and on all registers there */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

static uint64_t seen = 1, progress;
static volatile int got;

static void mix(uint64_t v)
{
	seen = (seen ^ v) * 0x9e3779b97f4a7c15u;
	seen ^= seen >> 29;
}

static void handler(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;

	for (int i = 0; i < NGREG; i++)
		mix((uint64_t)u->uc_mcontext.gregs[i]);
	for (int i = 0; i < 16; i++)
		mix(u->uc_mcontext.fpregs->_xmm[i].element[0]);
	mix(progress);
	mix((uint64_t)(sig + info->si_code));
	got++;
}

/* Returns. */
__attribute__((noinline)) static uint64_t fib(unsigned n)
{
	progress++;
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/* Called from a library, by a pointer. */
static int less(const void *a, const void *b)
{
	progress++;
	return *(const int *)a - *(const int *)b;
}

/* A jump table. */
__attribute__((noinline)) static uint64_t interpret(const uint8_t *op, unsigned n)
{
	uint64_t a = 1;

	for (unsigned i = 0; i < n; i++) {
		progress++;
		switch (op[i] % 10) {
		case 0: a += 3; break;
		case 1: a *= 3; break;
		case 2: a ^= a >> 7; break;
		case 3: a -= i; break;
		case 4: a = a << 5 | a >> 59; break;
		case 5: a += a << 3; break;
		case 6: a |= 1; break;
		case 7: a ^= 0x55; break;
		case 8: a *= a | 1; break;
		default: a--; break;
		}
	}
	return a;
}

/* The carry passes the jump back. */
static uint64_t add_long(uint64_t *a, const uint64_t *b, uint64_t n)
{
	uint64_t t, i = 0;

	__asm__ volatile("clc\n"
			 "1:	mov (%[a], %[i], 8), %[t]\n"
			 "	adc (%[b], %[i], 8), %[t]\n"
			 "	mov %[t], (%[a], %[i], 8)\n"
			 "	lea 1(%[i]), %[i]\n"
			 "	dec %[n]\n"
			 "	jnz 1b\n"
			 : [t] "=&r"(t), [i] "+r"(i), [n] "+r"(n)
			 : [a] "r"(a), [b] "r"(b)
			 : "cc", "memory");
	return a[3];
}

/* loop, jrcxz backwards, returns that take arguments off, a jump through a register past which
 * flags are needed */
static uint64_t odd_ways(uint64_t n)
{
	uint64_t a = 0;

	__asm__ volatile("	mov %[n], %%rcx\n"
			 "1:	add %%rcx, %[a]\n"
			 "	loop 1b\n"
			 "	mov %[n], %%rdx\n"
			 "	jmp 3f\n"
			 "2:	dec %%rdx\n"
			 "	jz 4f\n"
			 "	xor %%ecx, %%ecx\n"
			 "3:	add %%rdx, %[a]\n"
			 "	xor %%ecx, %%ecx\n"
			 "	jrcxz 2b\n"
			 "4:	mov %[n], %%rdx\n"
			 "	sub $128, %%rsp\n"
			 "5:	push %[a]\n"
			 "	call 6f\n"
			 "	dec %%rdx\n"
			 "	jnz 5b\n"
			 "	add $128, %%rsp\n"
			 "	jmp 7f\n"
			 "6:	add 8(%%rsp), %[a]\n"
			 "	ret $8\n"
			 "7:	lea 8f(%%rip), %%rsi\n"
			 "	mov %[n], %%rdx\n"
			 "	clc\n"
			 "8:	adc %%rdx, %[a]\n"
			 "	lea -1(%%rdx), %%rdx\n"
			 "	mov %%rdx, %%rcx\n"
			 "	jrcxz 9f\n"
			 "	jmp *%%rsi\n"
			 "9:\n"
			 : [a] "+r"(a)
			 : [n] "r"(n)
			 : "rcx", "rdx", "rsi", "cc", "memory");
	return a;
}

/* mov ecx, 1000; xor eax, eax; 1: add eax, ecx; adc eax, 0; dec ecx; jnz 1b; ret: generated */
static uint64_t generated(unsigned n)
{
	static const uint8_t code[] = { 0xb9, 0xe8, 3, 0, 0, 0x31, 0xc0, 0x01, 0xc8, 0x83, 0xd0, 0,
					0xff, 0xc9, 0x75, 0xf7, 0xc3 };
	static uint8_t *page;
	uint64_t sum = 0;

	if (!page)
		page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(page, code, sizeof code);
	for (unsigned i = 0; i < n; i++)
		sum += ((unsigned (*)(void))page)();
	return sum;
}

int main(int argc, char **argv)
{
	const int most = argc > 1 ? atoi(argv[1]) : 100;
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct itimerval it = { { 0, 1000 }, { 0, 1000 } };
	static uint64_t a[256], b[256];
	static uint8_t ops[4096];
	static int v[2000];
	uint64_t sum = 0;
	char text[64];

	for (unsigned i = 0; i < sizeof ops; i++)
		ops[i] = (uint8_t)(i * 7 + (i >> 3));
	memset(b, 0xf7, sizeof b);
	sigaction(SIGALRM, &sa, 0);
	setitimer(ITIMER_REAL, &it, 0);
	while (got < most) {
		sum += fib(14);
		for (int i = 0; i < 2000; i++)
			v[i] = i * 7919 % 5003;
		qsort(v, 2000, sizeof *v, less);
		sum += interpret(ops, sizeof ops) + add_long(a, b, 256) + odd_ways(500);
		sum += generated(20);
		for (int i = 0; i < 20; i++) {
			snprintf(text, sizeof text, "%d %f", i, i * 0.7);
			sum += strlen(text);
		}
	}
	memset(&it, 0, sizeof it);
	setitimer(ITIMER_REAL, &it, 0);
	printf("%d signals: %llx %llx %llx\n", got, (unsigned long long)seen,
	       (unsigned long long)sum, (unsigned long long)progress);
	return 0;
}
