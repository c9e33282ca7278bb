/* SPDX-License-Identifier: MIT */
/* idt_write.c - IDtrace's traces, written: fmt_idt.c draws their entries */
#include <stdio.h>
#include <stdlib.h>

#include "trace/expand.h"
#include "trace/group.h"
#include "trace/idt_files.h"
#include "trace/idt_format.h"
#include "trace/text.h"

struct idt_writer {
	struct pm_plain w;
	struct pm_grouper g;
	enum idt_kind kind;
	bool wide, rep, stack;		/* options: own tags for reps, for pushes and pops */
	uint64_t line_mask;
	char *blk_path, *info_path;	/* NULL: none is written */

	/* the block being put together */
	struct idt_insn insn[IDT_MAX_INSNS];
	unsigned ninsn;
	uint64_t address, next_pc;
	bool open, in_rep;
	uint32_t undone;		/* the block ends in it: in the code table */
	struct pm_buf entries;
	uint64_t lines[3 * IDT_MAX_INSNS];
	unsigned nlines;

	/* execution */
	void *expander;			/* blocks of another format; NULL: none have come */
	uint32_t block;			/* from an execution trace: the block that runs */
	size_t put;			/* ... and its entries that are out, if part of it is */
	bool part;
	struct idt_blk blk;
	struct pm_map known;		/* hash of a block -> its index + 1, chained by retry */
	struct pm_buf native_blk;	/* .blk of the source, as it was */
	struct { uint32_t at; uint64_t target; } *targ;
	size_t ntarg, cap_targ;
	/* in the code table */
	struct form { uint16_t id; uint8_t class, known, pushes; } *form;
	size_t cap_form;
};

static enum pm_status put_info(struct idt_writer *w, struct pm_buf *to, const uint8_t *head,
			       unsigned n, uint64_t v, struct pm_err *err)
{
	uint8_t e[11];
	char instead[64];

	if (!w->wide && v > UINT32_MAX) {
		snprintf(instead, sizeof instead, "write %s, whose entries are 64 bits wide",
			 idt_format_name[1][w->kind]);
		return pm_fail_wide(err, v, instead);
	}
	memcpy(e, head, n);
	if (w->wide)
		pm_put64(e + n, v);
	else
		pm_put32(e + n, (uint32_t)v);
	n += w->wide ? 8 : 4;
	if (!to)
		return pm_output_write(w->w.out, e, n, err);
	pm_buf_add(to, e, n);
	return PM_OK;
}

static enum pm_status put_tag(struct idt_writer *w, struct pm_buf *to, unsigned tag, uint64_t v,
			      struct pm_err *err)
{
	uint8_t t = (uint8_t)tag;

	return put_info(w, to, &t, 1, v, err);
}

/* A reference beyond the largest code is several entries. Returns how many, 0 after an error. */
static unsigned put_ref(struct idt_writer *w, struct pm_buf *to, unsigned tag, uint64_t addr,
			unsigned size, struct pm_err *err)
{
	unsigned n = 0;

	if (!size)
		size = 4;
	while (size) {
		/* pushes and pops are never wider than a register */
		unsigned most = tag >= IDT_POP && size > 8 ? 8 : size;
		unsigned code = idt_bytes_code(most, w->wide);
		unsigned bytes = idt_code_bytes(code, w->wide);

		if (put_tag(w, to, tag | code, addr, err) == PM_ERR)
			return 0;
		addr += bytes;
		size -= bytes;
		n++;
	}
	return n;
}

/* The one entry of an instruction that pushes or pops several times: its first part, if @e is all
 * of them. */
static unsigned put_first(struct idt_writer *w, struct pm_buf *to, unsigned tag,
			  enum idt_pushes k, const struct pm_event *e, struct pm_err *err)
{
	const unsigned size = e->size ? e->size : 4, parts = idt_pushed(k);
	/* sources that tell each by itself begin with the first; one of 8 bytes is all of a far
	 * call's, but none of pusha's */
	const bool all = size >= 2 * parts && size % parts == 0;

