/* SPDX-License-Identifier: MIT */
/* fmt_drmemtrace.c - DynamoRIO's off-line memory traces, as its post-processing leaves them
 *
 *   OFFSET SIZE  FIELD            packed 12-byte entries, little-endian
 *        0    2  type             0 read 1 write 2-9 prefetches 10-16 instructions 22 thread
 *        2    2  size             23 thread exit 24 process 25 header 26 footer 28 marker (size is
 *        4    8  address          its kind) 29 instruction again (rep) 31 sysenter 47 encoding
 *                                 48 taken and 49 untaken conditional branch
 *
 * Instruction bytes come in encoding entries of up to 8 bytes before the first execution. Entries
 * that no event stands for are kept as opaque events, so a trace comes back byte for byte.
 * docs/formats/drmemtrace.md has the order of entries and the worked example. */
#include <stdlib.h>

#include "trace/group.h"
#include "trace/insns.h"
#include "trace/text.h"

enum {
	DR_READ = 0,
	DR_WRITE = 1,
	DR_PREFETCH_LAST = 9,
	DR_INSTR = 10,
	DR_JUMP = 11,
	DR_JUMP_IND = 12,
	DR_COND = 13,
	DR_CALL = 14,
	DR_CALL_IND = 15,
	DR_RET = 16,
	DR_BUNDLE = 17,
	DR_THREAD = 22,
	DR_THREAD_EXIT = 23,
	DR_PID = 24,
	DR_HEADER = 25,
	DR_FOOTER = 26,
	DR_MARKER = 28,
	DR_NO_FETCH = 29,
	DR_SYSENTER = 31,
	DR_ENCODING = 47,
	DR_TAKEN = 48,
	DR_UNTAKEN = 49,
	DR_LAST = 60,

	MK_KERNEL_EVENT = 0,
	MK_KERNEL_XFER = 1,
	MK_TIMESTAMP = 2,
	MK_CPU = 3,
	MK_FILETYPE = 9,
	MK_LINE = 10,
	MK_VERSION = 12,
	MK_PAGE = 18,
	MK_CHUNK = 20,
	MK_TARGET = 29,

	FT_X86_32 = 0x20,
	FT_X86_64 = 0x40,
	FT_ENCODINGS = 0x200,
};
#define ENTRY 12

struct dr_entry {
	unsigned type, size;
	uint64_t addr;
};

static struct dr_entry get_entry(const uint8_t *p)
{
	return (struct dr_entry){ pm_get16(p), pm_get16(p + 2), pm_get64(p + 4) };
}

static bool is_instr(unsigned type)
{
	return (type >= DR_INSTR && type <= DR_RET) || type == DR_NO_FETCH || type == DR_SYSENTER ||
	       type == DR_TAKEN || type == DR_UNTAKEN;
}

/* ---- reading -------------------------------------------------------------------------------- */

struct dr_reader {
	struct pm_window w;
	struct pm_builder b;
	struct pm_streams streams;
	struct pm_stream *now;
	struct pm_codes codes;
	uint64_t insns, first_time;
	uint8_t isa;
	uint8_t enc[16];
	unsigned nenc;
	bool started, timed;
	struct pm_outcome branch;
	struct pm_reps rep;
};

static void *dr_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		     struct pm_err *err)
{
	struct dr_reader *r;
	const uint8_t *p;
	size_t got;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	p = pm_input_peek(in, 8 * ENTRY, &got, err);
	if (!p)
		return NULL;
	if (got < ENTRY || get_entry(p).type != DR_HEADER) {
		pm_fail(err, 0, "expected a header entry (type 25), found %s",
			got < ENTRY ? "a shorter file" : "another type");
		return NULL;
	}
	if (get_entry(p).addr < 2 || get_entry(p).addr > 7) {
		pm_fail(err, 4, "expected version 2..7, found %llu",
			(unsigned long long)get_entry(p).addr);
		return NULL;
	}
	r = pm_alloc(sizeof *r);
	r->w.in = in;
	r->isa = PM_ISA_NONE;
	r->rep.id = PM_NONE;
	*facts = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_BRANCHES | PM_HAS_THREADS |
		 PM_HAS_TIME;
	for (size_t i = 0; i + ENTRY <= got; i += ENTRY) {
		struct dr_entry e = get_entry(p + i);

		if (e.type != DR_MARKER || e.size != MK_FILETYPE)
			continue;
		if (e.addr & FT_ENCODINGS)
			*facts |= PM_HAS_BYTES | PM_HAS_REPS;
		if (e.addr & FT_X86_64)
			r->isa = PM_ISA_X86_64;
		else if (e.addr & FT_X86_32)
			r->isa = PM_ISA_X86_32;
	}
	return r;
}

