/* SPDX-License-Identifier: MIT */
/* bounds_pass.c - a pass: its lanes, and what is the same in all of them */
#include <stdlib.h>
#include <string.h>

#include "analyse/bounds_work.h"
#include "base/mem.h"
#include "base/mix.h"

#define LINE_SHIFT	6
#define CALENDAR_FIRST	4096		/* cycles that a calendar covers at first */

struct bounds_pass *bounds_pass_new(uint32_t window)
{
	struct bounds_pass *p = pm_alloc(sizeof *p);

	p->batch.window = window;
	p->run = bounds_run;
	p->origin = (struct bounds_origin){ .late = 1 << 30, .behind = 1 << 28, .step = 1 << 26 };
	return p;
}

static void free_group(struct bounds_group *g)
{
	for (unsigned l = 0; l < LANES; l++) {
		free(g->lane[l].calendar.v);
		free(g->lane[l].line);
	}
	free(g->rob);
	free(g->queue);
	free(g->lq);
	free(g->sq);
	free(g->line);
	free(g->word);
	free(g);
}

void bounds_pass_free(struct bounds_pass *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->ngroup; i++)
		free_group(p->group[i]);
	for (size_t i = 0; i < p->nlane; i++)
		free(p->lane[i].column);
	pm_map_release(&p->lane_at);
	free(p->group);
	free(p->lane);
	free(p->member);
	free(p);
}

/* ---- lanes ---------------------------------------------------------------------------------- */

/* (1) of bounds.h */
static struct pm_core_conf only(const struct pm_core_conf *c, enum pm_bounds_resource resource)
{
	struct pm_core_conf to = *c;

	to.rob = BOUNDS_ROB;
	to.fetch = to.bytes = to.width = to.iq = to.lq = to.sq = to.mshr = BOUNDS_FREE;
	to.alu = to.vec = to.loads = to.stores = BOUNDS_FREE;
	switch (resource) {
	case PM_BOUNDS_fetch:
		to.bytes = c->bytes;
		to.fetch = c->fetch;
		break;
#define LIMIT(name)							\
	case PM_BOUNDS_##name:						\
		to.name = c->name;					\
		break
	LIMIT(rob);
	LIMIT(iq);
	LIMIT(lq);
	LIMIT(sq);
	LIMIT(width);
	LIMIT(alu);
	LIMIT(vec);
	LIMIT(loads);
	LIMIT(stores);
	LIMIT(mshr);
#undef LIMIT
	default:
		break;
	}
	return to;
}

size_t bounds_lane_of(struct bounds_pass *p, const struct pm_core_conf *c,
		      enum pm_bounds_resource resource)
{
	const struct pm_core_conf wanted = only(c, resource);

	uint64_t key = pm_mix(&wanted, sizeof wanted, 0), *at;
	bool fresh;

	for (;; key++) {	/* until it is this one, or none */
		at = pm_map_put(&p->lane_at, key, &fresh);
		if (fresh)
			break;
		if (!memcmp(&p->lane[*at].c, &wanted, sizeof wanted))
			return *at;
	}
	*at = p->nlane;
	pm_grow(p->lane, p->nlane, p->cap_lane);
	p->lane[p->nlane] = (struct bounds_total){ .c = wanted, .resource = resource };
	return p->nlane++;
}

void bounds_pass_tell(struct bounds_pass *p, void (*told)(void *self, size_t windows), void *self)
{
	pm_grow(p->member, p->nmember, p->cap_member);
	p->member[p->nmember++] = (struct bounds_member){ told, self };
}

static lanes_t *places(size_t n)
{
	lanes_t *v = pm_alloc_lines(n * sizeof *v);

	memset(v, 0, n * sizeof *v);
	return v;
}

static bool is_free(uint32_t x)
{
	return x == BOUNDS_FREE;
}

