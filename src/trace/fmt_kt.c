/* SPDX-License-Identifier: MIT */
/* fmt_kt.c - KT traces: one record per executed instruction with its bytes, little-endian
 *
 *   OFFSET  kt                                  kt64
 *        0  u32 eip                             u64 rip
 *        4  u8 type 00eennnn                    at 8: n bytes 1..15, e addresses 0..2
 *        5  n instruction bytes, zero pad       at 9, padded so that type + bytes + pad fill 4 (8)
 *           e u32 addresses                     e u64 addresses
 *   u32 pid, 0x80, 3 zeros                      u64 pid, 0x80, 7 zeros
 *   u32 frame, u32 page + 0x81                  u64 frame, u64 page + 0x81
 *
 * Pages have 4096 bytes; "page" is the address of one, "frame" the number of one in memory.
 *
 * Which address is what follows from the instruction (docs/formats/idtrace.md): targets of control
 * transfers, stack before operand for call and push of memory, esi before edi. A rep instruction
 * has one record per iteration. Records are kept as opaque events, so a trace comes back byte for
 * byte. */
#include <stdlib.h>

#include "trace/group.h"
#include "trace/idt.h"
#include "trace/idt_format.h"
#include "trace/insns.h"
#include "trace/text.h"

enum { KT_PID = 0x80, KT_MMU = 0x81 };
#define PAGE		4096u

/* A data reference of an instruction's record: which of its addresses it is of. */
struct kt_ref {
	uint8_t kind, flags, ea;
	uint8_t below;			/* bytes of it below that address */
	uint16_t size;
};

/* What was met last at an address: the record without its addresses, and what it became. */
#define SEEN_LOG	15
#define SEEN		(1u << SEEN_LOG)	/* 2 MiB, of which is touched what is used */
struct kt_seen {
	uint8_t text[24];
	uint32_t id;
	uint8_t head;			/* bytes without addresses; 0: nothing yet */
	uint8_t n, branch, nref;	/* bytes of the instruction; flags of its PM_EV_BRANCH,
					 * 0: none */
	struct kt_ref ref[2];
} __attribute__((aligned(64)));

struct kt_reader {
	struct pm_window w;
	struct pm_builder b;
	struct pm_stream stream;
	struct pm_codes codes;
	struct x86_regs *regs;		/* beside codes.insn */
	size_t cap_regs;
	uint64_t insns;
	bool wide, started, ended;
	struct kt_seen *seen;
	void *seen_mem;			/* ... aligned to cache lines */
	struct pm_outcome branch;
	struct pm_reps rep;		/* records of one repeated instruction in a row are its
					 * iterations */
};

static void *kt_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		     struct pm_err *err, bool wide)
{
	struct kt_reader *r;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	r = pm_alloc(sizeof *r);
	r->w.in = in;
	r->wide = wide;
	r->seen_mem = pm_alloc((SEEN + 1) * sizeof *r->seen);
	r->seen = (struct kt_seen *)(((uintptr_t)r->seen_mem + 63) & ~(uintptr_t)63);
	r->rep.id = PM_NONE;
	*facts = PM_HAS_REPS | PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS | PM_HAS_SIZES |
		 PM_HAS_BRANCHES | PM_HAS_SPACES;
	return r;
}

static void kt_close(void *self)
{
	struct kt_reader *r = self;

	if (!r)
		return;
	pm_builder_release(&r->b);
	pm_codes_release(&r->codes);
	free(r->regs);
	free(r->seen_mem);
	free(r);
}

static uint32_t insn_of(struct kt_reader *r, uint64_t pc, const uint8_t *bytes, unsigned len)
{
	bool fresh;
	uint32_t id = pm_codes_put(&r->codes, pc, bytes, len, false,
				   r->wide ? PM_ISA_X86_64 : PM_ISA_X86_32, &fresh);

	if (!fresh)
		return id;
	pm_grow(r->regs, id, r->cap_regs);
	/* what a system executes before it is in 64-bit mode: a far jump, and the like */
	if (r->wide && !x86_regs(bytes, len, true, &r->regs[id]))
		r->codes.insn[id].isa = PM_ISA_X86_32;
	if (x86_regs(bytes, len, r->codes.insn[id].isa == PM_ISA_X86_64, &r->regs[id])) {
		r->codes.insn[id].flow = r->regs[id].class;
		r->codes.insn[id].rep = r->regs[id].rep;
	}
	return id;
}

