/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/kept_dir.h"

#define PAGE 4096u
#define STACK_MOST (1ul << 30)		/* bytes: what is farther off is no stack of ours */

static volatile sig_atomic_t was_cut;
static uint8_t stack[65536];		/* a fault may be that there is no stack any more */

static struct {
	pm_guard_fn *fn;
	void *ctx;
} last[PM_GUARD_SLOTS];

static void (*no_stack)(void);
static uintptr_t stack_from;		/* a place near the first thread's beginning of it */

/* Was it the first thread's stack that had to grow, and could not? */
static bool stack_is_full(const siginfo_t *info, const ucontext_t *uc)
{
	const uintptr_t at = (uintptr_t)info->si_addr,
			sp = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];

	return gettid() == getpid() && info->si_code == SEGV_MAPERR && sp < stack_from &&
	       stack_from - sp < STACK_MOST && at < stack_from && at + PAGE > sp;
}

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

	if (sig == SIGSEGV && no_stack && stack_is_full(info, uc))
		no_stack();
	if (sig == SIGBUS && info->si_code == BUS_ADRERR && patch(info->si_addr))
		return;
	removed = pm_kept_abandon();
	for (unsigned i = 0; i < PM_GUARD_SLOTS; i++)
		if (last[i].fn)
			last[i].fn(last[i].ctx, sig, removed);
	signal(sig, SIG_DFL);
	raise(sig);			/* once we have returned */
}

static void install_handler(const int *signals, unsigned n)
{
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK },
	old;
	stack_t mine = { .ss_sp = stack, .ss_size = sizeof stack }, had;

	if (!sigaltstack(NULL, &had) && had.ss_flags & SS_DISABLE)
		sigaltstack(&mine, NULL);
	for (unsigned i = 0; i < n; i++)
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler == SIG_DFL)
			sigaction(signals[i], &act, NULL);
}

void pm_guard(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };

	install_handler(signals, sizeof signals / sizeof *signals);
}

void pm_guard_stack(void (*fn)(void))
{
	static const int signals[] = { SIGSEGV };

	no_stack = fn;
	stack_from = (uintptr_t)__builtin_frame_address(0);
	install_handler(signals, 1);
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
