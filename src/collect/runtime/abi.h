/* SPDX-License-Identifier: MIT */
/* abi.h - what the controller, the translated code and the runtime inside a traced process agree on
 *
 * Shared by two worlds: the controller (hosted C) and the runtime (freestanding). It therefore
 * holds
 * constants and plain structs only. RT_ABI is part of every cache key: bump it on any change.
 *
 * ADDRESS SPACE OF A TRACED x86-64 PROCESS (what pugmark adds; everything else is the program's)
 *
 *   RT_SHADOW       16 GiB  one 4-byte entry for every value of the low 32 bits of an address: the
 *                           signed distance from an original instruction address to its *indirect
 *                           entry* in the code cache, 0 if there is none, or if two executable
 *                           addresses are alike in these bits. Untouched parts are the
 *                           zero page; the part that shadows a text mapping is shared memory.
 *   RT_IMAGE                the runtime: text (r-x), data (rw-, private: copied by fork)
 *   RT_CODE_VAULT           the whole code file (r-x, sealed): code caches and shadows of every
 *                           code space; pieces are placed elsewhere by mremap(old_size = 0),
 *                           which needs no fd
 *   RT_DATA_VAULT           the whole data file (rw-): session header and thread blocks
 *   near each text mapping  its code cache, within 2 GiB, a placed piece of the code file
 *
 * To the program all of it is free (memory_calls.c). Code near text makes way for what the program
 * maps there, unless another thread may be executing it; the rest does not.
 *
 * ... OF A TRACED i386 PROCESS, which has 4 GiB in all, and where a branch reaches everything:
 *
 *   RT32_BLOCKS    256 MiB  thread blocks: the first RT32_BLOCK_SIZE of each; more than
 *                           RT32_NBLOCKS at a time find a place elsewhere
 *   RT32_IMAGE              the runtime, as above
 *   RT32_DATA_VAULT         the first page of the data file: session header
 *   RT32_ZERO      256 KiB  a table of the shadow for addresses without translations
 *   RT32_CODE_VAULT         the process's code space, a region of the code file (r-x): the shadow's
 *                           directory, links, then code caches and tables of the shadow in any
 *                           order
 *   The shadow has two levels: for each 64 KiB of addresses the directory holds the address of a
 *   table of 4-byte distances, less 4 * (its first address), so that the whole address is the
 *   index.
 *   Files are reached without an fd through remap_file_pages() on a piece that is mapped already.
 *
 * INVARIANTS - the code refers to them by number
 * (1) No page is both writable and executable. Code is writable in the controller only, by the one
 *     mapping that it made before it sealed the file. Nobody gets another one, whatever descriptor
 *     or mapping it has.
 * (2) Original text is never executable while the process is traced, so that an indirect transfer
 *     to an address without translation (entry 0: jump to the original address) faults and asks.
 * (3) gs:0 (i386: fs:0) is the thread block of the running thread. The program's own gs base
 *     (i386: fs selector) lives in the block.
 * (4) At every direct entry the register state is the program's, whole. At an indirect entry it is
 *     except that rcx is in RT_S_RCX, and in 32-bit code edx in RT_S_RDX.
 * (5) Translated code never touches memory below rsp, and moves rsp only as the original does.
 * (6) Thread blocks are aligned to their size: a signal handler on the block's alternate stack
 *     finds the block from its stack pointer, whatever gs is.
 * (7) While RT_STOLEN is 1, r11 (i386: ebp) is the trace buffer's cursor wherever control is in
 *     translated code, and at every entry (4); the program's is in RT_S_R11. Places in blocks that
 *     are otherwise say so in their maps (XL_OWN). The doors exchange them. While it is 3 so it is
 *     with RT_BUDGET in place of the cursor. */
#ifndef PM_RUNTIME_ABI_H
#define PM_RUNTIME_ABI_H

#ifndef __ASSEMBLER__
#include <stdint.h>
#endif

