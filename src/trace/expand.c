/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/expand.h"

/* Direct transfers end in their displacement, so the opcode's length and the displacement's size
 * are all one needs to know. */
static bool x86_target(const struct pm_insn *in, uint64_t *target)
{
	bool wide = in->isa == PM_ISA_X86_64, word = false;
	unsigned i = 0, width;
	int64_t disp;

	for (; i < in->len; i++) {
		uint8_t b = in->bytes[i];

		if (b == 0x66)
			word = true;
		else if (!(b == 0x67 || b == 0xf2 || b == 0xf3 || b == 0x2e || b == 0x36 ||
			   b == 0x3e || b == 0x26 || b == 0x64 || b == 0x65 || b == 0xf0 ||
			   (wide && (b & 0xf0) == 0x40)))
			break;
	}
	if (i == in->len)
		return false;
	/* in 64-bit mode Intel ignores the operand-size prefix here; AMD does not, compilers avoid
	 * it */
	width = word && !wide ? 2 : 4;
	switch (in->bytes[i]) {
	case 0x70 ... 0x7f: case 0xe0 ... 0xe3: case 0xeb:
		width = 1;
		break;
	case 0xe8: case 0xe9:
		break;
	case 0x0f:
		if (i + 1 < in->len && (in->bytes[i + 1] & 0xf0) == 0x80) {
			i++;
			break;
		}
		return false;
	case 0xc7:		/* xbegin: the abort handler */
		if (i + 1 < in->len && in->bytes[i + 1] == 0xf8) {
			i++;
			break;
		}
		return false;
	default:
		return false;
	}
	if (i + 1 + width != in->len)
		return false;
	if (width == 1) {
		disp = (int8_t)in->bytes[i + 1];
	} else if (width == 2) {
		disp = (int16_t)(in->bytes[i + 1] | in->bytes[i + 2] << 8);
	} else {
		int32_t d;

		memcpy(&d, in->bytes + i + 1, 4);
		disp = (int32_t)le32toh((uint32_t)d);
	}
	*target = in->pc + in->len + (uint64_t)disp;
	if (!wide)
		*target &= word ? 0xffff : 0xffffffff;
	return true;
}

bool pm_mips_word(uint8_t isa, const uint8_t *bytes, uint8_t len, uint32_t *word)
{
	if (!pm_isa_is_mips(isa) || len != 4)
		return false;
	memcpy(word, bytes, sizeof *word);
	*word = isa == PM_ISA_MIPS ? le32toh(*word) : be32toh(*word);
	return true;
}

static bool mips_target(const struct pm_insn *in, uint64_t *target)
{
	uint32_t w, op;

	if (!pm_mips_word(in->isa, in->bytes, in->len, &w))
		return false;
	op = w >> 26;
	if (op == 2 || op == 3) {				/* j, jal */
		*target = ((in->pc + 4) & ~(uint64_t)0xfffffff) | (w & 0x3ffffff) << 2;
		return true;
	}
	if (op == 1 || (op >= 4 && op <= 7) || (op >= 20 && op <= 23) ||
	    (op >= 16 && op <= 18 && (w >> 21 & 31) == 8)) {	/* b*, b*l, bcz */
		*target = in->pc + 4 + ((uint64_t)(int64_t)(int16_t)w << 2);
		return true;
	}
	return false;
}

bool pm_insn_target(const struct pm_insn *insn, uint64_t *target)
{
	switch (insn->isa) {
	case PM_ISA_X86_64:
	case PM_ISA_X86_32:
		return x86_target(insn, target);
	case PM_ISA_MIPS:
	case PM_ISA_MIPS_BE:
		return mips_target(insn, target);
	}
	return false;
}

#define OUT_EVENTS 1024			/* per batch, about: what the sink reads is still in the
					 * first-level cache */

/* Worked out once. */
struct block_ends {			/* of a code table */
	const struct pm_code *code;
	struct pm_block_end *end;		/* by block */
	size_t n;
};

