/* SPDX-License-Identifier: MIT */
/* sigstate.c - what a program has said about its signals: handlers, masks, signal stacks
 *
 * The kernel has our handler for those that the program handles, and our signal stack. */
#include "rt.h"

static struct rt_sighand hands[16];	/* the first is the first process's */

struct rt_sighand *rt_sighand_copy(const struct rt_sighand *from)
{
	for (u32 i = 0; i < NR_OF(hands); i++)
		if (!__atomic_exchange_n(&hands[i].used, 1, __ATOMIC_ACQUIRE)) {
			rt_memcpy(&hands[i], from, sizeof hands[i]);
			hands[i].used = 1;
			return &hands[i];
		}
	return (struct rt_sighand *)from;	/* 16 unfinished vforks at once: share */
}

static long install(u32 sig, u64 flags, struct k_sigaction *was)
{
	struct k_sigaction k = {
		.handler = (word)rt_sigentry,
		.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTORER |
			 (word)(flags & (SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT)),
		.restorer = (word)rt_sigrestore,
		.mask = ~SYNC_SIGS,
	};

	if (SIG_BIT(sig) & SYNC_SIGS)
		k.flags |= SA_NODEFER;
	return rt_sys(NR_rt_sigaction, sig, &k, was, 8);
}

/* Signals whose default is to end the process. An instrumented executable takes them, to write its
 * files first: it has no controller that would do so when it is gone. */
#define ENDS (~(SYNC_SIGS | UNBLOCKABLE | SIG_BIT(17) | SIG_BIT(18) | SIG_BIT(20) | \
		SIG_BIT(21) | SIG_BIT(22) | SIG_BIT(23) | SIG_BIT(28)))
				/* CHLD CONT TSTP TTIN TTOU URG WINCH */
#ifdef RT_IDT
#define WATCHED ENDS
#else
#define WATCHED 0ull
#endif

/* The kernel has made every handler the default, ours among them. What the program ignores it
 * ignores still. */
void rt_sighand_cleared(struct rt_block *b)
{
	const struct k_sigaction none = { 0 };
	struct rt_sighand *h = PTR(b->sighand);

	for (u32 s = 1; s < 65; s++) {
		struct k_sigaction *act = &h->act[s];

		if (!(h->ours & SIG_BIT(s)))
			continue;
		if (b->cleared == 1 && act->handler > 1)
			*act = (struct k_sigaction){ 0 };
		if (b->cleared == 2 || (SYNC_SIGS | WATCHED) & SIG_BIT(s))
			install(s, act->flags, 0);
		else
			h->ours &= ~SIG_BIT(s);
		if (rt_replays(b) && !(h->ours & SIG_BIT(s)))	/* it was no clone3() now */
			rt_sys(NR_rt_sigaction, s, &none, 0, 8);
	}
	b->cleared = 0;
}

void rt_heed_fatal(struct rt_block *b)
{
	const struct rt_sighand *h = PTR(b->sighand);
	u64 pending = 0, was, only;

	if (rt_failed(rt_sys(NR_rt_sigpending, &pending, 8)))
		return;
	pending &= ENDS & ~b->app_mask;
	for (u32 s = 1; pending && s < 65; s++) {
		if (!(pending & SIG_BIT(s)) || h->act[s].handler)
			continue;
		only = ~SIG_BIT(s);
		rt_sys(NR_rt_sigprocmask, 2, &only, &was, 8);
		rt_sys(NR_rt_sigprocmask, 2, &was, 0, 8);
	}
}

void rt_record_mask(struct rt_block *b, u64 mask)
{
	b->app_mask = mask & ~UNBLOCKABLE;
	b->real_mask = b->app_mask & ~SYNC_SIGS;
}

void rt_signal_thread(struct rt_block *b)
{
	struct k_stack ss = { .sp = (word)b + RT_ALT_STACK, .size = RT_ALT_SIZE };

	rt_sys(NR_sigaltstack, &ss, 0);
}

/* Until grow_stack() our signal stack is of @size bytes, if it is larger; its top stays where it
 * was. What the kernel says if that is too small, which depends on whether the process may have
 * tiles (AMX). No signals meanwhile. */
static long shrink_stack(struct rt_block *b, u64 size, u64 *mask)
{
	struct k_stack ss = { .sp = (word)b + RT_ALT_STACK + RT_ALT_SIZE - (word)size,
			      .size = (word)size };
	const u64 all = ~0ull;

	rt_sys(NR_rt_sigprocmask, 2, &all, mask, 8);
	return size < RT_ALT_SIZE ? rt_sys(NR_sigaltstack, &ss, 0) : 0;
}

