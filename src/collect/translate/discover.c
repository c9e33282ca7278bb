/* SPDX-License-Identifier: MIT */
/* discover.c - find the blocks of a unit
 *
 * Runs of instructions are decoded first, from the entry and from every address that a direct
 * transfer names; an address inside a run that is already there only marks a leader. Blocks are cut
 * from the runs afterwards, so that splitting one costs nothing.
 *
 * Bounded whatever the bytes are: MAX_UNIT_INSNS instructions, max_blocks blocks. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/translate/translate_internal.h"

/* ---- pc -> insn ----------------------------------------------------------------------------- */
static uint32_t slot_of(const struct scratch *s, uint64_t pc)
{
	uint32_t i = (uint32_t)pc & s->slot_mask;	/* those of neighbours lie side by side */

	while (s->slot[i].gen == s->gen && s->slot[i].pc != pc)
		i = (i + 1) & s->slot_mask;
	return i;
}

static uint32_t find_insn(const struct scratch *s, uint64_t pc)
{
	const struct xl_slot *e = &s->slot[slot_of(s, pc)];

	return e->gen == s->gen ? e->insn : XL_NONE;
}

static void grow_slots(struct scratch *s)
{
	struct xl_slot *old = s->slot;
	uint32_t n = old ? s->slot_mask + 1 : 0, gen = s->gen;

	s->slot_mask = n ? 2 * n - 1 : 4095;
	s->slot = pm_alloc((s->slot_mask + 1) * sizeof *s->slot);
	s->gen = 1;
	for (uint32_t i = 0; i < n; i++)
		if (old[i].gen == gen) {
			struct xl_slot *e = &s->slot[slot_of(s, old[i].pc)];

			*e = (struct xl_slot){ old[i].pc, old[i].insn, 1 };
		}
	free(old);
}

static void add_slot(struct scratch *s, uint64_t pc, uint32_t insn)
{
	if (2 * ++s->nslot > s->slot_mask)
		grow_slots(s);
	s->slot[slot_of(s, pc)] = (struct xl_slot){ pc, insn, s->gen };
}

/* ---- bytes ---------------------------------------------------------------------------------- */
/* Bytes at @pc: all that lie together, or at least X86_MAX_LEN where that many can be read. */
static const uint8_t *bytes_at(struct scratch *s, uint64_t pc, size_t *avail)
{
	const struct xl_input *in = s->in;
	const uint8_t *p;
	uint8_t *odd;
	size_t n, got;

	if (pc < in->lo || pc >= in->hi) {
		*avail = 0;
		return NULL;
	}
	if (s->win && pc - s->win_pc < s->win_n && s->win_n - (pc - s->win_pc) >= X86_MAX_LEN) {
		*avail = s->win_n - (pc - s->win_pc);
		return s->win + (pc - s->win_pc);
	}
	n = 0;
	p = in->read(in->ctx, pc, &n);
	if (!p || !n) {
		*avail = 0;
		return NULL;
	}
	if (n > in->hi - pc)
		n = in->hi - pc;
	s->win = p;
	s->win_pc = pc;
	s->win_n = n;
	*avail = n;
	if (n >= X86_MAX_LEN || n == in->hi - pc)
		return p;

	/* The rest may be readable elsewhere. */
	if (s->nodd == s->cap_odd)
		return p;
	odd = s->odd[s->nodd];
	memcpy(odd, p, n);
	while (n < X86_MAX_LEN && pc + n < in->hi) {
		got = 0;
		p = in->read(in->ctx, pc + n, &got);
		if (!p || !got)
			break;
		if (got > in->hi - pc - n)
			got = in->hi - pc - n;
		if (got > X86_MAX_LEN - n)
			got = X86_MAX_LEN - n;
		memcpy(odd + n, p, got);
		n += got;
	}
	s->nodd++;
	s->win = NULL;
	*avail = n;
	return odd;
}

/* ---- runs ----------------------------------------------------------------------------------- */
static void push(struct scratch *s, uint64_t pc, uint8_t mark)
{
	struct xl_pending *p;

	pm_grow(s->pending, s->npending, s->cap_pending);
	p = &s->pending[s->npending++];
	p->pc = pc;
	p->mark = mark;
}

