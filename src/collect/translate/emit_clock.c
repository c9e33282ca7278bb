/* SPDX-License-Identifier: MIT */
/* emit_clock.c - SAFEPOINTS of translate.h: where a program that is recorded or replayed leaves to
 * get a signal
 *
 * A jump back within the unit goes through what lies in front of its target's direct entry. Any
 * other passes its safepoint in the cold part. Where a loop takes turns there is no jump: what
 * counts lies between two of them. A return or an indirect jump passes one when it is
 * known where it goes.
 *
 * `dec` and `jz` do it where flags are free. Else rcx is in its slot meanwhile, and `jrcxz` looks;
 * what that reaches has to be near. A program that is recorded counts in the cursor register: a
 * small loop would have to wait for memory. 32-bit code has no register for that. */
#include <assert.h>

#include "base/mem.h"
#include "collect/translate/emit.h"

void find_loops(struct scratch *s)
{
	for (size_t k = 0; k < s->nblock; k++)
		s->block[k].loops = false;
	for (size_t k = 0; k < s->nblock && !s->in->patchable; k++) {
		const struct block *b = &s->block[k];

		if (jumps_back(s, b) && b->to.where == TO_UNIT)
			s->block[b->to.block].loops = true;
	}
}

bool safepoint_is_cold(const struct emit *e, const struct block *b)
{
	return jumps_back(e->s, b) && (b->to.where != TO_UNIT || e->in->patchable);
}

/* rcx, which is free, loses what the thread may still pass; where that is 0, to a rel8 that bind()
 * or go_back() will say. */
static uint8_t *count_down_kept(struct emit *e)
{
	if (xl_has_clock(e->in)) {
		asm_bytes(e, "\x4d\x8d\x5b\xff", 4);		/* lea r11, [r11 - 1] */
		asm_bytes(e, "\x4c\x89\xd9", 3);		/* mov rcx, r11 */
	} else {
		asm_slot_load(e, RCX, RT_UNTIL);
		asm_rex_w(e, RCX, RCX);
		asm_bytes(e, "\x8d\x49\xff", 3);		/* lea rcx, [rcx - 1] */
		asm_slot_store(e, RCX, RT_UNTIL);
	}
	asm_bytes(e, "\xe3\x00", 2);				/* jrcxz */
	return e->c;
}

static void bind(const uint8_t *to, uint8_t *from)
{
	from[-1] = (uint8_t)(to - from);
}

/* ... where flags are free: they say whether that is 0. */
static void count_down_free(struct emit *e)
{
	if (xl_has_clock(e->in))
		asm_bytes(e, "\x49\xff\xcb", 3);		/* dec r11 */
	else
		asm_slot_op(e, 0xff, 1, RT_UNTIL);		/* dec, of a word */
}

static void count_down(struct emit *e, enum leaves how, unsigned reg, uint32_t block)
{
	struct scratch *s = e->s;

	count_down_free(e);
	asm_bytes(e, "\x0f\x84", 2);				/* jz */
	pm_grow(s->leave, s->nleave, s->cap_leave);
	s->leave[s->nleave++] = (struct leave){ here(e), block, (uint8_t)how, (uint8_t)reg };
	asm_u32(e, 0);
}

static void leave_to(struct emit *e, uint64_t pc)
{
	asm_exit_pc(e, pc);
	asm_slot_jump(e, RT_DO_SAFEPOINT);
}

/* The same in front of the direct entry of a block at @pc. Returns where set_head() puts the
 * distance to that entry, 4 bytes in front of what it is counted from; in 32-bit code its address.
 */
static uint8_t *leave_to_head(struct emit *e, uint64_t pc)
{
	uint8_t *head;

	if (e->i386) {
		asm_exit_pc(e, pc);
		asm_slot_op32(e, 0xc7, 0, RT_HEAD);		/* mov dword, head */
		asm_reloc(e, here(e), XL_REL_PLACE, 0);
		head = e->c;
		asm_u32(e, 0);
		asm_slot_jump(e, RT_DO_SAFEPOINT);
		return head;
	}
	asm_slot_store(e, RAX, RT_S_TMP);
	asm_lea_pc(e, RAX, pc);
	asm_slot_store(e, RAX, RT_EXIT_PC);
	asm_bytes(e, "\x48\x8d\x05", 3);			/* lea rax, [rip + head] */
	head = e->c;
	asm_u32(e, 0);
	asm_slot_store(e, RAX, RT_HEAD);
	asm_slot_load(e, RAX, RT_S_TMP);
	asm_slot_jump(e, RT_DO_SAFEPOINT);
	return head;
}

static void set_head(const struct emit *e, uint8_t *at, const uint8_t *head)
{
	const uint32_t v = e->i386 ? (uint32_t)e->in->place + (uint32_t)(head - e->base) :
				     (uint32_t)(head - (at + 4));

	memcpy(at, &v, 4);
}

/* ---- jumps back ------------------------------------------------------------------------------ */
static void count_down_back(struct emit *e, const uint8_t *expired)
{
	asm_slot_store(e, RCX, RT_S_TMP);
	bind(expired, count_down_kept(e));
	asm_slot_load(e, RCX, RT_S_TMP);
}

void emit_back(struct emit *e, struct block *b, bool above)
{
	const uint8_t *expired = NULL;
	uint8_t *over = NULL, *head = NULL;

	if (above) {
		asm_bytes(e, "\xeb\x00", 2);
		over = e->c;
	}
	if (b->live_in & LV_INC) {
		expired = e->c;
		asm_slot_load(e, RCX, RT_S_TMP);
		head = leave_to_head(e, b->pc);
	}
	b->back = here(e);
	if (expired)
		count_down_back(e, expired);
	else
		count_down(e, LEAVES_HEAD, RCX, (uint32_t)(b - e->s->block));
	if (over)
		bind(e->c, over);
	if (head)
		set_head(e, head, e->c);
}