#define RT_ABI			25u

#define RT_SHADOW		0x70000000ull
#define RT_SHADOW_SIZE		(4ull << 32)
#define RT_COUNTING_SHIFT	0x40000000u	/* counting copies (translate.h) have their
						 * entries as of addresses so much higher */
#define RT_LINKS_SIZE		(64ull << 20)	/* bytes of each table that `links` is about */
#define RT_SHORTCUTS		0x10000u	/* taken by a thread until it asks once more */
#define RT_IMAGE		0x2a0000000000	/* no suffix: clang's assembler reads it, too */
#define RT_IMAGE_SIZE		0x200000ull
#define RT_IMAGE_DATA		0x2a0000100000	/* struct rt_boot comes first */
#define RT_LOAD			(RT_IMAGE + RT_IMAGE_SIZE)	/* struct rt_load */
#define RT_CODE_VAULT		0x2b0000000000ull
#define RT_CODE_SIZE		(8ull << 40)
#define RT_DATA_VAULT		0x340000000000ull
#define RT_BLOCK_SHIFT		30
#define RT_BLOCK_SIZE		(1ull << RT_BLOCK_SHIFT)
#define RT_BLOCKS		8192u			/* block 0 is the session header */
#define RT_DATA_SIZE		(RT_BLOCKS * RT_BLOCK_SIZE)
/* more than all that is ours */
#define RT_OURS_SIZE		(RT_CODE_SIZE + RT_DATA_SIZE + (1ull << 40))

#define RT32_BLOCKS		0x20000000u
#define RT32_BLOCK_SIZE		0x400000u
#define RT32_NBLOCKS		64u
#define RT32_IMAGE		0x30000000
#define RT32_IMAGE_DATA		0x30100000
#define RT32_DATA_VAULT		0x30200000u
#define RT32_ZERO		0x30400000u
#define RT32_TABLE_SIZE		0x40000u
#define RT32_CODE_VAULT		0x31000000u
#define RT32_CODE_SIZE		0x20000000u
#define RT32_SHADOW		RT32_CODE_VAULT		/* the directory: u32 for each 64 KiB */
#define RT32_DIR_SIZE		0x40000u
#define RT32_LINKS		(RT32_CODE_VAULT + RT32_DIR_SIZE)
#define RT32_SEGMENT		14			/* the last of the thread's own GDT
							 * entries */
#define RT32_SEGMENT_OF_32	8			/* ... of a 32-bit kernel */

/* ---- offsets in a thread block, used by translated code; 32-bit code uses the lower halves
 * ------ */
#define RT_S_RCX		0x00	/* rcx during an indirect transfer */
#define RT_S_RDX		0x08	/* rdx during an indirect transfer */
#define RT_S_TMP		0x10	/* a register spilled inside one instruction's
					 * translation */
#define RT_S_TMP2		0x18	/* one that holds an address, XL_LENT() */
#define RT_EXIT_ID		0x20	/* u32: link number of the exit taken */
#define RT_EXIT_PC		0x28	/* original pc of a trapping exit (RT_DO_STEP,
					 * RT_DO_INT80) */
#define RT_CONT			0x30	/* where translated code goes on after a system call */
#define RT_HELD			0x38	/* u32: a signal arrived in the runtime that the program
					 * does not block: it comes before a call */
#define RT_DO_RESOLVE		0x40	/* jmp gs:[..]: exit through an unlinked direct branch */
#define RT_DO_SYSCALL		0x48	/* rcx (i386: RT_EXIT_PC) = original next pc, RT_CONT set */
#define RT_DO_STEP		0x50	/* execute the instruction at RT_EXIT_PC in place */
#define RT_DO_INT80		0x58	/* i386: a system call by the vDSO's sysenter or syscall */
#define RT_DO_CHECK		0x60	/* bytes of a block at RT_EXIT_PC differ: translate anew */
#define RT_DO_COUNT		0x68	/* the budget is used up: go on at RT_EXIT_PC in code
					 * that traces */
