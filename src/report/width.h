/* SPDX-License-Identifier: MIT */
/* width.h - how wide a line of text may be, and text in such lines */
#ifndef PM_REPORT_WIDTH_H
#define PM_REPORT_WIDTH_H

#include <stddef.h>

#define PM_ANY_WIDTH ((size_t)1 << 20)	/* nothing is cut */

/* PUGMARK_COLUMNS, if it is set. Else of a terminal COLUMNS, or its own width. Else any: who reads
 * a file or a pipe wants all of it, also where a shell exports COLUMNS. @fd -1: a file. At least
 * 40. */
size_t pm_report_width(int fd);
size_t pm_report_width_of(const char *path);	/* "-": standard output */

struct pm_buf;
/* @text in lines of @width columns, the last with its end. The first begins at column @at, where
 * it stands already, the others are indented to @indent. Only a word that is longer than a line
 * does not fit. */
void pm_report_wrapped(struct pm_buf *to, const char *text, size_t at, size_t indent,
		       size_t width);

#endif
