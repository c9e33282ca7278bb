/* SPDX-License-Identifier: MIT */
/* fmt_gem5.c - gem5's instruction traces in protocol buffers, encoded and decoded by hand
 *
 *   "gem5" (0x67 65 6d 35), then messages, each behind its length as a varint
 *   InstHeader  1 obj_id string, 2 ver, 3 tick_freq, 4 has_mem
 *   Inst        1 pc, 2 inst fixed32 or 9 inst_bytes, 3 nodeid, 4 cpuid, 5 tick fixed64, 6 type,
 *               7 inst_flags, 8 mem_access (repeated): 1 addr, 2 size, 3 mem_flags
 *
 * type: 1 integer, 2 multiply, 3 divide, 4.. floating point, 30 read, 31 write.
 * A message is kept whole as an opaque event, so a trace comes back byte for byte, with fields that
 * this reader does not know. The type says whether an instruction's references are reads or
 * writes: gem5 does not tell them apart one by one.
 *
 * No field says which instruction set it is. What pugmark writes says so in obj_id: "pugmark" alone
 * is x86-64, else a name of isas[] stands behind it. Of other traces `gem5:isa=` says it. */
#include <stdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string.h>

#include "base/cur.h"
#include "trace/group.h"
#include "trace/insns.h"
#include "trace/text.h"

#define MESSAGE_MAX	(1 << 20)
#define TYPE_ALU	1
#define TYPE_READ	30
#define TYPE_WRITE	31

/* A message as it was met last at its address. It is the same each time the instruction executes,
 * but for its tick and what its addresses are: the bits of @mask are those of @text. That an
 * address takes as many bytes as last time is among them. */
#define SEEN_LOG	16
#define SEEN		(1u << SEEN_LOG)	/* messages, at most; 12 MiB */
#define SEEN_FEW	(1u << 6)		/* ... room for so many at first */
#define SEEN_TEXT	64
#define SEEN_MEM	2
#define SEEN_ROOM	(SEEN_TEXT + 8)	/* bytes from the message on that are looked at */

struct gem5_seen {
	uint8_t text[SEEN_TEXT], mask[SEEN_TEXT];
	uint64_t insn, pc, opaque;	/* of the events: what stands before their addresses */
	uint64_t ref[SEEN_MEM];
	uint64_t digits[SEEN_MEM];	/* bits of an address in 8 bytes from its first on */
	uint8_t addr[SEEN_MEM], tick;	/* where they are */
	uint8_t nmem;
	uint8_t n;			/* bytes of the message; 0: nothing yet */
};

static const struct { const char *name; enum pm_isa isa; } isas[] = {
	{ "x86-64", PM_ISA_X86_64 }, { "i386", PM_ISA_X86_32 }, { "mips", PM_ISA_MIPS },
	{ "mips-be", PM_ISA_MIPS_BE }, { "riscv", PM_ISA_RISCV }, { "other", PM_ISA_NONE },
};
#define ISA_NAMES "x86-64, i386, mips, mips-be, riscv or other"
#define OBJ_ID	"pugmark"

struct gem5_reader {
	struct pm_window w;
	struct pm_builder b;
	struct pm_stream stream;
	struct pm_codes codes;
	struct gem5_seen *seen;		/* in the order in which they were met, so that what
					 * comes next is near */
	uint32_t (*seen_at)[2];		/* which it is, by a message's first bytes, the newest
					 * first; 0 is nothing */
	uint32_t nseen, cap_seen;
	uint64_t insns, tick, scale;	/* scale: ticks in a nanosecond */
	enum pm_isa isa;
	bool started, timed, told;	/* told: an option says which isa */
};

static bool isa_named(const char *name, size_t n, enum pm_isa *isa)
{
	for (size_t i = 0; i < NR(isas); i++)
		if (strlen(isas[i].name) == n && !memcmp(isas[i].name, name, n)) {
			*isa = isas[i].isa;
			return true;
		}
	return false;
}

