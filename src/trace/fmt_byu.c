/* SPDX-License-Identifier: MIT */
/* fmt_byu.c - address traces of Brigham Young University, taken from processors' pins
 *
 *   byu (V1.0), 6 bytes                      byu12 (v1.x), 12 bytes, little-endian
 *     0 4 physical address, big-endian         0 4 physical address
 *     4 1 byte enables BE7..BE0, low = on      4 1 request type   5 1 bytes transferred
 *     5 1 control: 7 M/IO# 6 D/C# 5 W/R#       6 1 memory type    7 1 processor
 *         4 CACHE#, rest undefined             8 4 clocks since the previous record
 *   byu-text: "%08x %02x %s" address, enables, name; or as b2a prints 12-byte records:
 *     "%08lx name size attr proc time" with tabs
 *
 * A record becomes PM_EV_BUS with what the pins said, and beside it the reference, fetch or device
 * access that it stands for. A line fill or write-back with all lanes on is one 8-byte access at
 * the line's first address: only that is recorded. A partial last record is dropped and counted as
 * lost.
 *
 * Both forms tell cacheable accesses: by CACHE# and by the memory type, which is pm_bus.attr here.
 * The accesses beside do not carry it: in a complete trace, taken with the caches disabled, all are
 * noncacheable, and what simulators want of it are the accesses. */
#include <stdio.h>
#include <stdlib.h>

#include "trace/bus.h"
#include "trace/sinks.h"
#include "trace/text.h"

enum byu_kind { BYU6, BYU12, BYUTEXT };

static const char *const byu_name[] = { "byu", "byu12", "byu-text" };

static const char *const six_name[16] = {
	"INVALID", "INT_ACK", "INVALID", "SPECIAL", "INVALID", "IO_READ", "INVALID", "IO_WRITE",
	"I_FETCH", "NC_I_FETCH", "INVALID", "INVALID", "D_READ", "NC_D_READ", "WRITE_BACK",
	"D_WRITE",
};

static const uint8_t six_type[16] = {
	PM_BUS_INVALID, PM_BUS_INTACK, PM_BUS_INVALID, PM_BUS_SPECIAL, PM_BUS_INVALID,
	PM_BUS_IO_READ, PM_BUS_INVALID, PM_BUS_IO_WRITE, PM_BUS_FETCH, PM_BUS_FETCH, PM_BUS_INVALID,
	PM_BUS_INVALID, PM_BUS_READ, PM_BUS_READ, PM_BUS_WRITEBACK, PM_BUS_WRITE,
};

static const struct twelve {
	uint8_t req;
	const char *name, *tabs;	/* as b2a prints them, its misspelling included */
} twelve[] = {
	{ 0x00, "FETCH", "\t\t" }, { 0x01, "MEMREAD", "\t" },
	{ 0x02, "MEMREADINV", "\t" }, { 0x03, "MEMWRITE", "\t" },
	{ 0x10, "IOREAD", "\t\t" }, { 0x11, "IOWRITE", "\t" },
	{ 0x20, "DEFERREPLY", "\t" }, { 0x21, "INTA", "\t\t" },
	{ 0x22, "CNTRLAGNTRES", "\t" }, { 0x23, "BRTRACEREC", "\t" },
	{ 0x31, "SHUTDOWN", "\t" }, { 0x32, "FLUSH", "\t\t" },
	{ 0x33, "HALT", "\t\t" }, { 0x34, "SYNC", "\t\t" },
	{ 0x35, "FLUSHACK", "\t" }, { 0x36, "STOPCLKAK", "\t" },
	{ 0x37, "SMIACK", "\t\t" },
};