/* The record before this one is complete. */
static void close_record(struct kt_reader *r, bool known, uint64_t next, uint32_t id)
{
	pm_outcome_tell(&r->branch, &r->b, &r->codes, known, next);
	if (id != r->rep.id)
		pm_reps_end(&r->rep, &r->b, &r->codes);
}

static struct kt_ref ref_of(const struct x86_mem *m, unsigned ea)
{
	return (struct kt_ref){ .kind = m->read && m->write ? PM_EV_MODIFY
					: m->write	    ? PM_EV_WRITE
							    : PM_EV_READ,
				.flags = m->stack ? PM_REF_STACK : 0, .ea = (uint8_t)ea,
				.size = m->size ? m->size : 4 };
}

static bool pops_memory(const struct pm_insn *in, bool wide)
{
	uint8_t op[2];

	return idt_opcode(in->bytes, in->len, wide, op) == 1 && op[0] == 0x8f;
}

/* In which order a record lists the addresses of an instruction with two of them. */
static bool stack_first(const struct x86_regs *x)
{
	return x->nmem == 2 && (x->mem[0].stack || x->mem[1].stack);
}

/* What pushes several times has the first push's address. */
static struct kt_ref pushes_ref(const struct x86_mem *m, unsigned ea, enum idt_pushes k)
{
	struct kt_ref ref = ref_of(m, ea);

	ref.below = (uint8_t)idt_first_push(k, 0, ref.size);
	return ref;
}

/* The references that the @n addresses of an instruction's record are of; how many. */
static unsigned refs_of(const struct pm_insn *in, const struct x86_regs *x, bool wide, unsigned n,
			struct kt_ref ref[2])
{
	unsigned at = 0, k = x->nmem, got = 0;
	const struct x86_mem *m = x->mem;
	enum idt_pushes pushes;

	if (!x->len)
		return 0;
	pushes = idt_pushes(in, wide);
	if (pushes == IDT_FAR_CALL) {		/* the target; then the stack */
		if (n > 1 && k)
			ref[got++] = pushes_ref(&m[k == 2 && !m[0].stack], 1, pushes);
		return got;
	}
	if (pushes && n && k) {
		ref[got++] = pushes_ref(&m[0], 0, pushes);
		return got;
	}
	if (n == 1 && k == 2 && pops_memory(in, wide)) {	/* its operand */
		ref[got++] = ref_of(&m[m[0].stack], 0);
		return got;
	}
	if (x->class == PM_CLASS_JUMP || x->class == PM_CLASS_COND)
		return 0;
	if (x->class == PM_CLASS_CALL)
		at = 1;			/* the target; then the stack */
	if (stack_first(x)) {
		if (n > 0)
			ref[got++] = ref_of(&m[!m[0].stack], 0);
		if (n > 1)
			ref[got++] = ref_of(&m[m[0].stack], 1);
		return got;
	}
	if (x->class == PM_CLASS_CALL_IND && n == 2) {
		/* call through a register: stack, then the register's value */
		if (k)
			ref[got++] = ref_of(&m[0], 0);
		return got;
	}
	if (x->class == PM_CLASS_JUMP_IND && !k)
		return 0;
	if (k == 2 && n == 2 && m[0].write && !m[1].write) {
		/* movs: Zydis lists the destination first, KT the source */
		ref[got++] = ref_of(&m[1], 0);
		ref[got++] = ref_of(&m[0], 1);
		return got;
	}
	for (unsigned i = 0; i < k && at < n; i++)
		ref[got++] = ref_of(&m[i], at++);
	return got;
}

static inline struct kt_seen *seen_at(const struct kt_reader *r, uint64_t pc)
{
	return &r->seen[(pc * 0x9e3779b97f4a7c15u) >> (64 - SEEN_LOG)];
}

