/* SPDX-License-Identifier: MIT */
/* ending.c - the end of a process
 *
 * What it has counted and traced goes to its files. Other threads would go on writing into what is
 * read. Each of them gets a signal, which like any other finds out where the program stands
 * (signal.c); there the thread empties its own buffer, and waits for the end. A thread that is in
 * the runtime gets the signal when it leaves that. The execution of another program ends the
 * threads, too; if it fails, they go on. */
#include "standalone.h"

#define STOP_MS 2000			/* who has not been seen by then sleeps in the kernel,
					 * uninterruptibly */
#define STOP_MARK 0x50554753		/* in si_errno */

static u32 ender;			/* tid of who ends the process, and its pid: a forked child
					 * has the same memory */
static u32 ending;

int rt_is_ending(const struct rt_block *b)
{
	return __atomic_load_n(&ender, __ATOMIC_SEQ_CST) && ending == b->pid;
}

void rt_park(struct rt_block *b)
{
	const word pause[2] = { 0, 10000000 };
	const u64 all = ~0ull;
	u64 mask = 0;

	rt_sys(NR_rt_sigprocmask, 2, &all, &mask, 8);
	rt_image_drain_all(b, 1);
	__atomic_store_n(&b->leaving, 1, __ATOMIC_SEQ_CST);
	while (rt_is_ending(b))
		rt_sys(NR_nanosleep, pause, 0);
	__atomic_store_n(&b->leaving, 0, __ATOMIC_SEQ_CST);
	rt_sys(NR_rt_sigprocmask, 2, &mask, 0, 8);
}

static void send_stop(const struct rt_block *b, u32 tid)
{
	const struct k_siginfo info = {
		.signo = SIGTRAP, .error = STOP_MARK, .code = -1 /* SI_QUEUE */, .addr = b->pid
	};

	rt_sys(NR_rt_tgsigqueueinfo, b->pid, tid, SIGTRAP, &info);
}

int rt_image_stops(const struct rt_block *b, u32 sig, const struct k_siginfo *info)
{
	return sig == SIGTRAP && info->code == -1 && info->error == STOP_MARK &&
	       (u32)info->addr == b->pid;
}

void rt_image_stopped(struct rt_block *b)
{
	if (rt_is_ending(b) && b->tid != ender)
		rt_park(b);
}

/* Block @i, if it is another one of @b's process. */
static struct rt_block *other_block(const struct rt_block *b, u32 i)
{
	struct rt_block *at = LEDGER->owner[i] == b->pid ? rt_image_block(i) : 0;

	return at != b ? at : 0;
}

static struct rt_block *running_block(const struct rt_block *b, u32 i)
{
	struct rt_block *at = other_block(b, i);

	return at && __atomic_load_n(&at->state, __ATOMIC_SEQ_CST) == BLK_LIVE &&
	       !__atomic_load_n(&at->leaving, __ATOMIC_SEQ_CST) ? at : 0;
}

static void stop_others(struct rt_block *b)
{
	const word pause[2] = { 0, 1000000 };
	u32 left = 1;

	if (rt_is_ending(b) && ender == b->tid)
		return;
	if (ending != b->pid)		/* of the process that this one is a copy of */
		ender = 0;
	ending = b->pid;
	for (u32 none = 0; !__atomic_compare_exchange_n(&ender, &none, b->tid, 0, __ATOMIC_SEQ_CST,
							__ATOMIC_SEQ_CST);
	     none = 0)
		rt_park(b);
	for (u32 ms = 0, busy = 0; left && (busy || ms < STOP_MS); ms++) {
		left = busy = 0;
		for (u32 i = 1; i < LEDGER->used; i++) {
			const struct rt_block *at = running_block(b, i);

			if (at && ms % 16 == 0)
				send_stop(b, at->tid);
			left += at != 0;
			busy |= at && rt_image_drains(at);
		}
		if (left)
			rt_sys(NR_nanosleep, pause, 0);
	}
}

void rt_let_go(const struct rt_block *b)
{
	if (rt_is_ending(b) && ender == b->tid)
		__atomic_store_n(&ender, 0, __ATOMIC_SEQ_CST);
}

int rt_has_others(const struct rt_block *b)
{
	for (u32 i = 1; i < LEDGER->used; i++)
		if (running_block(b, i))
			return 1;
	return 0;
}

/* All that the process has in memory goes to its files: that of @b's thread, and of @others, which
 * have stopped - those that cannot, as far as they have come. */
void rt_write_all(struct rt_block *b, int others)
{
	rt_image_drain_all(b, 1);
	if (others)
		stop_others(b);
	for (u32 i = 1; i < LEDGER->used && others; i++)
		if (running_block(b, i))
			rt_image_drain_all(rt_image_block(i), 0);
	rt_write_counts(b->pid);
}

void rt_image_dying(struct rt_block *b)
{
	rt_write_all(b, 1);
}

void rt_on_exit(struct rt_block *b, int whole)
{
	int last = 1;

	for (u32 i = 1; i < LEDGER->used && !whole; i++)
		if (other_block(b, i) && other_block(b, i)->state != BLK_DEAD)
			last = 0;
	if (!whole && !last) {
		rt_image_drain_all(b, 1);
		return;
	}
	rt_watch_end(b->pid);
	rt_write_all(b, whole);
	rt_later_leave(b->pid);
	for (u32 i = 1; i < LEDGER->used; i++) {
		struct rt_block *at = LEDGER->owner[i] == b->pid ? rt_image_block(i) : 0;

		if (!at || (at != b && at->state != BLK_DEAD))
			continue;
		rt_sys(NR_madvise, (uint8_t *)at + RT_COUNTERS, RT_BLOCK_ALIGN - RT_COUNTERS,
		       9 /* MADV_REMOVE */);
		if (at == b)
			rt_image_leaving(i);
		__atomic_store_n(&LEDGER->owner[i], 0, __ATOMIC_SEQ_CST);
	}
}
