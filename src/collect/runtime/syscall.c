/* SPDX-License-Identifier: MIT */
/* syscall.c - the system calls that the runtime has to know about; all others pass
 *
 * The list is what can change code, signals, threads, processes or what the program can learn about
 * its own address space. Everything else is executed in the window of entry_*.S, where a signal
 * finds the program's state complete. */
#include "rt.h"

/* Block every signal so that a thread is never seen half made. */
static void block_all(void)
{
	const u64 all = ~0ull;

	rt_sys(NR_rt_sigprocmask, 2, &all, 0, 8);
}

/* The kernel must not make originals executable: it never hears of READ_IMPLIES_EXEC. */
static void do_personality(struct rt_block *b)
{
	const u32 all = 0xffffffff, asked = (u32)ARG0;
	const u32 told = asked == all ? all : asked & ~READ_IMPLIES_EXEC;
	long r = rt_app_sys(NR_personality, told, 0, 0, 0, 0, 0);

	if (!rt_failed(r) && b->exec_all)
		r |= READ_IMPLIES_EXEC;
	if (!rt_failed(r) && asked != all)
		b->exec_all = !!(asked & READ_IMPLIES_EXEC);
	RET = (word)r;
}

/* ---- threads and processes ------------------------------------------------------------------- */
/* What the log needs to know of @c, which @b makes. What the kernel would write to the thread's
 * memory when it begins, others see too early. */
static void log_as(struct rt_block *b, struct rt_block *c, u64 flags, u64 tid_at)
{
	const int thread = rt_takes_part(flags) && (rt_records(b) || rt_replays(b));

	c->token_free = 0;
	c->log_brk = b->logged ? rt_log_brk(b) : 0;
	c->log_tid = b->log_tid;
	c->log_home = (word)c;
	/* one that its parent waits for would wait for its parent */
	c->group_member = b->logged && !(flags & CLONE_VFORK) &&
			  ((struct rt_block *)PTR(b->log_home))->group_member;
	c->group_number = c->group_awaits = c->awaits_child = 0;
	c->robust = 0;
	c->nheld = c->holds = 0;
	c->clear_tid = flags & CLONE_CHILD_CLEARTID ? tid_at : 0;
	c->tid_at = flags & CLONE_CHILD_SETTID && (thread || rt_replays(b)) ? tid_at : 0;
	c->lost = c->lost_stream = c->ends_here = 0;
	c->executes = b->executes;
	c->files = thread && rt_replays(b) && !(flags & CLONE_FILES) ? rt_replay_own_files(b) :
								       b->files;
	if (thread)
		rt_token_join(c, b, !(flags & CLONE_THREAD));
}

/* Should @c's parent end before it is known, nobody would have the log. It has no turn yet, so it
 * is there. */
static void await_hello(const struct rt_block *c)
{
	for (u32 n = 0; n < 1000000 && !__atomic_load_n(&c->seen_pid, __ATOMIC_ACQUIRE); n++)
		rt_sys(NR_sched_yield, 0);
}

