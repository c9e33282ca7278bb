/* SPDX-License-Identifier: MIT */
#include "analyse/cache_refs.h"

bool cache_refs_plain;

bool cache_refs_fit(const struct ref_side side[2], bool tlb)
{
	return !tlb && side[0].ways && side[1].ways && side[0].tag != side[1].tag &&
	       side[0].line_mask == side[1].line_mask && !cache_refs_plain && pm_has_avx512();
}

/* Eight events: words that have kind, flags and size, and addresses. */
struct eight { __m512i word, addr; };
_Static_assert(sizeof(struct pm_event) == 24 && offsetof(struct pm_event, addr) == 8,
	       "three words, of which the second is the address");

static inline REF_TARGET struct eight load_eight(const struct pm_event *ev)
{
	const __m512i a = _mm512_loadu_si512(ev), b = _mm512_loadu_si512((const char *)ev + 64),
		      c = _mm512_loadu_si512((const char *)ev + 128);
	/* what is not of @a and @b comes from @c */
	const __m512i words = _mm512_setr_epi64(0, 3, 6, 9, 12, 15, 0, 0),
		      addrs = _mm512_setr_epi64(1, 4, 7, 10, 13, 0, 0, 0);
	const __m512i more = _mm512_setr_epi64(0, 0, 0, 0, 0, 0, 2, 5),
		      more_addrs = _mm512_setr_epi64(0, 0, 0, 0, 0, 0, 3, 6);

	return (struct eight){
		_mm512_mask_permutexvar_epi64(_mm512_permutex2var_epi64(a, words, b), 0xc0, more,
					      c),
		_mm512_mask_permutexvar_epi64(_mm512_permutex2var_epi64(a, addrs, b), 0xe0,
					      more_addrs, c),
	};
}

static inline REF_TARGET __mmask8 kind_is(__m512i kind, unsigned k)
{
	return _mm512_cmpeq_epi64_mask(kind, _mm512_set1_epi64(k));
}

/* Counts are bytes of one word: instructions, lines, and of data kind by kind both classes. */
static void add(struct ref_counts *to, uint64_t counts, unsigned crossed)
{
	const unsigned insns = counts & 255, lines = counts >> 8 & 255;

	to->insns += insns;
	to->fetches += insns + lines;
	to->looked_fetches += insns + lines + crossed;
	for (unsigned i = 0; i < 6; i++) {
		const unsigned k = counts >> (16 + 8 * i) & 255;

		to->data[i / 2][i % 2] += k;
		to->looked[i / 2][i % 2] += k;
	}
}

/* Of which fetches the line @from is not the last one, @upto, of the fetch before. @last: lane 0 is
 * that of the last fetch, before these and then of these. */
static inline REF_TARGET __mmask8 moves_on(__mmask8 fetch, __m512i from, __m512i upto,
					   __m512i *last)
{
	const __m512i before = _mm512_mask_expand_epi64(*last, 0xfe,
							_mm512_maskz_compress_epi64(fetch, upto));
	const unsigned moved = _mm512_cmpneq_epi64_mask(
		_mm512_maskz_compress_epi64(fetch, from), before);
	const __mmask8 highest = (__mmask8)(0x80000000ull >> _lzcnt_u32(fetch));

	*last = _mm512_mask_compress_epi64(*last, highest, upto);
	return (__mmask8)_pdep_u32(moved, fetch);
}

#define RARE	(PM_REF_UNCACHED | PM_REF_COPYBACK | PM_REF_INVAL)

/* HOT: once per eight events. Rare are addresses with high bits, what has such flags, what crosses
 * more than one line, and a read-modify-write, another reference, or a fetch behind a jump that
 * crosses one. */
