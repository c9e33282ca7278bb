/* SPDX-License-Identifier: MIT */
/* faults.c - instructions that raise a signal by themselves: which, with what code, at what
 * address; with an argument, also transfers to what is no address */
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>
#include "self_check.h"

static sigjmp_buf back;
static volatile int sig_seen, code;
static volatile uint64_t ip, sp, addr;

static void leave(int sig, siginfo_t *si, void *context)
{
	sig_seen = sig;
	code = si->si_code;
	addr = (uint64_t)(uintptr_t)si->si_addr;
	ip = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	sp = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
	siglongjmp(back, 1);
}

uint64_t fault_at, stack_at;

#ifdef __i386__
const int bounds[2] = { 1, 2 };
#define HERE "movl $77f, fault_at\n\tmov %%esp, stack_at\n"	/* not position-independent */
#define REG_RIP REG_EIP
#define REG_RSP REG_ESP
#define ACX "eax", "ecx", "edx"
#else
#define HERE "lea 77f(%%rip), %%rax\n\tmov %%rax, fault_at(%%rip)\n\tmov %%rsp, stack_at(%%rip)\n"
#define ACX "rax", "rcx", "rdx"
#define NOWHERE "movabsq $0x8000000000001234, %%rcx\n\t"
uint64_t nowhere;
#endif

#define FAULT(label, text) do {									\
	sig_seen = 0;										\
	if (!sigsetjmp(back, 1)) {								\
		__asm__ volatile(HERE "77:\t" text ::: ACX, "memory", "cc");			\
		printf("%s: no signal\n", label);						\
		exit(1);									\
	}											\
	printf("%s: signal %d code %d, rip +%d, rsp +%d, address %s\n", label, sig_seen,	\
		code,										\
	       (int)(ip - fault_at), (int)(sp - stack_at),					\
	       addr == ip ? "rip" : addr ? "other" : "0");					\
} while (0)

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = leave, .sa_flags = SA_SIGINFO };
	static const int sigs[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };

	for (unsigned i = 0; i < sizeof sigs / sizeof *sigs; i++)
		sigaction(sigs[i], &sa, NULL);
	/* stepped, each instruction is dear */
	for (int round = argc > 1; round < 3; round++) {
		FAULT("int3", "int3");
		FAULT("int_3", ".byte 0xcd, 3");
		FAULT("ud2", "ud2");
		FAULT("ud1", "ud1 %%eax, %%ecx");
		FAULT("undefined", ".byte 0x0f, 0xff, 0xc0");
#ifdef __i386__
		FAULT("bound", "mov $5, %%eax\n\tbound %%eax, bounds");
		FAULT("into", "mov $0x7fffffff, %%eax\n\tinc %%eax\n\tinto");
		FAULT("aam_0", "aam $0");
		FAULT("selector", "mov $0x123, %%eax\n\tmov %%eax, %%es");
		FAULT("fs_null", "mov %%fs:4, %%eax");
		FAULT("lcall", "lcall $0x123, $0x456");
		FAULT("mov_cr0", "mov %%cr0, %%eax");
		FAULT("movaps_unaligned", "movaps 1(%%esp), %%xmm0");
#else
		FAULT("bad_in_64_bit_mode", ".byte 0x06");
		FAULT("mov_cr0", "mov %%cr0, %%rax");
		FAULT("movaps_unaligned", "movaps 1(%%rsp), %%xmm0");
#endif
		FAULT("lock_on_register", ".byte 0xf0, 0x01, 0xc0");
		FAULT("div_by_zero", "xor %%ecx, %%ecx\n\tdiv %%ecx");		/* 2 behind */
		FAULT("div_overflow", "mov $1, %%ecx\n\tmov $2, %%edx\n\tdiv %%ecx");
		FAULT("hlt", "hlt");
		FAULT("int_0x42", "int $0x42");
		FAULT("in", "in $0x60, %%al");
		FAULT("cli", "cli");
		FAULT("icebp", ".byte 0xf1");
		FAULT("rdmsr", "rdmsr");
#ifndef __i386__
		if (argc == 1)
			continue;
		FAULT("call_no_address", NOWHERE "call *%%rcx");
		FAULT("call_no_address_in_memory",
		      NOWHERE "movq %%rcx, nowhere(%%rip)\n\tcall *nowhere(%%rip)");
		FAULT("jmp_no_address", NOWHERE "jmp *%%rcx");
		FAULT("ret_no_address", NOWHERE "push %%rcx\n\tret");
		FAULT("ret_8_no_address", NOWHERE "push $0\n\tpush %%rcx\n\tret $8");
#endif
	}
	return 0;
}
