/* SPDX-License-Identifier: MIT */
/* radix.h - sort records by numbers in them, without comparing
 *
 * Profiles are tens of thousands of records with an address or two each. qsort() calls a function
 * for each of sixteen comparisons a record; this looks at the bits that differ at all, eleven at a
 * time. As stable as qsort() of glibc: records with equal numbers stay in their order. */
#ifndef PM_BASE_RADIX_H
#define PM_BASE_RADIX_H

#include <stddef.h>

struct pm_radix_key {
	size_t at;			/* offset in the record, bytes */
	unsigned bytes;			/* of an unsigned number: 1, 4 or 8 */
};

/* Sorts @n records of @size bytes by key[0 .. nkey), the first being the most significant. */
void pm_radix_sort(void *records, size_t n, size_t size, const struct pm_radix_key *key,
		   unsigned nkey);

#endif
