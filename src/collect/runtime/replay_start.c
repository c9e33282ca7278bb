/* SPDX-License-Identifier: MIT */
/* replay_start.c - a recorded program begins again: its memory as it was, and nothing that it could
 * do outside
 *
 * The kernel has executed a file that holds nothing but the runtime (control/loader.c). What the
 * kernel has mapped besides goes, and the program is mapped as struct rt_start says. */
#include "log.h"

#define START ((const struct rt_start *)PTR(LOAD_AT))
#define MAP_STACK 0x20000
#define FILE_FLAGS (02000000 /* O_CLOEXEC */ | O_LARGEFILE)
/* The end of the program's addresses; what is ours, as far as its place is known. */
#ifdef __i386__
#define END 0xffffe000u
#define OURS RT32_BLOCKS
#define OURS_END (RT32_CODE_VAULT + RT32_CODE_SIZE)
#else
#define END 0x7ffffffff000ull
#define OURS RT_IMAGE
#define OURS_END (RT_DATA_VAULT + RT_DATA_SIZE)
#endif

extern word rt_boot_rsp, rt_boot_regs[2];
static u32 several, others, echo;		/* of the first program's struct rt_start */
static u64 stack_lo, stack_hi;

__attribute__((noreturn)) static void fail(void)
{
	rt_fail("pugmark: cannot map what the recorded program began with\n");
}

static long open_file(u32 fd)
{
	char path[48];
	long r;

	rt_file_of(path, START->controller, fd);
	r = rt_sys(NR_open, path, FILE_FLAGS, 0);
	if (r < 0)
		fail();
	return r;
}

static void read_parts(const struct rt_start_part *p, u32 n, long memory)
{
	for (u32 i = 0; i < n; i++)
		for (u64 done = 0; done < p[i].n; ) {
			const long r = rt_pread(memory, p[i].at + done, p[i].n - done,
						p[i].off + done);

			if (r <= 0)
				fail();
			done += (u64)r;
		}
}

static void map_one(const struct rt_start_map *m, const struct rt_start_part *p, long memory)
{
	const word prot = m->prot & (PROT_READ | PROT_WRITE | PROT_EXEC);
	const long fd = m->file ? open_file(m->file - 1) : -1;
	word flags = m->flags & RT_START_SHARED && !m->file ? MAP_SHARED : MAP_PRIVATE;

	flags |= MAP_FIXED | (m->file ? 0 : MAP_ANONYMOUS) |
		 (m->flags & RT_START_STACK ? MAP_STACK | MAP_NORESERVE : 0);
	if (rt_map(m->lo, m->hi - m->lo, PROT_READ | PROT_WRITE, flags, fd, m->off) != (long)m->lo)
		fail();
	if (m->flags & RT_START_STACK) {
		stack_lo = m->lo;
		stack_hi = m->hi;
	}
	if (fd >= 0)
		rt_sys(NR_close, fd);
	read_parts(p, m->npart, memory);
	if (prot != (PROT_READ | PROT_WRITE))
		rt_sys(NR_mprotect, m->lo, m->hi - m->lo, prot);
}

/* What the program begins with is mapped; [@from, @to) stays as it is. */
static u64 load(u64 *brk, u64 from, u64 to)
{
	const u64 behind = LOAD_AT + page_up(sizeof *START), pc = START->pc;
	const struct rt_start_part *p = START->part;
	long memory;

	rt_sys(NR_munmap, 0x1000, from - 0x1000);
	rt_sys(NR_munmap, to, END - to);
	stack_lo = stack_hi = 0;
	memory = open_file(START->memory);
	for (u32 i = 0; i < START->nmap && i < RT_START_MAPS; i++) {
		map_one(&START->map[i], p, memory);
		p += START->map[i].npart;
	}
	rt_sys(NR_close, memory);
	for (u32 sig = 1; sig < 65; sig++) {
		const struct k_sigaction act = { .handler = START->ignored >> (sig - 1) & 1 };

		rt_sys(NR_rt_sigaction, sig, &act, 0, 8);
	}
	rt_sys(NR_rt_sigprocmask, 2, &START->mask, 0, 8);
	rt_boot_rsp = START->sp;
	rt_boot_regs[0] = START->rax;
	rt_boot_regs[1] = START->rdx;
	*brk = START->brk;
	rt_boot_info.exec_all = START->exec_all;
	echo = START->echo;
	several = START->several;
	others = START->others;
	rt_sys(NR_munmap, LOAD_AT, behind - LOAD_AT);
	return pc;
}

int rt_replay_has_others(void)
{
	return others;
}

