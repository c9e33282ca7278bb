/* SPDX-License-Identifier: MIT */
/* log.h - what to_log.c and from_log.c share: the table of system calls, the log, odd instructions
 *
 * A *recorded* program logs what another run would not repeat: results of its system calls and of
 * some instructions, and signals. A *replayed* one takes all that from the log. Only what changes
 * its address space is done again, at the same addresses.
 *
 * Events are in RT_LOG. Recorded: the controller empties it when it is full, and whenever it likes
 * reads what is there so far, up to log_at, which therefore changes after an event has been
 * written.
 * Replayed: the controller fills it when all has been used. */
#ifndef PM_RUNTIME_LOG_H
#define PM_RUNTIME_LOG_H

#include "rt.h"

enum rt_how { HOW_NONE, HOW_PLAIN, HOW_REAL, HOW_OWN, HOW_REFUSED, HOW_ENDS, HOW_EXITS, HOW_FORKS,
	      HOW_EXECS, HOW_SUB };
enum rt_part_kind { PART_NONE, PART_FIX, PART_ALWAYS, PART_RET, PART_ARR, PART_LEN, PART_IOV,
		    PART_MSG, PART_MSGS, PART_SET };

struct rt_call {			/* a line of calls.inc, calls32.inc */
	u8 how;				/* enum rt_how */
	struct rt_part {
		u8 kind;		/* enum rt_part_kind */
		u8 arg, by;		/* numbers of arguments: where; how many */
		uint16_t size;
	} part[4];
};

const struct rt_call *rt_call_of(u64 nr);	/* of one that is not in the table: HOW_NONE */
/* How much of what it is about prctl(), ioctl()... writes at which address; -1: not known. A call
 * that changes the address space: 0, and *real is set. */
long rt_sub_call(const struct rt_block *b, u64 *at, int *real);
#ifdef __i386__
/* The call of @b has its arguments in memory, and may be one of many that have one number: number
 * and arguments, @a, of the one that does the same. Of any other call, its own. */
u32 rt_inner_call(const struct rt_block *b, word a[6]);
/* rt_sub_call(), where a 32-bit program's call differs; RT_AS_USUAL: it does not. */
long rt_narrow_call(const struct rt_block *b, u64 *at, int *real);
#else
static inline u32 rt_inner_call(const struct rt_block *b, word a[6])
{
	const word arg[6] = { ARG0, ARG1, ARG2, ARG3, ARG4, ARG5 };

	for (u32 i = 0; i < 6; i++)
		a[i] = arg[i];
	return b->syscall;
}
#define rt_narrow_call(b, at, real) RT_AS_USUAL
#endif
#define RT_AS_USUAL (-2)
/* The program's registers before a call, but those that a call changes. */
u64 rt_registers_check(const struct rt_block *b);

void rt_record_safepoint(struct rt_block *b);	/* clock.c: the thread has left at one */
void rt_replay_safepoint(struct rt_block *b);
struct rt_event *rt_next_event(struct rt_block *b);	/* replayed; NULL: there is no more */
/* Recorded: the token has come to @b; a: as RT_E_SWITCH has it. */
void rt_log_switch(struct rt_block *b, u32 place, const u64 a[6]);
/* Recorded: @of's process is no more, see RT_E_LOST; @stream: of it, or 0. */
void rt_log_lost(struct rt_block *b, const struct rt_block *of, u32 stream);
void rt_log_check(struct rt_block *b, u64 check);	/* a safepoint */
void rt_log_killed(struct rt_block *b);		/* ... and that cannot be recorded */
/* Replayed: thread @id ends, for its process has been killed. @b ends, which has the token, and
 * @heir goes on. */
void rt_token_lost(struct rt_block *b, u64 id);
__attribute__((noreturn)) void rt_token_gone(struct rt_block *b, u64 heir);
/* Replayed, syscall.c: a process begins that only executes a program, with the stream
 * b->call_length. */
