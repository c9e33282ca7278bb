/* SPDX-License-Identifier: MIT */
/* profile_costs.h - a profile as a table of costs: executions, reads and writes per instruction
 *
 * Addresses are those in the ELF files, told apart by the number of the object above bit 48. */
#ifndef PM_ANALYSE_PROFILE_COSTS_H
#define PM_ANALYSE_PROFILE_COSTS_H

#include "analyse/listing.h"
#include "analyse/profile.h"

/* Into empty @c and @book, which the caller releases. */
void pm_profile_costs(struct pm_profile *p, struct pm_costs *c, struct pm_code_book *book);

#endif
