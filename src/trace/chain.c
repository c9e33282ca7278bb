/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/chain.h"

struct pm_unpacker {
	struct pm_event *ev;
	size_t n, cap;
};

struct pm_unpacker *pm_unpacker_new(void)
{
	return pm_alloc(sizeof(struct pm_unpacker));
}

void pm_unpacker_free(struct pm_unpacker *u)
{
	if (u)
		free(u->ev);
	free(u);
}

void pm_packed_refs(const struct pm_packed *p, struct pm_packed_ref *to)
{
	uint32_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct pm_chain *c = p->chains.chain + p->id[i];

		if (p->id[i] & PM_CHAIN_EVENTS)
			continue;
		for (uint32_t j = 0; j < c->nref; j++, n++)
			to[n] = (struct pm_packed_ref){ p->addr[n], c->ref + j };
	}
}

static struct pm_event *room(struct pm_unpacker *u, size_t n)
{
	if (u->cap - u->n < n) {
		u->cap = (u->n + n) * 2;
		u->ev = pm_realloc(u->ev, u->cap * sizeof *u->ev);
	}
	return u->ev + u->n;
}

static enum pm_status send(struct pm_unpacker *u, struct pm_batch *to, uint64_t insns,
			   const struct pm_emit *emit, struct pm_err *err)
{
	enum pm_status st;

	if (!u->n)
		return PM_OK;
	to->ev = u->ev;
	to->n = u->n;
	st = emit->batch(emit->to, to, err);
	to->first_insn += insns;
	u->n = 0;
	return st;
}

/* One execution of @k; returns its instructions. */
static uint64_t chain(struct pm_unpacker *u, const struct pm_batch *b, const struct pm_chains *c,
		      const struct pm_chain *k, const uint64_t *at)
{
	const struct pm_chain_ref *r = c->ref + k->ref;
	struct pm_event *e = room(u, k->npart + k->nref);
	uint64_t insns = 0;

	for (uint32_t i = 0; i < k->npart; i++) {
		const struct pm_chain_part *part = c->part + k->part + i;
		const struct pm_block *blk = b->code->block + part->block;

		*e++ = (struct pm_event){
			.kind = PM_EV_BLOCK, .id = part->block, .addr = blk->pc, .value = blk->n
		};
		insns += blk->n;
		for (uint32_t j = 0; j < part->nref; j++, r++)
			*e++ = (struct pm_event){ .kind = r->kind,
						  .flags = r->flags,
						  .size = r->size,
						  .id = r->insn - blk->insn,
						  .addr = *at++ };
	}
	u->n = (size_t)(e - u->ev);
	return insns;
}

enum pm_status pm_unpack(struct pm_unpacker *u, const struct pm_batch *b, const struct pm_packed *p,
			 const struct pm_emit *emit, struct pm_err *err)
{
	const struct pm_event *ev = b->ev;
	const uint64_t *at = p->addr;
	struct pm_batch to = *b;
	uint64_t insns = 0;

	u->n = 0;
	for (size_t i = 0; i < p->n; i++) {
		uint32_t id = p->id[i], n = id & ~PM_CHAIN_EVENTS;

		if (id & PM_CHAIN_EVENTS) {
			memcpy(room(u, n), ev, n * sizeof *ev);
			u->n += n;
			for (const struct pm_event *end = ev + n; ev < end; ev++)
				insns += ev->kind == PM_EV_BLOCK ? ev->value
								 : ev->kind == PM_EV_INSN;
		} else {
			insns += chain(u, b, &p->chains, p->chains.chain + id, at);
			at += p->chains.chain[id].nref;
		}
		if (u->n < PM_BATCH_EVENTS)
			continue;
		if (send(u, &to, insns, emit, err) == PM_ERR)
			return PM_ERR;
		insns = 0;
	}
	return send(u, &to, insns, emit, err);
}
