/* SPDX-License-Identifier: MIT */
/* flags: -pthread */
/* threads.c - futexes, thread-local storage, cancellation, many short threads */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include "self_check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, less = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int queue[16], qn, onces, destroyed, cleaned;
static long shared;
static atomic_long atomic;
static __thread long mine = 7;
static __thread char big[3000] = "tls";
static long results[64];

static void *adder(void *arg)
{
	long id = (long)arg;

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 5000; i++) {
		pthread_mutex_lock(&lock);
		shared++;
		pthread_mutex_unlock(&lock);
		atomic_fetch_add(&atomic, 2);
		mine += id;
	}
	CHECK(mine == 7 + 5000 * id && !strcmp(big, "tls"));
	results[id] = mine;
	return (void *)(id * 3);
}

static void *producer(void *arg)
{
	for (int i = 1; i <= 2000; i++) {
		pthread_mutex_lock(&lock);
		while (qn == 16)
			pthread_cond_wait(&less, &lock);
		queue[qn++] = i;
		pthread_cond_signal(&more);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void *consumer(void *arg)
{
	long sum = 0;

	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&lock);
		while (!qn)
			pthread_cond_wait(&more, &lock);
		sum += queue[--qn];
		pthread_cond_signal(&less);
		pthread_mutex_unlock(&lock);
	}
	*(long *)arg = sum;
	return NULL;
}

static void clean(void *arg)
{
	cleaned += *(int *)arg;
}

static void *sleeper(void *arg)
{
	static int one = 1;

	pthread_cleanup_push(clean, &one);
	sem_post(arg);
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return NULL;
}

static void *spinner(void *arg)
{
	volatile unsigned long n = 0;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	sem_post(arg);
	for (;;)
		n++;
	return NULL;
}

static void *brief(void *arg)
{
	pthread_setspecific(key, arg);
	return (void *)((long)arg + mine);
}

static void destroy(void *v)
{
	pthread_mutex_lock(&lock);
	destroyed += v != NULL;
	pthread_mutex_unlock(&lock);
}

static void do_once(void)
{
	onces++;
	pthread_key_create(&key, destroy);
}

static atomic_int caught;
static atomic_long caught_by;
static void on_signal(int sig)
{
	atomic_fetch_add(&caught, 1);
	atomic_store(&caught_by, syscall(SYS_gettid));
	(void)sig;
}

static void *waiter(void *arg)
{
	atomic_long *tid = arg;

	atomic_store(tid, syscall(SYS_gettid));
	while (!atomic_load(&caught))
		usleep(1000);
	return NULL;
}

static void *last(void *arg)
{
	usleep(20000);
	SECTION("main has left, a thread ends the process");
	exit(0);
	return arg;
}

int main(void)
{
	pthread_t t[8], d;
	pthread_attr_t attr;
	long sums[2];
	void *r;
	sem_t sem;
	atomic_long tid = 0;

	pthread_once(&once, do_once);
	pthread_once(&once, do_once);
	pthread_barrier_init(&barrier, NULL, 8);
	for (long i = 0; i < 8; i++)
		CHECK(pthread_create(&t[i], NULL, adder, (void *)i) == 0);
	for (long i = 0; i < 8; i++)
		CHECK(pthread_join(t[i], &r) == 0 && r == (void *)(i * 3));
	CHECK(shared == 40000 && atomic == 80000 && mine == 7 && onces == 1);
	SECTION("8 threads: %ld %ld", shared, (long)atomic);

	pthread_create(&t[0], NULL, producer, NULL);
	pthread_create(&t[1], NULL, consumer, &sums[0]);
	pthread_create(&t[2], NULL, consumer, &sums[1]);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	CHECK(sums[0] + sums[1] == 2000 * 2001 / 2 && qn == 0);
	SECTION("condition variables: %ld", sums[0] + sums[1]);

	sem_init(&sem, 0, 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, i < 2 ? sleeper : spinner, &sem);
	for (int i = 0; i < 4; i++)
		sem_wait(&sem);
	for (int i = 0; i < 4; i++) {
		pthread_cancel(t[i]);
		CHECK(pthread_join(t[i], &r) == 0 && r == PTHREAD_CANCELED);
	}
	CHECK(cleaned == 2);
	SECTION("cancelled: 4, cleaned up: %d", cleaned);

	for (long i = 1; i <= 300; i++) {
		pthread_create(&t[0], NULL, brief, (void *)i);
		pthread_join(t[0], &r);
		CHECK(r == (void *)(i + 7));
	}
	CHECK(destroyed == 300);
	SECTION("short threads, destructors: %d", destroyed);

	signal(SIGUSR1, on_signal);
	pthread_create(&t[0], NULL, waiter, &tid);
	while (!tid)
		usleep(1000);
	CHECK(pthread_kill(t[0], SIGUSR1) == 0);
	pthread_join(t[0], NULL);
	CHECK(caught == 1 && caught_by == tid);
	SECTION("a signal to one thread: handled by it");

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_create(&d, &attr, last, NULL);
	pthread_exit(NULL);
}
