/* SPDX-License-Identifier: MIT */
/* walkers.c - the threads of a replay that stops, their clocks, and where each goes next */
#include <stdlib.h>

#include "collect/control/stop_work.h"
#include "isa/x86/decode.h"

void stops_open(struct session *s)
{
	struct stopper *k;

	if (!s->opts->stops)
		return;
	k = s->stops = pm_alloc(sizeof *k);
	k->want = s->opts->stops;
	k->dec = x86_decoder_new(X86_MODE_64);
}

void stops_close(struct session *s)
{
	struct stopper *k = s->stops;

	if (!k)
		return;
	x86_decoder_free(k->dec);
	pm_map_release(&k->number);
	free(k->v);
	free(k);
	s->stops = NULL;
}

const char *stops_error(const struct session *s)
{
	return s->stops && *s->stops->error ? s->stops->error : NULL;
}

/* To let it run at full speed takes as long as to execute some ten instructions one by one. */
#define NEAR 4				/* safepoints: it is not tried with more */
#define NEAR_INSNS 100

/* ---- threads and their clocks ---------------------------------------------------------------- */
struct walker *walker_of(struct stopper *k, uint32_t tid)
{
	bool fresh;
	uint64_t *const i = pm_map_put(&k->number, tid, &fresh);

	if (fresh) {
		pm_grow(k->v, k->n, k->cap);
		*i = k->n;
		k->v[k->n++] = (struct walker){ .at.tid = tid };
	}
	return &k->v[*i];
}

uint64_t walker_clock(struct session *s, const struct walker *w, uint32_t block)
{
	const struct rt_block *b = session_block(s, block);

	return w->base + (b->log_clock - b->until);
}

bool walker_aim(struct session *s, struct walker *w, uint32_t block, bool begins)
{
	struct stopper *k = s->stops;
	struct rt_block *b = session_block(s, block);
	struct pm_position to;

	b->stop_at = 0;
	w->left = 0;
	if (k->over || !k->want->next(k->want->self, &w->at, begins, &to))
		return false;
	if (to.clock < w->at.clock || (to.clock == w->at.clock && to.insns < w->at.insns) ||
	    (!begins && !pm_position_compare(&to, &w->at)))
		return false;
	w->clock = to.clock;
	w->left = to.clock == w->at.clock ? to.insns - w->at.insns : to.insns;
	w->near = NEAR_INSNS;
	if (begins || to.clock - w->at.clock > NEAR)
		walker_run(s, w, block);
	return !b->stop_at;
}

void walker_run(struct session *s, struct walker *w, uint32_t block)
{
	session_block(s, block)->stop_at = 1 + w->clock - w->base;
}

void walker_step(struct walker *w)
{
	w->left -= w->at.clock >= w->clock;
	w->at.insns++;
}

void stops_thread(struct session *s, struct proc *p, struct thread *t)
{
	struct walker *w;

	if (!s->stops)
		return;
	w = walker_of(s->stops, thread_name(p, t));
	w->base = w->at.clock;
	if (w->by == BY_NOBODY) {
		walker_aim(s, w, t->block, true);
		return;
	}
	w->by = BY_LOG;			/* it has executed this program, while it was stepped */
	w->left -= w->left > 0;
	session_block(s, t->block)->stop_next = 1;
}

void stops_thread_over(struct session *s, struct proc *p, const struct thread *t)
{
	struct walker *w;

	if (!s->stops || !t->live || !t->tid)
		return;
	w = walker_of(s->stops, thread_name(p, t));
	w->at.clock = 1 + walker_clock(s, w, t->block);
	w->at.insns = 0;
}
