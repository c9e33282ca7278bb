/* SPDX-License-Identifier: MIT */
/* cache_refs.h - events to accesses of first levels that are lru, wb, wa and nothing else, and a
 * set of such a level; inline, for cache_plain.c, cold_level.c and cache_split.c
 *
 * A set lists its lines newest first; LINE_DIRTY and the flag above it do not matter for where a
 * line is. Sets of 8 and 16 ways are at multiples of 16 bytes. */
#ifndef PM_ANALYSE_CACHE_REFS_H
#define PM_ANALYSE_CACHE_REFS_H

#include "analyse/cache_set.h"

#define REF_INLINE	static inline __attribute__((always_inline))

/* ---- a set ---------------------------------------------------------------------------------- */

/* What was at @way comes first, as @e; what was before it moves back by one. Without a branch. */
static inline void first_8(uint64_t *set, unsigned way, uint64_t e)
{
	static const int64_t moves[16] __attribute__((aligned(16))) = {
		-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0
	};
	__m128i *v = (__m128i *)set;
	const int64_t *m = moves + 7 - way;	/* m[k]: does way k take the one before it? */
	__m128i old[4], before[4];

	for (int k = 0; k < 4; k++)
		old[k] = _mm_load_si128(v + k);
	before[0] = _mm_unpacklo_epi64(_mm_set1_epi64x((long long)e), old[0]);
	for (int k = 1; k < 4; k++)		/* the second of one pair, the first of the next */
		before[k] = _mm_castpd_si128(_mm_shuffle_pd(_mm_castsi128_pd(old[k - 1]),
							    _mm_castsi128_pd(old[k]), 1));
	for (int k = 0; k < 4; k++) {
		__m128i x = _mm_loadu_si128((const __m128i *)(m + 2 * k));

		_mm_store_si128(v + k, _mm_or_si128(_mm_and_si128(x, before[k]),
						    _mm_andnot_si128(x, old[k])));
	}
}

static inline void move_first(uint64_t *set, unsigned ways, unsigned way, uint64_t e)
{
	if (ways == 8) {
		first_8(set, way, e);
	} else if (ways == 16 && way < 8) {
		first_8(set, way, e);
	} else if (ways == 16) {
		first_8(set + 8, way - 8, set[7]);
		first_8(set, 7, e);
	} else {
		for (; way > 0; way--)
			set[way] = set[way - 1];
		set[0] = e;
	}
}

/* Look @line up and make it the first of its set, dirty as well if @dirty says so. */
static inline __attribute__((always_inline)) bool
find_first(uint64_t *set, unsigned ways, uint64_t line, uint64_t dirty)
{
	const uint64_t want = line | LINE_VALID;
	unsigned way = 1;

	if ((set[0] & ~(uint64_t)LINE_MARKS) == want) {
		set[0] |= dirty;
		return true;
	}
	if (ways == 8 || ways == 16) {	/* where else it is nobody can predict either */
		unsigned m = find_8(set, want);

		if (ways == 16)
			m |= find_8(set + 8, want) << 16;
		if (!m)
			return false;
		way = __builtin_ctz(m) / 2;
	} else {
		while (way < ways && (set[way] & ~(uint64_t)LINE_MARKS) != want)
			way++;
		if (way >= ways)
			return false;
	}
	move_first(set, ways, way, set[way] | dirty);
	return true;
}

/* ---- references ----------------------------------------------------------------------------- */

/* What of a level each reference needs. A copy of one's own stays in registers: a set that is
 * written to could be anything that is not. */
struct ref_side { uint64_t *tag, line_mask, set_mask; unsigned shift, ways; };

/* What the loop does not do itself; it is inlined with these. */
struct ref_calls {
	uint64_t (*key)(void *ctx, const struct pm_event *e);	/* of an address with high bits */
	/* Enter @line, which is not in @set. The loop has not counted the miss, but the access. */
	void (*miss)(void *ctx, bool fetch, uint64_t *set, uint64_t line, enum pm_cache_op op,
		     unsigned cls);
	/* All of it, of a reference that crosses lines. */
	void (*access)(void *ctx, uint64_t line, enum pm_cache_op op, unsigned cls);
	/* PM_REF_COPYBACK, PM_REF_INVAL. False: the loop ends. */
	bool (*maintain)(void *ctx, const struct pm_event *e, uint64_t key);
};

/* References; of them, those counted by access(). data: PM_EV_READ.. to PM_EV_MODIFY, by class. */
struct ref_counts { uint64_t insns, fetches, crossed, data[3][2], counted[3][2]; bool other; };

/* Of counts by kind and class: what read, or what wrote. */
static inline uint64_t ref_sum(const uint64_t data[3][2], bool write, unsigned cls)
{
	return data[write ? PM_EV_WRITE - PM_EV_READ : 0][cls] +
	       data[PM_EV_MODIFY - PM_EV_READ][cls];
}

