/* SPDX-License-Identifier: MIT */
/* file_names.c - what the files of this program are called */
#include "standalone.h"

static char stem[4096];			/* the outputs' names begin with it */
static char dir[4096];			/* BENCH.idt.d/ */

const char *rt_image_stem(void)
{
	return stem;
}

void rt_output_name(char *to, const char *suffix, u32 id)
{
	u64 n = rt_length(stem);

	rt_memcpy(to, stem, n);
	rt_memcpy(to + n, suffix, rt_length(suffix) + 1);
	n += rt_length(suffix);
	if (id == rt_root)
		return;
	to[n++] = '.';
	n += rt_write_decimal(to + n, id);
	to[n] = 0;
}

#define O_NOFOLLOW 0400000

long rt_open_output(const char *name, u64 flags)
{
	struct rt_stat stat;
	char where[4300];
	u32 n = 0, end = 0;

	for (; name[n] && n < sizeof where - 1; n++) {
		where[n] = name[n];
		if (name[n] == '/')
			end = n + 1;
	}
	where[end] = 0;
	if (rt_is_secure() || rt_stat(where, 0, &stat) || stat.mode & 02)
		flags |= O_NOFOLLOW;
	return rt_sys(NR_open, name, flags | O_CLOEXEC, 0666);
}

void rt_name_library(char *to, const char *key)
{
	const u64 n = rt_length(dir);

	rt_memcpy(to, dir, n);
	rt_memcpy(to + n, key, rt_length(key) + 1);
}

void rt_names_find(const char *path)
{
	u64 n;
	long r = rt_sys(NR_readlink, "/proc/self/exe", stem, sizeof stem - 16);

	if (r > 0) {
		n = (u64)r;
	} else {
		n = 0;
		if (*path != '/') {
			r = rt_sys(NR_getcwd, stem, sizeof stem - 600);
			n = r > 0 ? (u64)r - 1 : 0;
			stem[n++] = '/';
		}
		for (u64 k = 0; path[k] && n < sizeof stem - 16; k++)
			stem[n++] = path[k];
	}
	stem[n] = 0;
	rt_memcpy(dir, stem, n);
	rt_memcpy(dir + n, ".d/", 4);
	if (n > 4 && stem[n - 4] == '.' && stem[n - 3] == 'i' && stem[n - 2] == 'd' &&
	    stem[n - 1] == 't')
		stem[n - 4] = 0;
}
