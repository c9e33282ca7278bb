/* SPDX-License-Identifier: MIT */
/* run_trace.h - `pugmark run` with a trace kind: from the options to a pipeline, and its results */
#ifndef PM_CLI_RUN_TRACE_H
#define PM_CLI_RUN_TRACE_H

#include "cli/branch_outputs.h"
#include "cli/opt.h"
#include "cli/results.h"
#include "collect/control/process.h"

struct run_trace {
	bool branch, exec, count, dump, discard;
	const char *cache;		/* line size, "": 64; NULL: no cache trace */
	bool usual;
	bool silent;			/* the program prints nothing */
	bool progress;			/* ... so that there is room to say how far it is */
	const char *schema;		/* of JSON; NULL: `run`, which tells of the run, too */
	const char *lcov, *cobertura, *drcov;	/* coverage, there; NULL: not wanted */
	const char *out, *format;
	struct pm_opt_list sinks, sims;
	struct results results;
	struct branch_outputs branches;
	const char *start_at, *stop_at;	/* points, see transform/region.h; NULL: none */
	uint64_t after, length, every;
	struct pm_opt_list exclude;
	struct pm_opt_list threads;	/* only these, by name or number; none: all */
};

/* What is wrong with the options' values, NULL: nothing. */
const char *run_trace_wrong(const struct run_trace *t);
/* The name of what @t's JSON is. */
static inline const char *run_schema(const struct run_trace *t)
{
	return t->schema ? t->schema : "run";
}
/* Is a trace in @out, in @format or (NULL) as the name says, a .pug? */
bool run_writes_pug(const char *out, const char *format);
/* Does any of the options ask for a trace? */
bool run_trace_wanted(const struct run_trace *t);
/* If so: is `out` a file for it, and not for the report? */
bool run_trace_to_file(const struct run_trace *t);
/* Do counters of edges say all that is wanted besides reports of a profile? A trace has to tell
 * what depends on the order. */
bool run_edges_suffice(const struct run_trace *t, const struct pm_run_opts *o);
/* Branches and coverage: asked before the program starts. */
enum pm_status run_can_write(const struct run_trace *t, struct pm_err *err);
/* Branches and coverage of a profile that counted edges. @all is the caller's to release, once
 * @err, which may borrow from it, has been told. */
enum pm_status run_write_edges(const struct run_trace *t, const struct pm_counts *counts,
			       struct pm_branches *all, struct pm_err *err);
/* @argv with blanks between; the caller's to free. */
char *run_join_args(char **argv);
/* What the results of a run begin with: the program, how it ended, times, bytes of trace. */
void run_begin_results(struct pm_result *r, char **argv, const struct pm_counts *c);
/* Of a replay that has not reached its end all is made of what there is: PM_OK, and the error goes
 * from @err to @cut, to be told at last. Else @st. */
enum pm_status run_cut(const struct pm_counts *counts, enum pm_status st, struct pm_err *err,
		       struct pm_err *cut);
/* Say what went wrong, and the exit status. One error is enough: what went wrong with what there is
 * is worse than that it is not all. */
int run_tell(enum pm_status st, const struct pm_err *err, const struct pm_err *cut);
/* Run; the exit status, or -1: as the program ended, of which *@status and *@signal tell. */
int run_traced(struct run_trace *t, struct pm_run_opts *o, int *status, int *signal);

#endif
