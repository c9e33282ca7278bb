/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/kept.h"
#include "base/ledger.h"
#include "base/mix.h"
#include "base/temp.h"

struct kept_head {
	struct pm_kept_kind kind;
	uint32_t zero;
	uint64_t n;			/* bytes that follow */
	uint64_t sum;			/* of what follows, then of this with sum 0 */
	uint8_t pad[32];
};

_Static_assert(sizeof(struct kept_head) == 64, "what follows is aligned");

static int dir = -1;

void pm_keep_in(int fd)
{
	if (dir >= 0)
		close(dir);
	dir = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (dir < 0)
		pm_ledger_close();
	else
		pm_ledger_open();
}

/* ---- any file of the directory -------------------------------------------------------------- */
int pm_kept_open(const char *name, int flags, struct stat *st)
{
	const int fd = openat(dir, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

	if (fd < 0) {
		if (errno == ENOENT || fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW))
			return -1;
		/* a link, or a FIFO that nobody reads */
		return !S_ISREG(st->st_mode) && pm_kept_drop(name, st, "it is not a regular file") ?
		       -1 : PM_KEPT_OTHER;
	}
	if (!fstat(fd, st) && S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
	    !(st->st_mode & 022))
		return fd;
	close(fd);
	return pm_kept_drop(name, st, !S_ISREG(st->st_mode) ? "it is not a regular file" :
			    "others own it or can write to it") ? -1 : PM_KEPT_OTHER;
}

bool pm_kept_drop(const char *name, const struct stat *st, const char *why, ...)
{
	char link[64], path[4096], text[256];
	struct stat now;
	ssize_t n;
	va_list ap;

	if (fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) || now.st_dev != st->st_dev ||
	    now.st_ino != st->st_ino)
		return true;		/* another process has been quicker */
	if (unlinkat(dir, name, 0))
		return errno == ENOENT;
	va_start(ap, why);
	vsnprintf(text, sizeof text, why, ap);
	va_end(ap);
	snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
	n = readlink(link, path, sizeof path - 1);
	path[n < 0 ? 0 : n] = 0;
	fprintf(stderr, "pugmark: %s/%s: removed from the cache: %s\n", path, name, text);
	return true;
}

#define MAX_USED 512u			/* what comes later stays */
static struct {
	char name[128];
	atomic_bool there;
} used[MAX_USED];
static atomic_uint nused;

void pm_kept_use(const char *name)
{
	const unsigned n = nused;
	unsigned i;

	for (i = 0; i < n && i < MAX_USED; i++)
		if (used[i].there && !strcmp(used[i].name, name))
			return;
	if (strlen(name) >= sizeof used[0].name || (i = nused++) >= MAX_USED)
		return;
	strcpy(used[i].name, name);
	used[i].there = true;
}

unsigned pm_kept_abandon(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < nused && i < MAX_USED; i++)
		n += used[i].there && !unlinkat(dir, used[i].name, 0);
	return n;
}

/* ---- files with a header of ours ------------------------------------------------------------ */
static uint64_t sum_of(struct kept_head h, const void *p)
{
	h.sum = 0;
	return pm_mix(&h, sizeof h, pm_mix(p, h.n, 0));
}

static void *map(int fd, size_t len, size_t room)
{
	uint8_t *p;

	if (!room)
		return mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	/* addresses first; pages come as they are touched */
	p = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);
	if (p == MAP_FAILED ||
	    mmap(p, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED)
		return p;
	munmap(p, room);
	return MAP_FAILED;
}

/* Is what is mapped as it was written? */
static bool is_good(const struct pm_kept *k, const char *name, const struct pm_kept_kind *kind)
{
	const struct kept_head *h = k->map;
	const bool ours = !memcmp(h->kind.magic, kind->magic, sizeof kind->magic);

	if (ours && h->kind.version != kind->version)
		return false;			/* in its way, it may be */
	if (ours && h->n == k->n && pm_ledger_checked(&k->st))
		return true;
	if (!ours || h->n != k->n || h->sum != sum_of(*h, h + 1)) {
		pm_kept_drop(name, &k->st, "it is damaged");
		return false;
	}
	pm_ledger_check(&k->st);
	return true;
}

static bool load(struct pm_kept *k, const char *name, const struct pm_kept_kind *kind, size_t room,
		 int fd)
{
	struct kept_head *h;

	if (k->st.st_size < (off_t)sizeof *h) {
		pm_kept_drop(name, &k->st, "it is damaged");
		return false;
	}
	k->len = (size_t)k->st.st_size;
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
	k->p = h + 1;
	k->spent = pm_ledger_spent(&k->st);
	return is_good(k, name, kind);
}

bool pm_kept_load(struct pm_kept *k, const char *name, const struct pm_kept_kind *kind, size_t room)
{
	int fd;
	bool good;

	*k = (struct pm_kept){ 0 };
	fd = dir < 0 ? -1 : pm_kept_open(name, O_RDONLY, &k->st);
	if (fd < 0)
		return false;
	pm_kept_use(name);
	good = load(k, name, kind, room, fd);
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
	struct kept_head h = { .kind = *kind, .n = n };
	int fd;

	if (dir < 0)
		return;
	h.sum = sum_of(h, p);
	/* without a name until it is whole */
	fd = pm_temp_unnamed(dir, ".", PM_KEPT_MODE);
	if (fd >= 0 && write_all(fd, &h, sizeof h) && write_all(fd, p, n)) {
		unlinkat(dir, name, 0);
		pm_temp_link(fd, dir, name);
	}
	if (fd >= 0)
		close(fd);
}

void pm_kept_spend(const struct pm_kept *k, uint32_t more)
{
	pm_ledger_spend(&k->st, more);
}

void pm_kept_remove(const char *name)
{
	if (dir >= 0)
		unlinkat(dir, name, 0);
}
