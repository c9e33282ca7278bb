/* SPDX-License-Identifier: MIT */
/* find_parts.c - several replays find calls and stores, each in other parts of the trace
 *
 * Workers, processes of our own, replay the recording, and take the parts that nobody else has, as
 * those that make a trace do (trace_parts.h). What each has found it leaves in a file. Its parts
 * say at which safepoints all threads were as they began. Where a thread was behind that safepoint
 * follows from the part in which it was before, so parts are gone through in order. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/temp.h"
#include "collect/query/query_work.h"
#include "collect/query/trace_parts.h"
#include "collect/query/workers.h"
#include "collect/record/recording.h"

struct find_shared {			/* memory that all of us have */
	uint32_t owner[PARTS_MOST];	/* 1 + number of the worker that has taken a part */
};

struct found_file {			/* what is in the file of a worker, behind this: */
	uint64_t complete;
	enum pm_status st;
	struct pm_err err;		/* .file is the worker's */
	bool found;			/* as of struct spots */
	size_t npart, nat, nspot, npid;	/* struct spots_part, pm_position, spot; pairs of u64 */
	size_t nobject;			/* its base, its path and its build id, "": none */
};

struct find_worker {
	struct find_shared *all;
	unsigned number;
	pid_t pid;
	int fd;				/* its file */
	struct found_file is;
	uint8_t *bytes;			/* what follows that */
	size_t n;
	const struct spots_part *part;	/* what is in there; */
	const struct pm_position *at;	/* ... of the next part, as are these */
	const struct spot *spot;
	size_t next;			/* part */
	uint32_t *object;		/* the number that each of its objects has for all */
};

/* ---- workers --------------------------------------------------------------------------------- */
static bool takes(void *self, uint32_t part)
{
	const struct find_worker *w = self;
	uint32_t nobody = 0;

	return __atomic_compare_exchange_n(&w->all->owner[part], &nobody, 1 + w->number, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void put_found(struct pm_buf *b, struct found_file *f, const struct spots *s,
		      const struct spots_parts *p)
{
	uint64_t pair[2];
	size_t k = 0;

	f->npart = p->n;
	f->nat = p->nat;
	f->nspot = s->n;
	f->nobject = s->nobject;
	pm_buf_add(b, p->v, p->n * sizeof *p->v);
	pm_buf_add(b, p->at, p->nat * sizeof *p->at);
	pm_buf_add(b, s->v, s->n * sizeof *s->v);
	while (pm_map_next(&s->pid, &k, &pair[0], &pair[1])) {
		pm_buf_add(b, pair, sizeof pair);
		f->npid++;
	}
	for (size_t i = 0; i < s->nobject; i++) {
		pm_buf_add(b, &s->object[i].base, sizeof s->object[i].base);
		worker_put_text(b, s->object[i].path);
		worker_put_text(b, s->object[i].build_id);
	}
}

/* In a process of its own, which ends here. */
static void worker_main(struct find_worker *me, const char *recording,
			const struct spots_wanted *wanted, const struct pm_run_opts *o,
			uint64_t every)
{
	struct spots_parts parts = { .every = every, .self = me, .takes = takes };
	struct spots_wanted w = *wanted;
	struct found_file f = { 0 };
	struct pm_run_opts run = *o;
	struct pm_err err = { 0 };
	struct pm_buf b = { 0 };
	struct spots s;

	if (me->number)				/* one says it */
		run.warn = (struct pm_warn){ 0 };
	w.parts = &parts;
	f.st = spots_find(recording, &w, &run, &s, &f.err);
	f.found = s.found;
	put_found(&b, &f, &s, &parts);
	f.complete = sizeof f + b.n;
	if (pm_temp_write(me->fd, b.p, b.n, sizeof f, &err) == PM_OK)
		pm_temp_write(me->fd, &f, sizeof f, 0, &err);
	_exit(0);
}

static enum pm_status start(struct find_worker *w, unsigned n, struct find_shared *all,
			    const char *recording, const struct spots_wanted *wanted,
			    const struct pm_run_opts *o, uint64_t every, struct pm_err *err)
{
	for (unsigned i = 0; i < n; i++) {
		w[i].all = all;
		w[i].number = i;
		w[i].fd = pm_temp_file(err);
		if (w[i].fd < 0)
			return PM_ERR;
		if (worker_fork(&w[i].pid, err) != PM_OK)
			return PM_ERR;
		if (!w[i].pid)
			worker_main(&w[i], recording, wanted, o, every);
	}
	return PM_OK;
}

static void release(struct find_worker *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		worker_end(w[i].pid);
		if (w[i].fd >= 0)
			close(w[i].fd);
		free(w[i].bytes);
		free(w[i].object);
	}
}

/* ---- what they have found -------------------------------------------------------------------- */
static const char *get_text(const uint8_t **p)
{
	const char *const s = (const char *)*p;

	*p += strlen(s) + 1;
	return s;
}

/* Each object once. */
static void get_objects(struct find_worker *w, const uint8_t *p, struct spots *to)
{
	w->object = pm_alloc((w->is.nobject + 1) * sizeof *w->object);
	for (size_t i = 0; i < w->is.nobject; i++) {
		const char *path, *build_id;
		uint64_t base;
		size_t k = 0;

		memcpy(&base, p, sizeof base);
		p += sizeof base;
		path = get_text(&p);
		build_id = get_text(&p);
		while (k < to->nobject && (to->object[k].base != base ||
					   strcmp(to->object[k].path, path)))
			k++;
		if (k == to->nobject)
			spots_object(to, path, *build_id ? build_id : NULL, base);
		w->object[i] = (uint32_t)k;
	}
}

/* All that is in its file but for its spots, into @to. */
static enum pm_status get_found(struct find_worker *w, struct spots *to, struct pm_err *err)
{
	struct pm_err none = { 0 };
	const uint8_t *p;
	uint64_t pair[2];

	if (pm_temp_read(w->fd, &w->is, sizeof w->is, 0, &none) != PM_OK || !w->is.complete) {
		w->is = (struct found_file){ 0 };
		return pm_fail_file(err, "a replay that finds has died");
	}
	w->n = w->is.complete - sizeof w->is;
	w->bytes = pm_alloc_unset(w->n + 1);
	if (pm_temp_read(w->fd, w->bytes, w->n, sizeof w->is, err) != PM_OK) {
		w->is = (struct found_file){ 0 };
		return PM_ERR;
	}
	w->part = (const void *)w->bytes;
	w->at = (const void *)(w->part + w->is.npart);
	w->spot = (const void *)(w->at + w->is.nat);
	p = (const void *)(w->spot + w->is.nspot);
	for (size_t i = 0; i < w->is.npid; i++, p += sizeof pair) {
		memcpy(pair, p, sizeof pair);
		*pm_map_put(&to->pid, pair[0], NULL) = pair[1];
	}
	get_objects(w, p, to);
	to->found |= w->is.found;
	return PM_OK;
}

/* Of whoever has died nothing is known. */
static enum pm_status await(struct find_worker *w, unsigned n, const char *recording,
			    struct spots *to, struct pm_err *err)
{
	enum pm_status st = PM_OK;
	struct pm_err late = *err;

	for (unsigned i = 0; i < n; i++) {
		struct pm_err *e = st == PM_OK ? err : &late;

		waitpid(w[i].pid, NULL, 0);
		w[i].pid = 0;
		if (get_found(&w[i], to, e) != PM_OK) {
			st = PM_ERR;
		} else if (w[i].is.st != PM_OK) {
			*e = w[i].is.err;
			e->file = e->file ? recording : NULL;
			st = PM_ERR;
		}
	}
	return st;
}

/* ---- in order -------------------------------------------------------------------------------- */
struct whereabouts {			/* of threads, at the end of the parts so far */
	struct pm_position *v;
	size_t n, cap;
};

static struct pm_position *thread_in(struct whereabouts *a, uint32_t tid)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->v[i].tid == tid)
			return &a->v[i];
	pm_grow(a->v, a->n, a->cap);
	a->v[a->n] = (struct pm_position){ .tid = tid };
	return &a->v[a->n++];
}

