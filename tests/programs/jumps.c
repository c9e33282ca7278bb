/* SPDX-License-Identifier: MIT */
/* jumps.c - setjmp, contexts, deep recursion, an overflowing stack, calls of every shape */
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <ucontext.h>
#include "self_check.h"

static jmp_buf env;
static ucontext_t main_context, task[3];
static int turns[3], trace_sum;
static char stacks[3][65536];

__attribute__((noinline)) static void down(int n)
{
	volatile char pad[64];

	pad[0] = (char)n;
	if (!n)
		longjmp(env, 42);
	down(n - 1);
	pad[1] = pad[0];
}

static void coroutine(int id)
{
	for (int i = 0; i < 1000; i++) {
		turns[id]++;
		trace_sum += id * i;
		swapcontext(&task[id], &task[(id + 1) % 3]);
	}
	/* the first to finish goes back by uc_link */
}

__attribute__((noinline)) static unsigned long recurse(unsigned long n)
{
	volatile unsigned long k = n;

	return n ? recurse(n - 1) + k % 3 : 1;
}

static sigjmp_buf over;
static void overflow(int sig)
{
	siglongjmp(over, sig);
}

__attribute__((noinline)) static int endless(volatile int *p)
{
	volatile int a[256];

	a[0] = *p;
	return endless(a) + a[0];
}

/* Every shape of a call: table, pointer in memory, tail call, call over the return address. */
static int f0(int x) { return x + 1; }
static int f1(int x) { return x * 3; }
static int f2(int x) { return x - 5; }
static int f3(int x) { return x ^ 0x55; }
static int (*volatile table[4])(int) = { f0, f1, f2, f3 };

__attribute__((noinline)) static int dispatch(unsigned x)
{
	switch (x % 11) {
	case 0: return 5;
	case 1: return 17;
	case 2: return (int)x;
	case 3: return 3 - (int)x;
	case 4: return 99;
	case 5: return (int)(x * x);
	case 6: return 1;
	case 7: return 8;
	case 8: return 13;
	case 9: return 21;
	default: return 34;
	}
}

#ifdef __i386__
/* The 64-bit ones below, as i386 has them. */
static long odd_transfers(void)
{
	long r;

	__asm__ volatile(
		"call 1f\n1:\tpop %%eax\n\tadd $2f-1b, %%eax\n\tpush %%eax\n\tret\n\tud2\n"
		"2:\tcall 3f\n3:\tpop %%ecx\n\tcall 4f\n4:\tpop %%edx\n\tsub %%ecx, %%edx\n\t"
		"sub $4b-3b, %%edx\n\tmov %%edx, %0\n\t"
		"push $1; push $2\n\tcall 5f\n\tjmp 6f\n5:\tret $8\n6:"
		: "=r"(r) :: "eax", "ecx", "edx", "memory", "cc");
	CHECK(r == 0);
	__asm__ volatile("call 1f\n1:\tpop %%eax\n\tadd $3f-1b, %%eax\n\tpush %%eax\n\tmov $5, "
			 "%0\n\tcall *(%%esp)\n\t"
			 "pop %%eax\n\tjmp 2f\n3:\tinc %0\n\tret\n2:"
			 : "=&r"(r)::"eax", "memory", "cc");
	CHECK(r == 6);
	__asm__ volatile(
		"mov $7, %%ecx\n\tjmp 1f+1\n1:\tmov $0xc1ff9090, %%eax\n\tmov %%ecx, %0"
		: "=r"(r) :: "eax", "ecx", "cc");
	CHECK(r == 8);
	return 0;
}
#endif