#define RT_SELF			0x70	/* address of this block */
#define RT_RESUME		0x78	/* where the runtime leaves to */
#define RT_CURSOR		0x80	/* trace buffer: next free byte */
#define RT_TRACING		0x88	/* u32: there is a trace buffer */
#define RT_STOLEN		0x8c	/* u32: enum rt_stolen */
#define RT_S_R11		0x98	/* the program's r11 while it is stolen */
#define RT_OUT_R11		0xa0	/* r11 as the runtime leaves */
#define RT_BUDGET		0xa8	/* instructions that may still be counted without records */
#define RT_CTX			0x100	/* struct rt_ctx: the program's registers while the
					 * runtime runs */
#define RT_FIX_MASK		0x1a0	/* u32: set the signal mask (and requeue what is pending)
					 * first */
#define RT_REAL_MASK		0x1a8	/* u64: what the kernel's mask shall be in translated
					 * code */
#define RT_STACK_TOP		0x20000	/* the runtime's stack: [0x10000, 0x20000) */
#define RT_ALT_STACK		0x20000	/* the signal stack: [0x20000, 0x60000) */
#define RT_ALT_SIZE		0x40000
#define RT_COUNTERS		0x100000	/* u64 per counter; i386: u32 */
#define RT_MAX_COUNTERS		((RT_TRACE - RT_COUNTERS) / 8)
#define RT32_MAX_COUNTERS	((RT32_BLOCK_SIZE - RT_COUNTERS) / 4)
#define RT32_TRACE		RT_COUNTERS	/* i386: in place of counters, which a trace has
						 * none of, */
#define RT32_CHUNK		0x50000		/* RT_CHUNKS smaller buffers */
#define RT32_CHUNK_STRIDE	0x60000
#define RT_TRACE		0x38000000	/* RT_CHUNKS trace buffers, RT_CHUNK_STRIDE apart */
#define RT_CHUNK		0x100000	/* ... of so many bytes, then guard pages of the
						 * process */
#define RT_CHUNK_STRIDE		0x110000
#define RT_CHUNKS		8

#ifndef __ASSEMBLER__

struct rt_ctx {
	uint64_t gpr[16];		/* hardware order: rax rcx rdx rbx rsp rbp rsi rdi
					 * r8..r15 */
	uint64_t pc;			/* original */
	uint64_t flags;
};

/* ---- requests: one mailbox per thread, answered by the controller
 * ------------------------------ */
