/* SPDX-License-Identifier: MIT */
/* utf8.h - strings of whoever knows which encoding, where only UTF-8 may stand */
#ifndef PM_BASE_UTF8_H
#define PM_BASE_UTF8_H

#include "base/mem.h"

/* The length of the well-formed sequence at @s, of which there are @n bytes or, @n being 4, a
 * terminated string; 0 if there is none. */
unsigned pm_utf8_len(const void *s, size_t n);
/* ... of the terminated string @s, and *@code gets its character. */
unsigned pm_utf8_char(const char *s, uint32_t *code);
/* Is all of @s well-formed? */
bool pm_utf8_is(const void *s, size_t n);
/* @n bytes at @s behind what is in @to; a byte that belongs to no sequence becomes \x9b, as in
 * printable.h. */
void pm_utf8_add(struct pm_buf *to, const void *s, size_t n);

#endif
