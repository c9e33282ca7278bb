/* SPDX-License-Identifier: MIT */
/* cache_set.h - a set of lines and the replacement policies: rule (2) of cache_sim.h, inline
 * because each access goes through them */
#ifndef PM_ANALYSE_CACHE_SET_H
#define PM_ANALYSE_CACHE_SET_H

#include <emmintrin.h>
#include <string.h>

#include "analyse/cache_state.h"
#include "base/xorshift.h"

static inline uint64_t *set_of(const struct cache_level *l, uint64_t line)
{
	return l->tag + ((line >> l->line_shift) & l->set_mask) * l->ways;
}

#define LINE_MARKS	(LINE_FLAGS & ~LINE_VALID)	/* do not matter for where a line is */

/* Two ways: those that hold @want, whatever its marks. Ways are 64 bits and SSE2 compares 32, so
 * both halves have to be equal. */
static inline __m128i same_2(const uint64_t *way, __m128i want)
{
	const __m128i m = _mm_set1_epi64x(~(long long)LINE_MARKS);

	return _mm_cmpeq_epi32(_mm_and_si128(_mm_load_si128((const __m128i *)way), m), want);
}

/* Ways of a set of 8, of 4, that hold @want: bit 2 * way. They begin at multiples of 16 bytes. */
static inline unsigned find_8(const uint64_t *set, uint64_t want)
{
	const __m128i k = _mm_set1_epi64x((long long)want);
	const unsigned half = (unsigned)_mm_movemask_epi8(
		_mm_packs_epi16(_mm_packs_epi32(same_2(set, k), same_2(set + 2, k)),
				_mm_packs_epi32(same_2(set + 4, k), same_2(set + 6, k))));

	return half & half >> 1 & 0x5555;
}

static inline unsigned find_4(const uint64_t *set, uint64_t want)
{
	const __m128i k = _mm_set1_epi64x((long long)want);
	const unsigned half = (unsigned)_mm_movemask_epi8(
		_mm_packs_epi16(_mm_packs_epi32(same_2(set, k), same_2(set + 2, k)),
				_mm_setzero_si128()));

	return half & half >> 1 & 0x55;
}

/* The first way with @want, whatever its marks; @ways: none. */
static inline unsigned way_of(const uint64_t *set, unsigned ways, uint64_t want)
{
	unsigned w = 0;

	/* nobody can predict where it is */
	if (ways == 8 || ways == 4 || ways == 16 || ways == 12) {
		const unsigned m = ways == 4   ? find_4(set, want)
				   : ways == 8 ? find_8(set, want)
				   : ways == 16
					   ? find_8(set, want) | find_8(set + 8, want) << 16
					   : find_8(set, want) | find_4(set + 8, want) << 16;

		return m ? (unsigned)__builtin_ctz(m) / 2 : ways;
	}
	while (w < ways && ((set[w] ^ want) & ~(uint64_t)LINE_MARKS))
		w++;
	return w;
}

static inline unsigned find(const uint64_t *set, unsigned ways, uint64_t line)
{
	return way_of(set, ways, line | LINE_VALID);
}

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

static inline void plru_init(struct cache_level *l)
{
	for (unsigned way = 0; way < l->ways; way++) {
		l->plru_keep[way] = ~0ull;
		/* node 1 is the root; a bit says which half is older: 0 left, 1 right */
		for (unsigned node = way + l->ways; node > 1; node /= 2)
			if (node & 1)
				l->plru_keep[way] &= ~(1ull << (node / 2));
			else
				l->plru_set[way] |= 1ull << (node / 2);
	}
}

static inline void plru_touch(struct cache_level *l, uint64_t set, unsigned way)
{
	l->plru[set] = (l->plru[set] & l->plru_keep[way]) | l->plru_set[way];
}

/* The line at @way moves to the front of an ordered set, or the policy is told. */
static inline unsigned touch(struct cache_level *l, uint64_t *set, unsigned way)
{
	size_t at = set - l->tag;

	switch (l->conf->policy) {
	case PM_LRU: {
		move_first(set, l->ways, way, set[way]);
		if (l->sub_valid && way) {
			uint32_t v = l->sub_valid[at + way], d = l->sub_dirty[at + way];

			memmove(l->sub_valid + at + 1, l->sub_valid + at, way * sizeof v);
			memmove(l->sub_dirty + at + 1, l->sub_dirty + at, way * sizeof d);
			l->sub_valid[at] = v;
			l->sub_dirty[at] = d;
		}
		return 0;
	}
	case PM_PLRU:
		plru_touch(l, at / l->ways, way);
		break;
	case PM_SRRIP:
	case PM_DRRIP:
		l->rrpv[at + way] = 0;
		break;
	case PM_OPT:
		l->next_use[at + way] = l->now_next;
		break;
	case PM_FIFO:
	case PM_RANDOM:
	case PM_MODULE:
		break;
	}
	return way;
}

