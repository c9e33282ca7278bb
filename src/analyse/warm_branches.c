/* SPDX-License-Identifier: MIT */
/* warm_branches.c - branches of an interval: what a model of both sides expects is not written */
#include <stdlib.h>
#include <string.h>

#include "analyse/warm_branches.h"
#include "trace/pug.h"

#define MODEL_BITS	14u
#define BATCH		256u		/* branches handed over at once */

/* What both sides know: the branches that differ, and what followed what. Numbers are one more than
 * places in @br; 0 is none. */
struct model {
	struct pm_br *br;
	uint32_t *next;			/* after each: what was next the last time */
	size_t n, cap, cap_next;
	uint32_t last, by_history[1u << MODEL_BITS];
	uint64_t history;		/* the last eight */
};

static void model_begin(struct model *m)
{
	m->n = m->last = 0;
	m->history = 0;
	memset(m->by_history, 0, sizeof m->by_history);
}

static uint32_t *expected_by_history(struct model *m)
{
	return m->by_history + (m->history * 0x9e3779b97f4a7c15u >> (64 - MODEL_BITS));
}

/* HOT */
static uint32_t expected(struct model *m)
{
	const uint32_t v = *expected_by_history(m);

	return v ? v : m->last ? m->next[m->last - 1] : 0;
}

/* HOT: @v has been next. */
static void learn(struct model *m, uint32_t v)
{
	*expected_by_history(m) = v;
	if (m->last)
		m->next[m->last - 1] = v;
	m->last = v;
	m->history = m->history << 8 ^ v * 0x9e3779b97f4a7c15u >> 40;
}

static uint32_t model_add(struct model *m, const struct pm_br *b)
{
	pm_grow(m->br, m->n, m->cap);
	pm_grow(m->next, m->n, m->cap_next);
	m->br[m->n] = *b;
	m->next[m->n] = 0;
	return (uint32_t)++m->n;
}

static uint64_t led_to(const struct model *m)
{
	const struct pm_br *b = m->last ? m->br + m->last - 1 : NULL;

	return !b ? 0 : b->flags & PM_BR_TAKEN ? b->target : b->pc + b->size;
}

/* ---- into bytes ------------------------------------------------------------------------------ */

struct warm_branches {
	struct model m;
	struct pm_map at;		/* where a branch is in the model, by a hash */
	struct pm_buf out;
	uint64_t count, run;
};

struct warm_branches *warm_branches_new(void)
{
	return pm_alloc(sizeof(struct warm_branches));
}

static void model_release(struct model *m)
{
	free(m->br);
	free(m->next);
}

void warm_branches_free(struct warm_branches *w)
{
	if (!w)
		return;
	model_release(&w->m);
	pm_map_release(&w->at);
	pm_buf_release(&w->out);
	free(w);
}

static bool same(const struct pm_br *a, const struct pm_br *b)
{
	return a->pc == b->pc && a->target == b->target && a->flags == b->flags &&
	       a->size == b->size;
}

static void put_new(struct warm_branches *w, const struct pm_br *b)
{
	const uint8_t bytes[] = { b->flags, b->size };

	pug_varint(&w->out, 0);
	pug_varint(&w->out, pug_zigzag((int64_t)(b->pc - led_to(&w->m))));
	pug_varint(&w->out, pug_zigzag((int64_t)(b->target - b->pc)));
	pm_buf_add(&w->out, bytes, sizeof bytes);
}

void warm_branches_add(struct warm_branches *w, const struct pm_br *b)
{
	const uint64_t hash = (b->pc * 0x9e3779b97f4a7c15u ^ b->target) * 0xd6e8feb86659fd93u ^
			      b->flags;
	uint32_t v = expected(&w->m);
	uint64_t *at;

	w->count++;
	if (v && same(w->m.br + v - 1, b)) {
		w->run++;
		learn(&w->m, v);
		return;
	}
	pug_varint(&w->out, w->run);
	w->run = 0;
	at = pm_map_put(&w->at, hash, NULL);
	/* two may have the same hash: then one of them is new time and again */
	if (*at && same(w->m.br + *at - 1, b)) {
		pug_varint(&w->out, w->m.n - *at + 1);
	} else {
		put_new(w, b);
		*at = model_add(&w->m, b);
	}
	learn(&w->m, (uint32_t)*at);
}

struct pm_buf warm_branches_end(struct warm_branches *w)
{
	struct pm_buf b = { 0 };

	pug_varint(&b, w->count);
	pm_buf_add(&b, w->out.p, w->out.n);
	if (w->run)
		pug_varint(&b, w->run);
	w->count = w->run = 0;
	w->out.n = 0;
	pm_map_release(&w->at);
	w->at = (struct pm_map){ 0 };
	model_begin(&w->m);
	return b;
}

/* ---- out of bytes ---------------------------------------------------------------------------- */

struct branch_reader {
	struct model m;
	struct pm_br branch[BATCH];
	size_t n;
	void (*use)(void *ctx, const struct pm_br *b, size_t n);
	void *ctx;
};

static void flush(struct branch_reader *t)
{
	if (t->use && t->n)
		t->use(t->ctx, t->branch, t->n);
	t->n = 0;
}

static void pass_branch(struct branch_reader *t, uint32_t v)
{
	t->branch[t->n++] = t->m.br[v - 1];
	learn(&t->m, v);
	if (t->n == BATCH)
		flush(t);
}

/* The one that was not predicted; 0: the bytes are none. */
static uint32_t get_other(struct branch_reader *t, struct pug_span *c)
{
	uint64_t back, pc, target;
	struct pm_br b;

	if (!pug_get_varint(c, &back) || back > t->m.n)
		return 0;
	if (back)
		return (uint32_t)(t->m.n - back + 1);
	if (!pug_get_varint(c, &pc) || !pug_get_varint(c, &target) || c->end - c->p < 2)
		return 0;
	b.pc = led_to(&t->m) + (uint64_t)pug_unzigzag(pc);
	b.target = b.pc + (uint64_t)pug_unzigzag(target);
	b.flags = *c->p++;
	b.size = *c->p++;
	return model_add(&t->m, &b);
}

static bool read_all(struct branch_reader *t, struct pug_span *c, uint64_t count)
{
	while (count) {
		uint64_t run;
		uint32_t v;

		if (!pug_get_varint(c, &run) || run > count)
			return false;
		for (count -= run; run; run--) {
			v = expected(&t->m);
			if (!v)
				return false;
			pass_branch(t, v);
		}
		if (!count)
			break;
		v = get_other(t, c);
		if (!v)
			return false;
		pass_branch(t, v);
		count--;
	}
	flush(t);
	return c->p == c->end;
}

uint64_t warm_branches_count(const uint8_t *p, size_t n)
{
	struct pug_span c = { p, p + n };
	uint64_t count;

	return pug_get_varint(&c, &count) ? count : 0;
}

bool warm_branches_each(const uint8_t *p, size_t n, uint64_t most,
			void (*use)(void *ctx, const struct pm_br *b, size_t n), void *ctx)
{
	struct pug_span c = { p, p + n };
	struct branch_reader *t;
	uint64_t count;
	bool good;

	if (!pug_get_varint(&c, &count) || count > most)
		return false;
	t = pm_alloc(sizeof *t);
	t->use = use;
	t->ctx = ctx;
	good = read_all(t, &c, count);
	model_release(&t->m);
	free(t);
	return good;
}
