/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyse/bpred.h"
#include "analyse/cache_sim.h"
#include "analyse/core_work.h"
#include "analyse/thousands.h"
#include "base/err.h"
#include "trace/pug.h"

#define LINE_SHIFT	6u
#define SETS		64u		/* 32 KB of 8 ways */
#define WAYS		8u
#define BRANCHES	256u		/* predicted at once */

struct near_cache { uint64_t line[SETS][WAYS]; };	/* most recent first; number + 1 */

/* What is known of an instruction: which count it belongs to, and its slow cycles. */
struct kind { uint8_t known, count, slow; };

struct thousands {
	struct near_cache data, code;
	uint64_t last_data, last_code;		/* lines; most uses are of these */
	void *gshare;
	struct pm_br branch[BRANCHES];
	size_t nbranch;
	struct core_decoders decoders;
	struct kind *kind;			/* by pm_code.insn */
	size_t nkind;
	uint64_t now[PM_NEAR_END];
	uint32_t (*row)[PM_NEAR_END];
	size_t n, cap;
};

static const struct pm_bp_ops *gshare_ops(void)
{
	return pm_bp_find("gshare");
}

void thousands_forget(struct thousands *t)
{
	static const struct pm_bp_args size = { .v = { 16, 16 }, .n = 2 };

	memset(&t->data, 0, sizeof t->data);
	memset(&t->code, 0, sizeof t->code);
	t->last_data = t->last_code = UINT64_MAX;
	if (t->gshare)
		gshare_ops()->destroy(t->gshare);
	t->gshare = gshare_ops()->create(&size);
}

struct thousands *thousands_new(void)
{
	struct thousands *t = pm_alloc(sizeof *t);

	thousands_forget(t);
	return t;
}

void thousands_free(struct thousands *t)
{
	if (!t)
		return;
	gshare_ops()->destroy(t->gshare);
	core_decoders_free(&t->decoders);
	free(t->kind);
	free(t->row);
	free(t);
}

static void predict(struct thousands *t)
{
	uint8_t wrong[BRANCHES] = { 0 };

	gshare_ops()->run(t->gshare, t->branch, t->nbranch, wrong);
	for (size_t i = 0; i < t->nbranch; i++)
		t->now[PM_THOUSAND_wrong] += wrong[i];
	t->nbranch = 0;
}

/* HOT: is @line missing? It is the first one now. */
static inline bool missing(struct near_cache *c, uint64_t line)
{
	uint64_t *set = c->line[line % SETS], was = line + 1;

	for (unsigned w = 0; w < WAYS; w++) {
		const uint64_t here = set[w];

		set[w] = was;
		if (here == line + 1)
			return false;
		was = here;
	}
	return true;
}

/* HOT: once per reference or fetch of @size bytes; most are of the line before. */
static inline void use_lines(struct near_cache *c, uint64_t *last, uint64_t addr, unsigned size,
			     uint64_t *count)
{
	const uint64_t end = (addr + (size ? size - 1 : 0)) >> LINE_SHIFT;

	for (uint64_t line = addr >> LINE_SHIFT; line <= end; line++)
		if (line != *last) {
			*count += missing(c, line);
			*last = line;
		}
}

static struct kind kind_of(struct thousands *t, const struct pm_insn *in)
{
	struct pm_core_static s;
	struct kind k = { .known = 1, .count = PM_NEAR_END };

	core_decode_with(&t->decoders, in->bytes, in->len, in->isa, &s);
	switch (s.class) {
#define C(name, latency, busy, ports, about) case PM_CORE_##name: k.slow = latency; break;
	PM_CORE_CLASSES(C)
#undef C
	}
	if (s.class == PM_CORE_MOVE)
		k.count = PM_THOUSAND_moves;
	else if (s.class == PM_CORE_MUL)
		k.count = PM_THOUSAND_multiplications;
	else if (s.class >= PM_CORE_VEC && s.class <= PM_CORE_CROSS)
		k.count = PM_THOUSAND_vector;
	if (k.slow < 12)
		k.slow = 0;
	return k;
}

/* Places for all instructions that a batch may name. */
static void more_kinds(struct thousands *t, const struct pm_code *code)
{
	if (code)
		t->kind = pm_grow_zeroed(t->kind, &t->nkind, code->ninsn, sizeof *t->kind);
}

/* HOT */
static inline void executed(struct thousands *t, const struct pm_batch *b, const struct pm_event *e)
{
	struct kind *k;

	use_lines(&t->code, &t->last_code, e->addr, e->size, t->now + PM_THOUSAND_code);
	if (!b->code || e->id >= b->code->ninsn)
		return;
	k = t->kind + e->id;
	if (__builtin_expect(!k->known, 0))
		*k = kind_of(t, b->code->insn + e->id);
	if (__builtin_expect(k->count < PM_NEAR_END, 0))
		t->now[k->count]++;
	if (__builtin_expect(k->slow, 0))
		t->now[PM_THOUSAND_slow] += k->slow;
}

