/* SPDX-License-Identifier: MIT */
/* clock.c - the clock of a program that is recorded or replayed: how many safepoints it has passed
 *
 * Translations count `until` down, SAFEPOINTS in translate/translate.h. Recorded: a signal that
 * finds the thread in translated code lets it leave at the next safepoint, and is given there. The
 * log has the clock. Replayed: `until` is how far that safepoint is, so the thread leaves where it
 * did.
 *
 * Where counting down takes several instructions, a signal may come between them. They store over
 * what it makes of `until` then. So it does not change log_clock: it sets aside all but 1 of
 * `until`, and if more than 1 is found there later, nothing has been set aside. (Recorded, `until`
 * is large else.) The controller tells the thread now and then to try again. */
#include "log.h"

#define FAR_AWAY (1ull << 62)

static void take_back(struct rt_block *b)
{
	if (b->until <= 1)
		b->until += b->set_aside;
	b->set_aside = 0;
}

u64 rt_clock(struct rt_block *b)
{
	take_back(b);
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
	b->set_aside = b->head = 0;
	b->until = b->log_clock = FAR_AWAY;
}

void rt_clock_hurry(struct rt_block *b)
{
	take_back(b);
	b->set_aside = b->until - 1;
	b->until = 1;
}

void rt_clock_await(struct rt_block *b)
{
	const struct rt_event *e = rt_replays(b) ? rt_next_event(b) : 0;
	const u64 n = e && e->type == RT_E_SIGNAL && e->a[1] ? e->a[1] - rt_clock(b) : FAR_AWAY;

	if (!rt_replays(b))
		return;
	if (n - 1 >= FAR_AWAY)
		rt_replay_differs(b, b->ctx.pc);
	leave_after(b, n);
}

void rt_at_safepoint(struct rt_block *b)
{
	const u64 head = b->head;

	b->head = 0;
	if (rt_replays(b)) {
		rt_replay_safepoint(b);
		if (head && !b->tracing)	/* the block has been entered, and is left */
			rt_ask(b, RQ_CUT, head, 0, 0, 0);
		rt_clock_await(b);
	} else {
		if (rt_records(b))
			rt_record_safepoint(b);
		leave_after(b, FAR_AWAY);
	}
	rt_resume(b);
}