void rt_fork_to_execute(struct rt_block *b);
/* ... the group's. */
void rt_log_group(struct rt_block *b, u32 place, const u64 a[6]);
/* group_token.c */
/* Recorded: is @b's process in the group? */
int rt_group_member(const struct rt_block *b);
/* Wait until it has the group's token. 1: another process has had it since it had it last. */
int rt_group_take(struct rt_block *b);
/* It gives the token up, if it has it: how many were asleep for it. */
u32 rt_group_give(const struct rt_block *b);
void rt_group_perhaps(const struct rt_block *b);	/* others may take it */
int rt_group_wanted(void);				/* does somebody wait for it? */
/* It gives the token up until one of those who wait has it. */
void rt_group_pass(struct rt_block *b);
void rt_group_leave(struct rt_block *b);		/* it takes part no more */
/* Replayed: it gives the token up, if it has it, and waits until its number is @number. */
void rt_group_await(struct rt_block *b, u32 number);
/* Recorded: @b is a process that has just begun. */
void rt_log_forked(const struct rt_block *b);
/* Replayed: likewise; its descriptors are those of who has made it. */
void rt_replay_files(struct rt_block *b);
/* Replayed: it ends here if its log does. */
void rt_replay_goes_on(struct rt_block *b);
/* Replayed: @b stands at @place, and others of its group have their turns, if the log says so. */
void rt_replay_group(struct rt_block *b, enum rt_log_place place, u64 check);
/* Does the log have something for where @b stands, a safepoint? */
int rt_replay_is_due(struct rt_block *b);
int rt_stop_is_here(const struct rt_block *b);	/* does it stop where it stands? */
u64 rt_replay_process_heir(struct rt_block *b);	/* ... its process; 0: it was the last one */
u64 rt_replay_heir(struct rt_block *b);		/* the thread that has the token when @b ends */
int rt_replay_has_others(void);		/* are there, or will there be, more processes? */
void rt_replay_stack_limit(struct rt_block *b, u64 size);	/* replay_start.c */
/* RT_E_GONE, RT_E_MEMORY; replay_start.c */
void rt_replay_gone(const struct rt_event *e);
void rt_replay_memory(struct rt_block *b, const struct rt_event *e);
/* Recorded, shared_files.c: @b's call has mapped, or perhaps written to, a file that is mapped and
 * shared. Logged is what is there now. */
enum rt_sharing rt_shares_file(struct rt_block *b);
void rt_shared_file_call(struct rt_block *b);
void rt_log_memory(struct rt_block *b, u64 at, u64 n);
/* How much the semctl(), shmctl() or msgctl() of @b writes, at *@at; -1: not known. */
long rt_ipc_size(const struct rt_block *b, u64 *at);
/* Recorded: which segment is to be attached, into @b's call_length. 0: that cannot be recorded;
 * more about it is in the mailbox. */
int rt_known_segment(struct rt_block *b);
/* robust.c, recorded: locks that @b's process holds, whose threads all end: they lose their owner.
 * What that writes is logged. */
void rt_robust_end_process(struct rt_block *b);
void rt_robust_end_thread(struct rt_block *b);		/* ... that @b alone holds */
/* ... that @of has held, which is no more: what is written is logged by @log. */
void rt_robust_end_lost(struct rt_block *b, struct rt_block *of,
			void (*log)(struct rt_block *b, u64 at, u64 n));
/* @b's process is about to give its group's token up: it notes what it holds. */
void rt_robust_note(struct rt_block *b);
/* @b has the group's token, at an event of the log: locks of those who have died meanwhile lose
 * their owner. */
void rt_robust_end_dead(struct rt_block *b);
/* The program has told the kernel of the list at @head. */
void rt_robust_list(struct rt_block *b, u64 head);
void rt_log_over(struct rt_block *b);		/* nothing of @b is logged any more */
/* token.c: @f of each thread of @b's process. */
void rt_token_each(struct rt_block *b, void (*f)(struct rt_block *b, struct rt_block *of));
void rt_log_data(struct rt_block *b, u64 at, u64 n);
int rt_makes_thread(const struct rt_block *b);	/* does its clone() or clone3()? */
static inline struct rt_block *rt_log_of(const struct rt_block *b)
{
	return PTR(b->log_home);
}
/* The program is at @pc, and not where the recording is. */
__attribute__((noreturn)) void rt_replay_differs(struct rt_block *b, u64 pc);
/* Replayed: the call of @b has attached, mapped or detached a segment, with result @r. */
void rt_replay_segment(struct rt_block *b, u64 r, u64 which);

/* Is it a wait for a child, whose number is the result? */
static inline int rt_is_wait(const struct rt_block *b)
{
#ifdef __i386__
	if (b->syscall == NR_waitpid)
		return 1;
#endif
	return b->syscall == NR_wait4;
}

/* ---- odd_insns.c ----------------------------------------------------------------------------- */
struct rt_odd {
	u32 what, length;		/* enum rt_odd_insn; RT_I_NONE: it is another one */
	u32 reg, size;			/* of rdrand, rdseed, rdpid: where the result goes, bytes */
};
void rt_odd_decode(const u8 *p, struct rt_odd *o);
/* Execute it: rax, rbx, rcx, rdx into @v, or the only result into v[0]; flags. */
void rt_odd_execute(const struct rt_block *b, const struct rt_odd *o, u64 v[4], u64 *flags);
/* ... what it does to the program's registers. */
void rt_odd_apply(struct rt_block *b, const struct rt_odd *o, const u64 v[4], u64 flags);

#endif
