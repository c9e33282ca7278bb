/* SPDX-License-Identifier: MIT */
/* input.c - bytes in
 *
 * Three layers: raw bytes (memory, or a descriptor with a buffer), an unpacker chosen by the first
 * bytes, and the window of unpacked bytes that the reader looks through. Memory is its own window,
 * and a plain file is read straight into it. Files are read, not looked at through a mapping:
 * copying into a buffer that stays in the cache costs less than page faults (docs/history.md).
 * What turns out to be large is unpacked by a second thread, a few blocks ahead of the reader. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd_errors.h>

#include "base/mem.h"
#include "base/thread.h"
#include "trace/input_state.h"

#define REST_BYTES	(64 << 10)	/* what the reader has not used of a block fits before
					 * the next one */
#define SNIFF_BYTES	10		/* what tells how a file is packed */
#define THREAD_BYTES	(1 << 20)	/* unpacked bytes that are not worth a thread */
#define SPIN		10000		/* looks for the other thread's block before sleeping: as
					 * long as one takes */
#define XZ_MEMORY	(1ull << 30)	/* the largest dictionary that a file may ask for */
#define ZSTD_WINDOW	27		/* log2, likewise: 128 MiB, what the zstd tool accepts */

static enum input_packing sniff(const uint8_t *p, size_t n)
{
	if (n >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8)
		return GZIP;
	if (n >= 4 && ((p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd) ||
		       ((p[0] & 0xf0) == 0x50 && p[1] == 0x2a && p[2] == 0x4d && p[3] == 0x18)))
		return ZSTD;
	if (n >= 6 && !memcmp(p, "\xfd" "7zXZ", 6))
		return XZ;
	/* the magic of the first block, or of the end in an empty one, is part of what tells it */
	if (n >= SNIFF_BYTES && !memcmp(p, "BZh", 3) && p[3] >= '1' && p[3] <= '9' &&
	    (!memcmp(p + 4, "1AY&SY", 6) || !memcmp(p + 4, "\x17rE8P\x90", 6)))
		return BZIP2;
	if (n >= 4 && !memcmp(p, "PK\3\4", 4))
		return ZIP;
	if (n >= SNIFF_BYTES && !memcmp(p, "\xff\6\0\0sNaPpY", 10))
		return SNAPPY;
	return PLAIN;
}

static size_t unpack_gzip(struct pm_input *in, uint8_t *to, size_t room)
{
	struct inflate_state *z = in->gz;

	for (;;) {
		size_t was = in->raw_n - in->raw_at, made;
		int r;

		if (!was && pm_raw_fill(in))
			continue;
		if (!in->member) {
			const uint8_t *p = in->raw + in->raw_at;

			if (was && !*p) {		/* tapes and some tools pad with zeros */
				in->raw_at++;
				continue;
			}
			if (!was)
				return 0;
			if (was < 2 && pm_raw_fill(in))
				continue;
			if (was < 2 || p[0] != 0x1f || p[1] != 0x8b)
				return pm_raw_broken(in, "gzip", "is followed by something else");
			isal_inflate_reset(z);
			z->crc_flag = ISAL_GZIP;
			in->member = true;
		}
		z->next_in = (uint8_t *)in->raw + in->raw_at;
		z->avail_in = was > UINT32_MAX ? UINT32_MAX : (uint32_t)was;
		z->next_out = to;
		z->avail_out = room > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)room;
		r = isal_inflate(z);
		made = (size_t)(z->next_out - to);
		in->raw_at = (size_t)(z->next_in - in->raw);
		if (r < 0)
			return pm_raw_broken(in, "gzip",
				      r == ISAL_INCORRECT_CHECKSUM ? "has a wrong checksum"
				      : r == ISAL_INVALID_WRAPPER || r == ISAL_UNSUPPORTED_METHOD
					      ? "has a header that makes no sense"
					      : "is damaged");
		if (z->block_state == ISAL_BLOCK_FINISH)
			in->member = false;
		if (made)
			return made;
		if (in->member && in->raw_at == in->raw_n && !pm_raw_fill(in))
			return pm_failed(&in->err) ? 0 : pm_raw_broken(in, "gzip", "is cut here");
	}
}