#define LAST_REQ 0x37
#define NEVER PM_BUS_INVALID
static const uint8_t twelve_type[LAST_REQ + 1] = {
	PM_BUS_FETCH, PM_BUS_READ, PM_BUS_READ_INVAL, PM_BUS_WRITE, NEVER, NEVER, NEVER, NEVER,
	NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER,
	PM_BUS_IO_READ, PM_BUS_IO_WRITE, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER,
	NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER,
	PM_BUS_SPECIAL, PM_BUS_INTACK, PM_BUS_SPECIAL, PM_BUS_SPECIAL, NEVER, NEVER, NEVER, NEVER,
	NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER,
	NEVER, PM_BUS_SPECIAL, PM_BUS_SPECIAL, PM_BUS_SPECIAL,
	PM_BUS_SPECIAL, PM_BUS_SPECIAL, PM_BUS_SPECIAL, PM_BUS_SPECIAL,
};
#undef NEVER

static const struct twelve *twelve_of(unsigned req)
{
	for (size_t i = 0; i < NR(twelve); i++)
		if (twelve[i].req == req)
			return &twelve[i];
	return NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

struct byu_reader {
	struct pm_window w;
	struct pm_lines l;
	struct pm_builder b;
	struct pm_stream stream;
	enum byu_kind kind;
	bool little, b2a, started;
	uint64_t time;
};

/* V1.0 by little-endian tools exist: address bits 2-0 are always 0, which tells. */
static bool guess_little(const uint8_t *p, size_t n)
{
	size_t be = 0, le = 0;

	for (size_t i = 0; i + 6 <= n && i < 4096 * 6; i += 6) {
		be += !(p[i + 3] & 7);
		le += !(p[i] & 7);
	}
	return le > be;
}

static void *byu_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		      struct pm_err *err, enum byu_kind kind)
{
	struct byu_reader *r;
	const uint8_t *p;
	size_t got = 0;
	char buf[8];
	const char *v;

	if (pm_fmt_options_check(o->options, kind == BYU6 ? "order" : "", err) != PM_OK)
		return NULL;
	v = pm_fmt_option(o->options, "order", buf, sizeof buf);
	if (v && strcmp(v, "be") && strcmp(v, "le") && strcmp(v, "auto")) {
		pm_fail_request(err, "order=%s: expected be, le or auto", v);
		return NULL;
	}
	p = pm_input_peek(in, 4096 * 6, &got, err);
	if (!p && pm_failed(err))
		return NULL;
	r = pm_alloc(sizeof *r);
	r->w.in = in;
	r->kind = kind;
	pm_lines_init(&r->l, in);
	r->little = v && strcmp(v, "auto") ? !strcmp(v, "le")
					   : kind == BYU6 && p && guess_little(p, got);
	*facts = PM_HAS_BUS | PM_HAS_PHYS | PM_HAS_REFS | PM_HAS_SIZES |
		 (kind == BYU12 ? PM_HAS_TIME | PM_HAS_CYCLES : PM_HAS_LANES);
	return r;
}

static void byu_close(void *self)
{
	struct byu_reader *r = self;

	if (!r)
		return;
	pm_builder_release(&r->b);
	free(r);
}

/* For @n more records, and the header. */
static void room(struct pm_builder *b, size_t n)
{
	pm_bus_room(b, n + 1);
}

static void add_six(struct byu_reader *r, uint32_t addr, unsigned be, unsigned ctl)
{
	unsigned on = ~be & 0xff, v = ctl >> 4, off = on ? (unsigned)__builtin_ctz(on) : 0;
	unsigned size = (unsigned)__builtin_popcount(on);
	struct pm_bus *u = pm_bus_put(&r->b, addr, size, UINT64_MAX);

	u->type = six_type[v];
	u->attr = v >= 8 && !(v & 1) ? PM_BUS_WRITE_BACK : PM_BUS_UNCACHED;
	u->lanes = (uint8_t)be;
	u->raw[0] = (uint8_t)ctl;
	if (on)
		pm_bus_access(&r->b, u->type, (uint64_t)addr + off, size);
}

