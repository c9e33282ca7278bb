/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyse/bp_tage.h"
#include "analyse/bpred.h"
#include "base/mem.h"

/* ---- history (1), (2): bits in a ring, and folds that are kept up to date ------------------- */

#define RING 1024			/* more than the longest history, a power of two */

struct fold { uint32_t v; uint16_t len; uint8_t width, out; };	/* out = len % width */

struct history {
	uint8_t ring[RING];
	unsigned at;			/* the newest bit */
	uint32_t path;
	struct fold *fold;
	unsigned nfold;
};

static void fold_init(struct fold *f, unsigned len, unsigned width)
{
	*f = (struct fold){ 0, len, width, len % width };
}

static inline void append(struct history *h, unsigned bit)
{
	h->at = (h->at - 1) & (RING - 1);
	h->ring[h->at] = bit;
	for (unsigned i = 0; i < h->nfold; i++) {
		struct fold *f = h->fold + i;
		uint32_t v = f->v << 1 | bit;

		v ^= (uint32_t)h->ring[(h->at + f->len) & (RING - 1)] << f->out;
		v ^= v >> f->width;
		f->v = v & ((1u << f->width) - 1);
	}
}

static inline void history_branch(struct history *h, const struct pm_br *b)
{
	uint64_t t = b->target;

	if (b->flags & PM_BR_COND) {
		append(h, (b->flags & PM_BR_TAKEN) != 0);
	} else if (b->flags & (PM_BR_INDIRECT | PM_BR_RET)) {
		t ^= t >> 3 ^ t >> 7;
		append(h, t >> 1 & 1);
		append(h, t & 1);
	}
	h->path = (h->path << 1 | ((b->pc ^ b->pc >> 2 ^ b->pc >> 5) & 1)) & 0xffff;
}

/* ---- TAGE ----------------------------------------------------------------------------------- */

struct tage_entry { int8_t ctr; uint8_t useful; uint16_t tag; };
struct tage_loop { uint16_t tag, past, now; uint8_t conf, age; bool dir; };

struct tage {
	struct history h;
	struct fold folds[TAGE_TABLES * 3];	/* index, tag, tag - 1 of table 0, 1... */
	struct tage_entry *table[TAGE_TABLES];
	uint8_t base[1 << TAGE_BASE_LOG];
	int use_alt, tick;
	uint64_t random;
	/* of the present branch */
	uint32_t index[TAGE_TABLES], tag[TAGE_TABLES], base_at;
	int provider, alt;		/* table, -1: base */
	bool provider_taken, alt_taken, taken;
	/* loop predictor and corrector */
	bool scl;
	struct tage_loop loop[LOOP_SETS][LOOP_WAYS];
	int with_loop;
	int8_t sc[SC_TABLES][1 << SC_LOG];
	uint32_t sc_at[SC_TABLES];
	uint64_t ghist;
	uint16_t local[256];
	uint32_t imli;
	int threshold, pc_threshold[64], chooser[2];
};

static unsigned rnd(struct tage *t)
{
	t->random = t->random * 6364136223846793005u + 1442695040888963407u;
	return t->random >> 33;
}

static struct tage *tage_new(bool scl)
{
	struct tage *t = pm_alloc(sizeof *t);

