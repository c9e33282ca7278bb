/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "analyse/sims.h"
#include "base/result.h"
#include "sweep/gang.h"
#include "trace/format.h"
#include "trace/pug_file.h"
#include "trace/sinks.h"
#include "transform/adapt.h"
#include "transform/slice.h"

struct gang_job {
	uint64_t config;
	char key[SWEEP_KEY + 1];
	char *spec;
	bool failed;			/* its result is written: it cannot be simulated */
	struct pm_result *r;
	struct pm_err err;
};

struct gang_run {
	struct sweep_dir *d;
	const struct sweep_plan *p;
	const struct sweep_trace_ids *ids;
	const struct sweep_gang *g;
	const char *path;
	struct sweep_report *report;
	struct gang_job *job;
	size_t n, cap;
	struct pm_source src;
	const struct pm_format *which;
	struct pm_pipeline *pipe;
	void *slice;			/* NULL: the whole trace */
};

/* ---- results -------------------------------------------------------------------------------- */

static bool has_failed(const struct sweep_dir *d, const char *key)
{
	char name[SWEEP_KEY + 20];

	snprintf(name, sizeof name, "failed/%s.json", key);
	return !faccessat(d->fd, name, F_OK, 0);
}

/* What every result begins with. */
static struct pm_result *result_begin(const struct sweep_plan *p, const struct sweep_trace_ids *ids,
				      const struct sweep_gang *g, const char *key, const char *spec,
				      const char *status)
{
	struct pm_result *r = pm_result_for("sweep-result");
	const struct pm_sink_ops *ops = pm_sim_of(spec);
	char sum[2 * PM_SHA256 + 1], range[48];
	struct pm_buf canonical = { 0 };
	struct pm_err ignored = { 0 };

	pm_sha256_hex(ids->id[g->trace].sum, PM_SHA256, sum);
	pm_result_str(r, "key", key);
	pm_result_str(r, "status", status);
	pm_result_str(r, "trace", sum);
	pm_result_str(r, "region", sweep_region_text(p->region + g->region, range));
	pm_result_str(r, "simulator", ops->name);
	pm_result_u64(r, "version", pm_sim_version(ops), NULL);
	if (pm_sim_canonical(spec, &canonical, &ignored) == PM_OK)
		pm_result_str(r, "configuration", (const char *)canonical.p);
	else
		pm_result_str(r, "configuration", spec);
	pm_buf_release(&canonical);
	return r;
}

static enum pm_status write_result(struct sweep_dir *d, const char *key, struct pm_result *r,
				   bool failed, struct pm_err *err)
{
	struct pm_buf b = { 0 };
	enum pm_status s;

	pm_result_json(r, &b);
	s = sweep_result_put(d, key, &b, failed, err);
	pm_buf_release(&b);
	pm_result_free(r);
	return s;
}

static enum pm_status put_failure(struct sweep_dir *d, const struct sweep_plan *p,
				  const struct sweep_trace_ids *ids, const struct sweep_gang *g,
				  const char *key, const char *spec, const struct sweep_failure *f,
				  struct pm_err *err)
{
	struct pm_result *r = result_begin(p, ids, g, key, spec, "failed");

	pm_result_begin(r, "failure");
	pm_result_str(r, "cause", f->cause);
	pm_result_str(r, "message", f->message);
	pm_result_u64(r, "signal", (uint64_t)f->signal, NULL);
	pm_result_str(r, "output", f->output);
	pm_result_u64(r, "peak_memory", f->peak, "bytes");
	pm_result_u64(r, "memory_limit", f->limit, "bytes");
	pm_result_u64(r, "last_instruction", f->insns, "instructions");
	pm_result_u64(r, "last_chunk", f->chunks, "chunks");
	pm_result_end(r);
	return write_result(d, key, r, true, err);
}

static enum pm_status fail_job(struct gang_run *w, struct gang_job *j, const char *cause,
			       const struct pm_err *why, struct pm_err *err)
{
	char text[400];
	struct rusage u;
	struct sweep_failure f = { .cause = cause, .message = text, .output = "" };

	getrusage(RUSAGE_SELF, &u);
	pm_err_format(why, text, sizeof text);
	f.peak = (uint64_t)u.ru_maxrss << 10;
	f.insns = w->report->insns;
	f.chunks = w->report->chunks;
	j->failed = true;
	w->report->failed++;
	return put_failure(w->d, w->p, w->ids, w->g, j->key, j->spec, &f, err);
}

