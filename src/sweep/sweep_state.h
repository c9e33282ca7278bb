/* SPDX-License-Identifier: MIT */
/* sweep_state.h - how far a sweep is: what has a result, what failed and why, how fast, how long
 *
 * Results are looked for by their keys; the pace comes from the log. Nothing is written. */
#ifndef PM_SWEEP_STATE_H
#define PM_SWEEP_STATE_H

#include "sweep/sweep_launch.h"

struct sweep_cause { char *text; uint64_t n; };	/* "memory: it needs more..." */

struct sweep_state {
	uint64_t jobs, done, failed;	/* the others are missing */
	bool working;			/* somebody holds a lock: by this machine's kernel */
	double rate;			/* results a second, of late; 0: not known */
	double seconds;			/* left; 0: not known */
	double cpu;			/* seconds that gangs took, all together */
	uint64_t gangs, computed, gave_up;	/* by the log: gangs, results, failures */
	double per_job;			/* of them, seconds of a job; 0: not known */
	double per_insn;		/* ... and instruction */
	struct sweep_cause *cause;	/* most frequent first */
	size_t ncause, cap_cause;
	struct sweep_part {		/* of a trace */
		uint64_t jobs, done, failed;
	} *part;
	size_t npart;
};

/* @seen is called some times on the way, with the share that is done: it may show it; NULL. */
enum pm_status sweep_state_read(struct sweep_state *s, const struct sweep_dir *d,
				const struct sweep_plan *p, const struct sweep_trace_ids *ids,
				void (*seen)(void *arg, uint64_t n), void *arg, struct pm_err *err);
/* The log alone: rate, cpu, gangs, computed, per_job, per_insn. */
void sweep_state_pace(struct sweep_state *s, const struct sweep_dir *d);
void sweep_state_release(struct sweep_state *s);

struct pm_result;
void sweep_state_result(const struct sweep_state *s, const struct sweep_dir *d,
			const struct sweep_plan *p, struct pm_result *r);
/* For a terminal or a file. */
void sweep_state_text(const struct sweep_state *s, const struct sweep_dir *d,
		      const struct sweep_plan *p, size_t rows, struct pm_buf *to);
enum pm_status sweep_state_html(const struct sweep_state *s, const struct sweep_dir *d,
				const struct sweep_plan *p, const char *path, struct pm_err *err);

#endif
