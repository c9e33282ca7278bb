/* SPDX-License-Identifier: MIT */
/* parcel.h - a batch that outlives its producer's buffers */
#ifndef PM_TRACE_PARCEL_H
#define PM_TRACE_PARCEL_H

#include "trace/chain.h"

struct pm_parcel {			/* zeroed at first; its room is kept from batch to batch */
	struct pm_batch b;		/* everything but the stream and the code table is the
					 * parcel's own */
	struct pm_packed packed;	/* if @is_packed, likewise */
	bool is_packed;
	void *room[7];			/* events, micro-ops, bus transactions, rare, arena; if
					 * packed ids, references */
	size_t cap[7];
};

/* @k: what makes it packed; NULL: it is not, or just its events are wanted. */
void pm_parcel_fill(struct pm_parcel *p, const struct pm_batch *b, const struct pm_packed *k);
/* The events of @b behind those of @p, which is not packed. The caller knows that what both refer
 * to, and their streams and code tables, are the same. */
void pm_parcel_join(struct pm_parcel *p, const struct pm_batch *b);
void pm_parcel_release(struct pm_parcel *p);

#endif