static bool inside(const struct scratch *s, uint64_t pc)
{
	return pc >= s->in->lo && pc < s->in->hi;
}

static bool is_known(const struct scratch *s, uint64_t pc)
{
	struct xl_known k;

	return s->in->known && s->in->known(s->in->ctx, pc, &k);
}

static bool is_function(const struct scratch *s, uint64_t pc)
{
	return s->in->function && pc != s->in->entry && s->in->function(s->in->ctx, pc);
}

static bool is_cut(const struct scratch *s, uint64_t pc)
{
	for (uint32_t k = 0; k < s->ncut; k++)
		if (s->cut[k] == pc)
			return true;
	return false;
}

/* Does control leave, or may it leave, the straight line at @kind? */
static bool ends_block(uint8_t kind)
{
	return kind != X86_PLAIN;
}

/* Can the copy, wherever it ends up in the unit, address what this instruction addresses? */
static bool reaches(const struct scratch *s, const struct insn *i)
{
	return xl_near(s->in, rip_operand(i));
}

static uint64_t target_of(const struct scratch *s, const struct insn *i)
{
	uint64_t to = x86_target(&i->x, i->p, i->pc);

	return s->in->i386 ? (uint32_t)to : to;
}

/* 32-BIT SYSTEM CALLS are int $0x80, or the vDSO's sysenter or syscall: from those the kernel comes
 * back behind the int $0x80 that follows them there, wherever they were executed. */
static bool is_fast_call(const struct insn *i)
{
	return i->p[i->x.op] != 0xcd;
}

static void settle_i386(const struct scratch *s, struct insn *i, size_t avail)
{
	const uint32_t ebp = 1u << xl_cursor_register(true), used = i->x.read | i->x.write;

	/* pusha, popa: no register is left for the cursor; and nobody jumps through [bp + si] */
	if (xl_has_cursor(s->in) && used & ebp && (!(cursor_registers(s) & ~used) ||
					       (i->x.prop & X86_ADDR && ends_block(i->x.kind))))
		i->x.kind = X86_STEP;
	else if (i->x.kind == X86_INT80)
		i->x.kind = X86_SYSCALL;
	else if (i->x.kind == X86_SYSCALL && (avail < i->x.len + 2u ||
						memcmp(i->p + i->x.len, "\xcd\x80", 2)))
		i->x.kind = X86_STEP;
}

uint64_t behind_call(const struct scratch *s, const struct insn *i)
{
	return i->pc + i->x.len + (s->in->i386 && is_fast_call(i) ? 2 : 0);
}

/* jmp [rip + slot]: what procedure linkage tables are made of */
static struct xl_target likely_target(struct scratch *s, const struct insn *i)
{
	const struct xl_target nowhere = { .where = TO_NOWHERE };
	struct xl_target t;
	uint64_t to;

	if (!s->in->likely || !s->in->abi_flags || !(i->x.prop & X86_RIP) ||
	    i->x.prop & (X86_TLS | X86_ADDR) || i->far)
		return nowhere;
	to = s->in->likely(s->in->ctx, rip_operand(i));
	if (!to || !inside(s, to))
		return nowhere;
	t = resolve(s, to);
	return t.where == TO_UNIT || t.reads_flags ? nowhere : t;
}

/* STUBS. In a profile, and where a tree grows, a unit has copies of those jumps of procedure
 * linkage tables that it calls, if they are likely to lead to a function of the same file. How
 * often such a copy is executed follows from the calls, so nobody need go through it: a call's tail
 * itself looks where the pointer leads to. */
static bool is_stub(struct scratch *s, uint64_t pc)
{
	struct insn i = { .pc = pc };
	size_t avail;

	if ((s->in->kind != XL_PROFILE && s->in->kind != XL_TREE) || !s->in->likely ||
	    s->in->count_all)
		return false;
	i.p = bytes_at(s, pc, &avail);
	if (avail >= X86_MAX_LEN && !memcmp(i.p, "\xf3\x0f\x1e\xfa", 4)) {	/* endbr64 */
		i.pc += 4;
		i.p = bytes_at(s, i.pc, &avail);
	}
	return avail && (*i.p == 0xff || *i.p == 0xf2) && x86_decode(s->dec, i.p, avail, &i.x) &&
		i.x.kind == X86_JMP_IND && likely_target(s, &i).where != TO_NOWHERE;
}

