/* SPDX-License-Identifier: MIT */
/* fmt_dram.c - text inputs of the DRAM simulators Ramulator, Ramulator 2 and DRAMsim3
 *
 *   ramulator        "0x12345680 R"                  DRAM trace; a missing letter is a read
 *   ramulator:cpu    "BUBBLES READ [WRITE-BACK]"     numbers decimal or 0x
 *   ramulator:ref    "BUBBLES ADDRESS R|W"           the unfiltered form
 *   ramulator2       "LD 0x12340", "ST 4096"         one blank
 *   ramulator2:vector=A/B/...  "R 0,1,2,100,32"      where in the memory: channel, rank, ...,
 *                              column
 *   dramsim3         "0x2000D5C0 READ  30"           upper-case hexadecimal, command, cycle
 *
 * Bubbles are the instructions between references that do not refer: counted when writing, the
 * private value of the reference when reading, and in what caches let through (instruction lines,
 * which are reads here, and no instructions). A write-back is a write with PM_REF_COPYBACK. An
 * address vector stands for the transaction whose number has these digits, the column's the last,
 * in a number system whose bases are the sizes of the levels (what Ramulator 2 calls ChRaBaRoCo):
 * as in its own mapping, an address beyond the memory's end begins again at its start. Without
 * sizes the levels are large enough for any memory: see default_level. Addresses from other formats
 * are aligned to 64 bytes, the transaction (`align=N` changes it). */
#include <stdio.h>
#include <stdlib.h>

#include "trace/text.h"

enum dram_kind { RAM_DRAM, RAM_CPU, RAM_REF, RAM2, RAM2_VECTOR, SIM3 };

static const char *const dram_name[] = {
	"ramulator", "ramulator:cpu", "ramulator:ref", "ramulator2", "ramulator2:vector",
	"dramsim3",
};

#define TRANSACTION	64		/* bytes */
#define LEVELS_MAX	6

/* The sizes of a memory's levels; with six of them there are bank groups in front of the banks. */
struct levels {
	uint64_t size[LEVELS_MAX];
	unsigned n;			/* 5 or 6; 0: the first line tells */
};
static const struct levels default_level[2] = {
	{ { 64, 16, 64, 1 << 20, 1 << 12 }, 5 }, { { 64, 16, 16, 64, 1 << 20, 1 << 12 }, 6 },
};

/* "1/2/8/65536/1024" */
static bool parse_levels(const char *s, struct levels *l)
{
	uint64_t all = 1;

	for (l->n = 0; *s; l->n++) {
		size_t len = strcspn(s, "/");

		if (l->n == LEVELS_MAX || !pm_num(s, len, &l->size[l->n]) || !l->size[l->n] ||
		    __builtin_mul_overflow(all, l->size[l->n], &all) ||
		    all > UINT64_MAX / TRANSACTION)
			return false;
		s += len + (s[len] == '/');
	}
	return l->n >= LEVELS_MAX - 1;
}

static bool levels_sane(const struct levels *l)
{
	for (unsigned i = 0; l->n <= LEVELS_MAX && i < l->n; i++)
		if (!l->size[i])
			return false;
	return l->n >= LEVELS_MAX - 1 && l->n <= LEVELS_MAX;
}

static bool vector_option(const char *options, struct levels *l, bool *is, struct pm_err *err)
{
	char buf[120];
	const char *v = pm_fmt_option(options, "vector", buf, sizeof buf);

	*is = v;
	*l = (struct levels){ 0 };
	if (!v || !*v || parse_levels(v, l))
		return true;
	pm_fail_request(err,
			"vector=%s: expected the sizes of 5 or 6 levels, as in 1/2/8/65536/1024",
		     v);
	return false;
}

static bool parse_vector(const char *s, size_t n, struct levels *l, uint64_t *addr)
{
	uint64_t digit[LEVELS_MAX], index = 0;
	unsigned count = 0;

	for (size_t at = 0; at <= n; count++) {
		const char *comma = memchr(s + at, ',', n - at);
		size_t len = comma ? (size_t)(comma - s) - at : n - at;

		if (count == LEVELS_MAX || !pm_dec(s + at, len, &digit[count]))
			return false;
		at += len + 1;
	}
	if (!l->n && count >= LEVELS_MAX - 1)
		*l = default_level[count - (LEVELS_MAX - 1)];
	if (count != l->n)
		return false;
	for (unsigned i = 0; i < count; i++) {
		if (digit[i] >= l->size[i])
			return false;
		index = index * l->size[i] + digit[i];
	}
	*addr = index * TRANSACTION;
	return true;
}

