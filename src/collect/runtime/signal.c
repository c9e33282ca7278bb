/* SPDX-License-Identifier: MIT */
/* signal.c - the program's signals
 *
 * The kernel knows one handler, rt_sigentry, on the block's own stack, for every signal that the
 * program handles and for the five synchronous ones. It finds out what the program's state is
 * (asking the controller where translated code stands), builds the frame that the kernel would have
 * built, and goes on in the translation of the program's handler. */
#include "rt.h"

void rt_signal(int sig, struct k_siginfo *info, struct k_ucontext *uc);

#ifndef RT_IDT
#define rt_image_dying(b) ((void)(b))
#define rt_image_stops(b, sig, info) 0
#define rt_image_stopped(b) ((void)(b))
#endif

/* The controller is gone: @uc goes on as it is, in original code, or in translated code
 * up to its next exit. */
static void leave_native(struct rt_block *b, struct k_ucontext *uc)
{
	rt_make_native(b);
	uc->sigmask = b->app_mask;
	uc->stack = (struct k_stack){ .sp = (word)b->app_alt_sp, .flags = b->app_alt_flags,
				      .size = (word)b->app_alt_size };
}

/* ---- the program's frame --------------------------------------------------------------------- */
/* @uc: the state that dies, which a core dump has; NULL: at once, as whatever is here. A fault is
 * sent again, too, for the instruction may not fault twice: another thread may have mapped the
 * page, or it was the kernel that could not restore a frame (SI_KERNEL). */
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
static void lookup_and_resume(struct rt_block *b, struct k_ucontext *uc, u64 pc)
{
	if (rt_stops(b)) {
		rt_stop_behind(b, uc, pc);
		return;
	}
	b->ctx.pc = pc;
	rt_tree_settle(b, pc);
	b->mail.r[0] = 0;
	if (!rt_ask(b, RQ_LOOKUP, pc, 0, 0, 0)) {
		leave_native(b, uc);
		b->r11_use = RT_R11_PROGRAM;
	}
	rt_load_cursor(b, uc);
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
	lookup_and_resume(b, uc, pc);
}

/* uc is the kernel's frame on our stack, its registers already the program's at original @pc.
 * Afterwards it is the state at the first instruction of the program's handler. False: no room on
 * the program's stack (the kernel would send SIGSEGV). */
static int deliver(struct rt_block *b, u32 sig, const struct k_sigaction *act,
		   struct k_siginfo *info, struct k_ucontext *uc, u64 pc, u64 flags)
{
	struct rt_sighand *h = PTR(b->sighand);
	const u64 call[3] = { sig, pc, act->handler };
	struct k_stack ss = { (word)b->app_alt_sp, b->app_alt_flags, (word)b->app_alt_size };
	word old_sp = UC_GPR(uc, RSP), sp = old_sp - RT_RED_ZONE,
	     least = rt_on_app_stack(b, old_sp) ? ss.sp : 0;

	if ((act->flags & SA_ONSTACK) && !(b->app_alt_flags & SS_DISABLE) &&
	    !rt_on_app_stack(b, old_sp)) {
		sp = (word)(b->app_alt_sp + b->app_alt_size);
		least = ss.sp;
		if (b->app_alt_flags & SS_AUTODISARM) {
			b->app_alt_sp = b->app_alt_size = 0;
			b->app_alt_flags = SS_DISABLE;
		}
	} else if (rt_on_app_stack(b, old_sp)) {
		ss.flags |= SS_ONSTACK;
	}
	if (!rt_push_frame(b, sig, info, uc, &ss, sp, (word)pc, (word)flags) ||
	    UC_GPR(uc, RSP) <= least)
		return 0;
	UC_FLAGS(uc) = (word)flags & ~(word)(0x400 | 0x100 | 0x10000);	/* DF TF RF */
	rt_trace_note(b, RT_N_SIGNAL, call, 3);
	rt_trace_state(b, UC_GPR(uc, RSP));
	rt_record_mask(b, b->app_mask | act->mask | (act->flags & SA_NODEFER ? 0 : SIG_BIT(sig)));
	uc->sigmask = b->real_mask;
	b->calling = 0;
	b->stop_signal = 1;
	b->stop_from = pc;
	pc = act->handler;
	if (act->flags & SA_RESETHAND) {
		h->act[sig].handler = 0;
		if (!(SIG_BIT(sig) & SYNC_SIGS)) {
			struct k_sigaction dfl = { 0 };

			rt_sys(NR_rt_sigaction, sig, &dfl, 0, 8);
			h->ours &= ~SIG_BIT(sig);
		}
	}
	/* a handler that is no code: jumped to as it is, and faults as the program's own doing */
	lookup_and_resume(b, uc, pc);
	return 1;
}

