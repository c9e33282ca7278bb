/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "analyse/sims.h"
#include "analyse/stored.h"
#include "cli/results.h"
#include "cli/replayed.h"
#include "cli/traces.h"
#include "collect/query/trace_parts.h"
#include "trace/sinks.h"

static const struct pm_opt_help help = {
	"pugmark annotate [options] FILE",
	"Show the code of the program in the trace FILE, and beside it what each instruction and "
	"source line\n"
	"cost: executions, cache misses, mispredictions, stalls. The simulators that --sim names "
	"count them.\n"
	"FILE may also be a stored profile, in which the costs are: written by --callgrind, by "
	"`pugmark run\n"
	"--counts`, or by callgrind with --dump-instr=yes.",
	"Examples:\n"
	"  pugmark run -q --branch -o prog.pug -t pug -- prog     keep a run; --exec keeps data "
	"references, too\n"
	"  pugmark annotate prog.pug                        the functions with the most "
	"instructions\n"
	"  pugmark annotate -s core:byinsn --sort Cme prog.pug    which instructions stall\n"
	"  pugmark annotate -s core:topdown -e Ir,Sre,Sdr,Sbs --lines prog.pug    slots, top-down\n"
	"  pugmark annotate --lines --source ~/src prog.pug       by source file\n"
	"  pugmark annotate --callgrind cg.out prog.pug && kcachegrind cg.out\n"
	"  pugmark run -q --callgrind cg.out -- prog        counted while it runs at nearly full "
	"speed...\n"
	"  pugmark annotate --lines cg.out                  ... and looked at later, as often as "
	"one likes\n"
	"A trace that does not say what was loaded where needs --object."
};

int cmd_annotate(int argc, char **argv)
{
	struct pm_opt_list sims = { 0 };
	const char *format = NULL, *syntax = NULL;
	struct results o = { .annotate = true, .top = 5 };
	uint64_t jobs = 1;
	const struct pm_opt opts[] = {
		OPT_HEAD("What to count and show"),
		OPT_LIST('s', "sim", &sims, "NAME:CONFIG",
			"a simulator that counts per instruction (default: cachegrind)"),
		OPT_STR('e', "events", &o.listing.events, "A,B...",
			"events shown (executions and the three worst)"),
		OPT_STR(0, "sort", &o.listing.sort, "EVENT",
			"order of the functions (the first event)"),
		OPT_STR(0, "function", &o.listing.function, "NAME", "only this one"),
		OPT_RANGE('n', "top", &o.top, "N", 1, 100000,
			  "functions shown with their code (5)"),
		OPT_FLAG(0, "lines", &o.listing.lines, "source files line by line instead"),
		OPT_STR(0, "source", &o.listing.source, "DIR",
			"look for source files in DIR first"),
		OPT_LIST(0, "object", &o.object, "PATH@ADDRESS",
			"FILE's trace had this file loaded at ADDRESS"),
		OPT_STR(0, "syntax", &syntax, "att|intel", "of disassembly (default: att)"),
		OPT_HEAD("Input and output"),
		OPT_STR('f', "from", &format, "FORMAT", "input format (default: guess)"),
		OPT_RANGE('j', "jobs", &jobs, "N", 1, PARTS_WORKERS,
			"FILE is a recording: N replays at once, each of which traces parts (1)"),
		OPT_STR('o', "output", &o.text, "FILE", "the listing goes to FILE"),
		RESULTS_OPTIONS(o),
		OPT_END
	};
	const struct pm_format *which = NULL;
	struct pm_source src = { 0 };
	struct pm_err err = { 0 };
	struct pm_pipeline *p;
	enum pm_status s = PM_OK;

	argc = pm_opt_parse(argc, argv, opts, &help, false);
	if (argc != 1)
		pm_opt_usage(&help, argc ? "only one FILE" : "missing FILE");
	results_check_files(&o, &help, argv, 1);
	o.listing.intel = syntax && syntax[0] == 'i';
	if (!format && pm_stored_is(argv[0])) {
		if (sims.n)
			pm_opt_usage(&help, "a stored profile has its costs: --sim needs a trace");
		return results_stored(&o, argv[0], "Annotated code", &err);
	}
	p = pm_pipeline_new();
	pm_pipeline_threads(p, PM_THREADS_AUTO);
	if (!sims.n)
		s = pm_sink_add(p, "cachegrind", pm_sims, &err);
	for (unsigned i = 0; i < sims.n && !s; i++)
		s = pm_sink_add(p, sims.v[i], pm_sims, &err);
	if (!s)
		s = replayed_open_whole(jobs, argv[0], format, &src, &which, &err);
	return results_run(&o, s, p, &src, which, src.facts, "Annotated code", argv[0], &err);
}
