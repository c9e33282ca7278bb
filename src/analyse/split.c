/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyse/split.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/thread.h"
#include "trace/expand.h"
#include "trace/format.h"
#include "trace/pug_file.h"

#define SLICE_LEAST	1000000u	/* instructions: what is uncertain costs little then */
#define SLICE_MOST	8000000u	/* ... and what leaves a level fits into memory */
#define SLICES		16		/* for each thread, if there is enough: the last ones end at
					 * about the same time then */

struct splitter {
	const char *path;
	const struct pm_split *split;
	size_t nsplit;
	unsigned threads;
	struct pug_place *place;	/* where slices begin */
	size_t nslice, next;		/* next: nobody has begun it */
	pthread_mutex_t lock;
	pthread_cond_t turned;
	uint64_t (*turn)[16];		/* by split and stage: the slice that may join */
	bool stopped;			/* nobody shall wait any more */
	const char *why;		/* ... because it cannot be split; NULL: @err says why */
	struct pm_err err;
};

struct split_thread {
	struct splitter *s;
	pthread_t thread;
	void **part;
	void *expander;			/* NULL: the trace has no blocks */
};

/* ---- one thread ----------------------------------------------------------------------------- */

static void stop(struct splitter *s, const char *why, const struct pm_err *err)
{
	pthread_mutex_lock(&s->lock);
	if (!s->stopped) {
		s->stopped = true;
		s->why = why;
		if (err)
			s->err = *err;
	}
	pthread_cond_broadcast(&s->turned);
	pthread_mutex_unlock(&s->lock);
}

static enum pm_status consume_all(void *to, const struct pm_batch *b, struct pm_err *err)
{
	struct split_thread *t = to;

	for (size_t i = 0; i < t->s->nsplit; i++) {
		enum pm_status s = t->s->split[i].ops->consume(t->part[i], b, err);

		if (s == PM_END)
			stop(t->s, "the trace says what becomes of lines", NULL);
		if (s)
			return PM_ERR;
	}
	return PM_OK;
}

/* Does a slice that begins so belong to a block of the one before? */
static bool inside_block(const struct pm_event *e)
{
	return (e->kind >= PM_EV_READ && e->kind <= PM_EV_MODIFY) || e->kind == PM_EV_REP_ITER ||
	       e->kind == PM_EV_REP_END || e->kind == PM_EV_REG_READ ||
	       e->kind == PM_EV_REG_WRITE || e->kind == PM_EV_OPAQUE;
}

static enum pm_status read_slice(struct split_thread *t, struct pm_source *src, size_t slice,
				 struct pm_err *err)
{
	struct splitter *s = t->s;
	const struct pm_emit to = { consume_all, t };
	enum pm_status st = PM_OK;
	bool first = slice > 0;

	pug_read_part(pm_trace_reader(src), s->place + slice,
		      slice + 1 < s->nslice ? s->place + slice + 1 : NULL);
	while (!st && !__atomic_load_n(&s->stopped, __ATOMIC_RELAXED)) {
		const struct pm_batch *b;

		st = src->ops->next(src->self, &b, err);
		if (st)
			break;
		if (first && t->expander && b->n && inside_block(b->ev)) {
			stop(s, "a chunk of the trace begins inside a block", NULL);
			st = PM_ERR;
			break;
		}
		first = first && !b->n;
		st = t->expander ? pm_expand_ops.consume(t->expander, b, &to, err)
				 : consume_all(t, b, err);
	}
	if (st != PM_ERR && t->expander)
		st = pm_expand_ops.finish(t->expander, &to, err);
	return st == PM_ERR ? PM_ERR : PM_OK;
}

/* Wait for the slice before. False: there is no use in it any more. */
static bool await(struct splitter *s, size_t split, unsigned stage, size_t slice)
{
	bool go;

	pthread_mutex_lock(&s->lock);
	while (!s->stopped && s->turn[split][stage] != slice)
		pthread_cond_wait(&s->turned, &s->lock);
	go = !s->stopped;
	pthread_mutex_unlock(&s->lock);
	return go;
}

static void pass_on(struct splitter *s, size_t split, unsigned stage)
{
	pthread_mutex_lock(&s->lock);
	s->turn[split][stage]++;
	pthread_cond_broadcast(&s->turned);
	pthread_mutex_unlock(&s->lock);
}

static bool join_slice(struct split_thread *t, size_t slice)
{
	struct splitter *s = t->s;

	for (size_t i = 0; i < s->nsplit; i++) {
		const struct pm_split_ops *ops = s->split[i].ops;
		const unsigned stages = ops->stages(s->split[i].whole);

		for (unsigned k = 0; k < stages; k++) {
			if (!await(s, i, k, slice))
				return false;
			ops->join(t->part[i], k);
			pass_on(s, i, k);
			if (k + 1 < stages)
				ops->proceed(t->part[i], k);
		}
	}
	return true;
}

static void *run(void *arg)
{
	struct split_thread *t = arg;
	struct splitter *s = t->s;
	struct pm_source src = { 0 };
	struct pm_err err = { 0 };

	if (pm_trace_open(s->path, "pug", &src, NULL, &err) != PM_OK) {
		stop(s, NULL, &err);
		return NULL;
	}
	if (src.facts & PM_HAS_BLOCKS)
		t->expander = pm_expand_new();
	for (;;) {
		size_t slice = __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED);

		if (slice >= s->nslice)
			break;
		for (size_t i = 0; i < s->nsplit; i++)
			s->split[i].ops->begin(t->part[i]);
		if (read_slice(t, &src, slice, &err) != PM_OK) {
			stop(s, NULL, &err);
			break;
		}
		if (!join_slice(t, slice))
			break;
	}
	pm_expand_ops.destroy(t->expander);
	src.ops->close(src.self);
	return NULL;
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* The last @rest slices, which not all threads would have a part of, are cut in pieces. Who has one
 * decodes its chunk from the beginning, which takes less time than all that is done then. */
