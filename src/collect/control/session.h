/* SPDX-License-Identifier: MIT */
/* session.h - the controller's state: one session and its processes
 *
 * A *process* here is one address space from exec (or fork) to exec (or exit). What is translated
 * for it is its code space's (space/space.h).
 *
 * Units      pid, tid: the kernel's, as the controller sees them; block: number of a thread block;
 *            times: seconds
 * Ownership  the session owns processes, a process its threads; what they point to is theirs or in
 *            spaces.mem. Descriptors say -1 for none.
 * Errors     a function says so; what a user should know goes to spaces.warn.
 * Threads    one, which runs pm_run(); wake.c has another, that only rings.
 *
 * Trust: the data file is memory of all traced processes, which can write to it at any time. What
 * the controller goes by - whose block it is, who its thread is, what it was last told to do - is
 * here. It reads a request once (mail.c); else of a thread block only what harms nobody but the
 * program: counters, buffers, that a thread is over.
 *
 * INVARIANTS - session_check() asserts them (base/check.h), or the code beside them
 * (1) ptrace is only called by the thread that runs pm_run().
 * (2) A used block has one live thread, of the process in block_proc; a live thread's block is
 *     used. A block that is not used has no process.
 * (3) A process's code space is that of its `mm`, whose address space it runs in; that is its own
 *     `mm`, and is not gone before it.
 * (4) A space's refs are the address spaces that execute it, those that are about to leave it, and
 *     checkpoints (checkpoint.h).
 * (5) A thread has a tid once its process has a pid; no two processes have the same one. Both are
 *     the numbers of who shares our memory, or cannot be looked at, or PID_UNKNOWN.
 * (6) An answer has commands or a payload in their place, not both. */
#ifndef PM_CONTROL_SESSION_H
#define PM_CONTROL_SESSION_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/user.h>

#include "base/elapsed.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/proc_maps.h"
#include "collect/control/process.h"
#include "collect/cache/cache.h"
#include "collect/runtime/abi.h"
#include "collect/space/space.h"
#include "collect/translate/translate.h"
#include "trace/counts.h"

struct slots {				/* of a file: see slots.c */
	dev_t dev;
	ino_t ino;
	struct pm_map to;		/* address in the file -> likewise */
	bool slots_read, constants_read;	/* ... they are known; so is: */
	bool constants_change;		/* in some process: no more code is to rely on them */
	unsigned nconstant;
	struct constant {
		uint64_t lo, hi;	/* addresses in the file */
	} constant[8];
};

struct thread {
	uint32_t block;			/* index of its thread block; 0: none any more */
	uint32_t tid;
	uint32_t recorded_tid;		/* of a replay: what it was; 0: this is none */
	bool live;
	/* i386: counters as they were when last looked at, and what they have counted until then */
	uint32_t *seen;
	uint64_t *total;
	size_t nseen;
};

