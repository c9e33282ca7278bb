/* SPDX-License-Identifier: MIT */
/* clock.c - the clock of a program that is recorded or replayed: how many safepoints it has passed
 *
 * Translations count `until` down, SAFEPOINTS in translate/translate.h. Recorded: a signal that
 * finds the thread in translated code lets it leave at the next safepoint, and is given there. The
 * log has the clock. Replayed: `until` is how far that safepoint is, so the thread leaves where it
 * did. */
#include "log.h"

/* 32-bit code counts the lower half alone: there the thread leaves now and then where nothing is
 * due. */
#ifdef __i386__
#define FAR_AWAY (1ull << 30)
#else
#define FAR_AWAY (1ull << 62)
#endif

#define NEVER (1ull << 62)

u64 rt_clock(const struct rt_block *b)
{
	return b->log_clock - b->until;
}

/* The @n-th safepoint from here leaves. */
static void leave_after(struct rt_block *b, u64 n)
{
	const u64 now = rt_clock(b);

	b->until = n < FAR_AWAY ? n : FAR_AWAY;
	b->log_clock = now + b->until;
}

void rt_clock_begin(struct rt_block *b)
{
	b->head = 0;
	b->until = b->log_clock = FAR_AWAY;
#ifdef __x86_64__
	if (rt_logged_bare(b))
		b->r11_use = RT_R11_CLOCK;
#endif
}

#ifdef __i386__
/* Translated code has `until` in memory. It loads that into ecx, takes 1 off and stores it
 * (count_down_kept() in translate/emit_clock.c): between these ecx has what the next safepoint
 * leaves, and would store that over what is set here. */
static const u8 take_off[] = { 0x8d, 0x49, 0xff };
static const u8 store[] = { 0x64, 0x89, 0x0d, RT_UNTIL, 0, 0, 0 };

static int is_code(word pc, const u8 *code, u32 n)
{
	const u8 *at = PTR(pc);

	while (n && *at == *code)
		at++, code++, n--;
	return !n;
}

static void hurry_translated(struct rt_block *b, struct k_ucontext *uc)
{
	leave_after(b, 1);
	if (is_code(UC_PC(uc), store, sizeof store))
		UC_GPR(uc, RCX) = 0;
	else if (is_code(UC_PC(uc), take_off, sizeof take_off) &&
		 is_code(UC_PC(uc) + sizeof take_off, store, sizeof store))
		UC_GPR(uc, RCX) = 1;
}
#else
/* Translated code, where @uc stands, has `until` in a register: which one, the controller knows. */
static word *clock_register(struct rt_block *b, struct k_ucontext *uc)
{
	u32 tmp = 0;

	if (rt_ask(b, RQ_SIGNAL, UC_PC(uc), 0, 0, 0) && b->mail.r[0] == RT_IN_CODE)
		tmp = (u32)b->mail.r[3];
	return &UC_GPR(uc, tmp & 0x80 /* XL_RESTORED */ ? tmp & (RT_NGPR - 1) : CURSOR_REG);
}

static void hurry_translated(struct rt_block *b, struct k_ucontext *uc)
{
	word *const reg = clock_register(b, uc);

	b->until = *reg;
	leave_after(b, 1);
	*reg = (word)b->until;
}
#endif

void rt_clock_hurry(struct rt_block *b, struct k_ucontext *uc)
{
	if (UC_PC(uc) >= (word)rt_image_start && UC_PC(uc) < (word)rt_image_end)
		leave_after(b, 1);		/* on the way out the register gets it */
	else
		hurry_translated(b, uc);
}

void rt_clock_slice(struct rt_block *b)
{
	leave_after(b, rt_token_quantum(b));
}

void rt_clock_await(struct rt_block *b)
{
	const struct rt_event *e = rt_replays(b) ? rt_next_event(b) : 0;
	const int at_one = e && e->type >= RT_E_SIGNAL && e->a[1];
	const u64 stop = b->stop_at - 1 - rt_clock(b);
	u64 n = at_one ? e->a[1] - rt_clock(b) : NEVER;

	if (!rt_replays(b))
		return;
	if (n - 1 >= NEVER)
		rt_replay_differs(b, b->ctx.pc);
	if (b->stop_at && stop - 1 < n - 1)
		n = stop;
	leave_after(b, n);
}

/* Replayed: has it left only because FAR_AWAY safepoints have been passed? */
static int nothing_is_due(struct rt_block *b)
{
#ifdef __i386__
	const struct rt_event *e = rt_next_event(b);
	const u64 at = e && e->type >= RT_E_SIGNAL ? e->a[1] : 0;

	return (!at || at > rt_clock(b)) && !rt_stop_is_here(b);
#else
	(void)b;
	return 0;
#endif
}

void rt_at_safepoint(struct rt_block *b)
{
	const u64 head = b->head;

	b->head = 0;
	if (rt_replays(b)) {
		/* counted: the block has been entered, and is left */
		if (head && !b->tracing && !RT_SESSION->bare)
			rt_ask(b, RQ_CUT, head, 0, 0, 0);
		if (rt_stop_is_here(b))		/* before anything is done */
			return;
		if (!nothing_is_due(b))
			rt_replay_safepoint(b);
		rt_clock_await(b);
	} else {
		if (rt_records(b))
			rt_record_safepoint(b);
		rt_clock_slice(b);
	}
	rt_resume(b);
}
