/* SPDX-License-Identifier: MIT */
/* lookup.c - where control goes on: the translation of an address, and the shadow */
#include "standalone.h"

/* Where block @k can be entered before instruction @n with the program's state; 0: nowhere. */
static u64 enter_block(struct rt_block *b, u32 i, u32 k, u32 n)
{
	const u32 id = rt_block_word(i, k);
	struct img_place m;

	if (!rt_place_before(i, k, n, &m))
		return 0;
	/* in a trace the rest of a block means nothing without its beginning */
	if (b->tracing) {
		if (!rt_image_has_record_of(b, id, n))
			return 0;
		rt_image_restore(b, id, n, m.flags >> 5 & 1, m.flags >> 4 & 1);
	}
	if (!(m.flags & 8))
		return TEXTS[i].code + m.code;
	*(u64 *)((uint8_t *)b + IMG_RESUME) = TEXTS[i].code + m.code;
	return (word)(m.tmp & 0x80 /* XL_RESTORED */ ? rt_image_again_restored : rt_image_again) +
	       32 * (m.tmp & 15);
}

/* A place in the middle of a block that can be entered with the program's state: where a fault
 * stopped it, or an indirect transfer goes that nobody expected. */
static u64 enter_inside(struct rt_block *b, u32 i, u32 off)
{
	u32 k = rt_first_block(i, off);

	for (u32 tries = 0; k-- && tries < 400; tries++) {
		const struct img_block *at = &rt_blocks(i)[k];
		const uint8_t *len = rt_lengths(i, at);
		u32 pc = at->pc, n = 0;
		u64 code;

		if (pc + 16 * 255 < off)
			break;
		if (pc + at->size <= off)
			continue;
		while (n < at->n && pc < off)
			pc += len[n++];
		if (pc != off || n == at->n)
			continue;
		code = enter_block(b, i, k, n);
		if (code)
			return code;
	}
	return 0;
}

/* Where signals have stopped blocks of generated code: their handlers come back. */
static struct stopped {
	u64 pc;
	u32 tid, text, block, insn;
} stopped[64];
static u32 nstopped;

void rt_note_stopped(const struct rt_block *b, u64 pc, u32 text, u32 block, u32 insn)
{
	stopped[nstopped++ % NR_OF(stopped)] = (struct stopped){ pc, b->tid, text, block, insn };
}

static u64 enter_stopped(struct rt_block *b, u64 pc)
{
	for (u32 n = 0; n < NR_OF(stopped); n++) {
		const struct stopped s = stopped[(nstopped - 1 - n) % NR_OF(stopped)];
		u64 code;

		if (s.pc != pc || s.tid != b->tid)
			continue;
		if (b->tracing && !s.insn &&
		    rt_image_has_record_of(b, rt_block_word(s.text, s.block), 0)) {
			rt_image_restore(b, rt_block_word(s.text, s.block), 0, 0, 0);
			return TEXTS[s.text].code + rt_blocks(s.text)[s.block].code;
		}
		code = s.insn ? enter_block(b, s.text, s.block, s.insn) : 0;
		if (code)
			return code;
	}
	return 0;
}

int rt_may_execute(u64 pc)
{
	uint8_t here;

	return rt_is_exec(pc, 1) || (MAN->exec_all && !rt_sys(NR_mincore, pc & ~4095ull, 1, &here));
}

u64 rt_ask_translator(struct rt_block *b, u64 pc, u32 known, u64 *to)
{
	struct rt_later found = { 0 };

	if (!rt_later_ask(b, pc, known, &found))
		rt_stop_at(pc);
	if (!found.entry)
		return 0;
	if (found.indirect)
		rt_image_shadow(pc, found.indirect);
	*to = found.entry;
	return 1;
}

/* ---- places that control may come to from anywhere ------------------------------------------- */
struct found_entry {
	const uint8_t *p, *end;
	u32 pc, code, indirect;
};

static void entries_begin(struct found_entry *e, u32 i, u32 off)
{
	const u32 *at = PTR(TEXTS[i].entries);
	const u32 chunk = off / IMG_CHUNK;

	*e = (struct found_entry){ .p = (const uint8_t *)at + at[chunk],
			     .end = (const uint8_t *)at + at[chunk + 1],
			     .pc = chunk * IMG_CHUNK };
}

static u32 uleb(const uint8_t **p)
{
	u32 v = 0, shift = 0;
	uint8_t byte;

	do {
		byte = *(*p)++;
		v |= (u32)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return v;
}

static int entries_next(struct found_entry *e)
{
	u32 v;

	if (e->p >= e->end)
		return 0;
	e->pc += uleb(&e->p);
	v = uleb(&e->p);
	e->code += v >> 1 ^ -(v & 1);
	v = *e->p++;
	e->indirect = v == IMG_NO_ENTRY ? uleb(&e->p) : e->code - v;
	return 1;
}

u64 rt_lookup(struct rt_block *b, u64 pc, int jumped)
{
	u32 i = rt_text_of(pc), off, k;
	struct found_entry e;
	u64 to;

	if (i == NO_TEXT) {
		if (!rt_may_execute(pc))
			return 0;
		to = enter_stopped(b, pc);
		if (to || rt_ask_translator(b, pc, 0, &to))
			return to;
		i = rt_text_of(pc);
	}
	off = (u32)(pc - TEXTS[i].lo);
	for (entries_begin(&e, i, off);
	     !rt_image_has_record(b) && entries_next(&e) && e.pc <= off; )
		if (e.pc == off)
			return TEXTS[i].code + e.code;
	k = rt_first_block(i, off);
	/* blocks at one address: the one to enter, and, where they continue others' records, those
	 * that only a handler's return can come back to */
	for (u32 j = k; b->tracing && j < TABLES(i)->nblock && rt_blocks(i)[j].pc == off; j++)
		if (rt_image_has_record_of(b, rt_block_word(i, j), 0)) {
			rt_image_restore(b, rt_block_word(i, j), 0, 0, 0);
			return TEXTS[i].code + rt_blocks(i)[j].code;
		}
	if (k < TABLES(i)->nblock && rt_blocks(i)[k].pc == off &&
	    rt_prev_block(i, k) == IMG_NO_BLOCK)
		return TEXTS[i].code + rt_blocks(i)[k].code;
	/* the rest of a block has no counter of its own */
	to = jumped && rt_later_available(b) ? 0 : enter_inside(b, i, off);
	if (!to && !rt_ask_translator(b, pc, 1, &to))
		rt_stop_at(pc);
	return to;
}

/* ---- the shadow: filled for a chunk of a text at a time, when control first comes there ------ */
void rt_shadow_fill(u32 i, u64 from, u64 to)
{
	const struct img_text *t = &TEXTS[i];
	struct found_entry e;

	to = to < t->hi - t->lo ? to : t->hi - t->lo;
	rt_image_shadow_room(t->lo + from, to - from);
	for (; from < to; from += IMG_CHUNK)
		for (entries_begin(&e, i, (u32)from); entries_next(&e); )
			rt_image_shadow(t->lo + e.pc, t->code + e.indirect);
}

void rt_shadow_fill_at(u64 pc)
{
	static u32 fills;
	const u32 i = rt_text_of(pc);
	u64 off, span;

	if (i == NO_TEXT)
		return;
	/* a program that only begins will not need much; in a long run faults cost more than what
	 * is never used */
	span = fills++ < 64 ? IMG_CHUNK : 16 * IMG_CHUNK;
	off = (pc - TEXTS[i].lo) & ~(span - 1);
	rt_shadow_fill(i, off, off + span);
}
