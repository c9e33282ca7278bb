/* SPDX-License-Identifier: MIT */
/* flags: -O1 -static
 *
 * stops.c - blocks that faults stop on their way, in a chain of blocks, in a string instruction, at
 * an instruction that refers to nothing: the fault is repaired, skipped, or left for good. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifdef __i386__
#define PC	REG_EIP
#define R(x)	"%%e" #x
#else
#define PC	REG_RIP
#define R(x)	"%%r" #x
#endif

static char *page;			/* two of them, nobody may touch the second one at first */
static sigjmp_buf out;
static volatile int leave, faults;

static void fault(int sig, siginfo_t *si, void *context)
{
	faults++;
	if (leave)
		siglongjmp(out, 1);
	if (sig == SIGSEGV)
		mprotect(page + 4096, 4096, PROT_READ | PROT_WRITE);
	else
		((ucontext_t *)context)->uc_mcontext.gregs[PC] += 2;
}

#define TRY(what) do {						\
	mprotect(page + 4096, 4096, PROT_NONE);			\
	if (!sigsetjmp(out, 1))					\
		what;						\
} while (0)

static __attribute__((noinline)) int middle(volatile int *a, volatile int *b, volatile int *c)
{
	*a += 1;
	*b = *a + 2;
	*c = 3;
	*a += *b;
	return *c;
}

/* The second block shares the first one's record. */
static __attribute__((noinline)) int chain(volatile int *a, volatile int *b)
{
	int n = *a;

	if (n == 77)
		return 0;
	*a = n + 1;
	*b += n;
	return *a;
}

static __attribute__((noinline)) void rep(char *to, const char *from, long n)
{
	faults++;
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) :: "memory");
	faults--;
}

static __attribute__((noinline)) void strings(char *to, const char *from)
{
	__asm__ volatile("lodsb; movsl; movsb; stosl; scasb; nop; nop"
			 : "+D"(to), "+S"(from)::"memory", "eax", "cc");
}

/* What stops refers to nothing, and there is nothing behind it up to the block's end. */
static __attribute__((noinline)) int none(volatile int *a, int by)
{
	int q = *a, r = 0;

	__asm__ volatile("idivl %2; nop; xorl %1, %1; addl $1, %1"
			 : "+a"(q), "+d"(r)
			 : "c"(by)
			 : "cc");
	return q;
}

static __attribute__((noinline)) void at_end(char *stack)
{
	__asm__ volatile("mov " R(sp) ", " R(bx) "; mov %0, " R(sp) "; pop " R(ax) "; mov " R(
				 bx) ", " R(sp)::"r"(stack)
			 : "ax", "bx", "memory");
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	static char stack[65536];
	const stack_t other = { .ss_sp = stack, .ss_size = sizeof stack };
	volatile int word = 5;

	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&other, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGFPE, &sa, NULL);
	for (leave = 0; leave < 2; leave++)
		for (int k = 0; k < 12; k++) {
			TRY(middle((int *)page, (int *)(page + 4096), (int *)page + 1));
			TRY(chain((int *)page, (int *)(page + 4096)));
			TRY(rep(page + 4090, page, 20));
			TRY(rep(page, page + 4090, 20));
			TRY(rep(page + 4096, page, 20));
			TRY(strings(page + 4090, page + 4000));
			TRY(none(&word, 0));
			TRY(at_end(page + 4096));
		}
	printf("%d\n", faults);
	return 0;
}
