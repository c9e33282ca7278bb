/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/temp.h"

int pm_temp_file(struct pm_err *err)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	int fd;

	snprintf(path, sizeof path, "%s/pugmark-XXXXXX", dir && *dir ? dir : "/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		pm_fail_errno(err, "cannot make the temporary file '%.100s'", path);
	else
		unlink(path);
	return fd;
}

enum pm_status pm_temp_read(int fd, void *p, size_t n, uint64_t at, struct pm_err *err)
{
	while (n) {
		ssize_t got = pread(fd, p, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return pm_fail_errno(err, "cannot read a temporary file");
		if (!got)
			return pm_fail_file(err, "a temporary file has become shorter");
		p = (char *)p + got;
		n -= (size_t)got;
		at += (uint64_t)got;
	}
	return PM_OK;
}

enum pm_status pm_temp_write(int fd, const void *p, size_t n, uint64_t at, struct pm_err *err)
{
	while (n) {
		ssize_t put = pwrite(fd, p, n, (off_t)at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return pm_fail_errno(err, "cannot write a temporary file");
		p = (const char *)p + put;
		n -= (size_t)put;
		at += (uint64_t)put;
	}
	return PM_OK;
}

int pm_temp_unnamed(int dir, const char *at, unsigned mode)
{
	char link[64];
	int fd = openat(dir, at, O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	if (fd < 0 || !access(link, F_OK))
		return fd;
	close(fd);			/* without /proc it would never get a name */
	errno = EOPNOTSUPP;
	return -1;
}

bool pm_temp_link(int fd, int dir, const char *name)
{
	char link[64];

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	return !linkat(AT_FDCWD, link, dir, name, AT_SYMLINK_FOLLOW);
}

/* What pm_beside_abandon() removes; more are not open at once, and those would only stay. */
static char *parts[64];

static char *part_name(const char *path)
{
	const size_t n = strlen(path) + 32;
	char *s = pm_alloc(n);

	snprintf(s, n, "%s.part%ld", path, (long)getpid());
	for (size_t i = 0; i < NR(parts); i++) {
		char *none = NULL;

		if (__atomic_compare_exchange_n(parts + i, &none, s, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			break;
	}
	return s;
}

static void part_free(char *s)
{
	for (size_t i = 0; s && i < NR(parts); i++) {
		char *is = s;

		if (__atomic_compare_exchange_n(parts + i, &is, NULL, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			break;
	}
	free(s);
}

void pm_beside_abandon(void)
{
	for (size_t i = 0; i < NR(parts); i++) {
		const char *s = __atomic_load_n(parts + i, __ATOMIC_SEQ_CST);

		if (s)
			unlink(s);
	}
}

bool pm_beside_open(struct pm_beside *b, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash == path ? pm_strdup("/")
		    : slash	  ? pm_strndup(path, (size_t)(slash - path))
				  : pm_strdup(".");

	*b = (struct pm_beside){ .fd = pm_temp_unnamed(AT_FDCWD, dir, 0666) };
	free(dir);
	if (b->fd >= 0)
		return true;
	b->name = part_name(path);
	unlink(b->name); /* somebody else's, or of a process of that number that was killed */
	b->fd = open(b->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (b->fd >= 0)
		return true;
	part_free(b->name);
	b->name = NULL;
	return false;
}

bool pm_beside_place(struct pm_beside *b, int fd, const char *path)
{
	if (!b->name) {
		if (pm_temp_link(fd, AT_FDCWD, path))
			return true;
		if (errno != EEXIST)
			return false;
		/* a link replaces nothing: it takes a name for as long as a rename() takes */
		b->name = part_name(path);
		unlink(b->name);
		if (!pm_temp_link(fd, AT_FDCWD, b->name)) {
			part_free(b->name);
			b->name = NULL;
			return false;
		}
	}
	if (rename(b->name, path))
		return false;
	part_free(b->name);
	b->name = NULL;
	return true;
}

void pm_beside_release(struct pm_beside *b)
{
	if (b->name)
		unlink(b->name);
	part_free(b->name);
	b->name = NULL;
}

bool pm_temp_seal(int fd, int more)
{
	return !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | more | F_SEAL_SEAL);
}
