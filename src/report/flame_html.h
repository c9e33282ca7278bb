/* SPDX-License-Identifier: MIT */
/* flame_html.h - a flame graph as a view of a page: exact, from every call that was executed
 *
 * Each event that the tree has can be looked at; contexts that make too little of all of them to be
 * seen are left out. */
#ifndef PM_REPORT_FLAME_HTML_H
#define PM_REPORT_FLAME_HTML_H

#include "analyse/tree.h"
#include "report/html.h"

/* @event is shown first. Nothing if the tree has no contexts. */
void pm_flame_html(struct pm_html *h, const struct pm_tree *t, unsigned event);
/* The difference of two: contexts are matched by the names on their paths. */
void pm_flame_diff_html(struct pm_html *h, const struct pm_tree *a, const struct pm_tree *b);

#endif
