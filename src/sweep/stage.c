/* SPDX-License-Identifier: MIT */
/* stage.c - copies of traces on this machine, shared by whoever works here
 *
 * A copy is called after its trace's contents. Who uses one holds a shared lock on it; who is done
 * and can lock it alone removes it. Traces that are not .pug files may need files beside them, and
 * are read where they are. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temp.h"
#include "sweep/sweep_launch.h"

struct sweep_stage {
	const char *dir;
	size_t n;
	struct staged {
		char *path;		/* NULL: not staged */
		int fd;			/* locked; -1 */
		uint8_t sum[PM_SHA256];
	} *at;
};

struct sweep_stage *sweep_stage_new(const char *dir, size_t ntrace)
{
	struct sweep_stage *s = pm_alloc(sizeof *s);

	s->dir = dir;
	s->n = ntrace;
	s->at = pm_alloc(ntrace * sizeof *s->at);
	for (size_t i = 0; i < ntrace; i++)
		s->at[i].fd = -1;
	return s;
}

static void let_go(struct staged *t)
{
	if (t->fd >= 0) {
		if (!flock(t->fd, LOCK_EX | LOCK_NB))
			unlink(t->path);
		close(t->fd);
	}
	free(t->path);
	t->path = NULL;
	t->fd = -1;
}

void sweep_stage_free(struct sweep_stage *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		let_go(s->at + i);
	free(s->at);
	free(s);
}

static enum pm_status copy(const char *from, int to, struct pm_err *err)
{
	int fd = open(from, O_RDONLY | O_CLOEXEC);
	uint8_t *room = pm_alloc_unset(1 << 20);
	ssize_t n = -1;

	err->file = from;
	if (fd < 0)
		pm_fail_errno(err, "cannot open");
	while (fd >= 0 && !pm_failed(err) && (n = read(fd, room, 1 << 20)) > 0)
		for (ssize_t k = 0, put; k < n && !pm_failed(err); k += put) {
			put = write(to, room + k, (size_t)(n - k));
			if (put <= 0) {
				put = 0;
				pm_fail_errno(err, "cannot copy it to the node's own disk");
			}
		}
	if (fd >= 0 && n < 0)
		pm_fail_errno(err, "cannot read");
	if (fd >= 0)
		close(fd);
	free(room);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

/* Locked and still there under its name; else -1. */
static int open_locked(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0)
		return -1;
	/* another user may have put anything there */
	if (flock(fd, LOCK_SH) || fstat(fd, &st) || !st.st_nlink || st.st_uid != geteuid()) {
		close(fd);
		return -1;
	}
	return fd;
}

static enum pm_status make_copy(struct staged *t, const char *from,
				const struct sweep_trace_id *id, struct pm_err *err)
{
	struct sweep_trace_id now;
	struct pm_beside b;

	for (unsigned tries = 0; tries < 5; tries++) {
		t->fd = open_locked(t->path);
		if (t->fd >= 0)
			break;
		if (!pm_beside_open(&b, t->path)) {
			err->file = t->path;
			return pm_fail_errno(err, "cannot create");
		}
		if (copy(from, b.fd, err) == PM_OK && !pm_beside_place(&b, b.fd, t->path)) {
			err->file = t->path;
			pm_fail_errno(err, "cannot name the copy");
		}
		close(b.fd);
		pm_beside_release(&b);
		if (pm_failed(err))
			return PM_ERR;
	}
	if (t->fd < 0) {
		err->file = t->path;
		return pm_fail_file(err, "somebody removes it again and again");
	}
	if (sweep_trace_identify(t->path, &now, err) != PM_OK)
		return PM_ERR;
	if (memcmp(now.sum, id->sum, sizeof now.sum)) {
		unlink(t->path);
		err->file = from;
		return pm_fail_file(err, "it changed while it was copied");
	}
	return PM_OK;
}

const char *sweep_stage_get(struct sweep_stage *s, const struct sweep_plan *p,
			    const struct sweep_trace_ids *ids, size_t i, struct pm_err *err)
{
	const struct sweep_trace_id *id = ids->id + i;
	struct staged *t = s->at + i;
	char sum[2 * PM_SHA256 + 1];
	const char *from = p->trace[i].path;
	const size_t n = strlen(s->dir) + 120;

	if (strlen(from) < 4 || strcmp(from + strlen(from) - 4, ".pug"))
		return from;
	if (t->path && !memcmp(t->sum, id->sum, sizeof t->sum))
		return t->path;
	let_go(t);			/* the trace has changed since */
	pm_sha256_hex(id->sum, PM_SHA256, sum);
	t->path = pm_alloc(n);
	snprintf(t->path, n, "%s/pugmark-%u-%s.pug", s->dir, (unsigned)geteuid(), sum);
	memcpy(t->sum, id->sum, sizeof t->sum);
	return make_copy(t, from, id, err) == PM_OK ? t->path : NULL;
}
