/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