static void dr_close(void *self)
{
	struct dr_reader *r = self;

	if (!r)
		return;
	pm_builder_release(&r->b);
	pm_streams_release(&r->streams);
	pm_codes_release(&r->codes);
	free(r);
}

static uint32_t insn_of(struct dr_reader *r, const struct dr_entry *e)
{
	static const uint8_t class[] = {
		[DR_JUMP] = PM_CLASS_JUMP, [DR_JUMP_IND] = PM_CLASS_JUMP_IND,
		[DR_COND] = PM_CLASS_COND, [DR_CALL] = PM_CLASS_CALL,
		[DR_CALL_IND] = PM_CLASS_CALL_IND, [DR_RET] = PM_CLASS_RET,
		[DR_SYSENTER] = PM_CLASS_SYSCALL, [DR_TAKEN] = PM_CLASS_COND,
		[DR_UNTAKEN] = PM_CLASS_COND,
	};
	bool fresh;
	uint32_t id = pm_codes_put(&r->codes, e->addr, r->enc, r->nenc, false, r->isa, &fresh);
	struct pm_insn *in = &r->codes.insn[id];
	struct x86_regs x;

	if (!fresh)
		return id;
	in->flow = e->type < NR(class) ? class[e->type] : PM_CLASS_NONE;
	if (r->isa != PM_ISA_NONE && in->len &&
	    x86_regs(in->bytes, in->len, r->isa == PM_ISA_X86_64, &x))
		in->rep = x.rep;
	return id;
}

/* The instruction before is complete: nothing (known false) or the one at @next follows it. */
static void close_insn(struct dr_reader *r, bool known, uint64_t next)
{
	pm_outcome_tell(&r->branch, &r->b, &r->codes, known, next);
	if (!known)
		pm_reps_end(&r->rep, &r->b, &r->codes);
}

/* The encoding of the instruction that follows stands in the code table: its entries, as far as
 * they are in this batch, need no events. Were there any? The writer puts them where they were. */
static uint64_t take_encoding(struct pm_builder *b)
{
	size_t first = b->b.n, to;
	bool any = false;

	while (first && b->ev[first - 1].kind == PM_EV_OPAQUE && b->ev[first - 1].flags == 2) {
		first--;
		any |= (b->ev[first].id & 0xffff) == DR_ENCODING;
	}
	if (!any)
		return 0;
	to = first;
	for (size_t i = first; i < b->b.n; i++)
		if ((b->ev[i].id & 0xffff) != DR_ENCODING)
			b->ev[to++] = b->ev[i];
	b->b.n = to;
	return 1;
}

