/* SPDX-License-Identifier: MIT */
/* text.h - what readers and writers of foreign formats share: lines, numbers, events in bulk
 *
 * Lines      pm_lines_next() lends one line at a time without its LF (and CR); a last line without
 *            LF counts. A line longer than PM_LINE_MAX is an error, so memory stays bounded.
 * Numbers    a token is parsed to its end or not at all; put functions return the new end.
 * Places     errors name the line; pm_records errors name the byte. */
#ifndef PM_TRACE_TEXT_H
#define PM_TRACE_TEXT_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "trace/format.h"
#include "trace/io.h"
#include "trace/pipeline.h"

#define PM_LINE_MAX	65536
#define PM_WINDOW	65536		/* what readers ask pm_input_peek() for */

/* ---- lines ---------------------------------------------------------------------------------- */
struct pm_lines {
	struct pm_input *in;
	const uint8_t *base, *p, *end;	/* the window; base <= p <= end */
	uint64_t line;			/* number of the line lent last; the first is 1 */
};

static inline void pm_lines_init(struct pm_lines *l, struct pm_input *in)
{
	*l = (struct pm_lines){ .in = in };
}

/* The window holds a whole line or the rest of the input. PM_END: nothing is left. */
enum pm_status pm_lines_fill(struct pm_lines *l, struct pm_err *err);

static inline enum pm_status pm_lines_next(struct pm_lines *l, const char **s, size_t *n,
					   struct pm_err *err)
{
	const uint8_t *nl = l->p == l->end ? NULL : memchr(l->p, '\n', (size_t)(l->end - l->p));

	*s = NULL;
	*n = 0;
	if (!nl) {
		enum pm_status st = pm_lines_fill(l, err);

		if (st != PM_OK)
			return st;
		nl = memchr(l->p, '\n', (size_t)(l->end - l->p));
	}
	l->line++;
	*s = (const char *)l->p;
	if (nl) {
		*n = (size_t)(nl - l->p);
		l->p = nl + 1;
	} else {
		*n = (size_t)(l->end - l->p);
		l->p = l->end;
	}
	if (*n && (*s)[*n - 1] == '\r')
		--*n;
	return PM_OK;
}

/* ---- tokens inside a line ------------------------------------------------------------------- */
struct pm_tok {
	const char *p, *end;
};

static inline bool pm_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Next blank-separated token; its length is 0 at the end of the line. */
static inline const char *pm_tok_next(struct pm_tok *t, size_t *n)
{
	const char *s;

	while (t->p < t->end && pm_is_blank(*t->p))
		t->p++;
	s = t->p;
	while (t->p < t->end && !pm_is_blank(*t->p))
		t->p++;
	*n = (size_t)(t->p - s);
	return s;
}

extern const int8_t pm_hexval[256];	/* -1: not a hexadecimal digit */

/* The whole of s[0..n) as a number; hexadecimal with an optional 0x. */
bool pm_hex(const char *s, size_t n, uint64_t *v);
bool pm_dec(const char *s, size_t n, uint64_t *v);
bool pm_sdec(const char *s, size_t n, int64_t *v);
/* C's base 0: 0x hex, else decimal (a leading 0 is not octal: no tool writes that) */
bool pm_num(const char *s, size_t n, uint64_t *v);

/* ---- formatting ----------------------------------------------------------------------------- */
static inline unsigned pm_hex_digits(uint64_t v)
{
	return v ? (67u - (unsigned)__builtin_clzll(v)) / 4 : 1;
}

static inline char *pm_put_hexn(char *p, uint64_t v, unsigned digits)
{
	for (unsigned i = digits; i--; v >>= 4)
		p[i] = "0123456789abcdef"[v & 15];
	return p + digits;
}

static inline char *pm_put_hex(char *p, uint64_t v)
{
	return pm_put_hexn(p, v, pm_hex_digits(v));
}

/* At least @min digits, as %0*llx. */
static inline char *pm_put_hex0(char *p, uint64_t v, unsigned min)
{
	unsigned n = pm_hex_digits(v);

	return pm_put_hexn(p, v, n < min ? min : n);
}

