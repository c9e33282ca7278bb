/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <string.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cli/traces.h"
#include "collect/instrument/instrument.h"

/* The options as `idtinfo` shows them, with a 0 at their end. @line: -l's number, 0: without -l.
 * @rep: with -r. */
static void options_text(const struct pm_instrument_opts *o, uint64_t line, bool rep,
			 struct pm_buf *to)
{
	static const char *const kinds[] = {
		[IMG_PROFILE] = "-p", [IMG_BRANCH] = "-b", [IMG_CACHE] = "-c", [IMG_EXEC] = "-e",
	};

	if (line)
		pm_buf_printf(to, "-l %" PRIu64, line);
	else
		pm_buf_printf(to, "%s", kinds[o->kind]);
	pm_buf_printf(to, "%s%s%s%s%s", rep ? " -r" : "", o->stack ? " -P" : "",
		      o->quick ? " -s" : "",
		      o->no_trace ? " -t" : "", o->merge ? " --merge" : "");
	if (o->max_blocks)
		pm_buf_printf(to, " -B %" PRIu64, o->max_blocks);
	if (o->hints)
		pm_buf_printf(to, " -H %.40s", o->hints);
	pm_buf_add(to, "", 1);
}

int cmd_instrument(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark instrument [options] BENCH",
		"Writes BENCH.idt, an executable that is BENCH and traces itself, with the block "
		"table BENCH.blk64,\n"
		"the module file BENCH.mod, and for a program with libraries the folder "
		"BENCH.idt.d. Run BENCH.idt\n"
		"like BENCH: it writes the trace BENCH.trc64 and the counts BENCH.cnt64. The "
		"files of a 32-bit\n"
		"program are BENCH.blk, BENCH.trc and BENCH.cnt.",
		"  idt bench; ./bench.idt; vcount bench          what it executed\n"
		"  idt -v bench                                  what was found in it\n\n"
		"BENCH.idt with its folder runs on other machines of the same kind, without "
		"pugmark. If a\n"
		"library there differs from the one that was instrumented, BENCH.idt names it and "
		"stops. A forked\n"
		"process writes files of its own, with its process number behind their names.\n\n"
		"Code that nobody could see in advance (libraries loaded later, generated code) "
		"is translated when it\n"
		"first runs. That takes pugmark: the one that $PUGMARK names, or the one in PATH. "
		"BENCH.blk64,\n"
		"BENCH.mod and BENCH.cnt64 then have the new blocks, and BENCH.gen the generated "
		"code. Without\n"
		"pugmark BENCH.idt prints the address and stops."
	};
	static char ask[] = "--help";
	struct pm_instrument_opts o = { 0 };
	bool profile = false, branch = false, cache = false, exec = false, rep = false;
	bool verbose = false;
	uint64_t line = 0, serve = 0;
	struct pm_opt_list library = { 0 };
	const struct pm_opt opts[] = {
		OPT_HEAD("kind of trace"),
		OPT_FLAG('p', "profile", &profile, "counts of blocks only (the default)"),
		OPT_FLAG('b', "branch", &branch, "branch trace"),
		OPT_FLAG('c', "cache", &cache, "cache trace with lines of 16 bytes"),
		OPT_RANGE('l', "line", &line, "N", 1, 32768,
			  "cache trace with lines of N bytes"),
		OPT_FLAG('e', "execution", &exec, "execution trace"),
		OPT_FLAG('r', "rep", &rep,
			"mark references of rep instructions (-c, -l; always with -e)"),
		OPT_FLAG('P', "push-pop", &o.stack,
			"mark references of pushes and pops, calls and returns (-c, -l)"),
		OPT_HEAD("others"),
		OPT_COUNT('B', "blocks", &o.max_blocks, "N", "at most so many blocks"),
		OPT_STR('H', "hints", &o.hints, "FILE", "hint file"),
		OPT_FLAG('s', "short", &o.quick,
			"no overflow check: 32-bit counters that wrap are not noticed"),
		OPT_FLAG('t', "no-trace", &o.no_trace,
			"fully instrumented, but no trace is written"),
		OPT_FLAG(0, "merge", &o.merge, "threads write one trace, in order of execution"),
		OPT_FLAG('v', "verbose", &verbose, "print where functions, tables and buffers are"),
		OPT_LIST(0, "library", &library, "FILE",
			"instrument this library, too: the program may dlopen it"),
		OPT_RANGE(0, "serve", &serve, "N", 1, INT_MAX,
			"for BENCH.idt, which starts this itself: translate new code"),
		OPT_END
	};
	struct pm_buf options = { 0 };
	const char **libs;
	struct pm_err err = { 0 };
	int status = 0;

	for (int i = 1; i < argc; i++)		/* as the report has it */
		if (!strcmp(argv[i], "-h"))
			argv[i] = ask;
	if (pm_opt_parse(argc, argv, opts, &help, false) != 1)
		pm_opt_usage(&help, *argv ? "only one PROGRAM" : "missing PROGRAM");
	if (serve)
		return pm_instrument_serve((int)serve, argv[0], &err) == PM_OK ? 0
								       : traces_fail(&err);
	if (line & (line - 1))
		pm_opt_usage(&help, "--line expects a power of two, not '%llu'",
			     (unsigned long long)line);
	if (profile + branch + (cache || line) + exec > 1)
		pm_opt_usage(&help, "only one kind of trace at a time");
	o.path = argv[0];
	o.kind = branch ? IMG_BRANCH : cache || line ? IMG_CACHE : exec ? IMG_EXEC : IMG_PROFILE;
	o.line = line ? (uint32_t)line : 16;
	o.rep = rep || exec;
	options_text(&o, line, rep && (o.kind == IMG_CACHE || o.kind == IMG_EXEC), &options);
	o.options = (const char *)options.p;
	o.verbose = verbose ? stdout : NULL;
	libs = pm_alloc((library.n + 1) * sizeof *libs);
	for (unsigned i = 0; i < library.n; i++)
		libs[i] = library.v[i];
	o.library = libs;
	if (o.stack && o.kind != IMG_CACHE)
		pm_opt_usage(&help, "-P expects -c or -l: other traces say which instruction "
			     "refers");
	if (rep && o.kind != IMG_CACHE && o.kind != IMG_EXEC)
		fprintf(stderr, "pugmark: -r means nothing without -c, -l or -e\n");
	if (pm_instrument(&o, &err) != PM_OK)
		status = traces_fail(&err);
	free(libs);
	pm_buf_release(&options);
	return status;
}
