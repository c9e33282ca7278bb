/* SPDX-License-Identifier: MIT */
/* fmt_penn.c - micro-op traces of the University of Pennsylvania's CIS 501: text, one micro-op a
 * line
 *
 *   FIELD  1 uop    decimal, 1 starts a macro-op      8 ld/st   L S -
 *          2 pc     hex                               9 imm     signed decimal
 *          3 src1   -1 or register                   10 mem     hex, 0 when none
 *          4 src2   -1 or register                   11 fall    hex, pc of the next macro-op in
 *                   memory
 *          5 dest   -1 or register                   12 target  hex, 0 for non-control
 *          6 flags  R W -                            13 macro   at most 11 characters
 *          7 branch T N -                            14 micro   at most 22 characters
 *
 * Two dialects: compact (one blank between fields) and aligned (padded columns); a file written in
 * one of them comes back byte for byte. docs/formats/penn.md has the worked example.
 *
 * Each micro-op becomes PM_EV_UOP; the instruction, data reference and branch that it stands for
 * are beside it, so that any analysis can read a Penn trace. Access sizes are not in the file:
 * references have the nominal sizes 8 (PUSH, POP, CALL, RET) and 4. */
#include <stdio.h>
#include <stdlib.h>

#include "trace/penn.h"
#include "trace/text.h"

#define MAX_EVENTS_PER_LINE 4		/* instruction, micro-op, reference, branch */
#define LINES_PER_BATCH 2048

/* Its fields are many and of several kinds: a line with one that is wrong is still one of these,
 * and whoever reads it says which. */
static int penn_probe(const uint8_t *head, size_t n)
{
	unsigned wrong = 0;
	struct pm_tok t = { (const char *)head, (const char *)head + n };
	const char *nl = memchr(head, '\n', n);
	const char *tok;
	size_t len, i;
	int64_t s;
	uint64_t v;

	if (nl)
		t.end = nl;
	for (i = 0; (tok = pm_tok_next(&t, &len)), len; i++) {
		bool ok = true;

		if (i == 0)
			ok = pm_dec(tok, len, &v) && v && v <= INT32_MAX;
		else if (i == 1 || (i >= 9 && i <= 11))
			ok = pm_hex(tok, len, &v);
		else if (i >= 2 && i <= 4)
			ok = pm_sdec(tok, len, &s) && s >= -1 && s <= 255;
		else if (i >= 5 && i <= 7)
			ok = len == 1 && strchr(i == 5 ? "RW-" : i == 6 ? "TN-" : "LS-", *tok);
		else if (i == 8)
			ok = pm_sdec(tok, len, &s);
		wrong += !ok;
		if (wrong > 1 || i > 13 || (wrong && i < 2))
			return 0;
	}
	return i != 14 ? 0 : wrong ? 150 : 200;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* A line that was parsed before: a micro-op's line is the same each time it executes, but for its
 * memory address. The text in front of the address, and behind it; without a reference, all of it
 * in front. */
#define KNOWN		(1u << 14)	/* lines, by their first 16 bytes; 5 MiB */
#define KNOWN_FEW	(1u << 8)	/* ... while a trace is too short to be worth so much */
#define KNOWN_TEXT	112		/* of lines longer than this nothing is remembered */
#define KNOWN_AHEAD	256		/* bytes of input that may be looked at without asking */

struct penn_known {
	uint8_t head, tail;		/* bytes of text; head 0: nothing is known */
	uint8_t nev, uop;		/* events; which of them is the micro-op's, and the
					 * reference's behind it */
	struct pm_event ev[MAX_EVENTS_PER_LINE];
	struct pm_uop u;
	uint8_t text[KNOWN_TEXT];
};

struct penn_reader {
	struct pm_input *in;
	struct penn_known *known;
	uint32_t known_mask, remembered;
	struct pm_builder b;
	struct pm_stream stream;
	uint64_t line, insns;
	bool started, end;
	size_t lent;			/* bytes of the window that the last batch used */
	uint8_t *tail;			/* the last line, when it has no LF */
};

static void *penn_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		       struct pm_err *err)
{
	struct penn_reader *r;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	r = pm_alloc(sizeof *r);
	r->in = in;
	r->known = pm_alloc(KNOWN_FEW * sizeof *r->known);
	r->known_mask = KNOWN_FEW - 1;
	*facts = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_BRANCHES | PM_HAS_REGS | PM_HAS_UOPS;
	return r;
}

