/* SPDX-License-Identifier: MIT */
/* thousands.h - cheap counts of each 1,000 instructions of a trace, which explain most of what
 * these take on any core: private to warm*.c, but for the names
 *
 * A *thousand* is 1,000 instructions whose first one's number is a multiple of 1,000; the last
 * one of a trace may be shorter. The counts come of small simulations that are always the same,
 * whatever core is asked for later. They need not be what that core counts: sample.h uses them to
 * choose windows, and to carry what windows say over to all thousands. Any numbers that follow
 * from the trace alone would do there; good ones make the interval narrower.
 *
 * Near counts come of simulations that forget everything every THOUSANDS_STRETCH instructions (or
 * where the first interval of the store behind that begins), so threads can begin there:
 *   gshare of 2^16 counters; LRU caches of 32 KB, 8 ways, lines of 64 bytes, for data and fetches
 * Far counts come of one LRU hierarchy for both, 256 KB, 2 MB, 32 MB of 8, 16, 16 ways. It is told
 * of lines only when they are used for the first time in an interval of the store, and at its end
 * of all of them in the order of their last use; that is little work, and done in one thread.
 *
 * A count is at most 2^32 - 1. */
#ifndef PM_ANALYSE_THOUSANDS_H
#define PM_ANALYSE_THOUSANDS_H

#include <stdbool.h>

#include "base/mem.h"
#include "pugmark/pugmark.h"

#define PM_THOUSAND	1000u
#define THOUSANDS_STRETCH	10000000u

/* name, weight, meaning. The weight is what one of them may cost in cycles: sample_places.c. */
#define PM_NEAR_COUNTS(C)							\
	C(wrong, 15, "conditional branches that gshare predicts wrongly")	\
	C(data, 8, "data lines that a cache of 32 KB does not have")		\
	C(code, 10, "fetched lines that a cache of 32 KB does not have")	\
	C(reads, 0.2, "loads")							\
	C(writes, 0.3, "stores")						\
	C(slow, 1, "cycles of latency: divisions, roots, microcode, system calls")	\
	C(moves, 0, "register moves and what else takes no port")		\
	C(vector, 0, "vector and floating-point instructions")			\
	C(multiplications, 0, "of integers")					\
	C(conditional, 0, "conditional branches")				\
	C(taken, 0, "branches taken")
#define PM_FAR_COUNTS(C)							\
	C(data_far, 0, "data lines that 256 KB do not have")			\
	C(data_farther, 20, "... 2 MB")						\
	C(data_memory, 120, "... 32 MB")					\
	C(code_far, 0, "fetched lines that 256 KB do not have")			\
	C(code_farther, 60, "... 2 MB")						\
	C(code_memory, 0, "... 32 MB")
enum pm_thousand_count {
#define C(name, weight, about) PM_THOUSAND_##name,
	PM_NEAR_COUNTS(C)
	PM_NEAR_END,
	PM_NEAR_LAST = PM_NEAR_END - 1,		/* what comes next is PM_NEAR_END again */
	PM_FAR_COUNTS(C)
#undef C
	PM_THOUSAND_COUNTS
};

/* ---- near ------------------------------------------------------------------------------------ */

struct thousands;
struct thousands *thousands_new(void);
void thousands_free(struct thousands *t);
/* Forget what caches and predictor know: a stretch begins. */
void thousands_forget(struct thousands *t);
/* Of one thousand, which thousands_end() ends. */
void thousands_events(struct thousands *t, const struct pm_batch *b);
void thousands_end(struct thousands *t);
/* The near counts since the last call, count by count; *n: thousands. The caller's. */
struct pm_buf thousands_take(struct thousands *t, size_t *n);

/* ---- far ------------------------------------------------------------------------------------- */

struct far_counts;
struct far_counts *far_counts_new(void);
void far_counts_free(struct far_counts *f);
/* A line of the interval, which was used first in thousand @first of it; in the order of their last
 * use. */
void far_counts_line(struct far_counts *f, uint64_t line, bool fetched, bool written,
		     uint32_t first);
/* The interval has @n thousands: their far counts, behind what @to has. */
void far_counts_end(struct far_counts *f, size_t n, struct pm_buf *to);

/* ---- out of bytes ---------------------------------------------------------------------------- */

/* @n thousands' counts: row by row, PM_THOUSAND_COUNTS each, into @to unless it is NULL. False: the
 * bytes are none. */
bool thousands_get(const uint8_t *p, size_t bytes, size_t n, uint32_t *to);

#endif