static char *put_vector(char *p, uint64_t addr, const struct levels *l)
{
	uint64_t digit[LEVELS_MAX], index = addr / TRANSACTION;

	for (unsigned i = l->n; i--; index /= l->size[i])
		digit[i] = index % l->size[i];
	for (unsigned i = 0; i < l->n; i++) {
		if (i)
			*p++ = ',';
		p = pm_put_dec(p, digit[i]);
	}
	return p;
}

struct dram_line {
	uint64_t bubbles, addr, back, cycle;
	bool write, has_back;
};

static bool dram_parse(enum dram_kind kind, struct levels *l, const char *s, size_t n,
		       struct dram_line *d)
{
	struct pm_tok t = { s, s + n };
	const char *tok[4];
	size_t len[4], count = 0;

	while (count < 4) {
		tok[count] = pm_tok_next(&t, &len[count]);
		if (!len[count])
			break;
		count++;
	}
	*d = (struct dram_line){ 0 };
	switch (kind) {
	case RAM_DRAM:
		if (count < 1 || count > 2 || !pm_hex(tok[0], len[0], &d->addr))
			return false;
		if (count == 2 && (len[1] != 1 || (*tok[1] != 'R' && *tok[1] != 'W')))
			return false;
		d->write = count == 2 && *tok[1] == 'W';
		return true;
	case RAM_CPU:
		d->has_back = count == 3;
		return (count == 2 || count == 3) && pm_num(tok[0], len[0], &d->bubbles) &&
		       pm_num(tok[1], len[1], &d->addr) &&
		       (count == 2 || pm_num(tok[2], len[2], &d->back));
	case RAM_REF:
		if (count != 3 || len[2] != 1 || (*tok[2] != 'R' && *tok[2] != 'W'))
			return false;
		d->write = *tok[2] == 'W';
		return pm_num(tok[0], len[0], &d->bubbles) && pm_num(tok[1], len[1], &d->addr);
	case RAM2:
		if (count != 2 || len[0] != 2 ||
		    (memcmp(tok[0], "LD", 2) && memcmp(tok[0], "ST", 2)))
			return false;
		d->write = *tok[0] == 'S';
		return pm_num(tok[1], len[1], &d->addr);
	case RAM2_VECTOR:
		if (count != 2 || len[0] != 1 || (*tok[0] != 'R' && *tok[0] != 'W'))
			return false;
		d->write = *tok[0] == 'W';
		return parse_vector(tok[1], len[1], l, &d->addr);
	case SIM3:
		if (count != 3 || len[0] < 3 || tok[0][0] != '0' || (tok[0][1] | 32) != 'x')
			return false;
		d->write = len[1] == 5 && !memcmp(tok[1], "WRITE", 5);
		if (!d->write && (len[1] != 4 || memcmp(tok[1], "READ", 4)))
			return false;
		return pm_hex(tok[0], len[0], &d->addr) && pm_dec(tok[2], len[2], &d->cycle);
	}
	return false;
}

struct dram_reader {
	struct pm_lines l;
	struct pm_builder b;
	struct pm_stream stream;
	enum dram_kind kind;
	struct levels levels;
	uint64_t cycle;
	bool started, chosen;
};

static void *dram_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		       struct pm_err *err, enum dram_kind kind)
{
	struct dram_reader *r;
	struct levels levels;
	bool vector;
	char buf[8];

	if (pm_fmt_options_check(o->options,
				 kind == RAM_DRAM ? "dram cpu ref"
				 : kind == RAM2	  ? "vector"
						  : "",
				 err) != PM_OK ||
	    !vector_option(o->options, &levels, &vector, err))
		return NULL;
	r = pm_alloc(sizeof *r);
	pm_lines_init(&r->l, in);
	r->kind = vector ? RAM2_VECTOR : kind;
	r->levels = levels;
	r->chosen = (kind != RAM_DRAM && kind != RAM2) || vector ||
		    pm_fmt_option(o->options, "dram", buf, sizeof buf);
	if (pm_fmt_option(o->options, "cpu", buf, sizeof buf)) {
		r->kind = RAM_CPU;
		r->chosen = true;
	} else if (pm_fmt_option(o->options, "ref", buf, sizeof buf)) {
		r->kind = RAM_REF;
		r->chosen = true;
	}
	*facts = PM_HAS_REFS | (kind == SIM3 ? PM_HAS_TIME | PM_HAS_CYCLES : 0);
	return r;
}

static void dram_close(void *self)
{
	struct dram_reader *r = self;

	if (!r)
		return;
	pm_builder_release(&r->b);
	free(r);
}