struct expand_stream {
	const struct pm_stream *stream;
	const struct pm_code *code;
	uint64_t insns;			/* emitted so far: first_insn of the next output batch */
	uint32_t block;			/* the block that is being filled, PM_NONE: none */
	uint32_t insn;			/* code->insn index of its first instruction */
	uint32_t n;			/* its instructions that executed */
	uint32_t size;			/* all that it has */
	uint32_t done;			/* ... of which emitted */
	struct block_ends *ends;	/* of .code */
	struct block_ends *open;	/* the last block ends in a transfer whose outcome is
					 * open; NULL: not so */
	uint32_t open_block;
	bool begun;
};

struct expand {
	struct expand_stream *stream;	/* by pm_stream.index */
	size_t cap;
	struct pm_event *ev;		/* the batch being built */
	size_t n, cap_ev;
	struct block_ends **ends;	/* one per code table */
	size_t nends, cap_ends;
};

void *pm_expand_new(void)
{
	return pm_alloc(sizeof(struct expand));
}

static struct expand_stream *stream_of(struct expand *x, const struct pm_stream *s)
{
	struct expand_stream *st;

	if (s->index >= x->cap) {
		size_t cap = x->cap ? x->cap : 8;

		while (cap <= s->index)
			cap *= 2;
		x->stream = pm_realloc(x->stream, cap * sizeof *x->stream);
		memset(x->stream + x->cap, 0, (cap - x->cap) * sizeof *x->stream);
		x->cap = cap;
	}
	st = x->stream + s->index;
	if (!st->begun) {
		*st = (struct expand_stream){ .block = PM_NONE, .begun = true };
	}
	st->stream = s;
	return st;
}

static inline void room(struct expand *x, size_t n)
{
	if (__builtin_expect(x->cap_ev - x->n < n, 0)) {
		x->cap_ev = (x->n + n) * 2;
		x->ev = pm_realloc(x->ev, x->cap_ev * sizeof *x->ev);
	}
}

/* HOT: the block's instructions before index @upto, as far as they are not out yet. There is
 * room. */
static inline void insns_to(struct expand *x, struct expand_stream *st, uint32_t upto)
{
	const struct pm_insn *in = st->code->insn + st->insn;
	struct pm_event *to;

	to = x->ev + x->n;
	for (uint32_t i = st->done; i < upto; i++)
		*to++ = (struct pm_event){
			.kind = PM_EV_INSN, .size = in[i].len, .id = st->insn + i, .addr = in[i].pc
		};
	x->n = (size_t)(to - x->ev);
	st->done = upto > st->done ? upto : st->done;
}

uint8_t pm_insn_branch_flags(const struct pm_insn *insn)
{
	static const uint8_t flags[] = {
		[PM_CLASS_COND] = PM_BR_COND,
		[PM_CLASS_CALL] = PM_BR_CALL,
		[PM_CLASS_RET] = PM_BR_RET | PM_BR_INDIRECT,
		[PM_CLASS_JUMP_IND] = PM_BR_INDIRECT,
		[PM_CLASS_CALL_IND] = PM_BR_CALL | PM_BR_INDIRECT,
	};

	return insn->flow < NR(flags) ? flags[insn->flow] : 0;
}

void pm_block_end_of(const struct pm_code *code, const struct pm_block *blk,
		     struct pm_block_end *e)
{
	const struct pm_insn *in = code->insn + blk->insn;
	uint32_t i = blk->n - 1;

	/* a MIPS branch stands before its delay slot */
	if (in[i].flow == PM_CLASS_NONE && i && pm_isa_is_mips(in[i].isa))
		i--;
	*e = (struct pm_block_end){ .kind = PM_END_NONE };
	if (in[i].flow == PM_CLASS_NONE || in[i].flow == PM_CLASS_SYSCALL)
		return;
	e->pc = in[i].pc;
	e->size = in[i].len;
	e->insn = blk->insn + i;
	e->flags = pm_insn_branch_flags(in + i);
	e->fall = pm_insn_fall(in + i);
	e->kind = pm_insn_target(in + i, &e->target) ? PM_END_DIRECT : PM_END_INDIRECT;
}