enum rt_op {			/* of a thread that counts, r[5] 1: the entry in the answer is of
				 * code that traces */
	RQ_NONE,
	RQ_HELLO,	/* a[0] pid, a[1] tid, a[2] 1: first thread of a process; after boot,
			 * fork, vfork */
	RQ_LOOKUP,	/* a[0] original pc -> r[0] direct entry, 0: not executable for the
			 * program */
	RQ_RESOLVE,	/* a[0] link number -> r[0] direct entry, 0: not executable */
	RQ_SIGNAL,	/* a[0] copy pc, a[1] signal, a[2] fault address, a[3] 1: a fault (not
			 * sent),
			 * a[4] page fault error code
			 * -> r[0] enum rt_where, r[1] original pc, r[2] xl_map flags, r[3] tmp
			 * register */
	RQ_CUT,		/* a[0] copy pc: the block stops there (state as RQ_SIGNAL told);
			 * original pc of an
			 * instruction of RQ_STEP: it has faulted */
	RQ_STEP,	/* a[0] original pc of an instruction that leaves the translated world
			 * for a step */
	RQ_CHECKFAIL,	/* a[0] original pc: bytes changed under a block -> r[0] new direct entry */
	RQ_MAP,		/* a[0] address, a[1] length, a[2] prot, a[3] flags: program has made it
			 * so */
	RQ_UNMAP,	/* a[0] address, a[1] length: about to vanish or to lose execute
			 * permission */
	RQ_MAKE_WAY,	/* a[0] address, a[1] length: something will be mapped over all code that
			 * is placed there
			 * -> r[0] 1: none of it is used any more */
	RQ_OPEN,	/* the kernel shall write to pages of translated code, those of the
			 * mapping at a[0],
			 * or with 0 any -> r[0] 1: there were some, and they are writable now */
	RQ_BLOCK,	/* a[0] 0: for a thread, 1: for a forked process, 2: for a vfork child;
			 * a[1] 1: children
			 * may be in another PID namespace
			 * -> r[0] number of a new thread block, 0: none */
	RQ_UNBLOCK,	/* a[0] number of a block that RQ_BLOCK gave and that is not needed */
	RQ_FORKED,	/* the process for which RQ_BLOCK gave number a[0] has been made */
	RQ_EXEC,	/* about to execve, a[0] 1: with the program's own ADDR_NO_RANDOMIZE;
			 * a[1] as RQ_BLOCK; a[2] descriptor of the file + 1, of a program that
			 * has been
			 * loaded -> r[0] enum rt_follow; RT_LOAD_IT: r[1] the controller's
			 * descriptor to execute instead,
			 * r[2] number of strings, where commands would be, that replace the
			 * first argument, in front of
			 * the path */
	RQ_EXECFAIL,	/* it failed */
	RQ_EXIT,	/* thread a[0] ends; a[1] 1: the whole process, of which only
			 * instrumented programs tell */
	RQ_MAPPED,	/* for the trace: a[0] address, a[1] length, a[2] prot, a[3] file offset,
			 * a[4] fd */
	RQ_COUNTING,	/* a[0] copy pc -> r[0] direct entry of the code that counts from just
			 * there on, 0: none */
	RQ_BEGIN,	/* a program has been loaded (rt_load) -> r[0] number of struct rt_range
			 * where commands would be,
			 * r[1] address of the vDSO */
	RQ_LAST = RQ_BEGIN,
};

enum rt_follow { RT_NOT_FOLLOWED, RT_FOLLOWED, RT_LOAD_IT };

enum rt_where {
	RT_IN_CODE,	/* in the code cache */
	RT_IN_ORIGINAL,	/* jumped to an original address without indirect entry: r[1] = direct
			 * entry */
	RT_NOWHERE,	/* a wild jump: the program's own fault */
	RT_RETRY,	/* wrote to a page of translated code, which is writable again: once more */
	RT_WRITE_SELF,	/* the same, in the very block that runs: r[1] pc; r[4] = entry of a unit
			 * that
			 * executes this one instruction */
};

enum rt_cmd_op {
	CMD_PLACE,	/* map code file at a[0], length a[1], to a[2], protection a[3]; with
			 * RT_OVER in
			 * a[3] over what is there, which is ours, else where nothing is */
	CMD_PLACE_FILE,	/* map a[1] bytes of a file, from a[0] on, to a[2] over what is there,
			 * which is ours;
			 * protection a[3] & 7. The controller's descriptor a[3] >> 16 is to be
			 * the file whose
			 * RT_FILE_ID is a[4]: /proc may be another one by now. Not that: it
			 * fails */
	CMD_UNPLACE,	/* a[2], a[1]: back to what was there: zero shadow, or nothing if a[3] */
	CMD_PROTECT,	/* mprotect a[0], a[1], a[2] */
	CMD_ADVISE,	/* madvise a[0], a[1], a[2]: never fails */
};
#define RT_OVER 0x100
#define RT_POPULATE 0x200		/* in a[3] of CMD_PLACE_FILE: likewise, to be read */
#define RT_FILE_ID(dev, ino) ((uint64_t)(dev) << 40 ^ (uint64_t)(ino))
struct rt_cmd {
	uint64_t op, a[5];
};
#define RT_MAX_CMDS 48

