/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/proc_maps.h"

static uint64_t number(char **p, int base)
{
	char *end;
	const uint64_t v = strtoull(*p, &end, base);

	*p = *end && *end != '\n' ? end + 1 : end;	/* behind what separates it from the next */
	return v;
}

void maps_path(char *path)
{
	char *plain, *to, *p;

	if (!strstr(path, "\\012") || !access(path, F_OK))
		return;
	plain = to = pm_strdup(path);
	for (p = plain; *p; p++)
		if (!strncmp(p, "\\012", 4)) {
			*to++ = '\n';
			p += 3;
		} else {
			*to++ = *p;
		}
	*to = 0;
	if (!access(plain, F_OK))
		strcpy(path, plain);
	free(plain);
}

/* lo-hi perms offset major:minor inode path: by hand, for every module of every process asks */
static void parse(struct maps *m)
{
	for (char *p = (char *)m->text.p; *p; ) {
		struct mapping x = { 0 };
		unsigned maj;
		char *path;

		x.lo = number(&p, 16);
		x.hi = number(&p, 16);
		for (; *p && *p != ' ' && *p != '\n'; p++)
			x.prot |= *p == 'r' ? PROT_READ : *p == 'w' ? PROT_WRITE : *p == 'x' ?
				PROT_EXEC : 0, x.shared |= *p == 's';
		p += *p == ' ';
		x.off = number(&p, 16);
		maj = (unsigned)number(&p, 16);
		x.dev = makedev(maj, (unsigned)number(&p, 16));
		x.ino = number(&p, 10);
		p += strspn(p, " ");
		x.path = path = p;
		p += strcspn(p, "\n");
		if (*p)
			*p++ = 0;
		maps_path(path);
		pm_grow(m->v, m->n, m->cap);
		m->v[m->n++] = x;
	}
}

bool maps_read(pid_t pid, struct maps *m)
{
	char path[64];
	ssize_t n;
	int fd;

	m->n = m->text.n = 0;
	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	/* no more than a page at a time */
	while ((n = read(fd, pm_buf_room(&m->text, 4096), 4096)) > 0)
		m->text.n += (size_t)n;
	close(fd);
	pm_buf_add(&m->text, "", 1);
	parse(m);
	return m->n > 0;
}

const struct mapping *maps_at(const struct maps *m, uint64_t addr)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].lo <= addr && addr < m->v[i].hi)
			return &m->v[i];
	return NULL;
}

void maps_release(struct maps *m)
{
	free(m->v);
	pm_buf_release(&m->text);
	*m = (struct maps){ 0 };
}

static bool is_file_of(const struct mapping *m, int fd)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && st.st_dev == m->dev && st.st_ino == m->ino;
}

int maps_open(pid_t pid, const struct mapping *m)
{
	char exe[64];
	const char *const path[] = { m->path, exe };

	snprintf(exe, sizeof exe, "/proc/%d/exe", (int)pid);
	for (size_t i = 0; i < NR(path); i++) {
		const int fd = open(path[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

		if (is_file_of(m, fd))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}