struct proc {
	uint32_t pid, parent;		/* pid 0: forked, not yet heard of */
	int pidfd;
	struct space_user
		user;	 /* of its own address space; another's if mm is another, but for `space` */
	struct proc *mm; /* whose address space it runs in: itself, or a vfork parent's */
	uint32_t forker; /* thread block that is forking this process; 0: has been done */
	struct thread *thread;
	size_t nthread, cap_thread;
	struct pm_cut_at {		/* uncounted: cut before the block's counter went up */
		uint32_t tid, block, done;	/* done == n: at its end, but did not flow on */
		bool uncounted;
		uint64_t times;
	} *cut;
	size_t ncut, cap_cut;
	struct counts_of { uint32_t tid; uint32_t *block; uint64_t *count; size_t n, cap; } *counts;
	size_t ncounts, cap_counts;
	struct target_at { uint32_t block; uint64_t to, count; } *target; /* of what is over */
	size_t ntarget, cap_target;
	uint64_t targets_lost;
	uint32_t stream;		/* 1 + its number in a recording; 0: it is in none */
	struct proc *logger;		/* recorded: it has that one's memory, and logs with it;
					 * NULL: it has a log of its own, or none */
	bool misses_lost;		/* recorded: others who had its memory are no more, which
					 * its log may not say yet */
	uint32_t from;			/* 1 + that of the program that has executed this one */
	struct proc_log {		/* recorded or replayed: */
		uint32_t block;		/* whose log it is: that of the first thread */
		uint64_t drained;	/* bytes of the log, of those that are in its buffer */
		uint64_t nlogged;	/* since when so many events have been logged */
		double since;
		bool handed;		/* by a process that has ended, as these say: */
		int status, signal;
		bool over;		/* nothing more of it is recorded */
		bool stopped;		/* ... though the process goes on */
		uint64_t stack_limit;	/* bytes; 0: not looked at yet */
		/* Of a process that shares memory, up to where recorder.c has looked: the last
		 * event, and the last number of the group's token. */
		struct rt_event last;
		uint32_t turn;
	} log;
	struct proc_check *check;	/* recorded: of check_calls.c; NULL: none */
	bool log_over;			/* replayed: it has used all */
	bool execing;			/* it is about to execute another program, unfollowed */
	uint32_t recorded_pid;		/* of a replay: what it was; 0: this is none */
	bool is_child;			/* of ours: waitpid() tells */
	bool apart; /* its numbers, or its children's, may be another PID namespace's */
	bool gone, exited, execed, exec_attached, clean_exit;
	bool let_go;			/* it may go on, without us */
	bool own_no_aslr; /* ADDR_NO_RANDOMIZE is the program's own, as of its next exec */
	uint32_t loads; /* pid of the process that is about to execute this one; 0: none */
	struct loading *loading;	/* ... its files, in session->mem */
	int status, signal;
	struct pm_unknown *unknown_at;	/* instructions that the decoder does not know, counted */
	size_t nunknown, cap_unknown;
	double sampled;			/* i386: processor time when its counters were looked at */
	struct pm_counts_process result;	/* when it is gone */
};

enum block_use {
	BLOCK_FREE,			/* never used, all zero */
	BLOCK_USED,
	BLOCK_ENDING,			/* the thread has said so, and will mark it dead */
	BLOCK_KEPT,			/* its thread has ended, and others log there */
	BLOCK_OVER,			/* nobody's: will be cleared when it is used again */
	BLOCK_HELD,			/* likewise, when nobody of the group needs it any more
					 * (rt_block.holds, .lost) */
	BLOCK_MEMORY,			/* replayed: of shared segments (segments.c) */
};

struct shm_segments {			/* that are attached or mapped: segments.c */
	struct shm_segment {
		int id;			/* recorded: System V's; -1: it is gone, or a file */
		dev_t dev;		/* recorded: of POSIX */
		ino_t ino;		/* ... 0: it is none */
		uint64_t pages;
		uint64_t at;		/* replayed: in the data file; 0: it has no memory yet */
	} *v;
	size_t n, cap;
	uint32_t block;			/* replayed: the last block with memory, so much of it */
	uint64_t used;			/* ... is used */
	double looked;			/* recorded: when at who has attached them */
};

struct wake_saved {			/* signals as they were before the session */
	sigset_t mask;
	struct sigaction child, passed_on[4];
};

