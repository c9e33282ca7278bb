/* SPDX-License-Identifier: MIT */
/* sink_digest.c - one number for a whole trace, so that two of them can be compared without being
 * stored
 *
 * Everything that an event says counts, in order, and the bytes of instructions; indices into
 * tables do not, because they depend on the order of discovery, nor do times. Blocks are expanded
 * first. Streams are digested one by one. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/sinks.h"

struct digest {
	uint64_t *stream;		/* by index; 0: not seen */
	size_t n, cap;
	uint64_t events;
};

static inline uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 29;
}

static void *create(const char *config, struct pm_err *err)
{
	if (*config) {
		pm_fail_file(err, "digest takes no configuration, not '%s'", config);
		return NULL;
	}
	return pm_alloc(sizeof(struct digest));
}

static uint64_t payload(uint64_t h, const struct pm_batch *b, const struct pm_event *e)
{
	const struct pm_rare *r;
	const struct pm_bus *u;
	uint64_t w[2] = { 0 };

	switch (e->kind) {
	case PM_EV_INSN:
		if (!b->code || e->id >= b->code->ninsn)
			return h;
		memcpy(w, b->code->insn[e->id].bytes, 15);
		return mix(mix(h, w[0]), w[1]);
	case PM_EV_BUS:
		if (e->id >= b->nbus)
			return h;
		u = &b->bus[e->id];
		return mix(mix(h, u->type | (uint64_t)u->lanes << 8 | u->agent << 16), u->data);
	case PM_EV_KERNEL ... PM_EV_MARKER:
		if (e->id >= b->nrare)
			return h;
		r = &b->rare[e->id];
		h = mix(h, r->code);
		for (uint32_t i = 0; i < r->nargs && i < NR(r->arg); i++)
			h = mix(h, r->arg[i]);
		for (const char *s = r->name ? r->name : ""; *s; s++)
			h = mix(h, (uint8_t)*s);
		return h;
	default:
		return h;
	}
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct digest *d = self;
	uint32_t at = b->stream->index;
	uint64_t h, events = 0;

	(void)err;
	while (d->n <= at) {
		pm_grow(d->stream, d->n, d->cap);
		d->stream[d->n++] = 0;
	}
	h = d->stream[at] ? d->stream[at] : 0xcbf29ce484222325ULL;
	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *e = &b->ev[i];

		if (e->kind == PM_EV_TIME)
			continue;
		events++;
		h = mix(h, e->kind | e->flags << 8 | (uint64_t)e->size << 16);
		h = mix(h, e->addr);
		h = mix(h, e->value);
		if (e->id != PM_NONE)
			h = payload(h, b, e);
	}
	d->stream[at] = h;
	d->events += events;
	return PM_OK;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct digest *d = self;
	uint64_t h = 0;

	(void)err;
	if (!r)
		return PM_OK;
	for (size_t i = 0; i < d->n; i++)
		h = mix(h, d->stream[i]);
	pm_result_begin(r, "digest");
	pm_result_u64(r, "events", d->events, "events");
	pm_result_hex(r, "digest", h);
	pm_result_end(r);
	return PM_OK;
}

static void destroy(void *self)
{
	struct digest *d = self;

	if (!d)
		return;
	free(d->stream);
	free(d);
}

const struct pm_sink_ops pm_digest_ops = {
	.abi = PM_ABI, .name = "digest",
	.about = "a hash of all events: equal traces have equal ones",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};
