/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/whole_file.h"
#include "cli/branch_outputs.h"
#include "cli/named_files.h"
#include "cli/progress.h"
#include "cli/traces.h"
#include "report/out.h"

static int write_(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark profile write [options] TRACE",
		"Writes the branch profile of a trace for compilers and linkers. A FILE is about "
		"the traced program's\n"
		"executable; with %n (an object's name) or %b (its build id) in its name there is "
		"one for each\n"
		"executable and library.",
		"  pugmark run --branch -o prog.pug -- prog\n"
		"  pugmark profile write --bolt prog.pa --predict prog.pug"
	};
	struct branch_outputs b = { 0 };
	const char *format = NULL;
	const struct pm_opt opts[] = {
		OPT_STR('f', "from", &format, "FORMAT", "input format (default: guess)"),
		BRANCH_OPTIONS(b),
		OPT_END
	};
	const struct pm_format *which;
	struct pm_source src;
	struct pm_err err = { 0 };
	struct pm_pipeline *p;
	enum pm_status st;
	int status;

	argc = pm_opt_parse(argc, argv, opts, &help, false);
	if (argc != 1)
		pm_opt_usage(&help, argc ? "only one TRACE" : "missing TRACE");
	if (!branch_outputs_wanted(&b))
		pm_opt_usage(&help, "nothing to write; try --bolt FILE");
	NAMED_FILES_CHECK(&help, { "TRACE", argv[0], false },
			  { "--bolt", b.to[PM_BRANCH_BOLT], true },
			  { "--fdata", b.to[PM_BRANCH_FDATA], true },
			  { "--autofdo", b.to[PM_BRANCH_AUTOFDO], true },
			  { "--llvm-sample", b.to[PM_BRANCH_LLVM_SAMPLE], true },
			  { "--propeller", b.to[BRANCH_PROPELLER], true },
			  { "--perf-data", b.to[BRANCH_PERF], true });
	status = traces_open_whole(argv[0], format, &src, &which);
	if (status)
		return status;
	p = pm_pipeline_new();
	if (!(src.facts & PM_HAS_BLOCKS)) {
		err.file = argv[0];
		st = pm_fail_file(&err, "it has no basic blocks, of which a branch profile is "
				  "made; traces by `pugmark run -o FILE.pug -- PROGRAM` have them, "
				  "or use `pugmark run --bolt FILE -- PROGRAM`");
	} else {
		st = branch_outputs_begin(&b, p, &err);
	}
	if (st == PM_OK)
		st = progress_whole(p, &src, which->plural, NULL, &err);
	if (st == PM_OK)
		st = branch_outputs_end(&b, &err);
	status = st == PM_OK ? 0 : traces_fail(&err);	/* the pipeline has the files' names */
	pm_pipeline_free(p);
	src.ops->close(src.self);
	return status;
}

static enum pm_status merge_all(int n, char **path, const char *out, struct pm_err *err)
{
	struct pm_branch_file sum, more;
	struct pm_buf text = { 0 };
	enum pm_status st = pm_branch_file_read(path[0], &sum, err);

	for (int i = 1; i < n && st == PM_OK; i++) {
		st = pm_branch_file_read(path[i], &more, err);
		if (st == PM_OK && more.format != sum.format)
			st = pm_fail_file(err, "this is %s, and %s is %s: they cannot be added",
					  pm_branch_format_names[more.format], path[0],
					  pm_branch_format_names[sum.format]);
		if (st == PM_OK && sum.build_id && more.build_id &&
		    strcmp(sum.build_id, more.build_id))
			st = pm_fail_file(err, "this is of build %s, and %s of %s", more.build_id,
					  path[0], sum.build_id);
		if (st == PM_OK)
			pm_branch_file_add(&sum, &more);
		pm_branch_file_release(&more);
	}
	if (st == PM_OK) {
		pm_branch_file_text(&sum, &text);
		err->file = NULL;
		st = pm_file_save(out, &text, err);
	}
	pm_buf_release(&text);
	pm_branch_file_release(&sum);
	return st;
}

static int merge(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark profile merge -o OUT FILE...",
		"Adds the counts of branch profiles of several runs or processes. All are of one "
		"form: bolt, fdata,\n"
		"autofdo or llvm-sample, by `pugmark run` or `pugmark profile write`; and of one "
		"build of one\n"
		"executable. A FILE that is - is standard input.",
		NULL
	};
	const char *out = NULL;
	const struct pm_opt opts[] = {
		OPT_STR('o', "output", &out, "OUT", "the sum; - is standard output"),
		OPT_END
	};
	struct pm_err err = { 0 };

	argc = pm_opt_parse(argc, argv, opts, &help, false);
	if (!argc)
		pm_opt_usage(&help, "missing FILE");
	if (!out)
		pm_opt_usage(&help, "missing -o OUT");
	return merge_all(argc, argv, out, &err) == PM_OK ? 0 : traces_fail(&err);
}

int cmd_profile(int argc, char **argv)
{
	static const struct pm_opt_command all[] = {
		{ "write", write_, "the branch profile of a trace, for compilers and linkers" },
		{ "merge", merge, "the sum of several" },
		{ 0 }
	};
	static const struct pm_opt_help help = {
		"pugmark profile write|merge [options] FILE",
		"Branch profiles: how often each branch was taken, and what ran between them. "
		"BOLT, gcc and clang\n"
		"optimize programs with them. `pugmark run --bolt FILE -- PROGRAM` makes one, too.",
		"`pugmark profile write --help` and so on list the options.", all
	};

	return pm_opt_run(argc, argv, &help);
}
