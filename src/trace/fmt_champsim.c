/* SPDX-License-Identifier: MIT */
/* fmt_champsim.c - input of the ChampSim simulator: one fixed-size record per instruction, all
 * integers little-endian
 *
 *   OFFSET                    champsim 64 bytes           cloudsuite 96 bytes
 *   ip, u64                       0                           0
 *   is_branch, taken, u8          8, 9                        8, 9
 *   destination registers, u8    10, two                     10, four
 *   source registers, u8         12, four                    14, four
 *   padding                                                  18, 6
 *   destination memory, u64      16, two                     24, four
 *   source memory, u64           32, four                    56, four
 *   address space, u8[2]                                     88
 *   padding                                                  90, 6
 *
 * 0 is an unused slot. Registers are numbered as Pin does: 3 rdi 4 rsi 5 rbp 6 rsp 7 rbx 8 rdx 9
 * rcx 10 rax 11-18 r8-r15 25 flags 26 ip; xmm0-15 are 64-79 here, x87 80-87. The simulator infers
 * the kind of a branch from 6, 25 and 26 among them, so the writer puts them as it expects:
 *
 *   direct jump    writes ip                   call           writes ip sp, reads ip sp
 *   indirect jump  writes ip, reads another    indirect call  writes ip sp, reads ip sp another
 *   conditional    writes ip, reads ip flags   return         writes ip sp, reads sp */
#include <stdlib.h>

#include "trace/group.h"
#include "trace/text.h"

#define PIN_SP		6
#define PIN_FLAGS	25
#define PIN_IP		26
#define PIN_OTHER	27		/* stands for memory where a branch reads no register */
#define FOREIGN		0x100		/* register ids of another numbering: 0x100 + Pin's
					 * number */

struct champsim_layout {
	const char *name;
	unsigned size, ndreg, dreg, nsreg, sreg, ndmem, dmem, nsmem, smem;
	unsigned asid;			/* 0: none */
};
static const struct champsim_layout champsim = { "champsim", 64, 2, 10, 4, 12, 2, 16, 4, 32, 0 };
static const struct champsim_layout cloudsuite = { "cloudsuite", 96, 4, 10, 4, 14, 4, 24, 4, 56,
	88 };

static const uint8_t gpr_to_pin[16] = { 10, 9, 8, 7, 6, 5, 4, 3, 11, 12, 13, 14, 15, 16, 17, 18 };

static uint32_t from_pin(unsigned n)
{
	static const uint8_t gpr[19] = { [3] = 7, 6, 5, 4, 3, 2, 1, 0, 8, 9, 10, 11, 12, 13, 14,
		15 };

	if (n >= 3 && n <= 18)
		return gpr[n];
	if (n == PIN_FLAGS)
		return X86_REG_FLAGS;
	if (n >= 64 && n <= 87)
		return n - 48;			/* 16-31 xmm, 32-39 x87 */
	return FOREIGN + n;
}

