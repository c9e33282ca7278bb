/* SPDX-License-Identifier: MIT */
/* signals.c - handlers of every kind */
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include "self_check.h"

static volatile sig_atomic_t hits, depth, deepest, order[8], norder;
static volatile uintptr_t seen_sp, seen_ip;
static sigjmp_buf back;
extern char __executable_start[], etext[];

static void set(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	sigemptyset(&sa.sa_mask);
	CHECK(sigaction(sig, &sa, NULL) == 0);
}

static void count(int sig, siginfo_t *si, void *context)
{
	int local;
	ucontext_t *uc = context;

	hits++;
	seen_sp = (uintptr_t)&local;
	seen_ip = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
	(void)sig;
	(void)si;
}

static void leave(int sig, siginfo_t *si, void *context)
{
	hits++;
	siglongjmp(back, sig);
	(void)si;
	(void)context;
}

static void nest(int sig, siginfo_t *si, void *context)
{
	depth++;
	if (depth > deepest)
		deepest = depth;
	if (depth < 20)
		raise(sig);
	depth--;
	(void)si;
	(void)context;
}

static void note(int sig, siginfo_t *si, void *context)
{
	order[norder++ & 7] = sig;
	if (sig == SIGUSR1)
		raise(SIGUSR2);		/* blocked here: comes after us */
	order[norder++ & 7] = -sig;
	(void)si;
	(void)context;
}

static volatile int queued[4];
static void queue(int sig, siginfo_t *si, void *context)
{
	CHECK(si->si_code == SI_QUEUE && si->si_pid == getpid());
	queued[hits++ & 3] = si->si_value.sival_int;
	(void)sig;
	(void)context;
}

static int told[2];
static void tell(int sig, siginfo_t *si, void *context)
{
	const int was = errno;

	CHECK(write(told[1], "t", 1) == 1);
	hits++;
	errno = was;
	(void)sig;
	(void)si;
	(void)context;
}

static void move_on(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;

	hits++;
	uc->uc_mcontext.gregs[REG_RAX] = 4711;
	(void)sig;
	(void)si;
}

static volatile uintptr_t damaged_ip;
static void damage(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;

	uc->uc_mcontext.fpregs = (void *)64;	/* nothing is there */
	damaged_ip = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
	(void)sig;
	(void)si;
}

static void not_restored(int sig, siginfo_t *si, void *context)
{
	const ucontext_t *uc = context;

	CHECK(sig == SIGSEGV && si->si_code == SI_KERNEL && !si->si_addr);
	CHECK((uintptr_t)uc->uc_mcontext.gregs[REG_RIP] == damaged_ip);
	siglongjmp(back, 1);
}

#ifdef __i386__
/* There is no red zone, but a frame must not touch what lies above the stack pointer. */
static long long red_zone(void)
{
	unsigned a, b;

	__asm__ volatile(
		"pushl %%ebx\n\tpushl $0x11223344\n\tpushl $0x55667788\n\t"
		"movl $20, %%eax\n\tint $0x80\n\t"			/* getpid */
		"movl %%eax, %%ebx\n\tmovl $10, %%ecx\n\t"
		"movl $37, %%eax\n\tint $0x80\n\t"			/* kill(self, SIGUSR1) */
		"popl %%eax\n\tpopl %%edx\n\tpopl %%ebx"
		: "=a"(a), "=d"(b) :: "ecx", "memory", "cc");
	return (long long)b << 32 | a;
}
#else
/* Leaves values below the stack pointer, in the red zone, and a signal behind the system call. */
static long red_zone(void)
{
	long r;

	__asm__ volatile(
		"movq $0x1122334455667788, %%rax\n\t"
		"movq %%rax, -8(%%rsp)\n\t"
		"movq %%rax, -64(%%rsp)\n\t"
		"movq %%rax, -128(%%rsp)\n\t"
		"movl $39, %%eax\n\tsyscall\n\t"			/* getpid */
		"movl %%eax, %%edi\n\tmovl $10, %%esi\n\t"
		"movl $62, %%eax\n\tsyscall\n\t"			/* kill(self, SIGUSR1) */
		"movq -8(%%rsp), %%rax\n\t"
		"xorq -64(%%rsp), %%rax\n\t"
		"addq -128(%%rsp), %%rax"
		: "=a"(r) :: "rdi", "rsi", "rcx", "r11", "memory", "cc");
	return r;
}
#endif

