/* SPDX-License-Identifier: MIT */
/* attached.c - threads in all kinds of places, for a tracer that comes and goes: computing, waiting
 * in calls of every kind that a stop interrupts, in handlers on signal stacks, jumping out of
 * handlers, with signals on their way. Each checks what it does; it runs until SIGTERM or for
 * argv[1] seconds and says how it went: "ok", or the line of the first fault. argv[2]: only these
 * kinds, as bits. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int fault, over;
static atomic_long rounds;

#define CHECK(x) \
	do { \
		int none_yet = 0; \
		if (!(x) && atomic_compare_exchange_strong(&fault, &none_yet, __LINE__)) \
			fprintf(stderr, "line %d: %s, errno %d\n", __LINE__, #x, errno); \
	} while (0)

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static __attribute__((noinline)) unsigned fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/* ---- threads: each until it is over ---------------------------------------------------------- */
static void *computes(void *arg)
{
	double x = 1;

	(void)arg;
	while (!over) {
		x = x * 1.5 - (x > 1e6 ? x : 0) + 0.25;
		CHECK(fib(15) == 610 && x == x);
		rounds++;
	}
	return NULL;
}

/* A time that is asked for is waited for, and not cut short. */
static void *naps(void *arg)
{
	(void)arg;
	while (!over) {
		const struct timespec t = { 0, 30000000 };
		const double begun = now();

		CHECK(!nanosleep(&t, NULL) && now() - begun >= 0.03);
		rounds++;
	}
	return NULL;
}

static void *polls(void *arg)
{
	struct pollfd p = { .fd = -1 };
	fd_set none;

	(void)arg;
	while (!over) {
		struct timeval tv = { 0, 20000 };

		CHECK(poll(&p, 1, 20) == 0);
		FD_ZERO(&none);
		CHECK(select(0, &none, NULL, NULL, &tv) == 0);
		rounds++;
	}
	return NULL;
}

/* epoll_wait() says EINTR after a stop, as signal(7) has it: not here. */
static void *waits_for_events(void *arg)
{
	const int ep = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	const struct itimerspec each = { { 0, 15000000 }, { 0, 15000000 } };
	struct epoll_event e = { .events = EPOLLIN };
	uint64_t n;

	(void)arg;
	CHECK(!timerfd_settime(timer, 0, &each, NULL) && !epoll_ctl(ep, EPOLL_CTL_ADD, timer, &e));
	while (!over) {
		CHECK(epoll_wait(ep, &e, 1, 1000) == 1);
		CHECK(read(timer, &n, sizeof n) == sizeof n && n > 0);
		rounds++;
	}
	close(ep);
	close(timer);
	return NULL;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static int whose;

static void *takes_turns(void *arg)
{
	const int me = (int)(intptr_t)arg;

	while (!over) {
		pthread_mutex_lock(&lock);
		while (whose != me && !over)
			pthread_cond_wait(&turn, &lock);
		whose = !me;
		pthread_cond_broadcast(&turn);
		pthread_mutex_unlock(&lock);
		usleep(1000);
		rounds++;
	}
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&turn);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static int pipes[2][2];

static void *talks(void *arg)
{
	const int me = (int)(intptr_t)arg;
	unsigned v = 0;

	while (me || !over) {			/* the second one ends when the first says so */
		if (me) {
			CHECK(read(pipes[0][0], &v, sizeof v) == sizeof v);
			v++;
			CHECK(write(pipes[1][1], &v, sizeof v) == sizeof v);
			if (!v)
				break;
		} else {
			const unsigned was = v;

			CHECK(write(pipes[0][1], &v, sizeof v) == sizeof v);
			CHECK(read(pipes[1][0], &v, sizeof v) == sizeof v && v == was + 1);
		}
		rounds++;
	}
	if (!me) {
		v = ~0u;
		CHECK(write(pipes[0][1], &v, sizeof v) == sizeof v);
	}
	return NULL;
}

static __thread sigjmp_buf back;
static __thread volatile int handled, on_stack;
static __thread char *stack;
#define STACK 65536

static void on_fault(int sig, siginfo_t *info, void *context)
{
	char here;

	(void)context;
	on_stack = &here >= stack && &here < stack + STACK;
	handled = sig == SIGSEGV && info->si_addr == (void *)0x10;
	fib(8);
	siglongjmp(back, 1);
}

/* Faults are caught on a signal stack, and left by a jump. */
static void *faults(void *arg)
{
	stack_t ss = { .ss_size = STACK }, was;

	(void)arg;
	ss.ss_sp = stack = malloc(STACK);
	CHECK(!sigaltstack(&ss, NULL));
	while (!over) {
		handled = on_stack = 0;
		if (!sigsetjmp(back, 1))
			*(volatile int *)0x10 = 1;
		CHECK(handled && on_stack);
		CHECK(!sigaltstack(NULL, &was) && was.ss_sp == (void *)stack);
		CHECK(was.ss_size == STACK && !was.ss_flags);
		rounds++;
	}
	ss.ss_flags = SS_DISABLE;
	sigaltstack(&ss, NULL);
	free(stack);
	return NULL;
}

static atomic_int ticks;

static void on_tick(int sig)
{
	const int e = errno;

	(void)sig;
	ticks++;
	fib(10);
	errno = e;
}

/* Signals that are blocked wait; sigsuspend() lets them in, one by one. */
static void *suspends(void *arg)
{
	sigset_t set, old, pending;
	int before;

	(void)arg;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	CHECK(!pthread_sigmask(SIG_BLOCK, &set, &old));
	while (!over) {
		before = ticks;
		CHECK(!pthread_kill(pthread_self(), SIGUSR2));
		fib(12);
		CHECK(!sigpending(&pending) && sigismember(&pending, SIGUSR2) && ticks == before);
		CHECK(sigsuspend(&old) == -1 && errno == EINTR && ticks == before + 1);
		rounds++;
	}
	return NULL;
}

static void *makes_threads(void *arg);

static void *short_lived(void *arg)
{
	fib(14);
	return arg;
}

static void *makes_threads(void *arg)
{
	while (!over) {
		pthread_t t;
		void *got = NULL;

		CHECK(!pthread_create(&t, NULL, short_lived, &rounds) &&
		      !pthread_join(t, &got) && got == &rounds);
		rounds++;
		usleep(3000);
	}
	return arg;
}

static void *forks(void *arg)
{
	while (!over) {
		const pid_t pid = fork();
		int st;

		if (!pid)
			_exit(fib(12) == 144 ? 3 : 4);
		CHECK(pid > 0 && waitpid(pid, &st, 0) == pid);
		CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 3);
		rounds++;
		usleep(20000);
	}
	return arg;
}

