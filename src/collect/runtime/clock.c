/* SPDX-License-Identifier: MIT */
/* clock.c - the clock of a program that is recorded or replayed: how many safepoints it has passed
 *
 * Translations count `until` down, SAFEPOINTS in translate/translate.h. Recorded: a signal that
 * finds the thread in translated code lets it leave at the next safepoint, and is given there. The
 * log has the clock. Replayed: `until` is how far that safepoint is, so the thread leaves where it
 * did. */
#include "log.h"

#define FAR_AWAY (1ull << 62)

u64 rt_clock(const struct rt_block *b)
{
	return b->log_clock - b->until;
}

/* The @n-th safepoint from here leaves. */
static void leave_after(struct rt_block *b, u64 n)
{
	const u64 now = rt_clock(b);

	b->until = n;
	b->log_clock = now + n;
}

void rt_clock_begin(struct rt_block *b)
{
	b->head = 0;
	b->until = b->log_clock = FAR_AWAY;
	if (b->logged && !rt_replays(b))
		b->r11_use = RT_R11_CLOCK;
}

/* Translated code, where @uc stands, has `until` in a register: which one, the controller knows. */
static word *clock_register(struct rt_block *b, struct k_ucontext *uc)
{
	u32 tmp = 0;

	if (rt_ask(b, RQ_SIGNAL, UC_PC(uc), 0, 0, 0) && b->mail.r[0] == RT_IN_CODE)
		tmp = (u32)b->mail.r[3];
	return &UC_GPR(uc, tmp & 0x80 /* XL_RESTORED */ ? tmp & (RT_NGPR - 1) : CURSOR_REG);
}

void rt_clock_hurry(struct rt_block *b, struct k_ucontext *uc)
{
	word *reg;

	if (UC_PC(uc) >= (word)rt_image_start && UC_PC(uc) < (word)rt_image_end) {
		leave_after(b, 1);		/* on the way out the register gets it */
		return;
	}
	reg = clock_register(b, uc);
	b->until = *reg;
	leave_after(b, 1);
	*reg = (word)b->until;
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
	u64 n = at_one ? e->a[1] - rt_clock(b) : FAR_AWAY;

	if (!rt_replays(b))
		return;
	if (n - 1 >= FAR_AWAY)
		rt_replay_differs(b, b->ctx.pc);
	if (b->stop_at && stop - 1 < n - 1)
		n = stop;
	leave_after(b, n);
}

void rt_at_safepoint(struct rt_block *b)
{
	const u64 head = b->head;

	b->head = 0;
	if (rt_replays(b)) {
		if (head && !b->tracing)	/* the block has been entered, and is left */
			rt_ask(b, RQ_CUT, head, 0, 0, 0);
		if (rt_stop_is_here(b))		/* before anything is done */
			return;
		rt_replay_safepoint(b);
		rt_clock_await(b);
	} else {
		if (rt_records(b))
			rt_record_safepoint(b);
		rt_clock_slice(b);
	}
	rt_resume(b);
}