static const char *name_of_isa(enum pm_isa isa)
{
	for (size_t i = 0; i < NR(isas); i++)
		if (isas[i].isa == isa)
			return isas[i].name;
	return NULL;
}

static void *gem5_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		       struct pm_err *err)
{
	enum pm_isa isa = PM_ISA_X86_64;
	struct gem5_reader *r;
	const uint8_t *p;
	const char *name;
	char buf[16];
	size_t got;

	if (pm_fmt_options_check(o->options, "isa", err) != PM_OK)
		return NULL;
	name = pm_fmt_option(o->options, "isa", buf, sizeof buf);
	if (name && !isa_named(name, strlen(name), &isa)) {
		pm_fail_file(err, "expected " ISA_NAMES " as isa, found '%s'", name);
		return NULL;
	}
	p = pm_input_peek(in, 4, &got, err);
	if (!p && pm_failed(err))
		return NULL;
	if (got < 4 || memcmp(p, "gem5", 4)) {
		pm_fail(err, 0, "expected the magic \"gem5\"");
		return NULL;
	}
	pm_input_skip(in, 4);
	r = pm_alloc(sizeof *r);
	r->w.in = in;
	r->scale = 1;
	r->isa = isa;
	r->told = name;
	r->seen_at = pm_alloc(SEEN / 2 * sizeof *r->seen_at);
	r->cap_seen = SEEN_FEW;
	r->seen = pm_alloc(r->cap_seen * sizeof *r->seen);
	r->nseen = 1;
	*facts = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_TIME;
	return r;
}

static void gem5_close(void *self)
{
	struct gem5_reader *r = self;

	if (!r)
		return;
	pm_builder_release(&r->b);
	pm_codes_release(&r->codes);
	free(r->seen);
	free(r->seen_at);
	free(r);
}

/* A field's key and value; wire types 0 varint, 1 fixed64, 2 bytes, 5 fixed32. */
struct pb {
	unsigned field, wire;
	uint64_t v;
	const uint8_t *p;
};

static bool pb_next(struct pm_cur *c, struct pb *f)
{
	uint64_t key;

	if (!pm_cur_left(c) || pm_failed(c->err))
		return false;
	key = pm_cur_varint(c, "field key");
	f->field = (unsigned)(key >> 3);
	f->wire = key & 7;
	switch (f->wire) {
	case 0:
		f->v = pm_cur_varint(c, "number");
		break;
	case 1:
		f->v = pm_cur_u64(c, "fixed64 number");
		break;
	case 2:
		f->v = pm_cur_varint(c, "length");
		f->p = pm_cur_bytes(c, f->v, "field");
		break;
	case 5:
		f->v = pm_cur_u32(c, "fixed32 number");
		break;
	default:
		pm_fail(c->err, pm_cur_at(c) - 1, "expected wire type 0, 1, 2 or 5, found %u",
			f->wire);
	}
	return !pm_failed(c->err);
}

/* @buffer: gem5 stores its whole buffer, which may be longer than the instruction. */
static uint32_t insn_of(struct gem5_reader *r, uint64_t pc, const uint8_t *bytes, unsigned len,
			bool buffer)
{
	bool fresh;
	uint32_t id = pm_codes_put(&r->codes, pc, bytes, len, buffer, r->isa, &fresh);
	struct pm_insn *in = &r->codes.insn[id];
	struct x86_regs x;

	if (fresh && buffer && r->isa <= PM_ISA_X86_32 &&
	    x86_regs(bytes, len, r->isa == PM_ISA_X86_64, &x)) {
		memset(in->bytes + x.len, 0, in->len - x.len);
		in->len = x.len;
	}
	return id;
}

/* A message that does not parse, once more and slowly, for what is wrong with it. */
static enum pm_status explain(struct pm_cur c, struct pm_err *err)
{
	struct pb f, g;

