/* SPDX-License-Identifier: MIT */
/* fmt_spike.c - commit logs of the RISC-V simulator Spike (--log-commits)
 *
 *   core   0: 3 0x0000000080000000 (0x00000297) x5  0x0000000080000000 mem 0x... 0x...
 *
 * "core%4d: %1d 0x<pc> (0x<instruction, 4 or 8 digits>)", then each register written (x, f; c for
 * CSRs, others kept as text), " mem 0x<address>" for a load, " mem 0x<address> 0x<value>" for a
 * store (two digits a byte). A load's size comes from the opcode.
 *
 * Register ids here: 0x300 + n for xn, 0x320 + n for fn. A line is kept as an opaque event, so that
 * a log comes back byte for byte. Written from other formats only if the instructions are
 * RISC-V. */
#include <stdio.h>
#include <stdlib.h>

#include "trace/group.h"
#include "trace/insns.h"
#include "trace/text.h"

#define RV_REG	0x300

struct spike_line {
	uint64_t core, priv, pc, insn;
	unsigned len, pc_digits;
	struct { uint32_t id; uint64_t v; } reg[8];
	struct { uint64_t addr, value; unsigned size; bool store; } mem[40];
	unsigned nreg, nmem;
};

static bool spike_parse(const char *s, size_t n, struct spike_line *l)
{
	struct pm_tok t = { s, s + n };
	const char *tok;
	size_t len;

	l->nreg = l->nmem = 0;
	tok = pm_tok_next(&t, &len);
	if (len < 4 || memcmp(tok, "core", 4))
		return false;
	if (len == 4) {
		tok = pm_tok_next(&t, &len);
	} else {
		tok += 4;
		len -= 4;
	}
	if (len < 2 || tok[len - 1] != ':' || !pm_dec(tok, len - 1, &l->core))
		return false;
	tok = pm_tok_next(&t, &len);
	if (len != 1 || !pm_dec(tok, len, &l->priv) || l->priv > 3)
		return false;
	tok = pm_tok_next(&t, &len);
	if (len < 3 || !pm_hex(tok, len, &l->pc) || tok[1] != 'x')
		return false;
	l->pc_digits = (unsigned)len - 2;
	tok = pm_tok_next(&t, &len);
	if ((len != 8 && len != 12) || tok[0] != '(' || tok[len - 1] != ')' ||
	    !pm_hex(tok + 1, len - 2, &l->insn))
		return false;
	l->len = len == 8 ? 2 : 4;
	for (;;) {
		tok = pm_tok_next(&t, &len);
		if (!len)
			return true;
		if (len == 3 && !memcmp(tok, "mem", 3)) {
			struct pm_tok back;
			uint64_t addr, v;

			tok = pm_tok_next(&t, &len);
			if (len < 3 || tok[1] != 'x' || !pm_hex(tok, len, &addr))
				return false;
			back = t;
			tok = pm_tok_next(&t, &len);
			if (l->nmem == NR(l->mem))
				return false;
			l->mem[l->nmem].addr = addr;
			l->mem[l->nmem].store = false;
			if (len > 2 && tok[0] == '0' && tok[1] == 'x') {
				if (!pm_hex(tok, len, &v) || len % 2)
					return false;
				l->mem[l->nmem].store = true;
				l->mem[l->nmem].value = v;
				l->mem[l->nmem].size = (unsigned)(len - 2) / 2;
			} else {
				t = back;
			}
			l->nmem++;
			continue;
		}
		if (len >= 2 && (*tok == 'x' || *tok == 'f')) {
			uint64_t reg, v;
			bool f = *tok == 'f';

			if (!pm_dec(tok + 1, len - 1, &reg) || reg > 31)
				return false;
			tok = pm_tok_next(&t, &len);
			if (len < 3 || tok[1] != 'x' || tok[0] != '0')
				return false;
			/* 128-bit values of quad-precision registers: the low half is what counts
			 * here */
			if (!pm_hex(len > 18 ? tok + len - 16 : tok, len > 18 ? 16 : len, &v))
				return false;
			if (l->nreg < NR(l->reg)) {
				l->reg[l->nreg].id = RV_REG + (f ? 32 : 0) + (uint32_t)reg;
				l->reg[l->nreg++].v = v;
			}
			continue;
		}
		if (len >= 2 &&
		    (*tok == 'c' || *tok == 'e' || *tok == 'm' || *tok == 'l' || *tok == 'v')) {
			struct pm_tok back = t;

			tok = pm_tok_next(&t, &len);
			if (len < 3 || tok[0] != '0' || tok[1] != 'x')
				t = back;		/* e32, m1: a setting, no value */
			continue;
		}
		return false;
	}
}

