/* SPDX-License-Identifier: MIT */
/* signal.c - the program's signals
 *
 * The kernel knows one handler, rt_sigentry, on the block's own stack, for every signal that the
 * program handles and for the five synchronous ones. It finds out what the program's state is
 * (asking the controller where translated code stands), builds the frame that the kernel would have
 * built, and goes on in the translation of the program's handler. */
#include "rt.h"

void rt_signal(int sig, struct k_siginfo *info, struct k_ucontext *uc);

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

/* Signals whose default is to end the process. An instrumented executable takes them, to write its files
 * first: it has no controller that would do so when it is gone. */
#ifdef RT_IDT
#define WATCHED (~(SYNC_SIGS | UNBLOCKABLE | SIG_BIT(17) | SIG_BIT(18) | SIG_BIT(20) | SIG_BIT(21) | \
		   SIG_BIT(22) | SIG_BIT(23) | SIG_BIT(28)))	/* CHLD CONT TSTP TTIN TTOU URG WINCH */
#else
#define WATCHED 0ull
#define rt_image_dying(b) ((void)(b))
#define rt_image_stops(b, sig, info) 0
#define rt_image_stopped(b) ((void)(b))
#endif

static void set_mask(struct rt_block *b, u64 mask)
{
	b->app_mask = mask & ~UNBLOCKABLE;
	b->real_mask = b->app_mask & ~SYNC_SIGS;
}

void rt_signal_thread(struct rt_block *b)
{
	struct k_stack ss = { .sp = (word)b + RT_ALT_STACK, .size = RT_ALT_SIZE };

	rt_sys(NR_sigaltstack, &ss, 0);
}

/* Until grow_stack() our signal stack is of @size bytes, if it is larger; its top stays where it was. What the kernel
 * says if that is too small, which depends on whether the process may have tiles (AMX). No signals meanwhile. */
