/* SPDX-License-Identifier: MIT */
#include "analyse/bus_caches.h"

#include <stdlib.h>

#include "analyse/cache_sim.h"
#include "base/err.h"
#include "trace/bus.h"

#define LONGEST	32768u			/* bytes of a line: sizes of events have 16 bits */

struct bus_caches {
	struct pm_cache *cache;
	struct pm_cache_conf conf;
	bool locks;
	bool mute;			/* what leaves the caches is lost */
	bool storing;			/* the access that is simulated is a store */
	struct pm_bus_counts *counts;
	struct pm_builder out;
	uint64_t now, said;		/* time; UINT64_MAX: none was said */
	uint8_t agent;
};

/* HOT */
static void transact(struct bus_caches *f, enum pm_bus_type type, uint64_t addr, unsigned size,
		     const struct pm_bus *as, unsigned flags)
{
	struct pm_builder *b = &f->out;
	struct pm_bus *u;

	pm_bus_room(b, 1);
	if (f->now != f->said)
		pm_ev_put(b, PM_EV_TIME, 0, 0, 0, f->now);
	u = pm_bus_put(b, addr, size, f->said == UINT64_MAX ? UINT64_MAX : f->now - f->said);
	f->said = f->now;
	u->type = (uint8_t)type;
	u->lanes = as->lanes;
	u->attr = as->attr;
	u->agent = as->agent;
	u->data = as->data;
	b->ev[b->b.n - 1].flags = (uint8_t)flags;
	pm_bus_access(b, type, addr, size);
	f->counts->of[type]++;
}

static void passed(void *to, enum pm_cache_op op, uint64_t addr, uint32_t size)
{
	static const uint8_t type[PM_OP_COUNT] = {
		[PM_OP_FETCH] = PM_BUS_FETCH, [PM_OP_READ] = PM_BUS_READ,
		[PM_OP_WRITE] = PM_BUS_WRITE, [PM_OP_BACK] = PM_BUS_WRITEBACK,
		[PM_OP_PREFETCH] = PM_BUS_READ,
	};
	struct bus_caches *f = to;
	const struct pm_bus line = { .attr = PM_BUS_WRITE_BACK, .agent = f->agent };
	struct pm_bus store = { .attr = PM_BUS_WRITE_THROUGH, .agent = f->agent };

	if (f->mute)
		return;
	if (op == PM_OP_WRITE) {
		store.lanes = pm_bus_lanes(addr, size);
		transact(f, PM_BUS_WRITE, addr, size, &store, 0);
		return;
	}
	transact(f, op == PM_OP_READ && f->storing ? PM_BUS_READ_INVAL : type[op], addr, size,
		 &line, 0);
}

/* The line at @addr leaves all caches. */
static void evict(struct bus_caches *f, uint64_t addr)
{
	const struct pm_event ev[] = {
		{ PM_EV_READ, PM_REF_COPYBACK, 0, PM_NONE, addr, 0 },
		{ PM_EV_READ, PM_REF_INVAL, 0, PM_NONE, addr, 0 },
	};

	pm_cache_events(f->cache, ev, 2);
}

/* Does a transaction go through the caches? */
static bool is_cached(const struct bus_caches *f, const struct pm_bus *u)
{
	if ((u->attr & 3) == PM_BUS_UNCACHED)
		return false;
	if (u->type == PM_BUS_FETCH)
		return f->conf.first_i >= 0;
	return f->conf.first_d >= 0 && (u->type == PM_BUS_READ || u->type == PM_BUS_WRITE ||
					u->type == PM_BUS_READ_INVAL);
}

static void transaction(struct bus_caches *f, const struct pm_event *e, const struct pm_bus *u)
{
	const bool store = u->type == PM_BUS_WRITE;

	f->agent = u->agent;
	if (u->type == PM_BUS_SPECIAL &&
	    (u->lanes == PM_BUS_FLUSH || u->lanes == PM_BUS_INVALIDATE)) {
		f->mute = u->lanes == PM_BUS_INVALIDATE;
		pm_cache_flush(f->cache);
		f->mute = false;
	}
	if (!is_cached(f, u)) {
		transact(f, (enum pm_bus_type)u->type, e->addr, e->size, u, e->flags);
	} else if (f->locks && e->flags & PM_BUS_LOCKED) {
		struct pm_bus alone = *u;

		alone.attr = PM_BUS_UNCACHED;
		evict(f, e->addr);
		transact(f, (enum pm_bus_type)u->type, e->addr, e->size, &alone,
			 PM_BUS_LOCKED | PM_REF_UNCACHED);
	} else {
		f->storing = store;
		pm_cache_access(f->cache, u->type == PM_BUS_FETCH ? PM_OP_FETCH
				: store ? PM_OP_WRITE : PM_OP_READ, e->addr, e->size, false, 0);
	}
}

static enum pm_status consume(void *self, const struct pm_batch *b, const struct pm_emit *emit,
			      struct pm_err *err)
{
	struct bus_caches *f = self;

	pm_builder_reset(&f->out, b->stream, NULL);
	for (size_t i = 0; i < b->n; i++) {
		if (b->ev[i].kind == PM_EV_TIME)
			f->now = b->ev[i].value;
		else if (b->ev[i].kind == PM_EV_BUS)
			transaction(f, b->ev + i, b->bus + b->ev[i].id);
	}
	if (!f->out.b.n)
		return PM_OK;
	return emit->batch(emit->to, pm_builder_batch(&f->out), err);
}

static void destroy(void *self)
{
	struct bus_caches *f = self;

	if (!f)
		return;
	pm_cache_free(f->cache);
	pm_builder_release(&f->out);
	free(f);
}

static const struct pm_transform_ops ops = {
	.name = "caches before a bus", .needs = PM_HAS_BUS,
	.consume = consume, .destroy = destroy,
};

enum pm_status pm_bus_caches_add(struct pm_pipeline *p, const char *config, bool locks,
				 struct pm_bus_counts *counts, struct pm_err *err)
{
	struct pm_cache *c = pm_cache_new(config, err);
	const struct pm_cache_conf *cc;
	struct bus_caches *f;

	if (!c)
		return PM_ERR;
	cc = pm_cache_config(c);
	for (unsigned i = 0; i < cc->n; i++)
		if (cc->level[i].line > LONGEST || cc->level[i].line < 8 ||
		    cc->level[i].policy == PM_OPT)
			goto refused;
	if (cc->flush_insns || cc->flush_switch || cc->by_insn || cc->regions)
		goto refused;
	f = pm_alloc(sizeof *f);
	f->cache = c;
	f->conf = *cc;
	f->locks = locks;
	f->counts = counts;
	f->said = UINT64_MAX;
	pm_cache_memory(c, &(struct pm_cache_memory){ passed, f });
	pm_pipeline_transform(p, &ops, f);
	return PM_OK;
refused:
	pm_cache_free(c);
	return pm_fail_request(err, "cache: before a bus lines have 8 to 32768 bytes, and there is "
			       "no opt, flush=, byinsn or regions");
}