static inline void put_refs(struct kt_reader *r, uint32_t id, const struct kt_ref *ref, unsigned n,
			    const uint8_t *ea, bool wide)
{
	for (unsigned i = 0; i < n; i++)
		pm_ev_put(&r->b, ref[i].kind, ref[i].flags, ref[i].size,
			  wide ? pm_get64(ea + 8 * ref[i].ea) - ref[i].below
			       : pm_get32(ea + 4 * ref[i].ea) - (uint32_t)ref[i].below,
			  0)
			->id = id;
}

/* HOT: once per record, compiled once for each width. A record of which all but the addresses has
 * been seen, with at least LONGEST bytes at @p; false: it is another. */
static inline __attribute__((always_inline))
bool kt_again(struct kt_reader *r, const uint8_t *p, uint64_t arena, bool wide)
{
	const uint64_t pc = wide ? pm_get64(p) : pm_get32(p);
	/* the length from the record itself: what follows need not wait for the table */
	const unsigned word = wide ? 8 : 4, type = p[word],
		       head = word + ((1 + (type & 15) + word - 1) & ~(word - 1));
	const unsigned size = head + (type >> 4) * word;
	const struct kt_seen *k = seen_at(r, pc);
	struct pm_builder *b = &r->b;
	uint64_t differ = pm_get64(p) ^ pm_get64(k->text);

	differ |= pm_get64(p + head - 8) ^ pm_get64(k->text + head - 8);
	if (wide || head > 16)
		differ |= pm_get64(p + 8) ^ pm_get64(k->text + 8);
	if (differ || !k->head)
		return false;
	if (r->branch.pending)
		pm_outcome_tell(&r->branch, b, &r->codes, true, pc);
	if (r->rep.id != PM_NONE)
		pm_reps_end(&r->rep, b, &r->codes);
	pm_ev_put(b, PM_EV_INSN, 0, k->n, pc, 0)->id = k->id;
	r->insns++;
	put_refs(r, k->id, k->ref, k->nref, p + head, wide);
	if (k->branch)
		r->branch = (struct pm_outcome){ true,
						 false,
						 { PM_EV_BRANCH, k->branch, k->n, k->id, pc, 0 } };
	pm_ev_put(b, PM_EV_OPAQUE, 2, size, arena, size);
	r->w.p = p + size;
	return true;
}

/* Any record, with everything checked. */
static enum pm_status kt_record(struct kt_reader *r, const uint8_t *start, struct pm_err *err)
{
	static const uint8_t flags[] = {
		[PM_CLASS_JUMP] = PM_BR_TAKEN, [PM_CLASS_COND] = PM_BR_COND,
		[PM_CLASS_CALL] = PM_BR_TAKEN | PM_BR_CALL,
		[PM_CLASS_RET] = PM_BR_TAKEN | PM_BR_RET | PM_BR_INDIRECT,
		[PM_CLASS_JUMP_IND] = PM_BR_TAKEN | PM_BR_INDIRECT,
		[PM_CLASS_CALL_IND] = PM_BR_TAKEN | PM_BR_CALL | PM_BR_INDIRECT,
		[PM_CLASS_SYSCALL] = 0,
	};
	const uint8_t *p = r->w.p;
	const uint64_t at = pm_window_at(&r->w);
	const size_t left = pm_window_left(&r->w);
	const unsigned word = r->wide ? 8 : 4;
	struct pm_builder *b = &r->b;
	unsigned type, n, e, size, head, nref;
	struct kt_ref ref[2];
	struct pm_insn *in;
	uint64_t pc;
	uint32_t id;