static struct block_ends *ends_of(struct expand *x, const struct pm_code *code)
{
	for (size_t i = 0; i < x->nends; i++)
		if (x->ends[i]->code == code)
			return x->ends[i];
	pm_grow(x->ends, x->nends, x->cap_ends);
	x->ends[x->nends] = pm_alloc(sizeof **x->ends);
	x->ends[x->nends]->code = code;
	return x->ends[x->nends++];
}

static void more_ends(struct block_ends *t)
{
	size_t n = t->code->nblock * 2;

	t->end = pm_realloc(t->end, n * sizeof *t->end);
	memset(t->end + t->n, 0, (n - t->n) * sizeof *t->end);
	t->n = n;
}

/* The open outcome becomes known: control went to @next (@told), or nobody said where. There is
 * room. */
static inline void branch(struct expand *x, struct expand_stream *st, bool told, uint64_t next)
{
	const struct pm_block_end *e = st->open->end + st->open_block;
	uint8_t flags;

	st->open = NULL;
	if (!pm_block_went(e, told, &next, &flags))
		return;
	x->ev[x->n++] = (struct pm_event){ .kind = PM_EV_BRANCH,
					   .flags = flags,
					   .size = e->size,
					   .id = e->insn,
					   .addr = e->pc,
					   .value = next };
}

static enum pm_status emit(struct expand *x, const struct pm_batch *like, struct expand_stream *st,
			   uint64_t upto, const struct pm_emit *to, struct pm_err *err)
{
	struct pm_batch b = *like;
	enum pm_status s;

	if (!x->n)
		return PM_OK;
	b.stream = st->stream;
	b.code = st->code;
	b.ev = x->ev;
	b.n = x->n;
	b.first_insn = st->insns;
	st->insns = upto;
	s = to->batch(to->to, &b, err);
	x->n = 0;
	return s;
}

enum pm_status pm_block_wrong(const struct pm_code *code, const struct pm_event *ev,
			      struct pm_err *err)
{
	if (!code || ev->id >= code->nblock)
		return pm_fail(err, 0, "block number %u is not in the code table (%zu blocks)",
			       ev->id, code ? code->nblock : 0);
	return pm_fail(err, 0, "block %u executed %llu instructions but has %u", ev->id,
		       (unsigned long long)ev->value, code->block[ev->id].n);
}

enum pm_status pm_slot_wrong(const struct pm_code *code, uint32_t block, const struct pm_event *ev,
			     struct pm_err *err)
{
	return pm_fail(err, 0, "a reference of instruction %u of block %u, which has %u",
		       PM_SLOT_OF(ev), block, code->block[block].n);
}

static uint64_t count_insns(const struct pm_event *ev, size_t n)
{
	uint64_t insns = 0;

	for (size_t i = 0; i < n; i++)
		insns += ev[i].kind == PM_EV_INSN;
	return insns;
}

static inline enum pm_status begin_block(struct expand *x, struct expand_stream *st,
					 const struct pm_event *ev, struct pm_err *err)
{
	const struct pm_block *blk = pm_block_begun(st->code, ev);

	if (!blk)
		return pm_block_wrong(st->code, ev, err);
	if (st->open)
		branch(x, st, true, ev->addr);
	st->block = ev->id;
	st->insn = blk->insn;
	st->n = (uint32_t)ev->value;
	st->size = blk->n;
	st->done = 0;
	if (st->n && st->n == blk->n) {
		struct pm_block_end *e;

		if (ev->id >= st->ends->n)
			more_ends(st->ends);
		e = st->ends->end + ev->id;
		if (e->kind == PM_END_UNKNOWN)
			pm_block_end_of(st->code, blk, e);
		st->open = e->kind != PM_END_NONE ? st->ends : NULL;
		st->open_block = ev->id;
	}
	return PM_OK;
}

