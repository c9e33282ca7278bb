/* SPDX-License-Identifier: MIT */
/* chart.c - Chart.js (MIT licence, its notice is its first line), if report.mk found it */
#include "report/chart.h"

#ifdef PM_CHART_JS
__asm__(".section .rodata\n"
	".balign 16\n"
	"pm_chart_js_begin:\n"
	".incbin \"" PM_CHART_JS "\"\n"
	"pm_chart_js_end:\n"
	".byte 0\n"
	".previous\n");
extern const char pm_chart_js_begin[], pm_chart_js_end[];

const char *pm_chart_js(size_t *n)
{
	*n = (size_t)(pm_chart_js_end - pm_chart_js_begin);
	return pm_chart_js_begin;
}
#else
const char *pm_chart_js(size_t *n)
{
	*n = 0;
	return NULL;
}
#endif
