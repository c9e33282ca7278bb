/* SPDX-License-Identifier: MIT */
/* pug_read.c - the records of a .pug, seeking, totals */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cur.h"
#include "trace/pug_decode.h"
#include "trace/pug_file.h"

struct pug_reader {
	struct pm_input *in;
	uint32_t facts;
	struct pm_buf info;
	struct pug_code **code;		/* pointers stay: batches lead to them */
	size_t ncode, cap_code;
	struct pm_stream **stream;	/* by index, NULL: not seen */
	size_t nstream;
	struct pm_arena mem;		/* streams and their names */

	/* where we are */
	uint64_t skip_to;		/* chunks that end before this instruction are not read */
	bool skipped;			/* ... and some were not */
	struct pug_place from, to;	/* what is not between them is not passed on */
	bool begun;			/* @from has been passed */
	bool paused;			/* at @to */
	uint64_t batch_at;		/* instructions before the batch in the builder */
	const struct pm_batch *held;	/* ... which is @to's first, and has not been passed on;
					 * or NULL */
	bool one_stream;		/* chunks without stream @only are not read, batches of
					 * others not passed on */
	uint32_t only;
	uint64_t insns, events, index_at;
	uint64_t chunks, records;
	bool ended, cut;
	uint64_t cut_at;
	struct pug_total_stream *total;
	size_t ntotal, cap_total;
	struct pug_totals totals;	/* from the index; whole is false until it was seen */

	bool inside;			/* a chunk is being read */
	struct pug_rec rec;
	struct pug_chunk_in c;
	struct pm_buf room[PUG_NCOL], planes;
	struct pug_model m;
	struct pug1_model *m1;		/* NULL until a chunk of version 1 comes */
	struct pm_buf payload;
};

/* ---- records that are no chunks ------------------------------------------------------------- */

static enum pm_status get_info(struct pug_reader *r, struct pm_cur *c)
{
	const uint8_t *p;
	size_t n;

	if (pug_unpack(c, &r->payload, &p, &n, "the description") != PM_OK)
		return PM_ERR;
	r->info.n = 0;
	pm_buf_add(&r->info, p, n);
	/* whatever it holds, it ends: name=value, a zero, ..., one more zero */
	pm_buf_add(&r->info, "\0", 2);
	return PM_OK;
}

static enum pm_status get_stream(struct pug_reader *r, struct pm_cur *c, uint64_t at)
{
	struct pm_cur in;
	const uint8_t *p;
	size_t n;
	struct pm_stream s = { 0 };
	uint64_t index, pid, tid;

	if (pug_unpack(c, &r->payload, &p, &n, "a stream") != PM_OK)
		return PM_ERR;
	in = pm_cur_init(p, n, at, c->err);
	index = pm_cur_varint(&in, "a stream's number");
	pid = pm_cur_varint(&in, "a process id");
	tid = pm_cur_varint(&in, "a thread id");
	s.space = pm_cur_varint(&in, "an address space");
	if (pug_string_get(&in, &r->mem, &s.name, "a stream's name") != PM_OK)
		return PM_ERR;
	if (index >= PUG_MAX_STREAMS || pid > UINT32_MAX || tid > UINT32_MAX || pm_cur_left(&in))
		return pm_fail(c->err, at, "an impossible stream: number %" PRIu64, index);
	s.index = (uint32_t)index;
	s.pid = (uint32_t)pid;
	s.tid = (uint32_t)tid;
	if (index >= r->nstream) {
		size_t m = r->nstream ? r->nstream : 8;

		while (m <= index)
			m *= 2;
		r->stream = pm_realloc(r->stream, m * sizeof *r->stream);
		memset(r->stream + r->nstream, 0, (m - r->nstream) * sizeof *r->stream);
		r->nstream = m;
	}
	/* a stream that changes keeps its place: sinks hold on to it */
	if (!r->stream[index])
		r->stream[index] = pm_arena_alloc(&r->mem, sizeof s);
	*r->stream[index] = s;
	return PM_OK;
}

static enum pm_status get_code(struct pug_reader *r, struct pm_cur *c, uint64_t at)
{
	struct pm_cur in;
	const uint8_t *p;
	size_t n;
	uint64_t number;

