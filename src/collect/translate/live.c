/* SPDX-License-Identifier: MIT */
/* live.c - what of the program's state is dead where, and so where counting costs least
 *
 * LIVENESS RULES
 * (1) Everything is live wherever control may go to code that this unit does not see.
 * (2) An instruction that may fault reads all general registers: a signal handler may look at
 *     them, or resume at a place (a null check's slow path, an unwinder's landing pad) where a
 *     register matters that is overwritten on the normal path. Flags are not held to this: no
 *     compiler carries flags from a faulting instruction to a handler's continuation.
 * (3) In generated code, which is patched block by block, nothing is known about the next block.
 * (4) With abi_flags no flag is live at a call, a return, or an indirect jump unless what a table
 *     leads to needs them (FLAGS in translate.h).
 * (5) At a safepoint a handler sees all general registers, and they are compared.
 * (6) With all_live somebody looks at the state where blocks end. */
#include <string.h>

#include "collect/translate/translate_internal.h"

static uint32_t reads(const struct scratch *s, const struct x86_insn *x)
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
		return flags_free(s, x->kind) ? LV_GPRS : LV_ALL;	/* (1), (4) */
	}
}

static uint32_t kills(const struct x86_insn *x)
{
	return x->kind == X86_PLAIN ? x->kill | LV_FLAG(x->fkill) : 0;
}

static uint32_t live_at(const struct scratch *s, const struct xl_target *t)
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
		return live_at(s, &b->to) | live_at(s, &b->fall) |
		       (jumps_back(s, b) || begins_iteration(s, b) ? LV_GPRS : 0);	/* (5) */
	case X86_CALL:
		return (live_at(s, &b->to) | live_at(s, &b->fall)) &
		       (s->in->abi_flags ? ~LV_FLAGS : ~0u);
	default:
		return flags_free(s, b->kind) ? LV_GPRS : LV_ALL;
	}
}

/* ---- whether flags pass through calls and returns -------------------------------------------- */
static bool goes_on(const struct block *b)
{
	switch (b->kind) {
	case X86_PLAIN:
	case X86_JMP:
	case X86_JCC:
	case X86_JCX:
	case X86_XBEGIN:
	case X86_SYSCALL:
	case X86_INT80:
	case X86_STEP:
		return true;
	default:
		return false;
	}
}

/* Where a block that goes on does so straight: behind what is executed in place, too. */
static struct xl_target straight(struct scratch *s, const struct block *b)
{
	return b->kind == X86_INT80 || b->kind == X86_STEP ? resolve(s, b->end) : b->fall;
}

static bool is_call(const struct block *b)
{
	return b->kind == X86_CALL || b->kind == X86_CALL_IND;
}

static uint8_t needed_at(const struct scratch *s, const struct xl_target *t)
{
	if (t->where == TO_UNIT)
		return s->block[t->block].flags_needed;
	return t->where != TO_NOWHERE && t->reads_flags ? X86_ALL_FLAGS : 0;
}

/* Does it read flags, what is outside of the unit at @t? Of generated code a unit sees a few pages:
 * what is called far away is a function like others; of what goes on there nothing is known. */
static bool wants_flags(struct scratch *s, const struct xl_target *t, bool called)
{
	if (t->where == TO_UNIT || t->where == TO_NOWHERE)
		return false;
	return t->reads_flags ||
	       (!t->known && reads_flags_at(s, t->pc, s->in->patchable && !called));
}

static bool make_stale(struct scratch *s, const struct xl_target *t, uint8_t flags)
{
	struct block *b;

	if (t->where != TO_UNIT)
		return false;
	b = &s->block[t->block];
	if (!(flags & ~b->flags_stale))
		return false;
	b->flags_stale |= flags;
	return true;
}

/* repe cmpsb, repne scasb: is rcx, as inline string comparisons have it, a constant? */
static bool certainly_runs(const struct insn *first, const struct insn *i)
{
	while (i-- > first)
		if (i->x.write >> 1 & 1)
			return i->x.len == 5 && i->p[0] == 0xb9 && memcmp(i->p + 1, "\0\0\0", 4);
	return false;
}

static bool restores_flags(const struct insn *i)
{
	return i->x.fwrite == X86_ALL_FLAGS && i->p[i->x.op] == 0x9d &&
	       !(i->x.op && i->p[i->x.op - 1] == 0x0f);
}

