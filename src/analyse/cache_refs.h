/* SPDX-License-Identifier: MIT */
/* cache_refs.h - events to accesses of first levels that are lru, wb, wa and nothing else, and a
 * set of such a level; inline, for cache_plain.c, cold_level.c and cache_split.c
 *
 * A set lists its lines newest first; LINE_DIRTY and the flag above it do not matter for where a
 * line is. Sets of 8 and 16 ways are at multiples of 16 bytes. */
#ifndef PM_ANALYSE_CACHE_REFS_H
#define PM_ANALYSE_CACHE_REFS_H

#include <immintrin.h>

#include "analyse/cache_set.h"
#include "base/vectors.h"

#define REF_INLINE	static inline __attribute__((always_inline))

/* ---- a set ---------------------------------------------------------------------------------- */

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

/* References, and how often the loop looked for one's line; access() counts what it does itself.
 * data: PM_EV_READ to PM_EV_MODIFY, by class. */
struct ref_counts {
	uint64_t insns, fetches, looked_fetches, data[3][2], looked[3][2];
	bool other;
};

/* Of counts by kind and class: what read, or what wrote. */
static inline uint64_t ref_sum(const uint64_t data[3][2], bool write, unsigned cls)
{
	return data[write ? PM_EV_WRITE - PM_EV_READ : 0][cls] +
	       data[PM_EV_MODIFY - PM_EV_READ][cls];
}

/* What @n counted goes to a cache's sums: @refs before splitting, @i and @d the lookups of the
 * first levels, NULL where there is none. A TLB does not tell writes from reads. */
