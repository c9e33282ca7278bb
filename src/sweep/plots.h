/* SPDX-License-Identifier: MIT */
/* plots.h - a sweep's results as a page: a heat map over two parameters, a Pareto front, speed-up
 * bars, and a table of configurations
 *
 * Of one of the plan's simulators, and one number of its results. */
#ifndef PM_SWEEP_PLOTS_H
#define PM_SWEEP_PLOTS_H

#include "sweep/table.h"

struct sweep_plots {			/* NULL: chosen */
	const char *simulator;		/* the plan's name */
	const char *x, *y;		/* parameters of the heat map */
	const char *value;		/* a number of the results */
	const char *cost;		/* parameter or number, for the front; default: all sizes */
	const char *baseline;		/* PARAMETER=VALUE,...: speed-ups are against this one */
	bool more;			/* more of the value is better; default: by its name */
};
/* Errors are requests: names that are not there. */
enum pm_status sweep_plots_html(struct sweep_table *t, const struct sweep_plots *o,
				const char *path, struct pm_err *err);

/* svg.c: one chart each, as markup of its own, which is there without a script, too. */
struct pm_html;
/* @v: @ny rows of @nx values, NaN: none; first row at the bottom. */
void sweep_svg_heat(struct pm_html *h, const char *title, const char *x, const char *y,
		    const char *const *xs, size_t nx, const char *const *ys, size_t ny,
		    const double *v);
/* Points, those of the front joined; @front[i]: it is one of them. In rising order of x. */
void sweep_svg_front(struct pm_html *h, const char *title, const char *x, const char *y,
		     const double *xs, const double *ys, const bool *front,
		     const char *const *names, size_t n);
/* Bars from 1 to the right or left. */
void sweep_svg_bars(struct pm_html *h, const char *title, const char *const *names,
		    const double *v, size_t n);

#endif
