/* SPDX-License-Identifier: MIT */
#include "trace/cat_x86.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/cur.h"

#define HEAD		12		/* of a part */
#define MAGIC		8
#define LEVEL		9
#define BUS_LEVEL	1		/* while the guest waits */
#define FIRST		UINT32_MAX
#define UNCACHED	1u
#define LOCKED		2u
#define END_BYTES	56

static const char tag_name[CATX_TAGS][5] = {
	"CONF", "KERN", "INIT", "BUS ", "LOG ", "STAT", "MEM ", "END ",
};
/* ... in the sum, in which END was before there were the two in front of it. */
static const uint8_t tag_number[CATX_TAGS] = { 0, 1, 2, 3, 4, 6, 7, 5 };
static const uint8_t magic[3][MAGIC] = { "PMCATX1", "PMCITX1", "PMSAVX1" };

static void put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, 4);
}

static void put64(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, 8);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

/* One part more. */
static uint64_t sum_part(uint64_t h, enum catx_tag tag, const uint8_t *p, size_t n)
{
	uint64_t v;

	h = mix(mix(h, tag_number[tag]), n);
	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&v, p, 8);
		h = mix(h, be64toh(v));
	}
	if (n) {
		v = 0;
		memcpy(&v, p, n);
		h = mix(h, be64toh(v));
	}
	return h;
}

bool catx_is(const uint8_t *p, size_t n)
{
	for (unsigned i = 0; n >= MAGIC && i < NR(magic); i++)
		if (!memcmp(p, magic[i], MAGIC))
			return true;
	return false;
}

bool catx_is_packed(const uint8_t *p, size_t n)
{
	return n >= MAGIC && !memcmp(p, magic[CATX_CIT], MAGIC);
}

bool catx_is_saved(const uint8_t *p, size_t n)
{
	return n >= MAGIC && !memcmp(p, magic[CATX_SAVED], MAGIC);
}

/* ---- writing --------------------------------------------------------------------------------- */

struct catx_writer {
	struct pm_output *out;
	ZSTD_CCtx *z;
	uint8_t *packed;
	struct pm_buf bus;		/* transactions that are not packed yet */
	uint64_t sum;
	struct catx_end end;
};

struct catx_writer *catx_create(const char *path, enum catx_kind kind, struct pm_err *err)
{
	struct catx_writer *w = pm_alloc(sizeof *w);

	w->out = pm_output_open(path, err);
	w->z = ZSTD_createCCtx();
	w->packed = pm_alloc_unset(ZSTD_compressBound(CATX_PART) + HEAD);
	if (!w->z)
		pm_out_of_memory(CATX_PART);
	ZSTD_CCtx_setParameter(w->z, ZSTD_c_checksumFlag, 1);
	if (!w->out || pm_output_write(w->out, magic[kind], MAGIC, err) != PM_OK) {
		catx_close(w);
		return NULL;
	}
	return w;
}

void catx_close(struct catx_writer *w)
{
	if (!w)
		return;
	if (w->out)
		pm_output_close(w->out);
	ZSTD_freeCCtx(w->z);
	free(w->packed);
	pm_buf_release(&w->bus);
	free(w);
}

/* At most CATX_PART bytes. */
static enum pm_status put_part(struct catx_writer *w, enum catx_tag tag, const uint8_t *p, size_t n,
			       struct pm_err *err)
{
	size_t packed;

	ZSTD_CCtx_setParameter(w->z, ZSTD_c_compressionLevel, tag == CATX_BUS ? BUS_LEVEL : LEVEL);
	packed = ZSTD_compress2(w->z, w->packed + HEAD, ZSTD_compressBound(CATX_PART), p, n);
	if (ZSTD_isError(packed))
		return pm_fail_file(err, "cannot compress: %s", ZSTD_getErrorName(packed));
	memcpy(w->packed, tag_name[tag], 4);
	put32(w->packed + 4, (uint32_t)n);
	put32(w->packed + 8, (uint32_t)packed);
	return pm_output_write(w->out, w->packed, packed + HEAD, err);
}

static enum pm_status flush_bus(struct catx_writer *w, struct pm_err *err)
{
	enum pm_status st = PM_OK;