struct session {
	struct spaces spaces;		/* their mem is the session's, too */
	struct pm_counts *out;		/* grows as processes end */
	struct slots *slots;
	size_t nslots, cap_slots;
	uint64_t *count, *cut; /* for gather.c: of a unit's blocks, all zero between units */
	size_t cap_scratch;
	const struct pm_run_opts *opts;
	int data_fd;
	int rt_fd[2]; /* the runtimes of 64-bit and i386 programs; -1: not wanted so far */
	uint8_t *data;			/* the whole data file */
	struct rt_session *head;
	uint8_t *block_used;		/* thread block index -> enum block_use */
	uint32_t *block_proc;		/* ... -> proc index + 1 */
	uint32_t block_high;
	struct proc **proc;
	size_t nproc, cap_proc;
	struct pm_buf unused_procs;	/* uint32_t: indexes of those that were discarded */
	uint32_t asking_tid; /* of whoever asks, whom the kernel is asked about: the first thread
			      * of its process may be over already */
	bool kept_waiting; /* who asks, by a thread that has not done what it was told; of the last
			    * requests_answer() */
	uint32_t spin;
	pid_t root;
	struct pm_map watched;		/* threads that run untraced, see watch.c */
	pthread_t thread;		/* (1) */
	struct wake_saved signals;	/* ... .mask: that the program begins with */
	struct rlimit limit[2];		/* likewise, see rlimits.c */
	int root_status;
	bool root_done;
	int interrupted;		/* a replay: by this signal; 0: not */
	double begun;
	bool detaching, detached;	/* all processes are to be left, have been: detach.c */
	bool said_no_detach;
	bool loaded;			/* programs are loaded, not injected into: loader.c */
	struct tracer *tracer;		/* NULL: profile */
	struct functions {		/* of a text, functions.c */
		char *path;
		uint64_t lo, hi;	/* in the file */
		struct function_row {	/* code at text + at is of @function, at text + lo */
			uint32_t at, lo, function;
			uint16_t slots;	/* of a context */
			bool stub;
		} *row;
		struct rt_function *shared;	/* the same in the data file */
		uint32_t n, hash;
	} *functions;
	size_t nfunctions, cap_functions;
	uint8_t *cells;			/* of contexts, by function */
	size_t ncells;
	uint32_t nrows;			/* of all */
	struct recorder *recorder;	/* NULL: nothing is recorded (record.h) */
	struct call_checks *checks;	/* NULL: calls are not checked (check_calls.h) */
	struct replayer *replayer;	/* NULL: nothing is replayed */
	struct shm_segments segments;
	struct stopper *stops;		/* NULL: it stops nowhere (stop_at.h) */
	struct checkpoints *kept;	/* NULL: it does not go back (checkpoint.h) */
	struct x86_decoder *dec[2];	/* of 64-bit and of 32-bit code; NULL until wanted */
	uint64_t requests[RQ_LAST + 1];
	double sampled;			/* when 32-bit counters were last looked at */
	bool sampled_late;
	char pid_text[16];
};

/* What traces call @p: of a replay what it was called then. */
static inline uint32_t proc_name(const struct proc *p)
{
	return p->recorded_pid ? p->recorded_pid : p->pid;
}

static inline uint32_t thread_name(const struct proc *p, const struct thread *t)
{
	return t->recorded_tid ? t->recorded_tid : t->tid == p->pid ? proc_name(p) : t->tid;
}

/* The session that @s belongs to. */
static inline struct session *session_of(struct spaces *s)
{
	return (struct session *)(void *)((char *)s - offsetof(struct session, spaces));
}

static inline struct rt_block *session_block(struct session *s, uint32_t i)
{
	return (struct rt_block *)(s->data + (uint64_t)i * RT_BLOCK_SIZE);
}

/* By which path a traced process opens our descriptor @fd. */
static inline void session_path(const struct session *s, char path[64], int fd)
{
	snprintf(path, 64, "/proc/%s/fd/%d", s->pid_text, fd);
}

/* ---- gather.c: from counters to results ------------------------------------------------------ */
void gather_thread(struct session *s, struct proc *p, struct thread *t);
/* To be called at least every GATHER_EVERY seconds while 32-bit programs run, whose counters wrap.
 */
#define GATHER_EVERY 0.25
void gather_sample(struct session *s);
void gather_process(struct session *s, struct proc *p);
/* Tell the cache what @sp's threads have needed of shadows so far, while they run. */
void gather_used(struct session *s, struct space *sp);
void gather_release(struct session *s);
struct pm_counts *gather_counts(struct session *s);

/* ---- processes.c: processes, threads, thread blocks ------------------------------------------ */
/* A thread block for a thread of process number @proc; 0: there is none any more. */
/* The log of the recorded or replayed @p, and how many bytes it can have. */
static inline uint8_t *log_bytes(struct session *s, const struct proc *p)
{
	return (uint8_t *)session_block(s, p->log.block) +
	       (p->mm->user.space->i386 ? RT32_LOG : RT_LOG);
}

static inline size_t log_size(const struct proc *p)
{
	return p->mm->user.space->i386 ? RT32_LOG_SIZE : RT_LOG_SIZE;
}