	while (pb_next(&c, &f))
		if (f.field == 8 && f.wire == 2) {
			struct pm_cur m = pm_cur_init(f.p, f.v, pm_cur_at(&c) - f.v, err);

			while (pb_next(&m, &g))
				;
		}
	return pm_failed(err) ? PM_ERR
			      : pm_fail(err, c.where, "expected an Inst message with a pc");
}

/* Without a cursor, because it is HOT; NULL: this is no number. */
static inline const uint8_t *get_varint(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	uint64_t x = 0;

	for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
		x |= (uint64_t)(*p & 0x7f) << shift;
		if (*p++ < 0x80) {
			*v = x;
			return shift == 63 && p[-1] > 1 ? NULL : p;
		}
	}
	return NULL;
}

/* The next field: its key, and its value or where its bytes are. NULL: see explain(). */
static inline const uint8_t *get_field(const uint8_t *p, const uint8_t *end, uint64_t *key,
				       uint64_t *v, const uint8_t **at)
{
	p = get_varint(p, end, key);
	if (!p)
		return NULL;
	switch (*key & 7) {
	case 0:
		return get_varint(p, end, v);
	case 1:
		if (end - p < 8)
			return NULL;
		*v = pm_get64(p);
		return p + 8;
	case 2:
		p = get_varint(p, end, v);
		if (!p || (uint64_t)(end - p) < *v)
			return NULL;
		*at = p;
		return p + *v;
	case 5:
		if (end - p < 4)
			return NULL;
		*v = pm_get32(p);
		return p + 4;
	}
	return NULL;
}

static inline uint32_t *seen_at(const struct gem5_reader *r, const uint8_t *raw)
{
	/* the length, the key of pc, and most of pc */
	return r->seen_at[pm_get64(raw) * 0x9e3779b97f4a7c15u >> (65 - SEEN_LOG)];
}

/* A mem_access of @n bytes that begins with its address and has but one: where that ends. */
static const uint8_t *learn_mem(const uint8_t *p, size_t n)
{
	const uint8_t *end = p + n, *behind, *at;
	uint64_t key, v;

	if (n < 2 || *p != 0x08)
		return NULL;
	behind = get_varint(p + 1, end, &v);
	for (const uint8_t *m = behind; m && m < end; ) {
		m = get_field(m, end, &key, &v, &at);
		if (!m || key == (1 << 3 | 0))
			return NULL;
	}
	return behind && behind - p - 1 <= 8 ? behind : NULL;
}

/* The message at @raw, which parsed and became @ev and @mem references behind it, may come
 * again. */
static void learn(struct gem5_reader *r, const uint8_t *raw, size_t n, const struct pm_event *ev,
		  unsigned mem)
{
	struct gem5_seen k = { .n = (uint8_t)n, .pc = ev->addr };
	const uint8_t *end = raw + n, *at, *next;
	uint32_t *slot = seen_at(r, raw), number;
	uint64_t key, v;

	if (n < 10 || n > SEEN_TEXT || raw[0] != n - 1)
		return;
	k.insn = pm_ev_head(PM_EV_INSN, ev->flags, ev->size, ev->id);
	k.opaque = pm_ev_head(PM_EV_OPAQUE, 2, (unsigned)n, PM_NONE);
	memcpy(k.text, raw, n);
	memset(k.mask, 0xff, n);
	for (const uint8_t *p = raw + 1; p < end; p = next) {
		next = get_field(p, end, &key, &v, &at);
		if (!next)
			return;
		if (key == (5 << 3 | 1)) {
			if (k.tick)
				return;
			k.tick = (uint8_t)(next - 8 - raw);
			memset(k.mask + k.tick, 0, 8);
		} else if (key == (8 << 3 | 2)) {
			const uint8_t *behind = learn_mem(at, (size_t)v);
			size_t bytes;

			if (!behind || k.nmem == mem)
				return;
			bytes = (size_t)(behind - at - 1);
			k.addr[k.nmem] = (uint8_t)(at + 1 - raw);
			memset(k.mask + k.addr[k.nmem], 0x80, bytes);
			k.digits[k.nmem] = 0x7f7f7f7f7f7f7f7fu >> (64 - 8 * bytes);
			k.ref[k.nmem] = pm_ev_head(ev[k.nmem + 1].kind, 0, ev[k.nmem + 1].size,
						   PM_NONE);
			k.nmem++;
		}
	}
	if (!k.tick || k.nmem != mem)
		return;
	number = slot[1] ? slot[1] : r->nseen++;
	slot[1] = slot[0];
	slot[0] = number;
	if (number == r->cap_seen) {
		r->cap_seen *= 2;
		r->seen = pm_realloc(r->seen, r->cap_seen * sizeof *r->seen);
	}
	r->seen[number] = k;
}