static void add_lane(struct bounds_group *g, unsigned l, const struct pm_core_conf *c,
		     uint32_t *column)
{
	struct bounds_lane *k = g->lane + l;
	bool reserves = false;

	k->c = *c;
	g->column[l] = column;
	g->most_insns[l] = c->fetch;
	g->most_bytes[l] = c->bytes;
	g->front[l] = c->front;
	g->bubble[l] = c->bubble;
	g->width[l] = c->width;
	g->gap[l] = c->gap;
	g->forward[l] = c->forward;
	for (unsigned i = 0; i < NR(c->lat); i++)
		g->lat[i][l] = c->lat[i];
	g->queue_size[l] = c->queue;
	g->rob_size[l] = c->rob;
	g->lq_size[l] = c->lq;
	g->sq_size[l] = c->sq;
	g->varied_queue |= (int32_t)c->queue != g->queue_size[0];
	g->varied_rob |= c->rob != BOUNDS_ROB;
	g->has_lq |= !is_free(c->lq);
	g->has_sq |= !is_free(c->sq);
	k->has_iq = !is_free(c->iq);
	k->has_mshr = !is_free(c->mshr);
	g->has_mshr |= k->has_mshr;
	if (k->has_mshr)
		k->line = pm_alloc((c->mshr + (size_t)1) * sizeof *k->line);
	for (unsigned i = 0; i < PM_CORE_CLASS_COUNT; i++) {
		const uint32_t any = pm_core_ports(&pm_core_big, i);

		k->ports[i] = is_free(any >> 8 ? c->vec : c->alu) ? 0 : pm_core_ports(c, i);
	}
	k->ports[BOUNDS_LOAD] = is_free(c->loads) ? 0 : ((1u << c->loads) - 1) << 16;
	k->ports[BOUNDS_STORE] = is_free(c->stores) ? 0 : ((1u << c->stores) - 1) << 20;
	for (unsigned i = 0; i < NR(k->ports); i++) {
		g->reserving[i] |= (k->ports[i] != 0) << l;
		reserves |= k->ports[i] != 0;
	}
	g->scheduled |= k->has_iq << l;
	if (reserves || k->has_iq) {
		k->calendar.v = pm_alloc(CALENDAR_FIRST * sizeof *k->calendar.v);
		k->calendar.mask = CALENDAR_FIRST - 1;
	}
}

/* Lanes with the same needs stand together. */
static void begin(struct bounds_pass *p)
{
	static const uint8_t order[PM_BOUNDS_COUNT] = { PM_BOUNDS_none, PM_BOUNDS_width,
		PM_BOUNDS_fetch, PM_BOUNDS_rob, PM_BOUNDS_lq, PM_BOUNDS_sq, PM_BOUNDS_mshr,
		PM_BOUNDS_vec, PM_BOUNDS_stores, PM_BOUNDS_loads, PM_BOUNDS_alu, PM_BOUNDS_iq };
	struct bounds_group *g = NULL;
	unsigned n = LANES;

	p->begun = true;
	for (unsigned r = 0; r < PM_BOUNDS_COUNT; r++)
		for (size_t i = 0; i < p->nlane; i++) {
			struct bounds_total *t = p->lane + i;

			if (t->resource != order[r])
				continue;
			if (n == LANES) {
				g = pm_alloc_lines(sizeof *g);
				memset(g, 0, sizeof *g);
				g->rob = places(BOUNDS_UOPS);
				g->queue = places(BOUNDS_PLACES);
				g->line = places(BOUNDS_LINES);
				g->word = places(BOUNDS_WORDS);
				pm_grow(p->group, p->ngroup, p->cap_group);
				p->group[p->ngroup++] = g;
				n = 0;
			}
			t->column = pm_alloc(BOUNDS_WINDOWS * sizeof *t->column);
			add_lane(g, n++, &t->c, t->column);
		}
	for (; g && n < LANES; n++) {	/* nobody looks at these */
		struct pm_core_conf c = g->lane[0].c;

		c = only(&c, PM_BOUNDS_none);
		add_lane(g, n, &c, NULL);
	}
	for (size_t i = 0; i < p->ngroup; i++) {
		g = p->group[i];
		g->lq = g->has_lq ? places(BOUNDS_PLACES) : NULL;
		g->sq = g->has_sq ? places(BOUNDS_PLACES) : NULL;
	}
}

/* ---- the origin of times -------------------------------------------------------------------- */

/* What is before the new origin is over for good: it may stand at the origin. */
static void move(lanes_t *v, size_t n, const lanes_t *by)
{
	for (size_t i = 0; i < n; i++) {
		const lanes_t x = v[i] - *by;

		v[i] = x & (x > 0);
	}
}

