/* SPDX-License-Identifier: MIT */
/* cache_plain.c - the rules of cache_sim.h once more, for what nearly everybody simulates: first
 * levels that are lru, wb, wa and nothing else; below them any level that does not reach upwards.
 * Nothing that happens below changes what is above then, so the levels take turns: what leaves one
 * is kept, and the next one takes it at the end of the batch. Where its set is can be fetched ahead
 * of its use. */
#include <emmintrin.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/cache_set.h"

#define AHEAD	8		/* requests between fetching a set and using it */

bool pm_cache_plain_level(const struct pm_level_conf *lc)
{
	return lc->policy == PM_LRU && lc->wb && lc->wa && lc->incl == PM_NINE && !lc->sub &&
	       !lc->victim && !lc->wbuf && !lc->prefetch && !lc->three_c;
}

/* ---- a set ---------------------------------------------------------------------------------- */

/* Ways of a set of 8 that hold @want, whatever their LINE_DIRTY: bit 2 * way. Ways are 64 bits and
 * SSE2 compares 32, so both halves have to be equal. */
static inline unsigned find_8(const uint64_t *set, uint64_t want)
{
	const __m128i *v = (const __m128i *)set, k = _mm_set1_epi64x((long long)want),
		      m = _mm_set1_epi64x(~(long long)LINE_DIRTY);
	__m128i a = _mm_cmpeq_epi32(_mm_and_si128(_mm_load_si128(v), m), k),
		b = _mm_cmpeq_epi32(_mm_and_si128(_mm_load_si128(v + 1), m), k),
		c = _mm_cmpeq_epi32(_mm_and_si128(_mm_load_si128(v + 2), m), k),
		d = _mm_cmpeq_epi32(_mm_and_si128(_mm_load_si128(v + 3), m), k);
	unsigned half = (unsigned)_mm_movemask_epi8(
		_mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d)));

	return half & half >> 1 & 0x5555;
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

/* Look @line up and make it the first of its set, dirty as well if @dirty says so. */
static inline __attribute__((always_inline)) bool
find_first(uint64_t *set, unsigned ways, uint64_t line, uint64_t dirty)
{
	const uint64_t want = line | LINE_VALID;
	unsigned way = 1;

	if ((set[0] & ~(uint64_t)LINE_DIRTY) == want) {
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
		while (way < ways && (set[way] & ~(uint64_t)LINE_DIRTY) != want)
			way++;
		if (way >= ways)
			return false;
	}
	move_first(set, ways, way, set[way] | dirty);
	return true;
}

/* ---- an access ------------------------------------------------------------------------------ */

static inline void go_on(struct pm_cache *c, struct cache_level *l, enum pm_cache_op op,
			 uint64_t addr, uint32_t size, unsigned cls)
{
	bool back = op == PM_OP_BACK;

	if (l->out) {
		cache_out_add(l->out, op, addr, size, cls);
		return;
	}
	*(back ? &c->mst.writes : &c->mst.reads) += 1;
	*(back ? &c->mst.bytes_written : &c->mst.bytes_read) += size;
}

static __attribute__((noinline)) void miss(struct pm_cache *c, struct cache_level *l, uint64_t *set,
					   uint64_t line, uint32_t size, enum pm_cache_op op,
					   unsigned cls)
{
	const bool write = op == PM_OP_WRITE || op == PM_OP_BACK;
	const uint32_t bytes = l->conf->line;
	const unsigned last = l->ways - 1;
	uint64_t old = set[last];

	l->miss[op][cls]++;
	if (op != PM_OP_BACK || size < bytes) {
		l->st.bytes_in += bytes;
		if (op != PM_OP_PREFETCH && c->reach <= l->hop)
			c->reach = l->hop + 1;
		go_on(c, l, op == PM_OP_FETCH || op == PM_OP_PREFETCH ? op : PM_OP_READ, line,
		      bytes, cls);
	}
	move_first(set, l->ways, last, line | LINE_VALID | (write ? LINE_DIRTY : 0));
	l->st.evictions += old & LINE_VALID;
	if (old & LINE_DIRTY) {
		l->st.writebacks++;
		l->st.bytes_out += bytes;
		go_on(c, l, PM_OP_BACK, old & ~(uint64_t)LINE_FLAGS, bytes, 0);
	}
}

static inline __attribute__((always_inline)) void
access_line(struct pm_cache *c, struct cache_level *l, uint64_t line, uint32_t size,
	    enum pm_cache_op op, unsigned cls)
{
	uint64_t *set = set_of(l, line);

	l->access[op][cls]++;
	if (!find_first(set, l->ways, line, op == PM_OP_WRITE || op == PM_OP_BACK ? LINE_DIRTY : 0))
		miss(c, l, set, line, size, op, cls);
}

