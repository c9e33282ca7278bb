/* SPDX-License-Identifier: MIT */
/* fuzz_file.h - an input as a file with a name: in memory */
#ifndef PM_TESTS_FUZZ_FILE_H
#define PM_TESTS_FUZZ_FILE_H

#include <stdio.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Its name, until the next call; "/" if that fails. */
static inline const char *fuzz_file(const uint8_t *data, size_t size)
{
	static char path[40];
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		return "/";
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return path;
}

#endif
