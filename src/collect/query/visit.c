/* SPDX-License-Identifier: MIT */
/* visit.c - a replay stops at positions and looks
 *
 * At a store it stops twice: in front of it and behind it. What memory held before a system call is
 * what the last store has left, for other threads may execute while it waits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/query/query_work.h"
#include "collect/query/registers.h"
#include "collect/record/recording.h"

struct bytes {				/* of the query's range, in one process */
	uint32_t pid;
	uint64_t lo, hi;		/* those that are known; none: the same */
	uint8_t v[QUERY_BYTES];
};

struct spot_course {				/* a thread's spots, in order */
	uint32_t tid;
	size_t next, end;		/* in visitor.order */
	bool behind;			/* it has stood in front of the next one */
};

struct visitor {
	const struct query *q;
	struct spots *s;
	const struct query_asker *who;
	struct spot **order;
	size_t n;
	struct spot_course *course;
	size_t ncourse, cap_course;
	struct bytes *latest;
	size_t nlatest, cap_latest;
	struct spot goal;		/* the question's position */
	bool done, enough, failed;	/* failed: what is wanted is not there */
	const struct spot *astray;	/* where the replay has another instruction */
	bool missed;			/* this position does not exist, there are only so many */
	struct pm_position there;	/* ... instructions behind its safepoint */
	uint64_t there_are;
	bool kept;			/* a last write: */
	struct query_answer answer;
	uint8_t old[QUERY_BYTES], now[QUERY_BYTES];
	char text[256], file[4096];
};

/* ---- where to -------------------------------------------------------------------------------- */
static int by_position(const void *a, const void *b)
{
	const struct spot *x = *(struct spot *const *)a, *y = *(struct spot *const *)b;

	return pm_position_order(&x->at, &y->at);
}

static struct spot_course *course_of(struct visitor *v, uint32_t tid)
{
	for (size_t i = 0; i < v->ncourse; i++)
		if (v->course[i].tid == tid)
			return &v->course[i];
	return NULL;
}

/* Of a question about the last store those that cannot be it go: in other processes, behind the
 * position; if only its own thread stores, all but the last one. */
static void choose_last(struct visitor *v, const struct pm_map *pid)
{
	const uint32_t tid = v->q->at.tid;
	const uint64_t *const mine = pm_map_get(pid, tid);
	bool others = false;
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++) {
		struct spot *x = v->order[i];

		if (!mine || x->pid != *mine ||
		    (x->at.tid == tid && pm_position_compare(&x->at, &v->q->at) >= 0))
			continue;
		others |= x->at.tid != tid;
		v->order[n++] = x;
	}
	if (!others && n > 1) {
		v->order[0] = v->order[n - 1];
		n = 1;
	}
	v->n = n;
}

static void make_courses(struct visitor *v)
{
	struct spots *s = v->s;
	const bool one = v->q->kind == QUERY_VALUE || v->q->kind == QUERY_MEMORY;

	v->order = pm_alloc((s->n + 1) * sizeof *v->order);
	for (size_t i = 0; i < s->n; i++)
		v->order[v->n++] = &s->v[i];
	if (v->q->kind == QUERY_LAST_WRITE)
		choose_last(v, &s->pid);
	if (one || v->q->kind == QUERY_LAST_WRITE) {
		v->goal = (struct spot){ .at = v->q->at };
		v->order[v->n++] = &v->goal;
	}
	qsort(v->order, v->n, sizeof *v->order, by_position);
	for (size_t i = 0; i < v->n; i++) {
		struct spot_course *c = v->ncourse ? &v->course[v->ncourse - 1] : NULL;

		if (!c || c->tid != v->order[i]->at.tid) {
			pm_grow(v->course, v->ncourse, v->cap_course);
			c = &v->course[v->ncourse++];
			*c = (struct spot_course){ .tid = v->order[i]->at.tid, .next = i };
		}
		c->end = i + 1;
	}
}

static bool next(void *self, const struct pm_position *from, bool begins, struct pm_position *to)
{
	struct visitor *v = self;
	const struct spot_course *c = course_of(v, from->tid);

	(void)begins;
	if (!c || c->next == c->end)
		return false;
	if (c->behind) {
		*to = *from;
		to->insns++;
	} else {
		*to = v->order[c->next]->at;
	}
	return true;
}

