/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <unistd.h>

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

unsigned pm_processors(void)
{
	const long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 1 ? (unsigned)n : 1;
}
