/* SPDX-License-Identifier: MIT */
/* bounds_ports.c - ports, the scheduler and lines on their way, lane by lane: as in core.c */
#include <stdlib.h>

#include "analyse/bounds_work.h"
#include "base/mem.h"

#define BUSY_MOST	64		/* more than the cycles that a port stays taken */

/* A calendar has the cycles from that of dispatch, @now, on. In lanes with ports it has the ports
 * that are taken; in lanes with a scheduler, how many operations issue. */
static __attribute__((noinline)) void extend(struct bounds_calendar *c, uint32_t now, uint32_t t)
{
	const uint32_t was = c->mask;
	uint32_t *v;

	while (t - now >= c->mask - BUSY_MOST)
		c->mask = 2 * c->mask + 1;
	v = pm_alloc((c->mask + (size_t)1) * sizeof *v);
	for (uint32_t i = 0; i <= was; i++)
		v[(now + i) & c->mask] = c->v[(now + i) & was];
	free(c->v);
	c->v = v;
}

static inline void reach(struct bounds_calendar *c, uint32_t now, uint32_t t)
{
	if (__builtin_expect(t - now >= c->mask - BUSY_MOST, 0))
		extend(c, now, t);
}

/* Cycles from..to - 1 are over: what issued in them has left the scheduler. */
static inline void pass(struct bounds_calendar *c, uint32_t from, uint32_t to)
{
	for (; from != to; from++) {
		c->waiting -= c->v[from & c->mask];	/* of ports, a number that means nothing */
		c->v[from & c->mask] = 0;
	}
}

void bounds_dispatch(struct bounds_group *g, const lanes_t *before, lanes_t *to, unsigned entries)
{
	for (unsigned of = g->calendars; of; of &= of - 1) {
		const unsigned l = __builtin_ctz(of);
		struct bounds_lane *k = g->lane + l;
		struct bounds_calendar *c = &k->calendar;
		uint32_t d = (*to)[l];

		if (d != (uint32_t)(*before)[l])
			pass(c, (*before)[l], d);
		if (!k->has_iq)
			continue;
		for (; c->waiting + entries > k->c.iq && c->waiting; d++)
			pass(c, d, d + 1);
		c->waiting += entries;
		(*to)[l] = d;
	}
}

/* The first cycle from @t on in which one of @ports is free, as reserve_port() in core.c finds
 * it. */
static inline uint32_t reserve(struct bounds_calendar *c, uint32_t now, uint32_t ports,
			       unsigned class, uint32_t t, unsigned busy)
{
	uint32_t free;

	reach(c, now, t);
	free = ports & ~c->v[t & c->mask];
	if (!free) {
		const bool known = t >= c->full[class].from && t < c->full[class].to;

		c->full[class].from = known ? c->full[class].from : t;
		for (t = known ? c->full[class].to : t + 1;; t++) {
			reach(c, now, t);
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

void bounds_issue(struct bounds_group *g, const lanes_t *now, unsigned class, unsigned busy,
		  lanes_t *t)
{
	for (unsigned of = g->issuing[class]; of; of &= of - 1) {
		const unsigned l = __builtin_ctz(of);
		struct bounds_lane *k = g->lane + l;
		struct bounds_calendar *c = &k->calendar;

		if (k->has_iq) {
			reach(c, (*now)[l], (*t)[l]);
			c->v[(*t)[l] & c->mask]++;
		} else {
			(*t)[l] = reserve(c, (*now)[l], k->ports[class], class, (*t)[l], busy);
		}
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
	for (unsigned i = 0; i < NR(k->calendar.full); i++) {
		k->calendar.full[i].from = less(k->calendar.full[i].from, by);
		k->calendar.full[i].to = less(k->calendar.full[i].to, by);
	}
}
