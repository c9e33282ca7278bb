/* SPDX-License-Identifier: MIT */
/* replayed.c - a recording in place of a trace: it is replayed, by this process or by another
 * pugmark, whose trace is read */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/whole_file.h"
#include "cli/manners.h"
#include "cli/replayed.h"
#include "cli/run_ends.h"
#include "collect/citcat/citcat.h"
#include "collect/control/process.h"
#include "collect/query/trace_parts.h"
#include "collect/record/recording.h"
#include "trace/cat_x86.h"

enum replayed { NOT_REPLAYED, RECORDING, CITCAT };

static enum replayed kind_of(const char *path)
{
	uint8_t head[8];

	if (!pm_file_head(path, head, sizeof head))
		return NOT_REPLAYED;
	return rec_is(head, sizeof head) ? RECORDING
	     : citcat_is_packed(head, sizeof head) || catx_is_packed(head, sizeof head) ? CITCAT
	     : NOT_REPLAYED;
}

static char failed[6000];	/* why the first one did; "": none has */

int replayed_status(int status)
{
	if (status || !*failed)
		return status;		/* what has been said since is worse: one error is enough */
	fflush(stdout);
	fprintf(stderr, "pugmark: %s\n", failed);
	return 1;
}

/* The trace is good as far as it goes. */
static void keep_failure(const struct pm_err *why)
{
	if (!*failed)
		pm_err_format(why, failed, sizeof failed);
}

/* ---- by another process ---------------------------------------------------------------------- */
/* This program once more, writing to @out, and what it says to @said. It ends with us. */
static pid_t execute(char **argv, int out, int said)
{
	const pid_t pid = vfork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	dup2(out, 1);
	dup2(said, 2);
	execv("/proc/self/exe", argv);
	_exit(127);
}

struct replay_process {
	const char *path;		/* the recording */
	pid_t pid;			/* 0: has ended, with @status */
	int status;
	int trace;			/* the pipe's end that is read */
	int said;			/* its standard error, a memfd */
};

static void close_files(struct replay_process *r)
{
	if (r->trace >= 0)
		close(r->trace);
	if (r->said >= 0)
		close(r->said);
	r->trace = r->said = -1;
}

static void close_replay(void *self)
{
	struct replay_process *r = self;

	close_files(r);
	free(r);
}

/* Another pugmark does @args on @path and writes a trace to a pipe; NULL. */
static struct replay_process *start(const char *const *args, const char *jobs, const char *path,
			    struct pm_err *err)
{
	struct replay_process *r = pm_alloc(sizeof *r);
	char *argv[20];
	unsigned n = 0;
	int fd[2];

	r->path = path;
	r->trace = -1;
	r->said = memfd_create("said", MFD_CLOEXEC);
	if (r->said < 0 || pipe2(fd, O_CLOEXEC)) {
		pm_fail_errno(err, "cannot make a pipe");
		close_replay(r);
		return NULL;
	}
	r->trace = fd[0];
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
	r->pid = execute(argv, fd[1], r->said);
	close(fd[1]);
	if (r->pid > 0)
		return r;
	pm_fail_errno(err, "cannot fork");
	close_replay(r);
	return NULL;
}

static void wait_for(struct replay_process *r)
{
	char rest[4096];

	/* A trace that cannot be read is not the end of the replay, which writes on. */
	while (read(r->trace, rest, sizeof rest) > 0)
		;
	while (waitpid(r->pid, &r->status, 0) < 0 && errno == EINTR)
		;
	r->pid = 0;
}

/* The last line is why it failed; what is before it are notes, as they are. */
static struct pm_err failure(struct replay_process *r, char *text)
{
	struct pm_err err = { .file = r->path };
	size_t n = strlen(text);
	uint64_t off;
	int place = 0;
	char *line;

	while (n && text[n - 1] == '\n')
		text[--n] = 0;
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	fwrite(text, 1, (size_t)(line - text), stderr);
	if (!strncmp(line, "pugmark: ", 9))
		line += 9;
	n = strlen(r->path);
	line += strncmp(line, r->path, n) ? 0 : n;
	if (sscanf(line, ":0x%" SCNx64 ": %n", &off, &place) == 1 && place)
		pm_fail(&err, off, "%s", line + place);
	else if (*line)
		pm_fail_file(&err, "%s", line + (strncmp(line, ": ", 2) ? 0 : 2));
	else if (WIFSIGNALED(r->status))
		pm_fail_file(&err, "its replay was killed by signal %d", WTERMSIG(r->status));
	else
		pm_fail_file(&err, "its replay failed with exit status %d", WEXITSTATUS(r->status));
	return err;
}

