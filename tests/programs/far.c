/* SPDX-License-Identifier: MIT */
/* flags: -pthread */
/* far.c - a program nearly as large as rip-relative addresses allow: what is at its end can be
 * reached from its text, not from a translation of it that lies anywhere else */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include "self_check.h"

#define SIZE	(1900 << 20)
#define STR_(x)	#x
#define STR(x)	STR_(x)
#define FAR(n)	"room+" STR(SIZE) "-65536+" #n "(%rip)"
#define FARX(n)	"room+" STR(SIZE) "-65536+" #n "(%%rip)"	/* beside operands */

char room[SIZE] __attribute__((aligned(4096)));
static char *const end = room + SIZE - 65536;

static uint64_t *at(int n)
{
	return (uint64_t *)(end + n);
}

/* ---- every form ------------------------------------------------------------------------------ */
extern uint64_t forms(uint64_t *results);
__asm__(".text\nforms:\n\t"
	"push %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tmov %rdi, %r12\n\t"
	"movq $7, " FAR(0) "\n\tmovl $8, " FAR(8) "\n\tmovw $9, " FAR(16) "\n\t"
	"movb $10, " FAR(24) "\n\t"
	"mov " FAR(0) ", %rax\n\tmov %rax, (%r12)\n\t"
	"mov " FAR(8) ", %r13d\n\tmov %r13, 8(%r12)\n\t"
	"mov $0x1234, %ecx\n\tmov %ch, " FAR(25) "\n\tmovzwl " FAR(24) ", %ecx\n\t"
	"mov %rcx, 16(%r12)\n\t"
	"lea " FAR(100) ", %rax\n\tmov %rax, 24(%r12)\n\t"
	"lea " FAR(100) ", %r9\n\tmov %r9, 32(%r12)\n\t"
	"lea " FAR(100) ", %r12d\n\tmov %rdi, %r8\n\tmov %r12, 40(%r8)\n\tmov %rdi, %r12\n\t"
	"pushq " FAR(0) "\n\tpopq " FAR(32) "\n\t"
	"addq $100000, " FAR(32) "\n\tsubl $1, " FAR(32) "\n\timul $3, " FAR(32) ", %rdx\n\t"
	"mov %rdx, 48(%r12)\n\t"
	"mov $5, %r11d\n\tlock xadd %r11, " FAR(40) "\n\tmov $6, %r11d\n\tadd %r11, " FAR(40) "\n\t"
	"mov " FAR(40) ", %r11\n\tmov %r11, 56(%r12)\n\t"
	"xor %eax, %eax\n\txor %edx, %edx\n\tmov $3, %ebx\n\tmov $4, %ecx\n\t"
	"lock cmpxchg16b " FAR(48) "\n\t"
	"cmpxchg16b " FAR(48) "\n\tadd %rdx, %rax\n\tmov %rax, 64(%r12)\n\t"
	"movups " FAR(48) ", %xmm9\n\tpaddq " FAR(48) ", %xmm9\n\tmovhlps %xmm9, %xmm1\n\t"
	"movq %xmm1, 72(%r12)\n\t"
	"movsd %xmm9, " FAR(64) "\n\tfildll " FAR(64) "\n\tfistpll " FAR(72) "\n\t"
	"mov " FAR(72) ", %rsi\n\tmov %rsi, 80(%r12)\n\t"
	"stc\n\tmov " FAR(0) ", %rbp\n\tadc " FAR(0) ", %rbp\n\tmov %rbp, 88(%r12)\n\t"
	"lea 1f(%rip), %rax\n\tmov %rax, " FAR(80) "\n\tlea 2f(%rip), %rax\n\t"
	"mov %rax, " FAR(88) "\n\t"
	"xor %eax, %eax\n\tcall *" FAR(80) "\n\tjmp *" FAR(88) "\n\tud2\n"
	"1:\tadd $20, %eax\n\tret\n"
	"2:\tadd $3, %eax\n\tpop %r13\n\tpop %r12\n\tpop %rbp\n\tpop %rbx\n\tret\n");

static void check_forms(void)
{
	uint64_t r[12] = { 0 };

	CHECK(forms(r) == 23);
	CHECK(r[0] == 7 && r[1] == 8 && r[2] == 0x120a);
	CHECK(r[3] == (uint64_t)at(100) && r[4] == r[3] && r[5] == (uint32_t)r[3]);
	CHECK(r[6] == 3 * 100006 && r[7] == 11 && r[8] == 7 && r[9] == 8 && r[10] == 6 &&
	      r[11] == 15);
}