static void grow_stack(struct rt_block *b, u64 mask)
{
	rt_signal_thread(b);
	rt_sys(NR_rt_sigprocmask, 2, &mask, 0, 8);
}

void rt_signal_boot(struct rt_block *b)
{
	const u64 all = ~0ull;
	u64 mask = 0;

	b->sighand = (word)&hands[0];
	hands[0].used = 1;
	b->app_alt_flags = SS_DISABLE;
	rt_sys(NR_rt_sigprocmask, 2, &all, &mask, 8);
	rt_record_mask(b, mask);
	rt_signal_thread(b);
	for (u32 s = 1; s < 65; s++) {
		struct k_sigaction *was = &hands[0].act[s];

		if (!((SYNC_SIGS | WATCHED) & SIG_BIT(s)) || rt_failed(install(s, 0, was)))
			continue;
		if (SYNC_SIGS & SIG_BIT(s) || !was->handler)
			hands[0].ours |= SIG_BIT(s);
		else
			rt_sys(NR_rt_sigaction, s, was, 0, 8);	/* ignored, and stays so */
	}
	rt_sys(NR_rt_sigprocmask, 2, &b->real_mask, 0, 8);
}

/* What the thread has as its signal stack, and ours from now on. All signals are blocked. */
void rt_signal_thread_attached(struct rt_block *b)
{
	struct k_stack was = { .flags = SS_DISABLE };

	rt_sys(NR_sigaltstack, 0, &was);
	b->app_alt_sp = was.sp;
	b->app_alt_size = was.size;
	b->app_alt_flags = was.flags & (SS_DISABLE | SS_AUTODISARM);
	b->sighand = (word)&hands[0];
	rt_record_mask(b, b->app_mask);
	rt_signal_thread(b);
}

/* The first thread of a program that was running: its handlers become the program's. */
void rt_signal_attached(struct rt_block *b)
{
	hands[0].used = 1;
	rt_signal_thread_attached(b);
	for (u32 s = 1; s < 65; s++) {
		struct k_sigaction *act = &hands[0].act[s];

		if (UNBLOCKABLE & SIG_BIT(s) || rt_failed(rt_sys(NR_rt_sigaction, s, 0, act, 8)))
			continue;
		if (!(SYNC_SIGS & SIG_BIT(s)) && act->handler <= 1)
			continue;
		hands[0].ours |= SIG_BIT(s);
		install(s, act->flags, 0);
	}
}

/* ---- signals that wait ----------------------------------------------------------------------- */
static u64 set_mask(u64 mask)
{
	u64 was = 0;

	rt_sys(NR_rt_sigprocmask, 2, &mask, &was, 8);
	return was;
}

void rt_block_but_faults(void)
{
	set_mask(~SYNC_SIGS);
}

#define IGNORED_BY_DEFAULT (SIG_BIT(17) | SIG_BIT(18) | SIG_BIT(23) | SIG_BIT(28))
					/* SIGCHLD, SIGCONT, SIGURG, SIGWINCH */

static u32 times_ignored(const struct rt_block *b, u32 sig)
{
	const struct rt_sighand *h = PTR(b->sighand);

	return __atomic_load_n(&h->ignored[sig], __ATOMIC_SEQ_CST);
}

/* The kernel has given it to our handler; another thread has said since that it is ignored. */
static int comes_too_late(const struct rt_block *b, u32 sig)
{
	const struct rt_sighand *h = PTR(b->sighand);

	return !(SYNC_SIGS & SIG_BIT(sig)) && h->act[sig].handler == 1;
}

/* As the kernel does: of a standard signal there is one for the thread and one for the process. */
void rt_signal_waits(struct rt_block *b, u32 sig, const struct k_siginfo *info)
{
	const u32 shared = info->code != SI_TKILL;
	const u32 ignored = times_ignored(b, sig);
	const u64 mask = set_mask(~0ull);
	u32 i = 0;

	if (comes_too_late(b, sig)) {
		set_mask(mask);
		return;
	}
	while (i < b->nwaiting &&
	       (sig > 31 || b->waiting[i].sig != sig || b->waiting[i].shared != shared))
		i++;
	if (i == b->nwaiting && i < RT_MAX_WAITING) {
		b->waiting[i].sig = sig;
		b->waiting[i].shared = shared;
		b->waiting[i].ignored = ignored;
		rt_memcpy(b->waiting[i].info, info, 128);
		b->nwaiting++;
	}
	set_mask(mask);
}

static void to_thread(const struct rt_block *b, const struct rt_waiting *w)
{
	rt_sys(NR_rt_tgsigqueueinfo, b->pid, b->tid, w->sig, w->info);
}

