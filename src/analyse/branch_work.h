/* SPDX-License-Identifier: MIT */
/* branch_work.h - from blocks and what followed them to branches and ranges: private to the files
 * of branch_profile.h
 *
 * branch_profile.c counts which chain followed which. branch_sum.c turns that into *runs* and
 * *moves*, per object, and these into branches and ranges. */
#ifndef PM_ANALYSE_BRANCH_WORK_H
#define PM_ANALYSE_BRANCH_WORK_H

#include "analyse/branch_profile.h"

struct branch_run {			/* a straight run, executed @total times from lo to last */
	uint64_t lo, last, end;		/* end: behind the last instruction */
	uint64_t total, falls;		/* falls: as often what follows in memory followed */
	uint32_t object;
};

struct branch_move {
	uint32_t from_object, to_object;	/* PM_NONE: none */
	struct pm_branch b;
};

struct branch_work {
	struct branch_run *run;
	size_t nrun, cap_run;
	struct branch_move *move;
	size_t nmove, cap_move;
};

/* The number of the object of @path in @out. @build_id: NULL: none; copied. */
uint32_t pm_branches_object(struct pm_branches *out, const char *path, const char *build_id);

/* Everything of @w into @out, whose objects the work's numbers are; @w is used up. */
void pm_branch_sum(struct branch_work *w, struct pm_branches *out);

#endif
