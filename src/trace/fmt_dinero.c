/* SPDX-License-Identifier: MIT */
/* fmt_dinero.c - the three inputs of the Dinero cache simulators
 *
 *   din            label address [anything]      label 0 read 1 write 2 fetch 3 misc 4 copy-back
 *                                                5 invalidate, both hexadecimal
 *   xdin           t address size [anything]     t one of r w i m c v, rest hexadecimal
 *   dinero-binary  8 bytes: u32le address, u16le size, u8 label, u8 0
 *
 * A misc reference is a read whose private value is MISC; copy-back and invalidate are orders to
 * the cache (PM_REF_COPYBACK, PM_REF_INVAL), with PM_REF_ALL for size 0: the whole cache.
 * din has no sizes: every reference counts as 4 bytes, as in Dinero IV, which also takes the last
 * two bits from its addresses: din:words does. */
#include <stdlib.h>

#include "trace/text.h"

#define MISC 3				/* value of a PM_EV_READ that came from a misc reference */

enum dinero_kind { DIN, XDIN, BINARY };

static const char *const dinero_name[] = { "din", "xdin", "dinero-binary" };

struct dinero_reader {
	struct pm_lines l;
	struct pm_window w;
	struct pm_builder b;
	struct pm_stream stream;
	uint64_t insns;
	enum dinero_kind kind;
	bool started, words;
};

static void *dinero_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
			 struct pm_err *err, enum dinero_kind kind)
{
	struct dinero_reader *r;
	char buf[16];

	if (pm_fmt_options_check(o->options, kind == DIN ? "words" : "", err) != PM_OK)
		return NULL;
	r = pm_alloc(sizeof *r);
	r->words = pm_fmt_option(o->options, "words", buf, sizeof buf);
	pm_lines_init(&r->l, in);
	r->w.in = in;
	r->kind = kind;
	*facts = PM_HAS_INSNS | PM_HAS_REFS | (kind == DIN ? 0 : PM_HAS_SIZES);
	return r;
}

static void dinero_close(void *self)
{
	struct dinero_reader *r = self;

	if (!r)
		return;
	pm_builder_release(&r->b);
	free(r);
}

static void add_ref(struct dinero_reader *r, unsigned label, uint64_t addr, uint64_t size)
{
	struct pm_builder *b = &r->b;
	unsigned all = size ? 0 : PM_REF_ALL;

	switch (label) {
	case 0: pm_ev_put(b, PM_EV_READ, 0, (unsigned)size, addr, 0); break;
	case 1: pm_ev_put(b, PM_EV_WRITE, 0, (unsigned)size, addr, 0); break;
	case 2:
		pm_ev_put(b, PM_EV_INSN, 0, (unsigned)size, addr, 0);
		r->insns++;
		break;
	case 3: pm_ev_put(b, PM_EV_READ, 0, (unsigned)size, addr, MISC); break;
	case 4: pm_ev_put(b, PM_EV_WRITE, PM_REF_COPYBACK | all, (unsigned)size, addr, 0); break;
	case 5: pm_ev_put(b, PM_EV_READ, PM_REF_INVAL | all, (unsigned)size, addr, 0); break;
	}
}

/* xdin's letter, or din's number, as din's number; -1 if it is neither */
static int label_of(enum dinero_kind kind, const char *s, size_t n)
{
	static const char letters[] = "rwimcv";
	const char *at;
	uint64_t v;

	if (kind == DIN)
		return pm_hex(s, n, &v) && v <= 5 ? (int)v : -1;
	at = n == 1 ? strchr(letters, *s | 32) : NULL;
	return at && *at ? (int)(at - letters) : -1;
}

static enum pm_status dinero_text(struct dinero_reader *r, struct pm_err *err)
{
	const char *s, *tok;
	size_t n, len;
	enum pm_status st;

	while (r->b.b.n < PM_BATCH_EVENTS) {
		struct pm_tok t;
		uint64_t addr, size = 4;
		int label;

		st = pm_lines_next(&r->l, &s, &n, err);
		if (st != PM_OK)
			return st;
		t = (struct pm_tok){ s, s + n };
		tok = pm_tok_next(&t, &len);
		if (!len)
			return pm_fail_line(err, r->l.line,
					    "expected a reference, found an empty line");
		label = label_of(r->kind, tok, len);
		if (label < 0)
			return pm_fail_text(err, r->l.line, r->kind == DIN ? "a label from 0 to 5"
					    : "one of r w i m c v", tok, len);
		tok = pm_tok_next(&t, &len);
		if (!pm_hex(tok, len, &addr))
			return pm_fail_text(err, r->l.line, "a hexadecimal address", tok, len);
		if (r->kind == XDIN) {
			tok = pm_tok_next(&t, &len);
			if (!pm_hex(tok, len, &size) || size > UINT16_MAX)
				return pm_fail_text(err, r->l.line, "a hexadecimal size up to ffff",
						    tok, len);
			if (!size && label < 4)
				return pm_fail_line(err, r->l.line,
						    "size 0 means the whole cache: only c "
						    "and v may have it");
		}
		add_ref(r, (unsigned)label, r->words ? addr & ~3ull : addr, size);
	}
	return PM_OK;
}