/* Code that is written while it runs. */
static void *generates(void *arg)
{
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned i = 0;

	while (!over) {
		i++;
		code[0] = 0xb8;				/* mov $i, %eax; ret */
		memcpy(code + 1, &i, 4);
		code[5] = 0xc3;
		CHECK(((unsigned (*)(void))(void *)code)() == i);
		rounds++;
		usleep(500);
	}
	munmap(code, 4096);
	return arg;
}

static void on_term(int sig)
{
	(void)sig;
	over = 1;
}

int main(int argc, char **argv)
{
	static void *(*const kind[])(void *) = { computes, naps, polls, waits_for_events, faults,
						 suspends, makes_threads, forks, generates,
						 takes_turns, takes_turns, talks, talks };
	enum { N = sizeof kind / sizeof *kind };
	const double end = now() + (argc > 1 ? atof(argv[1]) : 1e9);
	const unsigned long which = argc > 2 ? strtoul(argv[2], NULL, 0) : ~0ul;
	pthread_t t[N];
	sigset_t all;

	signal(SIGUSR2, on_tick);
	sigaction(SIGSEGV, &(struct sigaction){ .sa_sigaction = on_fault,
						.sa_flags = SA_SIGINFO | SA_ONSTACK }, NULL);
	sigaction(SIGTERM, &(struct sigaction){ .sa_handler = on_term }, NULL);
	CHECK(!pipe(pipes[0]) && !pipe(pipes[1]));
	sigemptyset(&all);
	sigaddset(&all, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	for (int i = 0; i < N; i++)
		if (which >> i & 1)
			pthread_create(&t[i], NULL, kind[i], (void *)(intptr_t)(i & 1));
	pthread_sigmask(SIG_UNBLOCK, &all, NULL);
	while (!over && !fault && now() < end)
		usleep(10000);
	over = 1;
	for (int i = 0; i < N; i++)
		if (which >> i & 1)
			pthread_join(t[i], NULL);
	printf("%s\n", fault ? "fault" : rounds > 0 ? "ok" : "idle");
	return fault != 0;
}
