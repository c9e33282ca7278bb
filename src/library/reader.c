/* SPDX-License-Identifier: MIT */
/* reader.c - pm_reader_*: a trace batch by batch
 *
 * What transforms emit for one batch of the trace is queued (parcel.h) until it has been lent.
 * Where nothing lies between the trace and the caller, its own batches are lent. A caller who keeps
 * a batch gets a queued one as it is, of the trace's own a copy. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "library/about.h"
#include "library/handle.h"
#include "library/keep.h"
#include "library/reader.h"
#include "trace/pug_file.h"
#include "trace/sinks.h"

/* Emitted batches become one of about so many events: they cost a caller as much as larger ones. */
#define JOIN_EVENTS	(1u << 15)
#define DROPPED_MAX	64		/* batches of the trace, before a caller hears of it */

struct reader {
	struct pm_reading *in;
	bool blocks;
	bool ended;			/* the trace is; what is in the queue is not */
	bool started;
	struct pm_pipeline *p;		/* NULL: nothing lies between */
	struct pm_parcel *queue;	/* [lent .. n) are to be lent yet */
	size_t n, cap, lent;
	struct pm_batch b;		/* what is lent where nothing lies between */
	struct pm_kept_room *room;	/* NULL: nothing has been kept */
	char *note;			/* the name that was lent last */
	struct pm_err err;		/* what ended it */
};

struct pm_reader *pm_reader_open(const char *path, const char *format, struct pm_err *err)
{
	struct pm_reader *handle = NULL;
	struct pm_reading *in;
	struct pm_err own;
	struct reader *r;

	err = pm_call_begin(err, &own);
	in = pm_reading_open(path, format, err);
	if (in) {
		r = pm_alloc(sizeof *r);
		r->in = in;
		handle = pm_handle_new(PM_HANDLE_READER, r, err);
		if (!handle) {
			pm_reading_close(in);
			free(r);
		}
	}
	pm_call_end(err);
	return handle;
}

enum pm_status pm_reader_about(struct pm_reader *reader, struct pm_reader_about *about,
			       struct pm_err *err)
{
	struct pm_reader_about a = { 0 };
	enum pm_status s;
	struct pm_err own;
	struct reader *r;

	err = pm_call_begin(err, &own);
	r = pm_handle_get(reader, PM_HANDLE_READER, err);
	if (!r)
		return PM_ERR;
	a.facts = r->blocks ? r->in->facts : r->in->facts & ~PM_HAS_BLOCKS;
	a.format = r->in->which->name;
	a.bytes = r->in->bytes;
	a.part = pm_trace_part(&r->in->src);
	s = pm_about_fill(about, &a, sizeof a, err);
	pm_handle_release(reader);
	return s;
}

/* "name=value" and a zero, ..., one more zero; only .pug has notes. */
static const char *notes_of(const struct reader *r)
{
	return strcmp(r->in->which->name, "pug") ? "" :
	       pug_read_info(pm_trace_reader(&r->in->src));
}

const char *pm_reader_note(struct pm_reader *reader, const char *name, struct pm_err *err)
{
	const char *found = NULL;
	struct pm_err own;
	struct reader *r;
	size_t n;

	err = pm_call_begin(err, &own);
	r = pm_handle_get(reader, PM_HANDLE_READER, err);
	if (!r)
		return NULL;
	if (!name) {
		pm_fail_file(err, "the note's name is NULL");
	} else {
		n = strlen(name);
		for (const char *s = notes_of(r); *s && !found; s += strlen(s) + 1)
			if (!strncmp(s, name, n) && s[n] == '=')
				found = s + n + 1;
	}
	pm_handle_release(reader);
	return found;
}

/* False: there are not so many. */
static bool find_note(struct reader *r, size_t i, const char **name, const char **value)
{
	for (const char *s = notes_of(r); *s; s += strlen(s) + 1) {
		const char *equal = strchr(s, '=');

		if (!equal || i--)
			continue;
		free(r->note);
		r->note = pm_strdup(s);
		r->note[equal - s] = 0;
		*name = r->note;
		*value = equal + 1;
		return true;
	}
	return false;
}

enum pm_status pm_reader_note_at(struct pm_reader *reader, size_t i, const char **name,
				 const char **value, struct pm_err *err)
{
	enum pm_status s = PM_END;
	struct pm_err own;
	struct reader *r;

	err = pm_call_begin(err, &own);
	r = pm_handle_get(reader, PM_HANDLE_READER, err);
	if (!r)
		return PM_ERR;
	if (!name || !value)
		s = pm_fail_file(err, "the place for the note is NULL");
	else if (find_note(r, i, name, value))
		s = PM_OK;
	pm_handle_release(reader);
	return s;
}

