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
	uint64_t insns;
	struct pm_buf was;		/* its last STRM, unpacked */
};

struct pug_join {
	struct pug_put put;
	struct pm_map table;		/* file << 32 | table in it -> table of the whole */
	struct joined_stream *stream;	/* by index */
	size_t nstream;
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
	if (pug_put_header(&j->put, facts, err) == PM_OK && pm_output_keep(out, err) == PM_OK &&
	    pug_put_record(&j->put, PUG_INFO, 0, &j->out, err) == PM_OK)
		return j;
	pug_join_free(j);
	return NULL;
}

static uint64_t table_of(struct pug_join *j, unsigned file, uint64_t number)
{
	bool fresh;
	uint64_t *at = pm_map_put(&j->table, (uint64_t)file << 32 | number, &fresh);

	if (fresh)
		*at = j->table.n - 1;
	return *at;
}

static struct joined_stream *stream_of(struct pug_join *j, uint64_t index, struct pm_cur *c)
{
	if (index >= PUG_MAX_STREAMS)
		pm_fail(c->err, c->where, "an impossible stream: number %llu",
			(unsigned long long)index);
	if (pm_failed(c->err))
		return NULL;
	if (index >= j->nstream) {
		const size_t n = 2 * ((size_t)index + 4);

		j->stream = pm_realloc(j->stream, n * sizeof *j->stream);
		memset(j->stream + j->nstream, 0, (n - j->nstream) * sizeof *j->stream);
		j->nstream = n;
	}
	return &j->stream[index];
}

/* ---- records, each from @c on, into j->out --------------------------------------------------- */
static enum pm_status copy_stream(struct pug_join *j, struct pm_cur *c, bool *known)
{
	struct joined_stream *s;
	struct pm_cur in;
	const uint8_t *p;
	size_t n;

	if (pug_unpack(c, &j->raw, &p, &n, "a stream") != PM_OK)
		return PM_ERR;
	in = pm_cur_init(p, n, c->where, c->err);
	s = stream_of(j, pm_cur_varint(&in, "a stream's number"), c);
	if (!s)
		return PM_ERR;
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
	uint64_t number;
	size_t n;

	if (pug_unpack(c, &j->raw, &p, &n, "code") != PM_OK)
		return PM_ERR;
	in = pm_cur_init(p, n, c->where, c->err);
	number = pm_cur_varint(&in, "a code table's number");
	if (pm_failed(c->err))
		return PM_ERR;
	j->text.n = 0;
	pug_varint(&j->text, table_of(j, file, number));
	pm_buf_add(&j->text, in.p, pm_cur_left(&in));
	pug_pack(&j->out, j->text.p, j->text.n, j->z, 3);
	return PM_OK;
}

/* Its head is drawn in docs/formats/pug.md. */
static enum pm_status copy_chunk(struct pug_join *j, unsigned file, struct pm_cur *c,
				 uint32_t *events)
{
	const uint8_t *head = pm_cur_bytes(c, 9, "a chunk");
	const uint64_t nslot = pm_cur_varint(c, "a chunk's streams");

	if (!head)
		return PM_ERR;
	*events = pug_get32(head + 4);
	pm_buf_add(&j->out, head, 9);
	pug_varint(&j->out, nslot);
	for (uint64_t i = 0; i < nslot && !pm_failed(c->err); i++) {
		const uint64_t index = pm_cur_varint(c, "a chunk's streams"),
			       table = pm_cur_varint(c, "a chunk's streams");
		struct joined_stream *s = stream_of(j, index, c);
		uint64_t insns;

		pm_cur_varint(c, "a chunk's streams");	/* before it, in this file */
		insns = pm_cur_varint(c, "a chunk's streams");
		if (!s)
			return PM_ERR;
		pug_varint(&j->out, index);
		pug_varint(&j->out, table ? table_of(j, file, table - 1) + 1 : 0);
		pug_varint(&j->out, s->insns);
		pug_varint(&j->out, insns);
		s->insns += insns;
	}
	if (pm_failed(c->err))
		return PM_ERR;
	pm_buf_add(&j->out, c->p, pm_cur_left(c));
	return PM_OK;
}

