/* SPDX-License-Identifier: MIT */
/* cache_shadow.h - rule (7) of cache_sim.h: what a fully associative LRU cache of the same size
 * does; inline because each access goes through it */
#ifndef PM_ANALYSE_CACHE_SHADOW_H
#define PM_ANALYSE_CACHE_SHADOW_H

#include <stdlib.h>

#include "base/mem.h"

struct shadow_place { uint64_t prev, next, line; };	/* in the list of a shadow cache */

struct cache_shadow {
	struct pm_map at;		/* line -> index into place, + 1 */
	struct pm_map seen;
	struct shadow_place *place;		/* [0] is the list's head: next = newest, prev =
						 * oldest */
	uint64_t n, cap;
};

static inline struct cache_shadow *shadow_new(uint64_t lines)
{
	struct cache_shadow *s = pm_alloc(sizeof *s);

	s->cap = lines;
	s->place = pm_alloc((lines + 1) * sizeof *s->place);
	return s;
}

static inline void shadow_free(struct cache_shadow *s)
{
	if (!s)
		return;
	pm_map_release(&s->at);
	pm_map_release(&s->seen);
	free(s->place);
	free(s);
}

static inline void shadow_unlink(struct cache_shadow *s, uint64_t i)
{
	s->place[s->place[i].prev].next = s->place[i].next;
	s->place[s->place[i].next].prev = s->place[i].prev;
}

static inline void shadow_front(struct cache_shadow *s, uint64_t i)
{
	struct shadow_place *head = s->place;

	s->place[i].prev = 0;
	s->place[i].next = head->next;
	s->place[head->next].prev = i;
	head->next = i;
}

/* Look @line up and, if @fill, keep it. 0 hit, 1 compulsory, 2 capacity: what a miss would be. */
static inline int shadow_look(struct cache_shadow *s, uint64_t line, bool fill)
{
	uint64_t *at = pm_map_get(&s->at, line), i;
	bool fresh;

	pm_map_put(&s->seen, line, &fresh);
	if (at) {
		shadow_unlink(s, *at - 1);
		shadow_front(s, *at - 1);
		return 0;
	}
	if (fill) {
		if (s->n < s->cap) {
			i = ++s->n;
		} else {
			i = s->place->prev;
			shadow_unlink(s, i);
			pm_map_del(&s->at, s->place[i].line);
		}
		s->place[i].line = line;
		shadow_front(s, i);
		*pm_map_put(&s->at, line, NULL) = i + 1;
	}
	return fresh ? 1 : 2;
}

/* Forget what the cache holds, not what was ever seen (8). */
static inline void shadow_empty(struct cache_shadow *s)
{
	pm_map_release(&s->at);
	s->at = (struct pm_map){ 0 };
	s->n = 0;
	s->place[0] = (struct shadow_place){ 0 };
}

#endif
