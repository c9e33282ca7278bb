/* SPDX-License-Identifier: MIT */
/* flags: -no-pie -fno-pie */
/* stepped.c - executes code for tests/unit/test_safepoints32.c, which has the memory, too
 *
 * stepped FD CONTROL SEGMENT (ADDRESS SIZE PROT)...: the file's pages lie at these places, one
 * behind the other, and fs is based at SEGMENT. Whenever a signal comes, the registers are at
 * CONTROL, a byte goes to standard output, and when one has come from standard input it goes on
 * with what is there. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "stepped.h"

static struct stepped *control;
static char stack[65536];

static const int reg[8] = {
	REG_EAX, REG_ECX, REG_EDX, REG_EBX, REG_ESP, REG_EBP, REG_ESI, REG_EDI,
};

static void handler(int sig, siginfo_t *info, void *ctx)
{
	greg_t *const g = ((ucontext_t *)ctx)->uc_mcontext.gregs;
	char byte = 0;

	for (int i = 0; i < 8; i++)
		control->r[i] = (uint32_t)g[reg[i]];
	control->pc = (uint32_t)g[REG_EIP];
	control->flags = (uint32_t)g[REG_EFL];
	control->sig = (uint32_t)sig;
	if (write(1, &byte, 1) != 1 || read(0, &byte, 1) != 1)
		_exit(0);
	for (int i = 0; i < 8; i++)
		g[reg[i]] = (greg_t)control->r[i];
	g[REG_EIP] = (greg_t)control->pc;
	g[REG_EFL] = (greg_t)control->flags;
	g[REG_UESP] = g[REG_ESP];
}

int main(int argc, char **argv)
{
	const stack_t alt = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	struct { uint32_t entry, base, limit, flags; } g = { UINT32_MAX, 0, 0xfffff, 0x51 };
	off_t at = 0;

	if (argc < 4)
		return 2;
	for (int i = 4; i + 2 < argc; i += 3) {
		const size_t n = strtoul(argv[i + 1], NULL, 16);

		if (mmap((void *)strtoul(argv[i], NULL, 16), n, atoi(argv[i + 2]),
			 MAP_SHARED | MAP_FIXED, atoi(argv[1]), at) == MAP_FAILED)
			return 3;
		at += (off_t)n;
	}
	control = (struct stepped *)strtoul(argv[2], NULL, 16);
	g.base = strtoul(argv[3], NULL, 16);
	if (syscall(SYS_set_thread_area, &g))
		return 4;
	sigaltstack(&alt, NULL);
	sigaction(SIGTRAP, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	__asm__ volatile("mov %0, %%fs; int3" : : "r"(g.entry * 8 + 3));
	return 5;
}