	if (w->bus.n)
		st = put_part(w, CATX_BUS, w->bus.p, w->bus.n, err);
	w->bus.n = 0;
	return st;
}

enum pm_status catx_put(struct catx_writer *w, enum catx_tag tag, const void *p, size_t n,
			struct pm_err *err)
{
	const uint8_t *from = p;
	enum pm_status st = flush_bus(w, err);

	while (n && st == PM_OK) {
		const size_t k = n < CATX_PART ? n : CATX_PART;

		w->sum = sum_part(w->sum, tag, from, k);
		st = put_part(w, tag, from, k, err);
		from += k;
		n -= k;
	}
	return st;
}

void catx_add(struct pm_buf *conf, const char *name, const char *value)
{
	if (!value)
		return;
	pm_buf_add(conf, name, strlen(name) + 1);
	pm_buf_add(conf, value, strlen(value) + 1);
}

static void encode(uint8_t *p, const struct pm_event *e, const struct pm_bus *u)
{
	p[0] = u->type;
	p[1] = u->lanes;
	p[2] = u->attr;
	p[3] = (uint8_t)((e->flags & PM_REF_UNCACHED ? UNCACHED : 0) |
			 (e->flags & PM_BUS_LOCKED ? LOCKED : 0));
	p[4] = (uint8_t)(e->size >> 8);
	p[5] = (uint8_t)e->size;
	p[6] = p[7] = 0;
	put32(p + 8, u->time < FIRST ? (uint32_t)u->time : FIRST);
	put32(p + 12, (uint32_t)u->data);
	put64(p + 16, e->addr);
}

enum pm_status catx_put_bus(struct catx_writer *w, const struct pm_event *e,
			    const struct pm_bus *u, struct pm_err *err)
{
	encode(pm_buf_room(&w->bus, CATX_RECORD), e, u);
	w->bus.n += CATX_RECORD;
	w->end.transactions++;
	if (u->type != PM_BUS_INTACK && u->type != PM_BUS_SPECIAL)
		w->end.bus_bytes += e->size;
	return w->bus.n + CATX_RECORD > CATX_PART ? flush_bus(w, err) : PM_OK;
}

enum pm_status catx_finish(struct catx_writer *w, struct catx_end *end, struct pm_err *err)
{
	uint8_t all[END_BYTES];