/* Was the replay good? Its own status says so: `replay --own-status`. */
static enum pm_status replay_ended(void *self, enum pm_status s, struct pm_err *err)
{
	struct replay_process *r = self;
	struct pm_err why;
	char text[4096];
	const off_t most = sizeof text - 1;
	off_t n;

	if (!r->pid)
		return s;
	wait_for(r);
	n = lseek(r->said, 0, SEEK_END);	/* why it failed is at the end */
	n = pread(r->said, text, (size_t)most, n > most ? n - most : 0);
	text[n > 0 ? n : 0] = 0;
	close_files(r);
	if (!r->status) {
		fputs(text, stderr);
		return s;
	}
	why = failure(r, text);
	if (s == PM_ERR)
		*err = why;
	else
		keep_failure(&why);
	return s;
}

bool replayed_is(const char *path)
{
	return kind_of(path) == RECORDING;
}

enum pm_status replayed_open_by(uint64_t jobs, const char *path, const char *format,
				struct pm_source *src, const struct pm_format **which,
				struct pm_err *err)
{
	static const char *const process[] = { "pugmark", "replay", "-q", "--no-output",
					       "--own-status", "--exec",
					       "-t", "pug:level=fast", "-o", "-", NULL };
	static const char *const machine[] = { "pugmark", "citcat", "replay", "-q",
					       "-t", "pug:level=fast", "-o", "-", NULL };
	const enum replayed kind = format ? NOT_REPLAYED : kind_of(path);
	char link[64], number[32];
	struct replay_process *r;

	if (kind == NOT_REPLAYED)
		return pm_trace_open(path, format, src, which, err);
	manners_tell("%s: a recording, which is replayed", path);
	snprintf(number, sizeof number, "%u", parts_number(jobs) ? (unsigned)jobs : PARTS_WORKERS);
	r = kind == RECORDING ? start(process, jobs > 1 ? number : NULL, path, err) :
		start(machine, NULL, path, err);
	if (!r)
		return PM_ERR;
	snprintf(link, sizeof link, "/proc/self/fd/%d", r->trace);
	path = pm_strdup(link);			/* the source has it, too */
	pm_keep(path);
	if (pm_trace_open(path, "pug", src, which, err) != PM_OK) {
		replay_ended(r, PM_ERR, err);
		close_replay(r);
		return PM_ERR;
	}
	pm_trace_set_writer(src, &(struct pm_trace_writer){ replay_ended, close_replay, r });
	return PM_OK;
}

enum pm_status replayed_open(const char *path, const char *format, struct pm_source *src,
			     const struct pm_format **which, struct pm_err *err)
{
	return replayed_open_by(1, path, format, src, which, err);
}

/* ---- by this process ------------------------------------------------------------------------- */
struct own_replay {
	const char *path;
	struct rec_reader *recording;
	struct pm_counts *counts;	/* has what the trace's tables are made of; NULL: not run */
};

static void close_own(void *self)
{
	struct own_replay *r = self;

	pm_counts_free(r->counts);
	rec_close(r->recording);
	free(r);
}

static enum pm_status push_all(void *self, struct pm_pipeline *p, struct pm_err *err)
{
	struct own_replay *r = self;
	const struct pm_run_opts o = {
		RUN_DEFAULTS, .kind = XL_EXEC, .replay = r->recording, .pipeline = p,
		.argv = (char **)(uintptr_t)rec_start_of(r->recording, 0)->argv,
	};
	const enum pm_status s = pm_run(&o, &r->counts, err);

	if (s == PM_OK)
		return s;
	if (!err->file)
		err->file = r->path;
	if (!r->counts || !r->counts->cut)
		return s;
	keep_failure(err);
	*err = (struct pm_err){ 0 };
	return PM_OK;
}

enum pm_status replayed_open_whole(uint64_t jobs, const char *path, const char *format,
				   struct pm_source *src, const struct pm_format **which,
				   struct pm_err *err)
{
	static const struct pm_source_ops ops = { .name = "replays", .close = close_own,
						  .run = push_all };
	static const struct pm_format replays = { .name = "replay", .plural = "replays" };
	struct own_replay *r;

	if (jobs > 1 || format || !replayed_is(path))
		return replayed_open_by(jobs, path, format, src, which, err);
	manners_tell("%s: a recording, which is replayed", path);
	r = pm_alloc(sizeof *r);
	r->path = path;
	if (rec_open(path, &r->recording, err) != PM_OK) {
		free(r);
		return PM_ERR;
	}
	*src = (struct pm_source){ &ops, r, pm_run_facts(XL_EXEC) };
	*which = &replays;
	return PM_OK;
}