/* ---- which jobs ----------------------------------------------------------------------------- */

static bool have_already(const struct gang_run *w, const char *key)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->job[i].key, key))
			return true;
	return false;
}

/* Locks what is missing and nobody else computes. */
static enum pm_status choose(struct gang_run *w, bool retry, struct pm_err *err)
{
	struct pm_buf spec = { 0 }, canonical = { 0 };
	enum pm_status s = PM_OK;

	for (uint64_t c = w->g->from; c < w->g->to && !s; c++) {
		struct gang_job j = { .config = c };

		sweep_plan_spec(w->p, c, &spec);
		s = sweep_key(&w->ids->id[w->g->trace], w->p->region + w->g->region,
			      (const char *)spec.p, &canonical, j.key, err);
		if (s || have_already(w, j.key))
			continue;
		if (sweep_result_there(w->d, j.key) && !(retry && has_failed(w->d, j.key))) {
			w->report->there++;
			continue;
		}
		if (!sweep_lock(w->d, j.key, err)) {
			s = pm_failed(err) ? PM_ERR : PM_OK;
			w->report->busy++;
			continue;
		}
		if (retry && has_failed(w->d, j.key))
			s = sweep_failure_remove(w->d, j.key, err);
		if (!s && sweep_result_there(w->d, j.key)) {
			w->report->there++;
			sweep_unlock(w->d, j.key);
			continue;
		}
		j.spec = pm_strdup((const char *)spec.p);
		pm_grow(w->job, w->n, w->cap);
		w->job[w->n++] = j;
	}
	pm_buf_release(&spec);
	pm_buf_release(&canonical);
	return s;
}

uint64_t sweep_gang_missing(const struct sweep_dir *d, const struct sweep_plan *p,
			    const struct sweep_trace_ids *ids, const struct sweep_gang *g,
			    bool retry, uint64_t *failed)
{
	struct pm_buf spec = { 0 }, canonical = { 0 };
	struct pm_err ignored = { 0 };
	char key[SWEEP_KEY + 1];
	uint64_t missing = 0;

	for (uint64_t c = g->from; c < g->to; c++) {
		struct pm_result *r = NULL;

		sweep_plan_spec(p, c, &spec);
		if (sweep_key(&ids->id[g->trace], p->region + g->region, (char *)spec.p,
			      &canonical, key, &ignored) == PM_OK &&
		    !(retry && has_failed(d, key)))
			r = sweep_result_read(d, key);
		missing += !r;
		*failed += r && pm_result_find(pm_result_root(r), "failure");
		pm_result_free(r);
	}
	pm_buf_release(&spec);
	pm_buf_release(&canonical);
	return missing;
}

/* ---- simulating ----------------------------------------------------------------------------- */

/* Would a pipeline of this one start? Else the job has failed, and the others have not. */
static enum pm_status can_start(struct gang_run *w, struct gang_job *j, struct pm_err *why)
{
	struct pm_pipeline *p = pm_pipeline_new();
	enum pm_status s = pm_sink_add(p, j->spec, pm_sims, why);

	if (!s) {
		pm_adapt(p, w->src.facts, pm_pipeline_needs(p), NULL);
		s = pm_sims_check(p, w->src.facts, w->which->plural, why);
		if (!s)
			s = pm_pipeline_start(p, w->src.facts, w->which->plural, why);
	}
	pm_pipeline_free(p);
	return s;
}

static enum pm_status add_sinks(struct gang_run *w, struct pm_err *err)
{
	for (size_t i = 0; i < w->n; i++) {
		struct gang_job *j = w->job + i;
		struct pm_err why = { 0 };

		if (can_start(w, j, &why) == PM_OK &&
		    pm_sink_add(w->pipe, j->spec, pm_sims, &why) == PM_OK)
			continue;
		if (fail_job(w, j, "configuration", &why, err) != PM_OK)
			return PM_ERR;
	}
	return PM_OK;
}

/* Everything that is left fails, because the trace does. */
static enum pm_status fail_rest(struct gang_run *w, const struct pm_err *why, struct pm_err *err)
{
	for (size_t i = 0; i < w->n; i++)
		if (!w->job[i].failed && fail_job(w, w->job + i, "trace", why, err) != PM_OK)
			return PM_ERR;
	return PM_OK;
}