static void flags_of(const struct scratch *s, struct block *b)
{
	b->flags_read = b->kind == X86_UNKNOWN ? X86_ALL_FLAGS : 0;
	b->flags_set = b->flags_popped = b->popped_in = 0;
	for (uint32_t k = b->n; k-- > 0; ) {
		const struct insn *i = &s->insn[b->first + k];
		uint8_t set = sets_flags(&i->x);

		if (i->x.prop & X86_REP && i->x.fwrite && certainly_runs(&s->insn[b->first], i))
			set = i->x.fwrite;
		if (restores_flags(i))
			b->flags_popped |= X86_ALL_FLAGS & (uint8_t)~b->flags_set;
		b->flags_read = (uint8_t)((b->flags_read & ~set) | reads_flags(&i->x));
		b->flags_set |= set;
	}
	b->flags_needed = b->flags_read;
}

/* What calls and returns leave must not be needed where @call, a block that calls, goes to and
 * comes back to. */
static bool call_is_good(struct scratch *s, const struct block *call)
{
	struct xl_target back = resolve(s, call->end);

	if (needed_at(s, &back) || wants_flags(s, &back, false))
		return false;
	return call->kind == X86_CALL_IND ||
	       !(needed_at(s, &call->to) || wants_flags(s, &call->to, true));
}

/* What was popped reaches @t; true: and that is not in the unit. */
static bool popped_at(struct scratch *s, const struct xl_target *t, uint8_t flags, bool *changed)
{
	struct block *b;

	if (t->where != TO_UNIT)
		return t->where != TO_NOWHERE;
	b = &s->block[t->block];
	*changed |= (flags & ~b->popped_in) != 0;
	b->popped_in |= flags;
	return false;
}

/* Does the unit leave with flags that a popf has restored? Who does has been called where
 * they matter, as by a signal handler that makes a thread call a scheduler; or pretends to,
 * and returns there. */
static bool leaves_with_popped(struct scratch *s)
{
	bool any = false, changed;

	for (size_t k = 0; k < s->nblock; k++)
		any |= s->block[k].flags_popped != 0;
	if (!any)
		return false;
	do {
		changed = false;
		for (size_t k = 0; k < s->nblock; k++) {
			struct block *b = &s->block[s->order[k].block];
			const uint8_t out = (uint8_t)((b->popped_in & ~b->flags_set) |
						      b->flags_popped);
			struct xl_target next;

			if (!out || is_call(b) || b->kind == X86_STOP)
				continue;
			if (!goes_on(b))
				return true;
			next = straight(s, b);
			if (popped_at(s, &b->to, out, &changed) ||
			    popped_at(s, &next, out, &changed))
				return true;
		}
	} while (changed);
	return false;
}

static uint64_t first_popf(const struct scratch *s)
{
	uint32_t k = 0;

	while (!restores_flags(&s->insn[k]))
		k++;
	return s->insn[k].pc;
}

/* Where to stop before flags that may be stale flow out of @b: before the call that it is behind,
 * for what returns there has changed them already. */
static uint64_t before(const struct scratch *s, const struct block *b)
{
	for (size_t k = 0; k < s->nblock && b->mark & MARK_RETURN; k++)
		if (is_call(&s->block[k]) && s->block[k].end == b->pc)
			return s->insn[s->block[k].first + s->block[k].n - 1].pc;
	return b->mark & MARK_RETURN ? s->in->entry : b->pc;
}

/* flags_needed of all blocks. */
static void find_needs(struct scratch *s)
{
	bool changed;

	do {
		changed = false;
		for (size_t k = s->nblock; k-- > 0; ) {
			struct block *b = &s->block[s->order[k].block];
			const struct xl_target next = straight(s, b);
			const uint8_t out = !goes_on(b) ? 0 :
				needed_at(s, &b->to) | needed_at(s, &next);
			const uint8_t needed = (uint8_t)(b->flags_read | (out & ~b->flags_set));

			changed |= needed != b->flags_needed;
			b->flags_needed = needed;
		}
	} while (changed);
}

