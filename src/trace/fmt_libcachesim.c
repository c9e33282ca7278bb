/* SPDX-License-Identifier: MIT */
/* fmt_libcachesim.c - request traces of libCacheSim
 *
 *   oraclegeneral   24-byte packed records, little-endian: u32 time, u64 object, u32 size,
 *                   i64 index of the next request to the object (-1 or INT64_MAX: none)
 *   lcs             1024-byte header, then records that the header describes
 *
 *   OFFSET SIZE  FIELD of the lcs header
 *        0    8  0x123456789abcdef0
 *        8  240  record layout as Python's struct module writes it, starting with '<'
 *      248    9  which field is: object, size, time, last and next access, operation, ttl, tenant,
 *                content type; counted from 1, 0 absent
 *      257  231  reserved
 *      488   32  i64 requests, objects, request bytes, object bytes
 *      520  480  60 unused i64
 *     1000    8  u32 fields, u32 record size
 *     1008   16  u64 version, the same magic again
 *
 * A request is a read of `object`; its size, which may be larger than an access, is in the private
 * value. From other formats: the object is the 64-byte block (`block=N`), the time the trace's
 * seconds or else the request's number, and the next access is found while requests are written:
 *
 *   table    object -> its last request, for the objects seen last
 *   ring     the last requests, before they go to a temporary file
 *
 * A request whose predecessor is still in the ring completes it there. Where the predecessor has
 * left the ring, that it is to be completed goes to a sorter, by its number. An object that has to
 * leave the table, and one that comes to it after any had to leave, go to another, by object: in
 * its order each object that left stands before its coming back. So memory is constant, whatever
 * the trace. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/sorter.h"
#include "base/temp.h"
#include "trace/text.h"

#define LCS_MAGIC	0x123456789abcdef0ull
#define LCS_HEADER	1024
#define REC		24

struct field {
	uint8_t at, size;		/* size 0: absent */
};

struct ocs_reader {
	struct pm_window w;
	struct pm_builder b;
	struct pm_stream stream;
	struct field time, object, size, next;
	unsigned record;
	uint64_t now;
	bool started, lcs, max;
	uint8_t header[LCS_HEADER];
};

static inline uint64_t get_field(const uint8_t *p, struct field f)
{
	switch (f.size) {
	case 1: return p[f.at];
	case 2: return pm_get16(p + f.at);
	case 4: return pm_get32(p + f.at);
	case 8: return pm_get64(p + f.at);
	}
	return 0;
}

/* "<IQIq" into places; the record's size, 0 if the string makes no sense. */
static unsigned layout(const char *s, struct field *f, unsigned max, unsigned *n)
{
	unsigned at = 0;

	*n = 0;
	if (*s++ != '<')
		return 0;
	for (; *s; s++) {
		unsigned size;

		switch (*s) {
		case 'b': case 'B': case 'c': case '?': size = 1; break;
		case 'h': case 'H': size = 2; break;
		case 'i': case 'I': case 'l': case 'L': case 'f': size = 4; break;
		case 'q': case 'Q': case 'd': size = 8; break;
		default: return 0;
		}
		if (*n == max || at + size > 255)
			return 0;
		f[(*n)++] = (struct field){ (uint8_t)at, (uint8_t)size };
		at += size;
	}
	return at;
}

static bool lcs_header(struct ocs_reader *r, const uint8_t *h, struct pm_err *err)
{
	struct field f[32];
	unsigned n;
	char format[241];
	struct field *const want[] = { &r->object, &r->size, &r->time, NULL, &r->next };

	if (pm_get64(h) != LCS_MAGIC || pm_get64(h + 1016) != LCS_MAGIC) {
		pm_fail(err, pm_get64(h) == LCS_MAGIC ? 1016 : 0, "expected the lcs magic number");
		return false;
	}
	memcpy(format, h + 8, 240);
	format[240] = 0;
	r->record = layout(format, f, NR(f), &n);
	if (!r->record) {
		pm_fail(err, 8, "expected a record layout like '<IQIq'");
		return false;
	}
	if (pm_get32(h + 1004) != r->record || pm_get32(h + 1000) != n) {
		pm_fail(err, pm_get32(h + 1000) == n ? 1004 : 1000,
			"the header says %u fields in %u bytes, "
			"its layout %u in %u",
			pm_get32(h + 1000), pm_get32(h + 1004), n, r->record);
		return false;
	}
	for (unsigned i = 0; i < 9; i++) {
		if (h[248 + i] > n) {
			pm_fail(err, 248 + i, "field %u of a record of %u", h[248 + i], n);
			return false;
		}
		if (h[248 + i] && i < NR(want) && want[i])
			*want[i] = f[h[248 + i] - 1];
	}
	if (!r->object.size) {
		pm_fail(err, 248, "the header names no object field");
		return false;
	}
	memcpy(r->header, h, LCS_HEADER);
	return true;
}