static void push_target(struct scratch *s, uint64_t pc)
{
	push(s, pc, MARK_TARGET);
}

static void follow(struct scratch *s, const struct insn *i)
{
	uint64_t next = i->pc + i->x.len;

	switch (i->x.kind) {
	case X86_JMP_IND:
		find_targets(s, (size_t)(i - s->insn), push_target);
		break;
	case X86_JMP:
		push(s, target_of(s, i), 0);
		break;
	case X86_JCC:
	case X86_JCX:
	case X86_XBEGIN:
		push(s, target_of(s, i), 0);
		push(s, next, 0);
		break;
	case X86_CALL:
		if (is_stub(s, target_of(s, i)))
			push(s, target_of(s, i), MARK_STUB);
		/* fall through */
	case X86_CALL_IND:
		push(s, next, MARK_RETURN);
		break;
	case X86_SYSCALL:
		push(s, behind_call(s, i), 0);
		break;
	case X86_INT80:
		push(s, next, MARK_RESUMED);
		break;
	case X86_STEP:
		if (i->x.class == 0)		/* else it is a far transfer */
			push(s, next, MARK_RESUMED);
		break;
	}
}

static void decode_run(struct scratch *s, uint64_t pc, uint8_t mark, size_t limit)
{
	const uint64_t start = pc;
	uint32_t found, straight = 0;
	const uint8_t *p;
	struct insn *i;
	size_t avail;
	bool first = true, known;
	uint64_t end = UINT64_MAX;	/* of the function */

	if (s->in->kind == XL_TREE && inside(s, pc)) {
		struct xl_segment g;

		tree_segment(s, pc, &g);
		end = g.hi;
	}
	while (s->ninsn < limit) {
		if (!first) {
			found = find_insn(s, pc);
			if (found != XL_NONE) {
				s->insn[found].mark |= MARK_LEADER;
				return;
			}
			if (!inside(s, pc) || is_known(s, pc))
				return;
			if (pc >= end) {
				push(s, pc, 0);
				return;
			}
			if ((!(pc & 15) && is_function(s, pc)) || is_cut(s, pc))
				return;
		}
		p = bytes_at(s, pc, &avail);
		if (!avail)
			return;
		pm_grow(s->insn, s->ninsn, s->cap_insn);
		i = &s->insn[s->ninsn];
		known = x86_decode(s->dec, p, avail, &i->x);
		if (!known) {
			/* Data behind a call that does not return, most likely: nothing is lost
			 * if it is translated when control really gets there. */
			if (!first || start != s->in->entry)
				return;
			i->x = (struct x86_insn){ .kind = X86_UNKNOWN };
		}
		i->pc = pc;
		i->p = p;
		i->block = XL_NONE;
		i->far = false;
		i->mark = first ? MARK_RUN | MARK_LEADER | mark : 0;
		add_slot(s, pc, s->ninsn++);
		first = false;
		if (s->in->i386)
			settle_i386(s, i, avail);
		else if (i->x.prop & X86_RIP && i->x.kind != X86_STEP && !reaches(s, i))
			s->nfar += i->far = true;
		if (s->in->logged && known && x86_is_odd(&i->x, p))
			i->x.kind = X86_STEP;
		if (ends_block(i->x.kind)) {
			follow(s, i);
			return;
		}
		pc += i->x.len;
		if (++straight == s->max_insns) {
			straight = 0;
			push(s, pc, 0);
			return;
		}
	}
}

