/* SPDX-License-Identifier: MIT */
/* segv.c - faults that a handler repairs, skips or leaves, with an exact context each time */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "self_check.h"

static char *page;
static volatile int hits, code, sig_seen;
static void *volatile at;
static volatile uint64_t ip;
static sigjmp_buf back;
static gregset_t saved;

static void repair(int sig, siginfo_t *si, void *context)
{
	hits++;
	at = si->si_addr;
	code = si->si_code;
	mprotect((void *)((uintptr_t)si->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE);
	(void)sig;
	(void)context;
}

static void skip3(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;

	hits++;
	memcpy(saved, uc->uc_mcontext.gregs, sizeof saved);
	uc->uc_mcontext.gregs[REG_RIP] += 3;
	(void)sig;
	(void)si;
}

static void leave(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;

	hits++;
	sig_seen = sig;
	code = si->si_code;
	at = si->si_addr;
	ip = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
	siglongjmp(back, 1);
}

static void set(int sig, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	sigaction(sig, &sa, NULL);
}

extern char fault_here[];
#ifdef __i386__
/* The same of seven registers, and `mov 0x7(%eax), %esi` faults, of three bytes, too. */
static uint64_t known_registers(uint64_t *flags)
{
	unsigned esi, f;

	__asm__ volatile(
		"push %%ebp; push %%ebx\n\t"
		"mov $0x100, %%eax; mov $0x101, %%ebx; mov $0x102, %%ecx; mov $0x103, %%edx\n\t"
		"mov $0x10a, %%esi; mov $0x105, %%edi; mov $0x106, %%ebp\n\t"
		"cmp $0x200, %%eax; stc\n"
		".globl fault_here\nfault_here:\n\t"
		"mov 7(%%eax), %%esi\n\t"
		"pushf; pop %%ecx\n\t"
		"pop %%ebx; pop %%ebp"
		: "=c"(f), "=S"(esi) : : "eax", "edx", "edi", "cc", "memory");
	*flags = f;
	return esi;
}
#else
/* Every general register has a value of its own when `mov (%rax), %r10` (3 bytes) faults. */
static uint64_t known_registers(uint64_t *flags)
{
	uint64_t r10;

	__asm__ volatile("push %%rbp; push %%rbx\n\t"
			 "mov $0x100, %%eax; mov $0x101, %%ebx; mov $0x102, %%ecx; mov $0x103, "
			 "%%edx\n\t"
			 "mov $0x104, %%esi; mov $0x105, %%edi; mov $0x106, %%ebp\n\t"
			 "mov $0x108, %%r8d; mov $0x109, %%r9d; mov $0x10a, %%r10d; mov $0x10b, "
			 "%%r11d\n\t"
			 "mov $0x10c, %%r12d; mov $0x10d, %%r13d; mov $0x10e, %%r14d; mov $0x10f, "
			 "%%r15d\n\t"
			 "cmp $0x200, %%eax; stc\n"
			 ".globl fault_here\nfault_here:\n\t"
			 "mov (%%rax), %%r10\n\t"
			 "pushfq; pop %%rcx\n\t"
			 "pop %%rbx; pop %%rbp"
			 : "=c"(*flags)
			 :
			 : "rax", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
			   "r14", "r15", "cc", "memory");
	__asm__ volatile("mov %%r10, %0" : "=r"(r10));
	return r10;
}
#endif

int main(void)
{
	uint64_t flags;
	char tmp[] = "/tmp/pugmark-segv-XXXXXX";
	int fd;

	page = mmap(NULL, 64 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	set(SIGSEGV, repair);
	for (int i = 0; i < 64; i++) {
		*(volatile char *)&page[i * 4096 + i] = (char)i; /* faults, is repaired, happens */
		CHECK(hits == i + 1 && at == page + i * 4096 + i && code == SEGV_ACCERR);
		CHECK(page[i * 4096 + i] == (char)i);
	}
	SECTION("repaired: %d", hits);
	/* a rep that faults in its middle continues there */
	mprotect(page, 64 * 4096, PROT_NONE);
	hits = 0;
	memset(page, 0x5a, 64 * 4096);
	{
		char *d = page;
		size_t n = 64 * 4096;

		mprotect(page, 64 * 4096, PROT_NONE);
		hits = 0;
		__asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(0x33) : "memory");
		CHECK(hits == 64 && n == 0 && d == page + 64 * 4096);
		for (int i = 0; i < 64 * 4096; i += 1000)
			CHECK(page[i] == 0x33);
	}
	SECTION("rep stos across 64 faults: good");

	hits = 0;
	set(SIGSEGV, skip3);
	CHECK(known_registers(&flags) == 0x10a && hits == 1);
	CHECK((uintptr_t)saved[REG_RIP] == (uintptr_t)fault_here);
#ifdef __i386__
	CHECK(saved[REG_EAX] == 0x100 && saved[REG_EBX] == 0x101 && saved[REG_ECX] == 0x102);
	CHECK(saved[REG_EDX] == 0x103 && saved[REG_ESI] == 0x10a && saved[REG_EDI] == 0x105);
	CHECK(saved[REG_EBP] == 0x106);
#else
	CHECK(saved[REG_RAX] == 0x100 && saved[REG_RBX] == 0x101 && saved[REG_RCX] == 0x102);
	CHECK(saved[REG_RDX] == 0x103 && saved[REG_RSI] == 0x104 && saved[REG_RDI] == 0x105);
	CHECK(saved[REG_RBP] == 0x106 && saved[REG_R8] == 0x108 && saved[REG_R9] == 0x109);
	CHECK(saved[REG_R10] == 0x10a && saved[REG_R11] == 0x10b && saved[REG_R12] == 0x10c);
	CHECK(saved[REG_R13] == 0x10d && saved[REG_R14] == 0x10e && saved[REG_R15] == 0x10f);
#endif
	CHECK((saved[REG_EFL] & 0x8d5) == 0x81 || (saved[REG_EFL] & 0x8c1) == 0x81);	/* SF, CF */
	CHECK((saved[REG_EFL] & 0x100) == 0 && (flags & 0x8c1) == 0x81 && !(flags & 0x100));
	SECTION("registers and flags at a fault: exact");

	set(SIGSEGV, leave);
	set(SIGBUS, leave);
	if (!sigsetjmp(back, 1)) {
		((void (*)(void))0x10)();
		CHECK(0);
	}
	CHECK(sig_seen == SIGSEGV && at == (void *)0x10 && ip == 0x10 && code == SEGV_MAPERR);
	if (!sigsetjmp(back, 1)) {
		((void (*)(void))(uintptr_t)page)();		/* not executable */
		CHECK(0);
	}
	CHECK(at == page && ip == (uintptr_t)page && code == SEGV_ACCERR);
#ifndef __i386__
	if (!sigsetjmp(back, 1)) {
		*(volatile char *)0x8000000000000000 = 1;	/* not canonical */
		CHECK(0);
	}
	CHECK(sig_seen == SIGSEGV && code == SI_KERNEL);
	if (!sigsetjmp(back, 1)) {
		((void (*)(void))0x8000000000001234)();
		CHECK(0);
	}
	CHECK(sig_seen == SIGSEGV);
#endif
	SECTION("jumps to nowhere: seen where they went");

	fd = mkstemp(tmp);
	unlink(tmp);
	CHECK(ftruncate(fd, 8192) == 0);
	{
		char *m = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
		volatile char c = m[5000];

		CHECK(c == 0 && ftruncate(fd, 100) == 0);
		if (!sigsetjmp(back, 1)) {
			c = m[5000];
			CHECK(0);
		}
		CHECK(sig_seen == SIGBUS && at == m + 5000 && code == BUS_ADRERR);
	}
	SECTION("SIGBUS behind the end of a file: good");
	return 0;
}
