/* SPDX-License-Identifier: MIT */
/* printable.h - names of files, functions and threads come from outside: they may hold anything
 *
 * What a terminal would obey, and what would deceive a reader, is written as an escape sequence:
 *
 *   \t \n \r \e   control characters; \x07 the others
 *   \x9b          a byte that is not UTF-8
 *   \u202e        Unicode: controls U+0080 to U+009f, line and paragraph separators, and
 *                 whatever changes the direction of text
 *
 * A backslash that the name has itself stays as it is. */
#ifndef PM_BASE_PRINTABLE_H
#define PM_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/* Is @code written as it is? */
bool pm_is_printable(uint32_t code);

/* @s with escape sequences. @buf, which is returned, has @size bytes; a longer text is cut between
 * two characters or escapes. */
const char *pm_printable(const char *s, char *buf, size_t size);
/* All of it behind what is in @to, without a zero byte. */
void pm_printable_add(struct pm_buf *to, const char *s);

#endif
