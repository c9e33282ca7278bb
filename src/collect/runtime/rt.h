/* SPDX-License-Identifier: MIT */
/* rt.h - the code that lives inside a traced process, between any two of its instructions
 *
 * House rules, which `make check` enforces where it can:
 *  o It has no libc, errno, malloc or TLS, and uses no vector registers (-mgeneral-regs-only).
 *    nm -u shows nothing.
 *  o It talks to the controller through its thread block's mailbox, and through nothing else.
 *  o A signal may arrive at any instruction. In the *windows* of entry_*.S all of the program's
 *    state is in rt_block.ctx, and the program gets the signal at once. Anywhere else in here the
 *    signal goes into rt_block.waiting. Then further signals are blocked. On the way out it is
 *    queued again.
 *  o It touches memory of the program only through rt_get() and rt_put(), which survive faults. */
#ifndef PM_RUNTIME_RT_H
#define PM_RUNTIME_RT_H

#include <stddef.h>
#include <stdint.h>

#include "abi.h"

#pragma GCC visibility push(hidden)

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint8_t u8;
typedef unsigned long word;		/* an address or a register of the program */

/* Registers in hardware order; the first eight are i386's, too. */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

#define PTR(address) ((void *)(word)(address))

/* ---- kernel ABI, alike for both widths (arch/x86/include/uapi/asm) --------------------------- */
#define PROT_READ 1
#define PROT_WRITE 2
#define PROT_EXEC 4
#define MAP_SHARED 1
#define MAP_PRIVATE 2
#define MAP_FIXED 0x10
#define MAP_ANONYMOUS 0x20
#define MAP_NORESERVE 0x4000
#define MAP_POPULATE 0x8000
#define MADV_DONTNEED 4
#define MADV_DONTDUMP 16
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#define MAP_FIXED_NOREPLACE 0x100000
#define MREMAP_MAYMOVE 1
#define MREMAP_FIXED 2
#define SHM_RDONLY 010000
#define SHM_REMAP 040000
#define SHM_EXEC 0100000
#define ADDR_NO_RANDOMIZE 0x40000u
#define READ_IMPLIES_EXEC 0x400000u

#define SIGILL 4
#define SIGTRAP 5
#define SIGBUS 7
#define SIGFPE 8
#define SIGKILL 9
#define SIGSEGV 11
#define SIGPIPE 13
#define SIGXFSZ 25
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
#define CLONE_FS 0x200
#define CLONE_FILES 0x400
#define CLONE_SIGHAND 0x800
#define CLONE_VFORK 0x4000
#define CLONE_PARENT 0x8000
#define CLONE_THREAD 0x10000
#define CLONE_PIDFD 0x1000
#define CLONE_SYSVSEM 0x40000
#define CLONE_SETTLS 0x80000
#define CLONE_PARENT_SETTID 0x100000
#define CLONE_CHILD_CLEARTID 0x200000
#define CLONE_CHILD_SETTID 0x1000000
#define CLONE_NEWPID 0x20000000
/* A thread that is made again. */
#define CLONE_AGAIN (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | \
		     CLONE_SYSVSEM)
#define CLONE_CLEAR_SIGHAND 0x100000000ull	/* of clone3 */
/* Does what is made with these flags take turns with who has made it: is it a thread, or a process
 * that has the same memory and is not waited for? */
#define rt_takes_part(flags) \
	((flags) & CLONE_THREAD || ((flags) & (CLONE_VM | CLONE_VFORK)) == CLONE_VM)

#define EPERM 1
#define ENOENT 2
#define ESRCH 3
#define EFAULT 14
#define ENOTDIR 20
#define EINVAL 22
#define ENOMEM 12
#define ENOSYS 38
#define EINTR 4
#define SI_TKILL (-6)
#define EAGAIN 11

struct k_sigaction {
	word handler, flags, restorer;
	u64 mask;
};
struct k_stack {
	word sp;
	u32 flags;
	word size;
};
struct k_siginfo {
	int signo, error, code;
	word addr;			/* si_addr for faults; si_pid/si_uid for sent ones */
	uint8_t rest[128 - 8 - 2 * sizeof(word)];
};
_Static_assert(sizeof(struct k_siginfo) == 128, "the kernel's");
struct bpf {				/* struct sock_filter */
	uint16_t code;
	uint8_t jt, jf;
	u32 k;
};
#define FP_XSTATE_MAGIC1 0x46505853u	/* in the spare words of an fxsave area */
#define FX_SW 464

#ifdef __i386__
#include "i386.h"
#else
#include "x86_64.h"
#endif

#define rt_sys(nr, ...) rt_sys_pick(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)(nr, __VA_ARGS__)
#define rt_sys_pick(a, b, c, d, e, f, ...) rt_sysn
#define rt_sysn(nr, ...) rt_sys_pad(nr, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define rt_sys_pad(nr, a, b, c, d, e, f, ...) \
	rt_sys6(nr, (word)(a), (word)(b), (word)(c), (word)(d), (word)(e), (word)(f))
static inline int rt_failed(long r)
{
	return (word)r > -4096ul;
}

static inline u64 page_down(u64 n)
{
	return n & ~4095ull;
}

static inline u64 page_up(u64 n)
{
	return page_down(n + 4095);
}

/* Is it the controller's word @what? It is behind si_pid and si_uid. */
static inline int rt_is_word(u32 sig, const struct k_siginfo *info, u32 what)
{
	u32 value;

	__builtin_memcpy(&value, (const u8 *)&info->addr + 8, sizeof value);
	return sig == SIGTRAP && info->code == -1 /* SI_QUEUE */ && value == what;
}

/* ---- the runtime's private data: copied by fork, shared by threads and vfork children -------- */
struct rt_sighand {
	struct k_sigaction act[65];	/* valid for the signals in `ours` */
	u64 ours;			/* the kernel has our handler for them */
	u32 used;
	u32 native;			/* the kernel has the program's again */
	u32 ignored[65];		/* how often the program has begun to ignore it */
};

