/* SPDX-License-Identifier: MIT */
/* fmt_requests.c - requests for objects, as libCacheSim's readers take them
 *
 *   vscsi          records of VMware's vscsiStats, little-endian; version 1 has 32 bytes, version 2
 *                  has 40. The upper byte of `ver` says which
 *
 *                  1: u32 sn, len, nSG; u16 cmd, ver; u64 lbn, ts
 *                  2: u16 cmd, ver; u32 sn, len, nSG; u64 lbn, ts, rt
 *
 *                  lbn is the object, len its bytes, ts microseconds; cmd is the SCSI command
 *   requests-csv   a line for each request. Its first line names the columns, or `object=N`,
 *                  `size=N` and `time=N` say which they are, from 1. Columns are separated by
 *                  whichever of tab , | : the first line has most of
 *   requests-txt   an object's number on each line; every object has one byte
 *
 * A request is a read (in vscsi also a write) of `object`; its value is its size. Objects that are
 * no numbers become numbers with `text`: FNV-1a, 64 bits. */
#include <ctype.h>
#include <stdlib.h>

#include "trace/text.h"

enum request_kind { VSCSI, CSV, TXT };
enum request_column { OBJECT, SIZE, TIME, COLUMNS };

#define VSCSI_1 32
#define VSCSI_2 40

struct requests_reader {
	struct pm_lines l;
	struct pm_window w;
	struct pm_builder b;
	struct pm_stream stream;
	enum request_kind kind;
	unsigned record;		/* of vscsi */
	unsigned column[COLUMNS];	/* from 1; 0: there is none */
	char between;
	bool text;
	uint64_t now;
};

/* ---- vscsi ---------------------------------------------------------------------------------- */

static unsigned scsi_command(unsigned record, const uint8_t *p)
{
	return pm_get16(p + (record == VSCSI_1 ? 12 : 0)) & 0xff;
}

static bool scsi_writes(unsigned command)
{
	return command == 0x0a || command == 0x2a || command == 0x8a || command == 0xaa;
}

static bool is_record(unsigned record, const uint8_t *p)
{
	const unsigned command = scsi_command(record, p),
		       version = pm_get16(p + (record == VSCSI_1 ? 14 : 2)) >> 8;

	return version == (record == VSCSI_1 ? 1 : 2) &&
	       (scsi_writes(command) || command == 0x08 || command == 0x28 || command == 0x88 ||
		command == 0xa8);
}

/* The size of its records, 0 if the first ones (two at least) are none. */
static unsigned vscsi_record(const uint8_t *head, size_t n)
{
	static const unsigned size[] = { VSCSI_1, VSCSI_2 };

	for (size_t k = 0; k < NR(size); k++) {
		size_t i = 0;

		while (i < 64 && (i + 1) * size[k] <= n && is_record(size[k], head + i * size[k]))
			i++;
		if (i >= 2 && (i == 64 || (i + 1) * size[k] > n))
			return size[k];
	}
	return 0;
}

static void put_request(struct requests_reader *r, enum pm_kind kind, uint64_t object,
			uint64_t size, uint64_t time)
{
	if (time != r->now)
		pm_ev_put(&r->b, PM_EV_TIME, 0, 0, 0, time);
	r->now = time;
	pm_ev_put(&r->b, kind, 0, size > UINT16_MAX ? UINT16_MAX : (unsigned)size, object, size);
}

static enum pm_status vscsi_records(struct requests_reader *r, struct pm_err *err)
{
	const unsigned record = r->record, one = record == VSCSI_1;

