/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "base/printable.h"
#include "cli/named_files.h"
#include "cli/progress.h"
#include "cli/results.h"
#include "cli/traces.h"
#include "transform/verify.h"

static void show(const struct pm_verify *v)
{
	char text[1024];

	printf("%" PRIu64 " instructions\n", v->insns);
	for (unsigned i = 0; i < PM_VERIFY_COUNT; i++) {
		if (!v->looked[i])
			printf("  %-8s not applicable\n", pm_verify_name(i));
		else if (!v->wrong[i])
			printf("  %-8s good: %" PRIu64 " looked at\n", pm_verify_name(i),
			       v->looked[i]);
		else
			printf("  %-8s %" PRIu64 " of %" PRIu64 " wrong: %s\n", pm_verify_name(i),
			       v->wrong[i], v->looked[i], pm_verify_about(i));
	}
	for (unsigned i = 0; i < v->ntext; i++)
		printf("%s%s\n", i ? "" : "findings:\n",
		       pm_printable(v->text[i], text, sizeof text));
}

int cmd_verify(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark verify [options] TRACE",
		"Reads a whole trace, checks every checksum and count in it, and whether what it "
		"says is\n"
		"possible. Exit status 1 if it is damaged, cut or impossible.",
		"A return without a matching call is reported (calls), but does not make a trace "
		"bad: programs that\n"
		"switch stacks do that. Signal handlers, longjmp and exceptions are understood."
	};
	const char *from = NULL, *json = NULL;
	const struct pm_opt opts[] = {
		OPT_STR('f', "from", &from, "FORMAT", "input format (default: guess)"),
		OPT_STR(0, "json", &json, "FILE",
			"write the findings as JSON (-: standard output)"),
		OPT_END
	};
	const struct pm_format *which;
	struct pm_err err = { 0 };
	struct pm_pipeline *p;
	struct pm_result *r;
	struct pm_source src;
	char name[4096];
	void *sink;
	int status = 0;

	if (pm_opt_parse(argc, argv, opts, &help, false) != 1)
		pm_opt_usage(&help, *argv ? "only one TRACE" : "missing TRACE");
	NAMED_FILES_CHECK(&help, { "TRACE", argv[0], false }, { "--json", json, true });
	status = traces_open_whole(argv[0], from, &src, &which);
	if (status)
		return status;
	p = pm_pipeline_new();
	r = pm_result_for("verify");
	sink = pm_verify_new(src.facts);
	pm_pipeline_sink(p, &pm_verify_ops, sink);
	if (progress_whole(p, &src, which->plural, r, &err) != PM_OK)
		status = 1;
	if (pm_pipeline_unmade(p))
		;				/* no trace is damaged: it could not be made */
	else if (json && traces_json(r, json))
		status = 1;
	else if (!json && !(pm_pipeline_partial(p) && pm_pipeline_starved(p))) {
		if (pm_pipeline_partial(p))
			printf(PARTIAL_REPORT);
		show(pm_verify_get(sink));
	}
	if (pm_failed(&err))
		traces_fail(&err);
	if (pm_verify_failed(pm_verify_get(sink)))
		status = 1;
	if (!json && !status)
		printf("%s: good\n", pm_printable(argv[0], name, sizeof name));
	pm_pipeline_free(p);
	src.ops->close(src.self);
	pm_result_free(r);
	return status;
}
