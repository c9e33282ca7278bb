/* SPDX-License-Identifier: MIT */
/* begin.c - a traced process begins */
#include "rt.h"

void rt_load_ranges(struct rt_block *b)
{
	struct rt_boot *boot = &rt_boot_info;

	if (!rt_ask(b, RQ_BEGIN, boot->entry, 0, 0, 0))
		rt_fail("pugmark: cannot load the program\n");
	boot->nrange = (u32)b->mail.r[0];
	boot->vdso = b->mail.r[1];
	rt_memcpy(boot->range, b->mail.cmd, sizeof boot->range);
}

struct rt_block *rt_boot(void);

struct rt_block *rt_boot(void)
{
	struct rt_boot *boot = &rt_boot_info;
	struct rt_block *b;
	u64 brk = 0;

	if (boot->load)
		boot->entry = boot->load == 2 ? rt_replay_load(&brk) : rt_load();
	if (boot->persona) { /* first: READ_IMPLIES_EXEC concerns whatever is mapped or protected */
		const word now = (word)rt_sys(NR_personality, 0xffffffff);

		rt_sys(NR_personality, now & ~(word)boot->persona);
	}
	b = rt_map_all(boot);
	if (boot->load == 2)
		rt_replay_begun(b);
	rt_apart = b->apart;
	b->log_brk = brk;
	b->exec_all = boot->exec_all;
	for (u32 i = 0; i < NR_OF(boot->passed); i++)
		if (boot->passed[i])
			rt_sys(NR_close, boot->passed[i] - 1);
	if (boot->load)
		rt_load_ranges(b);
	for (u32 i = 0; i < boot->nrange; i++) {
		const struct rt_range *r = &boot->range[i];

		rt_range_add(r->lo, r->hi, r->prot, r->shared);
		rt_sys(NR_mprotect, r->lo, r->hi - r->lo, (r->prot & ~PROT_EXEC) | PROT_READ);
	}
	rt_attached = b->origin == BLK_ATTACHED;
	rt_block_begin(b, boot->entry);
	rt_trace_start(b);
	if (boot->load) {
		rt_resume(b);
		rt_clock_await(b);
		if (boot->load == 2)
			rt_replay_confine(b);
		rt_stop_perhaps(b);
		return b;
	}
	/* the answer to RQ_LOOKUP has come with the block */
	if (!rt_first_answer(b))
		rt_resume_native(b);
	rt_resume_by_answer(b);
	b->origin = BLK_THREAD;
	return b;
}