/* Bytes that a load reads; 0 if the instruction is none. */
static unsigned load_size(uint64_t in, unsigned len)
{
	unsigned f3 = in >> 12 & 7;

	if (len == 2) {
		switch ((in & 3) << 3 | (in >> 13 & 7)) {
		case 0 << 3 | 1: case 2 << 3 | 1: return 8;	/* c.fld, c.fldsp */
		case 0 << 3 | 2: case 2 << 3 | 2: return 4;	/* c.lw, c.lwsp */
		case 0 << 3 | 3: case 2 << 3 | 3: return 8;	/* c.ld, c.ldsp */
		}
		return 0;
	}
	switch (in & 0x7f) {
	case 0x03: return 1u << (f3 & 3);			/* lb lh lw ld, unsigned likewise */
	case 0x07: return f3 == 2 ? 4 : f3 == 3 ? 8 : f3 == 1 ? 2 : f3 == 4 ? 16 : 0;
	case 0x2f: return f3 == 2 ? 4 : 8;			/* atomics */
	}
	return 0;
}

/* PM_BR_* of a control transfer, -1 if it is none; rd and rs1 x1 or x5 mean call and return. */
static int branch_of(uint64_t in, unsigned len)
{
	unsigned rd = in >> 7 & 31, rs1 = in >> 15 & 31;

	if (len == 2) {
		unsigned q = in & 3, f3 = in >> 13 & 7;

		if (q == 1 && f3 == 5)
			return PM_BR_TAKEN;
		if (q == 1 && (f3 == 6 || f3 == 7))
			return PM_BR_COND;
		if (q == 2 && f3 == 4 && rd && !(in >> 2 & 31))
			return PM_BR_TAKEN | PM_BR_INDIRECT |
			       (in >> 12 & 1 ? PM_BR_CALL : rd == 1 || rd == 5 ? PM_BR_RET : 0);
		return -1;
	}
	switch (in & 0x7f) {
	case 0x63:
		return PM_BR_COND;
	case 0x6f:
		return PM_BR_TAKEN | (rd == 1 || rd == 5 ? PM_BR_CALL : 0);
	case 0x67:
		return PM_BR_TAKEN | PM_BR_INDIRECT | (rd == 1 || rd == 5 ? PM_BR_CALL :
						       rs1 == 1 || rs1 == 5 ? PM_BR_RET : 0);
	}
	return -1;
}

struct spike_reader {
	struct pm_lines l;
	struct pm_builder b;
	struct pm_streams streams;	/* one per core, its number + 1 as thread */
	struct pm_codes codes;
	uint64_t insns;
	bool started;
	struct pm_outcome branch;
	struct pm_stream *now;
	const char *held;		/* a line of another core, for the next batch */
	size_t nheld;
};

static void *spike_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
			struct pm_err *err)
{
	struct spike_reader *r;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	r = pm_alloc(sizeof *r);
	pm_lines_init(&r->l, in);
	*facts = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_BRANCHES |
		 PM_HAS_REGS | PM_HAS_REGVALS;
	return r;
}

static void spike_close(void *self)
{
	struct spike_reader *r = self;

	if (!r)
		return;
	pm_builder_release(&r->b);
	pm_streams_release(&r->streams);
	pm_codes_release(&r->codes);
	free(r);
}