static enum pm_status dram_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	static const char *const want[] = {
		"'0xADDRESS R' or W", "'BUBBLES ADDRESS [WRITE-BACK]'", "'BUBBLES ADDRESS R' or W",
		"'LD ADDRESS' or 'ST ADDRESS'",
		"'R N,N,N,N,N' or W, five or six numbers below their levels' sizes",
		"'0xADDRESS READ CYCLE' or WRITE",
	};
	struct dram_reader *r = self;
	struct pm_builder *b = &r->b;

	pm_builder_reset(b, &r->stream, NULL);
	pm_ev_room(b, PM_BATCH_EVENTS + 4);
	while (b->b.n < PM_BATCH_EVENTS) {
		struct dram_line d;
		const char *s;
		size_t n;
		enum pm_status st = pm_lines_next(&r->l, &s, &n, err);

		if (st == PM_ERR)
			return st;
		if (st == PM_END)
			break;
		if (!r->chosen) {
			/* Ramulator has three forms, Ramulator 2 two, and no mark: the first line
			 * tells */
			r->chosen = true;
			if (r->kind == RAM2 && dram_parse(RAM2_VECTOR, &r->levels, s, n, &d))
				r->kind = RAM2_VECTOR;
			else if (r->kind == RAM_DRAM && !dram_parse(RAM_DRAM, NULL, s, n, &d))
				r->kind = dram_parse(RAM_REF, NULL, s, n, &d) ? RAM_REF : RAM_CPU;
		}
		if (!dram_parse(r->kind, &r->levels, s, n, &d))
			return pm_fail_text(err, r->l.line, want[r->kind], s, n);
		if (!r->started) {
			r->started = true;
			pm_opaque_header(b, dram_name[r->kind], &r->levels,
					 r->kind == RAM2_VECTOR ? sizeof r->levels : 0);
			if (r->kind == RAM_CPU || r->kind == RAM_REF)
				pm_opaque_header(b, dram_name[RAM_DRAM], "", 0);
			if (r->kind == RAM2_VECTOR)
				pm_opaque_header(b, dram_name[RAM2], "", 0);
		}
		if (r->kind == SIM3 && (d.cycle != r->cycle || r->l.line == 1)) {
			r->cycle = d.cycle;
			pm_ev_put(b, PM_EV_TIME, 0, 0, 0, d.cycle);
		}
		pm_ev_put(b, d.write ? PM_EV_WRITE : PM_EV_READ, 0, 64, d.addr, d.bubbles);
		if (d.has_back)
			pm_ev_put(b, PM_EV_WRITE, PM_REF_COPYBACK, 64, d.back, 0);
	}
	if (!b->b.n)
		return PM_END;
	*batch = pm_builder_batch(b);
	return PM_OK;
}

static void *ram_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *f,
		      struct pm_err *e)
{
	return dram_open(in, o, f, e, RAM_DRAM);
}
static void *ram2_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *f,
		       struct pm_err *e)
{
	return dram_open(in, o, f, e, RAM2);
}
static void *sim3_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *f,
		       struct pm_err *e)
{
	return dram_open(in, o, f, e, SIM3);
}

/* ---- writing -------------------------------------------------------------------------------- */

struct dram_writer {
	struct pm_plain w;
	enum dram_kind kind;
	struct levels levels;
	bool chosen, timed, open;	/* open: a CPU line waits for its write-back */
	bool told;			/* references come with their bubbles */
	uint64_t bubbles, pending_bubbles, pending, cycle, mask;
};

static void *dram_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err,
			 enum dram_kind kind)
{
	struct dram_writer *w;
	struct levels levels;
	uint64_t align = TRANSACTION;
	bool vector;
	char buf[24];
	const char *v;

	if (pm_fmt_options_check(o->options,
				 kind == RAM_DRAM ? "dram cpu ref align"
				 : kind == RAM2	  ? "vector align"
						  : "align",
				 err) != PM_OK ||
	    !vector_option(o->options, &levels, &vector, err))
		return NULL;
	v = pm_fmt_option(o->options, "align", buf, sizeof buf);
	if (v && (!pm_num(v, strlen(v), &align) || !align || align & (align - 1))) {
		pm_fail_request(err, "align=%s: expected a power of two", v);
		return NULL;
	}
	w = pm_alloc(sizeof *w);
	w->w.out = out;
	w->kind = vector ? RAM2_VECTOR : kind;
	w->levels = levels.n ? levels : default_level[0];
	w->mask = ~(align - 1);
	w->timed = o->facts & PM_HAS_TIME;
	w->told = (o->facts & (PM_HAS_LINES | PM_HAS_INSNS | PM_HAS_VALUES)) == PM_HAS_LINES;
	w->chosen = (kind != RAM_DRAM && kind != RAM2) || (o->options && *o->options);
	if (pm_fmt_option(o->options, "cpu", buf, sizeof buf))
		w->kind = RAM_CPU;
	else if (pm_fmt_option(o->options, "ref", buf, sizeof buf))
		w->kind = RAM_REF;
	return w;
}

