/* SPDX-License-Identifier: MIT */
/* about.h - results as handles, and structs that callers of any version have */
#ifndef PM_LIBRARY_ABOUT_H
#define PM_LIBRARY_ABOUT_H

#include "base/result.h"
#include "pugmark/library.h"

/* A handle that owns @r; NULL on error, and then @r is gone, too. */
struct pm_results *pm_results_of(struct pm_result *r, struct pm_err *err);

/* @from with @size bytes into the caller's struct at @to, which begins with its size: as much as
 * there is room for. The caller's size stays. */
enum pm_status pm_about_fill(void *to, const void *from, uint32_t size, struct pm_err *err);

#endif