static void clone_as(struct rt_block *b, u64 flags, u64 stack, u64 tid_at, long nr,
		     const word call[5])
{
	struct rt_sighand *own = 0;
	const u32 origin = !(flags & CLONE_VM) ? BLK_FORKED :
		flags & CLONE_THREAD || (rt_replays(b) && rt_takes_part(flags)) ? BLK_THREAD :
		BLK_VFORKED;
	struct rt_block *c;
	u32 number;
	long r;

	rt_apart |= (flags & CLONE_NEWPID) != 0;
	rt_trace_deliver(b);			/* the child begins behind what led to it */
	if (!rt_ask(b, RQ_BLOCK, origin, rt_apart, rt_replays(b) ? b->call_length : 0,
		    b->log_tid))
		rt_call_native(b);
	number = (u32)b->mail.r[0];
	if (rt_records(b))
		b->call_length = b->mail.r[1];
	c = number ? rt_block_map(number) : 0;
	if (!c) {
		if (number)
			rt_ask(b, RQ_UNBLOCK, number, 0, 0, 0);
		RET = -(word)EAGAIN;
		return;
	}
	c->ctx = b->ctx;
	c->ctx.gpr[RAX] = 0;
	if (stack)
		c->ctx.gpr[RSP] = stack;
	c->resume = b->resume;
	c->do_resolve = b->do_resolve;
	c->do_syscall = b->do_syscall;
	c->do_step = b->do_step;
	c->do_int80 = b->do_int80;
	c->do_check = b->do_check;
	c->do_count = b->do_count;
	c->do_safepoint = b->do_safepoint;
	c->do_tree = b->do_tree;
	c->self = (word)c;
	c->origin = flags & CLONE_VM && !(flags & CLONE_VFORK) ? BLK_THREAD : origin;
	c->app_mask = b->app_mask;
	c->real_mask = b->real_mask;
	c->app_gs = b->app_gs;
	c->nwaiting = c->held = c->calling = 0;
	c->exec_all = b->exec_all;
	c->links = b->links;
	c->spin = b->spin;
	c->sighand = b->sighand;
	c->awaited = (flags & CLONE_VFORK) != 0;
	c->logged = !rt_records(b) || b->mail.r[1] || rt_takes_part(flags) ? b->logged :
		RT_LOG_OVER;
	log_as(b, c, flags, tid_at);
	rt_clock_begin(c);
	c->dispatch = 0;			/* the kernel clears it for threads and processes */
	if ((flags & CLONE_VM) && !(flags & CLONE_SIGHAND))
		c->sighand = (word)(own = rt_sighand_copy(PTR(b->sighand)));
	/* 2: too many of these at once, the handlers are the parent's */
	c->cleared = 0;
	if (flags & CLONE_CLEAR_SIGHAND)
		c->cleared = own && own == PTR(b->sighand) ? 2 : 1;
	if (flags & CLONE_VM && !(flags & CLONE_VFORK)) {
		c->app_alt_flags = SS_DISABLE;	/* the kernel clears it for new threads */
	} else {
		c->app_alt_sp = b->app_alt_sp;
		c->app_alt_size = b->app_alt_size;
		c->app_alt_flags = b->app_alt_flags;
	}
	block_all();
	if (origin == BLK_FORKED)
		rt_ranges_lock(1);
	r = rt_clone(nr, call[0], call[1], call[2], call[3], call[4], c);
	rt_block_but_faults();
	if (origin == BLK_FORKED) {
		rt_ranges_lock(0);
		if (r >= 0)
			rt_ask(b, RQ_FORKED, number, 0, 0, 0);
	}
	b->fix_mask = 1;
	RET = (word)r;
	if (r < 0 && c->token_free)
		rt_token_not_joined(c);
	if (r >= 0 && rt_records(b) && origin == BLK_VFORKED && c->token_free)
		await_hello(c);
	if (r < 0)
		rt_ask(b, RQ_UNBLOCK, number, 0, 0, 0);
	if (r < 0 || c->origin != BLK_THREAD)
		rt_block_unmap(c);
	/* the child is gone, and its block may be somebody else's by now */
	if (own && own != PTR(b->sighand) && (r < 0 || (flags & CLONE_VFORK)))
		own->used = 0;
}

/* The call with other @flags, into @call; clone3()'s arguments into @to. */
static long copy_call(struct rt_block *b, u64 flags, long nr, word call[5], u64 to[11])
{
	const u64 n = ARG1 < 11 * sizeof *to ? ARG1 : 11 * sizeof *to;

	if (nr == NR_clone3) {
		if (rt_get(to, ARG0, n))
			return nr;
		to[0] = flags;
		call[0] = (word)to;
		call[1] = (word)n;
		return nr;
	}
	call[0] = (word)flags;
	if (nr == NR_vfork)
		call[1] = call[2] = call[3] = call[4] = 0;
	return NR_clone;
}

