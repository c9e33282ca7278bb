/* SPDX-License-Identifier: MIT */
/* html.h - a self-contained page: totals, tables, charts; for reports of every kind
 *
 * Tables are plain HTML and say everything; a script sorts and filters them. Charts show some of it
 * once more, by Chart.js, which is put into the page if it was there when pugmark was built
 * (`make charts` fetches it); otherwise the page says that charts are left out. No page ever loads
 * anything.
 *
 * Ownership  pm_html_finish() gives the page to a file; pm_html_release() in any case. */
#ifndef PM_REPORT_HTML_H
#define PM_REPORT_HTML_H

#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"

struct pm_html {
	struct pm_buf b;
	unsigned sections, columns, column;
	bool filterable;
	uint32_t numeric;		/* columns of the table that is open: bit i */
	bool charts;			/* at least one was wanted */
};

bool pm_html_has_charts(void);		/* was the chart library there at build time? */

void pm_html_begin(struct pm_html *h, const char *title, const char *subtitle);
void pm_html_warning(struct pm_html *h, const char *text);
/* Totals side by side: begin, some cards, end. @hint may be NULL. */
void pm_html_cards_begin(struct pm_html *h);
void pm_html_card(struct pm_html *h, const char *label, const char *value, const char *hint);
void pm_html_cards_end(struct pm_html *h);
void pm_html_section(struct pm_html *h, const char *title, const char *hint);
/* A command line, as it was typed. */
void pm_html_command(struct pm_html *h, const char *command);
/* What is folded away under one line. */
void pm_html_details_begin(struct pm_html *h, const char *summary);
void pm_html_details_end(struct pm_html *h);
/* @columns: headings separated by '|', a leading '#' makes one numeric. Cells follow row by row. */
void pm_html_table_begin(struct pm_html *h, const char *columns, bool filterable);
void pm_html_cell(struct pm_html *h, const char *text);
void pm_html_cell_u64(struct pm_html *h, uint64_t v);
void pm_html_cell_percent(struct pm_html *h, double percent);	/* with a bar behind it */
void pm_html_table_end(struct pm_html *h);

/* Horizontal bars: one for each label. */
struct pm_html_bar {
	const char *label;
	double value;
};
void pm_html_bars(struct pm_html *h, const char *title, const char *unit,
		  const struct pm_html_bar *bar, size_t n);
/* A line through @n points. */
enum pm_html_line_flag { PM_HTML_LOG = 1 << 0 /* logarithmic x axis */, PM_HTML_STEP = 1 << 1 };
void pm_html_line(struct pm_html *h, const char *title, const char *x_name, const char *y_name,
		  const double *x, const double *y, size_t n, unsigned flags);

/* A rectangle of colours, the more the stronger (by logarithm): @rows rows of @columns values,
 * first row at the bottom, with a label for each row. */
void pm_html_heat(struct pm_html *h, const char *title, const char *x_name, const char *unit,
		  const char *const *row, const double *v, size_t rows, size_t columns);

enum pm_status pm_html_finish(struct pm_html *h, const char *path, struct pm_err *err);
void pm_html_release(struct pm_html *h);

#endif