/* Other threads than the first may not pretend that somebody else has sent it: then it stays
 * theirs. */
static void to_process(const struct rt_block *b, const struct rt_waiting *w)
{
	const struct k_siginfo *info = (const struct k_siginfo *)w->info;

	if (!rt_failed(rt_sys(NR_rt_sigqueueinfo, b->pid, w->sig, info)))
		return;
	if (info->code || (u32)info->addr != b->pid ||
	    rt_failed(rt_sys(NR_kill, b->pid, w->sig)))
		to_thread(b, w);
}

/* Queue in the kernel what the program does not block, @unblocked, and what it does, @blocked:
 * then for
 * whom it was sent to. Everything is blocked meanwhile. */
static void queue_waiting(struct rt_block *b, int unblocked, int blocked)
{
	u32 kept = 0;

	if (!b->nwaiting)
		return;
	set_mask(~0ull);
	for (u32 i = 0; i < b->nwaiting; i++) {
		const struct rt_waiting *w = &b->waiting[i];
		const int is_blocked = (b->app_mask & SIG_BIT(w->sig)) != 0;

		if (w->ignored != times_ignored(b, w->sig))
			continue;		/* one that is ignored is not pending */
		if (is_blocked ? !blocked : !unblocked)
			b->waiting[kept++] = *w;
		else if (is_blocked && w->shared)
			to_process(b, w);
		else
			to_thread(b, w);
	}
	b->nwaiting = kept;
}

void rt_flush_pending(struct rt_block *b)
{
	b->calling = b->held = 0;
	queue_waiting(b, 1, 0);
}

/* With what the program ignores, so that it does not end a call. Where threads are stopped by
 * SIGTRAP
 * that remains. */
static u64 call_mask(const struct rt_block *b)
{
	const struct rt_sighand *h = PTR(b->sighand);
	u64 mask = b->app_mask;

	for (u32 s = SIGILL; s <= SIGSEGV; s++)
		if (SYNC_SIGS & SIG_BIT(s) && h->act[s].handler == 1)
			mask |= SIG_BIT(s);
#ifdef RT_IDT
	if (rt_image_threads)
		mask &= ~SIG_BIT(SIGTRAP);
#endif
	return mask;
}

void rt_call_begin(struct rt_block *b)
{
	const u64 mask = call_mask(b);

	if (!(mask & SYNC_SIGS) || b->held)
		return;
	b->fix_mask = 1;
	b->calling = 1;
	queue_waiting(b, 0, 1);
	set_mask(mask);
}

void rt_call_end(struct rt_block *b)
{
	if (b->calling)
		set_mask(b->real_mask);
	b->calling = 0;
}

void rt_call_resume(struct rt_block *b)
{
	if (b->calling)
		queue_waiting(b, 0, 1);
}

void rt_handlers_native(struct rt_block *b)
{
	struct rt_sighand *h = PTR(b->sighand);

	if (__atomic_exchange_n(&h->native, 1, __ATOMIC_SEQ_CST))
		return;
	for (u32 s = 1; s < 65; s++)
		if (h->ours & SIG_BIT(s))
			rt_sys(NR_rt_sigaction, s, &h->act[s], 0, 8);
}

void rt_signal_native(struct rt_block *b)
{
	struct k_stack ss = { (word)b->app_alt_sp, b->app_alt_flags & SS_DISABLE,
			      (word)b->app_alt_size };

	rt_handlers_native(b);
	rt_sys(NR_sigaltstack, &ss, 0);
	queue_waiting(b, 1, 1);
	set_mask(b->app_mask);
	b->fix_mask = 0;
}

/* ---- the calls ------------------------------------------------------------------------------- */
long rt_sigaction(struct rt_block *b, u64 sig, const struct k_sigaction *new,
		  struct k_sigaction *was)
{
	struct rt_sighand *h = PTR(b->sighand);
	long r;

	if (sig < 1 || sig > 64 || ((sig == SIGKILL || sig == SIGSTOP) && new))
		return -EINVAL;
	if (h->ours & SIG_BIT(sig)) {
		*was = h->act[sig];
	} else {
		r = rt_sys(NR_rt_sigaction, sig, 0, was, 8);
		if (r < 0)
			return r;
	}
	if (!new)
		return 0;
	h->act[sig] = *new;
	h->act[sig].mask &= ~UNBLOCKABLE;
	if (new->handler == 1 || (!new->handler && IGNORED_BY_DEFAULT & SIG_BIT(sig)))
		__atomic_fetch_add(&h->ignored[sig], 1, __ATOMIC_SEQ_CST);
	if (SIG_BIT(sig) & SYNC_SIGS) {
		/* ours for good; ignoring a sent one is done when it arrives */
	} else if (new->handler > 1) {
		h->ours |= SIG_BIT(sig);
		return install((u32)sig, new->flags, 0);
	} else if (WATCHED & SIG_BIT(sig) && !new->handler) {
		h->ours |= SIG_BIT(sig);
		return install((u32)sig, 0, 0);
	} else {
		r = rt_sys(NR_rt_sigaction, sig, new, 0, 8);
		if (r < 0)
			return r;
		h->ours &= ~SIG_BIT(sig);
	}
	return 0;
}

