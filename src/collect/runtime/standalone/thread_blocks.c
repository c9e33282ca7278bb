/* SPDX-License-Identifier: MIT */
/* thread_blocks.c - thread blocks: handed out from memory that processes share */
#include "standalone.h"

static int change_owner(u32 i, u32 from, u32 to)
{
	return __atomic_compare_exchange_n(&LEDGER->owner[i], &from, to, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

/* Number @i is @pid's now. */
static struct rt_block *begin_block(u32 i, int dirty)
{
	struct rt_block *b = rt_block_map(i);

	if (!b) {
		LEDGER->owner[i] = 0;
		return 0;
	}
	if (dirty)
		rt_sys(NR_madvise, b, RT_BLOCK_ALIGN, 9 /* MADV_REMOVE */);
	for (u32 used = LEDGER->used; used <= i; )
		__atomic_compare_exchange_n(&LEDGER->used, &used, i + 1, 0, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
	b->leaving = 0;
	b->state = BLK_READY;
	return b;
}

/* A dead thread's block is used again by its own process, whose counts just go on in it. */
struct rt_block *rt_block_new(u32 pid)
{
	for (u32 i = 1; i < LEDGER->used && pid != RT_RESERVED; i++)
		if (LEDGER->owner[i] == pid && rt_image_block(i) &&
		    rt_image_block(i)->state == BLK_DEAD) {
			u32 dead = BLK_DEAD;

			if (__atomic_compare_exchange_n(&rt_image_block(i)->state, &dead, BLK_READY,
							0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
				rt_image_block(i)->leaving = 0;
				return rt_image_block(i);
			}
		}
	for (u32 i = 1; i < IMG_BLOCKS; i++)
		if (!LEDGER->owner[i] && !rt_image_in_use(i) && change_owner(i, 0, pid))
			return begin_block(i, 0);
	for (u32 i = 1; i < LEDGER->used; i++) {	/* those of processes that were killed */
		u32 was = LEDGER->owner[i];

		if (was && was != RT_RESERVED && rt_sys(NR_kill, was, 0) == -ESRCH &&
		    change_owner(i, was, pid))
			return begin_block(i, 1);
	}
	return 0;
}
