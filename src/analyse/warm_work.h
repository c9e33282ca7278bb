/* SPDX-License-Identifier: MIT */
/* warm_work.h - between warm.c and warm_make.c */
#ifndef PM_ANALYSE_WARM_WORK_H
#define PM_ANALYSE_WARM_WORK_H

#include "analyse/warm.h"

/* What comes next is of thousand @thousand of the interval. */
void warm_maker_thousand(struct pm_warm_maker *m, uint32_t thousand);
/* pm_warm_maker_end(); @first, unless it is NULL, gets a varint for each line, in their order: in
 * which thousand it was used first. */
struct pm_warm_part warm_maker_end_first(struct pm_warm_maker *m, struct pm_buf *first);

#endif