static void add_twelve(struct byu_reader *r, uint32_t addr, unsigned req, unsigned size,
		       unsigned attr, unsigned proc, uint32_t time)
{
	struct pm_bus *u;

	if (time != UINT32_MAX)
		r->time += time;
	pm_ev_put(&r->b, PM_EV_TIME, 0, 0, 0, r->time);
	u = pm_bus_put(&r->b, addr, size, time == UINT32_MAX ? UINT64_MAX : time);
	u->type = req <= LAST_REQ ? twelve_type[req] : PM_BUS_INVALID;
	/* such memory is written on the bus only when a line leaves the cache */
	if (u->type == PM_BUS_WRITE && size >= 8 && (attr & 3) == PM_BUS_WRITE_BACK)
		u->type = PM_BUS_WRITEBACK;
	u->attr = (uint8_t)attr;
	u->agent = (uint8_t)proc;
	u->raw[0] = (uint8_t)req;
	if (size)
		pm_bus_access(&r->b, u->type, addr, size);
}

static bool parse_text(struct byu_reader *r, const char *s, size_t n)
{
	struct pm_tok t = { s, s + n };
	const char *tok[7];
	size_t len[7], count = 0;
	uint64_t addr, be, v[4];

	while (count < 7 && (tok[count] = pm_tok_next(&t, &len[count]), len[count]))
		count++;
	if (count < 3 || !pm_hex(tok[0], len[0], &addr) || addr > UINT32_MAX)
		return false;
	if (count == 3) {
		if (len[1] > 2 || !pm_hex(tok[1], len[1], &be))
			return false;
		for (unsigned i = 0; i < 16; i++)
			if (strlen(six_name[i]) == len[2] && !memcmp(six_name[i], tok[2], len[2])) {
				add_six(r, (uint32_t)addr, (unsigned)be, i << 4);
				return true;
			}
		return false;
	}
	if (count != 6)
		return false;
	for (size_t i = 0; i < NR(twelve); i++)
		if (strlen(twelve[i].name) == len[1] && !memcmp(twelve[i].name, tok[1], len[1])) {
			int64_t time;

			if (!pm_dec(tok[2], len[2], &v[0]) || v[0] > 255 ||
			    !pm_hex(tok[3], len[3], &v[1]) || v[1] > 255 ||
			    !pm_dec(tok[4], len[4], &v[2]) || v[2] > 255 ||
			    !pm_sdec(tok[5], len[5], &time) || time < -1 || time > UINT32_MAX)
				return false;
			add_twelve(r, (uint32_t)addr, twelve[i].req, (unsigned)v[0], (unsigned)v[1],
				   (unsigned)v[2], (uint32_t)time);
			r->b2a = true;
			return true;
		}
	return false;
}

static enum pm_status byu_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct byu_reader *r = self;
	struct pm_builder *b = &r->b;
	const unsigned size = r->kind == BYU6 ? 6 : 12;
	bool header = false;

	pm_builder_reset(b, &r->stream, NULL);
	room(b, PM_BATCH_EVENTS);
	while (b->b.n < PM_BATCH_EVENTS) {
		const uint8_t *p;
		enum pm_status st;

		if (!r->started) {
			r->started = header = true;
			pm_opaque_header(b, byu_name[r->kind], r->little ? "le" : "be", 2);
		}
		if (r->kind == BYUTEXT) {
			const char *s;
			size_t n;

			st = pm_lines_next(&r->l, &s, &n, err);
			if (st == PM_ERR)
				return st;
			if (st == PM_END)
				break;
			if (!parse_text(r, s, n))
				return pm_fail_text(err, r->l.line, "'ADDRESS ENABLES NAME'", s, n);
			/* which of the two texts it is, the first line tells */
			if (header && r->b2a)
				memcpy(b->arena + b->ev[0].addr + strlen(byu_name[BYUTEXT]) + 1,
				       "b2", 2);
			header = false;
			continue;
		}
		if (pm_window_left(&r->w) < size) {
			st = pm_window_fill(&r->w, PM_WINDOW, err);
			if (st == PM_ERR)
				return st;
			if (st == PM_END)
				break;
			if (pm_window_left(&r->w) < size) {
				/* the original loop drops it, too; only we say so */
				pm_ev_add(b, PM_EV_LOST, 0, 0, 0, 1);
				r->w.p = r->w.end;
				continue;
			}
		}
		p = r->w.p;
		if (r->kind == BYU6) {
			uint32_t a;

			memcpy(&a, p, 4);
			add_six(r, r->little ? le32toh(a) : be32toh(a), p[4], p[5]);
		} else {
			add_twelve(r, pm_get32(p), p[4], p[5], p[6], p[7], pm_get32(p + 8));
		}
		r->w.p += size;
	}
	if (!b->b.n || (b->b.n == 1 && header && r->kind == BYUTEXT))
		return PM_END;
	*batch = pm_builder_batch(b);
	return PM_OK;
}

