/* SPDX-License-Identifier: MIT */
/* flags: -lpthread
 *
 * pending.c - signals that are blocked when somebody sends them, the synchronous ones (SIGILL,
 * SIGTRAP, SIGBUS, SIGFPE, SIGSEGV) among them: pending, waited for, read, delivered, inherited */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "self_check.h"

static const int sync_sig[] = { SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV };
#define NSYNC (sizeof sync_sig / sizeof *sync_sig)
static volatile int order[64], norder;
static siginfo_t last;
static const struct timespec now;

static void handler(int sig, siginfo_t *info, void *context)
{
	order[norder++] = sig;
	last = *info;
}

static void mask(int how, const int *sig, size_t n)
{
	sigset_t set;

	sigemptyset(&set);
	while (n)
		sigaddset(&set, sig[--n]);
	CHECK(!sigprocmask(how, &set, NULL));
}

static sigset_t set_of(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	return set;
}

static int is_pending(int sig)
{
	sigset_t set;

	CHECK(!sigpending(&set));
	return sigismember(&set, sig);
}

static int count_pending(void)
{
	int n = 0;

	for (int s = 1; s < 65; s++)
		n += is_pending(s) == 1;
	return n;
}

/* A line of a status file, from its second word on. */
static unsigned long long status(const char *file, const char *name)
{
	char line[256];
	unsigned long long v = 0;
	FILE *f = fopen(file, "r");

	CHECK(f);
	while (fgets(line, sizeof line, f))
		if (!strncmp(line, name, strlen(name)))
			sscanf(line + strlen(name) + 1, "%llx", &v);
	fclose(f);
	return v;
}

#define SYNC_BITS 0x4d8ull

static void all_pending(void)
{
	sigset_t all;
	int sent = 0;

	sigfillset(&all);
	CHECK(!sigprocmask(SIG_BLOCK, &all, NULL));
	for (int s = 1; s < 65; s++)
		if (s != SIGKILL && s != SIGSTOP && s != SIGCONT && s != SIGTSTP && s != SIGTTIN &&
		    s != SIGTTOU && s != 32 && s != 33)
			sent += !kill(getpid(), s);
	SECTION("%d sent, %d pending", sent, count_pending());
	SECTION("thread %llx process %llx blocked %llx", status("/proc/self/status", "SigPnd"),
		status("/proc/self/status", "ShdPnd") & SYNC_BITS,
		status("/proc/self/status", "SigBlk") & SYNC_BITS);
	for (unsigned i = 0; i < NSYNC; i++)
		raise(sync_sig[i]);
	SECTION("thread %llx process %llx", status("/proc/self/status", "SigPnd"),
		status("/proc/self/status", "ShdPnd") & SYNC_BITS);
	while (sigtimedwait(&all, NULL, &now) > 0)
		norder++;
	SECTION("%d fetched, %d pending", norder, count_pending());
	norder = 0;
	sigprocmask(SIG_UNBLOCK, &all, NULL);
}

static void fetched(int sig)
{
	const sigset_t set = set_of(sig);
	const union sigval value = { .sival_int = 77 };
	struct signalfd_siginfo si;
	struct pollfd p = { .events = POLLIN };
	siginfo_t info;

	mask(SIG_BLOCK, &sig, 1);
	p.fd = signalfd(-1, &set, SFD_CLOEXEC);
	CHECK(p.fd >= 0 && poll(&p, 1, 0) == 0);
	CHECK(!sigqueue(getpid(), sig, value) && !kill(getpid(), sig));	/* they are one */
	CHECK(poll(&p, 1, 0) == 1 && read(p.fd, &si, sizeof si) == sizeof si);
	CHECK((int)si.ssi_signo == sig && si.ssi_code == SI_QUEUE && si.ssi_int == 77);
	CHECK(poll(&p, 1, 0) == 0 && !is_pending(sig));
	CHECK(!raise(sig) && !kill(getpid(), sig));			/* they are two */
	CHECK(sigwaitinfo(&set, &info) == sig && is_pending(sig));
	CHECK(sigwaitinfo(&set, &info) == sig && info.si_code == SI_USER && !is_pending(sig));
	CHECK(info.si_pid == getpid() && sigtimedwait(&set, &info, &now) < 0 && errno == EAGAIN);
	CHECK(!raise(sig));
	signal(sig, SIG_IGN);						/* forgotten */
	CHECK(!is_pending(sig));
	CHECK(!raise(sig) && is_pending(sig));		/* blocked: not ignored yet */
	mask(SIG_UNBLOCK, &sig, 1);
	CHECK(!is_pending(sig));
	close(p.fd);
}