/* 0: a register that ChampSim does not need to know (temporaries of a cracker) */
static unsigned to_pin(uint32_t id)
{
	if (id < 16)
		return gpr_to_pin[id];
	if (id < 40)
		return id + 48;
	if (id == 43)
		return 88;
	if (id == X86_REG_FLAGS)
		return PIN_FLAGS;
	if (id >= FOREIGN && id < FOREIGN + 256)
		return id - FOREIGN;
	if (id >= 0x200 && id < 0x200 + 65)	/* CVP-1 */
		return 100 + (id - 0x200);
	if (id >= 0x300 && id < 0x300 + 64)	/* RISC-V */
		return 170 + (id - 0x300);
	return 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

enum role { ROLE_SP = 1, ROLE_FLAGS = 2, ROLE_IP = 4, ROLE_OTHER = 8, ROLES = 16 };

struct champ_reader {
	struct pm_window w;
	struct pm_builder b;
	struct pm_stream stream;
	uint64_t insns;
	unsigned asid;
	bool started;
	uint64_t read[256], write[256];		/* by Pin's number: an event up to its address */
	uint8_t role[256];
	uint8_t kind[ROLES][ROLES];		/* of a branch: by what it reads, by what it
						 * writes */
};

static unsigned branch_kind(unsigned reads, unsigned writes)
{
	bool sp = reads & ROLE_SP, flags = reads & ROLE_FLAGS, ip = reads & ROLE_IP,
	     other = reads & ROLE_OTHER, wsp = writes & ROLE_SP, wip = writes & ROLE_IP;

	if (!sp && !flags && wip && !other)
		return 0;
	if (!sp && !ip && !flags && wip && other)
		return PM_BR_INDIRECT;
	if (!sp && ip && !wsp && wip)
		return PM_BR_COND;
	if (sp && ip && wsp && wip)
		return PM_BR_CALL | (other ? PM_BR_INDIRECT : 0);
	if (sp && !ip && wsp && wip)
		return PM_BR_RET | PM_BR_INDIRECT;
	return PM_BR_INDIRECT;
}

static void *champ_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
			struct pm_err *err, const struct champsim_layout *l)
{
	struct champ_reader *r;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	r = pm_alloc(sizeof *r);
	r->w.in = in;
	for (unsigned i = 0; i < 256; i++) {
		struct pm_event e = { PM_EV_REG_READ, 0, 8, from_pin(i), 0, 0 };

		memcpy(&r->read[i], &e, sizeof r->read[i]);
		e.kind = PM_EV_REG_WRITE;
		memcpy(&r->write[i], &e, sizeof r->write[i]);
		r->role[i] = !i ? 0 : i == PIN_SP ? ROLE_SP : i == PIN_FLAGS ? ROLE_FLAGS :
			     i == PIN_IP ? ROLE_IP : ROLE_OTHER;
	}
	for (unsigned i = 0; i < ROLES; i++)
		for (unsigned k = 0; k < ROLES; k++)
			r->kind[i][k] = (uint8_t)branch_kind(i, k);
	*facts = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_BRANCHES | PM_HAS_REGS |
		 (l->asid ? PM_HAS_SPACES : 0);
	return r;
}

static void champ_close(void *self)
{
	struct champ_reader *r = self;

	if (!r)
		return;
	pm_builder_release(&r->b);
	free(r);
}

static inline unsigned roles(const struct champ_reader *r, const uint8_t *p, unsigned n)
{
	return r->role[p[0]] | r->role[p[1]] | (n > 2 ? r->role[p[2]] | r->role[p[3]] : 0);
}

/* Which slots are used differs from record to record, and no processor foresees it: so an event is
 * put for each of the first slots, and stays if its slot is used. The other slots hardly ever
 * are. */
static inline struct pm_event *put_reg(struct pm_event *e, const uint64_t *of, unsigned reg)
{
	memcpy(e, &of[reg], sizeof *of);
	e->addr = e->value = 0;
	return e + !!reg;
}

static inline struct pm_event *put_regs(struct pm_event *e, const uint64_t *of, const uint8_t *p,
					unsigned n)
{
	e = put_reg(put_reg(e, of, p[0]), of, p[1]);
	return n > 2 && pm_get16(p + 2) ? put_reg(put_reg(e, of, p[2]), of, p[3]) : e;
}

static inline uint64_t others(const uint8_t *p, unsigned n)
{
	return pm_get64(p + 8) | (n > 2 ? pm_get64(p + 16) | pm_get64(p + 24) : 0);
}

static inline struct pm_event *put_ref(struct pm_event *e, enum pm_kind kind, const uint8_t *p)
{
	const uint64_t addr = pm_get64(p);

	*e = (struct pm_event){ (uint8_t)kind, 0, 8, PM_NONE, addr, 0 };
	return e + !!addr;
}

static struct pm_event *put_refs(struct pm_event *e, enum pm_kind kind, const uint8_t *p,
				 unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		e = put_ref(e, kind, p + 8 * i);
	return e;
}

/* HOT: once per record, compiled once for each layout; @known: another one follows. */
static inline __attribute__((always_inline)) struct pm_event *champ_record(
	struct champ_reader *r, const struct champsim_layout *l, const uint8_t *p, bool known,
	struct pm_event *e)
{
	uint64_t pc = pm_get64(p), next = known ? pm_get64(p + l->size) : 0;
	unsigned size = known && !(p[8] && p[9]) && next > pc && next - pc <= 15
				? (unsigned)(next - pc)
				: 0;