	if (!all)
		return put_ref(w, to, tag, e->addr, size, err);
	return put_ref(w, to, tag, idt_first_push(k, e->addr, size), size / parts, err);
}

static const uint8_t *bytes_of(const struct pm_batch *b, const struct pm_event *e, unsigned *len)
{
	if (!b->code || e->id >= b->code->ninsn || !b->code->insn[e->id].len)
		return NULL;
	*len = b->code->insn[e->id].len;
	return b->code->insn[e->id].bytes;
}

static enum pm_status branch_write(struct idt_writer *w, const struct pm_batch *b,
				   struct pm_err *err)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *e = &b->ev[i];
		const uint8_t *bytes;
		uint8_t head[3];
		unsigned len = 0, n;
		bool wide;

		switch (e->kind) {
		case PM_EV_BLOCK:
			if (put_tag(w, NULL, IDT_BBAD, e->addr, err) == PM_ERR)
				return PM_ERR;
			break;
		case PM_EV_INSN:
			if ((!w->open || e->addr != w->next_pc) &&
			    put_tag(w, NULL, IDT_BBAD, e->addr, err) == PM_ERR)
				return PM_ERR;
			w->open = true;
			w->next_pc = e->addr + e->size;
			break;
		case PM_EV_BRANCH:
			bytes = bytes_of(b, e, &len);
			wide = bytes && b->code->insn[e->id].isa == PM_ISA_X86_64;
			n = bytes ? idt_opcode(bytes, len, wide, head + 1) : 0;
			if (!n)
				return pm_fail_file(err, "the branch at 0x%llx has no opcode "
						    "bytes; branch traces hold them",
						    (unsigned long long)e->addr);
			head[0] = n == 1 ? IDT_OP1 : IDT_OP2;
			if (put_info(w, NULL, head, n + 1, e->addr + e->size - 1, err) == PM_ERR)
				return PM_ERR;
			w->open = false;
			break;
		case PM_EV_OPAQUE:
			break;
		default:
			w->w.dropped[e->kind]++;
		}
	}
	return PM_OK;
}

static enum pm_status flush_cache(struct idt_writer *w, struct pm_err *err)
{
	enum pm_status st = PM_OK;

	for (unsigned i = 0; i < w->nlines && st == PM_OK; i++)
		st = put_tag(w, NULL, IDT_LINE, w->lines[i], err);
	if (st == PM_OK)
		st = pm_output_write(w->w.out, w->entries.p, w->entries.n, err);
	w->entries.n = 0;
	w->nlines = 0;
	return st;
}

static void add_line(struct idt_writer *w, uint64_t line)
{
	unsigned i = w->nlines;

	while (i && w->lines[i - 1] > line)
		i--;
	if ((i && w->lines[i - 1] == line) || w->nlines == NR(w->lines))
		return;
	memmove(w->lines + i + 1, w->lines + i, (w->nlines - i) * sizeof *w->lines);
	w->lines[i] = line;
	w->nlines++;
}

