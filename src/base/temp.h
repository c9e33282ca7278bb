/* SPDX-License-Identifier: MIT */
/* temp.h - files that nobody else looks at (yet), read and written at once wherever that is asked
 * for
 *
 * Errors     PM_ERR or -1, and @err says why. */
#ifndef PM_BASE_TEMP_H
#define PM_BASE_TEMP_H

#include <stddef.h>
#include <stdint.h>

#include "pugmark/err.h"

/* A temporary file without a name, to read and write; -1 after pm_fail. */
int pm_temp_file(struct pm_err *err);
/* All @n bytes at @at of it. */
enum pm_status pm_temp_read(int fd, void *p, size_t n, uint64_t at, struct pm_err *err);
enum pm_status pm_temp_write(int fd, const void *p, size_t n, uint64_t at, struct pm_err *err);

#endif
