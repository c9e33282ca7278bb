/* SPDX-License-Identifier: MIT */
/* ref_values.c - values of loads and stores, in place of the positions that a trace has of them */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/temp.h"
#include "collect/control/stop_at.h"
#include "collect/query/query_work.h"
#include "collect/query/ref_values.h"
#include "collect/record/recording.h"
#include "trace/position.h"
#include "trace/pug_file.h"

/* A position in 64 bits, in an event's value. */
#define INSN_BITS 20
#define MOST_INSNS ((1ull << INSN_BITS) - 1)
#define SPAN_MOST 0x100000u		/* bytes that a rep-prefixed instruction goes over */

static bool is_ref(const struct pm_event *ev)
{
	return ev->kind == PM_EV_READ || ev->kind == PM_EV_WRITE || ev->kind == PM_EV_MODIFY;
}

/* ---- the trace ------------------------------------------------------------------------------- */
struct stamp {
	struct pm_positions *positions;
	struct values_part part;
	uint64_t n;			/* instructions so far */
	struct pm_map emitted;		/* instructions, of each stream */
	struct pm_output *out;
	void *writer;
	const char *info[11];		/* lent to it */
	struct pm_event *ev;
	size_t cap;
};

/* What is about threads, processes and mappings is wanted before the part, too. */
static bool is_wanted(const struct stamp *s, const struct pm_event *ev)
{
	const uint64_t at = s->n - (s->n > 0);	/* the instruction that it belongs to */

	if (ev->kind >= PM_EV_SYSCALL)
		return true;
	return s->n && at >= s->part.skip &&
	       (!s->part.length || at - s->part.skip < s->part.length);
}

/* Of the reference @ev of @t, which may be of an instruction that has not been completed. */
static uint64_t packed(const struct pm_batch *b, const struct pm_position_thread *t,
		       const struct pm_event *ev)
{
	const struct pm_insn *i = b->code && ev->id < b->code->ninsn ? &b->code->insn[ev->id] :
		NULL;
	const uint64_t insns = t->at.insns - (t->at.insns && (!i || i->pc == t->pc));

	return insns > MOST_INSNS ? UINT64_MAX : t->at.clock << INSN_BITS | insns;
}

static enum pm_status fail_written(struct pm_err *err)
{
	err->file = "a temporary file";
	return PM_ERR;
}

static enum pm_status stamp_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct stamp *s = self;
	struct pm_position_thread *t = pm_position_thread(s->positions, b->stream);
	uint64_t *const emitted = pm_map_put(&s->emitted, b->stream->index, NULL);
	struct pm_batch out = *b;

	if (s->cap < b->n) {
		s->cap = b->n;
		s->ev = pm_realloc(s->ev, s->cap * sizeof *s->ev);
	}
	out.first_insn = *emitted;
	out.n = 0;
	for (const struct pm_event *ev = b->ev; ev < b->ev + b->n; ev++) {
		struct pm_event *to = &s->ev[out.n];

		pm_position_pass(s->positions, t, b, ev);
		s->n += ev->kind == PM_EV_INSN;
		if (!is_wanted(s, ev))
			continue;
		*to = *ev;
		out.n++;
		*emitted += ev->kind == PM_EV_INSN;
		if (!is_ref(ev))
			continue;
		to->value = packed(b, t, ev);
		if (to->value == UINT64_MAX)
			return pm_fail_file(err, "values cannot be had: thread %u executes more "
					    "than %llu instructions without a safepoint",
					    t->at.tid, (unsigned long long)MOST_INSNS);
	}
	out.ev = s->ev;
	if (out.n && pug_write(s->writer, &out, err) != PM_OK)
		return fail_written(err);
	if (s->part.length && s->n > s->part.skip && s->n - s->part.skip > s->part.length)
		return pm_fail(err, 0, QUERY_ENOUGH);
	return PM_OK;
}

/* What goes wrong here is told in place of why the replay was ended. */
static enum pm_status stamp_finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct stamp *s = self;
	struct pm_err own = { 0 };

	(void)r;
	if (pug_write_finish(s->writer, &own) == PM_OK && pm_output_finish(s->out, &own) == PM_OK)
		return PM_OK;
	*err = own;
	return fail_written(err);
}

static void stamp_free(struct stamp *s)
{
	pug_write_close(s->writer);
	pm_output_close(s->out);
	pm_positions_free(s->positions);
	pm_map_release(&s->emitted);
	free(s->ev);
	free(s);
}

/* It finishes its file also when it has ended the replay. */
static const struct pm_sink_ops stamp_ops = {
	.abi = PM_ABI,
	.name = "positions", .about = "a trace whose references have positions",
	.needs = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_BRANCHES | PM_HAS_REFS | PM_HAS_SIZES,
	.consume = stamp_consume,
	.finish = stamp_finish,
};

