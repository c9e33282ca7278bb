/* SPDX-License-Identifier: MIT */
/* pug_write.c - events into .pug
 *
 * The caller's thread runs the model over each batch and leaves columns; a second thread packs the
 * columns of a full chunk and writes them, so that the caller can go on with the next chunk. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "trace/format.h"
#include "trace/pug_encode.h"
#include "trace/pug_file.h"

#define PIECE		2048		/* events between two looks at the limits */
#define SIDE_BYTES	(32 << 20)	/* rare things in one chunk */

static const struct pug_level_info {
	const char *name;
	enum pug_level level;
	int zstd;
	uint32_t insns, events;		/* a chunk is closed at the first block behind either */
	uint8_t path_bits, seen_bits;	/* the model's tables */
} levels[] = {
	{ "fast", PUG_FAST, 1, 1 << 22, 1 << 22, 14, 0 },
	{ "default", PUG_DEFAULT, 3, 1 << 22, 1 << 22, 15, 16 },
	{ "dense", PUG_DENSE, 9, 1 << 23, 1 << 22, 16, 18 },
};

/* A chunk between the model and the packer. */
struct chunk {
	struct pug_columns cols;
	struct early {			/* a record that must stand before it, not packed yet */
		struct pug_rec rec;
		size_t at, n;		/* its bytes in .raw */
	} *early;
	size_t nearly, cap_early;
	struct pm_buf raw;
	struct slot {
		const struct pm_stream *stream;
		uint32_t index;		/* of the stream: the packing thread asks */
		const struct pm_code *code;
		uint32_t code_number;
		uint64_t insns_before, insns;
		struct pug_ctx ctx;
	} *slot;
	size_t nslot, cap_slot;
	struct pug_rec rec;
	uint32_t events;
};

struct known_code {
	const struct pm_code *code;
	struct pug_code_mark done;
};

struct known_stream {
	const struct pm_stream *stream;
	struct pm_stream was;		/* as it was written */
	char *name;
	uint64_t insns;
	bool written;
};

struct pug_writer {
	struct pm_output *out;
	struct pug_level_info level;
	uint32_t chunk;			/* instructions, as the user wants it; 0: the level's */
	struct pm_write_opts opts;
	bool begun, failed;
	uint32_t facts;

	struct pug_encoder e;
	struct chunk *c;		/* being filled */
	struct chunk chunks[2];
	struct slot *slot;		/* of the last batch */

	struct known_code *code;
	size_t ncode, cap_code;
	struct known_stream *stream;	/* by pm_stream.index */
	size_t nstream;
	uint64_t kind[PM_EV_COUNT];	/* events in complete chunks */
	uint64_t insns, events;

	/* the packing thread */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool threaded, quit;
	struct chunk *job;		/* being packed; NULL: the thread is idle */
	struct pm_err err;		/* of the packing thread, under the lock */
	/* ... and of whoever finds it idle */
	ZSTD_CCtx *zstd;
	struct pm_buf planes, packed;
	struct pm_buf index;		/* entries of the INDX record */
	uint64_t nindex;
};

/* ---- packing: columns -> a DATA record ---------------------------------------------------------- */

/* Elements of @width bytes become @width planes: bytes of like meaning lie together. */
static const uint8_t *to_planes(struct pm_buf *b, const uint8_t *p, size_t n, unsigned width)
{
	size_t count = n / width;

	if (b->cap < n) {
		free(b->p);
		b->p = pm_realloc(NULL, n);
		b->cap = n;
	}
	for (unsigned k = 0; k < width; k++) {
		uint8_t *to = b->p + k * count;

		for (size_t i = 0; i < count; i++)
			to[i] = p[i * width + k];
	}
	return b->p;
}

static void index_add(struct pug_writer *w, uint64_t at, const uint8_t rec[PUG_RECORD])
{
	uint8_t entry[8];

	pug_put64(entry, at);
	pm_buf_add(&w->index, entry, 8);
	pm_buf_add(&w->index, rec, PUG_RECORD);
	w->nindex++;
}

static enum pm_status write_record(struct pug_writer *w, struct pug_rec *rec, const struct pm_buf *payload,
				   struct pm_err *err)
{
	uint8_t head[PUG_RECORD];

