/* SPDX-License-Identifier: MIT */
/* each_process.h - a trace file for each process: "x.%p.pug"
 *
 * A file is made when the first events of its process come, whose number replaces %p; %% stands for
 * a percent sign. What a process executes one after the other is in one file. */
#ifndef PM_TRACE_EACH_PROCESS_H
#define PM_TRACE_EACH_PROCESS_H

#include <stdbool.h>

#include "trace/pipeline.h"

bool pm_path_has_process(const char *path);	/* does %p stand in it? */
/* As pm_trace_create() (format.h), of a @path that has. */
enum pm_status pm_trace_create_each(struct pm_pipeline *p, const char *path, const char *format,
				    uint32_t facts, struct pm_err *err);

#endif