	while (r->b.b.n < PM_BATCH_EVENTS) {
		const uint8_t *p;

		if (pm_window_left(&r->w) < record) {
			enum pm_status st = pm_window_fill(&r->w, PM_WINDOW, err);

			if (st != PM_OK)
				return st;
			if (pm_window_left(&r->w) < record)
				return pm_fail(err, pm_window_at(&r->w),
					       "expected %u bytes of record, found %zu", record,
					       pm_window_left(&r->w));
		}
		p = r->w.p;
		if (pm_get16(p + (one ? 14 : 2)) >> 8 != (one ? 1 : 2))
			return pm_fail(err, pm_window_at(&r->w) + (one ? 14 : 2),
				       "expected a record of version %u, found 0x%04x", one ? 1 : 2,
				       pm_get16(p + (one ? 14 : 2)));
		put_request(r, scsi_writes(scsi_command(record, p)) ? PM_EV_WRITE : PM_EV_READ,
			    pm_get64(p + 16), pm_get32(p + (one ? 4 : 8)),
			    pm_get64(p + 24) * 1000);
		r->w.p += record;
	}
	return PM_OK;
}

/* ---- text ----------------------------------------------------------------------------------- */

static char separator_of(const char *s, size_t n)
{
	static const char may[] = "\t,|:";
	size_t most = 0;
	char best = 0;

	for (const char *c = may; *c; c++) {
		size_t count = 0;

		for (size_t i = 0; i < n; i++)
			count += s[i] == *c;
		if (count > most) {
			most = count;
			best = *c;
		}
	}
	return best;
}

/* Column @i from 1; its length 0 if there is none. */
static const char *column_of(const char *s, size_t n, char between, unsigned i, size_t *len)
{
	const char *end = s + n;

	*len = 0;
	for (; i; i--) {
		const char *stop = memchr(s, between, (size_t)(end - s));

		stop = stop ? stop : end;
		if (i == 1) {
			while (s < stop && pm_is_blank(*s))
				s++;
			while (s < stop && pm_is_blank(stop[-1]))
				stop--;
			*len = (size_t)(stop - s);
			return s;
		}
		if (stop == end)
			return end;
		s = stop + 1;
	}
	return s;
}

static bool named(const char *s, size_t n, const char *const *names)
{
	for (; *names; names++)
		if (strlen(*names) == n && !strncasecmp(s, *names, n))
			return true;
	return false;
}

/* What a first line names its columns; false: it does not name the object. */
static bool columns_named(const char *s, size_t n, char between, unsigned column[COLUMNS])
{
	static const char *const names[COLUMNS][12] = {
		[OBJECT] = { "object", "obj", "obj_id", "object_id", "id", "key", "lbn", "lba",
			     "block", NULL },
		[SIZE] = { "size", "obj_size", "object_size", "len", "length", "bytes", NULL },
		[TIME] = { "time", "timestamp", "ts", "clock_time", "real_time", NULL },
	};

	memset(column, 0, COLUMNS * sizeof *column);
	for (unsigned i = 1; i < 256; i++) {
		size_t len;
		const char *c = column_of(s, n, between, i, &len);

		for (unsigned k = 0; k < COLUMNS; k++)
			if (len && !column[k] && named(c, len, names[k]))
				column[k] = i;
		if (c + len >= s + n)
			break;
	}
	return column[OBJECT];
}

static uint64_t text_number(const char *s, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)s[i]) * 0x100000001b3u;
	return h;
}

/* Seconds, perhaps with a fraction, in nanoseconds. */
static bool seconds(const char *s, size_t n, uint64_t *ns)
{
	const char *dot = memchr(s, '.', n);
	uint64_t whole, part = 0, unit = 1000000000;

	if (!pm_dec(s, dot ? (size_t)(dot - s) : n, &whole) || whole > UINT64_MAX / unit - 1)
		return false;
	for (const char *c = dot ? dot + 1 : s + n; c < s + n; c++) {
		if (!isdigit((unsigned char)*c))
			return false;
		unit /= 10;
		part += (unsigned)(*c - '0') * unit;
	}
	*ns = whole * 1000000000 + part;
	return true;
}

static enum pm_status csv_request(struct requests_reader *r, const char *s, size_t n,
				  struct pm_err *err)
{
	uint64_t object, size = 1, time = r->now;
	size_t len;
	const char *c = column_of(s, n, r->between, r->column[OBJECT], &len);