static struct stamp *stamp_new(const char *path, const char *program,
			       const struct values_part *part, struct pm_err *err)
{
	struct stamp *s = pm_alloc(sizeof *s);
	const struct pm_write_opts wo = {
		.options = "level=fast", .facts = pm_run_facts(XL_EXEC) | PM_HAS_VALUES,
		.info = s->info,
	};

	*s = (struct stamp){ .part = *part, .info = {
		"program", program, "isa", "x86-64", "source", "replay", "time", "ns", "kind",
		"execution", NULL,
	} };
	s->positions = pm_positions_new();
	s->out = pm_output_open(path, err);
	s->writer = s->out ? pug_write_open(s->out, &wo, err) : NULL;
	if (s->writer)
		return s;
	stamp_free(s);
	return NULL;
}

static enum pm_status make_trace(const char *recording, const char *path,
				 const struct values_part *part, const struct pm_run_opts *o,
				 struct pm_err *err)
{
	struct pm_run_opts run = *o;
	struct stamp *s;
	enum pm_status st = PM_ERR;

	run.kind = XL_EXEC;
	if (query_open(recording, &run, err) != PM_OK)
		return PM_ERR;
	s = stamp_new(path, run.argv[0], part, err);
	if (s) {
		st = query_consume(&run, &stamp_ops, s, err);
		if (st == PM_OK && part->skip && s->n <= part->skip) {
			err->file = recording;
			st = pm_fail_file(err, "it has %llu instructions: nothing is left of them",
					  (unsigned long long)s->n);
		}
		stamp_free(s);
	}
	query_close(&run);
	return st;
}

/* ---- its references -------------------------------------------------------------------------- */
struct ref {
	uint64_t at;			/* packed position */
	uint64_t addr, value;
	uint16_t size;
	bool stores, repeats;
};

struct owner {				/* a thread */
	uint32_t tid;
	struct ref *v;
	size_t n, cap;
	size_t next, end;		/* those of the instruction that it is to stop at */
	bool behind;			/* it has stood in front of that */
	size_t read;			/* where the trace is read: how many so far */
};

struct ref_values {
	struct owner *owner;
	size_t nowner, cap_owner;
	struct pm_event *ev;
	size_t cap;
	uint8_t *span;
};

static struct owner *owner_of(struct ref_values *v, uint32_t tid)
{
	for (size_t i = 0; i < v->nowner; i++)
		if (v->owner[i].tid == tid)
			return &v->owner[i];
	return NULL;
}

static void add_refs(struct ref_values *v, const struct pm_batch *b)
{
	struct owner *o = owner_of(v, b->stream->tid);

	if (!o) {
		pm_grow(v->owner, v->nowner, v->cap_owner);
		o = &v->owner[v->nowner++];
		*o = (struct owner){ .tid = b->stream->tid };
	}
	for (const struct pm_event *ev = b->ev; ev < b->ev + b->n; ev++) {
		if (!is_ref(ev))
			continue;
		pm_grow(o->v, o->n, o->cap);
		o->v[o->n++] = (struct ref){ ev->value, ev->addr, 0, ev->size,
					     ev->kind != PM_EV_READ, ev->flags & PM_REF_REP };
	}
}

static enum pm_status read_refs(struct ref_values *v, const char *path, struct pm_err *err)
{
	const struct pm_format *which;
	const struct pm_batch *b;
	struct pm_source src;
	enum pm_status st;

	if (pm_trace_open(path, "pug", &src, &which, err) != PM_OK)
		return PM_ERR;
	while ((st = src.ops->next(src.self, &b, err)) == PM_OK)
		add_refs(v, b);
	src.ops->close(src.self);
	return st == PM_END ? PM_OK : PM_ERR;
}

/* ---- their values ---------------------------------------------------------------------------- */
/* The references of its next instruction. False: it has none any more. */
static bool find_group(struct owner *o)
{
	if (o->next == o->n)
		return false;
	for (o->end = o->next; o->end < o->n && o->v[o->end].at == o->v[o->next].at; o->end++)
		;
	return true;
}

static bool next(void *self, const struct pm_position *from, bool begins, struct pm_position *to)
{
	struct owner *o = owner_of(self, from->tid);

	(void)begins;
	if (!o || !find_group(o))
		return false;
	*to = *from;
	if (o->behind) {
		to->insns++;
		return true;
	}
	to->clock = o->v[o->next].at >> INSN_BITS;
	to->insns = o->v[o->next].at & MOST_INSNS;
	return true;
}

static uint64_t value_at(struct standing *st, const struct ref *r)
{
	uint64_t v = 0;

	stopped_read(st, &v, r->addr, r->size < sizeof v ? r->size : sizeof v);
	return v;
}

/* The @n references of a string instruction that has not been executed: what it moves it may load
 * again. False: they are too far from each other. */
static bool repeat(struct ref_values *v, struct standing *st, const struct ref *r, size_t n,
		   uint64_t *to)
{
	uint64_t lo = UINT64_MAX, hi = 0;

	for (size_t i = 0; i < n; i++) {
		lo = r[i].addr < lo ? r[i].addr : lo;
		hi = r[i].addr + r[i].size > hi ? r[i].addr + r[i].size : hi;
	}
	if (hi - lo > SPAN_MOST || !stopped_read(st, v->span, lo, (size_t)(hi - lo)))
		return false;
	for (size_t i = 0; i < n; i++) {
		uint8_t *const p = v->span + (r[i].addr - lo);

		if (r[i].stores)
			memcpy(p, &to[i - 1], r[i].size);
		to[i] = 0;
		memcpy(&to[i], p, r[i].size < 8 ? r[i].size : 8);
	}
	return true;
}

