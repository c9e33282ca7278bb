/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/kept_dir.h"

static int dir = -1;
static pm_kept_tell *tell;

void pm_kept_dir_set(int fd)
{
	if (dir >= 0)
		close(dir);
	dir = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int pm_kept_dir(void)
{
	return dir;
}

void pm_kept_on_drop(pm_kept_tell *f)
{
	tell = f;
}

int pm_kept_open(const char *name, int flags, struct stat *st)
{
	const int fd = openat(dir, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

	if (fd < 0) {
		if (errno == ENOENT || fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW))
			return -1;
		/* a link, or a FIFO that nobody reads */
		return !S_ISREG(st->st_mode) && pm_kept_drop(name, st, "it is not a regular file") ?
		       -1 : PM_KEPT_OTHER;
	}
	if (!fstat(fd, st) && S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
	    !(st->st_mode & 022))
		return fd;
	close(fd);
	return pm_kept_drop(name, st, !S_ISREG(st->st_mode) ? "it is not a regular file" :
			    "others own it or can write to it") ? -1 : PM_KEPT_OTHER;
}

bool pm_kept_drop(const char *name, const struct stat *st, const char *why, ...)
{
	char link[64], path[4096], text[256];
	struct stat now;
	ssize_t n;
	va_list ap;

	if (fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) || now.st_dev != st->st_dev ||
	    now.st_ino != st->st_ino)
		return true;		/* another process has been quicker */
	if (unlinkat(dir, name, 0))
		return errno == ENOENT;
	va_start(ap, why);
	vsnprintf(text, sizeof text, why, ap);
	va_end(ap);
	snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
	n = readlink(link, path, sizeof path - 1);
	path[n < 0 ? 0 : n] = 0;
	if (tell)
		tell(path, name, text);
	return true;
}

#define MAX_USED 512u			/* what comes later stays */
static struct {
	char name[128];
	atomic_bool there;
} used[MAX_USED];
static atomic_uint nused;

void pm_kept_use(const char *name)
{
	const unsigned n = nused;
	unsigned i;

	for (i = 0; i < n && i < MAX_USED; i++)
		if (used[i].there && !strcmp(used[i].name, name))
			return;
	if (strlen(name) >= sizeof used[0].name || (i = nused++) >= MAX_USED)
		return;
	strcpy(used[i].name, name);
	used[i].there = true;
}

unsigned pm_kept_abandon(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < nused && i < MAX_USED; i++)
		n += used[i].there && !unlinkat(dir, used[i].name, 0);
	return n;
}