static enum pm_status copy_record(struct pug_join *j, unsigned file, const struct pug_rec *rec,
				  uint64_t at, struct pm_err *err)
{
	struct pm_cur c = pm_cur_init(j->in.p, rec->size, at, err);
	enum pm_status st = PM_OK;
	uint32_t events = 0;
	bool known = false;

	j->out.n = 0;
	switch (rec->tag) {
	case PUG_STRM:
		st = copy_stream(j, &c, &known);
		break;
	case PUG_CODE:
		st = copy_code(j, file, &c);
		break;
	case PUG_DATA:
		st = copy_chunk(j, file, &c, &events);
		break;
	default:			/* INFO: the whole has its own */
		return PM_OK;
	}
	if (st == PM_OK && !known)
		st = pug_put_record(&j->put, rec->tag, rec->ninsn, &j->out, err);
	j->put.insns += rec->ninsn;
	j->put.events += events;
	return st;
}

/* A record at @at of @fd: its head, and its payload in j->in. */
static enum pm_status read_record(struct pug_join *j, int fd, uint64_t at, struct pug_rec *rec,
				  struct pm_err *err)
{
	uint8_t head[PUG_RECORD];

	if (pm_temp_read(fd, head, sizeof head, at, err) != PM_OK)
		return PM_ERR;
	if (!pug_rec_get(head, rec) || rec->size > PUG_MAX_PAYLOAD)
		return pm_fail(err, at, "a part of the trace is damaged");
	if (j->in.cap < rec->size) {
		free(j->in.p);
		j->in.p = pm_realloc(NULL, rec->size);
		j->in.cap = rec->size;
	}
	if (pm_temp_read(fd, j->in.p, rec->size, at + PUG_RECORD, err) != PM_OK)
		return PM_ERR;
	if (pug_crc(j->in.p, rec->size) != rec->crc)
		return pm_fail(err, at, "a part of the trace is damaged");
	return PM_OK;
}

enum pm_status pug_join_part(struct pug_join *j, unsigned file, int fd, uint64_t from, uint64_t to,
			     struct pm_err *err)
{
	struct pug_rec rec;

	for (uint64_t at = from; at < to; at += PUG_RECORD + rec.size)
		if (read_record(j, fd, at, &rec, err) != PM_OK ||
		    copy_record(j, file, &rec, at + PUG_RECORD, err) != PM_OK)
			return PM_ERR;
	return pm_output_flush(j->put.out, err);
}

enum pm_status pug_join_count(struct pug_join *j, int fd, struct pm_err *err)
{
	uint8_t trail[PUG_TRAILER];
	struct pm_cur c, in;
	struct pug_rec rec;
	const uint8_t *p;
	struct stat st;
	uint64_t n;
	size_t size;

	if (fstat(fd, &st) || st.st_size < PUG_TRAILER)
		return pm_fail_file(err, "a part of the trace is cut off");
	if (pm_temp_read(fd, trail, sizeof trail, (uint64_t)st.st_size - PUG_TRAILER, err) ||
	    read_record(j, fd, pug_get64(trail), &rec, err) != PM_OK)
		return PM_ERR;
	c = pm_cur_init(j->in.p, rec.size, pug_get64(trail), err);
	if (pug_unpack(&c, &j->raw, &p, &size, "the index") != PM_OK)
		return PM_ERR;
	in = pm_cur_init(p, size, c.where, err);
	n = pm_cur_varint(&in, "the totals");
	for (uint64_t k = 0; k < n && k < PM_EV_COUNT; k++)
		j->kind[k] += pm_cur_varint(&in, "the totals");
	return pm_failed(err) ? PM_ERR : PM_OK;
}

enum pm_status pug_join_finish(struct pug_join *j, struct pm_err *err)
{
	struct pug_put_stream *v = pm_alloc((j->nstream + 1) * sizeof *v);
	enum pm_status st;
	size_t n = 0;

	for (size_t i = 0; i < j->nstream; i++)
		if (j->stream[i].was.n)
			v[n++] = (struct pug_put_stream){ i, j->stream[i].insns };
	st = pug_put_index(&j->put, j->kind, v, n, j->z, err);
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
	pm_buf_release(&j->in);
	pm_buf_release(&j->raw);
	pm_buf_release(&j->text);
	pm_buf_release(&j->out);
	ZSTD_freeCCtx(j->z);
	pug_put_release(&j->put);
	free(j);
}
