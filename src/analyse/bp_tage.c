/* SPDX-License-Identifier: MIT */
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/bp_tage.h"
#include "analyse/bpred.h"
#include "base/mem.h"
#include "base/vectors.h"

#define INLINE	static inline __attribute__((always_inline))
/* Of what runs often there are two, one for processors where a lane of each table fits into a
 * register. */
#define TARGET_AVX2	__attribute__((target(PM_AVX2)))

bool tage_plain, tage_no_512;

static inline bool use_avx2(void)
{
	return !tage_plain && pm_has_avx2();
}

/* The same with instructions of three operands, and the corrector's lanes in one register. */
#define TARGET_512	__attribute__((target(PM_AVX512)))
static inline bool use_512(void)
{
	return !tage_plain && !tage_no_512 && pm_has_avx512();
}

/* ---- history (1), (2): bits in a ring, and folds that are kept up to date ------------------- */

#define RING	1024			/* more than the longest history and what branches of a
					 * batch append; a power of two */
#define LANES	16			/* no fewer than tables; a fold has at most 14 bits */
#define AHEAD	32			/* branches of a batch: their hashes are computed at once */
#define LEAVE	16			/* bits that leave histories, as many as a lane has */

/* A lane for each table: one AVX2 register, or two of SSE2. */
typedef uint16_t lanes_t __attribute__((vector_size(2 * LANES)));
typedef int16_t signed_lanes_t __attribute__((vector_size(2 * LANES)));
typedef int8_t byte_lanes_t __attribute__((vector_size(2 * LANES)));
union tage_lanes { lanes_t all; uint16_t v[LANES]; __m128i half[2]; };

/* Three folds of each table: as wide as its index, its tag, its tag - 1. They are the high bits of
 * their lanes, so that what moves beyond the width is gone. */
struct fold { union tage_lanes index, tag, tag1; };
struct folds {
	struct fold now;
	struct fold in;			/* where a new bit comes in */
	struct fold out;		/* where a bit leaves */
	struct fold scale;		/* 2^width */
	union tage_lanes index_mask, tag_mask;	/* 2^width - 1 */
	union tage_lanes table;		/* where its entries begin, behind those of the tables
					 * before */
	union tage_lanes path_mask;	/* of as many bits of the path as of history, at most 16 */
};

struct history {
	/* Bits, 0 or 255. Twice the same, so that nobody needs to wrap around. */
	uint8_t ring[2 * RING];
	unsigned at;			/* the newest bit; less than RING */
	uint32_t path;
	struct folds f;
};

/* The bits of a batch, which are in the ring: how many of each branch, how many have been folded,
 * and what leaves. */
struct old_bits { unsigned at; lanes_t gone; unsigned left; uint8_t of[AHEAD]; };

static void fold_init(union tage_lanes *in, union tage_lanes *out, union tage_lanes *scale,
		      unsigned table, unsigned len, unsigned width)
{
	in->v[table] = 1u << (16 - width);
	out->v[table] = 1u << (16 - width) << len % width;
	scale->v[table] = 1u << width;
}

static void folds_init(struct folds *f, unsigned tables, const uint16_t *length,
		       const uint8_t *tag_bits, unsigned log)
{
	for (unsigned i = 0; i < tables; i++) {
		const unsigned n = length[i], bits = tag_bits[i];

		fold_init(&f->in.index, &f->out.index, &f->scale.index, i, n, log);
		fold_init(&f->in.tag, &f->out.tag, &f->scale.tag, i, n, bits);
		fold_init(&f->in.tag1, &f->out.tag1, &f->scale.tag1, i, n, bits - 1);
		f->index_mask.v[i] = (1u << log) - 1;
		f->tag_mask.v[i] = (1u << bits) - 1;
		f->table.v[i] = i << log;
		f->path_mask.v[i] = n < 16 ? (1u << n) - 1 : 65535;
	}
}

/* How many bits a branch appends, and which: the first one is @bit[0]. Without a branch, of which
 * nobody could predict which way it goes. */