	if (payload->n > PUG_MAX_PAYLOAD)
		return pm_fail_file(err, "a record of %zu bytes, more than a .pug can hold", payload->n);
	rec->size = (uint32_t)payload->n;
	rec->crc = pug_crc(payload->p, payload->n);
	pug_rec_put(head, rec);
	if (rec->tag != PUG_INDX)
		index_add(w, pm_output_offset(w->out), head);
	if (pm_output_write(w->out, head, sizeof head, err) != PM_OK)
		return PM_ERR;
	return pm_output_write(w->out, payload->p, payload->n, err);
}

static enum pm_status write_early(struct pug_writer *w, struct chunk *c, struct pm_err *err)
{
	for (size_t i = 0; i < c->nearly; i++) {
		struct early *e = c->early + i;

		w->packed.n = 0;
		pug_pack(&w->packed, c->raw.p + e->at, e->n, w->zstd, 3);
		if (write_record(w, &e->rec, &w->packed, err) != PM_OK)
			return PM_ERR;
	}
	c->nearly = c->raw.n = 0;
	return PM_OK;
}

static enum pm_status pack_chunk(struct pug_writer *w, struct chunk *c, struct pm_err *err)
{
	struct pm_buf *to = &w->packed;
	uint8_t head[9];

	if (write_early(w, c, err) != PM_OK)
		return PM_ERR;
	to->n = 0;
	head[0] = (uint8_t)w->level.level;
	head[1] = PUG_NCOL;
	head[2] = PUG_PHRASES;
	head[3] = w->level.path_bits;
	pug_put32(head + 4, c->events);
	head[8] = w->level.seen_bits;
	pm_buf_add(to, head, sizeof head);
	pug_varint(to, c->nslot);
	for (size_t i = 0; i < c->nslot; i++) {
		const struct slot *s = c->slot + i;

		pug_varint(to, s->index);
		pug_varint(to, s->code_number + 1u);
		pug_varint(to, s->insns_before);
		pug_varint(to, s->insns);
	}
	for (unsigned k = 0; k < PUG_NCOL; k++) {
		size_t n;
		const uint8_t *p = pug_column(&c->cols, k, &n);

		if (n > PUG_MAX_RAW)
			return pm_fail_file(err, "%zu bytes in one column of a chunk, more than a .pug can hold", n);
		if (pug_col_width[k] > 1)
			p = to_planes(&w->planes, p, n, pug_col_width[k]);
		pug_pack(to, p, n, w->zstd, w->level.zstd);
	}
	if (write_record(w, &c->rec, to, err) != PM_OK)
		return PM_ERR;
	/* whoever kills us from now on leaves this chunk readable */
	return pm_output_flush(w->out, err);
}

