/* SPDX-License-Identifier: MIT */
/* workers.h - processes of our own that replay a recording side by side */
#ifndef PM_QUERY_WORKERS_H
#define PM_QUERY_WORKERS_H

#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"

/* One more. *@pid is 0 in it: it ends when its parent does. 0 with PM_ERR: there is none. */
enum pm_status worker_fork(pid_t *pid, struct pm_err *err);
/* It ends, if @pid is not 0: it has been waited for. */
void worker_end(pid_t pid);
/* A text for whoever waits for the worker: with its zero. NULL is written as "". */
void worker_put_text(struct pm_buf *b, const char *s);

#endif
