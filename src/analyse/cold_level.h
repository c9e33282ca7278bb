/* SPDX-License-Identifier: MIT */
/* cold_level.h - an LRU level over a part of a trace, without knowing what was in it before
 *
 * What the part itself says is certain: a line that it has used hits if fewer than `ways` others
 * of the set have been used since, and if a set holds `ways` lines of the part, nothing older is
 * left in it. Uncertain are the first uses of lines while there are fewer in the set, at most
 * `ways` for each set: they are written down among what leaves the level (COLD_TOUCH). So is a
 * line that leaves and is dirty only if it was so before the part began (COLD_BACK). Once the
 * lines before the part are known, cold_join() says what became of these. (P. Heidelberger and
 * H. Stone, "Parallel Trace-Driven Cache Simulation by Time Partitioning", 1990.)
 *
 * INVARIANTS
 * (1) A set of a cold level lists the lines of the part, newest first; its empty ways are the last.
 * (2) An older line leaves a set before any line of the part does: it is older than they are. */
#ifndef PM_ANALYSE_COLD_LEVEL_H
#define PM_ANALYSE_COLD_LEVEL_H

#include "analyse/cache_state.h"

/* In cache_request.op, besides the operation. */
#define COLD_TOUCH	0x10		/* hits or misses; .size: bytes to read then, 0: none */
#define COLD_BACK	0x20
#define COLD_DATA	0x40		/* of the first level for data */

struct cold_level {
	uint64_t *way, line_mask, set_mask;
	unsigned line_shift, ways;
	uint32_t line;
	uint8_t side;			/* COLD_DATA or 0 */
	struct pm_level_stats st;
	/* while it is joined */
	uint32_t *touched;		/* by set: first uses so far */
};

/* A level as it is between two parts: known. Words as in cache_state.h, newest first. */
struct known_level { uint64_t *way; };

void cold_init(struct cold_level *l, const struct pm_level_conf *lc, bool data);
void cold_release(struct cold_level *l);
void cold_begin(struct cold_level *l);		/* another part; counters stay */
/* Within one line. What leaves goes to @out, certain or not. */
void cold_access(struct cold_level *l, uint64_t addr, uint32_t size, enum pm_cache_op op,
		 unsigned cls, struct cache_out *out);
/* The part of it that follows when @line is not in @set; the access is counted already. */
void cold_miss(struct cold_level *l, uint64_t *set, uint64_t line, uint32_t size,
	       enum pm_cache_op op, unsigned cls, struct cache_out *out);
/* What becomes of an uncertain request, given what was in the level before: into @out. The part's
 * requests in their order. */
void cold_resolve(struct cold_level *l, struct known_level *k, const struct cache_request *r,
		  struct cache_out *out);
/* All have been resolved: @k becomes what is there behind the part. */
void cold_settle(struct cold_level *l, struct known_level *k);

#endif
