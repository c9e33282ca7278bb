/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stddef.h>
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

void pm_keep_in(int fd)
{
	pm_kept_dir_set(fd);
	if (pm_kept_dir() < 0)
		pm_ledger_close();
	else
		pm_ledger_open();
}

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
	fd = pm_kept_dir() < 0 ? -1 : pm_kept_open(name, O_RDONLY, &k->st);
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
	const int dir = pm_kept_dir();
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
	if (pm_kept_dir() >= 0)
		unlinkat(pm_kept_dir(), name, 0);
}