	if (left < 2 * word)
		return pm_fail(err, at, "expected a record of at least %u bytes, found %zu",
			       2 * word, left);
	type = p[word];
	if (type == KT_PID || type == KT_MMU) {
		size = 2 * word;
		if (type == KT_MMU && p[word + 1] & (PAGE - 1) >> 8)
			return pm_fail(err, at + word,
				       "expected the address of a page of %u bytes, found one that "
				       "ends in 0x%02x00",
				       PAGE, p[word + 1]);
		if (type == KT_PID)
			for (unsigned i = word + 1; i < size; i++)
				if (p[i])
					return pm_fail(err, at + i,
						       "expected zeros behind a process id, found "
						       "0x%02x",
						       p[i]);
		if (type == KT_PID) {
			close_record(r, false, 0, PM_NONE);
			pm_ev_add(b, PM_EV_SWITCH, 0, 0, 0, r->wide ? pm_get64(p) : pm_get32(p));
		} else {	/* what comes next still belongs to what was before */
			pm_ev_add(b, PM_EV_FRAME, 0, PAGE,
				  (r->wide ? pm_get64(p + 8) : pm_get32(p + 4)) - KT_MMU,
				  r->wide ? pm_get64(p) : pm_get32(p));
		}
	} else {
		n = type & 15;
		e = type >> 4;
		if (e > 2 || !n)
			return pm_fail(err, at + word,
				       "expected a record type (1..15 bytes and 0..2 addresses, "
				       "0x80 or 0x81), found 0x%02x",
				       type);
		head = word + ((1 + n + word - 1) & ~(word - 1));
		size = head + e * word;
		if (left < size)
			return pm_fail(err, at, "expected a record of %u bytes, found %zu", size,
				       left);
		for (unsigned i = word + 1 + n; i < head; i++)
			if (p[i])
				return pm_fail(err, at + i,
					       "expected a zero pad byte, found 0x%02x", p[i]);
		pc = r->wide ? pm_get64(p) : pm_get32(p);
		id = insn_of(r, pc, p + word + 1, n);
		in = &r->codes.insn[id];
		nref = refs_of(in, &r->regs[id], in->isa == PM_ISA_X86_64, e, ref);
		close_record(r, true, pc, id);
		if (id != r->rep.id) {
			pm_ev_add(b, PM_EV_INSN, 0, n, pc, 0)->id = id;
			r->insns++;
			if (in->rep)
				r->rep = (struct pm_reps){ id, 0 };
		}
		if (in->rep && e) {
			r->rep.iters++;
			pm_ev_add(b, PM_EV_REP_ITER, 0, 0, pc, 0)->id = id;
		}
		put_refs(r, id, ref, nref, p + head, r->wide);
		if (flags[in->flow])
			r->branch = (struct pm_outcome){ true,
							 false,
							 { PM_EV_BRANCH, flags[in->flow],
							   (uint16_t)n, id, pc, 0 } };
		if (!in->rep) {
			struct kt_seen *k = seen_at(r, pc);

			*k = (struct kt_seen){ .id = id, .head = (uint8_t)head,
					       .n = (uint8_t)n, .branch = flags[in->flow],
					       .nref = (uint8_t)nref, .ref = { ref[0], ref[1] } };
			memcpy(k->text, p, head);
		}
	}
	pm_ev_add(b, PM_EV_OPAQUE, 2, size, (uint64_t)(p - start), size);
	r->w.p += size;
	return PM_OK;
}

#define LONGEST		48		/* no record has more bytes */

static void renew(struct kt_reader *r)
{
	uint32_t none = PM_NONE, *branch = r->branch.pending ? &r->branch.ev.id : &none,
		 *rep = &r->rep.id;
	struct x86_regs was[2];

	if (*branch != PM_NONE)
		was[0] = r->regs[*branch];
	if (*rep != PM_NONE)
		was[1] = r->regs[*rep];
	pm_codes_renew(&r->codes, branch, rep);
	if (*branch != PM_NONE)
		r->regs[*branch] = was[0];
	if (*rep != PM_NONE)
		r->regs[*rep] = was[1];
	memset(r->seen, 0, SEEN * sizeof *r->seen);
}

static void kt_epochs(void *self)
{
	((struct kt_reader *)self)->codes.epochs = true;
}