uint32_t block_new(struct session *s, uint32_t proc, bool i386);
void block_free(struct session *s, uint32_t i);
/* Of @p, in which it stays where it is until there is another one. */
struct thread *thread_new(struct proc *p, uint32_t block);
struct thread *thread_of(struct proc *p, uint32_t block);	/* that is alive; NULL: none */
/* How many threads live in the address space of @mm. */
uint32_t threads_in(const struct session *s, const struct proc *mm);
/* One that nobody has heard of, and its first thread, with block *@bi. NULL: too many. */
struct proc *proc_new(struct session *s, bool i386, uint32_t *bi);
/* ... nor ever will: it goes, with its block @bi and its space. */
void proc_discard(struct session *s, struct proc *p, uint32_t bi);
struct proc *proc_by_pid(const struct session *s, uint32_t pid);	/* NULL: none */
/* The address space is over: what its threads counted is final. */
void proc_finish(struct session *s, struct proc *p);
/* ... of all processes that are not our children and have ended. */
void procs_finish_ended(struct session *s);
bool session_knows(const struct session *s, uint32_t pid);
bool session_running(const struct session *s);	/* some process is */
/* struct rt_boot.persona of the program that begins with thread block @block. */
uint32_t session_persona(const struct session *s, uint32_t block);

/* ---- wake.c: what wakes the controller ------------------------------------------------------- */
/* From now on SIGCHLD rings, and the signals that are passed on to the program wait. */
void wake_hold_signals(struct wake_saved *was, struct rt_session *head);
/* The program could not be started: as it was. */
void wake_drop_signals(const struct wake_saved *was);
/* The program runs: what comes is for it. */
void wake_pass_signals(struct wake_saved *was);
void wake_restore_signals(const struct wake_saved *was);
/* What comes from the terminal from now on is for us. */
void wake_program_over(void);
/* Nobody rings the session's doorbell any more. */
void wake_session_over(void);
bool wake_interrupted(void);		/* a signal has come that nobody has asked for yet */
int wake_signal(void);			/* ... it; 0: none */
/* Ring when process @pid, which is not our child, ends. Its pidfd, which the caller closes; -1: it
 * cannot be watched. */
int wake_watch(uint32_t pid);

/* ---- peek.c: what can be read of a process --------------------------------------------------- */
/* The memory of whoever asks; how much, negative: nothing is there. */
ssize_t session_read(struct session *s, void *to, uint64_t at, size_t n);
/* Its mappings; false: they cannot be read. */
bool session_read_maps(struct session *s, struct maps *m);
/* Does @pid execute under this session: does it share our memory? Closed: it cannot be read, or is
 * over. */
enum peek_owner { PEEK_OURS, PEEK_FOREIGN, PEEK_CLOSED };
enum peek_owner peek_is_ours(const struct session *s, uint32_t pid, bool i386);
/* @n bytes at @at of a process that may be ptraced; false: not all of them. */
bool peek_read(pid_t pid, void *to, uint64_t at, size_t n);
/* Are all pages of [@lo, @hi) that @pid has in memory those of a file? False also if that cannot be
 * found out. */
bool peek_unwritten(pid_t pid, uint64_t lo, uint64_t hi);
bool peek_is_thread(uint32_t pid, uint32_t tid);	/* @tid is one of process @pid */
/* What /proc tells of a process or thread; what it does not tell is 0. */
struct peek_status {
	uint32_t parent, tracer;
	uint32_t inner;			/* its number in its own PID namespace */
	bool apart;			/* ... which is not ours */
	char state;			/* 'R', 'S', 'Z'... */
	bool memory;			/* it has not given its memory back, as at its end */
	uint64_t pending, caught, ignored;	/* signals: bit n - 1 */
};
/* @dir: "/proc/12", "/proc/12/task/13". False: there is no such process. */
bool peek_status(const char *dir, struct peek_status *st);
bool peek_is_ending(uint32_t pid);	/* it is killed, or over */
/* Where symbolic link @link leads; false: it cannot be read, @path is "". */
bool peek_link(const char *link, char path[4096]);
/* Is the file that a link of /proc calls @path POSIX shared memory? */
bool peek_is_memory(const char *path);
/* The path of the program that @pid executes, in s->spaces.mem; NULL: unknown. */
const char *peek_exe(struct session *s, uint32_t pid);

/* ---- slots.c --------------------------------------------------------------------------------- */
/* The function of @m that the pointer at @slot, of its procedure linkage table, is likely to lead
 * to; 0: unknown. */
