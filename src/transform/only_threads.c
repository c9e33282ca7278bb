/* SPDX-License-Identifier: MIT */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "transform/only_threads.h"

#define NAME_MAX	16		/* of the kernel's, with its 0 */

struct only_stream {
	char name[NAME_MAX];		/* "": not known */
	bool begun, wanted;
	uint64_t lost;			/* instructions since it passed last */
};

struct only_threads {
	const char *const *want;
	unsigned nwant;
	bool *found;
	struct only_stream *stream;
	size_t nstream, cap_stream;
	struct pm_event *ev;
	size_t cap_ev;
	uint64_t passed;
};

void *pm_only_threads_new(const char *const *want, unsigned n)
{
	struct only_threads *o = pm_alloc(sizeof *o);

	o->want = want;
	o->nwant = n;
	o->found = pm_alloc(n + 1);
	return o;
}

uint64_t pm_only_threads_passed(const void *self)
{
	return ((const struct only_threads *)self)->passed;
}

static bool is_wanted(struct only_threads *o, const struct pm_stream *s, const char *name)
{
	bool wanted = false;

	for (unsigned i = 0; i < o->nwant; i++) {
		uint64_t tid;
		const bool is = pm_parse_u64(o->want[i], &tid) ? s->tid && tid == s->tid :
				*name && !fnmatch(o->want[i], name, 0);

		o->found[i] |= is;
		wanted |= is;
	}
	return wanted;
}

static void set_name(struct only_threads *o, const struct pm_stream *s, const char *name)
{
	struct only_stream *st = o->stream + s->index;
	const char *slash = strrchr(name, '/');

	snprintf(st->name, sizeof st->name, "%s", slash ? slash + 1 : name);
	st->wanted = is_wanted(o, s, st->name);
}

static void begin(struct only_threads *o, const struct pm_stream *s)
{
	while (o->nstream <= s->index) {
		pm_grow(o->stream, o->nstream, o->cap_stream);
		o->stream[o->nstream++] = (struct only_stream){ 0 };
	}
	if (o->stream[s->index].begun)
		return;
	o->stream[s->index].begun = true;
	set_name(o, s, "");
}

/* The name that begins with @e; NULL: none does. */
static const char *name_in(const struct pm_batch *b, const struct pm_event *e)
{
	const bool may = e->kind == PM_EV_EXEC || e->kind == PM_EV_PROCESS ||
			 e->kind == PM_EV_SYSRET;

	return may && e->id < b->nrare ? b->rare[e->id].name : NULL;
}

static uint64_t insns_of(const struct pm_event *ev, const struct pm_event *end)
{
	uint64_t n = 0;

	for (const struct pm_event *e = ev; e < end; e++)
		n += e->kind == PM_EV_BLOCK ? e->value : e->kind == PM_EV_INSN;
	return n;
}

/* The events from @ev up to @end, all of one state. */
static enum pm_status part(struct only_threads *o, const struct pm_batch *b,
			   const struct pm_event *ev, const struct pm_event *end,
			   const struct pm_emit *emit, struct pm_err *err)
{
	struct only_stream *st = o->stream + b->stream->index;
	const uint64_t insns = insns_of(ev, end);
	struct pm_batch out = *b;
	size_t n = (size_t)(end - ev);

	if (ev == end)
		return PM_OK;
	if (!st->wanted) {
		st->lost += insns;
		return PM_OK;
	}
	out.ev = ev;
	out.n = n;
	out.first_insn = b->first_insn + insns_of(b->ev, ev);
	if (st->lost) {
		if (o->cap_ev < n + 1) {
			o->cap_ev = n + 1;
			o->ev = pm_realloc(o->ev, o->cap_ev * sizeof *o->ev);
		}
		o->ev[0] = (struct pm_event){
			.kind = PM_EV_LOST, .id = PM_NONE, .value = st->lost
		};
		memcpy(o->ev + 1, ev, n * sizeof *ev);
		st->lost = 0;
		out.ev = o->ev;
		out.n = n + 1;
	}
	o->passed += insns;
	return emit->batch(emit->to, &out, err);
}

static enum pm_status consume(void *self, const struct pm_batch *b, const struct pm_emit *emit,
			      struct pm_err *err)
{
	struct only_threads *o = self;
	const struct pm_event *from = b->ev, *end = b->ev + b->n;

	if (!b->n)				/* time passes: pm_pipeline_tick() */
		return emit->batch(emit->to, b, err);
	begin(o, b->stream);
	for (const struct pm_event *e = b->ev; b->nrare && e < end; e++) {
		const char *name = name_in(b, e);

		if (!name)
			continue;
		if (part(o, b, from, e, emit, err) != PM_OK)
			return PM_ERR;
		from = e;
		set_name(o, b->stream, name);
	}
	return part(o, b, from, end, emit, err);
}

static enum pm_status finish(void *self, const struct pm_emit *emit, struct pm_err *err)
{
	const struct only_threads *o = self;
	struct pm_buf names = { 0 };

	(void)emit;
	for (unsigned i = 0; i < o->nwant; i++) {
		if (o->found[i])
			continue;
		for (size_t k = 0; k < o->nstream && k < 8; k++)
			if (*o->stream[k].name)
				pm_buf_printf(&names, "%s%s", names.n ? ", " : "",
					      o->stream[k].name);
		pm_fail_file(err, "--thread: there was no thread '%.40s'; threads %s%.*s%s",
			     o->want[i], names.n ? "are called " : "have no names here",
			     (int)names.n,
			     names.n ? (const char *)names.p : "",
			     o->nstream > 8 ? " and others" : "");
		pm_buf_release(&names);
		return PM_ERR;
	}
	return PM_OK;
}

static void destroy(void *self)
{
	struct only_threads *o = self;

	free(o->found);
	free(o->stream);
	free(o->ev);
	free(o);
}

const struct pm_transform_ops pm_only_threads_ops = {
	.name = "only-threads", .flags = PM_SINK_BLOCKS | PM_SINK_EPOCHS,
	.consume = consume, .finish = finish, .destroy = destroy,
};