static inline unsigned bits_of(const struct pm_br *b, uint8_t bit[2])
{
	const bool cond = b->flags & PM_BR_COND,
		   jump = (b->flags & (PM_BR_INDIRECT | PM_BR_RET)) && !cond;
	const uint64_t t = b->target ^ b->target >> 3 ^ b->target >> 7;
	const bool taken = b->flags & PM_BR_TAKEN;

	bit[0] = cond ? taken : t >> 1 & 1;
	bit[1] = t & 1;
	return cond + 2 * jump;
}

/* The bits of @n branches, which fold() takes in one by one. There are always two written: those
 * that are none are not counted. */
INLINE void push_all(struct history *h, struct old_bits *w, const struct pm_br *b, size_t n)
{
	uint8_t bit[2];

	w->at = h->at;
	w->left = 0;
	for (size_t i = 0; i < n; i++) {
		const unsigned k = bits_of(b + i, bit), at = (h->at - 1) & (RING - 1),
			       next = (h->at - 2) & (RING - 1);

		h->ring[at] = h->ring[at + RING] = -bit[0];
		h->ring[next] = h->ring[next + RING] = -bit[1];
		h->at = (h->at - k) & (RING - 1);
		w->of[i] = k;
	}
}

/* What the next 16 bits push out, of each table: the first one is the sign of its lane. */
INLINE void look_out(const struct history *h, struct old_bits *w, const uint16_t *length,
		     unsigned n)
{
	const uint8_t *last = h->ring + ((w->at - LEAVE) & (RING - 1));
	union tage_lanes gone = { .all = { 0 } };

#pragma GCC unroll 16
	for (unsigned i = 0; i < n; i++)
		gone.v[i] = _mm_movemask_epi8(_mm_loadu_si128((const __m128i *)(last + length[i])));
	w->gone = gone.all;
	w->left = LEAVE;
}

/* A fold moves left by one, the new bit comes in, the one that is too old goes, and what has moved
 * beyond the width comes in again. */
INLINE void fold_one(union tage_lanes *v, const lanes_t *bit, const lanes_t *gone,
		     const union tage_lanes *in, const union tage_lanes *out)
{
	const lanes_t again = (lanes_t)((signed_lanes_t)v->all >> 15);

	v->all = (v->all + v->all) ^ ((again ^ *bit) & in->all) ^ (*gone & out->all);
}

/* The bits of branch @i of the batch. */
INLINE void fold_branch(struct history *h, struct old_bits *w, size_t i, struct fold *v,
			const struct pm_br *b, const uint16_t *length, unsigned n)
{
	for (unsigned k = w->of[i]; k; k--) {
		lanes_t bit, gone;

		if (!w->left)
			look_out(h, w, length, n);
		w->left--;
		w->at = (w->at - 1) & (RING - 1);
		bit = (lanes_t)((byte_lanes_t){ 0 } + (int8_t)h->ring[w->at]);
		gone = (lanes_t)((signed_lanes_t)w->gone >> 15);
		w->gone += w->gone;
		fold_one(&v->index, &bit, &gone, &h->f.in.index, &h->f.out.index);
		fold_one(&v->tag, &bit, &gone, &h->f.in.tag, &h->f.out.tag);
		fold_one(&v->tag1, &bit, &gone, &h->f.in.tag1, &h->f.out.tag1);
	}
	h->path = (h->path << 1 | ((b->pc ^ b->pc >> 2 ^ b->pc >> 5) & 1)) & 0xffff;
}

/* The high halves of products: a lane moves right by s if it is multiplied by 2^(16-s). */
static inline TARGET_AVX2 void scale_avx2(const union tage_lanes *a, const union tage_lanes *b,
					  union tage_lanes *to)
{
	to->all = (lanes_t)_mm256_mulhi_epu16((__m256i)a->all, (__m256i)b->all);
}

INLINE union tage_lanes scale(const union tage_lanes *a, const union tage_lanes *b, bool avx2)
{
	union tage_lanes to;

	if (avx2) {
		scale_avx2(a, b, &to);
	} else {
		to.half[0] = _mm_mulhi_epu16(a->half[0], b->half[0]);
		to.half[1] = _mm_mulhi_epu16(a->half[1], b->half[1]);
	}
	return to;
}

/* (3): where in all tables, and the tag. @pc_high is pc moved right by four less than the first
 * table's. */
struct hashes { union tage_lanes index, tag; };

