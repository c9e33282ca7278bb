/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "trace/expand.h"
#include "trace/insns.h"
#include "trace/text.h"

/* HOT: once per executed instruction. */
uint32_t pm_codes_put(struct pm_codes *c, uint64_t pc, const uint8_t *bytes, unsigned len, bool any,
		      enum pm_isa isa, bool *fresh)
{
	uint64_t *at = pm_map_put(&c->pcs, pc, fresh);
	struct pm_insn *in;

	if (!*fresh) {
		in = &c->insn[*at];
		if (!len || ((any ? in->len <= len : in->len == len) && pm_same(in->bytes, bytes, in->len)))
			return (uint32_t)*at;
		*fresh = true;
	}
	*at = c->n;
	pm_grow(c->insn, c->n, c->cap);
	in = &c->insn[c->n];
	*in = (struct pm_insn){ .pc = pc, .len = (uint8_t)len, .isa = (uint8_t)isa, .object = PM_NONE };
	if (len)
		memcpy(in->bytes, bytes, len);
	return (uint32_t)c->n++;
}

void pm_codes_release(struct pm_codes *c)
{
	pm_map_release(&c->pcs);
	free(c->insn);
	*c = (struct pm_codes){ 0 };
}

struct pm_stream *pm_streams_of(struct pm_streams *s, uint32_t tid)
{
	struct pm_stream *n;

	for (size_t i = 0; i < s->n; i++)
		if (s->v[i]->tid == tid)
			return s->v[i];
	pm_grow(s->v, s->n, s->cap);
	n = pm_alloc(sizeof *n);
	n->index = (uint32_t)s->n;
	n->tid = tid;
	return s->v[s->n++] = n;
}

void pm_streams_release(struct pm_streams *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	*s = (struct pm_streams){ 0 };
}

void pm_outcome_tell(struct pm_outcome *o, struct pm_builder *b, const struct pm_codes *c, bool known,
		     uint64_t next)
{
	struct pm_event *e = &o->ev;
	uint64_t target;

	if (!o->pending)
		return;
	o->pending = false;
	if (!o->told && e->flags & PM_BR_COND && known && next != e->addr + e->size)
		e->flags |= PM_BR_TAKEN;
	if (e->flags & PM_BR_TAKEN && known)
		e->value = next;
	else if (c->insn[e->id].len && pm_insn_target(&c->insn[e->id], &target))
		e->value = target;
	*pm_ev_add(b, PM_EV_BRANCH, 0, 0, 0, 0) = *e;
}

void pm_reps_end(struct pm_reps *r, struct pm_builder *b, const struct pm_codes *c)
{
	if (r->id == PM_NONE)
		return;
	pm_ev_add(b, PM_EV_REP_END, 0, 0, c->insn[r->id].pc, r->iters)->id = r->id;
	r->id = PM_NONE;
}
