/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/kept_dir.h"

#define PAGE 4096u

static volatile sig_atomic_t was_cut;
static uint8_t stack[65536];		/* a fault may be that there is no stack any more */

static struct {
	pm_guard_fn *fn;
	void *ctx;
} last[PM_GUARD_SLOTS];

/* Behind the end of the file that is mapped at @addr: a page of zeros comes there. */
static bool patch(void *addr)
{
	void *page = (void *)((uintptr_t)addr & ~(uintptr_t)(PAGE - 1));

	was_cut = 1;
	return mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) == page;
}

static void on_fault(int sig, siginfo_t *info, void *uc)
{
	unsigned removed;

	(void)uc;
	if (sig == SIGBUS && info->si_code == BUS_ADRERR && patch(info->si_addr))
		return;
	removed = pm_kept_abandon();
	for (unsigned i = 0; i < PM_GUARD_SLOTS; i++)
		if (last[i].fn)
			last[i].fn(last[i].ctx, sig, removed);
	signal(sig, SIG_DFL);
	raise(sig);			/* once we have returned */
}

void pm_guard(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK },
	old;
	stack_t mine = { .ss_sp = stack, .ss_size = sizeof stack }, had;

	if (!sigaltstack(NULL, &had) && had.ss_flags & SS_DISABLE)
		sigaltstack(&mine, NULL);
	for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler == SIG_DFL)
			sigaction(signals[i], &act, NULL);
}

void pm_guard_last(enum pm_guard_slot slot, pm_guard_fn *fn, void *ctx)
{
	last[slot].fn = NULL;
	last[slot].ctx = ctx;
	last[slot].fn = fn;
}

void pm_guard_let_go(void)
{
	if (last[PM_GUARD_SESSION].fn)
		last[PM_GUARD_SESSION].fn(last[PM_GUARD_SESSION].ctx, 0, 0);
}

bool pm_guard_cut(void)
{
	return was_cut;
}
