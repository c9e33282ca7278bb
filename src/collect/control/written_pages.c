/* SPDX-License-Identifier: MIT */
/* written_pages.c - which bytes of a process's private memory have been written */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/control/pagemap.h"
#include "collect/control/written_pages.h"
#include "collect/runtime/abi.h"

#define PAGE 4096u
#define PART (256 * PAGE)		/* so many bytes are read at once */

/* From linux/fs.h and linux/userfaultfd.h of Linux 6.7: older headers do not have them. */
struct page_region {
	uint64_t start, end, categories;
};

struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, inverted, mask, any,
		returned;
};
#define SCAN _IOWR('f', 16, struct scan_arg)
#define SCAN_PROTECT 1u			/* PM_SCAN_WP_MATCHING */
#define IS_WRITTEN 2u			/* PAGE_IS_WRITTEN */
#define ASYNC_PROTECTION (1ull << 15)	/* UFFD_FEATURE_WP_ASYNC */

/* ---- what the kernel tells ------------------------------------------------------------------- */
bool written_kernel_tells(void)
{
	struct page_region r;
	struct scan_arg a = { .size = sizeof a, .vec = (uintptr_t)&r, .vec_len = 1,
			      .mask = IS_WRITTEN, .returned = IS_WRITTEN };
	const int fd = pagemap_open(getpid());
	const bool ok = fd >= 0 && !ioctl(fd, SCAN, &a);

	close(fd);
	return ok;
}

void written_open(struct written_pages *w, pid_t pid, bool i386, int uffd)
{
	struct uffdio_api api = { .api = UFFD_API, .features = ASYNC_PROTECTION };

	*w = (struct written_pages){ .pid = pid, .i386 = i386, .uffd = uffd };
	w->pagemap = pagemap_open(pid);
	if (uffd >= 0 && (w->pagemap < 0 || ioctl(uffd, UFFDIO_API, &api))) {
		close(uffd);
		w->uffd = -1;
	}
}

static bool is_watched(const struct written_pages *w, const struct mapping *m)
{
	return (m->prot & (PROT_READ | PROT_WRITE)) == (PROT_READ | PROT_WRITE) && !m->shared &&
	       m->lo >> 47 == 0 &&
	       !(m->lo >= RT_IMAGE && m->lo < RT_LOAD + RT_IMAGE_SIZE) &&
	       !(w->i386 && m->lo >= RT32_BLOCKS && m->hi <= RT32_CODE_VAULT + RT32_CODE_SIZE);
}

/* From now on the kernel notes what is written in @m. */
static bool watch(const struct written_pages *w, const struct mapping *m)
{
	struct uffdio_register r = { .range = { m->lo, m->hi - m->lo },
				     .mode = UFFDIO_REGISTER_MODE_WP };

	return !ioctl(w->uffd, UFFDIO_REGISTER, &r);
}

