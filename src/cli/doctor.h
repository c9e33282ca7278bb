/* SPDX-License-Identifier: MIT */
/* doctor.h - what this machine allows pugmark to do, found out by trying it
 *
 * A check tries in a child of its own whatever could change this process. */
#ifndef PM_CLI_DOCTOR_H
#define PM_CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

enum verdict { VERDICT_OK, VERDICT_LIMITED, VERDICT_CANNOT };

struct ability {
	const char *name;		/* one word */
	enum verdict verdict;
	struct pm_buf text;		/* what is the case, and what it means */
	struct pm_buf advice;		/* what to do about it; empty: nothing */
};

/* All checks in their order; the last one, "run", says whether `pugmark run` works: it runs a
 * program twice. *@v is the caller's: doctor_release(). */
size_t doctor_examine(struct ability **v);
void doctor_release(struct ability *v, size_t n);
const char *doctor_verdict(enum verdict v);	/* ok, limited, cannot */

#endif