static enum pm_status open_trace(struct gang_run *w, struct pm_err *why)
{
	const struct sweep_region *g = w->p->region + w->g->region;
	struct pm_slice_opts o = { .from = g->from, .count = g->to - g->from,
				   .time_to = UINT64_MAX };

	if (g->to == UINT64_MAX)
		o.count = UINT64_MAX;
	if (pm_trace_open(w->path, w->p->format, &w->src, &w->which, why) != PM_OK)
		return PM_ERR;
	w->pipe = pm_adapt_pipeline(&w->src, w->which);
	pm_pipeline_threads(w->pipe, 0);	/* other gangs have the other processors */
	if (!g->from && g->to == UINT64_MAX)
		return PM_OK;
	o.facts = w->src.facts;
	if (g->from && !pm_trace_seek(&w->src, g->from, &o.skipped, why))
		return PM_ERR;
	w->slice = pm_slice_new(&o);
	pm_pipeline_transform(w->pipe, pm_slice_blocks(&o) ? &pm_slice_ops : &pm_slice_expanded_ops,
			      w->slice);
	return PM_OK;
}

/* The whole trace through all sinks. PM_OK; PM_END: a sink failed; PM_ERR: the trace did. */
static enum pm_status push_all(struct gang_run *w, struct pm_err *why)
{
	struct pug_reader *pug = strcmp(w->which->name, "pug") ? NULL : pm_trace_reader(&w->src);

	pm_pipeline_epochs(w->pipe, &w->src);
	while (!w->slice || !pm_slice_done(w->slice)) {
		const struct pm_batch *b;
		enum pm_status s = w->src.ops->next(w->src.self, &b, why);

		if (s == PM_END)
			return PM_OK;
		if (s == PM_ERR)
			return PM_ERR;
		if (pm_pipeline_push(w->pipe, b, why) == PM_ERR)
			return PM_END;
		w->report->insns = b->first_insn;
		if (pug)
			w->report->chunks = pug_read_chunks(pug, &w->report->insns);
	}
	return PM_OK;
}

/* Zeros of a region behind the trace's end would look like results. */
static enum pm_status region_reached(const struct gang_run *w, struct pm_err *why)
{
	const struct sweep_region *g = w->p->region + w->g->region;
	uint64_t seen;

	if (!w->slice || pm_slice_kept(w->slice, &seen))
		return PM_OK;
	why->file = w->path;
	return pm_fail_file(why, "the trace ends at %llu, before region %s",
			    (unsigned long long)seen, g->name);
}