static enum pm_status dinero_records(struct dinero_reader *r, struct pm_err *err)
{
	while (r->b.b.n < PM_BATCH_EVENTS) {
		const uint8_t *p;

		if (pm_window_left(&r->w) < 8) {
			enum pm_status st = pm_window_fill(&r->w, PM_WINDOW, err);

			if (st != PM_OK)
				return st;
			if (pm_window_left(&r->w) < 8)
				return pm_fail(err, pm_window_at(&r->w),
					       "expected 8 bytes of record, found "
					       "%zu",
					       pm_window_left(&r->w));
		}
		p = r->w.p;
		if (p[6] > 5)
			return pm_fail(err, pm_window_at(&r->w) + 6,
				       "expected a label from 0 to 5, found "
				       "%u",
				       p[6]);
		if (p[7])
			return pm_fail(err, pm_window_at(&r->w) + 7,
				       "expected a zero byte behind the "
				       "label, found 0x%02x",
				       p[7]);
		if (!pm_get16(p + 4) && p[6] < 4)
			return pm_fail(err, pm_window_at(&r->w) + 4,
				       "size 0 means the whole cache: only "
				       "labels 4 and 5 may have it");
		add_ref(r, p[6], pm_get32(p), pm_get16(p + 4));
		r->w.p += 8;
	}
	return PM_OK;
}

static enum pm_status dinero_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct dinero_reader *r = self;
	enum pm_status st;

	pm_builder_reset(&r->b, &r->stream, NULL);
	r->b.b.first_insn = r->insns;
	pm_ev_room(&r->b, PM_BATCH_EVENTS + 2);
	if (!r->started) {
		r->started = true;
		pm_opaque_header(&r->b, dinero_name[r->kind], "", 0);
	}
	st = r->kind == BINARY ? dinero_records(r, err) : dinero_text(r, err);
	if (st == PM_ERR || (st == PM_END && !r->b.b.n))
		return st;
	*batch = pm_builder_batch(&r->b);
	return PM_OK;
}

static void *din_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *f,
		      struct pm_err *e)
{
	return dinero_open(in, o, f, e, DIN);
}
static void *xdin_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *f,
		       struct pm_err *e)
{
	return dinero_open(in, o, f, e, XDIN);
}
static void *bin_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *f,
		      struct pm_err *e)
{
	return dinero_open(in, o, f, e, BINARY);
}

/* ---- writing -------------------------------------------------------------------------------- */

struct dinero_writer {
	struct pm_plain w;
	enum dinero_kind kind;
};

static void *dinero_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err,
			   enum dinero_kind kind)
{
	struct dinero_writer *w;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	w = pm_alloc(sizeof *w);
	w->w.out = out;
	w->kind = kind;
	return w;
}

static char *dinero_one(struct dinero_writer *w, char *p, unsigned label, uint64_t addr,
			unsigned size, struct pm_err *err)
{
	if (!size && label < 4)
		size = 4;		/* unknown: what Dinero itself assumes */
	switch (w->kind) {
	case DIN:
		*p++ = (char)('0' + label);
		*p++ = ' ';
		p = pm_put_hex(p, addr);
		*p++ = '\n';
		break;
	case XDIN:
		*p++ = "rwimcv"[label];
		*p++ = ' ';
		p = pm_put_hex(p, addr);
		*p++ = ' ';
		p = pm_put_hex(p, size);
		*p++ = '\n';
		break;
	case BINARY:
		if (addr > UINT32_MAX) {
			pm_fail_wide(err, addr, "write xdin, whose addresses have any width");
			return NULL;
		}
		p = pm_put32(p, (uint32_t)addr);
		p = pm_put16(p, (uint16_t)size);
		*p++ = (char)label;
		*p++ = 0;
		break;
	}
	return p;
}

static char *dinero_put(void *self, char *p, const struct pm_batch *b, const struct pm_event *e,
			struct pm_err *err)
{
	struct dinero_writer *w = self;