static void penn_close(void *self)
{
	struct penn_reader *r = self;

	if (!r)
		return;
	pm_builder_release(&r->b);
	free(r->known);
	free(r->tail);
	free(r);
}

static const char *const field_name[15] = {
	"", "uop", "pc", "src1", "src2", "dest", "flags", "branch", "ld/st", "imm", "mem", "fall",
	"target", "macro", "micro",
};

/* A line that the fast parser refused: look again, slowly, and say what is wrong. */
static enum pm_status penn_explain(const uint8_t *s, uint64_t line, struct pm_err *err)
{
	const char *nl = memchr(s, '\n', SIZE_MAX / 2);
	struct pm_tok t = { (const char *)s, nl };
	const char *tok;
	char found[28];
	size_t len;
	int i;

	for (i = 1; i <= 14; i++) {
		const char *want = NULL;
		uint64_t v;
		int64_t d;

		tok = pm_tok_next(&t, &len);
		if (!len)
			return pm_fail_line(err, line, "expected 14 fields, found %d", i - 1);
		if (i == 1) {
			if (!pm_dec(tok, len, &v) || !v || v > INT32_MAX)
				want = "a counter from 1";
		} else if (i == 2 || (i >= 10 && i <= 12)) {
			if (!pm_hex(tok, len, &v))
				want = "a hexadecimal number of at most 64 bits";
		} else if (i <= 5) {
			if (!pm_sdec(tok, len, &d) || d < -1 || d > 255)
				want = "a register from -1 to 255";
		} else if (i == 6) {
			if (len != 1 || !strchr("RW-", *tok))
				want = "R, W or -";
		} else if (i == 7) {
			if (len != 1 || !strchr("TN-", *tok))
				want = "T, N or -";
		} else if (i == 8) {
			if (len != 1 || !strchr("LS-", *tok))
				want = "L, S or -";
		} else if (i == 9) {
			if (!pm_sdec(tok, len, &d))
				want = "a signed 64-bit decimal number";
		} else if (i == 13 && len > 11) {
			want = "at most 11 characters";
		} else if (i == 14 && len > 22) {
			want = "at most 22 characters";
		}
		if (!want && memchr(tok, 0, len))
			want = "text without NUL bytes";
		if (!want)
			continue;
		snprintf(found, sizeof found, "%.*s", (int)(len < 24 ? len : 24), tok);
		for (char *c = found; *c; c++)
			if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
				*c = '?';
		return pm_fail_line(err, line, "field %d (%s): expected %s, found '%s%s'", i,
				    field_name[i], want, found, len > 24 ? "..." : "");
	}
	pm_tok_next(&t, &len);
	return pm_fail_line(err, line, "expected 14 fields, found more");
}

static inline bool is_blank(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n');
}

/* HOT: once per line. The line ends in LF, which no token contains, so no pointer needs a bound.
 * NULL: the line is not what it should be. */
