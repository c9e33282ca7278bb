/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/progress.h"
#include "trace/format.h"

#define FIRST	1.0			/* seconds before anything is shown */
#define EVERY	0.5

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void show(struct progress *p, double t)
{
	double part = pm_trace_part(p->from), took = t - p->began;

	fprintf(stderr, "\r\033[K%.1f M events, %.1f M/s", (double)p->events / 1e6,
		(double)p->events / took / 1e6);
	if (part > 0)
		fprintf(stderr, ", %.0f %%, %.0f s to go", 100 * part, took * (1 - part) / part);
	fflush(stderr);
	p->shown = t;
}

static enum pm_status next(void *self, const struct pm_batch **b, struct pm_err *err)
{
	struct progress *p = self;
	enum pm_status s = p->from->ops->next(p->from->self, b, err);
	double t;

	if (s != PM_OK)
		return s;
	p->events += (*b)->n;
	t = now();
	if (t - p->began > FIRST && t - p->shown > EVERY)
		show(p, t);
	return s;
}

struct pm_source *progress_begin(struct progress *p, struct pm_source *src)
{
	static const struct pm_source_ops ops = { .name = "progress", .next = next };

	*p = (struct progress){ .from = src, .through = { &ops, p, src->facts }, .began = now() };
	p->on = isatty(STDERR_FILENO);
	return p->on ? &p->through : src;
}

void progress_end(struct progress *p)
{
	if (p->on && p->shown > 0)
		fprintf(stderr, "\r\033[K");
}
