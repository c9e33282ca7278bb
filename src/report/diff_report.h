/* SPDX-License-Identifier: MIT */
/* diff_report.h - what differs (analyse/diff.h) as text, JSON and a page */
#ifndef PM_REPORT_DIFF_REPORT_H
#define PM_REPORT_DIFF_REPORT_H

#include "analyse/diff.h"
#include "analyse/diff_trace.h"
#include "analyse/tree.h"

struct pm_result;

struct pm_diff_report {
	const struct pm_diff *d;
	const struct pm_diff_threads *threads;	/* of traces; else NULL */
	const struct pm_diff_gate *gate;
	size_t ngate;
	const char *measure;		/* tables show this one, where they have it; NULL: the
					 * first that differs */
	size_t rows;			/* of a table, at most */
	const struct pm_tree *tree[2];	/* calling contexts of both, for a page; else NULL */
};

bool pm_diff_differs(const struct pm_diff_report *o);
/* Lines have at most @width characters (width.h). */
void pm_diff_text(const struct pm_diff_report *o, size_t width, struct pm_buf *to);
/* docs/schemas/diff.json: all rows that differ, with all measures. */
void pm_diff_result(const struct pm_diff_report *o, struct pm_result *r);
enum pm_status pm_diff_html(const struct pm_diff_report *o, const char *path, struct pm_err *err);

/* "1,234", "0.25"; "-": not there. */
const char *pm_diff_number(struct pm_diff_value v, char buf[static 32]);
/* "+1,234" */
const char *pm_diff_change(struct pm_diff_value a, struct pm_diff_value b, char buf[static 40]);
/* "+6.8 %"; "new" from 0. */
const char *pm_diff_percent(struct pm_diff_value a, struct pm_diff_value b, char buf[static 24]);
/* "2,000 is more than +1%..." what a condition found, behind what is in @to. */
void pm_diff_gate_text(const struct pm_diff_gate *g, struct pm_buf *to);

#endif