/* flags_stale of all blocks, if jumps through tables leave stale what they find and @table. */
static void find_stale(struct scratch *s, uint8_t table)
{
	bool changed;

	for (size_t k = 0; k < s->nblock; k++)
		s->block[k].flags_stale = s->block[k].mark & MARK_RETURN ? X86_ALL_FLAGS : 0;
	for (size_t k = 0; k < s->nblock; k++) {
		struct block *b = &s->block[k];

		if (b->kind == X86_CALL)
			make_stale(s, &b->to, X86_ALL_FLAGS);
		/* else who enters the unit is looked at; and what was executed in place sets the
		 * flags behind it */
		if ((!k || b->mark & MARK_RESUMED) && !b->flags_needed)
			b->flags_stale = X86_ALL_FLAGS;
	}
	do {
		changed = false;
		for (size_t k = 0; k < s->nblock; k++) {
			struct block *b = &s->block[s->order[k].block];
			uint8_t out;

			if (b->mark & MARK_TARGET && !b->flags_needed && table & ~b->flags_stale) {
				b->flags_stale |= table;
				changed = true;
			}
			out = b->flags_stale & (uint8_t)~b->flags_set;
			if (out && goes_on(b)) {
				const struct xl_target next = straight(s, b);

				changed |= make_stale(s, &b->to, out);
				changed |= make_stale(s, &next, out);
			}
			if (b->kind == X86_JMP_IND && !(b->mark & MARK_STUB) && out & ~table) {
				table |= out;
				changed = true;
			}
		}
	} while (changed);
	s->table_flags = !table;
}

/* The first block that stale flags reach, or leave for elsewhere, where they are
 * needed; NULL: none. */
static const struct block *needs_stale(struct scratch *s)
{
	for (size_t k = 0; k < s->nblock; k++) {
		const struct block *b = &s->block[k];
		const bool leaves = b->flags_stale & ~b->flags_set && goes_on(b);
		const struct xl_target next = leaves ? straight(s, b) : b->fall;

		if (b->flags_needed & b->flags_stale ||
		    (leaves && (wants_flags(s, &b->to, false) || wants_flags(s, &next, false))))
			return b;
	}
	return NULL;
}

bool keeps_abi(struct scratch *s, uint64_t *at)
{
	const struct block *bad;

	for (size_t k = 0; k < s->nblock; k++)
		flags_of(s, &s->block[k]);
	if (leaves_with_popped(s)) {
		*at = first_popf(s);
		return false;
	}
	find_needs(s);
	/* generated code is patched: who jumps to what is not known */
	s->jumps_free = !s->in->patchable && !s->table_leaves;
	for (size_t k = 0; k < s->nblock; k++) {
		const struct block *b = &s->block[k];

		if (is_call(b) && !call_is_good(s, b)) {
			*at = s->insn[b->first + b->n - 1].pc;
			return false;
		}
		s->jumps_free &= !(b->mark & MARK_TARGET && b->flags_needed);
	}
	if (s->jumps_free) {
		find_stale(s, X86_ALL_FLAGS);
		s->jumps_free = !needs_stale(s);
	}
	if (s->jumps_free)
		return true;
	find_stale(s, 0);
	bad = needs_stale(s);
	if (bad)
		*at = before(s, bad);
	return !bad;
}

void find_liveness(struct scratch *s)
{
	bool changed;

	for (size_t k = 0; k < s->nblock; k++) {
		struct block *b = &s->block[k];
		uint32_t use = 0, def = 0;

		for (uint32_t i = b->n; i-- > 0; ) {
			const struct x86_insn *x = &s->insn[b->first + i].x;
			uint32_t r = reads(s, x), w = kills(x);

			use = (use & ~w) | r;
			def = (def & ~r) | w;
		}
		if (b->kind == X86_UNKNOWN && !b->n)
			use = LV_ALL;
		b->use = use;
		b->def = def;
		b->live_in = b->live_out = s->in->all_live ? LV_ALL : use;
	}
	if (s->in->all_live)						/* (6) */
		return;
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
		l = (l & ~kills(&s->insn[b->first + i - 1].x)) |
			reads(s, &s->insn[b->first + i - 1].x);
	}
	if (b->kind == X86_UNKNOWN)
		live[b->n] = LV_ALL;
}

static void choose(struct scratch *s, struct block *b)
{
	uint32_t live[MAX_BLOCK_INSNS + 1], last = last_place(b);
	const unsigned cursor = xl_cursor_register(s->in->i386);
	uint32_t gprs = xl_has_cursor(s->in) ? s->gprs & ~(1u << cursor) : s->gprs;

	live_course(s, b, live);
	b->count_at = 0;
	for (uint32_t i = 0; i <= last; i++)
		if (!(live[i] & LV_INC)) {
			b->count_at = i;
			b->count_how = COUNT_INC;
			b->count_add = !(live[i] & LV_FLAGS);
			return;
		}
	/* where the cursor register is restored, another register is taken:
	 * in front of all that */
	for (uint32_t i = 0; i < b->n && gprs != s->gprs; i++)
		if ((s->insn[b->first + i].x.read | s->insn[b->first + i].x.write) >> cursor & 1)
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
