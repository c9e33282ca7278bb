/* SPDX-License-Identifier: MIT */
/* batch.c - batches of events, to the pipeline */
#include <assert.h>

#include "collect/consume/trace_state.h"

void trace_fail(struct tracer *t, const char *what)
{
	if (t->failed)
		return;
	t->failed = true;
	t->result.st = pm_fail(&t->result.err, 0,
			       "the trace buffer of a traced process is damaged: %s", what);
}

/* Whoever waits for us does not want to wait any longer. */
void stop_early(struct tracer *t)
{
	if (!__atomic_load_n(&t->main->abandoned, __ATOMIC_RELAXED) || t->failed)
		return;
	t->failed = true;
	t->result.st = pm_fail(&t->result.err, 0, "interrupted: what follows in the trace is lost");
}

/* Events since the last chain come here. */
void place_events(struct tracer *t)
{
	if (t->nev == t->placed)
		return;
	t->id[t->nid++] = PM_CHAIN_EVENTS | (uint32_t)(t->nev - t->placed);
	t->placed = t->nev;
}

void trace_flush(struct tracer *t, struct stream *st)
{
	struct pm_pipeline *to = t->o.pipeline;
	struct pm_packed packed;
	struct pm_batch b = { .stream = st->s,
			      .code = &t->code,
			      .ev = t->ev,
			      .n = t->nev,
			      .rare = t->rare,
			      .nrare = t->nrare,
			      .arena = t->text.p,
			      .narena = t->text.n,
			      .first_insn = st->insns };

	assert(t->nev <= BATCH_ROOM);					/* (3) */
	if (!t->nev && !t->nid)
		return;
	if (t->packs) {
		place_events(t);
		packed = (struct pm_packed){
			.chains = { t->chain, t->chain_part, t->chain_ref,
				    __atomic_load_n(&t->main->nsource, __ATOMIC_RELAXED) },
			.id = t->id,
			.n = t->nid,
			.addr = t->addr,
			.nref = t->nref,
			.insns = st->unsent,
		};
	}
	for (size_t i = 0; i < t->nrare; i++)		/* offsets became pointers */
		t->rare[i].name = t->rare[i].name ?
			(const char *)t->text.p + ((uintptr_t)t->rare[i].name - 1) : NULL;
	if (!t->failed && (t->packs ? pm_pipeline_push_packed(to, &b, &packed, &t->result.err) :
				      pm_pipeline_push(to, &b, &t->result.err)) != PM_OK) {
		t->failed = true;
		t->result.st = PM_ERR;
	}
	t->idle = t->dropped ? pm_pipeline_idle(t->o.pipeline) : 0;
	st->insns += st->unsent;
	t->ninsns += st->unsent;
	st->unsent = 0;
	t->nev = t->nrare = t->text.n = 0;
	t->nid = t->nref = t->placed = 0;
}
