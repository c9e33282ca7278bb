/* SPDX-License-Identifier: MIT */
/* html.h - a self-contained page: views, tables, charts; for reports of every kind
 *
 * A page is a sequence of views ("Overview", "Functions"...). With a script one is shown at a time,
 * without one they follow each other. Tables are plain HTML; the script sorts, filters and searches
 * them, and draws the charts. Views and sections without content leave nothing behind.
 *
 * No page ever loads anything: its policy (Content-Security-Policy) allows nothing but the one
 * script and the one style that are in it, by their hashes. Text is escaped; what is no UTF-8, and
 * what would change the direction of the text around it, is replaced.
 *
 * Ownership  pm_html_finish() gives the page to a file; pm_html_release() in any case. */
#ifndef PM_REPORT_HTML_H
#define PM_REPORT_HTML_H

#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"

struct pm_html {
	struct pm_buf b;
	unsigned ids, columns, column;
	uint64_t numeric;		/* columns of the table that is open: bit i */
	bool details;			/* one is open: its sections are in it */
	/* what is open, and where it and its content begin: dropped if nothing follows */
	struct pm_html_part { bool open; size_t from, content; } view, section;
};

/* Bytes of any kind as text of an element or attribute. */
void pm_html_text(struct pm_html *h, const char *s);
/* HTML of our own, as it is. */
void pm_html_markup(struct pm_html *h, const char *s);
/* ... at most @max of them. */
void pm_html_text_cut(struct pm_html *h, const char *s, size_t max);
/* ... and as a string of JSON in a script element. */
void pm_html_json(struct pm_html *h, const char *s);

/* @title: of the window; @about: in the bar at the top. */
void pm_html_begin(struct pm_html *h, const char *title, const char *about);
/* Ends the view before. @id: letters, links lead to "#id"; @group: its heading in the
 * navigation. */
void pm_html_view(struct pm_html *h, const char *id, const char *name, const char *group);
/* Ends the section before. @hint may be NULL. */
void pm_html_section(struct pm_html *h, const char *title, const char *hint);
void pm_html_warning(struct pm_html *h, const char *text);
void pm_html_note(struct pm_html *h, const char *text);
/* Numbers side by side: begin, some, end. @hint may be NULL. */
void pm_html_cards_begin(struct pm_html *h);
void pm_html_card(struct pm_html *h, const char *label, const char *value, const char *hint);
void pm_html_cards_end(struct pm_html *h);
/* What is folded away under one line. */
void pm_html_details_begin(struct pm_html *h, const char *summary);
void pm_html_details_end(struct pm_html *h);

/* @columns: headings separated by '|', a leading '#' makes one numeric. @name: what its rows are,
 * for people who cannot see it. @sorted: the column that the rows come sorted by, -1 for none.
 * Cells follow row by row. */
enum pm_html_order { PM_HTML_FALLING, PM_HTML_RISING };
void pm_html_table_begin(struct pm_html *h, const char *name, const char *columns, int sorted,
			 enum pm_html_order order);
void pm_html_cell(struct pm_html *h, const char *text);
/* A name that leads somewhere; @link NULL: nowhere. */
void pm_html_cell_link(struct pm_html *h, const char *text, const char *link);
void pm_html_cell_u64(struct pm_html *h, uint64_t v);
void pm_html_cell_number(struct pm_html *h, double v, const char *text);
void pm_html_cell_share(struct pm_html *h, double percent);	/* with a bar behind it */
/* @total NULL: all rows there are; else "of 9,312". */
void pm_html_table_end(struct pm_html *h, const char *total);

/* A line through @n points. */
enum pm_html_line_flag {
	PM_HTML_LOG = 1 << 0,		/* the x axis is logarithmic at first */
	PM_HTML_STEP = 1 << 1,
	PM_HTML_PERCENT = 1 << 2	/* y is one */
};
void pm_html_line(struct pm_html *h, const char *title, const char *x_name, const char *y_name,
		  const double *x, const double *y, size_t n, unsigned flags);

/* A rectangle of colours, the more the stronger (by logarithm): @rows rows of @columns values,
 * first row at the bottom, with a label for each row. */
void pm_html_heat(struct pm_html *h, const char *title, const char *x_name, const char *unit,
		  const char *const *row, const double *v, size_t rows, size_t columns);
/* Which of @n kinds each of the intervals was: a strip of colours. @from: where each begins. */
void pm_html_strip(struct pm_html *h, const char *title, const char *x_name, const double *from,
		   const unsigned *kind, size_t n, double end);

enum pm_status pm_html_finish(struct pm_html *h, const char *path, struct pm_err *err);
void pm_html_release(struct pm_html *h);

#endif
