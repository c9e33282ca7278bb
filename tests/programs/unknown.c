/* SPDX-License-Identifier: MIT */
/* flags: -static -no-pie
 *
 * unknown.c - instructions that the processor executes and decoders do not know: bndmov with a
 * register that does not exist is a nop where there is no MPX; and one that nobody knows, which a
 * handler skips */
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>

static volatile int skipped;

static void skip(int sig, siginfo_t *info, void *uc)
{
	skipped++;
	((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP] += 4;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = skip, .sa_flags = SA_SIGINFO };

	sigaction(SIGILL, &sa, NULL);
	for (int i = 0; i < 10; i++)
		__asm__ volatile("incl %%eax; .byte 0x66, 0x0f, 0x1a, 0xc4; incl %%eax; .byte "
				 "0x66, 0x0f, 0x1a, 0xc5\n\t"
				 ".byte 0x66, 0x0f, 0x1a, 0xc6; jmp 1f\n1:" ::
					 : "eax", "cc");
	printf("%d here\n", skipped);
	for (int i = 0; i < 3; i++)
		__asm__ volatile(".byte 0x0f, 0x04; nop; nop; incl %%eax" ::: "eax", "cc");
	return 0;
}
