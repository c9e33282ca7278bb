/* SPDX-License-Identifier: MIT */
/* walkers.c - the threads of a replay that stops, their clocks, and where each goes next */
#include <stdlib.h>

#include "collect/control/stop_work.h"
#include "isa/x86/decode.h"

static bool next_seam(void *self, const struct pm_position *from, bool begins,
		      struct pm_position *to)
{
	const struct pm_seams *seams = self;

	(void)begins;
	*to = (struct pm_position){ .tid = from->tid,
				    .clock = (from->clock / seams->every + 1) * seams->every };
	return true;
}

void stops_open(struct session *s)
{
	struct stopper *k;

	if (!s->opts->stops && !s->opts->seams)
		return;
	k = s->stops = pm_alloc(sizeof *k);
	k->want = s->opts->stops;
	if (s->opts->seams) {
		k->seams = (struct pm_stops){ .self = (void *)(uintptr_t)s->opts->seams,
					      .next = next_seam };
		k->want = &k->seams;
	}
	k->dec[0] = x86_decoder_new(X86_MODE_64);
	k->dec[1] = x86_decoder_new(X86_MODE_32);
}

void stops_again(struct session *s)
{
	struct stopper *k = s->stops;

	k->want = s->opts->stops;
	k->stands = 0;
	k->over = false;
	*k->error = 0;
}

void stops_close(struct session *s)
{
	struct stopper *k = s->stops;

	if (!k)
		return;
	x86_decoder_free(k->dec[0]);
	x86_decoder_free(k->dec[1]);
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

/* @to is where @w, at w->at, goes. */
static void set_goal(struct walker *w, const struct pm_position *to)
{
	w->clock = to->clock;
	w->left = to->clock == w->at.clock ? to->insns - w->at.insns : to->insns;
	w->wanted = to->insns;
	w->near = NEAR_INSNS;
}

static void set_no_goal(struct session *s, struct walker *w, uint32_t block)
{
	w->clock = NOWHERE;
	w->left = 0;
	session_block(s, block)->stop_at = 0;
}

bool walker_aim(struct session *s, struct walker *w, uint32_t block, bool begins)
{
	struct stopper *k = s->stops;
	struct pm_position to;

	set_no_goal(s, w, block);
	if (k->over)
		return false;
	if (!k->want->next(k->want->self, &w->at, begins, &to) || to.clock < w->at.clock ||
	    (to.clock == w->at.clock && to.insns < w->at.insns) ||
	    (!begins && !pm_position_compare(&to, &w->at))) {
		walker_run(s, w, block);
		return false;
	}
	set_goal(w, &to);
	if (begins || to.clock - w->at.clock > NEAR)
		walker_run(s, w, block);
	return !session_block(s, block)->stop_at;
}

void walker_return(struct session *s, struct walker *w, uint32_t block, bool stands)
{
	struct stopper *k = s->stops;
	struct pm_position to;

	set_no_goal(s, w, block);
	w->near = 0;
	if (k->want->next(k->want->self, &w->at, true, &to) &&
	    to.clock + stands > w->at.clock) {
		set_goal(w, &to);
		if (!stands || to.clock - w->at.clock > NEAR)
			w->near = 0;
	}
	if (!stands)
		walker_run(s, w, block);
}

/* Where a replay that is kept stops first on the way to w->clock. */
static uint64_t first_stop(const struct session *s, const struct walker *w)
{
	const uint64_t quantum = s->stops->quantum, here = w->at.clock, way = w->clock - here;

	if (w->clock != NOWHERE && way > 2 * IN_FRONT && way - IN_FRONT < quantum)
		return w->clock - IN_FRONT;
	return quantum < way ? here + quantum : w->clock;
}

void walker_run(struct session *s, struct walker *w, uint32_t block)
{
	const uint64_t to = s->kept ? first_stop(s, w) : w->clock;

	w->near = 0;
	session_block(s, block)->stop_at = to == NOWHERE ? 0 : 1 + to - w->base;
}

void walker_step(struct walker *w)
{
	w->left -= w->at.clock >= w->clock;
	w->at.insns++;
}

void walker_safepoint(struct walker *w)
{
	w->stretch = w->at.insns;
	w->at.clock++;
	w->at.insns = 0;
}

bool walker_missed(const struct walker *w)
{
	return w->left && w->at.clock > w->clock;
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
	w->stretch = w->at.insns + 1;
	w->at.clock = 1 + walker_clock(s, w, t->block);
	w->at.insns = 0;
}
