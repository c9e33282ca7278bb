/* SPDX-License-Identifier: MIT */
/* simulation.c - pm_simulation_*: simulators on a trace, or on a caller's batches
 *
 * The pipeline is made when it is known what comes in: what is added is tried in one of its own, so
 * that a wrong configuration is said at once. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/names.h"
#include "analyse/sims.h"
#include "base/mem.h"
#include "library/about.h"
#include "library/batches.h"
#include "library/handle.h"
#include "library/reader.h"
#include "trace/sinks.h"
#include "transform/adapt.h"

struct simulation {
	struct simulation_spec { char *text; bool object; } *spec;
	size_t nspec, cap;
	uint32_t threads;
	struct pm_pipeline *p;		/* of batches that are pushed; NULL: not begun */
	struct pm_batches *batches;
	bool over;			/* it has been run, or has failed */
};

struct pm_simulation *pm_simulation_new(struct pm_err *err)
{
	struct simulation *s = pm_alloc(sizeof *s);
	struct pm_simulation *handle;
	struct pm_err own;

	err = pm_call_begin(err, &own);
	handle = pm_handle_new(PM_HANDLE_SIMULATION, s, err);
	if (!handle)
		free(s);
	return handle;
}

/* The simulation that has not begun; NULL on error. */
static struct simulation *get_fresh(struct pm_simulation *handle, struct pm_err *err)
{
	struct simulation *s = pm_handle_get(handle, PM_HANDLE_SIMULATION, err);

	if (!s || !(s->p || s->over))
		return s;
	pm_handle_release(handle);
	pm_fail_file(err, "the simulation has begun; make another one");
	return NULL;
}