/* 2^(16-s) for s = 4, 3, 2, 1, ... */
static const union tage_lanes pc_scale = { .v = {
	1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 12, 1 << 13, 1 << 14, 1 << 15,
	1 << 12, 1 << 13, 1 << 14, 1 << 15,
} };
/* ... for s = 1, 2, 3, 4, 5, ... */
static const union tage_lanes path_scale = { .v = {
	1 << 15, 1 << 14, 1 << 13, 1 << 12, 1 << 11, 1 << 15, 1 << 14, 1 << 13,
	1 << 12, 1 << 11, 1 << 15, 1 << 14,
} };

INLINE union tage_lanes everywhere(uint16_t x)
{
	return (union tage_lanes){ .all = (lanes_t){ 0 } + x };
}

INLINE void hash_lanes(const struct history *h, const struct fold *v, uint64_t pc,
		       uint64_t pc_high, bool avx2, struct hashes *to)
{
	const struct folds *f = &h->f;
	const union tage_lanes high = everywhere(pc_high),
			       q = { .all = (uint16_t)h->path & f->path_mask.all },
			       tag1 = scale(&v->tag1, &f->scale.tag1, avx2);

	to->index.all = (((uint16_t)pc ^ scale(&high, &pc_scale, avx2).all ^
			  scale(&v->index, &f->scale.index, avx2).all ^ q.all ^
			  scale(&q, &path_scale, avx2).all) & f->index_mask.all) | f->table.all;
	to->tag.all = ((uint16_t)(pc ^ pc >> 9) ^ scale(&v->tag, &f->scale.tag, avx2).all ^
		       (tag1.all + tag1.all)) & f->tag_mask.all;
}

/* ---- TAGE ----------------------------------------------------------------------------------- */

struct tage_entry { int8_t ctr; uint8_t useful; uint16_t tag; };
struct tage_loop { uint16_t tag, past, now; uint8_t conf, age; bool dir; };

/* All hashes of a branch. They depend on what branches did, and on nothing that was predicted. */
struct tage_at {
	struct hashes h;
	uint16_t base;
	union tage_lanes sc;		/* but for the lowest bit, and what TAGE says */
};

/* Of each table of the corrector: which bits of what it hashes, none of the rest. */
typedef uint32_t sc_lanes_t __attribute__((vector_size(4 * LANES)));
struct sc_lengths { sc_lanes_t ghist, local, imli, path, table; };

struct tage {
	struct history h;
	struct sc_lengths sc_of;
	struct tage_entry table[TAGE_TABLES << TAGE_LOG];
	uint8_t base[1 << TAGE_BASE_LOG];
	int use_alt, tick;
	uint64_t random;
	/* of the present branch */
	const struct tage_at *at;
	int provider, alt;		/* table, -1: base */
	bool provider_taken, alt_taken, taken;
	/* loop predictor and corrector */
	bool scl;
	struct tage_loop loop[LOOP_SETS][LOOP_WAYS];
	int with_loop;
	int8_t sc[SC_TABLES << SC_LOG];
	uint64_t ghist;
	uint16_t local[256];
	uint32_t imli;
	int threshold, pc_threshold[64], chooser[2];
	struct tage_at ahead[AHEAD];
};

static unsigned rnd(struct tage *t)
{
	t->random = t->random * 6364136223846793005u + 1442695040888963407u;
	return t->random >> 33;
}

/* In the order of sc_sum(); a local history and the count of iterations are moved left by one. */
static void sc_init(struct sc_lengths *of)
{
	unsigned k = SC_BIAS;

	for (unsigned i = 0; i < SC_TABLES; i++)
		of->table[i] = i * 0x51;
	for (unsigned i = 0; i < SC_GLOBAL; i++)
		of->ghist[k++] = (1ull << sc_global_length[i]) - 1;
	for (unsigned i = 0; i < SC_LOCAL; i++)
		of->local[k++] = ((1u << sc_local_length[i]) - 1) << 1;
	of->imli[k++] = ~0u;
	of->path[k] = ~0u;
}

static struct tage *tage_new(bool scl)
{
	struct tage *t = pm_alloc_lines(sizeof *t);

	memset(t, 0, sizeof *t);
	folds_init(&t->h.f, TAGE_TABLES, tage_length, tage_tag_bits, TAGE_LOG);
	memset(t->base, 2, sizeof t->base);
	sc_init(&t->sc_of);
	t->random = 1;
	t->scl = scl;
	t->with_loop = -1;
	t->threshold = 35 << 3;
	return t;
}