/* May the instruction write to memory? What is often met and certainly does not is told apart. */
static bool may_write(const struct insn *i)
{
	const uint8_t op = i->p[i->x.op];
	const bool two = i->x.op && i->p[i->x.op - 1] == 0x0f;

	if (!i->x.nref)
		return false;
	if (i->p[0] == 0xc4 || i->p[0] == 0xc5 || i->p[0] == 0x62)
		return true;
	if (two)
		return !(op == 0x10 || op == 0x28 || (op & 0xf0) == 0x40 ||
			 (op >= 0x51 && op <= 0x6f) || op == 0xaf || op == 0xb6 || op == 0xb7 ||
			 op == 0xbe || op == 0xbf);
	if (op < 0x40)
		return !((op & 6) == 2 || op >= 0x38);
	return !((op >= 0x58 && op <= 0x5f) || op == 0x63 || op == 0x69 || op == 0x6b ||
		 op == 0x84 || op == 0x85 || op == 0x8a || op == 0x8b);
}

/* ---- blocks --------------------------------------------------------------------------------- */
static void cut_blocks(struct scratch *s)
{
	size_t k = 0;

	while (k < s->ninsn && s->nblock < s->max_blocks) {
		struct insn *first = &s->insn[k], *i = first;
		struct block *b;
		uint32_t n = 0, size = 0;

		pm_grow(s->block, s->nblock, s->cap_block);
		b = &s->block[s->nblock];
		memset(b, 0, sizeof *b);
		for (;;) {
			if (s->in->check_bytes && n && size + i->x.len > MAX_CHECK_BYTES)
				break;
			n++;
			size += i->x.len;
			k++;
			if (ends_block(i->x.kind)) {
				b->kind = i->x.kind;
				break;
			}
			if (n == s->max_insns || k == s->ninsn ||
			    (s->in->kind == XL_EXEC && x86_has_lanes(&i->x, i->p)) ||
			    (s->in->writable && may_write(i)))
				break;
			i = &s->insn[k];
			if (i->mark & (MARK_RUN | MARK_LEADER))
				break;
		}
		first->block = s->nblock++;
		b->first = first - s->insn;
		b->n = n - (b->kind == X86_UNKNOWN);
		b->pc = b->place = first->pc;
		if (first->mark & MARK_STUB)
			b->place = UINT64_MAX;		/* behind all others, wherever it is */
		b->end = first->pc + size;
		b->mark = first->mark;
	}
}

struct xl_target resolve(struct scratch *s, uint64_t pc)
{
	struct xl_target t = { .pc = pc, .live = LV_ALL, .where = TO_LINK };
	uint32_t i = find_insn(s, pc);
	struct xl_known k = { 0 };

	if (i != XL_NONE && s->insn[i].block != XL_NONE) {
		t.where = TO_UNIT;
		t.block = s->insn[i].block;
	} else if (inside(s, pc) && s->in->known && s->in->known(s->in->ctx, pc, &k)) {
		t.where = k.code ? TO_KNOWN : TO_LINK;
		t.code = k.code;
		t.counting = k.counting;
		t.known = true;
		t.reads_flags = k.reads_flags;
		t.live = (k.live & LV_GPRS) | (k.live & XL_LIVE_FLAGS ? LV_FLAGS : 0);
	}
	return t;
}

/* Straight on, as far as it takes. */
bool reads_flags_at(struct scratch *s, uint64_t pc, bool unreadable)
{
	uint8_t set = 0;

	for (unsigned left = 256; left && set != X86_ALL_FLAGS; left--) {
		struct insn i = { .pc = pc };
		size_t avail;

		i.p = bytes_at(s, pc, &avail);
		if (!avail)
			return unreadable;
		if (!x86_decode(s->dec, i.p, avail, &i.x))
			return false;
		if (reads_flags(&i.x) & ~set)
			return true;
		set |= sets_flags(&i.x);
		pc += i.x.len;
		if (i.x.kind == X86_JMP)
			pc = target_of(s, &i);
		else if (i.x.kind != X86_PLAIN && i.x.kind != X86_JCX && i.x.kind != X86_SYSCALL &&
			 i.x.kind != X86_INT80 && i.x.kind != X86_STEP)
			return false;
	}
	return false;
}

static int by_pc(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->pc != y->pc)
		return x->pc < y->pc ? -1 : 1;
	return x->block < y->block ? -1 : x->block > y->block;
}

