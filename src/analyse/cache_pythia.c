/* SPDX-License-Identifier: MIT */
/* cache_pythia.c - the rules of cache_pythia.h */
#include <stdlib.h>
#include <string.h>

#include "analyse/cache_prefetch.h"
#include "analyse/cache_pythia.h"
#include "base/mem.h"

#define WAYS		4
#define VAULTS		2
#define PLANES		3
#define ROWS		128
#define ACTIONS		16
#define QUEUE		256		/* entries */
#define FIRST_Q		147705
#define ALPHA		426
#define GAMMA		36438
#define EXPLORE		119		/* of 65536 */

enum { TIMELY = 20, LATE = 12, LEFT_PAGE = -12, UNUSED = -8, NO_PREFETCH = -4 };

static const int8_t actions[ACTIONS] = { 1, 3, 4, 5, 10, 11, 12, 16, 22, 23, 30, 32, -1, -3, -6,
	0 };
static const uint8_t shifts[VAULTS][PLANES] = { { 0, 4, 8 }, { 0, 7, 14 } };

struct page { uint64_t key; uint32_t last, deltas; };	/* key + 1; deltas: newest highest */

/* Rows of a state in the planes. */
struct state { uint8_t row[VAULTS][PLANES]; };

struct choice {
	struct state state;
	uint8_t action;
	bool rewarded;
	int8_t reward;
	uint64_t line, news;		/* asked for, when; no line if it was rewarded at once */
	uint64_t before;		/* in the same bucket: number + 1 */
};

struct cache_pythia {
	unsigned shift, page_shift, lines, degree;
	uint64_t random;
	struct page page[16][WAYS];	/* newest first */
	struct choice queue[QUEUE];	/* by number */
	uint64_t n;			/* have been taken */
	uint64_t bucket[QUEUE];		/* the last with such a line: number + 1 */
	int32_t q[VAULTS][PLANES][ROWS][ACTIONS];
};

struct cache_pythia *cache_pythia_new(unsigned shift, unsigned degree)
{
	struct cache_pythia *p = pm_alloc(sizeof *p);
	int32_t *q = &p->q[0][0][0][0];

	p->shift = shift;
	p->page_shift = 12 - shift;
	p->lines = 1u << p->page_shift;
	p->degree = degree;
	p->random = 0x9e3779b97f4a7c15;
	for (size_t i = 0; i < sizeof p->q / sizeof *q; i++)
		q[i] = FIRST_Q;
	return p;
}

void cache_pythia_free(struct cache_pythia *p)
{
	free(p);
}

static uint64_t draw(struct cache_pythia *p)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return p->random;
}

/* The page becomes the first of its set. */
static struct page *page_of(struct cache_pythia *p, uint64_t page, bool *fresh)
{
	struct page *set = p->page[page & 15], e;
	unsigned w = 0;

	while (w < WAYS - 1 && set[w].key != page + 1)
		w++;
	e = set[w];
	*fresh = e.key != page + 1;
	if (*fresh)
		e = (struct page){ .key = page + 1 };
	memmove(set + 1, set, w * sizeof e);
	*set = e;
	return set;
}

/* The entry of @line, NULL: the queue has none. */
static struct choice *find(struct cache_pythia *p, uint64_t line)
{
	const uint64_t oldest = p->n > QUEUE ? p->n - QUEUE : 0;

	for (uint64_t i = p->bucket[line % QUEUE]; i > oldest;
	     i = p->queue[(i - 1) % QUEUE].before) {
		struct choice *t = p->queue + (i - 1) % QUEUE;

		if (t->line == line)
			return t;
	}
	return NULL;
}

static struct state state_of(uint64_t pc, uint32_t deltas)
{
	const uint64_t feature[VAULTS] = { (uint64_t)(deltas >> 21) << 32 | (uint32_t)pc, deltas };
	struct state s;