static void *tage_create(const struct pm_bp_args *a)
{
	return tage_new(false);
}

static void *tagescl_create(const struct pm_bp_args *a)
{
	return tage_new(true);
}

/* Which tables have the branch. */
INLINE unsigned tables_with(const struct tage *t, const struct tage_at *at)
{
	const uint16_t *of = at->h.index.v;
#define TAG(i) t->table[of[i]].tag
	const union tage_lanes same = { .all = at->h.tag.all == (lanes_t){
		TAG(0), TAG(1), TAG(2), TAG(3), TAG(4), TAG(5), TAG(6), TAG(7), TAG(8), TAG(9),
		TAG(10), TAG(11) } };
#undef TAG
	_Static_assert(TAGE_TABLES == 12, "as many as are listed");

	return _mm_movemask_epi8(_mm_packs_epi16(same.half[0], same.half[1])) &
	       ((1u << TAGE_TABLES) - 1);
}

/* Of table @i, that of the present branch. */
INLINE struct tage_entry *entry(struct tage *t, const struct tage_at *at, int i)
{
	return t->table + at->h.index.v[i];
}

/* (4) */
INLINE bool tage_predict(struct tage *t, const struct tage_at *at)
{
	const struct tage_entry *e;
	unsigned hit = tables_with(t, at);

	t->at = at;
	t->provider = hit ? 31 - __builtin_clz(hit) : -1;
	hit &= ~(hit ? 1u << t->provider : 0);
	t->alt = hit ? 31 - __builtin_clz(hit) : -1;
	t->alt_taken = t->alt >= 0 ? entry(t, at, t->alt)->ctr >= 0 : t->base[at->base] >= 2;
	if (t->provider < 0) {
		t->provider_taken = t->taken = t->alt_taken;
		return t->taken;
	}
	e = entry(t, at, t->provider);
	t->provider_taken = e->ctr >= 0;
	t->taken = (e->ctr == 0 || e->ctr == -1) && !e->useful && t->use_alt >= 0 ? t->alt_taken
		: t->provider_taken;
	return t->taken;
}

INLINE int clip_step(int v, bool up, int lo, int hi)
{
	return up ? v + (v < hi) : v - (v > lo);
}

static __attribute__((noinline)) void allocate(struct tage *t, bool taken)
{
	int i = t->provider + 1, got = 0, failed = 0;

	for (unsigned k = 0; k < 2 && (rnd(t) & 3) == 0; k++)
		i++;
	for (; i < TAGE_TABLES && got < 2; i++) {
		struct tage_entry *e = entry(t, t->at, i);

		if (e->useful) {
			failed++;
			continue;
		}
		*e = (struct tage_entry){ taken ? 0 : -1, 0, t->at->h.tag.v[i] };
		got++;
		i++;			/* not in neighbouring tables */
	}
	t->tick += failed - 2 * got;
	if (t->tick < 0)
		t->tick = 0;
	if (t->tick < 1024)
		return;
	t->tick = 0;
	for (size_t k = 0; k < NR(t->table); k++)
		t->table[k].useful >>= 1;
}

/* (5) */
INLINE void tage_learn(struct tage *t, bool taken, bool right)
{
	bool grow = t->taken != taken && t->provider < TAGE_TABLES - 1;
	struct tage_entry *e = NULL;
	uint8_t *base = t->base + t->at->base;

	if (t->provider >= 0) {
		e = entry(t, t->at, t->provider);
		if ((e->ctr == 0 || e->ctr == -1) && !e->useful) {
			if (t->provider_taken == taken)
				grow = false;
			if (t->provider_taken != t->alt_taken)
				t->use_alt = clip_step(t->use_alt, t->alt_taken == taken, -8, 7);
		}
	}
	if (grow && !(right && rnd(t) & 31))
		allocate(t, taken);
	if (!e) {
		*base = clip_step(*base, taken, 0, 3);
		return;
	}
	if (!e->useful) {
		if (t->alt >= 0) {
			struct tage_entry *a = entry(t, t->at, t->alt);

			a->ctr = clip_step(a->ctr, taken, -4, 3);
		} else {
			*base = clip_step(*base, taken, 0, 3);
		}
	}
	e->ctr = clip_step(e->ctr, taken, -4, 3);
	if (t->provider_taken != t->alt_taken)
		e->useful = clip_step(e->useful, t->provider_taken == taken, 0, 3);
}

