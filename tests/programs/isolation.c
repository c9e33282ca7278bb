/* SPDX-License-Identifier: MIT */
/* isolation.c - tries to write to translated code by every way that Linux has
 *
 * A child reads the true list of mappings. Nothing may be writable and executable, and nothing of
 * the code file writable: not by mprotect, not through a second mapping (mremap of no bytes), not
 * through the descriptors of this process or of its parent, not through /proc/PID/map_files or
 * /proc/PID/mem. Natively there is no such file. What is mapped from a cache on disk is as any
 * library is: whoever owns the file can write to it, but not by way of a mapping. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char maps[1 << 20];
static int bad;

static void fail(const char *what, const char *where)
{
	printf("%s: %s", what, where);
	bad = 1;
}

static void read_maps(void)
{
	int p[2], status, n = 0, got;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/maps", getpid());
	if (pipe(p))
		exit(3);
	if (!fork()) {
		static char buf[1 << 20];
		int fd = open(path, O_RDONLY);

		while ((got = read(fd, buf, sizeof buf)) > 0)
			write(p[1], buf, got);
		_exit(0);
	}
	close(p[1]);
	while ((got = read(p[0], maps + n, sizeof maps - 1 - n)) > 0)
		n += got;
	maps[n] = 0;
	close(p[0]);
	wait(&status);
}

/* What @fd is of: may it be written to, mapped to write, cut or emptied? */
static void try_descriptor(int fd, const char *where)
{
	char c = 0;
	void *v;

	if (fd < 0)
		return;
	v = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (v != MAP_FAILED)
		fail("mapped to write", where);
	if (pwrite(fd, &c, 0, 0) < 0 ? 0 : pwrite(fd, &c, 1, 0) == 1)
		fail("written", where);
	if (!ftruncate(fd, 4096))
		fail("cut", where);
	if (!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096))
		fail("emptied", where);
	close(fd);
}

static void try_descriptors_of(int pid)
{
	char dir[64], path[400], name[256];
	struct dirent *d;
	DIR *v;

	snprintf(dir, sizeof dir, "/proc/%d/fd", pid);
	v = opendir(dir);
	while (v && (d = readdir(v))) {
		ssize_t n;

		snprintf(path, sizeof path, "%s/%s", dir, d->d_name);
		n = readlink(path, name, sizeof name - 2);
		if (n < 0)
			continue;
		memcpy(name + n, "\n", 2);
		if (strstr(name, "memfd:pugmark-code"))
			try_descriptor(open(path, O_RDWR | O_CLOEXEC), name);
	}
	if (v)
		closedir(v);
}

static void try_mapping(const char *line)
{
	unsigned long lo, hi;
	char prot[5], path[128], *again;
	int code = strstr(line, "memfd:pugmark-code") != NULL, fd;

	sscanf(line, "%lx-%lx %4s", &lo, &hi, prot);
	if (!code && !(prot[2] == 'x' && strstr(line, "/pugmark-code-")))
		return;
	again = mremap((void *)lo, 0, 4096, MREMAP_MAYMOVE);
	if (again != MAP_FAILED && !mprotect(again, 4096, PROT_READ | PROT_WRITE))
		fail("alias", line);
	if (hi - lo < 1ul << 40 && !mprotect((void *)lo, hi - lo, PROT_READ | PROT_WRITE))
		fail("mprotect", line);
	snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", lo, hi);
	if (code)
		try_descriptor(open(path, O_RDWR | O_CLOEXEC), line);
	fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (fd >= 0 && prot[0] == 'r') {
		char c;

		if (pread(fd, &c, 1, lo) == 1 && pwrite(fd, &c, 1, lo) == 1)
			fail("/proc/self/mem", line);
	}
	close(fd);
}

static void each_mapping(void (*f)(const char *))
{
	static char copy[sizeof maps];

	strcpy(copy, maps);
	for (char *p = copy, *end; *p; p = end + 1) {
		char line[1024];

		end = strchr(p, '\n');
		snprintf(line, sizeof line, "%.*s\n", (int)(end - p), p);
		f(line);
	}
}

static void check_mapping(const char *line)
{
	char prot[5];

	sscanf(line, "%*s %4s", prot);
	if (prot[1] == 'w' && (prot[2] == 'x' || strstr(line, "memfd:pugmark-code")))
		fail("writable", line);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	read_maps();
	each_mapping(check_mapping);
	try_descriptors_of(getpid());
	try_descriptors_of(getppid());
	each_mapping(try_mapping);
	read_maps();
	each_mapping(check_mapping);
	puts(bad ? "bad" : "isolated");
	return bad;
}
