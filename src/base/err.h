/* SPDX-License-Identifier: MIT */
/* err.h - errors are part of the public interface; see there */
#ifndef PM_BASE_ERR_H
#define PM_BASE_ERR_H

#include <stdbool.h>
#include <stdio.h>

#include "pugmark/err.h"

/* What the user asked for makes no sense: an unknown name, a wrong option of a format or setting of
 * a simulator. Commands end with 2 then, as for all wrong usage, not with 1. */
__attribute__((format(printf, 2, 3)))
enum pm_status pm_fail_request(struct pm_err *e, const char *fmt, ...);

/* Has pm_fail_errno() said it, of @errnum? Struct pm_err has no room for the number. */
bool pm_err_is_errno(const struct pm_err *e, int errnum);

/* "pugmark: FILE:PLACE: MESSAGE\n" to @to; only cli/ calls it. */
void pm_err_print(const struct pm_err *e, FILE *to);

#endif