static void lay_out(struct scratch *s)
{
	size_t n = s->nblock;
	bool sorted = true;

	if (s->cap_order < n) {
		s->cap_order = 2 * n;
		s->order = pm_realloc(s->order, s->cap_order * sizeof *s->order);
	}
	for (size_t k = 0; k < n; k++) {
		s->order[k] = (struct order){ s->block[k].place, k };
		if (k && s->order[k].pc < s->order[k - 1].pc)
			sorted = false;
	}
	if (!sorted)
		qsort(s->order, n, sizeof *s->order, by_pc);
	for (size_t k = 0; k < n; k++)
		s->block[s->order[k].block].order = k;
}

static void connect(struct scratch *s)
{
	for (size_t k = 0; k < s->nblock; k++) {
		struct block *b = &s->block[k];
		const struct insn *last = b->n ? &s->insn[b->first + b->n - 1] : NULL;

		switch (b->kind) {
		case X86_JCC:
		case X86_JCX:
		case X86_XBEGIN:
			b->fall = resolve(s, b->end);
			/* fall through */
		case X86_JMP:
		case X86_CALL:
			b->to = resolve(s, target_of(s, last));
			break;
		case X86_JMP_IND:
			b->likely = likely_target(s, last);
			break;
		case X86_SYSCALL:
			b->fall = resolve(s, behind_call(s, last));
			break;
		case X86_PLAIN:
			b->fall = resolve(s, b->end);
			break;
		}
	}
}

/* SMALL LOOPS. A counter in a loop of one block costs the latency of a load behind a store, once
 * per iteration: more than the loop itself. Two copies of the block, one after the other, halve it,
 * and save every other taken branch. Each copy is a block of its own, with its own counter.
 *
 * In a trace that goes for loops of several blocks, too (but for instrumented executables, which
 * are to be small): two iterations make one record, and what the second addresses with, the first
 * has often recorded. Where a loop is entered in its middle as well, it goes on in copies from
 * there, and who enters it there finds the original blocks. A replay that is traced leaves between
 * two iterations, too, for there is a safepoint: emit_iteration(). */
#define MAX_UNROLLED_INSNS	24
#define MAX_UNROLLED_BLOCKS 8

struct xl_loop {			/* each falls into the next, the last jumps to the first */
	uint32_t block[MAX_UNROLLED_BLOCKS], n;
};

static bool is_at(const struct xl_target *t, uint32_t block)
{
	return t->where == TO_UNIT && t->block == block;
}

static bool unrolls_many(const struct xl_input *in)
{
	return in->kind != XL_PROFILE && !in->count_records;
}

/* Does block @k, one of the @n original ones, begin a small loop with none inside? */
static bool find_loop(const struct scratch *s, uint32_t k, uint32_t n, struct xl_loop *l)
{
	uint32_t insns = 0;

	for (l->n = 0; l->n < MAX_UNROLLED_BLOCKS && k < n; ) {
		const struct block *b = &s->block[k];

		insns += b->n;
		l->block[l->n++] = k;
		if (insns > MAX_UNROLLED_INSNS)
			return false;
		if ((b->kind == X86_JCC || b->kind == X86_JMP) && is_at(&b->to, l->block[0]))
			return insns > 1 && (b->kind == X86_JCC ||
					     (l->n > 1 && !s->in->logged)) &&
			       (l->n == 1 || unrolls_many(s->in));
		for (uint32_t i = 1; i < l->n; i++)
			if (is_at(&b->to, l->block[i]))
				return false;
		if ((b->kind != X86_JCC && b->kind != X86_PLAIN) || b->fall.where != TO_UNIT)
			return false;
		k = b->fall.block;
	}
	return false;
}

/* Its blocks from number @from on once more, in the layout behind @place;
 * returns the first copy. */
static uint32_t copy_blocks(struct scratch *s, const struct xl_loop *l, uint32_t from,
			    uint64_t place)
{
	const uint32_t first = (uint32_t)s->nblock;

	for (uint32_t i = from; i < l->n; i++) {
		struct block *b;

		pm_grow(s->block, s->nblock, s->cap_block);
		b = &s->block[s->nblock++];
		*b = s->block[l->block[i]];
		b->mark = 0;
		b->place = place;
		if (i + 1 < l->n)
			b->fall.block = (uint32_t)s->nblock;
	}
	return first;
}

