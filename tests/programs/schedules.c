/* SPDX-License-Identifier: MIT */
/* flags: -pthread */
/* schedules.c - threads whose results depend on who executed when: races, locks, pipes, timers,
 * ends. What each prints is different in every run */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 4

static pthread_t thread[N];
static volatile long counter;
static unsigned long hash = 1;
static atomic_ulong shared = 1;
static atomic_int lock;
static volatile int stop;
static pthread_mutex_t mutex;
static int pipes[N][2];

static void start(void *(*f)(void *))
{
	for (long k = 0; k < N; k++)
		pthread_create(&thread[k], 0, f, (void *)k);
}

static void join(void)
{
	for (int k = 0; k < N; k++)
		pthread_join(thread[k], 0);
}

/* ---- races ----------------------------------------------------------------------------------- */
__attribute__((noinline)) static long slowly(volatile long v)
{
	for (int i = 0; i < 5; i++)
		v += i;
	return v - 10;
}

static void *races(void *arg)
{
	for (int i = 0; i < 100000; i++) {
		const long v = counter;

		counter = slowly(v) + 1;
		hash = hash * 31 + (unsigned long)arg;
	}
	return 0;
}

/* Who comes second finds it done, unless the first one has not got so far. */
static void *rarely(void *arg)
{
	static volatile char done[3000];

	for (int i = 0; i < 3000; i++) {
		slowly(i);
		if (done[i])
			continue;
		slowly(i);
		done[i] = 1;
		atomic_fetch_add(&shared, 1);
	}
	return arg;
}

/* ---- locks ----------------------------------------------------------------------------------- */
static void *spins(void *arg)
{
	for (int i = 0; i < 20000; i++) {
		while (atomic_exchange(&lock, 1))
			if (i % 2)
				sched_yield();
		hash = hash * 31 + (unsigned long)arg;
		atomic_store(&lock, 0);
		atomic_fetch_add(&shared, hash);
	}
	return 0;
}

static void *dies_with_lock(void *arg)
{
	const int r = pthread_mutex_lock(&mutex);

	if (r == EOWNERDEAD)
		pthread_mutex_consistent(&mutex);
	printf("%ld: %s\n", (long)arg, strerror(r));
	sched_yield();
	return 0;
}

static void robust(void)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&mutex, &a);
	start(dies_with_lock);
	join();
	dies_with_lock((void *)N);
}

/* ---- calls that wait ------------------------------------------------------------------------- */
static void *passes_on(void *arg)
{
	const long k = (long)arg;
	unsigned long v;

	for (int i = 0; i < 500 && read(pipes[k][0], &v, sizeof v) == sizeof v; i++) {
		struct pollfd p = { pipes[(k + 1) % N][1], POLLOUT, 0 };

		v = v * 31 + (unsigned long)k + counter++;
		poll(&p, 1, -1);
		if (write(pipes[(k + 1) % N][1], &v, sizeof v) != sizeof v)
			break;
	}
	hash ^= v;
	return 0;
}

static void ring(void)
{
	for (int k = 0; k < N; k++)
		if (pipe(pipes[k]))
			exit(1);
	for (unsigned long k = 0; k < N; k++)
		if (write(pipes[k][1], &k, sizeof k) != sizeof k)
			exit(1);
	start(passes_on);
	join();
}

static void *forks(void *arg)
{
	for (int i = 0; i < 3; i++) {
		int status = 0;
		const pid_t pid = fork();

		if (!pid)
			_exit((int)((counter + (long)arg) % 100));
		waitpid(pid, &status, 0);
		counter += WEXITSTATUS(status) + 1;
		hash = hash * 31 + (unsigned long)pid;
	}
	return 0;
}

/* ---- signals --------------------------------------------------------------------------------- */
static __thread unsigned long progress;

static void handler(int sig)
{
	hash = hash * 31 + progress + (unsigned long)sig;
	counter++;
}

static void *works(void *arg)
{
	while (counter < 300) {
		progress++;
		if (progress % 7777 == 0)
			usleep(50);
		if (progress % 5555 == 0)
			pthread_kill(thread[progress % N], SIGUSR1);
	}
	return arg;
}

static void signals(void)
{
	struct itimerval t = { { 0, 900 }, { 0, 900 } };

	signal(SIGALRM, handler);
	signal(SIGUSR1, handler);
	for (int k = 0; k < N; k++)
		thread[k] = pthread_self();
	setitimer(ITIMER_REAL, &t, 0);
	start(works);
	join();
}

/* ---- ends ------------------------------------------------------------------------------------ */
static void *goes_on(void *arg)
{
	while (!stop)
		hash = hash * 31 + (unsigned long)arg;
	return 0;
}

static void *ends_all(void *arg)
{
	pthread_join(thread[0], 0);		/* of main(), which has left */
	printf("%ld\n", counter);
	exit(3);
}

static void leaves(void)
{
	pthread_t t;

	thread[0] = pthread_self();
	pthread_create(&t, 0, ends_all, 0);
	counter = 5;
	pthread_exit(0);
}

static char **self;

static void *executes(void *arg)
{
	if (!arg)
		execl("/proc/self/exe", self[0], "races", (char *)0);
	return goes_on(arg);
}

static void *is_killed(void *arg)
{
	if (arg)
		return goes_on(arg);
	printf("%ld\n", counter);
	fflush(stdout);
	usleep(3000);
	raise(SIGKILL);
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	self = argv;
	if (!strcmp(how, "races") || !strcmp(how, "spins") || !strcmp(how, "forks")) {
		start(*how == 'r' ? races : *how == 's' ? spins : forks);
		join();
	} else if (!strcmp(how, "rarely")) {
		start(rarely);
		join();
		printf("done %d times\n", (int)atomic_load(&shared) - 1);
		return 0;
	} else if (!strcmp(how, "robust")) {
		robust();
	} else if (!strcmp(how, "ring")) {
		ring();
	} else if (!strcmp(how, "signals")) {
		signals();
	} else if (!strcmp(how, "returns")) {
		start(goes_on);
		usleep(10000);
	} else if (!strcmp(how, "leaves")) {
		leaves();
	} else if (!strcmp(how, "executes") || !strcmp(how, "killed")) {
		start(*how == 'e' ? executes : is_killed);
		join();
	} else {
		return 2;
	}
	printf("%s: %ld %lx %lx\n", how, counter, hash, atomic_load(&shared));
	return 0;
}