static void add_instr(struct dr_reader *r, const struct dr_entry *e)
{
	static const uint8_t flags[] = {
		[DR_JUMP] = PM_BR_TAKEN, [DR_JUMP_IND] = PM_BR_TAKEN | PM_BR_INDIRECT,
		[DR_COND] = PM_BR_COND,
		[DR_CALL] = PM_BR_TAKEN | PM_BR_CALL,
		[DR_CALL_IND] = PM_BR_TAKEN | PM_BR_CALL | PM_BR_INDIRECT,
		[DR_RET] = PM_BR_TAKEN | PM_BR_RET | PM_BR_INDIRECT,
		[DR_TAKEN] = PM_BR_TAKEN | PM_BR_COND, [DR_UNTAKEN] = PM_BR_COND,
	};
	uint32_t id = insn_of(r, e);

	close_insn(r, true, e->addr);
	if (e->type == DR_NO_FETCH) {
		pm_ev_add(&r->b, PM_EV_REP_ITER, 0, 0, e->addr, e->size)->id = id;
		r->nenc = 0;
		r->rep.iters++;
		return;
	}
	pm_reps_end(&r->rep, &r->b, &r->codes);
	pm_ev_add(&r->b, PM_EV_INSN, e->type, e->size, e->addr, take_encoding(&r->b))->id = id;
	r->insns++;
	r->nenc = 0;
	if (r->codes.insn[id].rep)
		r->rep = (struct pm_reps){ id, 0 };
	if (e->type < NR(flags) && flags[e->type])
		r->branch = (struct pm_outcome){ true,
						 e->type != DR_COND,
						 { PM_EV_BRANCH, flags[e->type], (uint16_t)e->size,
						   id, e->addr, 0 } };
}

static void dr_epochs(void *self)
{
	struct dr_reader *r = self;

	r->codes.epochs = r->codes.once = true;
}

/* An entry that is no instruction and no reference. */
static enum pm_status add_other(struct dr_reader *r, const struct dr_entry *e, struct pm_err *err)
{
	struct pm_builder *b = &r->b;

	if (e->type > DR_LAST)
		return pm_fail(err, pm_window_at(&r->w), "unknown entry type %u",
			       e->type);
	if (e->type == DR_THREAD && !r->insns)
		r->now->tid = (uint32_t)e->addr;
	if (e->type == DR_PID)
		r->now->pid = (uint32_t)e->addr;
	if (e->type == DR_ENCODING) {
		if (!e->size || e->size > 8 || r->nenc + e->size > 15)
			return pm_fail(err, pm_window_at(&r->w) + 2,
				       "an encoding of %u bytes: expected 1..8, "
				       "at most 15 together",
				       e->size);
		memcpy(r->enc + r->nenc, r->w.p + 4, e->size);
		r->nenc += e->size;
	}
	pm_ev_add(b, PM_EV_OPAQUE, 2, 0, 0, e->addr)->id = e->type | e->size << 16;
	if (e->type == DR_MARKER && e->size == MK_TIMESTAMP) {
		if (!r->timed)
			r->first_time = e->addr;
		r->timed = true;
		pm_ev_add(b, PM_EV_TIME, 0, 0, 0, (e->addr - r->first_time) * 1000);
	}
	return PM_OK;
}

