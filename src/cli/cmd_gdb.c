/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/guard.h"
#include "cli/cli.h"
#include "cli/manners.h"
#include "cli/run_ends.h"
#include "cli/traces.h"
#include "collect/query/gdb_server.h"

static const struct pm_opt_help help = {
	"pugmark gdb --stdio|--socket PATH RECORDING",
	"Lets gdb look at a recorded run, at any moment of it, and go there forwards and back: "
	"step, continue,\n"
	"reverse-step, reverse-continue, with breakpoints and watchpoints. It speaks gdb's remote "
	"protocol on its\n"
	"standard input and output, or on a Unix socket.",
	"  pugmark record -o r.pugrec -- ./program\n"
	"  gdb ./program -ex 'target remote | pugmark gdb --stdio r.pugrec'\n"
	"  (gdb) watch -l account.balance\n"
	"  (gdb) reverse-continue\n\n"
	"Exit status: 1 if the recording cannot be replayed, 2 for a usage error.",
};

/* The first one that comes to the socket at @path; -1 and @err. */
static int wait_on(const char *path, struct pm_err *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = -1;

	err->file = path;
	if (strlen(path) >= sizeof a.sun_path) {
		pm_fail_file(err, "a socket's name has at most %zu letters",
			     sizeof a.sun_path - 1);
	} else {
		strcpy(a.sun_path, path);
		if (s < 0 || bind(s, (struct sockaddr *)&a, sizeof a) || listen(s, 1)) {
			pm_fail_errno(err, "cannot make a socket");
		} else {
			manners_note("waiting for gdb: target remote %s", path);
			fd = accept(s, NULL, NULL);
			if (fd < 0)
				pm_fail_errno(err, "nobody came");
			unlink(path);
		}
	}
	if (s >= 0)
		close(s);
	if (fd >= 0)
		err->file = NULL;
	return fd;
}

int cmd_gdb(int argc, char **argv)
{
	struct pm_run_opts o = { RUN_DEFAULTS };
	struct gdb_link link = { .in = STDIN_FILENO, .out = STDOUT_FILENO };
	struct pm_err err = { 0 };
	const char *path = NULL;
	bool stdio = false;
	enum pm_status st;
	const struct pm_opt opts[] = {
		OPT_FLAG(0, "stdio", &stdio, "gdb is on standard input and output"),
		OPT_STR(0, "socket", &path, "PATH", "gdb comes to this Unix socket, made here"),
		OPT_STR(0, "cache-dir", &o.cache_dir, "DIR",
			"keep translations in DIR ($XDG_CACHE_HOME/pugmark)"),
		OPT_FLAG(0, "no-cache", &o.no_cache, "neither use nor keep translations"),
		OPT_END
	};

	pm_guard_last(PM_GUARD_COMMAND, run_say_death, NULL);
	if (pm_opt_parse(argc, argv, opts, &help, false) != 1)
		pm_opt_usage(&help, "expected one recording");
	if (stdio == (path != NULL))
		pm_opt_usage(&help, "expected --stdio or --socket PATH");
	if (path) {
		link.in = link.out = wait_on(path, &err);
		if (link.in < 0)
			return traces_fail(&err);
	}
	st = query_gdb(argv[0], &o, &link, &err);
	if (path)
		close(link.in);
	return st == PM_OK ? 0 : traces_fail(&err);
}
