/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/perf_map.h"
#include "base/bound.h"
#include "base/mem.h"

#define FILE_MAX (256u << 20)

static int by_address(const void *a, const void *b)
{
	const struct pm_perf_name *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* "1f00 20 name of it" */
static bool parse_line(char *line, struct pm_perf_name *to)
{
	uint64_t size;
	char *end;

	if (!isxdigit((unsigned char)*line))
		return false;
	to->lo = strtoull(line, &end, 16);
	if (*end != ' ' || !isxdigit((unsigned char)end[1]))
		return false;
	size = strtoull(end + 1, &end, 16);
	if (*end != ' ' || !end[1] || !size || to->lo + size < to->lo)
		return false;
	to->hi = to->lo + size;
	to->name = end + 1;
	return true;
}

void pm_perf_map_parse(struct pm_perf_map *m, const char *text, size_t n)
{
	*m = (struct pm_perf_map){ .text = pm_strndup(text, n) };
	for (char *line = m->text, *next; line && *line; line = next) {
		struct pm_perf_name name = { .at = m->n };
		char *end = strchr(line, '\n');

		next = end ? end + 1 : NULL;
		if (end)
			*end = 0;
		if (!parse_line(line, &name))
			continue;
		pm_grow(m->v, m->n, m->cap);
		m->v[m->n++] = name;
	}
	if (m->n)
		qsort(m->v, m->n, sizeof *m->v, by_address);
}

void pm_perf_map_read(struct pm_perf_map *m, uint32_t pid)
{
	struct stat st;
	char path[64], *text;
	ssize_t got;
	size_t n = 0;
	int fd;

	*m = (struct pm_perf_map){ 0 };
	snprintf(path, sizeof path, "/tmp/perf-%u.map", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX ||
	    (st.st_uid != geteuid() && geteuid()) || st.st_mode & S_IWOTH) {
		close(fd);
		return;
	}
	text = pm_alloc((size_t)st.st_size + 1);
	while (n < (size_t)st.st_size && (got = read(fd, text + n, (size_t)st.st_size - n)) > 0)
		n += (size_t)got;
	close(fd);
	pm_perf_map_parse(m, text, n);
	free(text);
}

const char *pm_perf_map_name(const struct pm_perf_map *m, uint64_t addr)
{
	size_t lo = pm_upper_bound(m->v, m->n, .lo, addr);

	/* the last that begins there or before; a shorter one may lie inside of a longer one */
	for (size_t k = 0; lo-- > 0 && k < 16; k++)
		if (addr < m->v[lo].hi)
			return m->v[lo].name;
	return NULL;
}

void pm_perf_map_release(struct pm_perf_map *m)
{
	free(m->v);
	free(m->text);
	*m = (struct pm_perf_map){ 0 };
}