#define NR_OF(a) (sizeof(a) / sizeof((a)[0]))

extern struct rt_boot rt_boot_info;	/* filled in by the controller */
extern struct rt_range rt_ranges[256];	/* what the program believes to be executable */
extern u32 rt_nranges;
extern u32 rt_nwritable;			/* ... of them also writable */

/* ---- entry_*.S ------------------------------------------------------------------------------- */
extern char rt_leave[], rt_window_end[], rt_pass[], rt_pass_insn[], rt_pass_done[];
extern char rt_get_start[], rt_get_end[], rt_get_fault[];
extern char rt_resolve[], rt_syscall[], rt_step[], rt_int80[], rt_check[], rt_spent[],
	rt_safepoint[], rt_tree[], rt_gone[];
void rt_native_jump(void) __attribute__((noreturn));
extern char rt_sigentry[], rt_sigrestore[], rt_image_start[], rt_image_end[];
/* Copy to/from the program's memory: 0 or -EFAULT. */
long rt_copy(void *to, const void *from, word n);
#define rt_get(to, from, n) rt_copy((to), PTR(from), (n))
#define rt_put(to, from, n) rt_copy(PTR(to), (from), (n))
/* clone with all registers from @b->ctx in the child; returns in the parent only. */
long rt_clone(long nr, word a, word b, word c, word d, word e, struct rt_block *child);
extern char rt_app_done[], rt_clone_done[];
long rt_app_sys(long nr, word a, word b, word c, word d, word e, word f);

/* ---- library.c ------------------------------------------------------------------------------- */
void *rt_memcpy(void *to, const void *from, word n);
void *memset(void *to, int c, size_t n);
/* At @to; how many characters: */
u32 rt_write_decimal(char *to, u32 v);
u32 rt_write_text(char *to, const char *text);	/* and its 0, which is not counted */
__attribute__((noreturn)) void rt_fail(const char *what);

/* ---- exec_ranges.c --------------------------------------------------------------------------- */
extern u32 rt_apart;			/* the controller's numbers of us or our
					 * children may be other ones */
extern u32 rt_attached;			/* the program had been running before */
int rt_is_exec(u64 addr, u64 len);
void rt_ranges_lock(int on);		/* around a fork: the child's copy is whole, and free */
void rt_range_add(u64 lo, u64 hi, u32 prot, u32 shared);
void rt_range_del(u64 lo, u64 hi);

/* ---- mailbox.c; in instrumented executables standalone/answers.c ----------------------------- */
#define RT_SESSION ((struct rt_session *)RT_SESSION_AT)
struct rt_wait {			/* {0} to begin with */
	u32 beat, times;
	u64 since;			/* when waits began to be interrupted; 0: they are not */
};
int rt_controller_gone(struct rt_wait *w);
#define RT_WAIT_NS 200000000u
/* A futex wait of RT_WAIT_NS has returned @r: is the controller gone? Asked once in that time. */
int rt_waits_in_vain(struct rt_wait *w, long r);
u64 rt_monotonic(void);			/* ns */
/* The first @n bytes of a file at most: how many; negative: it cannot be opened or read. */
long rt_read_start(const char *path, void *to, u32 n);
/* Ask the controller; false: there is none any more. Runs the commands of the answer. */
int rt_ask(struct rt_block *b, u32 op, u64 a0, u64 a1, u64 a2, u64 a3);
int rt_first_answer(struct rt_block *b);	/* likewise what has come with the block */

/* ---- without_controller.c; instrumented executables have none -------------------------------- */
#ifndef RT_IDT
extern u32 rt_no_controller;		/* a thread has learnt that it is gone */
extern u32 rt_waits_inside;		/* threads in a call of the runtime's that goes back into
					 * the middle of translated code */
void rt_lose_controller(void);		/* says so; indirect transfers find no entry any more */
static inline void rt_no_threads_inside(void) { rt_waits_inside = 0; }	/* just forked */
/* Until no thread is in translated code, but for those that do not come out. */
void rt_await_threads(const struct rt_block *b);
/* Until another thread has set @state to @done. */
void rt_await_native(const u32 *state, u32 done);
#else
#define rt_no_threads_inside() ((void)0)
#define rt_await_threads(b) ((void)(b))
#define rt_await_native(state, done) ((void)(state))
#endif

/* ---- resume.c -------------------------------------------------------------------------------- */
void rt_resume(struct rt_block *b);			/* b->resume for b->ctx.pc, or native */
void rt_resume_at(struct rt_block *b, u64 to);	/* at an entry, or at original code */
void rt_resume_by_answer(struct rt_block *b);		/* the same by the answer to RQ_LOOKUP */
/* The same behind an instruction that the runtime has executed: there is mostly an entry there. */
void rt_resume_behind(struct rt_block *b);
__attribute__((noreturn)) void rt_resume_native(struct rt_block *b);
void rt_make_native(struct rt_block *b);
/* there is no controller any more */
void rt_call_native(struct rt_block *b) __attribute__((noreturn));

/* what a system call gives back, of @b in scope: the register, whose upper half is not i386's */
typedef word __attribute__((may_alias)) rt_result;
#define RET (*(rt_result *)&b->ctx.gpr[RAX])

/* ---- from_translated.c ----------------------------------------------------------------------- */
void rt_block_begin(struct rt_block *b, u64 pc);

/* What the program may do with memory that it asks for with @prot. */
static inline word rt_prot(const struct rt_block *b, word prot)
{
	return b->exec_all && (prot & PROT_READ) ? prot | PROT_EXEC : prot;
}

