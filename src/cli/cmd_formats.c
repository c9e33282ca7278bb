/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cli/traces.h"

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
	struct pm_err err = { 0 };
	char names[600];

	if (n > 1)
		pm_opt_usage(&help, "one format at a time, not '%s' too", argv[1]);
	if (json) {
		struct pm_result *r = pm_result_for("formats");
		int status;

		put_json(r);
		status = traces_json(r, json);
		pm_result_free(r);
		return status;
	}
	if (n) {
		const struct pm_format *f = pm_format_find(argv[0], &err);

		if (!f)
			return traces_fail(&err);
		printf("%s: %s\n", f->name, f->about);
		printf("  pugmark %s%s%s it\n", f->read ? "reads" : "",
		       f->read && f->write ? " and " : "", f->write ? "writes" : "");
		if (f->suffixes)
			printf("  files:  %s\n", f->suffixes);
		pm_fact_names(f->has, names, sizeof names);
		if (*names && f->read)
			printf("  has:    %s\n", names);
		pm_fact_names(f->needs, names, sizeof names);
		if (f->write)
			printf("  needs:  %s\n", *names ? names : "nothing in particular");
		for (const char *o = f->options, *end; o && *o; o = end + (*end != 0)) {
			end = o + strcspn(o, "\n");
			if (o == f->options)
				printf("  options, as in FORMAT:NAME=VALUE,NAME:\n");
			printf("    %.*s\n", (int)(end - o), o);
		}
		return 0;
	}
	for (const struct pm_format *const *f = pm_formats; *f; f++)
		printf("%-16s %c%c  %-18s %s\n", (*f)->name, (*f)->read ? 'r' : '-',
		       (*f)->write ? 'w' : '-', (*f)->suffixes ? (*f)->suffixes : "", (*f)->about);
	return 0;
}
