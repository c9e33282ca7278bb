/* SPDX-License-Identifier: MIT */
/* replayed.h - a recording of a process (.pugrec) or of a machine (.cit) in place of a trace
 *
 * Who runs all of it through a pipeline replays it in this process. For others another process does
 * that, and writes a trace into a pipe, which is read.
 *
 * Errors     if the replay fails on the way, its trace ends there, as a whole one, and what was
 *            wrong is said at the end of the command, whose status says so (replayed_status()). */
#ifndef PM_CLI_REPLAYED_H
#define PM_CLI_REPLAYED_H

#include <stdbool.h>

#include "trace/format.h"

/* Is @path a recording of a process? */
bool replayed_is(const char *path);
/* pm_trace_open(), which also takes recordings: of these *@which is .pug, whose reader has what is
 * known of the trace. */
enum pm_status replayed_open(const char *path, const char *format, struct pm_source *src,
			     const struct pm_format **which, struct pm_err *err);
/* The same; a recording of a process is traced by @jobs replays, 0 or 1: by one. */
enum pm_status replayed_open_by(uint64_t jobs, const char *path, const char *format,
				struct pm_source *src, const struct pm_format **which,
				struct pm_err *err);
/* The same, and all of @src will go through one pipeline: the source may be one that pushes. */
enum pm_status replayed_open_whole(uint64_t jobs, const char *path, const char *format,
				   struct pm_source *src, const struct pm_format **which,
				   struct pm_err *err);
/* What a command that returned @status exits with: 1 in place of 0 if a replay failed, which is
 * said then. */
int replayed_status(int status);

#endif