/* ---- files of other processes ---------------------------------------------------------------- */
#ifndef RT_IDT
void rt_controllers_file(char path[48], u32 fd);	/* by which path a descriptor of the
							 * controller's is opened */
void rt_file_of(char path[48], u32 pid, u32 fd);	/* ... of any process's */
void rt_load_ranges(struct rt_block *b);	/* what is executable, where the runtime has loaded
						 * the program */
#else
static inline void rt_load_ranges(struct rt_block *b) { }
#endif

/* ---- map_program.c: where ptrace() is refused, only 64-bit programs -------------------------- */
#if defined(__x86_64__) && !defined(RT_IDT)
extern char rt_exe[4096];		/* what /proc/self/exe is to the program; "": as it is */
u64 rt_load(void);			/* map the program; its first instruction */
/* Of a loaded program that is about to make execve(): the file as a descriptor, or -1; and the
 * call, with what the controller has prepared for it. */
long rt_load_open(struct rt_block *b);
long rt_load_exec(struct rt_block *b);
#else
#define rt_exe ""
static inline u64 rt_load(void) { return 0; }
static inline long rt_load_open(struct rt_block *b) { return -1; }
static inline long rt_load_exec(struct rt_block *b) { return -ENOSYS; }
#endif

/* ---- to_log.c, from_log.c, replay_start.c: only with a controller ---------------------------- */
enum rt_call_next { RT_CALL_MAKE, RT_CALL_DONE, RT_CALL_LATER };
#ifndef RT_IDT
static inline int rt_records(const struct rt_block *b)
{
	return b->logged == RT_LOG_RECORD;
}
static inline int rt_replays(const struct rt_block *b)
{
	return b->logged == RT_LOG_REPLAY;
}
/* Its translations count nothing but safepoints. */
static inline int rt_logged_bare(const struct rt_block *b)
{
	return b->logged && RT_SESSION->bare;
}
/* The call of @b is about to be made: RT_CALL_DONE: it is not, its result is there;
 * RT_CALL_LATER: signals come first. And it has been made. */
int rt_record_begin(struct rt_block *b);
void rt_record_end(struct rt_block *b);
/* A program is about to be executed of which nothing will be known here. */
void rt_record_not_followed(struct rt_block *b);
/* A signal that is no fault: does it have to wait for the next call or safepoint? It is given at
 * @pc, with @flags. */
int rt_record_defers(struct rt_block *b, u32 sig, const struct k_siginfo *info,
		     struct k_ucontext *uc);
void rt_record_signal(struct rt_block *b, u32 sig, const struct k_siginfo *info, u64 pc,
		      u64 flags);
/* A fault, in front of which the log has to say what a replay would not find. */
void rt_record_fault(struct rt_block *b, u32 sig, const struct k_siginfo *info);
/* Is it the controller's, because those that wait have waited too long? Then they come, and
 * nothing more is recorded. */
int rt_record_gives_up(struct rt_block *b, u32 sig, const struct k_siginfo *info,
		       struct k_ucontext *uc);
/* What the kernel says in @uc of the thread's last fault, which may have been ours: nothing. */
static inline void rt_forget_fault(const struct rt_block *b, struct k_ucontext *uc)
{
	if (b->logged)
		UC_ERR(uc) = UC_TRAPNO(uc) = UC_CR2(uc) = 0;
}
void rt_replay_call(struct rt_block *b);
u64 rt_log_brk(const struct rt_block *b);	/* replayed: where the heap ends */
/* The clock: how many safepoints the process has passed. It begins; the log's next event may be at
 * one; the thread leaves at the next one; it has left at one. */
u64 rt_clock(const struct rt_block *b);
void rt_clock_begin(struct rt_block *b);
void rt_clock_await(struct rt_block *b);
void rt_clock_hurry(struct rt_block *b, struct k_ucontext *uc);
/* stop_here.c: does @b, which is replayed, stop before it goes on? It stands: at the state in ctx,
 * and goes on when the controller says so. A handler has the program's state, but for the pc, in
 * @uc: it stops when the handler returns. */
static inline int rt_stops(const struct rt_block *b)
{
	return b->stop_next != 0;
}
void rt_stop(struct rt_block *b);
void rt_stop_perhaps(struct rt_block *b);	/* if this is where it does */
void rt_stop_behind(struct rt_block *b, struct k_ucontext *uc, u64 pc);
void rt_at_safepoint(struct rt_block *b);
/* Recorded: the slice in which it has the token, or a part of that, begins. */
void rt_clock_slice(struct rt_block *b);
/* token.c: threads take turns. A process begins, with the only thread @b. A thread @c is about to
 * be made, which has not the token; it could not be made. */
void rt_token_begin(struct rt_block *b);
/* @apart: as a process of its own, which has all of its parent's memory. */
void rt_token_join(struct rt_block *c, const struct rt_block *parent, int apart);
int rt_token_others(const struct rt_block *b);	/* do processes but @b's take part? */
int rt_token_apart(void);			/* did they ever, or will they soon? */
int rt_token_is_first(const struct rt_block *b);	/* is it whose children the others are? */
/* A fault of @b's program is about to end its process. Where others have its memory and this is a
 * replay, it does not return. */
void rt_token_dies(struct rt_block *b);
void rt_token_not_joined(const struct rt_block *c);
int rt_token_shared(void);			/* there are several threads */
/* Recorded: the call of @b is about to be made: others may have the token; it is over, or a signal
 * has come: @b has it, whatever waits. Nothing is recorded any more. */
void rt_token_call(struct rt_block *b);
void rt_token_back(struct rt_block *b);
void rt_token_over(void);
int rt_token_safepoint(struct rt_block *b);	/* 1: it was another one's turn */
u64 rt_token_quantum(struct rt_block *b);	/* after how many safepoints that is looked at */
/* Replayed: wait until @b has it. Thread @id has it, until @b has it again. All other threads of
 * the process end, for another program is executed. */
