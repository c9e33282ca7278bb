/* SPDX-License-Identifier: MIT */
#include "collect/machine/idle.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "isa/mips/mips.h"

#define LOOP_MAX	32		/* instructions of an idle loop at most */
#define FNV		0x100000001b3ULL

struct idle {
	struct idle_config cfg;
	struct idle_counts n;
	uint64_t target, insns;		/* head of the loop that is watched; instructions of this
					 * iteration */
	uint64_t hash, last_hash;
	uint64_t written, early;	/* registers written; read before being written */
	bool pure, watching;
	struct pm_event *out;		/* events not yet passed on */
	size_t nout, cap, mark;		/* mark: where the iteration under way begins */
	struct pm_event space;		/* the last address-space switch of the warm-up */
	uint64_t passed;		/* instructions passed on */
	uint64_t warm;			/* instructions left out so far */
	const struct pm_stream *stream;
	const struct pm_code *code;
	const struct pm_rare *rare;	/* of the batch under way */
	size_t nrare;
};

static void instruction(struct idle *s, const struct pm_batch *b, const struct pm_event *e)
{
	uint64_t reads, writes;
	uint32_t w = 0;

	s->n.total++;
	if (!s->watching)
		return;
	if (++s->insns > LOOP_MAX || e->id == PM_NONE) {
		s->watching = false;
		return;
	}
	memcpy(&w, b->code->insn[e->id].bytes, 4);
	w = s->cfg.big_endian ? be32toh(w) : le32toh(w);
	if (!mips_gpr_use(mips_decode(w, MIPS_ISA_R4400), w, &reads, &writes)) {
		s->pure = false;
		return;
	}
	s->early |= reads & ~s->written;
	s->written |= writes;
	s->hash = (s->hash ^ e->addr) * FNV;
}

static void begin_iteration(struct idle *s)
{
	s->insns = s->written = s->early = 0;
	s->pure = true;
	s->hash = 0xcbf29ce484222325ULL;
	s->mark = s->nout;
}

/* Control came to the head again: one iteration is complete. */
static void end_iteration(struct idle *s)
{
	if (s->pure && !(s->early & s->written) && s->hash == s->last_hash) {
		s->n.idle += s->insns;
		if (!s->cfg.keep)
			s->nout = s->mark;
	}
	s->last_hash = s->pure ? s->hash : 0;
	begin_iteration(s);
}

static void watch(struct idle *s, uint64_t target)
{
	s->target = target;
	s->last_hash = 0;
	s->watching = true;
	begin_iteration(s);
	s->pure = false;		/* of the iteration that leads here only the slot is seen */
}

static void look(struct idle *s, const struct pm_batch *b, const struct pm_event *e)
{
	switch (e->kind) {
	case PM_EV_INSN:
		/* the jump's delay slot belongs to the iteration: it ends when the loop's head
		 * comes */
		if (s->watching && e->addr == s->target && s->insns)
			end_iteration(s);
		instruction(s, b, e);
		break;
	case PM_EV_READ:
		s->hash = (s->hash ^ e->addr ^ e->value << 20) * FNV;
		break;
	case PM_EV_WRITE: case PM_EV_INTERRUPT: case PM_EV_SWITCH: case PM_EV_KERNEL:
		s->watching = false;
		break;
	case PM_EV_BRANCH:
		if (e->flags & PM_BR_TAKEN && e->value <= e->addr &&
		    e->addr - e->value < 4 * LOOP_MAX && !(s->watching && s->target == e->value))
			watch(s, e->value);
		break;
	}
}

/* The warm-up's part of the first @n events: how many of them are left out. */
static size_t warm_up(struct idle *s, size_t n)
{
	size_t i = 0;

	for (; i < n; i++) {
		if (s->out[i].kind == PM_EV_INSN && s->warm++ == s->cfg.warmup)
			break;
		if (s->out[i].kind == PM_EV_SWITCH)
			s->space = s->out[i];
	}
	if (i < n && i && s->space.kind)
		s->out[--i] = s->space;
	return i;
}

/* The first @n events go on. */
static enum pm_status pass(struct idle *s, size_t n, const struct pm_emit *emit, struct pm_err *err)
{
	struct pm_batch b = { .stream = s->stream, .code = s->code, .first_insn = s->passed,
			      .rare = s->rare, .nrare = s->nrare };
	size_t skip = s->warm <= s->cfg.warmup && s->cfg.warmup ? warm_up(s, n) : 0;
	enum pm_status st = PM_OK;

	b.ev = s->out + skip;
	b.n = n - skip;
	for (size_t i = 0; i < b.n; i++)
		s->passed += b.ev[i].kind == PM_EV_INSN;
	if (b.n)
		st = emit->batch(emit->to, &b, err);
	s->nout -= n;
	memmove(s->out, s->out + n, s->nout * sizeof *s->out);
	s->mark = s->mark > n ? s->mark - n : 0;
	return st;
}

static enum pm_status consume(void *self, const struct pm_batch *b, const struct pm_emit *emit,
			      struct pm_err *err)
{
	struct idle *s = self;

	s->stream = b->stream;
	s->code = b->code;
	/* what is held back of earlier batches has none of these: they end watching */
	s->rare = b->rare;
	s->nrare = b->nrare;
	if (s->cap < s->nout + b->n) {
		s->cap = s->nout + b->n;
		s->out = pm_realloc(s->out, s->cap * sizeof *s->out);
	}
	for (size_t i = 0; i < b->n; i++) {
		look(s, b, &b->ev[i]);
		s->out[s->nout++] = b->ev[i];
	}
	/* code tables grow behind our back, but their indices stay: held-back events keep their
	 * meaning */
	return pass(s, s->watching && !s->cfg.keep ? s->mark : s->nout, emit, err);
}

static enum pm_status finish(void *self, const struct pm_emit *emit, struct pm_err *err)
{
	struct idle *s = self;

	return s->nout ? pass(s, s->nout, emit, err) : PM_OK;
}

static void destroy(void *self)
{
	struct idle *s = self;

	free(s->out);
	free(s);
}

const struct pm_transform_ops idle_ops = {
	.name = "idle",
	.needs = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS | PM_HAS_VALUES | PM_HAS_BRANCHES,
	.consume = consume, .finish = finish, .destroy = destroy,
};

void *idle_new(const struct idle_config *cfg)
{
	struct idle *s = pm_alloc(sizeof *s);

	s->cfg = *cfg;
	return s;
}

const struct idle_counts *idle_counts(const void *self)
{
	return &((const struct idle *)self)->n;
}
