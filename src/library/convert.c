/* SPDX-License-Identifier: MIT */
/* convert.c - whole files: pm_convert(), pm_verify() */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "analyse/names.h"
#include "base/whole_file.h"
#include "library/about.h"
#include "library/handle.h"
#include "library/reading.h"
#include "transform/adapt.h"
#include "transform/verify.h"

/* What the caller has of it, the rest as if it were not set. */
static enum pm_status options_of(const struct pm_convert_options *from,
				 struct pm_convert_options *o, struct pm_err *err)
{
	*o = (struct pm_convert_options){ .size = sizeof *o };
	if (!from)
		return PM_OK;
	if (from->size < 2 * sizeof(uint32_t) || from->size > 1 << 16)
		return pm_fail_file(err, "the options say that they have %" PRIu32 " bytes: set "
				    "their size", from->size);
	memcpy(o, from, from->size < sizeof *o ? from->size : sizeof *o);
	return PM_OK;
}

static enum pm_status convert(struct pm_reading *in, const char *path,
			      const struct pm_convert_options *o, struct pm_result *r,
			      struct pm_err *err)
{
	const struct pm_format *out = o->to ? pm_format_find(o->to, err) : pm_format_by_name(path);
	struct pm_pipeline *p = o->to && !out ? NULL : pm_reading_pipeline(in, o->threads, err);
	enum pm_status s = PM_ERR;
	const void *cracker = NULL;
	uint32_t facts;

	if (!p)
		return PM_ERR;
	pm_names_for_sinks(p);
	facts = out ? pm_adapt(p, in->facts, out->needs, &cracker) : in->facts;
	if (pm_trace_create(p, path, o->to, facts, err) == PM_OK &&
	    pm_pipeline_start(p, in->src.facts, in->which->plural, err) == PM_OK)
		s = pm_reading_run(in, p, o->progress, o->arg, r, err);
	pm_adapt_result(r, cracker);
	pm_call_end(err);
	pm_pipeline_free(p);
	return s;
}

/* An error half-way would leave neither the one nor the other. */
static bool overwrites(const char *in, const char *out, struct pm_err *err)
{
	struct stat st;

	if (!strcmp(in, "-") || !strcmp(out, "-") || stat(out, &st) || !S_ISREG(st.st_mode) ||
	    !pm_same_file(in, out))
		return false;
	err->file = out;
	pm_fail_file(err, "it is also the input");
	return true;
}

enum pm_status pm_convert(const char *in, const char *out, const struct pm_convert_options *options,
			  struct pm_results **results, struct pm_err *err)
{
	struct pm_convert_options o;
	struct pm_reading *reading;
	struct pm_result *r;
	enum pm_status s = PM_OK;
	struct pm_err own;

	err = pm_call_begin(err, &own);
	if (results)
		*results = NULL;
	if (options_of(options, &o, err) != PM_OK)
		return PM_ERR;
	if (!out)
		return pm_fail_file(err, "the path to write to is NULL");
	reading = pm_reading_open(in, o.from, err);
	if (!reading)
		return PM_ERR;
	if (overwrites(in, out, err)) {
		pm_reading_close(reading);
		return PM_ERR;
	}
	for (unsigned i = 0; o.transforms && o.transforms[i] && !s; i++)
		s = pm_reading_transform(reading, o.transforms[i], err);
	r = pm_result_for("convert");
	if (!s)
		s = convert(reading, out, &o, r, err);
	pm_call_end(err);
	pm_reading_close(reading);
	if (!s && results) {
		*results = pm_results_of(r, err);
		return *results ? PM_OK : PM_ERR;
	}
	pm_result_free(r);
	return s;
}

/* The first check that a trace does not pass. */
static enum pm_status judge(const struct pm_verify *v, const char *path, struct pm_err *err)
{
	if (!pm_verify_failed(v))
		return PM_OK;
	err->file = path;
	if (v->ntext)
		return pm_fail_file(err, "not possible: %s", v->text[0]);
	return pm_fail_file(err, "what it says is not possible");
}

enum pm_status pm_verify(const char *path, const char *format, struct pm_results **results,
			 struct pm_err *err)
{
	struct pm_reading *in;
	struct pm_pipeline *p;
	struct pm_result *r;
	enum pm_status s;
	struct pm_err own;
	void *sink;

	err = pm_call_begin(err, &own);
	if (results)
		*results = NULL;
	in = pm_reading_open(path, format, err);
	if (!in)
		return PM_ERR;
	p = pm_pipeline_new();
	r = pm_result_for("verify");
	sink = pm_verify_new(in->src.facts);
	pm_pipeline_sink(p, &pm_verify_ops, sink);
	s = pm_pipeline_start(p, in->src.facts, in->which->plural, err);
	if (!s)
		s = pm_pipeline_run(p, &in->src, r, err);
	if (!s)
		s = judge(pm_verify_get(sink), path, err);
	pm_call_end(err);
	pm_pipeline_free(p);
	pm_reading_close(in);
	if (results) {
		struct pm_err full = { 0 };

		*results = pm_results_of(r, &full);
	} else {
		pm_result_free(r);
	}
	return s;
}
