/* SPDX-License-Identifier: MIT */
/* err.h - errors are part of the public interface; see there */
#ifndef PM_BASE_ERR_H
#define PM_BASE_ERR_H

#include <stdio.h>

#include "pugmark/err.h"

/* "pugmark: FILE:PLACE: MESSAGE\n" to @to; only cli/ calls it. */
void pm_err_print(const struct pm_err *e, FILE *to);

#endif
