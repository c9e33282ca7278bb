/* SPDX-License-Identifier: MIT */
/* rt.h - the code that lives inside a traced process, between any two of its instructions
 *
 * House rules, enforced by `make check`:
 *  o no libc, errno, malloc, TLS or vector registers (-mgeneral-regs-only); nm -u shows nothing;
 *  o it talks to the controller through its thread block's mailbox and nothing else;
 *  o a signal may arrive at any instruction. In the *windows* of entry.S the program's state is
 *    rt_block.ctx, whole, and the signal is delivered at once; anywhere else in here it is put into
 *    rt_block.pend_* with every further signal blocked, and queued again on the way out;
 *  o memory of the program is touched only through rt_get() and rt_put(), which survive faults. */
#ifndef PM_RUNTIME_RT_H
#define PM_RUNTIME_RT_H

#include <stddef.h>
#include <stdint.h>

#include "abi.h"

#pragma GCC visibility push(hidden)

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint8_t u8;

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

/* ---- kernel ABI, x86-64 (arch/x86/include/uapi/asm) ------------------------------------------- */
#define NR_read 0
#define NR_write 1
#define NR_open 2
#define NR_close 3
#define NR_mmap 9
#define NR_mprotect 10
#define NR_munmap 11
#define NR_rt_sigaction 13
#define NR_rt_sigprocmask 14
#define NR_rt_sigreturn 15
#define NR_mremap 25
#define NR_shmat 30
#define NR_shmdt 67
#define NR_getpid 39
#define NR_clone 56
#define NR_fork 57
#define NR_vfork 58
#define NR_execve 59
#define NR_exit 60
#define NR_kill 62
#define NR_uname 63
#define NR_rt_sigpending 127
#define NR_rt_sigsuspend 130
#define NR_rt_sigqueueinfo 129
#define NR_sigaltstack 131
#define NR_personality 135
#define NR_prctl 157
#define NR_arch_prctl 158
#define NR_gettid 186
#define NR_futex 202
#define NR_restart_syscall 219
#define NR_exit_group 231
#define NR_tgkill 234
#define NR_openat 257
#define NR_rt_tgsigqueueinfo 297
#define NR_seccomp 317
#define NR_execveat 322
#define NR_pkey_mprotect 329
#define NR_rseq 334
#define NR_clone3 435
#define NR_memfd_create 319
#define NR_lseek 8
#define NR_openat2 437

#define PROT_READ 1
#define PROT_WRITE 2
#define PROT_EXEC 4
#define MAP_SHARED 1
#define MAP_PRIVATE 2
#define MAP_FIXED 0x10
#define MAP_ANONYMOUS 0x20
#define MAP_NORESERVE 0x4000
#define MREMAP_MAYMOVE 1
#define MREMAP_FIXED 2

#define SIGILL 4
#define SIGTRAP 5
#define SIGBUS 7
#define SIGFPE 8
#define SIGKILL 9
#define SIGSEGV 11
#define SIGSTOP 19
#define SIG_BIT(s) (1ull << ((s) - 1))
#define SYNC_SIGS (SIG_BIT(4) | SIG_BIT(5) | SIG_BIT(7) | SIG_BIT(8) | SIG_BIT(11))
#define UNBLOCKABLE (SIG_BIT(9) | SIG_BIT(19))

#define SA_NOCLDSTOP 1u
#define SA_NOCLDWAIT 2u
#define SA_SIGINFO 4u
#define SA_RESTORER 0x04000000u
#define SA_ONSTACK 0x08000000u
#define SA_RESTART 0x10000000u
#define SA_NODEFER 0x40000000u
#define SA_RESETHAND 0x80000000u
#define SS_ONSTACK 1
#define SS_DISABLE 2
#define SS_AUTODISARM (1u << 31)

#define CLONE_VM 0x100
#define CLONE_SIGHAND 0x800
#define CLONE_VFORK 0x4000
#define CLONE_THREAD 0x10000
#define CLONE_SETTLS 0x80000

#define EPERM 1
#define ESRCH 3
#define EFAULT 14
#define EINVAL 22
#define ENOMEM 12
#define ENOSYS 38
#define EINTR 4

struct k_sigaction {
	u64 handler, flags, restorer, mask;
};
struct k_stack {
	u64 sp;
	u32 flags, pad;
	u64 size;
};
struct k_siginfo {
	int signo, error, code, pad;
	u64 addr;			/* si_addr for faults; si_pid/si_uid for sent ones */
	uint8_t rest[104];
};
enum { G_R8, G_R9, G_R10, G_R11, G_R12, G_R13, G_R14, G_R15, G_RDI, G_RSI, G_RBP, G_RBX, G_RDX,
       G_RAX, G_RCX, G_RSP, G_RIP, G_EFL, G_CSGSFS, G_ERR, G_TRAPNO, G_OLDMASK, G_CR2 };
struct k_ucontext {
	u64 flags, link;
	struct k_stack stack;
	u64 greg[23];
	u64 fpstate;
	u64 reserved[8];
	u64 sigmask;
};
struct k_frame {			/* struct rt_sigframe */
	u64 pretcode;
	struct k_ucontext uc;
	struct k_siginfo info;
};
#define FP_XSTATE_MAGIC1 0x46505853u