enum rt_again {
	RT_NOT_AGAIN,
	RT_AGAIN,	/* run the commands, then ask the same once more */
	RT_IF_FAILED,	/* only if one of them fails: nobody else is there for whom they would
			 * have to be in order */
};
enum rt_mail_state { MAIL_IDLE, MAIL_REQUEST, MAIL_REPLY };
struct rt_mail {
	uint32_t state;			/* futex */
	uint32_t op;
	uint32_t sleeping;		/* the thread sleeps on `state`: wake it */
	uint32_t ncmd;
	uint32_t again;			/* enum rt_again; with every command, so that the
					 * controller knows when
					 * they have run */
	uint32_t failed;		/* asked again: 1 + number of the command that found no
					 * room, or no file */
	uint64_t a[6], r[6];		/* a[5] 1: asked again */
	struct rt_cmd cmd[RT_MAX_CMDS];
};

enum rt_origin { BLK_THREAD, BLK_FORKED, BLK_VFORKED };	/* a[0] of RQ_BLOCK */
enum rt_block_state { BLK_FREE, BLK_READY, BLK_LIVE, BLK_DEAD };

struct rt_waiting {			/* a signal that has arrived, and not for the program yet */
	uint32_t sig;
	uint32_t shared;		/* 1: sent to the process, not to the thread */
	uint8_t info[128];
};
#define RT_MAX_WAITING 16

struct rt_block {			/* at gs:0 */
	uint64_t s_rcx, s_rdx, s_tmp, s_tmp2;
	uint64_t exit_id, exit_pc, cont;
	uint32_t held;
	uint32_t calling;		/* the kernel's mask is the program's, whole, for a call */
	uint64_t do_resolve, do_syscall, do_step, do_int80, do_check, do_count;
	uint64_t self, resume;
	uint64_t cursor;		/* less than a block's size: an offset, the thread has
					 * not begun */
	uint32_t tracing;
	uint32_t stolen;		/* enum rt_stolen */
	uint64_t pad2, s_r11, out_r11;
	uint64_t budget;		/* of RT_R11_COUNTS; negative: overdrawn */
	uint64_t shortcuts;		/* how often a thread has gone by the second table that
					 * `links` is about */
	uint64_t pad5[9];
	struct rt_ctx ctx;
	uint32_t seen_pid, seen_tid;	/* as the controller calls them, */
	uint32_t apart, pad3;		/* 1: and perhaps nobody else: ours may be another PID
					 * namespace's */
	uint32_t fix_mask;
	uint32_t origin;		/* enum rt_origin */
	uint64_t real_mask;
	/* from here on only C looks */
	uint64_t app_mask;		/* the signal mask that the program believes in */
	uint64_t app_gs;		/* i386: fs selector */
	uint64_t app_alt_sp, app_alt_size;	/* the program's sigaltstack */
	uint32_t app_alt_flags;
	uint32_t state;			/* enum rt_block_state */
	uint32_t pid, tid;
	uint32_t space;			/* controller's number of the code space */
	uint32_t spin;			/* pauses before sleeping */
	uint64_t sighand;		/* address in the runtime's private data */
	uint32_t stepping;		/* enum rt_stepping */
	uint32_t step_sig;
	uint8_t step_info[128];
	uint64_t step_page;		/* page made executable for RT_STEP_INPLACE; of
					 * RT_STEP_TO_HEAD: the pc before */
	/* trace buffers: the process fills `chunk`; a full one is the controller's until it says
	 * 0 */
	uint32_t syscall;		/* number of the one that is being made */
	uint32_t leaving;		/* 1: by exit_group(); in an instrumented executable:
					 * stopped, for another thread ends it */
	uint32_t chunk, drop;		/* drop: nobody wants it, begin at its start again */
	uint32_t full[RT_CHUNKS];	/* futexes; 1 + bytes in it */
	/* Address, in the code vault, of u64: link number -> original pc. In 64-bit programs
	 * RT_LINKS_SIZE bytes behind
	 * it: number -> direct entry, of links in code that is mapped from a file and has not
	 * been patched; 0: ask. */
	uint64_t links;
	struct rt_mail mail;
	uint64_t stamp[RT_CHUNKS];	/* time stamp counter when `full` was set */
	/* PR_SET_SYSCALL_USER_DISPATCH: calls from elsewhere than [from, from + length) are
	 * SIGSYS if the byte says so */
	uint64_t dispatch_from, dispatch_length, dispatch_selector;
	uint32_t dispatch;
	uint32_t cleared;		/* new, the kernel has no handler for it: 1: nor has the
					 * program, 2: it has */
	uint64_t told;			/* the budget as of the last RT_N_COUNTED */
	/* by the consumer, before it empties a chunk: what the budget may be once all are empty;
	 * 0: none */
	uint64_t grant;
	uint32_t steps;			/* of RT_STEP_TO_HEAD */
	uint32_t exec_all;		/* 1: READ_IMPLIES_EXEC; the kernel does not know, for
					 * (2) */
	uint32_t pad6, nwaiting;
	struct rt_waiting waiting[RT_MAX_WAITING];
};
/* lent: for an instruction in place; counts: in code that only counts it is the budget, and the
 * cursor in rt_block.cursor */
