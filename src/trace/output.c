/* SPDX-License-Identifier: MIT */
/* output.c - bytes out: a buffer, a packer chosen by the name's suffix, a descriptor */
#include <bzlib.h>
#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/temp.h"
#include "trace/io.h"

#define BUF_BYTES	(256 << 10)
#define PACKED_BYTES	(256 << 10)

enum output_packing { PLAIN, GZIP, ZSTD, XZ, BZIP2 };

struct pm_output {
	char *name;			/* what the user calls it */
	struct pm_beside beside;	/* what it is until it is finished, if `unplaced` */
	int fd;				/* -1: memory */
	bool unplaced, finished, failed;

	uint8_t *buf;			/* buf[0 .. n) is not packed or written yet */
	size_t n, cap;
	uint64_t done;			/* bytes before buf[0] */

	enum output_packing packing;
	uint8_t *packed;
	struct isal_zstream *gz;
	uint8_t *gz_level;
	ZSTD_CCtx *zstd;
	lzma_stream xz;
	bz_stream bz;
};

static bool ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && !strcmp(s + n - m, end);
}

static enum pm_status fail(struct pm_output *o, struct pm_err *err, const char *what)
{
	int e = errno;

	o->failed = true;
	errno = e;
	return pm_fail_errno(err, "%s", what);
}

static enum pm_status put(struct pm_output *o, const uint8_t *p, size_t n, struct pm_err *err)
{
	while (n) {
		ssize_t w = write(o->fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return fail(o, err, "cannot write");
		p += w;
		n -= (size_t)w;
	}
	return PM_OK;
}

static enum pm_status pack_gzip(struct pm_output *o, bool end, struct pm_err *err)
{
	struct isal_zstream *z = o->gz;

	z->next_in = o->buf;
	z->avail_in = (uint32_t)o->n;
	z->end_of_stream = end;
	z->flush = NO_FLUSH;
	do {
		z->next_out = o->packed;
		z->avail_out = PACKED_BYTES;
		if (isal_deflate(z) != COMP_OK) {
			errno = EINVAL;
			return fail(o, err, "cannot compress");
		}
		if (put(o, o->packed, PACKED_BYTES - z->avail_out, err) != PM_OK)
			return PM_ERR;
	} while (!z->avail_out || z->avail_in || (end && z->internal_state.state != ZSTATE_END));
	return PM_OK;
}

static enum pm_status pack_zstd(struct pm_output *o, bool end, struct pm_err *err)
{
	ZSTD_inBuffer src = { o->buf, o->n, 0 };
	size_t left;

	do {
		ZSTD_outBuffer dst = { o->packed, PACKED_BYTES, 0 };

		left = ZSTD_compressStream2(o->zstd, &dst, &src,
					    end ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left)) {
			errno = EINVAL;
			return fail(o, err, "cannot compress");
		}
		if (put(o, o->packed, dst.pos, err) != PM_OK)
			return PM_ERR;
	} while (end ? left : src.pos < src.size);
	return PM_OK;
}

static enum pm_status pack_xz(struct pm_output *o, bool end, struct pm_err *err)
{
	lzma_stream *z = &o->xz;
	lzma_ret r;

	z->next_in = o->buf;
	z->avail_in = o->n;
	do {
		z->next_out = o->packed;
		z->avail_out = PACKED_BYTES;
		r = lzma_code(z, end ? LZMA_FINISH : LZMA_RUN);
		if (r != LZMA_OK && r != LZMA_STREAM_END) {
			errno = r == LZMA_MEM_ERROR ? ENOMEM : EINVAL;
			return fail(o, err, "cannot compress");
		}
		if (put(o, o->packed, PACKED_BYTES - z->avail_out, err) != PM_OK)
			return PM_ERR;
	} while (end ? r != LZMA_STREAM_END : z->avail_in || !z->avail_out);
	return PM_OK;
}

static enum pm_status pack_bzip2(struct pm_output *o, bool end, struct pm_err *err)
{
	bz_stream *z = &o->bz;
	int r;