	if (pug_unpack(c, &r->payload, &p, &n, "code") != PM_OK)
		return PM_ERR;
	in = pm_cur_init(p, n, at, c->err);
	number = pm_cur_varint(&in, "a code table's number");
	if (pm_failed(c->err))
		return PM_ERR;
	if (number > r->ncode)
		return pm_fail(c->err, at, "code table %" PRIu64 ", but there are %zu", number,
			       r->ncode);
	if (number == r->ncode) {
		pm_grow(r->code, r->ncode, r->cap_code);
		r->code[r->ncode++] = pm_alloc(sizeof **r->code);
	}
	if (pug_code_get(&in, r->code[number]) != PM_OK)
		return PM_ERR;
	/* what a whole program's code unpacks to is needed once */
	if (r->payload.cap > 1 << 20)
		pm_buf_release(&r->payload);
	return PM_OK;
}

/* What the streams are of which an index tells: those of its records that describe one are in the
 * file @all. */
static enum pm_status index_streams(struct pug_reader *r, const struct pm_cur *index,
				    const uint8_t *all, size_t n)
{
	for (uint64_t k = 0; k < r->totals.records; k++) {
		const uint8_t *p = index->p + k * (8 + PUG_RECORD);
		const uint64_t at = pug_get64(p);
		struct pug_rec rec;
		struct pm_cur c;

		if (pug_get32(p + 8) != PUG_STRM)
			continue;
		if (at > n || n - at < PUG_RECORD || !pug_rec_get(all + at, &rec) ||
		    rec.tag != PUG_STRM || rec.size > n - at - PUG_RECORD ||
		    pug_crc(all + at + PUG_RECORD, rec.size) != rec.crc)
			return pm_fail(index->err, at, "the index leads to no stream");
		c = pm_cur_init(all + at + PUG_RECORD, rec.size, at + PUG_RECORD, index->err);
		if (get_stream(r, &c, at) != PM_OK)
			return PM_ERR;
	}
	for (size_t i = 0; i < r->ntotal; i++)
		if (r->total[i].index < r->nstream)
			r->total[i].is = r->stream[r->total[i].index];
	return PM_OK;
}

/* @all: the file, of which the streams are wanted, too; or NULL. */
static enum pm_status get_index(struct pug_reader *r, struct pm_cur *c, uint64_t at,
				const uint8_t *all, size_t n_all)
{
	struct pug_totals *t = &r->totals;
	struct pm_cur in;
	const uint8_t *p;
	size_t n;
	uint64_t kinds, streams;

	if (pug_unpack(c, &r->payload, &p, &n, "the index") != PM_OK)
		return PM_ERR;
	in = pm_cur_init(p, n, at, c->err);
	*t = (struct pug_totals){ 0 };
	r->ntotal = 0;
	kinds = pm_cur_varint(&in, "the totals");
	for (uint64_t k = 0; k < kinds && !pm_failed(c->err); k++) {
		uint64_t v = pm_cur_varint(&in, "the totals");

		if (k < PM_EV_COUNT)
			t->tally.kind[k] = v;
		t->events += v;
	}
	streams = pm_cur_varint(&in, "the totals");
	for (uint64_t k = 0; k < streams && !pm_failed(c->err); k++) {
		struct pug_total_stream st = { .index = pm_cur_varint(&in, "the totals") };

		st.insns = pm_cur_varint(&in, "the totals");
		t->tally.insns += st.insns;
		pm_grow(r->total, r->ntotal, r->cap_total);
		r->total[r->ntotal++] = st;
	}
	t->records = pm_cur_varint(&in, "the totals");
	if (pm_failed(c->err))
		return PM_ERR;
	if (pm_cur_left(&in) != t->records * (8 + PUG_RECORD))
		return pm_fail(c->err, at, "an index of %zu bytes for %" PRIu64 " records",
			       pm_cur_left(&in), t->records);
	for (uint64_t k = 0; k < t->records; k++)
		t->chunks += pug_get32(in.p + k * (8 + PUG_RECORD) + 8) == PUG_DATA;
	t->whole = true;
	if (all)
		return index_streams(r, &in, all, n_all);
	return PM_OK;
}

/* What the index says against itself and, if everything was read, against what was there. */
static enum pm_status check_totals(struct pug_reader *r, uint64_t at, struct pm_err *err)
{
	const struct pug_totals *t = &r->totals;