static inline long rt_sys6(long nr, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
	register u64 r10 __asm__("r10") = d;
	register u64 r8 __asm__("r8") = e;
	register u64 r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#define rt_sys(nr, ...) rt_sys_pick(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)(nr, __VA_ARGS__)
#define rt_sys_pick(a, b, c, d, e, f, ...) rt_sysn
#define rt_sysn(nr, ...) rt_sys_pad(nr, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define rt_sys_pad(nr, a, b, c, d, e, f, ...) \
	rt_sys6(nr, (u64)(a), (u64)(b), (u64)(c), (u64)(d), (u64)(e), (u64)(f))

/* ---- the runtime's private data: copied by fork, shared by threads and vfork children ---------- */
struct rt_sighand {
	struct k_sigaction act[65];	/* valid for the signals in `ours` */
	u64 ours;			/* the kernel has our handler for them */
	u32 used;
};

#define NR_OF(a) (sizeof(a) / sizeof((a)[0]))

extern struct rt_boot rt_boot_info;	/* filled in by the controller */
extern struct rt_range rt_ranges[256];	/* what the program believes to be executable */
extern u32 rt_nranges;

/* ---- entry.S ---------------------------------------------------------------------------------- */
extern char rt_leave[], rt_window_end[], rt_pass[], rt_pass_insn[], rt_pass_done[];
extern char rt_get_start[], rt_get_end[], rt_get_fault[];
extern char rt_resolve[], rt_syscall[], rt_step[], rt_int80[], rt_check[];
extern char rt_sigentry[], rt_sigrestore[], rt_image_start[], rt_image_end[];
/* Copy to/from the program's memory: 0 or -EFAULT. */
long rt_copy(void *to, const void *from, u64 n);
#define rt_get(to, from, n) rt_copy((to), (const void *)(from), (n))
#define rt_put(to, from, n) rt_copy((void *)(to), (from), (n))
/* clone with all registers from @b->ctx in the child; returns in the parent only. */
long rt_clone(long nr, u64 a, u64 b, u64 c, u64 d, u64 e, struct rt_block *child);
extern char rt_app_done[], rt_clone_done[];
long rt_app_sys(long nr, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f);
void rt_switch_gs(struct rt_block *b);

/* ---- core.c ----------------------------------------------------------------------------------- */
#define RT_SESSION ((struct rt_session *)RT_DATA_VAULT)
/* Ask the controller; false: there is none any more. Runs the commands of the answer. */
int rt_ask(struct rt_block *b, u32 op, u64 a0, u64 a1, u64 a2, u64 a3);
void rt_go(struct rt_block *b);			/* b->resume for b->ctx.pc, or native */
__attribute__((noreturn)) void rt_go_native(struct rt_block *b);
int rt_is_exec(u64 addr, u64 len);
void rt_ranges_hold(int on);			/* around a fork: the child's copy is whole, and free */
void rt_range_add(u64 lo, u64 hi, u32 prot, u32 shared);
void rt_range_del(u64 lo, u64 hi);
void *rt_memcpy(void *to, const void *from, u64 n);
void *memset(void *to, int c, size_t n);

void rt_block_begin(struct rt_block *b, u64 pc);

/* ---- image.c: only in instrumented executables -------------------------------------------------- */
int rt_image_ours(u64 addr, u64 len);
u64 rt_image_place(u64 fd, u64 *flags);	/* where to map the library @fd; 0: anywhere */

/* ---- trace.c ---------------------------------------------------------------------------------- */
/* Each of them does nothing where nothing is traced. */
void rt_trace_start(struct rt_block *b);	/* in the thread itself: guard pages, RT_N_STATE */
void rt_trace_note(struct rt_block *b, u32 type, const u64 *arg, u32 narg);
void rt_trace_state(struct rt_block *b, u64 rsp);
void rt_trace_sysret(struct rt_block *b);
/* A fault at @addr by translated code: did the buffer end there? Then *@uc goes on in the next. */
int rt_trace_full(struct rt_block *b, u64 addr, struct k_ucontext *uc);

/* ---- syscall.c -------------------------------------------------------------------------------- */
int rt_do_syscall(struct rt_block *b);		/* 1: execute it in the window */

/* ---- signal.c --------------------------------------------------------------------------------- */
void rt_signal_boot(struct rt_block *b);
void rt_signal_thread(struct rt_block *b);
void rt_signal_native(struct rt_block *b);
long rt_sigaction_call(struct rt_block *b, u64 sig, u64 act, u64 old, u64 size);
long rt_sigprocmask_call(struct rt_block *b, u64 how, u64 set, u64 old, u64 size);
long rt_sigaltstack_call(struct rt_block *b, u64 ss, u64 old);
void rt_sigreturn_call(struct rt_block *b);
struct rt_sighand *rt_sighand_copy(const struct rt_sighand *from);
void rt_flush_pending(struct rt_block *b);
void rt_step_in_place(struct rt_block *b, u64 pc);

#endif
