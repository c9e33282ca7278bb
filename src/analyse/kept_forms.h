/* SPDX-License-Identifier: MIT */
/* kept_forms.h - what is known about forms of instructions (isa/x86/form.h), kept between runs
 * (base/kept.h)
 *
 * A short program's instructions take longer to decode than to execute, and the next run has the
 * same. There is one file for 64-bit code and one for 32-bit code, for all programs:
 * `pugmark-forms-64` and -32. Each is at most KEEP bytes long, see kept_forms.c. */
#ifndef PM_ANALYSE_KEPT_FORMS_H
#define PM_ANALYSE_KEPT_FORMS_H

#include "base/kept.h"
#include "isa/x86/form.h"

struct pm_kept_forms {
	struct pm_forms *f;
	struct pm_kept from;
	bool i386;
};

void pm_kept_forms_open(struct pm_kept_forms *k, bool i386);
/* If that is worth it; nothing is told of what goes wrong. */
void pm_kept_forms_save(struct pm_kept_forms *k);
void pm_kept_forms_close(struct pm_kept_forms *k);	/* one that was never opened is fine */

#endif
