/* SPDX-License-Identifier: MIT */
/* cache_quick.h - pm_cache_access() where the first level has the line at hand, inline: most
 * references of a program are such */
#ifndef PM_ANALYSE_CACHE_QUICK_H
#define PM_ANALYSE_CACHE_QUICK_H

#include "analyse/cache_prefetch.h"
#include "analyse/cache_state.h"

/* True: the line is the newest of its set in the first level @l, and a stride prefetcher has learnt
 * of it and wants no other line; all is done. False: nothing is. */
static inline __attribute__((always_inline))
bool cache_quick(struct pm_cache *c, struct cache_level *l, enum pm_cache_op op, uint64_t addr,
		 uint32_t size, bool stack, uint64_t pc)
{
	const uint64_t key = addr | c->segment0, dirty = op == PM_OP_WRITE ? LINE_DIRTY : 0;
	struct cache_stride *s;
	uint64_t *set, line, newest;
	int64_t d;

	if (!l || !l->newest || addr >> 48)
		return false;
	line = key & l->line_mask;
	set = l->tag + ((line >> l->line_shift) & l->set_mask) * l->ways;
	newest = set[0];
	if ((newest & ~(uint64_t)LINE_DIRTY) != (line | LINE_VALID) || (newest | dirty) != newest ||
	    ((key + size - 1) & l->line_mask) != line)
		return false;
	s = op == PM_OP_FETCH ? NULL : l->strides;
	if (s) {
		s += cache_stride_at(pc);
		d = key - s->last;
		if (s->pc == pc && d && d == s->stride &&
		    ((key + l->degree * (uint64_t)d) ^ key) & l->line_mask)
			return false;
		cache_stride_learn(s, pc, key);
	}
	c->refs[op][stack]++;
	l->access[op][stack]++;
	return true;
}

#endif