enum pm_status pm_reader_transform(struct pm_reader *reader, const char *spec, struct pm_err *err)
{
	enum pm_status s;
	struct pm_err own;
	struct reader *r;

	err = pm_call_begin(err, &own);
	r = pm_handle_get(reader, PM_HANDLE_READER, err);
	if (!r)
		return PM_ERR;
	s = pm_reading_transform(r->in, spec, err);
	pm_call_end(err);
	pm_handle_release(reader);
	return s;
}

enum pm_status pm_reader_blocks(struct pm_reader *reader, struct pm_err *err)
{
	enum pm_status s = PM_OK;
	struct pm_err own;
	struct reader *r;

	err = pm_call_begin(err, &own);
	r = pm_handle_get(reader, PM_HANDLE_READER, err);
	if (!r)
		return PM_ERR;
	if (r->in->begun)
		s = pm_fail_file(err, "reading has begun; blocks are asked for too late");
	else
		r->blocks = true;
	pm_handle_release(reader);
	return s;
}

struct pm_reading *pm_reader_begin(struct pm_reader *reader, struct pm_err *err)
{
	struct reader *r = pm_handle_get(reader, PM_HANDLE_READER, err);

	if (!r)
		return NULL;
	if (!r->in->begun)
		return r->in;
	pm_handle_release(reader);
	pm_fail_file(err, "reading has begun; a trace is read at once or batch by batch");
	return NULL;
}

void pm_reader_end(struct pm_reader *reader)
{
	pm_handle_release(reader);
}

/* ---- batch by batch ------------------------------------------------------------------------- */

/* Can @b be put behind @last? It is so if it refers to nothing of its own. */
static bool continues(const struct pm_batch *last, const struct pm_batch *b)
{
	return b->stream == last->stream && b->code == last->code &&
	       !(b->nuop | b->nbus | b->nrare | b->narena) && last->n < JOIN_EVENTS;
}

static enum pm_status queue(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct reader *r = self;

	if (!b->n)
		return PM_OK;
	if (r->n && continues(&r->queue[r->n - 1].b, b)) {
		pm_parcel_join(r->queue + r->n - 1, b);
		return PM_OK;
	}
	if (r->n == r->cap) {
		r->queue = pm_realloc(r->queue, (r->cap + 8) * sizeof *r->queue);
		memset(r->queue + r->cap, 0, 8 * sizeof *r->queue);
		r->cap += 8;
	}
	pm_parcel_fill(r->queue + r->n, b, NULL);
	r->queue[r->n++].b.sizes = &pm_struct_sizes;
	return PM_OK;
}

static const struct pm_sink_ops queue_ops = {
	.abi = PM_ABI, .name = "reading", .about = "batches for the caller", .consume = queue,
}, queue_blocks_ops = {
	.abi = PM_ABI, .name = "reading", .about = "batches for the caller", .consume = queue,
	.flags = PM_SINK_BLOCKS,
};

static enum pm_status start(struct reader *r, struct pm_err *err)
{
	const bool expands = r->in->src.facts & PM_HAS_BLOCKS && !r->blocks;

	r->started = true;
	if (!expands && !r->in->nspec) {
		r->in->begun = true;
		return PM_OK;
	}
	r->p = pm_reading_pipeline(r->in, 0, err);
	if (!r->p)
		return PM_ERR;
	pm_pipeline_sink(r->p, r->blocks ? &queue_blocks_ops : &queue_ops, r);
	return pm_pipeline_start(r->p, r->in->src.facts, r->in->which->plural, err);
}

/* Of the trace as it is. */
static enum pm_status next_own(struct reader *r, const struct pm_batch **b, struct pm_err *err)
{
	enum pm_status s;

	do {
		*b = NULL;
		s = r->in->src.ops->next(r->in->src.self, b, err);
	} while (s == PM_OK && !(*b)->n);
	if (s != PM_OK)
		return s;
	r->b = **b;
	r->b.sizes = &pm_struct_sizes;
	*b = &r->b;
	return PM_OK;
}