/* ---- level by level ------------------------------------------------------------------------- */

static void level_requests(struct pm_cache *c, struct cache_level *l, const struct cache_request *v,
			   size_t n)
{
	const uint64_t offset = ~l->line_mask;

	for (size_t i = 0; i < n; i++) {
		uint64_t addr = v[i].addr, size = v[i].size;

		if (i + AHEAD < n) {
			const uint64_t *set = set_of(l, v[i + AHEAD].addr);

			__builtin_prefetch(set);
			__builtin_prefetch(set + l->ways - 1);
		}
		while (size) {
			uint64_t room = offset + 1 - (addr & offset), k = size < room ? size : room;

			if (l->plain)
				access_line(c, l, addr & l->line_mask, k, v[i].op, v[i].cls);
			else
				pm_cache_line(c, l, addr, k, v[i].op, v[i].cls);
			addr += k;
			size -= k;
		}
	}
}

void pm_cache_drain(struct pm_cache *c, unsigned from, unsigned to)
{
	for (unsigned i = from; c->apart && i < to; i++) {
		struct cache_out *o = c->apart + i;

		if (o->n)
			level_requests(c, c->level + i + 1, o->v, o->n);
		o->n = 0;
	}
}

static void maintain(struct pm_cache *c, uint64_t key, unsigned flags, unsigned from, unsigned to)
{
	pm_cache_drain(c, from, to);
	for (unsigned i = from; i < to; i++) {
		pm_cache_maintain(c, c->level + i, key, flags);
		pm_cache_drain(c, from, to);
	}
	pm_cache_maintained(c, key, flags, to);
}

void pm_cache_flush(struct pm_cache *c)
{
	maintain(c, 0, PM_REF_ALL, 0, c->conf.n);
}

void pm_cache_requests(struct pm_cache *c, unsigned from, unsigned to,
		       const struct cache_request *v, size_t n)
{
	size_t done = 0;

	pm_cache_take_turns(c);
	for (size_t i = 0; i <= n; i++) {
		if (i < n && v[i].op != CACHE_OUT_MAINTAIN)
			continue;
		level_requests(c, c->level + from, v + done, i - done);
		pm_cache_drain(c, from, to);
		if (i < n)
			maintain(c, v[i].addr, v[i].cls, from, to);
		done = i + 1;
	}
}

void pm_cache_take_turns(struct pm_cache *c)
{
	unsigned first = 0;

	if (!c->turns || c->apart)
		return;
	while (first + 1 < c->conf.n && c->conf.level[first + 1].depth == c->conf.level[0].depth)
		first++;
	c->apart = pm_alloc(c->conf.n * sizeof *c->apart);
	for (unsigned i = 0; i < c->conf.n; i++) {
		struct cache_level *l = c->level + i;

		if (l->next && !l->out)
			l->out = c->apart + (i < first ? first : i);
		c->apart[i].kept = true;
	}
}

/* ---- references ----------------------------------------------------------------------------- */

/* What of a level each reference needs. A copy of one's own stays in registers: a set that is
 * written to could be anything that is not. */
struct plain_side { uint64_t *tag, line_mask, set_mask; unsigned shift, ways; };

static struct plain_side side_of(const struct cache_level *l)
{
	if (!l)
		return (struct plain_side){ 0 };
	return (struct plain_side){ l->tag, l->line_mask, l->set_mask, l->line_shift, l->ways };
}

/* A reference to several lines. A read-modify-write is a read of all, then a write of all. */
static __attribute__((noinline)) void ref_lines(struct pm_cache *c, struct cache_level *l,
						const struct pm_event *e, uint64_t line,
						uint64_t last, unsigned cls)
{
	const bool fetch = e->kind == PM_EV_INSN || e->kind == PM_EV_LINE;

	for (unsigned k = PM_OP_FETCH; k <= PM_OP_WRITE; k++) {
		const enum pm_cache_op op = c->conf.tlb && k == PM_OP_WRITE ? PM_OP_READ : k;

		if (fetch ? k != PM_OP_FETCH
			  : k == PM_OP_FETCH ||
			    e->kind == (k == PM_OP_READ ? PM_EV_WRITE : PM_EV_READ))
			continue;
		for (uint64_t at = line; at - line <= last - line; at += l->conf->line)
			access_line(c, l, at, 0, op, cls);
	}
}

/* True: it is counted already (it crossed lines). The caller counts the others. What misses within
 * a read-modify-write is its read. */