static void *ocs_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		      struct pm_err *err, bool lcs)
{
	struct ocs_reader *r;
	const uint8_t *p;
	size_t got;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	r = pm_alloc(sizeof *r);
	r->w.in = in;
	r->lcs = lcs;
	*facts = PM_HAS_REFS | PM_HAS_TIME | PM_HAS_OBJECTS;
	p = pm_input_peek(in, lcs ? LCS_HEADER : PM_WINDOW, &got, err);
	if (!p && pm_failed(err))
		goto fail;
	if (!lcs) {
		r->record = REC;
		r->time = (struct field){ 0, 4 };
		r->object = (struct field){ 4, 8 };
		r->size = (struct field){ 12, 4 };
		r->next = (struct field){ 16, 8 };
		/* two ways to say "never again": keep the file's own */
		for (size_t i = 0; p && i + REC <= got && i < PM_WINDOW; i += REC) {
			int64_t next = (int64_t)pm_get64(p + i + 16);

			if (next == -1)
				break;
			if (next == INT64_MAX) {
				r->max = true;
				break;
			}
		}
		return r;
	}
	if (got < LCS_HEADER) {
		pm_fail(err, got, "expected a header of 1024 bytes, found %zu", got);
		goto fail;
	}
	if (!lcs_header(r, p, err))
		goto fail;
	pm_input_skip(in, LCS_HEADER);
	return r;
fail:
	free(r);
	return NULL;
}

static void ocs_close(void *self)
{
	struct ocs_reader *r = self;

	if (!r)
		return;
	pm_builder_release(&r->b);
	free(r);
}

static enum pm_status ocs_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct ocs_reader *r = self;
	struct pm_builder *b = &r->b;
	const unsigned record = r->record;
	const uint8_t *p, *start;

	pm_builder_reset(b, &r->stream, NULL);
	if (!r->started) {
		r->started = true;
		r->now = UINT64_MAX;
		if (r->lcs)
			pm_opaque_header(b, "lcs", r->header, LCS_HEADER);
		else
			pm_opaque_header(b, "oraclegeneral", r->max ? "max" : "", r->max ? 3 : 0);
		*batch = pm_builder_batch(b);
		return PM_OK;
	}
	pm_ev_room(b, PM_BATCH_EVENTS + 4);
	if (pm_window_left(&r->w) < record) {
		enum pm_status st = pm_window_fill(&r->w, PM_WINDOW, err);

		if (st != PM_OK)
			return st;
		if (pm_window_left(&r->w) < record)
			return pm_fail(err, pm_window_at(&r->w),
				       "expected %u bytes of record, found %zu", record,
				       pm_window_left(&r->w));
	}
	/* HOT: once per record */
	for (p = start = r->w.p; b->b.n < PM_BATCH_EVENTS && (size_t)(r->w.end - p) >= record;
	     p += record) {
		uint64_t time = get_field(p, r->time), size = get_field(p, r->size);

		if (time != r->now) {
			r->now = time;
			pm_ev_put(b, PM_EV_TIME, 0, 0, 0, time * 1000000000);
		}
		pm_ev_put(b, PM_EV_READ, 0, size > UINT16_MAX ? UINT16_MAX : (unsigned)size,
			  get_field(p, r->object), size);
		/* fields that requests have not, and next accesses beyond a cut: as they were */
		pm_ev_put(b, PM_EV_OPAQUE, 2, (unsigned)record, (uint64_t)(p - start), record);
	}
	r->w.p = p;
	*batch = pm_builder_batch_on(b, start, (size_t)(p - start));
	return PM_OK;
}

static void *og_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *f,
		     struct pm_err *e)
{
	return ocs_open(in, o, f, e, false);
}
static void *lcs_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *f,
		      struct pm_err *e)
{
	return ocs_open(in, o, f, e, true);
}

/* ---- writing -------------------------------------------------------------------------------- */

#define RING		(1u << 18)	/* requests that wait for their next; 6 MiB */
#define CHUNK		(1u << 15)	/* of them that go to the temporary file at once */
#define SETS		(1u << 16)	/* of WAYS objects; 12 MiB */
#define WAYS		8
#define AHEAD		12		/* events, of which the sets are fetched meanwhile */