	if (l->asid && pm_get16(p + l->asid) != r->asid) {
		r->asid = pm_get16(p + l->asid);
		*e++ = (struct pm_event){ PM_EV_SWITCH, 0, 0, PM_NONE, 0, r->asid };
	}
	*e++ = (struct pm_event){ PM_EV_INSN, 0, (uint16_t)size, PM_NONE, pc, 0 };
	e = put_regs(e, r->read, p + l->sreg, l->nsreg);
	e = put_regs(e, r->write, p + l->dreg, l->ndreg);
	if (others(p + l->smem, l->nsmem) | others(p + l->dmem, l->ndmem)) {
		e = put_refs(e, PM_EV_READ, p + l->smem, l->nsmem);
		e = put_refs(e, PM_EV_WRITE, p + l->dmem, l->ndmem);
	} else {
		e = put_ref(e, PM_EV_READ, p + l->smem);
		e = put_ref(e, PM_EV_WRITE, p + l->dmem);
	}
	if (p[8]) {
		unsigned kind = r->kind[roles(r, p + l->sreg, l->nsreg)]
				       [roles(r, p + l->dreg, l->ndreg)];

		*e++ = (struct pm_event){ PM_EV_BRANCH, (uint8_t)(kind | (p[9] ? PM_BR_TAKEN : 0)),
					  (uint16_t)size, PM_NONE, pc, p[9] ? next : 0 };
	}
	return e;
}

static inline __attribute__((always_inline)) enum pm_status champ_next(
	struct champ_reader *r, const struct champsim_layout *l, const struct pm_batch **batch,
	struct pm_err *err)
{
	struct pm_builder *b = &r->b;

	pm_builder_reset(b, &r->stream, NULL);
	b->b.first_insn = r->insns;
	pm_ev_room(b, PM_BATCH_EVENTS + 32);
	if (!r->started) {
		r->started = true;
		pm_opaque_header(b, l->name, "", 0);
	}
	while (b->b.n < PM_BATCH_EVENTS) {
		const struct pm_event *full = &b->ev[PM_BATCH_EVENTS];
		struct pm_event *e = &b->ev[b->b.n];
		const uint8_t *p;
		size_t followed;

		/* the next record tells the instruction's size and a branch's target */
		if (pm_window_left(&r->w) < 2 * l->size) {
			enum pm_status st = pm_window_fill(&r->w, PM_WINDOW, err);

			if (st == PM_ERR)
				return st;
			if (st == PM_END)
				break;
			if (pm_window_left(&r->w) < l->size)
				return pm_fail(err, pm_window_at(&r->w),
					       "expected %u bytes of record, "
					       "found %zu",
					       l->size, pm_window_left(&r->w));
		}
		p = r->w.p;
		if (pm_get16(p + 8) & ~0x0101u)
			return pm_fail(err, pm_window_at(&r->w) + (p[8] > 1 ? 8 : 9),
				       "expected 0 or 1 for %s, found %u",
				       p[8] > 1 ? "'is a branch'" : "'taken'",
				       p[8] > 1 ? p[8] : p[9]);
		followed = pm_window_left(&r->w) / l->size - 1;
		if (!followed) {
			e = champ_record(r, l, p, false, e);
			p += l->size;
		}
		for (; followed && e < full && !(pm_get16(p + 8) & ~0x0101u); followed--) {
			e = champ_record(r, l, p, true, e);
			p += l->size;
		}
		r->insns += (size_t)(p - r->w.p) / l->size;
		r->w.p = p;
		b->b.n = (size_t)(e - b->ev);
	}
	if (!b->b.n)
		return PM_END;
	*batch = pm_builder_batch(b);
	return PM_OK;
}

static enum pm_status cs_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	return champ_next(self, &champsim, batch, err);
}
static enum pm_status cl_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	return champ_next(self, &cloudsuite, batch, err);
}

static void *cs_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *f,
		     struct pm_err *e)
{
	return champ_open(in, o, f, e, &champsim);
}
static void *cl_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *f,
		     struct pm_err *e)
{
	return champ_open(in, o, f, e, &cloudsuite);
}

