/* SPDX-License-Identifier: MIT */
#include "trace/cat.h"

#include <assert.h>
#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/cur.h"
#include "base/err.h"
#include "base/mem.h"

#define FRAME		(1u << 20)
#define LEVEL		1

const char *const cat_kind_names[CAT_KINDS] = {
	"begin", "instruction fetch", "fill", "write-back", "uncached read", "uncached write",
	"DMA read", "DMA write", "interrupt", "end", "report",
};

static void put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, 4);
}

void cat_header_put(uint8_t *p, const struct cat_header *h, const char *magic)
{
	memset(p, 0, CAT_HEADER);
	memcpy(p, magic, strlen(magic));
	put32(p + 8, h->big_endian);
	put32(p + 12, h->ram_size);
	put32(p + 16, h->r2);
	put32(p + 20, h->iline);
	put32(p + 24, h->dline);
	put32(p + 28, h->scache);
	put32(p + 32, h->sline);
	put32(p + 36, h->tlb);
	put32(p + 40, h->sideband | h->uncached << 1);
}

static bool line_ok(uint32_t n)
{
	return n == 16 || n == 32;
}

enum pm_status cat_header_get(const uint8_t *p, size_t n, struct cat_header *h, const char *magic,
			      struct pm_err *err)
{
	struct pm_cur c = pm_cur_init(p, n, 0, err);
	const uint8_t *m = pm_cur_bytes(&c, 8, "magic");
	char want[8] = { 0 };
	uint32_t order, cpu, flags;
	const uint8_t *rest;
	unsigned zero;