static void from_ctx(const struct rt_block *b, struct k_ucontext *uc)
{
	for (u32 i = 0; i < RT_NGPR; i++)
		UC_GPR(uc, i) = (word)b->ctx.gpr[i];
}

static void hold(struct rt_block *b, u32 sig, const struct k_siginfo *info, struct k_ucontext *uc)
{
	rt_signal_waits(b, sig, info);
	if (b->app_mask & SYNC_SIGS & SIG_BIT(sig) && !(uc->sigmask & SIG_BIT(sig)))
		return;
	b->held = 1;
	b->fix_mask = 1;
	uc->sigmask = ~SYNC_SIGS;
}

/* Does the signal not concern the program, or not yet? A blocked one that was sent waits; what the
 * kernel had blocked, too, a call has asked for that waits with another mask (sigsuspend()). */
static int holds_back(struct rt_block *b, u32 sig, const struct k_sigaction *act,
		      const struct k_siginfo *info, struct k_ucontext *uc, int fault)
{
	if (fault || rt_image_stops(b, sig, info))
		return 0;
	if (rt_replays(b))		/* the log says when, whatever the mask is */
		return rt_replay_drops(b);
	if (SYNC_SIGS & b->app_mask & ~uc->sigmask & SIG_BIT(sig)) {
		rt_signal_waits(b, sig, info);
		return 1;
	}
	if (act->handler == 1)
		return 1;
	return rt_records(b) && rt_record_defers(b, sig, info, uc);
}

/* The program's state is in @uc, at original @pc: hand the signal to the program. @copy is the
 * place in the code cache, 0 if there is none, to cut the block's count there. */
static void deliver_at(struct rt_block *b, u32 sig, struct k_sigaction act, struct k_siginfo *info,
		       struct k_ucontext *uc, u64 pc, u64 flags, int fault, u64 copy)
{
	struct rt_sighand *h = PTR(b->sighand);

	if (holds_back(b, sig, &act, info, uc, fault))
		return;
	if (fault && rt_records(b))
		rt_record_fault(b, sig, info);
	if (fault && (SIG_BIT(sig) & SYNC_SIGS) && (b->app_mask & SIG_BIT(sig)))
		act.handler = 0;		/* the kernel kills */
	if (copy) {
		u64 left;

		if (!rt_elements_left(uc, &left))
			left = UC_GPR(uc, RSI);
		rt_ask(b, RQ_CUT, copy, left, UC_GPR(uc, RDI), 0);
	}
	if (rt_image_stops(b, sig, info)) {
		rt_image_stopped(b);
		if (copy)
			resume_at(b, uc, pc);
		return;
	}
	if (act.handler <= 1) {
		if (fault)
			rt_token_dies(b);
		rt_count_end(b, UC_GPR(uc, RSP));
		rt_image_dying(b);
		UC_PC(uc) = (word)pc;
		UC_FLAGS(uc) = (word)flags;
		restore_default_and_die(sig, info, uc);
		return;
	}
	rt_count_end(b, UC_GPR(uc, RSP));
	if (!fault)
		rt_forget_fault(b, uc);
	if (!fault && rt_records(b))
		rt_record_signal(b, sig, info, pc, flags);
	if (!deliver(b, sig, &act, info, uc, pc, flags)) {
		rt_token_dies(b);
		h->act[SIGSEGV].handler = 0;
		restore_default_and_die(SIGSEGV, info, 0);
	}
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
	rt_restore_r11(b, uc, tmp);
	if (flags & 2)
		UC_GPR(uc, RCX) = (word)b->s_rcx;
	if (flags & 4)
		UC_GPR(uc, RDX) = (word)b->s_rdx;
	if (flags & 8)
		UC_GPR(uc, tmp & (RT_NGPR - 1)) = (word)b->s_tmp;
	if (tmp >> 4 & 7)			/* XL_BORROWED() */
		UC_GPR(uc, tmp >> 4 & 7) = (word)b->s_tmp2;
	if (flags & 0x80)			/* XL_CALLED */
		UC_GPR(uc, RSP) += sizeof(word);
}