int main(void)
{
	stack_t alt = { .ss_sp = malloc(65536), .ss_size = 65536 }, old;
	const struct itimerval tick = { { 0, 20000 }, { 0, 20000 } }, none = { { 0, 0 }, { 0, 0 } };
	sigset_t set1, was;
	int status, fd[2], rc;
	char c;
	pid_t pid;
	volatile int local = 5;

	set(SIGUSR1, count, 0);
	CHECK(raise(SIGUSR1) == 0 && hits == 1);
	CHECK(kill(getpid(), SIGUSR1) == 0 && hits == 2);
	SECTION("raise, kill: %d", hits);

	hits = 0;
	CHECK(red_zone() == 0x1122334455667788 && hits == 1);
	CHECK(seen_ip >= (uintptr_t)__executable_start && seen_ip < (uintptr_t)etext);
	SECTION("red zone, interrupted address: good");

	CHECK(sigaltstack(&alt, &old) == 0 && old.ss_flags & SS_DISABLE);
	set(SIGUSR2, count, SA_ONSTACK);
	raise(SIGUSR2);
	CHECK(seen_sp >= (uintptr_t)alt.ss_sp && seen_sp < (uintptr_t)alt.ss_sp + alt.ss_size);
	raise(SIGUSR1);
	CHECK(!(seen_sp >= (uintptr_t)alt.ss_sp && seen_sp < (uintptr_t)alt.ss_sp + alt.ss_size));
	SECTION("alternate stack: good");

	hits = 0;
	set(SIGUSR1, leave, 0);
	for (int i = 0; i < 1000; i++) {
		rc = sigsetjmp(back, 1);
		if (!rc) {
			raise(SIGUSR1);
			CHECK(!"came back");
		}
		CHECK(rc == SIGUSR1);
	}
	set(SIGUSR1, leave, SA_ONSTACK);
	for (int i = 0; i < 100; i++)
		if (!sigsetjmp(back, 1))
			kill(getpid(), SIGUSR1);
	CHECK(local == 5 && hits == 1100);
	SECTION("siglongjmp: %d", hits);

	set(SIGUSR1, nest, SA_NODEFER);
	raise(SIGUSR1);
	CHECK(deepest == 20 && depth == 0);
	SECTION("nested: %d", deepest);

	{
		struct sigaction sa = { .sa_sigaction = note, .sa_flags = SA_SIGINFO };

		sigemptyset(&sa.sa_mask);
		sigaddset(&sa.sa_mask, SIGUSR2);
		sigaction(SIGUSR1, &sa, NULL);
		set(SIGUSR2, note, 0);
		raise(SIGUSR1);
		CHECK(norder == 4 && order[0] == SIGUSR1 && order[1] == -SIGUSR1 &&
		      order[2] == SIGUSR2);
	}
	SECTION("masks of handlers: good");

	set(SIGUSR1, count, SA_RESETHAND);
	raise(SIGUSR1);
	{
		struct sigaction sa;

		sigaction(SIGUSR1, NULL, &sa);
		CHECK(sa.sa_handler == SIG_DFL);
		set(SIGUSR1, count, SA_RESTART);
		sigaction(SIGUSR1, NULL, &sa);
		CHECK(sa.sa_sigaction == count && sa.sa_flags & SA_RESTART);
	}
	SECTION("sigaction tells what was set: good");

	hits = 0;
	sigemptyset(&set1);
	sigaddset(&set1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set1, &was);
	raise(SIGUSR1);
	raise(SIGUSR1);
	CHECK(hits == 0);
	sigpending(&set1);
	CHECK(sigismember(&set1, SIGUSR1));
	sigsuspend(&was);
	CHECK(hits == 1);
	sigprocmask(SIG_SETMASK, &was, NULL);
	CHECK(hits == 1);
	SECTION("blocked, pending, sigsuspend: good");

	hits = 0;
	set(SIGRTMIN, queue, 0);
	sigemptyset(&set1);
	sigaddset(&set1, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set1, NULL);
	for (int i = 0; i < 4; i++)
		CHECK(sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = 10 + i }) == 0);
	sigprocmask(SIG_UNBLOCK, &set1, NULL);
	CHECK(hits == 4 && queued[0] == 10 && queued[1] == 11 && queued[2] == 12 &&
	      queued[3] == 13);
	SECTION("queued with values, in order: %d", hits);

	{
		siginfo_t si;
		struct timespec none = { 0, 0 };

		sigprocmask(SIG_BLOCK, &set1, NULL);
		sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = 77 });
		CHECK(sigwaitinfo(&set1, &si) == SIGRTMIN && si.si_value.sival_int == 77);
		CHECK(sigtimedwait(&set1, &si, &none) == -1 && errno == EAGAIN);
		sigprocmask(SIG_UNBLOCK, &set1, NULL);
	}
	SECTION("sigwaitinfo: good");

	/* a read is interrupted, or restarted; the timer goes on, as the first ticks may come
	 * before the call */
	CHECK(pipe(fd) == 0 && pipe(told) == 0);
	set(SIGALRM, tell, 0);
	hits = 0;
	setitimer(ITIMER_REAL, &tick, NULL);
	CHECK(read(fd[0], &c, 1) == -1 && errno == EINTR && hits > 0);
	setitimer(ITIMER_REAL, &none, NULL);
	for (; hits; hits--)
		CHECK(read(told[0], &c, 1) == 1);
	set(SIGALRM, tell, SA_RESTART);
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 3; i++)
			if (read(told[0], &c, 1) != 1)
				_exit(2);
		_exit(write(fd[1], "x", 1) == 1 ? 0 : 1);
	}
	setitimer(ITIMER_REAL, &tick, NULL);
	CHECK(read(fd[0], &c, 1) == 1 && c == 'x' && hits >= 3);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	hits = 0;
	CHECK(pause() == -1 && errno == EINTR && hits > 0);
	setitimer(ITIMER_REAL, &none, NULL);
	SECTION("EINTR, SA_RESTART, pause: good");

	/* the context that a handler changes is the one that continues */
	set(SIGUSR1, move_on, 0);
	hits = 0;
	{
		long r;

#ifdef __i386__
		__asm__ volatile("int $0x80"
				 : "=a"(r)
				 : "a"(37), "b"(getpid()), "c"(SIGUSR1)
				 : "memory");
#else
		__asm__ volatile("syscall" : "=a"(r) : "a"(62), "D"(getpid()), "S"(SIGUSR1)
				 : "rcx", "r11", "memory");
#endif
		CHECK(r == 4711);
	}
	SECTION("context changed: good");

	/* to the group: parent and two children */
	setpgid(0, 0);
	hits = 0;
	set(SIGUSR1, count, 0);
	sigemptyset(&set1);
	sigaddset(&set1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set1, &was);
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			sigset_t none;

			sigemptyset(&none);
			while (!hits)
				sigsuspend(&none);
			_exit(40 + hits);
		}
	kill(0, SIGUSR1);
	sigprocmask(SIG_SETMASK, &was, NULL);
	CHECK(hits == 1);
	for (int i = 0; i < 2; i++) {
		CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 41);
	}
	SECTION("to the group: good");

	/* death by a signal is seen by the parent */
	for (const int *s = (const int[]){ SIGTERM, SIGKILL, SIGSEGV, SIGABRT, SIGPIPE, 0 }; *s;
	     s++) {
		pid = fork();
		if (!pid) {
			signal(*s, SIG_DFL);
			raise(*s);
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
		      WTERMSIG(status) == *s);
	}
	/* stop and continue */
	pid = fork();
	if (!pid) {
		raise(SIGSTOP);
		_exit(9);
	}
	CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	kill(pid, SIGCONT);
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 9);
	SECTION("deaths, stop and continue: good");

	/* The kernel finds that it cannot restore the frame when the registers are restored
	 * already. That is a fault of an instruction that does not fault when it is executed. */
	set(SIGUSR1, damage, 0);
	set(SIGSEGV, not_restored, 0);
	for (volatile int i = 0; i < 3; i++)
		if (!sigsetjmp(back, 1)) {
			raise(SIGUSR1);
			CHECK(!"came back");
		}
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		raise(SIGUSR1);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
	      WTERMSIG(status) == SIGSEGV);
	/* nor is there one if the stack that it is for has no room: with large vector registers
	 * 2048 bytes are not enough */
	pid = fork();
	if (!pid) {
		alt = (stack_t){ .ss_sp = (char *)alt.ss_sp + 32768, .ss_size = 2048 };
		CHECK(!sigaltstack(&alt, NULL));
		set(SIGUSR1, count, SA_ONSTACK);
		signal(SIGSEGV, SIG_DFL);
		raise(SIGUSR1);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	SECTION("frames that cannot be restored: good; on a stack of 2048 bytes: %s",
		WIFSIGNALED(status) ? "dead" : "good");
	free(alt.ss_sp);
	return 0;
}