static char *put_0x(char *p, uint64_t v)
{
	*p++ = '0';
	*p++ = 'x';
	return pm_put_hex(p, v);
}

static char *cpu_line(struct dram_writer *w, char *p)
{
	if (!w->open)
		return p;
	w->open = false;
	p = pm_put_dec(p, w->pending_bubbles);
	*p++ = ' ';
	p = pm_put_dec(p, w->pending);
	*p++ = '\n';
	return p;
}

static char *dram_one(struct dram_writer *w, char *p, const struct pm_event *e, bool write)
{
	uint64_t addr = w->w.native ? e->addr : e->addr & w->mask;
	uint64_t bubbles = w->w.native || w->told ? e->value : w->bubbles;

	switch (w->kind) {
	case RAM_DRAM:
		p = put_0x(p, addr);
		*p++ = ' ';
		*p++ = write ? 'W' : 'R';
		break;
	case RAM_CPU:
		if (!write) {
			p = cpu_line(w, p);
			w->open = true;
			w->pending = addr;
			w->pending_bubbles = bubbles;
			w->bubbles = 0;
			return p;
		}
		if (!w->open) {
			w->w.dropped[PM_EV_WRITE]++;
			return p;
		}
		w->open = false;
		p = pm_put_dec(p, w->pending_bubbles);
		*p++ = ' ';
		p = pm_put_dec(p, w->pending);
		*p++ = ' ';
		p = pm_put_dec(p, addr);
		break;
	case RAM_REF:
		p = pm_put_dec(p, bubbles);
		*p++ = ' ';
		p = put_0x(p, addr);
		*p++ = ' ';
		*p++ = write ? 'W' : 'R';
		break;
	case RAM2:
		*p++ = write ? 'S' : 'L';
		*p++ = write ? 'T' : 'D';
		*p++ = ' ';
		p = put_0x(p, addr);
		break;
	case RAM2_VECTOR:
		*p++ = write ? 'W' : 'R';
		*p++ = ' ';
		p = put_vector(p, addr, &w->levels);
		break;
	case SIM3:
		p += sprintf(p, "0x%llX %-5s %llu", (unsigned long long)addr,
			     write ? "WRITE" : "READ", (unsigned long long)w->cycle);
		if (!w->timed)
			w->cycle++;
		break;
	}
	*p++ = '\n';
	w->bubbles = 0;
	return p;
}

static char *dram_put(void *self, char *p, const struct pm_batch *b, const struct pm_event *e,
		      struct pm_err *err)
{
	struct dram_writer *w = self;
	const uint8_t *d;
	size_t n;

	switch (e->kind) {
	case PM_EV_OPAQUE:
		/* converted from itself, Ramulator's form stays what it was */
		if (w->kind == RAM2 && !w->chosen &&
		    (d = pm_opaque_is(b, e, dram_name[RAM2_VECTOR], &n)) && n == sizeof w->levels) {
			struct levels l;

			memcpy(&l, d, sizeof l);
			w->kind = levels_sane(&l) ? RAM2_VECTOR : RAM2;
			w->levels = l;
		}
		if (w->kind == RAM_DRAM && !w->chosen) {
			if (pm_opaque_is(b, e, dram_name[RAM_CPU], &n))
				w->kind = RAM_CPU;
			else if (pm_opaque_is(b, e, dram_name[RAM_REF], &n))
				w->kind = RAM_REF;
		}
		return p;
	case PM_EV_INSN:
		if (w->kind != RAM_CPU && w->kind != RAM_REF)
			break;
		w->bubbles++;
		return p;
	case PM_EV_TIME:
		if (w->kind != SIM3)
			break;
		w->cycle = e->value;
		return p;
	case PM_EV_READ: case PM_EV_WRITE: case PM_EV_MODIFY: case PM_EV_LINE:
		if (e->flags & (PM_REF_INVAL | PM_REF_ALL))
			break;
		/* the instruction that refers is no bubble */
		if (w->bubbles && !w->w.native)
			w->bubbles--;
		if (e->kind != PM_EV_WRITE)
			p = dram_one(w, p, e, false);
		if (e->kind == PM_EV_WRITE || e->kind == PM_EV_MODIFY)
			p = dram_one(w, p, e, true);
		return p;
	}
	w->w.dropped[e->kind]++;
	return p;
}