void rt_token_await(struct rt_block *b);
void rt_token_give(struct rt_block *b, u64 id);
void rt_token_alone(struct rt_block *b);
/* @b ends: who has the token then; 0: nobody needs one. That gets it, and @b takes part no more. */
u64 rt_token_heir(struct rt_block *b);
/* The same where @b's process ends, and others have its memory; 0: none does. */
u64 rt_token_process_heir(struct rt_block *b);
/* With what status @b is to end, whose program says @status. @process: its whole process does. */
word rt_token_status(struct rt_block *b, int process, word status);
void rt_token_leave(struct rt_block *b, u64 heir);
/* A thread that is new, @b, has the token; so has a process. Recorded: the process is about to make
 * one with which it shares memory. */
void rt_token_first(struct rt_block *b);
void rt_token_forked(struct rt_block *b);
void rt_token_group(struct rt_block *b);
/* Recorded: processes with which @b's shares memory may execute, for it executes another program;
 * it has not. */
void rt_group_release(struct rt_block *b);
void rt_group_regain(struct rt_block *b);
/* The next program of a process begins, in place of the old one. */
void rt_replay_exec(struct rt_block *b);
int rt_replay_drops(struct rt_block *b);	/* a signal that is no fault */
void rt_replay_echo(void);	/* its standard output and error are wanted */
void rt_replay_insn(struct rt_block *b, u32 what, u64 v[4], u64 *flags);
/* Is the instruction at @pc one whose result is logged? Then it has been done. */
int rt_logged_insn(struct rt_block *b, u64 pc);
/* Map the program; its first instruction, and where its heap begins. */
u64 rt_replay_load(u64 *brk);
/* As of a process that has just begun: ranges, places of code, handlers. */
void rt_forget_ranges(void);
void rt_forget_places(void);
void rt_forget_signals(void);
/* Another program begins in this process, whose code is in the region at @base of the code file
 * (i386): nothing has an entry in its shadow. The segment registers are as the kernel sets them. */
void rt_begin_space(u64 base);
/* @n bytes of the data file, from @off on, come to @at as well: that, or an error. */
long rt_map_data(u64 at, u64 n, u64 off);
void rt_no_segments(void);
static inline void rt_forget_all(void)
{
	rt_forget_ranges();
	rt_forget_places();
	rt_forget_signals();
}
/* rt_begun(), on the stack of that thread block, which is gs's; then out into the program. */
__attribute__((noreturn)) void rt_begin_as(struct rt_block *b);
/* The process, which has mapped everything, takes over what another program has left to it. */
void rt_replay_begun(const struct rt_block *b);
/* @b makes a process whose descriptors are its own: for its rt_block.files. */
u32 rt_replay_own_files(struct rt_block *b);
void rt_replay_hand_over(struct rt_handover *to);
void rt_replay_take_over(const struct rt_handover *from);
/* From here on the kernel kills the process if it asks for anything but what replaying needs. */
void rt_replay_confine(const struct rt_block *b);
/* ... signals only to process @pid, 0: to any that is there; @widths: it may execute a file, and be
 * of the other width then. */
void rt_replay_filter(u32 pid, int widths);
#else
static inline int rt_records(const struct rt_block *b) { return 0; }
static inline int rt_replays(const struct rt_block *b) { return 0; }
static inline int rt_logged_bare(const struct rt_block *b) { return 0; }
static inline int rt_record_begin(struct rt_block *b) { return RT_CALL_MAKE; }
static inline void rt_record_end(struct rt_block *b) { }
static inline void rt_record_not_followed(struct rt_block *b) { }
static inline int rt_record_defers(struct rt_block *b, u32 sig, const struct k_siginfo *info,
				   struct k_ucontext *uc) { return 0; }
static inline void rt_record_signal(struct rt_block *b, u32 sig, const struct k_siginfo *info,
				    u64 pc, u64 flags) { }
static inline void rt_record_fault(struct rt_block *b, u32 sig, const struct k_siginfo *info) { }
static inline int rt_record_gives_up(struct rt_block *b, u32 sig, const struct k_siginfo *info,
				     struct k_ucontext *uc) { return 0; }
static inline void rt_replay_call(struct rt_block *b) { }
static inline u64 rt_log_brk(const struct rt_block *b) { return 0; }
static inline void rt_forget_fault(const struct rt_block *b, struct k_ucontext *uc) { }
static inline void rt_clock_begin(struct rt_block *b) { }
static inline void rt_clock_await(struct rt_block *b) { }
static inline int rt_stops(const struct rt_block *b) { return 0; }
static inline void rt_stop(struct rt_block *b) { }
static inline void rt_stop_perhaps(struct rt_block *b) { }
static inline void rt_stop_behind(struct rt_block *b, struct k_ucontext *uc, u64 pc) { }
static inline void rt_token_begin(struct rt_block *b) { }
static inline void rt_token_join(struct rt_block *c, const struct rt_block *parent, int apart) { }
static inline u64 rt_token_process_heir(struct rt_block *b) { return 0; }
static inline word rt_token_status(struct rt_block *b, int process, word status)
{
	return status;
}
static inline int rt_token_apart(void) { return 0; }
static inline u32 rt_replay_own_files(struct rt_block *b) { return 0; }
static inline void rt_token_dies(struct rt_block *b) { }
static inline void rt_token_not_joined(const struct rt_block *c) { }
static inline void rt_token_call(struct rt_block *b) { }
static inline void rt_token_back(struct rt_block *b) { }
static inline void rt_token_over(void) { }
static inline u64 rt_token_heir(struct rt_block *b) { return 0; }
static inline void rt_token_leave(struct rt_block *b, u64 heir) { }
static inline void rt_token_first(struct rt_block *b) { }
static inline void rt_token_forked(struct rt_block *b) { }
static inline void rt_group_release(struct rt_block *b) { }
static inline void rt_group_regain(struct rt_block *b) { }
static inline void rt_replay_exec(struct rt_block *b) { }
static inline int rt_replay_drops(struct rt_block *b) { return 0; }
static inline int rt_logged_insn(struct rt_block *b, u64 pc) { return 0; }
static inline u64 rt_replay_load(u64 *brk) { return 0; }
static inline void rt_replay_confine(u32 pid) { }
#endif

