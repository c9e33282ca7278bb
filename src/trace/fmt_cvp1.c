/* SPDX-License-Identifier: MIT */
/* fmt_cvp1.c - traces of the first Championship Value Prediction: variable-length records, no
 * header, integers little-endian
 *
 *   u64 pc; u8 class: 0 alu 1 load 2 store 3 conditional 4 direct 5 indirect 6 fp 7 slow alu 8
 *   other
 *   class 1, 2:     u64 address, u8 access size (of each register)
 *   class 3, 4, 5:  u8 taken, u64 target if taken
 *   u8 n, n source registers; u8 n, n destination registers; the value of each destination: 8 bytes
 *   for registers 0-31 (integer) and 64 (flags), 16 bytes for 32-63 (vector)
 *
 * The instruction set is like ARM's: 4 bytes each. Register ids here are 0x200 + the file's. */
#include <stdlib.h>

#include "trace/group.h"
#include "trace/text.h"

#define CVP_REG		0x200
#define CVP_REGS	65
#define LONGEST		(9 + 9 + 9 + 1 + 255 + 1 + 255 + 255 * 16)

struct cvp_insn {
	uint64_t pc, addr, target;
	uint8_t class, size, taken, nin, nout;
	const uint8_t *in, *out, *values;
	size_t length;
};

/* 1: a record; 0: cut short; -1: *bad is the offset of the first byte that makes no sense. */
static int cvp_parse(const uint8_t *p, size_t n, struct cvp_insn *c, size_t *bad)
{
	size_t at = 9;

	*bad = 0;
#define WANT(k) do { if (n - at < (size_t)(k)) return 0; } while (0)
	if (n < 9)
		return 0;
	c->pc = pm_get64(p);
	c->class = p[8];
	c->addr = c->target = 0;
	c->size = c->taken = 0;
	if (c->class > 8) {
		*bad = 8;
		return -1;
	}
	if (c->class == 1 || c->class == 2) {
		WANT(9);
		c->addr = pm_get64(p + at);
		c->size = p[at + 8];
		at += 9;
	} else if (c->class >= 3 && c->class <= 5) {
		WANT(1);
		c->taken = p[at];
		if (c->taken > 1) {
			*bad = at;
			return -1;
		}
		at++;
		if (c->taken) {
			WANT(8);
			c->target = pm_get64(p + at);
			at += 8;
		}
	}
	WANT(1);
	c->nin = p[at++];
	WANT(c->nin);
	c->in = p + at;
	for (unsigned i = 0; i < c->nin; i++)
		if (p[at + i] >= CVP_REGS) {
			*bad = at + i;
			return -1;
		}
	at += c->nin;
	WANT(1);
	c->nout = p[at++];
	WANT(c->nout);
	c->out = p + at;
	for (unsigned i = 0; i < c->nout; i++)
		if (p[at + i] >= CVP_REGS) {
			*bad = at + i;
			return -1;
		}
	at += c->nout;
	c->values = p + at;
	for (unsigned i = 0; i < c->nout; i++) {
		unsigned k = c->out[i] >= 32 && c->out[i] < 64 ? 16 : 8;

		WANT(k);
		at += k;
	}
#undef WANT
	c->length = at;
	return 1;
}

struct cvp_reader {
	struct pm_window w;
	struct pm_builder b;
	struct pm_stream stream;
	uint64_t insns;
	bool started;
};

static void *cvp_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		      struct pm_err *err)
{
	struct cvp_reader *r;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	r = pm_alloc(sizeof *r);
	r->w.in = in;
	*facts = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_BRANCHES | PM_HAS_REGS |
		 PM_HAS_REGVALS;
	return r;
}

static void cvp_close(void *self)
{
	struct cvp_reader *r = self;

	if (!r)
		return;
	pm_builder_release(&r->b);
	free(r);
}

