/* SPDX-License-Identifier: MIT */
/* sweep_launch.h - runs the jobs of a sweep that have no result: here, or on a cluster
 *
 * Errors     one that stops the sweep; what goes wrong in a job is the job's result. */
#ifndef PM_SWEEP_LAUNCH_H
#define PM_SWEEP_LAUNCH_H

#include <signal.h>

#include "sweep/gang.h"

#define SWEEP_GANG_MOST	256		/* configurations that share a decoding */
#define SWEEP_GANG_LEAST 16		/* fewer are not worth one, if there are more */

struct sweep_progress {
	uint64_t jobs;			/* that this launcher is to see to */
	uint64_t there;			/* had a result before */
	uint64_t there_failed;		/* ... that is a failure */
	uint64_t computed, failed;
	unsigned running;		/* gangs */
	double seconds;
};

struct sweep_launch {
	struct sweep_dir *d;
	struct sweep_plan *p;
	struct sweep_trace_ids *ids;
	unsigned workers;		/* gangs at a time */
	unsigned gang;			/* configurations of a gang at most; 0: as many as fit */
	uint64_t mem, mem_most;		/* bytes of a gang, at first and at most; 0: as there are */
	bool retry;			/* failures are missing */
	bool skip_busy;			/* do not wait for what others compute */
	const char *stage;		/* copy traces there first; NULL: no */
	const struct sweep_gang *only;	/* these; NULL: all */
	size_t nonly;
	volatile sig_atomic_t *stop;	/* set: end, as soon as possible */
	void (*tell)(void *arg, const struct sweep_progress *p);	/* some times a second */
	void (*note)(void *arg, const char *text);
	void *arg;
	struct sweep_progress progress;
};

/* Until every job has a result. */
enum pm_status sweep_run_local(struct sweep_launch *l, struct pm_err *err);

/* All gangs in order: the next behind *g (at first all zero); false: there is none. */
bool sweep_next_gang(const struct sweep_launch *l, struct sweep_gang *g);

/* stage.c: where trace @i is to be read, staged if it can be. NULL after an error. */
struct sweep_stage;
struct sweep_stage *sweep_stage_new(const char *dir, size_t ntrace);
const char *sweep_stage_get(struct sweep_stage *s, const struct sweep_plan *p,
			    const struct sweep_trace_ids *ids, size_t i, struct pm_err *err);
/* Copies that nobody uses any more go. */
void sweep_stage_free(struct sweep_stage *s);

/* slurm.c */
struct sweep_slurm {
	const char *partition, *account, *time;	/* NULL: the cluster's default */
	unsigned throttle;		/* tasks of the array that run at a time; 0: no limit */
	unsigned seconds;		/* what a batch should take */
	unsigned cpus;			/* of a task */
	const char *program;		/* pugmark, as the nodes find it */
	bool print;			/* show scripts, submit nothing */
	bool no_wait;			/* submit, and do not wait */
};
enum pm_status sweep_run_slurm(struct sweep_launch *l, const struct sweep_slurm *o,
			       struct pm_err *err);
/* The gangs in line @line (from 0) of a file of batches; the caller frees them. */
enum pm_status sweep_batch_read(const char *path, uint64_t line, const struct sweep_plan *p,
				struct sweep_gang **g, size_t *n, struct pm_err *err);

#endif