/* The number at @p, of which 8 bytes can be read, and whose bits are those of @digits. */
static inline uint64_t short_varint(const uint8_t *p, uint64_t digits)
{
	uint64_t x = pm_get64(p) & digits;

	x = (x & 0x007f007f007f007fu) | (x & 0x7f007f007f007f00u) >> 1;
	x = (x & 0x00003fff00003fffu) | (x & 0x3fff00003fff0000u) >> 2;
	return (x & 0x0fffffffu) | (x & 0x0fffffff00000000u) >> 4;
}

/* Are those bits of SEEN_TEXT bytes that are in @mask the same? */
static inline bool same_but(const uint8_t *a, const uint8_t *b, const uint8_t *mask)
{
	typedef uint64_t half __attribute__((vector_size(16)));
	half x[SEEN_TEXT / 16], y[SEEN_TEXT / 16], m[SEEN_TEXT / 16], all;

	memcpy(x, a, SEEN_TEXT);
	memcpy(y, b, SEEN_TEXT);
	memcpy(m, mask, SEEN_TEXT);
	all = ((x[0] ^ y[0]) & m[0]) | ((x[1] ^ y[1]) & m[1]) | ((x[2] ^ y[2]) & m[2]) |
	      ((x[3] ^ y[3]) & m[3]);
	return !(all[0] | all[1]);
}

/* Picoseconds are what gem5 counts unless told otherwise, and a division by a constant is none. */
static inline uint64_t time_of(const struct gem5_reader *r, uint64_t tick)
{
	return r->scale == 1000 ? tick / 1000 : tick / r->scale;
}

/* HOT: a turn per instruction. What gem5_inst() would do with the messages from r->w.p on, as long
 * as they are known ones with SEEN_ROOM bytes there, and there is room for MAX_EVENTS. @start is
 * where the arena begins. */
#define MAX_EVENTS	(3 + SEEN_MEM)
static void again(struct gem5_reader *r, const uint8_t *start)
{
	struct pm_event *e = r->b.ev + r->b.b.n, *const full = r->b.ev + PM_BATCH_EVENTS;
	const uint8_t *raw = r->w.p;
	uint64_t was = r->tick, n = 0;

	for (; (size_t)(r->w.end - raw) >= SEEN_ROOM && e < full; n++) {
		const uint32_t *at = seen_at(r, raw);
		const struct gem5_seen *k = &r->seen[at[0]];
		uint64_t tick;

		if (!same_but(raw, k->text, k->mask)) {
			k = &r->seen[at[1]];
			if (!same_but(raw, k->text, k->mask))
				break;
		}
		if (!k->n)
			break;
		tick = pm_get64(raw + k->tick);
		if (tick != was)
			pm_ev_at(e++, pm_ev_head(PM_EV_TIME, 0, 0, PM_NONE), 0, time_of(r, tick));
		was = tick;
		pm_ev_at(e++, k->insn, k->pc, 0);
		for (unsigned i = 0; i < k->nmem; i++)
			pm_ev_at(e++, k->ref[i], short_varint(raw + k->addr[i], k->digits[i]), 0);
		pm_ev_at(e++, k->opaque, (uint64_t)(raw - start), k->n);
		raw += 1 + *raw;		/* which is k->n, and known before k: the next
						 * turn need not wait */
	}
	r->b.b.n = (size_t)(e - r->b.ev);
	r->w.p = raw;
	r->tick = was;
	r->insns += n;
}