static enum pm_status cache_write(struct idt_writer *w, const struct pm_batch *b,
				  struct pm_err *err)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *e = &b->ev[i];
		bool rep = (e->flags & PM_REF_REP || w->in_rep) && (w->rep || w->w.native);
		bool stack = e->flags & PM_REF_STACK && (w->stack || w->w.native) && e->size >= 2;
		bool ok = true;
		uint64_t end;
		size_t n;

		switch (e->kind) {
		case PM_EV_LINE:
			ok = flush_cache(w, err) == PM_OK &&
			     put_tag(w, NULL, IDT_LINE, e->addr, err) == PM_OK;
			break;
		case PM_EV_INSN:
			if ((!w->open || e->addr != w->next_pc || w->ninsn == IDT_MAX_INSNS) &&
			    flush_cache(w, err) == PM_ERR)
				return PM_ERR;
			w->ninsn = w->open && e->addr == w->next_pc && w->ninsn < IDT_MAX_INSNS ?
				   w->ninsn + 1 : 1;
			w->open = true;
			w->in_rep = b->code && e->id < b->code->ninsn && b->code->insn[e->id].rep;
			w->next_pc = e->addr + e->size;
			end = e->addr + (e->size ? e->size : 1);
			for (uint64_t l = e->addr & w->line_mask; l < end; l += ~w->line_mask + 1)
				add_line(w, l);
			break;
		case PM_EV_READ: case PM_EV_WRITE: case PM_EV_MODIFY:
			if (!pm_is_ref(e)) {
				w->w.dropped[e->kind]++;
				break;
			}
			if (e->kind != PM_EV_WRITE)
				ok = put_ref(w, &w->entries,
					     rep ? IDT_RRD : stack ? IDT_POP : IDT_RD, e->addr,
					     e->size, err);
			if (ok && e->kind != PM_EV_READ)
				ok = put_ref(w, &w->entries,
					     rep ? IDT_RWR : stack ? IDT_PUSH : IDT_WR, e->addr,
					     e->size, err);
			/* a rep instruction may refer without end; the lines came first */
			if (ok && w->entries.n > 65536)
				ok = flush_cache(w, err) == PM_OK;
			break;
		case PM_EV_REP_END:
			if (w->rep || w->w.native)
				ok = put_tag(w, &w->entries, IDT_REND, 0, err) == PM_OK;
			else
				w->w.dropped[PM_EV_REP_END]++;
			break;
		case PM_EV_BRANCH:
			w->open = false;
			w->w.dropped[PM_EV_BRANCH]++;
			break;
		case PM_EV_REP_ITER:
			/* marked, an iteration is its references */
			w->w.dropped[PM_EV_REP_ITER] += !(w->rep || w->w.native);
			break;
		case PM_EV_OPAQUE:
			if (pm_opaque_is(b, e, idt_format_name[w->wide][IDT_CACHE], &n))
				w->w.native = true;
			break;
		default:
			w->w.dropped[e->kind]++;
		}
		if (!ok)
			return PM_ERR;
	}
	return PM_OK;
}

/* Sources that mark no ends of rep instructions leave it to the next instruction to say so. */
static enum pm_status end_rep(struct idt_writer *w, struct pm_err *err)
{
	if (!w->in_rep)
		return PM_OK;
	w->in_rep = false;
	return put_tag(w, &w->entries, IDT_REND, 0, err);
}

static enum pm_status put_entries(struct idt_writer *w, struct pm_err *err)
{
	size_t n = w->entries.n;

	w->entries.n = 0;
	return n ? pm_output_write(w->w.out, w->entries.p, n, err) : PM_OK;
}

/* The block ends here. If that is in a rep instruction that goes on, more entries may follow. */
static enum pm_status flush_exec(struct idt_writer *w, struct pm_err *err)
{
	uint64_t hash = w->address * 0x9e3779b97f4a7c15u + w->ninsn;
	uint32_t index;

	if (!w->ninsn)
		return put_entries(w, err);
	for (unsigned i = 0; i < w->ninsn; i++)
		hash = (hash ^ (w->insn[i].id | (uint64_t)w->insn[i].size << 16 |
				(uint64_t)(uint8_t)w->insn[i].entries << 24)) * 0x100000001b3u;
	for (;; hash++) {
		uint64_t *at = pm_map_put(&w->known, hash, NULL);
		const struct idt_block *k;

		if (!*at) {
			index = idt_blk_add(&w->blk, w->address, w->insn, w->ninsn);
			if (!w->wide && w->blk.block[index].offset > UINT32_MAX)
				return pm_fail_file(err, "the block table grows beyond 4 GiB; "
						    "write idt-exec64");
			*at = index + 1;
			break;
		}
		index = (uint32_t)*at - 1;
		k = &w->blk.block[index];
		if (k->address == w->address && k->n == w->ninsn &&
		    !memcmp(w->blk.insn + k->insn, w->insn, w->ninsn * sizeof *w->insn))
			break;
	}
	w->ninsn = 0;
	if (put_tag(w, NULL, IDT_BBFP, w->blk.block[index].offset, err) == PM_ERR)
		return PM_ERR;
	return put_entries(w, err);
}