u64 rt_replay_load(u64 *brk)
{
	const u64 pc = load(brk, RT_IMAGE_AT, LOAD_AT + page_up(sizeof *START));

	if (echo)
		rt_replay_echo();
	return pc;
}

/* The program may have a stack of @size bytes from now on. As for the kernel, what it can have
 * already stays, and it ends where something else is mapped. */
void rt_replay_stack_limit(struct rt_block *b, u64 size)
{
	const u64 most = page_down(size < RT_STACK_MOST ? size : RT_STACK_MOST);
	const u64 least = stack_hi > most ? stack_hi - most : 0;

	for (u64 n = stack_lo - least; stack_lo > least && n; n = page_down(n / 2)) {
		const u64 lo = stack_lo - n;

		if (lo < least)
			continue;
		if (rt_is_ours(lo, n) && rt_make_way(b, lo, n))
			rt_resume(b);		/* where it was going on may be gone */
		if (rt_sys(NR_mmap, lo, n, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE |
			   MAP_FIXED_NOREPLACE, -1, 0) == (long)lo)
			stack_lo = lo;
	}
}

/* A file has no page there: so far behind the end of any. */
#ifdef __i386__				/* 2^31 pages */
#define FAR_BEHIND (1ull << 43)
#else
#define FAR_BEHIND (1ull << 46)
#endif
void rt_replay_gone(const struct rt_event *e)
{
	const long fd = rt_sys(NR_open, rt_boot_info.data_path, FILE_FLAGS, 0);

	rt_map(page_down(e->a[0]), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd,
	       FAR_BEHIND);
	rt_sys(NR_close, fd);
}

/* What another mapping of the file, or a call, has written: the program itself may not. */
void rt_replay_memory(struct rt_block *b, const struct rt_event *e)
{
	const u64 lo = page_down(e->a[0]), n = page_up(e->a[0] + e->a[2]) - lo;

	if (!rt_put(e->a[0], e + 1, e->a[2]))
		return;
	rt_sys(NR_mprotect, lo, n, PROT_READ | PROT_WRITE);
	rt_put(e->a[0], e + 1, e->a[2]);
	rt_sys(NR_mprotect, lo, n, PROT_READ);
}

/* ---- a program that the one before has executed ---------------------------------------------- */
/* Vector and floating-point state as the kernel gives it to a program. */
static void clear_state(void)
{
	static u8 area[4096] __attribute__((aligned(64)));

	*(u32 *)(area + 24) = 0x1f80;		/* mxcsr; XSTATE_BV is 0 */
#ifdef __i386__
	__asm__ volatile("xrstor %0" : : "m"(area), "a"(~0x200), "d"(-1));	/* not PKRU */
#else
	__asm__ volatile("xrstor64 %0" : : "m"(area), "a"(~0x200), "d"(-1));
#endif
}