/* The message is at c.p, the whole record with its length at @raw, and at @arena for the batch. */
static enum pm_status gem5_inst(struct gem5_reader *r, struct pm_cur c, const uint8_t *raw,
				size_t n, uint64_t arena, struct pm_err *err)
{
	uint64_t pc = 0, tick = 0, type = 0, key, v;
	const uint8_t *bytes = NULL, *at = NULL, *in, *p = c.p;
	unsigned len = 0, mem = 0;
	bool has_pc = false, buffer = false;
	struct pm_builder *b = &r->b;
	size_t insn = b->b.n;

	/* the instruction's event comes first and is completed when all fields are known */
	pm_ev_add(b, PM_EV_INSN, 0, 0, 0, 0);
	while (p < c.end) {
		p = get_field(p, c.end, &key, &v, &at);
		if (!p)
			return explain(c, err);
		switch (key) {
		case 1 << 3 | 0:
			pc = v;
			has_pc = true;
			break;
		case 2 << 3 | 5:
			len = 4;
			bytes = p - 4;
			break;
		case 9 << 3 | 2:
			len = v < 15 ? (unsigned)v : 15;
			bytes = at;
			buffer = true;
			break;
		case 5 << 3 | 1:
			tick = v;
			break;
		case 6 << 3 | 0:
			type = v;
			break;
		case 8 << 3 | 2: {
			uint64_t addr = 0, size = 0;

			for (const uint8_t *m = at; m < p; ) {
				m = get_field(m, p, &key, &v, &in);
				if (!m)
					return explain(c, err);
				if (key == (1 << 3 | 0))
					addr = v;
				else if (key == (2 << 3 | 0))
					size = v;
			}
			pm_ev_add(b, PM_EV_READ, 0, size > UINT16_MAX ? UINT16_MAX : (unsigned)size,
				  addr, 0);
			mem++;
			break;
		}
		}
	}
	if (!has_pc)
		return explain(c, err);
	if (tick != r->tick || !r->timed) {
		struct pm_event *e = pm_ev_add(b, PM_EV_TIME, 0, 0, 0, 0);

		/* before the instruction that it belongs to */
		memmove(b->ev + insn + 1, b->ev + insn, (size_t)(e - (b->ev + insn)) * sizeof *e);
		b->ev[insn] = (struct pm_event){ PM_EV_TIME, 0, 0, PM_NONE, 0,
						 time_of(r, tick) };
		insn++;
		r->tick = tick;
		r->timed = true;
	}
	if (len) {
		b->ev[insn].id = insn_of(r, pc, bytes, len, buffer);
		len = r->codes.insn[b->ev[insn].id].len;
	}
	b->ev[insn].size = (uint16_t)len;
	b->ev[insn].addr = pc;
	for (unsigned i = 0; i < mem; i++)
		if (type == TYPE_WRITE)
			b->ev[insn + 1 + i].kind = PM_EV_WRITE;
	r->insns++;
	if (mem <= SEEN_MEM)
		learn(r, raw, n, &b->ev[insn], mem);
	pm_ev_add(b, PM_EV_OPAQUE, 2, pm_opaque_size(n), arena, n);
	return PM_OK;
}

static enum pm_status gem5_header(struct gem5_reader *r, struct pm_cur c)
{
	struct pb f;

