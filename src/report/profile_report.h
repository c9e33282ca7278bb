/* SPDX-License-Identifier: MIT */
/* profile_report.h - a profile as text, JSON, CSV, callgrind file and HTML page
 *
 * Each renderer takes a finished pm_profile (analyse/profile.h), so several outputs of one run
 * share the work:
 *
 *	struct pm_profile *p = pm_profile_new(counts);
 *	pm_report_text(p, &opts, stderr, &err);
 *	pm_report_json(p, &opts, "out.json", &err);
 *	pm_profile_free(p);
 *
 * Where a path is taken, "-" is stdout; a file is written under a temporary name and renamed, so a
 * failure leaves nothing half-written. Errors name the file. */
#ifndef PM_REPORT_PROFILE_REPORT_H
#define PM_REPORT_PROFILE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "analyse/profile.h"
#include "base/err.h"

struct pm_result;

enum pm_colour { PM_COLOUR_AUTO, PM_COLOUR_NEVER, PM_COLOUR_ALWAYS };

struct pm_report_opts {			/* zero is the default of everything */
	enum pm_syntax syntax;
	enum pm_colour colour;		/* AUTO: if the output is a terminal and NO_COLOR is not
					 * set */
	unsigned top_blocks;		/* hottest blocks shown; 0: 5 */
	unsigned top_functions;		/* functions shown as text; 0: 20 */
	unsigned top_mix;		/* rows of the mix shown as text; 0: 14, as many as make
					 * a table */
	bool summary_only;		/* text: the totals alone */
	bool all_lines;			/* text, JSON: source lines even from large compressed
					 * debug files (callgrind and HTML always have them) */
};

enum pm_status pm_report_text(struct pm_profile *p, const struct pm_report_opts *o, FILE *to,
			      struct pm_err *err);
/* pm_report_text() to a file, without colour. */
enum pm_status pm_report_text_file(struct pm_profile *p, const struct pm_report_opts *o,
				   const char *path, struct pm_err *err);
enum pm_status pm_report_json(struct pm_profile *p, const struct pm_report_opts *o,
			      const char *path, struct pm_err *err);
/* The same as a tree, for other renderers. */
void pm_report_result(struct pm_profile *p, const struct pm_report_opts *o, struct pm_result *r);
/* One row per executed function: object,function,address,instructions,percent. */
enum pm_status pm_report_csv(struct pm_profile *p, const struct pm_report_opts *o, const char *path,
			     struct pm_err *err);
/* The same rows as a Parquet table. */
enum pm_status pm_report_parquet(struct pm_profile *p, const char *path, struct pm_err *err);
/* What KCachegrind and callgrind_annotate open. Costs are exact per instruction and line (Ir, Dr,
 * Dw). Calls: direct calls with exact counts; indirect calls and all inclusive costs are left out,
 * because counts have no call edges (inclusive cost of a call is given as 0). */
enum pm_status pm_report_callgrind(struct pm_profile *p, const struct pm_report_opts *o,
				   const char *path, struct pm_err *err);
/* The hottest functions, source and instructions with their executions, reads and writes. */
enum pm_status pm_report_annotated(struct pm_profile *p, const struct pm_report_opts *o,
				   const char *path, struct pm_err *err);
enum pm_status pm_report_html(struct pm_profile *p, const struct pm_report_opts *o,
			      const char *path, struct pm_err *err);

#endif
