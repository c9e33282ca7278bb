/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/bound.h"
#include "base/mem.h"
#include "base/mix.h"
#include "base/number.h"
#include "transform/region.h"

struct of_stream {
	bool last_in;			/* the last block was let through */
	uint64_t lost;
};

struct places {				/* addresses, ascending */
	uint64_t *v;
	size_t n;
};

struct of_object {			/* where start and stop are in it */
	struct places at[2];
	uint64_t base;
	uint8_t excluded;		/* 1 no, 2 yes, 0 not looked at */
};

struct region {
	struct pm_region r;
	bool on;			/* between start and stop */
	bool reached[2];		/* start, stop: at least once */
	bool over;			/* for good; others look at it */
	uint64_t done;			/* instructions of all streams so far */
	uint64_t passed;		/* ... that were let through */
	uint64_t since;			/* ... when the region began */
	struct of_object *object;	/* by number in the code table */
	size_t nobject, cap_object;
	struct of_stream *stream;
	size_t nstream;
	struct pm_event *ev;
	size_t n, cap;
	/* Addresses in files of start and stop, as they have been looked up: by any thread. They
	 * stay. */
	pthread_mutex_t lock;
	struct found { char *path; struct places at[2]; } *found;
	size_t nfound, cap_found;
};

bool pm_point_parse(const char *s, struct pm_point *p)
{
	static const struct { const char *name; int number; } signals[] = {
		{ "HUP", SIGHUP }, { "INT", SIGINT }, { "QUIT", SIGQUIT }, { "ILL", SIGILL },
		{ "TRAP", SIGTRAP }, { "ABRT", SIGABRT }, { "BUS", SIGBUS }, { "FPE", SIGFPE },
		{ "USR1", SIGUSR1 }, { "SEGV", SIGSEGV }, { "USR2", SIGUSR2 }, { "PIPE", SIGPIPE },
		{ "ALRM", SIGALRM }, { "TERM", SIGTERM }, { "CHLD", SIGCHLD }, { "CONT", SIGCONT },
		{ "PROF", SIGPROF }, { "VTALRM", SIGVTALRM }, { "IO", SIGIO },
		{ "WINCH", SIGWINCH },
	};

	*p = (struct pm_point){ 0 };
	if (!strncmp(s, "SIG", 3)) {
		p->kind = PM_POINT_SIGNAL;
		for (size_t i = 0; i < NR(signals); i++)
			if (!strcmp(s + 3, signals[i].name))
				p->value = (uint64_t)signals[i].number;
		return p->value || (pm_parse_u64(s + 3, &p->value) && p->value && p->value <= 64);
	}
	if (isdigit((unsigned char)*s)) {
		p->kind = !strncmp(s, "0x", 2) ? PM_POINT_ADDRESS : PM_POINT_COUNT;
		return pm_parse_u64(s, &p->value);
	}
	p->kind = PM_POINT_FUNCTION;
	p->function = s;
	return *s;
}

void *pm_region_new(const struct pm_region *r)
{
	struct region *x = pm_alloc(sizeof *x);

	x->r = *r;
	pthread_mutex_init(&x->lock, NULL);
	x->on = r->start.kind == PM_POINT_NONE;
	return x;
}

static void put(struct region *x, const struct pm_event *ev)
{
	pm_grow(x->ev, x->n, x->cap);
	x->ev[x->n++] = *ev;
}

static const struct pm_point *point_of(const struct region *x, int i)
{
	return i ? &x->r.stop : &x->r.start;
}

/* Where in the file at @path are the functions that start and stop name? */
static void find_points(struct region *x, const char *path, struct places at[2])
{
	struct found *f = NULL;

	pthread_mutex_lock(&x->lock);
	for (size_t i = 0; i < x->nfound && !f; i++)
		if (!strcmp(x->found[i].path, path))
			f = &x->found[i];
	if (!f) {
		pm_grow(x->found, x->nfound, x->cap_found);
		f = &x->found[x->nfound++];
		*f = (struct found){ .path = pm_strdup(path) };
		for (int i = 0; i < 2; i++)
			if (point_of(x, i)->kind == PM_POINT_FUNCTION && x->r.find)
				f->at[i].n = x->r.find(x->r.ctx, path, point_of(x, i)->function,
						       &f->at[i].v);
	}
	memcpy(at, f->at, sizeof f->at);
	pthread_mutex_unlock(&x->lock);
}

static bool is_excluded_name(const struct region *x, const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	for (unsigned i = 0; i < x->r.nexclude; i++) {
		size_t n = strlen(x->r.exclude[i]);

		if (!strncmp(name, x->r.exclude[i], n) &&
		    (!name[n] || name[n] == '.' || name[n] == '-'))
			return true;
	}
	return false;
}

/* Code that is new may hold the functions that were named, or be left out. */
static void look_at_objects(struct region *x, const struct pm_code *code)
{
	while (x->nobject < code->nobject) {
		const struct pm_object *o = &code->object[x->nobject];
		struct of_object of = { .base = o->base, .excluded = is_excluded_name(x, o->path) };

		find_points(x, o->path, of.at);
		pm_grow(x->object, x->nobject, x->cap_object);
		x->object[x->nobject++] = of;
	}
}