static size_t unpack_zstd(struct pm_input *in, uint8_t *to, size_t room)
{
	for (;;) {
		ZSTD_inBuffer src = { in->raw + in->raw_at, in->raw_n - in->raw_at, 0 };
		ZSTD_outBuffer dst = { to, room, 0 };
		size_t r;

		if (!src.size && pm_raw_fill(in))
			continue;
		if (!src.size && !in->member)
			return 0;
		r = ZSTD_decompressStream(in->zstd, &dst, &src);
		in->raw_at += src.pos;
		if (ZSTD_getErrorCode(r) == ZSTD_error_frameParameter_windowTooLarge)
			return pm_raw_broken(in, "zstd", "needs a window of more than 128 MiB: "
					     "`zstd -dc --long=31` unpacks it");
		if (ZSTD_isError(r))
			return pm_raw_broken(in, "zstd", ZSTD_getErrorName(r));
		in->member = r != 0;
		if (dst.pos)
			return dst.pos;
		if (in->member && in->raw_at == in->raw_n && !pm_raw_fill(in))
			return pm_failed(&in->err) ? 0 : pm_raw_broken(in, "zstd", "is cut here");
	}
}

static size_t unpack_xz(struct pm_input *in, uint8_t *to, size_t room)
{
	lzma_stream *z = &in->xz;

	for (;;) {
		size_t made;
		lzma_ret r;

		if (in->raw_at == in->raw_n)
			pm_raw_fill(in);
		if (pm_failed(&in->err))
			return 0;
		z->next_in = in->raw + in->raw_at;
		z->avail_in = in->raw_n - in->raw_at;
		z->next_out = to;
		z->avail_out = room;
		r = lzma_code(z, z->avail_in ? LZMA_RUN : LZMA_FINISH);
		in->raw_at = in->raw_n - z->avail_in;
		made = room - z->avail_out;
		if (made)
			return made;
		if (r == LZMA_STREAM_END)
			return 0;
		if (r != LZMA_OK)
			return pm_raw_broken(in, "xz",
				      r == LZMA_BUF_ERROR	 ? "is cut here"
				      : r == LZMA_MEMLIMIT_ERROR ? "needs more than 1 GiB to unpack"
				      : r == LZMA_FORMAT_ERROR	 ? "is followed by something else"
								 : "is damaged");
	}
}

static size_t unpack_bzip2(struct pm_input *in, uint8_t *to, size_t room)
{
	bz_stream *z = &in->bz;

	for (;;) {
		size_t was = in->raw_n - in->raw_at, made;
		int r;

		if (!was && pm_raw_fill(in))
			continue;
		if (!in->member) {
			if (!was)
				return 0;
			if (BZ2_bzDecompressInit(z, 0, 0) != BZ_OK)
				return pm_raw_broken(in, "bzip2",
						     "cannot be unpacked: out of memory");
			in->member = true;
		}
		z->next_in = (char *)in->raw + in->raw_at;
		z->avail_in = was > UINT32_MAX ? UINT32_MAX : (unsigned)was;
		z->next_out = (char *)to;
		z->avail_out = room > UINT32_MAX ? UINT32_MAX : (unsigned)room;
		r = BZ2_bzDecompress(z);
		made = (size_t)(z->next_out - (char *)to);
		in->raw_at = (size_t)((const uint8_t *)z->next_in - in->raw);
		if (r == BZ_STREAM_END) {
			BZ2_bzDecompressEnd(z);
			in->member = false;
		} else if (r != BZ_OK) {
			return pm_raw_broken(in, "bzip2",
				      r == BZ_DATA_ERROR_MAGIC ? "is followed by something else"
							       : "is damaged");
		}
		if (made)
			return made;
		if (in->member && in->raw_at == in->raw_n && !pm_raw_fill(in))
			return pm_failed(&in->err) ? 0 : pm_raw_broken(in, "bzip2", "is cut here");
	}
}

/* A plain file's next bytes. Its length is what it was when it was opened. */
static size_t read_plain(struct pm_input *in, uint8_t *to, size_t room)
{
	size_t left = in->raw_n - in->raw_at;
	ssize_t n;

	if (room > WINDOW_BYTES)
		room = WINDOW_BYTES;
	do
		n = pread(in->fd, to, room < left ? room : left, (off_t)in->raw_at);
	while (n < 0 && errno == EINTR);
	if (n < 0 || (!n && left)) {
		in->err.file = in->name;
		if (n < 0)
			pm_fail_errno(&in->err, "cannot read");
		else
			pm_fail(&in->err, in->raw_at, "the file has become shorter");
		return 0;
	}
	in->raw_at += (size_t)n;
	return (size_t)n;
}

