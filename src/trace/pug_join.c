/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <zstd.h>

#include "base/cur.h"
#include "base/temp.h"
#include "trace/pug_join.h"
#include "trace/pug_put.h"

struct joined_stream {
	uint64_t index, insns;
	struct pm_buf was;		/* its last STRM, unpacked */
};

struct pug_join {
	struct pug_put put;
	struct pm_map table;		/* file << 32 | table in it -> table of the whole */
	struct pm_map number;		/* index of a stream -> where in `stream` */
	struct joined_stream *stream;
	size_t nstream, cap_stream;
	uint64_t kind[PM_EV_COUNT];
	struct pm_buf in, raw, text, out;	/* room for one record */
	ZSTD_CCtx *z;
};

struct pug_join *pug_join_new(struct pm_output *out, uint32_t facts, const char *level,
			      const char *const *info, struct pm_err *err)
{
	struct pug_join *j = pm_alloc(sizeof *j);

	j->put.out = out;
	j->z = ZSTD_createCCtx();
	pug_put_info(&j->text, level, info);
	pug_pack(&j->out, j->text.p, j->text.n, j->z, 3);
	if (pug_put_header(&j->put, facts, err) == PM_OK &&
	    pug_put_record(&j->put, PUG_INFO, 0, &j->out, err) == PM_OK)
		return j;
	pug_join_free(j);
	return NULL;
}

/* ---- what the files refer to ----------------------------------------------------------------- */
/* Where code table @number of @file is in the map. */
static bool table_key(unsigned file, uint64_t number, struct pm_cur *c, uint64_t *key)
{
	if (number > UINT32_MAX)
		pm_fail(c->err, c->where, "an impossible code table: number %llu",
			(unsigned long long)number);
	*key = (uint64_t)file << 32 | (uint32_t)number;
	return !pm_failed(c->err);
}

static struct joined_stream *stream_of(struct pug_join *j, uint64_t index)
{
	bool fresh;
	uint64_t *const at = pm_map_put(&j->number, index, &fresh);

	if (fresh) {
		pm_grow(j->stream, j->nstream, j->cap_stream);
		*at = j->nstream;
		j->stream[j->nstream++] = (struct joined_stream){ .index = index };
	}
	return &j->stream[*at];
}

/* ---- records, each from @c on, into j->out --------------------------------------------------- */
static enum pm_status copy_stream(struct pug_join *j, struct pm_cur *c, bool *known)
{
	struct joined_stream *s;
	struct pm_cur in;
	const uint8_t *p;
	uint64_t index;
	size_t n;

	if (pug_unpack(c, &j->raw, &p, &n, "a stream") != PM_OK)
		return PM_ERR;
	in = pm_cur_init(p, n, c->where, c->err);
	index = pm_cur_varint(&in, "a stream's number");
	if (index >= PUG_MAX_STREAMS)
		return pm_fail(c->err, c->where, "an impossible stream: number %llu",
			       (unsigned long long)index);
	if (pm_failed(c->err))
		return PM_ERR;
	s = stream_of(j, index);
	*known = s->was.n == n && !memcmp(s->was.p, p, n);
	s->was.n = 0;
	pm_buf_add(&s->was, p, n);
	pug_pack(&j->out, p, n, j->z, 3);
	return PM_OK;
}

static enum pm_status copy_code(struct pug_join *j, unsigned file, struct pm_cur *c)
{
	struct pm_cur in;
	const uint8_t *p;
	uint64_t key, *table;
	size_t n;
	bool fresh;

	if (pug_unpack(c, &j->raw, &p, &n, "code") != PM_OK)
		return PM_ERR;
	in = pm_cur_init(p, n, c->where, c->err);
	if (!table_key(file, pm_cur_varint(&in, "a code table's number"), c, &key))
		return PM_ERR;
	table = pm_map_put(&j->table, key, &fresh);
	if (fresh)
		*table = j->table.n - 1;
	j->text.n = 0;
	pug_varint(&j->text, *table);
	pm_buf_add(&j->text, in.p, pm_cur_left(&in));
	pug_pack(&j->out, j->text.p, j->text.n, j->z, 3);
	return PM_OK;
}

/* A stream's part of a chunk's head. */
static enum pm_status copy_slot(struct pug_join *j, unsigned file, struct pm_cur *c, uint64_t *sum)
{
	const uint64_t index = pm_cur_varint(c, "a chunk's streams"),
		       table = pm_cur_varint(c, "a chunk's streams");
	const uint64_t *at = pm_map_get(&j->number, index), *to = NULL;
	struct joined_stream *s;
	uint64_t insns, key;