static inline __attribute__((always_inline)) bool
ref(struct pm_cache *c, struct cache_level *l, const struct plain_side s, const struct pm_event *e,
    uint64_t key, enum pm_cache_op op, uint64_t dirty, unsigned cls)
{
	const uint64_t last = (key + (e->size ? e->size - 1 : 0)) & s.line_mask,
		       line = key & s.line_mask;
	uint64_t *set = s.tag + (line >> s.shift & s.set_mask) * s.ways;

	if (__builtin_expect(line != last, 0)) {
		ref_lines(c, l, e, line, last, cls);
		return true;
	}
	if (__builtin_expect(!find_first(set, s.ways, line, dirty), 0)) {
		miss(c, l, set, line, 0, op, cls);
		set[0] |= dirty;
	}
	return false;
}

/* Dinero's copy-back and invalidate; and what goes past all caches. */
static __attribute__((noinline)) void odd_event(struct pm_cache *c, const struct pm_event *e,
						uint64_t key)
{
	if (e->flags & PM_REF_UNCACHED)
		return;
	maintain(c, key, e->flags, 0, c->own);
}

struct plain_counts { uint64_t insns, fetches, crossed, data[2][2], counted[2][2]; bool other; };

static void add_counts(struct pm_cache *c, const struct plain_counts *n)
{
	struct cache_level *li = c->first_i, *ld = c->first_d;

	c->insns += n->insns;
	c->other |= n->other;
	c->refs[PM_OP_FETCH][0] += n->fetches;
	if (li)
		li->access[PM_OP_FETCH][0] += n->fetches - n->crossed;
	for (unsigned k = 0; k < 4 && ld; k++) {
		const unsigned write = k / 2, cls = k % 2;

		c->refs[write ? PM_OP_WRITE : PM_OP_READ][cls] += n->data[write][cls];
		ld->access[write && !c->conf.tlb ? PM_OP_WRITE : PM_OP_READ][cls] +=
			n->data[write][cls] - n->counted[write][cls];
	}
}

/* HOT: once per event. An instruction is usually in the line that was fetched last, which is the
 * first of its set still, unless data have come into the same cache meanwhile. Whether a reference
 * reads or writes nobody can predict: no branch depends on it. */
static void run_plain(struct pm_cache *c, const struct pm_event *ev, size_t n)
{
	struct cache_level *const li = c->first_i, *const ld = c->first_d;
	const struct plain_side si = side_of(li), sd = side_of(ld);
	const uint64_t seg0 = c->segment0, dirty = c->conf.tlb ? 0 : LINE_DIRTY;
	const bool one = li == ld;
	struct plain_counts k = { 0 };
	uint64_t last = 1;		/* no line's address */

	pm_cache_take_turns(c);
	for (const struct pm_event *e = ev, *end = ev + n; e < end; e++) {
		uint64_t key = e->addr | seg0, reads, writes;

		if (__builtin_expect(e->addr >> 48 != 0, 0))
			key = pm_cache_key(c, e->addr);
		if (e->kind == PM_EV_INSN || e->kind == PM_EV_LINE) {
			k.insns += e->kind == PM_EV_INSN;
			if (!li)
				continue;
			k.fetches++;
			if ((key & si.line_mask) == last &&
			    ((key + e->size - 1) & si.line_mask) == last)
				continue;
			k.crossed += ref(c, li, si, e, key, PM_OP_FETCH, 0, 0);
			last = (key + (e->size ? e->size - 1 : 0)) & si.line_mask;
		} else if (e->kind >= PM_EV_READ && e->kind <= PM_EV_MODIFY) {
			const unsigned cls = (e->flags & PM_REF_STACK) != 0;

			k.other |= !ld;
			last = one ? 1 : last;
			if (__builtin_expect(!ld || e->flags & (PM_REF_COPYBACK | PM_REF_INVAL |
								PM_REF_UNCACHED), 0)) {
				if (ld)
					odd_event(c, e, key);
				last = 1;
				continue;
			}
			reads = e->kind != PM_EV_WRITE;
			writes = e->kind != PM_EV_READ;
			k.data[0][cls] += reads;
			k.data[1][cls] += writes;
			if (ref(c, ld, sd, e, key, reads | !dirty ? PM_OP_READ : PM_OP_WRITE,
				writes ? dirty : 0, cls)) {
				k.counted[0][cls] += reads;
				k.counted[1][cls] += writes;
			}
		}
	}
	add_counts(c, &k);
	pm_cache_drain(c, 0, c->own);
}

void pm_cache_events(struct pm_cache *c, const struct pm_event *ev, size_t n)
{
	if (c->plain)
		run_plain(c, ev, n);
	else
		pm_cache_run(c, ev, n, NULL);
}

void pm_cache_batch(struct pm_cache *c, const struct pm_batch *b)
{
	if (b->stream)
		pm_cache_enter_space(c, b->stream->space);
	if (c->plain)
		run_plain(c, b->ev, b->n);
	else
		pm_cache_run(c, b->ev, b->n, b);
}
