/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyse/sims.h"
#include "base/whole_file.h"
#include "cli/manners.h"
#include "cli/replayed.h"
#include "cli/run_ends.h"
#include "cli/traces.h"
#include "collect/query/ref_values.h"
#include "report/out.h"
#include "report/result_view.h"
#include "report/width.h"
#include "trace/sinks.h"

/* Threads that write take no signals: a pipe that nobody reads any more is an error of theirs. We
 * end of it as if it had come to us. */
static void end_by_pipe(const struct pm_err *err)
{
	struct sigaction act;
	sigset_t set;

	if (!pm_err_is_errno(err, EPIPE) || sigaction(SIGPIPE, NULL, &act) ||
	    act.sa_handler != SIG_DFL)
		return;
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(SIGPIPE);
}

int traces_fail(const struct pm_err *err)
{
	end_by_pipe(err);
	fflush(stdout);
	pm_err_print(err, stderr);
	return err->place == PM_AT_REQUEST ? 2 : 1;
}

typedef enum pm_status (*open_fn)(uint64_t jobs, const char *path, const char *format,
				  struct pm_source *src, const struct pm_format **which,
				  struct pm_err *err);

static int open_with(open_fn open, uint64_t jobs, const char *path, const char *format,
		     struct pm_source *src, const struct pm_format **which)
{
	struct pm_err err = { 0 };

	if (open(jobs, path, format, src, which, &err) != PM_OK)
		return traces_fail(&err);
	manners_tell("%s: %s%s", path, (*which)->plural, format ? "" : ", by its content");
	return 0;
}

int traces_open_by(uint64_t jobs, const char *path, const char *format, struct pm_source *src,
		   const struct pm_format **which)
{
	return open_with(replayed_open_by, jobs, path, format, src, which);
}

int traces_open_whole(const char *path, const char *format, struct pm_source *src,
		      const struct pm_format **which)
{
	return open_with(replayed_open_whole, 1, path, format, src, which);
}

int traces_open(const char *path, const char *format, struct pm_source *src,
		const struct pm_format **which)
{
	return traces_open_by(1, path, format, src, which);
}

int traces_open_values(const char *path, const struct values_part *part, struct pm_source *src,
		       const struct pm_format **which, void **values)
{
	const struct pm_run_opts o = { RUN_DEFAULTS };
	struct pm_err err = { 0 };

	manners_tell("%s: a recording, which is replayed, step by step", path);
	if (values_open(path, part, &o, src, which, values, &err) == PM_OK)
		return 0;
	return traces_fail(&err);
}

const struct pm_format *traces_output_format(const char *out, const char *format)
{
	struct pm_err err = { 0 };
	const struct pm_format *f = format ? pm_format_find(format, &err) : pm_format_by_name(out);

	if (!f && !format)
		pm_fail_request(&err,
				"no format has names like '%s'; -t FORMAT says which to write (see "
				"`pugmark formats`)", out);
	if (!f)
		traces_fail(&err);
	return f;
}

/* @written: what was, in a format that cannot tell threads apart, or in one file of a format that
 * has a file for each. */
static void note_mixed(const struct pm_result_node *written, const struct pm_format *f,
		       const char *format)
{
	const struct pm_result_node *threads, *processes;
	char of[48] = "";

	threads = written ? pm_result_find(written, "mixed_threads") : NULL;
	processes = written ? pm_result_find(written, "mixed_processes") : NULL;
	if (!threads || !processes)
		return;
	if (processes->u64 > 1)
		snprintf(of, sizeof of, " of %" PRIu64 " processes", processes->u64);
	if (f && f->writes_directory)
		manners_note("%" PRIu64 " threads%s are in one file; tools for %s want a file for "
			     "each (-o NAME/ writes them)", threads->u64, of, f->plural);
	else
		manners_note("%s hold no threads: %" PRIu64 " threads%s are mixed (`pugmark slice "
			     "--thread N` writes one)", f ? f->plural : format, threads->u64, of);
}

void traces_note_losses(const struct pm_result *r, uint32_t facts, const char *format,
			const char *out)
{
	struct pm_err err = { 0 };
	const struct pm_format *f = format ? pm_format_find(format, &err) : pm_format_by_name(out);
	const struct pm_result_node *n = pm_result_find(pm_result_root(r), "written");
	uint32_t lost = f ? facts & ~f->has & ~(PM_HAS_BLOCKS | PM_HAS_THREADS) : 0;
	struct pm_buf line = { 0 };
	char names[300];

	note_mixed(n, f, format);
	n = n ? pm_result_find(n, "discarded") : NULL;
	if (lost) {
		pm_fact_names(lost, names, sizeof names);
		manners_note("%s hold no %s", f->plural, names);
	}
	if (!n || !n->first)
		return;
	for (const struct pm_result_node *k = n->first; k; k = k->next)
		pm_buf_printf(&line, "%s %" PRIu64 " %s", k == n->first ? "" : ",", k->u64,
			      k->name);
	manners_note("events discarded:%.*s", (int)line.n, (const char *)line.p);
	pm_buf_release(&line);
}

int traces_json(const struct pm_result *r, const char *path)
{
	struct pm_err err = { 0 };
	struct pm_buf b = { 0 };
	int status = 0;

	pm_result_json(r, &b);
	if (pm_file_save(path, &b, &err) != PM_OK)
		status = traces_fail(&err);
	pm_buf_release(&b);
	return status;
}

enum pm_status traces_show(const struct pm_result *r, bool to_stderr, struct pm_err *err)
{
	struct pm_buf text = { 0 };

	if (!to_stderr)
		return pm_result_print(r, 20, err);
	pm_result_text(r, 20, pm_report_width(STDERR_FILENO), &text);
	if (!manners.quiet)
		fwrite(text.p, 1, text.n, stderr);
	pm_buf_release(&text);
	return PM_OK;
}

enum pm_status traces_add_usual(struct pm_pipeline *p, uint32_t facts, struct pm_err *err)
{
	for (unsigned i = 0; pm_sims_usual[i]; i++) {
		const struct pm_sink_ops *ops = pm_sim_of(pm_sims_usual[i]);

		if (pm_sim_suits(ops, facts) && pm_sink_add(p, pm_sims_usual[i], pm_sims, err))
			return PM_ERR;
	}
	return PM_OK;
}
