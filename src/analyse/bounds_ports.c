/* SPDX-License-Identifier: MIT */
/* bounds_ports.c - ports, the scheduler and lines on their way, lane by lane: as in core.c */
#include <stdlib.h>

#include "analyse/bounds_work.h"
#include "base/mem.h"

#define BUSY_MOST	64		/* more than the cycles that a port stays taken */

/* A calendar has the cycles `from` on, which is no later than that of dispatch: in lanes with
 * ports, those that are taken; in lanes with a scheduler, how many operations issue. */
static __attribute__((noinline)) void extend(struct bounds_calendar *c, uint32_t t)
{
	const uint32_t was = c->mask, now = c->from;
	uint32_t *v;

	while (t - now >= c->mask - BUSY_MOST)
		c->mask = 2 * c->mask + 1;
	v = pm_alloc((c->mask + (size_t)1) * sizeof *v);
	for (uint32_t i = 0; i <= was; i++)
		v[(now + i) & c->mask] = c->v[(now + i) & was];
	free(c->v);
	c->v = v;
}

static inline void reach(struct bounds_calendar *c, uint32_t t)
{
	if (__builtin_expect(t - c->from >= c->mask - BUSY_MOST, 0))
		extend(c, t);
}

/* Cycles before @to are over. How many operations issued in them. */
static inline uint32_t pass(struct bounds_calendar *c, uint32_t to)
{
	/* more than the calendar has: there is nothing in the rest */
	const uint32_t last = to - c->from > c->mask ? c->from + c->mask + 1 : to;
	uint32_t n = 0;

	for (uint32_t t = c->from; t != last; t++) {
		n += c->v[t & c->mask];
		c->v[t & c->mask] = 0;
	}
	c->from = to;
	return n;
}

void bounds_dispatch(struct bounds_group *g, lanes_t *to, unsigned entries)
{
	for (unsigned of = g->scheduled; of; of &= of - 1) {
		const unsigned l = __builtin_ctz(of);
		struct bounds_lane *k = g->lane + l;
		struct bounds_calendar *c = &k->calendar;
		uint32_t d = (*to)[l], waiting = c->waiting;

		if (d != c->from)
			waiting -= pass(c, d);
		if (__builtin_expect(waiting + entries > k->c.iq, 0)) {
			for (; waiting + entries > k->c.iq && waiting; d++)
				waiting -= pass(c, d + 1);
			(*to)[l] = d;
		}
		c->waiting = waiting + entries;
	}
}

/* The first cycle from @t on in which one of @ports is free, as reserve_port() in core.c finds
 * it. */
static inline uint32_t reserve(struct bounds_calendar *c, uint32_t now, uint32_t ports,
			       unsigned class, uint32_t t, unsigned busy)
{
	uint32_t free;

	if (c->from != now)
		pass(c, now);
	reach(c, t);
	free = ports & ~c->v[t & c->mask];
	if (!free) {
		const bool known = t >= c->full[class].from && t < c->full[class].to;

		c->full[class].from = known ? c->full[class].from : t;
		for (t = known ? c->full[class].to : t + 1;; t++) {
			reach(c, t);
			free = ports & ~c->v[t & c->mask];
			if (free)
				break;
		}
		c->full[class].to = t;
	}
	free &= -free;
	for (unsigned i = 0; i < busy; i++)
		c->v[(t + i) & c->mask] |= free;
	return t;
}

void bounds_reserve(struct bounds_group *g, const lanes_t *now, unsigned class, unsigned busy,
		    lanes_t *t)
{
	for (unsigned of = g->reserving[class]; of; of &= of - 1) {
		const unsigned l = __builtin_ctz(of);
		struct bounds_lane *k = g->lane + l;

		(*t)[l] = reserve(&k->calendar, (*now)[l], k->ports[class], class, (*t)[l], busy);
	}
}

void bounds_leave(struct bounds_group *g, const lanes_t *t)
{
	for (unsigned of = g->scheduled; of; of &= of - 1) {
		const unsigned l = __builtin_ctz(of);
		struct bounds_calendar *c = &g->lane[l].calendar;

		reach(c, (*t)[l]);
		c->v[(*t)[l] & c->mask]++;
	}
}

/* ---- lines on their way --------------------------------------------------------------------- */

static void push(struct bounds_lane *k, uint32_t x)
{
	unsigned i = k->nline++;

	for (; i && k->line[(i - 1) / 2] > x; i = (i - 1) / 2)
		k->line[i] = k->line[(i - 1) / 2];
	k->line[i] = x;
}

static uint32_t pop(struct bounds_lane *k)
{
	const uint32_t top = k->line[0], x = k->line[--k->nline];
	unsigned i = 0;

	for (unsigned j = 1; j < k->nline; i = j, j = 2 * i + 1) {
		j += j + 1 < k->nline && k->line[j + 1] < k->line[j];
		if (k->line[j] >= x)
			break;
		k->line[i] = k->line[j];
	}
	k->line[i] = x;
	return top;
}

void bounds_line(struct bounds_group *g, lanes_t *start)
{
	for (unsigned l = 0; l < LANES; l++) {
		struct bounds_lane *k = g->lane + l;

		if (!k->has_mshr)
			continue;
		while (k->nline && k->line[0] <= (uint32_t)(*start)[l])
			pop(k);
		if (k->nline == k->c.mshr)
			(*start)[l] = pop(k);	/* later than it was */
	}
}

void bounds_line_comes(struct bounds_group *g, const lanes_t *data)
{
	for (unsigned l = 0; l < LANES; l++)
		if (g->lane[l].has_mshr)
			push(g->lane + l, (*data)[l]);
}

static uint32_t less(uint32_t x, uint32_t by)
{
	return x > by ? x - by : 0;
}

void bounds_move_lane(struct bounds_lane *k, uint32_t by)
{
	for (unsigned i = 0; i < k->nline; i++)
		k->line[i] = less(k->line[i], by);
	if (k->calendar.v && k->calendar.from < by)
		k->calendar.waiting -= pass(&k->calendar, by);
	k->calendar.from = less(k->calendar.from, by);
	for (unsigned i = 0; i < NR(k->calendar.full); i++) {
		k->calendar.full[i].from = less(k->calendar.full[i].from, by);
		k->calendar.full[i].to = less(k->calendar.full[i].to, by);
	}
}
