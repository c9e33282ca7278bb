/* SPDX-License-Identifier: MIT */
/* live.c - what of the program's state is dead where, and so where counting costs least
 *
 * LIVENESS RULES
 * (1) Everything is live wherever control may go to code that this unit does not see.
 * (2) An instruction that may fault reads all general registers: a signal handler may look at
 *     them, or resume at a place (a null check's slow path, an unwinder's landing pad) where a
 *     register matters that is overwritten on the normal path. Flags are not held to this: no
 *     compiler carries flags from a faulting instruction to a handler's continuation.
 * (3) In generated code, which is patched block by block, nothing is known about the next block. */
#include <string.h>

#include "collect/translate/internal.h"

static uint32_t reads(const struct x86_insn *x)
{
	uint32_t r = x->read | LV_FLAG(x->fread);

	switch (x->kind) {
	case X86_PLAIN:
		return x->prop & X86_MAY_FAULT ? r | LV_GPRS : r;	/* (2) */
	case X86_JMP:
	case X86_JCC:
	case X86_JCX:
		return r;
	case X86_CALL:
		return r | LV_GPRS;					/* (2): it pushes */
	default:
		return LV_ALL;						/* (1) */
	}
}

static uint32_t kills(const struct x86_insn *x)
{
	return x->kind == X86_PLAIN ? x->kill | LV_FLAG(x->fkill) : 0;
}

static uint32_t live_at(const struct scratch *s, const struct target *t)
{
	if (t->where == TO_NOWHERE)
		return 0;
	if (t->where == TO_UNIT && !s->in->patchable)			/* (3) */
		return s->block[t->block].live_in;
	return s->in->patchable ? LV_ALL : t->live;
}

static uint32_t flow_out(const struct scratch *s, const struct block *b)
{
	switch (b->kind) {
	case X86_PLAIN:
	case X86_JMP:
	case X86_JCC:
	case X86_JCX:
	case X86_CALL:
		return live_at(s, &b->to) | live_at(s, &b->fall);
	case X86_SYSCALL:
		return LV_ALL;
	default:
		return LV_ALL;
	}
}

void find_liveness(struct scratch *s)
{
	bool changed;

	for (size_t k = 0; k < s->nblock; k++) {
		struct block *b = &s->block[k];
		uint32_t use = 0, def = 0;

		for (uint32_t i = b->n; i-- > 0; ) {
			const struct x86_insn *x = &s->insn[b->first + i].x;
			uint32_t r = reads(x), w = kills(x);

			use = (use & ~w) | r;
			def = (def & ~r) | w;
		}
		if (b->kind == X86_UNKNOWN && !b->n)
			use = LV_ALL;
		b->use = use;
		b->def = def;
		b->live_in = use;
	}
	do {
		changed = false;
		for (size_t k = s->nblock; k-- > 0; ) {
			struct block *b = &s->block[s->order[k].block];
			uint32_t live;

			b->live_out = flow_out(s, b);
			live = b->use | (b->live_out & ~b->def);
			if (live != b->live_in) {
				b->live_in = live;
				changed = true;
			}
		}
	} while (changed);
}

void live_course(const struct scratch *s, const struct block *b, uint32_t live[MAX_BLOCK_INSNS + 1])
{
	uint32_t l = b->live_out;

	for (uint32_t i = b->n; ; i--) {
		live[i] = l;
		if (!i)
			break;
		l = (l & ~kills(&s->insn[b->first + i - 1].x)) | reads(&s->insn[b->first + i - 1].x);
	}
	if (b->kind == X86_UNKNOWN)
		live[b->n] = LV_ALL;
}

static void choose(struct scratch *s, struct block *b)
{
	uint32_t live[MAX_BLOCK_INSNS + 1], last = last_place(b);
	const unsigned stolen = xl_stolen_register(s->in->i386);
	uint32_t gprs = xl_stolen(s->in) ? s->gprs & ~(1u << stolen) : s->gprs;

	live_course(s, b, live);
	b->count_at = 0;
	for (uint32_t i = 0; i <= last; i++)
		if (!(live[i] & LV_INC)) {
			b->count_at = i;
			b->count_how = COUNT_INC;
			return;
		}
	/* where the program's own stolen register is lent, another register is taken: in front of all that */
	for (uint32_t i = 0; i < b->n && gprs != s->gprs; i++)
		if ((s->insn[b->first + i].x.read | s->insn[b->first + i].x.write) >> stolen & 1)
			last = 0;
	for (uint32_t i = 0; i <= last; i++) {
		uint32_t dead = gprs & ~live[i];

		if (dead) {
			b->count_at = i;
			b->count_how = COUNT_DEAD_GPR;
			b->count_gpr = __builtin_ctz(dead);
			return;
		}
	}
	b->count_how = COUNT_SPILL;
}

void choose_counters(struct scratch *s)
{
	for (size_t k = 0; k < s->nblock; k++)
		choose(s, &s->block[k]);
}
