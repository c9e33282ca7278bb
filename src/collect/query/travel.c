/* SPDX-License-Identifier: MIT */
/* travel.c - replays that go to a position */
#include <stdlib.h>

#include "base/mem.h"
#include "collect/control/checkpoint.h"
#include "collect/query/travel.h"

enum aim { TO_GOAL, BEHIND_GOAL, BEFORE_GOAL, COUNT };

struct stop {				/* of a thread: a mark, or the goal */
	struct pm_position at;
	size_t mark;			/* its number; GOAL */
};
#define GOAL TRAVEL_NO_MARK

struct traveller {
	const struct journey *j;
	enum aim aim;
	struct pm_position goal;
	struct stop *stop;		/* by thread, and then in order */
	size_t n;
	size_t *next;			/* of each thread, at where its stops begin */
	bool passed;			/* the goal has been */
	bool found, stepping;
	size_t which;			/* the mark at which it stands, or has last stood */
	uint64_t last;			/* COUNT: instructions behind the safepoint so far */
	uint64_t limit;			/* it begins at a checkpoint before that; 0: at any */
	bool began;			/* it has begun at one: */
	uint64_t began_passed;		/* ... checkpoint_passed() */
	struct pm_position began_at;
};

static int by_thread(const void *a, const void *b)
{
	const struct stop *x = a, *y = b;
	const int order = pm_position_order(&x->at, &y->at);

	return order ? order : x->mark < y->mark ? -1 : x->mark > y->mark;
}

static size_t first_of(const struct traveller *t, uint32_t tid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->stop[i].at.tid == tid)
			return i;
	return GOAL;
}

static bool next(void *self, const struct pm_position *from, bool begins, struct pm_position *to)
{
	struct traveller *t = self;
	const size_t first = first_of(t, from->tid);
	size_t k;

	if (t->stepping && !begins) {
		*to = *from;
		to->insns++;
		return from->tid == t->goal.tid;
	}
	if (first == GOAL || t->stepping)
		return false;
	k = t->next[first];
	if (k >= t->n || t->stop[k].at.tid != from->tid)
		return false;
	*to = t->stop[k].at;
	return true;
}

/* It stands at @s, and perhaps at those that follow. False: the journey is over. */
static bool stand(struct traveller *t, struct standing *st, const struct stop *s)
{
	if (s->mark == GOAL) {
		t->passed = true;
		if (t->aim == TO_GOAL) {
			t->found = true;
			t->stepping = t->j->arrived(t->j->self, st, t->which);
			return t->stepping;
		}
		return t->aim != BEFORE_GOAL;
	}
	t->which = s->mark;
	if (t->aim == BEFORE_GOAL) {
		t->found = true;
		return true;
	}
	if (!t->passed)
		return true;
	t->found = true;
	t->goal = *stopped_position(st);
	t->stepping = t->j->arrived(t->j->self, st, s->mark);
	return t->stepping;
}

/* Instruction by instruction, up to the goal's safepoint. */
static bool count(struct traveller *t, const struct pm_position *at)
{
	t->stepping = true;
	if (at->clock >= t->goal.clock) {
		t->found = true;
		return false;
	}
	t->last = at->insns;
	return true;
}

static bool stopped(void *self, struct standing *st)
{
	const struct pm_position *at = stopped_position(st);
	struct traveller *t = self;
	size_t *next_stop;

	if (t->aim == COUNT)
		return count(t, at);
	if (t->stepping) {
		t->stepping = t->j->arrived(t->j->self, st, TRAVEL_NO_MARK);
		return t->stepping;
	}
	next_stop = &t->next[first_of(t, at->tid)];
	do
		if (!stand(t, st, &t->stop[(*next_stop)++]) || t->stepping)
			return t->stepping;
	while (*next_stop < t->n && t->stop[*next_stop].at.tid == at->tid &&
	       pm_position_compare(&t->stop[*next_stop].at, at) <= 0);
	return true;
}

/* ---- where it begins ------------------------------------------------------------------------- */
enum when { PASSED, AHEAD, PERHAPS_PASSED };

/* Has a thread been at @p when the replay is at @c? */
static enum when when_at(const struct checkpoint *c, const struct pm_position *p)
{
	struct pm_position at;

	switch (checkpoint_thread(c, p->tid, &at)) {
	case CHECKPOINT_STANDS:
		return pm_position_compare(p, &at) < 0 ? PASSED : AHEAD;
	case CHECKPOINT_WAITS:
		return p->clock < at.clock ? PASSED : p->clock > at.clock ? AHEAD :
			PERHAPS_PASSED;
	case CHECKPOINT_BEHIND:
		return p->clock < at.clock ? PASSED : AHEAD;
	case CHECKPOINT_BEFORE:
		break;
	}
	return AHEAD;
}

static void to_begin(struct traveller *t)
{
	t->began = false;
	for (size_t i = 0; i < t->n; i++)
		t->next[i] = i;
}

