/* SPDX-License-Identifier: MIT */
/* batch.c - batches of events, to the pipeline */
#include "collect/consume/trace_state.h"

void trace_fail(struct consumer *w, const char *what)
{
	if (w->failed)
		return;
	w->failed = true;
	w->result.st = pm_fail(&w->result.err, 0,
			       "the trace buffer of a traced process is damaged: %s", what);
}

/* Whoever waits for us does not want to wait any longer. */
void stop_early(struct consumer *w)
{
	if (!__atomic_load_n(&w->trace->abandoned, __ATOMIC_RELAXED) || w->failed)
		return;
	w->failed = true;
	w->result.st = pm_fail(&w->result.err, 0, "interrupted: what follows in the trace is lost");
}

/* Events since the last chain come here. */
void place_events(struct consumer *w)
{
	if (w->nev == w->placed)
		return;
	w->id[w->nid++] = PM_CHAIN_EVENTS | (uint32_t)(w->nev - w->placed);
	w->placed = w->nev;
}

void trace_flush(struct consumer *w, struct stream *st)
{
	struct pm_pipeline *to = w->trace->o.pipeline;
	struct pm_packed packed;
	struct pm_batch b = { .stream = st->s,
			      .code = &w->code,
			      .ev = w->ev,
			      .n = w->nev,
			      .rare = w->rare,
			      .nrare = w->nrare,
			      .arena = w->text.p,
			      .narena = w->text.n,
			      .first_insn = st->insns };

	PM_INVARIANT(3, w->nev <= BATCH_ROOM && w->nid <= BATCH &&
			w->nref <= PACK_REFS + BATCH + 1 && w->placed <= w->nev);
	if (!w->nev && !w->nid)
		return;
	if (w->unwanted)
		goto passed;
	if (w->packs) {
		place_events(w);
		packed = (struct pm_packed){
			.chains = { w->chain, w->chain_part, w->chain_ref,
				    __atomic_load_n(&w->trace->nsource, __ATOMIC_RELAXED) },
			.id = w->id,
			.n = w->nid,
			.addr = w->addr,
			.nref = w->nref,
			.insns = st->unsent,
		};
	}
	for (size_t i = 0; i < w->nrare; i++)		/* offsets became pointers */
		w->rare[i].name = w->rare[i].name ?
			(const char *)w->text.p + ((uintptr_t)w->rare[i].name - 1) : NULL;
	if (!w->failed && (w->packs ? pm_pipeline_push_packed(to, &b, &packed, &w->result.err) :
				      pm_pipeline_push(to, &b, &w->result.err)) != PM_OK) {
		w->failed = true;
		w->result.st = PM_ERR;
	}
	w->idle = idle_of(w->trace);
passed:
	st->insns += st->unsent;
	w->ninsns += st->unsent;
	st->unsent = 0;
	w->nev = w->nrare = w->text.n = 0;
	w->nid = w->nref = w->placed = 0;
}
