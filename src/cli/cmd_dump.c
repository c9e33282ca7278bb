/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <unistd.h>

#include "cli/named_files.h"
#include "cli/progress.h"
#include "cli/traces.h"
#include "trace/sinks.h"
#include "transform/slice.h"

/* The part of @src that @o selects, as text to @out. */
static int dump(struct pm_source *src, const struct pm_format *which, struct pm_slice_opts *o,
		bool blocks, const char *out)
{
	struct pm_pipeline *p = pm_pipeline_new();
	const struct pm_sink_ops *ops = blocks ? &pm_dump_blocks_ops : &pm_dump_ops;
	struct pm_err err = { 0 };
	/* lines that run over a terminal are progress enough */
	enum pm_status (*run)(struct pm_pipeline *, struct pm_source *, struct pm_result *,
			      bool (*)(const void *), const void *, struct pm_err *) =
		!strcmp(out, "-") && isatty(STDOUT_FILENO) ? pm_pipeline_run_until : progress_run;
	int status = 0;
	void *slice, *sink;

	if (!o) {
		slice = NULL;
	} else {
		o->facts = src->facts;
		slice = pm_slice_new(o);
		pm_pipeline_transform(p, &pm_slice_ops, slice);
	}
	sink = ops->create(out, &err);
	if (sink)
		pm_pipeline_sink(p, ops, sink);
	if (!sink || pm_pipeline_start(p, src->facts, which->plural, &err) != PM_OK ||
	    run(p, src, NULL, slice ? pm_slice_done : NULL, slice, &err) != PM_OK)
		status = traces_fail(&err);
	pm_pipeline_free(p);
	src->ops->close(src->self);
	return status;
}

int cmd_dump(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark dump [options] TRACE",
		"Writes a trace as text, one line per event: stream, kind, address, size, and "
		"whatever else\n"
		"the event says as KEY=VALUE, but for values that are 0 or not known. The lines of "
		"equal events\n"
		"are equal, whatever the format.",
		NULL
	};
	const char *from = NULL, *out = "-";
	bool blocks = false;
	const struct pm_opt opts[] = {
		OPT_STR('f', "from", &from, "FORMAT", "input format (default: guess)"),
		OPT_STR('o', "output", &out, "FILE", "where to (default: standard output)"),
		OPT_FLAG('b', "blocks", &blocks,
			"show block entries instead of their instructions"),
		OPT_END
	};
	const struct pm_format *which;
	struct pm_source src;
	int status;

	if (pm_opt_parse(argc, argv, opts, &help, false) != 1)
		pm_opt_usage(&help, *argv ? "only one TRACE" : "missing TRACE");
	NAMED_FILES_CHECK(&help, { "TRACE", argv[0], false }, { "-o", out, true });
	status = traces_open(argv[0], from, &src, &which);
	if (status)
		return status;
	return dump(&src, which, NULL, blocks, out);
}

int cmd_head(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark head [options] TRACE",
		"Shows the first instructions of a trace (its first events, if it has no "
		"instructions), as\n"
		"dump does.", NULL
	};
	const char *from = NULL, *out = "-";
	bool blocks = false;
	uint64_t count = 10;
	const struct pm_opt opts[] = {
		OPT_COUNT('n', "count", &count, "N", "how many (default: 10)"),
		OPT_STR('f', "from", &from, "FORMAT", "input format (default: guess)"),
		OPT_STR('o', "output", &out, "FILE", "where to (default: standard output)"),
		OPT_FLAG('b', "blocks", &blocks,
			"show block entries instead of their instructions"),
		OPT_END
	};
	struct pm_slice_opts o = { .time_to = UINT64_MAX };
	const struct pm_format *which;
	struct pm_source src;
	int status;

	if (pm_opt_parse(argc, argv, opts, &help, false) != 1)
		pm_opt_usage(&help, *argv ? "only one TRACE" : "missing TRACE");
	NAMED_FILES_CHECK(&help, { "TRACE", argv[0], false }, { "-o", out, true });
	o.count = count;
	status = traces_open(argv[0], from, &src, &which);
	if (status)
		return status;
	return dump(&src, which, &o, blocks, out);
}
