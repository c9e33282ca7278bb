/* SPDX-License-Identifier: MIT */
/* findings.h - what is odd about the numbers of a report, for its first screen
 *
 * A finding is computed from the data of the page, has a threshold, and leads to the place.
 * docs/report.md lists them all under their names, with the reason of each threshold; a number that
 * does not cross it is not odd, and is not mentioned. */
#ifndef PM_REPORT_FINDINGS_H
#define PM_REPORT_FINDINGS_H

#include "analyse/listing.h"
#include "analyse/profile.h"
#include "base/result.h"
#include "report/overview.h"

/* Of fewer events than these nothing is said: that many come with the start of any program. */
#define PM_FINDINGS_LEAST	1000

struct pm_view;
struct pm_listing_page;

/* From what each instruction cost. */
struct pm_findings_listing {
	const struct pm_listing *l;
	const struct pm_view *v;
	const struct pm_listing_line *line;	/* all, in any order */
	size_t nline;
	/* Where a place is in the page: into @buf, or NULL. */
	struct pm_listing_page *page;
	const char *(*line_link)(struct pm_listing_page *page, uint32_t file, unsigned line,
				 char buf[static 64]);
	const char *(*function_link)(const struct pm_listing_page *page, size_t rank,
				     char buf[static 64]);
};
void pm_findings_listing(struct pm_overview *o, const struct pm_findings_listing *f);

/* From a profile: the mix, blocks, processes and times. */
void pm_findings_profile(struct pm_overview *o, struct pm_profile *p);

/* From results of simulators. */
void pm_findings_result(struct pm_overview *o, const struct pm_result_node *root);

#endif
