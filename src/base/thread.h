/* SPDX-License-Identifier: MIT */
/* thread.h - threads that do a part of the work */
#ifndef PM_BASE_THREAD_H
#define PM_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/sanitizer.h"

/* pthread_create(), but the thread takes no signals: they are for the one that knows what to do
 * about them. False: there is no such thread. */
bool pm_thread_start(pthread_t *t, void *(*run)(void *), void *arg);
/* @run for each of @n parts of @size bytes at @parts, at the same time, the first one in this
 * thread; so is one for which there is no other thread. Size 0: all have the same. Returns when all
 * have ended. */
void pm_threads_run(void *(*run)(void *), void *parts, size_t size, unsigned n);
/* Between two looks at what another thread is about to do. */
static inline void pm_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}
/* Two of our threads that hand @memory to each other through another process: that orders them, but
 * the thread sanitizer does not see it, and is told. */
#if PM_THREAD_SANITIZER
void __tsan_acquire(void *);
void __tsan_release(void *);
#define pm_acquired_from_process(memory) __tsan_acquire((void *)(memory))
#define pm_released_to_process(memory) __tsan_release((void *)(memory))
#else
#define pm_acquired_from_process(memory) ((void)(memory))
#define pm_released_to_process(memory) ((void)(memory))
#endif
unsigned pm_processors(void);			/* that are on-line; at least 1 */

#endif
