/* SPDX-License-Identifier: MIT */
/* trace_parts.h - the trace of a recording, made by several replays at once
 *
 * *Workers*, processes of our own, each replay the whole recording with tracing code. At seams
 * (control/process.h) each asks which part of the trace comes next, and takes it if no other one
 * has; what it does not take is passed over, several times as fast as it is traced. So the parts
 * go to whoever is there first. Whoever called puts them together in order (trace/pug_join.h) while
 * others are still being made.
 *
 * That takes as long as a replay and the workers' share of the tracing. A worker is no copy of a
 * replayed process: it may have threads, memory that is shared, and execute other programs. Only
 * processes that run at the same time have no common seams.
 *
 * The events of each thread are those of one replay, without PM_EV_TIME. How batches of threads
 * follow each other is, as there, as they were consumed, but no farther off than the next seam.
 *
 * Errors     PM_ERR, and @err says why: what went wrong in a worker, too. What has been traced up
 *            to there is in the file.
 * Threads    none may be running: it forks. */
#ifndef PM_QUERY_TRACE_PARTS_H
#define PM_QUERY_TRACE_PARTS_H

#include "collect/control/process.h"
#include "trace/io.h"

#define PARTS_WORKERS 64u		/* at most */
bool parts_number(uint64_t n);		/* can there be so many? */

/* How many safepoints a part has follows from the recording's number of them; for tests
 * PUGMARK_PART in the environment says it. */

/* Does the recording have only one process at a time? */
bool parts_possible(const struct rec_reader *r);
/* So many safepoints, of one thread, a part has if @workers make them. It reads the logs of @r. */
uint64_t parts_length(struct rec_reader *r, unsigned workers);
#define PARTS_MOST 65536u		/* the last one is the rest */

struct parts_result {
	int status, signal;		/* as of struct pm_counts */
	uint64_t parts, insns;
	double user_s, sys_s, own_s;	/* likewise, of all replays together */
	uint64_t trace_bytes;
};

/* Told a few times a second how many instructions are in the file, and which @part of all that is,
 * about. */
struct parts_watcher {
	void (*done)(void *self, uint64_t insns, double part);
	void *self;
};

/* The trace of @recording, as @o says - .kind, .echo, .warn, where translations are kept, .argv -
 * by @workers, to @out, as .pug with @options; @info as struct pm_write_opts has it. @watcher:
 * NULL: nobody. */
enum pm_status parts_trace(const char *recording, unsigned workers, const struct pm_run_opts *o,
			   const char *options, const char *const *info, struct pm_output *out,
			   const struct parts_watcher *watcher, struct parts_result *result,
			   struct pm_err *err);

#endif