static size_t unpack(struct pm_input *in, uint8_t *to, size_t room)
{
	size_t n;

	switch (in->packing) {
	case GZIP:
		return unpack_gzip(in, to, room);
	case ZSTD:
		return unpack_zstd(in, to, room);
	case XZ:
		return unpack_xz(in, to, room);
	case BZIP2:
		return unpack_bzip2(in, to, room);
	case ZIP:
		return pm_unpack_zip(in, to, room);
	case SNAPPY:
		return pm_unpack_snappy(in, to, room);
	case PLAIN:
		break;
	}
	if (in->whole)
		return read_plain(in, to, room);
	if (in->raw_at == in->raw_n && !pm_raw_fill(in))
		return 0;
	n = in->raw_n - in->raw_at;
	if (n > room)
		n = room;
	memcpy(to, in->raw + in->raw_at, n);
	in->raw_at += n;
	return n;
}

static void *unpacker(void *arg)
{
	struct pm_input *in = arg;
	/* ISA-L looks back at what it wrote, line by line, and a block's lines are in the other
	 * processor's cache at first: a buffer of our own and one copy take less. The others have
	 * such a buffer. */
	uint8_t *own = in->packing == GZIP ? pm_alloc(WINDOW_BYTES) : NULL;

	for (;;) {
		uint8_t *to;
		unsigned slot;
		size_t n = 0, part;

		for (unsigned i = 0; i < SPIN && in->made - in->used == AHEAD && !in->quit; i++)
			pm_relax();
		pthread_mutex_lock(&in->lock);
		while (in->made - in->used == AHEAD && !in->quit)
			pthread_cond_wait(&in->wake, &in->lock);
		slot = in->made % AHEAD;
		pthread_mutex_unlock(&in->lock);
		if (in->quit)
			break;
		to = in->ahead[slot] + REST_BYTES;
		do {
			part = unpack(in, own ? own + n : to + n, WINDOW_BYTES - n);
			n += part;
		} while (part && n < WINDOW_BYTES);
		if (own)
			memcpy(to, own, n);
		pthread_mutex_lock(&in->lock);
		in->ahead_n[slot] = n;
		in->made += n != 0;
		in->done = !part;
		pthread_cond_signal(&in->wake);
		pthread_mutex_unlock(&in->lock);
		if (!part)
			break;
	}
	free(own);
	return NULL;
}

/* Is there a block behind those used, and the one lent? Waits for it. */
static bool wait_block(struct pm_input *in)
{
	const unsigned next = in->used + in->lent;

	for (unsigned i = 0; i < SPIN && in->made == next && !in->done; i++)
		pm_relax();
	if (in->made == next) {
		pthread_mutex_lock(&in->lock);
		while (in->made == next && !in->done)
			pthread_cond_wait(&in->wake, &in->lock);
		pthread_mutex_unlock(&in->lock);
	}
	return in->made != next;
}

static void give_back(struct pm_input *in)
{
	in->lent = false;
	pthread_mutex_lock(&in->lock);
	in->used++;
	pthread_cond_signal(&in->wake);
	pthread_mutex_unlock(&in->lock);
}

/* Unpacked bytes, @room >= WINDOW_BYTES; 0 at the end or on error. */
static size_t produce(struct pm_input *in, uint8_t *to, size_t room)
{
	size_t n;

	if (!in->threaded)
		return unpack(in, to, room);
	if (!wait_block(in))
		return 0;
	n = in->ahead_n[in->used % AHEAD];
	memcpy(to, in->ahead[in->used % AHEAD] + REST_BYTES, n);
	give_back(in);
	return n;
}

/* The next block becomes the window, with what is left of this one before it. */
static void lend(struct pm_input *in)
{
	size_t rest = in->n - in->at;
	unsigned slot;
	uint8_t *to;

	if (!wait_block(in)) {
		in->ended = true;
		return;
	}
	slot = (in->used + in->lent) % AHEAD;
	to = in->ahead[slot] + REST_BYTES - rest;
	if (rest)
		memcpy(to, in->win + in->at, rest);
	if (in->lent)
		give_back(in);
	in->lent = true;
	in->win = to;
	in->base += in->at;
	in->at = 0;
	in->n = rest + in->ahead_n[slot];
}

