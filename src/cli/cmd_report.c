/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyse/sims.h"
#include "analyse/stored.h"
#include "base/json.h"
#include "cli/manners.h"
#include "cli/named_files.h"
#include "cli/results.h"
#include "cli/replayed.h"
#include "cli/traces.h"
#include "collect/control/process.h"
#include "report/result_view.h"
#include "trace/sinks.h"

/* What a command wrote as JSON, as a page. */
static int page_of_json(const char *file, const char *out)
{
	struct pm_result *r = pm_result_new();
	struct pm_err err = { 0 };
	struct pm_buf text = { 0 }, schema = { 0 };
	enum pm_status s = pm_json_load(file, &text, &err);

	if (!s)
		s = pm_json_read_named((const char *)text.p, text.n - 1, r, &schema, &err);
	if (!s && (schema.n < 9 || memcmp(schema.p, "pugmark.", 8))) {
		err.file = file;
		s = pm_fail_file(&err, "expected a document that names its schema, \"pugmark.*\"; "
				 "what a command writes with --json does");
	}
	if (!s)
		s = pm_result_html(r, "pugmark report", file, out, &err);
	pm_buf_release(&text);
	pm_buf_release(&schema);
	pm_result_free(r);
	return s ? traces_fail(&err) : 0;
}

/* A trace through the usual simulators. */
static int page_of_trace(const char *file, const char *format, struct results *o)
{
	const struct pm_format *which = NULL;
	struct pm_source src = { 0 };
	struct pm_err err = { 0 };
	struct pm_pipeline *p = pm_pipeline_new();
	enum pm_status s = replayed_open_whole(1, file, format, &src, &which, &err);
	uint32_t facts = 0;

	pm_pipeline_threads(p, PM_THREADS_AUTO);
	if (!s)
		s = traces_add_usual(p, src.facts, &err);
	if (!s)
		facts = pm_adapt(p, src.facts, pm_pipeline_needs(p), NULL);
	return results_run(o, s, p, &src, which, facts, "pugmark report", file, &err);
}

/* ---- a browser ------------------------------------------------------------------------------- */

/* What opens pages here: a command for sh, whose $1 is the page; NULL: nothing does. */
static const char *opener(void)
{
	const char *browser = getenv("BROWSER");
	char path[4096];

	if (browser && *browser)
		return strchr(browser, '%') ? NULL : "eval \"$BROWSER \\\"\\$1\\\"\"";
	if ((getenv("DISPLAY") || getenv("WAYLAND_DISPLAY")) &&
	    pm_run_find("xdg-open", path, sizeof path))
		return "xdg-open \"$1\" >/dev/null 2>&1";
	return NULL;
}

static bool open_page(const char *page)
{
	const char *how = opener();
	pid_t pid;
	int status;

	if (!how)
		return false;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		execl("/bin/sh", "sh", "-c", how, "sh", page, (char *)NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

int cmd_report(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark report [options] FILE",
		"Makes a page of what is in FILE, and opens it with $BROWSER or xdg-open. FILE is "
		"a trace, which goes\n"
		"through the usual simulators; a stored profile, by --callgrind or `pugmark run "
		"--counts`; or what a\n"
		"command wrote with --json. Where nothing opens pages, the page's name is printed.",
		"  pugmark run -o prog.pug -- prog; pugmark report prog.pug\n"
		"  pugmark run --json prog.json -- prog; pugmark report -o prog.html prog.json\n"
		"  pugmark report --no-open prog.pug"
	};
	struct results o = { .top = 50, .rows = 20, .quiet = true };
	const char *format = NULL, *out = NULL;
	struct pm_buf name = { 0 };
	bool no_open = false;
	const struct pm_opt opts[] = {
		OPT_STR('o', "output", &out, "FILE",
			"the page (default: FILE's name with .html behind it, here)"),
		OPT_FLAG(0, "no-open", &no_open, "print the page's name instead of opening it"),
		OPT_STR('f', "from", &format, "FORMAT", "input format (default: guess)"),
		OPT_LIST(0, "object", &o.object, "PATH@ADDRESS",
			 "FILE's trace had this file loaded at ADDRESS"),
		OPT_END
	};
	int status;

	argc = pm_opt_parse(argc, argv, opts, &help, false);
	if (argc != 1)
		pm_opt_usage(&help, argc ? "only one FILE" : "missing FILE");
	if (!out && !strcmp(argv[0], "-"))
		pm_opt_usage(&help, "standard input has no name for the page; use -o FILE");
	if (!out) {
		const char *base = strrchr(argv[0], '/');

		pm_buf_printf(&name, "%s.html", base ? base + 1 : argv[0]);
		pm_buf_add(&name, "", 1);
		out = (const char *)name.p;
	}
	o.html = out;
	NAMED_FILES_CHECK(&help, { "FILE", argv[0], false }, { "-o", out, true });
	if (!format && pm_stored_is(argv[0])) {
		struct pm_err err = { 0 };

		status = results_stored(&o, argv[0], "pugmark report", &err);
	} else if (!format && pm_json_is(argv[0])) {
		status = page_of_json(argv[0], out);
	} else {
		status = page_of_trace(argv[0], format, &o);
	}
	if (!status && strcmp(out, "-") && (no_open || !open_page(out)))
		puts(out);
	pm_buf_release(&name);
	return status;
}