/* The thread or process is made again; what a process shares with its parent it has not shared. */
static void clone_again(struct rt_block *b, u64 flags, u64 stack, u64 tls, u64 tid_at)
{
	const int thread = rt_takes_part(flags);
	word call[5] = { (thread ? CLONE_AGAIN : 17 /* SIGCHLD */) | (word)(flags & CLONE_SETTLS) };

	call[CLONE_TLS] = (word)tls;

	clone_as(b, thread ? flags : flags & (CLONE_CHILD_SETTID | CLONE_CLEAR_SIGHAND), stack,
		 tid_at, NR_clone, call);
}

/* It takes no part in what its parent's group does. */
void rt_fork_to_execute(struct rt_block *b)
{
	const word call[5] = { 17 /* SIGCHLD */ };

	b->executes = 1;
	clone_as(b, CLONE_VFORK, 0, 0, NR_clone, call);
	b->executes = 0;
}

/* A child that would borrow the program's memory until it executes another one gets a copy, where
 * nobody records what it does there; and who has the token writes a thread's number, not the
 * kernel. */
static u64 flags_recorded(u64 flags)
{
	if ((flags & CLONE_VM) && (flags & CLONE_VFORK))
		return flags & ~(u64)CLONE_VM;
	if (rt_takes_part(flags)) {
		flags &= ~(u64)CLONE_CHILD_SETTID;
		/* nor 0 as that ends, where that may be before the others do */
		if (!(flags & CLONE_THREAD) || rt_token_apart())
			flags &= ~(u64)CLONE_CHILD_CLEARTID;
	}
	return flags;
}

static void do_clone(struct rt_block *b, u64 flags, u64 stack, long nr)
{
	const u64 made = rt_records(b) ? flags_recorded(flags) : flags;
	word call[5] = { (word)ARG0, (word)ARG1, (word)ARG2, (word)ARG3, (word)ARG4 };
	u64 arguments[11] = { 0 }, tid_at = nr == NR_clone ? CLONE_TID_AT : 0;

	if (nr == NR_clone3) {
		rt_get(arguments, ARG0, ARG1 < sizeof arguments ? ARG1 : sizeof arguments);
		tid_at = arguments[2];
	}
	if (rt_replays(b)) {
		clone_again(b, flags, stack, nr == NR_clone3 ? arguments[7] : CLONE_TLS_AT, tid_at);
		return;
	}
	if (made != flags)
		nr = copy_call(b, nr == NR_vfork ? made | 17 /* SIGCHLD */ : made, nr, call,
			       arguments);
	clone_as(b, rt_takes_part(flags) ? flags : made, stack, tid_at, nr, call);
}

static void do_clone3(struct rt_block *b)
{
	u64 args[11] = { 0 };
	u64 n = ARG1 < sizeof args ? ARG1 : sizeof args;

	if (ARG1 < 64 || rt_get(args, ARG0, n)) {
		RET = (word)rt_raw_call(b);		/* the kernel says what is wrong with it */
		return;
	}
	do_clone(b, args[0], args[5] ? args[5] + args[6] : 0, NR_clone3);
}

/* Can the thread become its parent's tracee? It has no tracer, and no filter of the program refuses
 * ptrace(). 0 also if that cannot be known. */
static int may_be_traced(void)
{
	static const char none[] = "\nTracerPid:\t0\n";
	char buf[1024];
	const long in = rt_sys(NR_open, "/proc/thread-self/status", 02000000 /* O_CLOEXEC */, 0);
	long n;

	if (in < 0)
		return 0;
	n = rt_app_sys(NR_ptrace, 3 /* PTRACE_PEEKUSER */, (word)rt_sys(NR_getpid, 0), 0, 0, 0, 0);
	n = n == -ESRCH ? rt_sys(NR_read, in, buf, sizeof buf) : -1;
	rt_sys(NR_close, in);
	for (long at = 0; at + (long)sizeof none - 1 <= n; at++) {
		u64 i = 0;

		while (i < sizeof none - 1 && buf[at + (long)i] == none[i])
			i++;
		if (i == sizeof none - 1)
			return 1;
	}
	return 0;
}

