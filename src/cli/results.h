/* SPDX-License-Identifier: MIT */
/* results.h - where the results of simulators go: terminal, JSON, CSV, HTML, callgrind; for `sim`,
 * `annotate` and `run` alike */
#ifndef PM_CLI_RESULTS_H
#define PM_CLI_RESULTS_H

#include "analyse/annotator.h"
#include "cli/opt.h"
#include "cli/tree_outputs.h"
#include "report/listing_report.h"

/* What a report begins with if there is more of the trace than can be read. */
#define PARTIAL_REPORT	"of a part of the trace: what stands before an error\n"

struct pm_result;
struct pm_format;
struct pm_source;

struct results {
	/* text NULL: standard output, unless JSON or CSV goes there */
	const char *json, *csv, *parquet, *html, *callgrind, *text;
	uint64_t rows, top;
	bool annotate;			/* text: the listing, not the tree */
	const char *annotate_to;	/* the listing goes there, besides */
	size_t processes, threads;	/* that ran; 0: not known */
	uint64_t jobs;			/* threads that simulate slices of the trace; 0: none do */
	bool to_stderr, quiet;		/* text to standard error, or nowhere */
	bool partial;			/* text: it says that it is of a part of the trace */
	struct pm_opt_list object;	/* PATH@ADDRESS */
	struct pm_listing_opts listing;
	struct pm_annotator a;
	bool listed;
	struct pm_threads *ran;		/* for the page; the pipeline's */
	struct tree_outputs tree;
};

#define RESULTS_OPTIONS(R)                                                                      \
	OPT_STR(0, "json", &(R).json, "FILE", "results as JSON; '-' is standard output"),       \
		OPT_STR(0, "csv", &(R).csv, "FILE", "results as CSV: path,value,unit"),         \
		OPT_STR(0, "parquet", &(R).parquet, "FILE",                                     \
			"the same as a Parquet table"),                                         \
		OPT_STR(0, "html", &(R).html, "FILE", "results as one HTML page, with charts"), \
		OPT_STR(0, "callgrind", &(R).callgrind, "FILE",                                 \
			"costs for KCachegrind and callgrind_annotate"),                        \
		TREE_OPTIONS((R).tree)

/* Adds what a listing of the code needs, if one is wanted. Before the pipeline starts. */
enum pm_status results_begin(struct results *o, struct pm_pipeline *p, uint32_t facts,
			     struct pm_err *err);
/* No file is written twice, nor over one of the @n inputs. A usage error else. */
void results_check_files(const struct results *o, const struct pm_opt_help *help,
			 char *const *in, size_t n);
/* After the pipeline has finished and before it is freed. */
enum pm_status results_end(struct results *o, struct pm_pipeline *p, struct pm_result *r,
			   const char *title, const char *subtitle, struct pm_err *err);
void results_release(struct results *o);

/* What is stored in @file (analyse/stored.h), put where @o says; the command's status. */
int results_stored(struct results *o, const char *file, const char *title, struct pm_err *err);
/* All of it, for a trace in @file that @src reads: run it through @p, put the results where @o
 * says, give everything back. @s: how preparing went; PM_ERR does only the last. Returns the
 * command's status. */
int results_run(struct results *o, enum pm_status s, struct pm_pipeline *p, struct pm_source *src,
		const struct pm_format *which, uint32_t facts, const char *title, const char *file,
		struct pm_err *err);

#endif
