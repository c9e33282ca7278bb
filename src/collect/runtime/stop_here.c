/* SPDX-License-Identifier: MIT */
/* stop_here.c - a replayed thread stops, and the controller looks at it, or executes instructions
 * of the program in it
 *
 * It stops where the program's state is whole and in ctx: at a safepoint, before what the log has
 * for that is done; where it begins; and, with stop_next, wherever it would leave the runtime. A
 * signal that is on its way is given first: the thread then stops at the first instruction of the
 * handler. */
#include "log.h"

extern void rt_stop_entry(void);

int rt_stop_is_here(const struct rt_block *b)
{
	return rt_stops(b) || (b->stop_at && b->stop_at - 1 == rt_clock(b));
}

static enum rt_stop_then ask_how_to_go_on(struct rt_block *b)
{
	for (;;) {
		if (!rt_ask(b, RQ_STOP, 0, 0, 0, 0))
			rt_sys(NR_exit_group, 125);
		if (b->mail.r[0] != RT_STOP_OPEN)
			break;
		rt_ask(b, RQ_OPEN, 0, 0, 0, 0);
	}
	b->stop_signal = 0;
	return (enum rt_stop_then)b->mail.r[0];
}

void rt_stop(struct rt_block *b)
{
	enum rt_stop_then then;

	do {
		then = ask_how_to_go_on(b);
		if (rt_replay_is_due(b))
			rt_replay_safepoint(b);
		rt_clock_await(b);
	} while (then == RT_STOP_LOG && !b->held);	/* a signal comes on the way out */
	rt_resume(b);
}

void rt_stop_perhaps(struct rt_block *b)
{
	if (rt_replays(b) && rt_stop_is_here(b))
		rt_stop(b);
}

void rt_stop_behind(struct rt_block *b, struct k_ucontext *uc, u64 pc)
{
	for (u32 i = 0; i < RT_NGPR; i++)
		b->ctx.gpr[i] = UC_GPR(uc, i);
	b->ctx.pc = pc;
	b->ctx.flags = UC_FLAGS(uc) & ~(u64)0x100;
	UC_PC(uc) = (word)rt_stop_entry;
}
