/* SPDX-License-Identifier: MIT */
/* progress.h - a line on a terminal while a long trace is read: how far, how fast, how long still
 *
 * Only where standard error is a terminal; the line is gone when progress_end() returns. */
#ifndef PM_CLI_PROGRESS_H
#define PM_CLI_PROGRESS_H

#include "trace/pipeline.h"

struct progress {
	struct pm_source *from, through;
	double began, shown;
	uint64_t events;
	bool on;
};

/* What to read instead of @src, which must be pm_trace_open()'s. */
struct pm_source *progress_begin(struct progress *p, struct pm_source *src);
void progress_end(struct progress *p);

#endif