static enum pm_status cvp_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct cvp_reader *r = self;
	struct pm_builder *b = &r->b;

	pm_builder_reset(b, &r->stream, NULL);
	b->b.first_insn = r->insns;
	pm_ev_room(b, PM_BATCH_EVENTS + 520);
	if (!r->started) {
		r->started = true;
		pm_opaque_header(b, "cvp1", "", 0);
	}
	while (b->b.n < PM_BATCH_EVENTS) {
		struct cvp_insn c;
		const uint8_t *v;
		size_t bad;
		int got;

		if (pm_window_left(&r->w) < LONGEST) {
			enum pm_status st = pm_window_fill(&r->w, PM_WINDOW, err);

			if (st == PM_ERR)
				return st;
			if (st == PM_END)
				break;
		}
		got = cvp_parse(r->w.p, pm_window_left(&r->w), &c, &bad);
		if (!got)
			return pm_fail(err, pm_window_at(&r->w),
				       "the last record is cut short: %zu bytes",
				       pm_window_left(&r->w));
		if (got < 0)
			return pm_fail(err, pm_window_at(&r->w) + bad, "%s %u",
				       bad == 8 ? "expected a class from 0 to 8, found"
				       : c.class >= 3 && c.class <= 5 && bad == 9
					       ? "expected 0 or 1 for 'taken', found"
					       : "expected a register from 0 to 64, found",
				       r->w.p[bad]);
		pm_ev_put(b, PM_EV_INSN, c.class, 4, c.pc, 0);
		r->insns++;
		for (unsigned i = 0; i < c.nin; i++)
			pm_ev_put(b, PM_EV_REG_READ, 0, 8, 0, 0)->id = CVP_REG + c.in[i];
		for (unsigned i = 0; i < c.nout; i++)
			pm_ev_add(b, PM_EV_REG_WRITE, 0, 8, 0, 0)->id = CVP_REG + c.out[i];
		v = c.values;
		for (unsigned i = 0; i < c.nout; i++) {
			struct pm_event *e = &b->ev[b->b.n - c.nout + i];

			e->value = pm_get64(v);
			if (c.out[i] >= 32 && c.out[i] < 64) {
				e->size = 16;
				e->addr = pm_builder_bytes(b, v, 16);
				v += 16;
			} else {
				v += 8;
			}
		}
		if (c.class == 1 || c.class == 2)
			pm_ev_add(b, c.class == 1 ? PM_EV_READ : PM_EV_WRITE, 0, c.size, c.addr, 0);
		if (c.class >= 3 && c.class <= 5)
			pm_ev_add(b, PM_EV_BRANCH,
				  (c.taken ? PM_BR_TAKEN : 0) | (c.class == 3	? PM_BR_COND
								 : c.class == 5 ? PM_BR_INDIRECT
										: 0),
				  4, c.pc, c.target);
		pm_ev_room(b, 520);
		r->w.p += c.length;
	}
	if (!b->b.n)
		return PM_END;
	*batch = pm_builder_batch(b);
	return PM_OK;
}

/* ---- writing -------------------------------------------------------------------------------- */

struct cvp_writer {
	struct pm_plain w;
	struct pm_grouper g;
};

static int cvp_reg(uint32_t id)
{
	if (id >= CVP_REG && id < CVP_REG + CVP_REGS)
		return (int)(id - CVP_REG);
	if (id >= 0x300 && id < 0x340)		/* RISC-V x0-31, f0-31 */
		return (int)(id - 0x300);
	if (id < 16)
		return (int)id;
	if (id < 40)
		return (int)id + 16;
	return id == X86_REG_FLAGS ? 64 : -1;
}

static unsigned cvp_class(const struct pm_group *g)
{
	if (g->has_branch)
		return g->branch.flags & PM_BR_COND ? 3 : g->branch.flags & PM_BR_INDIRECT ? 5 : 4;
	if (g->nref)
		return g->ref[0].kind == PM_EV_WRITE ? 2 : 1;
	for (unsigned i = 0; i < g->nwr; i++)
		if (cvp_reg(g->wr[i].id) >= 32 && cvp_reg(g->wr[i].id) < 64)
			return 6;
	return 0;
}

static enum pm_status cvp_group(void *self, const struct pm_group *g, struct pm_err *err)
{
	struct cvp_writer *w = self;
	uint8_t rec[64 + PM_GROUP_REGS * 18], *p = rec, *count;
	unsigned class = w->w.native && !g->again ? g->tag : cvp_class(g);