/* ---- loops (6) ------------------------------------------------------------------------------ */

INLINE struct tage_loop *loop_find(struct tage *t, uint64_t pc)
{
	struct tage_loop *set = t->loop[pc % LOOP_SETS];

	for (unsigned w = 0; w < LOOP_WAYS; w++)
		if (set[w].tag == (pc >> 4 & 0x3fff) && set[w].age)
			return set + w;
	return NULL;
}

static bool loop_says(const struct tage_loop *l)
{
	return l->now + 1 == l->past ? !l->dir : l->dir;
}

static void loop_learn(struct tage *t, struct tage_loop *l, uint64_t pc, bool taken,
		       bool tage_taken)
{
	struct tage_loop *set = t->loop[pc % LOOP_SETS];

	if (!l) {
		unsigned w;

		if (tage_taken == taken || rnd(t) & 3)
			return;
		w = rnd(t) % LOOP_WAYS;
		if (set[w].age) {
			set[w].age--;
			return;
		}
		/* the surprise is taken for the exit, so the other direction is the body's */
		set[w] = (struct tage_loop){ .tag = pc >> 4 & 0x3fff, .dir = !taken, .age = 7 };
		return;
	}
	if (l->conf == 3) {
		if (loop_says(l) != taken) {
			l->age = 0;
			return;
		}
		if (tage_taken != taken && l->age < 15)
			l->age++;
	}
	l->now++;
	if (l->now > 1022 || (l->past && l->now > l->past)) {
		l->past = 0;			/* too long, or longer than last time: count anew */
		l->conf = 0;
		if (l->now > 1022) {
			l->age = 0;
			return;
		}
	}
	if (taken == l->dir)
		return;
	if (l->now == l->past) {
		if (l->past < 3)
			l->age = 0;		/* TAGE sees such short ones by itself */
		else if (l->conf < 3)
			l->conf++;
	} else {
		l->past = l->now;
		l->conf = 0;
	}
	l->now = 0;
}

/* ---- statistical corrector (7) -------------------------------------------------------------- */

/* The guess is the lowest bit of every index and nothing else is: branches that share a counter
 * then agree about it, most of them that TAGE is right. Mixed into the hash, a program with more
 * branches than entries (cc1: 22,000) had its corrector undo what TAGE knew. */
INLINE uint32_t sc_hash(uint64_t pc, uint64_t h, unsigned i)
{
	const unsigned log = SC_LOG - 1;
	uint64_t x = pc ^ pc >> log ^ (uint64_t)i * 0x51 ^ h ^ h >> (log - 2) ^ h >> (2 * log - 3) ^
		h >> (3 * log - 4);

	return (x & ((1u << log) - 1)) << 1;
}

/* Confidence of TAGE: 0 weak, 1 medium, 2 strong. */
INLINE unsigned tage_confidence(struct tage *t)
{
	int c;

	if (t->provider < 0)
		return t->base[t->at->base] == 0 || t->base[t->at->base] == 3 ? 2 : 0;
	c = entry(t, t->at, t->provider)->ctr;
	c = c >= 0 ? c : -1 - c;		/* 0..3 */
	return c == 3 ? 2 : c > 0;
}

/* Tables, in order: three biases by (pc, what TAGE says, and: nothing; its confidence; its
 * provider), six global histories, four local ones, the iteration count of the innermost loop, the
 * path; the lowest bit of every index is what TAGE (with the loop predictor) says. The sum decides
 * against TAGE unless TAGE is strong and the sum is below half the threshold, or medium and below a
 * quarter: between a quarter and a half (strong), or up to a quarter (medium) a chooser counter
 * (-32..31) tells who has been right in such cases. Training: when the sum was wrong or below the
 * threshold; the threshold is a global and a per-pc part, both adapt.
 * Here all hashes are computed that do not depend on what TAGE says, a lane for each table. Of a
 * history 32 bits matter. */