/* ---- what is there --------------------------------------------------------------------------- */
static struct bytes *latest_of(struct visitor *v, uint32_t pid)
{
	for (size_t i = 0; i < v->nlatest; i++)
		if (v->latest[i].pid == pid)
			return &v->latest[i];
	pm_grow(v->latest, v->nlatest, v->cap_latest);
	v->latest[v->nlatest] = (struct bytes){ .pid = pid };
	return &v->latest[v->nlatest++];
}

static void begin_answer(struct visitor *v, struct standing *st, const struct spot *x)
{
	const uint64_t *const pid = pm_map_get(&v->s->pid, x->at.tid);
	struct user_regs_struct r;

	stopped_regs(st, &r);
	v->answer = (struct query_answer){ .kind = v->q->kind, .at = *stopped_position(st),
					   .program = stopped_program(st),
					   .event = stopped_event(st),
					   .pid = pid ? (uint32_t)*pid : 0, .pc = r.rip };
}

static void tell(struct visitor *v, const struct query_answer *a)
{
	v->enough = !v->who->answer(v->who->self, a);
}

/* A value or memory, at the question's position. */
static void read_at_position(struct visitor *v, struct standing *st)
{
	static struct query_register reg[QUERY_REGISTERS];

	begin_answer(v, st, &v->goal);
	if (v->q->kind == QUERY_VALUE) {
		v->answer.reg = reg;
		v->answer.nreg = query_registers(st, v->q->name, reg);
		v->failed = !v->answer.nreg;
	} else {
		v->answer.lo = v->q->lo;
		v->answer.n = (size_t)(v->q->hi - v->q->lo);
		v->answer.now = v->now;
		v->failed = !stopped_read(st, v->now, v->q->lo, v->answer.n);
	}
	v->done = true;
	v->enough = true;
	if (!v->failed)
		tell(v, &v->answer);
}

/* In 32-bit code they are on the stack, behind the return address. */
static void read_arguments(struct standing *st, struct query_register *to, size_t n)
{
	static const char *const names[] = { "stack1", "stack2", "stack3", "stack4", "stack5",
					     "stack6" };
	struct user_regs_struct r;

	stopped_regs(st, &r);
	for (size_t i = 0; i < n && i < NR(names); i++) {
		to[i] = (struct query_register){ .name = names[i], .n = 4 };
		stopped_read(st, to[i].value, r.rsp + 4 + 4 * i, 4);
	}
}

static void tell_call(struct visitor *v, struct standing *st, const struct spot *x)
{
	static const char *const names[] = { "rdi", "rsi", "rdx", "rcx", "r8", "r9" };
	static struct query_register reg[NR(names)];

	begin_answer(v, st, x);
	spots_name(v->s, x, &v->answer);
	if (stopped_is_i386(st))
		read_arguments(st, reg, NR(names));
	else
		for (size_t i = 0; i < NR(names); i++)
			query_registers(st, names[i], &reg[i]);
	v->answer.reg = reg;
	v->answer.nreg = NR(names);
	tell(v, &v->answer);
}

static bool covers(const struct bytes *l, const struct spot *x)
{
	return l->lo <= x->lo && x->hi <= l->hi;
}

static bool read_bytes(struct visitor *v, struct standing *st, struct bytes *l, uint64_t lo,
		       uint64_t hi)
{
	l->lo = lo;
	l->hi = hi;
	if (stopped_read(st, l->v + (lo - v->q->lo), lo, (size_t)(hi - lo)))
		return true;
	l->hi = lo;
	return false;
}

/* In front of a store: what will be its old value. A part of the range may not be mapped. */
static void remember(struct visitor *v, struct standing *st, const struct spot *x)
{
	struct bytes *l = latest_of(v, x->pid);

	if (!read_bytes(v, st, l, v->q->lo, v->q->hi))
		read_bytes(v, st, l, x->lo, x->hi);
}

static void keep_strings(struct visitor *v)
{
	struct query_answer *a = &v->answer;

	if (a->function) {
		snprintf(v->text, sizeof v->text, "%s", a->function);
		a->function = v->text;
	}
	if (a->file) {
		snprintf(v->file, sizeof v->file, "%s", a->file);
		a->file = v->file;
	}
}