struct arrival {
	u32 sig;
	struct k_sigaction act;		/* as the program had it then: other threads may change
					 * it meanwhile */
	struct k_siginfo *info;
	struct k_ucontext *uc;
	u64 pc, eflags;
	int fault, stepped;		/* by what is executed here; a step that we asked for */
	int turn;			/* the controller's word */
};

static void deliver_arrival(struct rt_block *b, const struct arrival *a, u64 pc, u64 flags,
			    u64 copy)
{
	deliver_at(b, a->sig, a->act, a->info, a->uc, pc, flags, a->fault, copy);
}

/* Is the instruction in place done, or has it faulted? */
static int in_place(struct rt_block *b, struct arrival *a)
{
	if (b->stepping == RT_STEP_LEAVING && a->stepped) {
		/* still on the way out of the runtime; the jump that ends it traps at its target */
		if (a->pc == b->resume) {
			b->stepping = RT_STEP_INPLACE;
			rt_load_program_segment(b, a->uc);
		}
		return 1;
	}
	if (b->stepping != RT_STEP_INPLACE && b->stepping != RT_STEP_LEAVING)
		return 0;
	rt_step_done(b, a->uc);
	a->eflags &= ~(u64)0x100;
	if (a->stepped) {
		rt_trace_note(b, RT_N_STEPPED, &a->pc, 1);
		resume_at(b, a->uc, a->pc);
		return 1;
	}
	deliver_arrival(b, a, a->pc, a->eflags, a->fault ? a->pc : 0);
	return 1;
}

/* In the window around a system call. */
static void in_call(struct rt_block *b, struct arrival *a)
{
	const u64 pc = a->pc;
	u64 at = b->ctx.pc;
	/* the program shall not hear of it */
	const int again = (a->turn || rt_image_stops(b, a->sig, a->info)) &&
			  UC_GPR(a->uc, RAX) == -(word)EINTR;

	rt_token_back(b);
	if (rt_records(b))	/* others had turns: what they have said counts, as in the replay */
		a->act = ((const struct rt_sighand *)PTR(b->sighand))->act[a->sig];
	if (a->sig == 31 && a->info->code == 1)	/* SIGSYS, SYS_SECCOMP: si_call_addr */
		a->info->addr = (word)at;
	if (pc == (word)rt_pass_done && !(a->turn && again)) {
		b->ctx.gpr[RAX] = UC_GPR(a->uc, RAX);
		rt_trace_sysret(b);
		if (rt_records(b))
			rt_record_end(b);
	} else {
		const u64 restarted = -512;

		at -= 2;
		rt_trace_note(b, RT_N_SYSRET, &restarted, 1);
	}
	from_ctx(b, a->uc);
	if (!a->turn)
		deliver_arrival(b, a, at, b->ctx.flags, 0);
	if (again)
		b->ctx.gpr[RAX] = b->syscall;
	if (UC_PC(a->uc) == pc)
		UC_PC(a->uc) = (word)(pc == (word)rt_pass_done && !again ? rt_leave : rt_pass);
}

/* Where the program's state is in rt_block.ctx, or a fault means something else. */
static int in_window(struct rt_block *b, struct arrival *a)
{
	struct k_ucontext *uc = a->uc;
	const u64 pc = a->pc;

	if (pc >= (word)rt_get_start && pc < (word)rt_get_end && a->fault) {
		UC_PC(uc) = (word)rt_get_fault;
		return 1;
	}
	if (pc >= (word)rt_leave && pc < (word)rt_window_end) {
#if !defined RT_IDT && !defined __i386__
		if (pc == (word)rt_gone && b->r11_use == RT_R11_TREE)
			b->tree_state = UC_GPR(uc, CURSOR_REG);
#endif
		from_ctx(b, uc);
		deliver_arrival(b, a, b->ctx.pc, b->ctx.flags, 0);
		if (UC_PC(uc) == pc)		/* ignored or held: leave again */
			UC_PC(uc) = (word)rt_leave;
		return 1;
	}
	if (pc == (word)rt_pass_done && UC_GPR(uc, RAX) == -(word)EFAULT) {
		hold(b, a->sig, a->info, uc);		/* until it is known whether that counts */
		return 1;
	}
	if (pc < (word)rt_pass || pc > (word)rt_pass_done)
		return 0;
	in_call(b, a);
	return 1;
}