/* ---- threads --------------------------------------------------------------------------------- */
static void *add(void *arg)
{
	for (int i = 0; i < 1000; i++)
		__asm__ volatile("lock incq " FARX(128) "\n\tmov " FARX(136) ", %%rcx\n\t"
				 "lock add %%rcx, " FARX(144)
				 : : : "rcx", "memory", "cc");
	return NULL;
}

static void check_threads(void)
{
	pthread_t t[4];

	*at(136) = 3;
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&t[i], NULL, add, NULL));
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(t[i], NULL));
	CHECK(*at(128) == 4000 && *at(144) == 12000);
}

/* ---- the state that handlers see ------------------------------------------------------------- */
#define SET "mov $0x11, %%eax\n\tmov $0x22, %%ecx\n\tmov $0x33, %%edx\n\tmov $0x44, %%ebx\n\t"	\
	"mov $0x55, %%esi\n\tmov $0x66, %%edi\n\tmov $0x77, %%r8d\n\tmov $0x88, %%r11d\n\t"	\
	"mov $0x99, %%ebp\n\t"
#define USED "rax", "rcx", "rdx", "rbx", "rsi", "rdi", "r8", "r11", "memory", "cc"

extern char faults_0[], faults_1[], faults_2[], faults_3[], faults_4[], spins[], spins_end[];
static volatile int faulted, ticks;
static volatile uint64_t fault_pc;
static char *continuation;

static void check_registers(const ucontext_t *uc)
{
	const greg_t *g = uc->uc_mcontext.gregs;

	CHECK(g[REG_RAX] == 0x11 && g[REG_RCX] == 0x22 && g[REG_RDX] == 0x33 && g[REG_RBX] == 0x44);
	CHECK(g[REG_RSI] == 0x55 && g[REG_RDI] == 0x66 && g[REG_R8] == 0x77 && g[REG_R11] == 0x88 &&
	      g[REG_RBP] == 0x99);
}

static void on_fault(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;

	check_registers(uc);
	CHECK(si->si_addr == end + 4096);
	faulted++;
	fault_pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)continuation;
}

static void on_tick(int sig, siginfo_t *si, void *ctx)
{
	const ucontext_t *uc = ctx;
	const char *pc = (const char *)uc->uc_mcontext.gregs[REG_RIP];

	if (pc < spins || pc >= spins_end)
		return;
	check_registers(uc);
	ticks++;
}

#define FAULT(n, what) do {								\
	continuation = NULL;								\
	__asm__ volatile("push %%rbp\n\tlea 1f(%%rip), %%rax\n\tmov %%rax, %0\n\t" SET	\
			 "faults_" #n ":\t" what "\n\tud2\n1:\tpop %%rbp"		\
			 : "=m" (continuation) : : USED);				\
	CHECK(faulted == n + 1 && fault_pc == (uint64_t)faults_##n);			\
} while (0)

static void check_state(void)
{
	const struct sigaction fault = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	const struct sigaction tick = { .sa_sigaction = on_tick, .sa_flags = SA_SIGINFO };
	const struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { { 0 } };

	CHECK(!sigaction(SIGSEGV, &fault, NULL) && !sigaction(SIGALRM, &tick, NULL));
	CHECK(!mprotect(end + 4096, 4096, PROT_NONE));
	FAULT(0, "mov " FARX(4096) ", %%rcx");
	FAULT(1, "add %%r11, " FARX(4096));
	FAULT(2, "movups " FARX(4096) ", %%xmm2");
	FAULT(3, "call *" FARX(4096));
	FAULT(4, "lock cmpxchg16b " FARX(4096));
	CHECK(!mprotect(end + 4096, 4096, PROT_READ | PROT_WRITE));
	/* here the signal finds everything as it was at all times */
	CHECK(!setitimer(ITIMER_REAL, &often, NULL));
	__asm__ volatile("push %%rbp\n\t" SET
			 "spins:\tlock addq $1, " FARX(4096) "\n\tmov %%r11, " FARX(4104) "\n\t"
			 "cmpq $0x11, " FARX(4096) "\n\t"
			 "mov %%ch, " FARX(4112) "\n\tcmpl $40, %0\n\t"
			 "jl spins\nspins_end:\tpop %%rbp" : : "m" (ticks) : USED);
	CHECK(!setitimer(ITIMER_REAL, &never, NULL));
}

int main(int argc, char **argv)
{
	check_forms();
	SECTION("every form");
	if (argc > 1)				/* the same instructions in every run */
		return 0;
	check_threads();
	SECTION("four threads");
	check_state();
	SECTION("in handlers");
	return 0;
}