static const struct of_object *object_of(const struct region *x, uint32_t object)
{
	return object < x->nobject ? x->object + object : NULL;
}

static bool is_excluded(const struct region *x, uint32_t object)
{
	return object < x->nobject && x->object[object].excluded;
}

static void begin(struct region *x)
{
	if (!x->on)
		x->since = x->done;
	x->on = x->reached[0] = true;
}

static void end(struct region *x)
{
	x->on = false;
	x->reached[1] = true;
}

/* Is start (0) or stop (1) in [pc, end), which is code of @o (NULL: nobody knows)? HOT: once per
 * block. */
static bool holds(const struct region *x, int which, const struct of_object *o, uint64_t pc,
		  uint64_t end)
{
	const struct pm_point *p = point_of(x, which);
	const struct places *at;
	size_t lo;

	if (p->kind == PM_POINT_ADDRESS)
		return pc <= p->value && p->value < end;
	if (!o || !o->at[which].n)
		return false;
	at = &o->at[which];
	pc -= o->base;
	end -= o->base;
	lo = pm_lower_bound(at->v, at->n, , pc);
	return lo < at->n && at->v[lo] < end;
}

/* The next instructions are [pc, until): does a point lie there? */
static void points(struct region *x, const struct of_object *o, uint64_t pc, uint64_t until)
{
	if (holds(x, 0, o, pc, until))
		begin(x);
	if (x->r.start.kind == PM_POINT_COUNT && !x->on && x->done >= x->r.start.value)
		begin(x);
	if (holds(x, 1, o, pc, until))
		end(x);
	if (x->r.stop.kind == PM_POINT_COUNT && x->done >= x->r.stop.value)
		end(x);
}

static bool inside(const struct region *x)
{
	uint64_t n = x->done - x->since;

	if (!x->on || n < x->r.after)
		return false;
	n -= x->r.after;
	if (x->r.every)
		n %= x->r.every;
	return !x->r.length || n < x->r.length;
}

/* Nothing passes any more, whatever comes. */
static bool is_over(const struct region *x)
{
	const struct pm_region *r = &x->r;

	if (r->stop.kind == PM_POINT_COUNT && x->done >= r->stop.value)
		return true;
	return r->length && !r->every && r->stop.kind == PM_POINT_NONE && x->on &&
	       x->done - x->since >= r->after && x->done - x->since - r->after >= r->length;
}

bool pm_region_over(const void *self)
{
	return __atomic_load_n(&((const struct region *)self)->over, __ATOMIC_RELAXED);
}

static uint64_t region_idle(const void *self)
{
	const struct region *x = self;
	uint64_t n = x->done - x->since;

	if (x->r.stop.kind == PM_POINT_COUNT && x->done >= x->r.stop.value)
		return UINT64_MAX;
	if (!x->on && x->r.start.kind == PM_POINT_COUNT)
		return x->done < x->r.start.value ? x->r.start.value - x->done : 0;
	if (!x->on)
		return UINT64_MAX;
	if (n < x->r.after)
		return x->r.after - n;
	n -= x->r.after;
	if (x->r.every)
		n %= x->r.every;
	if (!x->r.length || n < x->r.length)
		return 0;
	return x->r.every ? x->r.every - n : UINT64_MAX;
}

static uint32_t region_rests(const void *self)
{
	const struct region *x = self;
	const struct pm_region *r = &x->r;
	uint64_t sum = 1;

	for (int i = 0; i < 2; i++) {
		const struct pm_point *p = point_of(x, i);

		if (p->kind == PM_POINT_ADDRESS)
			sum = pm_mix(&p->value, sizeof p->value, sum + (uint64_t)i);
		else if (p->kind == PM_POINT_FUNCTION)
			sum = pm_mix(p->function, strlen(p->function), sum + (uint64_t)i);
	}
	return r->after || r->length || r->start.kind != PM_POINT_NONE ||
			       r->stop.kind != PM_POINT_NONE
		       ? (uint32_t)sum | 1
		       : 0;
}

static void region_points(void *self, const char *path, uint64_t base, struct pm_buf *to)
{
	struct region *x = self;
	struct places in_file[2];

	find_points(x, path, in_file);
	for (int i = 0; i < 2; i++) {
		if (point_of(x, i)->kind == PM_POINT_ADDRESS)
			pm_buf_add(to, &point_of(x, i)->value, sizeof(uint64_t));
		for (size_t k = 0; k < in_file[i].n; k++)
			pm_buf_add(to, &(uint64_t){ in_file[i].v[k] + base }, sizeof(uint64_t));
	}
}

static enum pm_drop region_drop(void *self, const struct pm_code *code, uint32_t block)
{
	const struct pm_block *b = &code->block[block];
	const struct pm_insn *in = code->insn + b->insn;
	struct region *x = self;
	const struct of_object *o;