/* Decoded once per instruction of the code table. */
static struct form form_of(struct idt_writer *w, uint32_t number, const struct pm_insn *insn)
{
	struct form *f;

	if (number >= w->cap_form) {
		size_t cap = w->cap_form ? w->cap_form : 1024;

		while (cap <= number)
			cap *= 2;
		w->form = pm_realloc(w->form, cap * sizeof *w->form);
		memset(w->form + w->cap_form, 0, (cap - w->cap_form) * sizeof *w->form);
		w->cap_form = cap;
	}
	f = &w->form[number];
	if (!f->known) {
		f->id = idt_insn_id(insn->bytes, insn->len, insn->isa == PM_ISA_X86_64);
		f->class = (uint8_t)idt_id_class(f->id);
		f->pushes = (uint8_t)idt_pushes(insn, insn->isa == PM_ISA_X86_64);
		f->known = 1;
	}
	return *f;
}

/* One more instruction of the block, or the first of the next one. */
static enum pm_status add_insn(struct idt_writer *w, uint64_t pc, struct form form, uint8_t len,
			       struct pm_err *err)
{
	if (end_rep(w, err) == PM_ERR)
		return PM_ERR;
	if ((!w->open || pc != w->next_pc || w->ninsn == IDT_MAX_INSNS) &&
	    flush_exec(w, err) == PM_ERR)
		return PM_ERR;
	if (!w->ninsn)
		w->address = pc;
	w->insn[w->ninsn++] = (struct idt_insn){ form.id, len, 0 };
	w->open = true;
	w->next_pc = pc + len;
	w->undone = PM_NONE;
	return PM_OK;
}

/* movs and cmps refer twice in an iteration, the others once. */
static int8_t rep_entries(uint16_t id)
{
	return (id & 0xff) >= 0xa4 && (id & 0xff) <= 0xa7 ? -2 : -1;
}

static enum pm_status exec_group(void *self, const struct pm_group *g, struct pm_err *err)
{
	struct idt_writer *w = self;
	struct pm_buf *to = &w->entries;
	unsigned first = 0, entries = 0, n, class;
	bool rep, xfer, indirect;
	struct idt_insn *in, gone = { 0 };
	struct form form;
	uint16_t id;

