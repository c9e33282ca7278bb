/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/sims.h"
#include "base/err.h"
#include "base/result.h"
#include "base/thread.h"
#include "sweep/points_run.h"
#include "trace/format.h"
#include "trace/sinks.h"
#include "transform/adapt.h"
#include "transform/slice.h"

struct counter { char *path, *unit; uint64_t v; };
struct counters { struct counter *v; size_t n, cap; };

static void counters_release(struct counters *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].path);
		free(c->v[i].unit);
	}
	free(c->v);
	*c = (struct counters){ 0 };
}

/* Is it a number of different things? Those of two intervals may be the same ones. */
static bool of_different_things(const char *name)
{
	static const char *const names[] = {
		"functions", "edges", "loops", "contexts", "deepest",	/* calls, tree */
		"intervals", "blocks", "clusters",			/* phases */
		"pages", "data_lines", "lines", "shared_lines", "falsely_shared_lines", "slice",
		"objects", "windows", "blocks_distinct", "blocks_cover_90",
	};

	for (size_t i = 0; i < NR(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return !strncmp(name, "unique", 6);
}

/* All whole numbers below @n that add up. What a configuration says is among them; it is the same
 * in a warm-up, and drops out. */
static void flatten(const struct pm_result_node *n, const char *path, struct counters *to)
{
	for (const struct pm_result_node *c = n->first; c; c = c->next) {
		struct pm_buf b = { 0 };

		if (!c->name)
			continue;
		pm_buf_printf(&b, "%s%s%s", path, *path ? "." : "", c->name);
		pm_buf_add(&b, "", 1);
		if (c->kind == PM_RESULT_OBJECT) {
			flatten(c, (const char *)b.p, to);
		} else if (c->kind == PM_RESULT_U64 && !of_different_things(c->name)) {
			pm_grow(to->v, to->n, to->cap);
			to->v[to->n++] = (struct counter){ pm_strdup((const char *)b.p),
							   c->unit ? pm_strdup(c->unit) : NULL,
							   c->u64 };
		}
		pm_buf_release(&b);
	}
}

static const struct counter *counter_at(const struct counters *c, size_t i, const char *path)
{
	if (i < c->n && !strcmp(c->v[i].path, path))
		return c->v + i;
	for (i = 0; i < c->n; i++)
		if (!strcmp(c->v[i].path, path))
			return c->v + i;
	return NULL;
}

/* What the simulators count in the first @insns instructions of @file. */
static enum pm_status simulate(const char *file, const char *const *spec, uint64_t insns,
			       struct counters *to, struct pm_err *err)
{
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_result *r = pm_result_new();
	const struct pm_format *which = NULL;
	struct pm_source src = { 0 };
	struct pm_slice_opts o = { .count = insns, .time_to = UINT64_MAX };
	enum pm_status s = pm_trace_open(file, "pug", &src, &which, err);
	void *slice;

	o.facts = src.facts;
	slice = pm_slice_new(&o);
	pm_pipeline_transform(p, &pm_slice_ops, slice);
	for (; !s && *spec; spec++)
		s = pm_sink_add(p, *spec, pm_sims, err);
	if (!s) {
		pm_adapt(p, src.facts, pm_pipeline_needs(p), NULL);
		s = pm_sims_check(p, src.facts, which->plural, err);
	}
	if (!s)
		s = pm_pipeline_start(p, src.facts, which->plural, err);
	if (!s)
		s = pm_pipeline_run_until(p, &src, r, pm_slice_done, slice, err);
	if (!s)
		flatten(pm_result_root(r), "", to);
	pm_pipeline_free(p);
	if (src.ops)
		src.ops->close(src.self);
	pm_result_free(r);
	return s;
}

/* ---- all points, by threads ----------------------------------------------------------------- */

struct run {
	const char *dir;
	const struct pm_points *p;
	const struct points_options *o;
	struct counters *got;		/* by point: of its interval */
	pthread_mutex_t lock;
	size_t next, done;
	enum pm_status st;
	struct pm_err err;
};

static enum pm_status simulate_point(const struct run *r, size_t i, struct pm_err *err)
{
	const struct pm_point_of_phase *v = r->p->v + i;
	struct counters before = { 0 }, *all = r->got + i;
	struct pm_buf path = { 0 };
	char name[32];
	enum pm_status s;

	pm_buf_printf(&path, "%s/%s", r->dir, pm_point_file(r->p, i, name));
	pm_buf_add(&path, "", 1);
	s = simulate((const char *)path.p, r->o->spec, v->warmup + v->insns, all, err);
	if (!s)		/* also of no instructions: what is the same at all times is taken away */
		s = simulate((const char *)path.p, r->o->spec, v->warmup, &before, err);
	for (size_t k = 0; !s && k < before.n; k++) {
		struct counter *c = (struct counter *)counter_at(all, k, before.v[k].path);

		if (c)		/* what gets less is no counter */
			c->v = c->v < before.v[k].v ? 0 : c->v - before.v[k].v;
	}
	counters_release(&before);
	if (s) {
		char text[sizeof err->msg];

		snprintf(text, sizeof text, "%s", err->msg);
		*err = (struct pm_err){ 0 };
		pm_fail_file(err, "point '%s': %.200s", name, text);
	}
	pm_buf_release(&path);
	return s;
}

static void *run_points(void *arg)
{
	struct run *r = arg;

	for (;;) {
		struct pm_err err = { 0 };
		enum pm_status s;
		size_t i;

		pthread_mutex_lock(&r->lock);
		i = r->st ? r->p->n : r->next;
		r->next++;
		pthread_mutex_unlock(&r->lock);
		if (i >= r->p->n)
			return NULL;
		s = simulate_point(r, i, &err);
		pthread_mutex_lock(&r->lock);
		if (s && !r->st) {
			r->st = s;
			r->err = err;
		}
		r->done++;
		if (r->o->tell)
			r->o->tell(r->o->ctx, r->done);
		pthread_mutex_unlock(&r->lock);
	}
}

/* A counter of all points, weighted; none that is 0 everywhere. */
static void put_counter(const struct run *r, const struct counter *c, size_t k,
			struct pm_result *to)
{
	double *value = pm_alloc(r->p->n * sizeof *value);
	struct pm_estimate e;
	bool any = false;

	for (size_t i = 0; i < r->p->n; i++) {
		const struct counter *v = counter_at(r->got + i, k, c->path);

		value[i] = v ? (double)v->v : 0;
		any = any || value[i] > 0;
	}
	e = pm_points_estimate(r->p, value, r->o->confidence);
	free(value);
	if (!any)
		return;
	pm_result_begin(to, NULL);
	pm_result_str(to, "counter", c->path);
	pm_result_f64(to, "per_instruction", e.mean, c->unit);
	if (e.bound) {
		pm_result_f64(to, "low", e.mean > e.half ? e.mean - e.half : 0, c->unit);
		pm_result_f64(to, "high", e.mean + e.half, c->unit);
	} else {
		pm_result_null(to, "low");
		pm_result_null(to, "high");
	}
	pm_result_u64(to, "estimate", (uint64_t)(e.mean * (double)r->p->work + 0.5), c->unit);
	pm_result_end(to);
}

/* Into @all (names and units, borrowed): what some point counts. A counter that is 0 may be left
 * out of a point's results. */
static void all_counters(const struct run *r, struct counters *all)
{
	for (size_t i = 0; i < r->p->n; i++)
		for (size_t k = 0; k < r->got[i].n; k++) {
			if (counter_at(all, k, r->got[i].v[k].path))
				continue;
			pm_grow(all->v, all->n, all->cap);
			all->v[all->n++] = r->got[i].v[k];
		}
}

/* A simulator without counters would be left out without a word. A plug-in's results have a name of
 * its own. */
static enum pm_status check_counted(const char *const *spec, const struct counters *all,
				    struct pm_err *err)
{
	for (; *spec; spec++) {
		const size_t n = strcspn(*spec, ":");
		bool any = memchr(*spec, '/', n);

		for (size_t k = 0; k < all->n && !any; k++)
			any = !strncmp(all->v[k].path, *spec, n) && all->v[k].path[n] == '.';
		if (!any)
			return pm_fail_request(err, "%.*s counts nothing that can be weighted; "
					       "`pugmark sim` shows what it gives", (int)n, *spec);
	}
	return PM_OK;
}

enum pm_status points_run(const char *dir, const struct pm_points *p,
			  const struct points_options *o, struct pm_result *to,
			  struct pm_err *err)
{
	struct run r = { .dir = dir, .p = p, .o = o, .got = pm_alloc(p->n * sizeof *r.got),
			 .lock = PTHREAD_MUTEX_INITIALIZER };
	const unsigned threads = p->n < o->threads ? (unsigned)p->n : o->threads;
	struct counters all = { 0 };

	pm_threads_run(run_points, &r, 0, threads ? threads : 1);
	all_counters(&r, &all);
	if (r.st)
		*err = r.err;
	else
		r.st = check_counted(o->spec, &all, err);
	if (!r.st) {
		pm_result_begin_list(to, "simulated");
		for (size_t k = 0; k < all.n; k++)
			put_counter(&r, all.v + k, k, to);
		pm_result_end(to);
	}
	free(all.v);
	for (size_t i = 0; i < p->n; i++)
		counters_release(r.got + i);
	free(r.got);
	return r.st;
}
