/* SPDX-License-Identifier: MIT */
/* progress.h - a line on a terminal while something long is done: how far, how fast, how long still
 *
 * Only where standard error is a terminal that can take a line back, after a second, and not with
 * --quiet; the line is gone when progress_end() returns. */
#ifndef PM_CLI_PROGRESS_H
#define PM_CLI_PROGRESS_H

#include "base/mem.h"
#include "trace/pipeline.h"

struct pm_result;

struct progress {
	struct pm_source *from, through;
	const char *what;		/* "events" */
	double began, shown;
	uint64_t events;
	struct pm_map reached;		/* progress_sink(): stream -> its instructions so far */
	bool on;
};

/* What to read instead of @src, which must be pm_trace_open()'s. One that pushes stays what it
 * is. */
struct pm_source *progress_begin(struct progress *p, struct pm_source *src);
/* Without a source: of @what, @n have been done now, and @part (0 to 1; 0: not known) of all. */
void progress_begin_count(struct progress *p, const char *what);
void progress_count(struct progress *p, uint64_t n, double part);
void progress_end(struct progress *p);
/* Without a source that could be read instead: what @pipe is given, in instructions. A sink of
 * @pipe, which costs next to nothing, and only if it would be seen. */
void progress_sink(struct progress *p, struct pm_pipeline *pipe);
/* pm_pipeline_start(). A source that pushes is watched by a sink, another one by
 * progress_begin(). */
enum pm_status progress_start(struct progress *p, struct pm_pipeline *pipe,
			      const struct pm_source *src, const char *plural, struct pm_err *err);

/* pm_pipeline_run_until() with progress; @stop NULL: to the end. */
enum pm_status progress_run(struct pm_pipeline *pipe, struct pm_source *src, struct pm_result *r,
			    bool (*stop)(const void *arg), const void *arg, struct pm_err *err);

/* Starts @pipe, and runs all of @src through it, whether that is pulled or pushes, with progress;
 * @plural: the source, as for pm_pipeline_start(). */
enum pm_status progress_whole(struct pm_pipeline *pipe, struct pm_source *src, const char *plural,
			      struct pm_result *r, struct pm_err *err);

#endif
