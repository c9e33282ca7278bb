/* SPDX-License-Identifier: MIT */
/* gang.h - a gang: some configurations of one region of one trace, which is decoded once for all
 *
 * It runs in a process of its own, which may be killed, run out of memory or crash. What it has got
 * to is in memory that its parent sees. */
#ifndef PM_SWEEP_GANG_H
#define PM_SWEEP_GANG_H

#include "sweep/sweep_dir.h"
#include "sweep/sweep_plan.h"

struct sweep_gang {
	size_t trace, region;
	uint64_t from, to;		/* configurations from..before */
};

/* How the process ended, if not by a signal. */
enum sweep_exit {
	SWEEP_EXIT_DONE = 0,		/* all its jobs have results, or are computed elsewhere */
	SWEEP_EXIT_DISK = 1,		/* results cannot be written, locks are not to be had */
	SWEEP_EXIT_CHANGED = 3,		/* the trace is not what it was when it was identified */
	SWEEP_EXIT_MEMORY = 4,		/* more than it may have */
	SWEEP_EXIT_SINGLY = 5,		/* a simulator gave up in the middle: which one? Or
					 * simulators do not go together */
};

struct sweep_report {			/* shared memory */
	uint64_t insns, chunks;		/* so far */
	uint64_t computed, there, busy, failed;	/* jobs; busy: computed elsewhere */
	char message[300];		/* of DISK */
};

struct sweep_gang_opts {
	const char *path;		/* where to read the trace; NULL: where the plan says */
	bool retry;			/* failures are missing results */
};

/* Compute what is missing of @g. Returns an enum sweep_exit; the process is to end with it. */
int sweep_gang_run(struct sweep_dir *d, const struct sweep_plan *p,
		   const struct sweep_trace_ids *ids, const struct sweep_gang *g,
		   const struct sweep_gang_opts *o, struct sweep_report *report);

/* How a job failed. */
struct sweep_failure {
	const char *cause;		/* memory, crash, trace, configuration, simulator */
	const char *message;
	const char *output;		/* end of what it wrote to standard error; "": nothing */
	int signal;			/* 0: none */
	uint64_t peak;			/* bytes */
	uint64_t limit;			/* of memory, bytes; 0: none */
	uint64_t insns, chunks;		/* read until then */
};
/* The result that says so, for a gang of one job. The caller need not hold the lock: if somebody
 * else does or there is a result, there is nothing to say. */
enum pm_status sweep_gang_fail(struct sweep_dir *d, const struct sweep_plan *p,
			       const struct sweep_trace_ids *ids, const struct sweep_gang *g,
			       const struct sweep_failure *f, struct pm_err *err);

/* How many jobs of @g have no result. With @retry failures are none; else *failed grows by them. */
uint64_t sweep_gang_missing(const struct sweep_dir *d, const struct sweep_plan *p,
			    const struct sweep_trace_ids *ids, const struct sweep_gang *g,
			    bool retry, uint64_t *failed);

#endif