	if (t->tally.insns != r->rec.insns || t->events != r->rec.events)
		return pm_fail(err, at, "the index contradicts its own header");
	if (r->skipped)
		return PM_OK;
	if (t->records != r->records || t->chunks != r->chunks)
		return pm_fail(err, at, "the index lists %" PRIu64 " records, there were %" PRIu64,
			       t->records, r->records);
	for (unsigned k = 0; k < PM_EV_COUNT; k++)
		if (t->tally.kind[k] != r->c.kind[k])
			return pm_fail(err, at,
				       "the index counts %" PRIu64
				       " events of kind %s, there were %" PRIu64,
				       t->tally.kind[k], pm_kind_name(k), r->c.kind[k]);
	return PM_OK;
}

/* ---- a chunk -------------------------------------------------------------------------------- */

static void from_planes(struct pm_buf *to, const uint8_t *p, size_t n, unsigned width)
{
	size_t count = n / width;

	if (to->cap < n) {
		free(to->p);
		to->p = pm_realloc(NULL, n);
		to->cap = n;
	}
	for (unsigned k = 0; k < width; k++)
		for (size_t i = 0; i < count; i++)
			to->p[i * width + k] = p[k * count + i];
	to->n = n;
}

/* What stands before a chunk's columns. */
static enum pm_status chunk_head(struct pug_chunk_in *c, struct pug_reader *r, struct pm_cur *cur)
{
	uint8_t level = pm_cur_u8(cur, "a chunk"), ncol = pm_cur_u8(cur, "a chunk");
	uint64_t nslot;

	c->model = pm_cur_u8(cur, "a chunk");
	c->path_bits = pm_cur_u8(cur, "a chunk");
	c->left = pm_cur_u32(cur, "a chunk");
	c->seen_bits = c->model == PUG_PHRASES ? pm_cur_u8(cur, "a chunk") : 0;
	nslot = pm_cur_varint(cur, "a chunk");
	if (pm_failed(cur->err))
		return PM_ERR;
	if (level < PUG_FAST || level > PUG_DENSE || c->left > PUG_MAX_EVENTS || !c->left ||
	    !nslot || nslot > PUG_MAX_SLOTS)
		return pm_fail(cur->err, c->at,
			       "an impossible chunk: level %u, %u events, %" PRIu64 " streams",
			       level, c->left, nslot);
	if (c->model == PUG_NODES ? ncol != PUG1_NCOL || c->path_bits :
	    c->model != PUG_PHRASES || ncol != PUG_NCOL || c->path_bits < PUG_BITS_MIN ||
	    c->path_bits > PUG_PATH_MAX || (c->seen_bits && c->seen_bits < PUG_BITS_MIN) ||
	    c->seen_bits > PUG_SEEN_MAX)
		return pm_fail(cur->err, c->at,
			       "an impossible chunk: model %u, %u columns, tables of 2^%u and "
			       "2^%u",
			       c->model, ncol, c->path_bits, c->seen_bits);
	c->level = level;
	c->nslot = 0;
	for (uint64_t i = 0; i < nslot; i++) {
		uint64_t stream = pm_cur_varint(cur, "a chunk's streams");
		uint64_t code = pm_cur_varint(cur, "a chunk's streams");
		uint64_t insns = pm_cur_varint(cur, "a chunk's streams");

		pm_cur_varint(cur, "a chunk's streams");
		if (pm_failed(cur->err))
			return PM_ERR;
		if (stream >= r->nstream || !r->stream[stream] || code > r->ncode)
			return pm_fail(cur->err, c->at,
				       "a chunk of stream %" PRIu64 " and code table %" PRIu64
				       ", which were not defined",
				       stream, code);
		pm_grow(c->slot, c->nslot, c->cap_slot);
		c->slot[c->nslot++] = (struct pug_slot_in){
			.stream = r->stream[stream], .code = code ? r->code[code - 1] : NULL,
			.insns = insns,
			.ctx.code = (uint32_t)code,
		};
	}
	return PM_OK;
}

