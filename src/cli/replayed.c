/* SPDX-License-Identifier: MIT */
/* replayed.c - a recording in place of a trace: another pugmark replays it, and what comes out is
 * read */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/manners.h"
#include "cli/replayed.h"
#include "collect/citcat/citcat.h"
#include "collect/query/trace_parts.h"
#include "collect/record/recording.h"
#include "trace/cat_x86.h"

enum replayed { NOT_REPLAYED, RECORDING, CITCAT };

/* Only an ordinary file is: opening a FIFO would take its writer away from whoever reads it. */
static enum replayed kind_of(const char *path)
{
	uint8_t head[8];
	struct stat st;
	const int fd = !stat(path, &st) && S_ISREG(st.st_mode) ?
		open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	enum replayed kind = NOT_REPLAYED;

	if (fd >= 0 && pread(fd, head, sizeof head, 0) == sizeof head)
		kind = rec_is(head, sizeof head) ? RECORDING
		     : citcat_is_packed(head, sizeof head) || catx_is_packed(head, sizeof head)
		       ? CITCAT : NOT_REPLAYED;
	if (fd >= 0)
		close(fd);
	return kind;
}

/* This program once more, writing to @out. */
static pid_t execute(char **argv, int out)
{
	const pid_t pid = vfork();

	if (pid)
		return pid;
	dup2(out, 1);
	execv("/proc/self/exe", argv);
	_exit(127);
}

/* Another pugmark does @args on @path and writes a trace to the pipe that is returned; -1. */
static int start(const char *const *args, const char *jobs, const char *path, struct pm_err *err)
{
	char *argv[20];
	unsigned n = 0;
	int fd[2];
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC)) {
		pm_fail_errno(err, "cannot make a pipe");
		return -1;
	}
	while (args[n]) {
		argv[n] = (char *)(uintptr_t)args[n];
		n++;
	}
	if (jobs) {
		argv[n++] = (char *)(uintptr_t)"-j";
		argv[n++] = (char *)(uintptr_t)jobs;
	}
	argv[n++] = (char *)(uintptr_t)"--";
	argv[n] = (char *)(uintptr_t)path;
	argv[n + 1] = NULL;
	pid = execute(argv, fd[1]);
	close(fd[1]);
	if (pid > 0)
		return fd[0];
	pm_fail_errno(err, "cannot fork");
	close(fd[0]);
	return -1;
}

bool replayed_is(const char *path)
{
	return kind_of(path) == RECORDING;
}

enum pm_status replayed_open_by(uint64_t jobs, const char *path, const char *format,
				struct pm_source *src, const struct pm_format **which,
				struct pm_err *err)
{
	static const char *const process[] = { "pugmark", "replay", "-q", "--no-output", "--exec",
					       "-t", "pug:level=fast", "-o", "-", NULL };
	static const char *const machine[] = { "pugmark", "citcat", "replay", "-q",
					       "-t", "pug:level=fast", "-o", "-", NULL };
	const enum replayed kind = format ? NOT_REPLAYED : kind_of(path);
	char link[64], number[32];
	enum pm_status st;
	int fd;

	if (kind == NOT_REPLAYED)
		return pm_trace_open(path, format, src, which, err);
	manners_tell("%s: a recording, which is replayed", path);
	snprintf(number, sizeof number, "%u", parts_number(jobs) ? (unsigned)jobs : PARTS_WORKERS);
	fd = kind == RECORDING ? start(process, jobs > 1 ? number : NULL, path, err) :
		start(machine, NULL, path, err);
	if (fd < 0)
		return PM_ERR;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	path = pm_strdup(link);			/* the source has it, too */
	pm_keep(path);
	st = pm_trace_open(path, "pug", src, which, err);
	close(fd);
	return st;
}

enum pm_status replayed_open(const char *path, const char *format, struct pm_source *src,
			     const struct pm_format **which, struct pm_err *err)
{
	return replayed_open_by(1, path, format, src, which, err);
}