	if (!g->known || !g->insn.len || g->insn.isa > PM_ISA_X86_32)
		return pm_fail_file(err, "the instruction at 0x%llx has no x86 bytes; execution "
				    "traces need them (-f idt-exec:binary=PROGRAM says where they "
				    "are)",
				    (unsigned long long)g->pc);
	form = form_of(w, g->id, &g->insn);
	id = form.id;
	class = form.class;
	xfer = class != PM_CLASS_NONE && class != PM_CLASS_SYSCALL;
	indirect = class == PM_CLASS_JUMP_IND || class == PM_CLASS_CALL_IND;
	rep = id >> 15;
	if (!g->again) {
		if (add_insn(w, g->pc, form, g->insn.len, err) == PM_ERR)
			return PM_ERR;
		in = &w->insn[w->ninsn - 1];
	} else {
		/* of a rep instruction the block may be out already */
		in = w->ninsn ? &w->insn[w->ninsn - 1] : &gone;
	}
	if (xfer) {
		uint64_t target = g->has_branch ? g->branch.value : g->next_known ? g->next_pc : 0;

		/* through memory: the pointer's address stands for the target and its read */
		if (indirect && g->nref && g->ref[0].kind == PM_EV_READ) {
			target = g->ref[0].addr;
			first = 1;
		}
		if (put_tag(w, to, IDT_TARG, target, err) == PM_ERR)
			return PM_ERR;
		entries++;
		w->open = false;
	}
	for (unsigned i = first; i < g->nref; i++) {
		const struct pm_event *e = &g->ref[i];
		unsigned tag = e->kind == PM_EV_MODIFY ? IDT_RW :
			       e->kind == PM_EV_READ ? IDT_RD : IDT_WR;

		if (!pm_is_ref(e)) {
			w->w.dropped[e->kind]++;
			continue;
		}
		if (rep)
			tag = e->kind == PM_EV_WRITE ? IDT_RWR : IDT_RRD;
		if (form.pushes) {
			n = put_first(w, to, tag, form.pushes, e, err);
			i = g->nref;
		} else {
			n = put_ref(w, to, tag, e->addr, e->size, err);
		}
		if (!n)
			return PM_ERR;
		entries += n;
	}
	if (rep) {
		in->entries = rep_entries(id);
		w->in_rep = true;
		if (g->rep_end && end_rep(w, err) == PM_ERR)
			return PM_ERR;
		/* it may go on for ever: the block ends with it */
		if (w->entries.n > 65536) {
			w->open = false;
			if (flush_exec(w, err) == PM_ERR)
				return PM_ERR;
		}
	} else {
		entries += g->again ? (unsigned)in->entries : 0;
		in->entries = (int8_t)(entries < IDT_MANY_ENTRIES ? entries : IDT_MANY_ENTRIES);
		if (in->entries == IDT_MANY_ENTRIES)
			w->open = false;
	}
	w->w.dropped[PM_EV_REG_READ] += g->nrd;
	w->w.dropped[PM_EV_REG_WRITE] += g->nwr;
	w->w.dropped[PM_EV_UOP] += g->nuop;
	return PM_OK;
}

/* A reference of an instruction that did not complete: its block ends with that, and the
 * instruction has more entries than there are. */
static enum pm_status undone_ref(struct idt_writer *w, const struct pm_batch *b,
				 const struct pm_event *e, struct pm_err *err)
{
	const struct pm_insn *insn = &b->code->insn[e->id];
	const struct form form = form_of(w, e->id, insn);
	const bool rep = form.id >> 15;
	const unsigned tag = rep ? e->kind == PM_EV_WRITE ? IDT_RWR : IDT_RRD :
			     e->kind == PM_EV_MODIFY ? IDT_RW : e->kind == PM_EV_READ ? IDT_RD :
				     IDT_WR;
	struct idt_insn *in;
	unsigned n;

	if (w->undone != e->id) {
		if (add_insn(w, insn->pc, form, insn->len, err) == PM_ERR)
			return PM_ERR;
		w->insn[w->ninsn - 1].entries = rep ? rep_entries(form.id) : 1;
		w->open = false;
		w->undone = e->id;
	}
	in = w->ninsn ? &w->insn[w->ninsn - 1] : NULL;
	/* with so many it would seem complete */
	if (in && !rep && in->entries + e->size / (w->wide ? 64u : 8u) + 7 >= IDT_MANY_ENTRIES) {
		w->w.dropped[e->kind]++;
		return PM_OK;
	}
	n = put_ref(w, &w->entries, tag, e->addr, e->size, err);
	if (!n)
		return PM_ERR;
	if (in && !rep)
		in->entries = (int8_t)(in->entries + (int)n);
	return w->entries.n > 65536 ? flush_exec(w, err) : PM_OK;
}

static enum pm_status exec_other(void *self, const struct pm_batch *b, const struct pm_event *e,
				 struct pm_err *err)
{
	struct idt_writer *w = self;
	const bool known = b->code && e->id < b->code->ninsn && b->code->insn[e->id].len &&
			   b->code->insn[e->id].isa <= PM_ISA_X86_32;

	if (e->kind >= PM_EV_READ && e->kind <= PM_EV_MODIFY && known && pm_is_ref(e))
		return undone_ref(w, b, e, err);
	if (e->kind != PM_EV_OPAQUE && !(e->kind == PM_EV_REP_ITER && known))
		w->w.dropped[e->kind]++;
	if (e->kind != PM_EV_REP_ITER)
		w->undone = PM_NONE;
	return PM_OK;
}