	for (unsigned i = 0; i < TAGE_TABLES; i++) {
		t->table[i] = pm_alloc(sizeof *t->table[i] << TAGE_LOG);
		fold_init(t->folds + 3 * i, tage_length[i], TAGE_LOG);
		fold_init(t->folds + 3 * i + 1, tage_length[i], tage_tag_bits[i]);
		fold_init(t->folds + 3 * i + 2, tage_length[i], tage_tag_bits[i] - 1);
	}
	t->h.fold = t->folds;
	t->h.nfold = NR(t->folds);
	memset(t->base, 2, sizeof t->base);
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

static void tage_free(void *self)
{
	struct tage *t = self;

	for (unsigned i = 0; t && i < TAGE_TABLES; i++)
		free(t->table[i]);
	free(t);
}

/* (3), (4) */
static bool tage_predict(struct tage *t, uint64_t pc)
{
	const struct tage_entry *e;

	t->provider = t->alt = -1;
	for (int i = TAGE_TABLES; i-- > 0; ) {
		const struct fold *f = t->folds + 3 * i;
		uint32_t n = tage_length[i] < 16 ? tage_length[i] : 16,
			 q = t->h.path & ((1u << n) - 1);

		t->index[i] = (pc ^ pc >> (10 - i % 4) ^ f[0].v ^ q ^ q >> (1 + i % 5)) &
			      ((1u << TAGE_LOG) - 1);
		t->tag[i] = (pc ^ pc >> 9 ^ f[1].v ^ f[2].v << 1) & ((1u << tage_tag_bits[i]) - 1);
		if (t->table[i][t->index[i]].tag != t->tag[i])
			continue;
		if (t->provider < 0)
			t->provider = i;
		else if (t->alt < 0)
			t->alt = i;
	}
	t->base_at = (pc ^ pc >> TAGE_BASE_LOG) & ((1u << TAGE_BASE_LOG) - 1);
	t->alt_taken = t->alt >= 0 ? t->table[t->alt][t->index[t->alt]].ctr >= 0
				   : t->base[t->base_at] >= 2;
	if (t->provider < 0) {
		t->provider_taken = t->taken = t->alt_taken;
		return t->taken;
	}
	e = t->table[t->provider] + t->index[t->provider];
	t->provider_taken = e->ctr >= 0;
	t->taken = (e->ctr == 0 || e->ctr == -1) && !e->useful && t->use_alt >= 0 ? t->alt_taken
		: t->provider_taken;
	return t->taken;
}

static inline int clip_step(int v, bool up, int lo, int hi)
{
	return up ? v + (v < hi) : v - (v > lo);
}

static void allocate(struct tage *t, bool taken)
{
	int i = t->provider + 1, got = 0, failed = 0;

	for (unsigned k = 0; k < 2 && (rnd(t) & 3) == 0; k++)
		i++;
	for (; i < TAGE_TABLES && got < 2; i++) {
		struct tage_entry *e = t->table[i] + t->index[i];

		if (e->useful) {
			failed++;
			continue;
		}
		*e = (struct tage_entry){ taken ? 0 : -1, 0, t->tag[i] };
		got++;
		i++;			/* not in neighbouring tables */
	}
	t->tick += failed - 2 * got;
	if (t->tick < 0)
		t->tick = 0;
	if (t->tick < 1024)
		return;
	t->tick = 0;
	for (i = 0; i < TAGE_TABLES; i++)
		for (unsigned k = 0; k < 1u << TAGE_LOG; k++)
			t->table[i][k].useful >>= 1;
}

/* (5) */
static void tage_learn(struct tage *t, bool taken, bool right)
{
	bool grow = t->taken != taken && t->provider < TAGE_TABLES - 1;
	struct tage_entry *e = NULL;
	uint8_t *base = t->base + t->base_at;

	if (t->provider >= 0) {
		e = t->table[t->provider] + t->index[t->provider];
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
			struct tage_entry *a = t->table[t->alt] + t->index[t->alt];

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

static struct tage_loop *loop_find(struct tage *t, uint64_t pc)
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
static uint32_t sc_hash(uint64_t pc, uint64_t h, unsigned i, bool guess)
{
	const unsigned log = SC_LOG - 1;
	uint64_t x = pc ^ pc >> log ^ (uint64_t)i * 0x51 ^ h ^ h >> (log - 2) ^ h >> (2 * log - 3) ^
		h >> (3 * log - 4);

	return (x & ((1u << log) - 1)) << 1 | guess;
}

/* Confidence of TAGE: 0 weak, 1 medium, 2 strong. */
static unsigned tage_confidence(const struct tage *t)
{
	int c;

	if (t->provider < 0)
		return t->base[t->base_at] == 0 || t->base[t->base_at] == 3 ? 2 : 0;
	c = t->table[t->provider][t->index[t->provider]].ctr;
	c = c >= 0 ? c : -1 - c;		/* 0..3 */
	return c == 3 ? 2 : c > 0;
}

/* Tables, in order: three biases by (pc, what TAGE says, and: nothing; its confidence; its
 * provider), six global histories, four local ones, the iteration count of the innermost loop, the
 * path; the lowest bit of every index is what TAGE (with the loop predictor) says. The sum decides
 * against TAGE unless TAGE is strong and the sum is below half the threshold, or medium and below a
 * quarter: between a quarter and a half (strong), or up to a quarter (medium) a chooser counter
 * (-32..31) tells who has been right in such cases. Training: when the sum was wrong or below the
 * threshold; the threshold is a global and a per-pc part, both adapt. */
static int sc_sum(struct tage *t, uint64_t pc, bool guess)
{
	unsigned k = 0, conf = tage_confidence(t);
	uint64_t local = t->local[(pc ^ pc >> 8) & 255];
	int sum = 0;

	t->sc_at[k++] = sc_hash(pc, 0, 0, guess);
	t->sc_at[k++] = sc_hash(pc << 2 | conf, 0, 1, guess);
	t->sc_at[k++] = sc_hash(pc << 4 | (t->provider + 1), 0, 2, guess);
	for (unsigned i = 0; i < SC_GLOBAL; i++, k++)
		t->sc_at[k] = sc_hash(pc, t->ghist & ((1ull << sc_global_length[i]) - 1), k, guess);
	for (unsigned i = 0; i < SC_LOCAL; i++, k++)
		t->sc_at[k] = sc_hash(pc, (local & ((1u << sc_local_length[i]) - 1)) << 1, k,
				      guess);
	t->sc_at[k] = sc_hash(pc, t->imli << 1, k, guess), k++;
	t->sc_at[k] = sc_hash(pc, t->h.path, k, guess), k++;
	for (unsigned i = 0; i < SC_TABLES; i++)
		sum += 2 * t->sc[i][t->sc_at[i]] + 1;
	return sum;
}

static bool sc_run(struct tage *t, uint64_t pc, bool guess, bool taken)
{
	int sum = sc_sum(t, pc, guess), size = sum < 0 ? -sum : sum;
	int *mine = t->pc_threshold + ((pc ^ pc >> 6) & 63);
	int threshold = (t->threshold + *mine) >> 3;
	unsigned conf = tage_confidence(t);
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
			int8_t *c = t->sc[i] + t->sc_at[i];

			*c = clip_step(*c, taken, -32, 31);
		}
	}
	return final;
}

/* HOT: once per branch. */
static void tage_run(void *self, const struct pm_br *b, size_t n, uint8_t *miss)
{
	struct tage *t = self;

	for (size_t i = 0; i < n; i++) {
		bool taken = b[i].flags & PM_BR_TAKEN, guess;
		uint64_t pc = b[i].pc;

		miss[i] = 0;
		if (!(b[i].flags & PM_BR_COND)) {
			history_branch(&t->h, b + i);
			continue;
		}
		guess = tage_predict(t, pc);
		if (t->scl) {
			struct tage_loop *l = loop_find(t, pc);
			uint16_t *local = t->local + ((pc ^ pc >> 8) & 255);
			bool tage_taken = guess;

			if (l && l->conf == 3) {
				bool says = loop_says(l);

				if (t->with_loop >= 0)
					guess = says;
				if (says != tage_taken)
					t->with_loop = clip_step(t->with_loop, says == taken, -64,
								 63);
			}
			guess = sc_run(t, pc, guess, taken);
			loop_learn(t, l, pc, taken, tage_taken);
			t->ghist = t->ghist << 1 | taken;
			*local = *local << 1 | taken;
			/* backward branches close loops */
			if (b[i].target <= pc)
				t->imli = taken ? t->imli + (t->imli < 1023) : 0;
		}
		miss[i] = guess != taken;
		tage_learn(t, taken, guess == taken);
		history_branch(&t->h, b + i);
	}
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
	.create = tage_create, .run = tage_run, .bits = tage_bits, .destroy = tage_free,
};
const struct pm_bp_ops pm_bp_tagescl = {
	"tagescl", "tage with statistical corrector and loop predictor", { NULL },
	.mask = PM_BR_COND,
	.want = PM_BR_COND, .create = tagescl_create, .run = tage_run, .bits = tage_bits,
	.destroy = tage_free,
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
	struct fold folds[ITTAGE_TABLES * 3];
	struct tage_target table[ITTAGE_TABLES][1 << ITTAGE_LOG];
	uint64_t base[1 << ITTAGE_BASE_LOG];
};

static void *ittage_create(const struct pm_bp_args *a)
{
	struct ittage *t = pm_alloc(sizeof *t);

	for (unsigned i = 0; i < ITTAGE_TABLES; i++) {
		fold_init(t->folds + 3 * i, ittage_length[i], ITTAGE_LOG);
		fold_init(t->folds + 3 * i + 1, ittage_length[i], ittage_tag_bits[i]);
		fold_init(t->folds + 3 * i + 2, ittage_length[i], ittage_tag_bits[i] - 1);
	}
	t->h.fold = t->folds;
	t->h.nfold = NR(t->folds);
	return t;
}

static bool ittage_one(struct ittage *t, uint64_t pc, uint64_t target)
{
	uint64_t *base = t->base + ((pc ^ pc >> ITTAGE_BASE_LOG) & ((1u << ITTAGE_BASE_LOG) - 1));
	struct tage_target *hit[2] = { NULL, NULL }, *at[ITTAGE_TABLES];
	uint32_t tag[ITTAGE_TABLES];
	int first = -1;
	uint64_t alt, guess;

	for (int i = ITTAGE_TABLES; i-- > 0; ) {
		const struct fold *f = t->folds + 3 * i;
		uint32_t n = ittage_length[i] < 16 ? ittage_length[i] : 16,
			 q = t->h.path & ((1u << n) - 1);

		at[i] = t->table[i] + ((pc ^ pc >> (8 - i % 4) ^ f[0].v ^ q ^ q >> (1 + i % 5)) &
				       ((1u << ITTAGE_LOG) - 1));
		tag[i] = (pc ^ pc >> 9 ^ f[1].v ^ f[2].v << 1) & ((1u << ittage_tag_bits[i]) - 1);
		if (at[i]->tag != tag[i] || !at[i]->target)
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
			*at[i] = (struct tage_target){ target, tag[i], 0, false };
			return false;
		}
	for (int i = first + 1; i < ITTAGE_TABLES; i++)
		at[i]->useful = false;
	return false;
}

static void ittage_run(void *self, const struct pm_br *b, size_t n, uint8_t *miss)
{
	struct ittage *t = self;

	for (size_t i = 0; i < n; i++) {
		miss[i] = 0;
		if ((b[i].flags & (PM_BR_INDIRECT | PM_BR_RET)) == PM_BR_INDIRECT)
			miss[i] = !ittage_one(t, b[i].pc, b[i].target);
		history_branch(&t->h, b + i);
	}
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
