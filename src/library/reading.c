/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyse/cache_filter.h"
#include "base/mem.h"
#include "base/number.h"
#include "library/handle.h"
#include "library/reading.h"
#include "transform/adapt.h"
#include "transform/lines.h"
#include "transform/slice.h"
#include "transform/to_uops.h"

#define PROGRESS_EVENTS	(1u << 18)	/* between two calls of a pm_progress */

struct pm_reading *pm_reading_open(const char *path, const char *format, struct pm_err *err)
{
	struct pm_reading *r;
	struct stat st;

	if (!path) {
		pm_fail_file(err, "the path of the trace is NULL");
		return NULL;
	}
	r = pm_alloc(sizeof *r);
	/* the source borrows them */
	r->path = pm_strdup(path);
	r->format = format ? pm_strdup(format) : NULL;
	if (pm_trace_open(r->path, r->format, &r->src, &r->which, err) != PM_OK) {
		r->src.ops = NULL;
		pm_call_end(err);
		pm_reading_close(r);
		return NULL;
	}
	r->facts = r->src.facts;
	if (strcmp(path, "-") && !stat(path, &st) && S_ISREG(st.st_mode))
		r->bytes = (uint64_t)st.st_size;
	return r;
}

void pm_reading_close(struct pm_reading *r)
{
	if (!r)
		return;
	if (r->src.ops)
		r->src.ops->close(r->src.self);
	for (unsigned i = 0; i < r->nspec; i++)
		free(r->spec[i]);
	free(r->path);
	free(r->format);
	free(r);
}

/* ---- transforms ----------------------------------------------------------------------------- */

/* "from=N,count=N,thread=TID" */
static enum pm_status parse_slice(const char *s, struct pm_slice_opts *o, struct pm_err *err)
{
	uint64_t tid = 0;
	const struct { const char *name; uint64_t *to; } known[] = {
		{ "from=", &o->from }, { "count=", &o->count }, { "thread=", &tid },
	};

	*o = (struct pm_slice_opts){ .count = UINT64_MAX, .time_to = UINT64_MAX };
	while (*s) {
		size_t n = strcspn(s, ","), k = 0;
		char number[40] = "";

		while (k < NR(known) && strncmp(s, known[k].name, strlen(known[k].name)))
			k++;
		if (k < NR(known) && n - strlen(known[k].name) < sizeof number)
			memcpy(number, s + strlen(known[k].name), n - strlen(known[k].name));
		if (k == NR(known) || !pm_parse_u64(number, known[k].to))
			return pm_fail_file(err, "a slice is from=N,count=N,thread=TID, not "
					    "'%.*s'", (int)(n < 80 ? n : 80), s);
		s += n;
		s += *s == ',';
	}
	if (tid > UINT32_MAX)
		return pm_fail_file(err, "thread=%llu is no thread id", (unsigned long long)tid);
	o->tid = (uint32_t)tid;
	if (o->count > UINT64_MAX - o->from)
		o->count = UINT64_MAX - o->from;
	return PM_OK;
}

static void add_transform(struct pm_pipeline *p, const struct pm_transform_ops *ops, void *self,
			  uint32_t *facts)
{
	pm_pipeline_transform(p, ops, self);
	if (!(ops->flags & PM_SINK_BLOCKS))
		*facts &= ~PM_HAS_BLOCKS;
	*facts = (*facts & ~ops->removes) | ops->adds;
}

static bool is_named(const char *spec, const char *name, const char **config)
{
	const size_t n = strlen(name);

	if (strncmp(spec, name, n) || (spec[n] && spec[n] != ':'))
		return false;
	*config = spec + n + (spec[n] == ':');
	return true;
}

/* Add the transform that @spec names to @p, behind those that make *facts. @first:
 * nothing is before it, so that it may make the trace go to another place. */