/* From an execution trace: the block's entries, with its targets where they stood among them. */
static enum pm_status put_block(struct idt_writer *w, uint64_t offset, bool whole,
				struct pm_err *err)
{
	const size_t each = w->wide ? 9 : 5;
	const uint8_t *p = w->entries.p, *end = p + w->entries.n;

	if (!w->part && put_tag(w, NULL, IDT_BBFP, offset, err) == PM_ERR)
		return PM_ERR;
	for (size_t i = 0; i < w->ntarg; i++) {
		size_t n = w->targ[i].at > w->put ? w->targ[i].at - w->put : 0;

		if (n > (size_t)(end - p) / each)
			n = (size_t)(end - p) / each;
		if (pm_output_write(w->w.out, p, n * each, err) == PM_ERR ||
		    put_tag(w, NULL, IDT_TARG, w->targ[i].target, err) == PM_ERR)
			return PM_ERR;
		p += n * each;
		w->put += n + 1;
	}
	w->put = whole ? 0 : w->put + (size_t)(end - p) / each;
	w->part = !whole;
	w->entries.n = w->ntarg = 0;
	return pm_output_write(w->w.out, p, (size_t)(end - p), err);
}

/* HOT: once per event; there is room. Is @e a reference that one entry stands for? */
static inline bool one_entry(struct idt_writer *w, const struct pm_event *e)
{
	static const uint8_t tags[2][PM_EV_MODIFY + 1] = {
		{ [PM_EV_READ] = IDT_RD, [PM_EV_WRITE] = IDT_WR, [PM_EV_MODIFY] = IDT_RW },
		{ [PM_EV_READ] = IDT_RRD, [PM_EV_WRITE] = IDT_RWR, [PM_EV_MODIFY] = IDT_RW },
	};
	const unsigned code = e->size ? idt_bytes_code(e->size, w->wide) : 0;
	uint8_t *p = w->entries.p + w->entries.n;

	if (idt_code_bytes(code, w->wide) != e->size || !e->size ||
	    (!w->wide && e->addr > UINT32_MAX))
		return false;
	*p = (uint8_t)(tags[!!(e->flags & PM_REF_REP)][e->kind] | code);
	if (w->wide)
		pm_put64(p + 1, e->addr);
	else
		pm_put32(p + 1, (uint32_t)e->addr);
	w->entries.n += w->wide ? 9 : 5;
	return true;
}