long rt_sigaction_call(struct rt_block *b, u64 sig, u64 act, u64 old, u64 size)
{
	struct k_sigaction new, was;
	long r;

	if (size != 8)
		return -EINVAL;
	if (act && rt_get(&new, act, sizeof new))
		return -EFAULT;
	r = rt_sigaction(b, sig, act ? &new : 0, &was);
	if (!r && old)
		r = rt_put(old, &was, sizeof was);
	return r;
}

void rt_set_mask(struct rt_block *b, u64 mask)
{
	rt_record_mask(b, mask);
	b->fix_mask = 1;
}

long rt_sigprocmask_call(struct rt_block *b, u64 how, u64 set, u64 old, u64 size)
{
	u64 new, was = b->app_mask;

	if (size != 8)
		return -EINVAL;
	if (set) {
		if (rt_get(&new, set, 8))
			return -EFAULT;
		if (how == 0)
			new = was | new;
		else if (how == 1)
			new = was & ~new;
		else if (how != 2)
			return -EINVAL;
		rt_set_mask(b, new);
	}
	if (old && rt_put(old, &was, 8))
		return -EFAULT;
	return 0;
}

int rt_on_app_stack(const struct rt_block *b, u64 sp)
{
	return !(b->app_alt_flags & SS_DISABLE) && !(b->app_alt_flags & SS_AUTODISARM) &&
	       sp > b->app_alt_sp && sp - b->app_alt_sp <= b->app_alt_size;
}

long rt_sigaltstack_call(struct rt_block *b, u64 ss, u64 old)
{
	u64 sp = b->ctx.gpr[RSP], mask;
	struct k_stack new, was = { .sp = (word)b->app_alt_sp, .size = (word)b->app_alt_size };
	long r;

	was.flags = b->app_alt_size ? (b->app_alt_flags & SS_AUTODISARM) : SS_DISABLE;
	if (b->app_alt_flags & SS_DISABLE)
		was.flags = SS_DISABLE;
	else if (rt_on_app_stack(b, sp))
		was.flags |= SS_ONSTACK;
	if (ss) {
		if (rt_get(&new, ss, sizeof new))
			return -EFAULT;
		if (rt_on_app_stack(b, sp))
			return -EPERM;
		if ((new.flags & ~SS_AUTODISARM) & ~(u32)(SS_DISABLE | SS_ONSTACK))
			return -EINVAL;
		if (new.flags & SS_DISABLE) {
			b->app_alt_sp = b->app_alt_size = 0;
			b->app_alt_flags = SS_DISABLE;
		} else {
			r = shrink_stack(b, new.size, &mask);
			grow_stack(b, mask);
			if (rt_failed(r))
				return -ENOMEM;
			b->app_alt_sp = new.sp;
			b->app_alt_size = new.size;
			b->app_alt_flags = new.flags & SS_AUTODISARM;
		}
	}
	if (old && rt_put(old, &was, sizeof was))
		return -EFAULT;
	return 0;
}

#ifndef __i386__
/* Only the kernel can tell whether there are signal stacks that are too small: of this thread,
 * which has mostly no company yet. */
long rt_request_tiles(struct rt_block *b)
{
	u64 mask;
	long r;

	shrink_stack(b, b->app_alt_flags & SS_DISABLE ? RT_ALT_SIZE : b->app_alt_size, &mask);
	r = rt_app_sys(NR_arch_prctl, ARG0, ARG1, ARG2, ARG3, ARG4, ARG5);
	grow_stack(b, mask);
	return r;
}
#endif

#ifndef RT_IDT
/* Another program begins: the kernel has our handlers for none but those that it always has. */
void rt_forget_signals(void)
{
	const struct k_sigaction none = { 0 };

	for (u32 s = 1; s < 65; s++) {
		if (!(hands[0].ours & SIG_BIT(s)))
			continue;
		rt_sys(NR_rt_sigaction, s, &none, 0, 8);
		hands[0].act[s] = none;
	}
	hands[0].ours = 0;
}
#endif
