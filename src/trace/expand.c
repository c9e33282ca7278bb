/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/expand.h"

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

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
		else if (!(b == 0x67 || b == 0xf2 || b == 0xf3 || b == 0x2e || b == 0x36 || b == 0x3e ||
			   b == 0x26 || b == 0x64 || b == 0x65 || b == 0xf0 || (wide && (b & 0xf0) == 0x40)))
			break;
	}
	if (i == in->len)
		return false;
	/* in 64-bit mode Intel ignores the operand-size prefix here; AMD does not, compilers avoid it */
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

static bool mips_target(const struct pm_insn *in, uint64_t *target)
{
	uint32_t w, op;

	if (in->len != 4)
		return false;
	w = be32(in->bytes);
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
		return mips_target(insn, target);
	}
	return false;
}

struct expand_stream {
	const struct pm_stream *stream;
	const struct pm_code *code;
	uint64_t insns;			/* emitted so far: first_insn of the next output batch */
	uint32_t block;			/* the block that is being filled, PM_NONE: none */
	uint32_t insn;			/* code->insn index of its first instruction */
	uint32_t n;			/* its instructions that executed */
	uint32_t done;			/* ... of which emitted */
	bool branch;			/* it ends in a transfer whose outcome is still open */
	bool begun;
};

struct expand {
	struct expand_stream *stream;	/* by pm_stream.index */
	size_t cap;
	struct pm_event *ev;		/* the batch being built */
	size_t n, cap_ev;
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

static void room(struct expand *x, size_t n)
{
	if (x->cap_ev - x->n < n) {
		x->cap_ev = (x->n + n) * 2;
		x->ev = pm_realloc(x->ev, x->cap_ev * sizeof *x->ev);
	}
}

/* HOT: the block's instructions before index @upto, as far as they are not out yet. */
static inline void insns_to(struct expand *x, struct expand_stream *st, uint32_t upto)
{
	const struct pm_insn *in = st->code->insn + st->insn;
	struct pm_event *to;

	if (upto <= st->done)
		return;
	room(x, upto - st->done);
	to = x->ev + x->n;
	for (uint32_t i = st->done; i < upto; i++)
		*to++ = (struct pm_event){ .kind = PM_EV_INSN, .size = in[i].len, .id = st->insn + i,
					   .addr = in[i].pc };
	x->n += upto - st->done;
	st->done = upto;
}

static const struct pm_insn *branch_of(const struct expand *x, const struct expand_stream *st, uint32_t *at)
{
	const struct pm_insn *in = st->code->insn + st->insn;
	uint32_t i = st->n - 1;

	/* a MIPS branch stands before its delay slot */
	if (in[i].class == PM_CLASS_NONE && i && in[i].isa == PM_ISA_MIPS)
		i--;
	if (in[i].class == PM_CLASS_NONE || in[i].class == PM_CLASS_SYSCALL)
		return NULL;
	*at = st->insn + i;
	return in + i;
}

/* The open outcome becomes known: control went to @next (@told), or nobody said where. */
static void branch(struct expand *x, struct expand_stream *st, bool told, uint64_t next)
{
	static const uint8_t flags[] = {
		[PM_CLASS_COND] = PM_BR_COND,
		[PM_CLASS_CALL] = PM_BR_CALL,
		[PM_CLASS_RET] = PM_BR_RET | PM_BR_INDIRECT,
		[PM_CLASS_JUMP_IND] = PM_BR_INDIRECT,
		[PM_CLASS_CALL_IND] = PM_BR_CALL | PM_BR_INDIRECT,
	};
	struct pm_event ev = { .kind = PM_EV_BRANCH };
	const struct pm_insn *in;
	uint32_t at = 0;
	uint64_t target = 0, fall;
	bool direct;

	st->branch = false;
	in = branch_of(x, st, &at);
	if (!in)
		return;
	direct = pm_insn_target(in, &target);
	if (!told) {
		if (!direct || in->class == PM_CLASS_COND)
			return;
		next = target;
	}
	ev.addr = in->pc;
	ev.size = in->len;
	ev.id = at;
	ev.flags = (in->class < NR(flags) ? flags[in->class] : 0) | PM_BR_TAKEN;
	ev.value = next;
	if (in->class == PM_CLASS_COND) {
		fall = pm_insn_next(in) + (in->isa == PM_ISA_MIPS ? 4 : 0);
		/* a branch to its own fall-through counts as not taken: nothing can tell */
		if (next == fall) {
			ev.flags &= ~PM_BR_TAKEN;
			ev.value = direct ? target : 0;
		}
	}
	room(x, 1);
	x->ev[x->n++] = ev;
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

static uint64_t count_insns(const struct pm_event *ev, size_t n)
{
	uint64_t insns = 0;

	for (size_t i = 0; i < n; i++)
		insns += ev[i].kind == PM_EV_INSN;
	return insns;
}

static enum pm_status begin_block(struct expand *x, struct expand_stream *st, const struct pm_event *ev,
				  struct pm_err *err)
{
	const struct pm_block *blk;

	if (!st->code || ev->id >= st->code->nblock)
		return pm_fail(err, 0, "block number %u is not in the code table (%zu blocks)", ev->id,
			       st->code ? st->code->nblock : 0);
	blk = st->code->block + ev->id;
	if (ev->value > blk->n || (uint64_t)blk->insn + blk->n > st->code->ninsn)
		return pm_fail(err, 0, "block %u executed %llu instructions but has %u", ev->id,
			       (unsigned long long)ev->value, blk->n);
	if (st->branch)
		branch(x, st, true, ev->addr);
	st->block = ev->id;
	st->insn = blk->insn;
	st->n = (uint32_t)ev->value;
	st->done = 0;
	st->branch = st->n && st->n == blk->n;
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

	if (b->code)
		st->code = b->code;
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
	room(x, b->n + 64);
	for (; ev < end; ev++) {
		switch (ev->kind) {
		case PM_EV_BLOCK:
			if (st->block != PM_NONE) {
				insns += st->n - st->done;
				insns_to(x, st, st->n);
			}
			if (begin_block(x, st, ev, err) != PM_OK)
				return PM_ERR;
			break;
		case PM_EV_READ: case PM_EV_WRITE: case PM_EV_MODIFY:
		case PM_EV_REP_ITER: case PM_EV_REP_END:
		case PM_EV_REG_READ: case PM_EV_REG_WRITE:
			if (st->block == PM_NONE || ev->kind >= PM_EV_REG_READ) {
				room(x, 1);
				x->ev[x->n++] = *ev;
				break;
			}
			if (PM_SLOT_OF(ev) != PM_NONE) {
				/* a reference of an instruction that did not complete still happened */
				uint32_t upto = PM_SLOT_OF(ev) < st->n ? PM_SLOT_OF(ev) + 1 : st->n;

				if (upto > st->done) {
					insns += upto - st->done;
					insns_to(x, st, upto);
				}
			}
			room(x, 1);
			x->ev[x->n] = *ev;
			if (PM_SLOT_OF(ev) != PM_NONE) {
				if (PM_SLOT_OF(ev) >= st->code->block[st->block].n)
					return pm_fail(err, 0, "a reference of instruction %u of block %u, "
						       "which has %u", PM_SLOT_OF(ev), st->block,
						       st->code->block[st->block].n);
				x->ev[x->n].id = st->insn + PM_SLOT_OF(ev);
			}
			x->n++;
			break;
		default:
			if (st->block != PM_NONE) {
				insns += st->n - st->done;
				insns_to(x, st, st->n);
			}
			if (st->branch && (ev->kind == PM_EV_SIGNAL || ev->kind == PM_EV_INTERRUPT ||
					   ev->kind == PM_EV_INSN))
				branch(x, st, true, ev->addr);
			else if (st->branch && ev->kind == PM_EV_EXIT)
				branch(x, st, false, 0);
			if (ev->kind == PM_EV_EXEC || ev->kind == PM_EV_EXIT || ev->kind == PM_EV_SIGRETURN ||
			    ev->kind == PM_EV_LOST || ev->kind == PM_EV_INSN) {
				/* whatever comes next is no successor of what was */
				st->branch = false;
				st->block = PM_NONE;
			}
			insns += ev->kind == PM_EV_INSN;
			room(x, 1);
			x->ev[x->n++] = *ev;
			break;
		}
		if (x->n >= 2 * PM_BATCH_EVENTS && emit(x, b, st, insns, to, err) != PM_OK)
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
		insns = st->insns + (st->n - st->done);
		insns_to(x, st, st->n);
		if (st->branch)
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