static enum pm_status kt_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct kt_reader *r = self;
	struct pm_builder *b = &r->b;
	const uint8_t *start;
	bool last;

	if (pm_codes_full(&r->codes))
		renew(r);
	pm_builder_reset(b, &r->stream, &r->codes.code);
	b->b.first_insn = r->insns;
	if (!r->started) {
		r->started = true;
		pm_opaque_header(b, r->wide ? "kt64" : "kt", "", 0);
		*batch = pm_builder_batch(b);
		return PM_OK;
	}
	pm_ev_room(b, PM_BATCH_EVENTS + 16);
	if (pm_window_left(&r->w) < LONGEST) {
		enum pm_status st = pm_window_fill(&r->w, PM_WINDOW, err);

		if (st == PM_ERR)
			return st;
		if (st == PM_END && !r->ended) {
			r->ended = true;
			close_record(r, false, 0, PM_NONE);
		}
	}
	/* records are lent where they are: a batch ends where the window has to move */
	start = r->w.p;
	last = pm_window_left(&r->w) < LONGEST;
	while (b->b.n < PM_BATCH_EVENTS && pm_window_left(&r->w) >= (last ? 1 : LONGEST)) {
		const uint8_t *p = r->w.p;

		if (last || !(r->wide ? kt_again(r, p, (uint64_t)(p - start), true) :
			      kt_again(r, p, (uint64_t)(p - start), false))) {
			if (kt_record(r, start, err) == PM_ERR)
				return PM_ERR;
			/* that it is not in the cache costs more than asking for room */
			pm_ev_room(b, 16);
		}
	}
	if (!b->b.n)
		return PM_END;
	pm_codes_lend(&r->codes);
	*batch = pm_builder_batch_on(b, start, (size_t)(r->w.p - start));
	return PM_OK;
}

/* ---- writing -------------------------------------------------------------------------------- */

struct kt_writer {
	struct pm_plain w;
	struct pm_grouper g;
	struct pm_regs_cache regs;
	struct pm_buf frames;		/* records to be written behind the open instruction's */
	bool wide;
};

static bool too_wide(struct kt_writer *w, uint64_t v, struct pm_err *err)
{
	if (w->wide || v <= UINT32_MAX)
		return false;
	pm_fail_wide(err, v, "write kt64, whose records are 64 bits wide");
	return true;
}

/* The addresses of what pushes or pops several times, and of pop to memory, which of its two has
 * the operand's. 0: it is another instruction. */
static unsigned special_addresses(const struct pm_group *g, uint64_t target, uint64_t ea[2])
{
	const bool wide = g->insn.isa == PM_ISA_X86_64;
	const enum idt_pushes k = idt_pushes(&g->insn, wide);
	const unsigned parts = idt_pushed(k);
	unsigned n = 0;

	if (k == IDT_PLAIN && !(g->nref == 2 && pops_memory(&g->insn, wide)))
		return 0;
	if (k == IDT_FAR_CALL)
		ea[n++] = target;
	for (unsigned i = 0; i < g->nref; i++) {
		const struct pm_event *e = &g->ref[i];

		if (e->kind == (k == IDT_POPA ? PM_EV_READ : PM_EV_WRITE)) {
			/* sources that tell each by itself begin with the first */
			ea[n++] = e->size >= 2 * parts ? idt_first_push(k, e->addr, e->size)
						       : e->addr;
			break;
		}
	}
	return n;
}

static enum pm_status write_frames(struct kt_writer *w, struct pm_err *err)
{
	const size_t n = w->frames.n;

	w->frames.n = 0;
	return n ? pm_output_write(w->w.out, w->frames.p, n, err) : PM_OK;
}

static enum pm_status kt_group(void *self, const struct pm_group *g, struct pm_err *err)
{
	struct kt_writer *w = self;
	const struct x86_regs *x = pm_regs_of(&w->regs, g);
	const unsigned word = w->wide ? 8 : 4;
	uint8_t rec[64] = { 0 }, *p = rec;
	uint64_t ea[2] = { 0, 0 }, target;
	unsigned n = 0, first;