static void *packer(void *arg)
{
	struct pug_writer *w = arg;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct chunk *c;
		struct pm_err err = { 0 };

		while (!w->job && !w->quit)
			pthread_cond_wait(&w->wake, &w->lock);
		c = w->job;
		if (!c)
			break;
		if (!pm_failed(&w->err)) {
			pthread_mutex_unlock(&w->lock);
			pack_chunk(w, c, &err);
			pthread_mutex_lock(&w->lock);
			if (pm_failed(&err))
				w->err = err;
		}
		w->job = NULL;
		pthread_cond_broadcast(&w->wake);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* Wait until the packing thread is idle. */
static enum pm_status packer_wait(struct pug_writer *w, struct pm_err *err)
{
	enum pm_status s = PM_OK;

	if (!w->threaded)
		return PM_OK;
	pthread_mutex_lock(&w->lock);
	while (w->job)
		pthread_cond_wait(&w->wake, &w->lock);
	if (pm_failed(&w->err)) {
		if (!pm_failed(err))
			*err = w->err;
		s = PM_ERR;
	}
	pthread_mutex_unlock(&w->lock);
	return s;
}

/* ---- chunks ------------------------------------------------------------------------------------- */

/* What was added to the chunk's .raw since @at becomes a record. */
static void add_record(struct pug_writer *w, enum pug_tag tag, size_t at)
{
	struct chunk *c = w->c;

	pm_grow(c->early, c->nearly, c->cap_early);
	c->early[c->nearly++] = (struct early){
		.rec = { .tag = tag, .insns = w->insns, .events = w->events, .time = w->e.time },
		.at = at, .n = c->raw.n - at,
	};
}

static void put_stream(struct pug_writer *w, const struct pm_stream *s, struct known_stream *k)
{
	struct pm_buf *raw = &w->c->raw;
	size_t at = raw->n;

	free(k->name);
	k->was = *s;
	k->name = s->name ? pm_strdup(s->name) : NULL;
	k->written = true;
	pug_varint(raw, s->index);
	pug_varint(raw, s->pid);
	pug_varint(raw, s->tid);
	pug_varint(raw, s->space);
	pug_string_put(raw, s->name);
	add_record(w, PUG_STRM, at);
}

static void put_codes(struct pug_writer *w)
{
	for (size_t i = 0; i < w->ncode; i++) {
		struct known_code *k = w->code + i;
		size_t at = w->c->raw.n;

		if (k->done.ninsn == k->code->ninsn && k->done.nblock == k->code->nblock &&
		    k->done.nobject == k->code->nobject)
			continue;
		pug_code_put(&w->c->raw, (uint32_t)i, k->code, &k->done);
		add_record(w, PUG_CODE, at);
	}
}

static void begin_chunk(struct pug_writer *w, struct chunk *c)
{
	c->nearly = c->raw.n = 0;
	c->nslot = 0;
	c->events = 0;
	c->rec = (struct pug_rec){ .tag = PUG_DATA, .insns = w->insns, .events = w->events, .time = w->e.time };
	w->c = c;
	w->slot = NULL;
	pug_encode_begin(&w->e, &c->cols, w->level.path_bits, w->level.seen_bits);
}

static enum pm_status end_chunk(struct pug_writer *w, struct pm_err *err)
{
	struct chunk *c = w->c;

	pug_encode_end(&w->e);
	pug_model_tally(&w->e.m, w->kind);
	put_codes(w);
	if (!c->events && !c->nearly)
		return PM_OK;
	c->rec.ninsn = (uint32_t)(w->insns - c->rec.insns);
	if (packer_wait(w, err) != PM_OK)
		return PM_ERR;
	if (!c->events)		/* only definitions are left */
		return write_early(w, c, err);
	if (!w->threaded)
		return pack_chunk(w, c, err);
	pthread_mutex_lock(&w->lock);
	w->job = c;
	pthread_cond_broadcast(&w->wake);
	pthread_mutex_unlock(&w->lock);
	return PM_OK;
}

static struct known_stream *known_stream(struct pug_writer *w, const struct pm_stream *s)
{
	struct known_stream *k;

	if (s->index >= w->nstream) {
		size_t n = w->nstream ? w->nstream : 8;

		while (n <= s->index)
			n *= 2;
		w->stream = pm_realloc(w->stream, n * sizeof *w->stream);
		memset(w->stream + w->nstream, 0, (n - w->nstream) * sizeof *w->stream);
		w->nstream = n;
	}
	k = w->stream + s->index;
	if (!k->written || k->was.pid != s->pid || k->was.tid != s->tid || k->was.space != s->space ||
	    !k->name != !s->name || (s->name && strcmp(k->name, s->name)))
		put_stream(w, s, k);
	return k;
}

static uint32_t known_code(struct pug_writer *w, const struct pm_code *code)
{
	if (!code)
		return PM_NONE;
	for (size_t i = w->ncode; i--; )
		if (w->code[i].code == code)
			return (uint32_t)i;
	pm_grow(w->code, w->ncode, w->cap_code);
	w->code[w->ncode++] = (struct known_code){ .code = code };
	return (uint32_t)w->ncode - 1;
}

/* The slot of the batch's stream; an op tells the reader that it changed. */
static enum pm_status choose_slot(struct pug_writer *w, const struct pm_batch *b, struct pm_err *err)
{
	struct chunk *c = w->c;
	size_t i;

	if (w->slot && w->slot->stream == b->stream && w->slot->code == b->code)
		return PM_OK;
	for (i = 0; i < c->nslot; i++)
		if (c->slot[i].stream == b->stream && c->slot[i].code == b->code)
			break;
	if (i == c->nslot) {
		struct known_stream *k;

		if (b->stream->index >= PUG_MAX_STREAMS)
			return pm_fail_file(err, "stream number %u is more than a .pug can hold", b->stream->index);
		k = known_stream(w, b->stream);
		pm_grow(c->slot, c->nslot, c->cap_slot);
		c->slot[c->nslot++] = (struct slot){
			.stream = b->stream, .index = b->stream->index, .code = b->code,
			.code_number = known_code(w, b->code),
			.insns_before = k->insns,
		};
		c->slot[i].ctx.code = c->slot[i].code_number + 1u;
	}
	if (w->slot || i)
		pug_encode_switch(&w->e, i);
	w->slot = c->slot + i;
	return PM_OK;
}

/* Where a chunk may end: at the next block or instruction, so that no reference is cut off. */
static size_t next_boundary(const struct pm_batch *b, size_t i)
{
	for (size_t n = 0; i < b->n && n < PIECE; i++, n++)
		if (b->ev[i].kind == PM_EV_BLOCK || b->ev[i].kind == PM_EV_INSN ||
		    (b->ev[i].kind == PM_EV_UOP && b->ev[i].id < b->nuop && b->uop[b->ev[i].id].index == 1))
			break;
	return i;
}

static enum pm_status pug_begin(struct pug_writer *w, struct pm_err *err)
{
	uint8_t head[PUG_HEADER] = { 0 };
	struct pm_buf *raw = &w->chunks->raw;

	w->begun = true;
	memcpy(head, PUG_MAGIC, 8);
	head[8] = PUG_MAJOR;
	head[10] = PUG_MINOR;
	pug_put32(head + 12, PUG_HEADER);
	pug_put64(head + 16, w->opts.facts);
	pug_put32(head + 28, pug_crc(head, 28));
	if (pm_output_write(w->out, head, sizeof head, err) != PM_OK || pm_output_keep(w->out, err) != PM_OK)
		return PM_ERR;
	begin_chunk(w, w->chunks);
	pm_buf_printf(raw, "tool=pugmark %s%clevel=%s%c", PM_VERSION, 0, w->level.name, 0);
	for (const char *const *kv = w->opts.info; kv && kv[0]; kv += 2)
		if (kv[1])
			pm_buf_printf(raw, "%s=%s%c", kv[0], kv[1], 0);
	add_record(w, PUG_INFO, 0);
	/* whoever is killed early leaves at least a file that says what it was to be */
	if (write_early(w, w->c, err) != PM_OK || pm_output_flush(w->out, err) != PM_OK)
		return PM_ERR;
	w->threaded = !pthread_create(&w->thread, NULL, packer, w);
	return PM_OK;
}

enum pm_status pug_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct pug_writer *w = self;

	if (!w->begun && pug_begin(w, err) != PM_OK)
		return PM_ERR;
	for (size_t i = 0; i < b->n; ) {
		size_t from = i, stop = b->n - i < PIECE ? b->n : i + PIECE;
		uint64_t insns = w->e.insns;

		if (insns >= w->level.insns || w->c->events >= w->level.events ||
		    w->e.c->side.n >= SIDE_BYTES || w->c->nslot == PUG_MAX_SLOTS) {
			bool full = w->c->events >= 2 * w->level.events || w->e.c->side.n >= SIDE_BYTES ||
				    w->c->nslot == PUG_MAX_SLOTS;

			stop = next_boundary(b, i);
			if (stop == i || full) {
				if (end_chunk(w, err) != PM_OK)
					return PM_ERR;
				begin_chunk(w, w->chunks + (w->c == w->chunks));
				continue;
			}
		}
		if (choose_slot(w, b, err) != PM_OK || pug_encode(&w->e, &w->slot->ctx, b, &i, stop, err) != PM_OK)
			return PM_ERR;
		insns = w->e.insns - insns;
		w->slot->insns += insns;
		w->stream[b->stream->index].insns += insns;
		w->insns += insns;
		w->c->events += (uint32_t)(i - from);
		w->events += i - from;
	}
	return PM_OK;
}

