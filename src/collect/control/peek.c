/* SPDX-License-Identifier: MIT */
/* peek.c - what can be read of a process: its memory, its mappings, the names of its files */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/control/session.h"

ssize_t session_read(struct session *s, void *to, uint64_t at, size_t n)
{
	struct iovec here = { to, n }, there = { (void *)(uintptr_t)at, n };
	ssize_t got = s->loaded ? -1 : process_vm_readv(session_asking(s), &here, 1, &there, 1, 0);
	char path[64];
	int fd;

	if (got >= 0 || (!s->loaded && errno == EFAULT))
		return got;
	snprintf(path, sizeof path, "/proc/%d/mem", session_asking(s));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = pread(fd, to, n, (off_t)at);
	close(fd);
	return got;
}

bool session_read_maps(struct session *s, struct maps *m)
{
	return maps_read(session_asking(s), m);
}

bool peek_link(const char *link, char path[4096])
{
	const ssize_t n = readlink(link, path, 4095);

	path[n > 0 ? n : 0] = 0;
	return n >= 0;
}

const char *peek_exe(struct session *s, uint32_t pid)
{
	char link[64], path[4096];

	snprintf(link, sizeof link, "/proc/%u/exe", pid);
	return peek_link(link, path) ? pm_arena_strdup(&s->spaces.mem, path) : NULL;
}