/* ---- writing -------------------------------------------------------------------------------- */

struct champ_writer {
	struct pm_plain w;
	const struct champsim_layout *l;
	struct pm_grouper g;
	struct pm_regs_cache regs;
	uint64_t space;
	uint8_t *at, *end;		/* the reserved chunk that records go to */
	size_t room;
};

struct champsim_slots {
	uint8_t *p;
	unsigned n, max;
	bool full;
};

static void add_reg(struct champsim_slots *s, unsigned reg)
{
	if (!reg)
		return;
	for (unsigned i = 0; i < s->n; i++)
		if (s->p[i] == reg)
			return;
	if (s->n == s->max)
		s->full = true;
	else
		s->p[s->n++] = (uint8_t)reg;
}

/* An unused slot is 0, so that address cannot be said. */
static void add_mem(uint8_t *p, unsigned *n, unsigned max, uint64_t addr, uint64_t *dropped)
{
	if (!addr || *n == max) {
		++*dropped;
		return;
	}
	pm_put64(p + 8 * (*n)++, addr);
}

static void add_mask(struct champsim_slots *s, uint64_t mask, uint64_t without)
{
	for (mask &= ~without; mask; mask &= mask - 1)
		add_reg(s, to_pin((uint32_t)__builtin_ctzll(mask)));
}

static enum pm_status champ_commit(struct champ_writer *w, struct pm_err *err)
{
	const bool any = w->at;
	const size_t n = w->room - (size_t)(w->end - w->at);

	/* a call behind an error finds no room */
	w->at = w->end = NULL;
	w->room = 0;
	return any ? pm_output_commit(w->w.out, n, err) : PM_OK;
}

/* Registers that the instruction and its micro-ops read and write, as bits. */
static void champ_reads_writes(const struct x86_regs *x, const struct pm_group *g,
			       uint64_t *reads, uint64_t *writes)
{
	if (x) {
		*reads = x->reads;
		*writes = x->writes;
	}
	for (unsigned i = 0; i < g->nuop; i++) {
		const struct pm_uop *u = &g->uop[i];

		if (u->src1 >= 0 && u->src1 < 44)
			*reads |= 1ull << u->src1;
		if (u->src2 >= 0 && u->src2 < 44)
			*reads |= 1ull << u->src2;
		if (u->dest >= 0 && u->dest < 44)
			*writes |= 1ull << u->dest;
		if (u->flag_use == PM_UOP_READS_FLAGS)
			*reads |= 1ull << X86_REG_FLAGS;
		if (u->flag_use == PM_UOP_WRITES_FLAGS)
			*writes |= 1ull << X86_REG_FLAGS;
	}
}

/* Branches name the registers by which ChampSim tells their kinds apart. */
static void champ_branch(const struct pm_group *g, unsigned flags, uint64_t reads,
			 struct champsim_slots *src, struct champsim_slots *dst)
{
	const uint64_t sp = 1ull << X86_REG_RSP, fl = 1ull << X86_REG_FLAGS;
	uint64_t other;

	for (unsigned i = 0; i < g->nrd; i++)
		if (g->rd[i].id < 64)
			reads |= 1ull << g->rd[i].id;
	other = reads & ~sp & ~fl;
	add_reg(dst, PIN_IP);
	if (flags & (PM_BR_CALL | PM_BR_RET))
		add_reg(dst, PIN_SP);
	if (flags & (PM_BR_COND | PM_BR_CALL))
		add_reg(src, PIN_IP);
	if (flags & (PM_BR_CALL | PM_BR_RET))
		add_reg(src, PIN_SP);
	if (flags & PM_BR_COND)
		/* loop and jrcxz count in rcx, all others look at flags */
		add_reg(src, reads & fl || !other ? PIN_FLAGS : to_pin(1));
	if (flags & PM_BR_INDIRECT && !(flags & PM_BR_RET)) {
		add_mask(src, other, 0);
		if (!other)
			add_reg(src, PIN_OTHER);
	}
}