/* ---- writing -------------------------------------------------------------------------------- */

struct byu_writer {
	struct pm_plain w;
	enum byu_kind kind;
	bool bus, little, b2a, timed, first;
	uint64_t now, last;
};

static void *byu_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err,
			enum byu_kind kind)
{
	struct byu_writer *w;
	char buf[8];
	const char *v;

	if (pm_fmt_options_check(o->options,
				 kind == BYU6	   ? "order"
				 : kind == BYUTEXT ? "b2a"
						   : "",
				 err) != PM_OK)
		return NULL;
	v = pm_fmt_option(o->options, "order", buf, sizeof buf);
	if (v && strcmp(v, "be") && strcmp(v, "le")) {
		pm_fail_request(err, "order=%s: expected be or le", v);
		return NULL;
	}
	w = pm_alloc(sizeof *w);
	w->w.out = out;
	w->kind = kind;
	w->bus = o->facts & PM_HAS_BUS;
	w->timed = o->facts & PM_HAS_TIME;
	w->little = v && !strcmp(v, "le");
	w->b2a = pm_fmt_option(o->options, "b2a", buf, sizeof buf);
	w->first = true;
	return w;
}

static char *put_six(struct byu_writer *w, char *p, uint64_t addr, unsigned be, unsigned ctl)
{
	uint32_t a = (uint32_t)addr;

	if (w->kind == BYUTEXT) {
		p = pm_put_hexn(p, a, 8);
		*p++ = ' ';
		p = pm_put_hexn(p, be, 2);
		*p++ = ' ';
		p = pm_put_str(p, six_name[ctl >> 4]);
		*p++ = '\n';
		return p;
	}
	a = w->little ? htole32(a) : htobe32(a);
	memcpy(p, &a, 4);
	p[4] = (char)be;
	p[5] = (char)ctl;
	return p + 6;
}

static char *put_twelve(struct byu_writer *w, char *p, uint64_t addr, unsigned req, unsigned size,
			unsigned attr, unsigned proc, uint32_t time)
{
	if (w->kind == BYUTEXT) {
		const struct twelve *t = twelve_of(req);

		return p + sprintf(p, "%08x %s%s%2d\t%02x\t%1d\t%d\n", (uint32_t)addr,
				   t ? t->name : "UNKNOWN", t ? t->tabs : "\t", size, attr, proc,
				   (int32_t)time);
	}
	p = pm_put32(p, (uint32_t)addr);
	p[0] = (char)req;
	p[1] = (char)size;
	p[2] = (char)attr;
	p[3] = (char)proc;
	return pm_put32(p + 4, time);
}

static uint32_t clocks(struct byu_writer *w)
{
	uint64_t d = w->now - w->last;

	if (w->first) {
		w->first = false;
		w->last = w->now;
		return UINT32_MAX;
	}
	w->last = w->now;
	return d > UINT32_MAX - 1 ? UINT32_MAX - 1 : (uint32_t)d;
}