INLINE void sc_hashes(const struct tage *t, uint64_t pc, uint16_t local, union tage_lanes *to)
{
	const unsigned log = SC_LOG - 1;
	const uint32_t ghist = t->ghist, by_pc = pc ^ pc >> log, imli = t->imli << 1,
		       path = t->h.path, by_local = local << 1;
	const struct sc_lengths *of = &t->sc_of;
	const sc_lanes_t h = (of->ghist & ghist) ^ (of->local & by_local) ^ (of->imli & imli) ^
			     (of->path & path);
	const sc_lanes_t x = of->table ^ by_pc ^ h ^ h >> (log - 2) ^ h >> (2 * log - 3) ^
			     h >> (3 * log - 4);

	to->all = __builtin_convertvector((x & ((1u << log) - 1)) << 1, lanes_t);
}

/* @at: filled in by what TAGE says, but for the guess: @sc begins there. */
INLINE int sc_sum(const struct tage *t, const int8_t *sc, uint64_t pc, unsigned conf, uint16_t *at)
{
	int sum = 0;

	at[1] = sc_hash(pc << 2 | conf, 0, 1);
	at[2] = sc_hash(pc << 4 | (t->provider + 1), 0, 2);
#pragma GCC unroll 16
	for (unsigned i = 0; i < SC_TABLES; i++)
		sum += sc[(i << SC_LOG) + at[i]];
	return SC_TABLES + 2 * sum;
}

INLINE bool sc_run(struct tage *t, uint64_t pc, bool guess, bool taken, uint16_t *at)
{
	unsigned conf = tage_confidence(t);
	int8_t *counter = t->sc + guess;
	int sum = sc_sum(t, counter, pc, conf, at), size = sum < 0 ? -sum : sum;
	int *mine = t->pc_threshold + ((pc ^ pc >> 6) & 63);
	int threshold = (t->threshold + *mine) >> 3;
	bool sc = sum >= 0, final = sc;

	if (sc != guess) {
		int which = -1;

		if (conf == 2 && size < threshold / 4)
			final = guess;
		else if (conf == 2 && size < threshold / 2)
			which = 0;
		else if (conf == 1 && size < threshold / 4)
			which = 1;
		if (which >= 0) {
			final = t->chooser[which] < 0 ? sc : guess;
			t->chooser[which] = clip_step(t->chooser[which], guess == taken, -32, 31);
		}
	}
	if (sc != taken || size < threshold) {
		int up = sc != taken ? 1 : -1;

		t->threshold += up;
		*mine += up;
		if (t->threshold < 8)
			t->threshold = 8;
		if (*mine > 511 || *mine < -512)
			*mine -= up;
		for (unsigned i = 0; i < SC_TABLES; i++) {
			int8_t *c = counter + (i << SC_LOG) + at[i];

			*c = clip_step(*c, taken, -32, 31);
		}
	}
	return final;
}

/* The hashes of @n branches into t->ahead, and their history. */
INLINE void look_ahead(struct tage *t, const struct pm_br *b, size_t n, bool avx2)
{
	struct fold v = t->h.f.now;
	struct old_bits w;

	push_all(&t->h, &w, b, n);
	for (size_t i = 0; i < n; i++) {
		struct tage_at *at = t->ahead + i;
		const uint64_t pc = b[i].pc;

		if (b[i].flags & PM_BR_COND) {
			hash_lanes(&t->h, &v, pc, pc >> 6, avx2, &at->h);
			at->base = (pc ^ pc >> TAGE_BASE_LOG) & ((1u << TAGE_BASE_LOG) - 1);
		}
		if (b[i].flags & PM_BR_COND && t->scl) {
			uint16_t *local = t->local + ((pc ^ pc >> 8) & 255);
			bool taken = b[i].flags & PM_BR_TAKEN;

			sc_hashes(t, pc, *local, &at->sc);
			t->ghist = t->ghist << 1 | taken;
			*local = *local << 1 | taken;
			/* backward branches close loops */
			if (b[i].target <= pc)
				t->imli = taken ? t->imli + (t->imli < 1023) : 0;
		}
		fold_branch(&t->h, &w, i, &v, b + i, tage_length, TAGE_TABLES);
	}
	t->h.f.now = v;
}

