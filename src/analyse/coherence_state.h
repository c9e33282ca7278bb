/* SPDX-License-Identifier: MIT */
/* coherence_state.h - what the files of coherence.h share
 *
 *   coherence.c          hits, misses, the directory
 *   coherence_lines.c    what is known of a line for good: who had it, who wrote which bytes, why
 *                        it was lost
 *   coherence_sink.c     configuration, events, results
 *
 * A way is one word: the line's key with flags in the bits that it leaves free. Sets of a core's
 * caches list their ways newest first; empty ways are 0 and come last. The last level keeps lines
 * in place and has the time of the last request beside them. */
#ifndef PM_ANALYSE_COHERENCE_STATE_H
#define PM_ANALYSE_COHERENCE_STATE_H

#include "analyse/coherence.h"

#define WAY_STATE	3u		/* 1 S, 2 E, 3 M; of l1i always S; 0: the way is empty */
#define WAY_WATCH	4u		/* a read may find a byte that another core has written */
#define WAY_SHARED	8u		/* another core has had the line: writes are remembered */
#define WAY_FLAGS	15u
enum way_state { WAY_NONE, WAY_S, WAY_E, WAY_M };

struct own_cache { uint64_t *way, set_mask; unsigned shift, ways; };	/* ways 0: there is none */

struct core {
	struct own_cache l1i, l1d, l2;
	uint64_t last_fetch;		/* line that is the newest of its l1i set; 1: none */
	struct pm_core_counts n;
};

struct directory {
	uint64_t cores;			/* those that have the line */
	uint32_t line;			/* index of struct coherence_line */
	bool alone;			/* one core has it, in E or M */
	bool dirty;
};

struct shared_cache {
	uint64_t *key, *used, set_mask;	/* key 1: the way is empty; it is no line's */
	struct directory *dir;
	unsigned shift, ways;
};

/* What one core does with a line that several have had. */
struct sharer {
	uint64_t unseen;		/* bytes written by others since its last essential miss */
	bool coherence, essential;	/* coherence: its present lifetime began with such a
					 * miss */
	uint16_t missed_at, wrote_at, taken_at;
	uint64_t missed, wrote;		/* pcs, of the miss that began it */
	uint64_t taken;			/* pc of the write that took the line last */
};

/* A pair of the list that a line has, also found by its line and places. */
struct line_pair {
	struct pm_sharing_pair p;
	uint32_t line;
	struct line_pair *same_hash;	/* the next one of its bucket */
};

struct coherence_line {
	uint64_t key;
	uint64_t seen;			/* cores that have had it */
	uint64_t taken, recalled;	/* of them, those that lost it to a write, to the last
					 * level */
	struct sharer *sharer;		/* by core; NULL: only one core has had it */
	uint64_t falsely, truly, invalidations;
	struct pm_sharing_pair *pair;	/* each the first member of a struct line_pair */
	unsigned npair;
	char *object;			/* NULL: not known */
	bool named;			/* somebody has tried */
};

#define KNOWN_LINES 256			/* places in coherence.known */

struct pm_coherence {
	struct pm_coherence_conf conf;
	unsigned line_shift, grain_shift;
	uint64_t line_mask;		/* clears the offset */
	struct core *core;
	struct shared_cache last;
	struct pm_shared_counts shared;
	uint64_t now;			/* requests to the last level */
	struct coherence_line *line;
	size_t nline, cap_line;
	struct pm_map line_at;		/* key -> index */
	struct { uint64_t key; uint32_t line; } known[KNOWN_LINES];	/* found last */
	struct line_pair **bucket;	/* a power of two of them, at least npair; NULL: no pair */
	size_t nbucket, npair;
	struct pm_map segment;		/* space << 16 | high bits of an address -> small number */
	uint64_t *segment_high;
	size_t nsegment, cap_segment;
	uint64_t space, segment0;
	bool began;
	/* by stream: its core, whether a schedule said so, and the pc it is at */
	struct coherence_stream { uint64_t pc; uint32_t core; } *stream;
	size_t nstream, cap_stream;
	uint32_t *fresh;		/* lines with their first coherence miss in this batch */
	size_t nfresh, cap_fresh;
};

/* One access, within one line. */
struct own_access {
	unsigned core;
	enum pm_cache_op op;
	uint64_t key, size, pc;
};

/* ---- coherence_lines.c ----------------------------------------------------------------------- */

/* The line of @key, which may be new. */
uint32_t coherence_line_of(struct pm_coherence *c, uint64_t key);
/* Core a->core misses on it: counts why. Returns the cores that have had it alone until now, and
 * have to look at their accesses from now on; 0: none. */
uint64_t coherence_missed(struct pm_coherence *c, uint32_t line, const struct own_access *a);
/* ... accesses it, after that or on a hit. */
void coherence_accessed(struct pm_coherence *c, uint32_t line, const struct own_access *a);
/* The lifetime of the line in @core ends. */
void coherence_lifetime_ends(struct pm_coherence *c, uint32_t line, unsigned core);
/* WAY_SHARED, WAY_WATCH: what an access of @core has to look at. */
unsigned coherence_flags(const struct pm_coherence *c, uint32_t line, unsigned core);
void coherence_lines_free(struct pm_coherence *c);

#endif