static unsigned control(unsigned type, bool cacheable)
{
	static const struct { uint8_t uncached, cacheable; } ctl[] = {
		[PM_BUS_FETCH] = { 0x90, 0x80 }, [PM_BUS_READ] = { 0xd0, 0xc0 },
		[PM_BUS_READ_INVAL] = { 0xd0, 0xc0 }, [PM_BUS_WRITE] = { 0xf0, 0xf0 },
		[PM_BUS_WRITEBACK] = { 0xe0, 0xe0 }, [PM_BUS_IO_READ] = { 0x50, 0x50 },
		[PM_BUS_IO_WRITE] = { 0x70, 0x70 }, [PM_BUS_INTACK] = { 0x10, 0x10 },
		[PM_BUS_SPECIAL] = { 0x30, 0x30 }, [PM_BUS_INVALID] = { 0, 0 },
	};

	return cacheable ? ctl[type].cacheable : ctl[type].uncached;
}

static const uint8_t request[] = {
	[PM_BUS_FETCH] = 0, [PM_BUS_READ] = 1, [PM_BUS_WRITE] = 3, [PM_BUS_WRITEBACK] = 3,
	[PM_BUS_READ_INVAL] = 2, [PM_BUS_IO_READ] = 0x10, [PM_BUS_IO_WRITE] = 0x11,
	[PM_BUS_INTACK] = 0x21, [PM_BUS_SPECIAL] = 0x31, [PM_BUS_INVALID] = 0x20,
};

/* A whole line on its way between a cache and memory: one transaction. */
static char *put_line(struct byu_writer *w, char *p, uint64_t addr, unsigned size, unsigned type)
{
	if (!w->timed)
		w->now++;
	if (w->kind == BYU12 || w->b2a)
		return put_twelve(w, p, addr, request[type], size < 255 ? size : 255,
				  PM_BUS_WRITE_BACK, 0, clocks(w));
	return put_six(w, p, addr & ~7ull,
		       size < 8 ? ~(((1u << size) - 1) << (addr & 7)) & 0xff : 0,
		       control(type, true));
}

/* An access of another trace as what the pins of an uncached processor would show. */
static char *put_access(struct byu_writer *w, char *p, char *limit, uint64_t addr, unsigned size,
			unsigned type)
{
	if (!size)
		size = 4;
	while (size && p + 64 < limit) {
		unsigned off = (unsigned)addr & 7, n = size < 8 - off ? size : 8 - off;

		if (w->kind == BYU12 || w->b2a)
			p = put_twelve(w, p, addr, request[type], n, PM_BUS_UNCACHED, 0, clocks(w));
		else
			p = put_six(w, p, addr & ~7ull, ~(((1u << n) - 1) << off) & 0xff,
				    control(type, false));
		addr += n;
		size -= n;
		if (!w->timed)
			w->now++;
	}
	return p;
}

static char *put_transaction(struct byu_writer *w, char *p, const struct pm_event *e,
			     const struct pm_bus *u)
{
	unsigned type = u->type <= PM_BUS_INVALID ? u->type : PM_BUS_INVALID, ctl;
	const uint8_t cycle = type == PM_BUS_SPECIAL ? pm_bus_request(u, e->addr) : 0;

	if (w->kind == BYU12 || w->b2a) {
		uint32_t t = w->w.native || u->time != UINT64_MAX
				     ? u->time == UINT64_MAX ? UINT32_MAX : (uint32_t)u->time
				     : clocks(w);

		w->first = false;
		/* the address may be that of the eight bytes in which the lanes are */
		return put_twelve(w, p,
				  w->w.native || !u->lanes || u->lanes == 0xff || cycle
					  ? e->addr
					  : (e->addr & ~7ull) +
						    (unsigned)__builtin_ctz(~u->lanes & 0xff),
				  w->w.native ? u->raw[0] : cycle ? cycle : request[type],
				  cycle && !w->w.native ? 0 : e->size, u->attr, u->agent, t);
	}
	if (w->w.native)
		return put_six(w, p, e->addr, u->lanes, u->raw[0]);
	ctl = control(type, (u->attr & 3) != PM_BUS_UNCACHED);
	if (type == PM_BUS_SPECIAL) {
		uint64_t addr = e->addr;
		uint8_t be = u->lanes ? u->lanes : pm_bus_enables(cycle, &addr);

		return put_six(w, p, addr, be, ctl);
	}
	/* byte enables from the access: a transfer of more than 8 bytes is one of whole lanes */
	if (e->size > 8 || !e->size)
		return put_six(w, p, e->addr & ~7ull, 0, ctl);
	return put_six(w, p, e->addr & ~7ull, ~(((1u << e->size) - 1) << (e->addr & 7)) & 0xff,
		       ctl);
}