INLINE bool scl_predict(struct tage *t, uint64_t pc, bool guess, bool taken, uint16_t *at)
{
	struct tage_loop *l = loop_find(t, pc);
	bool tage_taken = guess;

	if (l && l->conf == 3) {
		bool says = loop_says(l);

		if (t->with_loop >= 0)
			guess = says;
		if (says != tage_taken)
			t->with_loop = clip_step(t->with_loop, says == taken, -64, 63);
	}
	guess = sc_run(t, pc, guess, taken, at);
	loop_learn(t, l, pc, taken, tage_taken);
	return guess;
}

/* HOT: once per branch. */
INLINE void run_tage(struct tage *t, const struct pm_br *b, size_t n, uint8_t *miss, bool avx2)
{
	for (size_t i = 0; i < n; i++) {
		struct tage_at *at = t->ahead + i % AHEAD;
		bool taken = b[i].flags & PM_BR_TAKEN, guess;

		if (i % AHEAD == 0)
			look_ahead(t, b + i, n - i < AHEAD ? n - i : AHEAD, avx2);
		miss[i] = 0;
		if (!(b[i].flags & PM_BR_COND))
			continue;
		guess = tage_predict(t, at);
		if (t->scl)
			guess = scl_predict(t, b[i].pc, guess, taken, at->sc.v);
		miss[i] = guess != taken;
		tage_learn(t, taken, guess == taken);
	}
}

TARGET_AVX2 static void run_tage_avx2(struct tage *t, const struct pm_br *b, size_t n,
				      uint8_t *miss)
{
	run_tage(t, b, n, miss, true);
}

TARGET_512 static void run_tage_512(struct tage *t, const struct pm_br *b, size_t n,
					uint8_t *miss)
{
	run_tage(t, b, n, miss, true);
}

static void tage_run(void *self, const struct pm_br *b, size_t n, uint8_t *miss)
{
	if (use_512())
		run_tage_512(self, b, n, miss);
	else if (use_avx2())
		run_tage_avx2(self, b, n, miss);
	else
		run_tage(self, b, n, miss, false);
}

static uint64_t tage_bits(const void *self)
{
	const struct tage *t = self;
	uint64_t bits = (2u << TAGE_BASE_LOG) + tage_length[TAGE_TABLES - 1] + 16 + 4 + 11 + 64;

	for (unsigned i = 0; i < TAGE_TABLES; i++)
		bits += (uint64_t)(3 + 2 + tage_tag_bits[i]) << TAGE_LOG;
	if (t->scl)	/* corrector, its histories and thresholds; loops */
		bits += SC_TABLES * (6u << SC_LOG) + 256 * 16 + 64 * 10 + 12 + 40 + 10 + 12 +
			LOOP_SETS * LOOP_WAYS * (14 + 10 + 10 + 2 + 4 + 1) + 7;
	return bits;
}

const struct pm_bp_ops pm_bp_tage = {
	"tage", "tagged geometric history lengths", { NULL }, .mask = PM_BR_COND,
	.want = PM_BR_COND,
	.create = tage_create, .run = tage_run, .bits = tage_bits, .destroy = free,
};
const struct pm_bp_ops pm_bp_tagescl = {
	"tagescl", "tage with statistical corrector and loop predictor", { NULL },
	.mask = PM_BR_COND,
	.want = PM_BR_COND, .create = tagescl_create, .run = tage_run, .bits = tage_bits,
	.destroy = free,
};

/* ---- ITTAGE --------------------------------------------------------------------------------- */
/* Indirect jumps and calls (not returns). As TAGE, with targets for directions: hash and history as
 * there (index shift 8-i%4, 9 bits). An entry has a target, confidence 0..3 and a useful bit. The
 * longest match provides, unless its confidence is 0 and the next longest match's is not. A right
 * provider gains confidence, a wrong one loses it, at 0 it takes the new target. Useful: set when
 * the provider was right and the alternative wrong. A wrong prediction takes over the first longer
 * entry that is not useful; if there is none, all longer ones lose their useful bit. The base table
 * (by pc) always keeps the latest target. */

struct tage_target { uint64_t target; uint16_t tag; uint8_t conf; bool useful; };
struct ittage {
	struct history h;
	struct tage_target table[ITTAGE_TABLES << ITTAGE_LOG];
	uint64_t base[1 << ITTAGE_BASE_LOG];
};

