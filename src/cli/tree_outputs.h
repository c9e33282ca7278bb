/* SPDX-License-Identifier: MIT */
/* tree_outputs.h - options for calling-context trees (analyse/tree.h), and what they ask for;
 * `run`, `sim` and `annotate` have them */
#ifndef PM_CLI_TREE_OUTPUTS_H
#define PM_CLI_TREE_OUTPUTS_H

#include "analyse/annotator.h"
#include "analyse/tree.h"
#include "cli/opt.h"
#include "trace/growing.h"
#include "trace/pipeline.h"

struct tree_outputs {
	const char *folded, *speedscope, *pprof;	/* FILE; NULL: not wanted */
	const char *event;		/* NULL: instructions */
	bool by_thread, recursion;
	uint64_t depth, contexts;	/* at most; 0: as it is */
	const void *sink;		/* the pipeline's; NULL: none */
	struct tree_meter_of { const struct pm_sink_ops *ops; struct pm_calls_meter m; } *meter;
	size_t nmeter, cap_meter;
	struct pm_costs columns;	/* of all meters */
};

#define TREE_OPTIONS(T)                                                                         \
	OPT_STR(0, "folded", &(T).folded, "FILE",                                               \
		"calling contexts as folded stacks, for flamegraph.pl and others"),              \
		OPT_STR(0, "speedscope", &(T).speedscope, "FILE", "the same for speedscope"),   \
		OPT_STR(0, "pprof", &(T).pprof, "FILE", "the same for pprof"),                  \
		OPT_STR(0, "event", &(T).event, "EVENT",                                        \
			"what is counted there: D1mr, Bcm... of a simulator (instructions)"),    \
		OPT_FLAG(0, "by-thread", &(T).by_thread, "there, every thread by itself"),      \
		OPT_FLAG(0, "fold-recursion", &(T).recursion,                                   \
			 "there, what a function that calls itself does is in one context"),     \
		OPT_RANGE(0, "max-depth", &(T).depth, "N", 2, PM_TREE_DEPTH_MOST,                \
			  "there, so many contexts deep (500)"),                                \
		OPT_RANGE(0, "max-contexts", &(T).contexts, "N", 1, PM_TREE_NODES - 1,           \
			  "there, so many contexts of the whole, or of a thread (4194303)")

/* Is a file wanted? */
bool tree_outputs_wanted(const struct tree_outputs *t);
/* Is something said about trees? */
bool tree_outputs_described(const struct tree_outputs *t);
/* Is a file wanted, and does it need no more than blocks? */
bool tree_outputs_need_blocks_only(const struct tree_outputs *t);
/* Before the pipeline starts: can they be written? Adds the sink, if anything is wanted, or @page:
 * a page with a flame graph. @facts: of what reaches the sinks. */
enum pm_status tree_outputs_begin(struct tree_outputs *t, struct pm_pipeline *p, uint32_t facts,
				  bool page, struct pm_err *err);
/* The tree can grow in the traced process: for pm_run_opts.grow. */
void tree_outputs_growing(const struct tree_outputs *t, struct pm_growing *g);
/* After it has finished, before it is freed. @title: what was traced. */
enum pm_status tree_outputs_end(const struct tree_outputs *t, const char *title,
				struct pm_err *err);
/* NULL: none. *@event: the one that is asked for. */
const struct pm_tree *tree_outputs_tree(const struct tree_outputs *t, unsigned *event);
void tree_outputs_release(struct tree_outputs *t);

#endif
