/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cache_dir.h"
#include "base/ledger.h"
#include "base/mem.h"

static bool make_dirs(char *path)
{
	for (char *p = path + 1; *p; p++)
		if (*p == '/') {
			*p = 0;
			if (mkdir(path, 0700) && errno != EEXIST)
				return false;
			*p = '/';
		}
	return !mkdir(path, 0700) || errno == EEXIST;
}

bool pm_cache_directory(char *path, size_t n)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (xdg && *xdg == '/')
		snprintf(path, n, "%s/pugmark", xdg);
	else if (home && *home == '/')
		snprintf(path, n, "%s/.cache/pugmark", home);
	else
		return false;
	return true;
}

int pm_cache_open(const char *path, struct pm_err *err)
{
	char name[4096];
	struct stat st;
	int fd;

	if (path)
		snprintf(name, sizeof name, "%s", path);
	else if (!pm_cache_directory(name, sizeof name))
		return -1;
	if (!make_dirs(name) || (fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
		if (path) {
			err->file = path;
			pm_fail_errno(err, "cannot use it as translation cache");
		}
		return -1;
	}
	if (!fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & 022))
		return fd;
	close(fd);
	if (path) {
		err->file = path;
		pm_fail_file(err,
			     "others own it or can write to it: not used as translation cache");
	}
	return -1;
}

/* ---- the limit ------------------------------------------------------------------------------- */
struct entry {
	char name[128];
	uint64_t size;
	time_t used;
};

static int oldest_first(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->used > y->used) - (x->used < y->used);
}

/* By its name: whoever takes a directory of his own for the cache keeps what is his. */
static bool is_ours(const char *name, const char *kind)
{
	static const char begin[] = "pugmark-";

	if (!strcmp(name, PM_LEDGER_NAME))
		return false;
	name += *name == '.';
	return !strncmp(name, begin, sizeof begin - 1) &&
	       !strncmp(name + sizeof begin - 1, kind, strlen(kind));
}

void pm_cache_limit(int fd, const char *kind, uint64_t limit)
{
	struct entry *v = NULL;
	size_t n = 0, cap = 0;
	uint64_t total = 0;
	struct dirent *d;
	DIR *dir = fdopendir(dup(fd));

	if (!dir)
		return;
	rewinddir(dir);
	while ((d = readdir(dir))) {
		struct stat st;

		if (strlen(d->d_name) >= sizeof v->name || !is_ours(d->d_name, kind) ||
		    fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		pm_grow(v, n, cap);
		snprintf(v[n].name, sizeof v[n].name, "%s", d->d_name);
		v[n].size = (uint64_t)st.st_blocks * 512;	/* shadows are sparse */
		v[n].used = pm_ledger_used(&st);
		total += v[n++].size;
	}
	closedir(dir);
	if (n)
		qsort(v, n, sizeof *v, oldest_first);
	for (size_t i = 0; i < n && total > limit; i++)
		if (!unlinkat(fd, v[i].name, 0))
			total -= v[i].size;
	free(v);
}