/* @c is in front of the goal, and which marks are behind it is known: those are over. */
static bool from(void *self, const struct checkpoint *c)
{
	struct traveller *t = self;

	to_begin(t);
	if (!c)
		return true;
	if (t->limit && checkpoint_passed(c) >= t->limit)
		return false;
	for (size_t i = 0; i < t->n; i++) {
		const enum when w = when_at(c, &t->stop[i].at);

		if (w == PERHAPS_PASSED || (w == PASSED && t->stop[i].mark == GOAL))
			return false;
	}
	for (size_t i = 0; i < t->n; i++)
		if (when_at(c, &t->stop[i].at) == PASSED)
			t->next[first_of(t, t->stop[i].at.tid)] = i + 1;
	t->began = true;
	t->began_passed = checkpoint_passed(c);
	t->began_at = *checkpoint_stands(c);
	return true;
}

static bool travel(struct traveller *t, struct pm_err *err)
{
	const struct pm_stops stops = { .self = t, .next = next, .stopped = stopped, .from = from };
	struct pm_run_opts run = *t->j->o;

	if (t->n)
		qsort(t->stop, t->n, sizeof *t->stop, by_thread);
	t->next = pm_alloc(t->n * sizeof *t->next);
	to_begin(t);
	run.kind = XL_PROFILE;
	run.stops = &stops;
	query_replay_kept(t->j->recording, t->j->kept, &run, err);
	free(t->next);
	free(t->stop);
	return t->found;
}

static void add(struct traveller *t, const struct pm_position *at, size_t mark)
{
	t->stop[t->n++] = (struct stop){ *at, mark };
}

static bool to_mark(const struct journey *j, const struct pm_position *to, size_t mark,
		    struct pm_err *err)
{
	struct traveller t = { .j = j, .aim = TO_GOAL, .goal = *to, .which = mark,
			       .stop = pm_alloc(sizeof *t.stop) };

	add(&t, to, GOAL);
	return travel(&t, err);
}

bool travel_to(const struct journey *j, const struct pm_position *to, struct pm_err *err)
{
	return to_mark(j, to, TRAVEL_NO_MARK, err);
}

/* Marks of @at's thread are on one side of it: those that are not wanted stay away. */
static void add_marks(struct traveller *t, const struct pm_position *at, const struct spot_mark *v,
		      size_t n)
{
	t->stop = pm_alloc((n + 1) * sizeof *t->stop);
	for (size_t i = 0; i < n; i++) {
		const int order = pm_position_compare(&v[i].at, at);

		if (v[i].at.tid != at->tid || (t->aim == BEFORE_GOAL ? order < 0 : order > 0))
			add(t, &v[i].at, i);
	}
	add(t, at, GOAL);
}

static bool of_one_thread(const struct spot_mark *v, size_t n, uint32_t tid)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].at.tid != tid)
			return false;
	return true;
}

bool travel_on(const struct journey *j, const struct pm_position *from,
	       const struct spot_mark *v, size_t n, struct pm_err *err)
{
	struct traveller t = { .j = j, .aim = BEHIND_GOAL, .goal = *from };
	size_t which = TRAVEL_NO_MARK;

	if (!of_one_thread(v, n, from->tid)) {
		add_marks(&t, from, v, n);
		return travel(&t, err);
	}
	for (size_t i = 0; i < n; i++)
		if (pm_position_compare(&v[i].at, from) > 0 &&
		    (which == TRAVEL_NO_MARK ||
		     pm_position_compare(&v[i].at, &v[which].at) < 0))
			which = i;
	return which != TRAVEL_NO_MARK && to_mark(j, &v[which].at, which, err);
}

/* From checkpoint to checkpoint back: the last mark behind one, and before the one behind that. */
static bool last_before(const struct journey *j, const struct pm_position *before,
			const struct spot_mark *v, size_t n, size_t *which, struct pm_err *err)
{
	struct pm_position to = *before;
	uint64_t limit = 0;

	for (;;) {
		struct traveller t = { .j = j, .aim = BEFORE_GOAL, .goal = to, .limit = limit };

		add_marks(&t, &to, v, n);
		travel(&t, err);
		*which = t.which;
		if (!t.passed || t.found)
			return t.passed;
		if (!t.began || !t.began_passed)
			return false;
		to = t.began_at;
		limit = t.began_passed;
	}
}

bool travel_before(const struct journey *j, const struct pm_position *before,
		   const struct spot_mark *v, size_t n, size_t *which, struct pm_err *err)
{
	bool any = false;

	if (!of_one_thread(v, n, before->tid))
		return last_before(j, before, v, n, which, err);
	for (size_t i = 0; i < n; i++)
		if (pm_position_compare(&v[i].at, before) < 0 &&
		    (!any || pm_position_compare(&v[i].at, &v[*which].at) >= 0)) {
			*which = i;
			any = true;
		}
	return any;
}

bool travel_back(const struct journey *j, const struct pm_position *at, struct pm_position *to,
		 struct pm_err *err)
{
	struct traveller t = { .j = j, .aim = COUNT, .goal = *at };

	*to = *at;
	if (at->insns) {
		to->insns--;
		return true;
	}
	if (!at->clock)
		return false;
	to->clock--;
	t.stop = pm_alloc(sizeof *t.stop);
	add(&t, to, GOAL);
	if (!travel(&t, err))
		return false;
	to->insns = t.last;
	return true;
}
