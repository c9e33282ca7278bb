/* SPDX-License-Identifier: MIT */
/* core_sample.h - the sink `core` led by the hand: caches warmed from a store, instructions with
 * and without time, counters at any moment
 *
 * @core is what pm_sim_core.create() returned. It begins with time on, as the sink does. */
#ifndef PM_ANALYSE_CORE_SAMPLE_H
#define PM_ANALYSE_CORE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "analyse/core.h"

/* From the next instruction on: in time; or only caches and predictors see what happens, and time
 * stands still. */
void pm_core_time(void *core, bool on);
/* The caches see that the line at @addr was used; prefetchers do not. */
void pm_core_warm(void *core, uint64_t addr, bool fetched, bool written);
/* The predictors see these branches. */
struct pm_br;
void pm_core_warm_branches(void *core, const struct pm_br *b, size_t n);
/* What has been counted, once the instruction that came last is timed. Branches count without time,
 * too. */
void pm_core_counted(void *core, struct pm_core_stats *to);

#endif