	look_at_objects(x, code);
	if (!b->n)
		return PM_DROP_NEVER;
	o = object_of(x, in->object);
	for (int i = 0; i < 2; i++)
		if (holds(x, i, o, b->pc, in[b->n - 1].pc + 1))
			return PM_DROP_NEVER;
	return is_excluded(x, in->object) ? PM_DROP_ALWAYS : PM_DROP_IDLE;
}

/* @n instructions are next: do they pass? */
static bool pass(struct region *x, struct of_stream *st, bool excluded, uint64_t n)
{
	bool in = inside(x) && !excluded;

	x->done += n;
	x->passed += in ? n : 0;
	if (in && st->lost) {
		put(x, &(struct pm_event){ .kind = PM_EV_LOST, .id = PM_NONE, .value = st->lost });
		st->lost = 0;
	}
	if (!in)
		st->lost += n;
	st->last_in = in;
	return in;
}

static enum pm_status region_consume(void *self, const struct pm_batch *b, const struct pm_emit *to,
				     struct pm_err *err)
{
	struct region *x = self;
	struct pm_batch out = *b;
	struct of_stream *st;

	while (b->stream->index >= x->nstream) {
		x->stream = pm_realloc(x->stream, (x->nstream + 64) * sizeof *x->stream);
		memset(x->stream + x->nstream, 0, 64 * sizeof *x->stream);
		x->nstream += 64;
	}
	st = &x->stream[b->stream->index];
	if (b->code && x->nobject < b->code->nobject)
		look_at_objects(x, b->code);
	x->n = 0;
	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *ev = &b->ev[i];
		const struct pm_insn *in;
		uint32_t object;

		switch (ev->kind) {
		case PM_EV_BLOCK:
			if (!b->code || ev->id >= b->code->nblock)
				return pm_fail(err, 0, "block number %u is not in the code table",
					       ev->id);
			in = b->code->insn + b->code->block[ev->id].insn;
			points(x, object_of(x, in->object), ev->addr,
			       ev->value ? in[ev->value - 1].pc + 1 : ev->addr);
			if (pass(x, st, is_excluded(x, in->object), ev->value))
				put(x, ev);
			break;
		case PM_EV_INSN:
			object = b->code && ev->id < b->code->ninsn ? b->code->insn[ev->id].object
								    : PM_NONE;
			points(x, object_of(x, object), ev->addr, ev->addr + 1);
			if (pass(x, st, is_excluded(x, object), 1))
				put(x, ev);
			break;
		case PM_EV_READ: case PM_EV_WRITE: case PM_EV_MODIFY: case PM_EV_BRANCH:
		case PM_EV_REP_ITER: case PM_EV_REP_END: case PM_EV_UOP: case PM_EV_LINE:
		case PM_EV_REG_READ: case PM_EV_REG_WRITE:
			if (st->last_in)
				put(x, ev);
			break;
		case PM_EV_LOST:		/* the source has dropped them for us */
			x->done += ev->value;
			st->lost += ev->value;
			st->last_in = false;
			break;
		case PM_EV_SIGNAL:
			if (x->r.start.kind == PM_POINT_SIGNAL && ev->value == x->r.start.value)
				begin(x);
			else if (x->r.stop.kind == PM_POINT_SIGNAL && ev->value == x->r.stop.value)
				end(x);
			put(x, ev);
			break;
		default:
			put(x, ev);
			break;
		}
	}
	if (is_over(x))
		__atomic_store_n(&x->over, true, __ATOMIC_RELAXED);
	if (!x->n)
		return PM_OK;
	out.ev = x->ev;
	out.n = x->n;
	return to->batch(to->to, &out, err);
}

void pm_region_story(const void *self, struct pm_region_story *s)
{
	const struct region *x = self;

	*s = (struct pm_region_story){ .executed = x->done, .passed = x->passed };
	for (int i = 0; i < 2; i++) {
		s->reached[i] = x->reached[i];
		s->known[i] = point_of(x, i)->kind != PM_POINT_FUNCTION;
		for (size_t k = 0; k < x->nfound; k++)
			s->known[i] |= x->found[k].at[i].n > 0;
	}
}

const char *pm_region_file(const void *self, size_t i)
{
	const struct region *x = self;

	return i < x->nfound ? x->found[i].path : NULL;
}

static void region_destroy(void *self)
{
	struct region *x = self;

	if (!x)
		return;
	free(x->object);
	free(x->stream);
	free(x->ev);
	for (size_t i = 0; i < x->nfound; i++) {
		free(x->found[i].path);
		free(x->found[i].at[0].v);
		free(x->found[i].at[1].v);
	}
	free(x->found);
	pthread_mutex_destroy(&x->lock);
	free(x);
}

const struct pm_transform_ops pm_region_ops = {
	.name = "region",
	.needs = PM_HAS_INSNS,
	.flags = PM_SINK_BLOCKS,
	.consume = region_consume,
	.destroy = region_destroy,
	.idle = region_idle,
	.drop = region_drop,
	.rests = region_rests,
	.points = region_points,
};
