/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/mix.h"
#include "elf/kept.h"

#define VERSION 1u
#define TOUCH 3600			/* seconds until a file's use is noted again */

struct identity {
	uint64_t dev, ino, size, mtime, mtime_ns, ctime, ctime_ns;
};

/* in front of the names, frames and texts */
struct kept_file {
	char magic[8];
	uint32_t version, nname, nframe, ntext;
	uint64_t sum;			/* of what follows, then of this with sum 0 */
	struct identity file, debug;
};

static int dir = -1;

void elf_keep_in(int fd)
{
	if (dir >= 0)
		close(dir);
	dir = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static struct identity identity(const struct stat *st)
{
	return (struct identity){ st->st_dev, st->st_ino, (uint64_t)st->st_size, (uint64_t)st->st_mtim.tv_sec,
		(uint64_t)st->st_mtim.tv_nsec, (uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec };
}

static uint64_t sum_of(struct kept_file h, const void *rest, size_t n)
{
	h.sum = 0;
	return pm_mix(&h, sizeof h, pm_mix(rest, n, VERSION));
}

static size_t length(const struct kept_file *h)
{
	return sizeof *h + h->nname * sizeof(struct elf_name) + h->nframe * sizeof(struct elf_frame) + h->ntext;
}

static void point(struct elf_kept *k, const struct kept_file *h)
{
	k->nname = h->nname;
	k->nframe = h->nframe;
	k->ntext = h->ntext;
	k->name = (const struct elf_name *)(h + 1);
	k->frame = (const struct elf_frame *)(k->name + k->nname);
	k->texts = (const char *)(k->frame + k->nframe);
}

/* Names and their surroundings lie inside. The sum says so, too, but only as long as nobody meant harm. */
static bool sound(const struct elf_kept *k)
{
	for (size_t i = 0; i < k->nname; i++)
		if (k->name[i].text >= k->ntext || (k->name[i].outer != UINT32_MAX && k->name[i].outer >= i))
			return false;
	return k->ntext && !k->texts[k->ntext - 1];
}

static bool file_name(char *s, size_t size, const char *build_id)
{
	return dir >= 0 && build_id && (size_t)snprintf(s, size, "pugmark-names-%s", build_id) < size;
}

bool elf_kept_load(struct elf_kept *k, const char *build_id, const struct stat *file, const struct stat *debug)
{
	const struct identity id = identity(file), debug_id = identity(debug);
	const struct kept_file *h;
	char name[128];
	struct stat st;
	int fd;

	if (!file_name(name, sizeof name, build_id))
		return false;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_size < (off_t)sizeof *h) {
		close(fd);
		return false;
	}
	h = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (h == MAP_FAILED) {
		close(fd);
		return false;
	}
	*k = (struct elf_kept){ .map = (void *)(uintptr_t)h, .len = (size_t)st.st_size };
	if (memcmp(h->magic, "pugmkNM\n", 8) || h->version != VERSION || length(h) != k->len ||
	    memcmp(&h->file, &id, sizeof id) || memcmp(&h->debug, &debug_id, sizeof debug_id) ||
	    h->sum != sum_of(*h, h + 1, k->len - sizeof *h) || (point(k, h), !sound(k))) {
		elf_kept_release(k);
		close(fd);
		return false;
	}
	if (st.st_mtime + TOUCH < time(NULL))
		futimens(fd, NULL);			/* least recently used goes first */
	close(fd);
	return true;
}

static bool write_all(int fd, const void *p, size_t n)
{
	const char *s = p;

	for (ssize_t got; n; s += got, n -= (size_t)got)
		if ((got = write(fd, s, n)) <= 0)
			return false;
	return true;
}

void elf_kept_save(const struct elf_kept *k, const char *build_id, const struct stat *file, const struct stat *debug)
{
	struct kept_file h = { .magic = "pugmkNM\n", .version = VERSION, .nname = (uint32_t)k->nname,
		.nframe = (uint32_t)k->nframe, .ntext = (uint32_t)k->ntext, .file = identity(file),
		.debug = identity(debug) };
	char name[128], link[64];
	uint8_t *all;
	size_t n = length(&h), at = 0;
	int fd;

	if (!file_name(name, sizeof name, build_id) || !k->ntext || k->nname >= UINT32_MAX || k->ntext >= UINT32_MAX)
		return;
	all = malloc(n);
	if (!all)
		return;
	at = sizeof h;
	if (k->nname)
		memcpy(all + at, k->name, k->nname * sizeof *k->name);
	at += k->nname * sizeof *k->name;
	if (k->nframe)
		memcpy(all + at, k->frame, k->nframe * sizeof *k->frame);
	at += k->nframe * sizeof *k->frame;
	memcpy(all + at, k->texts, k->ntext);
	h.sum = sum_of(h, all + sizeof h, n - sizeof h);
	memcpy(all, &h, sizeof h);
	/* without a name until it is whole */
	fd = openat(dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd >= 0 && write_all(fd, all, n)) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
		unlinkat(dir, name, 0);
		(void)!linkat(AT_FDCWD, link, dir, name, AT_SYMLINK_FOLLOW);
	}
	if (fd >= 0)
		close(fd);
	free(all);
}

void elf_kept_release(struct elf_kept *k)
{
	if (k->map) {
		munmap(k->map, k->len);
	} else {
		free((void *)(uintptr_t)k->name);
		free((void *)(uintptr_t)k->frame);
		free((void *)(uintptr_t)k->texts);
	}
	*k = (struct elf_kept){ 0 };
}
