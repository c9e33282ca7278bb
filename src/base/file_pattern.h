/* SPDX-License-Identifier: MIT */
/* file_pattern.h - names of output files with %p, %n and their like in them
 *
 * %% stands for a percent sign; any other letter that is none of the pattern's stays as it is. */
#ifndef PM_BASE_FILE_PATTERN_H
#define PM_BASE_FILE_PATTERN_H

#include <stdbool.h>

#include "base/mem.h"

/* What the letter behind a percent sign stands for. The last one has letter 0. */
struct pm_pattern_value { char letter; const char *text; };

bool pm_pattern_has(const char *pattern, char letter);
/* Adds @pattern with its values, terminated, to @to. */
void pm_pattern_expand(const char *pattern, const struct pm_pattern_value *v, struct pm_buf *to);

#endif
