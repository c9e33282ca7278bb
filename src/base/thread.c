/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"

bool pm_thread_start(pthread_t *t, void *(*run)(void *), void *arg)
{
	sigset_t all, was;
	bool started;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	started = !pthread_create(t, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	return started;
}

void pm_threads_run(void *(*run)(void *), void *parts, size_t size, unsigned n)
{
	pthread_t *thread = pm_alloc((n + 1) * sizeof *thread);
	bool *started = pm_alloc(n + 1);

	for (unsigned k = 1; k < n; k++)
		started[k] = pm_thread_start(thread + k, run, (char *)parts + k * size);
	for (unsigned k = 0; k < n; k++)
		if (!started[k])
			run((char *)parts + k * size);
	for (unsigned k = 1; k < n; k++)
		if (started[k])
			pthread_join(thread[k], NULL);
	free(started);
	free(thread);
}

unsigned pm_processors(void)
{
	const long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 1 ? (unsigned)n : 1;
}
