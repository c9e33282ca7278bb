/* SPDX-License-Identifier: MIT */
/* listing_view.h - a listing as somebody wants to see it: which events, which functions, in which
 * order; shared by text, results and pages
 *
 * Ownership  pm_view_release(); a view borrows the listing and the options. */
#ifndef PM_REPORT_LISTING_VIEW_H
#define PM_REPORT_LISTING_VIEW_H

#include "report/listing_report.h"
#include "report/source.h"

struct pm_view {
	struct pm_listing *l;
	const struct pm_listing_opts *o;
	unsigned col[PM_COSTS_MAX], ncol;	/* shown */
	unsigned sort;				/* event that functions are sorted by */
	uint32_t *order;			/* functions, most of @sort first */
	size_t norder;
	unsigned top;				/* functions shown with their code */
	size_t width;				/* columns of text; PM_ANY_WIDTH: any */
	uint64_t total[PM_COSTS_MAX];
	struct pm_source_files files;
};

enum pm_status pm_view_init(struct pm_view *v, struct pm_listing *l,
			    const struct pm_listing_opts *o, struct pm_err *err);
void pm_view_release(struct pm_view *v);
/* All events of one instruction. */
void pm_view_costs(const struct pm_view *v, const struct pm_listing_insn *i, uint64_t *x);
const char *pm_view_base_name(const char *path);

#endif
