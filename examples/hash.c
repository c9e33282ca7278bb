/* SPDX-License-Identifier: MIT */
/* hash.c - a sink in 30 lines: one number for a whole trace, equal only for equal traces
 *
 *	cc -shared -fPIC -O2 -o hash.so hash.c
 *	pugmark sim --sim ./hash.so TRACE */
#include <stdlib.h>
#include <pugmark/pugmark.h>

struct hash {
	uint64_t h, events;
};

static void *create(const char *config, struct pm_err *err)
{
	return calloc(1, sizeof(struct hash));
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct hash *s = self;
	const struct pm_event *ev = b->ev;
	uint64_t h = s->h;

	/* two products that do not wait for each other, then one step: this runs hundreds of
	 * millions of times in a second */
	for (size_t n = b->n; n; n--, ev = pm_event_next(b, ev)) {
		/* the ids of later kinds are places in the batch: no part of the trace */
		uint64_t id = ev->kind < PM_EV_UOP ? ev->id : 0;
		uint64_t what = ev->kind | ev->flags << 8 | (uint64_t)ev->size << 16 | id << 32;
		uint64_t e = (ev->addr + what) * 0x9e3779b97f4a7c15u ^
			     (ev->value ^ what) * 0xbf58476d1ce4e5b9u;

		h = (h << 5 | h >> 59) + (e ^ e >> 32);
	}
	s->h = h;
	s->events += b->n;
	return PM_OK;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	const struct hash *s = self;

	if (r) {
		pm_result_hex(r, "hash", s->h);
		pm_result_u64(r, "events", s->events, "events");
	}
	return PM_OK;
}

const struct pm_sink_ops pm_plugin = {
	.abi = PM_ABI, .size = sizeof(struct pm_sink_ops), .flags = PM_SINK_BLOCKS,
	.name = "hash", .about = "one number for a whole trace",
	.create = create, .consume = consume, .finish = finish, .destroy = free,
};