static enum pm_status dram_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct dram_writer *w = self;

	return pm_plain_write(&w->w,
			      w->kind <= RAM_REF       ? dram_name[RAM_DRAM]
			      : w->kind == RAM2_VECTOR ? dram_name[RAM2]
						       : dram_name[w->kind],
			      b, 160, dram_put, err);
}

static enum pm_status dram_finish(void *self, struct pm_err *err)
{
	struct dram_writer *w = self;
	char line[64], *p = cpu_line(w, line);

	return p == line ? PM_OK : pm_output_write(w->w.out, line, (size_t)(p - line), err);
}

static void *ram_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *e)
{
	return dram_create(out, o, e, RAM_DRAM);
}
static void *ram2_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *e)
{
	return dram_create(out, o, e, RAM2);
}
static void *sim3_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *e)
{
	return dram_create(out, o, e, SIM3);
}

/* ---- probing -------------------------------------------------------------------------------- */

static int dram_probe(const uint8_t *head, size_t n, enum dram_kind kind, int base)
{
	const char *s = (const char *)head, *end = s + n;
	int lines = 0;

	while (s < end && lines < 6) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		size_t len = (size_t)((nl ? nl : end) - s);
		struct dram_line d;
		struct levels levels = { 0 };

		if (!nl && n >= PM_WINDOW)
			break;
		if (len && s[len - 1] == '\r')
			len--;
		if (!dram_parse(kind, &levels, s, len, &d) ||
		    (kind == RAM_DRAM && memcmp(s, "0x", 2)))
			return 0;
		lines++;
		s = nl ? nl + 1 : end;
	}
	return lines ? base + lines : 0;
}

static int ram_probe(const uint8_t *head, size_t n)
{
	int dram = dram_probe(head, n, RAM_DRAM, 24), ref = dram_probe(head, n, RAM_REF, 26);

	if (dram || ref)
		return dram ? dram : ref;
	/* two or three numbers a line say next to nothing */
	return dram_probe(head, n, RAM_CPU, 1);
}

static int ram2_probe(const uint8_t *head, size_t n)
{
	int plain = dram_probe(head, n, RAM2, 32);

	return plain ? plain : dram_probe(head, n, RAM2_VECTOR, 32);
}

static int sim3_probe(const uint8_t *head, size_t n)
{
	return dram_probe(head, n, SIM3, 48);
}

static const struct pm_reader_ops ram_read = { ram_open, dram_next, dram_close };
static const struct pm_reader_ops ram2_read = { ram2_open, dram_next, dram_close };
static const struct pm_reader_ops sim3_read = { sim3_open, dram_next, dram_close };
static const struct pm_writer_ops ram_write = {
	ram_create, dram_write, dram_finish, free, pm_plain_dropped
};
static const struct pm_writer_ops ram2_write = {
	ram2_create, dram_write, dram_finish, free, pm_plain_dropped
};
static const struct pm_writer_ops sim3_write = {
	sim3_create, dram_write, dram_finish, free, pm_plain_dropped
};

const struct pm_format pm_fmt_ramulator = {
	.name = "ramulator",
	.about = "Ramulator's DRAM trace; ramulator:cpu and ramulator:ref its CPU traces",
	.options = "dram, cpu, ref  which of its forms\n"
		   "align=N  writing: bytes of a transaction (64)",
	.plural = "Ramulator traces", .suffixes = ".ramulator",
	.has = PM_HAS_REFS, .needs = PM_HAS_REFS,
	.probe = ram_probe, .read = &ram_read, .write = &ram_write,
};
const struct pm_format pm_fmt_ramulator2 = {
	.name = "ramulator2",
	.about = "Ramulator 2's load/store trace; ramulator2:vector its read/write trace",
	.options = "vector, vector=LEVELS  the form with addresses as vectors\n"
		   "align=N  writing: bytes of a transaction (64)",
	.plural = "Ramulator 2 traces", .suffixes = ".ramulator2",
	.has = PM_HAS_REFS, .needs = PM_HAS_REFS,
	.probe = ram2_probe, .read = &ram2_read, .write = &ram2_write,
};
const struct pm_format pm_fmt_dramsim3 = {
	.name = "dramsim3", .about = "DRAMsim3's trace: address, command, cycle",
	.options = "align=N  writing: bytes of a transaction (64)",
	.plural = "DRAMsim3 traces", .suffixes = ".dramsim3",
	.has = PM_HAS_REFS | PM_HAS_TIME | PM_HAS_CYCLES, .needs = PM_HAS_REFS,
	.probe = sim3_probe, .read = &sim3_read, .write = &sim3_write,
};