#define SKIP() do { if (!is_blank(*p)) goto bad; do p++; while (is_blank(*p)); } while (0)
#define HEX(to) do {								\
	const uint8_t *start;							\
	uint64_t x = 0;								\
	int d;									\
										\
	if (p[0] == '0' && (p[1] | 32) == 'x')					\
		p += 2;								\
	start = p;								\
	while ((d = pm_hexval[*p]) >= 0) {					\
		x = x << 4 | (unsigned)d;					\
		p++;								\
	}									\
	if (__builtin_expect(p - start > 16 || p == start, 0)) {		\
		while (p - start > 16 && *start == '0')				\
			start++;						\
		if (p - start > 16 || p == start)				\
			goto bad;						\
	}									\
	(to) = x;								\
} while (0)
#define REG(to) do {								\
	unsigned x = *p - '0', d;						\
										\
	if (x <= 9) {								\
		p++;								\
		if ((d = *p - '0') <= 9) {					\
			x = x * 10 + d;						\
			p++;							\
			while ((d = *p - '0') <= 9) {				\
				x = x * 10 + d;					\
				if (x > 255)					\
					goto bad;				\
				p++;						\
			}							\
		}								\
		(to) = (int16_t)x;						\
	} else if (p[0] == '-' && p[1] == '1') {				\
		p += 2;								\
		(to) = -1;							\
	} else {								\
		goto bad;							\
	}									\
} while (0)
#define CHAR(to, letters) do {							\
	(to) = penn_value(letters, (char)*p++);					\
	if ((to) == PENN_NONE)							\
		goto bad;							\
} while (0)
#define STR(to, max) do {							\
	unsigned i = 0;								\
										\
	while (*p > ' ' || (*p && !is_blank(*p) && *p != '\n')) {		\
		if (i == (max))							\
			goto bad;						\
		(to)[i++] = (char)*p++;						\
	}									\
	if (!i || !*p)								\
		goto bad;							\
} while (0)
static const uint8_t *penn_line(const uint8_t *p, struct pm_uop *u)
{
	uint64_t v;
	unsigned digit;
	bool neg;

	while (is_blank(*p))
		p++;
	v = *p - (unsigned)'0';
	if (v > 9)
		goto bad;
	for (p++; (digit = *p - (unsigned)'0') <= 9; p++) {
		v = v * 10 + digit;
		if (v > INT32_MAX)
			goto bad;
	}
	if (!v)
		goto bad;
	u->index = (int32_t)v;
	SKIP();
	HEX(u->pc);
	SKIP();
	REG(u->src1);
	SKIP();
	REG(u->src2);
	SKIP();
	REG(u->dest);
	SKIP();
	CHAR(u->flag_use, PENN_FLAG_USE);
	SKIP();
	CHAR(u->outcome, PENN_OUTCOME);
	SKIP();
	CHAR(u->access, PENN_ACCESS);
	SKIP();
	neg = *p == '-';
	p += neg;
	v = *p - (unsigned)'0';
	if (v > 9)
		goto bad;
	for (p++; (digit = *p - (unsigned)'0') <= 9; p++) {
		if (__builtin_expect(v >= UINT64_MAX / 10 - 1, 0))
			goto bad;
		v = v * 10 + digit;
	}
	if (v > (uint64_t)INT64_MAX + neg)
		goto bad;
	u->imm = (int64_t)(neg ? -v : v);
	SKIP();
	HEX(u->mem);
	SKIP();
	HEX(u->fall);
	SKIP();
	HEX(u->target);
	SKIP();
	u->msize = 0;
	memset(u->macro, 0, sizeof u->macro);
	memset(u->micro, 0, sizeof u->micro);
	STR(u->macro, 11);
	SKIP();
	STR(u->micro, 22);
	while (is_blank(*p))
		p++;
	return *p == '\n' ? p + 1 : NULL;
bad:
	return NULL;
}

/* PUSH POP CALL RET move eight bytes; all else counts as four. */
static inline unsigned nominal_size(const char *macro)
{
	uint32_t m;

	memcpy(&m, macro, 4);
	if (m == htole32('P' | 'U' << 8 | 'S' << 16 | (uint32_t)'H' << 24) ||
	    m == htole32('C' | 'A' << 8 | 'L' << 16 | (uint32_t)'L' << 24) ||
	    m == htole32('P' | 'O' << 8 | 'P' << 16) || m == htole32('R' | 'E' << 8 | 'T' << 16))
		return 8;
	return 4;
}