struct ocs_set {
	_Alignas(64) uint64_t object[WAYS];
	uint64_t at[WAYS];		/* the number of its last request + 1; 0: none */
	uint32_t size[WAYS];		/* ... and that request's size */
};

struct ocs_writer {
	struct pm_plain w;
	bool lcs, timed, copy;		/* copy: from the same format, records go out as they
					 * came */
	unsigned shift;
	uint64_t n, now, never;
	uint64_t bytes, objects, object_bytes;	/* of requests that are nobody's next */
	uint8_t *ring;			/* requests [gone, n), number i at i % RING */
	uint64_t gone;			/* requests in the temporary file */
	int temp;			/* -1: not needed yet */
	void *room;			/* where the sets are, */
	struct ocs_set *set;		/* ... aligned */
	bool left;			/* an object had to leave the table */
	struct pm_sorter *later;	/* key: a request in the temporary file, a: its next */
	struct pm_sorter *back;		/* key: object; a: its request + 1 before it left, b: its
					 * size; or a 0: it comes with request b */
};

static void ocs_free(void *self)
{
	struct ocs_writer *w = self;

	if (!w)
		return;
	if (w->temp >= 0)
		close(w->temp);
	pm_sorter_free(w->later);
	pm_sorter_free(w->back);
	free(w->ring);
	free(w->room);
	free(w);
}

static void *ocs_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err,
			bool lcs)
{
	struct ocs_writer *w;
	uint64_t block = 64;
	char buf[24];
	const char *v;

	if (pm_fmt_options_check(o->options, "block", err) != PM_OK)
		return NULL;
	v = pm_fmt_option(o->options, "block", buf, sizeof buf);
	if (v &&
	    (!pm_num(v, strlen(v), &block) || !block || block & (block - 1) || block > 1 << 30)) {
		pm_fail_request(err, "block=%s: expected a power of two", v);
		return NULL;
	}
	w = pm_alloc(sizeof *w);
	w->w.out = out;
	w->lcs = lcs;
	w->never = UINT64_MAX;
	w->timed = o->facts & PM_HAS_TIME && !(o->facts & PM_HAS_CYCLES);
	w->w.native = o->facts & PM_HAS_OBJECTS;
	w->shift = w->w.native ? 0 : (unsigned)__builtin_ctzll(block);
	w->temp = -1;
	w->later = pm_sorter_new();
	w->back = pm_sorter_new();
	return w;
}

/* The first request is there. Copying needs none of this. */
static void begin(struct ocs_writer *w)
{
	w->ring = pm_alloc(RING * REC);
	w->room = pm_alloc((SETS + 1) * sizeof *w->set);
	w->set = (struct ocs_set *)(((uintptr_t)w->room + 63) & ~(uintptr_t)63);
}

static inline uint8_t *ring_at(struct ocs_writer *w, uint64_t i)
{
	return w->ring + (size_t)(i % RING) * REC;
}

/* Request @i, whose size is @size, has @next as the next to its object. */
static inline enum pm_status complete(struct ocs_writer *w, uint64_t i, uint64_t next,
				      uint64_t size, struct pm_err *err)
{
	w->objects--;
	w->object_bytes -= size;
	if (__builtin_expect(i >= w->gone, 1)) {
		pm_put64(ring_at(w, i) + 16, next);
		return PM_OK;
	}
	return pm_sorter_add(w->later, (struct pm_sort_rec){ i, next, 0 }, err);
}

static inline struct ocs_set *set_of(const struct ocs_writer *w, uint64_t object)
{
	return &w->set[(object ^ object >> 32) * 0x9e3779b97f4a7c15u >> 48 & (SETS - 1)];
}

/* @object comes to its set @s with request w->n. */
static enum pm_status enter(struct ocs_writer *w, struct ocs_set *s, uint64_t object, uint64_t size,
			    struct pm_err *err)
{
	unsigned oldest = 0;

	for (unsigned k = 1; k < WAYS; k++)
		if (s->at[k] < s->at[oldest])
			oldest = k;
	if (w->left &&
	    pm_sorter_add(w->back, (struct pm_sort_rec){ object, 0, w->n }, err) == PM_ERR)
		return PM_ERR;
	if (s->at[oldest]) {
		w->left = true;
		if (pm_sorter_add(w->back, (struct pm_sort_rec){ s->object[oldest], s->at[oldest],
								 s->size[oldest] }, err) == PM_ERR)
			return PM_ERR;
	}
	s->object[oldest] = object;
	s->at[oldest] = w->n + 1;
	s->size[oldest] = (uint32_t)size;
	return PM_OK;
}