	while (pb_next(&c, &f)) {
		const size_t head = sizeof OBJ_ID;	/* and a blank */

		if (f.field == 3 && !f.wire)
			r->scale = f.v >= 1000000000 ? f.v / 1000000000 : 1;
		if (f.field == 1 && f.wire == 2 && !r->told && f.v > head &&
		    !memcmp(f.p, OBJ_ID " ", head))
			isa_named((const char *)f.p + head, f.v - head, &r->isa);
	}
	return pm_failed(c.err) ? PM_ERR : PM_OK;
}

/* The bytes and the length of the message at the window's beginning, *n with its length's bytes.
 * PM_END: the window does not hold it; with @all, which says that it has been filled, nothing does,
 * an error or the end. */
static enum pm_status gem5_message(struct gem5_reader *r, bool all, size_t *head, size_t *n,
				   struct pm_err *err)
{
	const size_t left = pm_window_left(&r->w);
	uint64_t len = 0;
	const uint8_t *p = get_varint(r->w.p, r->w.end, &len);

	if (!p && all && left) {
		struct pm_cur c = pm_cur_init(r->w.p, left, pm_window_at(&r->w), err);

		pm_cur_varint(&c, "message length");
		return PM_ERR;
	}
	if (!p)
		return PM_END;
	if (len > MESSAGE_MAX)
		return pm_fail(err, pm_window_at(&r->w),
			       "a message of %llu bytes: longer than any instruction",
			       (unsigned long long)len);
	*head = (size_t)(p - r->w.p);
	*n = *head + (size_t)len;
	if (left >= *n)
		return PM_OK;
	if (!all)
		return PM_END;
	return pm_fail(err, pm_window_at(&r->w), "expected a message of %llu bytes, found %zu",
		       (unsigned long long)len, left - *head);
}

/* At a batch's beginning: the window moves, so that it holds the first message. PM_END: there is
 * none. */
static enum pm_status gem5_begin_batch(struct gem5_reader *r, size_t *head, size_t *n,
				       struct pm_err *err)
{
	enum pm_status st = pm_window_left(&r->w) < SEEN_ROOM
				    ? pm_window_fill(&r->w, PM_WINDOW, err)
				    : PM_OK;

	if (st == PM_OK)
		st = gem5_message(r, false, head, n, err);
	else
		return st;
	if (st != PM_END)
		return st;
	st = pm_window_fill(&r->w, MESSAGE_MAX + 10, err);
	return st == PM_OK ? gem5_message(r, true, head, n, err) : st;
}

static void gem5_epochs(void *self)
{
	((struct gem5_reader *)self)->codes.epochs = true;
}

static enum pm_status gem5_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct gem5_reader *r = self;
	struct pm_builder *b = &r->b;
	const uint8_t *start;
	size_t head, n;
	enum pm_status st;

	if (pm_codes_full(&r->codes)) {
		uint32_t none[2] = { PM_NONE, PM_NONE };

		pm_codes_renew(&r->codes, none, none + 1);
		memset(r->seen_at, 0, SEEN / 2 * sizeof *r->seen_at);
		r->nseen = 1;
	}
	pm_builder_reset(b, &r->stream, &r->codes.code);
	b->b.first_insn = r->insns;
	st = gem5_begin_batch(r, &head, &n, err);
	if (st != PM_OK)
		return st;
	start = r->w.p;
	if (!r->started) {
		r->started = true;
		pm_opaque_header(b, "gem5", start, n);
		r->w.p += n;
		if (gem5_header(r, pm_cur_init(start + head, n - head,
					       pm_window_at(&r->w) - (n - head), err)) == PM_ERR)
			return PM_ERR;
		*batch = pm_builder_batch(b);
		return PM_OK;
	}
	pm_ev_room(b, PM_BATCH_EVENTS + MAX_EVENTS);
	for (;;) {
		const uint8_t *raw;

		again(r, start);
		if (b->b.n >= PM_BATCH_EVENTS)
			break;
		raw = r->w.p;
		/* messages are lent where they are: a batch ends where the window has to move */
		st = gem5_message(r, false, &head, &n, err);
		if (st == PM_END)
			break;
		if (st == PM_ERR ||
		    gem5_inst(r, pm_cur_init(raw + head, n - head, pm_window_at(&r->w) + head, err),
			      raw, n, (uint64_t)(raw - start), err) == PM_ERR)
			return PM_ERR;
		r->w.p += n;
		/* that it is not in the cache costs more than asking for room */
		pm_ev_room(b, MAX_EVENTS);
	}
	pm_codes_lend(&r->codes);
	*batch = pm_builder_batch_on(b, start, (size_t)(r->w.p - start));
	return PM_OK;
}

