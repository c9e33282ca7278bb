/* SPDX-License-Identifier: MIT */
/* cache_filter.h - caches as a transform: references in; out come the misses and write-backs of the
 * last level, as instruction lines, reads and writes of whole lines (or the bytes written through)
 *
 * What a bus behind those caches would see. Dirty lines that are still there at the end stay there.
 * Instructions, branches, values and registers do not survive. A line written back is reported in
 * the stream whose reference drove it out. The private value of each is the number of instructions
 * since the last one that had none: what Ramulator calls bubbles. */
#ifndef PM_ANALYSE_CACHE_FILTER_H
#define PM_ANALYSE_CACHE_FILTER_H

#include "trace/pipeline.h"

extern const struct pm_transform_ops pm_cache_filter_ops;
/* Add it to @p, and make *facts what comes out. @config as in cache_sim.h. */
enum pm_status pm_cache_filter_add(struct pm_pipeline *p, const char *config, uint32_t *facts,
				   struct pm_err *err);

#endif
