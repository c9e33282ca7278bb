/* SPDX-License-Identifier: MIT */
/* penn.h - the letters with which Penn traces, dumps and .pug files write what a micro-op does
 *
 * Each string is indexed by the enum of pugmark.h that it is named after. */
#ifndef PM_TRACE_PENN_H
#define PM_TRACE_PENN_H

#include "pugmark/pugmark.h"

#define PENN_FLAG_USE	"-RW"
#define PENN_OUTCOME	"-TN"
#define PENN_ACCESS	"-LS"
#define PENN_NONE	3		/* values below it have letters */

/* '?' for a value that has none. */
static inline char penn_letter(const char *letters, uint8_t value)
{
	return value < PENN_NONE ? letters[value] : '?';
}

/* PENN_NONE if @c is none of the letters. */
static inline uint8_t penn_value(const char *letters, char c)
{
	return c == letters[0] ? 0 : c == letters[1] ? 1 : c == letters[2] ? 2 : PENN_NONE;
}

#endif