	memset(h, 0, sizeof *h);
	if (!m)
		return PM_ERR;
	memcpy(want, magic, strnlen(magic, 8));
	if (memcmp(m, want, 8))
		return pm_fail(err, 0, "expected the magic \"%s\", found something else", magic);
	order = pm_cur_be32(&c, "byte order");
	h->ram_size = pm_cur_be32(&c, "RAM size");
	cpu = pm_cur_be32(&c, "processor");
	h->iline = pm_cur_be32(&c, "instruction line");
	h->dline = pm_cur_be32(&c, "data line");
	h->scache = pm_cur_be32(&c, "secondary cache");
	h->sline = pm_cur_be32(&c, "secondary line");
	h->tlb = pm_cur_be32(&c, "TLB entries");
	flags = pm_cur_be32(&c, "flags");
	/* an .ims has its identity here */
	zero = !strcmp(magic, "PMIMS1") || strncmp(magic, "PMIMS", 5) ? 44 : 52;
	pm_cur_bytes(&c, zero - 44, "identity");
	rest = pm_cur_bytes(&c, CAT_HEADER - zero, "header");
	if (pm_failed(err))
		return PM_ERR;
	for (unsigned i = 0; i < CAT_HEADER - zero; i++)
		if (rest[i])
			return pm_fail(err, zero + i, "expected 0 in a reserved byte, found 0x%02x",
				       rest[i]);
	if (order > 1)
		return pm_fail(err, 8, "expected byte order 0 or 1, found %u", order);
	if (h->ram_size < 65536 || h->ram_size > 0x1f000000u || h->ram_size % 4096)
		return pm_fail(err, 12,
			       "expected 65536 to 520093696 bytes of RAM in pages, found %u",
			       h->ram_size);
	if (cpu > 1)
		return pm_fail(err, 16, "expected processor 0 or 1, found %u", cpu);
	if (!line_ok(h->iline) || !line_ok(h->dline))
		return pm_fail(err, 20, "expected cache lines of 16 or 32 bytes, found %u and %u",
			       h->iline, h->dline);
	if (h->scache && (h->scache < 131072 || h->scache > 4194304 ||
			  h->scache & (h->scache - 1) || h->sline < 16 || h->sline > 128 ||
			  h->sline & (h->sline - 1) || h->sline < h->dline || h->sline < h->iline))
		return pm_fail(err, 28,
			       "expected a secondary cache of 128 KiB to 4 MiB with lines of 16 to "
			       "128 "
			       "bytes, found %u with %u",
			       h->scache, h->sline);
	if (h->tlb != 48)
		return pm_fail(err, 36, "expected 48 TLB entries, found %u", h->tlb);
	if (flags > 3)
		return pm_fail(err, 40, "expected flags 0 to 3, found 0x%x", flags);
	h->big_endian = order;
	h->r2 = cpu;
	h->sideband = flags & 1;
	h->uncached = flags >> 1 & 1;
	return PM_OK;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Whoever runs the machine only notes what was on the bus: a note, and behind it a
 * line's. A thread makes records of them. There are several buffers, so that it need not wait for
 * the other to wake up. */
#define NOTES		(1u << 18)
#define BUFFERS		4
#define LONGEST_LINE	128

struct cat_note {
	uint8_t kind, bytes, line;	/* line: bytes that follow; each word is a record */
	uint32_t branches, addr, data;
};

struct cat_writer {
	struct pm_output *out;
	uint8_t *notes[BUFFERS];	/* used in turn */
	size_t size[BUFFERS];
	uint8_t *cur;			/* the one that is filled now */
	size_t n;			/* bytes in it */
	uint64_t records;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	uint64_t filled, done;		/* buffers, ever */
	bool quit, started, big_endian;
	struct pm_err err;
	/* the thread's */
	ZSTD_CCtx *z;
	uint8_t *frame, *packed;
	size_t nframe;			/* bytes in frame */
};

static void write_frame(struct cat_writer *w)
{
	const size_t n = ZSTD_compress2(w->z, w->packed, ZSTD_compressBound(FRAME), w->frame,
					w->nframe);

	if (ZSTD_isError(n))
		pm_fail_file(&w->err, "cannot compress: %s", ZSTD_getErrorName(n));
	else if (!pm_failed(&w->err))
		pm_output_write(w->out, w->packed, n, &w->err);
	w->nframe = 0;
}

static void put_record(struct cat_writer *w, const struct cat_note *it, uint32_t addr,
		       uint32_t data)
{
	uint8_t *p = w->frame + w->nframe;

	p[0] = it->kind;
	p[1] = it->bytes;
	p[2] = p[3] = 0;
	put32(p + 4, it->branches);
	put32(p + 8, addr);
	put32(p + 12, data);
	w->nframe += CAT_RECORD;
	if (w->nframe == FRAME)
		write_frame(w);
}

static void put_records(struct cat_writer *w, const uint8_t *p, size_t n)
{
	const uint8_t *end = p + n;
	struct cat_note it;

	while (p < end) {
		memcpy(&it, p, sizeof it);
		p += sizeof it;
		if (!it.line)
			put_record(w, &it, it.addr, it.data);
		for (unsigned i = 0; i < it.line; i += 4, p += 4) {
			uint32_t v;

			memcpy(&v, p, 4);
			put_record(w, &it, it.addr + i, w->big_endian ? be32toh(v) : le32toh(v));
		}
	}
}

static void *worker(void *arg)
{
	struct cat_writer *w = arg;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (w->done == w->filled && !w->quit)
			pthread_cond_wait(&w->cond, &w->lock);
		if (w->done == w->filled)
			break;
		pthread_mutex_unlock(&w->lock);
		put_records(w, w->notes[w->done % BUFFERS], w->size[w->done % BUFFERS]);
		pthread_mutex_lock(&w->lock);
		w->done++;
		pthread_cond_broadcast(&w->cond);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void hand_over(struct cat_writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->size[w->filled++ % BUFFERS] = w->n;
	pthread_cond_broadcast(&w->cond);
	while (w->filled - w->done == BUFFERS)
		pthread_cond_wait(&w->cond, &w->lock);
	pthread_mutex_unlock(&w->lock);
	w->cur = w->notes[w->filled % BUFFERS];
	w->n = 0;
}

struct cat_writer *cat_create(const char *path, const struct cat_header *h, struct pm_err *err)
{
	struct cat_writer *w = pm_alloc(sizeof *w);
	uint8_t head[CAT_HEADER];

	w->err.file = path;
	w->out = pm_output_open(path, err);
	if (!w->out) {
		free(w);
		return NULL;
	}
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->cond, NULL);
	w->big_endian = h->big_endian;
	for (unsigned i = 0; i < BUFFERS; i++)
		w->notes[i] = pm_alloc_unset(NOTES);
	w->cur = w->notes[0];
	w->frame = pm_alloc_unset(FRAME);
	w->packed = pm_alloc(ZSTD_compressBound(FRAME));
	w->z = ZSTD_createCCtx();
	cat_header_put(head, h, "PMCAT1");
	if (w->z) {
		ZSTD_CCtx_setParameter(w->z, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(w->z, ZSTD_c_checksumFlag, 1);
	}
	if (!w->z || pm_output_write(w->out, head, sizeof head, err) != PM_OK) {
		cat_close(w);
		return NULL;
	}
	w->started = !pthread_create(&w->thread, NULL, worker, w);
	if (!w->started) {
		pm_fail_file(err, "cannot start the compressing thread");
		cat_close(w);
		return NULL;
	}
	return w;
}

/* HOT. There is always room for a note and its line. */
static inline void note(struct cat_writer *w, struct cat_note it, const void *line)
{
	uint8_t *p = w->cur + w->n;

	memcpy(p, &it, sizeof it);
	if (it.line == 32)			/* nearly all: inlined */
		memcpy(p + sizeof it, line, 32);
	else
		memcpy(p + sizeof it, line, it.line);
	w->n += sizeof it + it.line;
	if (w->n > NOTES - sizeof it - LONGEST_LINE)
		hand_over(w);
}

void cat_put(struct cat_writer *w, enum cat_kind kind, unsigned bytes, uint32_t branches,
	     uint32_t addr, uint32_t data)
{
	note(w, (struct cat_note){ (uint8_t)kind, (uint8_t)bytes, 0, branches, addr, data }, "");
	w->records++;
}

void cat_put_line(struct cat_writer *w, enum cat_kind kind, uint32_t branches, uint32_t addr,
		  const void *line, unsigned n)
{
	assert(n <= LONGEST_LINE);
	note(w, (struct cat_note){ (uint8_t)kind, 4, (uint8_t)n, branches, addr, 0 }, line);
	w->records += n / 4;
}

uint64_t cat_written(const struct cat_writer *w)
{
	return w->records;
}

static void stop_thread(struct cat_writer *w)
{
	if (!w->started)
		return;
	pthread_mutex_lock(&w->lock);
	w->quit = true;			/* once it has done what there is */
	pthread_cond_broadcast(&w->cond);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	w->started = false;
}

enum pm_status cat_finish(struct cat_writer *w, struct pm_err *err)
{
	if (w->n)
		hand_over(w);
	stop_thread(w);
	if (w->nframe)
		write_frame(w);
	if (pm_failed(&w->err)) {
		*err = w->err;
		return PM_ERR;
	}
	return pm_output_finish(w->out, err);
}

void cat_close(struct cat_writer *w)
{
	if (!w)
		return;
	stop_thread(w);
	pm_output_close(w->out);
	ZSTD_freeCCtx(w->z);
	for (unsigned i = 0; i < BUFFERS; i++)
		free(w->notes[i]);
	free(w->frame);
	free(w->packed);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->cond);
	free(w);
}

/* ---- reading -------------------------------------------------------------------------------- */
struct cat_reader {
	struct pm_input *in;
	ZSTD_DCtx *z;
	uint8_t *buf;			/* unpacked records */
	size_t pos, n;
	uint64_t record;
	bool cut, in_frame, own;	/* own: closes the input */
};

struct cat_reader *cat_open_input(struct pm_input *in, struct cat_header *h, struct pm_err *err)
{
	struct cat_reader *r;
	const uint8_t *p;
	size_t got;