static enum pm_status chunk_column(struct pug_reader *r, struct pm_cur *cur, unsigned k,
				   unsigned width)
{
	const uint8_t *p;
	size_t n;

	if (pug_unpack(cur, &r->room[k], &p, &n, "a column") != PM_OK)
		return PM_ERR;
	if (n % width)
		return pm_fail(cur->err, r->c.at, "column %u of %zu bytes holds elements of %u", k,
			       n, width);
	if (width > 1) {
		struct pm_buf tmp = r->room[k];

		/* the planes' buffer becomes the column's, and the other way round */
		from_planes(&r->planes, p, n, width);
		r->room[k] = r->planes;
		r->planes = tmp;
	} else if (n && p != r->room[k].p) {
		/* stored plain, inside the record, which goes away with the next one */
		r->room[k].n = 0;
		pm_buf_add(&r->room[k], p, n);
	}
	p = r->room[k].p;
	r->c.col[k] = (struct pug_span){ p, n ? p + n : p };
	return PM_OK;
}

static enum pm_status begin_chunk(struct pug_reader *r, uint64_t at, struct pm_cur *cur)
{
	struct pug_chunk_in *c = &r->c;

	c->at = at;
	if (chunk_head(c, r, cur) != PM_OK)
		return PM_ERR;
	for (unsigned k = 0; k < (c->model == PUG_NODES ? PUG1_NCOL : (unsigned)PUG_NCOL); k++)
		if (chunk_column(r, cur, k,
				 c->model == PUG_NODES ? pug1_col_width[k] : pug_col_width[k]) !=
		    PM_OK)
			return PM_ERR;
	if (pm_cur_left(cur))
		return pm_fail(cur->err, pm_cur_at(cur), "%zu bytes behind a chunk",
			       pm_cur_left(cur));
	c->ndef = 0;
	c->now = c->slot;
	c->run_known = false;
	c->insns = 0;
	if (c->model == PUG_PHRASES) {
		pug_decode_begin(&r->m, c);
	} else {
		if (!r->m1)
			r->m1 = pug1_model_new();
		pug1_decode_begin(r->m1, c);
	}
	r->inside = true;
	return PM_OK;
}

/* A batch of the chunk's events, all of one stream. */
static enum pm_status chunk_batch(struct pug_reader *r, const struct pm_batch **b,
				  struct pm_err *err)
{
	struct pug_chunk_in *c = &r->c;
	uint64_t before = c->insns;

	r->batch_at = r->rec.insns + before;
	if ((c->model == PUG_PHRASES ? pug_decode(&r->m, c, err) : pug1_decode(r->m1, c, err)) !=
	    PM_OK)
		return PM_ERR;
	r->insns += c->insns - before;
	if (!c->left) {
		r->inside = false;
		if (c->insns != r->rec.ninsn)
			return pm_fail(err, c->at,
				       "the chunk here has %" PRIu64
				       " instructions, its header says %u",
				       c->insns, r->rec.ninsn);
	}
	*b = pm_builder_batch(&c->b);
	return PM_OK;
}

/* ---- records -------------------------------------------------------------------------------- */

/* A cut is an error like any other, but it says what there was. Of seek() and next(), which both
 * find it, the first knows where it is. */
static enum pm_status cut(struct pug_reader *r, uint64_t at, struct pm_err *err)
{
	if (!r->cut)
		r->cut_at = at;
	r->cut = true;
	return pm_fail(err, r->cut_at, "the trace is cut here, after %" PRIu64 " instructions",
		       r->insns);
}

static enum pm_status skip_chunk(struct pug_reader *r, uint64_t at, struct pm_err *err)
{
	size_t n = PUG_RECORD + (size_t)r->rec.size;

	r->skipped = true;
	r->insns = r->rec.insns;
	if (pm_input_pass(r->in, n, err) < n)
		return pm_failed(err) ? PM_ERR : cut(r, at, err);
	r->insns += r->rec.ninsn;
	r->rec.tag = 0;
	return PM_OK;
}

/* Does the chunk @c hold events of the one stream that is wanted? True, too, if its head makes no
 * sense: reading it will say so. */
static bool chunk_wanted(const struct pug_reader *r, struct pm_cur c)
{
	struct pm_err ignored = { 0 };
	uint64_t nslot;
	uint8_t model;

	c.err = &ignored;
	pm_cur_u16(&c, "level and columns");
	model = pm_cur_u8(&c, "the model");
	pm_cur_u8(&c, "a table's size");
	pm_cur_u32(&c, "events");
	if (model == PUG_PHRASES)
		pm_cur_u8(&c, "a table's size");
	nslot = pm_cur_varint(&c, "streams");
	for (uint64_t i = 0; i < nslot && !pm_failed(&ignored); i++) {
		const uint64_t stream = pm_cur_varint(&c, "a stream");

		for (unsigned k = 0; k < 3; k++)
			pm_cur_varint(&c, "code, instructions, events");
		if (stream == r->only)
			return true;
	}
	return pm_failed(&ignored);
}