/* ---- standalone/: only in instrumented executables; more of it in standalone.h --------------- */
/* Map where nothing is, or with MAP_FIXED over it. Does not fail: it ends the
 * program, saying @name. */
void rt_image_map(u64 at, u64 len, u64 prot, u64 flags, long fd, u64 off, const char *name);
/* The widths' own: the memory of thread blocks, of code and tables, and the shadow; entries of the
 * shadow, one set, a range forgotten; thread blocks of this process. */
struct img_manifest;
void rt_image_map_data(const struct img_manifest *man);
void rt_image_shadow(u64 pc, u64 to);
void rt_image_shadow_room(u64 pc, u64 n);	/* entries for [pc, pc + n) are about to be set */
void rt_image_clear_shadow(u64 lo, u64 hi);
struct img_pack;
/* Piece @k of @p, text @i's code or tables, comes to @at: its place, which map_data() has kept
 * free. False: it is damaged. Then: nothing is in those places any more. */
int rt_image_unpack(u32 i, const struct img_pack *p, u64 at, u32 k, u64 prot);
void rt_image_unmap(u32 i);
struct rt_block *rt_image_block(u32 number);	/* NULL: not mapped */
u32 rt_image_number(const struct rt_block *b);
struct rt_stat {
	u64 dev, ino, size;
	u64 changed;			/* img_file */
	u32 mode;
};
long rt_stat(const char *path, long fd, struct rt_stat *to);	/* of @fd without @path;
								 * 0 or an error */
struct rt_ledger {			/* IMG_LEDGER: behind struct rt_session; of 64-bit processes
					 * shared by all */
	u32 owner[IMG_BLOCKS];		/* of thread blocks: pid; 0: nobody */
	u32 leaving[IMG_LEAVING];	/* the owner has gone, but for the last thread's last
					 * instructions */
	u32 used;			/* blocks from here on have never had an owner */
};
struct rt_shared {			/* by all processes of the program */
	u32 translator;			/* pid; 0: none has been started */
	u32 translated;			/* 1: the files hold what a translator has added */
	u32 lock;			/* pid of who starts one */
};
#define RT_SHARED_AT 0xf000u		/* in block 0, a page of its own */
_Static_assert(4096 + sizeof(struct rt_ledger) <= RT_SHARED_AT, "in front of it");
#define LEDGER ((struct rt_ledger *)(RT_SESSION_AT + 4096))
#define SHARED ((struct rt_shared *)(RT_SESSION_AT + RT_SHARED_AT))
/* @path is executed by a child that shares this memory until then, does nothing but that, and whose
 * end no signal tells. */
long rt_spawn(const char *path, const char **argv, const char **environment);
/* Block @number has no owner: is a thread still about to leave it? One will be. */
int rt_image_in_use(u32 number);
void rt_image_leaving(u32 number);
u64 rt_image_place(u64 fd, u64 *flags);	/* where to map the library @fd; 0: anywhere */
void rt_image_dying(struct rt_block *b);	/* a signal ends the process */
/* Is the signal one of the thread that ends the process, for this one to stop? Then it does, where
 * the program's state is known, and stays there unless the process goes on. */
int rt_image_stops(const struct rt_block *b, u32 sig, const struct k_siginfo *info);
void rt_image_stopped(struct rt_block *b);
/* Writing to a FIFO without a reader, or too much, is no news for the program: from
 * rt_image_quiet() to rt_image_loud() nothing comes of it, in this thread. */
struct rt_quiet {
	u64 mask, pending;		/* as they were */
};
void rt_image_quiet(struct rt_quiet *q);
void rt_image_loud(const struct rt_quiet *q);
u32 rt_image_text_with(u32 number);
int rt_image_page_in(u64 addr);			/* a fault: 1: it will not happen again */

struct img_text;
extern const struct img_text *rt_image_texts;
__attribute__((noreturn)) void rt_image_stop(const char *what, const char *name);
const char *rt_image_stem(void);

#define MAN ((const struct img_manifest *)PTR(MANIFEST_AT))
#define FILES ((const struct img_file *)PTR(MANIFEST_AT + MAN->files))
#define TEXTS rt_image_texts		/* those of the manifest, then those of the translator */
#define TABLES(i) ((const struct img_tables *)PTR(TEXTS[i].tables))
#define TABLE(i, member) PTR(TEXTS[i].tables + TABLES(i)->member)
#define NO_TEXT 0xffffffffu

/* ---- standalone/translator.c ----------------------------------------------------------------- */
struct rt_later {
	u64 entry;			/* 0: a whole text has become known */
	u64 indirect;			/* for the shadow; 0: none */
};
/* Ask the installed translator for @pc. @how 0: no text knows it; 1: one does, but no block begins
 * there; 2: the bytes of its block have changed. 0: there is no translator. */
