/* SPDX-License-Identifier: MIT */
/* rec_write.c - recordings are written: chunk by chunk, so that what is there can be read */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <zstd.h>

#include "base/mix.h"
#include "collect/record/chunk.h"

struct rec_writer {
	const char *path;
	int fd;
	bool made;			/* nothing was there before */
	uint64_t bytes;
	struct pm_err err;
	struct pm_buf payload, packed;
	ZSTD_CCtx *zstd;
};

struct rec_writer *rec_create(const char *path, struct pm_err *err)
{
	struct rec_writer *w;
	bool made = true;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0 && errno == EEXIST) {
		made = false;
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	}
	if (fd < 0) {
		err->file = path;
		pm_fail_errno(err, "cannot create");
		return NULL;
	}
	w = pm_alloc(sizeof *w);
	w->path = path;
	w->fd = fd;
	w->made = made;
	w->zstd = ZSTD_createCCtx();
	if (!w->zstd)
		pm_out_of_memory(0);
	return w;
}

static void write_all(struct rec_writer *w, const void *p, size_t n)
{
	const uint8_t *at = p;

	while (n && !pm_failed(&w->err)) {
		const ssize_t r = write(w->fd, at, n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0) {
			w->err.file = w->path;
			pm_fail_errno(&w->err, "cannot write");
			return;
		}
		at += r;
		n -= (size_t)r;
		w->bytes += (uint64_t)r;
	}
}

static void begin_file(struct rec_writer *w)
{
	uint8_t head[REC_HEAD] = REC_MAGIC;
	const uint32_t version = htole32(REC_VERSION);

	if (ftruncate(w->fd, 0) && errno != EINVAL) {	/* EINVAL: a pipe, a device */
		w->err.file = w->path;
		pm_fail_errno(&w->err, "cannot write");
		return;
	}
	memcpy(head + 8, &version, sizeof version);
	write_all(w, head, sizeof head);
}

static void put_chunk(struct rec_writer *w, enum rec_kind kind, uint32_t stream, const void *p,
		      size_t n)
{
	struct chunk_head h = { .kind = (uint8_t)kind, .stream = stream, .raw = n, .stored = n };
	const size_t most = ZSTD_compressBound(n);
	uint8_t head[REC_CHUNK_HEAD];
	size_t packed;

	if (pm_failed(&w->err))
		return;
	if (!w->bytes)
		begin_file(w);
	w->packed.n = 0;
	packed = ZSTD_compressCCtx(w->zstd, pm_buf_room(&w->packed, most), most, p, n, 1);
	if (!ZSTD_isError(packed) && packed < n) {
		p = w->packed.p;
		h.packed = 1;
		h.stored = packed;
	}
	h.check = pm_mix(p, h.stored, 0);
	chunk_head_put(&h, head);
	write_all(w, head, sizeof head);
	write_all(w, p, h.stored);
}

/* ---- payloads -------------------------------------------------------------------------------- */
static void put32(struct pm_buf *b, uint32_t v)
{
	const uint32_t le = htole32(v);

	pm_buf_add(b, &le, sizeof le);
}

static void put64(struct pm_buf *b, uint64_t v)
{
	const uint64_t le = htole64(v);

	pm_buf_add(b, &le, sizeof le);
}

static void put_text(struct pm_buf *b, const char *s)
{
	const size_t n = strlen(s);

	put32(b, (uint32_t)n);
	pm_buf_add(b, s, n);
}