	pm_cur_varint(c, "a chunk's streams");		/* before it, in this file */
	insns = pm_cur_varint(c, "a chunk's streams");
	if (pm_failed(c->err) || (table && !table_key(file, table - 1, c, &key)))
		return PM_ERR;
	if (table)
		to = pm_map_get(&j->table, key);
	if (!at || (table && !to))
		return pm_fail(c->err, c->where, "a chunk of stream %llu and code table %llu, "
			       "which were not defined", (unsigned long long)index,
			       (unsigned long long)table);
	s = &j->stream[*at];
	pug_varint(&j->out, index);
	pug_varint(&j->out, to ? *to + 1 : 0);
	pug_varint(&j->out, s->insns);
	pug_varint(&j->out, insns);
	s->insns += insns;
	*sum += insns;
	return PM_OK;
}

/* Its head is drawn in docs/formats/pug.md. */
static enum pm_status copy_chunk(struct pug_join *j, unsigned file, struct pm_cur *c,
				 const struct pug_rec *rec, uint32_t *events)
{
	const uint8_t *head = pm_cur_bytes(c, 9, "a chunk");
	const uint64_t nslot = pm_cur_varint(c, "a chunk's streams");
	uint64_t sum = 0;

	if (pm_failed(c->err))
		return PM_ERR;
	*events = pug_get32(head + 4);
	if (head[2] != PUG_PHRASES || !nslot || nslot > PUG_MAX_SLOTS)
		return pm_fail(c->err, c->where, "an impossible chunk: model %u, %llu streams",
			       head[2], (unsigned long long)nslot);
	pm_buf_add(&j->out, head, 9);
	pug_varint(&j->out, nslot);
	for (uint64_t i = 0; i < nslot; i++)
		if (copy_slot(j, file, c, &sum) != PM_OK)
			return PM_ERR;
	if (sum != rec->ninsn)
		return pm_fail(c->err, c->where, "a chunk of %llu instructions, not %u as its "
			       "record says", (unsigned long long)sum, rec->ninsn);
	pm_buf_add(&j->out, c->p, pm_cur_left(c));
	return PM_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */
/* A record at @at of @fd, which ends before @to: its head, and its payload in j->in. */
static enum pm_status read_record(struct pug_join *j, int fd, uint64_t at, uint64_t to,
				  struct pug_rec *rec, struct pm_err *err)
{
	uint8_t head[PUG_RECORD];

	if (at > to || to - at < sizeof head)
		return pm_fail(err, at, "expected %zu bytes of record, found %llu", sizeof head,
			       (unsigned long long)(at > to ? 0 : to - at));
	if (pm_temp_read(fd, head, sizeof head, at, err) != PM_OK)
		return PM_ERR;
	if (!pug_rec_get(head, rec) || rec->size > PUG_MAX_PAYLOAD)
		return pm_fail(err, at, "expected a record, found other bytes");
	if (rec->size > to - at - sizeof head)
		return pm_fail(err, at, "expected %u bytes of payload, found %llu", rec->size,
			       (unsigned long long)(to - at - sizeof head));
	if (j->in.cap < rec->size) {
		free(j->in.p);
		j->in.p = pm_realloc(NULL, rec->size);
		j->in.cap = rec->size;
	}
	if (pm_temp_read(fd, j->in.p, rec->size, at + PUG_RECORD, err) != PM_OK)
		return PM_ERR;
	if (pug_crc(j->in.p, rec->size) != rec->crc)
		return pm_fail(err, at, "the record's checksum is wrong");
	return PM_OK;
}

/* Into j->out what the whole has in place of @rec. *@wanted: it has something. */
static enum pm_status copy_record(struct pug_join *j, unsigned file, const struct pug_rec *rec,
				  uint64_t at, uint32_t *events, bool *wanted, struct pm_err *err)
{
	struct pm_cur c = pm_cur_init(j->in.p, rec->size, at, err);
	bool known = false;
	enum pm_status st;

	j->out.n = 0;
	*events = 0;
	*wanted = true;
	switch (rec->tag) {
	case PUG_STRM:
		st = copy_stream(j, &c, &known);
		*wanted = !known;
		return st;
	case PUG_CODE:
		return copy_code(j, file, &c);
	case PUG_DATA:
		return copy_chunk(j, file, &c, rec, events);
	case PUG_INFO:				/* the whole has its own */
		*wanted = false;
		return PM_OK;
	default:
		return pm_fail(err, at - PUG_RECORD, "a record that is in no part");
	}
}

/* The size of @f's file. */
static enum pm_status size_of(const struct pug_parts *f, uint64_t *size, struct pm_err *err)
{
	struct stat st;

	if (fstat(f->fd, &st))
		return pm_fail_errno(err, "cannot look at it");
	*size = (uint64_t)st.st_size;
	return PM_OK;
}

/* What has gone wrong is @f's. */
static enum pm_status of_file(const struct pug_parts *f, struct pm_err *err)
{
	err->file = f->name;
	return PM_ERR;
}

enum pm_status pug_join_part(struct pug_join *j, const struct pug_parts *f, uint64_t from,
			     uint64_t to, struct pm_err *err)
{
	struct pug_rec rec;
	uint64_t size = 0, insns;
	uint32_t events;
	bool wanted;

	if (size_of(f, &size, err) != PM_OK)
		return of_file(f, err);
	if (from > to || to > size) {
		pm_fail(err, size, "expected a part up to byte %llu", (unsigned long long)to);
		return of_file(f, err);
	}
	for (uint64_t at = from; at < to; at += PUG_RECORD + rec.size) {
		if (read_record(j, f->fd, at, to, &rec, err) != PM_OK ||
		    copy_record(j, f->number, &rec, at + PUG_RECORD, &events, &wanted, err) !=
		    PM_OK)
			return of_file(f, err);
		insns = rec.tag == PUG_DATA ? rec.ninsn : 0;
		if (wanted && pug_put_record(&j->put, rec.tag, insns, &j->out, err) != PM_OK)
			return PM_ERR;
		j->put.insns += insns;
		j->put.events += events;
	}
	/* from now on there is something in it */
	if (j->put.insns && pm_output_keep(j->put.out, err) != PM_OK)
		return PM_ERR;
	return pm_output_flush(j->put.out, err);
}

static enum pm_status count(struct pug_join *j, const struct pug_parts *f, struct pm_err *err)
{
	uint8_t trail[PUG_TRAILER];
	struct pm_cur c, in;
	struct pug_rec rec;
	const uint8_t *p;
	uint64_t n, size = 0, at;
	size_t bytes;

	if (size_of(f, &size, err) != PM_OK)
		return PM_ERR;
	if (size < PUG_TRAILER)
		return pm_fail(err, size, "expected %u bytes of trailer", PUG_TRAILER);
	size -= PUG_TRAILER;
	if (pm_temp_read(f->fd, trail, sizeof trail, size, err) != PM_OK)
		return PM_ERR;
	at = pug_get64(trail);
	if (read_record(j, f->fd, at, size, &rec, err) != PM_OK)
		return PM_ERR;
	if (rec.tag != PUG_INDX)
		return pm_fail(err, at, "expected the index, found another record");
	c = pm_cur_init(j->in.p, rec.size, at + PUG_RECORD, err);
	if (pug_unpack(&c, &j->raw, &p, &bytes, "the index") != PM_OK)
		return PM_ERR;
	in = pm_cur_init(p, bytes, c.where, err);
	n = pm_cur_varint(&in, "the totals");
	for (uint64_t k = 0; k < n && k < PM_EV_COUNT; k++)
		j->kind[k] += pm_cur_varint(&in, "the totals");
	return pm_failed(err) ? PM_ERR : PM_OK;
}

enum pm_status pug_join_count(struct pug_join *j, const struct pug_parts *f, struct pm_err *err)
{
	return count(j, f, err) == PM_OK ? PM_OK : of_file(f, err);
}

static int by_index(const void *a, const void *b)
{
	const struct pug_put_stream *x = a, *y = b;

	return x->index < y->index ? -1 : x->index > y->index;
}

enum pm_status pug_join_finish(struct pug_join *j, struct pm_err *err)
{
	struct pug_put_stream *v = pm_alloc((j->nstream + 1) * sizeof *v);
	enum pm_status st;

	for (size_t i = 0; i < j->nstream; i++)
		v[i] = (struct pug_put_stream){ j->stream[i].index, j->stream[i].insns };
	qsort(v, j->nstream, sizeof *v, by_index);
	st = pug_put_index(&j->put, j->kind, v, j->nstream, j->z, err);
	free(v);
	return st;
}

uint64_t pug_join_insns(const struct pug_join *j)
{
	return j->put.insns;
}

const uint64_t *pug_join_kinds(const struct pug_join *j)
{
	return j->kind;
}

void pug_join_free(struct pug_join *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->nstream; i++)
		pm_buf_release(&j->stream[i].was);
	free(j->stream);
	pm_map_release(&j->table);
	pm_map_release(&j->number);
	pm_buf_release(&j->in);
	pm_buf_release(&j->raw);
	pm_buf_release(&j->text);
	pm_buf_release(&j->out);
	ZSTD_freeCCtx(j->z);
	pug_put_release(&j->put);
	free(j);
}