/* @again: PM_OK without a batch if much has been dropped. */
static enum pm_status next_made(struct reader *r, bool again, const struct pm_batch **b,
				struct pm_err *err)
{
	for (unsigned dropped = 0; r->lent == r->n; dropped++) {
		const struct pm_batch *from = NULL;
		enum pm_status s = PM_END;

		if (r->ended)
			return PM_END;
		if (again && dropped == DROPPED_MAX)
			return PM_OK;
		r->n = r->lent = 0;
		if (!pm_reading_done(r->in))
			s = r->in->src.ops->next(r->in->src.self, &from, err);
		if (s == PM_OK && pm_pipeline_push(r->p, from, err) == PM_OK)
			continue;
		/* of a damaged trace, what came before the damage is shown */
		r->ended = true;
		if (s != PM_END)
			r->err = *err;
		if (pm_pipeline_finish(r->p, NULL, err) == PM_ERR && !pm_failed(&r->err))
			r->err = *err;
		*err = (struct pm_err){ 0 };
		if (r->lent == r->n && pm_failed(&r->err))
			return PM_ERR;
	}
	*b = &r->queue[r->lent++].b;
	return PM_OK;
}

static enum pm_status next(struct reader *r, bool again, const struct pm_batch **b,
			   struct pm_err *err)
{
	enum pm_status s = PM_OK;

	if (!r->started && r->in->begun)
		s = PM_END;		/* a simulation has read it */
	else if (!r->started)
		s = start(r, err);
	if (!s && r->p)
		s = pm_failed(&r->err) && r->lent == r->n ? PM_ERR : next_made(r, again, b, err);
	else if (!s)
		s = pm_failed(&r->err) ? PM_ERR : r->ended ? PM_END : next_own(r, b, err);
	if (s == PM_END)
		r->ended = true;
	if (s == PM_ERR && pm_failed(&r->err))
		*err = r->err;
	else if (s == PM_ERR)
		r->err = *err;
	return s;
}

enum pm_status pm_reader_next(struct pm_reader *reader, const struct pm_batch **b,
			      struct pm_err *err)
{
	enum pm_status s;
	struct pm_err own;
	struct reader *r;

	err = pm_call_begin(err, &own);
	if (b)
		*b = NULL;
	r = pm_handle_get(reader, PM_HANDLE_READER, err);
	if (!r)
		return PM_ERR;
	s = b ? next(r, false, b, err) : pm_fail_file(err, "the place for the batch is NULL");
	pm_call_end(err);
	pm_handle_release(reader);
	return s;
}

enum pm_status pm_reader_keep(struct pm_reader *reader, struct pm_kept **kept,
			      const struct pm_batch **b, struct pm_err *err)
{
	const struct pm_batch *lent = NULL;
	struct pm_kept *handle = NULL;
	struct pm_parcel *p;
	enum pm_status s = PM_ERR;
	struct pm_err own;
	struct reader *r;

	err = pm_call_begin(err, &own);
	if (kept)
		*kept = NULL;
	if (b)
		*b = NULL;
	r = pm_handle_get(reader, PM_HANDLE_READER, err);
	if (!r)
		return PM_ERR;
	if (!r->room)
		r->room = pm_kept_room_new();
	if (!b || !kept)
		pm_fail_file(err, "the place for the batch is NULL");
	else
		handle = pm_kept_new(r->room, &p, err);
	if (handle)
		s = next(r, true, &lent, err);
	if (lent && r->p) {
		struct pm_parcel *from = r->queue + r->lent - 1, spare = *p;

		*p = *from;
		*from = spare;
	} else if (lent) {
		pm_parcel_fill(p, lent, NULL);
	}
	if (lent) {
		*kept = handle;
		*b = &p->b;
	} else {
		pm_kept_close(handle, NULL);
	}
	pm_call_end(err);
	pm_handle_release(reader);
	return s;
}

enum pm_status pm_reader_close(struct pm_reader *reader, struct pm_err *err)
{
	struct pm_err own;
	struct reader *r;

	err = pm_call_begin(err, &own);
	if (!reader)
		return PM_OK;
	r = pm_handle_get(reader, PM_HANDLE_READER, err);
	if (!r)
		return PM_ERR;
	pm_handle_drop(reader);
	pm_pipeline_free(r->p);
	pm_reading_close(r->in);
	pm_kept_room_free(r->room);
	for (size_t i = 0; i < r->cap; i++)
		pm_parcel_release(r->queue + i);
	free(r->queue);
	free(r->note);
	free(r);
	return PM_OK;
}