/* Is all of the chunk that begins behind @p? */
static bool chunk_behind(const struct pug_reader *r, const struct pug_place *p)
{
	return r->rec.events > p->event ||
	       (r->rec.events == p->event && r->rec.insns >= p->insn);
}

/* Is the first batch behind @p this one, or one before it? Two readers that ask agree. */
static bool batch_behind(const struct pug_reader *r, const struct pug_place *p,
			 const struct pm_batch *b)
{
	if (r->rec.events != p->event || r->rec.insns >= p->insn)
		return chunk_behind(r, p);
	return r->batch_at >= p->insn &&
	       (!(r->facts & PM_HAS_BLOCKS) || b->ev->kind == PM_EV_BLOCK);
}

static enum pm_status next_record(struct pug_reader *r, struct pm_err *err)
{
	uint64_t at = pm_input_offset(r->in);
	const uint8_t *p;
	struct pm_cur c;
	enum pm_status s;
	size_t got;

	p = pm_input_peek(r->in, PUG_RECORD, &got, err);
	if (!p)
		return PM_ERR;
	if (got < PUG_RECORD)
		return cut(r, at, err);
	if (!pug_rec_get(p, &r->rec))
		return pm_fail(err, at,
			       "expected a record header, found one with a wrong checksum");
	if (r->rec.size > PUG_MAX_PAYLOAD)
		return pm_fail(err, at, "a record of %u bytes", r->rec.size);
	if (r->rec.tag == PUG_DATA && r->skip_to && r->rec.insns + r->rec.ninsn <= r->skip_to)
		return skip_chunk(r, at, err);
	if (r->rec.tag == PUG_DATA && r->rec.events < r->from.event)
		return skip_chunk(r, at, err);
	if (r->rec.tag == PUG_DATA && chunk_behind(r, &r->to)) {
		r->paused = true;
		return PM_OK;
	}
	p = pm_input_peek(r->in, PUG_RECORD + (size_t)r->rec.size, &got, err);
	if (!p)
		return PM_ERR;
	if (got < PUG_RECORD + (size_t)r->rec.size)
		return cut(r, at, err);
	if (pug_crc(p + PUG_RECORD, r->rec.size) != r->rec.crc)
		return pm_fail(err, at, "the record here has a wrong checksum");
	c = pm_cur_init(p + PUG_RECORD, r->rec.size, at + PUG_RECORD, err);
	if (r->rec.tag == PUG_DATA && r->one_stream && !chunk_wanted(r, c))
		return skip_chunk(r, at, err);
	switch (r->rec.tag) {
	case PUG_INFO:
		s = get_info(r, &c);
		break;
	case PUG_STRM:
		s = get_stream(r, &c, at);
		break;
	case PUG_CODE:
		s = get_code(r, &c, at);
		break;
	case PUG_DATA:
		if (r->skipped) {	/* what was not read is not known to have been right */
			r->insns = r->rec.insns;
			r->events = r->rec.events;
		}
		if (r->rec.insns != r->insns || r->rec.events != r->events)
			return pm_fail(err, at,
				       "the chunk here should follow instruction %" PRIu64
				       ", it follows %" PRIu64,
				       r->rec.insns, r->insns);
		s = begin_chunk(r, at, &c);
		r->events += r->c.left;
		r->chunks++;
		break;
	case PUG_INDX:
		s = get_index(r, &c, at, NULL, 0);
		r->totals.time = r->rec.time;
		if (s == PM_OK)
			s = check_totals(r, at, err);
		r->index_at = at;
		r->ended = true;
		break;
	default:
		s = PM_OK;	/* a later minor version may have more to say */
		break;
	}
	r->records++;
	if (s != PM_OK)
		return PM_ERR;
	pm_input_skip(r->in, PUG_RECORD + (size_t)r->rec.size);
	return PM_OK;
}