static unsigned branch_flags(const struct pm_uop *u)
{
	unsigned f = 0;

	if (u->outcome == PM_UOP_TAKEN)
		f |= PM_BR_TAKEN;
	if (u->flag_use == PM_UOP_READS_FLAGS)
		f |= PM_BR_COND;
	if (!strcmp(u->micro, "JMP_REG"))
		f |= PM_BR_INDIRECT;
	if (!strcmp(u->macro, "CALL"))
		f |= PM_BR_CALL;
	else if (!strcmp(u->macro, "RET"))
		f |= PM_BR_RET;
	return f;
}

/* The events of @u at @ev, which has room for MAX_EVENTS_PER_LINE; how many. */
static unsigned line_events(const struct pm_uop *u, uint32_t id, struct pm_event *ev)
{
	struct pm_event *e = ev;
	uint64_t size = u->fall - u->pc;

	if (size > 15)
		size = 0;
	if (u->index == 1)
		*e++ = (struct pm_event){ PM_EV_INSN, 0, (uint16_t)size, PM_NONE, u->pc, 0 };
	*e++ = (struct pm_event){ PM_EV_UOP, 0, 0, id, u->pc, 0 };
	if (u->access != PM_UOP_NO_ACCESS)
		*e++ = (struct pm_event){ u->access == PM_UOP_LOAD ? PM_EV_READ : PM_EV_WRITE, 0,
					  (uint16_t)nominal_size(u->macro), PM_NONE, u->mem, 0 };
	if (u->outcome != PM_UOP_NO_BRANCH)
		*e++ = (struct pm_event){ PM_EV_BRANCH,	  (uint8_t)branch_flags(u),
					  (uint16_t)size, PM_NONE,
					  u->pc,	  u->target };
	return (unsigned)(e - ev);
}

static inline struct penn_known *known_at(struct penn_reader *r, const uint8_t *line)
{
	uint64_t h = pm_get64(line) * 0x9e3779b97f4a7c15u ^
		     pm_get64(line + 8) * 0xc2b2ae3d27d4eb4fu;

	return &r->known[(h ^ h >> 29) * 0x9e3779b97f4a7c15u >> 50 & r->known_mask];
}

static void know_more(struct penn_reader *r)
{
	free(r->known);
	r->known = pm_alloc(KNOWN * sizeof *r->known);
	r->known_mask = KNOWN - 1;
}

/* The line [p, next), which is @u's, may come again. */
static void remember(struct penn_reader *r, const uint8_t *p, const uint8_t *next,
		     const struct pm_uop *u)
{
	const uint8_t *mem = p, *behind = next;
	struct penn_known *k;

	if (next - p > KNOWN_TEXT)
		return;
	if (r->known_mask < KNOWN - 1 && ++r->remembered > KNOWN_FEW / 2)
		know_more(r);
	k = known_at(r, p);
	if (u->access == PM_UOP_NO_ACCESS) {
		mem = next;
	} else {
		/* nine fields and the blanks around them stand before the address */
		for (unsigned field = 0; field < 9; field++) {
			while (is_blank(*mem))
				mem++;
			while (!is_blank(*mem))
				mem++;
		}
		mem++;
		for (behind = mem; is_blank(*behind); behind++)
			;
		while (!is_blank(*behind))
			behind++;
	}
	k->head = (uint8_t)(mem - p);
	k->tail = (uint8_t)(next - behind);
	memcpy(k->text, p, k->head);
	memcpy(k->text + k->head, behind, k->tail);
	k->u = *u;
	k->uop = u->index == 1;
	k->nev = (uint8_t)line_events(u, 0, k->ev);
}

/* HOT: once per line. What penn_line() and line_events() would do, if the line at @p is a known
 * one; KNOWN_AHEAD bytes can be read. NULL: it is not. */