static enum pm_status dr_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct dr_reader *r = self;
	struct pm_builder *b = &r->b;

	if (!r->now)
		r->now = pm_streams_of(&r->streams, 0);
	if (pm_codes_full(&r->codes)) {
		uint32_t none = PM_NONE;

		pm_codes_renew(&r->codes, r->branch.pending ? &r->branch.ev.id : &none, &r->rep.id);
	}
	pm_builder_reset(b, r->now, &r->codes.code);
	b->b.first_insn = r->insns;
	if (!r->started) {
		r->started = true;
		pm_opaque_header(b, "drmemtrace", "", 0);
	}
	/* an encoding and its instruction are in one batch, unless damage keeps them apart */
	while (b->b.n < PM_BATCH_EVENTS || (r->nenc && b->b.n < 2 * PM_BATCH_EVENTS)) {
		struct dr_entry e;

		if (pm_window_left(&r->w) < ENTRY) {
			enum pm_status st = pm_window_fill(&r->w, PM_WINDOW, err);

			if (st == PM_ERR)
				return st;
			if (st == PM_END) {
				close_insn(r, false, 0);
				break;
			}
			if (pm_window_left(&r->w) < ENTRY)
				return pm_fail(err, pm_window_at(&r->w),
					       "expected 12 bytes of entry, found "
					       "%zu",
					       pm_window_left(&r->w));
		}
		e = get_entry(r->w.p);
		if (is_instr(e.type)) {
			if (!e.size || e.size > 15)
				return pm_fail(err, pm_window_at(&r->w) + 2,
					       "expected an instruction of "
					       "1..15 bytes, found %u",
					       e.size);
			if (r->nenc && r->nenc != e.size)
				return pm_fail(err, pm_window_at(&r->w) + 2,
					       "the instruction has %u bytes, "
					       "its encoding %u",
					       e.size, r->nenc);
			add_instr(r, &e);
		} else if (e.type <= DR_PREFETCH_LAST) {
			/* the first iteration has no entry of its own: value 0 says so to our
			 * writer */
			if (r->rep.id != PM_NONE && !r->rep.iters) {
				r->rep.iters = 1;
				pm_ev_add(b, PM_EV_REP_ITER, 0, 0, r->codes.insn[r->rep.id].pc, 0)
					->id = r->rep.id;
			}
			pm_ev_add(b, e.type == DR_WRITE ? PM_EV_WRITE : PM_EV_READ,
				  e.type > DR_WRITE ? PM_REF_PREFETCH : 0, e.size, e.addr, e.type);
		} else if (e.type == DR_THREAD && r->streams.n &&
			   r->now != pm_streams_of(&r->streams, (uint32_t)e.addr) && r->insns) {
			/* another thread's part: a batch has one stream */
			close_insn(r, false, 0);
			r->now = pm_streams_of(&r->streams, (uint32_t)e.addr);
			if (b->b.n)
				break;
			b->b.stream = r->now;
			continue;
		} else if (add_other(r, &e, err) != PM_OK) {
			return PM_ERR;
		}
		r->w.p += ENTRY;
	}
	if (pm_failed(&r->codes.err)) {
		*err = r->codes.err;
		return PM_ERR;
	}
	if (!b->b.n)
		return PM_END;
	pm_codes_lend(&r->codes);
	*batch = pm_builder_batch(b);
	return PM_OK;
}

/* ---- writing -------------------------------------------------------------------------------- */

#define CHUNK		1024		/* entries */
#define PER_INSN	(2 * PM_GROUP_REFS + 8)	/* more than any instruction has */

struct dr_writer {
	struct pm_plain w;
	struct pm_grouper g;
	struct pm_regs_cache regs;
	struct pm_map known;		/* pc -> insn id + 1 whose encoding the file has */
	bool begun, encodings;
	enum pm_isa isa;		/* of the trace, or of its first instruction */
	uint32_t epoch;			/* ... of these numbers (pm_code.epoch) */
	bool encoded, held;		/* from itself: encodings, a target marker wait for their
					 * instruction */
	uint64_t target;
	uint32_t stream;
	unsigned last;			/* type of the entry written last */
	uint64_t tid;
	uint8_t chunk[ENTRY * CHUNK];
	size_t n;
};

static inline uint8_t *put_entry(uint8_t *p, unsigned type, unsigned size, uint64_t addr)
{
	pm_put32(p, type | size << 16);
	pm_put64(p + 4, addr);
	return p + ENTRY;
}

static enum pm_status put(struct dr_writer *w, unsigned type, unsigned size, uint64_t addr,
			  struct pm_err *err)
{
	put_entry(w->chunk + w->n, type, size, addr);
	w->n += ENTRY;
	w->last = type;
	if (type == DR_THREAD)
		w->tid = addr;
	if (w->n < sizeof w->chunk)
		return PM_OK;
	w->n = 0;
	return pm_output_write(w->w.out, w->chunk, sizeof w->chunk, err);
}