static enum pm_status spool(struct ocs_writer *w, struct pm_err *err)
{
	if (w->temp < 0)
		w->temp = pm_temp_file(err);
	if (w->temp < 0 ||
	    pm_temp_write(w->temp, ring_at(w, w->gone), CHUNK * REC, w->gone * REC, err) == PM_ERR)
		return PM_ERR;
	w->gone += CHUNK;
	return PM_OK;
}

/* HOT: once per request. */
static inline enum pm_status add_request(struct ocs_writer *w, uint64_t object, uint64_t size,
					 struct pm_err *err)
{
	uint64_t time = w->timed ? w->now : w->n;
	struct ocs_set *s = set_of(w, object);
	unsigned hit = 0;
	enum pm_status st;

	if (size > UINT32_MAX || time > UINT32_MAX)
		return pm_fail_file(err, "request %llu has %s above 2^32 - 1",
				    (unsigned long long)w->n,
				    size > UINT32_MAX ? "a size" : "a time");
	if (w->n - w->gone == RING && spool(w, err) == PM_ERR)
		return PM_ERR;
	pm_put64(pm_put32(pm_put64(pm_put32(ring_at(w, w->n), (uint32_t)time), object),
			  (uint32_t)size),
		 w->never);
	w->bytes += size;
	w->objects++;
	w->object_bytes += size;
	for (unsigned k = 0; k < WAYS; k++)
		hit |= (unsigned)(s->object[k] == object) << k;
	/* an empty slot looks like object 0's */
	if (!object)
		for (unsigned k = 0; k < WAYS; k++)
			hit &= ~((unsigned)!s->at[k] << k);
	if (hit) {
		unsigned k = (unsigned)__builtin_ctz(hit);

		st = complete(w, s->at[k] - 1, w->n, s->size[k], err);
		s->at[k] = w->n + 1;
		s->size[k] = (uint32_t)size;
	} else {
		st = enter(w, s, object, size, err);
	}
	w->n++;
	return st;
}

static enum pm_status ocs_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct ocs_writer *w = self;

	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *e = &b->ev[i];
		enum pm_status st = PM_OK;
		const uint8_t *d;
		size_t n;

		if (e->kind == PM_EV_TIME) {
			w->now = e->value / 1000000000;
		} else if (e->kind == PM_EV_OPAQUE) {
			if (e->flags != PM_OPAQUE_HEADER)
				continue;
			d = pm_opaque_is(b, e, "oraclegeneral", &n);
			if (d) {
				w->w.native = true;
				w->copy = !w->lcs && !w->n;
				w->shift = 0;
				if (n)
					w->never = INT64_MAX;
			}
			d = pm_opaque_is(b, e, "lcs", &n);
			if (d) {
				w->w.native = true;
				w->shift = 0;
				if (w->lcs && !w->n && !w->copy) {
					w->copy = true;
					st = pm_output_write(w->w.out, d, n, err);
				}
			}
		} else if (pm_is_ref(e)) {
			uint64_t size = w->shift      ? 1ull << w->shift
					: w->w.native ? e->value
						      : e->size;

			if (w->copy)
				continue;
			if (!w->ring)
				begin(w);
			if (i + AHEAD < b->n) {
				const struct ocs_set *next = set_of(w, e[AHEAD].addr >> w->shift);

				__builtin_prefetch(next->object, 1);
				__builtin_prefetch(next->at, 1);
				__builtin_prefetch(next->size, 1);
			}
			st = add_request(w, e->addr >> w->shift, size, err);
		} else {
			w->w.dropped[e->kind]++;
		}
		if (st == PM_ERR)
			return st;
	}
	return w->copy ? pm_copy_records(w->w.out, b, 0, err) : PM_OK;
}

/* Objects that left the table and came back. */
static enum pm_status match(struct ocs_writer *w, struct pm_err *err)
{
	struct pm_sort_rec r, left = { 0, 0, 0 };
	enum pm_status st;

	while ((st = pm_sorter_next(w->back, &r, err)) == PM_OK) {
		if (r.a) {
			left = r;
			continue;
		}
		if (left.a && left.key == r.key &&
		    complete(w, left.a - 1, r.b, left.b, err) == PM_ERR)
			return PM_ERR;
		left.a = 0;
	}
	return st == PM_ERR ? st : PM_OK;
}

static enum pm_status put_lcs_header(struct ocs_writer *w, struct pm_err *err)
{
	uint8_t h[LCS_HEADER] = { 0 };

