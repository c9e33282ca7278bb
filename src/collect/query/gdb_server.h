/* SPDX-License-Identifier: MIT */
/* gdb_server.h - a recording behind gdb's remote protocol, with reverse execution
 *
 * gdb sees the first process of the recording and its threads, at a position. Steps, also
 * backwards, are exact; continuing goes to the next breakpoint, to the next store to a watched
 * range, or to where the process executes another program, in either direction. Nothing can be
 * changed: a recording is what it is.
 *
 * Errors     PM_ERR and @err if the recording cannot be replayed.
 * Threads    it runs pm_run(): one at a time. */
#ifndef PM_QUERY_GDB_SERVER_H
#define PM_QUERY_GDB_SERVER_H

#include "base/gdb_packet.h"
#include "collect/control/process.h"

/* Until the debugger goes away. @link is open. */
enum pm_status query_gdb(const char *recording, const struct pm_run_opts *o, struct gdb_link *link,
			 struct pm_err *err);

#endif