/* PTRACE_TRACEME in a child of vfork(): its parent waits until the child executes another program,
 * so it cannot see to a fault of ours, at which a traced child stops. The child is traced from
 * there on. */
static int trace_me_later(struct rt_block *b)
{
	if (b->awaited != 1 || ARG0 || !may_be_traced())
		return 0;
	b->awaited = 2;
	RET = 0;
	return 1;
}

/* 1: so that the program can be executed. execvp() tries names at which there is none: not yet. */
static int trace_me_now(struct rt_block *b)
{
	const int by_path = b->syscall == NR_execve;
	long r = by_path ? rt_app_sys(NR_access, (word)ARG0, 0, 0, 0, 0, 0) : 0;

	if (r != -ENOENT && r != -ENOTDIR)
		r = rt_app_sys(NR_ptrace, 0, 0, 0, 0, 0, 0);
	if (!r)
		b->awaited = 0;
	else
		RET = (word)r;
	return !r;
}

static void do_exec(struct rt_block *b)
{
	struct rt_session *s = RT_SESSION;
	const word path = ARG0;
	const long own = rt_sys(NR_personality, 0xffffffff);
	long r, old, with, file;

	if (b->awaited == 2 && !trace_me_now(b))
		return;
	if (b->syscall == NR_execve && rt_is_own_file(b, path, "exe"))
		ARG0 = (word)rt_exe;
	file = rt_load_open(b);
	if (!rt_ask(b, RQ_EXEC, own > 0 && own & ADDR_NO_RANDOMIZE, rt_apart, (u64)(file + 1), 0))
		rt_call_native(b);
	if (file >= 0)
		rt_sys(NR_close, file);
	if (b->mail.r[0] == RT_NOT_FOLLOWED)
		rt_record_not_followed(b);
	old = rt_sys(NR_personality, 0xffffffff);
	with = old | (b->exec_all ? READ_IMPLIES_EXEC : 0);
	if (b->mail.r[0] && s->no_aslr)
		with |= ADDR_NO_RANDOMIZE;
	if (old >= 0 && with != old)
		rt_sys(NR_personality, (word)with);
	rt_call_begin(b);		/* what is pending, and the mask, are the new program's */
	rt_group_release(b);
	r = b->mail.r[0] == RT_LOAD_IT ? rt_load_exec(b) : rt_raw_call(b);
	rt_call_end(b);
	rt_group_regain(b);
	if (old >= 0 && with != old)
		rt_sys(NR_personality, (word)old);
	ARG0 = path;
	RET = (word)r;
	if (!rt_ask(b, RQ_EXECFAIL, 0, 0, 0, 0))
		rt_resume_native(b);
}

static void do_exit(struct rt_block *b, int group)
{
	const u64 heir = group ? rt_token_process_heir(b) : rt_token_heir(b);
	const word status = rt_token_status(b, heir && group, (word)ARG0);

	if (heir && rt_replays(b))
		group = 0;			/* other processes were there still */
	rt_block_but_faults();
#ifndef RT_IDT
	b->leaving = (u32)group;
	if (!group)
#endif
		rt_ask(b, RQ_EXIT, b->tid, (u64)group, 0, 0);
	rt_call_begin(b);		/* what waits for the process, others may want */
	rt_token_leave(b, heir);
	if (rt_replays(b) && !heir)		/* the first one may be there still, and wait */
		group = 1;
	rt_exit_thread(b, group ? NR_exit_group : NR_exit, status);
}

/* ---- seccomp --------------------------------------------------------------------------------- */
/* The program's filter, behind a preamble that lets the runtime's own calls pass: those are made
 * anywhere in the runtime except at the instructions that execute the program's calls. */