static void start_thread(struct pm_input *in)
{
	for (unsigned i = 0; i < AHEAD; i++)
		in->ahead[i] = pm_realloc(NULL, REST_BYTES + WINDOW_BYTES);
	pthread_mutex_init(&in->lock, NULL);
	pthread_cond_init(&in->wake, NULL);
	in->threaded = pm_thread_start(&in->thread, unpacker, in);
}

/* Look at the first bytes, unless that was done, and prepare; plain memory becomes the window
 * itself. */
static void begin(struct pm_input *in)
{
	while (in->raw_n - in->raw_at < SNIFF_BYTES && pm_raw_fill(in))
		;
	in->packing = in->whole ? PLAIN : sniff(in->raw, in->raw_n);
	switch (in->packing) {
	case GZIP:
		in->gz = pm_alloc(sizeof *in->gz);
		isal_inflate_init(in->gz);
		break;
	case ZSTD:
		in->zstd = ZSTD_createDCtx();
		ZSTD_DCtx_setParameter(in->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW);
		break;
	case XZ:
		if (lzma_stream_decoder(&in->xz, XZ_MEMORY, LZMA_CONCATENATED) != LZMA_OK)
			pm_raw_broken(in, "xz", "cannot be unpacked: out of memory");
		break;
	case BZIP2:
		break;
	case ZIP:
		in->zip = pm_zip_new();
		break;
	case SNAPPY:
		in->snappy = pm_snappy_new(in);
		break;
	case PLAIN:
		if (in->fd < 0) {
			in->win = (uint8_t *)in->raw;
			in->n = in->raw_n;
			in->ended = true;
		}
		return;
	}
}

struct pm_input *pm_input_open(const char *path, struct pm_err *err)
{
	bool std = !strcmp(path, "-");
	int fd = std ? dup(0) : open(path, O_RDONLY | O_CLOEXEC);
	uint8_t head[SNIFF_BYTES];
	struct pm_input *in;
	ssize_t n;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		err->file = path;
		pm_fail_errno(err, "cannot open");
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	if (S_ISDIR(st.st_mode)) {
		err->file = path;
		pm_fail_file(err, "is a directory");
		close(fd);
		return NULL;
	}
	in = pm_alloc(sizeof *in);
	in->name = pm_strdup(std ? "standard input" : path);
	in->fd = fd;
	in->size = S_ISREG(st.st_mode) ? (size_t)st.st_size : SIZE_MAX;
	/* a redirected file may stand anywhere: only named ones are read at places; those of /proc
	 * have no length */
	if (!std && S_ISREG(st.st_mode) && in->size && (n = pread(fd, head, sizeof head, 0)) >= 0 &&
	    sniff(head, (size_t)n) == PLAIN) {
		in->whole = true;
		in->raw_n = in->size;
	} else {
		in->raw = in->raw_buf = pm_alloc(RAW_BYTES);
	}
	begin(in);
	return in;
}

struct pm_input *pm_input_memory(const void *p, size_t n, const char *name)
{
	struct pm_input *in = pm_alloc(sizeof *in);

	in->name = pm_strdup(name);
	in->fd = -1;
	in->raw = p;
	in->raw_n = in->size = n;
	begin(in);
	return in;
}

/* The window moves to our own buffer, with what is not consumed of it: new bytes arrive at one
 * place. */
static void own_window(struct pm_input *in)
{
	size_t rest = in->n - in->at, lead = rest < REST_BYTES ? REST_BYTES - rest : 0;
	uint8_t *old = in->own;

	if (in->cap < lead + rest + WINDOW_BYTES) {
		in->cap = lead + rest + 2 * WINDOW_BYTES;
		in->own = pm_realloc(NULL, in->cap);
	}
	if (rest)
		memmove(in->own + lead, in->win + in->at, rest);
	if (in->own != old)
		free(old);
	if (in->lent)
		give_back(in);
	in->win = in->own + lead;
	in->base += in->at;
	in->at = 0;
	in->n = rest;
}

