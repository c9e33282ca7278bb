/* SPDX-License-Identifier: MIT */
/* coherence.h - cores with caches of their own, a shared last level, MESI, and what sharing costs
 *
 * Configuration: levels as in cache_sim.h, `cores=8;l1i=32k,8way;l1d=32k,8way;l2=256k,8way;
 * l3=8m,16way`. The last level is shared, those above it are each core's own: l1d, l1i if
 * fetches are wanted, and l2 if there is an l3. All are LRU, write back, allocate on writes,
 * and have one line size.
 * Settings: cores=N (1..64), top=N (20): lines and pairs of places listed; spaces=shared; objects:
 * heap blocks get names, too, by where they were allocated (objects.h; it costs time).
 *
 * Which core a thread runs on a schedule says (PM_KERNEL_CORE, see transform/schedule.h); without
 * one, stream i runs on core i mod N, in the trace's own order.
 *
 * THE RULES - tests/oracle/coherence_slow.h implements them slowly
 * (1) References are cut at lines; a read-modify-write is a read, then a write.
 * (2) A core's caches hold a line S, E or M, or not (I). L1 hit: a read, or a write to E or M (it
 *     becomes M). Otherwise l2 is asked, and what it has comes up; l2 includes its l1s.
 * (3) The last level includes all the others. Its entry of a line is the directory: which cores
 *     have it, and whether one alone may write it (E, M). Cores say when they let go of a line.
 * (4) Miss in all of a core's caches, to read: a core with M sends its data (dirty intervention)
 *     and keeps S; one with E keeps S (clean intervention). The reader gets E if it is the only
 *     one, else S. A fetch gets S always, and a core with E or M gives it up for S just the same.
 * (5) ... to write: whoever has the line loses it (an invalidation each); M sends its data (dirty
 *     intervention), E is a clean intervention. The writer gets M. A write to S is an upgrade: the
 *     others are invalidated, no data move.
 * (6) A line that leaves a core by replacement is written back if M. A line that leaves the last
 *     level is taken from all cores first (recalls), and goes to memory if it or a core's was
 *     dirty. A dirty intervention makes the last level's copy dirty. Only references that miss in
 *     the level above change the order in which a level replaces, no upgrades or write-backs.
 * (7) A miss of a core's caches is cold if the core never had the line, a replacement miss
 *     (capacity or conflict) if it lost it by replacement, a recall miss if the last level took it,
 *     and a coherence miss if another core's write did.
 * (8) Coherence misses are split by Dubois et al., "The Detection and Elimination of Useless Misses
 *     in Multiprocessors", ISCA 1993, with bytes for words: true sharing, if before the core loses
 *     the line again it accesses a byte that another core has written since the core's last
 *     essential miss on the line; false sharing otherwise. Misses that are not false sharing are
 *     essential. So a miss is classified when its line's lifetime ends, at the latest at the end
 *     of the trace. Of fetches, only those that miss l1i count as accesses here.
 * (9) The other side of a coherence miss is the write that took the line.
 *
 * Lines longer than 64 bytes are looked at in 64 parts.
 *
 * INVARIANTS - pm_coherence_check() checks them all, tests call it
 * (I1) A line that one core has in E or M no other core has.
 * (I2) What a core's l1 holds its l2 holds; what a core holds the last level holds.
 * (I3) The directory is exact: a core is in an entry's set if and only if it has the line, and the
 *      entry says that one alone may write if and only if one has it in E or M.
 * (I4) In a core, l1d holds a line S if the core does.
 *
 * Left out: time, buses and their order, store buffers, non-inclusive last levels, prefetchers,
 * MOESI and MESIF. A write of one core is seen by all at once.
 *
 * Errors     pm_coherence_new() fills err and returns NULL; after that only a schedule with more
 *            cores than there are can fail.
 * Threads    one thread per object. */
#ifndef PM_ANALYSE_COHERENCE_H
#define PM_ANALYSE_COHERENCE_H

#include "analyse/cache_sim.h"

#define PM_COHERENCE_CORES 64

