/* SPDX-License-Identifier: MIT */
/* batches.h - batches that a caller made: checked, and laid out as this library's header has them
 *
 * Whatever is behind it takes it that
 * (1) ids lead somewhere or are PM_NONE, and blocks lead to instructions;
 * (2) what refers to the arena lies in it; names do, and end there;
 * (3) a stream or code table stays where it was;
 * (4) streams are numbered without large gaps.
 * Pointers and numbers of elements cannot be checked. */
#ifndef PM_LIBRARY_BATCHES_H
#define PM_LIBRARY_BATCHES_H

#include "pugmark/library.h"

struct pm_batches;
struct pm_batches *pm_batches_new(void);
/* @b, or the same as this library has it; NULL on error. Borrowed until the next call, the stream
 * and the code table until free. */
const struct pm_batch *pm_batches_check(struct pm_batches *c, const struct pm_batch *b,
					struct pm_err *err);
void pm_batches_free(struct pm_batches *c);		/* NULL is fine */

#endif