	if (!x)
		return pm_fail_file(err,
				    "the instruction at 0x%llx has no x86 bytes; KT traces hold "
				    "them",
				    (unsigned long long)g->pc);
	if (!w->wide && g->insn.isa == PM_ISA_X86_64)
		return pm_fail_file(err,
				    "the instruction at 0x%llx is 64-bit code, which needs kt64; "
				    "kt records "
				    "hold 32-bit code",
				    (unsigned long long)g->pc);
	target = g->has_branch ? g->branch.value : g->next_known ? g->next_pc : 0;
	n = special_addresses(g, target, ea);
	switch (n ? PM_CLASS_SYSCALL + 1 : x->class) {
	case PM_CLASS_SYSCALL + 1:
		break;
	case PM_CLASS_JUMP: case PM_CLASS_COND:
		ea[n++] = target;
		break;
	case PM_CLASS_CALL:
		ea[n++] = target;
		if (g->nref)
			ea[n++] = g->ref[0].addr;
		break;
	case PM_CLASS_JUMP_IND:
		ea[n++] = g->nref ? g->ref[0].addr : target;
		break;
	case PM_CLASS_CALL_IND:
		/* the push is the last reference, the pointer's read, if there is one, the first */
		if (g->nref)
			ea[n++] = g->ref[g->nref - 1].addr;
		ea[n++] = g->nref > 1 ? g->ref[0].addr : target;
		break;
	default:
		/* one effective address per operand: an access in several parts counts once, and
		 * reading and writing one place is one operand */
		for (unsigned i = 0; i < g->nref; i++)
			if (n < 2 &&
			    n < (x->nmem ? x->nmem : 1)) /* none: elements of a gather or scatter */
				ea[n++] = g->ref[i].addr;
			else if (g->ref[i].addr != ea[0] && (n < 2 || g->ref[i].addr != ea[1]))
				w->w.dropped[g->ref[i].kind]++;
		/* push and pop of memory: the stack comes first */
		if (stack_first(x) && n == 2 && g->ref[0].kind == PM_EV_READ &&
		    g->ref[1].kind == PM_EV_WRITE && x->mem[0].read) {
			uint64_t t = ea[0];

			ea[0] = ea[1];
			ea[1] = t;
		}
	}
	w->w.dropped[PM_EV_REG_READ] += g->nrd;
	w->w.dropped[PM_EV_REG_WRITE] += g->nwr;
	w->w.dropped[PM_EV_UOP] += g->nuop;
	first = g->insn.len;
	if (too_wide(w, g->pc, err) || (n > 0 && too_wide(w, ea[0], err)) ||
	    (n > 1 && too_wide(w, ea[1], err)))
		return PM_ERR;
	p = w->wide ? pm_put64(p, g->pc) : pm_put32(p, (uint32_t)g->pc);
	*p = (uint8_t)(n << 4 | first);
	memcpy(p + 1, g->insn.bytes, first);
	p += (1 + first + word - 1) & ~(word - 1);
	for (unsigned i = 0; i < n; i++)
		p = w->wide ? pm_put64(p, ea[i]) : pm_put32(p, (uint32_t)ea[i]);
	if (pm_output_write(w->w.out, rec, (size_t)(p - rec), err) == PM_ERR)
		return PM_ERR;
	return write_frames(w, err);
}

/* In which frame a page is. It may be told of inside of an instruction. */
static enum pm_status kt_frame(struct kt_writer *w, const struct pm_batch *b,
			       const struct pm_event *e, struct pm_err *err)
{
	uint8_t rec[16];

	if (e->size != PAGE || e->addr & (PAGE - 1)) {
		w->w.dropped[e->kind]++;
		return PM_OK;
	}
	if (too_wide(w, e->addr, err) || too_wide(w, e->value, err))
		return PM_ERR;
	if (w->wide)
		pm_put64(pm_put64(rec, e->value), e->addr + KT_MMU);
	else
		pm_put32(pm_put32(rec, (uint32_t)e->value), (uint32_t)e->addr + KT_MMU);
	pm_buf_add(&w->frames, rec, w->wide ? 16 : 8);
	return w->g.busy[b->stream->index] ? PM_OK : write_frames(w, err);
}

static enum pm_status kt_other(void *self, const struct pm_batch *b, const struct pm_event *e,
			       struct pm_err *err)
{
	struct kt_writer *w = self;
	uint8_t rec[16] = { 0 };

	if (e->kind == PM_EV_SWITCH) {
		if (too_wide(w, e->value, err))
			return PM_ERR;
		pm_put64(rec, e->value);
		rec[w->wide ? 8 : 4] = KT_PID;
		return pm_output_write(w->w.out, rec, w->wide ? 16 : 8, err);
	}
	if (e->kind == PM_EV_FRAME)
		return kt_frame(w, b, e, err);
	if (e->kind != PM_EV_OPAQUE)
		w->w.dropped[e->kind]++;
	return PM_OK;
}

