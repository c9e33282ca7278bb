/* SPDX-License-Identifier: MIT */
/* number.h - numbers as users write them: decimal, 0x hex, with a suffix k, M or G */
#ifndef PM_BASE_NUMBER_H
#define PM_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* "12", "0x1f", "64k", "1M": false if it is no such number. */
bool pm_parse_u64(const char *s, uint64_t *v);
/* The same with k, M, G meaning powers of 1024: sizes in bytes. */
bool pm_parse_size(const char *s, uint64_t *v);

#endif