/* Take the line at @way out of its set. */
static inline void drop(struct cache_level *l, uint64_t *set, unsigned way)
{
	size_t at = set - l->tag;
	unsigned last = l->ways - 1;

	if (!l->ordered) {
		set[way] = 0;
		return;
	}
	memmove(set + way, set + way + 1, (last - way) * sizeof *set);
	set[last] = 0;
	if (l->sub_valid) {
		memmove(l->sub_valid + at + way, l->sub_valid + at + way + 1, (last - way) * 4);
		memmove(l->sub_dirty + at + way, l->sub_dirty + at + way + 1, (last - way) * 4);
	}
}

/* DRRIP: which policy a set obeys: -1 leads SRRIP, 1 leads BRRIP, 0 follows. */
static inline int duel(const struct cache_level *l, uint64_t set)
{
	uint64_t period = l->set_mask + 1 < 64 ? l->set_mask + 1 : 64;

	if (period < 2)
		return -1;
	return set % period == 0 ? -1 : set % period == period / 2 ? 1 : 0;
}

static inline unsigned choose(struct cache_level *l, uint64_t *set)
{
	size_t at = set - l->tag;
	unsigned best = 0, empty = way_of(set, l->ways, 0);

	if (empty < l->ways)
		return empty;
	switch (l->conf->policy) {
	case PM_RANDOM:
		return pm_random(&l->rnd) % l->ways;
	case PM_PLRU: {
		unsigned node = 1;

		while (node < l->ways)
			node = node * 2 + ((l->plru[at / l->ways] >> node) & 1);
		return node - l->ways;
	}
	case PM_SRRIP:
	case PM_DRRIP:
		for (;;) {
			for (unsigned w = 0; w < l->ways; w++)
				if (l->rrpv[at + w] == 3)
					return w;
			for (unsigned w = 0; w < l->ways; w++)
				l->rrpv[at + w]++;
		}
	default:	/* OPT: the one that comes again last */
		for (unsigned w = 1; w < l->ways; w++)
			if (l->next_use[at + w] > l->next_use[at + best])
				best = w;
		return best;
	}
}

static inline unsigned rrip_insertion(struct cache_level *l, uint64_t set)
{
	bool brrip = false;

	if (l->conf->policy == PM_DRRIP) {
		int d = duel(l, set);

		brrip = d ? d > 0 : l->psel >= 512;
		if (d < 0 && l->psel < 1023)
			l->psel++;
		if (d > 0 && l->psel > 0)
			l->psel--;
	}
	if (!brrip)
		return 2;
	return l->brrip_fills++ % 32 ? 3 : 2;
}

/* Enter a line; the one that had its place is returned (0: the way was empty). */
static inline uint64_t enter(struct cache_level *l, uint64_t *set, uint64_t entry, uint32_t valid,
			     uint32_t dirty, uint32_t *old_dirty)
{
	size_t at = set - l->tag;
	unsigned w = l->ways - 1;
	uint64_t old;

	if (l->ordered) {
		old = set[w];
		if (l->sub_valid) {
			*old_dirty = l->sub_dirty[at + w];
			memmove(l->sub_valid + at + 1, l->sub_valid + at, w * 4);
			memmove(l->sub_dirty + at + 1, l->sub_dirty + at, w * 4);
			l->sub_valid[at] = valid;
			l->sub_dirty[at] = dirty;
		}
		move_first(set, l->ways, w, entry);
		return old;
	}
	w = choose(l, set);
	old = set[w];
	set[w] = entry;
	if (l->sub_valid) {
		*old_dirty = l->sub_dirty[at + w];
		l->sub_valid[at + w] = valid;
		l->sub_dirty[at + w] = dirty;
	}
	switch (l->conf->policy) {
	case PM_PLRU:
		plru_touch(l, at / l->ways, w);
		break;
	case PM_SRRIP:
	case PM_DRRIP:
		l->rrpv[at + w] = rrip_insertion(l, at / l->ways);
		break;
	case PM_OPT:
		l->next_use[at + w] = l->now_next;
		break;
	default:
		break;
	}
	return old;
}

#endif
