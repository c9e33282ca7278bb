/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/whole_file.h"
#include "cli/traces.h"
#include "report/width.h"

static void facts_list(struct pm_result *r, const char *name, uint32_t facts)
{
	pm_result_begin_list(r, name);
	for (unsigned i = 0; i < 32; i++) {
		char one[64];

		if (!(facts >> i & 1))
			continue;
		pm_fact_names(1u << i, one, sizeof one);
		if (*one)
			pm_result_str(r, NULL, one);
	}
	pm_result_end(r);
}

static void put_json(struct pm_result *r)
{
	pm_result_begin_list(r, "formats");
	for (const struct pm_format *const *f = pm_formats; *f; f++) {
		pm_result_begin(r, NULL);
		pm_result_str(r, "name", (*f)->name);
		pm_result_str(r, "about", (*f)->about);
		pm_result_bool(r, "reads", (*f)->read != NULL);
		pm_result_bool(r, "writes", (*f)->write != NULL);
		pm_result_bool(r, "guessed", (*f)->probe != NULL);
		pm_result_str(r, "suffixes", (*f)->suffixes ? (*f)->suffixes : "");
		pm_result_str(r, "options", (*f)->options ? (*f)->options : "");
		facts_list(r, "has", (*f)->has);
		facts_list(r, "needs", (*f)->needs);
		pm_result_end(r);
	}
	pm_result_end(r);
}

/* "  needs:  ...", in lines of @wide columns. */
static void put_item(struct pm_buf *to, const char *head, const char *text, size_t wide)
{
	pm_buf_printf(to, "  %-8s", head);
	pm_report_wrapped(to, text, 10, 10, wide);
}

static void put_one(struct pm_buf *to, const struct pm_format *f, size_t wide)
{
	char names[600];

	pm_buf_printf(to, "%s: ", f->name);
	pm_report_wrapped(to, f->about, strlen(f->name) + 2, 2, wide);
	pm_buf_printf(to, "  pugmark %s%s%s it\n", f->read ? "reads" : "",
		      f->read && f->write ? " and " : "", f->write ? "writes" : "");
	if (f->suffixes)
		put_item(to, "files:", f->suffixes, wide);
	pm_fact_names(f->has, names, sizeof names);
	if (*names && f->read)
		put_item(to, "has:", names, wide);
	pm_fact_names(f->needs, names, sizeof names);
	if (f->write)
		put_item(to, "needs:", *names ? names : "nothing in particular", wide);
	for (const char *o = f->options, *end; o && *o; o = end + (*end != 0)) {
		char *line;

		end = o + strcspn(o, "\n");
		if (o == f->options)
			pm_buf_printf(to, "  options, as in FORMAT:NAME=VALUE,NAME:\n");
		pm_buf_printf(to, "    ");
		line = pm_strndup(o, (size_t)(end - o));
		pm_report_wrapped(to, line, 4, 6, wide);
		free(line);
	}
}

static void put_all(struct pm_buf *to, size_t wide)
{
	for (const struct pm_format *const *f = pm_formats; *f; f++) {
		const char *files = (*f)->suffixes ? (*f)->suffixes : "";
		const size_t n = strlen(files);

		pm_buf_printf(to, "%-16s %c%c  %-18s ", (*f)->name, (*f)->read ? 'r' : '-',
			      (*f)->write ? 'w' : '-', files);
		pm_report_wrapped(to, (*f)->about, 22 + (n > 18 ? n : 18), 40, wide);
	}
}

int cmd_formats(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark formats [options] [NAME]",
		"Lists the trace formats: whether pugmark reads (r) and writes (w) them, and "
		"which names\n"
		"of files suggest them. With NAME: what that format can hold and what writing it "
		"needs.", NULL
	};
	const char *json = NULL;
	const struct pm_opt opts[] = {
		OPT_STR(0, "json", &json, "FILE", "write the list as JSON (-: standard output)"),
		OPT_END
	};
	int n = pm_opt_parse(argc, argv, opts, &help, false);
	const size_t wide = pm_report_width(STDOUT_FILENO);
	struct pm_buf text = { 0 };
	struct pm_err err = { 0 };
	int status;

	if (n > 1)
		pm_opt_usage(&help, "one format at a time, not '%s' too", argv[1]);
	if (json) {
		struct pm_result *r = pm_result_for("formats");

		put_json(r);
		status = traces_json(r, json);
		pm_result_free(r);
		return status;
	}
	if (n) {
		const struct pm_format *f = pm_format_find(argv[0], &err);

		if (!f)
			return traces_fail(&err);
		put_one(&text, f, wide);
	} else {
		put_all(&text, wide);
	}
	status = pm_file_save("-", &text, &err) ? traces_fail(&err) : 0;
	pm_buf_release(&text);
	return status;
}