uint64_t slot_target(struct session *s, const struct module *m, uint64_t slot);
/* space_hooks.constant */
bool is_constant(struct session *s, const struct module *m, uint64_t lo, uint64_t hi);
/* What may change at [lo, hi) is constant no more, if it is of @m's file; true: it was. */
bool drop_constants(struct session *s, const struct module *m, uint64_t lo, uint64_t hi);

/* ---- pids.c ---------------------------------------------------------------------------------- */
#define PID_UNKNOWN \
	(1u << 30) /* no process has such a number: one that we cannot find, nor do anything to */
/* The process that calls itself @number, and is @parent's child if that has not gone; tell which it
 * is. */
uint32_t pid_here(const struct session *s, uint32_t number, uint32_t parent);
uint32_t tid_here(const struct session *s, uint32_t pid, uint32_t number);

/* ---- inject.c -------------------------------------------------------------------------------- */
/* @pid stands at its exec stop: put the runtime into it, to begin at its first instruction, @entry,
 * with thread block @block. Fills @sp's ranges and s->maps. False: cannot (refused); @why says. */
bool inject(struct session *s, pid_t pid, uint32_t block, struct space *sp, uint64_t *entry,
	    char *why, size_t n);

/* The same for @pid, all of whose threads are held (remote.c), to go on from @regs. @caller: where
 * a syscall instruction is in it. The runtime's first thread is @block, which has its state. */
bool inject_attached(struct session *s, pid_t pid, const struct user_regs_struct *regs,
		     uint64_t caller, uint32_t block, struct space *sp, char *why, size_t n);

#define PTRACE_GETSIGMASK_ ((enum __ptrace_request)0x420a)
#define PTRACE_SETSIGMASK_ ((enum __ptrace_request)0x420b)

/* The width of the program that stopped @pid is about to run. */
bool is_i386(pid_t pid);

/* Where the program of @boot is mapped executably, for @boot, @sp and s->maps. False: see @why. */
bool inject_maps(struct session *s, pid_t pid, struct rt_boot *boot, struct space *sp, char *why,
		 size_t n);

bool is_runtime(const struct session *s, const struct space *sp, const struct mapping *x);

/* ---- loader.c -------------------------------------------------------------------------------- */
struct loading {			/* descriptors; -1: none */
	int file, program, interpreter;	/* to execute; what it loads */
	unsigned nstring; /* of a script: what replaces the first argument, in front of the script's
			     path: */
	size_t nbytes;
	char bytes[sizeof(struct rt_cmd) *
		   RT_MAX_CMDS]; /* ... one after the other, each with its 0 */
};
/* A file to execute instead of @program, a descriptor, which becomes @l's: known to itself as
 * @name, with thread block
 * @block. What is no program is a script for @shell, unless that is NULL. False: cannot; @why says,
 * or is empty where the kernel could not execute it either. */
bool loader_make(struct session *s, int program, const char *name, const char *shell,
		 uint32_t block, const struct space *sp, struct loading *l, char *why, size_t n);
/* The same for a program that was recorded, which the runtime maps as @start says. */
bool loader_make_replay(struct session *s, const struct rt_start *start, uint32_t block,
			const struct space *sp, struct loading *l, char *why, size_t n);
void loading_release(struct loading *l);

/* ---- rlimits.c ------------------------------------------------------------------------------- */
/* Our limits are raised to what we need; those that were, @was, are given to the program, in its
 * process, or back to us. */
enum pm_status rlimits_raise(struct session *s, struct pm_err *err);
void rlimits_of_program(const struct rlimit *was);
void rlimits_restore(const struct session *s);

/* ---- exec.c: programs that begin ------------------------------------------------------------- */
/* A process that is not there yet, with its first thread block. NULL: too many. */
struct proc *proc_prepare(struct session *s, bool i386, uint32_t *bi);
/* @p's first thread, with block @bi, is where tracing begins. */
void program_begins(struct session *s, struct proc *p, uint32_t bi);
/* @program, a descriptor, which becomes ours, will be loaded instead of executed: by process @pid,
 * which has to execute the file at (*p)->loading. False: it cannot; @why says. */
bool load_prepare(struct session *s, uint32_t pid, int program, const char *name,
		  const char *shell, struct proc **p, char *why, size_t n);