static enum pm_status check_trailer(struct pug_reader *r, struct pm_err *err)
{
	uint64_t at = pm_input_offset(r->in);
	const uint8_t *p;
	size_t got;

	p = pm_input_peek(r->in, PUG_TRAILER + 1, &got, err);
	if (!p)
		return PM_ERR;
	if (got < PUG_TRAILER)
		return cut(r, at, err);
	if (memcmp(p + 16, PUG_TRAIL_MAGIC, 8) || pug_get32(p + 12) != pug_crc(p, 12) ||
	    pug_get64(p) != r->index_at)
		return pm_fail(err, at, "expected the trailer, found something else");
	if (got > PUG_TRAILER)
		return pm_fail(err, at + PUG_TRAILER, "something follows the trace");
	pm_input_skip(r->in, PUG_TRAILER);
	return PM_OK;
}

enum pm_status pug_read_next(void *self, const struct pm_batch **b, struct pm_err *err)
{
	struct pug_reader *r = self;

	while (!r->paused) {
		if (r->held) {
			*b = r->held;
			r->held = NULL;
		} else if (r->inside) {
			if (chunk_batch(r, b, err) != PM_OK)
				return PM_ERR;
		} else if (r->ended) {
			return PM_END;
		} else {
			if (next_record(r, err) != PM_OK)
				return PM_ERR;
			if (r->ended && check_trailer(r, err) != PM_OK)
				return PM_ERR;
			continue;
		}
		if (batch_behind(r, &r->to, *b)) {
			r->held = *b;
			r->paused = true;
			break;
		}
		r->begun = r->begun || batch_behind(r, &r->from, *b);
		if (r->begun && (!r->one_stream || (*b)->stream->index == r->only))
			return PM_OK;
	}
	return PM_END;
}

void pug_read_stream(struct pug_reader *r, uint32_t index)
{
	r->one_stream = true;
	r->only = index;
}

void pug_read_part(struct pug_reader *r, const struct pug_place *from, const struct pug_place *to)
{
	r->from = *from;
	r->to = to ? *to : (struct pug_place){ UINT64_MAX, UINT64_MAX };
	r->begun = r->paused = false;
	if (r->held && r->rec.events < from->event) {	/* the rest of its chunk is not wanted */
		r->held = NULL;
		r->inside = false;
		r->skipped = true;
	}
}

enum pm_status pug_read_places(struct pug_reader *r, struct pug_place **at, size_t *n,
			       struct pm_err *err)
{
	size_t cap = 0, got;

	*at = NULL;
	*n = 0;
	for (;;) {
		const uint8_t *p = pm_input_peek(r->in, PUG_RECORD, &got, err);
		uint64_t where = pm_input_offset(r->in);

		if (!p)
			return PM_ERR;
		if (got < PUG_RECORD)
			return cut(r, where, err);
		if (!pug_rec_get(p, &r->rec))
			return pm_fail(err, where, "expected a record header, found one with a "
						   "wrong checksum");
		if (r->rec.tag == PUG_INDX)
			return PM_OK;
		if (r->rec.tag == PUG_DATA) {
			pm_grow(*at, *n, cap);
			(*at)[(*n)++] = (struct pug_place){ r->rec.events, r->rec.insns };
		}
		if (skip_chunk(r, where, err) != PM_OK)
			return PM_ERR;
	}
}