/* Anywhere else in the runtime. */
static void in_runtime(struct rt_block *b, struct arrival *a)
{
	static const char text[] = "pugmark: the runtime itself failed in the traced process\n";

	if (b->stepping == RT_STEP_TO_BOUNDARY && a->stepped) {
		/* the boundary lies behind a door of ours: deliver on the way out */
		b->stepping = RT_STEP_NONE;
		rt_set_tf(a->uc, 0);
		hold(b, b->step_sig, (const struct k_siginfo *)b->step_info, a->uc);
		return;
	}
	if (a->fault) {
		rt_sys(NR_write, 2, text, sizeof text - 1);
		restore_default_and_die(a->sig, a->info, a->uc);
		return;
	}
	hold(b, a->sig, a->info, a->uc);
}

/* The steps to a boundary are over: it has been reached, and @a is the signal that waited for it;
 * or an instruction on the way faults. */
static void end_steps(struct rt_block *b, struct arrival *a)
{
	b->stepping = RT_STEP_NONE;
	rt_set_tf(a->uc, 0);
	a->eflags &= ~(u64)0x100;
	a->uc->sigmask = b->real_mask;
}

static int end_of_buffer(struct rt_block *b, struct arrival *a)
{
	if (a->fault && a->sig == SIGSEGV && rt_tree_deep(b, a->info->addr, a->uc))
		return 1;
	if (!a->fault || a->sig != SIGSEGV || !rt_trace_full(b, a->info->addr, a->uc))
		return 0;
	if (b->stepping == RT_STEP_NONE && !b->held)
		rt_step_to_head(b, a->uc);
	return 1;
}

/* ---- without a controller -------------------------------------------------------------------- */
/* Once the text may be executed, an indirect transfer that finds no entry reaches it with registers
 * that are not the program's (abi.h (4), (7)). So a thread that a signal meets in translated code
 * goes on there to the next exit, and only then the process is made native; the signal waits. What
 * loops there without an exit would wait for ever: a timer ends that, but where the end of a trace
 * buffer has to be noticed. */
static u32 exit_timer;			/* 1 + its number; 0: there is none */
static u32 awaits_exit;			/* a thread has signals that wait for its exit */

static int await_exit(struct rt_block *b, const struct arrival *a)
{
	const struct { word value; int signo, notify, tid, rest[12]; } event = {
		.signo = SIGTRAP, .notify = 4 /* SIGEV_THREAD_ID */, .tid = (int)b->tid
	};
	const word second[4] = { 0, 0, 1, 0 };	/* struct itimerspec */
	int id;

	if (!exit_timer && b->r11_use == RT_R11_PROGRAM) {
		if (rt_failed(rt_sys(NR_timer_create, 1 /* CLOCK_MONOTONIC */, &event, &id)))
			return 0;
		exit_timer = (u32)id + 1;
		rt_sys(NR_timer_settime, id, 0, second, 0);
	}
	awaits_exit = 1;
	hold(b, a->sig, a->info, a->uc);
	return 1;
}

void rt_await_no_exit(void)
{
	if (exit_timer)
		rt_sys(NR_timer_delete, exit_timer - 1);
	awaits_exit = exit_timer = 0;		/* what has come meanwhile was recognised */
}

static int is_exit_timer(const struct arrival *a)
{
	return exit_timer && a->sig == SIGTRAP && a->info->code == -2 /* SI_TIMER */ &&
	       (u32)a->info->addr == exit_timer - 1;
}

/* Nobody knows what this place means, unless it is an original one; the signal comes again, to the
 * program itself. */
