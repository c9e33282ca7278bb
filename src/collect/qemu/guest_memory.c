/* SPDX-License-Identifier: MIT */
#include "collect/qemu/guest_memory.h"

#include <endian.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cur.h"

#define HEAD		16u		/* of a run: the first page, how many */
#define MAX_RUN		1024u		/* pages */

/* A run that is being written: where its head is in @to. */
struct page_run { struct pm_buf *to; size_t head; uint64_t first, n; };

static void put_head(const struct page_run *r)
{
	const uint64_t head[2] = { htobe64(r->first), htobe64(r->n) };

	if (r->n)
		memcpy(r->to->p + r->head, head, HEAD);
}

static void add_page(struct page_run *r, uint64_t number, const uint8_t *p)
{
	if (r->n == MAX_RUN || number != r->first + r->n || !r->n) {
		put_head(r);
		r->head = r->to->n;
		r->first = number;
		r->n = 0;
		pm_buf_room(r->to, HEAD);
		r->to->n += HEAD;
	}
	pm_buf_add(r->to, p, GUEST_PAGE);
	r->n++;
}

static bool is_zero(const uint8_t *p)
{
	return !*p && !memcmp(p, p + 1, GUEST_PAGE - 1);
}

enum pm_status guest_memory_pack(int fd, uint64_t size, struct pm_buf *to, struct pm_err *err)
{
	struct page_run r = { .to = to };
	off_t at = 0;
	uint8_t *p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return pm_fail_errno(err, "cannot map the guest's memory");
	/* what was never written is a hole, which a look would fill */
	while ((at = lseek(fd, at, SEEK_DATA)) >= 0 && (uint64_t)at < size) {
		off_t end = lseek(fd, at, SEEK_HOLE);

		if (end < 0 || (uint64_t)end > size)
			end = (off_t)size;
		for (; at < end; at += GUEST_PAGE)
			if (!is_zero(p + at))
				add_page(&r, (uint64_t)at / GUEST_PAGE, p + at);
	}
	put_head(&r);
	munmap(p, size);
	return PM_OK;
}

/* The next run. NULL: there is none, or @c has an error. */
static const uint8_t *next_run(struct pm_cur *c, uint64_t *first, uint64_t *n)
{
	const uint64_t at = pm_cur_at(c), behind = *first + *n;

	if (!pm_cur_left(c))
		return NULL;
	*first = pm_cur_be64(c, "the first page of a run");
	*n = pm_cur_be64(c, "the pages of a run");
	if (!pm_failed(c->err) && (!*n || *n > MAX_RUN || *first < behind || *first >> 36))
		pm_fail(c->err, at, "a run of pages of the guest's memory makes no sense");
	return pm_failed(c->err) ? NULL : pm_cur_bytes(c, *n * GUEST_PAGE, "the guest's memory");
}

enum pm_status guest_memory_check(const struct pm_buf *from, uint64_t size, struct pm_err *err)
{
	struct pm_cur c = pm_cur_init(from->p, from->n, 0, err);
	uint64_t first = 0, n = 0;

	while (next_run(&c, &first, &n))
		if ((first + n) * GUEST_PAGE > size)
			return pm_fail_file(err, "pages are behind the end of the guest's memory");
	return pm_failed(err) ? PM_ERR : PM_OK;
}

/* Pages in which only zeros are to be. */
static enum pm_status empty(int fd, uint64_t first, uint64_t end, struct pm_err *err)
{
	if (first < end && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				     (off_t)(first * GUEST_PAGE),
				     (off_t)((end - first) * GUEST_PAGE)))
		return pm_fail_errno(err, "cannot empty the guest's memory");
	return PM_OK;
}

enum pm_status guest_memory_fill(const struct pm_buf *from, int fd, uint64_t size,
				 struct pm_err *err)
{
	struct pm_cur c = pm_cur_init(from->p, from->n, 0, err);
	uint64_t first = 0, n = 0, behind = 0;
	const uint8_t *p;

	while ((p = next_run(&c, &first, &n))) {
		const size_t bytes = n * GUEST_PAGE;

		if (empty(fd, behind, first, err) != PM_OK)
			return PM_ERR;
		if (pwrite(fd, p, bytes, (off_t)(first * GUEST_PAGE)) != (ssize_t)bytes)
			return pm_fail_errno(err, "cannot fill the guest's memory");
		behind = first + n;
	}
	return pm_failed(err) ? PM_ERR : empty(fd, behind, size / GUEST_PAGE, err);
}

enum pm_status guest_memory_keep(const struct pm_buf *from, const uint8_t *bits, size_t nbits,
				 struct pm_buf *to, struct pm_err *err)
{
	struct pm_cur c = pm_cur_init(from->p, from->n, 0, err);
	struct page_run r = { .to = to };
	uint64_t first = 0, n = 0;
	const uint8_t *p;

	while ((p = next_run(&c, &first, &n)))
		for (uint64_t i = first; i < first + n; i++)
			if (i / 8 < nbits && bits[i / 8] >> i % 8 & 1)
				add_page(&r, i, p + (i - first) * GUEST_PAGE);
	put_head(&r);
	return pm_failed(err) ? PM_ERR : PM_OK;
}