static enum pm_status exec_native(struct idt_writer *w, const struct pm_batch *b,
				  struct pm_err *err)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *e = &b->ev[i];
		const struct pm_code *c = b->code;
		const struct pm_insn *insn;
		enum idt_pushes k;
		unsigned tag;

		switch (e->kind) {
		case PM_EV_BLOCK:
			w->block = e->id;
			break;
		case PM_EV_READ: case PM_EV_WRITE: case PM_EV_MODIFY:
			/* a target entry stands for the read of a pointer */
			if (e->kind == PM_EV_READ && c && w->block < c->nblock &&
			    e->id < c->block[w->block].n &&
			    idt_through_memory(&c->insn[c->block[w->block].insn + e->id], w->wide))
				break;
			insn = c && w->block < c->nblock && e->id < c->block[w->block].n
				       ? &c->insn[c->block[w->block].insn + e->id]
				       : NULL;
			if (insn && e->size >= 4 && insn->isa <= PM_ISA_X86_32 &&
			    (k = idt_pushes(insn, w->wide)) != IDT_PLAIN) {
				tag = e->kind == PM_EV_READ ? IDT_RD : IDT_WR;
				if (!put_first(w, &w->entries, tag, k, e, err))
					return PM_ERR;
				break;
			}
			if (w->entries.cap - w->entries.n < 16) {
				w->entries.cap = 2 * w->entries.cap + 4096;
				w->entries.p = pm_realloc(w->entries.p, w->entries.cap);
			}
			if (one_entry(w, e))
				break;
			if (e->kind == PM_EV_MODIFY)
				tag = IDT_RW;
			else if (e->flags & PM_REF_REP)
				tag = e->kind == PM_EV_READ ? IDT_RRD : IDT_RWR;
			else
				tag = e->kind == PM_EV_READ ? IDT_RD : IDT_WR;
			if (!put_ref(w, &w->entries, tag, e->addr, e->size, err))
				return PM_ERR;
			break;
		case PM_EV_REP_END:
			if (put_tag(w, &w->entries, IDT_REND, 0, err) == PM_ERR)
				return PM_ERR;
			break;
		case PM_EV_OPAQUE:
			if (e->size)
				break;
			if (e->flags == IDT_OP_TARG) {
				pm_grow(w->targ, w->ntarg, w->cap_targ);
				w->targ[w->ntarg].at = e->id;
				w->targ[w->ntarg++].target = e->value;
			} else if ((e->flags == IDT_OP_BLOCK || e->flags == PM_OPAQUE_INSIDE) &&
				   put_block(w, e->value, e->flags == IDT_OP_BLOCK,
					     err) == PM_ERR) {
				return PM_ERR;
			} else if (e->flags == IDT_OP_STOP &&
				   put_tag(w, NULL, IDT_BBFP, e->value, err) == PM_ERR) {
				return PM_ERR;
			}
			break;
		}
	}
	return PM_OK;
}

static enum pm_status to_groups(void *self, const struct pm_batch *b, struct pm_err *err)
{
	return pm_grouper_batch(&((struct idt_writer *)self)->g, b, err);
}

/* From any other trace. Blocks arrive as they are, because our own have to. */
static enum pm_status exec_foreign(struct idt_writer *w, const struct pm_batch *b,
				   struct pm_err *err)
{
	const struct pm_emit emit = { to_groups, w };

	for (size_t i = 0; i < b->n && !w->expander; i++)
		if (b->ev[i].kind == PM_EV_BLOCK)
			w->expander = pm_expand_new();
	return w->expander ? pm_expand_ops.consume(w->expander, b, &emit, err) :
		to_groups(w, b, err);
}

void idt_write_close(void *self)
{
	struct idt_writer *w = self;

	if (!w)
		return;
	if (w->expander)
		pm_expand_ops.destroy(w->expander);
	pm_grouper_release(&w->g);
	pm_buf_release(&w->entries);
	pm_buf_release(&w->native_blk);
	pm_map_release(&w->known);
	idt_blk_release(&w->blk);
	free(w->targ);
	free(w->form);
	free(w->blk_path);
	free(w->info_path);
	free(w);
}

void *idt_write_open(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err,
			enum idt_kind kind, bool wide)
{
	static const char *const known[] = { "info", "line rep push-pop info", "blk info" };
	struct idt_writer *w;
	uint64_t line = 16;
	char buf[4096];
	const char *v;

	if (pm_fmt_options_check(o->options, known[kind], err) != PM_OK)
		return NULL;
	v = pm_fmt_option(o->options, "line", buf, sizeof buf);
	if (v && (!pm_num(v, strlen(v), &line) || !line || line & (line - 1) || line > 32768)) {
		pm_fail_request(err, "line=%s: expected a power of two", v);
		return NULL;
	}
	if (kind == IDT_BRANCH && !(o->facts & (PM_HAS_BYTES | PM_HAS_OPCODES))) {
		pm_fail_file(err, "writing IDtrace branch traces needs the branches' opcodes, and "
			     "the input holds no instruction bytes (`pugmark run --exec` "
			     "traces them)");
		return NULL;
	}
	w = pm_alloc(sizeof *w);
	w->w.out = out;
	w->kind = kind;
	w->wide = w->blk.wide = wide;
	w->line_mask = ~(line - 1);
	w->undone = PM_NONE;
	w->rep = pm_fmt_option(o->options, "rep", buf, sizeof buf);
	w->stack = pm_fmt_option(o->options, "push-pop", buf, sizeof buf);
	w->g = (struct pm_grouper){ .group = exec_group, .other = exec_other, .self = w,
				     .no_regs = true };
	if (pm_fmt_option(o->options, "info", buf, sizeof buf)) {
		if (!o->path) {
			pm_fail_file(err, "info: a trace without a name has nothing beside it");
			idt_write_close(w);
			return NULL;
		}
		w->info_path = idt_info_path(o->path, wide);
	}
	if (kind == IDT_EXEC) {
		v = pm_fmt_option(o->options, "blk", buf, sizeof buf);
		if (!v && !o->path) {
			pm_fail_file(err, "an execution trace has a block table beside it; "
				     "blk=FILE says where to write it");
			idt_write_close(w);
			return NULL;
		}
		w->blk_path = v ? pm_strdup(v) : idt_blk_path(o->path, wide);
	}
	return w;
}

