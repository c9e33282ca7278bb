/* SPDX-License-Identifier: MIT */
/* out.h - finished reports to files, and numbers and names as reports print them */
#ifndef PM_REPORT_OUT_H
#define PM_REPORT_OUT_H

#include "base/err.h"
#include "base/mem.h"
#include "base/parquet.h"

/* Whether that could work, for all @n: asked before hours are spent on what is to be written. NULL
 * is fine. */
enum pm_status pm_report_can_save(const char *const *path, size_t n, struct pm_err *err);

/* "1,234,567" into @buf, which is returned. */
const char *pm_report_number(uint64_t v, char buf[static 32]);
double pm_percent(uint64_t part, uint64_t of);		/* 0 of 0 is 0 */
/* The one notation of shares, "20.8 %", into @buf, which is returned. What is not quite 0 or 100
 * does not become it: "<0.1 %", ">99.9 %". */
const char *pm_report_share(double percent, char buf[static 16]);
/* A ratio of events, such as misses per access: likewise with two decimals. */
const char *pm_report_rate(double percent, char buf[static 16]);
/* @s as base/printable.h writes it, at most @max characters ("..." ends a cut one; @tail keeps the
 * end instead of the beginning). How many characters that are. */
size_t pm_report_text_of(struct pm_buf *to, const char *s, size_t max, int tail);
/* A CSV field as base/printable.h writes it, quoted where RFC 4180 wants it. In front of one that
 * begins with = + - or @, which spreadsheets take for a formula, and goes on, stands an
 * apostrophe. */
void pm_report_csv_field(struct pm_buf *to, const char *s);
/* A Parquet file's bytes behind what is in @to. */
struct pm_parquet_out pm_report_bytes(struct pm_buf *to);
/* @s as a page may show it: what is no UTF-8, control characters, and those that change the
 * direction of text become U+FFFD... */
void pm_report_shown_text(struct pm_buf *to, const char *s);
/* ... and &, <, >, " and ' as HTML writes them. */
void pm_report_html_text(struct pm_buf *to, const char *s);

#endif