static inline const uint8_t *known_line(struct penn_reader *r, const uint8_t *p, uint32_t id,
					struct pm_uop *u, struct pm_event *ev, unsigned *nev)
{
	const struct penn_known *k = known_at(r, p);
	const uint8_t *start;
	uint64_t mem = 0;
	int d;

	if (!k->head || !pm_same(p, k->text, k->head))
		return NULL;
	p += k->head;
	*u = k->u;
	memcpy(ev, k->ev, sizeof k->ev);
	ev[k->uop].id = id;
	*nev = k->nev;
	if (!k->tail)
		return p;
	while (*p == ' ')
		p++;
	for (start = p; (d = pm_hexval[*p]) >= 0; p++)
		mem = mem << 4 | (unsigned)d;
	if (p == start || p - start > 16 || !pm_same(p, k->text + k->head, k->tail))
		return NULL;
	u->mem = mem;
	ev[k->uop + 1].addr = mem;
	return p + k->tail;
}

static enum pm_status penn_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct penn_reader *r = self;
	struct pm_builder *b = &r->b;
	const uint8_t *w, *p, *end, *ahead;
	size_t got, n = 0;
	unsigned nev = 0;

	pm_input_skip(r->in, r->lent);
	r->lent = 0;
	pm_builder_reset(b, &r->stream, NULL);
	b->b.first_insn = r->insns;
	if (r->end)
		return PM_END;
	w = pm_input_peek(r->in, PM_WINDOW, &got, err);
	if (!w || !got)
		return pm_failed(err) ? PM_ERR : PM_END;
	p = w;
	end = memrchr(w, '\n', got);
	if (end) {
		end++;
	} else if (got >= PM_WINDOW) {
		return pm_fail_line(err, r->line + 1, "line longer than %d bytes", PM_WINDOW - 1);
	} else {
		r->tail = pm_alloc(got + 1);
		memcpy(r->tail, w, got);
		r->tail[got] = '\n';
		p = r->tail;
		end = p + got + 1;
		r->end = true;
	}
	if (!r->started) {
		const uint8_t *nl = memchr(p, '\n', (size_t)(end - p));

		r->started = true;
		if (memmem(p, (size_t)(nl - p), "  ", 2))
			pm_opaque_header(b, "penn", "aligned", 7);
	}
	pm_ev_room(b, LINES_PER_BATCH * MAX_EVENTS_PER_LINE);
	if (b->cap_uop < LINES_PER_BATCH) {
		b->cap_uop = LINES_PER_BATCH;
		b->uop = pm_realloc(b->uop, b->cap_uop * sizeof *b->uop);
	}
	ahead = r->tail || got < KNOWN_AHEAD ? p : w + (got - KNOWN_AHEAD);
	while (p < end && n < LINES_PER_BATCH) {
		struct pm_uop *u = b->uop + n;
		struct pm_event *ev = b->ev + b->b.n;
		const uint8_t *next = p < ahead ? known_line(r, p, (uint32_t)n, u, ev, &nev) : NULL;

		if (!next) {
			next = penn_line(p, u);
			if (__builtin_expect(!next, 0))
				return penn_explain(p, r->line + 1, err);
			nev = line_events(u, (uint32_t)n, ev);
			if (p < ahead)
				remember(r, p, next, u);
		}
		r->line++;
		r->insns += u->index == 1;
		b->b.n += nev;
		n++;
		p = next;
	}
	b->b.nuop = n;
	if (r->tail)
		r->lent = got;
	else
		r->lent = (size_t)(p - w);
	*batch = pm_builder_batch(b);
	return PM_OK;
}

/* ---- writing -------------------------------------------------------------------------------- */

struct penn_writer {
	struct pm_plain w;
	bool chosen, aligned, started;
	bool bare;			/* no micro-op of the last instruction has come */
	uint64_t uops;
	uint64_t seen[PM_EV_COUNT];	/* what came besides micro-ops */
	uint64_t loads, stores, branches;	/* micro-ops that are one */
};