static void *ittage_create(const struct pm_bp_args *a)
{
	struct ittage *t = pm_alloc_lines(sizeof *t);

	memset(t, 0, sizeof *t);
	folds_init(&t->h.f, ITTAGE_TABLES, ittage_length, ittage_tag_bits, ITTAGE_LOG);
	return t;
}

INLINE bool ittage_one(struct ittage *t, uint64_t pc, uint64_t target, const struct hashes *hash)
{
	uint64_t *base = t->base + ((pc ^ pc >> ITTAGE_BASE_LOG) & ((1u << ITTAGE_BASE_LOG) - 1));
	struct tage_target *hit[2] = { NULL, NULL }, *at[ITTAGE_TABLES];
	int first = -1;
	uint64_t alt, guess;

	for (int i = ITTAGE_TABLES; i-- > 0; ) {
		at[i] = t->table + hash->index.v[i];
		if (at[i]->tag != hash->tag.v[i] || !at[i]->target)
			continue;
		if (!hit[0]) {
			hit[0] = at[i];
			first = i;
		} else if (!hit[1]) {
			hit[1] = at[i];
		}
	}
	alt = hit[1] ? hit[1]->target : *base;
	guess = !hit[0] ? *base : hit[0]->conf || !hit[1] || !hit[1]->conf ? hit[0]->target : alt;
	*base = target;
	if (hit[0]) {
		struct tage_target *p = hit[0];

		if (p->target == target) {
			p->conf += p->conf < 3;
			if (alt != target)
				p->useful = true;
		} else if (p->conf) {
			p->conf--;
		} else {
			p->target = target;
		}
	}
	if (guess == target)
		return true;
	for (int i = first + 1; i < ITTAGE_TABLES; i++)
		if (!at[i]->useful) {
			*at[i] = (struct tage_target){ target, hash->tag.v[i], 0, false };
			return false;
		}
	for (int i = first + 1; i < ITTAGE_TABLES; i++)
		at[i]->useful = false;
	return false;
}

INLINE void run_ittage(struct ittage *t, const struct pm_br *b, size_t n, uint8_t *miss, bool avx2)
{
	struct fold v = t->h.f.now;
	struct old_bits w = { 0 };
	struct hashes hash;

	for (size_t i = 0; i < n; i++) {
		if (i % AHEAD == 0)
			push_all(&t->h, &w, b + i, n - i < AHEAD ? n - i : AHEAD);
		miss[i] = 0;
		if ((b[i].flags & (PM_BR_INDIRECT | PM_BR_RET)) == PM_BR_INDIRECT) {
			hash_lanes(&t->h, &v, b[i].pc, b[i].pc >> 4, avx2, &hash);
			miss[i] = !ittage_one(t, b[i].pc, b[i].target, &hash);
		}
		fold_branch(&t->h, &w, i % AHEAD, &v, b + i, ittage_length, ITTAGE_TABLES);
	}
	t->h.f.now = v;
}

TARGET_AVX2 static void run_ittage_avx2(struct ittage *t, const struct pm_br *b, size_t n,
					uint8_t *miss)
{
	run_ittage(t, b, n, miss, true);
}

TARGET_512 static void run_ittage_512(struct ittage *t, const struct pm_br *b, size_t n,
					uint8_t *miss)
{
	run_ittage(t, b, n, miss, true);
}

static void ittage_run(void *self, const struct pm_br *b, size_t n, uint8_t *miss)
{
	if (use_512())
		run_ittage_512(self, b, n, miss);
	else if (use_avx2())
		run_ittage_avx2(self, b, n, miss);
	else
		run_ittage(self, b, n, miss, false);
}

static uint64_t ittage_bits(const void *self)
{
	uint64_t bits = 48u << ITTAGE_BASE_LOG;

	for (unsigned i = 0; i < ITTAGE_TABLES; i++)
		bits += (uint64_t)(48 + 3 + ittage_tag_bits[i]) << ITTAGE_LOG;
	return bits;
}

const struct pm_bp_ops pm_bp_ittage = {
	"ittage", "indirect jumps and calls that went elsewhere", { NULL },
	.mask = PM_BR_INDIRECT | PM_BR_RET, .want = PM_BR_INDIRECT, .create = ittage_create,
	.run = ittage_run, .bits = ittage_bits, .destroy = free,
};
