/* SPDX-License-Identifier: MIT */
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/lru_below.h"
#include "base/check.h"
#include "base/vectors.h"

#define AHEAD	8			/* requests between fetching sets and using them */
#define WAY_DIRTY	1u
#define TARGET_512	__attribute__((target("avx512f")))

bool lru_below_plain;

bool lru_below_fits(const struct pm_level_conf *lc, uint32_t line)
{
	return pm_cache_plain_level(lc) && lc->line == line && lc->ways >= BELOW_LEAST &&
	       lc->ways <= BELOW_WAYS && lru_sets_of(lc) >= BELOW_SETS;
}

struct lru_below *lru_below_new(const struct pm_level_conf *lc)
{
	struct lru_below *b = pm_alloc(sizeof *b);

	b->set_mask = lru_sets_of(lc) - 1;
	b->line_shift = __builtin_ctz(lc->line);
	b->tag_shift = b->line_shift + __builtin_ctzll(lru_sets_of(lc));
	b->request = pm_alloc((BELOW_REQUESTS + BELOW_ROOM) * sizeof *b->request);
	b->recent = pm_alloc(lru_sets_of(lc) * sizeof *b->recent);
	b->plain = lru_below_plain || !pm_has_avx512();
	b->ntag = 1;
	b->cap_tag = 64;
	b->tag = pm_alloc(b->cap_tag * sizeof *b->tag);
	return b;
}

unsigned lru_below_add(struct lru_below *b, const struct pm_level_conf *lc, struct cache_out *out)
{
	b->member[b->nmember] = (struct below_member){ .last = lc->ways - 1, .out = out };
	return b->nmember++;
}

struct below_to lru_below_to(struct lru_below *b, uint16_t members)
{
	unsigned i = 0;

	while (i < b->nto && b->to[i] != members)
		i++;
	assert(i < BELOW_TO);
	if (i == b->nto)
		b->to[b->nto++] = members;
	return (struct below_to){ members, i };
}

void lru_below_free(struct lru_below *b)
{
	if (!b)
		return;
	free(b->request);
	free(b->recent);
	free(b->way);
	free(b->tag);
	pm_map_release(&b->number);
	free(b);
}

static inline uint64_t set_of_line(const struct lru_below *b, uint64_t line)
{
	return line >> b->line_shift & b->set_mask;
}

/* ---- tags ----------------------------------------------------------------------------------- */

static __attribute__((noinline)) uint32_t look_number_up(struct lru_below *b, uint64_t tag)
{
	bool fresh;
	uint64_t *n = pm_map_put(&b->number, tag, &fresh);

	if (fresh) {
		*n = b->ntag;
		pm_grow(b->tag, b->ntag, b->cap_tag);
		b->tag[b->ntag++] = tag;
	}
	assert(*n < 1u << 31);
	b->known[tag % NR(b->known)].tag = tag;
	b->known[tag % NR(b->known)].number = *n;
	return *n;
}

static inline uint32_t number_of(struct lru_below *b, uint64_t line)
{
	const uint64_t tag = line >> b->tag_shift;
	const unsigned k = tag % NR(b->known);

	if (__builtin_expect(b->known[k].tag == tag && b->known[k].number, 1))
		return b->known[k].number;
	return look_number_up(b, tag);
}

/* ---- requests ------------------------------------------------------------------------------- */

/* Who has a request's line first in its set already is taken out of it, if all that happens is a
 * read; requests that are for nobody then are left out. How many are left. */
static size_t sift(struct lru_below *b)
{
	struct below_request *to = b->request;

	for (const struct below_request *e = b->request, *end = e + b->n; e < end; e++) {
		struct below_recent *r = b->recent + set_of_line(b, e->line);
		const bool back = e->op == PM_OP_BACK, same = r->line == e->line;
		const uint64_t members = e->to.members, had = same ? r->members : 0;
		/* a line written back somewhere else: there the recent one is not first any more */
		const bool keep = back && !same;

		b->requests[e->to.index][e->op][e->cls]++;
		*to = *e;
		to->to.members = back ? members : members & ~had;
		r->members = keep ? r->members & ~members : had | members;
		r->line = keep ? r->line : e->line;
		to += to->to.members != 0;
	}
	return to - b->request;
}

/* ---- a set ---------------------------------------------------------------------------------- */

/* moves[15 - way + k]: does way k take what was before it, if @way comes first? */
static const int32_t moves[32] __attribute__((aligned(64))) = {
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1
};

