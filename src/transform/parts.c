/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/mem.h"
#include "trace/format.h"
#include "trace/parcel.h"
#include "transform/parts.h"
#include "transform/slice.h"

struct begun_part { struct pm_pipeline *p; void *slice; };

struct cutter {
	const struct pm_part *cut;
	struct begun_part *part;	/* by cut; p NULL: it has not begun, or is complete */
	size_t n, begun, complete;
	uint32_t facts;
	const char *plural;
	const struct pm_pipeline *like;
	uint64_t at;
	struct pm_parcel *context;	/* what has said so far what streams are */
	size_t ncontext, cap_context;
};

void *pm_parts_new(const struct pm_part *cut, size_t n, uint32_t facts, const char *plural,
		  const struct pm_pipeline *p)
{
	struct cutter *s = pm_alloc(sizeof *s);

	*s = (struct cutter){ .cut = cut, .part = pm_alloc((n + 1) * sizeof *s->part), .n = n,
			    .facts = facts, .plural = plural, .like = p };
	return s;
}

bool pm_parts_done(const void *self)
{
	const struct cutter *s = self;

	return __atomic_load_n(&s->complete, __ATOMIC_RELAXED) == s->n;
}

uint64_t pm_parts_insns(const void *self)
{
	return ((const struct cutter *)self)->at;
}

/* What a slice keeps of events before it. */
static void keep_context(struct cutter *s, const struct pm_batch *b)
{
	struct pm_event *ev = NULL;
	struct pm_batch some = *b;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < b->n; i++)
		if (pm_slice_is_context(b->ev[i].kind)) {
			pm_grow(ev, n, cap);
			ev[n++] = b->ev[i];
		}
	if (!n)
		return;
	some.ev = ev;
	some.n = n;
	pm_grow(s->context, s->ncontext, s->cap_context);
	s->context[s->ncontext] = (struct pm_parcel){ .is_packed = false };
	pm_parcel_fill(&s->context[s->ncontext++], &some, NULL);
	free(ev);
}

static enum pm_status begin(struct cutter *s, size_t i, struct pm_err *err)
{
	const struct pm_slice_opts o = { .from = s->cut[i].from, .count = s->cut[i].count,
					 .time_to = UINT64_MAX, .skipped = s->at,
					 .facts = s->facts };
	const char *const *info = pm_pipeline_info_get(s->like);
	struct begun_part *part = s->part + i;

	part->p = pm_pipeline_new();
	for (; info && info[0]; info += 2)
		pm_pipeline_info(part->p, info[0], info[1]);
	part->slice = pm_slice_new(&o);
	pm_pipeline_transform(part->p, &pm_slice_ops, part->slice);
	if (pm_trace_create(part->p, s->cut[i].path, "pug", s->facts, err) != PM_OK ||
	    pm_pipeline_start(part->p, s->facts, s->plural, err) != PM_OK)
		return PM_ERR;
	for (size_t k = 0; k < s->ncontext; k++)
		if (pm_pipeline_push(part->p, &s->context[k].b, err) != PM_OK)
			return PM_ERR;
	return PM_OK;
}

static enum pm_status end(struct cutter *s, size_t i, struct pm_err *err)
{
	struct begun_part *part = s->part + i;
	enum pm_status st = pm_pipeline_finish(part->p, NULL, err);

	pm_pipeline_free(part->p);
	part->p = NULL;
	/* read by whoever produces events: see pm_parts_done() */
	__atomic_store_n(&s->complete, s->complete + 1, __ATOMIC_RELAXED);
	return st;
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct cutter *s = self;
	uint64_t insns = 0;

	for (size_t i = 0; i < b->n; i++)
		insns += b->ev[i].kind == PM_EV_BLOCK ? b->ev[i].value :
			 b->ev[i].kind == PM_EV_INSN;
	for (; s->begun < s->n && s->cut[s->begun].from < s->at + insns; s->begun++)
		if (begin(s, s->begun, err) != PM_OK)
			return PM_ERR;
	for (size_t i = 0; i < s->begun; i++) {
		struct begun_part *part = s->part + i;

		if (!part->p)
			continue;
		if (pm_pipeline_push(part->p, b, err) != PM_OK)
			return PM_ERR;
		if (pm_slice_done(part->slice) && end(s, i, err) != PM_OK)
			return PM_ERR;
	}
	if (s->begun < s->n)
		keep_context(s, b);
	s->at += insns;
	return PM_OK;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct cutter *s = self;

	for (size_t i = 0; i < s->n; i++)
		if (s->part[i].p && end(s, i, err) != PM_OK)
			return PM_ERR;
	return PM_OK;
}

static void destroy(void *self)
{
	struct cutter *s = self;

	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		if (s->part[i].p)
			pm_pipeline_free(s->part[i].p);
	for (size_t k = 0; k < s->ncontext; k++)
		pm_parcel_release(s->context + k);
	free(s->context);
	free(s->part);
	free(s);
}

const struct pm_sink_ops pm_parts_ops = {
	.abi = PM_ABI, .flags = PM_SINK_BLOCKS, .name = "cuts", .about = "parts of a trace",
	.consume = consume, .finish = finish, .destroy = destroy,
};