#define BYU_MAX 1024			/* bytes that one event becomes at most; an access of 100
					 * bytes fits */

static char *byu_put(void *self, char *p, const struct pm_batch *b, const struct pm_event *e,
		     struct pm_err *err)
{
	struct byu_writer *w = self;
	const uint8_t *d;
	char *limit = p + BYU_MAX;
	unsigned type = PM_BUS_INVALID;
	size_t n, len;
	uint64_t addr = e->addr;

	switch (e->kind) {
	case PM_EV_OPAQUE:
		d = pm_opaque_is(b, e, byu_name[w->kind], &n);
		if (d && n == 2)
			w->little |= !memcmp(d, "le", 2) && w->kind == BYU6;
		/* both texts stand for a binary form, whose control bytes they keep */
		d = pm_opaque_is(b, e, byu_name[BYUTEXT], &n);
		if (pm_opaque_is(b, e, byu_name[BYU12], &len) ||
		    (d && n == 2 && !memcmp(d, "b2", 2))) {
			w->b2a |= w->kind == BYUTEXT;
			w->w.native = w->kind != BYU6;
		} else if (pm_opaque_is(b, e, byu_name[BYU6], &len) || d) {
			w->w.native = w->kind != BYU12 && !w->b2a;
		}
		return p;
	case PM_EV_TIME:
		w->now = e->value;
		w->w.dropped[PM_EV_TIME] += w->kind != BYU12 && !w->b2a;
		return p;
	case PM_EV_BUS:
		if (e->addr > UINT32_MAX)
			break;
		return put_transaction(w, p, e, &b->bus[e->id]);
	case PM_EV_INSN: case PM_EV_LINE:
		type = PM_BUS_FETCH;
		break;
	case PM_EV_READ:
		type = PM_BUS_READ;
		break;
	case PM_EV_WRITE: case PM_EV_MODIFY:
		type = PM_BUS_WRITE;
		break;
	case PM_EV_DEVICE: case PM_EV_DMA:
		if (w->bus)
			return p;
		/* fall through */
	default:
		w->w.dropped[e->kind]++;
		return p;
	}
	if (e->kind != PM_EV_BUS && w->bus)
		return p;		/* the bus transaction beside it was written */
	if (addr >> 32)
		addr = pm_narrow(b, addr);
	if (addr + e->size > UINT32_MAX + 1ull) {
		pm_fail_wide(err, e->addr,
			     "BYU traces hold physical addresses of 32 bits, xdin, lackey or "
			     "drmemtrace any");
		return NULL;
	}
	if (e->flags & PM_REF_FILL && e->size)
		return put_line(w, p, addr, e->size,
				type == PM_BUS_WRITE ? PM_BUS_WRITEBACK : type);
	if (e->kind == PM_EV_MODIFY)
		p = put_access(w, p, limit, addr, e->size, PM_BUS_READ);
	return put_access(w, p, limit, addr, e->size, type);
}

static enum pm_status byu_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	return pm_plain_write(self, " ", b, BYU_MAX, byu_put, err);
}

/* ---- probing -------------------------------------------------------------------------------- */