static uint32_t insn_of(struct spike_reader *r, const struct spike_line *l, int br)
{
	uint8_t bytes[4] = { (uint8_t)l->insn, (uint8_t)(l->insn >> 8), (uint8_t)(l->insn >> 16),
			     (uint8_t)(l->insn >> 24) };
	bool fresh;
	uint32_t id = pm_codes_put(&r->codes, l->pc, bytes, l->len, false, PM_ISA_RISCV, &fresh);

	if (fresh && br >= 0)
		r->codes.insn[id].flow = br & PM_BR_COND   ? PM_CLASS_COND
					 : br & PM_BR_RET  ? PM_CLASS_RET
					 : br & PM_BR_CALL ? br & PM_BR_INDIRECT ? PM_CLASS_CALL_IND
										 : PM_CLASS_CALL
					 : br & PM_BR_INDIRECT ? PM_CLASS_JUMP_IND
							       : PM_CLASS_JUMP;
	return id;
}

static void spike_epochs(void *self)
{
	((struct spike_reader *)self)->codes.epochs = true;
}

static enum pm_status spike_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct spike_reader *r = self;
	struct pm_builder *b = &r->b;

	if (pm_codes_full(&r->codes)) {
		uint32_t none[2] = { PM_NONE, PM_NONE };

		pm_codes_renew(&r->codes, r->branch.pending ? &r->branch.ev.id : none, none + 1);
	}
	pm_builder_reset(b, NULL, &r->codes.code);
	b->b.first_insn = r->insns;
	while (b->b.n < PM_BATCH_EVENTS) {
		const char *s = r->held;
		size_t n = r->nheld;
		struct spike_line l;
		struct pm_stream *core;
		uint32_t id;
		int br;

		if (!s) {
			enum pm_status st = pm_lines_next(&r->l, &s, &n, err);

			if (st == PM_ERR)
				return st;
			if (st == PM_END) {
				if (r->now && b->b.stream)
					pm_outcome_tell(&r->branch, b, &r->codes, false, 0);
				break;
			}
		}
		r->held = NULL;
		if (!spike_parse(s, n, &l))
			return pm_fail_text(err, r->l.line, "'core N: P 0xPC (0xINSN) ...'", s, n);
		core = pm_streams_of(&r->streams, (uint32_t)l.core + 1);
		if (b->b.stream && core != b->b.stream) {
			pm_outcome_tell(&r->branch, b, &r->codes, false, 0);
			r->held = s;
			r->nheld = n;
			break;
		}
		b->b.stream = r->now = core;
		if (!r->started) {
			r->started = true;
			pm_opaque_header(b, "spike", "", 0);
		}
		pm_outcome_tell(&r->branch, b, &r->codes, true, l.pc);
		br = branch_of(l.insn, l.len);
		id = insn_of(r, &l, br);
		pm_ev_add(b, PM_EV_INSN, (unsigned)l.priv, l.len, l.pc, 0)->id = id;
		r->insns++;
		for (unsigned i = 0; i < l.nreg; i++)
			pm_ev_add(b, PM_EV_REG_WRITE, 0, 8, 0, l.reg[i].v)->id = l.reg[i].id;
		for (unsigned i = 0; i < l.nmem; i++) {
			unsigned size = l.mem[i].store ? l.mem[i].size : load_size(l.insn, l.len);
			struct pm_event *e = pm_ev_add(b, l.mem[i].store ? PM_EV_WRITE : PM_EV_READ,
						       0, size, l.mem[i].addr,
						       l.mem[i].store ? l.mem[i].value : 0);

			e->id = id;
		}
		pm_ev_add(b, PM_EV_OPAQUE, 2, pm_opaque_size(n), pm_builder_bytes(b, s, n), n);
		if (br >= 0)
			r->branch = (struct pm_outcome){ true, false, { PM_EV_BRANCH, (uint8_t)br,
						       (uint16_t)l.len, id, l.pc, 0 } };
	}
	if (!b->b.n)
		return PM_END;
	pm_codes_lend(&r->codes);
	*batch = pm_builder_batch(b);
	return PM_OK;
}

/* ---- writing -------------------------------------------------------------------------------- */

struct spike_writer {
	struct pm_plain w;
	struct pm_grouper g;
};

static enum pm_status spike_group(void *self, const struct pm_group *g, struct pm_err *err)
{
	struct spike_writer *w = self;
	struct pm_buf line = { 0 };
	enum pm_status st;
	uint32_t insn = 0;