int rt_later_ask(struct rt_block *b, u64 pc, u32 how, struct rt_later *found);
void rt_later_link(struct rt_block *b, u64 link, u64 entry);	/* a link goes to @entry for good */
u32 rt_later_text(u64 pc);			/* a library's; ~0: none */
u32 rt_later_code_text(u64 code);
u32 rt_later_texts(void);		/* how many texts there are, the manifest's among them */
u32 rt_later_blocks(void);			/* likewise; some numbers may be other processes' */
struct rt_ours;
void rt_later_ours(struct rt_ours *o);
int rt_later_page_in(u64 addr);			/* as rt_image_page_in() */
int rt_later_unmapped(u64 lo, u64 hi);		/* 1: there may have been translations */
void rt_later_join(u32 pid);		/* a process that uses the translator, or does no more */
void rt_later_leave(u32 pid);
void rt_later_coming(int more);		/* one is being made, 1; it is there or will not be, -1 */
int rt_later_available(struct rt_block *b);
int rt_is_secure(void);		/* has the program rights that who started it may not have? */
const char **rt_environment(void);

/* ---- standalone/drain.c, stopped_blocks.c ---------------------------------------------------- */
void rt_image_drain(struct rt_block *b, u64 from, u64 to);
void rt_image_drain_all(struct rt_block *b, int mine);	/* mine: of the thread that calls */
void rt_image_clear(struct rt_block *b, u64 from, u64 to);	/* if other threads may look */
extern u32 rt_image_threads;			/* there are other threads */
u32 rt_image_record(u32 text, u32 block);	/* bytes of that block's record */
u32 rt_image_record_of(u32 number);		/* of block @number's */
u64 rt_image_pc(u32 text, u32 block, u32 insn);
/* A block stops, before instruction @insn. Its record has begun at the cursor or is
 * complete in front of it: what happened goes into the trace, and the record is kept for
 * when the block goes on. */
struct rt_stop {
	u32 word, before;		/* the block's number, and that of the one whose record it
					 * continues; 0: none */
	u32 size, complete;		/* of the record so far, bytes; 1: it is complete */
	u32 insn, counted;
	u64 rsi, rdi, sp;
};
void rt_image_save_record(struct rt_block *b, const struct rt_stop *stop);
/* Is that so of block @id (rt_stop.word), and can it go on before @insn? */
int rt_image_has_record_of(const struct rt_block *b, u32 id, u32 insn);
int rt_image_has_record(const struct rt_block *b);	/* of any */
/* It goes on before @insn: its record is as it was, or complete. */
void rt_image_restore(struct rt_block *b, u32 id, u32 insn, u32 complete, u32 counted);
extern char rt_image_again[], rt_image_again_restored[];
void rt_image_order(struct rt_block *b);		/* what @b's thread did comes before what
							 * others do from here on */
int rt_image_drains(const struct rt_block *b);	/* is its buffer being emptied? */

/* ---- trace_buffer.c -------------------------------------------------------------------------- */
/* Each of them does nothing where nothing is traced. */
void rt_trace_start(struct rt_block *b);	/* in the thread itself: guard pages, RT_N_STATE */
void rt_trace_note(struct rt_block *b, u32 type, const u64 *arg, u32 narg);
void rt_trace_state(struct rt_block *b, u64 rsp);
void rt_trace_sysret(struct rt_block *b);
/* Waits until the consumer has seen all that there is: what others do from here on comes behind it.
 * In instrumented executables, where each thread has a file, there is nothing to wait for. */
#ifdef RT_IDT
#define rt_trace_deliver(b) ((void)(b))
#else
void rt_trace_deliver(struct rt_block *b);
#endif
/* A fault at @addr by translated code: did the buffer end there? Then *@uc goes on in the next. */
int rt_trace_full(struct rt_block *b, u64 addr, struct k_ucontext *uc);

/* ---- proc_self.c ----------------------------------------------------------------------------- */
/* Is @path that of our own file @what in /proc? Of "exe" only where it has to be
 * hidden what that is. */
int rt_is_own_file(struct rt_block *b, u64 path, const char *what);
/* Of them "maps" and "status" are made here; that of a thread is "thread-self/status". */
enum rt_own_file { RT_OWN_NONE, RT_OWN_MAPS, RT_OWN_STATUS, RT_OWN_THREAD, RT_OWN_AUXV };
enum rt_own_file rt_which_own_file(struct rt_block *b, u64 path);
/* A descriptor or an error. */
int rt_open_own_file(struct rt_block *b, enum rt_own_file what, u64 flags);
void rt_refresh_own_file(struct rt_block *b, int fd);	/* before @fd is read, if that is one */
long rt_copy_exe(word to, u64 size);		/* readlink() of "exe" */

/* ---- syscall.c ------------------------------------------------------------------------------- */
int rt_do_syscall(struct rt_block *b);		/* 1: execute it in the window */
int rt_dispatch(struct rt_block *b);		/* likewise, whether it is logged or not */
void rt_call_result(struct rt_block *b);		/* it has been made, and is traced */
void rt_call_again(struct rt_block *b);		/* it has not: a signal comes first */
int rt_open_pages(struct rt_block *b);		/* after EFAULT. 1: execute it again */
/* to_log.c: what the call of @b may write to, but for what it finds in memory: so many */
#define RT_WRITES 8u
u32 rt_call_writes(const struct rt_block *b, word at[RT_WRITES]);

/* ---- address_limit.c ------------------------------------------------------------------------- */
int rt_do_limit(struct rt_block *b);		/* 1: execute it in the window */

/* ---- memory_calls.c -------------------------------------------------------------------------- */
void rt_announce_unmap(struct rt_block *b, u64 addr, u64 len);	/* what is executable there
							 * is about to vanish */
void rt_announce_changes(struct rt_block *b, u64 addr, u64 len);	/* ... of data */
void rt_executable(struct rt_block *b, u64 addr, u64 len, u64 prot, u64 flags);
void rt_do_mmap(struct rt_block *b, const word arg[6]);
void rt_do_mprotect(struct rt_block *b);
void rt_do_mremap(struct rt_block *b);
void rt_do_brk(struct rt_block *b);
long rt_raw_call(struct rt_block *b);		/* the call of @b as it is */
/* Calls about a range of addresses: 1: execute it in the window, for nothing of ours is there; 0:
 * it has been done. */
