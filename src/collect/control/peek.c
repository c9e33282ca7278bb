/* SPDX-License-Identifier: MIT */
/* peek.c - what can be read of a process: its memory, its mappings, the names of its files */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/control/pagemap.h"
#include "collect/control/session.h"

static ssize_t read_of(const struct session *s, uint32_t pid, void *to, uint64_t at, size_t n)
{
	struct iovec here = { to, n }, there = { (void *)(uintptr_t)at, n };
	ssize_t got = s->loaded ? -1 : process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0);
	char path[64];
	int fd;

	if (got >= 0 || (!s->loaded && errno == EFAULT))
		return got;
	snprintf(path, sizeof path, "/proc/%u/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	got = pread(fd, to, n, (off_t)at);
	close(fd);
	return got;
}

ssize_t session_read(struct session *s, void *to, uint64_t at, size_t n)
{
	return read_of(s, s->asking_tid, to, at, n);
}

bool peek_read(pid_t pid, void *to, uint64_t at, size_t n)
{
	struct iovec here = { to, n }, there = { (void *)(uintptr_t)at, n };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

bool peek_unwritten(pid_t pid, uint64_t lo, uint64_t hi)
{
	uint64_t entry[512];
	const int fd = pagemap_open(pid);
	bool good = fd >= 0;

	while (good && lo < hi) {
		const size_t left = (size_t)(hi - lo) / 4096, n = left < 512 ? left : 512;

		good = n && pagemap_read(fd, lo, entry, n);
		for (size_t i = 0; good && i < n; i++)
			good = !(entry[i] & IN_SWAP) &&
			       (!(entry[i] & IN_MEMORY) || entry[i] & OF_FILE);
		lo += n * 4096;
	}
	if (fd >= 0)
		close(fd);
	return good;
}

enum peek_owner peek_is_ours(const struct session *s, uint32_t pid, bool i386)
{
	struct rt_session head;

	if (pid < 2 || pid >= PID_UNKNOWN)
		return PEEK_FOREIGN;
	errno = 0;
	if (read_of(s, pid, &head, i386 ? RT32_DATA_VAULT : RT_DATA_VAULT, sizeof head) ==
	    sizeof head)
		return head.abi == RT_ABI && head.pid == (uint32_t)getpid() ? PEEK_OURS
									    : PEEK_FOREIGN;
	return errno == EPERM || errno == EACCES || errno == ESRCH || errno == ENOENT
		       ? PEEK_CLOSED
		       : PEEK_FOREIGN;
}

bool peek_is_thread(uint32_t pid, uint32_t tid)
{
	return pid > 1 && tid > 1 && pid < PID_UNKNOWN && tid < PID_UNKNOWN &&
	       (!syscall(SYS_tgkill, pid, tid, 0) || errno == EPERM);
}

bool session_read_maps(struct session *s, struct maps *m)
{
	return maps_read((pid_t)s->asking_tid, m);
}

bool peek_status(const char *dir, struct peek_status *st)
{
	unsigned long long own = 0, shared = 0, caught = 0, ignored = 0;
	char path[96], line[256];
	const char *last;
	FILE *f;

	*st = (struct peek_status){ 0 };
	snprintf(path, sizeof path, "%s/status", dir);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof line, f)) {
		sscanf(line, "State: %c", &st->state);
		sscanf(line, "PPid: %u", &st->parent);
		st->memory |= !strncmp(line, "VmSize:", 7);
		sscanf(line, "TracerPid: %u", &st->tracer);
		sscanf(line, "SigPnd: %llx", &own);
		sscanf(line, "ShdPnd: %llx", &shared);
		sscanf(line, "SigIgn: %llx", &ignored);
		sscanf(line, "SigCgt: %llx", &caught);
		if (strncmp(line, "NSpid:", 6))
			continue;
		last = strrchr(line, '\t');
		st->apart = last != strchr(line, '\t');
		st->inner = (uint32_t)strtoul(last ? last : line + 6, NULL, 10);
	}
	fclose(f);
	st->pending = own | shared;
	st->caught = caught;
	st->ignored = ignored;
	return true;
}

bool peek_is_ending(uint32_t pid)
{
	struct peek_status st;
	char dir[32];

	snprintf(dir, sizeof dir, "/proc/%u", pid);
	return !peek_status(dir, &st) || !st.memory || st.pending >> (SIGKILL - 1) & 1;
}

bool peek_link(const char *link, char path[4096])
{
	const ssize_t n = readlink(link, path, 4095);

	path[n > 0 ? n : 0] = 0;
	return n >= 0;
}

bool peek_is_memory(const char *path)
{
	return !strncmp(path, "/dev/shm/", 9) || !strncmp(path, "/memfd:", 7);
}

const char *peek_exe(struct session *s, uint32_t pid)
{
	char link[64], path[4096];

	snprintf(link, sizeof link, "/proc/%u/exe", pid);
	return peek_link(link, path) ? pm_arena_strdup(&s->spaces.mem, path) : NULL;
}