static void begin(struct dr_writer *w, const struct pm_stream *s, struct pm_err *err)
{
	uint64_t tid = s->tid ? s->tid : 1, pid = s->pid ? s->pid : 1;

	if (w->begun && w->stream == s->index)
		return;
	if (!w->begun) {
		put(w, DR_HEADER, 0, 6, err);
		put(w, DR_MARKER, MK_VERSION, 6, err);
		put(w, DR_MARKER, MK_FILETYPE,
		    (w->isa == PM_ISA_X86_32   ? FT_X86_32
		     : w->isa == PM_ISA_X86_64 ? FT_X86_64
					       : 0) |
			    (w->encodings ? FT_ENCODINGS : 0),
		    err);
	}
	put(w, DR_THREAD, 4, tid, err);
	put(w, DR_PID, 4, pid, err);
	if (!w->begun) {
		put(w, DR_MARKER, MK_LINE, 64, err);
		put(w, DR_MARKER, MK_CHUNK, 10000000, err);
		put(w, DR_MARKER, MK_PAGE, 4096, err);
	}
	/* one fixed instant (1 January 2024): equal traces give equal files */
	put(w, DR_MARKER, MK_TIMESTAMP, 13348540800000000ull, err);
	put(w, DR_MARKER, MK_CPU, 0, err);
	w->begun = true;
	w->stream = s->index;
}

static bool is_sysenter(const struct pm_group *g)
{
	return g->known && g->insn.len == 2 && g->insn.bytes[0] == 0x0f && g->insn.bytes[1] == 0x34;
}

static unsigned type_of(const struct pm_group *g, const struct x86_regs *x)
{
	unsigned f = g->branch.flags, class = x		 ? x->class
					      : g->known ? g->insn.flow
							 : PM_CLASS_NONE;

	if (g->again)
		return DR_NO_FETCH;
	if (class == PM_CLASS_SYSCALL && is_sysenter(g))
		return DR_SYSENTER;
	if (!g->has_branch) {
		switch (class) {
		case PM_CLASS_COND: return DR_UNTAKEN;
		case PM_CLASS_JUMP: return DR_JUMP;
		case PM_CLASS_JUMP_IND: return DR_JUMP_IND;
		case PM_CLASS_CALL: return DR_CALL;
		case PM_CLASS_CALL_IND: return DR_CALL_IND;
		case PM_CLASS_RET: return DR_RET;
		}
		/* a source without branches: a jump is what explains the gap */
		return g->next_known && g->size && g->next_pc != g->pc + g->size &&
				       g->next_pc != g->pc && class == PM_CLASS_NONE && !x
			       ? DR_JUMP
			       : DR_INSTR;
	}
	if (f & PM_BR_COND)
		return f & PM_BR_TAKEN ? DR_TAKEN : DR_UNTAKEN;
	if (f & PM_BR_RET)
		return DR_RET;
	if (f & PM_BR_CALL)
		return f & PM_BR_INDIRECT ? DR_CALL_IND : DR_CALL;
	return f & PM_BR_INDIRECT ? DR_JUMP_IND : DR_JUMP;
}

static void put_encoding(struct dr_writer *w, const struct pm_insn *in, struct pm_err *err)
{
	for (unsigned i = 0; i < in->len; i += 8) {
		uint8_t eight[8] = { 0 };
		unsigned n = in->len - i < 8 ? in->len - i : 8;

		memcpy(eight, in->bytes + i, n);
		put(w, DR_ENCODING, n, pm_get64(eight), err);
	}
}

/* The instruction's bytes, unless the file has them already for this address; @always: in any
 * case. */
static void encode(struct dr_writer *w, const struct pm_insn *in, uint32_t id, bool always,
		   struct pm_err *err)
{
	uint64_t *at = pm_map_put(&w->known, in->pc, NULL);

	if (always || *at != id + 1ull)
		put_encoding(w, in, err);
	*at = id + 1ull;
}

/* HOT: once per instruction. */
static enum pm_status dr_group(void *self, const struct pm_group *g, struct pm_err *err)
{
	struct dr_writer *w = self;
	const struct x86_regs *x = g->known ? pm_regs_of(&w->regs, g) : NULL;
	unsigned type = type_of(g, x), size = g->size;
	uint8_t *p;