	z->next_in = (char *)o->buf;
	z->avail_in = (unsigned)o->n;
	do {
		z->next_out = (char *)o->packed;
		z->avail_out = PACKED_BYTES;
		r = BZ2_bzCompress(z, end ? BZ_FINISH : BZ_RUN);
		if (r != BZ_RUN_OK && r != BZ_FINISH_OK && r != BZ_STREAM_END) {
			errno = EINVAL;
			return fail(o, err, "cannot compress");
		}
		if (put(o, o->packed, PACKED_BYTES - z->avail_out, err) != PM_OK)
			return PM_ERR;
	} while (end ? r != BZ_STREAM_END : z->avail_in);
	return PM_OK;
}

/* Everything in the buffer goes on its way. */
static enum pm_status drain(struct pm_output *o, bool end, struct pm_err *err)
{
	enum pm_status s = PM_OK;

	if (o->failed)		/* said once already; the first error is the one that counts */
		return pm_failed(err) ? PM_ERR
				      : pm_fail_file(err, "cannot write after an earlier error");
	if (o->fd < 0)
		return PM_OK;
	switch (o->packing) {
	case PLAIN:
		s = put(o, o->buf, o->n, err);
		break;
	case GZIP:
		s = pack_gzip(o, end, err);
		break;
	case ZSTD:
		s = pack_zstd(o, end, err);
		break;
	case XZ:
		s = pack_xz(o, end, err);
		break;
	case BZIP2:
		/* without input it has nothing to do, and says so as an error */
		s = o->n || end ? pack_bzip2(o, end, err) : PM_OK;
		break;
	}
	o->done += o->n;
	o->n = 0;
	return s;
}

static void begin(struct pm_output *o)
{
	o->packing = ends_in(o->name, ".gz") ? GZIP : ends_in(o->name, ".zst") ? ZSTD :
		     ends_in(o->name, ".xz") ? XZ : ends_in(o->name, ".bz2") ? BZIP2 : PLAIN;
	if (o->packing != PLAIN)
		o->packed = pm_alloc(PACKED_BYTES);
	switch (o->packing) {
	case PLAIN:
		break;
	case GZIP:
		o->gz = pm_alloc(sizeof *o->gz);
		isal_deflate_init(o->gz);
		o->gz->gzip_flag = IGZIP_GZIP;
		o->gz->level = 1;
		o->gz_level = pm_alloc(ISAL_DEF_LVL1_DEFAULT);
		o->gz->level_buf = o->gz_level;
		o->gz->level_buf_size = ISAL_DEF_LVL1_DEFAULT;
		break;
	case ZSTD:
		o->zstd = ZSTD_createCCtx();
		ZSTD_CCtx_setParameter(o->zstd, ZSTD_c_compressionLevel, 3);
		ZSTD_CCtx_setParameter(o->zstd, ZSTD_c_checksumFlag, 1);
		break;
	case XZ:
		if (lzma_easy_encoder(&o->xz, 6, LZMA_CHECK_CRC64) != LZMA_OK)
			o->failed = true;
		break;
	case BZIP2:
		if (BZ2_bzCompressInit(&o->bz, 9, 0, 0) != BZ_OK)
			o->failed = true;
		break;
	}
}

struct pm_output *pm_output_open(const char *path, struct pm_err *err)
{
	bool std = !strcmp(path, "-");
	struct pm_output *o = pm_alloc(sizeof *o);
	struct stat st;
	bool direct;

	o->name = pm_strdup(std ? "standard output" : path);
	/* a pipe or a device is written as it is, and so is what a link leads to */
	direct = std || (!lstat(path, &st) && !S_ISREG(st.st_mode));
	if (std) {
		o->fd = dup(1);
	} else if (direct) {
		o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	} else {
		struct stat was;

		/* what may not be overwritten may not be replaced either */
		if (!stat(path, &was) && access(path, W_OK)) {
			o->fd = -1;
			goto fail;
		}
		o->unplaced = pm_beside_open(&o->beside, path);
		o->fd = o->beside.fd;
	}
	if (o->fd < 0)
		goto fail;
	begin(o);
	o->cap = BUF_BYTES;
	o->buf = pm_realloc(NULL, o->cap);
	return o;
fail:
	err->file = path;
	pm_fail_errno(err, "cannot open for writing");
	pm_output_close(o);
	return NULL;
}

struct pm_output *pm_output_to(int fd, const char *name, struct pm_err *err)
{
	struct pm_output *o = pm_alloc(sizeof *o);

