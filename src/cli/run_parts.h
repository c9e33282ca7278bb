/* SPDX-License-Identifier: MIT */
/* run_parts.h - the trace of a recording into a .pug, by several replays
 * (collect/query/trace_parts.h) */
#ifndef PM_CLI_RUN_PARTS_H
#define PM_CLI_RUN_PARTS_H

#include "cli/run_trace.h"

/* Where @recording, which is open as o->replay, can only be replayed by one, that is noted, and
 * false. */
bool run_parts_possible(const struct pm_run_opts *o);
/* By @jobs, into the files that @t names: the trace's, and JSON's. It returns as run_traced()
 * does. */
int run_parts(const char *recording, uint64_t jobs, const struct pm_run_opts *o,
	      const struct run_trace *t, int *status, int *signal);

#endif