static void delivered(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	sigset_t none;

	sigemptyset(&none);
	for (unsigned i = 0; i < NSYNC; i++)
		sigaction(sync_sig[i], &sa, NULL);
	mask(SIG_BLOCK, sync_sig, NSYNC);
	for (unsigned i = NSYNC; i; i--)
		CHECK(!kill(getpid(), sync_sig[i - 1]));
	for (volatile int k = 0; k < 100000; k++)	/* they wait while code runs */
		;
	CHECK(!norder);
	for (unsigned i = 0; i < NSYNC; i++) {
		mask(SIG_UNBLOCK, &sync_sig[i], 1);
		CHECK(norder == (int)i + 1 && order[i] == sync_sig[i] && last.si_code == SI_USER);
	}
	norder = 0;
	mask(SIG_BLOCK, sync_sig, NSYNC);
	CHECK(!raise(SIGSEGV));
	CHECK(sigsuspend(&none) < 0 && errno == EINTR && norder == 1 && !is_pending(SIGSEGV));
	norder = 0;
	CHECK(status("/proc/thread-self/status", "SigCgt") == SYNC_BITS);
	mask(SIG_UNBLOCK, sync_sig, NSYNC);
	for (unsigned i = 0; i < NSYNC; i++)
		signal(sync_sig[i], i & 1 ? SIG_IGN : SIG_DFL);
	SECTION("caught %llx ignored %llx", status("/proc/self/status", "SigCgt"),
		status("/proc/self/status", "SigIgn") & SYNC_BITS);
	for (unsigned i = 0; i < NSYNC; i++)
		signal(sync_sig[i], SIG_DFL);
}

/* A call that sleeps is not interrupted by what is blocked, or ignored. */
static void asleep(int sig, int ignored)
{
	const pid_t parent = getpid(), pid = fork();
	const struct timespec nap = { 0, 100000000 };
	int st;

	if (!pid) {
		usleep(30000);
		kill(parent, sig);
		_exit(0);
	}
	CHECK(!nanosleep(&nap, NULL));
	CHECK(waitpid(pid, &st, 0) == pid && !st);	/* on a busy machine it sends later */
	CHECK(is_pending(sig) == !ignored);
}

static void *waiter(void *arg)
{
	const sigset_t set = set_of(SIGSEGV);
	siginfo_t info;

	CHECK(!kill(getpid(), SIGSEGV) && sigwaitinfo(&set, &info) == SIGSEGV);	/* to any thread */
	CHECK(!syscall(SYS_tgkill, getpid(), getpid(), SIGSEGV));	/* to the first one */
	usleep(30000);
	return (void *)(long)is_pending(SIGSEGV);
}

static void inherited(void)
{
	const pid_t pid = fork();
	int st;

	if (!pid) {
		if (is_pending(SIGSEGV))			/* not by fork() */
			_exit(9);
		raise(SIGSEGV);
		execl("/proc/self/exe", "pending", "executed", NULL);
		_exit(8);
	}
	CHECK(waitpid(pid, &st, 0) == pid && WIFEXITED(st) && WEXITSTATUS(st) == 1);
}

static void killed(int sig, int how)
{
	const pid_t pid = fork();
	int st;

	if (!pid) {
		mask(SIG_BLOCK, &sig, 1);
		signal(sig, how ? SIG_IGN : SIG_DFL);
		if (sig == SIGSEGV)
			*(volatile int *)8 = 0;
		else
			__asm__ volatile("ud2");
		_exit(0);
	}
	CHECK(waitpid(pid, &st, 0) == pid && WIFSIGNALED(st) && WTERMSIG(st) == sig);
}

int main(int argc, char **argv)
{
	pthread_t t;
	void *r;

	if (argc > 1)
		return is_pending(SIGSEGV);
	all_pending();
	for (unsigned i = 0; i < NSYNC; i++)
		fetched(sync_sig[i]);
	delivered();
	SECTION("fetched and delivered");
	for (unsigned i = 0; i < NSYNC; i++) {
		signal(sync_sig[i], SIG_IGN);
		asleep(sync_sig[i], 1);
		signal(sync_sig[i], SIG_DFL);
	}
	mask(SIG_BLOCK, sync_sig, NSYNC);
	for (unsigned i = 0; i < NSYNC; i++)
		asleep(sync_sig[i], 0);
	inherited();
	SECTION("asleep, inherited");
	for (unsigned i = 0; i < NSYNC; i++) {
		const sigset_t set = set_of(sync_sig[i]);

		CHECK(sigtimedwait(&set, NULL, &now) == sync_sig[i]);
	}
	CHECK(!pthread_create(&t, NULL, waiter, NULL) && !pthread_join(t, &r));
	CHECK(!r && is_pending(SIGSEGV));
	SECTION("threads");
	for (int how = 0; how < 2; how++) {
		killed(SIGSEGV, how);
		killed(SIGILL, how);
	}
	SECTION("killed");
	return 0;
}