	if (w->end.transactions) {
		end->transactions = w->end.transactions;
		end->bus_bytes = w->end.bus_bytes;
	}
	put64(all, end->instructions);
	put64(all + 8, end->transactions);
	put64(all + 16, end->bus_bytes);
	put64(all + 24, end->interrupts);
	put64(all + 32, end->witness);
	put64(all + 40, end->how);
	put64(all + 48, sum_part(w->sum, CATX_END, all, END_BYTES - 8));
	if (flush_bus(w, err) != PM_OK || put_part(w, CATX_END, all, sizeof all, err) != PM_OK)
		return PM_ERR;
	return pm_output_finish(w->out, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct cat_parts {
	struct pm_input *in;
	ZSTD_DCtx *z;
	uint8_t *p;			/* the part, if it was wanted */
	size_t n;
	enum catx_tag tag;
	enum catx_kind kind;
	bool own, begun;
};

static enum pm_status begin(struct cat_parts *s, struct pm_input *in, struct pm_err *err)
{
	const uint8_t *p;
	size_t got;

	s->in = in;
	p = pm_input_peek(in, MAGIC, &got, err);
	if (pm_failed(err))
		return PM_ERR;
	if (!p || !catx_is(p, got))
		return pm_fail(err, 0, "expected the magic of an x86 guest's .cat or .cit, found "
			       "something else");
	s->kind = catx_is_packed(p, got) ? CATX_CIT : catx_is_saved(p, got) ? CATX_SAVED : CATX_CAT;
	pm_input_skip(in, MAGIC);
	s->z = ZSTD_createDCtx();
	s->p = pm_alloc_unset(CATX_PART);
	return PM_OK;
}

static void end_parts(struct cat_parts *s)
{
	ZSTD_freeDCtx(s->z);
	free(s->p);
	if (s->own)
		pm_input_close(s->in);
}

/* The next part, unpacked if @wanted has its bit. PM_END behind the last one. */
static enum pm_status next_part(struct cat_parts *s, unsigned wanted, struct pm_err *err)
{
	uint64_t at = pm_input_offset(s->in);
	const uint8_t *p;
	size_t got, n;
	uint32_t packed;
	unsigned tag;

	if (s->begun && s->tag == CATX_END) {
		p = pm_input_peek(s->in, 1, &got, err);
		if (pm_failed(err))
			return PM_ERR;
		return p && got ? pm_fail(err, at, "expected the file's end, found more") : PM_END;
	}
	p = pm_input_peek(s->in, HEAD, &got, err);
	if (pm_failed(err))
		return PM_ERR;
	if (!p || got < HEAD)
		return pm_fail(err, at, "the file is cut off: expected a part, found %zu bytes",
			       p ? got : 0);
	for (tag = 0; tag < CATX_TAGS && memcmp(p, tag_name[tag], 4); tag++)
		;
	memcpy(&packed, p + 4, 4);
	s->n = be32toh(packed);
	memcpy(&packed, p + 8, 4);
	packed = be32toh(packed);
	if (tag == CATX_TAGS || (s->begun && tag < s->tag) || (!s->begun && tag != CATX_CONF) ||
	    (tag == CATX_BUS && s->kind) || (tag == CATX_LOG && s->kind == CATX_SAVED) ||
	    !s->n || s->n > CATX_PART || !packed ||
	    packed > ZSTD_compressBound(CATX_PART))
		return pm_fail(err, at, "expected a part of the machine, its bus or its log, found "
			       "none that may stand here");
	s->tag = tag;
	s->begun = true;
	pm_input_skip(s->in, HEAD);
	if (!(wanted >> tag & 1)) {
		if (pm_input_pass(s->in, packed, err) < packed && !pm_failed(err))
			pm_fail(err, at, "the file is cut off: expected %u bytes of a part",
				packed);
		return pm_failed(err) ? PM_ERR : PM_OK;
	}
	p = pm_input_peek(s->in, packed, &got, err);
	if (pm_failed(err))
		return PM_ERR;
	if (!p || got < packed)
		return pm_fail(err, at, "the file is cut off: expected %u bytes of a part, found "
			       "%zu", packed, p ? got : 0);
	n = ZSTD_decompressDCtx(s->z, s->p, CATX_PART, p, packed);
	if (ZSTD_isError(n) || n != s->n)
		return pm_fail(err, at, "a part of %zu bytes is damaged: %s", s->n,
			       ZSTD_isError(n) ? ZSTD_getErrorName(n) : "it has another length");
	pm_input_skip(s->in, packed);
	return PM_OK;
}

static enum pm_status get_end(const struct cat_parts *s, uint64_t sum, struct catx_end *end,
			      struct pm_err *err)
{
	struct pm_cur c = pm_cur_init(s->p, s->n, pm_input_offset(s->in), err);

	end->instructions = pm_cur_be64(&c, "instructions");
	end->transactions = pm_cur_be64(&c, "transactions");
	end->bus_bytes = pm_cur_be64(&c, "bytes on the bus");
	end->interrupts = pm_cur_be64(&c, "interrupts");
	end->witness = pm_cur_be64(&c, "the hash of interrupts");
	end->how = pm_cur_be64(&c, "how it ended");
	if (pm_cur_be64(&c, "the sum") != sum_part(sum, CATX_END, s->p, END_BYTES - 8) &&
	    !pm_failed(err))
		return pm_fail(err, pm_input_offset(s->in), "the sum is not that of the parts: "
			       "they are damaged, or not of one file");
	if (!pm_failed(err) && (pm_cur_left(&c) || end->how > CATX_INTERRUPTED))
		return pm_fail(err, pm_input_offset(s->in), "the end makes no sense");
	return pm_failed(err) ? PM_ERR : PM_OK;
}

static struct pm_buf *part_of(struct catx *x, enum catx_tag tag)
{
	return tag == CATX_LOG    ? &x->log
	     : tag == CATX_STATE  ? &x->state
	     : tag == CATX_MEMORY ? &x->memory
				  : &x->part[tag];
}

static enum pm_status load(struct cat_parts *s, struct catx *x, struct pm_err *err)
{
	uint64_t sum = 0;
	enum pm_status st;

	while ((st = next_part(s, ~(1u << CATX_BUS), err)) == PM_OK) {
		struct pm_buf *to;

		if (s->tag == CATX_BUS)
			continue;
		if (s->tag == CATX_END) {
			if (get_end(s, sum, &x->end, err) != PM_OK)
				return PM_ERR;
			continue;
		}
		to = part_of(x, s->tag);
		if (to->n + s->n > CATX_MAX)
			return pm_fail(err, pm_input_offset(s->in), "it is larger than %llu bytes",
				       (unsigned long long)CATX_MAX);
		sum = sum_part(sum, s->tag, s->p, s->n);
		pm_buf_add(to, s->p, s->n);
	}
	if (st == PM_ERR)
		return PM_ERR;
	for (unsigned i = 0; i < CATX_BUS; i++)
		*pm_buf_room(&x->part[i], 1) = 0;
	if (!x->part[CATX_KERN].n || (s->kind == CATX_SAVED ? !x->state.n : !x->log.n) ||
	    !x->state.n != !x->memory.n)
		return pm_fail(err, MAGIC, "it has no kernel, no log, or no state of its machine");
	x->kind = s->kind;
	return PM_OK;
}

enum pm_status catx_load_input(struct pm_input *in, struct catx *x, struct pm_err *err)
{
	struct cat_parts s = { 0 };
	enum pm_status st = begin(&s, in, err);

	memset(x, 0, sizeof *x);
	if (st == PM_OK)
		st = load(&s, x, err);
	end_parts(&s);
	if (st != PM_OK)
		catx_release(x);
	return st;
}

static enum pm_status load_kind(const char *path, bool saved, struct catx *x, struct pm_err *err)
{
	struct pm_input *in = pm_input_open(path, err);
	const uint8_t *p;
	enum pm_status st;
	size_t got;

	memset(x, 0, sizeof *x);
	if (!in)
		return PM_ERR;
	err->file = path;
	p = pm_input_peek(in, MAGIC, &got, err);
	if (p && catx_is(p, got) && catx_is_saved(p, got) != saved)
		st = pm_fail(err, 0, saved ? "expected a snapshot of a guest, found a trace"
			     : "it is a snapshot, which has no trace: `pugmark machine run "
			       "--load` goes on from it");
	else
		st = catx_load_input(in, x, err);
	pm_input_close(in);
	return st;
}

enum pm_status catx_load(const char *path, struct catx *x, struct pm_err *err)
{
	return load_kind(path, false, x, err);
}

enum pm_status catx_load_saved(const char *path, struct catx *x, struct pm_err *err)
{
	return load_kind(path, true, x, err);
}

const char *catx_value(const struct catx *x, const char *name)
{
	const char *p = (const char *)x->part[CATX_CONF].p, *end = p + x->part[CATX_CONF].n;

	while (p < end) {
		const char *value = p + strlen(p) + 1;	/* a 0 stands behind all of it */

		if (value >= end)
			break;
		if (!strcmp(p, name))
			return value;
		p = value + strlen(value) + 1;
	}
	return NULL;
}

void catx_release(struct catx *x)
{
	for (unsigned i = 0; i < CATX_BUS; i++)
		pm_buf_release(&x->part[i]);
	pm_buf_release(&x->log);
	pm_buf_release(&x->state);
	pm_buf_release(&x->memory);
}

struct catx_reader {
	struct cat_parts s;
	size_t at;			/* in the part */
	uint64_t number;
};

struct catx_reader *catx_open_input(struct pm_input *in, struct pm_err *err)
{
	struct catx_reader *r = pm_alloc(sizeof *r);

	if (begin(&r->s, in, err) == PM_OK)
		return r;
	catx_reader_close(r);
	return NULL;
}

struct catx_reader *catx_open(const char *path, struct pm_err *err)
{
	struct pm_input *in = pm_input_open(path, err);
	struct catx_reader *r;

	if (!in)
		return NULL;
	r = catx_open_input(in, err);
	if (r)
		r->s.own = true;
	else
		pm_input_close(in);
	return r;
}

void catx_reader_close(struct catx_reader *r)
{
	if (!r)
		return;
	end_parts(&r->s);
	free(r);
}

uint64_t catx_number(const struct catx_reader *r)
{
	return r->number;
}

/* *@p: the next transaction. HOT */
static enum pm_status next_record(struct catx_reader *r, const uint8_t **p, struct pm_err *err)
{
	while (__builtin_expect(r->s.tag != CATX_BUS || r->at == r->s.n, 0)) {
		enum pm_status st = next_part(&r->s, 1u << CATX_BUS, err);

		if (st != PM_OK)
			return st;
		r->at = 0;
		if (r->s.tag == CATX_BUS && r->s.n % CATX_RECORD)
			return pm_fail(err, pm_input_offset(r->s.in), "expected whole transactions "
				       "of %u bytes, found %zu bytes", CATX_RECORD, r->s.n);
	}
	*p = r->s.p + r->at;
	r->at += CATX_RECORD;
	r->number++;
	return PM_OK;
}

static void decode(const uint8_t *p, struct pm_event *e, struct pm_bus *u)
{
	uint32_t time, data;

	memcpy(&time, p + 8, 4);
	memcpy(&data, p + 12, 4);
	memcpy(&e->addr, p + 16, 8);
	e->addr = be64toh(e->addr);
	time = be32toh(time);
	u->time = time == FIRST ? UINT64_MAX : time;
	u->data = be32toh(data);
	u->type = p[0];
	u->lanes = p[1];
	u->attr = p[2];
	e->size = (uint16_t)(p[4] << 8 | p[5]);
	e->flags = (p[3] & UNCACHED ? PM_REF_UNCACHED : 0) | (p[3] & LOCKED ? PM_BUS_LOCKED : 0);
}

enum pm_status catx_next(struct catx_reader *r, struct pm_event *e, struct pm_bus *u,
			 struct pm_err *err)
{
	const uint8_t *p = NULL;
	enum pm_status st = next_record(r, &p, err);

	if (st != PM_OK)
		return st;
	*e = (struct pm_event){ .kind = PM_EV_BUS };
	*u = (struct pm_bus){ 0 };
	if (p[0] > PM_BUS_INVALID || p[3] > (UNCACHED | LOCKED) || p[6] || p[7])
		return pm_fail(err, pm_input_offset(r->s.in), "transaction %" PRIu64 " makes no "
			       "sense", r->number);
	decode(p, e, u);
	return PM_OK;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static const char *describe(const uint8_t *p, char *to, size_t n)
{
	struct pm_event e;
	struct pm_bus u;

	decode(p, &e, &u);
	snprintf(to, n, "type %u, %u bytes at 0x%" PRIx64 ", %" PRId64 " instructions on, %s"
		 "enables %02x, data 0x%" PRIx64, u.type, e.size, e.addr, (int64_t)u.time,
		 e.flags & PM_BUS_LOCKED ? "locked, " : "", u.lanes, u.data);
	return to;
}

enum pm_status catx_compare(struct catx_reader *r, const struct pm_event *e,
			    const struct pm_bus *u, struct pm_err *err)
{
	uint8_t have[CATX_RECORD];
	const uint8_t *want = NULL;
	char one[120], other[120];
	enum pm_status st = next_record(r, &want, err);

	if (st == PM_ERR)
		return st;
	encode(have, e, u);
	if (st == PM_END)
		return pm_fail_file(err, "record %" PRIu64 ": the trace ends, replay goes on with "
				    "%s", r->number, describe(have, one, sizeof one));
	if (__builtin_expect(memcmp(have, want, CATX_RECORD), 0))
		return pm_fail_file(err, "record %" PRIu64 " differs: the trace has %s; replay has "
				    "%s", r->number - 1, describe(want, one, sizeof one),
				    describe(have, other, sizeof other));
	return PM_OK;
}

enum pm_status catx_compare_end(struct catx_reader *r, struct pm_err *err)
{
	const uint8_t *want = NULL;
	char one[120];
	enum pm_status st = next_record(r, &want, err);

	if (st == PM_OK)
		return pm_fail_file(err, "record %" PRIu64 ": replay ends, the trace goes on with "
				    "%s", r->number - 1, describe(want, one, sizeof one));
	return st == PM_END ? PM_OK : st;
}