int rt_do_munmap(struct rt_block *b);
int rt_do_range(struct rt_block *b);
/* The part of [addr, addr + *len) in front of the first thing that is ours. False: there is none,
 * or the kernel will not have the range. */
int rt_in_front_of_ours(u64 addr, u64 *len);
/* The call of @b for [addr, addr + len), and with @len 0 where nothing is mapped: only what else is
 * wrong with it counts. */
long rt_range_call(struct rt_block *b, u64 addr, u64 len, word arg2);
/* The program maps something over [addr, addr + len), and what is ours there
 * goes. False: it cannot. */
int rt_make_way(struct rt_block *b, u64 addr, u64 len);

/* ---- sigstate.c ------------------------------------------------------------------------------ */
void rt_signal_boot(struct rt_block *b);
void rt_signal_thread(struct rt_block *b);
/* All signals wait, but for what the runtime's own instructions may raise. */
void rt_block_but_faults(void);
void rt_signal_attached(struct rt_block *b);		/* of the first thread: handlers, too */
void rt_signal_thread_attached(struct rt_block *b);
/* The kernel gets the program's handlers back; then this thread's signal stack and mask, too. */
void rt_handlers_native(struct rt_block *b);
void rt_signal_native(struct rt_block *b);
/* The call itself, on memory of ours; @new may be NULL. */
long rt_sigaction(struct rt_block *b, u64 sig, const struct k_sigaction *new,
		  struct k_sigaction *was);
void rt_record_mask(struct rt_block *b, u64 mask);	/* the program's */
void rt_set_mask(struct rt_block *b, u64 mask);		/* ... to be set on the way out */
long rt_sigaction_call(struct rt_block *b, u64 sig, u64 act, u64 old, u64 size);
long rt_sigprocmask_call(struct rt_block *b, u64 how, u64 set, u64 old, u64 size);
long rt_request_tiles(struct rt_block *b);	/* ARCH_REQ_XCOMP_PERM */
long rt_sigaltstack_call(struct rt_block *b, u64 ss, u64 old);
struct rt_sighand *rt_sighand_copy(const struct rt_sighand *from);
void rt_sighand_cleared(struct rt_block *b);	/* after CLONE_CLEAR_SIGHAND, in the child */
/* A signal that ends the process may wait where only the runtime blocks it: it comes now. */
void rt_heed_fatal(struct rt_block *b);
int rt_on_app_stack(const struct rt_block *b, u64 sp);
/* SIGNALS THAT WAIT. Translated code faults on purpose, so the kernel must never find the five
 * synchronous signals blocked while it runs. Those that somebody sends while the program blocks
 * them
 * arrive here then, and wait. A system call is made with the program's mask, whole, and what
 * waits is
 * pending in the kernel, where sigpending(), sigwait(), signalfd and execve() find it. Behind
 * the call
 * the mask is ours again, and what is still pending arrives here once more. */
void rt_signal_waits(struct rt_block *b, u32 sig, const struct k_siginfo *info);
void rt_call_begin(struct rt_block *b);
void rt_call_end(struct rt_block *b);
void rt_call_resume(struct rt_block *b);		/* in a handler that goes back to the
							 * call */
/* What waits and is not blocked is queued again for when the mask is set, which is next: the
 * synchronous
 * ones, too, whom nothing else keeps from arriving here at once. */
void rt_flush_pending(struct rt_block *b);

/* ---- single_steps.c -------------------------------------------------------------------------- */
/* An instruction that only its original place can execute: that page is executable for one step. */
void rt_step_in_place(struct rt_block *b, u64 pc);
void rt_step_done(struct rt_block *b, struct k_ucontext *uc);
/* Is it the step that we asked for? */
int rt_is_step(const struct rt_block *b, u32 sig, const struct k_siginfo *info, u64 pc);
void rt_set_tf(struct k_ucontext *uc, int on);
/* The signal is given where the next instruction of the program begins. */
void rt_step_to_boundary(struct rt_block *b, u32 sig, const void *info, struct k_ucontext *uc);
/* To where a block begins whose counting copy can go on; was the signal such a step, and has it
 * been dealt with? If not the steps are over. */
void rt_step_to_head(struct rt_block *b, struct k_ucontext *uc);
int rt_steps_to_head(struct rt_block *b, struct k_ucontext *uc, int stepped);

/* ---- elements.c ------------------------------------------------------------------------------ */
/* Does @uc stand at a gather or scatter, or a load or store of a tile? *left: a bit for each
 * element that its mask still has, each row that is to come. */
int rt_elements_left(const struct k_ucontext *uc, u64 *left);

/* ---- signal.c -------------------------------------------------------------------------------- */
/* The program gets a signal of the kernel's kind, which it cannot ignore; it dies of one. */
void rt_signal_force(struct rt_block *b, struct k_siginfo *info);
void rt_await_no_exit(void);		/* the process is made native: see await_exit() */
void rt_signal_kill(struct rt_block *b, struct k_siginfo *info);
void rt_sigreturn_call(struct rt_block *b);
#ifdef __i386__
int rt_is_our_segment(u32 entry);		/* a GDT entry */
int rt_is_vdso_return(const struct rt_block *b);	/* the call that is being made:
							 * sigreturn, from there */
#endif

/* ---- x86_64.c, i386.c: what the widths do not share ------------------------------------------ */
/* A system call door: set pc, resume and what the kernel clobbers. @fast: the other of the two. 1:
 * it is one; 0: an instruction to step; -1: it has been dealt with. */