static void move_origin(struct bounds_group *g, const struct bounds_origin *o)
{
	lanes_t by;
	bool late = false;

	for (unsigned l = 0; l < LANES; l++) {
		late |= g->now.commit[l] > o->late || g->written[l] > o->late;
		by[l] = g->now.dispatch[l] > o->behind ? g->now.dispatch[l] - o->behind : 0;
		by[l] &= -o->step;
	}
	if (!late)
		return;
	/* without a limit to the store queue nobody asks when a store is written */
	for (unsigned l = 0; l < LANES; l++)
		if (is_free(g->sq_size[l]))
			g->written[l] = g->now.commit[l];
	move(g->reg, NR(g->reg), &by);
	move(&g->now.fetch, 1, &by);
	move(&g->now.dispatch, 1, &by);
	move(&g->now.commit, 1, &by);
	move(&g->now.done, 1, &by);
	move(&g->written, 1, &by);
	move(&g->barrier, 1, &by);
	move(&g->mem_free, 1, &by);
	g->ended -= by;		/* a window may have begun before the origin */
	move(g->rob, BOUNDS_UOPS, &by);
	move(g->queue, BOUNDS_PLACES, &by);
	if (g->lq)
		move(g->lq, BOUNDS_PLACES, &by);
	if (g->sq)
		move(g->sq, BOUNDS_PLACES, &by);
	move(g->line, BOUNDS_LINES, &by);
	move(g->word, BOUNDS_WORDS, &by);
	for (unsigned l = 0; l < LANES; l++)
		bounds_move_lane(g->lane + l, by[l]);
}

/* ---- what no time changes ------------------------------------------------------------------- */

/* (2) of bounds.h: places in the tables of core.h (3). */
static size_t look_up_load(struct bounds_pass *p, struct bounds_load *to, uint16_t *word,
			   const struct core_ref *r)
{
	const uint64_t line = r->addr >> LINE_SHIFT, from = r->addr >> 3,
		       last = (r->addr + r->size - 1) >> 3;
	size_t n = 0;

	*to = (struct bounds_load){ .line = line % BOUNDS_LINES,
				    .wait = r->wait,
				    .level = r->level };
	for (uint64_t w = from; w <= last && w < from + 8; w++)
		if (p->word[w % BOUNDS_WORDS] == w + 1)
			word[n++] = w % BOUNDS_WORDS;
	to->words = n;
	to->stored = n;
	if (r->level)
		p->line[to->line] = line + 1;
	else
		to->waits = p->line[to->line] == line + 1;
	return n;
}

static void look_up_store(struct bounds_pass *p, struct bounds_store *to, const struct core_ref *r)
{
	const uint64_t from = r->addr >> 3, last = (r->addr + r->size - 1) >> 3;

	*to = (struct bounds_store){ .word = from % BOUNDS_WORDS,
				     .wait = r->wait,
				     .level = r->level };
	for (uint64_t w = from; w <= last && w < from + 8; w++, to->words++)
		p->word[w % BOUNDS_WORDS] = w + 1;
}

static void look_up(struct bounds_pass *p, const struct core_insn *op, size_t n,
		    const struct core_ref *load, const struct core_ref *store)
{
	struct bounds_batch *b = &p->batch;
	struct bounds_load *l = b->load;
	struct bounds_store *s = b->store;
	uint16_t *word = b->word;

	for (size_t i = 0; i < n; i++) {
		for (unsigned k = 0; k < op[i].nload; k++)
			word += look_up_load(p, l++, word, load++);
		for (unsigned k = 0; k < op[i].nstore; k++)
			look_up_store(p, s++, store++);
		p->issues[op[i].rule->class]++;
	}
	p->loads += l - b->load;
	p->stores += s - b->store;
}

/* ---- windows -------------------------------------------------------------------------------- */

static unsigned bucket_of(uint32_t x)
{
	const unsigned e = x < 32 ? 0 : 31 - __builtin_clz(x);

	return x < 32 ? x : 32 + (e - 5) * 8 + (x >> (e - 3) & 7);
}

uint64_t bounds_bucket_value(unsigned k)
{
	return k < 32 ? k : (8ull + (k - 32) % 8) << ((k - 32) / 8 + 2);
}

