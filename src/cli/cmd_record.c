/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/guard.h"
#include "base/number.h"
#include "cli/cli.h"
#include "cli/manners.h"
#include "cli/named_files.h"
#include "cli/run_ends.h"
#include "cli/traces.h"
#include "collect/control/process.h"
#include "trace/counts.h"

static const struct pm_opt_help help = {
	"pugmark record [options] -o RECORDING -- PROGRAM [ARG...]",
	"Run PROGRAM, unchanged and nearly as fast as without pugmark, and record all that another "
	"run would not\n"
	"repeat. From the recording `pugmark replay` runs it again as often as wanted, and makes "
	"every trace,\n"
	"profile and report. The processes that it starts are recorded, too. Where one does what "
	"cannot be recorded\n"
	"yet, such as sharing memory, a line says so, its recording ends there, and it goes on.",
	"  pugmark record -o gz.pugrec -- gzip -9 FILE\n"
	"  pugmark replay gz.pugrec                 what it executed\n"
	"  pugmark record --portable -o x.pugrec -- ./prog    for another machine\n"
	"  pugmark record --chaos 1 -o x.pugrec -- ./prog     its threads in an unusual order\n\n"
	"Exit status: the program's own. 1 if it cannot run, the recording cannot be written, or "
	"--check has found\n"
	"something; 2 for a usage error.",
};

int cmd_record(int argc, char **argv)
{
	struct pm_run_opts o = { RUN_DEFAULTS };
	struct pm_err err = { 0 };
	struct pm_counts *counts = NULL;
	uint64_t holes = 0;
	bool check = false;
	int status, sig;
	const struct pm_opt opts[] = {
		OPT_STR('o', "output", &o.record, "FILE", "the recording"),
		OPT_FLAG(0, "portable", &o.portable,
			 "keep the system's programs and libraries, too: for another machine"),
		OPT_FLAG(0, "lean", &o.lean, "keep no programs and libraries, but checks of them"),
		OPT_COUNT(0, "chaos", &o.chaos, "SEED",
			"threads take turns at random, to find races; SEED, not 0, chooses how"),
		OPT_FLAG(0, "check", &check,
			 "check that the log has all that system calls write to memory: slow"),
		OPT_FLAG(0, "check-pages", &o.check_pages,
			 "likewise, by comparing all memory: where Linux is older than 6.7"),
		OPT_U64(0, "checks", &o.checks, "N",
			"have registers compared at every Nth safepoint, too (0: at none)"),
		OPT_FLAG(0, "aslr", &o.aslr, "keep address-space randomisation"),
		OPT_FLAG(0, "fix-random", &o.fix_random,
			 "AT_RANDOM bytes fixed, for comparable runs"),
		OPT_STR(0, "cache-dir", &o.cache_dir, "DIR",
			"keep translations in DIR ($XDG_CACHE_HOME/pugmark)"),
		OPT_FLAG(0, "no-cache", &o.no_cache, "neither use nor keep translations"),
		OPT_END
	};

	pm_guard_last(PM_GUARD_COMMAND, run_say_death, NULL);
	if (!pm_opt_parse(argc, argv, opts, &help, true))
		pm_opt_usage(&help, "no program given");
	if (o.portable && o.lean)
		pm_opt_usage(&help, "--portable and --lean exclude each other");
	if (o.record && !strcmp(o.record, "-"))
		pm_opt_usage(&help, "a recording goes to a file: -o FILE");
	if (!o.record)
		pm_opt_usage(&help, "-o FILE is missing: where the recording goes");
	NAMED_FILES_CHECK(&help, { "PROGRAM", strchr(argv[0], '/') ? argv[0] : NULL, false },
			  { "-o", o.record, true });
	if (check || o.check_pages)
		o.holes = &holes;
	o.argv = argv;
	if (pm_run(&o, &counts, &err) != PM_OK) {
		status = traces_fail(&err);
		pm_counts_free(counts);
		return status;
	}
	status = counts->status;
	sig = counts->signal;
	pm_counts_free(counts);
	return holes && !status ? 1 : run_end_like(status, sig);
}