static enum pm_status transform(struct pm_reading *r, struct pm_pipeline *p, const char *spec,
				uint32_t *facts, bool first, struct pm_err *err)
{
	struct pm_slice_opts slice;
	const char *config;
	uint64_t line;
	void *self;

	if (is_named(spec, "filter", &config))
		return pm_cache_filter_add(p, config, facts, err);
	if (is_named(spec, "uops", &config)) {
		add_transform(p, &pm_crack_ops, pm_crack_new(), facts);
		return PM_OK;
	}
	if (is_named(spec, "lines", &config)) {
		if (!pm_parse_u64(config, &line) || !line || line > 32768 || line & (line - 1))
			return pm_fail_file(err, "lines have a power of two up to 32768 bytes, not "
					    "'%.40s'", config);
		add_transform(p, &pm_lines_ops, pm_lines_new((uint32_t)line), facts);
		return PM_OK;
	}
	if (!is_named(spec, "slice", &config))
		return pm_fail_file(err, "'%.40s' is no transform; there are filter:CONFIG, "
				    "slice:from=N,count=N,thread=TID, lines:BYTES and uops", spec);
	if (parse_slice(config, &slice, err) != PM_OK)
		return PM_ERR;
	slice.facts = *facts;
	if (first && slice.from && !pm_trace_seek(&r->src, slice.from, &slice.skipped, err))
		return PM_ERR;
	self = pm_slice_new(&slice);
	add_transform(p, pm_slice_blocks(&slice) ? &pm_slice_ops : &pm_slice_expanded_ops, self,
		      facts);
	if (!r->slice)
		r->slice = self;
	return PM_OK;
}

enum pm_status pm_reading_transform(struct pm_reading *r, const char *spec, struct pm_err *err)
{
	struct pm_pipeline *p;
	uint32_t facts = r->src.facts;
	enum pm_status s = PM_OK;

	if (!spec)
		return pm_fail_file(err, "the transform is NULL");
	if (r->begun)
		return pm_fail_file(err, "reading has begun; '%.40s' comes too late", spec);
	if (r->nspec == PM_READING_TRANSFORMS)
		return pm_fail_file(err, "more than %u transforms", PM_READING_TRANSFORMS);
	/* try it, so that whatever is wrong is said here */
	p = pm_pipeline_new();
	for (unsigned i = 0; i < r->nspec && !s; i++)
		s = transform(r, p, r->spec[i], &facts, false, err);
	if (!s)
		s = transform(r, p, spec, &facts, false, err);
	if (!s)
		s = pm_pipeline_start(p, r->src.facts, r->which->plural, err);
	r->slice = NULL;
	pm_pipeline_free(p);
	if (s)
		return PM_ERR;
	r->facts = facts;
	r->spec[r->nspec++] = pm_strdup(spec);
	return PM_OK;
}

struct pm_pipeline *pm_reading_pipeline(struct pm_reading *r, unsigned threads, struct pm_err *err)
{
	struct pm_pipeline *p = pm_adapt_pipeline(&r->src, r->which);

	pm_pipeline_threads(p, threads);
	r->begun = true;
	r->facts = r->src.facts;
	for (unsigned i = 0; i < r->nspec; i++)
		if (transform(r, p, r->spec[i], &r->facts, i == 0, err) != PM_OK) {
			pm_pipeline_free(p);
			return NULL;
		}
	return p;
}

bool pm_reading_done(const void *reading)
{
	const struct pm_reading *r = reading;

	return r->slice && pm_slice_done(r->slice);
}

/* ---- all of it ------------------------------------------------------------------------------ */

struct reading_watch {			/* a source in front of the trace's */
	struct pm_reading *r;
	pm_progress *progress;
	void *arg;
	uint64_t events, told;
};

static enum pm_status watch_next(void *self, const struct pm_batch **b, struct pm_err *err)
{
	struct reading_watch *w = self;
	enum pm_status s = w->r->src.ops->next(w->r->src.self, b, err);

	if (s != PM_OK)
		return s;
	w->events += (*b)->n;
	if (w->events - w->told < PROGRESS_EVENTS)
		return PM_OK;
	w->told = w->events;
	if (w->progress(w->arg, w->events, pm_trace_part(&w->r->src)))
		return pm_fail_file(err, "stopped by the caller after %llu events",
				    (unsigned long long)w->events);
	return PM_OK;
}

static void watch_epochs(void *self)
{
	struct reading_watch *w = self;

	if (w->r->src.ops->epochs)
		w->r->src.ops->epochs(w->r->src.self);
}

enum pm_status pm_reading_run(struct pm_reading *r, struct pm_pipeline *p, pm_progress *progress,
			      void *arg, struct pm_result *result, struct pm_err *err)
{
	static const struct pm_source_ops ops = {
		.name = "watch", .next = watch_next, .epochs = watch_epochs
	};
	struct reading_watch w = { .r = r, .progress = progress, .arg = arg };
	struct pm_source watched = { &ops, &w, r->src.facts };

	return pm_pipeline_run_until(p, progress ? &watched : &r->src, result, pm_reading_done, r,
				     err);
}
