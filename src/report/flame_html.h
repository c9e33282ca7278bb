/* SPDX-License-Identifier: MIT */
/* flame_html.h - a flame graph as a view of a page: exact, from every call that was executed
 *
 * Contexts that make less than a two-thousandth of all instructions are summed under their
 * caller. */
#ifndef PM_REPORT_FLAME_HTML_H
#define PM_REPORT_FLAME_HTML_H

struct pm_calls;
struct pm_html;
struct pm_names;

/* Nothing, if @c kept no contexts. */
void pm_flame_html(struct pm_html *h, const struct pm_calls *c, struct pm_names *names);

#endif