static long do_seccomp(struct rt_block *b, int filter, u64 flags, u64 prog)
{
	enum { LD = 0x20, LDI = 0x00, JEQ = 0x15, JGE = 0x35, SUB = 0x14, RETK = 0x06,
	       ALLOW = 0x7fff0000, PRE = 11 };
	const u32 image = (u32)RT_IMAGE_AT;
	const u32 pass = (u32)(word)rt_pass_done - image, app = (u32)(word)rt_app_done - image;
	const struct bpf pre[PRE] = {
		{ LD, 0, 0, 12 },
		{ JEQ, 0, 8, (u32)((u64)RT_IMAGE_AT >> 32) },
		{ LD, 0, 0, 8 },
		{ SUB, 0, 0, image },
		{ JGE, 5, 0, RT_IMAGE_SIZE },
		{ JEQ, 4, 0, pass },
		{ JEQ, 3, 0, app },
		{ JEQ, 2, 0, (u32)(word)rt_clone_done - image },
		{ RETK, 0, 0, ALLOW },
		{ RETK, 0, 0, ALLOW },
		{ LDI, 0, 0, 0 },
	};
	static const struct bpf strict[] = {	/* SECCOMP_SET_MODE_STRICT as a filter */
		{ LD, 0, 0, 0 },
		{ JEQ, 4, 0, NR_read }, { JEQ, 3, 0, NR_write }, { JEQ, 2, 0, NR_exit },
		{ JEQ, 1, 0, NR_rt_sigreturn },
		{ RETK, 0, 0, 0 },		/* SECCOMP_RET_KILL_THREAD */
		{ RETK, 0, 0, ALLOW },
	};
	struct bpf code[4096];
	struct { word len; const struct bpf *code; } out = { PRE, code };

	rt_memcpy(code, pre, sizeof pre);
	if (filter) {
		struct { word len, code; } in;

		if (rt_get(&in, prog, sizeof in))
			return -EFAULT;
		in.len &= 0xffff;
		if (!in.len || in.len > 4096 - PRE)
			return -EINVAL;
		if (rt_get(code + PRE, in.code, in.len * sizeof *code))
			return -EFAULT;
		out.len += in.len;
	} else {
		if (flags || (RET == NR_seccomp && prog))
			return -EINVAL;
		rt_memcpy(code + PRE, strict, sizeof strict);
		out.len += NR_OF(strict);
		/* PR_SET_NO_NEW_PRIVS: strict mode needs no privilege */
		rt_sys(NR_prctl, 38, 1, 0, 0, 0);
	}
	if (RET == NR_prctl)
		return rt_sys(NR_prctl, 22, 2, &out, 0, 0);
	return rt_sys(NR_seccomp, 1, flags, &out);
}

/* ---- syscall user dispatch (prctl(2)) -------------------------------------------------------- */
/* The kernel's would concern the runtime's own calls, so it is done here. */
static long set_dispatch(struct rt_block *b)
{
	if (ARG1 > 1 || (!ARG1 && (ARG2 || ARG3 || ARG4)) ||
	    (ARG1 && ARG2 && (u64)ARG2 + ARG3 <= ARG2))
		return -EINVAL;
	if ((u64)ARG4 >> 47)
		return -EFAULT;
	b->dispatch = (u32)ARG1;
	b->dispatch_from = ARG2;
	b->dispatch_length = ARG3;
	b->dispatch_selector = ARG4;
	return 0;
}

/* 1: the call is not made, SIGSYS comes instead. */
static int is_dispatched(struct rt_block *b)
{
	enum { ALLOW, BLOCK };			/* SYSCALL_DISPATCH_FILTER_* */
	struct k_siginfo info = { .signo = 31, .code = 2, .addr = (word)b->ctx.pc };
	const u32 call[2] = { (u32)RET, RT_AUDIT_ARCH };
	u8 selector = BLOCK;

	if (!b->dispatch || b->ctx.pc - b->dispatch_from < b->dispatch_length ||
	    rt_is_vdso_return(b))
		return 0;
	if (b->dispatch_selector && rt_get(&selector, b->dispatch_selector, 1)) {
		info = (struct k_siginfo){ .signo = 11, .code = 0x80 /* SI_KERNEL */ };
		rt_signal_kill(b, &info);
		return 1;
	}
	if (selector == ALLOW)
		return 0;
	rt_memcpy(info.rest, call, sizeof call);
	if (selector == BLOCK)
		rt_signal_force(b, &info);
	else
		rt_signal_kill(b, &info);
	return 1;
}

