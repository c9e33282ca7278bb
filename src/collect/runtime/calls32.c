/* SPDX-License-Identifier: MIT */
/* calls32.c - system calls that only 32-bit programs make */
#include "rt.h"

/* The vDSO has pushed ebp, which may hold an argument, and uses it for something else. */
int rt_syscall_entry(struct rt_block *b, int fast)
{
	u32 ebp;

	b->ctx.pc = b->exit_pc;
	b->resume = b->cont;
	if (!fast)
		return 1;
	if (rt_get(&ebp, b->ctx.gpr[RSP], 4)) {
		RET = -(word)EFAULT;
		return -1;
	}
	b->ctx.gpr[RBP] = ebp;
	return 1;
}

static long old_mmap(struct rt_block *b)
{
	word arg[6];

	if (rt_get(arg, ARG0, sizeof arg))
		return -EFAULT;
	if (arg[5] & 4095)
		return -EINVAL;
	arg[5] >>= 12;
	rt_do_mmap(b, arg);
	return (long)RET;
}

static long old_sigaction(struct rt_block *b)
{
	struct { u32 handler, mask, flags, restorer; } new, was;
	struct k_sigaction act, old;
	long r;

	if (ARG1) {
		if (rt_get(&new, ARG1, sizeof new))
			return -EFAULT;
		act = (struct k_sigaction){ new.handler, new.flags, new.restorer, new.mask };
	}
	r = rt_sigaction(b, ARG0, ARG1 ? &act : 0, &old);
	if (r || !ARG2)
		return r;
	was.handler = old.handler;
	was.mask = (u32)old.mask;
	was.flags = old.flags;
	was.restorer = old.restorer;
	return rt_put(ARG2, &was, sizeof was);
}

static long old_signal(struct rt_block *b)
{
	struct k_sigaction act = { ARG1, SA_RESETHAND | SA_NODEFER, 0, 0 }, old;
	long r = rt_sigaction(b, ARG0, &act, &old);

	return r ? r : (long)old.handler;
}

static long old_sigprocmask(struct rt_block *b)
{
	u32 was = (u32)b->app_mask, set;
	u64 new = b->app_mask;

	if (ARG1) {
		if (rt_get(&set, ARG1, 4))
			return -EFAULT;
		if (ARG0 == 0)
			new |= set;
		else if (ARG0 == 1)
			new &= ~(u64)set;
		else if (ARG0 == 2)
			new = (new & ~0xffffffffull) | set;
		else
			return -EINVAL;
		rt_set_mask(b, new);
	}
	return ARG2 ? rt_put(ARG2, &was, 4) : 0;
}

int rt_arch_syscall(struct rt_block *b)
{
	u32 entry, was;

	switch (RET) {
	case NR_old_mmap:
		RET = (word)old_mmap(b);
		return 0;
	case NR_sigaction:
		RET = (word)old_sigaction(b);
		return 0;
	case NR_signal:
		RET = (word)old_signal(b);
		return 0;
	case NR_sigprocmask:
		RET = (word)old_sigprocmask(b);
		return 0;
	case NR_sgetmask:
		RET = (word)b->app_mask;
		return 0;
	case NR_ssetmask:
		was = (u32)b->app_mask;
		rt_set_mask(b, ARG0);
		RET = was;
		return 0;
	case NR_sigreturn:
		rt_sigreturn_call(b);
		return 0;
	case NR_set_thread_area:
		if (!rt_get(&entry, ARG0, 4) && rt_is_our_segment(entry)) {
			RET = -(word)EINVAL;
			return 0;
		}
		return 1;
	}
	return -1;
}