/* Is it movs: one load and one store by turns? */
static bool moves(const struct ref *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!r[i].repeats || r[i].stores != i % 2 || r[i].size > 8)
			return false;
	return n > 2;
}

static void in_front(struct ref_values *v, struct standing *st, struct owner *o)
{
	const size_t n = o->end - o->next;
	struct ref *r = o->v + o->next;
	uint64_t *to = NULL;

	if (moves(r, n)) {
		to = pm_alloc(n * sizeof *to);
		if (repeat(v, st, r, n, to)) {
			for (size_t i = 0; i < n; i++) {
				r[i].value = to[i];
				r[i].stores = false;
			}
			free(to);
			return;
		}
		free(to);
	}
	for (size_t i = 0; i < n; i++)
		if (!r[i].stores)
			r[i].value = value_at(st, &r[i]);
}

static void behind(struct standing *st, struct owner *o)
{
	for (struct ref *r = o->v + o->next; r < o->v + o->end; r++)
		if (r->stores)
			r->value = value_at(st, r);
	o->next = o->end;
}

static bool is_over(const struct ref_values *v)
{
	for (size_t i = 0; i < v->nowner; i++)
		if (v->owner[i].next < v->owner[i].n)
			return false;
	return true;
}

static bool stopped(void *self, struct standing *st)
{
	const struct pm_position *at = stopped_position(st);
	struct ref_values *v = self;
	struct owner *o = owner_of(v, at->tid);

	if (o->behind) {
		behind(st, o);
		o->behind = false;
		if (!find_group(o))
			return !is_over(v);
		if (o->v[o->next].at != (at->clock << INSN_BITS | at->insns))
			return true;
	}
	in_front(v, st, o);
	o->behind = true;
	return true;
}

static enum pm_status find_values(struct ref_values *v, const char *recording,
				  const struct pm_run_opts *o, struct pm_err *err)
{
	const struct pm_stops stops = { .self = v, .next = next, .stopped = stopped };
	struct pm_run_opts run = *o;
	enum pm_status st;

	if (is_over(v))
		return PM_OK;
	run.kind = XL_PROFILE;
	run.stops = &stops;
	v->span = pm_alloc_unset(SPAN_MOST);
	st = query_replay(recording, &run, err);
	free(v->span);
	v->span = NULL;
	for (size_t i = 0; st == PM_OK && i < v->nowner; i++)
		if (v->owner[i].next + 1 < v->owner[i].n)
			st = pm_fail_file(err, "the replay of thread %u ended before its trace",
					  v->owner[i].tid);
	return st;
}

/* ---- where the trace is read ----------------------------------------------------------------- */
static enum pm_status fill(void *self, const struct pm_batch *b, const struct pm_emit *emit,
			   struct pm_err *err)
{
	struct ref_values *v = self;
	struct owner *o = owner_of(v, b->stream->tid);
	struct pm_batch out = *b;

	if (v->cap < b->n) {
		v->cap = b->n;
		v->ev = pm_realloc(v->ev, v->cap * sizeof *v->ev);
	}
	for (size_t i = 0; i < b->n; i++) {
		v->ev[i] = b->ev[i];
		if (is_ref(&b->ev[i]) && o && o->read < o->n)
			v->ev[i].value = o->v[o->read++].value;
	}
	out.ev = v->ev;
	return emit->batch(emit->to, &out, err);
}

static void release(void *self)
{
	struct ref_values *v = self;

	for (size_t i = 0; i < v->nowner; i++)
		free(v->owner[i].v);
	free(v->owner);
	free(v->ev);
	free(v);
}

const struct pm_transform_ops values_ops = {
	.name = "values",
	.needs = PM_HAS_VALUES,
	.consume = fill,
	.destroy = release,
};

enum pm_status values_open(const char *recording, const struct values_part *part,
			   const struct pm_run_opts *o, struct pm_source *src,
			   const struct pm_format **which, void **values, struct pm_err *err)
{
	struct ref_values *v = pm_alloc(sizeof *v);
	const int fd = pm_temp_file(err);
	static char path[64];		/* errors have it */
	enum pm_status st = fd >= 0 ? PM_OK : PM_ERR;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (st == PM_OK)
		st = make_trace(recording, path, part, o, err);
	if (st == PM_OK)
		st = read_refs(v, path, err);
	if (st == PM_OK)
		st = find_values(v, recording, o, err);
	if (st == PM_OK)
		st = pm_trace_open(path, "pug", src, which, err);
	if (fd >= 0)
		close(fd);
	if (st != PM_OK) {
		release(v);
		v = NULL;
	}
	*values = v;
	return st;
}