/* The same of what @link leads to; NULL: it cannot, which has been said where that is worth it. */
struct proc *load_from(struct session *s, const char *link, uint32_t pid);
/* The same of a program that was recorded; @start NULL: no file is executed for it. NULL: it
 * cannot; @why says. */
struct proc *load_recorded(struct session *s, const struct rt_start *start, bool i386,
			   const char *program, char *why, size_t n);
/* @pid could not execute it. */
void load_cancel(struct session *s, uint32_t pid);
/* @p's program has been loaded, by its first thread, with block @bi. Fills @boot's ranges. False:
 * nobody has prepared that, or its mappings cannot be read. */
bool load_finish(struct session *s, struct proc *p, uint32_t bi, struct rt_boot *boot);
/* @pid has a new program and stands at its first instruction. False: it goes on without us; @why
 * says. */
bool exec_stop(struct session *s, pid_t pid, char *why, size_t n);
/* Thread @tid of @p is about to execute another program: it will stop when it has. False: it
 * cannot. */
bool exec_follow(struct session *s, struct proc *p, uint32_t tid);
/* ... it could not execute it. */
void exec_unfollow(struct session *s, struct proc *p, uint32_t tid);
/* What has become of our children, and of those that we follow. */
void exec_reap(struct session *s);
/* Nobody is watched any more (watch.c). False: some thread has not stopped for that yet, ask
 * again. */
bool exec_unwatch(struct session *s);

/* ---- watch.c: processes that run untraced ---------------------------------------------------- */
bool watch_wants(const struct session *s, pid_t pid);	/* is its program to be traced? */
/* @pid, which stands at its exec stop, runs untraced. */
void watch_exec(struct session *s, pid_t pid);
bool watch_root(struct session *s);	/* the same of s->root, at its very first one */
void watch_began(struct session *s, pid_t tid);	/* a thread's first stop, or any */
void watch_over(struct session *s, pid_t tid);

/* ---- mail.c: between mailboxes and memory of our own ----------------------------------------- */
/* A request, read once: op, failed and a[] of @m; its answer is empty. How many commands of the
 * answer before have not been run, into @undone, the one that failed first. */
uint32_t mail_get(const struct rt_block *b, struct rt_mail *m, struct rt_cmd undone[RT_MAX_CMDS]);
/* The answer @m: its commands, or @payload bytes where these would be. */
void mail_put(struct rt_block *b, const struct rt_mail *m, size_t payload);
void mail_reply(struct rt_block *b);		/* it is complete: the thread goes on */
/* Whoever had commands to run in the address space of @p, and has told that they have run, is no
 * longer waited for. */
void mail_release(struct session *s, struct proc *p);

/* ---- invariants.c ---------------------------------------------------------------------------- */
void session_check(const struct session *s);	/* aborts where one does not hold */

/* ---- requests.c ------------------------------------------------------------------------------ */
/* Answer every thread that waits and may be answered; false: there was none. Sets
 * s->kept_waiting. */
bool requests_answer(struct session *s);
const char *request_name(unsigned op);

/* ---- host.c ---------------------------------------------------------------------------------- */
/* functions.c: space_hooks.segment and segments */
void functions_segment(struct spaces *s, const struct module *m, uint64_t pc,
		       struct xl_segment *out);
uint32_t functions_hash(struct spaces *s, const struct module *m);
void functions_close(struct session *s);
extern const struct space_hooks session_hooks;

/* ---- attach.c -------------------------------------------------------------------------------- */
/* Trace the running process s->opts->pid. Error: it goes on as it was. */
enum pm_status attach(struct session *s, struct pm_err *err);

/* ---- detach.c -------------------------------------------------------------------------------- */
/* All processes go on untraced, as if they had never been traced. Those that cannot yet are tried
 * again at the next call. True: none is traced any more. */
bool detach(struct session *s);

/* ---- launch.c -------------------------------------------------------------------------------- */
/* Start the program of s->opts: it is s->root. */
enum pm_status launch(struct session *s, struct pm_err *err);
/* Start a file, as @p's loading says, in place of a program: it is s->root. */
enum pm_status launch_file(struct session *s, struct proc *p, char **argv, struct pm_err *err);

#endif