static void cut_last(struct splitter *s, const struct pug_place *chunk, size_t nchunk,
		     uint64_t insns, size_t rest)
{
	const size_t first = s->nslice - rest, most = s->threads / rest;
	struct pug_place *place = pm_alloc((first + rest * most) * sizeof *place);
	size_t n = first, in = 0;

	memcpy(place, s->place, first * sizeof *place);
	for (size_t i = first; i < s->nslice; i++) {
		const uint64_t from = s->place[i].insn,
			       size = (i + 1 < s->nslice ? s->place[i + 1].insn : insns) - from;
		const uint64_t fit = size / SLICE_LEAST, pieces = fit < most ? fit : most;

		place[n++] = s->place[i];
		for (uint64_t k = 1; k < pieces; k++) {
			const uint64_t at = from + size / pieces * k;

			while (in + 1 < nchunk && chunk[in + 1].insn <= at)
				in++;
			place[n++] = (struct pug_place){ chunk[in].event, at };
		}
	}
	free(s->place);
	s->place = place;
	s->nslice = n;
}

/* Slices of @least of the trace's @insns instructions, or more. */
static void cut_slices(struct splitter *s, const struct pug_place *chunk, size_t nchunk,
		       uint64_t insns, uint64_t least)
{
	uint64_t wanted = 0;

	s->place = pm_alloc((nchunk + 1) * sizeof *s->place);
	for (size_t i = 0; i < nchunk; i++) {
		/* what is left at the end belongs to the last one, if it is little */
		if (chunk[i].insn < wanted || (i && insns - chunk[i].insn < least / 2))
			continue;
		s->place[s->nslice++] = chunk[i];
		wanted = chunk[i].insn + least;
	}
	if (s->nslice % s->threads)
		cut_last(s, chunk, nchunk, insns, s->nslice % s->threads);
}

/* Where slices begin. PM_END: the trace cannot be split. */
static enum pm_status cut_trace(struct splitter *s, struct pm_err *err)
{
	const struct pm_format *which = NULL;
	struct pug_totals totals = { 0 };
	struct pm_source src = { 0 };
	struct pug_place *chunk = NULL;
	struct stat is;
	size_t nchunk = 0;
	uint64_t least, most = SLICE_MOST;
	enum pm_status st;

	if (stat(s->path, &is) || !S_ISREG(is.st_mode)) {
		s->why = "it can be read only once";
		return PM_END;
	}
	st = pm_trace_open(s->path, NULL, &src, &which, err);
	if (st)
		return st;
	if (strcmp(which->name, "pug")) {
		s->why = "only .pug files can be read in parts";
		st = PM_END;
	} else {
		st = pug_read_totals(pm_trace_reader(&src), &totals, err);
	}
	if (!st && !totals.whole)
		s->why = "it has no index";
	else if (!st && src.facts & PM_HAS_BLOCKS && totals.nstream > 1)
		s->why = "it is of several threads";
	if (s->why)
		st = PM_END;
	if (!st) {
		least = totals.tally.insns / s->threads / SLICES;
		for (size_t i = 0; i < s->nsplit; i++)
			if (s->split[i].ops->slice_most && most > s->split[i].ops->slice_most)
				most = s->split[i].ops->slice_most;
		least = least < SLICE_LEAST ? SLICE_LEAST : least > most ? most : least;
		st = pug_read_places(pm_trace_reader(&src), &chunk, &nchunk, err);
		if (!st)
			cut_slices(s, chunk, nchunk, totals.tally.insns, least);
	}
	free(chunk);
	src.ops->close(src.self);
	return st;
}

static void start_all(struct splitter *s, struct split_thread *t)
{
	for (unsigned k = 0; k < s->threads; k++) {
		t[k] = (struct split_thread){ .s = s };
		t[k].part = pm_alloc(s->nsplit * sizeof(void *));
		for (size_t i = 0; i < s->nsplit; i++)
			t[k].part[i] = s->split[i].ops->part_new(s->split[i].whole);
	}
	for (unsigned k = 1; k < s->threads; k++)
		if (!pm_thread_start(&t[k].thread, run, t + k)) {
			struct pm_err err = { 0 };

			pm_fail_file(&err, "no thread could be started");
			stop(s, NULL, &err);
			s->threads = k;
		}
}

enum pm_status pm_split_run(const char *path, unsigned threads, const struct pm_split *split,
			    size_t n, const char **why, struct pm_err *err)
{
	struct splitter s = { .path = path, .split = split, .nsplit = n, .threads = threads,
			      .lock = PTHREAD_MUTEX_INITIALIZER,
			      .turned = PTHREAD_COND_INITIALIZER };
	struct split_thread *t = pm_alloc(threads * sizeof *t);
	enum pm_status st = cut_trace(&s, err);

	if (!st) {
		s.turn = pm_alloc(n * sizeof *s.turn);
		start_all(&s, t);
		run(t);
		for (unsigned k = 1; k < s.threads; k++)
			pthread_join(t[k].thread, NULL);
		for (unsigned k = 0; k < threads; k++) {
			for (size_t i = 0; t[k].part && i < n; i++)
				split[i].ops->part_end(t[k].part[i]);
			free(t[k].part);
		}
		st = s.stopped ? s.why ? PM_END : PM_ERR : PM_OK;
		if (st == PM_ERR)
			*err = s.err;
	}
	for (size_t i = 0; i < n; i++)
		(st ? split[i].ops->give_up : split[i].ops->end)(split[i].whole);
	*why = s.why;
	free(s.turn);
	free(s.place);
	free(t);
	return st;
}