#define IPC_STAT 2

static void do_shmat(struct rt_block *b)
{
	word about[32];				/* struct shmid_ds: the size is
						 * behind struct ipc_perm */
	const word flags = (word)ARG2, at = (word)ARG1;
	word size = 1, prot = flags & SHM_RDONLY ? PROT_READ : PROT_READ | PROT_WRITE;
	int over = 0;

	if (!rt_failed(rt_sys(NR_shmctl, ARG0, IPC_STAT, about)))
		size = about[RT_SHM_SIZE];
	over = at && rt_is_ours(at, size);
	if (over && !rt_make_way(b, at, size)) {
		RET = -(word)EINVAL;
		return;
	}
	if (flags & SHM_REMAP)
		rt_announce_unmap(b, at, size);
	prot = rt_prot(b, flags & SHM_EXEC ? prot | PROT_EXEC : prot);
	RET = (word)rt_app_sys((long)RET, ARG0, ARG1, flags & ~(word)SHM_EXEC, 0, 0, 0);
	if (!rt_failed((long)RET) && (prot & PROT_EXEC))
		rt_executable(b, RET, size, prot, MAP_SHARED);
	if (over)
		rt_resume(b);
}

/* A segment that is executable is a range by itself. */
static void do_shmdt(struct rt_block *b)
{
	for (u32 i = 0; i < rt_nranges; i++)
		if (rt_ranges[i].lo == ARG0 && rt_ranges[i].shared) {
			rt_announce_unmap(b, ARG0, rt_ranges[i].hi - ARG0);
			return;
		}
}

/* ---- the kernel writes to code --------------------------------------------------------------- */
#ifdef RT_IDT				/* it has no table of system calls */
u32 rt_call_writes(const struct rt_block *b, word at[RT_WRITES])
{
	const word arg[6] = { ARG0, ARG1, ARG2, ARG3, ARG4, ARG5 };

	rt_memcpy(at, arg, sizeof arg);
	return NR_OF(arg);
}
#endif

/* Where code and data share writable pages, those with translations are write-protected: the
 * program's own writes trap, but the kernel's fail, or end early. What a call may write to is
 * opened before; what it finds by itself (an iovec), when it has failed. Other registers count for
 * nothing: they often point into code, and all that is translated there would go with each call. */
static void open_arguments(struct rt_block *b)
{
	word arg[RT_WRITES];
	const u32 n = rt_call_writes(b, arg);

	for (u32 k = 0; k < n; k++) {
		int hit = 0;

		if (arg[k] < 65536)
			continue;
		for (u32 i = 0; i < rt_nranges && !hit; i++)
			hit = (rt_ranges[i].prot & PROT_WRITE) && rt_ranges[i].lo <= arg[k] &&
			      arg[k] < rt_ranges[i].hi;
		if (hit && !rt_ask(b, RQ_OPEN, arg[k], 0, 0, 0))
			rt_call_native(b);
	}
}

int rt_open_pages(struct rt_block *b)
{
	int opened;

	if (!rt_nwritable)
		return 0;
	rt_call_end(b);
	opened = rt_ask(b, RQ_OPEN, 0, 0, 0, 0) && b->mail.r[0];
	if (opened)
		rt_call_begin(b);
	return opened;
}

/* PR_SET_DUMPABLE 0: the kernel must not know, for the controller has to read us. As in the kernel
 * it belongs to the address space: children inherit it, programs that are executed do not. */
enum { PR_GET_DUMPABLE = 3, PR_SET_DUMPABLE = 4 };
static int is_secret;

