/* SPDX-License-Identifier: MIT */
/* lane.h - sinks on threads of their own
 *
 * A *lane* is a thread with some sinks and a queue. What is handed over is copied once, for all
 * lanes; a full queue makes the producer wait, so nothing is lost and memory stays bounded. Each
 * sink is called by one thread only, with the batches in their order: what it computes does not
 * depend on how many lanes there are.
 *
 * A producer's code tables and streams change while it runs. A lane has its own: the pointers that
 * its sinks see stay the same until lanes_free(), and change only between two batches.
 *
 * Threads    lanes_push() to lanes_free() from one thread. */
#ifndef PM_TRACE_LANE_H
#define PM_TRACE_LANE_H

#include <stdbool.h>

#include "pugmark/pugmark.h"

struct pm_lanes;
struct pm_packed;
/* What a lane's thread is to call; @k: what makes the batch packed (chain.h), or NULL. */
typedef enum pm_status pm_lane_consume(void *arg, unsigned lane, const struct pm_batch *b,
				       const struct pm_packed *k, struct pm_err *err);
struct pm_lanes *pm_lanes_new(unsigned n, pm_lane_consume *consume, void *arg);
/* Hand @b to the lanes in @which (bit k: lane k). PM_ERR: a lane has failed, now or before. */
enum pm_status pm_lanes_push(struct pm_lanes *l, uint64_t which, const struct pm_batch *b,
			     const struct pm_packed *packed, struct pm_err *err);
/* Wait until everything is consumed and the lanes touch nothing. PM_ERR as above. */
enum pm_status pm_lanes_idle(struct pm_lanes *l, struct pm_err *err);
/* The same, and the threads end. PM_ERR as above. */
enum pm_status pm_lanes_join(struct pm_lanes *l, struct pm_err *err);
void pm_lanes_free(struct pm_lanes *l);			/* joins; NULL is fine */

#define PM_LANES_MAX 16

#endif