enum rt_stolen { RT_R11_OWN, RT_R11_STOLEN, RT_R11_LENT, RT_R11_COUNTS };
enum rt_stepping { RT_STEP_NONE, RT_STEP_TO_BOUNDARY, RT_STEP_LEAVING, RT_STEP_INPLACE,
		   RT_STEP_TO_HEAD };

struct rt_session {			/* block 0 of the data file */
	uint32_t abi;
	uint32_t doorbell;		/* futex: counts requests */
	uint32_t asleep;		/* the controller sleeps on it */
	uint32_t closed;		/* no controller any more */
	uint32_t pid;			/* of the controller */
	uint32_t no_aslr;
	uint32_t bell;			/* futex: counts full chunks */
	uint32_t bell_asleep;		/* so many consumers sleep on it */
	uint32_t beat;			/* changes ten times a second */
};

/* ---- what a trace buffer holds ------------------------------------------------------------------
 * A sequence of records, each at a multiple of 4. Those of blocks begin with the block's number
 * and with how many
 * words of 4 bytes follow (or RT_MANY_WORDS or more), so that who reads need not look the block
 * up to find
 * the next record: that would be a chain of two loads per record. The others begin with
 * RT_NOTE(type, length), the
 * length counting what follows: 64-bit arguments, then perhaps text, padded with zeros to a
 * multiple of
 * 4. What lies behind the cursor means nothing. */
#define RT_MAX_NUMBER		0xffffffu
#define RT_MANY_WORDS		127u
#define RT_RECORD(number, size) \
	((uint32_t)(number) |		\
	 ((size) / 4u - 1 < RT_MANY_WORDS ? (size) / 4u - 1 : RT_MANY_WORDS) << 24)