	if (r->text && len)
		object = text_number(c, len);
	else if (!pm_num(c, len, &object))
		return pm_fail_text(err, r->l.line, "an object's number (or the option text)", c,
				    len);
	c = column_of(s, n, r->between, r->column[SIZE], &len);
	if (r->column[SIZE] && (!pm_num(c, len, &size) || size > UINT32_MAX))
		return pm_fail_text(err, r->l.line, "a size in bytes", c, len);
	c = column_of(s, n, r->between, r->column[TIME], &len);
	if (r->column[TIME] && !seconds(c, len, &time))
		return pm_fail_text(err, r->l.line, "a time in seconds", c, len);
	put_request(r, PM_EV_READ, object, size, time);
	return PM_OK;
}

static enum pm_status text_requests(struct requests_reader *r, struct pm_err *err)
{
	while (r->b.b.n < PM_BATCH_EVENTS) {
		uint64_t object;
		const char *s;
		size_t n;
		enum pm_status st = pm_lines_next(&r->l, &s, &n, err);
		unsigned own[COLUMNS];

		if (st != PM_OK)
			return st;
		if (r->kind == CSV && r->l.line == 1) {
			r->between = separator_of(s, n);
			if (columns_named(s, n, r->between, own)) {
				if (!r->column[OBJECT])
					memcpy(r->column, own, sizeof own);
				continue;
			}
			if (!r->column[OBJECT])
				return pm_fail_line(err, 1, "the first line names no column "
						    "'object'; -f requests-csv:object=N,size=N,"
						    "time=N says which they are");
		}
		if (!n)
			continue;
		if (r->kind == CSV) {
			if (csv_request(r, s, n, err) == PM_ERR)
				return PM_ERR;
			continue;
		}
		if (r->text)
			object = text_number(s, n);
		else if (!pm_num(s, n, &object))
			return pm_fail_text(err, r->l.line, "an object's number (or the option "
					    "text)", s, n);
		put_request(r, PM_EV_READ, object, 1, r->now);
	}
	return PM_OK;
}

/* ---- all ------------------------------------------------------------------------------------ */

static enum pm_status column_options(struct requests_reader *r, const char *options,
				     struct pm_err *err)
{
	static const char *const names[COLUMNS] = { "object", "size", "time" };

	for (unsigned k = 0; k < COLUMNS; k++) {
		char buf[24];
		const char *v = pm_fmt_option(options, names[k], buf, sizeof buf);
		uint64_t n;

		if (v && (!pm_num(v, strlen(v), &n) || !n || n > 255))
			return pm_fail_request(err, "%s=%s: expected a column, 1 to 255", names[k],
					       v);
		r->column[k] = v ? (unsigned)n : 0;
	}
	if ((r->column[SIZE] || r->column[TIME]) && !r->column[OBJECT])
		return pm_fail_request(err, "size=N and time=N need object=N");
	return PM_OK;
}

static void *requests_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
			   struct pm_err *err, enum request_kind kind)
{
	static const char *const known[] = { "", "object size time text", "text" };
	struct requests_reader *r;
	const uint8_t *p;
	char buf[8];
	size_t got;

	if (pm_fmt_options_check(o->options, known[kind], err) != PM_OK)
		return NULL;
	r = pm_alloc(sizeof *r);
	r->kind = kind;
	r->w.in = in;
	pm_lines_init(&r->l, in);
	r->text = pm_fmt_option(o->options, "text", buf, sizeof buf);
	*facts = PM_HAS_REFS | PM_HAS_OBJECTS | (kind == TXT ? 0 : PM_HAS_TIME);
	if (kind == CSV && column_options(r, o->options, err) == PM_ERR)
		goto fail;
	if (kind != VSCSI)
		return r;
	p = pm_input_peek(in, PM_WINDOW, &got, err);
	if (!p && pm_failed(err))
		goto fail;
	r->record = vscsi_record(p, p ? got : 0);
	if (r->record)
		return r;
	pm_fail(err, 0, "expected records of vscsi version 1 or 2, two at least");
fail:
	free(r);
	return NULL;
}