static void unroll_loops(struct scratch *s)
{
	const uint32_t n = (uint32_t)s->nblock;
	struct xl_loop l;

	if (s->in->patchable || s->in->check_bytes)
		return;
	if (s->in->logged && !unrolls_many(s->in))
		return;			/* each iteration counts a safepoint in memory anyway */
	if (unrolls_many(s->in))
		count_preds(s);
	for (uint32_t k = 0; k < n && s->nblock + 2 * MAX_UNROLLED_BLOCKS <= s->max_blocks; k++) {
		uint32_t own = 1, last, again;
		struct block *b;
		uint64_t place;

		if (!find_loop(s, k, n, &l))
			continue;
		while (own < l.n && s->preds[l.block[own]] == CONTINUES)
			own++;
		last = l.block[own - 1];
		place = s->block[last].place;
		if (own < l.n) {
			const uint32_t copy = copy_blocks(s, &l, own, place);

			s->block[last].fall.block = copy;
			last = (uint32_t)s->nblock - 1;
		}
		again = copy_blocks(s, &l, 0, place);
		b = &s->block[last];
		if (b->kind == X86_JMP) {
			b->to.block = again;
		} else {
			b->invert = true;
			b->to = b->fall;
			b->fall = (struct xl_target){ .pc = s->block[k].pc, .where = TO_UNIT,
						   .block = again };
		}
	}
}

/* Blocks that only lookups reach get their indirect entry in line, unless something falls into
 * them from above; then decide who falls into whom. */
static void join(struct scratch *s)
{
	for (size_t k = 0; k < s->nblock; k++) {
		struct block *b = &s->block[s->order[k].block];
		struct block *up = k ? &s->block[s->order[k - 1].block] : NULL;
		bool falls = up && up->fall.where == TO_UNIT && up->fall.block == s->order[k].block;

		b->begins = begins_function(s, b);
		b->entry_inline = b->mark & MARK_INDIRECT || b->begins ||
				  (s->order[k].block == 0 && !falls);
		if (up)
			up->next_adjacent = falls && !b->entry_inline &&
					    !tree_crosses(s, up, b->pc);
	}
}

bool discover(struct scratch *s)
{
	size_t limit = (size_t)s->max_blocks * s->max_insns;
	struct xl_pending p;

	if (limit > MAX_UNIT_INSNS)
		limit = MAX_UNIT_INSNS;
	s->ninsn = s->nblock = s->npending = s->nodd = 0;
	s->table_leaves = false;
	s->nslot = 0;
	s->nfar = 0;
	s->win = NULL;
	if (!s->slot || !++s->gen) {
		free(s->slot);
		s->slot = NULL;
		grow_slots(s);
	}
	if (!s->odd) {
		s->cap_odd = 64;
		s->odd = pm_alloc(s->cap_odd * sizeof *s->odd);
	}
	decode_run(s, s->in->entry, 0, limit);
	while (s->npending && s->ninsn < limit) {
		uint32_t i;

		p = s->pending[--s->npending];
		if (!inside(s, p.pc))
			continue;
		i = find_insn(s, p.pc);
		if (i != XL_NONE) {
			s->insn[i].mark |= MARK_LEADER | p.mark;
			continue;
		}
		if ((!(p.mark & MARK_STUB) && (is_known(s, p.pc) || is_function(s, p.pc))) ||
		    is_cut(s, p.pc)) {
			s->table_leaves |= p.mark & MARK_TARGET;
			continue;
		}
		decode_run(s, p.pc, p.mark, limit);
	}
	/* Transfers that were not followed may still name places inside a run. */
	while (s->npending) {
		uint32_t i;

		p = s->pending[--s->npending];
		i = find_insn(s, p.pc);
		if (i != XL_NONE)
			s->insn[i].mark |= MARK_LEADER | p.mark;
		else
			s->table_leaves |= p.mark & MARK_TARGET;
	}
	if (!s->ninsn)
		return false;
	cut_blocks(s);
	connect(s);
	unroll_loops(s);
	lay_out(s);
	join(s);
	return true;
}