static inline void ref_add(const struct ref_counts *n, bool tlb, uint64_t refs[3][2],
			   uint64_t (*i)[2], uint64_t (*d)[2])
{
	refs[PM_OP_FETCH][0] += n->fetches;
	if (i)
		i[PM_OP_FETCH][0] += n->looked_fetches;
	for (unsigned k = 0; k < 4 && d; k++) {
		const unsigned write = k / 2, cls = k % 2;

		refs[write ? PM_OP_WRITE : PM_OP_READ][cls] += ref_sum(n->data, write, cls);
		d[write && !tlb ? PM_OP_WRITE : PM_OP_READ][cls] +=
			ref_sum(n->looked, write, cls);
	}
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
 * read-modify-write is its read. A side without ways is not simulated. @one: both are the same.
 * False: maintain() was. */
REF_INLINE bool run_refs(const struct ref_calls *calls, void *ctx, const struct ref_side si,
			 const struct ref_side sd, uint64_t seg0, bool one, bool tlb,
			 const struct pm_event *ev, size_t n, struct ref_counts *to)
{
	const uint64_t dirty = tlb ? 0 : LINE_DIRTY;
	struct ref_counts k = { 0 };
	uint64_t crossed = 0, data_crossed[3][2] = { { 0 } };
	uint64_t last = 1;		/* no line's address */
	bool on = true;

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
				crossed++;
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
				on = calls->maintain(ctx, e, key);
				if (!on)
					break;
				continue;
			}
			k.data[data][cls]++;
			line = key & sd.line_mask;
			if (__builtin_expect(key - line + e->size > ~sd.line_mask + 1, 0)) {
				ref_lines(calls, ctx, e, key, sd.line_mask, tlb);
				data_crossed[data][cls]++;
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
	to->other |= k.other;
	to->insns += k.insns;
	to->fetches += k.fetches;
	to->looked_fetches += k.fetches - crossed;
	for (unsigned i = 0; i < 6; i++) {
		to->data[i / 2][i % 2] += k.data[i / 2][i % 2];
		to->looked[i / 2][i % 2] += k.data[i / 2][i % 2] - data_crossed[i / 2][i % 2];
	}
	return on;
}

/* ---- the same in two steps ------------------------------------------------------------------ */
/* Nobody can predict which kinds of events follow each other, and which of them reach another line.
 * Where there is AVX-512, the first step lists what has to be looked up, eight events at a time and
 * without a branch; the second looks it up, and has no kinds to tell apart. For the usual first
 * levels: two, with lines of the same size. */

#define REF_PART	248		/* events that are listed at once: a byte counts them */
#define REF_GROUP	8		/* ... and are looked at together */

/* A line, LINE_DIRTY if it is written, and REF_DATA; and which event it was. */
#define REF_DATA	1u
struct ref_list {
	uint64_t line[REF_PART + REF_GROUP];
	uint8_t at[REF_PART + REF_GROUP];
	unsigned n;
};

/* Tests set it: that is how it is where there is no AVX-512. */
extern bool cache_refs_plain;
bool cache_refs_fit(const struct ref_side side[2], bool tlb);
/* Lists what of the first @n events comes before a group with one that is rare; returns how many
 * events these are. *@last: the line of code that was fetched last. */
size_t cache_list_refs(struct ref_list *list, const struct ref_side *side, uint64_t seg0,
		       uint64_t *last, const struct pm_event *ev, size_t n, struct ref_counts *to);

/* find_first() of a set of 8 ways: without a branch but that for a miss. */
static inline __attribute__((target("avx512f"))) bool
find_first_512(uint64_t *set, uint64_t line, uint64_t dirty)
{
	const __m512i v = _mm512_load_si512(set);
	const __mmask8 at = _mm512_cmpeq_epi64_mask(
		_mm512_and_si512(v, _mm512_set1_epi64(~(long long)LINE_MARKS)),
		_mm512_set1_epi64((long long)(line | LINE_VALID)));
	__m512i first;

	if (__builtin_expect(!at, 0))
		return false;
	first = _mm512_or_si512(_mm512_maskz_compress_epi64(at, v),
				_mm512_set1_epi64((long long)dirty));
	first = _mm512_mask_expand_epi64(first, 0xfe, v);
	_mm512_store_si512(set, _mm512_mask_mov_epi64(v, at ^ (at - 1), first));
	return true;
}

/* HOT: once per line that is listed. */
REF_INLINE __attribute__((target("avx512f")))
void ref_look_up(const struct ref_calls *calls, void *ctx, const struct ref_side side[2],
		 bool ways_8, const struct ref_list *list, const struct pm_event *ev)
{
	for (unsigned i = 0; i < list->n; i++) {
		const bool data = list->line[i] & REF_DATA;
		const struct ref_side *s = side + data;
		const uint64_t line = list->line[i] & ~(uint64_t)LINE_FLAGS,
			       dirty = list->line[i] & LINE_DIRTY;
		const unsigned ways = ways_8 ? 8 : s->ways;
		uint64_t *set = s->tag + (line >> s->shift & s->set_mask) * ways;

		if (ways_8 ? find_first_512(set, line, dirty) : find_first(set, ways, line, dirty))
			continue;
		calls->miss(ctx, !data, set, line,
			    !data ? PM_OP_FETCH
			    : ev[list->at[i]].kind == PM_EV_WRITE ? PM_OP_WRITE
								  : PM_OP_READ,
			    data && ev[list->at[i]].flags & PM_REF_STACK);
		set[0] |= dirty;
	}
}

/* With the usual number of ways built in. Who calls it is compiled for REF_TARGET. */
#define REF_TARGET	__attribute__((target(PM_AVX512)))
REF_INLINE __attribute__((target("avx512f")))
void ref_look_up_all(const struct ref_calls *calls, void *ctx, const struct ref_side side[2],
		     const struct ref_list *list, const struct pm_event *ev)
{
	if (side[0].ways == 8 && side[1].ways == 8)
		ref_look_up(calls, ctx, side, true, list, ev);
	else
		ref_look_up(calls, ctx, side, false, list, ev);
}

/* ref_look_up_all() with calls that the compiler knows. */
typedef void ref_look_up_fn(void *ctx, const struct ref_side side[2], const struct ref_list *list,
			    const struct pm_event *ev);

/* References to first levels @si and @sd. */
REF_INLINE void cache_run_refs(const struct ref_calls *calls, ref_look_up_fn *look_up, void *ctx,
			       struct ref_side si, struct ref_side sd, uint64_t seg0, bool tlb,
			       const struct pm_event *ev, size_t n, struct ref_counts *to)
{
	const struct ref_side side[2] = { si, sd };
	const bool one = si.tag == sd.tag, listed = cache_refs_fit(side, tlb);
	struct ref_list list;
	size_t rare = REF_GROUP;
	uint64_t last = 1;

	*to = (struct ref_counts){ 0 };
	while (listed && n >= REF_GROUP) {
		size_t k = cache_list_refs(&list, side, seg0, &last, ev, n, to);

		look_up(ctx, side, &list, ev);
		ev += k;
		n -= k;
		if (k == REF_PART)
			continue;
		/* where what is rare is not, trying costs little */
		rare = k ? REF_GROUP : 2 * rare;
		k = n < rare ? n : rare;
		if (!run_refs(calls, ctx, si, sd, seg0, one, tlb, ev, k, to))
			return;
		last = 1;
		ev += k;
		n -= k;
	}
	if (si.ways == 8 && sd.ways == 8 && !one && !tlb) {	/* with that built in */
		si.ways = sd.ways = 8;
		run_refs(calls, ctx, si, sd, seg0, false, false, ev, n, to);
	} else {
		run_refs(calls, ctx, si, sd, seg0, one, tlb, ev, n, to);
	}
}

#endif
