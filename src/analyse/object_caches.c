/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/conf.h"
#include "analyse/object_caches.h"
#include "base/err.h"
#include "base/mem.h"

#define CACHES	64			/* in one configuration */
#define NOBODY	UINT32_MAX

const char *const pm_object_policies[] = { "lru", "fifo", "clock", "sieve", NULL };

/* An object in one cache. The list goes from the newest object to the oldest. */
struct object_entry { uint32_t newer, older, size; bool in, asked; };

struct object_cache {
	enum pm_object_policy policy;
	uint64_t size, occupied, objects;
	struct object_entry *e;		/* by number of the object */
	uint32_t newest, oldest, hand;	/* hand: of sieve; NOBODY: it begins with the oldest */
	uint64_t miss, miss_bytes, too_large, evicted;
};

struct requests_sink {
	struct object_cache cache[CACHES];
	unsigned n;
	bool each;
	struct pm_map number;		/* of an object, in the order in which they come */
	uint32_t *last_size;
	size_t cap_entry;
	uint64_t requests, bytes, empty, object_bytes;
};

static void destroy(void *self)
{
	struct requests_sink *s = self;

	if (!s)
		return;
	for (unsigned i = 0; i < s->n; i++)
		free(s->cache[i].e);
	pm_map_release(&s->number);
	free(s->last_size);
	free(s);
}

static enum pm_status add_caches(struct requests_sink *s, const struct pm_conf *c,
				 const struct pm_conf_item *it, enum pm_object_policy policy,
				 struct pm_err *err)
{
	if (!it->n)
		return pm_conf_fail(c, it, err, "expected sizes, as in %s=64m,1g", it->name);
	for (size_t k = 0; k < it->n; k++) {
		uint64_t size;

		if (s->n == CACHES)
			return pm_conf_fail(c, it, err, "more than %d caches", CACHES);
		if (pm_conf_u64(c, it, it->field[k].val ? "" : it->field[k].key,
				"size of the cache", 1, 1ull << 60, &size, err))
			return PM_ERR;
		s->cache[s->n++] = (struct object_cache){
			.policy = policy, .size = size, .newest = NOBODY, .oldest = NOBODY,
			.hand = NOBODY,
		};
	}
	return PM_OK;
}

static enum pm_status parse(struct requests_sink *s, struct pm_conf *c, struct pm_err *err)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct pm_conf_item *it = c->item + i;
		const int policy = pm_conf_word(it->name, pm_object_policies);

		if (!strcmp(it->name, "each") && !it->n)
			s->each = true;
		else if (policy < 0)
			return pm_conf_unknown(c, NULL, err, it->name, "is not a setting",
					       "lru=BYTES, fifo=BYTES, clock=BYTES, sieve=BYTES, "
					       "each");
		else if (add_caches(s, c, it, (enum pm_object_policy)policy, err))
			return PM_ERR;
	}
	return s->n ? PM_OK : pm_conf_fail(c, NULL, err, "no cache is configured; lru=64m,1g is "
					   "two");
}

static void *create(const char *config, struct pm_err *err)
{
	struct requests_sink *s = pm_alloc(sizeof *s);
	struct pm_conf c;
	enum pm_status st = pm_conf_parse(&c, "requests", *config ? config : "lru=64m,1g", err);

	if (!st)
		st = parse(s, &c, err);
	pm_conf_release(&c);
	if (!st)
		return s;
	destroy(s);
	return NULL;
}

/* ---- one cache ------------------------------------------------------------------------------ */

static void unlink_entry(struct object_cache *c, uint32_t i)
{
	struct object_entry *e = c->e + i;

	*(e->newer == NOBODY ? &c->newest : &c->e[e->newer].older) = e->older;
	*(e->older == NOBODY ? &c->oldest : &c->e[e->older].newer) = e->newer;
}

static void link_newest(struct object_cache *c, uint32_t i)
{
	c->e[i].newer = NOBODY;
	c->e[i].older = c->newest;
	*(c->newest == NOBODY ? &c->oldest : &c->e[c->newest].newer) = i;
	c->newest = i;
}

/* Which object leaves. Somebody is there. */
static uint32_t choose(struct object_cache *c)
{
	uint32_t i = c->oldest;

	if (c->policy == PM_OBJECTS_CLOCK)
		for (; c->e[i].asked; i = c->oldest) {
			c->e[i].asked = false;
			unlink_entry(c, i);
			link_newest(c, i);
		}
	if (c->policy == PM_OBJECTS_SIEVE) {
		for (i = c->hand == NOBODY ? i : c->hand; c->e[i].asked; ) {
			c->e[i].asked = false;
			i = c->e[i].newer == NOBODY ? c->oldest : c->e[i].newer;
		}
		c->hand = c->e[i].newer;
	}
	return i;
}