/* Everything but a block entry. There is room. */
static enum pm_status other_event(struct expand *x, struct expand_stream *st,
				  const struct pm_event *ev, uint64_t *insns, struct pm_err *err)
{
	if (st->block == PM_NONE || pm_is_aside(ev)) {
		*insns += ev->kind == PM_EV_INSN;
	} else if (pm_in_block(ev->kind)) {
		if (PM_SLOT_OF(ev) != PM_NONE)
			return pm_slot_wrong(st->code, st->block, ev, err);
	} else {
		*insns += st->n - st->done + (ev->kind == PM_EV_INSN);
		insns_to(x, st, st->n);
	}
	if (!pm_in_block(ev->kind)) {
		if (st->open && pm_says_next(ev->kind))
			branch(x, st, true, ev->addr);
		else if (st->open && ev->kind == PM_EV_EXIT)
			branch(x, st, false, 0);
		if (pm_ends_path(ev->kind)) {
			st->open = NULL;
			st->block = PM_NONE;
		}
	}
	x->ev[x->n++] = *ev;
	return PM_OK;
}

static enum pm_status expand_consume(void *self, const struct pm_batch *b, const struct pm_emit *to,
				     struct pm_err *err)
{
	struct expand *x = self;
	struct expand_stream *st = stream_of(x, b->stream);
	const struct pm_event *ev = b->ev, *end = b->ev + b->n;
	uint64_t insns;
	bool any = st->block != PM_NONE;

	if (b->code && b->code != st->code) {
		st->code = b->code;
		st->ends = ends_of(x, b->code);
	}
	for (size_t i = 0; !any && i < b->n; i++)
		any = ev[i].kind == PM_EV_BLOCK;
	if (!any) {
		struct pm_batch plain = *b;

		plain.first_insn = st->insns;
		st->insns += count_insns(b->ev, b->n);
		return to->batch(to->to, &plain, err);
	}

	insns = st->insns;
	x->n = 0;
	for (; ev < end; ev++) {
		/* what one event can bring: the rest of its block, a branch, itself */
		room(x, (size_t)st->n + 2);
		if (ev->kind == PM_EV_BLOCK) {
			if (st->block != PM_NONE) {
				insns += st->n - st->done;
				insns_to(x, st, st->n);
			}
			if (begin_block(x, st, ev, err) != PM_OK)
				return PM_ERR;
		} else if (st->block != PM_NONE && pm_in_block(ev->kind) &&
			   PM_SLOT_OF(ev) < st->size) {
			/* a reference of an instruction that did not complete still happened */
			uint32_t upto = PM_SLOT_OF(ev) < st->n ? PM_SLOT_OF(ev) + 1 : st->n;

			insns += upto > st->done ? upto - st->done : 0;
			insns_to(x, st, upto);
			x->ev[x->n] = *ev;
			x->ev[x->n++].id = st->insn + PM_SLOT_OF(ev);
		} else if (other_event(x, st, ev, &insns, err) != PM_OK) {
			return PM_ERR;
		}
		if (x->n >= OUT_EVENTS && emit(x, b, st, insns, to, err) != PM_OK)
			return PM_ERR;
	}
	return emit(x, b, st, insns, to, err);
}

static enum pm_status expand_finish(void *self, const struct pm_emit *to, struct pm_err *err)
{
	struct expand *x = self;

	for (size_t i = 0; i < x->cap; i++) {
		struct expand_stream *st = x->stream + i;
		const struct pm_batch none = { 0 };
		uint64_t insns;

		if (!st->begun || st->block == PM_NONE)
			continue;
		x->n = 0;
		room(x, (size_t)st->n + 2);
		insns = st->insns + (st->n - st->done);
		insns_to(x, st, st->n);
		if (st->open)
			branch(x, st, false, 0);
		st->block = PM_NONE;
		if (emit(x, &none, st, insns, to, err) != PM_OK)
			return PM_ERR;
	}
	return PM_OK;
}

static void expand_destroy(void *self)
{
	struct expand *x = self;

	if (!x)
		return;
	for (size_t i = 0; i < x->nends; i++) {
		free(x->ends[i]->end);
		free(x->ends[i]);
	}
	free(x->ends);
	free(x->stream);
	free(x->ev);
	free(x);
}

const struct pm_transform_ops pm_expand_ops = {
	.name = "expand",
	.removes = PM_HAS_BLOCKS,
	.flags = PM_SINK_BLOCKS,
	.consume = expand_consume,
	.finish = expand_finish,
	.destroy = expand_destroy,
};
