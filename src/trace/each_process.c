/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_pattern.h"
#include "trace/each_process.h"
#include "trace/format.h"

struct one_process {
	uint32_t pid;
	char *path;			/* its writer borrows it */
	struct pm_pipeline *p;
};

struct each_process {
	struct pm_sink_ops ops;
	const char *path, *format;	/* as the user says them */
	uint32_t facts;
	const char *const *info;	/* the outer pipeline's, likewise */
	const struct pm_namer *namer;
	struct one_process *one;
	size_t n, cap;
	struct pm_map of;		/* pid -> index of one */
};

bool pm_path_has_process(const char *path)
{
	return pm_pattern_has(path, 'p');
}

static char *path_of(const char *pattern, uint32_t pid)
{
	char number[16];
	const struct pm_pattern_value v[] = { { 'p', number }, { 0 } };
	struct pm_buf b = { 0 };

	snprintf(number, sizeof number, "%u", pid);
	pm_pattern_expand(pattern, v, &b);
	return (char *)b.p;
}

static void keep(void *self)		/* a namer that is the outer pipeline's */
{
	(void)self;
}

static enum pm_status begin(struct each_process *e, struct one_process *x, uint32_t pid,
			    struct pm_err *err)
{
	*x = (struct one_process){ .pid = pid, .path = path_of(e->path, pid),
				   .p = pm_pipeline_new() };
	for (size_t i = 0; e->info && e->info[i] && e->info[i + 1]; i += 2)
		pm_pipeline_info(x->p, e->info[i], e->info[i + 1]);
	if (e->namer) {
		struct pm_namer n = *e->namer;

		n.destroy = keep;
		pm_pipeline_namer(x->p, &n);
	}
	if (pm_trace_create(x->p, x->path, e->format, e->facts, err) != PM_OK)
		return PM_ERR;
	return pm_pipeline_start(x->p, e->facts, "live traces", err);
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct each_process *e = self;
	uint64_t *at;
	bool fresh;

	if (!b->n) {				/* time passes */
		for (size_t i = 0; i < e->n; i++)
			if (pm_pipeline_tick(e->one[i].p, err) != PM_OK)
				return PM_ERR;
		return PM_OK;
	}
	at = pm_map_put(&e->of, b->stream->pid, &fresh);
	if (fresh) {
		*at = e->n;
		pm_grow(e->one, e->n, e->cap);
		if (begin(e, e->one + e->n++, b->stream->pid, err) != PM_OK)
			return PM_ERR;
	}
	return pm_pipeline_push(e->one[*at].p, b, err);
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct each_process *e = self;

	for (size_t i = 0; i < e->n; i++)
		if (pm_pipeline_finish(e->one[i].p, NULL, err) != PM_OK)
			return PM_ERR;
	if (!r)
		return PM_OK;
	pm_result_begin_list(r, "written_by_process");
	for (size_t i = 0; i < e->n; i++) {
		pm_result_begin(r, NULL);
		pm_result_u64(r, "pid", e->one[i].pid, NULL);
		pm_result_str(r, "file", e->one[i].path);
		pm_result_end(r);
	}
	pm_result_end(r);
	return PM_OK;
}

static void destroy(void *self)
{
	struct each_process *e = self;

	for (size_t i = 0; i < e->n; i++) {
		pm_pipeline_free(e->one[i].p);
		free(e->one[i].path);
	}
	free(e->one);
	pm_map_release(&e->of);
	free(e);
}

/* Before an hour's run and not behind it: can there be files? */
static enum pm_status check_directory(const char *path, struct pm_err *err)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? pm_strndup(path, (size_t)(slash - path) + 1) : pm_strdup(".");
	const bool bad = !pm_path_has_process(dir) && access(dir, W_OK | X_OK);

	free(dir);
	if (!bad)
		return PM_OK;
	err->file = path;
	return pm_fail_errno(err, "cannot create files there");
}

enum pm_status pm_trace_create_each(struct pm_pipeline *p, const char *path, const char *format,
				    uint32_t facts, struct pm_err *err)
{
	const struct pm_format *f = format ? pm_format_find(format, err) : pm_format_by_name(path);
	struct each_process *e;

	if (!f)
		return format ? PM_ERR : pm_fail_request(err, "no format has names like '%s'; "
							 "-t FORMAT says which to write (see "
							 "`pugmark formats`)", path);
	if (!f->write)
		return pm_fail_request(err, "%s can be read but not written", f->plural);
	if (check_directory(path, err) != PM_OK)
		return PM_ERR;
	e = pm_alloc(sizeof *e);
	*e = (struct each_process){ .path = path, .format = format, .facts = facts,
				    .info = pm_pipeline_info_get(p),
				    .namer = pm_pipeline_namer_get(p) };
	e->ops = (struct pm_sink_ops){
		.abi = PM_ABI, .needs = f->needs, .flags = PM_SINK_BLOCKS | PM_SINK_WHOLE,
		.name = "a trace of each process", .about = f->about,
		.consume = consume, .finish = finish, .destroy = destroy,
	};
	pm_pipeline_sink(p, &e->ops, e);
	return PM_OK;
}
