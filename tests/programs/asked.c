/* SPDX-License-Identifier: MIT */
/* asked.c - works each time a line comes on standard input, and says so; ends at its end. argv[1]:
 * it works by so many threads, one after the other, which have waited since the beginning. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static int whose, nthread;

__attribute__((noinline, used)) unsigned fib_asked(unsigned n)
{
	return n < 2 ? n : fib_asked(n - 1) + fib_asked(n - 2);
}

static void *thread(void *arg)
{
	const int me = (int)(long)arg;

	for (;;) {
		pthread_mutex_lock(&lock);
		while (whose != me)
			pthread_cond_wait(&turn, &lock);
		printf("%u\n", fib_asked(15));
		whose = me == nthread ? 0 : me + 1;
		pthread_cond_broadcast(&turn);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	nthread = argc > 1 ? atoi(argv[1]) : 0;
	for (int i = 1; i <= nthread; i++) {
		pthread_t t;

		pthread_create(&t, NULL, thread, (void *)(long)i);
	}
	printf("%d\n", (int)getpid());
	while (fgets(line, sizeof line, stdin)) {
		if (!nthread) {
			printf("%u\n", fib_asked(15));
			continue;
		}
		pthread_mutex_lock(&lock);
		whose = 1;
		pthread_cond_broadcast(&turn);
		while (whose)
			pthread_cond_wait(&turn, &lock);
		pthread_mutex_unlock(&lock);
	}
	return 0;
}
