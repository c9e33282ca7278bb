/* SPDX-License-Identifier: MIT */
/* writer.c - pm_writer_*: batches of a caller's as a trace */
#include <stdlib.h>
#include <string.h>

#include "analyse/names.h"
#include "base/mem.h"
#include "library/about.h"
#include "library/batches.h"
#include "library/handle.h"
#include "trace/format.h"
#include "transform/adapt.h"

struct writer {
	char *path, *format;		/* the sink borrows them */
	struct pm_pipeline *p;
	struct pm_batches *batches;
	bool over;			/* committed, or failed */
};

static void release(struct writer *w)
{
	pm_pipeline_free(w->p);
	pm_batches_free(w->batches);
	free(w->path);
	free(w->format);
	free(w);
}

static enum pm_status create(struct writer *w, uint32_t facts, const char *const *notes,
			     struct pm_err *err)
{
	const struct pm_format *f = w->format ? pm_format_find(w->format, err)
					      : pm_format_by_name(w->path);
	uint32_t arrive = facts;

	if (w->format && !f)
		return PM_ERR;
	for (; notes && notes[0]; notes += 2) {
		if (!notes[1])
			return pm_fail_file(err, "the note '%.40s' has no value", notes[0]);
		pm_pipeline_info(w->p, notes[0], notes[1]);
	}
	pm_names_for_sinks(w->p);
	if (f)
		arrive = pm_adapt(w->p, facts, f->needs, NULL);
	if (pm_trace_create(w->p, w->path, w->format, arrive, err) != PM_OK)
		return PM_ERR;
	return pm_pipeline_start(w->p, facts, "these batches", err);
}

struct pm_writer *pm_writer_create(const char *path, const char *format, uint32_t facts,
				   const char *const *notes, struct pm_err *err)
{
	struct pm_writer *handle = NULL;
	struct pm_err own;
	struct writer *w;

	err = pm_call_begin(err, &own);
	if (!path) {
		pm_fail_file(err, "the path to write to is NULL");
		return NULL;
	}
	w = pm_alloc(sizeof *w);
	w->path = pm_strdup(path);
	w->format = format ? pm_strdup(format) : NULL;
	w->p = pm_pipeline_new();
	w->batches = pm_batches_new();
	if (create(w, facts, notes, err) == PM_OK)
		handle = pm_handle_new(PM_HANDLE_WRITER, w, err);
	pm_call_end(err);
	if (!handle)
		release(w);
	return handle;
}

static enum pm_status check_open(const struct writer *w, struct pm_err *err)
{
	return w->over ? pm_fail_file(err, "the writer has ended, by a commit or an error") : PM_OK;
}

enum pm_status pm_writer_push(struct pm_writer *writer, const struct pm_batch *b,
			      struct pm_err *err)
{
	struct pm_err own;
	struct writer *w;

	err = pm_call_begin(err, &own);
	w = pm_handle_get(writer, PM_HANDLE_WRITER, err);
	if (!w)
		return PM_ERR;
	if (check_open(w, err) == PM_OK) {
		b = pm_batches_check(w->batches, b, err);
		if (!b || pm_pipeline_push(w->p, b, err) != PM_OK)
			w->over = true;
	}
	pm_call_end(err);
	pm_handle_release(writer);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

enum pm_status pm_writer_commit(struct pm_writer *writer, struct pm_results **results,
				struct pm_err *err)
{
	struct pm_result *r = NULL;
	struct pm_err own;
	struct writer *w;

	err = pm_call_begin(err, &own);
	if (results)
		*results = NULL;
	w = pm_handle_get(writer, PM_HANDLE_WRITER, err);
	if (!w)
		return PM_ERR;
	if (check_open(w, err) == PM_OK) {
		w->over = true;
		r = results ? pm_result_for("convert") : NULL;
		if (pm_pipeline_finish(w->p, r, err) == PM_OK && r) {
			*results = pm_results_of(r, err);
			r = NULL;
		}
	}
	pm_result_free(r);
	pm_call_end(err);
	pm_handle_release(writer);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

enum pm_status pm_writer_close(struct pm_writer *writer, struct pm_err *err)
{
	struct pm_err own;
	struct writer *w;

	err = pm_call_begin(err, &own);
	if (!writer)
		return PM_OK;
	w = pm_handle_get(writer, PM_HANDLE_WRITER, err);
	if (!w)
		return PM_ERR;
	pm_handle_drop(writer);
	release(w);
	return PM_OK;
}