	if (!w->begun || w->stream != g->stream->index) {
		if (!w->begun && g->known)
			w->isa = g->insn.isa;
		begin(w, g->stream, err);
	}
	if (!size)
		size = g->known && g->insn.len ? g->insn.len : 4;
	if (size > 15)
		return pm_fail_file(err,
				    "a fetch of %u bytes at 0x%llx is no instruction; drmemtrace "
				    "holds "
				    "instructions of 1..15 bytes",
				    size, (unsigned long long)g->pc);
	if (w->encodings && g->known && g->insn.len == size && !g->again) {
		if (g->epoch != w->epoch && pm_epoch_begins(&w->epoch, g))
			pm_map_release(&w->known);
		encode(w, &g->insn, g->id, g->epoch != w->epoch, err);
	}
	if (w->n > sizeof w->chunk - ENTRY * PER_INSN) {
		if (pm_output_write(w->w.out, w->chunk, w->n, err) == PM_ERR)
			return PM_ERR;
		w->n = 0;
	}
	p = w->chunk + w->n;
	if (type == DR_JUMP_IND || type == DR_CALL_IND || type == DR_RET)
		p = put_entry(p, DR_MARKER, MK_TARGET,
			      g->has_branch ? g->branch.value : g->next_known ? g->next_pc : 0);
	p = put_entry(p, type, size, g->pc);
	for (unsigned i = 0; i < g->nref; i++) {
		const struct pm_event *e = &g->ref[i];
		unsigned bytes = e->size ? e->size : 4;

		if (!pm_is_ref(e)) {
			w->w.dropped[e->kind]++;
			continue;
		}
		if (e->kind != PM_EV_WRITE)
			p = put_entry(p, e->flags & PM_REF_PREFETCH ? 2 : DR_READ, bytes, e->addr);
		if (e->kind != PM_EV_READ)
			p = put_entry(p, DR_WRITE, bytes, e->addr);
	}
	w->n = (size_t)(p - w->chunk);
	w->last = type;
	w->w.dropped[PM_EV_REG_READ] += g->nrd;
	w->w.dropped[PM_EV_REG_WRITE] += g->nwr;
	w->w.dropped[PM_EV_UOP] += g->nuop;
	return pm_failed(err) ? PM_ERR : PM_OK;
}

static enum pm_status dr_other(void *self, const struct pm_batch *b, const struct pm_event *e,
			       struct pm_err *err)
{
	struct dr_writer *w = self;

	switch (e->kind) {
	case PM_EV_OPAQUE:
		break;
	case PM_EV_SIGNAL:
	case PM_EV_INTERRUPT:
		begin(w, b->stream, err);
		put(w, DR_MARKER, MK_KERNEL_EVENT, e->addr, err);
		break;
	case PM_EV_SIGRETURN:
		begin(w, b->stream, err);
		put(w, DR_MARKER, MK_KERNEL_XFER, e->addr, err);
		break;
	default:
		w->w.dropped[e->kind]++;
	}
	return pm_failed(err) ? PM_ERR : PM_OK;
}

/* From drmemtrace itself: every event is one entry. */
static enum pm_status dr_native(struct dr_writer *w, const struct pm_batch *b, size_t i,
				struct pm_err *err)
{
	for (; i < b->n; i++) {
		const struct pm_event *e = &b->ev[i];
		enum pm_status st = PM_OK;

		/* a part of a trace may have instructions whose encoding was before it */
		if (e->kind == PM_EV_INSN && w->encodings && b->code && e->id < b->code->ninsn) {
			const struct pm_insn *in = &b->code->insn[e->id];

			if (b->code->epoch != w->epoch) {
				w->epoch = b->code->epoch;
				pm_map_release(&w->known);
			}
			if (w->epoch) {
				/* a part of a trace comes with a table that keeps everything */
				if (e->value && !w->encoded)
					put_encoding(w, in, err);
			} else if (w->encoded) {
				*pm_map_put(&w->known, in->pc, NULL) = e->id + 1ull;
			} else {
				encode(w, in, e->id, e->value, err);
			}
			w->encoded = false;
		}
		if (w->held && e->kind != PM_EV_TIME) {
			w->held = false;
			put(w, DR_MARKER, MK_TARGET, w->target, err);
		}
		if (pm_failed(err))
			return PM_ERR;
		switch (e->kind) {
		case PM_EV_INSN:
			st = put(w, e->flags, e->size, e->addr, err);
			break;
		case PM_EV_REP_ITER:
			if (e->value)
				st = put(w, DR_NO_FETCH, (unsigned)e->value, e->addr, err);
			break;
		case PM_EV_READ:
		case PM_EV_WRITE:
			st = put(w, (unsigned)e->value, e->size, e->addr, err);
			break;
		case PM_EV_OPAQUE:
			if (e->size)
				break;
			w->encoded |= (e->id & 0xffff) == DR_ENCODING;
			w->held = e->id == (DR_MARKER | MK_TARGET << 16);
			w->target = e->value;
			if (!w->held)
				st = put(w, e->id & 0xffff, e->id >> 16, e->value, err);
			break;
		}
		if (st == PM_ERR)
			return st;
	}
	return PM_OK;
}

