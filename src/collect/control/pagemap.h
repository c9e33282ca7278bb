/* SPDX-License-Identifier: MIT */
/* pagemap.h - /proc/PID/pagemap: eight bytes of each page of a process
 * (Documentation/admin-guide/mm/pagemap.rst in Linux) */
#ifndef PM_CONTROL_PAGEMAP_H
#define PM_CONTROL_PAGEMAP_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#define IN_MEMORY (1ull << 63)
#define IN_SWAP	  (1ull << 62)
#define OF_FILE	  (1ull << 61)

/* A descriptor, the caller's to close; -1: errno says why there is none. */
static inline int pagemap_open(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%d/pagemap", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* What @fd, which may be -1, says of the @n pages from @at on; false: not all of that. */
static inline bool pagemap_read(int fd, uint64_t at, uint64_t *entry, size_t n)
{
	return fd >= 0 && pread(fd, entry, n * 8, (off_t)(at / 4096 * 8)) == (ssize_t)(n * 8);
}

#endif
