/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "analyse/cache_filter.h"
#include "analyse/names.h"
#include "cli/named_files.h"
#include "cli/progress.h"
#include "cli/replayed.h"
#include "cli/run_ends.h"
#include "cli/run_parts.h"
#include "cli/run_trace.h"
#include "cli/traces.h"
#include "collect/query/ref_values.h"
#include "collect/query/trace_parts.h"
#include "collect/record/recording.h"
#include "trace/each_process.h"

/* What @recording replays goes straight into @out: chunks that @jobs replays make need not be made
 * anew, and what one replay traces needs no other trace in between. The exit status. */
static int convert_recording(const char *recording, uint64_t jobs, const char *out,
			     const char *format, const char *json)
{
	struct pm_run_opts o = { RUN_DEFAULTS, .kind = XL_EXEC };
	struct run_trace t = { .exec = true, .silent = true, .progress = true,
			       .out = out, .format = format, .schema = "convert",
			       .results = { .json = json, .quiet = true, .to_stderr = true } };
	struct pm_err err = { 0 };
	int status, signal, failed;

	if (rec_open(recording, &o.replay, &err) != PM_OK)
		return traces_fail(&err);
	o.argv = (char **)(uintptr_t)rec_start_of(o.replay, 0)->argv;
	if (jobs > 1 && run_parts_possible(&o))
		failed = run_parts(recording, jobs, &o, &t, &status, &signal);
	else
		failed = run_traced(&t, &o, &status, &signal);
	rec_close(o.replay);
	return failed < 0 ? 0 : failed;
}

/* Does @to need more than the caches leave? It may well be in the trace. */
static enum pm_status let_through(uint32_t facts, const struct pm_format *to, struct pm_err *err)
{
	char names[120];

	if (!(to->needs & ~facts))
		return PM_OK;
	pm_fact_names(to->needs & ~facts, names, sizeof names);
	return pm_fail_file(err, "--filter lets references through, without %s, which writing %s "
			    "needs", names, to->plural);
}

int cmd_convert(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark convert [-f FORMAT] [-t FORMAT] IN OUT",
		"Reads the trace IN and writes it as OUT; - is standard input or output. The "
		"input's format\n"
		"is guessed from its content, the output's from its name; compressed input (gzip, "
		"zstd,\n"
		"xz, bzip2) is recognised, and an OUT named .gz, .zst, .xz or .bz2 is compressed. "
		"What OUT's\n"
		"format cannot hold is left out, and a note says how much. If IN lacks something "
		"that OUT's format\n"
		"needs, that is an error.",
		"--filter takes caches as `pugmark sim --cache` does.\n"
		"A FORMAT may carry options: pug:dense. `pugmark formats` lists them all."
	};
	const char *from = NULL, *to = NULL, *json = NULL, *filter = NULL;
	struct values_part part = { 0 };
	bool values = false;
	uint64_t jobs = 1;
	void *filled = NULL;
	const struct pm_opt opts[] = {
		OPT_STR('f', "from", &from, "FORMAT", "input format (default: guess)"),
		OPT_STR('t', "to", &to, "FORMAT", "output format (default: by the name)"),
		OPT_STR(0, "filter", &filter, "CONFIG",
			"write only what caches let through: misses, write-backs"),
		OPT_FLAG(0, "values", &values,
			 "IN is a recording: with the value of every load and store; slow"),
		OPT_U64(0, "skip", &part.skip, "N",
			"... not of its first N instructions, of all threads together"),
		OPT_COUNT(0, "length", &part.length, "N", "... of the next N instructions"),
		OPT_RANGE('j', "jobs", &jobs, "N", 1, PARTS_WORKERS,
			"IN is a recording: N replays at once, each of which traces parts (1)"),
		OPT_STR(0, "json", &json, "FILE", "write what was written and left out as JSON"),
		OPT_END
	};
	int n = pm_opt_parse(argc, argv, opts, &help, false), status = 0;
	const struct pm_format *which, *out;
	const void *cracker = NULL;
	uint32_t facts;
	struct pm_err err = { 0 };
	struct pm_pipeline *p;
	struct pm_result *r;
	struct pm_source src;

	if (n != 2)
		pm_opt_usage(&help, n < 2 ? "missing IN or OUT" : "only one IN and one OUT");
	if (!strcmp(argv[1], "-") && !to)
		pm_opt_usage(&help,
			     "standard output has no name to tell the format from; use -t FORMAT");
	NAMED_FILES_CHECK(&help, { "IN", argv[0], false }, { "OUT", argv[1], true },
			  { "--json", json, true });
	if (!values && (part.skip || part.length))
		pm_opt_usage(&help, "--skip and --length are about --values; `pugmark slice` cuts");
	if (jobs > 1 && (values || from || !replayed_is(argv[0])))
		pm_opt_usage(&help, "-j is for recordings, without --values");
	if (!values && !filter && !from && (jobs == 1 || run_writes_pug(argv[1], to)) &&
	    !pm_path_has_process(argv[1]) && replayed_is(argv[0]))
		return convert_recording(argv[0], jobs, argv[1], to, json);
	status = values ? traces_open_values(argv[0], &part, &src, &which, &filled) :
		traces_open_by(jobs, argv[0], from, &src, &which);
	if (status)
		return status;
	out = traces_output_format(argv[1], to);
	if (!out) {
		src.ops->close(src.self);
		if (filled)
			values_ops.destroy(filled);
		return 2;
	}
	p = pm_adapt_pipeline(&src, which);
	if (filled)
		pm_pipeline_transform(p, &values_ops, filled);
	facts = filter ? src.facts : pm_adapt(p, src.facts, out->needs, &cracker);
	pm_names_for_sinks(p);
	r = pm_result_for("convert");
	if (filter && pm_cache_filter_add(p, filter, &facts, &err) != PM_OK)
		status = traces_fail(&err);
	else if (pm_trace_create(p, argv[1], to, facts, &err) != PM_OK ||
	    (filter && let_through(facts, out, &err) != PM_OK) ||
	    pm_pipeline_start(p, src.facts, which->plural, &err) != PM_OK ||
	    progress_run(p, &src, r, NULL, NULL, &err) != PM_OK)
		status = traces_fail(&err);
	pm_adapt_result(r, cracker);
	if (!status)
		traces_note_losses(r, facts, to, argv[1]);
	if (!status && json)
		status = traces_json(r, json);
	pm_pipeline_free(p);
	src.ops->close(src.self);
	pm_result_free(r);
	return status;
}
