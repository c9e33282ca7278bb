/* SPDX-License-Identifier: MIT */
/* replayed.h - a recording of a process (.pugrec) or of a machine (.cit) in place of a trace
 *
 * Errors     what the replay, which is another process, says is said at its end. If it fails, its
 *            trace ends there, as a whole one, and the command's status says so
 *            (replayed_status()). */
#ifndef PM_CLI_REPLAYED_H
#define PM_CLI_REPLAYED_H

#include <stdbool.h>

#include "trace/format.h"

/* Is @path a recording of a process? */
bool replayed_is(const char *path);
/* pm_trace_open(), which also takes recordings. */
enum pm_status replayed_open(const char *path, const char *format, struct pm_source *src,
			     const struct pm_format **which, struct pm_err *err);
/* The same; a recording of a process is traced by @jobs replays, 0 or 1: by one. */
enum pm_status replayed_open_by(uint64_t jobs, const char *path, const char *format,
				struct pm_source *src, const struct pm_format **which,
				struct pm_err *err);
/* What a command that returned @status exits with: 1 in place of 0 if a replay failed, which is
 * said then. */
int replayed_status(int status);

#endif