static void *penn_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err)
{
	struct penn_writer *w;
	char buf[16];
	const char *d;

	if (pm_fmt_options_check(o->options, "dialect compact aligned", err) != PM_OK)
		return NULL;
	w = pm_alloc(sizeof *w);
	w->w.out = out;
	d = pm_fmt_option(o->options, "dialect", buf, sizeof buf);
	if (!d && pm_fmt_option(o->options, "compact", buf, sizeof buf))
		d = "compact";
	else if (!d && pm_fmt_option(o->options, "aligned", buf, sizeof buf))
		d = "aligned";
	if (d) {
		w->chosen = true;
		w->aligned = !strcmp(d, "aligned");
		if (!w->aligned && strcmp(d, "compact")) {
			pm_fail_request(err,
					"unknown Penn dialect '%s', expected compact or aligned",
				     d);
			free(w);
			return NULL;
		}
	}
	return w;
}

/* Right-justified: @min columns, as %*s. */
static inline char *put_right(char *p, const char *s, size_t n, size_t min)
{
	while (min > n) {
		*p++ = ' ';
		min--;
	}
	memcpy(p, s, n);
	return p + n;
}

static inline char *put_hex_right(char *p, uint64_t v, unsigned min)
{
	unsigned n = pm_hex_digits(v);

	if (n < min) {
		memset(p, ' ', min - n);
		p += min - n;
	}
	return pm_put_hexn(p, v, n);
}

static inline char *put_reg(char *p, int r, bool aligned)
{
	if (r < 0) {
		p[0] = '-';
		p[1] = '1';
		return p + 2;
	}
	if (aligned && r < 10)
		*p++ = ' ';
	return pm_put_dec(p, (unsigned)r);
}

#define PENN_LINE 256		/* more than the longest line: 10 + 5 * 17 + 3 * 4 + 6 + 21 + 34
				 * + 14 */

static inline char *put_str(char *p, const char *s, size_t *n)
{
	char *start = p;

	while (*s)
		*p++ = *s++;
	*n = (size_t)(p - start);
	return p;
}

static enum pm_status penn_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct penn_writer *w = self;
	size_t i = 0;

	while (i < b->n) {
		size_t room = b->n - i < 512 ? b->n - i : 512;
		char *start = (char *)pm_output_reserve(w->w.out, room * PENN_LINE, err),
		     *p = start;

		if (!start)
			return PM_ERR;
		for (size_t stop = i + room; i < stop; i++) {
			const struct pm_event *e = &b->ev[i];
			const struct pm_uop *u;
			const bool al = w->aligned;
			char num[24];
			size_t n;

			if (e->kind != PM_EV_UOP) {
				size_t len;
				const uint8_t *d;

				w->seen[e->kind]++;
				if (e->kind == PM_EV_INSN) {
					w->w.dropped[PM_EV_INSN] += w->bare;
					w->bare = true;
				}
				if (e->kind == PM_EV_OPAQUE && !w->chosen && !w->started &&
				    (d = pm_opaque_is(b, e, "penn", &len)))
					w->aligned = len == 7 && !memcmp(d, "aligned", 7);
				continue;
			}
			u = &b->uop[e->id];
			w->started = true;
			w->bare = false;
			w->uops++;
			w->loads += u->access == PM_UOP_LOAD;
			w->stores += u->access == PM_UOP_STORE;
			w->branches += u->outcome != PM_UOP_NO_BRANCH;
			if (u->src1 < -1 || u->src2 < -1 || u->dest < -1 || u->src1 > 255 ||
			    u->src2 > 255 || u->dest > 255 || !u->macro[0] || !u->micro[0] ||
			    u->macro[11] || u->micro[22])
				return pm_fail_file(err,
						    "micro-op %llu does not fit a Penn trace: "
						    "registers "
						    "-1..255, opcode names of 1..11 and 1..22 "
						    "characters",
						    (unsigned long long)w->uops);
			p = pm_put_sdec(p, u->index);
			*p++ = ' ';
			p = al ? put_hex_right(p, u->pc, 6) : pm_put_hex(p, u->pc);
			*p++ = ' ';
			p = put_reg(p, u->src1, al);
			*p++ = ' ';
			p = put_reg(p, u->src2, al);
			*p++ = ' ';
			p = put_reg(p, u->dest, al);
			p[0] = ' ';
			p[1] = penn_letter(PENN_FLAG_USE, u->flag_use);
			p[2] = ' ';
			p[3] = penn_letter(PENN_OUTCOME, u->outcome);
			p[4] = ' ';
			p[5] = penn_letter(PENN_ACCESS, u->access);
			p[6] = ' ';
			p += 7;
			if (al) {
				p = put_right(p, num, (size_t)(pm_put_sdec(num, u->imm) - num), 9);
				*p++ = ' ';
				p = put_hex_right(p, u->mem, 12);
				*p++ = ' ';
				p = put_hex_right(p, u->fall, 12);
				*p++ = ' ';
				p = put_hex_right(p, u->target, 12);
			} else {
				p = pm_put_sdec(p, u->imm);
				*p++ = ' ';
				p = pm_put_hex(p, u->mem);
				*p++ = ' ';
				p = pm_put_hex(p, u->fall);
				*p++ = ' ';
				p = pm_put_hex(p, u->target);
			}
			*p++ = ' ';
			p = put_str(p, u->macro, &n);
			for (; al && n < 8; n++)
				*p++ = ' ';
			*p++ = ' ';
			p = put_str(p, u->micro, &n);
			*p++ = '\n';
		}
		if (pm_output_commit(w->w.out, (size_t)(p - start), err) != PM_OK)
			return PM_ERR;
	}
	return PM_OK;
}