static void without_controller(struct rt_block *b, const struct arrival *a)
{
	if (!a->fault && await_exit(b, a))
		return;
	leave_native(b, a->uc);
	if (a->fault && a->info->addr == a->pc && rt_is_exec(a->pc, 1)) {
		rt_restore_r11(b, a->uc, 0);
		b->r11_use = RT_R11_PROGRAM;
		undo_transfer(b, a->uc);
	} else if (!a->fault) {
		rt_sys(NR_rt_tgsigqueueinfo, b->pid, b->tid, a->sig, a->info);
	}
}

/* An indirect transfer found no entry. */
static void in_original(struct rt_block *b, const struct arrival *a)
{
	struct k_ucontext *uc = a->uc;

	if (rt_counts(b) && b->mail.r[5]) {
		b->budget = UC_GPR(uc, CURSOR_REG);
		rt_count_end(b, UC_GPR(uc, RSP));
		UC_GPR(uc, CURSOR_REG) = (word)b->cursor;
	}
#ifdef RT_IDT
	if (b->r11_use)			/* it may have emptied the buffer */
		UC_GPR(uc, CURSOR_REG) = b->cursor;
#endif
	undo_transfer(b, uc);
	UC_PC(uc) = (word)b->mail.r[1];
	if (!a->fault)			/* a signal met us on the way: it comes again at once */
		rt_sys(NR_rt_tgsigqueueinfo, b->pid, b->tid, a->sig, a->info);
}

/* In translated code, at what the controller says of it. */
static void in_code(struct rt_block *b, const struct arrival *a)
{
	const u64 orig = b->mail.r[1];

	if (!a->fault && !(b->mail.r[2] & 1)) {	/* in the middle of one instruction's translation */
		rt_step_to_boundary(b, a->sig, a->info, a->uc);
		return;
	}
	if (holds_back(b, a->sig, &a->act, a->info, a->uc, a->fault))
		return;			/* goes on in the copy, whose state this is */
	undo_slots(b, a->uc, (u32)b->mail.r[2], (u32)b->mail.r[3]);
	if (a->fault && a->info->addr == a->pc)
		a->info->addr = (word)orig;
	deliver_arrival(b, a, orig, a->eflags, a->pc);
}

static void write_to_self(struct rt_block *b, struct k_ucontext *uc)
{
	/* behind what the controller says of the block */
	const u64 noted = b->cursor, more = b->tree_state;

	undo_slots(b, uc, (u32)b->mail.r[2], (u32)b->mail.r[3]);
	b->cursor = noted;
	b->tree_state += more;
	rt_load_cursor(b, uc);
	UC_PC(uc) = (word)b->mail.r[4];
}

/* Elsewhere: the controller knows what stands there. */
static void ask_where(struct rt_block *b, const struct arrival *a)
{
	b->mail.a[4] = UC_ERR(a->uc);
	for (u32 i = 0; i < RT_NGPR; i++)	/* one of them is the cursor, the
						 * controller knows which */
		b->ctx.gpr[i] = UC_GPR(a->uc, i);
	if (!rt_ask(b, RQ_SIGNAL, a->pc, a->sig, a->info->addr, (u64)a->fault)) {
		without_controller(b, a);
		return;
	}
	switch (b->mail.r[0]) {
	case RT_IN_ORIGINAL:
		in_original(b, a);
		break;
	case RT_NOWHERE:
		rt_restore_r11(b, a->uc, 0);
		undo_transfer(b, a->uc);
		deliver_arrival(b, a, a->pc, a->eflags, 0);
		break;
	case RT_RETRY:
		break;
	case RT_WRITE_SELF:
		write_to_self(b, a->uc);
		break;
	default:
		in_code(b, a);
		break;
	}
}