static void *dr_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err)
{
	struct dr_writer *w;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	w = pm_alloc(sizeof *w);
	w->w.out = out;
	w->encodings = o->facts & PM_HAS_BYTES;
	for (const char *const *kv = o->info; kv && kv[0]; kv += 2)
		if (!strcmp(kv[0], "isa") && kv[1] && !strcmp(kv[1], "x86-32"))
			w->isa = PM_ISA_X86_32;
	w->g = (struct pm_grouper){ .group = dr_group, .other = dr_other, .self = w,
				     .no_regs = true };
	return w;
}

static enum pm_status dr_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct dr_writer *w = self;
	size_t n, i = 0;

	if (!w->w.native && !w->begun && b->n && pm_opaque_is(b, b->ev, "drmemtrace", &n)) {
		w->w.native = true;
		i = 1;
	}
	return w->w.native ? dr_native(w, b, i, err) : pm_grouper_batch(&w->g, b, err);
}

static enum pm_status dr_finish(void *self, struct pm_err *err)
{
	struct dr_writer *w = self;
	static const struct pm_stream none;

	if (w->held)
		put(w, DR_MARKER, MK_TARGET, w->target, err);
	if (!w->w.native) {
		if (pm_grouper_finish(&w->g, err) == PM_ERR)
			return PM_ERR;
		if (!w->begun)
			begin(w, &none, err);
	}
	/* also of a part of a trace, which ends before its own end mark */
	if (w->last != DR_FOOTER) {
		put(w, DR_THREAD_EXIT, 4, w->tid, err);
		put(w, DR_FOOTER, 0, 0, err);
	}
	return pm_output_write(w->w.out, w->chunk, w->n, err);
}

static void dr_free(void *self)
{
	struct dr_writer *w = self;

	if (!w)
		return;
	pm_grouper_release(&w->g);
	pm_regs_release(&w->regs);
	pm_map_release(&w->known);
	free(w);
}

static int dr_probe(const uint8_t *head, size_t n)
{
	struct dr_entry e;

	if (n < ENTRY)
		return 0;
	e = get_entry(head);
	if (e.type != DR_HEADER || e.size || e.addr < 2 || e.addr > 7)
		return 0;
	if (n >= 2 * ENTRY && get_entry(head + ENTRY).type > DR_LAST)
		return 0;
	return 94;
}

static const struct pm_reader_ops dr_read = { dr_open, dr_next, dr_close, NULL, dr_epochs };
static const struct pm_writer_ops dr_write_ops = {
	dr_create, dr_write, dr_finish, dr_free, pm_plain_dropped
};

const struct pm_format pm_fmt_drmemtrace = {
	.name = "drmemtrace", .about = "DynamoRIO's off-line memory and instruction traces",
	.plural = "drmemtrace traces", .suffixes = ".drmemtrace .memtrace",
	.has = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_BRANCHES |
	       PM_HAS_THREADS | PM_HAS_TIME | PM_HAS_REPS,
	.needs = PM_HAS_INSNS | PM_HAS_REFS,
	.probe = dr_probe, .read = &dr_read, .write = &dr_write_ops,
};
