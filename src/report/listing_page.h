/* SPDX-License-Identifier: MIT */
/* listing_page.h - costs beside the code as views of a page: functions, source lines, objects, and
 * the hottest code with source and instructions side by side
 *
 *	struct pm_listing_page *p = pm_listing_page_new(l, &opts, &err);
 *	pm_listing_page_overview(p, &overview);		what costs most, and what is odd about it
 *	... the overview is written ...
 *	pm_listing_page_html(p, &h);
 *	pm_listing_page_free(p);
 *
 * The code shown is limited by its size, for a page has to open on a phone: the hottest functions,
 * and of a very long one the hottest instructions. */
#ifndef PM_REPORT_LISTING_PAGE_H
#define PM_REPORT_LISTING_PAGE_H

#include "report/listing_report.h"
#include "report/overview.h"

struct pm_html;
struct pm_listing_page;

/* NULL: an event or function that is not there; @err says which. */
struct pm_listing_page *pm_listing_page_new(struct pm_listing *l, const struct pm_listing_opts *o,
					    struct pm_err *err);
void pm_listing_page_overview(struct pm_listing_page *p, struct pm_overview *o);
void pm_listing_page_html(struct pm_listing_page *p, struct pm_html *h);
void pm_listing_page_free(struct pm_listing_page *p);		/* NULL is fine */

#endif
