/* SPDX-License-Identifier: MIT */
/* cache_module.h - a level of caches whose policy or prefetcher is a module of ChampSim: rule (10)
 * of cache_sim.h
 *
 * The present access of the level is kept here: lookup() or prefetch() begins one, and what is
 * filled then, is filled for it. */
#ifndef PM_ANALYSE_CACHE_MODULE_H
#define PM_ANALYSE_CACHE_MODULE_H

#include "analyse/cache_state.h"
#include "trace/champsim.h"

#define CACHE_MODULE_CYCLES	4	/* after each access */

/* NULL: neither is a module. */
struct cache_module *cache_module_new(const struct cache_level *l);
void cache_module_free(struct cache_level *l);
/* The trace has ended: the modules may say so. */
void cache_module_end(struct cache_level *l);
bool cache_module_well(const struct cache_level *l, struct pm_err *err);

/* An access found its line at @way, or nowhere (@l->ways). */
void cache_module_lookup(struct pm_cache *c, struct cache_level *l, uint64_t addr,
			 enum pm_cache_op op, unsigned way);
/* What the prefetcher asked for: how many, in to[PM_CHAMPSIM_QUEUE]. */
unsigned cache_module_wants(struct cache_level *l, struct pm_champsim_request *to);
void cache_module_prefetch(struct pm_cache *c, struct cache_level *l, uint64_t line,
			   uint32_t metadata);
/* The line @entry comes: does it get a way? Then it is entered; what had its place is returned. */
bool cache_module_stays(struct pm_cache *c, struct cache_level *l, uint64_t entry);
uint64_t cache_module_enter(struct cache_level *l, uint64_t entry);

#endif