/* ---- writing -------------------------------------------------------------------------------- */

struct gem5_writer {
	struct pm_plain w;
	struct pm_grouper g;
	bool begun;
	enum pm_isa isa;		/* that the header says, once it has begun */
	uint64_t time, count;
};

static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
	while (v >= 128) {
		*p++ = (uint8_t)(v | 128);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

static enum pm_status gem5_begin(struct gem5_writer *w, enum pm_isa isa, struct pm_err *err)
{
	/* ver 0, one tick per picosecond, has_mem */
	static const uint8_t rest[] = { 0x10, 0, 0x18, 0x80, 0xa0, 0x94, 0xa5, 0x8d, 0x1d, 0x20,
		1 };
	const char *name = isa == PM_ISA_X86_64 ? NULL : name_of_isa(isa);
	char text[64];
	size_t n;

	if (w->begun)
		return PM_OK;
	w->begun = true;
	w->isa = isa;
	n = (size_t)snprintf(text + 7, sizeof text - 7, OBJ_ID "%s%s", name ? " " : "",
			     name ? name : "");
	memcpy(text, "gem5", 4);
	text[4] = (char)(2 + n + sizeof rest);
	text[5] = 0x0a;
	text[6] = (char)n;
	memcpy(text + 7 + n, rest, sizeof rest);
	return pm_output_write(w->w.out, text, 7 + n + sizeof rest, err);
}

static enum pm_status gem5_group(void *self, const struct pm_group *g, struct pm_err *err)
{
	struct gem5_writer *w = self;
	uint8_t msg[64 + PM_GROUP_REFS * 2 * 24], *p = msg, len[10], mem[32], *m;
	const bool bytes = g->known && g->insn.len && g->insn.len <= 15;
	const enum pm_isa isa = bytes ? g->insn.isa : w->isa;
	unsigned type = TYPE_ALU;

	if (gem5_begin(w, isa, err) == PM_ERR)
		return PM_ERR;
	if (isa != w->isa)
		return pm_fail_file(err, "the instruction at 0x%llx is %s code, and those before "
				    "it are %s code: a gem5 trace has one instruction set",
				    (unsigned long long)g->pc, name_of_isa(isa),
				    name_of_isa(w->isa));
	for (unsigned i = 0; i < g->nref; i++)
		if (pm_is_ref(&g->ref[i]))
			type = g->ref[i].kind == PM_EV_WRITE && type != TYPE_READ ? TYPE_WRITE
										  : TYPE_READ;
	*p++ = 0x08;
	p = put_varint(p, g->pc);
	if (bytes && g->insn.len == 4) {
		*p++ = 0x15;
		memcpy(p, g->insn.bytes, 4);
		p += 4;
	}
	*p++ = 0x20;
	p = put_varint(p, 0);
	*p++ = 0x29;
	/* 500 ticks an instruction where the trace knows no time */
	p = pm_put64(p, w->time ? w->time * 1000 : w->count * 500);
	w->count++;
	*p++ = 0x30;
	p = put_varint(p, type);
	for (unsigned i = 0; i < g->nref; i++) {
		const struct pm_event *e = &g->ref[i];

		if (!pm_is_ref(e)) {
			w->w.dropped[e->kind]++;
			continue;
		}
		m = mem;
		*m++ = 0x08;
		m = put_varint(m, e->addr);
		*m++ = 0x10;
		m = put_varint(m, e->size ? e->size : 4);
		*m++ = 0x18;
		*m++ = 0;
		*p++ = 0x42;
		*p++ = (uint8_t)(m - mem);
		memcpy(p, mem, (size_t)(m - mem));
		p += m - mem;
	}
	if (bytes && g->insn.len != 4) {
		*p++ = 0x4a;
		*p++ = g->insn.len;
		memcpy(p, g->insn.bytes, g->insn.len);
		p += g->insn.len;
	}
	w->w.dropped[PM_EV_BRANCH] += g->has_branch;
	w->w.dropped[PM_EV_REP_END] += g->rep_end;
	w->w.dropped[PM_EV_REG_READ] += g->nrd;
	w->w.dropped[PM_EV_REG_WRITE] += g->nwr;
	w->w.dropped[PM_EV_UOP] += g->nuop;
	if (pm_output_write(w->w.out, len, (size_t)(put_varint(len, (uint64_t)(p - msg)) - len),
			    err) == PM_ERR)
		return PM_ERR;
	return pm_output_write(w->w.out, msg, (size_t)(p - msg), err);
}

static enum pm_status gem5_other(void *self, const struct pm_batch *b, const struct pm_event *e,
				 struct pm_err *err)
{
	struct gem5_writer *w = self;

	if (e->kind == PM_EV_TIME)
		w->time = e->value;
	else if (e->kind != PM_EV_OPAQUE)
		w->w.dropped[e->kind]++;
	return PM_OK;
}

static void *gem5_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err)
{
	struct gem5_writer *w;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	w = pm_alloc(sizeof *w);
	w->w.out = out;
	w->g = (struct pm_grouper){ .group = gem5_group, .other = gem5_other, .self = w,
				     .no_regs = true };
	return w;
}