/* @at, in a part that begins when threads are at @a. */
static void place(struct whereabouts *a, struct pm_position *at)
{
	if (at->insns > SPOT_SOMEWHERE / 2)
		at->insns += thread_in(a, at->tid)->insns - SPOT_SOMEWHERE;
}

/* The next part of @w. */
static void add_part(struct find_worker *w, struct whereabouts *a, struct spots *to)
{
	const struct spots_part *p = &w->part[w->next++];

	for (uint32_t i = 0; i < p->nbegin; i++, w->at++) {
		struct pm_position *t = thread_in(a, w->at->tid);

		if (t->clock != w->at->clock)	/* it has passed that with its last instruction */
			*t = *w->at;
	}
	for (size_t i = 0; i < p->nspot; i++, w->spot++) {
		struct spot s = *w->spot;

		place(a, &s.at);
		if (s.object != PM_NONE)
			s.object = w->object[s.object];
		pm_grow(to->v, to->n, to->cap);
		to->v[to->n++] = s;
	}
	for (uint32_t i = 0; i < p->nend; i++, w->at++) {
		struct pm_position t = *w->at;

		place(a, &t);
		*thread_in(a, t.tid) = t;
	}
}

static void add_parts(struct find_worker *w, struct spots *to)
{
	struct whereabouts a = { 0 };

	for (uint32_t i = 0; i < PARTS_MOST && w->all->owner[i]; i++) {
		struct find_worker *const x = &w[w->all->owner[i] - 1];

		if (x->next < x->is.npart && x->part[x->next].number == i)
			add_part(x, &a, to);
	}
	free(a.v);
}

static enum pm_status find(struct find_worker *w, unsigned n, struct find_shared *all,
			   const char *recording, const struct spots_wanted *wanted,
			   const struct pm_run_opts *o, uint64_t every, struct spots *to,
			   struct pm_err *err)
{
	enum pm_status st;

	if (start(w, n, all, recording, wanted, o, every, err) != PM_OK)
		return PM_ERR;
	st = await(w, n, recording, to, err);
	add_parts(w, to);
	return st;
}

enum pm_status spots_find_parts(const char *recording, const struct spots_wanted *wanted,
				const struct pm_run_opts *o, unsigned workers, struct spots *to,
				struct pm_err *err)
{
	struct find_worker w[PARTS_WORKERS] = { 0 };
	struct find_shared *all;
	struct rec_reader *r;
	enum pm_status st;
	uint64_t every;
	bool possible;

	*to = (struct spots){ 0 };
	if (workers < 2 || wanted->most)
		return spots_find(recording, wanted, o, to, err);
	if (rec_open(recording, &r, err) != PM_OK)
		return PM_ERR;
	possible = parts_possible(r);
	every = possible ? parts_length(r, workers) : 0;
	rec_close(r);
	if (!possible)
		return spots_find(recording, wanted, o, to, err);
	all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (all == MAP_FAILED)
		return pm_fail_errno(err, "cannot map shared memory");
	for (unsigned i = 0; i < PARTS_WORKERS; i++)
		w[i].fd = -1;
	st = find(w, workers, all, recording, wanted, o, every, to, err);
	release(w, workers);
	munmap(all, sizeof *all);
	return st;
}