/* Behind it. */
static void tell_store(struct visitor *v, struct standing *st, const struct spot *x)
{
	const size_t n = (size_t)(v->q->hi - v->q->lo);
	struct bytes *l = latest_of(v, x->pid);
	const bool was = covers(l, x);

	memcpy(v->old, l->v, n);
	remember(v, st, x);
	if (!covers(l, x))
		return;				/* it is not mapped any more */
	memcpy(v->now, l->v, n);
	begin_answer(v, st, x);
	v->answer.at = x->at;
	v->answer.pc = x->pc;
	spots_name(v->s, x, &v->answer);
	v->answer.call = x->call ? rec_call_name(stopped_is_i386(st), x->call - 1) : NULL;
	v->answer.lo = x->lo;
	v->answer.n = (size_t)(x->hi - x->lo);
	v->answer.now = v->now + (x->lo - v->q->lo);
	v->answer.old = was ? v->old + (x->lo - v->q->lo) : NULL;
	if (v->q->kind == QUERY_WRITES) {
		tell(v, &v->answer);
		return;
	}
	keep_strings(v);
	v->kept = true;
}

/* The thread stands where its next spot is. True: it is to go one instruction further. */
static bool arrive(struct visitor *v, struct standing *st, struct spot *x)
{
	struct user_regs_struct r;

	if (x == &v->goal && v->q->kind == QUERY_LAST_WRITE) {
		v->done = v->enough = true;
		if (v->kept)
			tell(v, &v->answer);
		v->enough = true;
		return false;
	}
	if (x == &v->goal) {
		read_at_position(v, st);
		return false;
	}
	stopped_regs(st, &r);
	if (r.rip != x->pc) {
		v->astray = x;
		v->enough = true;
		return false;
	}
	if (v->q->kind == QUERY_CALLS) {
		tell_call(v, st, x);
		return false;
	}
	remember(v, st, x);
	return true;
}

static void visit(struct visitor *v, struct standing *st)
{
	struct spot_course *c = course_of(v, stopped_position(st)->tid);

	if (c->behind) {
		tell_store(v, st, v->order[c->next++]);
		c->behind = false;
		if (c->next == c->end || pm_position_compare(&v->order[c->next]->at,
							  stopped_position(st)))
			return;
	}
	while (!v->enough && c->next < c->end) {
		c->behind = arrive(v, st, v->order[c->next]);
		if (c->behind)
			break;
		c->next++;
		if (c->next == c->end || pm_position_compare(&v->order[c->next]->at,
							  stopped_position(st)))
			break;
	}
}

static void missed_position(void *self, const struct pm_position *to, uint64_t insns)
{
	struct visitor *v = self;

	v->missed = true;
	v->there = *to;
	v->there_are = insns;
}

static bool stopped(void *self, struct standing *st)
{
	struct visitor *v = self;

	visit(v, st);
	for (size_t i = 0; i < v->ncourse && !v->enough; i++)
		if (v->course[i].next < v->course[i].end)
			return true;
	return false;
}

/* ---- the replay ------------------------------------------------------------------------------ */
static enum pm_status missed(const struct visitor *v, struct pm_err *err)
{
	char text[PM_POSITION_TEXT];

	if (v->missed)
		return pm_fail_request(err, "there is no position %s: only %llu instruction%s "
				       "behind that safepoint",
				       pm_position_text(&v->there, text),
				       (unsigned long long)v->there_are,
				       v->there_are == 1 ? " is" : "s are");
	pm_position_text(v->astray ? &v->astray->at : &v->q->at, text);
	if (v->astray)
		return pm_fail_request(err, "at %s a replay is not at 0x%llx, as its trace is",
				       text, (unsigned long long)v->astray->pc);
	if (v->failed)
		return v->q->kind == QUERY_VALUE ?
			pm_fail_request(err, "this processor has no register '%s'", v->q->name) :
			pm_fail_request(err, "not all of that memory is mapped at %s", text);
	return pm_fail_request(err, "the recording does not get to %s", text);
}

enum pm_status spots_visit(const char *recording, const struct query *q, struct spots *s,
			   const struct pm_run_opts *o, const struct query_asker *who,
			   struct pm_err *err)
{
	struct visitor *v = pm_alloc(sizeof *v);
	const struct pm_stops stops = { v, next, missed_position, stopped };
	const bool one = query_has_position(q);
	struct pm_run_opts run = *o;
	enum pm_status st;

	v->q = q;
	v->s = s;
	v->who = who;
	make_courses(v);
	run.kind = XL_PROFILE;
	run.stops = &stops;
	st = v->n ? query_replay(recording, &run, err) : PM_OK;
	if (v->astray || v->missed || (one && (v->failed || (st == PM_OK && !v->done))))
		st = missed(v, err);
	free(v->order);
	free(v->course);
	free(v->latest);
	free(v);
	return st;
}