static void tell(struct bounds_pass *p, size_t windows)
{
	for (size_t i = 0; i < p->nlane; i++)
		for (size_t w = 0; w < windows; w++) {
			p->lane[i].cycles += p->lane[i].column[w];
			p->lane[i].bucket[bucket_of(p->lane[i].column[w])]++;
		}
	for (size_t i = 0; i < p->nmember; i++)
		p->member[i].told(p->member[i].self, windows);
	p->windows += windows;
	p->batch.first = 0;
}

/* @n operations, with which no more windows end than there is room for. */
static void run(struct bounds_pass *p, const struct core_insn *op, size_t n,
		const struct core_ref *load, const struct core_ref *store)
{
	struct bounds_batch *b = &p->batch;
	const uint64_t nload = p->loads, nstore = p->stores;

	b->op = op;
	b->n = n;
	look_up(p, op, n, load, store);
	for (size_t i = 0; i < p->ngroup; i += 2)
		p->run(p->group[i], i + 1 < p->ngroup ? p->group[i + 1] : NULL, b);
	for (size_t i = 0; i < p->ngroup; i++)
		move_origin(p->group[i], &p->origin);
	b->ninsn += n;
	for (size_t i = 0; i < n; i++)
		b->nuop += op[i].rule->uops;
	b->nload += p->loads - nload;
	b->nstore += p->stores - nstore;
	b->first += (b->in_window + n) / b->window;
	b->in_window = (b->in_window + n) % b->window;
	if (b->first == BOUNDS_WINDOWS)
		tell(p, BOUNDS_WINDOWS);
}

void bounds_pass_run(struct bounds_pass *p, const struct core_insn *op, size_t n,
		     const struct core_ref *load, const struct core_ref *store)
{
	const struct bounds_batch *b = &p->batch;

	if (!p->begun)
		begin(p);
	while (n) {
		const size_t room = (BOUNDS_WINDOWS - b->first) * (size_t)b->window - b->in_window;
		size_t now = n < CORE_GATHER ? n : CORE_GATHER;

		now = now < room ? now : room;
		run(p, op, now, load, store);
		n -= now;
		for (; now; now--, op++) {
			load += op->nload;
			store += op->nstore;
		}
	}
}

void bounds_pass_end(struct bounds_pass *p)
{
	struct bounds_batch *b = &p->batch;

	if (p->over)
		return;
	p->over = true;
	if (!p->begun)			/* no instruction has come */
		return;
	if (b->in_window) {
		for (size_t i = 0; i < p->ngroup; i++) {
			struct bounds_group *g = p->group[i];

			for (unsigned l = 0; l < LANES; l++)
				if (g->column[l])
					g->column[l][b->first] = g->now.commit[l] - g->ended[l];
		}
		b->first++;
	}
	tell(p, b->first);
}

/* ---- ports ---------------------------------------------------------------------------------- */

/* Operations that may issue at ports of @set only, over how many ports these are. */
static uint64_t of_set(const struct bounds_pass *p, const struct pm_core_conf *c, uint32_t set)
{
	uint64_t n = 0;
	const unsigned ports = __builtin_popcount(set);

	for (unsigned i = 0; i < PM_CORE_CLASS_COUNT; i++) {
		const uint32_t mine = pm_core_ports(c, i);

		n += mine && !(mine & ~set) ? p->issues[i] : 0;
	}
	return ports ? (n + ports - 1) / ports : 0;
}

/* The ports from bit @shift on. */
static uint64_t of_sets(const struct bounds_pass *p, const struct pm_core_conf *c, unsigned shift)
{
	uint64_t most = 0;

	for (uint32_t set = 1; set < 256; set++) {
		const uint64_t one = of_set(p, c, set << shift);

		most = one > most ? one : most;
	}
	return most;
}

uint64_t bounds_of_ports(struct bounds_pass *p, const struct pm_core_conf *c)
{
	uint64_t *alu = p->of_alu + c->alu, *vec = p->of_vec + c->vec,
		 loads = (p->loads + c->loads - 1) / c->loads,
		 stores = (p->stores + c->stores - 1) / c->stores;

	if (!*alu)
		*alu = of_sets(p, c, 0);
	if (!*vec)
		*vec = of_sets(p, c, 8);
	loads = loads > stores ? loads : stores;
	loads = loads > *alu ? loads : *alu;
	return loads > *vec ? loads : *vec;
}