static inline __m128i same_4(__m128i ways, __m128i want)
{
	return _mm_cmpeq_epi32(_mm_andnot_si128(_mm_set1_epi32(WAY_DIRTY), ways), want);
}

/* Ways k.. to k + 3, as @old or, up to @way, as @before. */
static inline void put_4(uint32_t *set, unsigned k, unsigned way, __m128i old, __m128i before)
{
	const __m128i x = _mm_loadu_si128((const __m128i *)(moves + 15 - way + k));

	_mm_store_si128((__m128i *)(set + k), _mm_or_si128(_mm_and_si128(x, before),
							   _mm_andnot_si128(x, old)));
}

/* The ways before ways k.. to k + 3, which are @old; the one before these are in @low. */
static inline __m128i before_4(__m128i low, __m128i old)
{
	return _mm_or_si128(_mm_slli_si128(old, 4), _mm_srli_si128(low, 12));
}

/* As use(), of a line that is not one of the first four, which are @old0. */
static inline __attribute__((always_inline)) uint32_t
use_later(uint32_t *set, __m128i old0, uint32_t want, uint32_t dirty, unsigned last, bool *hit)
{
	const __m128i *v = (const __m128i *)set, k = _mm_set1_epi32((int)want);
	const __m128i old1 = _mm_load_si128(v + 1), old2 = _mm_load_si128(v + 2),
		      old3 = _mm_load_si128(v + 3);
	const unsigned found = (unsigned)_mm_movemask_epi8(
		_mm_packs_epi16(_mm_packs_epi32(_mm_setzero_si128(), same_4(old1, k)),
				_mm_packs_epi32(same_4(old2, k), same_4(old3, k))));
	const unsigned way = __builtin_ctz(found | 1u << last);
	const uint32_t was = set[way], first = (found ? was : want) | dirty;

	*hit = found;
	put_4(set, 0, way, old0, _mm_or_si128(_mm_slli_si128(old0, 4),
					      _mm_cvtsi32_si128((int)first)));
	put_4(set, 4, way, old1, before_4(old0, old1));
	put_4(set, 8, way, old2, before_4(old1, old2));
	put_4(set, 12, way, old3, before_4(old2, old3));
	return was;
}

/* Look @want up and make it the first of the set, which ends with way @last. If it was not there:
 * the way that had to go. Most lines are among the first four; where, nobody can predict, so no
 * branch depends on that. */
static inline __attribute__((always_inline)) uint32_t
use(uint32_t *set, uint32_t want, uint32_t dirty, unsigned last, bool *hit)
{
	const __m128i old = _mm_load_si128((const __m128i *)set);
	const unsigned found = (unsigned)_mm_movemask_ps(
		_mm_castsi128_ps(same_4(old, _mm_set1_epi32((int)want))));
	unsigned way;

	if (!found)
		return use_later(set, old, want, dirty, last, hit);
	way = __builtin_ctz(found);
	put_4(set, 0, way, old, _mm_or_si128(_mm_slli_si128(old, 4),
					     _mm_cvtsi32_si128((int)(set[way] | dirty))));
	*hit = true;
	return 0;
}

/* The same where a set is one register. */
static inline TARGET_512 uint32_t use_512(uint32_t *set, uint32_t want, uint32_t dirty,
					  unsigned last, bool *hit)
{
	const __m512i old = _mm512_load_si512(set), mark = _mm512_set1_epi32(WAY_DIRTY);
	const uint32_t found = _mm512_cmpeq_epi32_mask(_mm512_andnot_si512(mark, old),
						       _mm512_set1_epi32((int)want));
	const uint32_t at = found | 1u << last, moves_on = at ^ (at - 1);
	const uint32_t was = set[__builtin_ctz(at)], first = (found ? was : want) | dirty;

	_mm512_store_si512(set, _mm512_mask_alignr_epi32(old, moves_on, old,
							 _mm512_set1_epi32((int)first), 15));
	*hit = found;
	return was;
}

/* ---- what is left of requests --------------------------------------------------------------- */

static uint64_t line_of(const struct lru_below *b, uint64_t set, uint32_t way)
{
	return b->tag[way / 2] << b->tag_shift | set << b->line_shift;
}

/* A request's line was not there, and has come; @left had to go. */
static void miss(struct lru_below *b, struct below_member *m, const struct below_request *e,
		 uint32_t left)
{
	const uint32_t size = 1u << b->line_shift;

	m->miss[e->op][e->cls]++;
	m->evictions += left != 0;
	m->writebacks += left & WAY_DIRTY;
	if (m->out && e->op != PM_OP_BACK)
		cache_out_add(m->out, e->op, e->line, size, e->cls);
	if (m->out && left & WAY_DIRTY)
		cache_out_add(m->out, PM_OP_BACK,
			      line_of(b, set_of_line(b, e->line), left), size, 0);
}

