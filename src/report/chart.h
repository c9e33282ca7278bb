/* SPDX-License-Identifier: MIT */
/* chart.h - the chart library as it was at build time; NULL: there was none */
#ifndef PM_REPORT_CHART_H
#define PM_REPORT_CHART_H

#include <stddef.h>

const char *pm_chart_js(size_t *n);

#endif