/* Totals, then where every record is; the trailer says where that is. */
static enum pm_status put_index(struct pug_writer *w, struct pm_err *err)
{
	struct pm_buf raw = { 0 }, payload = { 0 };
	struct pug_rec rec = { .tag = PUG_INDX, .insns = w->insns, .events = w->events,
			       .time = w->e.time };
	uint64_t at = pm_output_offset(w->out), nstream = 0;
	uint8_t trail[PUG_TRAILER];
	enum pm_status s;

	pug_varint(&raw, PM_EV_COUNT);
	for (unsigned k = 0; k < PM_EV_COUNT; k++)
		pug_varint(&raw, w->kind[k]);
	for (size_t i = 0; i < w->nstream; i++)
		nstream += w->stream[i].written;
	pug_varint(&raw, nstream);
	for (size_t i = 0; i < w->nstream; i++)
		if (w->stream[i].written) {
			pug_varint(&raw, i);
			pug_varint(&raw, w->stream[i].insns);
		}
	pug_varint(&raw, w->nindex);
	pm_buf_add(&raw, w->index.p, w->index.n);
	pug_pack(&payload, raw.p, raw.n, w->zstd, 3);
	s = write_record(w, &rec, &payload, err);
	pm_buf_release(&raw);
	pm_buf_release(&payload);
	if (s != PM_OK)
		return s;
	pug_put64(trail, at);
	pug_put32(trail + 8, 0);
	pug_put32(trail + 12, pug_crc(trail, 12));
	memcpy(trail + 16, PUG_TRAIL_MAGIC, 8);
	return pm_output_write(w->out, trail, sizeof trail, err);
}

