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
extern word rt_boot_rsp, rt_boot_regs[2];
static u32 several, others, echo, widths, confined;	/* of struct rt_start */
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
	rt_sys(NR_munmap, to, PROGRAM_END - to);
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
	widths = START->widths;
	confined = START->confined;
	rt_sys(NR_munmap, LOAD_AT, behind - LOAD_AT);
	return pc;
}

void rt_replay_begun(const struct rt_block *b)
{
	if (confined)
		rt_replay_take_over(PTR((word)b + RT_HANDOVER));
}

/* The files that another program will have to map: none can be opened to write from here on. */
static void keep_files(void)
{
	const char *const path[2] = { rt_boot_info.data_path, rt_boot_info.code_path };

	for (u32 i = 0; i < NR_OF(path); i++)
		RT_SESSION->kept[i] = 1 + (u32)rt_sys(NR_open, path[i], 2 | O_LARGEFILE, 0);
}

void rt_replay_confine(const struct rt_block *b)
{
	if (confined)
		return;
	if (widths)
		keep_files();
	/* signals to itself; where there are children nobody knows their numbers yet */
	rt_replay_filter(several ? 0 : b->pid, widths);
}

int rt_replay_has_others(void)
{
	return others;
}

u64 rt_replay_load(u64 *brk)
{
	const u64 pc = load(brk, RT_IMAGE_AT, LOAD_AT + page_up(sizeof *START));

	if (echo && !confined)
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

/* One of the other width needs a process of its width: the kernel executes that one's runtime. The
 * filter stays. */
__attribute__((noreturn)) static void execute(u32 number, u32 file)
{
	const word argv[2] = { (word)"pugmark" };
	struct rt_block *next = rt_block_map(number);
	char path[48];

	if (next)
		rt_replay_hand_over(PTR((word)next + RT_HANDOVER));
	rt_controllers_file(path, file);
	rt_sys(NR_execve, path, argv, argv + 1);
	rt_fail("pugmark: cannot execute a program of the other width\n");
}

/* In the process as it is, which keeps the runtime and the vaults, if it is of the program's
 * width. */
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
	if (b->mail.r[4])
		execute((u32)b->mail.r[0], (u32)b->mail.r[1]);
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
	boot->entry = load(&brk, OURS_AT, OURS_END);
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