	pm_put64(h, LCS_MAGIC);
	memcpy(h + 8, "<IQIq", 5);
	memcpy(h + 248, "\2\3\1\0\4\0\0\0", 9);
	pm_put64(h + 488, w->n);
	pm_put64(h + 496, w->objects);
	pm_put64(h + 504, w->bytes);
	pm_put64(h + 512, w->object_bytes);
	pm_put32(h + 1000, 4);
	pm_put32(h + 1004, REC);
	pm_put64(h + 1008, 1);
	pm_put64(h + 1016, LCS_MAGIC);
	return pm_output_write(w->w.out, h, sizeof h, err);
}

/* What is in the temporary file, completed. */
static enum pm_status put_gone(struct ocs_writer *w, struct pm_err *err)
{
	uint8_t *v = pm_realloc(NULL, CHUNK * REC);
	struct pm_sort_rec r = { 0, 0, 0 };
	enum pm_status st = PM_OK, more = pm_sorter_next(w->later, &r, err);

	for (uint64_t at = 0; at < w->gone && st == PM_OK && more != PM_ERR; at += CHUNK) {
		st = pm_temp_read(w->temp, v, CHUNK * REC, at * REC, err);
		for (; more == PM_OK && r.key < at + CHUNK;
		     more = pm_sorter_next(w->later, &r, err))
			pm_put64(v + (r.key - at) * REC + 16, r.a);
		if (st == PM_OK)
			st = pm_output_write(w->w.out, v, CHUNK * REC, err);
	}
	free(v);
	return more == PM_ERR ? more : st;
}

static enum pm_status ocs_finish(void *self, struct pm_err *err)
{
	struct ocs_writer *w = self;
	uint64_t n;

	if (w->copy)
		return PM_OK;
	if (match(w, err) == PM_ERR || (w->lcs && put_lcs_header(w, err) == PM_ERR) ||
	    put_gone(w, err) == PM_ERR)
		return PM_ERR;
	for (uint64_t i = w->gone; i < w->n; i += n) {
		n = RING - i % RING < w->n - i ? RING - i % RING : w->n - i;
		if (pm_output_write(w->w.out, ring_at(w, i), n * REC, err) == PM_ERR)
			return PM_ERR;
	}
	return PM_OK;
}

static void *og_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *e)
{
	return ocs_create(out, o, e, false);
}
static void *lcs_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *e)
{
	return ocs_create(out, o, e, true);
}

static int og_probe(const uint8_t *head, size_t n)
{
	size_t records = n / REC < 64 ? n / REC : 64;
	uint64_t time = 0;

	if (!records || (n < PM_WINDOW && n % REC))
		return 0;
	for (size_t i = 0; i < records; i++) {
		const uint8_t *p = head + REC * i;
		int64_t next = (int64_t)pm_get64(p + 16);

		/* time does not go back, and the next access lies ahead */
		if (pm_get32(p) < time || !pm_get32(p + 12) || pm_get32(p + 12) > 1u << 30 ||
		    (next != -1 && next != INT64_MAX && (next <= (int64_t)i || next >= 1ll << 32)))
			return 0;
		time = pm_get32(p);
	}
	return 50 + (int)(records < 16 ? records : 16);
}

static int lcs_probe(const uint8_t *head, size_t n)
{
	return n >= 8 && pm_get64(head) == LCS_MAGIC ? 150 : 0;
}

static const struct pm_reader_ops og_read = { og_open, ocs_next, ocs_close };
static const struct pm_reader_ops lcs_read = { lcs_open, ocs_next, ocs_close };
static const struct pm_writer_ops og_write = { og_create, ocs_write, ocs_finish, ocs_free,
	pm_plain_dropped };
static const struct pm_writer_ops lcs_write = {
	lcs_create, ocs_write, ocs_finish, ocs_free, pm_plain_dropped
};

const struct pm_format pm_fmt_oraclegeneral = {
	.name = "oraclegeneral", .about = "libCacheSim's requests with their next access",
	.options = "block=N  writing: bytes of an object (64)",
	.plural = "oracleGeneral traces", .suffixes = ".oracleGeneral .oracleGeneral.bin",
	.has = PM_HAS_REFS | PM_HAS_TIME | PM_HAS_OBJECTS, .needs = PM_HAS_REFS,
	.probe = og_probe, .read = &og_read, .write = &og_write,
};
const struct pm_format pm_fmt_lcs = {
	.name = "lcs", .about = "libCacheSim's traces with a header",
	.options = "block=N  writing: bytes of an object (64)",
	.plural = "lcs traces", .suffixes = ".lcs",
	.has = PM_HAS_REFS | PM_HAS_TIME | PM_HAS_OBJECTS, .needs = PM_HAS_REFS,
	.probe = lcs_probe, .read = &lcs_read, .write = &lcs_write,
};
