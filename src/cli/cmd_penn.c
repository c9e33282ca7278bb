/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyse/uops.h"
#include "cli/progress.h"
#include "cli/traces.h"

static uint64_t u64(const struct pm_result_node *n, const char *name)
{
	n = pm_result_find(n, name);
	return n ? n->u64 : 0;
}

static double f64(const struct pm_result_node *n, const char *name)
{
	n = pm_result_find(n, name);
	return n ? n->f64 : 0;
}

/* A table as in the course's hand-outs; @cumulative where a sum is asked for. */
static void distribution(const struct pm_result_node *n, const char *key, const char *head,
			 bool cumulative)
{
	printf("%8s %14s %9s%s\n", head, "count", "percent", cumulative ? "   cumulative" : "");
	n = pm_result_find(n, "distribution");
	for (n = n ? n->first : NULL; n; n = n->next) {
		printf("%8" PRIu64 " %14" PRIu64 " %8.3f%%", u64(n, key), u64(n, "count"),
		       f64(n, "percent"));
		if (cumulative)
			printf(" %11.3f%%", f64(n, "cumulative"));
		putchar('\n');
	}
}

static void print(const char *name, const struct pm_result_node *n)
{
	static const char *const kinds[] = { "loads", "stores", "unconditional", "conditional",
		"other" };

	if (!strcmp(name, "uops")) {
		printf("Micro-ops: %" PRIu64 "\nMacro-ops: %" PRIu64
		       "\nMicro-ops per macro-op: %.4f\n\n",
		       u64(n, "uops"), u64(n, "macros"), f64(n, "mean"));
		distribution(n, "uops", "uops", false);
	} else if (!strcmp(name, "isize")) {
		printf("Macro-ops: %" PRIu64 "\nBytes: %" PRIu64 "\nBytes per macro-op: %.4f\n\n",
		       u64(n, "macros"), u64(n, "bytes"), f64(n, "mean"));
		distribution(n, "bytes", "bytes", false);
	} else if (!strcmp(name, "brdist")) {
		printf("Branches: %" PRIu64 "\n\n", u64(n, "branches"));
		distribution(n, "bits", "bits", true);
		printf("\nNeeding more than %" PRIu64 " bits: %" PRIu64 " (%.3f%% of branches)\n"
		       "Extra instructions: %.3f%%\n",
		       u64(n, "offset_bits"), u64(n, "needing_more"),
		       f64(n, "needing_more_percent"), f64(n, "extra_instructions_percent"));
	} else if (!strcmp(name, "mix")) {
		printf("Micro-ops: %" PRIu64 "\n\n", u64(n, "uops"));
		for (unsigned i = 0; i < NR(kinds); i++) {
			const struct pm_result_node *k = pm_result_find(n, kinds[i]);

			printf("%-14s %14" PRIu64 " %8.3f%%\n", kinds[i], u64(k, "count"),
			       f64(k, "percent"));
		}
	} else {
		printf("Micro-ops: %" PRIu64 "\nConditional branches: %" PRIu64
		       "\nFused pairs: %" PRIu64
		       "\nMicro-ops in pairs: %.3f%%\nMicro-ops saved: %.3f%%\n",
		       u64(n, "uops"), u64(n, "conditional"), u64(n, "pairs"),
		       f64(n, "in_pairs_percent"), f64(n, "saved_percent"));
	}
}

/* Runs @ops over @path, for the command @who; the results, or NULL after printing the error, and
 * the exit *@status. */
static struct pm_result *analyse(const struct pm_sink_ops *ops, const char *who,
				 const char *config, const char *path, const char *format,
				 int *status)
{
	const struct pm_format *which;
	struct pm_err err = { 0 };
	struct pm_pipeline *p;
	struct pm_result *r = pm_result_for("course");
	struct pm_source src;
	void *self;
	bool ok = false;

	*status = traces_open(path, format, &src, &which);
	if (*status) {
		pm_result_free(r);
		return NULL;
	}
	p = pm_adapt_pipeline(&src, which);
	pm_pipeline_for(p, who, NULL);
	pm_adapt(p, src.facts, ops->needs, NULL);
	self = ops->create(config, &err);
	if (self) {
		pm_pipeline_sink(p, ops, self);
		ok = pm_pipeline_start(p, src.facts, which->plural, &err) == PM_OK;
		if (ok && progress_run(p, &src, r, NULL, NULL, &err) != PM_OK) {
			ok = false;
			if (!err.file)
				err.file = strcmp(path, "-") ? path : "standard input";
		}
	}
	pm_pipeline_free(p);
	src.ops->close(src.self);
	if (ok)
		return r;
	*status = traces_fail(&err);
	pm_result_free(r);
	return NULL;
}