/* In the process as it is, which keeps the runtime and the vaults: it may not execute anything. */
void rt_replay_exec(struct rt_block *b)
{
	struct rt_boot *boot = &rt_boot_info;
	struct rt_block *next;
	u64 brk = 0, base;
	long fd, r;

	rt_token_alone(b);
	rt_group_leave(b);
	if (!rt_ask(b, RQ_LOG_EXEC, 0, 0, 0, 0) || !b->mail.r[0])
		return;
	next = rt_block_map((u32)b->mail.r[0]);
	base = b->mail.r[3];
	rt_sys(NR_mmap, LOAD_AT, page_up(sizeof *START), PROT_READ | PROT_WRITE,
	       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	{
		char path[48];

		rt_controllers_file(path, (u32)b->mail.r[1]);
		fd = rt_sys(NR_open, path, FILE_FLAGS, 0);
	}
	r = rt_pread(fd, LOAD_AT, sizeof *START, b->mail.r[2]);
	rt_sys(NR_close, fd);
	if (!next || r != (long)sizeof *START)
		fail();
	boot->entry = load(&brk, OURS, OURS_END);
	rt_begin_space(base);
	rt_forget_all();
	next->log_brk = brk;
	next->exec_all = boot->exec_all;
	rt_no_segments();
	rt_block_begin(next, boot->entry);
	rt_begin_as(next);
}

void rt_begun(struct rt_block *next);

/* On @next's stack: the old one is somebody else's as soon as the controller knows. */
void rt_begun(struct rt_block *next)
{
	const struct rt_boot *boot = &rt_boot_info;

	rt_load_ranges(next);
	for (u32 i = 0; i < boot->nrange; i++) {
		const struct rt_range *x = &boot->range[i];

		rt_range_add(x->lo, x->hi, x->prot, x->shared);
		rt_sys(NR_mprotect, x->lo, x->hi - x->lo, (x->prot & ~PROT_EXEC) | PROT_READ);
	}
	rt_clock_await(next);
	rt_trace_start(next);
	rt_resume(next);
	clear_state();
	rt_stop_perhaps(next);
}

/* ---- what the process may ask of the kernel from here on ------------------------------------- */
enum { LD = 0x20, JEQ = 0x15, RET_ = 0x06, ALLOW = 0x7fff0000, KILL = 0x80000000 };
#define ABOVE 6				/* the upper half of the first */
#define ARGUMENT(i) (16 + 8 * (i))	/* of struct seccomp_data: its lower half */

/* What maps memory, waits for the controller, handles the process's own signals, ends it; and
 * files, to read. Words to standard output and standard error are the program's, if wanted. */
void rt_replay_confine(u32 pid)
{
	static const uint16_t free_calls[] = {
		NR_read, NR_close, NR_fstat, NR_mmap, NR_mprotect, NR_munmap, NR_rt_sigaction,
		NR_rt_sigprocmask, NR_rt_sigreturn, NR_mremap, NR_madvise, NR_getpid, NR_exit,
		NR_sigaltstack, NR_gettid, NR_futex, NR_exit_group, NR_pread, NR_wait4,
		NR_sched_yield, NR_restart_syscall, NR_clock_gettime, NR_arch_prctl,
#ifdef __i386__
		NR_set_thread_area, NR_get_thread_area, NR_modify_ldt, NR_sigreturn,
		NR_remap_file_pages,
#endif
	};
	/* signals to itself; where there are children, whose numbers nobody knows yet, the upper
	 * half of a number that has none */
	const u32 whose = several ? ABOVE : 0, which = several ? 0 : pid;
	/* call, which argument, values that it may have */
	const struct { u32 nr, arg, value[5]; } some[] = {
		{ NR_open, 1, { 02000000, FILE_FLAGS, 02000000, FILE_FLAGS, FILE_FLAGS } },
		{ NR_write, 0, { 1, 2, 1, 2, 1 } },
		{ NR_kill, 1, { 0, 0, 0, 0, 0 } },
		{ NR_clone, 0, { 17 /* SIGCHLD */, 17 | CLONE_SETTLS, CLONE_AGAIN,
				 CLONE_AGAIN | CLONE_SETTLS, 17 | CLONE_PARENT } },
		{ NR_tgkill, whose, { which, which, which, which, which } },
		{ NR_rt_tgsigqueueinfo, whose, { which, which, which, which, which } },
		{ NR_rt_sigqueueinfo, whose, { which, which, which, which, which } },
	};
	struct bpf code[4 + 2 * NR_OF(free_calls) + 9 * NR_OF(some) + 1];
	struct { word n; const struct bpf *code; } out = { 0, code };
	u32 n = 0;

	code[n++] = (struct bpf){ LD, 0, 0, 4 };
	code[n++] = (struct bpf){ JEQ, 1, 0, RT_AUDIT_ARCH };
	code[n++] = (struct bpf){ RET_, 0, 0, KILL };
	code[n++] = (struct bpf){ LD, 0, 0, 0 };
	for (u32 i = 0; i < NR_OF(free_calls); i++) {
		code[n++] = (struct bpf){ JEQ, 0, 1, free_calls[i] };
		code[n++] = (struct bpf){ RET_, 0, 0, ALLOW };
	}
	for (u32 i = 0; i < NR_OF(some); i++) {
		code[n++] = (struct bpf){ JEQ, 0, 8, some[i].nr };
		code[n++] = (struct bpf){ LD, 0, 0, some[i].arg == ABOVE ? ARGUMENT(0) + 4 :
			ARGUMENT(some[i].arg) };
		for (u32 k = 0; k < NR_OF(some[i].value); k++)
			code[n++] = (struct bpf){ JEQ, (u8)(5 - k), 0, some[i].value[k] };
		code[n++] = (struct bpf){ RET_, 0, 0, KILL };
		code[n++] = (struct bpf){ RET_, 0, 0, ALLOW };
	}
	code[n++] = (struct bpf){ RET_, 0, 0, KILL };
	out.n = n;
	rt_sys(NR_prctl, 38 /* PR_SET_NO_NEW_PRIVS */, 1, 0, 0, 0);
	if (rt_sys(NR_prctl, 22 /* PR_SET_SECCOMP */, 2, &out, 0, 0))
		rt_fail("pugmark: a recording cannot be replayed here: seccomp(2) is refused\n");
}