/* Is there so little left of what this process may have that an error may come from that? */
static bool lacks_memory(void)
{
	struct rlimit l;
	void *p;

	if (getrlimit(RLIMIT_DATA, &l) || l.rlim_cur == RLIM_INFINITY)
		return false;
	p = mmap(NULL, l.rlim_cur / 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return true;
	munmap(p, l.rlim_cur / 4);
	return false;
}

static bool has_changed(const struct gang_run *w)
{
	struct stat st;

	/* a staged copy was compared when it was made, and is nobody's to change */
	return w->path == w->p->trace[w->g->trace].path &&
	       (stat(w->path, &st) || !sweep_trace_same(&w->ids->id[w->g->trace], &st));
}

static enum pm_status put_all(struct gang_run *w, struct pm_err *err)
{
	for (size_t i = 0; i < w->n; i++) {
		struct gang_job *j = w->job + i;

		if (j->failed)
			continue;
		if (pm_failed(&j->err)) {
			if (fail_job(w, j, "simulator", &j->err, err) != PM_OK)
				return PM_ERR;
			continue;
		}
		pm_result_end(j->r);
		if (write_result(w->d, j->key, j->r, false, err) != PM_OK)
			return PM_ERR;
		j->r = NULL;
		w->report->computed++;
	}
	return PM_OK;
}

static enum pm_status finish(struct gang_run *w, struct pm_err *err)
{
	struct pm_result **r = pm_alloc(w->n * sizeof *r);
	struct pm_err *each = pm_alloc(w->n * sizeof *each);
	enum pm_status s;
	size_t k = 0;

	for (size_t i = 0; i < w->n; i++)
		if (!w->job[i].failed) {
			struct gang_job *j = w->job + i;

			j->r = result_begin(w->p, w->ids, w->g, j->key, j->spec, "done");
			pm_result_begin(j->r, "result");
			r[k++] = j->r;
		}
	s = pm_pipeline_finish_each(w->pipe, r, each, err);
	k = 0;
	for (size_t i = 0; i < w->n; i++)
		if (!w->job[i].failed)
			w->job[i].err = each[k++];
	free(r);
	free(each);
	return s;
}

static int simulate(struct gang_run *w, struct pm_err *err)
{
	struct pm_err why = { 0 };
	enum pm_status s = open_trace(w, &why);
	bool apart;
	size_t left = 0;

	if (has_changed(w))
		return SWEEP_EXIT_CHANGED;
	if (s && lacks_memory())
		return SWEEP_EXIT_MEMORY;
	if (s)
		return fail_rest(w, &why, err) ? SWEEP_EXIT_DISK : SWEEP_EXIT_DONE;
	if (add_sinks(w, err) != PM_OK)
		return SWEEP_EXIT_DISK;
	for (size_t i = 0; i < w->n; i++)
		left += !w->job[i].failed;
	if (!left)
		return SWEEP_EXIT_DONE;
	pm_adapt(w->pipe, w->src.facts, pm_pipeline_needs(w->pipe), NULL);
	s = pm_pipeline_start(w->pipe, w->src.facts, w->which->plural, &why);
	apart = s && left > 1;
	if (!s)
		s = push_all(w, &why);
	if (!s)
		s = region_reached(w, &why);
	if (has_changed(w))
		return SWEEP_EXIT_CHANGED;
	if (s && lacks_memory())
		return SWEEP_EXIT_MEMORY;
	if (apart)			/* each could start: they do not go together */
		return SWEEP_EXIT_SINGLY;
	if (s == PM_ERR)
		return fail_rest(w, &why, err) ? SWEEP_EXIT_DISK : SWEEP_EXIT_DONE;
	if (s != PM_END)
		s = finish(w, &why);
	if (!s)
		return put_all(w, err) ? SWEEP_EXIT_DISK : SWEEP_EXIT_DONE;
	if (left > 1)
		return SWEEP_EXIT_SINGLY;
	for (size_t i = 0; i < w->n; i++)
		if (!w->job[i].failed)
			s = fail_job(w, w->job + i, "simulator", &why, err);
	return s == PM_ERR ? SWEEP_EXIT_DISK : SWEEP_EXIT_DONE;
}

int sweep_gang_run(struct sweep_dir *d, const struct sweep_plan *p,
		   const struct sweep_trace_ids *ids, const struct sweep_gang *g,
		   const struct sweep_gang_opts *o, struct sweep_report *report)
{
	struct gang_run w = { .d = d, .p = p, .ids = ids, .g = g, .report = report,
			 .path = o->path ? o->path : p->trace[g->trace].path };
	struct pm_err err = { 0 };
	int status = SWEEP_EXIT_DISK;

	if (sweep_dir_lock(d, &err) == PM_OK && choose(&w, o->retry, &err) == PM_OK)
		status = w.n ? simulate(&w, &err) : SWEEP_EXIT_DONE;
	if (status == SWEEP_EXIT_DISK)
		pm_err_format(&err, report->message, sizeof report->message);
	if (w.src.ops)
		w.src.ops->close(w.src.self);
	pm_pipeline_free(w.pipe);
	for (size_t i = 0; i < w.n; i++) {
		free(w.job[i].spec);
		pm_result_free(w.job[i].r);
	}
	free(w.job);
	return status;
}

enum pm_status sweep_gang_fail(struct sweep_dir *d, const struct sweep_plan *p,
			       const struct sweep_trace_ids *ids, const struct sweep_gang *g,
			       const struct sweep_failure *f, struct pm_err *err)
{
	struct pm_buf spec = { 0 }, canonical = { 0 };
	char key[SWEEP_KEY + 1];
	enum pm_status s;

	sweep_plan_spec(p, g->from, &spec);
	s = sweep_key(&ids->id[g->trace], p->region + g->region, (const char *)spec.p, &canonical,
		      key, err);
	if (!s && sweep_lock(d, key, err)) {
		if (!sweep_result_there(d, key))
			s = put_failure(d, p, ids, g, key, (const char *)spec.p, f, err);
		sweep_unlock(d, key);
	}
	pm_buf_release(&spec);
	pm_buf_release(&canonical);
	return s || pm_failed(err) ? PM_ERR : PM_OK;
}