static inline uint64_t *ref_set(const struct ref_side *s, uint64_t line)
{
	return s->tag + (line >> s->shift & s->set_mask) * s->ways;
}

/* A reference that crosses lines. A read-modify-write is a read of all, then a write of all. */
static __attribute__((noinline, unused)) void
ref_lines(const struct ref_calls *calls, void *ctx, const struct pm_event *e, uint64_t key,
	  uint64_t line_mask, bool tlb)
{
	const bool fetch = e->kind == PM_EV_INSN || e->kind == PM_EV_LINE;
	const unsigned cls = !fetch && e->flags & PM_REF_STACK;
	const uint64_t line = key & line_mask, last = (key + e->size - 1) & line_mask;

	for (unsigned k = PM_OP_FETCH; k <= PM_OP_WRITE; k++) {
		if (fetch ? k != PM_OP_FETCH
			  : k == PM_OP_FETCH ||
			    e->kind == (k == PM_OP_READ ? PM_EV_WRITE : PM_EV_READ))
			continue;
		for (uint64_t at = line; at - line <= last - line; at += ~line_mask + 1)
			calls->access(ctx, at, tlb && k == PM_OP_WRITE ? PM_OP_READ : k, cls);
	}
}

/* HOT: once per event. An instruction is usually in the line that was fetched last, which is the
 * first of its set still, unless data have come into the same cache meanwhile. Whether a reference
 * reads or writes nobody can predict: no branch depends on it. What misses within a
 * read-modify-write is its read. A side without ways is not simulated. @one: both are the same. */
REF_INLINE void run_refs(const struct ref_calls *calls, void *ctx, const struct ref_side si,
			 const struct ref_side sd, uint64_t seg0, bool one, bool tlb,
			 const struct pm_event *ev, size_t n, struct ref_counts *to)
{
	const uint64_t dirty = tlb ? 0 : LINE_DIRTY;
	struct ref_counts k = { 0 };
	uint64_t last = 1;		/* no line's address */

	for (const struct pm_event *e = ev, *end = ev + n; e < end; e++) {
		const unsigned kind = e->kind, data = kind - PM_EV_READ;
		uint64_t key = e->addr | seg0, line;

		if (__builtin_expect(e->addr >> 48 != 0, 0))
			key = calls->key(ctx, e);
		if (kind == PM_EV_INSN || kind == PM_EV_LINE) {
			k.insns += kind == PM_EV_INSN;
			if (!si.ways)
				continue;
			k.fetches++;
			line = key & si.line_mask;
			if (__builtin_expect(key - line + e->size > ~si.line_mask + 1, 0)) {
				ref_lines(calls, ctx, e, key, si.line_mask, tlb);
				k.crossed++;
				last = (key + e->size - 1) & si.line_mask;
			} else if (line != last) {
				uint64_t *set = ref_set(&si, line);

				if (__builtin_expect(!find_first(set, si.ways, line, 0), 0))
					calls->miss(ctx, true, set, line, PM_OP_FETCH, 0);
				last = line;
			}
		} else if (data <= PM_EV_MODIFY - PM_EV_READ) {
			const unsigned cls = (e->flags & PM_REF_STACK) != 0;

			k.other |= !sd.ways;
			if (!sd.ways || e->flags & PM_REF_UNCACHED)
				continue;
			last |= one;
			if (__builtin_expect(e->flags & (PM_REF_COPYBACK | PM_REF_INVAL), 0)) {
				last = 1;
				if (!calls->maintain(ctx, e, key))
					break;
				continue;
			}
			k.data[data][cls]++;
			line = key & sd.line_mask;
			if (__builtin_expect(key - line + e->size > ~sd.line_mask + 1, 0)) {
				ref_lines(calls, ctx, e, key, sd.line_mask, tlb);
				k.counted[data][cls]++;
			} else {
				const uint64_t write = kind == PM_EV_READ ? 0 : dirty;
				uint64_t *set = ref_set(&sd, line);

				if (__builtin_expect(!find_first(set, sd.ways, line, write), 0)) {
					calls->miss(ctx, false, set, line,
						    kind == PM_EV_WRITE && !tlb ? PM_OP_WRITE
										: PM_OP_READ,
						    cls);
					set[0] |= write;
				}
			}
		}
	}
	*to = k;
}

/* References to first levels @si and @sd. The usual ones have a loop of their own, with what is
 * known of them built in. */
REF_INLINE void cache_run_refs(const struct ref_calls *calls, void *ctx, struct ref_side si,
			       struct ref_side sd, uint64_t seg0, bool tlb,
			       const struct pm_event *ev, size_t n, struct ref_counts *to)
{
	const bool one = si.tag == sd.tag;

	if (si.ways == 8 && sd.ways == 8 && !one && !tlb) {
		si.ways = sd.ways = 8;
		run_refs(calls, ctx, si, sd, seg0, false, false, ev, n, to);
	} else {
		run_refs(calls, ctx, si, sd, seg0, one, tlb, ev, n, to);
	}
}

#endif