int rt_syscall_entry(struct rt_block *b, int fast);
/* Map the vaults and the shadow, find the first thread's block. */
struct rt_block *rt_map_all(const struct rt_boot *boot);
/* No indirect transfer finds an entry from now on, in any thread. */
void rt_forget_entries(void);
/* Place a piece of the code file, see CMD_PLACE; 0: something of the program's is there. */
int rt_place(const struct rt_cmd *c);
/* CMD_PLACE_FILE, and those behind it of the same file: how many of @n have been done. */
u32 rt_place_files(const struct rt_cmd *c, u32 n);
/* Thread block @number, mapped; NULL: no room. A block whose thread was not made is given back. */
struct rt_block *rt_block_map(u32 number);
void rt_block_unmap(struct rt_block *b);
/* @b is the only thread of a process that has just been forked. */
void rt_block_forked(struct rt_block *b);
/* The thread ends by system call @nr; its block is dead and free before the kernel knows. */
__attribute__((noreturn)) void rt_exit_thread(struct rt_block *b, long nr, word status);
/* The first piece of what is ours in [lo, hi) is [at, end); at == hi: there is none. */
struct rt_ours {
	u64 lo, hi, at, end;
};
int rt_find_ours(struct rt_ours *o);
#ifdef RT_IDT
void rt_find_fixed(struct rt_ours *o);		/* only what is ours whatever is mapped; o->at is
						 * set to begin with */
#endif
/* [at, end) is ours, too. */
static inline void rt_ours_meet(struct rt_ours *o, u64 at, u64 end)
{
	if (end <= o->lo || at >= o->at)
		return;
	o->at = at < o->lo ? o->lo : at;
	o->end = end;
}
/* Is anything of [addr, addr + len) ours? */
static inline int rt_is_ours(u64 addr, u64 len)
{
	struct rt_ours o = { .lo = addr, .hi = addr + (len ? len : 1) };

	if (o.hi < o.lo)
		o.hi = ~0ull;
	return rt_find_ours(&o);
}
/* Is all that is ours in [lo, hi) code that lies near what it was translated from? Its place can be
 * another one. Then: nobody executes it any more, and it goes. */
int rt_only_placed(u64 lo, u64 hi);
void rt_unplace(u64 lo, u64 hi);
/* Let the segment register point to the running thread's block. */
void rt_switch_segment(struct rt_block *b);
/* (7) of abi.h: @uc stands in translated code, at a place with map byte @tmp, and
 *     becomes the program's,
 * with b->cursor what the register says; and the way back. */
void rt_restore_r11(struct rt_block *b, struct k_ucontext *uc, u32 tmp);
void rt_load_cursor(struct rt_block *b, struct k_ucontext *uc);
/* ---- contexts.c: 64-bit programs under a controller only ------------------------------------ */
#if defined RT_IDT || defined __i386__
#define rt_tree_mapped() ((void)0)
#define rt_tree_settle(b, pc) ((void)(b))
#define rt_tree_note(b, type, arg) ((void)(b))
#define rt_tree_begin(b) ((void)(b))
#define rt_tree_deep(b, addr, uc) 0
#else
void rt_tree_mapped(void);			/* code may be another function's now */
void rt_tree_event(struct rt_block *b);		/* RT_DO_TREE */
/* The program goes on at @pc, in translated code: if something has happened, in which context? */
void rt_tree_settle(struct rt_block *b, u64 pc);
void rt_tree_note(struct rt_block *b, u32 type, const u64 *arg);	/* enum rt_note */
void rt_tree_begin(struct rt_block *b);
/* Calls nest too deep: at the guard page at @addr, where @uc stands. False: it is not that. */
int rt_tree_deep(struct rt_block *b, u64 addr, struct k_ucontext *uc);
#endif
/* Is it in code that only counts? In instrumented executables and 32-bit programs there is none. */
static inline int rt_counts(const struct rt_block *b)
{
#if defined RT_IDT || defined __i386__
	return 0;
#else
	return b->r11_use == RT_R11_BUDGET;
#endif
}
/* From here on there are records again. The program's registers are its own,
 * and its rsp is @rsp. */
void rt_count_end(struct rt_block *b, u64 rsp);
/* The same, if that is where the answer to a request for an entry leads. */
static inline void rt_count_answered(struct rt_block *b, u64 rsp)
{
	if (rt_counts(b) && b->mail.r[5])
		rt_count_end(b, rsp);
}
/* The same where the budget is used up: the chunk will soon be full, and it can go on counting
 * behind a short region. */
void rt_count_spent(struct rt_block *b);
/* What may be counted now; 0: nothing. It waits until the chunks before this one are empty. */
u64 rt_count_granted(struct rt_block *b);
/* A stepped instruction sees the program's own segment register, and may change it. */
void rt_load_program_segment(struct rt_block *b, struct k_ucontext *uc);
void rt_save_program_segment(struct rt_block *b, struct k_ucontext *uc);
/* The bases of the program's fs and gs. */
void rt_segments(struct rt_block *b, u64 base[2]);
/* For the trace, whether system call @nr, which has succeeded, has changed them; and the arguments
 * of mmap(), the offset in bytes, if it was one. */
int rt_sets_segments(u32 nr);
int rt_mmap_arguments(struct rt_block *b, u64 arg[6]);
/* System calls that only this width has: 1, 0 as rt_do_syscall(); -1: not one of them. */
int rt_arch_syscall(struct rt_block *b);
/* Build the frame of the program's handler below @sp and make @uc the state at its first
 * instruction, but for pc and flags. False: the program's stack cannot be written. */
int rt_push_frame(struct rt_block *b, u32 sig, const struct k_siginfo *info, struct k_ucontext *uc,
		  const struct k_stack *ss, word sp, word pc, word flags);
/* The frame that (rt_)sigreturn was called with: 0 or -EFAULT. Then: let the kernel restore it,
 * after what was changed in it, and what is pending arrive. */
long rt_frame_get(const struct rt_block *b, struct rt_frame *f);
__attribute__((noreturn)) void rt_frame_leave(struct rt_block *b, struct rt_frame *f);

#endif