/* What plug-ins call must be found: a program may have loaded this library for itself alone. */
static void show_own_functions(void)
{
	Dl_info info;

	/* of an executable there is no such file among the libraries, which is as well */
	if (dladdr((const void *)pm_fail, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
}

static enum pm_status add_object(struct pm_pipeline *p, const char *where, struct pm_err *err)
{
	const struct pm_sink_ops *ops;
	void *self;

	for (size_t i = 0; (ops = pm_pipeline_sink_at(p, i, &self)); i++) {
		struct pm_names *n = pm_sim_names(ops, self);

		if (n && pm_names_add(n, where, err))
			return PM_ERR;
	}
	return PM_OK;
}

static enum pm_status add_spec(struct pm_pipeline *p, const struct simulation_spec *spec,
			       struct pm_err *err)
{
	return spec->object ? add_object(p, spec->text, err)
			    : pm_sink_add(p, spec->text, pm_sims, err);
}

static enum pm_status add_all(const struct simulation *s, struct pm_pipeline *p,
			      struct pm_err *err)
{
	for (size_t i = 0; i < s->nspec; i++)
		if (add_spec(p, s->spec + i, err) != PM_OK)
			return PM_ERR;
	return PM_OK;
}

static enum pm_status try_spec(const struct simulation *s, const struct simulation_spec *spec,
			       struct pm_err *err)
{
	struct pm_pipeline *p = pm_pipeline_new();
	enum pm_status st = PM_OK;

	if (spec->object)
		st = add_all(s, p, err);
	if (!st)
		st = add_spec(p, spec, err);
	pm_pipeline_free(p);
	return st;
}

static enum pm_status add(struct pm_simulation *handle, const char *text, bool object,
			  struct pm_err *err)
{
	struct simulation *s;
	struct pm_err own;

	err = pm_call_begin(err, &own);
	s = get_fresh(handle, err);
	if (!s)
		return PM_ERR;
	if (!text) {
		pm_fail_file(err, "the %s is NULL", object ? "object" : "simulator's name");
	} else {
		struct simulation_spec spec = { pm_strdup(text), object };

		show_own_functions();
		if (try_spec(s, &spec, err) == PM_OK) {
			pm_grow(s->spec, s->nspec, s->cap);
			s->spec[s->nspec++] = spec;
		} else {
			pm_call_end(err);
			free(spec.text);
		}
	}
	pm_handle_release(handle);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

enum pm_status pm_simulation_add(struct pm_simulation *s, const char *spec, struct pm_err *err)
{
	return add(s, spec, false, err);
}

enum pm_status pm_simulation_object(struct pm_simulation *s, const char *where, struct pm_err *err)
{
	return add(s, where, true, err);
}

enum pm_status pm_simulation_threads(struct pm_simulation *handle, uint32_t n, struct pm_err *err)
{
	struct simulation *s;
	struct pm_err own;

	err = pm_call_begin(err, &own);
	s = get_fresh(handle, err);
	if (!s)
		return PM_ERR;
	s->threads = n;
	pm_handle_release(handle);
	return PM_OK;
}

/* ---- a whole trace -------------------------------------------------------------------------- */

static enum pm_status run(struct simulation *s, struct pm_reading *in, pm_progress *progress,
			  void *arg, struct pm_results **results, struct pm_err *err)
{
	struct pm_pipeline *p = pm_reading_pipeline(in, s->threads, err);
	struct pm_result *r = NULL;
	enum pm_status st = PM_ERR;

	s->over = true;
	if (!p)
		return PM_ERR;
	if (add_all(s, p, err) == PM_OK) {
		pm_adapt(p, in->facts, pm_pipeline_needs(p), NULL);
		if (pm_sims_check(p, in->src.facts, in->which->plural, err) == PM_OK &&
		    pm_pipeline_start(p, in->src.facts, in->which->plural, err) == PM_OK) {
			r = pm_result_for("sim");
			st = pm_reading_run(in, p, progress, arg, r, err);
		}
	}
	pm_call_end(err);
	pm_pipeline_free(p);
	if (r && results) {
		struct pm_err full = { 0 };

		*results = pm_results_of(r, &full);
		if (!*results && !st) {
			*err = full;
			st = PM_ERR;
		}
	} else {
		pm_result_free(r);
	}
	return st;
}

enum pm_status pm_simulation_run(struct pm_simulation *handle, struct pm_reader *reader,
				 pm_progress *progress, void *arg, struct pm_results **results,
				 struct pm_err *err)
{
	enum pm_status st = PM_ERR;
	struct pm_reading *in;
	struct simulation *s;
	struct pm_err own;

	err = pm_call_begin(err, &own);
	if (results)
		*results = NULL;
	s = get_fresh(handle, err);
	if (!s)
		return PM_ERR;
	in = s->nspec ? pm_reader_begin(reader, err) : NULL;
	if (!s->nspec) {
		pm_fail_file(err, "the simulation has no simulators");
	} else if (in) {
		st = run(s, in, progress, arg, results, err);
		pm_reader_end(reader);
	}
	pm_handle_release(handle);
	return st;
}

/* ---- batch by batch ------------------------------------------------------------------------- */

enum pm_status pm_simulation_begin(struct pm_simulation *handle, uint32_t facts,
				   struct pm_err *err)
{
	struct simulation *s;
	struct pm_err own;

	err = pm_call_begin(err, &own);
	s = get_fresh(handle, err);
	if (!s)
		return PM_ERR;
	s->p = pm_pipeline_new();
	s->batches = pm_batches_new();
	if (!s->nspec)
		pm_fail_file(err, "the simulation has no simulators");
	else if (add_all(s, s->p, err) == PM_OK) {
		pm_adapt(s->p, facts, pm_pipeline_needs(s->p), NULL);
		pm_pipeline_start(s->p, facts, "these batches", err);
	}
	s->over = pm_failed(err);
	pm_call_end(err);
	pm_handle_release(handle);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

/* The simulation that batches go to; NULL on error. */
static struct simulation *get_begun(struct pm_simulation *handle, struct pm_err *err)
{
	struct simulation *s = pm_handle_get(handle, PM_HANDLE_SIMULATION, err);

	if (!s || (s->p && !s->over))
		return s;
	pm_handle_release(handle);
	pm_fail_file(err, s->over ? "the simulation has ended, or failed"
				  : "the simulation has not begun");
	return NULL;
}

enum pm_status pm_simulation_push(struct pm_simulation *handle, const struct pm_batch *b,
				  struct pm_err *err)
{
	struct simulation *s;
	struct pm_err own;

	err = pm_call_begin(err, &own);
	s = get_begun(handle, err);
	if (!s)
		return PM_ERR;
	b = pm_batches_check(s->batches, b, err);
	if (!b || pm_pipeline_push(s->p, b, err) != PM_OK)
		s->over = true;
	pm_call_end(err);
	pm_handle_release(handle);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

struct pm_results *pm_simulation_finish(struct pm_simulation *handle, struct pm_err *err)
{
	struct pm_results *results = NULL;
	struct simulation *s;
	struct pm_result *r;
	struct pm_err own;

	err = pm_call_begin(err, &own);
	s = get_begun(handle, err);
	if (!s)
		return NULL;
	s->over = true;
	r = pm_result_for("sim");
	if (pm_pipeline_finish(s->p, r, err) == PM_OK)
		results = pm_results_of(r, err);
	else
		pm_result_free(r);
	pm_call_end(err);
	pm_handle_release(handle);
	return results;
}

enum pm_status pm_simulation_close(struct pm_simulation *handle, struct pm_err *err)
{
	struct simulation *s;
	struct pm_err own;

	err = pm_call_begin(err, &own);
	if (!handle)
		return PM_OK;
	s = pm_handle_get(handle, PM_HANDLE_SIMULATION, err);
	if (!s)
		return PM_ERR;
	pm_handle_drop(handle);
	pm_pipeline_free(s->p);
	pm_batches_free(s->batches);
	for (size_t i = 0; i < s->nspec; i++)
		free(s->spec[i].text);
	free(s->spec);
	free(s);
	return PM_OK;
}
