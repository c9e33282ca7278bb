/* SPDX-License-Identifier: MIT */
/* disk.c - the disk image: a private copy of a file, and how to know that file again
 *
 * A snapshot has only what the guest wrote, so it goes on with the very image that it was made
 * with. The image's sum tells: 64 bits over every block of 4 KiB that is not zero, with its place.
 * Holes of a sparse image are not even read, and a copy without holes has the same sum. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/machine/machine.h"

#define BLOCK	4096u

enum pm_status machine_disk(struct machine *m, const char *path, bool readonly, struct pm_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct disk *d = &m->virtio.disk;
	struct stat st;

	err->file = path;
	if (fd < 0)
		return pm_fail_errno(err, "cannot open");
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return pm_fail_file(err, "expected a regular file as disk image");
	}
	if (!st.st_size || st.st_size % 512) {
		close(fd);
		return pm_fail(err, (uint64_t)st.st_size,
			       "expected a disk image of whole 512-byte sectors, found %lld bytes",
			       (long long)st.st_size);
	}
	/* private: what the guest writes stays in memory, the file stays what it was */
	d->map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (d->map == MAP_FAILED) {
		close(fd);
		d->map = NULL;
		return pm_fail_errno(err, "cannot map");
	}
	d->fd = fd;
	d->sectors = (uint64_t)st.st_size / 512;
	d->written = pm_alloc(d->sectors / 8 + 1);
	d->readonly = readonly;
	return PM_OK;
}

void machine_disk_close(struct machine *m)
{
	struct disk *d = &m->virtio.disk;

	if (!d->map)
		return;
	munmap(d->map, d->sectors * 512);
	close(d->fd);
	free(d->written);
}

static uint64_t mix(uint64_t h)
{
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdULL;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ULL;
	return h ^ h >> 33;
}

/* Of the block number @index; 0 if all of it is zero. */
static uint64_t block_sum(const uint8_t *p, uint64_t index)
{
	uint64_t h[4] = { 1, 2, 3, 4 }, any = 0;

	for (unsigned i = 0; i < BLOCK; i += sizeof h)
		for (unsigned k = 0; k < 4; k++) {
			uint64_t v;

			memcpy(&v, p + i + 8 * k, 8);
			any |= v;
			h[k] = (h[k] ^ v) * 0x9e3779b97f4a7c15ULL;
			h[k] ^= h[k] >> 29;
		}
	if (!any)
		return 0;
	return mix(mix(mix(mix(h[0]) + h[1]) + h[2]) + h[3] + mix(index + 1));
}

enum pm_status machine_disk_sum(struct machine *m, uint64_t *sum, struct pm_err *err)
{
	struct disk *d = &m->virtio.disk;
	off_t end = (off_t)(d->sectors * 512), at = 0;
	uint8_t *buf;

	*sum = 0;
	if (!d->map)
		return PM_OK;
	buf = pm_alloc(64 * BLOCK);
	while (at < end) {
		off_t data = lseek(d->fd, at, SEEK_DATA);	/* no holes known: where we are */
		ssize_t n;

		if (data < 0 && errno == ENXIO)
			break;
		at = data > at ? data - data % BLOCK : at;
		n = pread(d->fd, buf, 64 * BLOCK, at);
		if (n <= 0) {
			free(buf);
			return pm_fail_errno(err, "cannot read the disk image again");
		}
		memset(buf + n, 0, -(size_t)n % BLOCK);
		for (ssize_t i = 0; i < n; i += BLOCK)
			*sum += block_sum(buf + i, (uint64_t)(at + i) / BLOCK);
		at += (n + BLOCK - 1) / BLOCK * BLOCK;
	}
	free(buf);
	return PM_OK;
}
