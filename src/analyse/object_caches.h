/* SPDX-License-Identifier: MIT */
/* object_caches.h - caches of whole objects, for traces of requests (oracleGeneral, lcs, vscsi...)
 *
 * THE RULES, which are libCacheSim's (tests/oracle/requests_slow.h implements them by scans)
 * (1) A request is for one object, whatever its size. The object is there, which is a hit, or not:
 *     a miss of one object, and of as many bytes as the request says.
 * (2) A missing object that is larger than the cache is not kept. Else objects leave until it fits,
 *     and it becomes the newest. What an object occupies is the size of the request that brought
 *     it.
 * (3) Which one leaves: lru, the one that was asked for the longest ago; fifo, the oldest; clock,
 *     the oldest, but one that was asked for since is only made the newest once more, and counts as
 *     not asked for; sieve, likewise, but the objects stay where they are, and a hand moves over
 *     them from older to newer ones (and begins with the oldest again).
 * (4) A request of no bytes is left out and counted as `empty`.
 *
 * Configuration: POLICY=BYTES,BYTES...; several policies, separated by ';' (lru=64m,1g). `each`: an
 * object counts as one byte, so sizes are numbers of objects.
 *
 * What it does not model: expiry, admission, deletes and what an object's entry itself takes. */
#ifndef PM_ANALYSE_OBJECT_CACHES_H
#define PM_ANALYSE_OBJECT_CACHES_H

#include "pugmark/pugmark.h"

enum pm_object_policy { PM_OBJECTS_LRU, PM_OBJECTS_FIFO, PM_OBJECTS_CLOCK, PM_OBJECTS_SIEVE };
extern const char *const pm_object_policies[];	/* NULL-ended */

extern const struct pm_sink_ops pm_sim_requests;

#endif