static long shrink_stack(struct rt_block *b, u64 size, u64 *mask)
{
	struct k_stack ss = { .sp = (word)b + RT_ALT_STACK + RT_ALT_SIZE - (word)size, .size = (word)size };
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
	set_mask(b, mask);
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

void rt_signal_native(struct rt_block *b)
{
	struct rt_sighand *h = PTR(b->sighand);
	struct k_stack ss = { (word)b->app_alt_sp, b->app_alt_flags & SS_DISABLE, (word)b->app_alt_size };

	for (u32 s = 1; s < 65; s++)
		if (h->ours & SIG_BIT(s))
			rt_sys(NR_rt_sigaction, s, &h->act[s], 0, 8);
	rt_sys(NR_sigaltstack, &ss, 0);
	rt_flush_pending(b);
	rt_sys(NR_rt_sigprocmask, 2, &b->app_mask, 0, 8);
	b->fix_mask = 0;
}

/* The controller is gone: @uc goes on as it is, in original code, or in translated code up to its next
 * exit. */
static void leave_native(struct rt_block *b, struct k_ucontext *uc)
{
	rt_make_native(b);
	uc->sigmask = b->app_mask;
	uc->stack = (struct k_stack){ .sp = (word)b->app_alt_sp, .flags = b->app_alt_flags,
				      .size = (word)b->app_alt_size };
}

/* ---- the calls ---------------------------------------------------------------------------------- */
long rt_sigaction(struct rt_block *b, u64 sig, const struct k_sigaction *new, struct k_sigaction *was)
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
	set_mask(b, mask);
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
/* Only the kernel can tell whether there are signal stacks that are too small: of this thread, which has mostly no
 * company yet. */
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

/* ---- the program's frame ------------------------------------------------------------------------ */
/* @uc: the state that dies, which a core dump has; NULL: at once, as whatever is here. A fault is sent again, too, for
 * the instruction may not fault twice: another thread may have mapped the page, or it was the kernel that could not
 * restore a frame (SI_KERNEL). */
static void restore_default_and_die(u32 sig, struct k_siginfo *info, struct k_ucontext *uc)
{
	const u64 only = ~SIG_BIT(sig), all = ~0ull;
	struct k_sigaction dfl = { 0 };
	const long pid = rt_sys(NR_getpid, 0), tid = rt_sys(NR_gettid, 0);

	rt_sys(NR_rt_sigaction, sig, &dfl, 0, 8);
	rt_sys(NR_rt_sigprocmask, 2, uc ? &all : &only, 0, 8);
	if (!info || rt_failed(rt_sys(NR_rt_tgsigqueueinfo, pid, tid, sig, info)))
		rt_sys(NR_tgkill, pid, tid, sig);
	if (uc)
		uc->sigmask = only;
}

void rt_signal_kill(struct rt_block *b, struct k_siginfo *info)
{
	rt_image_dying(b);
	restore_default_and_die((u32)info->signo, info, 0);
}

/* Queued, it comes on the way out; before any other, for its code is one of the kernel's. */
void rt_signal_force(struct rt_block *b, struct k_siginfo *info)
{
	const struct rt_sighand *h = PTR(b->sighand);

	if (h->act[info->signo].handler <= 1 || (b->app_mask & SIG_BIT(info->signo)))
		rt_signal_kill(b, info);
	else
		rt_sys(NR_rt_tgsigqueueinfo, b->pid, b->tid, info->signo, info);
}

/* @uc is the program's state but for the pc, which is @pc. */
static void go_on_at(struct rt_block *b, struct k_ucontext *uc, u64 pc)
{
	b->ctx.pc = pc;
	b->mail.r[0] = 0;
	if (!rt_ask(b, RQ_LOOKUP, pc, 0, 0, 0)) {
		leave_native(b, uc);
		b->stolen = RT_R11_OWN;
	}
	rt_steal_r11(b, uc);
	b->s_rcx = UC_GPR(uc, RCX);
	b->s_rdx = UC_GPR(uc, RDX);
	UC_PC(uc) = (word)(b->mail.r[0] ? b->mail.r[0] : pc);
}

static void resume_at(struct rt_block *b, struct k_ucontext *uc, u64 pc)
{
	for (u32 i = 0; i < RT_NGPR; i++)
		b->ctx.gpr[i] = UC_GPR(uc, i);
	b->ctx.pc = pc;
	b->ctx.flags = UC_FLAGS(uc) & ~(word)0x100;
	rt_trace_state(b, UC_GPR(uc, RSP));
	go_on_at(b, uc, pc);
}

/* uc is the kernel's frame on our stack, its registers already the program's at original @pc.
 * Afterwards it is the state at the first instruction of the program's handler. False: no room on
 * the program's stack (the kernel would send SIGSEGV). */
static int deliver(struct rt_block *b, u32 sig, struct k_siginfo *info, struct k_ucontext *uc, u64 pc,
		   u64 flags)
{
	struct rt_sighand *h = PTR(b->sighand);
	struct k_sigaction *act = &h->act[sig];
	const u64 call[3] = { sig, pc, act->handler };
	struct k_stack ss = { (word)b->app_alt_sp, b->app_alt_flags, (word)b->app_alt_size };
	word old_sp = UC_GPR(uc, RSP), sp = old_sp - RT_RED_ZONE, least = rt_on_app_stack(b, old_sp) ? ss.sp : 0;

	if ((act->flags & SA_ONSTACK) && !(b->app_alt_flags & SS_DISABLE) && !rt_on_app_stack(b, old_sp)) {
		sp = (word)(b->app_alt_sp + b->app_alt_size);
		least = ss.sp;
		if (b->app_alt_flags & SS_AUTODISARM) {
			b->app_alt_sp = b->app_alt_size = 0;
			b->app_alt_flags = SS_DISABLE;
		}
	} else if (rt_on_app_stack(b, old_sp)) {
		ss.flags |= SS_ONSTACK;
	}
	if (!rt_push_frame(b, sig, info, uc, &ss, sp, (word)pc, (word)flags) || UC_GPR(uc, RSP) <= least)
		return 0;
	UC_FLAGS(uc) = (word)flags & ~(word)(0x400 | 0x100 | 0x10000);	/* DF TF RF */
	rt_trace_note(b, RT_N_SIGNAL, call, 3);
	rt_trace_state(b, UC_GPR(uc, RSP));
	set_mask(b, b->app_mask | act->mask | (act->flags & SA_NODEFER ? 0 : SIG_BIT(sig)));
	uc->sigmask = b->real_mask;
	pc = act->handler;
	if (act->flags & SA_RESETHAND) {
		act->handler = 0;
		if (!(SIG_BIT(sig) & SYNC_SIGS)) {
			struct k_sigaction dfl = { 0 };

			rt_sys(NR_rt_sigaction, sig, &dfl, 0, 8);
			h->ours &= ~SIG_BIT(sig);
		}
	}
	/* a handler that is no code: jumped to as it is, and faults as the program's own doing */
	go_on_at(b, uc, pc);
	return 1;
}

static void from_ctx(const struct rt_block *b, struct k_ucontext *uc)
{
	for (u32 i = 0; i < RT_NGPR; i++)
		UC_GPR(uc, i) = (word)b->ctx.gpr[i];
}

static void hold(struct rt_block *b, u32 sig, const struct k_siginfo *info, struct k_ucontext *uc)
{
	b->pend_sig = sig;
	rt_memcpy(b->pend_info, info, 128);
	b->fix_mask = 1;
	uc->sigmask = ~SYNC_SIGS;
}

/* Queued again for when the mask is set, which is next: the synchronous ones, too, whom nothing else
 * keeps from arriving here at once. */
void rt_flush_pending(struct rt_block *b)
{
	const u64 all = ~0ull;
	u32 sig = b->pend_sig;

	if (sig || b->held_sig)
		rt_sys(NR_rt_sigprocmask, 2, &all, 0, 8);
	if (sig) {
		b->pend_sig = 0;
		rt_sys(NR_rt_tgsigqueueinfo, b->pid, b->tid, sig, b->pend_info);
	}
	if (b->held_sig && !(b->app_mask & SIG_BIT(b->held_sig))) {
		sig = b->held_sig;
		b->held_sig = 0;
		rt_sys(NR_rt_tgsigqueueinfo, b->pid, b->tid, sig, b->held_info);
	}
}

/* Does the signal not concern the program, or not yet? A blocked one that was sent is held. */
static int keeps_away(struct rt_block *b, u32 sig, const struct k_siginfo *info, int fault)
{
	const struct rt_sighand *h = PTR(b->sighand);

	if (fault || rt_image_stops(b, sig, info))
		return 0;
	if ((SIG_BIT(sig) & SYNC_SIGS) && (b->app_mask & SIG_BIT(sig))) {
		b->held_sig = sig;
		rt_memcpy(b->held_info, info, 128);
		return 1;
	}
	return h->act[sig].handler == 1;
}

/* ---- what a gather, or a load of a tile, has done ----------------------------------------------------------------------- */
static const uint8_t *component(const uint8_t *fx, u32 number)
{
	u32 a = 0xd, b, c = number, d;

	__asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return fx + b;
}

/* Does @uc stand at a gather or scatter, or a load or store of a tile? *left: a bit for each element that its mask still
 * has, each row that is to come. */
static int elements_left(const struct k_ucontext *uc, u64 *left)
{
	const uint8_t *p = PTR(UC_PC(uc)), *fx = UC_FX(uc), *high;
	u32 size, n, reg;

	while (*p == 0x26 || *p == 0x2e || *p == 0x36 || *p == 0x3e || (*p >= 0x64 && *p <= 0x67))
		p++;
	if (!fx || *(const u32 *)(fx + FX_SW) != FP_XSTATE_MAGIC1)
		return 0;
	if (RT_NGPR == 8 && (p[1] & 0xc0) != 0xc0)	/* les, bound */
		return 0;
	if (p[0] == 0x62 && (p[1] & 7) == 2 && ((p[4] & 0xfc) == 0x90 || (p[4] & 0xfc) == 0xa0)) {
		*left = *(const uint16_t *)(component(fx, 5) + 8 * (p[3] & 7));
		return 1;
	}
	if (p[0] != 0xc4 || (p[1] & 0x1f) != 2)
		return 0;
	if (p[3] == 0x4b) {
		*left = ~0ull << (component(fx, 17)[1] & 63);
		return 1;
	}
	if ((p[3] & 0xfc) != 0x90)
		return 0;
	size = p[2] & 0x80 ? 8 : 4;
	n = (p[2] & 4 ? 32 : 16) / size;
	reg = ~p[2] >> 3 & (RT_NGPR - 1);
	high = component(fx, 2);
	*left = 0;
	for (u32 i = 0; i < n; i++) {
		const u32 at = i * size + size - 1;
		const uint8_t *from = at < 16 ? fx + 160 + 16 * reg + at : high + 16 * reg + at - 16;

		*left |= (u64)(*from >> 7) << i;
	}
	return 1;
}

/* The program's state is in @uc, at original @pc: hand the signal to the program. @copy is the place
 * in the code cache, 0 if there is none, to cut the block's count there. */
static void give(struct rt_block *b, u32 sig, struct k_siginfo *info, struct k_ucontext *uc, u64 pc,
		 u64 flags, int fault, u64 copy)
{
	struct rt_sighand *h = PTR(b->sighand);
	struct k_sigaction *act = &h->act[sig];

	if (keeps_away(b, sig, info, fault))
		return;
	if (fault && (SIG_BIT(sig) & SYNC_SIGS) && (b->app_mask & SIG_BIT(sig)))
		act->handler = 0;		/* the kernel kills */
	if (copy) {
		u64 left;

		if (!elements_left(uc, &left))
			left = UC_GPR(uc, RSI);
		rt_ask(b, RQ_CUT, copy, left, UC_GPR(uc, RDI), 0);
	}
	if (rt_image_stops(b, sig, info)) {
		rt_image_stopped(b);
		if (copy)
			resume_at(b, uc, pc);
		return;
	}
	if (act->handler <= 1) {
		rt_count_end(b, UC_GPR(uc, RSP));
		rt_image_dying(b);
		UC_PC(uc) = (word)pc;
		UC_FLAGS(uc) = (word)flags;
		restore_default_and_die(sig, info, uc);
		return;
	}
	rt_count_end(b, UC_GPR(uc, RSP));
	if (!deliver(b, sig, info, uc, pc, flags)) {
		act = &h->act[SIGSEGV];
		act->handler = 0;
		restore_default_and_die(SIGSEGV, info, 0);
	}
}

static void set_tf(struct k_ucontext *uc, int on)
{
	if (on)
		UC_FLAGS(uc) |= 0x100;
	else
		UC_FLAGS(uc) &= ~(word)0x100;
}

/* The signal is given where the next instruction of the program begins. */
static void step_to_boundary(struct rt_block *b, u32 sig, const void *info, struct k_ucontext *uc)
{
	b->stepping = RT_STEP_TO_BOUNDARY;
	b->step_sig = sig;
	rt_memcpy(b->step_info, info, 128);
	set_tf(uc, 1);
	uc->sigmask = ~SYNC_SIGS;
}

/* The registers of an indirect transfer that found no entry (abi.h (4)). */
static void undo_transfer(const struct rt_block *b, struct k_ucontext *uc)
{
	UC_GPR(uc, RCX) = (word)b->s_rcx;
#ifdef __i386__
	UC_GPR(uc, RDX) = (word)b->s_rdx;
#endif
}

static void undo_slots(struct rt_block *b, struct k_ucontext *uc, u32 flags, u32 tmp)
{
	rt_give_r11(b, uc, tmp);
	if (flags & 2)
		UC_GPR(uc, RCX) = (word)b->s_rcx;
	if (flags & 4)
		UC_GPR(uc, RDX) = (word)b->s_rdx;
	if (flags & 8)
		UC_GPR(uc, tmp & (RT_NGPR - 1)) = (word)b->s_tmp;
	if (tmp >> 4 & 7)			/* XL_LENT() */
		UC_GPR(uc, tmp >> 4 & 7) = (word)b->s_tmp2;
	if (flags & 0x80)			/* XL_CALLED */
		UC_GPR(uc, RSP) += sizeof(word);
}

/* An instruction that only its original place can execute: that page is executable for one step. */
void rt_step_in_place(struct rt_block *b, u64 pc)
{
	u64 page = pc & ~4095ull;

	rt_count_end(b, b->ctx.gpr[RSP]);
	if (!rt_ask(b, RQ_STEP, pc, 0, 0, 0))
		rt_go_native(b);
	if (!rt_is_exec(pc, 1)) {
		rt_go(b);
		return;
	}
	/* behind the text there may be data */
	rt_sys(NR_mprotect, page, rt_is_exec(page + 4096, 1) ? 8192 : 4096, PROT_READ | PROT_EXEC);
	b->step_page = page;
	b->stepping = RT_STEP_LEAVING;
	if (b->stolen)
		b->stolen = RT_R11_LENT;
	b->fix_mask = 0;
	{
		u64 all = ~SYNC_SIGS;

		rt_sys(NR_rt_sigprocmask, 2, &all, 0, 8);
	}
	b->ctx.flags |= 0x100;
	b->resume = pc;
}

/* ---- to where twins begin ------------------------------------------------------------------------- */
#define MOST_STEPS 200			/* then it will try again when the next chunk is full */

#if !defined RT_IDT && !defined __i386__
/* Would the instruction at @p show that there is a trap flag, or change it? */
static int shows_flags(const uint8_t *p)
{
	while ((*p & 0xf0) == 0x40 || *p == 0x66 || *p == 0xf2 || *p == 0xf3 || *p == 0x2e || *p == 0x36 || *p == 0x3e ||
	       *p == 0x26 || *p == 0x64 || *p == 0x65)
		p++;
	return *p == 0x9c || *p == 0x9d;		/* pushf, popf */
}

static void stop_steps(struct rt_block *b, struct k_ucontext *uc)
{
	b->stepping = RT_STEP_NONE;
	set_tf(uc, 0);
	uc->sigmask = b->real_mask;
}

static void step_to_head(struct rt_block *b, struct k_ucontext *uc)
{
	const u64 granted = b->grant ? rt_count_granted(b) : 0;

	if (!granted || shows_flags(PTR(UC_PC(uc))))
		return;
	b->told = b->budget = granted;
	b->steps = 0;
	b->step_page = UC_PC(uc);
	b->stepping = RT_STEP_TO_HEAD;
	set_tf(uc, 1);
	uc->sigmask = ~SYNC_SIGS;
}

/* One step further. Where a block with a twin begins, and nothing of it has been done, the twin goes on. To ask costs more
 * than to step: only where it has jumped. */
static void stepped_to_head(struct rt_block *b, struct k_ucontext *uc)
{
	const u64 pc = UC_PC(uc), jumped = pc - b->step_page > 15;

	b->step_page = pc;
	if (++b->steps > MOST_STEPS || (jumped && !rt_ask(b, RQ_TWIN, pc, 0, 0, 0))) {
		stop_steps(b, uc);
	} else if (jumped && b->mail.r[0]) {
		stop_steps(b, uc);
		b->cursor = UC_GPR(uc, STOLEN);
		b->stolen = RT_R11_COUNTS;
		UC_GPR(uc, STOLEN) = (word)b->budget;
		UC_PC(uc) = (word)b->mail.r[0];
	} else if (shows_flags(PTR(UC_PC(uc)))) {
		stop_steps(b, uc);
	}
}

/* Was the signal one of these steps, and has it been dealt with? If not the steps are over. */
static int steps_to_head(struct rt_block *b, struct k_ucontext *uc, int stepped)
{
	const u64 pc = UC_PC(uc);

	if (b->stepping != RT_STEP_TO_HEAD)
		return 0;
	if (stepped && (pc < (word)rt_image_start || pc >= (word)rt_image_end))
		stepped_to_head(b, uc);
	else
		stop_steps(b, uc);		/* stepped: to a door of ours */
	return stepped;
}
#else
static void step_to_head(struct rt_block *b, struct k_ucontext *uc) { }
static int steps_to_head(struct rt_block *b, struct k_ucontext *uc, int stepped) { return 0; }
#endif

static void step_done(struct rt_block *b, struct k_ucontext *uc)
{
	if (b->stepping == RT_STEP_INPLACE)
		rt_take_segment(b, uc);
	for (u32 i = 0; i < 2; i++) {
		u64 page = b->step_page + i * 4096;

		for (u32 j = 0; j < rt_nranges; j++)
			if (rt_ranges[j].lo <= page && page < rt_ranges[j].hi)
				rt_sys(NR_mprotect, page, 4096, PROT_READ);
	}
	b->stepping = RT_STEP_NONE;
	if (b->stolen)
		b->stolen = RT_R11_STOLEN;
	set_tf(uc, 0);
	uc->sigmask = b->real_mask;
}

#define TRAP_BRKPT 1
#define TRAP_TRACE 2

/* Is it the step that we asked for? Some virtual processors lose the reason for the trap now and then when they are interrupted there;
 * the kernel says TRAP_BRKPT then, as for int1 (0xf1). */
static int is_step(const struct rt_block *b, u32 sig, const struct k_siginfo *info, u64 pc)
{
	uint8_t last = 0;

	if (sig != SIGTRAP || info->code != TRAP_BRKPT || b->stepping == RT_STEP_NONE)
		return sig == SIGTRAP && info->code == TRAP_TRACE;
	return rt_get(&last, pc - 1, 1) || last != 0xf1;
}

void rt_signal(int signo, struct k_siginfo *info, struct k_ucontext *uc)
{
	struct rt_block *b = PTR((word)uc & ~((word)RT_BLOCK_ALIGN - 1));
	u32 sig = (u32)signo;
	u64 pc = UC_PC(uc);
	u64 eflags = UC_FLAGS(uc);
	int fault = (SIG_BIT(sig) & SYNC_SIGS) && info->code > 0;
	const int stepped = is_step(b, sig, info, pc);

#ifdef RT_IDT
	/* no write (2), and no execution (16) of something that is there (1) */
	if (fault && sig == SIGSEGV && !(UC_ERR(uc) & 2) && (UC_ERR(uc) & 17) != 17 && rt_image_touch(info->addr))
		return;
#endif
	/* a stepped instruction is done, or faulted */
	if (b->stepping == RT_STEP_LEAVING && stepped) {
		/* still on the way out of the runtime; the jump that ends it traps at its target */
		if (pc == b->resume) {
			b->stepping = RT_STEP_INPLACE;
			rt_lend_segment(b, uc);
		}
		return;
	}
	if (b->stepping == RT_STEP_INPLACE || b->stepping == RT_STEP_LEAVING) {
		step_done(b, uc);
		eflags &= ~(u64)0x100;
		if (stepped) {
			rt_trace_note(b, RT_N_STEPPED, &pc, 1);
			resume_at(b, uc, pc);
			return;
		}
		give(b, sig, info, uc, pc, eflags, fault, fault ? pc : 0);
		return;
	}
	if (pc >= (word)rt_get_start && pc < (word)rt_get_end && fault) {
		UC_PC(uc) = (word)rt_get_fault;
		return;
	}
	if (pc >= (word)rt_leave && pc < (word)rt_window_end) {
		from_ctx(b, uc);
		give(b, sig, info, uc, b->ctx.pc, b->ctx.flags, fault, 0);
		if (UC_PC(uc) == pc)		/* ignored or held: leave again */
			UC_PC(uc) = (word)rt_leave;
		return;
	}
	if (pc == (word)rt_pass_done && UC_GPR(uc, RAX) == -(word)EFAULT) {
		hold(b, sig, info, uc);			/* until it is known whether that counts */
		return;
	}
	if (pc >= (word)rt_pass && pc <= (word)rt_pass_done) {
		u64 at = b->ctx.pc;
		/* the program shall not hear of it */
		const int again = rt_image_stops(b, sig, info) && UC_GPR(uc, RAX) == -(word)EINTR;

		if (sig == 31 && info->code == 1)	/* SIGSYS, SYS_SECCOMP: si_call_addr */
			info->addr = (word)at;
		if (pc == (word)rt_pass_done) {
			b->ctx.gpr[RAX] = UC_GPR(uc, RAX);
			rt_trace_sysret(b);
		} else {
			const u64 restarted = -512;

			at -= 2;
			rt_trace_note(b, RT_N_SYSRET, &restarted, 1);
		}
		from_ctx(b, uc);
		give(b, sig, info, uc, at, b->ctx.flags, fault, 0);
		if (again)
			b->ctx.gpr[RAX] = b->syscall;
		if (UC_PC(uc) == pc)
			UC_PC(uc) = (word)(pc == (word)rt_pass_done && !again ? rt_leave : rt_pass);
		return;
	}
	if (steps_to_head(b, uc, stepped))
		return;
	eflags = UC_FLAGS(uc);
	if (pc >= (word)rt_image_start && pc < (word)rt_image_end) {
		if (b->stepping == RT_STEP_TO_BOUNDARY && stepped) {
			/* the boundary lies behind a door of ours: deliver on the way out */
			b->stepping = RT_STEP_NONE;
			set_tf(uc, 0);
			hold(b, b->step_sig, (const struct k_siginfo *)b->step_info, uc);
			return;
		}
		if (fault) {
			static const char text[] = "pugmark: the runtime itself failed in the traced process\n";

			rt_sys(NR_write, 2, text, sizeof text - 1);
			restore_default_and_die(sig, info, uc);
			return;
		}
		hold(b, sig, info, uc);
		return;
	}
	if (b->stepping == RT_STEP_TO_BOUNDARY && stepped) {
		sig = b->step_sig;
		rt_memcpy(info, b->step_info, 128);
		b->stepping = RT_STEP_NONE;
		set_tf(uc, 0);
		eflags &= ~(u64)0x100;
		uc->sigmask = b->real_mask;
		fault = 0;
	}
	if (fault && sig == SIGSEGV && rt_trace_full(b, info->addr, uc)) {
		if (b->pend_sig && b->stepping == RT_STEP_NONE) {	/* came meanwhile: nothing else would give it */
			step_to_boundary(b, b->pend_sig, b->pend_info, uc);
			b->pend_sig = 0;
		} else if (b->stepping == RT_STEP_NONE) {
			step_to_head(b, uc);
		}
		return;
	}
	if (b->stepping == RT_STEP_TO_BOUNDARY && fault) {	/* the instruction faults first */
		b->stepping = RT_STEP_NONE;
		set_tf(uc, 0);
		eflags &= ~(word)0x100;
		uc->sigmask = b->real_mask;
		rt_sys(NR_rt_tgsigqueueinfo, b->pid, b->tid, b->step_sig, b->step_info);
	}
	b->mail.a[4] = UC_ERR(uc);
	for (u32 i = 0; i < RT_NGPR; i++)	/* one of them is the cursor, the controller knows which */
		b->ctx.gpr[i] = UC_GPR(uc, i);
	if (!rt_ask(b, RQ_SIGNAL, pc, sig, info->addr, (u64)fault)) {
		/* no controller: nobody knows what this place means, unless it is an original one; the
		 * signal comes again, to the program itself */
		leave_native(b, uc);
		if (fault && info->addr == pc && rt_is_exec(pc, 1)) {
			rt_give_r11(b, uc, 0);
			b->stolen = RT_R11_OWN;
			undo_transfer(b, uc);
		} else if (!fault) {
			rt_sys(NR_rt_tgsigqueueinfo, b->pid, b->tid, sig, info);
		}
		return;
	}
	switch (b->mail.r[0]) {
	case RT_IN_ORIGINAL:			/* an indirect transfer found no entry */
		if (rt_counts(b) && b->mail.r[5]) {
			b->budget = UC_GPR(uc, STOLEN);
			rt_count_end(b, UC_GPR(uc, RSP));
			UC_GPR(uc, STOLEN) = (word)b->cursor;
		}
#ifdef RT_IDT
		if (b->stolen)			/* it may have emptied the buffer */
			UC_GPR(uc, STOLEN) = b->cursor;
#endif
		undo_transfer(b, uc);
		UC_PC(uc) = (word)b->mail.r[1];
		if (!fault)			/* a signal met us on the way: it comes again at once */
			rt_sys(NR_rt_tgsigqueueinfo, b->pid, b->tid, sig, info);
		return;
	case RT_NOWHERE:
		rt_give_r11(b, uc, 0);
		undo_transfer(b, uc);
		give(b, sig, info, uc, pc, eflags, fault, 0);
		return;
	case RT_RETRY:
		return;
	case RT_WRITE_SELF: {
		const u64 noted = b->cursor;	/* behind what the controller says of the block */

		undo_slots(b, uc, (u32)b->mail.r[2], (u32)b->mail.r[3]);
		b->cursor = noted;
		rt_steal_r11(b, uc);
		UC_PC(uc) = (word)b->mail.r[4];
		return;
	}
	}
	if (!fault && !(b->mail.r[2] & 1)) {	/* in the middle of one instruction's translation */
		step_to_boundary(b, sig, info, uc);
		return;
	}
	{
		u64 orig = b->mail.r[1];

		if (keeps_away(b, sig, info, fault))	/* goes on in the copy, whose state this is */
			return;
		undo_slots(b, uc, (u32)b->mail.r[2], (u32)b->mail.r[3]);
		if (fault && info->addr == pc)
			info->addr = (word)orig;
		give(b, sig, info, uc, orig, eflags, fault, pc);
	}
}

/* The program's handler returns: the kernel restores its frame after the pc, the mask and the signal
 * stack have been exchanged for ours. */
void rt_sigreturn_call(struct rt_block *b)
{
	struct k_ucontext *uc;
	struct rt_frame f;
	u64 pc;

	if (rt_frame_get(b, &f)) {
		restore_default_and_die(SIGSEGV, 0, 0);
		return;
	}
	uc = &f.uc;
	pc = UC_PC(uc);
	set_mask(b, uc->sigmask);
	uc->sigmask = b->real_mask;
	if (FRAME_HAS_STACK(&f)) {
		b->app_alt_sp = uc->stack.sp;
		b->app_alt_size = uc->stack.size;
		b->app_alt_flags = uc->stack.flags & (SS_DISABLE | SS_AUTODISARM);
		uc->stack = (struct k_stack){ .sp = (word)b + RT_ALT_STACK, .size = RT_ALT_SIZE };
	}
	rt_count_end(b, UC_GPR(uc, RSP));
	rt_trace_note(b, RT_N_SIGRETURN, &pc, 1);
	rt_trace_state(b, UC_GPR(uc, RSP));
	if (!rt_ask(b, RQ_LOOKUP, pc, 1, 0, 0)) {
		b->ctx.pc -= 2;			/* the program does it itself */
		rt_go_native(b);
	}
	if (b->mail.r[0]) {
		UC_PC(uc) = (word)b->mail.r[0];
	} else {
		b->s_rcx = UC_GPR(uc, RCX);
		b->s_rdx = UC_GPR(uc, RDX);
	}
	rt_steal_r11(b, uc);
	b->fix_mask = 0;
	rt_frame_leave(b, &f);
}