enum pm_status idt_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct idt_writer *w = self;
	const uint8_t *d;
	size_t n;

	if (w->kind == IDT_BRANCH)
		return branch_write(w, b, err);
	if (w->kind == IDT_CACHE)
		return cache_write(w, b, err);
	if (!w->w.native && b->n &&
	    (d = pm_opaque_is(b, b->ev, idt_format_name[w->wide][IDT_EXEC], &n))) {
		w->w.native = true;
		pm_buf_add(&w->native_blk, d, n);
	}
	return w->w.native ? exec_native(w, b, err) : exec_foreign(w, b, err);
}

static enum pm_status save(const char *path, const struct pm_buf *b, struct pm_err *err)
{
	struct pm_output *out = pm_output_open(path, err);
	enum pm_status st;

	if (!out)
		return PM_ERR;
	st = pm_output_write(out, b->p, b->n, err);
	if (st == PM_OK)
		st = pm_output_finish(out, err);
	if (st == PM_ERR && pm_failed(err))
		err->file = NULL;
	pm_output_close(out);
	return st;
}

static enum pm_status save_info(const struct idt_writer *w, struct pm_err *err)
{
	struct idt_info info = { .word = w->wide ? 8 : 4,
				 .rep = w->kind == IDT_EXEC || w->rep || w->w.native };
	struct pm_buf text = { 0 };
	enum pm_status st;

	strcpy(info.kind, idt_kind_name[w->kind]);
	if (w->kind == IDT_CACHE)
		info.line_size = (unsigned)(~w->line_mask + 1);
	if (w->kind == IDT_BRANCH)
		info.rep = false;
	idt_info_write(&info, &text);
	st = save(w->info_path, &text, err);
	pm_buf_release(&text);
	return st;
}

/* What is behind the last block. */
static enum pm_status end_trace(struct idt_writer *w, struct pm_err *err)
{
	const struct pm_emit emit = { to_groups, w };

	if (w->kind == IDT_CACHE)
		return flush_cache(w, err);
	if (w->kind == IDT_BRANCH || w->w.native)
		return PM_OK;
	if ((w->expander && pm_expand_ops.finish(w->expander, &emit, err) == PM_ERR) ||
	    pm_grouper_finish(&w->g, err) == PM_ERR || end_rep(w, err) == PM_ERR ||
	    flush_exec(w, err) == PM_ERR)
		return PM_ERR;
	idt_blk_write(&w->blk, &w->native_blk);
	return PM_OK;
}

/* The files beside a trace come once it is written: one that fails leaves none. */
enum pm_status idt_write_finish(void *self, struct pm_err *err)
{
	struct idt_writer *w = self;

	if (end_trace(w, err) == PM_ERR || pm_output_flush(w->w.out, err) == PM_ERR)
		return PM_ERR;
	if (w->info_path && save_info(w, err) == PM_ERR)
		return PM_ERR;
	return w->kind == IDT_EXEC ? save(w->blk_path, &w->native_blk, err) : PM_OK;
}
