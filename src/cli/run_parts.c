/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/elapsed.h"
#include "base/mem.h"
#include "base/result.h"
#include "cli/manners.h"
#include "cli/run_parts.h"
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
	pm_result_str(r, "pugmark", PM_VERSION);
	pm_result_begin_list(r, "program");
	for (char **a = o->argv; *a; a++)
		pm_result_str(r, NULL, *a);
	pm_result_end(r);
	pm_result_begin(r, "exit");
	if (p->status >= 0)
		pm_result_u64(r, "status", (uint64_t)p->status, NULL);
	else
		pm_result_null(r, "status");
	if (p->signal > 0)
		pm_result_u64(r, "signal", (uint64_t)p->signal, NULL);
	else
		pm_result_null(r, "signal");
	pm_result_end(r);
	pm_result_f64(r, "wall_s", wall, "s");
	pm_result_f64(r, "user_s", p->user_s, "s");
	pm_result_f64(r, "sys_s", p->sys_s, "s");
	pm_result_f64(r, "pugmark_s", p->own_s, "s");
	pm_result_u64(r, "trace_bytes", p->trace_bytes, "bytes");
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

static char *args_of(const struct pm_run_opts *o)
{
	struct pm_buf b = { 0 };

	for (char **a = o->argv; *a; a++)
		pm_buf_printf(&b, "%s%s", a == o->argv ? "" : " ", *a);
	pm_buf_add(&b, "", 1);
	return (char *)b.p;
}

int run_parts(const char *recording, uint64_t jobs, const struct pm_run_opts *o, const char *out,
	      const char *format, const char *schema, const char *json, int *status, int *signal)
{
	char *args = args_of(o);
	const char *const info[] = { "program", o->argv[0], "args", args, "isa", "x86-64",
				     "source", "run", "kind",
				     o->kind == XL_EXEC ? "execution" : "branch", NULL };
	const char *colon = format ? strchr(format, ':') : NULL;
	const double begun = pm_now();
	struct parts_result p;
	struct pm_err err = { 0 };
	struct pm_output *to = pm_output_open(out, &err);
	struct pm_result *r;
	int failed = -1;

	if (!to || parts_trace(recording, (unsigned)jobs, o, colon ? colon + 1 : "", info, to, &p,
			       &err) != PM_OK) {
		if (!err.file)
			err.file = recording;
		failed = traces_fail(&err);
	} else if (json) {
		r = pm_result_for(schema);
		if (!strcmp(schema, "run"))
			put_run(r, o, &p, pm_now() - begun);
		put_written(r, out, pm_output_offset(to), &p, jobs);
		failed = traces_json(r, json) ? 1 : -1;
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