char *pm_put_dec_wide(char *p, uint64_t v);
static inline char *pm_put_dec(char *p, uint64_t v)
{
	if (v < 10) {
		*p = (char)('0' + v);
		return p + 1;
	}
	if (v < 100) {
		p[0] = (char)('0' + v / 10);
		p[1] = (char)('0' + v % 10);
		return p + 2;
	}
	return pm_put_dec_wide(p, v);
}

static inline char *pm_put_sdec(char *p, int64_t v)
{
	if (v < 0) {
		*p++ = '-';
		return pm_put_dec(p, -(uint64_t)v);
	}
	return pm_put_dec(p, (uint64_t)v);
}

static inline char *pm_put_str(char *p, const char *s)
{
	size_t n = strlen(s);

	memcpy(p, s, n);
	return p + n;
}

/* ---- events in bulk ------------------------------------------------------------------------- */
/* Room for @n more events, so that pm_ev_put() need not ask. */
static inline void pm_ev_room(struct pm_builder *b, size_t n)
{
	if (b->cap_ev - b->b.n < n) {
		b->cap_ev = b->b.n + b->b.n / 2 + n;
		b->ev = pm_realloc(b->ev, b->cap_ev * sizeof *b->ev);
	}
}

static inline struct pm_event *pm_ev_put(struct pm_builder *b, enum pm_kind kind, unsigned flags,
					 unsigned size, uint64_t addr, uint64_t value)
{
	struct pm_event *e = &b->ev[b->b.n++];

	*e = (struct pm_event){
		(uint8_t)kind, (uint8_t)flags, (uint16_t)size, PM_NONE, addr, value
	};
	return e;
}

/* pm_ev_put() after pm_ev_room(b, 1): for what is rare. */
static inline struct pm_event *pm_ev_add(struct pm_builder *b, enum pm_kind kind, unsigned flags,
					 unsigned size, uint64_t addr, uint64_t value)
{
	if (b->cap_ev == b->b.n)
		pm_ev_room(b, b->b.n + 256);
	return pm_ev_put(b, kind, flags, size, addr, value);
}

/* What stands before an event's address, as a number, and the whole event, for loops that the
 * number of stores limits: two instead of six. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "pm_ev_head() is how struct pm_event begins");
static inline uint64_t pm_ev_head(enum pm_kind kind, unsigned flags, unsigned size, uint32_t id)
{
	return (uint64_t)id << 32 | size << 16 | flags << 8 | (unsigned)kind;
}

static inline void pm_ev_at(struct pm_event *e, uint64_t head, uint64_t addr, uint64_t value)
{
	typedef uint64_t pair __attribute__((vector_size(16)));
	const pair half = { head, addr };

	memcpy(e, &half, sizeof half);
	e->value = value;
}

/* ---- what only the same format understands -------------------------------------------------- */
/* A reader that keeps odd bits says so with an opaque header: its format's name and a detail. A
 * writer of that format then knows that the opaque events that follow are its own. They carry
 * their payload in `value` (and `id`, `flags`), so they cost no arena. */
void pm_opaque_header(struct pm_builder *b, const char *format, const void *detail, size_t n);
/* The detail if @e is @format's header: borrowed, *n its length; else NULL. */
const uint8_t *pm_opaque_is(const struct pm_batch *b, const struct pm_event *e, const char *format,
			    size_t *n);

/* Copy the bytes of all opaque events from @i on that are records as they were (flags 2), those
 * that stand one behind another at once: the whole of a writer whose input is of its own format. */
enum pm_status pm_copy_records(struct pm_output *out, const struct pm_batch *b, size_t i,
			       struct pm_err *err);

/* ---- writers that put a line or record per event --------------------------------------------- */
struct pm_plain {			/* first member of such a writer */
	struct pm_output *out;
	bool native;			/* the source is of the same format (its opaque header
					 * came) */
	uint64_t dropped[PM_EV_COUNT];
};
/* Put what @e becomes at @p (at most @max bytes) and return the new end; NULL after pm_fail. */
typedef char *pm_put_event(void *self, char *p, const struct pm_batch *b, const struct pm_event *e,
			   struct pm_err *err);
enum pm_status pm_plain_write(struct pm_plain *w, const char *format, const struct pm_batch *b,
			      size_t max, pm_put_event *put, struct pm_err *err);