int main(void)
{
	static const int order[] = { 3, 1, 2, 0 };
	stack_t alt = { .ss_sp = malloc(65536), .ss_size = 65536 };
	struct sigaction sa = { .sa_handler = overflow, .sa_flags = SA_ONSTACK };
	volatile int rounds = 0;
	unsigned h = 0;
	long r;

	for (int i = 0; i < 200; i++) {
		if (setjmp(env) == 42)
			rounds++;
		else
			down(i);
	}
	CHECK(rounds == 200);
	SECTION("longjmp over frames: %d", rounds);

	for (int i = 0; i < 3; i++) {
		getcontext(&task[i]);
		task[i].uc_stack.ss_sp = stacks[i];
		task[i].uc_stack.ss_size = sizeof stacks[i];
		task[i].uc_link = &main_context;
		makecontext(&task[i], (void (*)(void))coroutine, 1, i);
	}
	swapcontext(&main_context, &task[0]);
	CHECK(turns[0] == 1000 && turns[1] >= 999 && turns[2] >= 999);
	SECTION("contexts: %d", trace_sum);

	CHECK(recurse(50000) == 50002);
	SECTION("recursion: 50000 deep");

	sigaltstack(&alt, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	setrlimit(RLIMIT_STACK, &(struct rlimit){ 2 << 20, RLIM_INFINITY });
	for (int i = 0; i < 3; i++) {
		volatile int zero = 0;

		if (!sigsetjmp(over, 1)) {
			endless(&zero);
			CHECK(0);
		}
		rounds++;
	}
	CHECK(rounds == 203);
	SECTION("stack overflow caught: 3 times");

	for (unsigned i = 0; i < 100000; i++) {
		h = h * 31 + (unsigned)table[order[i & 3]]((int)i);
		h += (unsigned)dispatch(i);
	}
	SECTION("indirect calls, jump tables: %u", h);

#ifdef __i386__
	r = odd_transfers();
	CHECK(r == 0);
#else
	/* a return that does not match its call, a call that is only a push, ret with an operand */
	__asm__ volatile("lea 1f(%%rip), %%rax\n\tpush %%rax\n\tret\n\tud2\n"
			 "1:\tcall 2f\n2:\tpop %%rcx\n\tlea 2b(%%rip), %%rdx\n\tsub %%rdx, "
			 "%%rcx\n\tmov %%rcx, %0\n\t"
			 "push $1; push $2\n\tcall 3f\n\tjmp 4f\n3:\tret $16\n4:"
			 : "=r"(r)::"rax", "rcx", "rdx", "memory", "cc");
	CHECK(r == 0);
	__asm__ volatile("lea 1f(%%rip), %%rax\n\tpush %%rax\n\tmovq $5, %0\n\tcall "
			 "*(%%rsp)\n\tpop %%rax\n\tjmp 2f\n"
			 "1:\tincq %0\n\tret\n2:"
			 : "=r"(r)::"rax", "memory", "cc");
	CHECK(r == 6);
	/* into the middle of an instruction: mov $0x90909090, %eax holds four nops */
	__asm__ volatile(
		"mov $7, %%ecx\n\tjmp 1f+1\n1:\tmov $0xc1ff9090, %%eax\n\tmov %%rcx, %0"
		: "=r"(r) :: "rax", "rcx", "cc");
	CHECK(r == 8);
	/* far return and interrupt return within the process */
	__asm__ volatile("mov %%cs, %%eax\n\tpush %%rax\n\tlea 1f(%%rip), %%rax\n\tpush "
			 "%%rax\n\tlretq\n\tud2\n"
			 "1:\tmov %%rsp, %%rdx\n\tmov %%ss, %%eax\n\tpush %%rax\n\tpush "
			 "%%rdx\n\tpushfq\n\t"
			 "mov %%cs, %%eax\n\tpush %%rax\n\tlea 2f(%%rip), %%rax\n\tpush "
			 "%%rax\n\tiretq\n\tud2\n"
			 "2:\tmov $12, %0"
			 : "=r"(r)::"rax", "rdx", "memory", "cc");
	CHECK(r == 12);
#endif
	SECTION("odd transfers of control: good");
	return 0;
}
