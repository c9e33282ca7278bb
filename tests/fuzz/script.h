/* SPDX-License-Identifier: MIT */
/* script.h - an input of a fuzzer, read byte by byte; behind its end are zeros */
#ifndef PM_TESTS_SCRIPT_H
#define PM_TESTS_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

struct script { const uint8_t *p; size_t n; };

static inline uint8_t byte(struct script *s)
{
	if (!s->n)
		return 0;
	s->n--;
	return *s->p++;
}

static inline uint32_t word(struct script *s)
{
	uint32_t v = byte(s);

	v |= (uint32_t)byte(s) << 8;
	v |= (uint32_t)byte(s) << 16;
	return v | (uint32_t)byte(s) << 24;
}

#endif