static void *kt_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err,
		       bool wide)
{
	struct kt_writer *w;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	w = pm_alloc(sizeof *w);
	w->w.out = out;
	w->wide = wide;
	w->g = (struct pm_grouper){ .group = kt_group, .other = kt_other, .self = w,
				     .no_regs = true };
	return w;
}

static enum pm_status kt_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct kt_writer *w = self;
	size_t n;

	if (!w->w.native && b->n && pm_opaque_is(b, b->ev, w->wide ? "kt64" : "kt", &n))
		w->w.native = true;
	return w->w.native ? pm_copy_records(w->w.out, b, 0, err) : pm_grouper_batch(&w->g, b, err);
}

static enum pm_status kt_finish(void *self, struct pm_err *err)
{
	struct kt_writer *w = self;
	enum pm_status st = pm_grouper_finish(&w->g, err);

	return st == PM_OK ? write_frames(w, err) : st;
}

static void kt_free(void *self)
{
	struct kt_writer *w = self;

	if (!w)
		return;
	pm_grouper_release(&w->g);
	pm_regs_release(&w->regs);
	pm_buf_release(&w->frames);
	free(w);
}

static int kt_probe(const uint8_t *head, size_t n, bool wide)
{
	const unsigned word = wide ? 8 : 4;
	struct x86_regs x;
	size_t at = 0;
	int records = 0;

	while (at < n && records < 24) {
		const uint8_t *p = head + at;
		unsigned type, size, e = 0;

		if (n - at < 2 * word)
			return n < PM_WINDOW ? 0 : 30 + 8 * records;
		type = p[word];
		if (type == KT_PID || type == KT_MMU) {
			size = 2 * word;
			for (unsigned i = word + 1; type == KT_PID && i < size; i++)
				if (p[i])
					return 0;
			if (type == KT_MMU && p[word + 1] & (PAGE - 1) >> 8)
				return 0;
			if (wide && pm_get16(p + 6))
				return 0;
		} else {
			e = type >> 4;
			if (e > 2 || !(type & 15))
				return 0;
			size = word + ((1 + (type & 15) + word - 1) & ~(word - 1)) + e * word;
			if (n - at < size)
				return n < PM_WINDOW ? 0 : 30 + 8 * records;
			for (unsigned i = word + 1 + (type & 15); i < size - e * word; i++)
				if (p[i])
					return 0;
			/* what cannot be told by layout alone: are these instructions? */
			if ((!x86_regs(p + word + 1, type & 15, wide, &x) &&
			     !x86_regs(p + word + 1, type & 15, false, &x)) ||
			    x.len != (type & 15))
				return 0;
		}
		at += size;
		records++;
	}
	return records ? 30 + 8 * records : 0;
}

#define ROW(id, text, descr, wd, ext)								\
static void *row_##id##_open(struct pm_input *in, const struct pm_read_opts *o,			\
	uint32_t *f, struct pm_err *e)							\
{												\
	return kt_open(in, o, f, e, wd);							\
}												\
static void *row_##id##_create(struct pm_output *out, const struct pm_write_opts *o,		\
	struct pm_err *e)									\
{												\
	return kt_create(out, o, e, wd);							\
}												\
static int row_##id##_bid(const uint8_t *head, size_t n)					\
{												\
	return kt_probe(head, n, wd);								\
}												\
static const struct pm_reader_ops row_##id##_read = { row_##id##_open, kt_next, kt_close,	\
	NULL, kt_epochs };									\
static const struct pm_writer_ops row_##id##_write = {						\
	row_##id##_create, kt_write, kt_finish, kt_free, pm_plain_dropped			\
};												\
const struct pm_format pm_fmt_##id = {								\
	.name = text, .about = descr, .plural = "KT traces (" text ")", .suffixes = ext,	\
	.has = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS | PM_HAS_SIZES |			\
		PM_HAS_BRANCHES |								\
	       PM_HAS_SPACES | PM_HAS_REPS,							\
	.needs = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS,					\
	.probe = row_##id##_bid, .read = &row_##id##_read, .write = &row_##id##_write,		\
};
ROW(kt, "kt", "KT traces: instructions with their bytes and addresses", false, ".kt")
ROW(kt64, "kt64", "KT traces, 64-bit addresses", true, ".kt64")
