/* SPDX-License-Identifier: MIT */
/* wake.c - what wakes the controller: signals, and the end of processes that are not its children
 *
 * The controller sleeps on the doorbell, which is in shared memory: whoever asks rings it. So do
 * the handlers here, and a thread that waits for the pidfds of all processes of which waitpid()
 * does not tell. Signals and descriptors are the process's own, so the state is one for all. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/thread.h"
#include "collect/control/session.h"

static struct rt_session *doorbell;		/* for the signal handler and the watcher; NULL: no
						 * session */
static pthread_mutex_t doorbell_lock = PTHREAD_MUTEX_INITIALIZER;	/* the watcher rings */
static volatile sig_atomic_t interrupted, program_over;
static int epoll_fd = -1;

static void ring(void)
{
	struct rt_session *const at = __atomic_load_n(&doorbell, __ATOMIC_SEQ_CST);

	if (!at)
		return;
	__atomic_fetch_add(&at->doorbell, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&at->asleep, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &at->doorbell, FUTEX_WAKE, 1);
}

/* Handlers run in the thread that calls this: others have all signals blocked. */
void wake_session_over(void)
{
	pthread_mutex_lock(&doorbell_lock);
	__atomic_store_n(&doorbell, NULL, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&doorbell_lock);
}

/* ---- signals --------------------------------------------------------------------------------- */
static void on_signal(int sig)
{
	int e = errno;

	if (sig != SIGCHLD)
		interrupted = sig;
	ring();
	errno = e;
}

/* The terminal sends these to the program as well: it decides. What was sent to us alone is passed
 * on. */
static void on_key(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (program_over || info->si_code != SI_KERNEL)
		on_signal(sig);
}

static const struct { int number; bool key; } passed_on[] = {
	{ SIGINT, true }, { SIGQUIT, true }, { SIGTERM, false }, { SIGHUP, false },
};
_Static_assert(NR(passed_on) == NR(((struct wake_saved *)0)->passed_on), "one for each");

void wake_hold_signals(struct wake_saved *was, struct rt_session *head)
{
	const struct sigaction act = { .sa_handler = on_signal };
	sigset_t held;

	doorbell = head;
	interrupted = program_over = 0;
	sigemptyset(&held);
	for (size_t i = 0; i < NR(passed_on); i++)
		sigaddset(&held, passed_on[i].number);
	sigprocmask(SIG_BLOCK, &held, &was->mask);
	sigaction(SIGCHLD, &act, &was->child);
}

void wake_drop_signals(const struct wake_saved *was)
{
	sigaction(SIGCHLD, &was->child, NULL);
	sigprocmask(SIG_SETMASK, &was->mask, NULL);
}

void wake_pass_signals(struct wake_saved *was)
{
	const struct sigaction act = { .sa_handler = on_signal },
			       key = { .sa_sigaction = on_key, .sa_flags = SA_SIGINFO };

	for (size_t i = 0; i < NR(passed_on); i++)
		sigaction(passed_on[i].number, passed_on[i].key ? &key : &act, &was->passed_on[i]);
	sigprocmask(SIG_SETMASK, &was->mask, NULL);
}

void wake_restore_signals(const struct wake_saved *was)
{
	sigaction(SIGCHLD, &was->child, NULL);
	for (size_t i = 0; i < NR(passed_on); i++)
		sigaction(passed_on[i].number, &was->passed_on[i], NULL);
}

void wake_program_over(void)
{
	program_over = 1;
}

bool wake_interrupted(void)
{
	return interrupted;
}

int wake_signal(void)
{
	const int sig = interrupted;

	interrupted = 0;
	return sig;
}

/* ---- processes that are not our children ----------------------------------------------------- */
static void *watch(void *arg)
{
	(void)arg;
	for (;;) {
		struct epoll_event e;

		if (epoll_wait(epoll_fd, &e, 1, -1) < 0 && errno != EINTR)
			return NULL;
		pthread_mutex_lock(&doorbell_lock);
		ring();
		pthread_mutex_unlock(&doorbell_lock);
		usleep(200); /* the main loop removes it; level-triggered meanwhile */
	}
}

int wake_watch(uint32_t pid)
{
	const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct epoll_event e = { .events = EPOLLIN | EPOLLONESHOT };
	static bool started;
	pthread_t t;

	if (fd < 0)
		return -1;
	if (!started) {
		started = true;
		epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		if (pm_thread_start(&t, watch, NULL))
			pthread_detach(t);
	}
	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &e);
	return fd;
}
