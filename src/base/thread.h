/* SPDX-License-Identifier: MIT */
/* thread.h - threads that do a part of the work */
#ifndef PM_BASE_THREAD_H
#define PM_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* pthread_create(), but the thread takes no signals: they are for the one that knows what to do
 * about them. False: there is no such thread. */
bool pm_thread_start(pthread_t *t, void *(*run)(void *), void *arg);
/* Between two looks at what another thread is about to do. */
static inline void pm_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}
unsigned pm_processors(void);			/* that are on-line; at least 1 */

#endif