	o->name = pm_strdup(name);
	o->fd = dup(fd);
	o->cap = BUF_BYTES;
	o->buf = pm_realloc(NULL, o->cap);
	if (o->fd >= 0)
		return o;
	err->file = name;
	pm_fail_errno(err, "cannot open for writing");
	pm_output_close(o);
	return NULL;
}

struct pm_output *pm_output_memory(void)
{
	struct pm_output *o = pm_alloc(sizeof *o);

	o->name = pm_strdup("memory");
	o->fd = -1;
	return o;
}

uint8_t *pm_output_reserve(struct pm_output *o, size_t n, struct pm_err *err)
{
	if (o->cap - o->n >= n)
		return o->buf + o->n;
	if (o->n && drain(o, false, err) != PM_OK)
		return NULL;
	if (o->cap - o->n < n) {
		o->cap = (o->n + n) * 2;
		o->buf = pm_realloc(o->buf, o->cap);
	}
	return o->buf + o->n;
}

enum pm_status pm_output_commit(struct pm_output *o, size_t n, struct pm_err *err)
{
	o->n += n;
	if (o->n >= BUF_BYTES && o->fd >= 0)
		return drain(o, false, err);
	return PM_OK;
}

enum pm_status pm_output_write(struct pm_output *o, const void *p, size_t n, struct pm_err *err)
{
	/* HOT: once per record */
	if (n && n < o->cap - o->n && o->n + n < BUF_BYTES) {
		memcpy(o->buf + o->n, p, n);
		o->n += n;
		return PM_OK;
	}
	/* what is larger than the buffer, and goes out as it is, need not pass through it */
	if (n >= BUF_BYTES && o->fd >= 0 && o->packing == PLAIN) {
		if (drain(o, false, err) != PM_OK || put(o, p, n, err) != PM_OK)
			return PM_ERR;
		o->done += n;
		return PM_OK;
	}
	while (n) {
		size_t part = n < BUF_BYTES ? n : BUF_BYTES;
		uint8_t *to = pm_output_reserve(o, part, err);

		if (!to)
			return PM_ERR;
		memcpy(to, p, part);
		if (pm_output_commit(o, part, err) != PM_OK)
			return PM_ERR;
		p = (const uint8_t *)p + part;
		n -= part;
	}
	return PM_OK;
}

uint64_t pm_output_offset(const struct pm_output *o)
{
	return o->done + o->n;
}

enum pm_status pm_output_flush(struct pm_output *o, struct pm_err *err)
{
	return drain(o, false, err);
}

static enum pm_status place(struct pm_output *o, int fd, struct pm_err *err)
{
	if (!o->unplaced)
		return PM_OK;
	if (!pm_beside_place(&o->beside, fd, o->name))
		return fail(o, err, "cannot name the finished file");
	o->unplaced = false;
	return PM_OK;
}

enum pm_status pm_output_keep(struct pm_output *o, struct pm_err *err)
{
	return place(o, o->fd, err);
}

enum pm_status pm_output_finish(struct pm_output *o, struct pm_err *err)
{
	enum pm_status s = drain(o, true, err);
	int fd;

	o->finished = s == PM_OK;
	if (o->fd < 0 || s != PM_OK)
		return s;
	/* quotas and network file systems speak up only when it is closed, and its name comes
	 * behind that */
	fd = o->unplaced ? dup(o->fd) : -1;
	if (o->unplaced && fd < 0)
		return fail(o, err, "cannot name the finished file");
	s = close(o->fd) && errno != EINTR ? fail(o, err, "cannot write") : place(o, fd, err);
	o->fd = -2;
	if (fd >= 0)
		close(fd);
	return s;
}

const uint8_t *pm_output_bytes(const struct pm_output *o, size_t *n)
{
	*n = o->n;
	return o->buf;
}

const char *pm_output_name(const struct pm_output *o)
{
	return o->name;
}

void pm_output_close(struct pm_output *o)
{
	if (!o)
		return;
	if (o->fd >= 0)
		close(o->fd);
	pm_beside_release(&o->beside);
	free(o->name);
	free(o->buf);
	free(o->packed);
	free(o->gz);
	free(o->gz_level);
	ZSTD_freeCCtx(o->zstd);
	lzma_end(&o->xz);
	BZ2_bzCompressEnd(&o->bz);
	free(o);
}