void emit_cold_back(struct emit *e, const struct block *b)
{
	uint8_t *expired;

	if (live_at(e, &b->to) & LV_INC) {
		asm_slot_store(e, RCX, RT_S_TMP);
		expired = count_down_kept(e);
		asm_slot_load(e, RCX, RT_S_TMP);
		asm_rel32(e, (const uint8_t []){ 0xe9 }, 1, &b->to);
		bind(e->c, expired);
		asm_slot_load(e, RCX, RT_S_TMP);
		leave_to(e, b->to.pc);
		return;
	}
	count_down_free(e);
	asm_bytes(e, "\x74\x00", 2);				/* jz */
	expired = e->c;
	asm_rel32(e, (const uint8_t []){ 0xe9 }, 1, &b->to);
	bind(e->c, expired);
	leave_to(e, b->to.pc);
}

/* ---- from one iteration to the next ----------------------------------------------------- */
static void leave_iteration(struct emit *e, uint32_t block)
{
	emit_chain_left(e, block);
	leave_to(e, e->s->block[block].fall.pc);
}

void emit_iteration(struct emit *e)
{
	uint8_t *expired, *over;

	asm_map(e, e->b->n, 0);
	if (!(live_at(e, &e->b->fall) & LV_INC)) {
		count_down(e, LEAVES_ITERATION, RCX, e->index);
		return;
	}
	asm_slot_store(e, RCX, RT_S_TMP);
	expired = count_down_kept(e);
	asm_slot_load(e, RCX, RT_S_TMP);
	asm_bytes(e, "\xeb\x00", 2);				/* jmp */
	over = e->c;
	bind(e->c, expired);
	asm_slot_load(e, RCX, RT_S_TMP);
	leave_iteration(e, e->index);
	bind(e->c, over);
}

/* ---- returns and indirect jumps -------------------------------------------------------------- */
void emit_safepoint(struct emit *e, bool free, enum leaves how, unsigned reg)
{
	if (free) {
		count_down(e, how, reg, e->index);
		return;
	}
	if (e->i386)						/* edx is free there */
		asm_bytes(e, "\x89\xca", 2);			/* mov edx, ecx */
	else if (how == LEAVES_RCX)
		asm_slot_store(e, RCX, RT_EXIT_PC);
	e->kept = count_down_kept(e);
	if (e->i386)
		asm_bytes(e, "\x89\xd1", 2);			/* mov ecx, edx */
	else if (how == LEAVES_RCX)
		asm_slot_load(e, RCX, RT_EXIT_PC);
}

void asm_take_off(struct emit *e, uint32_t n)
{
	asm_rex_w(e, RSP, RSP);
	asm_bytes(e, "\x8d\xa4\x24", 3);
	asm_u32(e, n);
}

/* RT_EXIT_PC is set, and in 32-bit code edx is the same. */
static void emit_pop(struct emit *e, const struct block *b)
{
	const struct insn *ret = &e->s->insn[b->first + b->n - 1];

	asm_take_off(e, (e->i386 ? 4u : 8u) + ret_takes_off(ret));
	if (e->i386 && ret_takes_off(ret))			/* as emit_far_pop() does */
		asm_bytes(e, "\x89\x54\x24\xfc", 4);		/* mov [esp - 4], edx */
}

/* RT_EXIT_PC is set. The program's rdx is in its slot only where rcx has the target, and in 32-bit
 * code. */
static void leave_jump(struct emit *e, enum leaves how, unsigned reg)
{
	if (e->i386 || (how == LEAVES_RCX && reg == RDX))
		asm_slot_load(e, RDX, RT_S_RDX);
	asm_slot_load(e, RCX, RT_S_RCX);
	asm_slot_jump(e, RT_DO_SAFEPOINT);
}

void emit_safepoint_end(struct emit *e, enum leaves how, unsigned reg)
{
	if (!e->kept)
		return;
	asm_map(e, e->b->n, 0);
	bind(e->c, e->kept);
	e->kept = NULL;
	if (e->i386)
		asm_slot_store(e, RDX, RT_EXIT_PC);
	else if (how == LEAVES_REGISTER)
		asm_slot_store(e, reg, RT_EXIT_PC);
	if (how == LEAVES_RETURN)
		emit_pop(e, e->b);
	leave_jump(e, how, reg);
}

void emit_leave(struct emit *e, const struct leave *l)
{
	const struct block *b = &e->s->block[l->block];
	const uint32_t rel = here(e) - (l->at + 4);

	/* flags are free nowhere else */
	assert(!e->i386 || l->how == LEAVES_HEAD || l->how == LEAVES_ITERATION);
	memcpy(e->base + l->at, &rel, 4);
	switch (l->how) {
	case LEAVES_ITERATION:
		leave_iteration(e, l->block);
		return;
	case LEAVES_HEAD:
		set_head(e, leave_to_head(e, b->pc), e->base + placed(e, l->block)->code);
		return;
	case LEAVES_RETURN:
		asm_bytes(e, "\x48\x8b\x0c\x24", 4);		/* mov rcx, [rsp] */
		emit_pop(e, b);
		/* fall through */
	case LEAVES_RCX:
		asm_slot_store(e, RCX, RT_EXIT_PC);
		break;
	case LEAVES_REGISTER:
		asm_slot_store(e, l->reg, RT_EXIT_PC);
		break;
	}
	leave_jump(e, l->how, l->reg);
}
