/* SPDX-License-Identifier: MIT */
/* counted_moves.h - what a profile with edges says of branches: the profile, without any trace, of
 * branch_profile.h and coverage.h
 *
 * A profile (trace/counts.h) with edges has how often each piece of code ran, which way its
 * conditional branch went, and where its indirect one led. What a return came back to follows: code
 * behind a call that nothing else led to was returned to. Which return that was is not counted: it
 * comes from address 0.
 *
 * Of 32-bit programs the targets of indirect branches are not counted; for them use a trace. */
#ifndef PM_ANALYSE_COUNTED_MOVES_H
#define PM_ANALYSE_COUNTED_MOVES_H

#include "analyse/branch_profile.h"
#include "analyse/coverage.h"
#include "trace/counts.h"

/* Does @c say all that the following need? *lost: that many indirect branches found no room to note
 * where they led. */
bool pm_counts_have_moves(const struct pm_counts *c, uint64_t *lost);

/* pm_branches_release(), pm_cover_release(). */
void pm_branches_of_counts(const struct pm_counts *c, struct pm_branches *to);
void pm_cover_of_counts(const struct pm_counts *c, struct pm_cover *to);

#endif
