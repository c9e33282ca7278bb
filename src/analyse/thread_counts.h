/* SPDX-License-Identifier: MIT */
/* thread_counts.h - which processes and threads a trace has, and what each executed
 *
 * A program that executes another one is two processes with one number, as in a profile. Traces
 * that know no processes have one, with number 0.
 *
 * Ownership  the pipeline owns the object; what it lends stays until the pipeline is freed. */
#ifndef PM_ANALYSE_THREAD_COUNTS_H
#define PM_ANALYSE_THREAD_COUNTS_H

#include <stdbool.h>

#include "trace/tally.h"

struct pm_thread {
	uint32_t pid, tid;		/* 0: not known */
	uint32_t stream;
	uint32_t process;		/* counted from 0 in the order of the streams */
	char *program;			/* NULL: not known */
	char *name;			/* its own last one, or the stream's; NULL: none */
	struct pm_tally tally;
	enum { PM_THREAD_OPEN, PM_THREAD_EXITED, PM_THREAD_KILLED } end;
	int status;			/* or signal */
};

struct pm_threads;
struct pm_pipeline;
struct pm_threads *pm_threads_add(struct pm_pipeline *p);	/* a sink, before the start */
/* Once the pipeline has finished: by process, then by stream. */
const struct pm_thread *pm_threads_of(const struct pm_threads *t, size_t *n);

#endif
