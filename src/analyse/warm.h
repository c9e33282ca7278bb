/* SPDX-License-Identifier: MIT */
/* warm.h - what warms caches of any size: the lines of a trace in the order of their last use; and
 * predictors of any kind: its branches
 *
 * The trace is cut into intervals of `every` instructions. For each of them the store has the lines
 * of 64 bytes that were used in it, once each, in the order of their last use there, and whether
 * that was fetched, read or written. A line that was fetched and referenced is two.
 *
 * Who uses all lines of the intervals before a place, in this order, has there
 * (1) in an LRU cache whose lines are 64 bytes or a multiple, exactly the lines that the trace
 *     itself would have left, in their order, whatever its sets and ways. The same holds for LRU
 *     TLBs with pages of 64 bytes and more: a page's last use is that of its line used last.
 * (2) in a level below others nearly those: that level sees each interval's lines once, not each
 *     time that they miss above.
 * (3) the lines dirty that were written since they came, but for those that were written, left the
 *     cache and came back by reads within one interval: they are dirty once more.
 *
 * The branches of an interval are all there, in order (warm_branches.h). What a predictor keeps of
 * them is its own matter, so it is told of them: of all, or of the last ones.
 *
 * If an interval is a multiple of 1,000 instructions the store has counts of each thousand, too,
 * which explain most of what it takes on any core (thousands.h). They do not depend on how many
 * threads there are. They do on `every`: far counts know only first uses in an interval.
 *
 *   OFFSET SIZE  FIELD of the file, little-endian
 *        0    8  "PUGWARM\n"
 *        8    4  version, 3 (1 had no branches, 2 no counts)
 *       12    4  bytes of a line, 64
 *       16    8  instructions of an interval
 *       24    8  instructions of the trace
 *       32    8  identity of the trace (walk.h)
 *       40    8  intervals
 *       48    8  bytes that follow the header
 *       56    4  1,000 if the intervals have counts, else 0
 *       60    4  counts of a thousand, or 0
 *       64    4  CRC-32C of the bytes that follow the header
 *       68    4  CRC-32C of bytes 0 to 67
 *       72       each interval: varint bytes, then for each line one varint
 *                  zigzag(line / 64 - that of the one before of its kind) << 2 | written << 1 |
 *                  fetched
 *                then varint bytes, and the branches: warm_branches.h
 *                then varint bytes, and the counts: a varint of each thousand for the first count
 *                of PM_NEAR_COUNTS, then for the second ..., then for those of PM_FAR_COUNTS
 *
 * Errors     of the reader name the byte. A file of another trace is refused.
 * Threads    a finished store is only read: any number may. */
#ifndef PM_ANALYSE_WARM_H
#define PM_ANALYSE_WARM_H

#include <stdbool.h>

#include "pugmark/pugmark.h"

#define PM_WARM_LINE	64u
#define PM_WARM_EVERY_MAX	1000000000u	/* so that a reader ends in bounded time */

struct pm_warm {
	uint64_t every, insns, identity;
	bool counted;			/* there are counts of thousands */
	size_t n;			/* intervals; the last one may be shorter */
	struct pm_warm_part {
		uint8_t *p, *branch, *count;	/* lines, branches, counts */
		size_t n, nbranch, ncount;	/* bytes of these */
	} *part;
};

/* By @threads threads, from the trace at @path. */
enum pm_status pm_warm_make(const char *path, uint64_t every, unsigned threads,
			    struct pm_warm *to, struct pm_err *err);
/* Tell @use of each line of interval @i, in order. */
void pm_warm_each(const struct pm_warm *w, size_t i,
		  void (*use)(void *ctx, uint64_t line, bool fetched, bool written), void *ctx);
/* How many branches interval @i has; and tell @use of them, in order, some at a time. */
struct pm_br;
uint64_t pm_warm_branches(const struct pm_warm *w, size_t i);
void pm_warm_each_branch(const struct pm_warm *w, size_t i,
			 void (*use)(void *ctx, const struct pm_br *b, size_t n), void *ctx);
/* How many thousands interval @i has; and their counts, row by row, PM_THOUSAND_COUNTS each
 * (thousands.h): of a store that has counts. */
size_t pm_warm_thousands(const struct pm_warm *w, size_t i);
void pm_warm_counts(const struct pm_warm *w, size_t i, uint32_t *to);
struct pm_buf;
void pm_warm_put(const struct pm_warm *w, struct pm_buf *to);
enum pm_status pm_warm_get(const uint8_t *p, size_t n, struct pm_warm *to, struct pm_err *err);
void pm_warm_release(struct pm_warm *w);

/* ---- one interval, for who has events himself ------------------------------------------------ */
struct pm_warm_maker;
struct pm_warm_maker *pm_warm_maker_new(void);
void pm_warm_maker_events(struct pm_warm_maker *m, const struct pm_batch *b);
/* What came since the interval before. */
struct pm_warm_part pm_warm_maker_end(struct pm_warm_maker *m);
void pm_warm_maker_free(struct pm_warm_maker *m);

#endif
