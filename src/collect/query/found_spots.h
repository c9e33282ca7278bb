/* SPDX-License-Identifier: MIT */
/* found_spots.h - spots that a debugger has asked for, kept: it takes its breakpoints away whenever
 * the program stands, and sets them again before that goes on
 *
 * What has not been asked for yet is found by one more replay (spots_find()).
 *
 * Ownership  found_spots_release() frees what is kept.
 * Errors     PM_ERR, and @err says why.
 * Threads    it runs pm_run(): one at a time. */
#ifndef PM_QUERY_FOUND_SPOTS_H
#define PM_QUERY_FOUND_SPOTS_H

#include "collect/query/query_work.h"
#include "collect/query/travel.h"

#define FOUND_POINTS 64u		/* breakpoints at a time, and ranges */

struct points {
	uint64_t pc[FOUND_POINTS];
	size_t npc;
	struct spot_range range[FOUND_POINTS];
	size_t nrange;
	bool execs;			/* where other programs are executed; found in any case */
};

struct found_once {				/* in one replay */
	struct points points;
	struct spots spots;
};

struct found_spots {			/* all zero: nothing */
	struct found_once *v;
	size_t n, cap;
};

/* All of @want has been found, and where threads end. PM_ERR, and true from found_spots_any(): up
 * to where the replay ended. */
enum pm_status found_spots_find(struct found_spots *f, const char *recording,
				const struct points *want, const struct pm_run_opts *o,
				struct pm_err *err);
bool found_spots_any(const struct found_spots *f);
/* Marks of @want's spots in the process of thread @tid; the caller frees them. With @behind those
 * of stores and loads are behind the instruction, and those of calls that execute a program are
 * where that begins. */
struct spot_mark *found_spots_marks(const struct found_spots *f, const struct points *want,
				    uint32_t tid, bool behind, size_t *n);
/* Where thread @tid ends; NULL: not known. */
const struct pm_position *found_spots_end(const struct found_spots *f, uint32_t tid);
/* Where the program begins that @call has executed; NULL: it has not, as far as is known. */
const struct pm_position *found_spots_executed(const struct found_spots *f,
					       const struct pm_position *call);
void found_spots_release(struct found_spots *f);

#endif
