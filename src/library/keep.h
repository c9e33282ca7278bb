/* SPDX-License-Identifier: MIT */
/* keep.h - batches that stay: handles on parcels, whose memory goes round
 *
 * Threads    any may close a kept batch, also while its reader is in use. */
#ifndef PM_LIBRARY_KEEP_H
#define PM_LIBRARY_KEEP_H

#include "pugmark/library.h"
#include "trace/parcel.h"

struct pm_kept_room;			/* of a reader: memory of batches that were closed */
struct pm_kept_room *pm_kept_room_new(void);
/* What is still kept stays. NULL is fine. */
void pm_kept_room_free(struct pm_kept_room *room);

/* A handle without a batch yet, and *parcel for it; NULL on error. */
struct pm_kept *pm_kept_new(struct pm_kept_room *room, struct pm_parcel **parcel,
			    struct pm_err *err);

#endif
