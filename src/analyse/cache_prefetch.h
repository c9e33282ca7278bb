/* SPDX-License-Identifier: MIT */
/* cache_prefetch.h - which lines a prefetcher wants: rule (6) of cache_sim.h in full
 *
 * A prefetcher is told of each demand access of its level (`next` and `stream`: of news only), and
 * names addresses. Whoever asks leaves out those in other pages of 4 KiB and those that are there,
 * and brings the rest. A line's number is its address / its size; a page has N = 4096 / size of
 * them. News is a miss, or the first use of a prefetched line; they are counted, and this count is
 * the clock: a model without time has no better one.
 *
 * next      X + 1 .. X + degree of news X.
 * stride    256 entries by (pc ^ pc>>8): last address and stride, in bytes. The same stride a
 *           second time: address + stride * 1 .. degree.
 * stream    16 entries: last line, direction. News that continue one: `degree` lines ahead; news
 *           that continue none replace the oldest entry.
 * ipstride  64 sets by (pc ^ pc>>6), 4 ways, the one used longest ago goes: last line, stride in
 *           lines, confidence 0..3. Another line: the same stride raises confidence, another one
 *           lowers it, or at 0 takes its place. From 2 on: line + stride * 1 .. degree. (T.-F.
 *           Chen, J.-L. Baer, "Effective hardware-based data prefetching", IEEE Trans. Computers
 *           44(5), 1995; J. Doweck, "Inside Intel Core microarchitecture and smart memory
 *           access", 2006)
 * ampm      Access map pattern matching (Y. Ishii, M. Inaba, K. Hiraki, ICS 2009). 16 sets of
 *           pages, 4 ways, the one used longest ago goes: a bit each for the lines that were
 *           accessed and that were prefetched. When line o is accessed first: for k = 1 .. N/2 -
 *           1, o + k if o - k and o - 2k were accessed, then o - k if o + k and o + 2k were; only
 *           if neither bit of it is set; `degree` at most.
 * spp       Signature path prefetcher (J. Kim et al., "Path confidence based lookahead
 *           prefetching", MICRO 2016). 64 sets of pages, 4 ways, the one used longest ago goes:
 *           last line and a signature of 12 bits, shifted by 3 and exclusive-ored with 7 bits of
 *           each step. 512 patterns by signature: how often it was seen (halved, with its steps,
 *           at 16), and four steps with their counts; a new step takes the place of the rarest.
 *           The path begins with confidence 100; a step of share c is wanted if confidence * c is
 *           at least 25; the most frequent one goes on with that, times the accuracy of the level
 *           so far (at most 90 %, 90 % before 256 prefetches). It ends below 25, at the page's
 *           end, or at `degree` lines. Left out: paths that go on in the next page (no prefetch
 *           does), the fill threshold.
 * berti     (A. Navarro-Torres et al., "Berti: an accurate local-delta data prefetcher", MICRO
 *           2022). 64 instructions by (pc ^ pc>>6): the last 16 news of each with their time, and
 *           16 deltas. News: the distances (less than N) to those of its news that are at least
 *           TIMELY old, newest first, 8 at most, each once: their deltas gain coverage; a new one
 *           takes the place of that with the least. After 16 news deltas with coverage of 10 or
 *           more are in use until 16 later. Each access to another line than the last: line +
 *           delta of those in use, by place, `degree` at most. Left out: its second level, deltas
 *           between pages.
 * pythia    What it learns from rewards (R. Bera et al., MICRO 2021): cache_pythia.h.
 *
 * Timeliness: a prefetched line whose first use is one of the next TIMELY news after it was asked
 * for came late. The last prefetches are remembered in 1,024 places by line number.
 * tests/oracle/prefetch_slow.h does all of it slowly. */
#ifndef PM_ANALYSE_CACHE_PREFETCH_H
#define PM_ANALYSE_CACHE_PREFETCH_H

#include "analyse/cache_sim.h"

#define CACHE_PF_TIMELY	4
#define CACHE_PF_MOST	64		/* addresses at once: the highest degree */

struct cache_prefetcher;
/* @st: of its level; borrowed. */
struct cache_prefetcher *cache_prefetcher_new(const struct pm_level_conf *lc,
					      const struct pm_level_stats *st);
void cache_prefetcher_free(struct cache_prefetcher *p);	/* NULL is fine */
/* Does it want to know of hits, too; does it depend on the instruction? */
bool cache_prefetcher_every(enum pm_cache_prefetch p);
bool cache_prefetcher_by_pc(enum pm_cache_prefetch p);
/* What it wants after an access: how many addresses, in to[CACHE_PF_MOST]. */
unsigned cache_prefetcher_ask(struct cache_prefetcher *p, uint64_t pc, uint64_t addr, bool fetch,
			      bool news, uint64_t *to);
/* The entries of one that is `stride`, 256 by cache_stride_at(); NULL: it is another one. */
struct cache_stride { uint64_t pc, last; int64_t stride; };
struct cache_stride *cache_prefetcher_strides(struct cache_prefetcher *p);
static inline unsigned cache_stride_at(uint64_t pc)
{
	return (pc ^ pc >> 8) & 255;
}
/* It learns of an access of @addr. True: the stride came again, and it wants lines. */
static inline bool cache_stride_learn(struct cache_stride *s, uint64_t pc, uint64_t addr)
{
	const int64_t d = addr - s->last;
	const bool known = s->pc == pc, again = known && d && d == s->stride;

	*s = (struct cache_stride){ .pc = pc, .last = addr, .stride = known ? d : 0 };
	return again;
}
/* A line was brought; was used for the first time. True: too late. */
void cache_prefetcher_brought(struct cache_prefetcher *p, uint64_t addr);
bool cache_prefetcher_late(const struct cache_prefetcher *p, uint64_t addr);

#endif