static int six_probe(const uint8_t *head, size_t n)
{
	size_t records = n / 6 < 4096 ? n / 6 : 4096, good = 0, be = 0, le = 0;

	if (!records || (n < PM_WINDOW && n % 6))
		return 0;
	for (size_t i = 0; i < records; i++) {
		const uint8_t *p = head + 6 * i;

		good += six_type[p[5] >> 4] != PM_BUS_INVALID && p[4] != 0xff && !(p[5] & 15);
		be += !(p[3] & 7);
		le += !(p[0] & 7);
	}
	if (good < records || (be < records && le < records))
		return 0;
	return 14 + 4 * (int)(records < 8 ? records : 8);
}

static int twelve_probe(const uint8_t *head, size_t n)
{
	size_t records = n / 12 < 4096 ? n / 12 : 4096;

	if (!records || (n < PM_WINDOW && n % 12))
		return 0;
	/* zeros would be fetches of no bytes, all at once */
	if (!head[0] && !memcmp(head, head + 1, 12 * records - 1))
		return 0;
	for (size_t i = 0; i < records; i++) {
		const uint8_t *p = head + 12 * i;

		if (!twelve_of(p[4]) || p[7] > 15 ||
		    (p[5] > 8 && p[5] != 16 && p[5] != 32 && p[5] != 64))
			return 0;
	}
	return 10 + 5 * (int)(records < 8 ? records : 8) +
	       (pm_get32(head + 8) == UINT32_MAX ? 28 : 0);
}

static int text_probe(const uint8_t *head, size_t n)
{
	const char *s = (const char *)head, *nl = memchr(head, '\n', n);
	struct byu_reader r = { .kind = BYUTEXT };
	bool ok;

	if (!nl && n >= PM_WINDOW)
		return 0;
	room(&r.b, 1);
	ok = n && parse_text(&r, s, nl ? (size_t)(nl - s) : n);
	pm_builder_release(&r.b);
	return ok ? 70 : 0;
}

#define ROW(id, text, descr, names, k, bid, ext, fact)					\
static void *row_##id##_open(struct pm_input *in, const struct pm_read_opts *o,		\
	uint32_t *f, struct pm_err *e)							\
{											\
	return byu_open(in, o, f, e, k);						\
}											\
static void *row_##id##_create(struct pm_output *out, const struct pm_write_opts *o,	\
	struct pm_err *e)								\
{											\
	return byu_create(out, o, e, k);						\
}											\
static const struct pm_reader_ops row_##id##_read = { row_##id##_open, byu_next,	\
	byu_close };									\
static const struct pm_writer_ops row_##id##_write = {					\
	row_##id##_create, byu_write, pm_plain_finish, free, pm_plain_dropped		\
};											\
const struct pm_format pm_fmt_##id = {							\
	.name = text, .about = descr, .plural = names, .suffixes = ext,			\
	.has = PM_HAS_BUS | PM_HAS_PHYS | PM_HAS_REFS | PM_HAS_SIZES | fact,		\
	.options = (k) == BYU6 ? "order=be, le, auto  of an address's bytes (writing: be)" :	\
		   (k) == BYUTEXT ? "b2a  writing: as b2a prints 12-byte records" : NULL,	\
	.needs = PM_HAS_REFS,								\
	.probe = bid, .read = &row_##id##_read, .write = &row_##id##_write,		\
};
ROW(byu, "byu", "BYU address traces V1.0: 6-byte bus transactions", "BYU traces", BYU6, six_probe,
    ".byu", PM_HAS_LANES)
ROW(byu12, "byu12", "BYU address traces v1.x: 12-byte bus transactions", "BYU v1.x traces", BYU12,
    twelve_probe, ".byu12", (PM_HAS_TIME | PM_HAS_CYCLES))
ROW(byu_text, "byu-text", "BYU address traces as text", "BYU text traces", BYUTEXT, text_probe,
    ".byu.txt", PM_HAS_LANES)
