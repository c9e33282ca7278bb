/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/kept.h"
#include "base/mix.h"

struct head {
	struct pm_kept_kind kind;
	uint32_t spent;			/* not in the sum */
	uint64_t n;			/* bytes that follow */
	uint64_t sum;			/* of what follows, then of this with sum and spent 0 */
	uint8_t pad[32];
};

_Static_assert(sizeof(struct head) == 64, "what follows is aligned");

static int dir = -1;

void pm_keep_in(int fd)
{
	if (dir >= 0)
		close(dir);
	dir = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static uint64_t sum_of(struct head h, const void *p)
{
	h.sum = 0;
	h.spent = 0;
	return pm_mix(&h, sizeof h, pm_mix(p, h.n, 0));
}

void pm_kept_stamp(int fd, uint64_t sum)
{
	const struct timespec t[2] = { { 0, UTIME_OMIT }, { time(NULL), (long)(sum % 1000000000u) } };

	futimens(fd, t);
}

bool pm_kept_trusted(const struct stat *st, uint64_t sum)
{
	struct timespec up;

	return st->st_mtim.tv_nsec == (long)(sum % 1000000000u) && !clock_gettime(CLOCK_BOOTTIME, &up) &&
	       st->st_ctim.tv_sec > time(NULL) - up.tv_sec;
}

static void *map(int fd, size_t len, size_t room)
{
	uint8_t *p;

	if (!room)
		return mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	/* addresses first; pages come as they are touched */
	p = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED || mmap(p, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED)
		return p;
	munmap(p, room);
	return MAP_FAILED;
}

static bool load(struct pm_kept *k, const struct pm_kept_kind *kind, size_t room, int fd)
{
	const struct head *h;
	struct stat st;
	bool trust;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_size < (off_t)sizeof *h)
		return false;
	k->len = (size_t)st.st_size;
	k->n = k->len - sizeof *h;
	if (room)
		room = sizeof *h + (k->n < room ? room : k->n);
	k->map = map(fd, k->len, room);
	if (k->map == MAP_FAILED) {
		k->map = NULL;
		return false;
	}
	h = k->map;
	k->len = room ? room : k->len;
	k->room = room ? room - sizeof *h : 0;
	k->p = (void *)(uintptr_t)(h + 1);
	k->sum = h->sum;
	k->spent = h->spent;
	trust = pm_kept_trusted(&st, h->sum);
	if (memcmp(h->kind.magic, kind->magic, sizeof kind->magic) || h->kind.version != kind->version || h->n != k->n ||
	    (!trust && h->sum != sum_of(*h, h + 1)))
		return false;
	if (!trust || st.st_mtime + PM_KEPT_TOUCH < time(NULL))
		pm_kept_stamp(fd, h->sum);
	return true;
}

bool pm_kept_load(struct pm_kept *k, const char *name, const struct pm_kept_kind *kind, size_t room)
{
	const int fd = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool good;

	*k = (struct pm_kept){ 0 };
	if (fd < 0)
		return false;
	good = load(k, kind, room, fd);
	close(fd);
	if (!good)
		pm_kept_release(k);
	return good;
}

void pm_kept_release(struct pm_kept *k)
{
	if (k->map)
		munmap(k->map, k->len);
	*k = (struct pm_kept){ 0 };
}

static bool write_all(int fd, const void *p, size_t n)
{
	const char *s = p;

	for (ssize_t got; n; s += got, n -= (size_t)got)
		if ((got = write(fd, s, n)) <= 0)
			return false;
	return true;
}

void pm_kept_save(const char *name, const struct pm_kept_kind *kind, const void *p, size_t n)
{
	struct head h = { .kind = *kind, .n = n };
	char link[64];
	int fd;

	if (dir < 0)
		return;
	h.sum = sum_of(h, p);
	/* without a name until it is whole */
	fd = openat(dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd >= 0 && write_all(fd, &h, sizeof h) && write_all(fd, p, n)) {
		pm_kept_stamp(fd, h.sum);
		snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
		unlinkat(dir, name, 0);
		(void)!linkat(AT_FDCWD, link, dir, name, AT_SYMLINK_FOLLOW);
	}
	if (fd >= 0)
		close(fd);
}

void pm_kept_spend(const struct pm_kept *k, const char *name, uint32_t more)
{
	const int fd = dir < 0 ? -1 : openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct head h;

	if (fd < 0)
		return;
	/* another one may have come meanwhile */
	if (pread(fd, &h, sizeof h, 0) == sizeof h && h.sum == k->sum) {
		h.spent = h.spent + more < more ? UINT32_MAX : h.spent + more;
		if (pwrite(fd, &h.spent, sizeof h.spent, offsetof(struct head, spent)) == sizeof h.spent)
			pm_kept_stamp(fd, h.sum);
	}
	close(fd);
}

void pm_kept_remove(const char *name)
{
	if (dir >= 0)
		unlinkat(dir, name, 0);
}