static enum pm_status champ_group(void *self, const struct pm_group *g, struct pm_err *err)
{
	struct champ_writer *w = self;
	const struct champsim_layout *l = w->l;
	const struct x86_regs *x = pm_regs_of(&w->regs, g);
	uint64_t reads = 0, writes = 0;
	struct champsim_slots src, dst;
	unsigned nd = 0, ns = 0, flags = 0;
	bool branch = g->has_branch, taken = false;
	uint8_t *p;

	if ((size_t)(w->end - w->at) < l->size) {
		if (champ_commit(w, err) == PM_ERR)
			return PM_ERR;
		w->at = pm_output_reserve(w->w.out, 1024 * l->size, err);
		if (!w->at)
			return PM_ERR;
		w->room = 1024 * l->size;
		w->end = w->at + w->room;
	}
	p = w->at;
	memset(p, 0, l->size);
	pm_put64(p, g->pc);
	src = (struct champsim_slots){ p + l->sreg, 0, l->nsreg, false };
	dst = (struct champsim_slots){ p + l->dreg, 0, l->ndreg, false };
	if (branch) {
		flags = g->branch.flags;
		taken = flags & PM_BR_TAKEN;
	} else if (x && x->class != PM_CLASS_NONE && x->class != PM_CLASS_SYSCALL) {
		/* the outcome is not known: the trace ends here */
		branch = true;
		flags = x->class == PM_CLASS_COND				     ? PM_BR_COND
			: x->class == PM_CLASS_RET				     ? PM_BR_RET
			: x->class == PM_CLASS_CALL || x->class == PM_CLASS_CALL_IND ? PM_BR_CALL
										     : 0;
		if (x->indirect)
			flags |= PM_BR_INDIRECT;
		taken = !(flags & PM_BR_COND);
	}
	champ_reads_writes(x, g, &reads, &writes);
	p[8] = branch;
	p[9] = taken;
	if (w->w.native) {
		for (unsigned i = 0; i < g->nrd; i++)
			add_reg(&src, to_pin(g->rd[i].id));
		for (unsigned i = 0; i < g->nwr; i++)
			add_reg(&dst, to_pin(g->wr[i].id));
	} else if (branch) {
		champ_branch(g, flags, reads, &src, &dst);
	} else {
		add_mask(&src, reads, 0);
		add_mask(&dst, writes, 0);
		for (unsigned i = 0; i < g->nrd; i++)
			add_reg(&src, to_pin(g->rd[i].id));
		for (unsigned i = 0; i < g->nwr; i++)
			add_reg(&dst, to_pin(g->wr[i].id));
	}
	for (unsigned i = 0; i < g->nref; i++) {
		const struct pm_event *e = &g->ref[i];

		if (!pm_is_ref(e)) {
			w->w.dropped[e->kind]++;
			continue;
		}
		if (e->kind != PM_EV_WRITE)
			add_mem(p + l->smem, &ns, l->nsmem, e->addr, &w->w.dropped[PM_EV_READ]);
		if (e->kind != PM_EV_READ)
			add_mem(p + l->dmem, &nd, l->ndmem, e->addr, &w->w.dropped[PM_EV_WRITE]);
	}
	w->w.dropped[PM_EV_REP_END] += g->rep_end;
	w->w.dropped[PM_EV_REG_READ] += src.full;
	w->w.dropped[PM_EV_REG_WRITE] += dst.full;
	if (l->asid)
		pm_put16(p + l->asid, (uint16_t)w->space);
	w->at += l->size;
	return PM_OK;
}

static enum pm_status champ_other(void *self, const struct pm_batch *b, const struct pm_event *e,
				  struct pm_err *err)
{
	struct champ_writer *w = self;
	size_t n;

	if (e->kind == PM_EV_OPAQUE) {
		if (pm_opaque_is(b, e, w->l->name, &n))
			w->w.native = true;
	} else if (e->kind == PM_EV_SWITCH && w->l->asid) {
		w->space = e->value;
	} else {
		w->w.dropped[e->kind]++;
	}
	return PM_OK;
}

