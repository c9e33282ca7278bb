/* SPDX-License-Identifier: MIT */
/* resume.c - how the program goes on: in its translation, or without us */
#include "rt.h"

void rt_resume_at(struct rt_block *b, u64 to)
{
	b->s_rcx = b->ctx.gpr[RCX];
	b->s_rdx = b->ctx.gpr[RDX];
	b->resume = to;
}

/* The answer to RQ_LOOKUP is the way to go on.
 * b->ctx is the program's state: find the code to go on with. An address that the program may not
 * execute is jumped to as it is, so that the fault is the program's own. */
void rt_resume_by_answer(struct rt_block *b)
{
	rt_count_answered(b, b->ctx.gpr[RSP]);
	if (b->mail.r[0])
		b->resume = b->mail.r[0];
	else
		rt_resume_at(b, b->ctx.pc);
}

void rt_resume(struct rt_block *b)
{
	if (!rt_ask(b, RQ_LOOKUP, b->ctx.pc, 0, 0, 0))
		rt_resume_native(b);
	rt_resume_by_answer(b);
}

#ifndef RT_IDT
void rt_resume_behind(struct rt_block *b)
{
	const u64 to = rt_counts(b) ? 0 : rt_indirect_entry(b->ctx.pc);

	if (to)
		rt_resume_at(b, to);
	else
		rt_resume(b);
}
#endif

static void make_native(struct rt_block *b)
{
	for (u32 i = 0; i < rt_nranges; i++)
		rt_sys(NR_mprotect, rt_ranges[i].lo, rt_ranges[i].hi - rt_ranges[i].lo,
		       rt_ranges[i].prot);
	rt_handlers_native(b);
}

/* The process becomes what it would be without us, but for where this thread stands. */
void rt_make_native(struct rt_block *b)
{
	static u32 state;			/* 1: somebody is at it; 2: done */
	u32 none = 0;

	rt_token_over();
	rt_await_no_exit();
	if (__atomic_compare_exchange_n(&state, &none, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		rt_await_threads(b);
	else
		rt_await_native(&state, 2);
	if (__atomic_load_n(&state, __ATOMIC_SEQ_CST) != 2)
		make_native(b);
	__atomic_store_n(&state, 2, __ATOMIC_SEQ_CST);
	rt_signal_native(b);
}

#ifndef RT_IDT
/* The controller is gone: the program goes on in its original code. */
void rt_resume_native(struct rt_block *b)
{
	b->r11_use = RT_R11_PROGRAM;
	rt_make_native(b);
	rt_native_jump();
}
#endif

/* The controller is gone before the call has been made: the program makes it itself. */
void rt_call_native(struct rt_block *b)
{
	b->ctx.pc -= 2;				/* syscall, int 0x80, sysenter */
	rt_resume_native(b);
}