/* HOT */
void thousands_events(struct thousands *t, const struct pm_batch *b)
{
	const unsigned slot = pm_delay_slot(b);

	more_kinds(t, b->code);
	for (const struct pm_event *e = b->ev, *end = b->ev + b->n; e < end; e++) {
		if (e->kind == PM_EV_INSN) {
			executed(t, b, e);
		} else if (e->kind >= PM_EV_READ && e->kind <= PM_EV_MODIFY) {
			use_lines(&t->data, &t->last_data, e->addr, e->size,
				  t->now + PM_THOUSAND_data);
			t->now[PM_THOUSAND_reads] += e->kind != PM_EV_WRITE;
			t->now[PM_THOUSAND_writes] += e->kind != PM_EV_READ;
		} else if (e->kind == PM_EV_BRANCH) {
			t->now[PM_THOUSAND_taken] += (e->flags & PM_BR_TAKEN) != 0;
			if (!(e->flags & PM_BR_COND))
				continue;
			t->now[PM_THOUSAND_conditional]++;
			t->branch[t->nbranch++] = pm_br_of(e, slot);
			if (t->nbranch == BRANCHES)
				predict(t);
		}
	}
}

static uint32_t at_most(uint64_t v)
{
	return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

void thousands_end(struct thousands *t)
{
	predict(t);
	pm_grow(t->row, t->n, t->cap);
	for (unsigned k = 0; k < PM_NEAR_END; k++)
		t->row[t->n][k] = at_most(t->now[k]);
	t->n++;
	memset(t->now, 0, sizeof t->now);
}

struct pm_buf thousands_take(struct thousands *t, size_t *n)
{
	struct pm_buf b = { 0 };

	for (unsigned k = 0; k < PM_NEAR_END; k++)
		for (size_t i = 0; i < t->n; i++)
			pug_varint(&b, t->row[i][k]);
	*n = t->n;
	t->n = 0;
	return b;
}

/* ---- far ------------------------------------------------------------------------------------- */

#define FAR_COUNTS	(PM_THOUSAND_COUNTS - PM_NEAR_END)
#define LEVELS		3u
_Static_assert(FAR_COUNTS == 2 * LEVELS, "a count for each level, of data and of fetches");

struct far_line { uint64_t line; uint32_t first; bool fetched, written; };
struct far_counts {
	struct pm_cache *cache;
	struct far_line *line;
	size_t n, cap;
};

struct far_counts *far_counts_new(void)
{
	struct far_counts *f = pm_alloc(sizeof *f);
	struct pm_err err = { 0 };

	f->cache = pm_cache_new("l1=256k,8way,64;l2=2m,16way,64;l3=32m,16way,64", &err);
	return f;
}

void far_counts_free(struct far_counts *f)
{
	pm_cache_free(f->cache);
	free(f->line);
	free(f);
}

void far_counts_line(struct far_counts *f, uint64_t line, bool fetched, bool written,
		     uint32_t first)
{
	pm_grow(f->line, f->n, f->cap);
	f->line[f->n++] = (struct far_line){ line, first, fetched, written };
}

/* Numbers of lines, by the thousand in which they were used first (less than @n), then in order. */
static size_t *by_first(const struct far_counts *f, size_t n)
{
	size_t *place = pm_alloc((n + 1) * sizeof *place),
	       *order = pm_alloc((f->n + 1) * sizeof *order);

	for (size_t i = 0; i < f->n; i++)
		place[f->line[i].first + 1]++;
	for (size_t k = 0; k < n; k++)
		place[k + 1] += place[k];
	for (size_t i = 0; i < f->n; i++)
		order[place[f->line[i].first]++] = i;
	free(place);
	return order;
}

static unsigned use(struct far_counts *f, const struct far_line *l)
{
	const enum pm_cache_op op = l->fetched ? PM_OP_FETCH : l->written ? PM_OP_WRITE
								: PM_OP_READ;

	return pm_cache_access(f->cache, op, l->line, 1u << LINE_SHIFT, false, 0);
}

void far_counts_end(struct far_counts *f, size_t n, struct pm_buf *to)
{
	uint32_t *count = pm_alloc((n + 1) * FAR_COUNTS * sizeof *count);

	size_t *order = by_first(f, n);

	for (size_t i = 0; i < f->n; i++) {
		const struct far_line *l = f->line + order[i];
		const unsigned levels = use(f, l);

		for (unsigned k = 0; k < levels; k++)
			count[(k + (l->fetched ? LEVELS : 0)) * n + l->first]++;
	}
	for (size_t i = 0; i < f->n; i++)
		use(f, f->line + i);
	for (size_t i = 0; i < FAR_COUNTS * n; i++)
		pug_varint(to, count[i]);
	free(order);
	free(count);
	f->n = 0;
}

/* ---- out of bytes ---------------------------------------------------------------------------- */

bool thousands_get(const uint8_t *p, size_t bytes, size_t n, uint32_t *to)
{
	struct pug_span c = { p, p + bytes };
	uint64_t v;

	for (unsigned k = 0; k < PM_THOUSAND_COUNTS; k++)
		for (size_t i = 0; i < n; i++) {
			if (!pug_get_varint(&c, &v) || v > UINT32_MAX)
				return false;
			if (to)
				to[i * PM_THOUSAND_COUNTS + k] = (uint32_t)v;
		}
	return c.p == c.end;
}
