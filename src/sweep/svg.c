/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/html.h"
#include "sweep/plots.h"

#define WIDTH	760.0
#define LETTER	6.9		/* a letter's width, on average */
#define LABEL	60u		/* letters of a text, at most */

static void begin(struct pm_html *h, const char *title, double height, const char *about)
{
	/* where the window is narrow it scrolls: letters stay as large as they are */
	pm_html_markup(h, "<figure class=\"fixed\"><figcaption>");
	pm_html_text(h, title);
	pm_buf_printf(&h->b, "</figcaption><svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
		      "aria-label=\"", WIDTH, height);
	pm_html_text(h, about);
	pm_html_markup(h, "\">");
}

static void end(struct pm_html *h)
{
	pm_html_markup(h, "</svg></figure>\n");
}

static void text(struct pm_html *h, double x, double y, const char *anchor, const char *s)
{
	pm_buf_printf(&h->b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	pm_html_text_cut(h, s, LABEL);
	pm_html_markup(h, "</text>");
}

static void line(struct pm_html *h, double x1, double y1, double x2, double y2)
{
	pm_buf_printf(&h->b, "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
		      "y2=\"%.1f\"/>", x1, y1, x2, y2);
}

static void title(struct pm_html *h, const char *name, double v)
{
	pm_html_markup(h, "<title>");
	pm_html_text(h, name);
	pm_buf_printf(&h->b, ": %.6g</title>", v);
}

void sweep_svg_heat(struct pm_html *h, const char *caption, const char *x, const char *y,
		    const char *const *xs, size_t nx, const char *const *ys, size_t ny,
		    const double *v)
{
	const double left = 110, top = 8, high = 26, wide = (WIDTH - left - 10) / (double)nx;
	double least = INFINITY, most = -INFINITY;
	char number[32];

	for (size_t i = 0; i < nx * ny; i++)
		if (!isnan(v[i])) {
			least = fmin(least, v[i]);
			most = fmax(most, v[i]);
		}
	begin(h, caption, top + high * (double)ny + 44, "A heat map; the table has the numbers");
	for (size_t r = 0; r < ny; r++) {
		double at = top + high * (double)(ny - 1 - r);

		text(h, left - 6, at + 17, "end", ys[r]);
		for (size_t c = 0; c < nx; c++) {
			double is = v[r * nx + c], x0 = left + wide * (double)c;
			double part = most > least ? (is - least) / (most - least) : 0.5;

			if (isnan(is))
				continue;
			pm_buf_printf(&h->b, "<rect class=\"heatcell\" x=\"%.1f\" y=\"%.1f\" "
				      "width=\"%.1f\" height=\"%.1f\" opacity=\"%.2f\">", x0, at,
				      wide - 1, high - 1, 0.08 + 0.62 * part);
			title(h, xs[c], is);
			pm_html_markup(h, "</rect>");
			snprintf(number, sizeof number, "%.4g", is);
			if (wide > 40)
				text(h, x0 + wide / 2, at + 17, "middle", number);
		}
	}
	for (size_t c = 0; c < nx; c++)
		if (wide > 30 || c % (size_t)(30 / wide + 1) == 0)
			text(h, left + wide * ((double)c + 0.5), top + high * (double)ny + 16,
			     "middle", xs[c]);
	text(h, left + wide * (double)nx / 2, top + high * (double)ny + 36, "middle", x);
	text(h, left - 6, top + high * (double)ny + 16, "end", y);
	end(h);
}

/* 1, 2 or 5 times a power of ten: about @n steps from 0 to @span. */
static double step_of(double span, double n)
{
	double raw = span / n, power = pow(10, floor(log10(raw)));

	for (unsigned i = 0; i < 3; i++) {
		double s = power * (i == 0 ? 1 : i == 1 ? 2 : 5);

		if (s >= raw)
			return s;
	}
	return 10 * power;
}

/* A number short enough for an axis. */
static const char *axis_number(double v, char to[static 32])
{
	static const char letter[] = { 'k', 'M', 'G', 'T' };
	unsigned k = 0;

	if (v < 1024 || fmod(v, 1024) != 0) {
		snprintf(to, 32, v < 1e6 ? "%.6g" : "%.3g", v);
		return to;
	}
	for (v /= 1024; v >= 1024 && k + 1 < NR(letter); v /= 1024)	/* bytes, or the like */
		k++;
	snprintf(to, 32, "%.4g%c", v, letter[k]);
	return to;
}

void sweep_svg_front(struct pm_html *h, const char *caption, const char *x, const char *y,
		     const double *xs, const double *ys, const bool *front,
		     const char *const *names, size_t n)
{
	const double left = 70, right = WIDTH - 14, top = 10, bottom = 280;
	double lo = INFINITY, hi = -INFINITY, most = 0, step, last = -1;
	bool log = true;
	char number[32];

	for (size_t i = 0; i < n; i++) {
		lo = fmin(lo, xs[i]);
		hi = fmax(hi, xs[i]);
		most = fmax(most, ys[i]);
	}
	log = lo > 0 && hi / lo > 8;
	if (!(most > 0) || !(hi > lo))
		return;
#define SX(v) (left + 10 + (log ? (log2(v) - log2(lo)) / (log2(hi) - log2(lo)) \
			   : ((v) - lo) / (hi - lo)) * (right - left - 20))
