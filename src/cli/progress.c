/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/elapsed.h"
#include "cli/manners.h"
#include "cli/progress.h"
#include "trace/chain.h"
#include "trace/format.h"

#define FIRST	1.0			/* seconds before anything is shown */
#define EVERY	0.5

/* Less than 80 columns, whatever the numbers are. */
static void show(struct progress *p, double part, double t)
{
	double took = t - p->began;
	char left[32];

	fprintf(stderr, "\r\033[K%.1f M %s, %.1f M/s", (double)p->events / 1e6, p->what,
		(double)p->events / took / 1e6);
	if (part > 0)
		fprintf(stderr, ", %.0f %%, %s to go", 100 * part,
			pm_time_text(took * (1 - part) / part, left));
	fflush(stderr);
	p->shown = t;
}

static bool is_due(const struct progress *p, double t)
{
	return t - p->began > FIRST && t - p->shown > EVERY;
}

static enum pm_status next(void *self, const struct pm_batch **b, struct pm_err *err)
{
	struct progress *p = self;
	enum pm_status s = p->from->ops->next(p->from->self, b, err);
	double t;

	if (s != PM_OK)
		return s;
	p->events += (*b)->n;
	t = pm_now();
	if (is_due(p, t))
		show(p, pm_trace_part(p->from), t);
	return s;
}

static void epochs(void *self)
{
	struct progress *p = self;

	if (p->from->ops->epochs)
		p->from->ops->epochs(p->from->self);
}

void progress_begin_count(struct progress *p, const char *what)
{
	const char *term = getenv("TERM");

	*p = (struct progress){ .what = what, .began = pm_now() };
	p->on = !manners.quiet && isatty(STDERR_FILENO) && !(term && !strcmp(term, "dumb"));
}

struct pm_source *progress_begin(struct progress *p, struct pm_source *src)
{
	static const struct pm_source_ops ops = { .name = "progress", .next = next,
						  .epochs = epochs };

	if (src->ops->run)
		return src;
	progress_begin_count(p, "events");
	p->from = src;
	p->through = (struct pm_source){ &ops, p, src->facts };
	return p->on ? &p->through : src;
}

void progress_count(struct progress *p, uint64_t n, double part)
{
	double t = pm_now();

	p->events = n;
	if (p->on && is_due(p, t))
		show(p, part, t);
}

void progress_end(struct progress *p)
{
	if (p->on && p->shown > 0)
		fprintf(stderr, "\r\033[K");
	pm_map_release(&p->reached);
}

static enum pm_status see_batch(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct progress *p = self;
	uint64_t *reached = pm_map_put(&p->reached, 1 + b->stream->index, NULL);

	(void)err;
	progress_count(p, p->events + b->first_insn - *reached, 0);
	*reached = b->first_insn;
	return PM_OK;
}

static enum pm_status see_packed(void *self, const struct pm_batch *b, const struct pm_packed *k,
				 struct pm_err *err)
{
	(void)k;
	return see_batch(self, b, err);
}

void progress_sink(struct progress *p, struct pm_pipeline *pipe)
{
	static const struct pm_chain_sink_ops sink = {
		.ops = {
			.abi = PM_ABI, .name = "progress", .about = "shows instructions",
			.flags = PM_SINK_BLOCKS | PM_SINK_LIGHT | PM_SINK_EPOCHS | PM_SINK_CHAINS |
				 PM_SINK_LIGHT_CHAINS | PM_SINK_NO_ADDRESSES,
			.consume = see_batch,
		},
		.packed = see_packed,
	};

	progress_begin_count(p, "instructions");
	if (p->on)
		pm_pipeline_sink(pipe, &sink.ops, p);
}

enum pm_status progress_start(struct progress *p, struct pm_pipeline *pipe,
			      const struct pm_source *src, const char *plural, struct pm_err *err)
{
	if (src->ops->run)
		progress_sink(p, pipe);
	return pm_pipeline_start(pipe, src->facts, plural, err);
}

enum pm_status progress_run(struct pm_pipeline *pipe, struct pm_source *src, struct pm_result *r,
			    bool (*stop)(const void *arg), const void *arg, struct pm_err *err)
{
	struct progress p;
	enum pm_status s = pm_pipeline_run_until(pipe, progress_begin(&p, src), r, stop, arg, err);

	progress_end(&p);
	return s;
}

enum pm_status progress_whole(struct pm_pipeline *pipe, struct pm_source *src, const char *plural,
			      struct pm_result *r, struct pm_err *err)
{
	struct progress p = { 0 };
	enum pm_status s = progress_start(&p, pipe, src, plural, err);

	if (s == PM_OK)
		s = pm_pipeline_run(pipe, progress_begin(&p, src), r, err);
	progress_end(&p);
	return s;
}
