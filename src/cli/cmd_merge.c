/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cli/merged.h"
#include "cli/named_files.h"
#include "cli/progress.h"

int cmd_merge(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark merge [-t FORMAT] REFERENCES [EVENTS] OUT",
		"Merges a reference trace with the kernel events of the same run, by time, and "
		"gives every\n"
		"reference its canonical page: one number for a page, whatever address it is "
		"mapped at.\n"
		"REFERENCES may hold the events, too.\n"
		"FORMAT: laplace-basic (default), one reference a line; or laplace-process, a "
		"directory OUT\n"
		"with a directory per process and a file per task.",
		NULL
	};
	const char *to = "laplace-basic", *from = NULL, *kernel = NULL, *out;
	const struct pm_opt opts[] = {
		OPT_STR('f', "from", &from, "FORMAT", "format of REFERENCES (default: guess)"),
		OPT_STR('t', "to", &to, "FORMAT", "output format (laplace-basic)"),
		OPT_STR(0, "kernel", &kernel, "HEX",
			"where kernel addresses begin (c0000000; an R4400's: 80000000; x86_64's: "
			"100000000)"),
		OPT_END
	};
	struct pm_err err = { 0 };
	struct pm_pipeline *p;
	struct pm_source src;
	struct pm_result *r;
	char format[80];
	uint64_t base;
	int status;

	argc = pm_opt_parse(argc, argv, opts, &help, false);
	if (argc != 2 && argc != 3)
		pm_opt_usage(&help, argc < 2 ? "missing REFERENCES, EVENTS or OUT"
					     : "only REFERENCES, EVENTS and OUT");
	if (!merged_kernel(kernel, &base))
		pm_opt_usage(&help, "'%s' is not a hexadecimal address", kernel);
	out = argv[argc - 1];
	NAMED_FILES_CHECK(&help, { "REFERENCES", argv[0], false },
			  { "EVENTS", argc == 3 ? argv[1] : NULL, false }, { "OUT", out, true });
	status = merged_open(argv[0], argc == 3 ? argv[1] : NULL, from, base, &src);
	if (status)
		return status;
	snprintf(format, sizeof format, "%s", to);
	if (kernel && !strcmp(to, "laplace-process"))
		snprintf(format, sizeof format, "laplace-process:kernel=%s", kernel);
	p = pm_pipeline_new();
	r = pm_result_new();
	if (pm_trace_create(p, out, format, src.facts, &err) != PM_OK ||
	    pm_pipeline_start(p, src.facts, "merged Laplace traces", &err) != PM_OK ||
	    progress_run(p, &src, r, NULL, NULL, &err) != PM_OK)
		status = traces_fail(&err);
	if (!status) {
		traces_note_losses(r, src.facts & ~(PM_HAS_KERNEL | PM_HAS_SPACES | PM_HAS_INSNS),
				   to, out);
		merged_note(&src);
	}
	pm_pipeline_free(p);
	src.ops->close(src.self);
	pm_result_free(r);
	return status;
}
