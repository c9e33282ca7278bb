/* SPDX-License-Identifier: MIT */
/* listing_report.h - costs beside the code: functions, then for each its source and instructions
 *
 * Text shows the code in order of address, a source line where it changes, with the numbers in
 * front: executions and the worst events that there is room for, unless told which. JSON
 * (pm_listing_result), callgrind and pages (listing_page.h) have all of them. */
#ifndef PM_REPORT_LISTING_REPORT_H
#define PM_REPORT_LISTING_REPORT_H

#include "analyse/annotator.h"
#include "base/err.h"

struct pm_listing_opts {
	unsigned top;			/* functions shown with their code; 0: 5 */
	const char *events;		/* "Ir,D1mr,Bcm"; NULL: executions and the worst */
	const char *sort;		/* event; NULL: the first */
	const char *function;		/* only this one; NULL: the @top */
	const char *source;		/* a folder to look for sources in; NULL: where they were
					 * compiled */
	size_t width;			/* of a line of text (width.h); 0: nothing is cut */
	bool intel, lines;		/* lines: whole source files with their sums instead of
					 * functions */
};

/* Are the events that @o names columns of @c? So that it is known before all is counted. */
enum pm_status pm_listing_check(const struct pm_costs *c, const struct pm_listing_opts *o,
				struct pm_err *err);
/* An event that is not in the table, a function that did not run: an error that names what there
 * is. */
enum pm_status pm_listing_print(struct pm_listing *l, const struct pm_listing_opts *o,
				struct pm_buf *to, struct pm_err *err);
/* "annotate": events, totals, functions, lines; the instructions of the functions that text
 * shows. */
enum pm_status pm_listing_result(struct pm_listing *l, const struct pm_listing_opts *o,
				 struct pm_result *r, struct pm_err *err);
/* For callgrind_annotate and KCachegrind: the listing of @a with every event, and the call graph if
 * there is one; inclusive costs as pm_annotator_edge() knows them. */
void pm_listing_callgrind(struct pm_annotator *a, struct pm_buf *to);

#endif