#define INPUT                                                                                   \
	"\nFILE is a micro-op trace of the course, any trace with micro-ops, or one with x86\n"  \
	"instruction bytes, which are cracked; - is standard input."

static const struct course_command {
	const char *command;
	const struct pm_sink_ops *ops;
	struct pm_opt_help help;
} courses[] = {
	{ "uops", &pm_sink_uops, { "pugmark uops [options] FILE",
	  "Micro-ops per instruction." INPUT } },
	{ "isize", &pm_sink_isize, { "pugmark isize [options] FILE",
	  "How many bytes instructions have." INPUT } },
	{ "brdist", &pm_sink_brdist, { "pugmark brdist [options] FILE",
	  "How many bits the offsets of branches take, and what an instruction set with "
		"fewer costs." INPUT } },
	{ "uop-mix", &pm_sink_mix, { "pugmark uop-mix [options] FILE",
	  "Micro-ops by kind: loads, stores, branches and others. `pugmark mix` counts "
		"instructions." INPUT } },
	{ "fusion", &pm_sink_fusion, { "pugmark fusion [options] FILE",
	  "Flag writers that could be fused with the branch behind them." INPUT } },
};

int cmd_uops(int argc, char **argv)
{
	const char *from = NULL, *json = NULL;
	const struct course_command *c = courses;
	struct pm_opt opts[] = {
		OPT_STR('f', "from", &from, "FORMAT", "input format (default: guess)"),
		OPT_STR(0, "json", &json, "FILE", "results as JSON; '-' is standard output"),
		OPT_END,	/* brdist's own, or the end */
		OPT_END
	};
	char config[40] = "";
	const char *name = strrchr(argv[0], '/');
	struct pm_result *r;
	uint64_t bits = 8;
	int status = 0;

	name = name ? name + 1 : argv[0];
	for (unsigned i = 0; i < NR(courses); i++)
		if (!strcmp(courses[i].command, name))
			c = courses + i;
	if (c->ops == &pm_sink_brdist)
		opts[2] = (struct pm_opt)OPT_RANGE(0, "bits", &bits, "N", 1, 64,
						   "offset bits of the instruction set to cost "
						   "(8)");
	argc = pm_opt_parse(argc, argv, opts, &c->help, false);
	if (argc != 1)
		pm_opt_usage(&c->help, argc ? "only one FILE" : "missing FILE");
	if (c->ops == &pm_sink_brdist)
		snprintf(config, sizeof config, "bits=%" PRIu64, bits);
	r = analyse(c->ops, c->command, config, argv[0], from, &status);
	if (!r)
		return status;
	if (json)
		status = traces_json(r, json);
	if (!json || strcmp(json, "-"))
		print(c->ops->name, pm_result_find(pm_result_root(r), c->ops->name));
	pm_result_free(r);
	return status;
}

int cmd_penn(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark penn [-f FORMAT] [FILE]",
		"Reads a micro-op trace and prints what the course's parser prints: micro-ops, "
		"macro-ops.\n"
		"FILE may also be any trace with x86 instruction bytes. Without FILE, or with -, "
		"it reads standard\ninput, as the course's parser does.",
		NULL
	};
	const char *from = NULL;
	const struct pm_opt opts[] = {
		OPT_STR('f', "from", &from, "FORMAT", "input format (default: guess)"),
		OPT_END
	};
	const struct pm_result_node *n;
	struct pm_result *r;
	int status = 0;

	argc = pm_opt_parse(argc, argv, opts, &help, false);
	if (argc > 1)
		pm_opt_usage(&help, "only one FILE");
	if (!argc && isatty(STDIN_FILENO))
		pm_opt_usage(&help, "missing FILE, and standard input is a terminal");
	puts("Processing trace...");
	r = analyse(&pm_sink_uops, "penn", "", argc ? argv[0] : "-", from, &status);
	if (!r)
		return status;
	n = pm_result_find(pm_result_root(r), "uops");
	printf("Processed %" PRIu64 " trace records.\nMicro-ops: %" PRIu64 "\nMacro-ops: %" PRIu64
	       "\n",
	       u64(n, "uops"), u64(n, "uops"), u64(n, "macros"));
	pm_result_free(r);
	return 0;
}
