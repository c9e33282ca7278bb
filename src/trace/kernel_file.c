/* SPDX-License-Identifier: MIT */
#include "trace/kernel_file.h"

#include <stdlib.h>

#include "base/mem.h"
#include "trace/format.h"
#include "trace/text.h"

struct pm_kernel_file {
	struct pm_pipeline *out;
	struct pm_builder b;
	struct pm_stream stream;
	struct pm_err err;
	uint64_t events, time;
	bool timed;
};

static const uint32_t facts = PM_HAS_KERNEL | PM_HAS_TIME | PM_HAS_CYCLES | PM_HAS_SPACES;

struct pm_kernel_file *pm_kernel_file_new(const char *path, const char *source, struct pm_err *err)
{
	struct pm_kernel_file *f = pm_alloc(sizeof *f);
	const char *format = pm_format_by_name(path) ? NULL : "laplace-events";

	f->stream.name = "kernel";
	pm_builder_reset(&f->b, &f->stream, NULL);
	f->out = pm_pipeline_new();
	if (pm_trace_create(f->out, path, format, facts, err) == PM_OK &&
	    pm_pipeline_start(f->out, facts, source, err) == PM_OK)
		return f;
	pm_kernel_file_free(f);
	return NULL;
}

void pm_kernel_file_add(struct pm_kernel_file *f, uint64_t time, const struct pm_rare *r,
			uint8_t type)
{
	struct pm_rare *to;
	const char *name;

	if (!f->timed || time != f->time)
		pm_ev_add(&f->b, PM_EV_TIME, 0, 0, 0, time);
	f->timed = true;
	f->time = time;
	to = pm_builder_rare(&f->b, PM_EV_KERNEL, r->name && *r->name ? r->name : NULL);
	name = to->name;
	*to = *r;
	to->name = name;
	f->b.ev[f->b.b.n - 1].flags = type;
	f->events++;
	if (f->b.b.n >= PM_BATCH_EVENTS)
		pm_kernel_file_push(f);
}

void pm_kernel_file_push(struct pm_kernel_file *f)
{
	if (!pm_failed(&f->err) && f->b.b.n)
		pm_pipeline_push(f->out, pm_builder_batch(&f->b), &f->err);
	pm_builder_reset(&f->b, &f->stream, NULL);
}

uint64_t pm_kernel_file_events(const struct pm_kernel_file *f)
{
	return f->events;
}

bool pm_kernel_file_failed(const struct pm_kernel_file *f)
{
	return pm_failed(&f->err);
}

enum pm_status pm_kernel_file_finish(struct pm_kernel_file *f, const char *none,
				     struct pm_err *err)
{
	pm_kernel_file_push(f);
	if (!pm_failed(&f->err) && !f->events)
		pm_fail_file(&f->err, "%s", none);
	if (!pm_failed(&f->err))
		pm_pipeline_finish(f->out, NULL, &f->err);
	if (!pm_failed(&f->err))
		return PM_OK;
	*err = f->err;
	return PM_ERR;
}

void pm_kernel_file_free(struct pm_kernel_file *f)
{
	if (!f)
		return;
	pm_pipeline_free(f->out);
	pm_builder_release(&f->b);
	free(f);
}