typedef uint32_t use_f(uint32_t *set, uint32_t want, uint32_t dirty, unsigned last, bool *hit);

/* HOT: once per request that sift() has left. */
static inline __attribute__((always_inline)) void
simulate(struct lru_below *b, const struct below_request *v, size_t n, use_f *use_it)
{
	const size_t stride = (size_t)b->nmember * BELOW_WAYS;

	for (const struct below_request *e = v, *end = v + n; e < end; e++) {
		uint32_t *const set = b->way + set_of_line(b, e->line) * stride;
		const uint32_t dirty = e->op == PM_OP_BACK ? WAY_DIRTY : 0;
		const uint32_t want = number_of(b, e->line) * 2;

		if (e + AHEAD < end)
			__builtin_prefetch(b->way + set_of_line(b, e[AHEAD].line) * stride +
					   BELOW_WAYS * __builtin_ctz(e[AHEAD].to.members));
		for (unsigned to = e->to.members; to; to &= to - 1) {
			const unsigned i = __builtin_ctz(to);
			struct below_member *m = b->member + i;
			bool hit;
			uint32_t left = use_it(set + i * BELOW_WAYS, want, dirty, m->last, &hit);

			if (!hit)
				miss(b, m, e, left);
		}
	}
}

static void simulate_plain(struct lru_below *b, const struct below_request *v, size_t n)
{
	simulate(b, v, n, use);
}

static TARGET_512 void simulate_512(struct lru_below *b, const struct below_request *v, size_t n)
{
	simulate(b, v, n, use_512);
}

static void check(const struct lru_below *b)
{
	for (uint64_t s = 0; s <= b->set_mask; s++)
		for (unsigned i = 0; i < b->nmember; i++) {
			const uint32_t *set = b->way + (s * b->nmember + i) * BELOW_WAYS;

			for (unsigned w = 1; w < BELOW_WAYS; w++)
				PM_INVARIANT(1, set[w - 1] || !set[w]);
			PM_INVARIANT(2, !(b->recent[s].members >> i & 1) ||
						line_of(b, s, set[0]) == b->recent[s].line);
		}
}

void lru_below_run(struct lru_below *b)
{
	const size_t bytes = (b->set_mask + 1) * b->nmember * BELOW_WAYS * sizeof *b->way;

	if (!b->way) {
		b->way = pm_alloc_lines(bytes);
		memset(b->way, 0, bytes);
	}
	(b->plain ? simulate_plain : simulate_512)(b, b->request, sift(b));
	b->n = 0;
	if (PM_CHECKED)
		check(b);
}

/* ---- results -------------------------------------------------------------------------------- */

void lru_below_level(const struct lru_below *b, unsigned member, struct cache_level *l,
		     struct pm_cache_memory_stats *mem, bool lines)
{
	const struct below_member *m = b->member + member;
	const uint32_t line = l->conf->line, ways = l->conf->ways;
	uint64_t read = 0;

	assert(!b->n && m->last == ways - 1);
	l->st = (struct pm_level_stats){ .evictions = m->evictions, .writebacks = m->writebacks };
	for (unsigned i = 0; i < b->nto; i++)
		for (unsigned op = 0; op < PM_OP_COUNT && b->to[i] >> member & 1; op++)
			for (unsigned cls = 0; cls < 2; cls++)
				l->st.access[op][cls] += b->requests[i][op][cls];
	memcpy(l->st.miss, m->miss, sizeof m->miss);
	for (unsigned op = 0; op < PM_OP_COUNT; op++)
		if (op != PM_OP_BACK)
			read += m->miss[op][0] + m->miss[op][1];
	l->st.bytes_in = read * line;
	l->st.bytes_out = m->writebacks * line;
	*mem = (struct pm_cache_memory_stats){ read, m->writebacks, l->st.bytes_in,
		l->st.bytes_out };
	for (uint64_t s = 0; s <= b->set_mask && lines; s++) {
		const uint32_t *set = b->way + (s * b->nmember + member) * BELOW_WAYS;

		for (unsigned w = 0; w < ways && set[w]; w++)
			l->tag[s * ways + w] = line_of(b, s, set[w]) | LINE_VALID |
					       (set[w] & WAY_DIRTY ? LINE_DIRTY : 0);
	}
}