static void put_start(struct pm_buf *b, const struct rec_start *s)
{
	uint32_t argc = 0;

	put32(b, s->pid);
	put32(b, s->parent);
	put32(b, s->from);
	put32(b, (uint32_t)s->i386 | (uint32_t)s->exec_all << 1);
	put64(b, s->sp);
	put64(b, s->pc);
	put64(b, s->rax);
	put64(b, s->rdx);
	put64(b, s->mask);
	put64(b, s->ignored);
	put64(b, s->stack_limit);
	put_text(b, s->program);
	while (s->argv[argc])
		argc++;
	put32(b, argc);
	for (uint32_t i = 0; i < argc; i++)
		put_text(b, s->argv[i]);
	put32(b, (uint32_t)s->nmap);
	put32(b, (uint32_t)s->npart);
	for (size_t i = 0; i < s->nmap; i++) {
		const struct rec_map *m = &s->map[i];

		put64(b, m->lo);
		put64(b, m->hi);
		put64(b, m->off);
		put32(b, m->prot);
		put32(b, m->flags);
		put32(b, m->file);
	}
	for (size_t i = 0; i < s->npart; i++) {
		put64(b, s->part[i].at);
		put64(b, s->part[i].n);
		pm_buf_add(b, s->part[i].p, s->part[i].n);
	}
}

void rec_start(struct rec_writer *w, uint32_t stream, const struct rec_start *s)
{
	w->payload.n = 0;
	put_start(&w->payload, s);
	put_chunk(w, REC_START, stream, w->payload.p, w->payload.n);
}

void rec_file(struct rec_writer *w, uint32_t number, const struct rec_file *f)
{
	w->payload.n = 0;
	put32(&w->payload, number);
	put32(&w->payload, f->kept);
	put64(&w->payload, f->size);
	put64(&w->payload, f->check);
	put_text(&w->payload, f->path);
	put_chunk(w, REC_FILE, 0, w->payload.p, w->payload.n);
}

void rec_data(struct rec_writer *w, uint32_t number, uint64_t off, const void *p, size_t n)
{
	const uint8_t *at = p;

	while (n) {
		const size_t part = n < REC_DATA_MAX ? n : REC_DATA_MAX;

		w->payload.n = 0;
		put32(&w->payload, number);
		put32(&w->payload, 0);
		put64(&w->payload, off);
		pm_buf_add(&w->payload, at, part);
		put_chunk(w, REC_DATA, 0, w->payload.p, w->payload.n);
		at += part;
		off += part;
		n -= part;
	}
}

void rec_log(struct rec_writer *w, uint32_t stream, const void *p, size_t n)
{
	if (n)
		put_chunk(w, REC_LOG, stream, p, n);
}

void rec_end(struct rec_writer *w, uint32_t stream, enum rec_end why, uint64_t more, int status,
	     int signal)
{
	w->payload.n = 0;
	put32(&w->payload, why);
	put32(&w->payload, 0);
	put64(&w->payload, more);
	put32(&w->payload, (uint32_t)status);
	put32(&w->payload, (uint32_t)signal);
	put_chunk(w, REC_END, stream, w->payload.p, w->payload.n);
}

bool rec_failed(const struct rec_writer *w)
{
	return pm_failed(&w->err);
}

uint64_t rec_bytes(const struct rec_writer *w)
{
	return w->bytes;
}

enum pm_status rec_finish(struct rec_writer *w, struct pm_err *err)
{
	if (close(w->fd) && !pm_failed(&w->err)) {
		w->err.file = w->path;
		pm_fail_errno(&w->err, "cannot write");
	}
	if (w->made && !w->bytes)
		unlink(w->path);
	if (pm_failed(&w->err) && !pm_failed(err))
		*err = w->err;
	ZSTD_freeCCtx(w->zstd);
	pm_buf_release(&w->payload);
	pm_buf_release(&w->packed);
	free(w);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

/* Not mapped: it may become shorter meanwhile. */
bool rec_check_file(int fd, uint64_t size, uint8_t *piece, uint64_t *check)
{
	uint64_t at = 0;
	ssize_t got = 0;

	*check = 0;
	while (at < size) {
		const uint64_t left = size - at;

		got = pread(fd, piece, left < REC_CHECK_PIECE ? left : REC_CHECK_PIECE, (off_t)at);
		if (got <= 0)
			break;
		*check = pm_mix(piece, (size_t)got, *check);
		at += (uint64_t)got;
	}
	return at == size;
}