static void arrive(int signo, struct k_siginfo *info, struct k_ucontext *uc)
{
	struct rt_block *b = PTR((word)uc & ~((word)RT_BLOCK_ALIGN - 1));
	const struct rt_sighand *h = PTR(b->sighand);
	struct arrival a = {
		.sig = (u32)signo, .act = h->act[signo], .info = info, .uc = uc,
		.pc = UC_PC(uc), .eflags = UC_FLAGS(uc),
		.fault = (SIG_BIT((u32)signo) & SYNC_SIGS) && info->code > 0,
		.stepped = rt_is_step(b, (u32)signo, info, UC_PC(uc)),
	};

#ifdef RT_IDT
	/* no write (2), and no execution (16) of something that is there (1) */
	if (a.fault && a.sig == SIGSEGV && !(UC_ERR(uc) & 2) && (UC_ERR(uc) & 17) != 17 &&
	    rt_image_page_in(info->addr))
		return;
#endif
	if (rt_records(b) && rt_is_word(a.sig, info, RT_LOG_TAKE_TURN)) {
		a.turn = 1;
		if (a.pc >= (word)rt_pass && a.pc <= (word)rt_pass_done &&
		    !(a.pc == (word)rt_pass_done && UC_GPR(uc, RAX) == -(word)EFAULT))
			in_call(b, &a);
		return;
	}
	if (is_exit_timer(&a)) {
		if (a.pc < (word)rt_image_start || a.pc >= (word)rt_image_end)
			leave_native(b, uc);
		return;
	}
	if (rt_records(b) && rt_record_gives_up(b, a.sig, info, uc))
		return;
	if (in_place(b, &a) || in_window(b, &a) || rt_steps_to_head(b, uc, a.stepped))
		return;
	a.eflags = UC_FLAGS(uc);
	if (a.pc >= (word)rt_image_start && a.pc < (word)rt_image_end) {
		in_runtime(b, &a);
		return;
	}
	if (b->stepping == RT_STEP_TO_BOUNDARY && a.stepped) {
		a.sig = b->step_sig;
		a.act = h->act[a.sig];
		rt_memcpy(info, b->step_info, 128);
		end_steps(b, &a);
		a.fault = 0;
	}
	if (end_of_buffer(b, &a))
		return;
	if (rt_records(b) && !a.fault) {	/* it waits, wherever that is */
		holds_back(b, a.sig, &a.act, info, uc, 0);
		return;
	}
	if (b->stepping == RT_STEP_TO_BOUNDARY && a.fault) {	/* the instruction faults first */
		end_steps(b, &a);
		rt_sys(NR_rt_tgsigqueueinfo, b->pid, b->tid, b->step_sig, b->step_info);
	}
	ask_where(b, &a);
}

void rt_signal(int signo, struct k_siginfo *info, struct k_ucontext *uc)
{
	struct rt_block *b = PTR((word)uc & ~((word)RT_BLOCK_ALIGN - 1));
	const u64 sync = SYNC_SIGS;
	word pc;

	if (uc->sigmask & SYNC_SIGS)		/* in a call: what is done here may fault */
		rt_sys(NR_rt_sigprocmask, 1, &sync, 0, 8);
	arrive(signo, info, uc);
	pc = UC_PC(uc);
	if (pc >= (word)rt_pass && pc <= (word)rt_pass_insn) {
		rt_call_resume(b);
		rt_token_call(b);
	} else if (b->held && b->stepping == RT_STEP_NONE && !awaits_exit &&
		 (pc < (word)rt_image_start || pc >= (word)rt_image_end))
		rt_flush_pending(b);		/* what came while the handler ran */
}

/* @uc, the state at @pc that a handler returns to, but for the pc, goes on there. */
static void resume_returned(struct rt_block *b, struct k_ucontext *uc, u64 pc)
{
	rt_tree_settle(b, pc);
	if (!rt_ask(b, RQ_LOOKUP, pc, 1, 0, 0)) {
		b->ctx.pc -= 2;			/* the program does it itself */
		rt_resume_native(b);
	}
	if (b->mail.r[0]) {
		UC_PC(uc) = (word)b->mail.r[0];
	} else {
		b->s_rcx = UC_GPR(uc, RCX);
		b->s_rdx = UC_GPR(uc, RDX);
	}
	rt_load_cursor(b, uc);
}

/* The program's handler returns: the kernel restores its frame after the pc, the mask and the
 * signal stack have been exchanged for ours. */
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
	rt_record_mask(b, uc->sigmask);
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
	if (rt_stops(b))
		rt_stop_behind(b, uc, pc);
	else
		resume_returned(b, uc, pc);
	b->fix_mask = 0;
	rt_frame_leave(b, &f);
}