#define SY(v) (bottom - (v) / (most * 1.05) * (bottom - top))
	begin(h, caption, bottom + 44, "A Pareto front; the table has the numbers");
	step = step_of(most, 5);
	for (double t = 0; t <= most * 1.05; t += step) {
		line(h, left, SY(t), right, SY(t));
		snprintf(number, sizeof number, "%.4g", t);
		text(h, left - 6, SY(t) + 4, "end", number);
	}
	for (size_t i = 0; i < n; i++)		/* where points are, if there is room */
		if (SX(xs[i]) - last > 60 || last < 0) {
			last = SX(xs[i]);
			text(h, last, bottom + 17, "middle", axis_number(xs[i], number));
		}
	pm_html_markup(h, "<path class=\"curve\" d=\"");
	last = -1;
	for (size_t i = 0; i < n; i++)
		if (front[i]) {
			pm_buf_printf(&h->b, "%s%.1f,%.1f", last < 0 ? "M" : "L", SX(xs[i]),
				      SY(ys[i]));
			last = 0;
		}
	pm_html_markup(h, "\"/>");
	for (size_t i = 0; i < n; i++) {
		pm_buf_printf(&h->b, "<circle class=\"heatcell\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" "
			      "opacity=\"%s\">", SX(xs[i]), SY(ys[i]), front[i] ? 5 : 3,
			      front[i] ? "1" : "0.45");
		title(h, names[i], ys[i]);
		pm_html_markup(h, "</circle>");
	}
	text(h, (left + right) / 2, bottom + 38, "middle", x);
	text(h, left - 6, top, "end", y);
	end(h);
#undef SX
#undef SY
}

void sweep_svg_bars(struct pm_html *h, const char *caption, const char *const *names,
		    const double *v, size_t n)
{
	const double right = WIDTH - 60, top = 8, high = 20, bottom = top + high * (double)n;
	double least = 1, most = 1, left = 60, step;
	char number[32];

	for (size_t i = 0; i < n; i++) {
		const double letters = (double)strnlen(names[i], LABEL);

		least = fmin(least, v[i]);
		most = fmax(most, v[i]);
		left = fmax(left, LETTER * letters + 14);
	}
	if (least < 1 || most > 1)
		least = fmin(least, 1 - (most - 1) * 0.05);
	else
		most = 1.01;
#define SX(x) (left + ((x) - least) / (most - least) * (right - left))
	begin(h, caption, bottom + 24, "Bars; the table has the numbers");
	step = step_of(most - least, 6);
	for (double t = ceil(least / step) * step; t <= most; t += step) {
		line(h, SX(t), top, SX(t), bottom);
		snprintf(number, sizeof number, "%.4g", t);
		text(h, SX(t), bottom + 16, "middle", number);
	}
	for (size_t i = 0; i < n; i++) {
		double at = top + high * (double)i, from = fmin(SX(1), SX(v[i]));

		text(h, left - 8, at + 14, "end", names[i]);
		pm_buf_printf(&h->b, "<rect class=\"heatcell\" opacity=\"0.7\" x=\"%.1f\" "
			      "y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">", from, at + 3,
			      fmax(1, fabs(SX(v[i]) - SX(1))), high - 6);
		title(h, names[i], v[i]);
		pm_html_markup(h, "</rect>");
		snprintf(number, sizeof number, "%.3f", v[i]);
		text(h, fmax(SX(v[i]), SX(1)) + 5, at + 14, "start", number);
	}
	end(h);
#undef SX
}
