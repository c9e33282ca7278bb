/* SPDX-License-Identifier: MIT */
/* sorter.h - any number of records in the order of their keys, with memory that does not grow
 *
 * Records with equal keys come out in the order in which they were put in. What does not fit is in
 * temporary files without a name, in $TMPDIR or else /tmp: 24 bytes a record, twice that while
 * runs are being merged. Memory: at most 14 MiB, most of it only once 2^17 records are there.
 *
 * Errors     the temporary files': PM_ERR, and @err says why. Afterwards only pm_sorter_free(). */
#ifndef PM_BASE_SORTER_H
#define PM_BASE_SORTER_H

#include "pugmark/err.h"

struct pm_sort_rec {
	uint64_t key, a, b;
};

struct pm_sorter *pm_sorter_new(void);
enum pm_status pm_sorter_add(struct pm_sorter *s, struct pm_sort_rec r, struct pm_err *err);
/* The next record: PM_OK, or PM_END behind the last. Nothing may be added any more. */
enum pm_status pm_sorter_next(struct pm_sorter *s, struct pm_sort_rec *r, struct pm_err *err);
void pm_sorter_free(struct pm_sorter *s);		/* NULL is fine */

#endif