	p = pm_input_peek(in, CAT_HEADER, &got, err);
	if (!p || cat_header_get(p, got < CAT_HEADER ? got : CAT_HEADER, h, "PMCAT1", err) != PM_OK)
		return NULL;
	pm_input_skip(in, CAT_HEADER);
	r = pm_alloc(sizeof *r);
	r->in = in;
	r->z = ZSTD_createDCtx();
	r->buf = pm_alloc(FRAME);
	r->record = UINT64_MAX;
	return r;
}

struct cat_reader *cat_open(const char *path, struct cat_header *h, struct pm_err *err)
{
	struct pm_input *in = pm_input_open(path, err);
	struct cat_reader *r = in ? cat_open_input(in, h, err) : NULL;

	if (r)
		r->own = true;
	else if (in)
		pm_input_close(in);
	return r;
}

/* More records into buf; PM_END at the end, a cut included. */
static enum pm_status refill(struct cat_reader *r, struct pm_err *err)
{
	size_t keep = r->n - r->pos;

	memmove(r->buf, r->buf + r->pos, keep);
	r->pos = 0;
	r->n = keep;
	while (r->n < CAT_RECORD) {
		ZSTD_outBuffer out = { r->buf, FRAME, r->n };
		ZSTD_inBuffer in;
		size_t got, ret;
		const uint8_t *p = pm_input_peek(r->in, 65536, &got, err);

		if (!p && pm_failed(err))
			return PM_ERR;
		in = (ZSTD_inBuffer){ p, p ? got : 0, 0 };
		ret = ZSTD_decompressStream(r->z, &out, &in);
		if (ZSTD_isError(ret))
			return pm_fail(err, pm_input_offset(r->in),
				       "expected a zstd frame of records, found: %s",
				       ZSTD_getErrorName(ret));
		if (in.size == 0 && out.pos == r->n) {	/* no input left, nothing came out */
			r->cut = r->in_frame || r->n % CAT_RECORD;
			return PM_END;
		}
		if (in.pos || out.pos != r->n)
			r->in_frame = ret != 0;
		pm_input_skip(r->in, in.pos);
		r->n = out.pos;
	}
	return PM_OK;
}

enum pm_status cat_next(struct cat_reader *r, struct cat_rec *rec, struct pm_err *err)
{
	const uint8_t *p;
	uint32_t w[3];

