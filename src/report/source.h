/* SPDX-License-Identifier: MIT */
/* source.h - lines of source files, read when first asked for */
#ifndef PM_REPORT_SOURCE_H
#define PM_REPORT_SOURCE_H

#include "base/mem.h"

struct pm_source_files {
	const char *folder;		/* NULL, or where to look besides: folder/PATH, then with
					 * ever fewer of PATH's leading folders */
	struct pm_source_file { char *path, *text, **line; size_t n; } *file;
	size_t n, cap;
};

/* Line @line (from 1) of @path with its indentation, tabs as blanks; NULL: not there. */
const char *pm_source_line(struct pm_source_files *s, const char *path, unsigned line);
void pm_source_release(struct pm_source_files *s);

#endif