static enum pm_status gem5_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct gem5_writer *w = self;
	size_t i = 0, n;
	const uint8_t *d = NULL;

	if (!w->begun && b->n && (d = pm_opaque_is(b, b->ev, "gem5", &n))) {
		w->w.native = w->begun = true;
		if (pm_output_write(w->w.out, "gem5", 4, err) == PM_ERR ||
		    pm_output_write(w->w.out, d, n, err) == PM_ERR)
			return PM_ERR;
		i = 1;
	}
	if (!w->w.native)
		return pm_grouper_batch(&w->g, b, err);
	return pm_copy_records(w->w.out, b, i, err);
}

static enum pm_status gem5_finish(void *self, struct pm_err *err)
{
	struct gem5_writer *w = self;

	if (pm_grouper_finish(&w->g, err) == PM_ERR)
		return PM_ERR;
	return gem5_begin(w, PM_ISA_X86_64, err);
}

static void gem5_free(void *self)
{
	struct gem5_writer *w = self;

	if (!w)
		return;
	pm_grouper_release(&w->g);
	free(w);
}

static int gem5_probe(const uint8_t *head, size_t n)
{
	return n >= 4 && !memcmp(head, "gem5", 4) ? 132 : 0;
}

static const struct pm_reader_ops gem5_read = { gem5_open, gem5_next, gem5_close, NULL,
	gem5_epochs };
static const struct pm_writer_ops gem5_write_ops = {
	gem5_create, gem5_write, gem5_finish, gem5_free, pm_plain_dropped
};

const struct pm_format pm_fmt_gem5 = {
	.name = "gem5", .about = "gem5's instruction traces in protocol buffers",
	.plural = "gem5 traces", .suffixes = ".gem5 .pb",
	.options = "isa=NAME  to read: the instruction set, where the trace does not say it: "
		   ISA_NAMES,
	.has = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_TIME,
	.needs = PM_HAS_INSNS | PM_HAS_REFS,
	.probe = gem5_probe, .read = &gem5_read, .write = &gem5_write_ops,
};
