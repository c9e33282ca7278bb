/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "base/whole_file.h"
#include "cli/doctor.h"
#include "cli/manners.h"
#include "cli/traces.h"
#include "report/width.h"

static int put_json(const struct ability *v, size_t n, bool works, const char *path)
{
	struct pm_result *r = pm_result_for("doctor");
	int status;

	pm_result_str(r, "pugmark", PM_VERSION);
	pm_result_bool(r, "works", works);
	pm_result_begin_list(r, "checks");
	for (size_t i = 0; i < n; i++) {
		pm_result_begin(r, NULL);
		pm_result_str(r, "name", v[i].name);
		pm_result_str(r, "verdict", doctor_verdict(v[i].verdict));
		pm_result_str(r, "text", (const char *)v[i].text.p);
		pm_result_str(r, "advice", (const char *)v[i].advice.p);
		pm_result_end(r);
	}
	pm_result_end(r);
	status = traces_json(r, path);
	pm_result_free(r);
	return status;
}

static int show(const struct ability *v, size_t n)
{
	static const char *const paint[] = { "\033[32m", "\033[33m", "\033[31m" };
	const bool color = manners_color(stdout);
	const size_t wide = pm_report_width(STDOUT_FILENO);
	struct pm_buf text = { 0 }, line = { 0 };
	struct pm_err err = { 0 };
	int status;

	for (size_t i = 0; i < n; i++) {
		line.n = 0;
		pm_buf_printf(&line, "%s%s%s", (const char *)v[i].text.p,
			      v[i].advice.n > 1 ? " -> " : "", (const char *)v[i].advice.p);
		pm_buf_add(&line, "", 1);
		pm_buf_printf(&text, "%s%-8s%s %-11s ", color ? paint[v[i].verdict] : "",
			      doctor_verdict(v[i].verdict), color ? "\033[0m" : "", v[i].name);
		pm_report_wrapped(&text, (const char *)line.p, 21, 21, wide);
	}
	status = pm_file_save("-", &text, &err) ? traces_fail(&err) : 0;
	pm_buf_release(&line);
	pm_buf_release(&text);
	return status;
}

int cmd_doctor(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark doctor [options]",
		"Finds out what this machine allows: each line says ok, limited or cannot, what "
		"that means, and behind\n"
		"-> what to do about it. The last line is the proof: a program is traced, twice, "
		"and the counts are\n"
		"compared.",
		"Exit status: 0 if `pugmark run` works, whatever is limited; 1 if it does not."
	};
	const char *json = NULL;
	const struct pm_opt opts[] = {
		OPT_STR(0, "json", &json, "FILE", "write it as JSON (-: standard output)"),
		OPT_END
	};
	struct ability *v;
	size_t n;
	bool works;
	int status = 0;

	if (pm_opt_parse(argc, argv, opts, &help, false))
		pm_opt_usage(&help, "unexpected operand '%s'", argv[0]);
	n = doctor_examine(&v);
	works = v[n - 1].verdict != VERDICT_CANNOT;
	if (json)
		status = put_json(v, n, works, json);
	else
		status = show(v, n);
	doctor_release(v, n);
	return status ? status : !works;
}
