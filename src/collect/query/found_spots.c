/* SPDX-License-Identifier: MIT */
/* found_spots.c - what replays have found for a debugger, and what is still to be found
 *
 * Which of several ranges a system call has written to is not known: what has been found for some
 * ranges at once is good only where all of them are wanted. */
#include <stdlib.h>

#include "collect/query/found_spots.h"

#define MOST 32u			/* replays whose spots are kept */

static bool has_pc(const struct points *p, uint64_t pc)
{
	for (size_t i = 0; i < p->npc; i++)
		if (p->pc[i] == pc)
			return true;
	return false;
}

static bool has_range(const struct points *p, const struct spot_range *r)
{
	for (size_t i = 0; i < p->nrange; i++)
		if (p->range[i].lo == r->lo && p->range[i].hi == r->hi &&
		    p->range[i].access == r->access)
			return true;
	return false;
}

static bool is_good(const struct found_once *x, const struct points *want)
{
	for (size_t i = 0; i < x->points.nrange; i++)
		if (!has_range(want, &x->points.range[i]))
			return false;
	return true;
}

static struct points missing(const struct found_spots *f, const struct points *want)
{
	struct points m = *want;

	for (const struct found_once *x = f->v; x < f->v + f->n; x++) {
		if (!is_good(x, want))
			continue;
		for (size_t i = 0; i < m.npc; i++)
			if (has_pc(&x->points, m.pc[i]))
				m.pc[i--] = m.pc[--m.npc];
		for (size_t i = 0; i < m.nrange; i++)
			if (has_range(&x->points, &m.range[i]))
				m.range[i--] = m.range[--m.nrange];
	}
	return m;
}

enum pm_status found_spots_find(struct found_spots *f, const char *recording,
				const struct points *want, const struct pm_run_opts *o,
				struct pm_err *err)
{
	struct points m = missing(f, want);
	struct found_once *x;

	if (f->n && !m.npc && !m.nrange)
		return PM_OK;
	if (f->n == MOST) {
		found_spots_release(f);
		m = *want;
	}
	pm_grow(f->v, f->n, f->cap);
	x = &f->v[f->n++];
	*x = (struct found_once){ .points = m };
	return spots_find(recording,
			  &(struct spots_wanted){ .function = "", .pc = m.pc, .npc = m.npc,
						  .range = m.range, .nrange = m.nrange },
			  o, &x->spots, err);
}

bool found_spots_any(const struct found_spots *f)
{
	return f->n && f->v[f->n - 1].spots.n;
}

/* Adds those of @x. */
static void add_marks(const struct found_once *x, const struct points *want, uint32_t tid,
		      bool behind, struct spot_mark *v, size_t *n)
{
	const uint64_t *const pid = pm_map_get(&x->spots.pid, tid);

	for (size_t i = 0; pid && i < x->spots.n; i++) {
		const struct spot *s = &x->spots.v[i];

		if (s->pid != *pid || (!s->hi && !has_pc(want, s->pc)))
			continue;
		v[*n] = (struct spot_mark){ .at = s->at, .address = s->lo, .access = s->access };
		v[(*n)++].at.insns += s->hi && behind;
	}
}

/* Where the process of thread @tid executes other programs: what the first replay has found. */
static void add_execs(const struct spots *s, uint32_t tid, bool behind, struct spot_mark *v,
		      size_t *n)
{
	const uint64_t *const pid = pm_map_get(&s->pid, tid);

	for (size_t i = 0; pid && i < s->execs.nprogram; i++) {
		const struct executed *x = &s->execs.program[i];
		const struct pm_position *const call = exec_spots_call(&s->execs, i);

		if (x->pid == *pid && exec_spots_executed(&s->execs, i) && (behind || call))
			v[(*n)++] = (struct spot_mark){ .at = behind ? x->at : *call,
							.access = SPOT_EXEC };
	}
}

struct spot_mark *found_spots_marks(const struct found_spots *f, const struct points *want,
				    uint32_t tid, bool behind, size_t *n)
{
	struct spot_mark *v;
	size_t most = 1 + (f->n ? f->v->spots.execs.nprogram : 0);

	for (size_t i = 0; i < f->n; i++)
		most += f->v[i].spots.n;
	v = pm_alloc(most * sizeof *v);
	*n = 0;
	for (size_t i = 0; i < f->n; i++)
		if (is_good(&f->v[i], want))
			add_marks(&f->v[i], want, tid, behind, v, n);
	if (f->n && want->execs)
		add_execs(&f->v->spots, tid, behind, v, n);
	return v;
}

const struct pm_position *found_spots_end(const struct found_spots *f, uint32_t tid)
{
	const struct spots *s = f->n ? &f->v[0].spots : NULL;

	for (size_t i = 0; s && i < s->nlast; i++)
		if (s->last[i].tid == tid)
			return &s->last[i];
	return NULL;
}

const struct pm_position *found_spots_executed(const struct found_spots *f,
					       const struct pm_position *call)
{
	const struct exec_spots *const e = f->n ? &f->v->spots.execs : NULL;

	for (size_t i = 0; e && i < e->nprogram; i++) {
		const struct pm_position *const by = exec_spots_call(e, i);

		if (by && by->tid == call->tid && !pm_position_compare(by, call))
			return &e->program[i].at;
	}
	return NULL;
}

void found_spots_release(struct found_spots *f)
{
	for (size_t i = 0; i < f->n; i++)
		spots_release(&f->v[i].spots);
	free(f->v);
	*f = (struct found_spots){ 0 };
}
