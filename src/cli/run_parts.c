/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/elapsed.h"
#include "base/result.h"
#include "cli/manners.h"
#include "cli/progress.h"
#include "cli/run_parts.h"
#include "cli/run_trace.h"
#include "cli/traces.h"
#include "collect/query/trace_parts.h"

bool run_parts_possible(const struct pm_run_opts *o)
{
	if (parts_possible(o->replay))
		return true;
	manners_note("several processes are recorded: one replay traces all of them, whatever -j "
		     "says");
	return false;
}

/* As `replay` has it. */
static void put_run(struct pm_result *r, const struct pm_run_opts *o, const struct parts_result *p,
		    double wall)
{
	const struct pm_counts c = { .status = p->status, .signal = p->signal, .wall_s = wall,
				     .user_s = p->user_s, .sys_s = p->sys_s, .own_s = p->own_s,
				     .trace_bytes = p->trace_bytes };

	run_begin_results(r, o->argv, &c);
	pm_result_u64(r, "instructions", p->insns, "instructions");
}

static void put_written(struct pm_result *r, const char *out, uint64_t bytes,
			const struct parts_result *p, uint64_t jobs)
{
	pm_result_u64(r, "replays", jobs, NULL);
	pm_result_u64(r, "parts", p->parts, NULL);
	pm_result_begin(r, "written");
	pm_result_str(r, "file", out);
	pm_result_str(r, "format", "pug");
	pm_result_u64(r, "bytes", bytes, "bytes");
	pm_result_begin(r, "discarded");
	pm_result_end(r);
	pm_result_end(r);
}

static void show(void *progress, uint64_t insns, double part)
{
	progress_count(progress, insns, part);
}

int run_parts(const char *recording, uint64_t jobs, const struct pm_run_opts *o,
	      const struct run_trace *t, int *status, int *signal)
{
	char *args = run_join_args(o->argv);
	const char *const info[] = { "program", o->argv[0], "args", args, "isa", "x86-64",
				     "source", "run", "kind",
				     o->kind == XL_EXEC ? "execution" : "branch", NULL };
	const char *colon = t->format ? strchr(t->format, ':') : NULL;
	const double begun = pm_now();
	struct parts_result p;
	struct pm_err err = { 0 };
	struct pm_output *to = pm_output_open(t->out, &err);
	struct progress progress;
	const struct parts_watcher watcher = { show, &progress };
	enum pm_status st = PM_ERR;
	struct pm_result *r;
	int failed = -1;

	progress_begin_count(&progress, "instructions");
	if (to)
		st = parts_trace(recording, (unsigned)jobs, o, colon ? colon + 1 : "", info, to,
				 t->progress ? &watcher : NULL, &p, &err);
	progress_end(&progress);
	if (st != PM_OK) {
		if (!err.file)
			err.file = recording;
		failed = traces_fail(&err);
	} else if (t->results.json) {
		r = pm_result_for(run_schema(t));
		if (!t->schema)
			put_run(r, o, &p, pm_now() - begun);
		put_written(r, t->out, pm_output_offset(to), &p, jobs);
		failed = traces_json(r, t->results.json) ? 1 : -1;
		pm_result_free(r);
	}
	if (failed < 0) {
		*status = p.status;
		*signal = p.signal;
	}
	pm_output_close(to);
	free(args);
	return failed;
}
