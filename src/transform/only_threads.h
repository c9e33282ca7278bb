/* SPDX-License-Identifier: MIT */
/* only_threads.h - of a trace only some threads, by number or name
 *
 * A thread has the name that it gave itself last (prctl(PR_SET_NAME)). The first one of a process
 * begins with that of its program, others without any: what their creator was called need not have
 * come by then. A thread passes from the moment on at which it is wanted; a PM_EV_LOST says how
 * many instructions were before. Of others nothing passes. */
#ifndef PM_TRANSFORM_ONLY_THREADS_H
#define PM_TRANSFORM_ONLY_THREADS_H

#include "trace/pipeline.h"

extern const struct pm_transform_ops pm_only_threads_ops;
/* @want[@n]: numbers, or patterns as a shell's for names; borrowed. Its finish() fails if there was
 * no such thread. */
void *pm_only_threads_new(const char *const *want, unsigned n);
/* Instructions that have passed, so far. */
uint64_t pm_only_threads_passed(const void *self);

#endif
