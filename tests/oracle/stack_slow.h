/* SPDX-License-Identifier: MIT */
/* oracle/stack_slow.h - one LRU cache of one geometry, and one LRU stack, each as a list that is
 * searched from the front and has the found element moved to the front */
#ifndef ORACLE_STACK_H
#define ORACLE_STACK_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct o_lru { uint64_t *v; size_t n, cap; };

/* Place of @x, -1 if it is new; it comes to the front, and no more than @cap stay. */
static inline long o_lru_touch(struct o_lru *l, uint64_t x, size_t cap)
{
	size_t i = 0;
	long at;

	while (i < l->n && l->v[i] != x)
		i++;
	at = i < l->n ? (long)i : -1;
	if (at < 0) {
		if (l->n == l->cap)
			l->v = realloc(l->v, (l->cap = l->cap * 2 + 16) * sizeof *l->v);
		l->n++;
	}
	memmove(l->v + 1, l->v, i * sizeof *l->v);
	l->v[0] = x;
	if (l->n > cap)
		l->n = cap;
	return at;
}

static inline uint64_t o_lru_misses(const uint64_t *addr, size_t n, uint64_t line, uint64_t sets,
				    size_t ways)
{
	struct o_lru *set = calloc(sets, sizeof *set);
	uint64_t misses = 0;

	for (size_t i = 0; i < n; i++)
		misses += o_lru_touch(set + addr[i] / line % sets, addr[i] / line, ways) < 0;
	for (uint64_t s = 0; s < sets; s++)
		free(set[s].v);
	free(set);
	return misses;
}

#endif
