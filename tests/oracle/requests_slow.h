/* SPDX-License-Identifier: MIT */
/* oracle/requests_slow.h - the rules of src/analyse/object_caches.h with an array, newest object
 * first, that is searched and moved for each request */
#ifndef ORACLE_REQUESTS_H
#define ORACLE_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "analyse/object_caches.h"

struct o_object { uint64_t id, size; bool asked; };

struct o_objects {
	enum pm_object_policy policy;
	uint64_t size;
	struct o_object v[4096];
	size_t n;
	int64_t hand;			/* sieve: index of the object that it points at; -1: none */
	uint64_t miss, miss_bytes, evicted;
};

static uint64_t o_occupied(const struct o_objects *o)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < o->n; i++)
		sum += o->v[i].size;
	return sum;
}

static void o_remove(struct o_objects *o, size_t i)
{
	memmove(o->v + i, o->v + i + 1, (o->n - i - 1) * sizeof *o->v);
	o->n--;
}

static void o_insert(struct o_objects *o, struct o_object e)
{
	memmove(o->v + 1, o->v, o->n * sizeof *o->v);
	o->v[0] = e;
	o->n++;
}

static void o_evict(struct o_objects *o)
{
	size_t i = o->n - 1;

	while (o->policy == PM_OBJECTS_CLOCK && o->v[i].asked) {
		struct o_object e = o->v[i];

		e.asked = false;
		o_remove(o, i);
		o_insert(o, e);
	}
	if (o->policy == PM_OBJECTS_SIEVE) {
		i = o->hand < 0 ? o->n - 1 : (size_t)o->hand;
		while (o->v[i].asked) {
			o->v[i].asked = false;
			i = i ? i - 1 : o->n - 1;
		}
		o->hand = (int64_t)i - 1;	/* the next newer one */
	}
	o_remove(o, i);
	o->evicted++;
}

static void o_request(struct o_objects *o, uint64_t id, uint64_t size, uint64_t bytes)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i].id == id) {
			struct o_object e = o->v[i];

			e.asked = true;
			o->v[i] = e;
			if (o->policy == PM_OBJECTS_LRU) {
				o_remove(o, i);
				o_insert(o, e);
			}
			return;
		}
	o->miss++;
	o->miss_bytes += bytes;
	if (size > o->size)
		return;
	while (o_occupied(o) + size > o->size)
		o_evict(o);
	o_insert(o, (struct o_object){ id, size, false });
	if (o->hand >= 0)		/* everybody has moved by one */
		o->hand++;
}

#endif