/* HOT: once per request and cache. */
static void request(struct object_cache *c, uint32_t i, uint32_t size, uint64_t bytes)
{
	struct object_entry *e = c->e + i;

	if (e->in) {
		e->asked = true;
		if (c->policy == PM_OBJECTS_LRU && c->newest != i) {
			unlink_entry(c, i);
			link_newest(c, i);
		}
		return;
	}
	c->miss++;
	c->miss_bytes += bytes;
	if (size > c->size) {
		c->too_large++;
		return;
	}
	while (c->occupied + size > c->size) {
		const uint32_t gone = choose(c);

		unlink_entry(c, gone);
		c->e[gone].in = false;
		c->occupied -= c->e[gone].size;
		c->objects--;
		c->evicted++;
	}
	*e = (struct object_entry){ .size = size, .in = true };
	link_newest(c, i);
	c->occupied += size;
	c->objects++;
}

/* ---- the sink ------------------------------------------------------------------------------- */

static uint32_t number_of(struct requests_sink *s, uint64_t object)
{
	bool fresh;
	uint64_t *at = pm_map_put(&s->number, object, &fresh);

	if (!fresh)
		return (uint32_t)*at;
	*at = s->number.n - 1;
	if (*at >= s->cap_entry) {
		const size_t cap = s->cap_entry ? s->cap_entry * 2 : 1024;

		for (unsigned i = 0; i < s->n; i++) {
			struct object_cache *c = s->cache + i;

			c->e = pm_realloc(c->e, cap * sizeof *c->e);
			memset(c->e + s->cap_entry, 0, (cap - s->cap_entry) * sizeof *c->e);
		}
		s->last_size = pm_realloc(s->last_size, cap * sizeof *s->last_size);
		memset(s->last_size + s->cap_entry, 0,
		       (cap - s->cap_entry) * sizeof *s->last_size);
		s->cap_entry = cap;
	}
	return (uint32_t)*at;
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct requests_sink *s = self;

	for (const struct pm_event *e = b->ev, *end = e + b->n; e < end; e++) {
		uint32_t i;

		if (e->kind != PM_EV_READ && e->kind != PM_EV_WRITE && e->kind != PM_EV_MODIFY)
			continue;
		if (!e->value) {
			s->empty++;
			continue;
		}
		if (e->value > UINT32_MAX)
			return pm_fail_file(err, "requests: object %llu has %llu bytes, more than "
					    "2^32 - 1", (unsigned long long)e->addr,
					    (unsigned long long)e->value);
		if (s->number.n == NOBODY)
			return pm_fail_file(err, "requests: more than 2^32 - 1 objects");
		s->requests++;
		s->bytes += e->value;
		i = number_of(s, e->addr);
		s->object_bytes += e->value - s->last_size[i];
		s->last_size[i] = (uint32_t)e->value;
		for (unsigned k = 0; k < s->n; k++)
			request(s->cache + k, i, s->each ? 1 : (uint32_t)e->value, e->value);
	}
	return PM_OK;
}

static void cache_result(const struct requests_sink *s, const struct object_cache *c,
			 struct pm_result *r)
{
	pm_result_begin(r, NULL);
	pm_result_str(r, "policy", pm_object_policies[c->policy]);
	pm_result_u64(r, "size", c->size, s->each ? "objects" : "bytes");
	pm_result_u64(r, "misses", c->miss, "requests");
	pm_result_f64(r, "miss_ratio", s->requests ? (double)c->miss / (double)s->requests : 0,
		      "of requests");
	pm_result_u64(r, "missed_bytes", c->miss_bytes, "bytes");
	pm_result_f64(r, "byte_miss_ratio", s->bytes ? (double)c->miss_bytes / (double)s->bytes : 0,
		      "of bytes");
	pm_result_u64(r, "evicted", c->evicted, "objects");
	pm_result_u64(r, "too_large", c->too_large, "requests");
	pm_result_u64(r, "objects", c->objects, "objects");
	pm_result_end(r);
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	const struct requests_sink *s = self;

	if (!r)
		return PM_OK;
	pm_result_begin(r, "requests");
	pm_result_u64(r, "requests", s->requests, "requests");
	pm_result_u64(r, "bytes", s->bytes, "bytes");
	pm_result_u64(r, "objects", s->number.n, "objects");
	pm_result_u64(r, "object_bytes", s->object_bytes, "bytes");
	pm_result_u64(r, "empty", s->empty, "requests");
	pm_result_begin_list(r, "caches");
	for (unsigned k = 0; k < s->n; k++)
		cache_result(s, s->cache + k, r);
	pm_result_end(r);
	pm_result_end(r);
	return PM_OK;
}

const struct pm_sink_ops pm_sim_requests = {
	.abi = PM_ABI, .needs = PM_HAS_REFS | PM_HAS_OBJECTS, .name = "requests",
	.about = "caches of whole objects: misses by request and by byte",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};