#define RT_RECORD_NUMBER(word)	((word) & RT_MAX_NUMBER)
#define RT_RECORD_SIZE(word)	(4 + 4 * ((word) >> 24))	/* with RT_MANY_WORDS: at least */
#define RT_NOTE(type, n)	(0x80000000u | (uint32_t)(type) << 20 | (n))
#define RT_NOTE_TYPE(word)	((word) >> 20 & 0x7ff)
#define RT_NOTE_SIZE(word)	((word) & 0xfffff)
enum rt_note {
	RT_N_STATE = 1,	/* rsp, fs base, gs base: control arrives from nowhere that blocks would
			 * tell */
	RT_N_CUT,	/* instructions, rsi, rdi: only so many of the block before happened. Bit
			 * 32 of the
			 * first: the next one has recorded its values; if it is rep-prefixed it
			 * may have gone
			 * part of its way, up to these pointers; a gather or scatter, or a load
			 * or store of a
			 * tile, but for the elements or rows whose bits the second has. Without
			 * it, the last one has not recorded what
			 * it leaves behind: if it is rep-prefixed, these are where its pointers
			 * ended */
	RT_N_SYSCALL,	/* number, 6 arguments */
	RT_N_SYSRET,	/* result; -512 (ERESTARTSYS): interrupted, will be restarted or has not
			 * begun */
	RT_N_SIGNAL,	/* signal, interrupted pc, handler */
	RT_N_SIGRETURN,	/* resumed pc */
	RT_N_MMAP,	/* address, length, protection, file offset; name */
	RT_N_MUNMAP,	/* address, length */
	RT_N_PROCESS,	/* pid, parent; name */
	RT_N_EXEC,	/* pid; name */
	RT_N_THREAD,	/* tid */
	RT_N_EXIT,	/* status, enum pm_event_flag */
	RT_N_UNKNOWN,	/* pc, 16 bytes from there, 32-bit code: an instruction that no decoder
			 * knows is about to be executed */
	RT_N_COUNTED,	/* instructions that have been executed since the record before, of which
			 * there are no records */
	RT_N_SKIP,	/* nothing: what it is long means nothing */
	RT_N_STEPPED,	/* pc behind an instruction that was executed in its original place: it
			 * did not fault */
};

/* Written by the controller into the runtime's data before it first runs. */
struct rt_boot {
	uint64_t entry;			/* original pc at which the program begins */
	uint64_t block;			/* number of the first thread's block */
	uint64_t code;			/* i386: where its region begins in the code file */
	uint64_t vdso;			/* address, 0: none */
	uint32_t persona;		/* bits of the personality that are not the program's own */
	uint32_t nrange;
	uint32_t exec_all;		/* i386: as in struct rt_block */
	uint32_t load;			/* the program is not there yet: struct rt_load; entry,
					 * vdso, ranges come with RQ_BEGIN */
	struct rt_range {		/* executable mappings */
		uint64_t lo, hi;
		uint32_t prot, shared;
	} range[16];
	char code_path[64], data_path[64];
	uint32_t passed[4];		/* descriptors + 1 that these are by, to be closed; 0:
					 * none */
};

/* Behind the runtime's image, where the controller's file has been executed instead of the
 * program (map_program.c). */
struct rt_load {
	char program[64], interpreter[64];	/* by which paths they are opened; the second may
						 * be "" */
	char name[4096];		/* AT_EXECFN */
	uint32_t fix_random, no_vdso;	/* as of struct pm_run_opts */
};

_Static_assert(__builtin_offsetof(struct rt_block, exit_id) == RT_EXIT_ID, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, exit_pc) == RT_EXIT_PC, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, cont) == RT_CONT, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, held) == RT_HELD, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, do_resolve) == RT_DO_RESOLVE, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, do_check) == RT_DO_CHECK, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, do_count) == RT_DO_COUNT, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, self) == RT_SELF, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, resume) == RT_RESUME, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, cursor) == RT_CURSOR, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, tracing) == RT_TRACING, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, stolen) == RT_STOLEN, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, s_r11) == RT_S_R11, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, out_r11) == RT_OUT_R11, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, budget) == RT_BUDGET, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, ctx) == RT_CTX, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, fix_mask) == RT_FIX_MASK, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, real_mask) == RT_REAL_MASK, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, mail) == 0x2b8 &&
	       sizeof(struct rt_mail) == 0x978 && sizeof(struct rt_boot) == 0x240,
	       "laid out alike for both widths: so, whatever they are");
_Static_assert(RT32_TRACE + RT_CHUNKS * RT32_CHUNK_STRIDE <= RT32_BLOCK_SIZE, "in the block");
_Static_assert(sizeof(struct rt_block) < 0x10000, "below the runtime's stack");

#endif

#endif
