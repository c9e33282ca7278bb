/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli/progress.h"
#include "cli/traces.h"
#include "transform/laplace.h"

int cmd_merge(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark merge [-t FORMAT] REFERENCES EVENTS OUT",
		"Merges a reference trace with the kernel events of the same run, by time, and "
		"gives every\n"
		"reference its canonical page: one number for a page, whatever address it is "
		"mapped at.\n"
		"FORMAT: laplace-basic (default), one reference a line; or laplace-process, a "
		"directory OUT\n"
		"with a directory per process and a file per task.",
		NULL
	};
	const char *to = "laplace-basic", *from = NULL;
	const struct pm_opt opts[] = {
		OPT_STR('f', "from", &from, "FORMAT", "format of REFERENCES (default: guess)"),
		OPT_STR('t', "to", &to, "FORMAT", "output format (laplace-basic)"),
		OPT_END
	};
	const struct pm_format *which;
	struct pm_source refs, events, src;
	struct pm_err err = { 0 };
	struct pm_pipeline *p;
	struct pm_result *r;
	int status = 0;

	argc = pm_opt_parse(argc, argv, opts, &help, false);
	if (argc != 3)
		pm_opt_usage(&help, argc < 3 ? "missing REFERENCES, EVENTS or OUT"
					     : "only REFERENCES, EVENTS and OUT");
	status = traces_open(argv[0], from, &refs, &which);
	if (status)
		return status;
	if (!(refs.facts & PM_HAS_REFS)) {
		pm_fail_file(&err, "%s hold no data addresses; REFERENCES come first",
			     which->plural);
		refs.ops->close(refs.self);
		return traces_fail(&err);
	}
	status = traces_open(argv[1], NULL, &events, &which);
	if (status) {
		refs.ops->close(refs.self);
		return status;
	}
	if (!(events.facts & PM_HAS_KERNEL) || events.facts & PM_HAS_THREADS) {
		pm_fail_file(&err, "%s hold no kernel events; EVENTS come second",
			     which->plural);
		refs.ops->close(refs.self);
		events.ops->close(events.self);
		return traces_fail(&err);
	}
	src = pm_laplace_merge(&refs, &events);
	p = pm_pipeline_new();
	r = pm_result_new();
	if (pm_trace_create(p, argv[2], to, src.facts, &err) != PM_OK ||
	    pm_pipeline_start(p, src.facts, "merged Laplace traces", &err) != PM_OK ||
	    progress_run(p, &src, r, NULL, NULL, &err) != PM_OK)
		status = traces_fail(&err);
	if (!status)
		traces_note_losses(r, src.facts & ~(PM_HAS_KERNEL | PM_HAS_SPACES | PM_HAS_INSNS),
				   to, argv[2]);
	pm_pipeline_free(p);
	src.ops->close(src.self);
	pm_result_free(r);
	return status;
}
