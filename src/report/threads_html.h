/* SPDX-License-Identifier: MIT */
/* threads_html.h - the processes and threads of a trace as a view of a page */
#ifndef PM_REPORT_THREADS_HTML_H
#define PM_REPORT_THREADS_HTML_H

#include <stddef.h>

struct pm_html;
struct pm_overview;
struct pm_threads;

/* Their numbers, unless they are known. */
void pm_threads_overview(const struct pm_threads *t, struct pm_overview *o);
/* Nothing, if the trace knows neither processes nor several threads. */
void pm_threads_html(struct pm_html *h, const struct pm_threads *t);

#endif
