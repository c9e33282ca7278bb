/* SPDX-License-Identifier: MIT */
/* from_translated.c - the way in from translated code, and how threads begin */
#include "rt.h"

/* A link that cannot be patched, for its code is the cache's file: the answer is in a table. Who
 * goes this way often asks nevertheless, now and then, and then the code is copied. */
static int shortcut(struct rt_block *b)
{
#if !defined RT_IDT && !defined __i386__
	const u64 to = __atomic_load_n((const u64 *)PTR(b->links + RT_LINKS_SIZE) + (u32)b->exit_id,
				       __ATOMIC_ACQUIRE);

	if (to && ++b->shortcuts % RT_SHORTCUTS) {
		b->resume = to;
		return 1;
	}
#endif
	return 0;
}

/* The link is a call's to a call entry (translate.h), where the tree would have gone on. */
static int is_call_of_entry(struct rt_block *b)
{
	const int is = b->tree && b->tree_event & RT_TREE_LINK;

	if (is) {
		b->tree_event = 0;
		b->tree_end = RT_ENDS_CALL;
		b->tree_next = *(const u64 *)PTR(b->ctx.gpr[RSP]);
		b->tree_pending = 1;
	}
	return is;
}

static int enter(struct rt_block *b, u32 door)
{
	int is_call;

	b->log_place = 0;
	switch (door) {
	case 0:
		b->ctx.pc = ((const u64 *)PTR(b->links))[(u32)b->exit_id];
		is_call = is_call_of_entry(b);
		if (shortcut(b)) {
			if (is_call)		/* to the direct entry */
				b->resume += *(const u32 *)PTR(b->resume - 4);
			return 0;
		}
		if (!rt_ask(b, RQ_RESOLVE, (u32)b->exit_id, 0, 0, 0))
			rt_resume_native(b);
		b->resume = b->mail.r[0];
		if (b->resume)
			rt_count_answered(b, b->ctx.gpr[RSP]);
		else
			rt_resume(b);
		return 0;
	case 1:
	case 3:
		is_call = rt_syscall_entry(b, door == 3);
#ifdef RT_IDT
		rt_image_order(b);
#endif
		if (is_call)
			return is_call > 0 ? rt_do_syscall(b) : 0;
		/* fall through */
	case 2:
		b->ctx.pc = b->exit_pc;
		if (b->logged && rt_logged_insn(b, b->exit_pc))
			return 0;
		rt_step_in_place(b, b->exit_pc);
		return 0;
#if !defined RT_IDT && !defined __i386__
	case 5:
		b->ctx.pc = b->exit_pc;
		rt_count_spent(b);
		rt_resume(b);
		return 0;
	case 7:
		rt_tree_event(b);
		return 0;
#endif
#ifndef RT_IDT
	case 6:
		b->ctx.pc = b->exit_pc;
		rt_at_safepoint(b);
		return 0;
#endif
	case 4:
		b->ctx.pc = b->exit_pc;
		if (!rt_ask(b, RQ_CHECKFAIL, b->exit_pc, 0, 0, 0))
			rt_resume_native(b);
		b->resume = b->mail.r[0];
		if (!b->resume)
			rt_resume(b);
		return 0;
	}
	return 0;
}

int rt_enter(struct rt_block *b, u32 door);

/* From entry_*.S. Returns 1: execute the system call in ctx in the window. */
int rt_enter(struct rt_block *b, u32 door)
{
	const int is_call = enter(b, door);

	if (!b->held)				/* a signal is given before */
		rt_stop_perhaps(b);
	return is_call;
}

extern word rt_boot_rsp, rt_boot_regs[2];

static void set_doors(struct rt_block *b)
{
	b->do_resolve = (word)rt_resolve;
	b->do_syscall = (word)rt_syscall;
	b->do_step = (word)rt_step;
	b->do_int80 = (word)rt_int80;
	b->do_check = (word)rt_check;
	b->do_count = (word)rt_spent;
	b->do_safepoint = (word)rt_safepoint;
	b->do_tree = (word)rt_tree;
	b->self = (word)b;
}

/* The first thread of a program that begins at @pc; or of one that was running, whose state is in
 * @b. */
void rt_block_begin(struct rt_block *b, u64 pc)
{
	set_doors(b);
	b->pid = (u32)rt_sys(NR_getpid, 0);
	b->tid = (u32)rt_sys(NR_gettid, 0);
	if (b->origin == BLK_ATTACHED) {
		rt_switch_segment(b);
		rt_signal_attached(b);
		b->fix_mask = 1;
		__atomic_store_n(&b->state, BLK_LIVE, __ATOMIC_RELEASE);
		return;
	}
	b->ctx = (struct rt_ctx){ .pc = pc, .flags = 0x202 };
	b->ctx.gpr[RSP] = rt_boot_rsp;
	b->ctx.gpr[RAX] = rt_boot_regs[0];
	b->ctx.gpr[RDX] = rt_boot_regs[1];
	rt_switch_segment(b);
	rt_clock_begin(b);
	rt_token_begin(b);
	rt_signal_boot(b);
	b->state = BLK_LIVE;
}

void rt_child(struct rt_block *b);

/* A new thread or process, or one that was running, on its own block; ctx is already the child's.
 * All signals are blocked. */
void rt_child(struct rt_block *b)
{
	if (b->origin == BLK_ATTACHED)
		set_doors(b);
	if (b->origin == BLK_FORKED) {
		rt_ranges_lock(0);
		rt_no_threads_inside();
	}
	b->tid = (u32)rt_sys(NR_gettid, 0);
	b->pid = (u32)rt_sys(NR_getpid, 0);
	if (b->origin == BLK_FORKED)
		rt_block_forked(b);
	if (b->origin == BLK_ATTACHED)
		rt_signal_thread_attached(b);
	else
		rt_signal_thread(b);
	/* until now a signal, even one that is only called a fault, would have come on another
	 * thread's stack, and so to that thread */
	if (b->origin != BLK_ATTACHED)
		rt_block_but_faults();
	if (b->cleared)
		rt_sighand_cleared(b);
	b->state = BLK_LIVE;
	if (!rt_ask(b, RQ_HELLO, b->pid, b->tid, b->tid == b->pid, 0))
		rt_resume_native(b);
	rt_apart |= b->apart;
	if (b->origin == BLK_FORKED)
		rt_token_forked(b);
	else if (b->logged)
		rt_token_first(b);
	if (b->tid_at)
		rt_put(b->tid_at, rt_replays(b) ? &b->log_tid : &b->tid, 4);
	rt_clock_await(b);
	rt_stop_perhaps(b);
	rt_trace_start(b);
	if (b->tid != b->pid && b->seen_tid) {	/* at its first turn: a recording decides that */
		const u64 tid = b->seen_tid;

		rt_trace_note(b, RT_N_THREAD, &tid, 1);
	}
	b->fix_mask = 1;
	if (b->origin == BLK_ATTACHED) {
		rt_resume(b);
		b->origin = BLK_THREAD;
	}
}