/* Files, and what cannot be allowed. */
static int other_call(struct rt_block *b)
{
	enum rt_own_file own;
	int r;

	switch (RET) {
	case NR_rseq:
		/* Restartable sequences name addresses that never run. A C library that has been
		 * using them ends the program if a thread cannot; it sees by what the kernel does
		 * not write (cpu_id) that there are none. */
		RET = rt_attached ? 0 : -(word)ENOSYS;
		return 0;
	case NR_prctl:
		if (ARG0 == PR_SET_DUMPABLE && ARG1 <= 1) {
			is_secret = !ARG1;
			if (is_secret)
				RET = 0;
			return !is_secret;
		}
		if (ARG0 == PR_GET_DUMPABLE && is_secret) {
			RET = 0;
			return 0;
		}
		if (ARG0 == 22 && (ARG1 == 1 || ARG1 == 2)) {	/* PR_SET_SECCOMP */
			RET = (word)do_seccomp(b, ARG1 == 2, 0, ARG2);
			return 0;
		}
		if (ARG0 == 59) {			/* PR_SET_SYSCALL_USER_DISPATCH */
			RET = (word)set_dispatch(b);
			return 0;
		}
		return 1;
	case NR_seccomp:
		if (ARG0 <= 1) {
			RET = (word)do_seccomp(b, ARG0 == 1, ARG1, ARG2);
			return 0;
		}
		return 1;
	case NR_ptrace:
		return !trace_me_later(b);
	case NR_unshare:
	case NR_setns:
		rt_apart = 1;			/* for children */
		return 1;
	case NR_read:
		rt_refresh_own_file(b, (int)ARG0);
		return 1;
	case NR_open:
		own = rt_which_own_file(b, ARG0);
		if (own) {
			RET = (word)(long)rt_open_own_file(b, own, ARG1);
			return 0;
		}
		if (rt_is_own_file(b, ARG0, "exe")) {
			RET = (word)rt_app_sys(NR_open, (word)rt_exe, ARG1, ARG2, 0, 0, 0);
			return 0;
		}
		return 1;
	case NR_openat:
		own = rt_which_own_file(b, ARG1);
		if (own) {
			RET = (word)(long)rt_open_own_file(b, own, ARG2);
			return 0;
		}
		if (rt_is_own_file(b, ARG1, "exe")) {
			RET = (word)rt_app_sys(NR_open, (word)rt_exe, ARG2, ARG3, 0, 0, 0);
			return 0;
		}
		return 1;
	case NR_readlink:
		if (!rt_is_own_file(b, ARG0, "exe"))
			return 1;
		RET = (word)rt_copy_exe(ARG1, ARG2);
		return 0;
	case NR_readlinkat:
		if (!rt_is_own_file(b, ARG1, "exe"))
			return 1;
		RET = (word)rt_copy_exe(ARG2, ARG3);
		return 0;
	case NR_shmat:
		do_shmat(b);
		return 0;
	case NR_shmdt:
		do_shmdt(b);
		return 1;
	}
	r = rt_arch_syscall(b);
	return r < 0 ? 1 : r;
}