void *pug_read_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		    struct pm_err *err)
{
	struct pug_reader *r;
	const uint8_t *p;
	size_t got;
	uint64_t has;

	if (o->options && *o->options) {
		pm_fail_request(err, "reading pug takes no options, not '%s'", o->options);
		return NULL;
	}
	p = pm_input_peek(in, PUG_HEADER, &got, err);
	if (!p)
		return NULL;
	if (got < PUG_HEADER || memcmp(p, PUG_MAGIC, 8)) {
		if (!got)
			pm_fail(err, 0, "the file is empty");
		else if (got >= 8 && memcmp(p, PUG_MAGIC, 8))
			pm_fail(err, 0, "not a .pug trace");
		else
			pm_fail(err, got, "the trace is cut here, inside its header");
		return NULL;
	}
	if ((p[8] | p[9] << 8) > PUG_MAJOR) {
		pm_fail(err, 8,
			"written in version %u of the format; this pugmark reads up to version %u",
			p[8] | p[9] << 8, PUG_MAJOR);
		return NULL;
	}
	if (pug_get32(p + 28) != pug_crc(p, 28) || pug_get32(p + 12) != PUG_HEADER) {
		pm_fail(err, 0, "the header has a wrong checksum");
		return NULL;
	}
	has = pug_get64(p + 16);
	pm_input_skip(in, PUG_HEADER);
	r = pm_alloc(sizeof *r);
	r->in = in;
	r->facts = *facts = (uint32_t)has;
	r->to.event = UINT64_MAX;
	pm_buf_add(&r->info, "\0", 2);
	/* the description stands first: know it before the first event */
	p = pm_input_peek(in, PUG_RECORD, &got, err);
	if (p && got >= PUG_RECORD && pug_get32(p) == PUG_INFO)
		next_record(r, err);
	if (pm_failed(err) && !r->cut) {
		pug_read_close(r);
		return NULL;
	}
	if (r->cut)
		*err = (struct pm_err){ 0 };	/* the first next() will say it */
	return r;
}

void pug_read_close(void *self)
{
	struct pug_reader *r = self;

	if (!r)
		return;
	for (size_t i = 0; i < r->ncode; i++) {
		pug_code_release(r->code[i]);
		free(r->code[i]);
	}
	free(r->code);
	free(r->total);
	free(r->stream);
	pm_arena_release(&r->mem);
	for (unsigned k = 0; k < PUG_NCOL; k++)
		pm_buf_release(&r->room[k]);
	pm_buf_release(&r->planes);
	pm_buf_release(&r->payload);
	pm_buf_release(&r->info);
	pug_model_release(&r->m);
	pug1_model_free(r->m1);
	free(r->c.def);
	free(r->c.slot);
	pm_builder_release(&r->c.b);
	free(r);
}

uint64_t pug_read_chunks(const struct pug_reader *r, uint64_t *insns)
{
	*insns = r->insns;
	return r->chunks;
}

const char *pug_read_info(const struct pug_reader *r)
{
	return (const char *)r->info.p;
}

enum pm_status pug_read_seek(void *self, uint64_t insn, uint64_t *first, struct pm_err *err)
{
	struct pug_reader *r = self;

	r->skip_to = insn;
	for (;;) {
		if (r->inside) {
			*first = r->rec.insns;
			return PM_OK;
		}
		if (r->ended || r->cut) {
			*first = r->insns;
			return PM_OK;		/* nothing is left; next() says so */
		}
		if (next_record(r, err) != PM_OK) {
			if (!r->cut)
				return PM_ERR;
			*err = (struct pm_err){ 0 };
		}
		if (r->ended && check_trailer(r, err) != PM_OK)
			return PM_ERR;
	}
}

enum pm_status pug_read_totals(struct pug_reader *r, struct pug_totals *t, struct pm_err *err)
{
	const uint8_t *p;
	size_t n;
	uint64_t at;
	struct pug_rec rec;
	struct pm_cur c;

	*t = r->totals;
	p = pm_input_map(r->in, &n);
	if (t->whole || !p || n < PUG_HEADER + PUG_RECORD + PUG_TRAILER ||
	    memcmp(p + n - 8, PUG_TRAIL_MAGIC, 8) ||
	    pug_get32(p + n - 12) != pug_crc(p + n - PUG_TRAILER, 12))
		return PM_OK;
	at = pug_get64(p + n - PUG_TRAILER);
	if (at < PUG_HEADER || at > n - PUG_TRAILER - PUG_RECORD || !pug_rec_get(p + at, &rec) ||
	    rec.tag != PUG_INDX || rec.size != n - PUG_TRAILER - PUG_RECORD - at)
		return pm_fail(err, n - PUG_TRAILER, "the trailer leads to no index");
	if (pug_crc(p + at + PUG_RECORD, rec.size) != rec.crc)
		return pm_fail(err, at, "the index has a wrong checksum");
	c = pm_cur_init(p + at + PUG_RECORD, rec.size, at + PUG_RECORD, err);
	if (get_index(r, &c, at, p, n) != PM_OK)
		return PM_ERR;
	*t = r->totals;
	t->stream = r->total;
	t->nstream = r->ntotal;
	t->time = rec.time;
	r->totals = (struct pug_totals){ 0 };
	return PM_OK;
}