	if (w->w.native)
		return PM_OK;
	if (!g->known || g->insn.isa != PM_ISA_RISCV || (g->insn.len != 2 && g->insn.len != 4))
		return pm_fail_file(err,
				    "the instruction at 0x%llx is no RISC-V instruction; Spike "
				    "logs hold "
				    "nothing else",
				    (unsigned long long)g->pc);
	memcpy(&insn, g->insn.bytes, g->insn.len);
	insn = le32toh(insn);
	pm_buf_printf(&line, "core%4d: %1d 0x%016llx (0x%0*x)",
		      (int)(g->stream->tid ? g->stream->tid - 1 : 0), g->tag & 3,
		      (unsigned long long)g->pc, g->insn.len * 2, insn);
	for (unsigned i = 0; i < g->nwr; i++) {
		unsigned r = g->wr[i].id - RV_REG;

		if (r < 64)
			pm_buf_printf(&line, " %c%-2u 0x%016llx", r < 32 ? 'x' : 'f', r & 31,
				      (unsigned long long)g->wr[i].value);
	}
	for (unsigned i = 0; i < g->nref; i++) {
		const struct pm_event *e = &g->ref[i];

		pm_buf_printf(&line, " mem 0x%016llx", (unsigned long long)e->addr);
		if (e->kind != PM_EV_READ)
			pm_buf_printf(&line, " 0x%0*llx", 2 * (e->size <= 8 ? e->size : 8),
				      (unsigned long long)e->value);
	}
	pm_buf_add(&line, "\n", 1);
	st = pm_output_write(w->w.out, line.p, line.n, err);
	pm_buf_release(&line);
	return st;
}

static enum pm_status spike_other(void *self, const struct pm_batch *b, const struct pm_event *e,
				  struct pm_err *err)
{
	struct spike_writer *w = self;
	size_t n;

	if (e->kind != PM_EV_OPAQUE) {
		w->w.dropped[e->kind]++;
		return PM_OK;
	}
	if (pm_opaque_is(b, e, "spike", &n)) {
		w->w.native = true;
	} else if (w->w.native && e->flags == 2 && e->addr <= b->narena &&
		   b->narena - e->addr >= e->value) {
		if (pm_output_write(w->w.out, b->arena + e->addr, e->value, err) == PM_ERR)
			return PM_ERR;
		return pm_output_write(w->w.out, "\n", 1, err);
	}
	return PM_OK;
}

static void *spike_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err)
{
	struct spike_writer *w;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	w = pm_alloc(sizeof *w);
	w->w.out = out;
	w->g = (struct pm_grouper){ .group = spike_group, .other = spike_other, .self = w };
	return w;
}

static enum pm_status spike_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	return pm_grouper_batch(&((struct spike_writer *)self)->g, b, err);
}

static enum pm_status spike_finish(void *self, struct pm_err *err)
{
	return pm_grouper_finish(&((struct spike_writer *)self)->g, err);
}

static void spike_free(void *self)
{
	struct spike_writer *w = self;

	if (!w)
		return;
	pm_grouper_release(&w->g);
	free(w);
}

static int spike_probe(const uint8_t *head, size_t n)
{
	const char *s = (const char *)head, *nl = memchr(head, '\n', n);
	struct spike_line l;

	if (n < 5 || memcmp(head, "core", 4) || (!nl && n >= PM_WINDOW))
		return 0;
	return spike_parse(s, nl ? (size_t)(nl - s) : n, &l) ? 120 : 0;
}

static const struct pm_reader_ops spike_read = { spike_open, spike_next, spike_close, NULL,
	spike_epochs };
static const struct pm_writer_ops spike_write_ops = {
	spike_create, spike_write, spike_finish, spike_free, pm_plain_dropped
};

const struct pm_format pm_fmt_spike = {
	.name = "spike", .about = "commit logs of the RISC-V simulator Spike",
	.plural = "Spike logs", .suffixes = ".spike",
	.has = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_BRANCHES |
		PM_HAS_REGS |
	       PM_HAS_REGVALS,
	.needs = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS,
	.probe = spike_probe, .read = &spike_read, .write = &spike_write_ops,
};
