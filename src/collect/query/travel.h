/* SPDX-License-Identifier: MIT */
/* travel.h - from one position of a recording to another, forwards and back
 *
 * Each journey but a step forwards is a replay, at full speed, from the last checkpoint in front of
 * the position (control/checkpoint.h). Where several threads are concerned, marks - positions that
 * may be where to go - are visited in the order in which they come in the run, so that the next
 * one, or the one before, is known.
 *
 * Errors     PM_ERR, and @err says why.
 * Threads    it runs pm_run(): one at a time. */
#ifndef PM_QUERY_TRAVEL_H
#define PM_QUERY_TRAVEL_H

#include "collect/control/stop_at.h"
#include "collect/query/query_work.h"

struct spot_mark {
	struct pm_position at;
	uint64_t address;		/* of what is stored or loaded there */
	unsigned access;		/* enum spot_access; 0: a breakpoint */
};

struct journey {
	const char *recording;
	const struct pm_run_opts *o;
	struct query_kept *kept;	/* the same for all journeys */
	void *self;
	/* It stands where it was to go; at mark number @mark, or TRAVEL_NO_MARK. True: one
	 * instruction of this thread further; false: the journey is over. */
	bool (*arrived)(void *self, struct standing *st, size_t mark);
};
#define TRAVEL_NO_MARK SIZE_MAX

/* False: the recording does not get there. */
bool travel_to(const struct journey *j, const struct pm_position *to, struct pm_err *err);
/* To the first of the @n marks that come behind @from in the run. False: none does. */
bool travel_on(const struct journey *j, const struct pm_position *from,
	       const struct spot_mark *v, size_t n, struct pm_err *err);
/* Which mark comes last before @before; false: none. Nobody arrives. */
bool travel_before(const struct journey *j, const struct pm_position *before,
		   const struct spot_mark *v, size_t n, size_t *which, struct pm_err *err);
/* The position one instruction before @at, of its thread; false: there is none. */
bool travel_back(const struct journey *j, const struct pm_position *at, struct pm_position *to,
		 struct pm_err *err);

#endif