const uint64_t *pm_plain_dropped(void *self);
enum pm_status pm_plain_finish(void *self, struct pm_err *err);		/* nothing to do */

/* Is @e a reference to memory, as opposed to an order to a cache (din's copy-back and
 * invalidate)? */
static inline bool pm_is_ref(const struct pm_event *e)
{
	return e->kind >= PM_EV_READ && e->kind <= PM_EV_MODIFY &&
	       !(e->flags & (PM_REF_COPYBACK | PM_REF_INVAL | PM_REF_ALL));
}

/* An address of a 32-bit kernel on a 64-bit MIPS is sign-extended: in 32 bits it is the lower half.
 * x86-64 has addresses of its own up there. */
static inline uint64_t pm_narrow(const struct pm_batch *b, uint64_t addr)
{
	bool own = b->code && b->code->ninsn && b->code->insn[0].isa == PM_ISA_X86_64;

	return addr >= 0xffffffff80000000ULL && !own ? (uint32_t)addr : addr;
}

/* "address 0x... needs more than 32 bits; @instead" */
enum pm_status pm_fail_wide(struct pm_err *err, uint64_t addr, const char *instead);
/* The plain failure of a text reader: "expected WANT, found 'LINE'", cut to a readable length. */
enum pm_status pm_fail_text(struct pm_err *err, uint64_t line, const char *want, const char *s,
			    size_t n);

/* ---- readers of fixed-size or tagged records ------------------------------------------------- */
struct pm_window {
	struct pm_input *in;
	const uint8_t *base, *p, *end;
};
/* At least @want bytes from w->p on, fewer only at the end of the input. PM_END: none at all. */
enum pm_status pm_window_fill(struct pm_window *w, size_t want, struct pm_err *err);
static inline size_t pm_window_left(const struct pm_window *w)
{
	return (size_t)(w->end - w->p);
}
/* File offset of w->p. */
static inline uint64_t pm_window_at(const struct pm_window *w)
{
	return pm_input_offset(w->in) + (uint64_t)(w->p - w->base);
}

static inline uint16_t pm_get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof v);
	return le16toh(v);
}
static inline uint32_t pm_get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return le32toh(v);
}
static inline uint64_t pm_get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return le64toh(v);
}
static inline void *pm_put16(void *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof v);
	return (char *)p + sizeof v;
}
static inline void *pm_put32(void *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof v);
	return (char *)p + sizeof v;
}
static inline void *pm_put64(void *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof v);
	return (char *)p + sizeof v;
}

/* Are a[0..n) and b[0..n) the same? Without a call, because n is small and this is HOT. */
static inline bool pm_same(const uint8_t *a, const uint8_t *b, size_t n)
{
	uint64_t x = 0;
	size_t i = 0;

	/* both ends, which overlap */
	if (n < 4)
		return !n || (a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1]);
	if (n < 8)
		return pm_get32(a) == pm_get32(b) && pm_get32(a + n - 4) == pm_get32(b + n - 4);
	for (; i + 16 <= n; i += 16)
		x |= (pm_get64(a + i) ^ pm_get64(b + i)) |
		     (pm_get64(a + i + 8) ^ pm_get64(b + i + 8));
	if (i + 8 <= n)
		x |= pm_get64(a + i) ^ pm_get64(b + i);
	return !(x | (pm_get64(a + n - 8) ^ pm_get64(b + n - 8)));
}

/* Nothing but printable characters and white space in the first half kilobyte: no binary format. */
bool pm_looks_text(const uint8_t *head, size_t n);

/* ---- options: "order=le,keep" ---------------------------------------------------------------- */
/* Value of @key in @options: "" when the key stands alone; NULL when it is absent. Into @buf. */
const char *pm_fmt_option(const char *options, const char *key, char *buf, size_t size);
/* The same as a number of instructions, @least or more, into *@n, which stays if it is absent. */
enum pm_status pm_fmt_option_insns(const char *options, const char *key, uint64_t least,
				   uint64_t *n, struct pm_err *err);
/* Fails on any key that is not in the blank-separated list @known. */
enum pm_status pm_fmt_options_check(const char *options, const char *known, struct pm_err *err);

#endif