static void *champ_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err,
			  const struct champsim_layout *l)
{
	struct champ_writer *w;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	if (!(o->facts & (PM_HAS_REGS | PM_HAS_BYTES | PM_HAS_UOPS))) {
		pm_fail_file(err,
			     "writing ChampSim traces needs register numbers or instruction bytes, "
			     "and "
			     "the input holds neither (`pugmark run --exec` traces the bytes)");
		return NULL;
	}
	w = pm_alloc(sizeof *w);
	w->w.out = out;
	w->l = l;
	w->g = (struct pm_grouper){ .group = champ_group, .other = champ_other, .self = w };
	return w;
}

static void *cs_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *e)
{
	return champ_create(out, o, e, &champsim);
}
static void *cl_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *e)
{
	return champ_create(out, o, e, &cloudsuite);
}

static enum pm_status champ_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct champ_writer *w = self;

	return pm_grouper_batch(&w->g, b, err);
}

static enum pm_status champ_finish(void *self, struct pm_err *err)
{
	struct champ_writer *w = self;

	if (pm_grouper_finish(&w->g, err) == PM_ERR)
		return PM_ERR;
	return champ_commit(w, err);
}

static void champ_free(void *self)
{
	struct champ_writer *w = self;

	if (!w)
		return;
	pm_grouper_release(&w->g);
	pm_regs_release(&w->regs);
	free(w);
}

/* ---- probing -------------------------------------------------------------------------------- */

static bool plausible(uint64_t addr)
{
	return addr < 1ull << 57 || addr >> 57 == 0x7f;
}

static int champ_probe(const uint8_t *head, size_t n, const struct champsim_layout *l)
{
	size_t records = n / l->size < 32 ? n / l->size : 32;
	int zero = 0;

	if (!records || (n < PM_WINDOW && n % l->size))
		return 0;
	for (size_t i = 0; i < records; i++) {
		const uint8_t *p = head + i * l->size;

		if (p[8] > 1 || p[9] > p[8] || !pm_get64(p) || !plausible(pm_get64(p)))
			return 0;
		for (unsigned k = 0; k < l->ndmem; k++)
			if (!plausible(pm_get64(p + l->dmem + 8 * k)))
				return 0;
		for (unsigned k = 0; k < l->nsmem; k++)
			if (!plausible(pm_get64(p + l->smem + 8 * k)))
				return 0;
			else
				zero += !pm_get64(p + l->smem + 8 * k);
		if (l->asid && (pm_get16(p + 90) || pm_get32(p + 92) || pm_get16(p + 18) ||
				pm_get32(p + 20)))
			return 0;
	}
	return zero ? 30 + 8 * (int)(records < 8 ? records : 8) + (l->asid ? 40 : 0) : 0;
}

static int cs_probe(const uint8_t *head, size_t n)
{
	return champ_probe(head, n, &champsim);
}

static int cl_probe(const uint8_t *head, size_t n)
{
	return champ_probe(head, n, &cloudsuite);
}

static const struct pm_reader_ops cs_read = { cs_open, cs_next, champ_close };
static const struct pm_reader_ops cl_read = { cl_open, cl_next, champ_close };
static const struct pm_writer_ops cs_write = {
	cs_create, champ_write, champ_finish, champ_free, pm_plain_dropped
};
static const struct pm_writer_ops cl_write = {
	cl_create, champ_write, champ_finish, champ_free, pm_plain_dropped
};

const struct pm_format pm_fmt_champsim = {
	.name = "champsim", .about = "input of the ChampSim simulator, 64-byte records",
	.plural = "ChampSim traces", .suffixes = ".champsimtrace .champsim",
	.has = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_BRANCHES | PM_HAS_REGS,
	.needs = PM_HAS_INSNS | PM_HAS_REFS,
	.probe = cs_probe, .read = &cs_read, .write = &cs_write,
};
const struct pm_format pm_fmt_cloudsuite = {
	.name = "cloudsuite",
	.about = "ChampSim's CloudSuite records, 96 bytes with address spaces",
	.plural = "CloudSuite traces", .suffixes = ".cloudsuite",
	.has = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_BRANCHES | PM_HAS_REGS | PM_HAS_SPACES,
	.needs = PM_HAS_INSNS | PM_HAS_REFS,
	.probe = cl_probe, .read = &cl_read, .write = &cl_write,
};