	switch (e->kind) {
	case PM_EV_INSN:
	case PM_EV_LINE:
		return dinero_one(w, p, 2, e->addr, e->size, err);
	case PM_EV_READ:
		return dinero_one(w, p,
				  e->flags & PM_REF_INVAL	    ? 5
				  : w->w.native && e->value == MISC ? 3
								    : 0,
				  e->addr, e->size, err);
	case PM_EV_WRITE:
		return dinero_one(w, p, e->flags & PM_REF_COPYBACK ? 4 : 1, e->addr, e->size, err);
	case PM_EV_MODIFY:
		p = dinero_one(w, p, 0, e->addr, e->size, err);
		return p ? dinero_one(w, p, 1, e->addr, e->size, err) : NULL;
	case PM_EV_OPAQUE:
		return p;
	}
	w->w.dropped[e->kind]++;
	return p;
}

static enum pm_status dinero_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct dinero_writer *w = self;

	return pm_plain_write(&w->w, dinero_name[w->kind], b, 64, dinero_put, err);
}

static void *din_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *e)
{
	return dinero_create(out, o, e, DIN);
}
static void *xdin_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *e)
{
	return dinero_create(out, o, e, XDIN);
}
static void *bin_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *e)
{
	return dinero_create(out, o, e, BINARY);
}

/* ---- probing -------------------------------------------------------------------------------- */

static int text_probe(const uint8_t *head, size_t n, enum dinero_kind kind)
{
	const char *s = (const char *)head, *end = s + n;
	int lines = 0;

	while (s < end && lines < 8) {
		const char *nl = memchr(s, '\n', (size_t)(end - s)), *tok;
		struct pm_tok t;
		size_t len;
		uint64_t v;

		if (!nl && n >= PM_WINDOW)
			break;
		t = (struct pm_tok){ s, nl ? nl : end };
		tok = pm_tok_next(&t, &len);
		if (!len || len > 3 || label_of(kind, tok, len) < 0)
			return 0;
		tok = pm_tok_next(&t, &len);
		if (!pm_hex(tok, len, &v))
			return 0;
		tok = pm_tok_next(&t, &len);
		if (kind == XDIN && (!pm_hex(tok, len, &v) || v > UINT16_MAX))
			return 0;
		lines++;
		s = nl ? nl + 1 : end;
	}
	/* few bits a line: a number and a number is what many formats look like */
	return lines ? (kind == DIN ? 8 : 20) + lines : 0;
}

static int din_probe(const uint8_t *head, size_t n)
{
	return text_probe(head, n, DIN);
}

static int xdin_probe(const uint8_t *head, size_t n)
{
	return text_probe(head, n, XDIN);
}

static int bin_probe(const uint8_t *head, size_t n)
{
	size_t records = n / 8 < 64 ? n / 8 : 64;

	if (!records || (n < PM_WINDOW && n % 8))
		return 0;
	for (size_t i = 0; i < records; i++) {
		const uint8_t *p = head + 8 * i;
		unsigned size = pm_get16(p + 4);

		if (p[6] > 5 || p[7] || size > 4096 || (!size && p[6] < 4))
			return 0;
	}
	return 20 + 6 * (int)(records < 16 ? records : 16);
}

static const struct pm_reader_ops din_read = { din_open, dinero_next, dinero_close };
static const struct pm_reader_ops xdin_read = { xdin_open, dinero_next, dinero_close };
static const struct pm_reader_ops bin_read = { bin_open, dinero_next, dinero_close };
static const struct pm_writer_ops din_write = {
	din_create, dinero_write, pm_plain_finish, free, pm_plain_dropped
};
static const struct pm_writer_ops xdin_write = {
	xdin_create, dinero_write, pm_plain_finish, free, pm_plain_dropped
};
static const struct pm_writer_ops bin_write = {
	bin_create, dinero_write, pm_plain_finish, free, pm_plain_dropped
};

const struct pm_format pm_fmt_din = {
	.name = "din", .about = "traditional input of Dinero: label and address",
	.plural = "din traces", .suffixes = ".din",
	.options = "words  to read: addresses are those of words, whatever their last two bits; as "
		   "Dinero IV does",
	.has = PM_HAS_INSNS | PM_HAS_REFS, .needs = PM_HAS_REFS,
	.probe = din_probe, .read = &din_read, .write = &din_write,
};
const struct pm_format pm_fmt_xdin = {
	.name = "xdin", .about = "input of Dinero IV: type, address, size",
	.plural = "xdin traces", .suffixes = ".xdin",
	.has = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES, .needs = PM_HAS_REFS,
	.probe = xdin_probe, .read = &xdin_read, .write = &xdin_write,
};
const struct pm_format pm_fmt_dinero_binary = {
	.name = "dinero-binary",
	.about = "binary input of Dinero IV: 8-byte records, 32-bit addresses",
	.plural = "binary Dinero traces", .suffixes = ".dinb",
	.has = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES, .needs = PM_HAS_REFS,
	.probe = bin_probe, .read = &bin_read, .write = &bin_write,
};
