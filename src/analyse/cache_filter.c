/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/err.h"
#include "analyse/cache_sim.h"
#include "analyse/cache_filter.h"

struct filter {
	struct pm_cache *cache;
	struct pm_builder out;
	uint64_t insns;			/* when the last one passed */
};

static void passed(void *to, enum pm_cache_op op, uint64_t addr, uint32_t size)
{
	struct filter *f = to;
	struct pm_event *e;

	e = pm_builder_event(&f->out, op == PM_OP_FETCH ? PM_EV_LINE
			     : op == PM_OP_WRITE || op == PM_OP_BACK ? PM_EV_WRITE : PM_EV_READ);
	e->addr = addr;
	e->size = size;
	/* what a store sends on is of its own size: it is no line */
	e->flags = (op == PM_OP_PREFETCH ? PM_REF_PREFETCH : 0) |
		   (op == PM_OP_WRITE ? 0 : PM_REF_FILL);
	e->value = pm_cache_instructions(f->cache) - f->insns;
	e->value -= e->value > 0;		/* but for the one that it is of */
	f->insns = pm_cache_instructions(f->cache);
}

/* Does it say something about time, processes or maps, which is worth keeping? */
static bool keeps(unsigned kind)
{
	switch (kind) {
	case PM_EV_KERNEL:
	case PM_EV_INTERRUPT:
	case PM_EV_DMA:
	case PM_EV_DEVICE:
	case PM_EV_PROCESS:
	case PM_EV_EXEC: case PM_EV_THREAD: case PM_EV_EXIT: case PM_EV_MMAP: case PM_EV_MUNMAP:
	case PM_EV_SWITCH: case PM_EV_TIME: case PM_EV_MARKER: case PM_EV_LOST:
	case PM_EV_FRAME:
		return true;
	default:
		return false;
	}
}

static void copy_event(struct pm_builder *to, const struct pm_batch *b, const struct pm_event *e)
{
	if (e->id < b->nrare) {
		const struct pm_rare *r = b->rare + e->id;
		struct pm_rare *n = pm_builder_rare(to, e->kind, r->name);
		const char *name = n->name;
		uint32_t id = (uint32_t)to->b.nrare - 1;

		*n = *r;
		n->name = name;
		to->ev[to->b.n - 1] = *e;
		to->ev[to->b.n - 1].id = id;
	} else {
		*pm_builder_event(to, e->kind) = *e;
	}
}

static enum pm_status consume(void *self, const struct pm_batch *b, const struct pm_emit *emit,
			      struct pm_err *err)
{
	struct filter *f = self;
	struct pm_batch part = *b;

	pm_builder_reset(&f->out, b->stream, NULL);
	for (size_t i = 0, from = 0; i <= b->n; i++) {
		if (i < b->n && !keeps(b->ev[i].kind))
			continue;
		part.ev = b->ev + from;
		part.n = i - from + (i < b->n);
		pm_cache_batch(f->cache, &part);
		from = i + 1;
		if (i < b->n)
			copy_event(&f->out, b, b->ev + i);
	}
	if (!f->out.b.n)
		return PM_OK;
	return emit->batch(emit->to, pm_builder_batch(&f->out), err);
}

static enum pm_status finish(void *self, const struct pm_emit *emit, struct pm_err *err)
{
	struct filter *f = self;

	/* what OPT had to wait for */
	pm_builder_reset(&f->out, f->out.b.stream, NULL);
	pm_cache_end(f->cache);
	if (!f->out.b.n || !f->out.b.stream)
		return PM_OK;
	return emit->batch(emit->to, pm_builder_batch(&f->out), err);
}

static void destroy(void *self)
{
	struct filter *f = self;

	if (!f)
		return;
	pm_cache_free(f->cache);
	pm_builder_release(&f->out);
	free(f);
}

const struct pm_transform_ops pm_cache_filter_ops = {
	.name = "cache filter",
	.removes = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_VALUES | PM_HAS_BRANCHES | PM_HAS_REGS |
		PM_HAS_REGVALS | PM_HAS_UOPS | PM_HAS_LANES | PM_HAS_BUS | PM_HAS_BLOCKS |
			PM_HAS_REPS,
	.adds = PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_LINES,
	.consume = consume, .finish = finish, .destroy = destroy,
};

enum pm_status pm_cache_filter_add(struct pm_pipeline *p, const char *config, uint32_t *facts,
				   struct pm_err *err)
{
	struct pm_cache *c = pm_cache_new(config, err);
	const struct pm_cache_conf *cc;
	struct filter *f;

	if (!c)
		return PM_ERR;
	cc = pm_cache_config(c);
	for (unsigned i = 0; i < cc->n; i++)
		if (cc->level[i].line > 32768) {
			pm_cache_free(c);
			return pm_fail_request(err,
					    "cache: a filter's lines have at most 32768 bytes");
		}
	f = pm_alloc(sizeof *f);
	f->cache = c;
	pm_cache_memory(c, &(struct pm_cache_memory){ passed, f });
	*facts = (*facts & ~pm_cache_filter_ops.removes) | pm_cache_filter_ops.adds;
	pm_pipeline_transform(p, &pm_cache_filter_ops, f);
	return PM_OK;
}
