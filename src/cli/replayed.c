/* SPDX-License-Identifier: MIT */
/* replayed.c - a recording in place of a trace: it is replayed, and what comes out is read */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/manners.h"
#include "cli/replayed.h"
#include "collect/record/recording.h"

/* Only an ordinary file is: opening a FIFO would take its writer away from whoever reads it. */
static bool is_recording(const char *path)
{
	uint8_t head[8];
	struct stat st;
	const int fd = !stat(path, &st) && S_ISREG(st.st_mode) ?
		open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	const bool is = fd >= 0 && pread(fd, head, sizeof head, 0) == sizeof head &&
			rec_is(head, sizeof head);

	if (fd >= 0)
		close(fd);
	return is;
}

/* Another pugmark replays @path and writes its trace to the pipe that is returned; -1. */
static int start(const char *path, struct pm_err *err)
{
	char *recording = pm_strdup(path);
	char *argv[] = { (char []){ "pugmark" }, (char []){ "replay" }, (char []){ "-q" },
			 (char []){ "--no-output" }, (char []){ "--exec" }, (char []){ "-t" },
			 (char []){ "pug:level=fast" }, (char []){ "-o" }, (char []){ "-" },
			 (char []){ "--" }, recording, NULL };
	int fd[2];
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC)) {
		free(recording);
		pm_fail_errno(err, "cannot make a pipe");
		return -1;
	}
	pid = vfork();
	if (!pid) {
		dup2(fd[1], 1);
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	close(fd[1]);
	free(recording);
	if (pid > 0)
		return fd[0];
	pm_fail_errno(err, "cannot fork");
	close(fd[0]);
	return -1;
}

enum pm_status replayed_open(const char *path, const char *format, struct pm_source *src,
			     const struct pm_format **which, struct pm_err *err)
{
	char link[64];
	enum pm_status st;
	int fd;

	if (format || !is_recording(path))
		return pm_trace_open(path, format, src, which, err);
	manners_tell("%s: a recording, which is replayed", path);
	fd = start(path, err);
	if (fd < 0)
		return PM_ERR;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	path = pm_strdup(link);			/* the source has it, too */
	pm_keep(path);
	st = pm_trace_open(path, "pug", src, which, err);
	close(fd);
	return st;
}
