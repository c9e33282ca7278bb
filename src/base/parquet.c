/* SPDX-License-Identifier: MIT */
/* parquet.c - pages, row groups and the footer
 *
 *	"PAR1"
 *	row groups	for each column: its dictionary's page, if it has one; its data pages
 *	footer		FileMetaData, in Thrift's compact protocol
 *	u32 bytes of the footer, "PAR1"
 *
 *	page		PageHeader (Thrift), then in one zstd frame
 *	dictionary's	values as they are: little-endian; strings behind a u32 with their length
 *	of data		optional columns: u32 bytes, then runs and packed bits: 1, there is a value;
 *			values: as they are; byte WIDTH and runs and packed bits of numbers in the
 *			dictionary; or packed differences
 *
 * Numbers of fields, types and encodings are those of parquet.thrift, format version 2. */
#include <assert.h>
#include <endian.h>
#include <stdlib.h>

#include <zstd.h>

#include "base/check.h"
#include "base/parquet.h"
#include "base/parquet_encode.h"
#include "base/utf8.h"

#define LONGEST_STATISTIC	64	/* bytes of a string that is one */
#define MOST_TEXT		(64u << 20)	/* of a dictionary: the row group ends then */

enum { TYPE_BOOLEAN = 0, TYPE_INT32 = 1, TYPE_INT64 = 2, TYPE_DOUBLE = 5, TYPE_BYTE_ARRAY = 6 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DELTA = 5, ENCODING_DICTIONARY = 8 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
enum { CODEC_ZSTD = 6 };

/* What a type is called in a schema. */
static const struct {
	uint8_t physical;
	uint8_t bits;			/* of an integer; 0: it is none */
	bool sign;
	int8_t converted;		/* the older name for the same; -1: none */
} types[] = {
	[PM_PARQUET_BOOL] = { TYPE_BOOLEAN, 0, false, -1 },
	[PM_PARQUET_I32] = { TYPE_INT32, 32, true, 17 },
	[PM_PARQUET_U32] = { TYPE_INT32, 32, false, 13 },
	[PM_PARQUET_I64] = { TYPE_INT64, 64, true, 18 },
	[PM_PARQUET_U64] = { TYPE_INT64, 64, false, 14 },
	[PM_PARQUET_F64] = { TYPE_DOUBLE, 0, false, -1 },
	[PM_PARQUET_STRING] = { TYPE_BYTE_ARRAY, 0, false, 0 },
	[PM_PARQUET_BYTES] = { TYPE_BYTE_ARRAY, 0, false, -1 },
};

struct dictionary {			/* of a row group: numbers, or strings */
	uint64_t *value;		/* of a string: where it ends in `text` */
	struct pm_buf text;
	size_t n, cap;
	uint32_t *slot;			/* number + 1; 0: free */
	size_t mask;
};

struct chunk {				/* a column of a row group, in the footer */
	uint64_t dictionary, data;	/* offsets; dictionary 0: none */
	uint64_t rows, nulls, raw, packed;	/* raw, packed: bytes */
	uint16_t encodings;		/* 1 << ENCODING_* */
	uint8_t nmin, nmax;		/* bytes of the statistics; nmin 255: there are none */
	uint8_t min[LONGEST_STATISTIC], max[LONGEST_STATISTIC];
};

struct column {
	const struct pm_parquet_column *is;
	bool any;			/* it had a value */
	/* of the row group */
	struct dictionary dict;
	bool full;			/* the dictionary: no page has any from now on */
	struct pm_buf pages;
	uint64_t unwritten;		/* rows, all null, before the first page */
	uint64_t rows, nulls, raw;
	uint16_t encodings;
	bool compared;			/* min and max are of pages without dictionary */
	uint64_t min, max;
};

struct pm_parquet_writer {
	struct pm_parquet_out out;
	uint64_t offset;
	struct column *column;
	unsigned ncolumn;
	uint32_t group_rows, in_group;	/* rows of a row group; of pages of this one */
	bool crowded;			/* this row group has enough text */
	uint64_t rows;
	struct chunk *chunk;		/* ncolumn for each row group */
	uint32_t *group;		/* rows of each */
	size_t ngroup, cap_group;
	struct pm_buf raw, packed, head;
	uint32_t *number;		/* of a page's values */
	struct pm_parquet_values spread;
	uint8_t bits[PM_PARQUET_PAGE / 8];
	struct note { char *key, *value; } *note;
	size_t nnote, cap_note;
	ZSTD_CCtx *zstd;
};

/* ---- dictionaries ---------------------------------------------------------------------------- */

static uint64_t hash(const uint8_t *s, size_t n)
{
	uint64_t h = n;

	for (size_t i = 0; i < n; i++)
		h = (h ^ s[i]) * 0x100000001b3u;
	return h;
}

static const uint8_t *string_at(const struct dictionary *d, size_t i, size_t *n)
{
	uint64_t from = i ? d->value[i - 1] : 0;

	*n = (size_t)(d->value[i] - from);
	return d->text.p + from;
}

static inline size_t place_of(const struct dictionary *d, uint64_t key)
{
	return (size_t)((key ^ key >> 29) * 0x9e3779b97f4a7c15u >> 24) & d->mask;
}

static void enlarge(struct dictionary *d, bool text)
{
	size_t slots = d->slot ? (d->mask + 1) * 4 : 256;

	free(d->slot);
	d->slot = pm_alloc(slots * sizeof *d->slot);
	d->mask = slots - 1;
	for (size_t i = 0; i < d->n; i++) {
		size_t n, at;
		const uint8_t *s = text ? string_at(d, i, &n) : NULL;

		at = place_of(d, text ? hash(s, n) : d->value[i]);
		while (d->slot[at])
			at = (at + 1) & d->mask;
		d->slot[at] = (uint32_t)i + 1;
	}
}

static void clear(struct dictionary *d)
{
	if (d->slot)
		memset(d->slot, 0, (d->mask + 1) * sizeof *d->slot);
	d->n = d->text.n = 0;
}

/* HOT: the number of @v. */
static inline uint32_t number_of(struct dictionary *d, uint64_t v)
{
	size_t at = place_of(d, v);

	for (; d->slot[at]; at = (at + 1) & d->mask)
		if (d->value[d->slot[at] - 1] == v)
			return d->slot[at] - 1;
	pm_grow(d->value, d->n, d->cap);
	d->value[d->n++] = v;
	d->slot[at] = (uint32_t)d->n;
	if (d->n * 2 > d->mask)
		enlarge(d, false);
	return (uint32_t)d->n - 1;
}

static uint32_t number_of_string(struct dictionary *d, const uint8_t *s, size_t n)
{
	size_t at, k;

	if (!d->slot || d->n * 2 > d->mask)
		enlarge(d, true);
	for (at = place_of(d, hash(s, n)); d->slot[at]; at = (at + 1) & d->mask) {
		const uint8_t *t = string_at(d, d->slot[at] - 1, &k);

		if (k == n && (!n || !memcmp(s, t, n)))
			return d->slot[at] - 1;
	}
	pm_buf_add(&d->text, s, n);
	pm_grow(d->value, d->n, d->cap);
	d->value[d->n++] = d->text.n;
	d->slot[at] = (uint32_t)d->n;
	return (uint32_t)d->n - 1;
}

static bool has_text(const struct column *c)
{
	return c->is->type == PM_PARQUET_STRING || c->is->type == PM_PARQUET_BYTES;
}

uint32_t pm_parquet_string(struct pm_parquet *p, unsigned column, const void *s, size_t n)
{
	struct column *c = &p->w->column[column];
	struct pm_buf utf8 = { 0 };
	uint32_t number;

	if (c->is->type == PM_PARQUET_BYTES || pm_utf8_is(s, n)) {
		number = number_of_string(&c->dict, s, n);
	} else {
		pm_utf8_add(&utf8, s, n);
		number = number_of_string(&c->dict, utf8.p, utf8.n);
		pm_buf_release(&utf8);
	}
	if (c->dict.text.n >= MOST_TEXT) {
		p->rows = p->row + 1;
		p->w->crowded = true;
	}
	return number;
}

uint32_t pm_parquet_number(struct pm_parquet *p, unsigned c, uint64_t v)
{
	struct dictionary *d = &p->w->column[c].dict;

	if (!d->slot)
		enlarge(d, false);
	return number_of(d, v);
}

void pm_parquet_text(struct pm_parquet *p, unsigned c, const char *s)
{
	pm_parquet_put(p, c, pm_parquet_string(p, c, s, strlen(s)));
}

/* ---- statistics ------------------------------------------------------------------------------ */

static bool is_less(enum pm_parquet_type type, uint64_t a, uint64_t b)
{
	double x, y;

	switch (type) {
	case PM_PARQUET_I32: case PM_PARQUET_I64:
		return (int64_t)a < (int64_t)b;
	case PM_PARQUET_F64:
		memcpy(&x, &a, sizeof x);
		memcpy(&y, &b, sizeof y);
		return x < y;
	default:
		return a < b;
	}
}

static bool is_nan(enum pm_parquet_type type, uint64_t v)
{
	return type == PM_PARQUET_F64 && (v & INT64_MAX) > 0x7ff0000000000000u;
}

/* HOT: of values that are written without a dictionary. */
static void compare(struct column *c, const uint64_t *v, size_t n)
{
	enum pm_parquet_type type = c->is->type;
	uint64_t min = c->min, max = c->max;

	if (type == PM_PARQUET_U64 && n) {
		if (!c->compared)
			min = max = v[0];
		for (size_t i = 0; i < n; i++) {
			min = v[i] < min ? v[i] : min;
			max = v[i] > max ? v[i] : max;
		}
		c->compared = true;
	} else {
		for (size_t i = 0; i < n; i++) {
			if (is_nan(type, v[i]))
				continue;
			if (!c->compared || is_less(type, v[i], min))
				min = v[i];
			if (!c->compared || is_less(type, max, v[i]))
				max = v[i];
			c->compared = true;
		}
	}
	c->min = min;
	c->max = max;
}

static size_t put_value(enum pm_parquet_type type, uint64_t v, uint8_t *to)
{
	uint64_t wide = htole64(v);
	size_t n = type == PM_PARQUET_BOOL ? 1 : types[type].physical == TYPE_INT32 ? 4 : 8;

	memcpy(to, &wide, n);
	return n;
}

static int order_of(const uint8_t *a, size_t na, const uint8_t *b, size_t nb)
{
	int d = memcmp(a, b, na < nb ? na : nb);

	return d ? d : na < nb ? -1 : na > nb;
}

static void text_statistics(const struct dictionary *d, struct chunk *to)
{
	const uint8_t *min = NULL, *max = NULL;
	size_t nmin = 0, nmax = 0;

	for (size_t i = 0; i < d->n; i++) {
		size_t n;
		const uint8_t *s = string_at(d, i, &n);

		if (!i || order_of(s, n, min, nmin) < 0) {
			min = s;
			nmin = n;
		}
		if (!i || order_of(s, n, max, nmax) > 0) {
			max = s;
			nmax = n;
		}
	}
	if (!d->n || nmin > LONGEST_STATISTIC || nmax > LONGEST_STATISTIC)
		return;
	memcpy(to->min, min, to->nmin = (uint8_t)nmin);
	memcpy(to->max, max, to->nmax = (uint8_t)nmax);
}

static void statistics(struct column *c, struct chunk *to)
{
	const uint64_t minus_zero = 1ull << 63;

	to->nmin = 255;
	if (has_text(c)) {
		text_statistics(&c->dict, to);
		return;
	}
	compare(c, c->dict.value, c->dict.n);
	if (!c->compared)
		return;
	/* the two zeros are equal, and either may be there */
	if (c->is->type == PM_PARQUET_F64 && !c->min)
		c->min = minus_zero;
	if (c->is->type == PM_PARQUET_F64 && c->max == minus_zero)
		c->max = 0;
	to->nmin = (uint8_t)put_value(c->is->type, c->min, to->min);
	to->nmax = (uint8_t)put_value(c->is->type, c->max, to->max);
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* What is in w->raw becomes a page behind @to. */
static void put_page(struct pm_parquet_writer *w, struct pm_buf *to, struct column *c, int kind,
		     uint64_t values, int encoding)
{
	struct pm_thrift t = { &w->head, 0 }, h;
	size_t bound = ZSTD_compressBound(w->raw.n), n;

	w->packed.n = w->head.n = 0;
	n = ZSTD_compress2(w->zstd, pm_buf_room(&w->packed, bound), bound, w->raw.p, w->raw.n);
	/* it had all the room that it may ever want, but for its own tables */
	if (ZSTD_isError(n))
		pm_out_of_memory(bound);
	pm_thrift_i32(&t, 1, kind);
	pm_thrift_i32(&t, 2, (int32_t)w->raw.n);
	pm_thrift_i32(&t, 3, (int32_t)n);
	h = pm_thrift_begin(&t, kind == PAGE_DATA ? 5 : 7);
	pm_thrift_i32(&h, 1, (int32_t)values);
	pm_thrift_i32(&h, 2, encoding);
	if (kind == PAGE_DATA) {
		pm_thrift_i32(&h, 3, ENCODING_RLE);
		pm_thrift_i32(&h, 4, ENCODING_RLE);
	}
	pm_thrift_end(&h);
	pm_thrift_end(&t);
	pm_buf_add(to, w->head.p, w->head.n);
	pm_buf_add(to, w->packed.p, n);
	c->raw += w->head.n + w->raw.n;
	c->encodings |= (uint16_t)(1u << encoding);
	w->raw.n = 0;
}

/* Which of @rows, of which @v is about the first @in, have a value; the others are alike. */
static void put_levels(struct pm_parquet_writer *w, const struct pm_parquet_values *v, size_t in,
		       size_t rows)
{
	size_t at = w->raw.n;
	uint32_t n;

	pm_buf_add(&w->raw, "    ", 4);
	if (v->n == in || !v->n) {
		pm_rle_run(&w->raw, v->n != 0, rows, 1);
	} else {
		memset(w->bits, 0, (rows + 7) / 8);
		for (uint32_t i = 0; i < v->n; i++)
			w->bits[v->at[i] / 8] |= (uint8_t)(1u << v->at[i] % 8);
		pm_rle_bits(&w->raw, w->bits, rows);
	}
	n = htole32((uint32_t)(w->raw.n - at - 4));
	memcpy(w->raw.p + at, &n, 4);
}

/* The page's values as numbers in the dictionary. NULL if they are too many for it: it is as it was
 * then. */
static const uint32_t *number_all(struct pm_parquet_writer *w, struct column *c,
				  const struct pm_parquet_values *v)
{
	struct dictionary *d = &c->dict;
	size_t before = d->n;

	if (v->number)
		return v->number;
	if (has_text(c)) {
		for (uint32_t i = 0; i < v->n; i++)
			w->number[i] = (uint32_t)v->v[i];
		return w->number;
	}
	if (c->full || !(c->is->flags & PM_PARQUET_FEW))
		return NULL;
	if (!d->slot)
		enlarge(d, false);
	for (uint32_t i = 0; i < v->n; i++) {
		w->number[i] = number_of(d, v->v[i]);
		if (d->n > PM_PARQUET_DICT) {
			c->full = true;
			d->n = before;
			return NULL;
		}
	}
	return w->number;
}

/* Whole bytes, if it is more than one: zstd finds what repeats only where it begins at a byte. */
static uint8_t index_width(size_t n)
{
	unsigned width = pm_bits_of(n - 1);

	return (uint8_t)(width > 8 ? (width + 7) & ~7u : width + !width);
}

static int put_values(struct pm_parquet_writer *w, struct column *c,
		      const struct pm_parquet_values *v)
{
	enum pm_parquet_type type = c->is->type;
	const uint32_t *number;
	uint8_t *p, width;

	if (v->n && (number = number_all(w, c, v))) {
		width = index_width(c->dict.n);
		pm_buf_add(&w->raw, &width, 1);
		pm_rle_u32(&w->raw, number, v->n, width);
		return ENCODING_DICTIONARY;
	}
	compare(c, v->v, v->n);
	if (type == PM_PARQUET_BOOL) {
		pm_pack_u64(&w->raw, v->v, v->n, 1);
		return ENCODING_PLAIN;
	}
	if (c->is->flags & PM_PARQUET_NEAR && v->n) {
		pm_delta_u64(&w->raw, v->v, v->n);
		return ENCODING_DELTA;
	}
	p = pm_buf_room(&w->raw, (size_t)v->n * 8);
	for (uint32_t i = 0; i < v->n; i++)
		p += put_value(type, v->v[i], p);
	w->raw.n = (size_t)(p - w->raw.p);
	return ENCODING_PLAIN;
}

/* ---- columns that hold their values ---------------------------------------------------------- */

static void set(struct pm_parquet *p, unsigned c, uint64_t v, bool is)
{
	struct pm_parquet_values *k = &p->page[c];

	if (k->n && k->is[k->n - 1] == is && k->v[k->n - 1] == v)
		return;
	/* of several in one row the last counts */
	if (!k->n || k->at[k->n - 1] != p->row)
		k->n++;
	k->at[k->n - 1] = (uint16_t)p->row;
	k->v[k->n - 1] = v;
	k->is[k->n - 1] = is;
}

void pm_parquet_hold(struct pm_parquet *p, unsigned c, uint64_t v)
{
	set(p, c, v, true);
}

void pm_parquet_hold_null(struct pm_parquet *p, unsigned c)
{
	set(p, c, 0, false);
}

/* What such a column begins the next page with. */
static void carry(struct pm_parquet_values *v, bool forget)
{
	if (v->n) {
		v->v[0] = v->v[v->n - 1];
		v->is[0] = v->is[v->n - 1] && !forget;
		v->at[0] = 0;
		v->n = 1;
	}
}

/* The page's rows of @v, one by one, into w->spread. */
static const struct pm_parquet_values *spread(struct pm_parquet_writer *w,
					      const struct pm_parquet_values *v, uint32_t rows)
{
	struct pm_parquet_values *to = &w->spread;

	to->n = 0;
	for (uint32_t i = 0; i < v->n; i++) {
		uint32_t end = i + 1 < v->n ? v->at[i + 1] : rows;

		for (uint32_t r = v->at[i]; v->is[i] && r < end; r++) {
			to->v[to->n] = v->v[i];
			to->at[to->n++] = (uint16_t)r;
		}
	}
	return to;
}

/* One value, in all rows: what most pages of such columns are. False: it is not so. */
static bool put_constant(struct pm_parquet_writer *w, struct column *c,
			 const struct pm_parquet_values *v, uint32_t rows)
{
	const uint32_t *number;
	uint8_t width;

	if (v->n != 1 || v->at[0] || !v->is[0] || !(number = number_all(w, c, v)))
		return false;
	if (!(c->is->flags & PM_PARQUET_REQUIRED))
		put_levels(w, v, 1, rows);
	width = index_width(c->dict.n);
	pm_buf_add(&w->raw, &width, 1);
	pm_rle_run(&w->raw, number[0], rows, width);
	put_page(w, &c->pages, c, PAGE_DATA, rows, ENCODING_DICTIONARY);
	return true;
}

/* Rows without any value. */
static void put_nulls(struct pm_parquet_writer *w, struct column *c)
{
	const struct pm_parquet_values none = { 0 };

	if (!c->unwritten)
		return;
	put_levels(w, &none, c->unwritten, c->unwritten);
	put_page(w, &c->pages, c, PAGE_DATA, c->unwritten, ENCODING_PLAIN);
	c->unwritten = 0;
}

static bool has_value(const struct column *c, const struct pm_parquet_values *v)
{
	if (!(c->is->flags & PM_PARQUET_HELD))
		return v->n;
	for (uint32_t i = 0; i < v->n; i++)
		if (v->is[i])
			return true;
	return false;
}

static void encode(struct pm_parquet_writer *w, struct column *c, const struct pm_parquet_values *v,
		   uint32_t rows)
{
	int encoding;

	c->rows += rows;
	if (!has_value(c, v) && !c->pages.n) {
		c->nulls += rows;
		c->unwritten += rows;
		return;
	}
	c->any = true;
	put_nulls(w, c);
	if (c->is->flags & PM_PARQUET_HELD) {
		if (put_constant(w, c, v, rows))
			return;
		v = spread(w, v, rows);
	}
	c->nulls += rows - v->n;
	if (c->is->flags & PM_PARQUET_REQUIRED)
		assert(v->n == rows);				/* (2) */
	else
		put_levels(w, v, rows, rows);
	encoding = put_values(w, c, v);
	put_page(w, &c->pages, c, PAGE_DATA, rows, encoding);
}

/* ---- row groups ------------------------------------------------------------------------------ */

static enum pm_status write_bytes(struct pm_parquet_writer *w, const void *p, size_t n,
				  struct pm_err *err)
{
	w->offset += n;
	return w->out.write(w->out.to, p, n, err);
}

static void put_dictionary(struct pm_parquet_writer *w, struct column *c, struct pm_buf *to)
{
	const struct dictionary *d = &c->dict;

	for (size_t i = 0; i < d->n; i++) {
		uint8_t *p = pm_buf_room(&w->raw, 8);

		if (has_text(c)) {
			size_t n;
			const uint8_t *s = string_at(d, i, &n);
			uint32_t k = htole32((uint32_t)n);

			pm_buf_add(&w->raw, &k, 4);
			pm_buf_add(&w->raw, s, n);
		} else {
			w->raw.n += put_value(c->is->type, d->value[i], p);
		}
	}
	put_page(w, to, c, PAGE_DICTIONARY, d->n, ENCODING_PLAIN);
}

/* Column @c of the row group to the output, and where it is to @k. */
static enum pm_status end_chunk(struct pm_parquet_writer *w, struct column *c, struct chunk *k,
				struct pm_err *err)
{
	uint64_t begin = w->offset;
	struct pm_buf dict = { 0 };
	enum pm_status s = PM_OK;

	put_nulls(w, c);
	statistics(c, k);
	if (c->dict.n) {
		k->dictionary = begin;
		put_dictionary(w, c, &dict);
		s = write_bytes(w, dict.p, dict.n, err);
		pm_buf_release(&dict);
	}
	k->data = w->offset;
	if (!s)
		s = write_bytes(w, c->pages.p, c->pages.n, err);
	k->rows = c->rows;
	k->nulls = c->nulls;
	k->raw = c->raw;
	k->packed = w->offset - begin;
	k->encodings = c->encodings;
	clear(&c->dict);
	c->pages.n = 0;
	c->rows = c->nulls = c->raw = 0;
	c->encodings = 0;
	c->full = c->compared = false;
	return s;
}

static enum pm_status end_group(struct pm_parquet_writer *w, struct pm_err *err)
{
	struct chunk *k;
	enum pm_status s = PM_OK;

	if (!w->in_group)
		return PM_OK;
	if (w->ngroup == w->cap_group) {
		w->cap_group = w->cap_group ? w->cap_group * 2 : 16;
		w->chunk = pm_realloc(w->chunk, w->cap_group * w->ncolumn * sizeof *w->chunk);
		w->group = pm_realloc(w->group, w->cap_group * sizeof *w->group);
	}
	k = w->chunk + w->ngroup * w->ncolumn;
	memset(k, 0, w->ncolumn * sizeof *k);
	for (unsigned i = 0; i < w->ncolumn && !s; i++) {
		PM_INVARIANT(1, w->column[i].rows == w->in_group);
		s = end_chunk(w, &w->column[i], &k[i], err);
	}
	w->group[w->ngroup++] = w->in_group;
	w->rows += w->in_group;
	w->in_group = 0;
	return s;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

enum pm_status pm_parquet_page(struct pm_parquet *p, struct pm_err *err)
{
	struct pm_parquet_writer *w = p->w;
	enum pm_status s = PM_OK;
	bool ended;

	if (!w->offset)
		s = write_bytes(w, "PAR1", 4, err);
	for (unsigned i = 0; i < w->ncolumn && p->row; i++)
		encode(w, &w->column[i], &p->page[i], p->row);
	w->in_group += p->row;
	p->row = 0;
	ended = w->in_group == w->group_rows || w->crowded;
	for (unsigned i = 0; i < w->ncolumn; i++)
		if (w->column[i].is->flags & PM_PARQUET_HELD)
			carry(&p->page[i], ended && has_text(&w->column[i]));
		else
			p->page[i].n = 0;
	if (!s && ended) {
		s = end_group(w, err);
		p->group++;
		w->crowded = false;
	}
	p->rows = least(PM_PARQUET_PAGE, w->group_rows - w->in_group);
	return s;
}

/* ---- the footer ------------------------------------------------------------------------------ */

static bool is_there(const struct column *c)
{
	return c->any || !(c->is->flags & PM_PARQUET_EXTRA);	/* (3) */
}

static void put_schema(struct pm_thrift *t, const struct pm_parquet_writer *w, unsigned n)
{
	struct pm_thrift e, type, of;

	pm_thrift_list(t, 2, PM_THRIFT_STRUCT, n + 1);
	e = pm_thrift_begin(t, 0);
	pm_thrift_string(&e, 4, "schema");
	pm_thrift_i32(&e, 5, (int32_t)n);
	pm_thrift_end(&e);
	for (unsigned i = 0; i < w->ncolumn; i++) {
		const struct pm_parquet_column *c = w->column[i].is;

		if (!is_there(&w->column[i]))
			continue;
		e = pm_thrift_begin(t, 0);
		pm_thrift_i32(&e, 1, types[c->type].physical);
		pm_thrift_i32(&e, 3, !(c->flags & PM_PARQUET_REQUIRED));
		pm_thrift_string(&e, 4, c->name);
		if (types[c->type].converted >= 0)
			pm_thrift_i32(&e, 6, types[c->type].converted);
		if (types[c->type].bits || c->type == PM_PARQUET_STRING) {
			const uint8_t bits = types[c->type].bits;

			type = pm_thrift_begin(&e, 10);
			of = pm_thrift_begin(&type, bits ? 10 : 1);
			if (bits) {
				pm_thrift_field(&of, 1, PM_THRIFT_BYTE);
				pm_buf_add(of.to, &bits, 1);
				pm_thrift_bool(&of, 2, types[c->type].sign);
			}
			pm_thrift_end(&of);
			pm_thrift_end(&type);
		}
		pm_thrift_end(&e);
	}
}

static void put_chunk(struct pm_thrift *list, const struct column *c, const struct chunk *k)
{
	struct pm_thrift t = pm_thrift_begin(list, 0), m, s;

	pm_thrift_i64(&t, 2, (int64_t)(k->dictionary ? k->dictionary : k->data));
	m = pm_thrift_begin(&t, 3);
	pm_thrift_i32(&m, 1, types[c->is->type].physical);
	/* levels are runs, always */
	pm_thrift_list(&m, 2, PM_THRIFT_I32,
		       (unsigned)__builtin_popcount(k->encodings | 1u << ENCODING_RLE));
	for (int e = 0; e <= ENCODING_DICTIONARY; e++)
		if ((k->encodings | 1u << ENCODING_RLE) >> e & 1)
			pm_zigzag(m.to, e);
	pm_thrift_list(&m, 3, PM_THRIFT_BINARY, 1);
	pm_thrift_element(&m, c->is->name, strlen(c->is->name));
	pm_thrift_i32(&m, 4, CODEC_ZSTD);
	pm_thrift_i64(&m, 5, (int64_t)k->rows);
	pm_thrift_i64(&m, 6, (int64_t)k->raw);
	pm_thrift_i64(&m, 7, (int64_t)k->packed);
	pm_thrift_i64(&m, 9, (int64_t)k->data);
	if (k->dictionary)
		pm_thrift_i64(&m, 11, (int64_t)k->dictionary);
	s = pm_thrift_begin(&m, 12);
	pm_thrift_i64(&s, 3, (int64_t)k->nulls);
	if (k->nmin != 255) {
		pm_thrift_binary(&s, 5, k->max, k->nmax);
		pm_thrift_binary(&s, 6, k->min, k->nmin);
	}
	pm_thrift_end(&s);
	pm_thrift_end(&m);
	pm_thrift_end(&t);
}

static void put_groups(struct pm_thrift *t, const struct pm_parquet_writer *w, unsigned n)
{
	pm_thrift_list(t, 4, PM_THRIFT_STRUCT, w->ngroup);
	for (size_t g = 0; g < w->ngroup; g++) {
		const struct chunk *k = w->chunk + g * w->ncolumn;
		struct pm_thrift r = pm_thrift_begin(t, 0);
		uint64_t raw = 0, packed = 0;

		pm_thrift_list(&r, 1, PM_THRIFT_STRUCT, n);
		for (unsigned i = 0; i < w->ncolumn; i++) {
			if (!is_there(&w->column[i]))
				continue;
			put_chunk(&r, &w->column[i], &k[i]);
			raw += k[i].raw;
			packed += k[i].packed;
		}
		pm_thrift_i64(&r, 2, (int64_t)raw);
		pm_thrift_i64(&r, 3, w->group[g]);
		pm_thrift_i64(&r, 6, (int64_t)packed);
		pm_thrift_end(&r);
	}
}

static void put_footer(struct pm_buf *to, const struct pm_parquet_writer *w)
{
	struct pm_thrift t = { to, 0 }, e;
	unsigned n = 0;

	for (unsigned i = 0; i < w->ncolumn; i++)
		n += is_there(&w->column[i]);
	pm_thrift_i32(&t, 1, 2);
	put_schema(&t, w, n);
	pm_thrift_i64(&t, 3, (int64_t)w->rows);
	put_groups(&t, w, n);
	if (w->nnote) {
		pm_thrift_list(&t, 5, PM_THRIFT_STRUCT, w->nnote);
		for (size_t i = 0; i < w->nnote; i++) {
			e = pm_thrift_begin(&t, 0);
			pm_thrift_string(&e, 1, w->note[i].key);
			pm_thrift_string(&e, 2, w->note[i].value);
			pm_thrift_end(&e);
		}
	}
	pm_thrift_string(&t, 6, "pugmark version " PM_VERSION);
	/* that statistics are in the order of the type, for each column */
	pm_thrift_list(&t, 7, PM_THRIFT_STRUCT, n);
	for (unsigned i = 0; i < n; i++) {
		struct pm_thrift order = pm_thrift_begin(&t, 0);

		e = pm_thrift_begin(&order, 1);
		pm_thrift_end(&e);
		pm_thrift_end(&order);
	}
	pm_thrift_end(&t);
}

void pm_parquet_note(struct pm_parquet *p, const char *key, const char *value)
{
	struct pm_parquet_writer *w = p->w;
	struct pm_buf b = { 0 };

	pm_utf8_add(&b, value, strlen(value));
	pm_buf_add(&b, "", 1);
	pm_grow(w->note, w->nnote, w->cap_note);
	w->note[w->nnote++] = (struct note){ pm_strdup(key), (char *)b.p };
}

enum pm_status pm_parquet_finish(struct pm_parquet *p, struct pm_err *err)
{
	struct pm_parquet_writer *w = p->w;
	struct pm_buf b = { 0 };
	enum pm_status s = pm_parquet_page(p, err);
	uint32_t n;

	if (!s)
		s = end_group(w, err);
	if (!s) {
		put_footer(&b, w);
		n = htole32((uint32_t)b.n);
		pm_buf_add(&b, &n, 4);
		pm_buf_add(&b, "PAR1", 4);
		s = write_bytes(w, b.p, b.n, err);
	}
	pm_buf_release(&b);
	return s;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Where there are no values nothing is ever touched. */
static struct pm_parquet_values values_new(size_t rows, bool held, bool numbered)
{
	return (struct pm_parquet_values){
		.v = numbered ? NULL : pm_alloc_unset(rows * sizeof(uint64_t)),
		.number = numbered ? pm_alloc_unset(rows * sizeof(uint32_t)) : NULL,
		.at = pm_alloc_unset(rows * sizeof(uint16_t)),
		.is = held ? pm_alloc_unset(rows) : NULL,
	};
}

static void values_release(struct pm_parquet_values *v)
{
	free(v->v);
	free(v->number);
	free(v->at);
	free(v->is);
}

struct pm_parquet *pm_parquet_new(const struct pm_parquet_column *c, unsigned n,
				  struct pm_parquet_out out, const struct pm_parquet_opts *o)
{
	struct pm_parquet *p = pm_alloc(sizeof *p);
	struct pm_parquet_writer *w = p->w = pm_alloc(sizeof *w);
	bool held;

	w->out = out;
	w->ncolumn = n;
	w->column = pm_alloc(n * sizeof *w->column);
	w->group_rows = o && o->group ? o->group : PM_PARQUET_GROUP;
	p->rows = least(PM_PARQUET_PAGE, w->group_rows);
	p->page = pm_alloc(n * sizeof *p->page);
	for (unsigned i = 0; i < n; i++) {
		w->column[i].is = &c[i];
		held = c[i].flags & PM_PARQUET_HELD;
		p->page[i] = values_new(p->rows, held, !held && (has_text(&w->column[i]) ||
				c[i].flags & PM_PARQUET_NUMBERED));
	}
	w->spread = values_new(p->rows, false, false);
	w->number = pm_alloc_unset(p->rows * sizeof *w->number);
	w->zstd = ZSTD_createCCtx();
	if (!w->zstd)
		pm_out_of_memory(0);
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, o && o->level ? o->level : 1);
	return p;
}

void pm_parquet_free(struct pm_parquet *p)
{
	struct pm_parquet_writer *w;

	if (!p)
		return;
	w = p->w;
	for (unsigned i = 0; i < w->ncolumn; i++) {
		values_release(&p->page[i]);
		free(w->column[i].dict.value);
		free(w->column[i].dict.slot);
		pm_buf_release(&w->column[i].dict.text);
		pm_buf_release(&w->column[i].pages);
	}
	for (size_t i = 0; i < w->nnote; i++) {
		free(w->note[i].key);
		free(w->note[i].value);
	}
	free(w->note);
	free(w->column);
	free(w->chunk);
	free(w->group);
	free(w->number);
	values_release(&w->spread);
	pm_buf_release(&w->raw);
	pm_buf_release(&w->packed);
	pm_buf_release(&w->head);
	ZSTD_freeCCtx(w->zstd);
	free(w);
	free(p->page);
	free(p);
}
