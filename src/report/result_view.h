/* SPDX-License-Identifier: MIT */
/* result_view.h - any tree of results as text for a terminal, as views of a page, and as CSV
 *
 * Text: sibling objects stand side by side as columns (l1i, l1d, l2...), lists of objects are
 * tables with a row per element (the first @rows of them), and their headings say what they are
 * sorted by. HTML: views of a page (html.h) with the scalars as cards, lists of objects as tables,
 * and a line where a table runs over a number (its first column), through its first column of
 * fractions. CSV: one line per value, `path,value,unit`; elements of lists are numbered from 0.
 * Parquet: the same rows (result_parquet.c). */
#ifndef PM_REPORT_RESULT_VIEW_H
#define PM_REPORT_RESULT_VIEW_H

#include "base/err.h"
#include "base/mem.h"

struct pm_result;
/* @width of a line: see width.h. */
void pm_result_text(const struct pm_result *r, unsigned rows, size_t width, struct pm_buf *to);
/* That to standard output, as wide as it is there. */
enum pm_status pm_result_print(const struct pm_result *r, unsigned rows, struct pm_err *err);
/* The result as JSON to the file @json, unless that is NULL; and as text, likewise, unless the JSON
 * went there. */
enum pm_status pm_result_show(const struct pm_result *r, unsigned rows, const char *json,
			      struct pm_err *err);
struct pm_result_node;
/* The path of @c, element @i of @in, whose own is @path; terminated. */
void pm_result_path(struct pm_buf *to, const struct pm_result_node *in, const char *path,
		    const struct pm_result_node *c, size_t i);
void pm_result_csv(const struct pm_result *r, struct pm_buf *to);
enum pm_status pm_result_parquet(const struct pm_result *r, struct pm_buf *to, struct pm_err *err);
struct pm_html;
struct pm_overview;
/* What ran, where it went, what is odd, what to try next, as the results tell it. @file: the trace,
 * NULL where a program ran. */
void pm_result_overview(const struct pm_result *r, const char *file, struct pm_overview *o);
/* A view for each of them. */
void pm_result_html_into(const struct pm_result *r, struct pm_html *h);
enum pm_status pm_result_html(const struct pm_result *r, const char *title, const char *subtitle,
			      const char *path, struct pm_err *err);

#endif
