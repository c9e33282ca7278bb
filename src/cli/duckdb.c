/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/duckdb.h"
#include "collect/control/process.h"

#define NO_PACKAGE	3		/* duckdb.js ends with it */

__asm__(".section .rodata\n"
	"duckdb_js:\n"
	".incbin \"src/cli/duckdb.js\"\n"
	".byte 0\n"
	".previous\n");
extern const char duckdb_js[];

static bool read_all(int fd, struct pm_buf *to, struct pm_err *err)
{
	ssize_t n;

	while ((n = read(fd, pm_buf_room(to, 65536), 65536))) {
		if (n > 0)
			to->n += (size_t)n;
		else if (errno != EINTR)
			return pm_fail_errno(err, "cannot read what DuckDB says") == PM_OK;
	}
	return true;
}

/* Run @argv, its output to @to if that is not NULL; its exit status, -1 on error. */
static int run(const char *const *argv, struct pm_buf *to, struct pm_err *err)
{
	posix_spawn_file_actions_t a;
	int pipes[2] = { -1, -1 }, e, status = 0;
	bool all = true;
	pid_t pid;

	if (to && pipe2(pipes, O_CLOEXEC)) {
		pm_fail_errno(err, "cannot make a pipe");
		return -1;
	}
	posix_spawn_file_actions_init(&a);
	if (to)
		posix_spawn_file_actions_adddup2(&a, pipes[1], 1);
	e = posix_spawnp(&pid, argv[0], &a, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&a);
	if (to)
		close(pipes[1]);
	if (e) {
		errno = e;
		pm_fail_errno(err, "cannot run '%s'", argv[0]);
	} else if (to) {
		all = read_all(pipes[0], to, err);
	}
	if (to)
		close(pipes[0]);
	if (e)
		return -1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!all)
		return -1;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	/* it could not say why: where memory is short even its start ends so; but a reader who has
	 * gone knows */
	if (WTERMSIG(status) != SIGPIPE)
		pm_fail_file(err, "'%s' was killed by signal %d (%s)", argv[0], WTERMSIG(status),
			     strsignal(WTERMSIG(status)));
	return -1;
}

static int run_command(const char *command, const char *setup, const char *query,
		       enum duckdb_form form, struct pm_buf *to, struct pm_err *err)
{
	static const char *const forms[] = { "-box", "-csv", "-json" };
	const char *const argv[] = { command, forms[form], "-cmd", setup, "-c", query, NULL };

	return run(argv, to, err);
}

enum pm_status duckdb_run(const char *setup, const char *query, enum duckdb_form form,
			  struct pm_buf *to, struct pm_err *err)
{
	static const char *const forms[] = { "text", "csv", "json" };
	const char *const node[] = { "node", "-e", duckdb_js, forms[form], setup, query, NULL };
	const char *named = getenv("PUGMARK_DUCKDB");
	char path[4096];
	int status;

	if (named && *named) {
		status = run_command(named, setup, query, form, to, err);
	} else if (pm_run_find("duckdb", path, sizeof path)) {
		status = run_command(path, setup, query, form, to, err);
	} else {
		status = pm_run_find("node", path, sizeof path) ? run(node, to, err) : NO_PACKAGE;
		if (status == NO_PACKAGE)
			return pm_fail_file(err, "there is no DuckDB: put the command duckdb (see "
						 "https://duckdb.org) into PATH, or name it in "
						 "PUGMARK_DUCKDB, or `npm install "
						 "@duckdb/node-api`");
	}
	return status ? PM_ERR : PM_OK;
}