static void requests_close(void *self)
{
	struct requests_reader *r = self;

	if (!r)
		return;
	pm_builder_release(&r->b);
	free(r);
}

static enum pm_status requests_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct requests_reader *r = self;
	enum pm_status st;

	pm_builder_reset(&r->b, &r->stream, NULL);
	pm_ev_room(&r->b, PM_BATCH_EVENTS + 4);
	st = r->kind == VSCSI ? vscsi_records(r, err) : text_requests(r, err);
	if (st == PM_ERR || (st == PM_END && !r->b.b.n))
		return st;
	*batch = pm_builder_batch(&r->b);
	return PM_OK;
}

static void *vscsi_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *f,
			struct pm_err *e)
{
	return requests_open(in, o, f, e, VSCSI);
}
static void *csv_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *f,
		      struct pm_err *e)
{
	return requests_open(in, o, f, e, CSV);
}
static void *txt_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *f,
		      struct pm_err *e)
{
	return requests_open(in, o, f, e, TXT);
}

static int vscsi_probe(const uint8_t *head, size_t n)
{
	const unsigned record = vscsi_record(head, n);

	return record && (n == PM_WINDOW || n % record == 0) ? 60 : 0;
}

static int csv_probe(const uint8_t *head, size_t n)
{
	const uint8_t *end = memchr(head, '\n', n);
	unsigned column[COLUMNS];
	char between;

	if (!end || !pm_looks_text(head, n))
		return 0;
	n = (size_t)(end - head);
	n -= n && head[n - 1] == '\r';
	between = separator_of((const char *)head, n);
	return between && columns_named((const char *)head, n, between, column) &&
	       (column[SIZE] || column[TIME]) ? 40 : 0;
}

/* Numbers, one on each line; eight lines at least: less could be anything. */
static int txt_probe(const uint8_t *head, size_t n)
{
	unsigned lines = 0;

	for (const uint8_t *p = head, *end = head + n; p < end; ) {
		const uint8_t *nl = memchr(p, '\n', (size_t)(end - p));
		uint64_t v;

		if (!nl)
			break;
		if (!pm_dec((const char *)p, (size_t)(nl - p), &v))
			return 0;
		lines++;
		p = nl + 1;
	}
	return lines >= 8 ? 8 : 0;
}

static const struct pm_reader_ops vscsi_read = { vscsi_open, requests_next, requests_close };
static const struct pm_reader_ops csv_read = { csv_open, requests_next, requests_close };
static const struct pm_reader_ops txt_read = { txt_open, requests_next, requests_close };

const struct pm_format pm_fmt_vscsi = {
	.name = "vscsi", .about = "disk requests, as vscsiStats and libCacheSim have them",
	.plural = "vscsi traces",
	.has = PM_HAS_REFS | PM_HAS_TIME | PM_HAS_OBJECTS, .probe = vscsi_probe,
	.read = &vscsi_read,
};
const struct pm_format pm_fmt_requests_csv = {
	.name = "requests-csv", .about = "requests for objects, one a line (libCacheSim's csv)",
	.options = "object=N  the column that names the object (by the first line)\n"
		   "size=N  ... its bytes (1 each)\n"
		   "time=N  ... the time in seconds\n"
		   "text  objects are names, not numbers\n",
	.plural = "request tables",
	.has = PM_HAS_REFS | PM_HAS_TIME | PM_HAS_OBJECTS, .probe = csv_probe,
	.read = &csv_read,
};
const struct pm_format pm_fmt_requests_txt = {
	.name = "requests-txt", .about = "an object's number on each line (libCacheSim's txt)",
	.options = "text  objects are names, not numbers\n",
	.plural = "lists of requests",
	.has = PM_HAS_REFS | PM_HAS_OBJECTS, .probe = txt_probe,
	.read = &txt_read,
};