	for (unsigned v = 0; v < VAULTS; v++)
		for (unsigned k = 0; k < PLANES; k++)
			s.row[v][k] = (feature[v] >> shifts[v][k]) * 0x9e3779b97f4a7c15 >> 57;
	return s;
}

/* HOT: once per access to another line of a page. */
static unsigned choose(struct cache_pythia *p, const struct state *s)
{
	const uint64_t x = draw(p);
	int32_t sum[VAULTS][ACTIONS];
	unsigned best = 0;

	if ((x >> 32 & 65535) < EXPLORE)
		return x >> 48 & (ACTIONS - 1);
	for (unsigned v = 0; v < VAULTS; v++) {
		const int32_t *a = p->q[v][0][s->row[v][0]], *b = p->q[v][1][s->row[v][1]],
			      *c = p->q[v][2][s->row[v][2]];

		for (unsigned i = 0; i < ACTIONS; i++)
			sum[v][i] = a[i] + b[i] + c[i];
	}
	for (unsigned i = 0; i < ACTIONS; i++) {
		sum[0][i] = sum[0][i] > sum[1][i] ? sum[0][i] : sum[1][i];
		best = sum[0][i] > sum[0][best] ? i : best;
	}
	return best;
}

/* (6) @t leaves, @next is the oldest then. */
static void learn(struct cache_pythia *p, const struct choice *t, const struct choice *next)
{
	const int64_t reward = (t->rewarded ? t->reward : UNUSED) * 65536;

	for (unsigned v = 0; v < VAULTS; v++)
		for (unsigned k = 0; k < PLANES; k++) {
			int32_t *q = &p->q[v][k][t->state.row[v][k]][t->action];
			const int64_t later =
				p->q[v][k][next->state.row[v][k]][next->action];

			*q += ALPHA * (reward + (GAMMA * later >> 16) - *q) >> 16;
		}
}

/* @reward: 0 if it is not known yet, for the prefetch of @line. */
static void enter(struct cache_pythia *p, const struct state *s, unsigned action, int reward,
		  uint64_t line, uint64_t news)
{
	struct choice *t = p->queue + p->n % QUEUE;

	if (p->n >= QUEUE)
		learn(p, t, p->queue + (p->n + 1) % QUEUE);
	*t = (struct choice){ .state = *s,
			     .action = action,
			     .reward = reward,
			     .rewarded = reward != 0,
			     .line = UINT64_MAX,
			     .news = news };
	if (!reward) {
		t->line = line;
		t->before = p->bucket[line % QUEUE];
		p->bucket[line % QUEUE] = p->n + 1;
	}
	p->n++;
}

unsigned cache_pythia_ask(struct cache_pythia *p, uint64_t pc, uint64_t line, uint64_t news,
			  uint64_t *to)
{
	const uint64_t page = line >> p->page_shift, o = line & (p->lines - 1);
	bool fresh;
	struct page *e = page_of(p, page, &fresh);
	struct choice *t;
	struct state s;
	unsigned action, n = 0;
	int64_t at;

	if (!fresh && e->last == o)
		return 0;
	if (!fresh)
		e->deltas = e->deltas >> 7 | ((uint32_t)(o - e->last) & 127) << 21;
	e->last = o;
	t = find(p, line);
	if (t && !t->rewarded) {
		t->rewarded = true;
		t->reward = t->news + CACHE_PF_TIMELY <= news ? TIMELY : LATE;
	}
	s = state_of(pc, e->deltas);
	action = choose(p, &s);
	at = (int64_t)o + actions[action];
	if (!actions[action]) {
		enter(p, &s, action, NO_PREFETCH, 0, news);
		return 0;
	}
	if (at < 0 || at >= p->lines) {
		enter(p, &s, action, LEFT_PAGE, 0, news);
		return 0;
	}
	if (find(p, line + actions[action]))
		return 0;
	enter(p, &s, action, 0, line + actions[action], news);
	for (; n < p->degree && at >= 0 && at < p->lines; at += actions[action])
		to[n++] = ((page << p->page_shift) + at) << p->shift;
	return n;
}