/* Unpack until @want bytes are there. The window grows with what arrives, never with @want. */
static void fill(struct pm_input *in, size_t want)
{
	if (in->packing != PLAIN && !in->ahead[0] && in->base + in->n >= THREAD_BYTES)
		start_thread(in);
	if (in->threaded && in->n - in->at <= REST_BYTES) {
		lend(in);
		if (in->n - in->at >= want || in->ended)
			return;
	}
	own_window(in);
	while (in->n < want && !in->ended) {
		size_t lead = (size_t)(in->win - in->own), n;

		if (in->cap - lead - in->n < WINDOW_BYTES) {
			in->cap *= 2;
			in->own = pm_realloc(in->own, in->cap);
			in->win = in->own + lead;
		}
		n = produce(in, in->win + in->n, in->cap - lead - in->n);
		if (!n)
			in->ended = true;
		in->n += n;
	}
}

const uint8_t *pm_input_peek(struct pm_input *in, size_t want, size_t *got, struct pm_err *err)
{
	static const uint8_t nothing[1];

	if (in->n - in->at < want && !in->ended)
		fill(in, want);
	*got = in->n - in->at;
	if (!*got && pm_input_failed(in, err))
		return NULL;
	return in->win ? in->win + in->at : nothing;
}

void pm_input_skip(struct pm_input *in, size_t n)
{
	in->at += n <= in->n - in->at ? n : in->n - in->at;
}

size_t pm_input_pass(struct pm_input *in, size_t n, struct pm_err *err)
{
	size_t left = n;

	while (left) {
		size_t got = in->n - in->at;

		if (!got && in->whole && !in->ended) {
			got = in->raw_n - in->raw_at < left ? in->raw_n - in->raw_at : left;
			if (!got)
				break;
			in->raw_at += got;
			in->base += got;
			left -= got;
			continue;
		}
		if (!got && (!pm_input_peek(in, 1, &got, err) || !got))
			break;
		got = got < left ? got : left;
		pm_input_skip(in, got);
		left -= got;
	}
	return n - left;
}

uint64_t pm_input_offset(const struct pm_input *in)
{
	return in->base + in->at;
}

double pm_input_part(const struct pm_input *in)
{
	if (!in->size || in->size == SIZE_MAX)
		return 0;
	return (double)(in->packing == PLAIN ? pm_input_offset(in) : pm_raw_offset(in)) /
	       (double)in->size;
}

const uint8_t *pm_input_map(struct pm_input *in, size_t *size)
{
	*size = in->size;
	if (in->packing != PLAIN || (in->fd >= 0 && !in->whole))
		return NULL;
	if (in->fd >= 0 && !in->map) {
		void *p = mmap(NULL, in->size, PROT_READ, MAP_PRIVATE, in->fd, 0);

		in->map = p == MAP_FAILED ? NULL : p;
	}
	return in->fd < 0 ? in->raw : in->map;
}

const char *pm_input_name(const struct pm_input *in)
{
	return in->name;
}

bool pm_input_failed(const struct pm_input *in, struct pm_err *err)
{
	/* the second thread still writes it, but then the reader has not come to it yet either */
	if (in->threaded && !in->ended)
		return false;
	if (!pm_failed(&in->err))
		return false;
	if (!pm_failed(err)) {
		*err = in->err;
		err->file = NULL;	/* the name goes with the input; whoever opened it says
					 * it again */
	}
	return true;
}

void pm_input_close(struct pm_input *in)
{
	if (!in)
		return;
	if (in->threaded) {
		pthread_mutex_lock(&in->lock);
		in->quit = true;
		pthread_cond_signal(&in->wake);
		if (!in->done && in->size == SIZE_MAX) {
			/* it may wait for a writer that never comes: leave it what it holds */
			pthread_mutex_unlock(&in->lock);
			pthread_detach(in->thread);
			return;
		}
		pthread_mutex_unlock(&in->lock);
		pthread_join(in->thread, NULL);
		pthread_mutex_destroy(&in->lock);
		pthread_cond_destroy(&in->wake);
	}
	for (unsigned i = 0; i < AHEAD; i++)
		free(in->ahead[i]);
	if (in->gz)
		free(in->gz);
	ZSTD_freeDCtx(in->zstd);
	lzma_end(&in->xz);
	BZ2_bzDecompressEnd(&in->bz);
	pm_zip_free(in->zip);
	pm_snappy_free(in->snappy);
	if (in->map)
		munmap(in->map, in->size);
	free(in->own);
	free(in->raw_buf);
	if (in->fd >= 0)
		close(in->fd);
	free(in->name);
	free(in);
}