	p = pm_put64(p, g->pc);
	*p++ = (uint8_t)class;
	/* one access for each load and store */
	for (unsigned i = class == 1 || class == 2; i < g->nref; i++)
		w->w.dropped[g->ref[i].kind]++;
	w->w.dropped[PM_EV_UOP] += g->nuop;
	w->w.dropped[PM_EV_REP_END] += g->rep_end;
	if (class == 1 || class == 2) {
		p = pm_put64(p, g->nref ? g->ref[0].addr : 0);
		*p++ = (uint8_t)(g->nref ? g->ref[0].size : 0);
	} else if (class >= 3 && class <= 5) {
		bool taken = g->has_branch && g->branch.flags & PM_BR_TAKEN;

		*p++ = taken;
		if (taken)
			p = pm_put64(p, g->branch.value);
	}
	count = p++;
	*count = 0;
	for (unsigned i = 0; i < g->nrd; i++)
		if (cvp_reg(g->rd[i].id) >= 0) {
			*p++ = (uint8_t)cvp_reg(g->rd[i].id);
			++*count;
		} else {
			w->w.dropped[PM_EV_REG_READ]++;
		}
	count = p++;
	*count = 0;
	for (unsigned i = 0; i < g->nwr; i++)
		if (cvp_reg(g->wr[i].id) >= 0) {
			*p++ = (uint8_t)cvp_reg(g->wr[i].id);
			++*count;
		} else {
			w->w.dropped[PM_EV_REG_WRITE]++;
		}
	for (unsigned i = 0; i < g->nwr; i++) {
		int reg = cvp_reg(g->wr[i].id);

		if (reg < 0)
			continue;
		p = pm_put64(p, g->wr[i].value);
		if (reg >= 32 && reg < 64)
			p = pm_put64(p, g->wr[i].high);
	}
	return pm_output_write(w->w.out, rec, (size_t)(p - rec), err);
}

static enum pm_status cvp_other(void *self, const struct pm_batch *b, const struct pm_event *e,
				struct pm_err *err)
{
	struct cvp_writer *w = self;
	size_t n;

	if (e->kind != PM_EV_OPAQUE)
		w->w.dropped[e->kind]++;
	else if (pm_opaque_is(b, e, "cvp1", &n))
		w->w.native = true;
	return PM_OK;
}

static void *cvp_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err)
{
	struct cvp_writer *w;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	w = pm_alloc(sizeof *w);
	w->w.out = out;
	w->g = (struct pm_grouper){ .group = cvp_group, .other = cvp_other, .self = w };
	return w;
}

static enum pm_status cvp_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	return pm_grouper_batch(&((struct cvp_writer *)self)->g, b, err);
}

static enum pm_status cvp_finish(void *self, struct pm_err *err)
{
	return pm_grouper_finish(&((struct cvp_writer *)self)->g, err);
}

static void cvp_free(void *self)
{
	struct cvp_writer *w = self;

	if (!w)
		return;
	pm_grouper_release(&w->g);
	free(w);
}

static int cvp_probe(const uint8_t *head, size_t n)
{
	size_t at = 0, bad;
	int records = 0;

	while (at < n && records < 16) {
		struct cvp_insn c;
		int got = cvp_parse(head + at, n - at, &c, &bad);

		if (got < 0 || (!got && n < PM_WINDOW))
			return 0;
		if (!got)
			break;
		if (!c.pc || c.pc & 3 || c.nin > 8 || c.nout > 4 || (c.size & (c.size - 1)) ||
		    c.size > 64)
			return 0;
		at += c.length;
		records++;
	}
	return records ? 36 + records : 0;
}

static const struct pm_reader_ops cvp_read = { cvp_open, cvp_next, cvp_close };
static const struct pm_writer_ops cvp_write_ops = {
	cvp_create, cvp_write, cvp_finish, cvp_free, pm_plain_dropped
};

const struct pm_format pm_fmt_cvp1 = {
	.name = "cvp1", .about = "traces of the first Championship Value Prediction",
	.plural = "CVP-1 traces", .suffixes = ".cvp .cvp1",
	.has = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_BRANCHES | PM_HAS_REGS |
		PM_HAS_REGVALS,
	.needs = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_REGS | PM_HAS_REGVALS,
	.probe = cvp_probe, .read = &cvp_read, .write = &cvp_write_ops,
};