static enum pm_status penn_finish(void *self, struct pm_err *err)
{
	struct penn_writer *w = self;

	w->w.dropped[PM_EV_INSN] += w->bare;
	w->bare = false;
	return PM_OK;
}

static uint64_t more(uint64_t came, uint64_t written)
{
	return came > written ? came - written : 0;
}

/* References and branches stand in the micro-ops that make them, and each iteration of a repeated
 * instruction is a macro-op; those without one, and what no micro-op can say, are left out. */
static const uint64_t *penn_dropped(void *self)
{
	struct penn_writer *w = self;

	for (unsigned k = PM_EV_NONE; k < PM_EV_COUNT; k++)
		if (k != PM_EV_INSN && k != PM_EV_MODIFY && k != PM_EV_REP_ITER &&
		    k != PM_EV_OPAQUE)
			w->w.dropped[k] = w->seen[k];
	w->w.dropped[PM_EV_READ] = more(w->seen[PM_EV_READ] + w->seen[PM_EV_MODIFY], w->loads);
	w->w.dropped[PM_EV_WRITE] = more(w->seen[PM_EV_WRITE] + w->seen[PM_EV_MODIFY], w->stores);
	w->w.dropped[PM_EV_BRANCH] = more(w->seen[PM_EV_BRANCH], w->branches);
	return w->w.dropped;
}

static const struct pm_reader_ops penn_read_ops = { penn_open, penn_next, penn_close };
static const struct pm_writer_ops penn_write_ops = { penn_create, penn_write, penn_finish, free,
	penn_dropped };

const struct pm_format pm_fmt_penn = {
	.name = "penn",
	.about = "micro-op traces of Penn's CIS 501, compact or aligned columns",
	.options = "dialect=compact, dialect=aligned  writing: the columns\n"
		   "compact, aligned  the same",
	.plural = "Penn traces",
	.suffixes = ".trace .penn",
	.has = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_BRANCHES | PM_HAS_REGS | PM_HAS_UOPS,
	.needs = PM_HAS_UOPS,
	.probe = penn_probe,
	.read = &penn_read_ops,
	.write = &penn_write_ops,
};
