/* SPDX-License-Identifier: MIT */
/* cache_out.h - what leaves a level of caches for the next one, kept until that one takes it: where
 * several hierarchies share a level, and where time is split */
#ifndef PM_ANALYSE_CACHE_OUT_H
#define PM_ANALYSE_CACHE_OUT_H

#include "analyse/cache_sim.h"
#include "base/mem.h"

#define CACHE_OUT_MAINTAIN	PM_OP_COUNT	/* an `op`: no request, an event that says what
						 * becomes of a line; cls are its flags */

struct cache_request { uint64_t addr; uint32_t size; uint8_t op, cls; };

struct cache_out {
	struct cache_request *v;
	size_t n, cap;
	bool kept;			/* else nobody takes it: it is only counted */
	struct pm_cache_memory_stats st;
};

static inline void cache_out_add(struct cache_out *o, unsigned op, uint64_t addr, uint32_t size,
				 unsigned cls)
{
	bool out = op == PM_OP_WRITE || op == PM_OP_BACK;

	if (op < PM_OP_COUNT) {
		*(out ? &o->st.writes : &o->st.reads) += 1;
		*(out ? &o->st.bytes_written : &o->st.bytes_read) += size;
	}
	if (!o->kept)
		return;
	pm_grow(o->v, o->n, o->cap);
	o->v[o->n++] = (struct cache_request){ addr, size, op, cls };
}

#endif