enum pm_status pug_write_finish(void *self, struct pm_err *err)
{
	struct pug_writer *w = self;

	if (!w->begun && pug_begin(w, err) != PM_OK)
		return PM_ERR;
	if (end_chunk(w, err) != PM_OK || packer_wait(w, err) != PM_OK)
		return PM_ERR;
	w->c = NULL;
	return put_index(w, err);
}

/* LEVEL or level=LEVEL, chunk=N, separated by commas. */
static enum pm_status parse_options(struct pug_writer *w, const char *o, struct pm_err *err)
{
	w->level = levels[1];
	for (size_t n; *o; o += n + (o[n] == ',')) {
		unsigned i = 0;

		n = strcspn(o, ",");
		if (!strncmp(o, "chunk=", 6)) {
			char *end;
			unsigned long v = strtoul(o + 6, &end, 10);

			if (end != o + n || v < 16 || v > 1 << 23)
				return pm_fail_file(err, "chunk wants a number of instructions from 16 to %u, not '%.*s'",
						    1u << 23, (int)n - 6, o + 6);
			w->chunk = (uint32_t)v;
			continue;
		}
		if (!strncmp(o, "level=", 6)) {
			o += 6;
			n -= 6;
		}
		while (i < NR(levels) && (strlen(levels[i].name) != n || strncmp(levels[i].name, o, n)))
			i++;
		if (i == NR(levels))
			return pm_fail_file(err, "'%.*s' is not a level of .pug: fast, default or dense", (int)n, o);
		w->level = levels[i];
	}
	if (w->chunk)
		w->level.insns = w->level.events = w->chunk;
	return PM_OK;
}

void *pug_write_open(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err)
{
	struct pug_writer *w = pm_alloc(sizeof *w);

	if (parse_options(w, o->options ? o->options : "", err) != PM_OK) {
		free(w);
		return NULL;
	}
	w->out = out;
	w->opts = *o;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	w->zstd = ZSTD_createCCtx();
	return w;
}

void pug_write_close(void *self)
{
	struct pug_writer *w = self;
	struct pm_err err = { 0 };

	if (!w)
		return;
	/* without finish() the file stays cut, but what was collected is worth a chunk */
	if (w->begun && w->c && end_chunk(w, &err) == PM_OK)
		packer_wait(w, &err);
	if (w->threaded) {
		pthread_mutex_lock(&w->lock);
		w->quit = true;
		pthread_cond_broadcast(&w->wake);
		pthread_mutex_unlock(&w->lock);
		pthread_join(w->thread, NULL);
	}
	if (w->begun && w->c)
		pm_output_flush(w->out, &err);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->wake);
	ZSTD_freeCCtx(w->zstd);
	for (unsigned i = 0; i < 2; i++) {
		struct chunk *c = w->chunks + i;

		pug_columns_release(&c->cols);
		pm_buf_release(&c->raw);
		free(c->early);
		free(c->slot);
	}
	for (size_t i = 0; i < w->nstream; i++)
		free(w->stream[i].name);
	free(w->stream);
	free(w->code);
	pm_buf_release(&w->planes);
	pm_buf_release(&w->packed);
	pm_buf_release(&w->index);
	pug_encoder_release(&w->e);
	free(w);
}
