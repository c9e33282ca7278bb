/* SPDX-License-Identifier: MIT */
/* branch_outputs.h - options for branch profiles (analyse/branch_file.h, branch_perf.h,
 * branch_propeller.h), and what they ask for; `run` and `profile write` have them */
#ifndef PM_CLI_BRANCH_OUTPUTS_H
#define PM_CLI_BRANCH_OUTPUTS_H

#include "analyse/branch_file.h"
#include "analyse/branch_perf.h"
#include "cli/opt.h"
#include "trace/pipeline.h"

/* enum pm_branch_format, perf's own file, and Propeller's two: FILE and FILE.order */
enum { BRANCH_PERF = PM_BRANCH_FORMATS, BRANCH_PROPELLER, BRANCH_OUTPUTS };

struct branch_outputs {
	const char *to[BRANCH_OUTPUTS];	/* FILE; NULL: not wanted */
	uint64_t samples;		/* in perf's; 0: the usual number */
	bool predict;
	const void *sink;		/* the pipeline's; NULL: none */
};

#define BRANCH_OPTIONS(B)                                                                        \
	OPT_STR(0, "bolt", &(B).to[PM_BRANCH_BOLT], "FILE",                                      \
		"for `perf2bolt --pa`: branches and ranges, with their counts"),                  \
		OPT_STR(0, "fdata", &(B).to[PM_BRANCH_FDATA], "FILE",                            \
			"for llvm-bolt: the same in its own form"),                               \
		OPT_STR(0, "autofdo", &(B).to[PM_BRANCH_AUTOFDO], "FILE",                        \
			"for gcc: `create_gcov --profiler=text` reads it"),                       \
		OPT_STR(0, "llvm-sample", &(B).to[PM_BRANCH_LLVM_SAMPLE], "FILE",                \
			"for clang: `llvm-profgen --unsymbolized-profile`"),                      \
		OPT_STR(0, "propeller", &(B).to[BRANCH_PROPELLER], "FILE",                       \
			"for clang and lld: order of blocks, and of functions (FILE.order)"),     \
		OPT_STR(0, "perf-data", &(B).to[BRANCH_PERF], "FILE",                            \
			"for what reads files of `perf record -j any,u`: samples"),               \
		OPT_RANGE(0, "perf-samples", &(B).samples, "N", 1, PM_BRANCH_PERF_MOST,        \
			"... so many of them (default: 40,000)"),                                 \
		OPT_FLAG(0, "predict", &(B).predict,                                             \
			 "count mispredictions of a simple predictor there, too")

bool branch_outputs_wanted(const struct branch_outputs *b);
/* Do the options go together, and can the files be written? */
enum pm_status branch_outputs_check(const struct branch_outputs *b, struct pm_err *err);
/* Before the pipeline starts: that check. Adds the sink, if anything is wanted. */
enum pm_status branch_outputs_begin(struct branch_outputs *b, struct pm_pipeline *p,
				    struct pm_err *err);
/* After it has finished, before it is freed. */
enum pm_status branch_outputs_end(const struct branch_outputs *b, struct pm_err *err);
/* What is wanted, of @all. */
enum pm_status branch_outputs_write(const struct branch_outputs *b, const struct pm_branches *all,
				    struct pm_err *err);

#endif