/* Of each core. */
#define PM_CORE_COUNTS(C)								\
	C(fetches, "references", "instructions or lines fetched, cut at lines")		\
	C(reads, "references", "reads, cut at lines")					\
	C(writes, "references", "writes, cut at lines")					\
	C(l1i_misses, "misses", "fetches that l1i did not have")			\
	C(l1d_misses, "misses", "reads and writes that l1d did not have")		\
	C(misses, "misses", "references that none of the core's caches had")		\
	C(l3_misses, "misses", "... nor the shared level")				\
	C(cold, "misses", "misses on lines that the core never had")			\
	C(replacement, "misses", "misses on lines that it had replaced")		\
	C(recalled, "misses", "misses on lines that the shared level took away")	\
	C(true_sharing, "misses", "misses that brought what another core had written")	\
	C(false_sharing, "misses", "misses that brought nothing new")			\
	C(upgrades, "writes", "writes to lines that others might have, too")		\
	C(invalidations, "lines", "lines taken from it by another core's write")	\
	C(invalidates, "lines", "lines that its writes took from other cores")		\
	C(dirty_interventions, "lines", "changed lines that it sent to another core")	\
	C(clean_interventions, "lines", "unchanged lines that it alone had, for another core")	\
	C(writebacks, "lines", "changed lines that left it by replacement")		\
	C(l1_writebacks, "lines", "changed lines that left l1d for l2")			\
	C(recalls, "lines", "lines that the shared level took away")

struct pm_core_counts {
#define C(name, unit, about) uint64_t name;
	PM_CORE_COUNTS(C)
#undef C
};

struct pm_coherence_conf {
	struct pm_cache_conf caches;
	uint32_t cores;
	uint64_t top;
	bool shared;			/* one address space */
	bool objects;
	/* indices of levels in @caches; -1: there is none */
	int l1i, l1d, l2, last;
};
enum pm_status pm_coherence_conf_parse(struct pm_coherence_conf *cc, const char *text,
				       struct pm_err *err);

/* Of the shared level. */
struct pm_shared_counts { uint64_t requests, misses, replaced, memory_writes; };

/* What two places did to each other on one line. */
struct pm_sharing_pair {
	uint64_t missed, wrote;		/* pc of the access that missed, of the write before it */
	uint16_t missed_at, wrote_at;	/* offsets in the line, of the first of these misses */
	uint64_t falsely, truly;	/* misses */
	struct pm_sharing_pair *next;
};
struct pm_sharing_line {
	uint64_t line;			/* address */
	uint64_t falsely, truly, invalidations, cores;
	const struct pm_sharing_pair *pair;	/* NULL: none */
	const char *object;		/* NULL: not known */
};

struct pm_coherence;
struct pm_coherence *pm_coherence_new(const char *config, struct pm_err *err);
/* One reference: a fetch, read or write of core @core (less than cores) in address space @space. */
void pm_coherence_access(struct pm_coherence *c, unsigned core, enum pm_cache_op op, uint64_t space,
			 uint64_t addr, uint32_t size, uint64_t pc);
enum pm_status pm_coherence_batch(struct pm_coherence *c, const struct pm_batch *b,
				  struct pm_err *err);
/* The trace is over: lifetimes end. */
void pm_coherence_end(struct pm_coherence *c);
const struct pm_coherence_conf *pm_coherence_config(const struct pm_coherence *c);
const struct pm_core_counts *pm_coherence_core(const struct pm_coherence *c, unsigned core);
const struct pm_shared_counts *pm_coherence_shared(const struct pm_coherence *c);
/* Lines with coherence misses, most falsely shared first; free() it. After the end. */
struct pm_sharing_line *pm_coherence_lines(const struct pm_coherence *c, size_t *n);
/* NULL, or which invariant does not hold. Slow. */
const char *pm_coherence_check(const struct pm_coherence *c);
void pm_coherence_free(struct pm_coherence *c);	/* NULL is fine */

extern const struct pm_sink_ops pm_sim_coherence;
struct pm_names *pm_coherence_names(void *self);	/* of the sink: see sims.h */

#endif