	if (r->n - r->pos < CAT_RECORD) {
		enum pm_status st = refill(r, err);

		if (st != PM_OK)
			return st;
	}
	p = r->buf + r->pos;
	r->record++;
	if (p[0] >= CAT_KINDS)
		return pm_fail(err, pm_input_offset(r->in),
			       "expected record kind 0 to %d, found %u (record %llu)",
			       CAT_KINDS - 1, p[0], (unsigned long long)r->record);
	if (p[1] > 4)
		return pm_fail(err, pm_input_offset(r->in),
			       "expected 0 to 4 bytes, found %u (record %llu)", p[1],
			       (unsigned long long)r->record);
	if (p[2] || p[3])
		return pm_fail(err, pm_input_offset(r->in),
			       "expected 0 in the reserved bytes, found 0x%02x%02x (record %llu)",
			       p[2], p[3], (unsigned long long)r->record);
	memcpy(w, p + 4, sizeof w);
	rec->kind = p[0];
	rec->bytes = p[1];
	rec->branches = be32toh(w[0]);
	rec->addr = be32toh(w[1]);
	rec->data = be32toh(w[2]);
	r->pos += CAT_RECORD;
	return PM_OK;
}

uint64_t cat_record(const struct cat_reader *r)
{
	return r->record;
}

bool cat_was_cut(const struct cat_reader *r)
{
	return r->cut;
}

void cat_reader_close(struct cat_reader *r)
{
	if (!r)
		return;
	if (r->own)
		pm_input_close(r->in);
	ZSTD_freeDCtx(r->z);
	free(r->buf);
	free(r);
}