/* ---- copies ---------------------------------------------------------------------------------- */
static bool read_pages(const struct written_pages *w, void *to, uint64_t at, size_t n)
{
	struct iovec here = { to, n }, there = { (void *)(uintptr_t)at, n };

	return process_vm_readv(w->pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

static uint8_t *copy_of(const struct written_pages *w, uint64_t page)
{
	const uint64_t *v = pm_map_get(&w->copy, page);

	return v ? (uint8_t *)(uintptr_t)*v : NULL;
}

static uint8_t *new_copy(struct written_pages *w, uint64_t page)
{
	uint8_t *p = pm_alloc(PAGE);

	*pm_map_put(&w->copy, page, NULL) = (uintptr_t)p;
	return p;
}

static void forget_page(struct written_pages *w, uint64_t page)
{
	free(copy_of(w, page));
	pm_map_del(&w->copy, page);
}

void written_forget(struct written_pages *w, uint64_t lo, uint64_t hi)
{
	struct pm_buf gone = { 0 };	/* page numbers: what is deleted moves others */
	uint64_t page, at;

	lo /= PAGE;
	hi = (hi + PAGE - 1) / PAGE;
	if (hi > lo && hi - lo <= 2 * w->copy.n) {
		for (page = lo; page < hi; page++)
			forget_page(w, page);
		return;
	}
	for (size_t i = 0; pm_map_next(&w->copy, &i, &page, &at); )
		if (page >= lo && page < hi)
			pm_buf_add(&gone, &page, sizeof page);
	for (size_t i = 0; i < gone.n; i += sizeof page) {
		memcpy(&page, gone.p + i, sizeof page);
		forget_page(w, page);
	}
	pm_buf_release(&gone);
}

/* ---- comparing ------------------------------------------------------------------------------- */
struct comparison {
	struct written_pages *w;
	written_fn *fn;
	void *ctx;
	const struct mapping *m;	/* that is compared */
	uint64_t lo, hi;		/* a run that may go on; lo == hi: none */
};

static void end_run(struct comparison *l)
{
	if (l->lo < l->hi && l->fn)
		l->fn(l->ctx, l->lo, l->hi);
	l->lo = l->hi = 0;
}

static void add_byte(struct comparison *l, uint64_t at)
{
	if (l->lo == l->hi || at != l->hi) {
		end_run(l);
		l->lo = at;
	}
	l->hi = at + 1;
}

/* A page that nobody had touched at the last comparison: the file's, or zeros. False: not known. */
static bool untouched(const struct comparison *l, uint64_t at, uint8_t *to)
{
	const struct mapping *m = l->m;
	ssize_t got;
	int fd;

	if (!m->ino)
		return true;
	fd = maps_open(l->w->pid, m);
	if (fd < 0)
		return false;
	got = pread(fd, to, PAGE, (off_t)(m->off + (at - m->lo)));
	close(fd);
	return got >= 0;
}

/* The page at @at is @now. */
static void compare(struct comparison *l, uint64_t at, const uint8_t *now)
{
	static const uint8_t zeros[PAGE];
	uint8_t *was = copy_of(l->w, at / PAGE);

	if (!was && !l->m->ino && !memcmp(now, zeros, PAGE))
		return;
	if (!was) {
		was = new_copy(l->w, at / PAGE);
		if (!l->fn || !untouched(l, at, was))
			memcpy(was, now, PAGE);
	}
	if (!memcmp(was, now, PAGE))
		return;
	for (uint32_t i = 0; i < PAGE && l->fn; i++)
		if (was[i] != now[i])
			add_byte(l, at + i);
	memcpy(was, now, PAGE);
}

static void compare_range(struct comparison *l, uint64_t lo, uint64_t hi)
{
	struct written_pages *w = l->w;

	w->page.n = 0;
	pm_buf_room(&w->page, PART);
	while (lo < hi) {
		const size_t n = hi - lo < PART ? (size_t)(hi - lo) : PART;

		if (read_pages(w, w->page.p, lo, n))
			for (size_t i = 0; i < n; i += PAGE)
				compare(l, lo + i, w->page.p + i);
		else
			for (size_t i = 0; i < n; i += PAGE)
				if (read_pages(w, w->page.p, lo + i, PAGE))
					compare(l, lo + i, w->page.p);
		lo += n;
	}
}

static void compare_reported(struct comparison *l, const struct mapping *m)
{
	struct page_region r[64];
	struct scan_arg a = { .size = sizeof a, .flags = SCAN_PROTECT, .start = m->lo,
			      .end = m->hi, .vec = (uintptr_t)r, .vec_len = NR(r),
			      .mask = IS_WRITTEN, .returned = IS_WRITTEN };

	while (a.start < a.end) {
		const int n = ioctl(l->w->pagemap, SCAN, &a);

		if (n < 0 || a.walk_end <= a.start)
			return;
		for (int i = 0; i < n; i++)
			compare_range(l, r[i].start, r[i].end);
		a.start = a.walk_end;
	}
}

/* All pages that there are. */
static void compare_all(struct comparison *l, const struct mapping *m)
{
	uint64_t entry[512], run = 0;

	for (uint64_t at = m->lo; at < m->hi; at += sizeof entry / 8 * PAGE) {
		const uint64_t left = (m->hi - at) / PAGE, n = left < NR(entry) ? left : NR(entry);

		if (!pagemap_read(l->w->pagemap, at, entry, n))
			for (uint64_t i = 0; i < n; i++)
				entry[i] = IN_MEMORY;
		for (uint64_t i = 0; i <= n; i++) {
			const uint64_t here = at + i * PAGE;

			if (i < n && entry[i] & (IN_MEMORY | IN_SWAP)) {
				run = run ? run : here;
			} else if (run) {
				compare_range(l, run, here);
				run = 0;
			}
		}
	}
}

static void map_again(struct written_pages *w)
{
	if (!maps_read(w->pid, &w->maps))
		w->maps.n = 0;
	for (size_t i = 0; i < w->maps.n; i++) {
		const struct mapping *m = &w->maps.v[i];

		if (!is_watched(w, m))
			continue;
		if (w->uffd >= 0 && !watch(w, m)) {	/* then all is compared */
			close(w->uffd);
			w->uffd = -1;
		}
	}
}

void written_compare(struct written_pages *w, written_fn *fn, void *ctx)
{
	struct comparison l = { .w = w, .fn = fn, .ctx = ctx };

	map_again(w);			/* a stack grows without a call */
	for (size_t i = 0; i < w->maps.n; i++) {
		l.m = &w->maps.v[i];
		if (!is_watched(w, l.m))
			continue;
		if (w->uffd >= 0)
			compare_reported(&l, l.m);
		else
			compare_all(&l, l.m);
	}
	end_run(&l);
}

void written_close(struct written_pages *w)
{
	uint64_t page, at;

	for (size_t i = 0; pm_map_next(&w->copy, &i, &page, &at); )
		free((void *)(uintptr_t)at);
	pm_map_release(&w->copy);
	pm_buf_release(&w->page);
	maps_release(&w->maps);
	if (w->pagemap > 2)
		close(w->pagemap);
	if (w->uffd > 2)
		close(w->uffd);
	*w = (struct written_pages){ .pagemap = -1, .uffd = -1 };
}