int rt_dispatch(struct rt_block *b)
{
	switch (RET) {
	case NR_mmap: {
		const word arg[6] = { ARG0, ARG1, ARG2, ARG3, ARG4, ARG5 };

		rt_do_mmap(b, arg);
		return 0;
	}
	case NR_munmap:
		return rt_do_munmap(b);
	case NR_madvise:
	case NR_msync:
	case NR_mincore:
	case NR_mlock:
	case NR_mlock2:
	case NR_munlock:
	case NR_mseal:
	case NR_mlockall:
	case NR_remap_file_pages:
		return rt_do_range(b);
#ifndef RT_IDT
	case NR_getrlimit:
	case NR_setrlimit:
	case NR_prlimit64:
		return rt_do_limit(b);
#endif
	case NR_mprotect:
	case NR_pkey_mprotect:
		if (!(rt_prot(b, (word)ARG2) & PROT_EXEC) && !rt_is_exec(ARG0, ARG1) &&
		    !rt_is_ours(ARG0, ARG1)) {
			if (ARG2 & PROT_WRITE)
				rt_announce_changes(b, ARG0, ARG1);
			return 1;
		}
		rt_do_mprotect(b);
		return 0;
	case NR_mremap:
		rt_do_mremap(b);
		return 0;
	case NR_brk:
		if (!b->exec_all && !rt_nwritable)
			return 1;
		rt_do_brk(b);
		return 0;
	case NR_personality:
		do_personality(b);
		return 0;
	case NR_rt_sigaction:
		RET = (word)rt_sigaction_call(b, ARG0, ARG1, ARG2, ARG3);
		return 0;
	case NR_rt_sigprocmask:
		RET = (word)rt_sigprocmask_call(b, ARG0, ARG1, ARG2, ARG3);
		return 0;
	case NR_sigaltstack:
		RET = (word)rt_sigaltstack_call(b, ARG0, ARG1);
		return 0;
	case NR_rt_sigreturn:
		rt_sigreturn_call(b);
		return 0;
	case NR_clone:
		do_clone(b, (u32)ARG0, ARG1, NR_clone);
		return 0;
	case NR_fork:
		do_clone(b, 0, 0, NR_fork);
		return 0;
	case NR_vfork:
		do_clone(b, CLONE_VM | CLONE_VFORK, 0, NR_vfork);
		return 0;
	case NR_clone3:
		do_clone3(b);
		return 0;
	case NR_execve:
	case NR_execveat:
		do_exec(b);
		return 0;
	case NR_exit:
		do_exit(b, 0);
		return 0;
	case NR_exit_group:
		do_exit(b, 1);
		return 0;
	}
	return other_call(b);
}

/* If others will be there it goes on in code that traces. */
static void count_no_further(struct rt_block *b)
{
	if (!rt_counts(b))
		return;
	switch (RET) {
	case NR_clone:
	case NR_clone3:
	case NR_fork:
	case NR_vfork:
	case NR_execve:
	case NR_execveat:
		rt_count_end(b, b->ctx.gpr[RSP]);
		rt_trace_deliver(b);
		rt_resume(b);
	}
}

static void call_is_over(struct rt_block *b)
{
	rt_trace_sysret(b);
	rt_token_back(b);
	if (rt_records(b))
		rt_record_end(b);
}

/* 1: let the kernel do it in the window. 0: done, ctx is the result. */
int rt_do_syscall(struct rt_block *b)
{
	const u64 call[7] = { RET, ARG0, ARG1, ARG2, ARG3, ARG4, ARG5 };
	int pass, next = RT_CALL_MAKE;

	if (is_dispatched(b))
		return 0;
	count_no_further(b);
	rt_trace_note(b, RT_N_SYSCALL, call, 7);
	b->syscall = (u32)RET;
	if (rt_replays(b)) {
		rt_replay_call(b);
		return 0;
	}
	if (rt_records(b)) {
		next = rt_record_begin(b);
		if (next == RT_CALL_LATER)
			return 0;
	}
	if (rt_nwritable)
		open_arguments(b);
	pass = next == RT_CALL_MAKE && rt_dispatch(b);
	if (pass) {
		rt_call_begin(b);
		rt_token_call(b);
	} else {
		call_is_over(b);
	}
	return pass;
}

void rt_call_result(struct rt_block *b)
{
	rt_call_end(b);
	call_is_over(b);
}

/* The signal meets the program in front of the call. */
void rt_call_again(struct rt_block *b)
{
	const u64 restarted = -512;

	rt_call_end(b);
	rt_token_back(b);
	rt_trace_note(b, RT_N_SYSRET, &restarted, 1);
	b->ctx.pc -= 2;
	RET = b->syscall;
	b->log_place = 1;
	rt_resume(b);
}
