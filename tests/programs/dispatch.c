/* SPDX-License-Identifier: MIT */
/* dispatch.c - system calls that come back as SIGSYS: syscall user dispatch, as emulators use it
 *
 * With an argument: can the kernel do it? */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "self_check.h"

#define USER_DISPATCH	59		/* PR_SET_SYSCALL_USER_DISPATCH, Linux 5.11 */
enum { ALLOW, BLOCK };
#ifdef __i386__
#define ARCH 0x40000003u
#define CALL "int $0x80"
#define CALL_CLOBBERS "memory"
#else
#define ARCH 0xc000003eu
#define CALL "syscall"
#define CALL_CLOBBERS "rcx", "r11", "memory"
#endif

static volatile char selector;
static volatile long calls, at;

static __attribute__((noinline)) long call(long nr)
{
	long r;

	__asm__ volatile(CALL : "=a"(r) : "a"(nr) : CALL_CLOBBERS);
	return r;
}

static void on_sys(int sig, siginfo_t *si, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	selector = ALLOW;
	CHECK(sig == SIGSYS && si->si_code == 2 && si->si_arch == ARCH);
	CHECK(r[REG_RAX] == si->si_syscall && (long)si->si_call_addr == (long)r[REG_RIP]);
	calls++;
	at = (long)si->si_call_addr;
	r[REG_RAX] = 1000 + si->si_syscall;
}

static long dispatch(long on, long from, long length, volatile char *byte)
{
	return prctl(USER_DISPATCH, on, from, length, byte) ? errno : 0;
}

static void *other(void *arg)
{
	(void)arg;
	return (void *)(call(SYS_getpid) == getpid() ? "free" : "dispatched");
}

/* How the process that does this ends. */
static int ends(void (*what)(void))
{
	int status;
	const pid_t pid = fork();

	if (!pid) {
		what();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

static void wrong_byte(void)
{
	dispatch(1, 0, 0, &selector);
	selector = 7;
	call(SYS_getppid);
}

static void no_byte(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	dispatch(1, 0, 0, page);
	munmap(page, 4096);
	call(SYS_getppid);
}

static void ignored(void)
{
	signal(SIGSYS, SIG_IGN);
	dispatch(1, 0, 0, &selector);
	selector = BLOCK;
	call(SYS_getppid);
}

static void blocked(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSYS);
	sigprocmask(SIG_BLOCK, &set, NULL);
	dispatch(1, 0, 0, &selector);
	selector = BLOCK;
	call(SYS_getppid);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO };
	pthread_t t;
	void *said;

	if (argc > 1)
		return dispatch(1, 0, 0, &selector) != 0 &&
		       printf("%s: no syscall user dispatch\n", argv[1]);
	sigaction(SIGSYS, &sa, NULL);
	CHECK(dispatch(0, 1, 0, NULL) == EINVAL &&
	      (sizeof(long) < 8 || dispatch(1, 4096, -4096, NULL) == EINVAL));
	CHECK(dispatch(77, 0, 0, NULL) == EINVAL);

	CHECK(dispatch(1, 0, 0, &selector) == 0);
	for (int i = 0; i < 3; i++) {
		selector = BLOCK;
		CHECK(call(SYS_getppid) == 1000 + SYS_getppid && !selector && calls == i + 1);
	}
	CHECK(call(SYS_getpid) == getpid() && calls == 3);
	SECTION("everywhere: %ld calls", calls);

	/* the address behind the call counts */
	CHECK(dispatch(1, at, 1, &selector) == 0);
	selector = BLOCK;
	CHECK(call(SYS_getpid) > 0 && calls == 3);
	CHECK(syscall(SYS_getppid) == 1000 + SYS_getppid && calls == 4);
	CHECK(dispatch(1, at + 1, 1, &selector) == 0);
	selector = BLOCK;
	CHECK(call(SYS_getpid) == 1000 + SYS_getpid && calls == 5);
	SECTION("but in a range: %ld calls", calls);

	CHECK(dispatch(1, 0, 0, &selector) == 0);
	pthread_create(&t, NULL, other, NULL);
	selector = BLOCK;
	CHECK(call(SYS_getppid) == 1000 + SYS_getppid);
	pthread_join(t, &said);
	SECTION("a thread: %s", (const char *)said);
	SECTION("killed by %d, %d, %d, %d", ends(wrong_byte), ends(no_byte), ends(ignored),
		ends(blocked));
	CHECK(dispatch(0, 0, 0, NULL) == 0);
	selector = BLOCK;
	CHECK(call(SYS_getpid) == getpid() && calls == 6);
	SECTION("off");
	return 0;
}
