/* SPDX-License-Identifier: MIT */
/* group_token.c - recorded or replayed processes that share memory take turns
 *
 * They are a group: who has forked while it had memory to share, and its descendants until they
 * execute another program. There is one group in a session. As threads need the token of their
 * process to execute (token.c), a process needs the group's. It gives it up with the token of its
 * threads, where that has no taker: in a call that waits; and at a safepoint when its slice of time
 * is over. In a call that perhaps waits others may take it.
 *
 * Recorded: each time that another process gets it than the one before, a number grows by one. A
 * process logs where it gives the token up, perhaps, so that the replay comes to there should the
 * process be killed meanwhile; and the number when that is a new one, or when it has given the
 * token up at a safepoint. It executes only when that is logged. Who is killed then may have
 * written anything since: the recording of the group ends. Who is killed before has had no turn,
 * and the controller takes the number back.
 * Replayed: where the log has a number the process gives the token up, which makes the number grow,
 * and waits until that is the one that the log has.
 *
 * rt_session.group: the number, shifted by 32; RT_GROUP_FREE: its holder is in a call that perhaps
 * waits; the number of the block that has the holder's log, 0: nobody has the token. The controller
 * sets that to 0 when the holder has died. Replayed: the number alone. */
#include "log.h"

#define POLL 1000000ull			/* ns: how often who waits looks for a call that waits */

/* What it was. By cmpxchg8b in 32-bit code, which has no plain load of 8 bytes. */
static u64 change_from(u64 from, u64 to)
{
	return __sync_val_compare_and_swap(&RT_SESSION->group, from, to);
}

static u64 read_state(void)
{
#ifdef __i386__
	return change_from(0, 0);
#else
	return __atomic_load_n(&RT_SESSION->group, __ATOMIC_ACQUIRE);
#endif
}

static int change(u64 from, u32 number, u32 low)
{
	return change_from(from, (u64)number << 32 | low) == from;
}

static u32 wake_all(void)
{
	if (!__atomic_load_n(&RT_SESSION->group_waiting, __ATOMIC_SEQ_CST))
		return 0;
	return (u32)rt_sys(NR_futex, &RT_SESSION->group, 1 /* WAKE */, 1 << 30);
}

/* Until the lower half of the state is not @low any more, or for @ns. */
static void wait_while(u32 low, u64 ns)
{
	const word timeout[2] = { 0, (word)ns };

	__atomic_fetch_add(&RT_SESSION->group_waiting, 1, __ATOMIC_SEQ_CST);
	rt_sys(NR_futex, &RT_SESSION->group, 0 /* WAIT */, low, timeout);
	__atomic_fetch_sub(&RT_SESSION->group_waiting, 1, __ATOMIC_SEQ_CST);
}

/* ---- recorded -------------------------------------------------------------------------------- */
int rt_group_member(const struct rt_block *b)
{
	/* one that has been attached has no log */
	return rt_records(b) && rt_log_of(b)->group_member;
}

/* 1: it is @l's now, and has been another one's; 0: that's; -1: it is somebody's. */
static int try_to_take(struct rt_block *l)
{
	const u64 state = read_state();
	const u32 low = (u32)state, number = (u32)(state >> 32);
	const int was_last = number && number == l->group_number;

	if ((low & ~RT_GROUP_FREE) == l->number && was_last)
		return low == l->number || change(state, number, l->number) ? 0 : -1;
	if (low && !(low & RT_GROUP_FREE))
		return -1;
	if (!low && was_last)
		return change(state, number, l->number) ? 0 : -1;
	if (!change(state, number + 1, l->number))
		return -1;
	l->group_number = number + 1;
	return 1;
}

int rt_group_take(struct rt_block *b)
{
	struct rt_block *l = rt_log_of(b);
	struct rt_wait w = { 0 };
	int r;

	for (u32 n = 1; (r = try_to_take(l)) < 0; n++) {
		wait_while((u32)read_state(), POLL);
		if (n % 200 == 0 && rt_controller_gone(&w)) {
			l->group_member = 0;
			return 0;
		}
	}
	return r;
}

u32 rt_group_give(const struct rt_block *b)
{
	const struct rt_block *l = rt_log_of(b);
	u64 state;

	do {
		state = read_state();
		if (((u32)state & ~RT_GROUP_FREE) != l->number || state >> 32 != l->group_number)
			return 0;
	} while (!change(state, l->group_number, 0));
	return wake_all();
}

void rt_group_perhaps(const struct rt_block *b)
{
	const struct rt_block *l = rt_log_of(b);

	change((u64)l->group_number << 32 | l->number, l->group_number, l->number | RT_GROUP_FREE);
}

int rt_group_wanted(void)
{
	return __atomic_load_n(&RT_SESSION->group_waiting, __ATOMIC_RELAXED) != 0;
}

void rt_group_pass(struct rt_block *b)
{
	const u32 number = rt_log_of(b)->group_number;

	/* one of those who wait takes it; some may have been killed */
	if (!rt_group_give(b))
		return;
	for (u32 n = 0; n < 20 && read_state() == (u64)number << 32; n++)
		wait_while(0, POLL / 10);
}

/* Replayed: the next one is another process's. */
static void end_turn(const struct rt_block *l)
{
	if (!l->group_member || read_state() != l->group_number)
		return;
	change_from(l->group_number, l->group_number + 1);
	wake_all();
}

void rt_group_leave(struct rt_block *b)
{
	struct rt_block *l = rt_log_of(b);

	if (!l->group_member)
		return;
	if (rt_replays(b))
		end_turn(l);
	else
		rt_group_give(b);
	l->group_member = 0;
}

/* ---- replayed -------------------------------------------------------------------------------- */
void rt_group_await(struct rt_block *b, u32 number)
{
	struct rt_block *l = rt_log_of(b);
	struct rt_wait w = { 0 };
	u64 now;

	if (l->group_member && number == l->group_number)
		return;				/* nobody wanted it */
	end_turn(l);
	l->group_member = 1;
	l->group_number = 0;
	l->group_awaits = number;
	for (u32 n = 1; (now = read_state()) != number; n++) {
		wait_while((u32)now, 50 * POLL);
		if (n % 4 == 0 && rt_controller_gone(&w))
			rt_sys(NR_exit_group, 125);
	}
	l->group_awaits = 0;
	l->group_number = number;
}