REF_TARGET size_t cache_list_refs(struct ref_list *list, const struct ref_side *side, uint64_t seg0,
			      uint64_t *last, const struct pm_event *ev, size_t n,
			      struct ref_counts *to)
{
	const __m512i bytes = _mm512_set1_epi64(~(long long)side->line_mask + 1),
		      line_mask = _mm512_set1_epi64((long long)side->line_mask),
		      seg = _mm512_set1_epi64((long long)seg0), one = _mm512_set1_epi64(1);
	__m512i fetched = _mm512_set1_epi64((long long)*last);
	__m512i counts = _mm512_setzero_si512(), at = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
	unsigned done = 0, listed = 0, crossed = 0;

	n = n < REF_PART ? n : REF_PART;
	for (; done + REF_GROUP <= n; done += REF_GROUP) {
		const struct eight e = load_eight(ev + done);
		const __m512i kind = _mm512_and_si512(e.word, _mm512_set1_epi64(255)),
			      size = _mm512_and_si512(_mm512_srli_epi64(e.word, 16),
						      _mm512_set1_epi64(65535)),
			      key = _mm512_or_si512(e.addr, seg),
			      line = _mm512_and_si512(key, line_mask),
			      upto = _mm512_add_epi64(_mm512_sub_epi64(key, line), size);
		const __mmask8 insn = kind_is(kind, PM_EV_INSN),
			       fetch = insn | kind_is(kind, PM_EV_LINE),
			       modify = kind_is(kind, PM_EV_MODIFY),
			       write = modify | kind_is(kind, PM_EV_WRITE),
			       data = write | kind_is(kind, PM_EV_READ),
			       stack = data & _mm512_test_epi64_mask(e.word,
						_mm512_set1_epi64(PM_REF_STACK << 8)),
			       crosses = (fetch | data) & _mm512_cmpgt_epu64_mask(upto, bytes);
		const __m512i next = _mm512_mask_add_epi64(line, crosses, line, bytes);
		__m512i now = fetched;
		const __mmask8 moves = moves_on(fetch, line, next, &now),
			       all = data | (fetch & (moves | crosses));
		const __mmask8 rare =
			((fetch | data) & _mm512_test_epi64_mask(e.addr,
					_mm512_set1_epi64((long long)0xffff000000000000))) |
			(data & _mm512_test_epi64_mask(e.word, _mm512_set1_epi64(RARE << 8))) |
			(crosses & (data | moves |
				    _mm512_cmpgt_epu64_mask(upto, _mm512_add_epi64(bytes, bytes))));
		__m512i what = _mm512_mask_mov_epi64(line, (__mmask8)~moves & fetch, next), shift;

		if (__builtin_expect(rare, 0))
			break;
		fetched = now;
		what = _mm512_mask_or_epi64(what, data, what, _mm512_set1_epi64(REF_DATA));
		what = _mm512_mask_or_epi64(what, write, what, _mm512_set1_epi64(LINE_DIRTY));
		_mm512_storeu_si512(list->line + listed, _mm512_maskz_compress_epi64(all, what));
		_mm_storel_epi64((__m128i *)(list->at + listed),
				 _mm512_cvtepi64_epi8(_mm512_maskz_compress_epi64(all, at)));
		listed += (unsigned)__builtin_popcount(all);
		crossed += (unsigned)__builtin_popcount(crosses & fetch);
		at = _mm512_add_epi64(at, _mm512_set1_epi64(REF_GROUP));
		/* 8 for what fetches, and is no instruction; 16 for the first kind of data */
		shift = _mm512_maskz_mov_epi64(fetch & ~insn, _mm512_set1_epi64(8));
		shift = _mm512_mask_sub_epi64(shift, data, _mm512_slli_epi64(kind, 4),
					      _mm512_set1_epi64(16 * PM_EV_READ - 16));
		shift = _mm512_mask_add_epi64(shift, stack, shift, _mm512_set1_epi64(8));
		counts = _mm512_mask_add_epi64(counts, fetch | data, counts,
					       _mm512_sllv_epi64(one, shift));
	}
	list->n = listed;
	*last = (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(fetched));
	add(to, (uint64_t)_mm512_reduce_add_epi64(counts), crossed);
	return done;
}
