/* SPDX-License-Identifier: MIT */
/* replay_filter.c - what a replayed process may ask of the kernel
 *
 * What maps memory, waits for the controller, handles the process's own signals, ends it; and
 * files, to read. Words to standard output and standard error are the program's, if wanted. Where
 * the recording has programs of both widths it may execute a file, which keeps the filter, and may
 * make the calls of either. */
#include "rt.h"

enum { LD = 0x20, JA = 0x05, JEQ = 0x15, RET_ = 0x06, ALLOW = 0x7fff0000, KILL = 0x80000000 };
#define ABOVE 6				/* the upper half of the first */
#define ARGUMENT(i) (16 + 8 * (i))	/* of struct seccomp_data: its lower half */
#define NONE 0xffff

/* Numbers of 64-bit and of i386's calls. */
#define FREE_CALLS(F) \
	F(read, 0, 3) F(close, 3, 6) F(fstat, 5, 197) F(mmap, 9, 192) F(mprotect, 10, 125) \
	F(munmap, 11, 91) F(rt_sigaction, 13, 174) F(rt_sigprocmask, 14, 175) \
	F(rt_sigreturn, 15, 173) F(mremap, 25, 163) F(madvise, 28, 219) F(getpid, 39, 20) \
	F(exit, 60, 1) F(sigaltstack, 131, 186) F(gettid, 186, 224) F(futex, 202, 240) \
	F(exit_group, 231, 252) F(pread, 17, 180) F(wait4, 61, 114) F(sched_yield, 24, 158) \
	F(restart_syscall, 219, 0) F(clock_gettime, 228, 265) F(arch_prctl, 158, 384)
#define FREE_CALLS32(F) \
	F(set_thread_area, NONE, 243) F(get_thread_area, NONE, 244) F(modify_ldt, NONE, 123) \
	F(sigreturn, NONE, 119) F(remap_file_pages, NONE, 257)
#define OTHER_CALLS(F) \
	F(open, 2, 5) F(write, 1, 4) F(kill, 62, 37) F(clone, 56, 120) F(tgkill, 234, 270) \
	F(rt_tgsigqueueinfo, 297, 335) F(rt_sigqueueinfo, 129, 178) F(execve, 59, 11)

#ifdef __i386__
#define IS_RIGHT(name, wide, narrow) _Static_assert(NR_##name == (narrow), #name);
FREE_CALLS32(IS_RIGHT)
#else
#define IS_RIGHT(name, wide, narrow) _Static_assert(NR_##name == (wide), #name);
#endif
FREE_CALLS(IS_RIGHT)
OTHER_CALLS(IS_RIGHT)

#define NUMBERS(name, wide, narrow) { wide, narrow },
#define INDEX(name, wide, narrow) AT_##name,
static const uint16_t free_calls[][2] = { FREE_CALLS(NUMBERS) FREE_CALLS32(NUMBERS) };
static const uint16_t other_calls[][2] = { OTHER_CALLS(NUMBERS) };
enum { OTHER_CALLS(INDEX) };
static const u32 audit_arch[2] = { 0xc000003e, 0x40000003 };

#define PART (1 + 2 * NR_OF(free_calls) + 9 * 7 + 2 + 1)	/* instructions for a width */
struct call_filter {
	struct bpf code[3 + 3 * 2 + 2 * PART];
	u32 n;
};

static void add_step(struct call_filter *f, uint16_t code, u8 jt, u8 jf, u32 k)
{
	f->code[f->n++] = (struct bpf){ code, jt, jf, k };
}

static void allow_call(struct call_filter *f, u32 nr)
{
	add_step(f, JEQ, 0, 1, nr);
	add_step(f, RET_, 0, 0, ALLOW);
}

/* The calls of @width: 1 i386. */
static void add_width(struct call_filter *f, int width, u32 pid, int executes)
{
	/* of a process that nobody knows yet the upper half of its number, which has none */
	const u32 whose = pid ? 0 : ABOVE;
	/* call, which argument, values that it may have */
	const struct { u32 call, arg, value[5]; } some[] = {
		{ AT_open, 1, { 02000000, 02100000, 02000000, 02100000, 02100000 } },
		{ AT_write, 0, { 1, 2, 1, 2, 1 } },
		{ AT_kill, 1, { 0, 0, 0, 0, 0 } },
		{ AT_clone, 0, { 17 /* SIGCHLD */, 17 | CLONE_SETTLS, CLONE_AGAIN,
				 CLONE_AGAIN | CLONE_SETTLS, 17 | CLONE_PARENT } },
		{ AT_tgkill, whose, { pid, pid, pid, pid, pid } },
		{ AT_rt_tgsigqueueinfo, whose, { pid, pid, pid, pid, pid } },
		{ AT_rt_sigqueueinfo, whose, { pid, pid, pid, pid, pid } },
	};

	add_step(f, LD, 0, 0, 0);
	for (u32 i = 0; i < NR_OF(free_calls); i++)
		if (free_calls[i][width] != NONE)
			allow_call(f, free_calls[i][width]);
	if (executes)
		allow_call(f, other_calls[AT_execve][width]);
	for (u32 i = 0; i < NR_OF(some); i++) {
		add_step(f, JEQ, 0, 8, other_calls[some[i].call][width]);
		add_step(f, LD, 0, 0, some[i].arg == ABOVE ? ARGUMENT(0) + 4
							   : ARGUMENT(some[i].arg));
		for (u32 k = 0; k < NR_OF(some[i].value); k++)
			add_step(f, JEQ, (u8)(5 - k), 0, some[i].value[k]);
		add_step(f, RET_, 0, 0, KILL);
		add_step(f, RET_, 0, 0, ALLOW);
	}
	add_step(f, RET_, 0, 0, KILL);
}

void rt_replay_filter(u32 pid, int widths)
{
	const int own = RT_AUDIT_ARCH == audit_arch[1];
	struct call_filter f = { .n = 0 };
	struct { word n; const struct bpf *code; } out = { 0, f.code };
	u32 jump;

	add_step(&f, LD, 0, 0, 4);
	add_step(&f, JEQ, 1, 0, RT_AUDIT_ARCH);
	jump = f.n;
	add_step(&f, RET_, 0, 0, KILL);
	add_width(&f, own, pid, widths);
	if (widths) {
		f.code[jump] = (struct bpf){ JA, 0, 0, f.n - jump - 1 };
		add_step(&f, JEQ, 1, 0, audit_arch[!own]);
		add_step(&f, RET_, 0, 0, KILL);
		add_width(&f, !own, pid, widths);
	}
	out.n = f.n;
	rt_sys(NR_prctl, 38 /* PR_SET_NO_NEW_PRIVS */, 1, 0, 0, 0);
	if (rt_sys(NR_prctl, 22 /* PR_SET_SECCOMP */, 2, &out, 0, 0))
		rt_fail("pugmark: a recording cannot be replayed here: seccomp(2) is refused\n");
}
