/* SPDX-License-Identifier: MIT */
/* abi.h - what the controller, translated code and the runtime in a traced process agree on
 *
 * The controller (hosted C), the runtime (freestanding C) and assembly include it. So it holds
 * constants and plain structs only. RT_ABI is part of every cache key: increase it on any change.
 *
 * ADDRESS SPACE OF A TRACED x86-64 PROCESS: what pugmark adds. The rest is the program's.
 *
 *   RT_SHADOW       16 GiB  a 4-byte entry for each value of an address's low 32 bits: the signed
 *                           distance from an original instruction to its *indirect entry* in the
 *                           code cache. 0: it has none, or two executable addresses have the same
 *                           low bits. The part for a text mapping is shared memory. The rest is
 *                           the zero page.
 *   RT_IMAGE                the runtime: text (r-x), data (rw-, private, copied by fork)
 *   RT_CODE_VAULT           the whole code file (r-x, sealed): code caches and shadows of every
 *                           code space. mremap(old_size = 0) places pieces of it elsewhere, and
 *                           needs no descriptor.
 *   RT_DATA_VAULT           the whole data file (rw-): session header and thread blocks
 *   near each text mapping  its code cache, within 2 GiB: a placed piece of the code file
 *
 * The program sees all of that as free (memory_calls.c). If it maps something over code near a
 * text, that code goes, unless another thread may be executing it. The rest stays.
 *
 * ... OF A TRACED i386 PROCESS. It has 4 GiB in all, and a branch reaches everything.
 *
 *   RT32_BLOCKS    256 MiB  thread blocks: the first RT32_BLOCK_SIZE of each. More than
 *                           RT32_NBLOCKS at a time are mapped elsewhere.
 *   RT32_IMAGE              the runtime, as above
 *   RT32_DATA_VAULT         the first pages of the data file: session header
 *   RT32_ZERO      256 KiB  the shadow's table for addresses without translations
 *   RT32_CODE_VAULT         the process's code space, a region of the code file (r-x): first the
 *                           shadow's directory, then links, then code caches and tables of the
 *                           shadow in any order
 *
 * The i386 shadow has two levels. The directory holds for each 64 KiB of addresses where their
 * table of 4-byte distances is, less 4 * (the first of these addresses). So the whole address is
 * the index. Files are mapped without a descriptor: by remap_file_pages() on a piece of them.
 *
 * INVARIANTS, to which the code refers by number
 * (1) No page is both writable and executable. Only the controller can write code, by the one
 *     mapping that it made before it sealed the file. Nobody gets another writable mapping,
 *     whatever descriptor or mapping it has.
 * (2) Original text is not executable while the process is traced. So an indirect branch to an
 *     address without translation (entry 0: it jumps to the original address) faults, and the
 *     runtime asks.
 * (3) gs:0 (i386: fs:0) is the running thread's block. The block holds the program's own gs base
 *     (i386: fs selector).
 * (4) At a direct entry all registers are the program's. At an indirect entry all are but rcx,
 *     which is in RT_S_RCX, and in 32-bit code edx, which is in RT_S_RDX.
 * (5) Translated code does not touch memory below rsp. It moves rsp only as the original does.
 * (6) Thread blocks are aligned to their size. So a signal handler on the block's alternate stack
 *     finds the block from its stack pointer, whatever gs is.
 * (7) While RT_R11_USE is RT_R11_CURSOR, the *cursor register* r11 (i386: ebp) holds the cursor of
 *     the trace buffer wherever control is in translated code, and at every entry (4). The
 *     program's value is in RT_S_R11. At places with XL_RESTORED in their maps the
 *     program's value is back in the register. The doors exchange the two values. With
 *     RT_R11_BUDGET the same holds, but the register has RT_BUDGET in place of the cursor, and
 *     with RT_R11_CLOCK RT_UNTIL. */
#ifndef PM_RUNTIME_ABI_H
#define PM_RUNTIME_ABI_H

#ifndef __ASSEMBLER__
#include <stdint.h>
#endif

#define RT_ABI			46	/* no suffix: for assembly */

#define RT_SHADOW		0x70000000ull
#define RT_SHADOW_SIZE		(4ull << 32)
#define RT_COUNTING_SHIFT	0x40000000u	/* the entry of a counting copy (translate.h) is
						 * that of an address so much higher */
#define RT_LINKS_SIZE		(64ull << 20)	/* bytes of each table of rt_block.links */
#define RT_SHORTCUTS		0x10000u	/* how often a thread uses the second one before
						 * it asks again */
#define RT_IMAGE		0x2a0000000000	/* no suffix: for clang's assembler */
#define RT_IMAGE_SIZE		0x200000ull
#define RT_IMAGE_DATA		0x2a0000100000	/* struct rt_boot comes first */
/* In the image, for a controller that attaches or detaches: where a thread begins whose block's
 * ctx is its state, r15 the block's address; and struct rt_places. */
#define RT_ATTACHED		(RT_IMAGE + 0x40)
#define RT_PLACES		(RT_IMAGE + 0x60)
#define RT_LOAD			(RT_IMAGE + RT_IMAGE_SIZE)	/* struct rt_load */
#define RT_CODE_VAULT		0x2b0000000000ull
#ifdef RT_LITTLE_ROOM		/* the thread sanitizer leaves a program 1.5 TiB of addresses */
#define RT_CODE_SIZE		(256ull << 30)
#define RT_BLOCKS		640u
#else
#define RT_CODE_SIZE		(8ull << 40)
#define RT_BLOCKS		8192u			/* block 0 is the session header */
#endif
#define RT_DATA_VAULT		0x340000000000	/* no suffix: likewise */
#define RT_BLOCK_SHIFT		30
#define RT_BLOCK_SIZE		(1ull << RT_BLOCK_SHIFT)
#define RT_DATA_SIZE		(RT_BLOCKS * RT_BLOCK_SIZE)
/* more than all that pugmark adds */
#define RT_OURS_SIZE		(RT_CODE_SIZE + RT_DATA_SIZE + (1ull << 40))

#define RT32_BLOCKS		0x20000000u
#define RT32_BLOCK_SIZE		0x400000u
#define RT32_NBLOCKS		64u
#define RT32_IMAGE		0x30000000
#define RT32_IMAGE_DATA		0x30100000
#define RT32_PLACES		(RT32_IMAGE + 0x60)	/* RT_PLACES */
#define RT32_DATA_VAULT		0x30200000	/* no suffix: for clang's assembler */
#define RT32_LOAD		0x30500000	/* RT_LOAD */
#define RT32_ZERO		0x30400000u
#define RT32_TABLE_SIZE		0x40000u
#define RT32_CODE_VAULT		0x31000000u
#define RT32_CODE_SIZE		0x20000000u
#define RT32_SHADOW		RT32_CODE_VAULT		/* the directory: u32 for each 64 KiB */
#define RT32_DIR_SIZE		0x40000u
#define RT32_LINKS		(RT32_CODE_VAULT + RT32_DIR_SIZE)
/* the last of the thread's GDT entries; the same in a 32-bit kernel */
#define RT32_SEGMENT		14
#define RT32_SEGMENT_OF_32	8

/* ---- offsets in a thread block, for translated code; 32-bit code uses the lower halves ------- */
#define RT_S_RCX		0x00	/* rcx during an indirect transfer */
#define RT_S_RDX		0x08	/* rdx during an indirect transfer */
#define RT_S_TMP		0x10	/* a register that one instruction's translation saves */
#define RT_S_TMP2		0x18	/* ... that an address is in instead, XL_BORROWED() */
#define RT_EXIT_ID		0x20	/* u32: link number of the exit */
#define RT_EXIT_PC		0x28	/* original pc of a trapping exit (RT_DO_STEP,
					 * RT_DO_INT80) */
#define RT_CONT			0x30	/* where translated code continues after a system call */
#define RT_HELD			0x38	/* u32: a signal arrived while the runtime ran, and the
					 * program does not block it: it comes before a call */
#define RT_DO_RESOLVE		0x40	/* jmp gs:[..]: exit by a direct branch without a link */
#define RT_DO_SYSCALL		0x48	/* rcx (i386: RT_EXIT_PC) is the next original pc, RT_CONT
					 * is set */
#define RT_DO_STEP		0x50	/* execute the instruction at RT_EXIT_PC in place */
#define RT_DO_INT80		0x58	/* i386: system call by the vDSO's sysenter or syscall */
#define RT_DO_CHECK		0x60	/* the bytes of the block at RT_EXIT_PC have changed:
					 * translate it again */
#define RT_DO_COUNT		0x68	/* the budget is spent: continue at RT_EXIT_PC in code that
					 * traces */
#define RT_SELF			0x70	/* address of this block */
#define RT_RESUME		0x78	/* where control goes when it leaves the runtime */
#define RT_CURSOR		0x80	/* trace buffer: next free byte */
#define RT_TRACING		0x88	/* u32: there is a trace buffer */
#define RT_R11_USE		0x8c	/* u32: enum rt_r11_use */
#define RT_S_R11		0x98	/* the program's r11 while it holds the cursor */
#define RT_OUT_R11		0xa0	/* what r11 will be behind the runtime */
#define RT_BUDGET		0xa8	/* how many instructions may still be counted without
					 * records */
#define RT_STAY			0xb8	/* u32: the controller waits for the thread: stay in the
					 * window */
#define RT_LOGGED		0xbc	/* u32: enum rt_logged */
#define RT_UNTIL		0xc0	/* u64: as many safepoints (translate.h) may be passed until
					 * one leaves to the runtime */
#define RT_DO_SAFEPOINT		0xc8	/* it is 0: continue at RT_EXIT_PC */
#define RT_HEAD			0xd0	/* ... where no instruction has been executed yet of the
					 * block whose direct entry this is; 0: another place */
/* A calling-context tree that grows in the process, runtime/contexts.c: */
#define RT_TREE_STATE		0xe8	/* u64: instructions that no context has yet, and in the
					 * upper half the offset of the next free frame, while the
					 * runtime runs; else 0, and the cursor register has it */
#define RT_DO_TREE		0xf0	/* control goes to RT_EXIT_PC, by RT_TREE_EVENT */
#define RT_TREE_PENDING		0xf8	/* u32: 1: where it goes on is to be found out */
#define RT_TREE_EVENT		0xfc	/* u32: enum rt_tree_end, | RT_TREE_HAS_CONT,
					 * | RT_TREE_MEMO, | slot of the node << 16; of a jump
					 * this is for where the context is its frame's first,
					 * << 24 for elsewhere */
#define RT_CTX			0x100	/* struct rt_ctx: the program's registers while the
					 * runtime runs */
#define RT_FIX_MASK		0x1a0	/* u32: before leaving, queue again what is pending, and
					 * set the signal mask */
#define RT_REAL_MASK		0x1a8	/* u64: the kernel's mask in translated code */
#define RT_STACK_TOP		0x20000	/* the runtime's stack: [0x10000, 0x20000) */
#define RT_ALT_STACK		0x20000	/* the signal stack: [0x20000, 0x60000) */
#define RT_ALT_SIZE		0x40000
#define RT_COUNTERS		0x100000	/* u64 per counter; i386: u32 */
#define RT_MAX_COUNTERS		((RT_TRACE - RT_COUNTERS) / 8)
#define RT32_MAX_COUNTERS	((RT32_BLOCK_SIZE - RT_COUNTERS) / 4)
#define RT32_TRACE		RT_COUNTERS	/* i386: a trace has no counters; in their place */
#define RT32_CHUNK		0x50000		/* ... are RT_CHUNKS smaller buffers */
#define RT32_CHUNK_STRIDE	0x60000
/* Of a 64-bit profile with edges, in place of trace buffers: struct rt_target, a hash table; then
 * how many are used, u64, and how many branches found no more room, u64. */
#define RT_TARGETS		RT_TRACE
#define RT_TARGETS_SIZE		0x200000
#define RT_TARGETS_MAX		(RT_TARGETS_SIZE / 32 / 4 * 3)
#define RT_TARGETS_USED		(RT_TARGETS + RT_TARGETS_SIZE)
#define RT_TARGETS_LOST		(RT_TARGETS_USED + 8)
#define RT_TRACE		0x38000000	/* RT_CHUNKS trace buffers, RT_CHUNK_STRIDE apart */
#define RT_CHUNK		0x100000	/* bytes of one; guard pages follow */
#define RT_CHUNK_STRIDE		0x110000
#define RT_CHUNKS		8
/* Of a 64-bit program whose calling-context tree grows in place of counters: */
#define RT_TREE_FRAMES		0x100000	/* struct rt_frame_of_call; in front of them one
						 * that stands for no call */
#define RT_TREE_FRAMES_MAX	0x100000u	/* of them; a guard page follows */
#define RT_TREE_SIGNALS		0x1200000	/* struct rt_tree_signal */
#define RT_TREE_SIGNALS_MAX	4096u
#define RT_TREE_LANDINGS	0x1300000	/* struct rt_tree_landing */
#define RT_TREE_LANDINGS_MAX	65536u
#define RT_TREE_TARGETS		0x1400000	/* struct rt_tree_target: 1 MiB */
#define RT_TREE_TARGETS_MASK	0xffff0u
#define RT_TREE_TEXTS		0x1520000	/* the runtime's */
#define RT_TREE_KNOWN		0x1540000	/* the runtime's */
#define RT_TREE_KNOWN_MAX	32768u
#define RT_TREE_MADE		0x1600000	/* u64: where functions of generated code begin */
#define RT_TREE_MADE_MAX	(1u << 20)
#define RT_TREE_SLOTS		0x2000000	/* the runtime's: contexts by parent and function */
#define RT_TREE_SLOTS_MAX	(1u << 23)
#define RT_TREE_SITES		0x6000000	/* struct rt_tree_site: 16 MiB */
#define RT_TREE_SITES_MASK	0xfffff0u	/* of (context ^ number << 4) */
#define RT_TREE_NODES		0x8000000	/* struct rt_tree_node; up to RT_TRACE */
#define RT_TREE_NODES_MAX	(1u << 22)
#define RT_TREE_CELL		64		/* what is allocated are multiples of that */
#define RT_TREE_CELLS_MAX	((RT_TRACE - RT_TREE_NODES) / RT_TREE_CELL)
#define RT_TREE_VIA		28		/* of a node */
#define RT_TREE_SLOT		32		/* ... the first one */
#define RT_TREE_SLOTS_OF(cells)	((RT_TREE_CELL * (cells) - RT_TREE_SLOT + 0u) / 8)
#define RT_TREE_MOST_CELLS	32
/* The last block of the data file has functions (RQ_FUNCTIONS): what is known of each, then rows of
 * texts. */
#define RT_TREE_FUNCTIONS	(RT_DATA_VAULT + (RT_BLOCKS - 1) * RT_BLOCK_SIZE)
#define RT_TREE_ROWS		0x20000000u	/* offset in it */
#define RT_TREE_HAS_CONT	0x100u		/* RT_CONT says where to go on */
#define RT_TREE_MEMO		0x200u		/* a slot of the node may remember it */
#define RT_TREE_THROUGH		0x400u		/* a call through a stub at RT_EXIT_PC, of so many
						 * instructions << 12, to RT_S_TMP2 */
#define RT_TREE_LINK		0x800u		/* a call by a link to a call entry that is not
						 * patched: RT_DO_RESOLVE */
#define RT_TREE_GOES_BACK	1u		/* in a slot, of a jump: its child is the context's
						 * parent, which is not entered anew */
#define RT_LOG			0x39000000	/* struct rt_event, one behind the other */
#define RT_LOG_SIZE		0x400000
#define RT32_LOG		0x70000
#define RT32_LOG_SIZE		0x80000
/* Of a thread of a replay that is about to begin, in either width: struct rt_handover. */
#define RT_HANDOVER		RT32_LOG
/* Of a recorded thread that does not execute, in either width: addresses of the robust locks that
 * it holds, u64. */
#define RT_LOCKS		0xf0000
#define RT_LOCKS_MOST		2049	/* a list has at most 2048, as in Linux, and one more */
#define RT_HOLDERS		0x1000	/* in block 0: the numbers of blocks of such threads, u32 */
#define RT_HEADER_SIZE		(RT_HOLDERS + 4 * RT_BLOCKS)

#ifndef __ASSEMBLER__

/* An indirect jump or call went there so often. */
struct rt_target {
	uint64_t to;			/* original address */
	uint32_t counter, zero;		/* RT_COUNTERS + 8 * the number of its block's counter */
	uint64_t count;			/* 0: the entry is free */
	uint64_t unused;
};

/* ---- a calling-context tree (runtime/contexts.c) --------------------------------------------- */
enum rt_tree_end { RT_ENDS_ON, RT_ENDS_JUMP, RT_ENDS_CALL, RT_ENDS_RETURN, RT_ENDS_SIGNAL };
enum rt_tree_flag {		/* of functions: those of analyse/tree_work.h */
	RT_TREE_STUB = 1, RT_TREE_SETJMP = 2, RT_TREE_UNWINDS = 4, RT_TREE_PART = 8,
	RT_TREE_UNKNOWN = 16, RT_TREE_RESOLVES = 128,
};
#define RT_TREE_GENERATED	2u	/* the function of all generated code; contexts have: */
#define RT_TREE_IS_MADE		0x80000000u	/* | index in RT_TREE_MADE */

struct rt_tree_node {			/* a context; [0] is of no function */
	uint64_t self, calls;
	uint32_t parent, function;		/* parent: index, in cells */
	uint32_t depth : 25;
	uint32_t hashed : 1;			/* not all that is below it is in its slots */
	uint32_t cells : 6;			/* how large it is: as its function says */
	uint32_t via;				/* offset of the stub's beside it, through which
						 * calls lead here; 0: none */
	struct { uint32_t key, child; } slot[4];	/* where a call, or jump, has led to: the
							 * number of the block that is called,
							 * or jumps; offset. There are
							 * RT_TREE_SLOTS_OF(cells) */
};
struct rt_frame_of_call {
	uint64_t ret;			/* where the caller waits; inverted: it is not as simple */
	uint32_t first, node;		/* offsets: see struct tree_frame, analyse/tree_work.h; node
					 * of the innermost one is where control is */
};
struct rt_tree_signal { uint64_t next; uint32_t depth, end; };
struct rt_tree_landing { uint64_t pc; uint32_t depth, unused; };
/* Of indirect calls and jumps; node | 1: of a jump where another context is its frame's first. */
struct rt_tree_target { uint64_t to; uint32_t node, child; };
/* Of direct ones for which no slot is left; first: of a jump, its frame's. */
struct rt_tree_site { uint32_t node, key, child, first; };

/* Code from module + at on, up to the next row's, is of @function; it begins at module + lo. */
struct rt_function {
	uint32_t at, function, lo, unused;
};
/* At RT_TREE_FUNCTIONS: of all functions, by number; name: a hash; part: of the function which this
 * is a part of; cells: of its contexts, 0: 1. */
struct rt_function_info {
	uint32_t flags, name, part, cells;
};

struct rt_ctx {
	uint64_t gpr[16];		/* rax rcx rdx rbx rsp rbp rsi rdi r8..r15 */
	uint64_t pc;			/* original */
	uint64_t flags;
};

/* ---- requests: each thread has a mailbox, and the controller answers ------------------------- */
/* If a thread that counts asks, r[5] 1 says that the entry in the answer is of code that traces. */
enum rt_op {
	RQ_NONE,
	RQ_HELLO,	/* after boot, fork or vfork: a[0] pid, a[1] tid, a[2] 1: first thread of a
			 * process */
	RQ_LOOKUP,	/* a[0] original pc
			 * -> r[0] direct entry, 0: the program may not execute that address */
	RQ_RESOLVE,	/* a[0] link number -> r[0] direct entry, 0: as RQ_LOOKUP */
	RQ_SIGNAL,	/* a[0] pc in translated code, a[1] signal, a[2] fault address,
			 * a[3] 1: a fault, 0: somebody sent it, a[4] page fault error code
			 * -> r[0] enum rt_where, r[1] original pc, r[2] xl_map flags,
			 * r[3] tmp register */
	RQ_CUT,		/* the block stops at a[0], pc in translated code (its state: as answered to
			 * RQ_SIGNAL); or a[0] is the original pc of RQ_STEP, where the
			 * instruction has faulted */
	RQ_STEP,	/* a[0] original pc: its instruction is about to be executed in place */
	RQ_CHECKFAIL,	/* a[0] original pc: bytes changed under a block -> r[0] new direct entry */
	RQ_MAP,		/* the program has mapped: a[0] address, a[1] length, a[2] prot,
			 * a[3] flags */
	RQ_UNMAP,	/* a[0] address, a[1] length: about to vanish, or executable no more */
	RQ_CHANGES,	/* where rt_session.constants: a[0] address, a[1] length: data that may
			 * change from here on, though it was not to be written to */
	RQ_MAKE_WAY,	/* a[0] address, a[1] length: something will be mapped there, over placed
			 * code -> r[0] 1: nobody uses that code any more */
	RQ_OPEN,	/* the kernel has to write to pages of translated code: those of the mapping
			 * at a[0], 0: any -> r[0] 1: there were some, and they are writable now */
	RQ_BLOCK,	/* a[0] enum rt_origin, a[1] 1: children may be in another PID namespace;
			 * replayed: a[2] 1 + the child's stream, a[3] its recorded number,
			 * also of a thread
			 * -> r[0] number of a new thread block, 0: none; recorded: r[1] 1 + the
			 * child's stream */
	RQ_UNBLOCK,	/* a[0] block number from RQ_BLOCK: it is not needed */
	RQ_FORKED,	/* a[0] block number from RQ_BLOCK: its process exists */
	RQ_EXEC,	/* before execve: a[0] 1: with the program's own ADDR_NO_RANDOMIZE,
			 * a[1] as RQ_BLOCK; if the runtime has loaded the program (rt_load):
			 * a[2] descriptor of the file + 1
			 * -> r[0] enum rt_follow; RT_LOAD_IT: r[1] the controller's descriptor to
			 * execute instead, r[2] number of strings, in place of commands; these
			 * replace the first argument, in front of the path */
	RQ_EXECFAIL,	/* execve failed */
	RQ_EXIT,	/* thread a[0] ends; a[1] 1: the whole process does (only instrumented
			 * programs say so) */
	RQ_MAPPED,	/* for the trace: a[0] address, a[1] length, a[2] prot, a[3] file offset,
			 * a[4] fd */
	RQ_COUNTING,	/* a[0] pc in translated code
			 * -> r[0] direct entry of the counting copy from there on, 0: none */
	RQ_BEGIN,	/* the runtime has loaded a program (rt_load)
			 * -> r[0] number of struct rt_range, in place of commands,
			 * r[1] address of the vDSO */
	/* Of a program that is recorded or replayed (to_log.c) */
	RQ_LOG,		/* recorded: its log is full, and is to begin anew; replayed: a[0] bytes of
			 * it have been used -> r[0] how many there are now, 0: no more; r[1] 1:
			 * behind them another program is executed */
	RQ_LOG_FILE,	/* a[0] descriptor, a[1] offset, a[2] length: a file is about to be mapped,
			 * a[3] enum rt_sharing
			 * -> r[0] 1 + its number in the recording, 0: it cannot be recorded;
			 * with RT_SHARES_WRITES it has none, and 1 says that it can; of POSIX
			 * shared memory that is to be shared RT_SEGMENT(), or 0, and r[1] is not
			 * 0 and says more for RT_END_SEGMENT */
	RQ_LOG_SHARED,	/* recorded: a[2] bytes at a[1] of the file a[0] have been written, a
			 * descriptor; -> r[]: up to three addresses, each with a length, where
			 * these bytes are mapped and shared */
	RQ_LOG_SEGMENT,	/* of shared memory; enum rt_segment_use a[0]: _FIND: a[1] System V's
			 * identifier: it is about to be attached -> r[0] which one (RT_SEGMENT()),
			 * 0: it cannot be recorded, and r[1] says more for RT_END_SEGMENT;
			 * _GROWS: of what is mapped at a[1] more is to be, a[2] bytes -> r[0] 1:
			 * it can be recorded;
			 * replayed, _MEMORY: a[1] which one -> r[0] where in the data vault its
			 * memory is, 0: there is no room; _PART: a[1] where it was attached, and
			 * is to be detached -> r[0] where a part of it is mapped, r[1] how many
			 * bytes, 0: none is any more */
	RQ_LOG_EXEC,	/* replayed: another program has been executed
			 * -> r[0] number of its thread block, 0: it has not been recorded;
			 * r[1] the controller's descriptor of a file with its struct rt_start, at
			 * r[2]; r[3] i386: where its region begins in the code file. r[4] 1: it is
			 * of the other width, and r[1] a file to execute */
	RQ_LOG_END,	/* a[0] enum rt_log_end, a[1] more about it: from here on nothing is
			 * recorded; replayed: this is another run than the recorded one */
	RQ_CHECK,	/* recorded: a[0] 0: in front of a call, 1: behind it; a[2] its number,
			 * a[3] 1: it is done when replaying, too; a[1] 1 + descriptor of a
			 * userfaultfd
			 * -> r[0] 1: one is wanted: ask again with it */
	RQ_STOP,	/* replayed: the thread stands where it was to stop, and ctx is its state.
			 * While it waits the controller may change both.
			 * -> r[0] enum rt_stop_then */
	RQ_FUNCTIONS,	/* a[0] pc -> r[0], r[1]: the code around it, from .. to; r[0] 0: there is
			 * none; r[2] address of struct rt_function, r[3] how many; 0: generated */
	RQ_LAST = RQ_FUNCTIONS,
};
enum rt_stop_then {
	RT_STOP_GO,	/* it goes on */
	RT_STOP_LOG,	/* likewise, but only with what the log has for this safepoint */
	RT_STOP_OPEN,	/* pages of translated code may have been written to: RQ_OPEN, then
			 * RQ_STOP again */
};

/* Does who maps a file see what others write to it, or do they see what it writes? */
enum rt_sharing { RT_SHARES_NOT, RT_SHARES_READS, RT_SHARES_WRITES };

enum rt_segment_use { RT_SEGMENT_FIND, RT_SEGMENT_GROWS, RT_SEGMENT_MEMORY, RT_SEGMENT_PART };
/* A recording's segment of shared memory, by its number and its pages. */
#define RT_SEGMENT(number, pages) ((uint64_t)(pages) << 32 | ((number) + 1u))
#define RT_IS_SEGMENT(which) ((which) >> 32 != 0)	/* or the number of a file */
#define RT_SEGMENT_NUMBER(which) ((uint32_t)(which) - 1u)
#define RT_SEGMENT_BYTES(which) ((which) >> 32 << 12)

/* Why the recording of a process ends before the process does; a[1] of RQ_LOG_END. */
enum rt_log_end {
	RT_END_CALL,		/* the system call of that number is not known */
	RT_END_IOCTL,		/* an ioctl() */
	RT_END_FILE,		/* something is mapped that is no ordinary file */
	RT_END_SIGNAL,		/* signal a[1] waits, and the program makes no system call and
				 * passes no safepoint */
	RT_END_SHARED,		/* another process has all of its memory; a[1]:
				 * enum rt_shared_end */
	RT_END_DIFFERS,		/* replayed: it differs from the recording at a[1], its pc */
	RT_END_GROUP,		/* it shares memory with process a[1], whose recording has ended */
	RT_END_INT80,		/* 64-bit code makes a 32-bit system call */
	RT_END_SEGMENT,		/* shared memory; a[1]: enum rt_segment_end */
};

enum rt_shared_end {
	RT_SHARED_MADE,		/* ... which is made where that cannot be recorded */
	RT_SHARED_EXECS,	/* ... and the first one executes a program, or one that is not
				 * followed */
	RT_SHARED_KILLED,	/* ... and one of them has been killed while it executed */
};

enum rt_follow { RT_NOT_FOLLOWED, RT_FOLLOWED, RT_LOAD_IT };

enum rt_where {
	RT_IN_CODE,	/* in the code cache */
	RT_IN_ORIGINAL,	/* at an original address without indirect entry: r[1] = direct entry */
	RT_NOWHERE,	/* a wild jump: the program's own fault */
	RT_RETRY,	/* it wrote to a page of translated code, which is writable now; or went to
			 * code that was not mapped yet, and is now: repeat it */
	RT_WRITE_SELF,	/* ... to the block that runs: r[1] pc, r[4] entry of a unit that executes
			 * this one instruction */
};

enum rt_cmd_op {
	CMD_PLACE,	/* map a[1] bytes of the code file, from a[0] on, to a[2] with protection
			 * a[3]. With RT_OVER in a[3] it replaces what is there, which is pugmark's;
			 * else nothing may be there */
	CMD_PLACE_FILE,	/* map a[1] bytes of a file, from a[0] on, to a[2] with protection a[3] & 7.
			 * It replaces what is there, which is pugmark's. The file is descriptor
			 * a[3] >> 16 of the controller, and a[4] is its RT_FILE_ID. If that is
			 * another file the command fails: /proc may have been replaced */
	CMD_UNPLACE,	/* a[2], a[1]: as before: zero shadow, or nothing if a[3] */
	CMD_PROTECT,	/* mprotect a[0], a[1], a[2] */
	CMD_ADVISE,	/* madvise a[0], a[1], a[2]: never fails */
};
#define RT_OVER 0x100
#define RT_POPULATE 0x200		/* in a[3] of CMD_PLACE_FILE: read it in at once */
#define RT_FILE_ID(dev, ino) ((uint64_t)(dev) << 40 ^ (uint64_t)(ino))
struct rt_cmd {
	uint64_t op, a[5];
};
#define RT_MAX_CMDS 48

enum rt_again {
	RT_NOT_AGAIN,
	RT_AGAIN,	/* run the commands, then send the same request again */
	RT_IF_FAILED,	/* only if a command fails: no other thread waits until they have run */
	RT_TELL,	/* run the commands, none of which can fail, and set `told`: others wait */
};
enum rt_mail_state { MAIL_IDLE, MAIL_REQUEST, MAIL_REPLY };
struct rt_mail {
	uint32_t state;			/* futex */
	uint32_t op;
	uint32_t sleeping;		/* the thread sleeps on `state`: wake it */
	uint32_t ncmd;
	uint32_t again;			/* enum rt_again; set with all commands, so that the
					 * controller knows when they have run */
	uint32_t failed;		/* of a repeated request: 1 + number of the command that
					 * found no room, or no file */
	uint32_t told, pad;		/* the commands of RT_TELL have run; 0: not yet */
	uint64_t a[6], r[6];		/* a[5] 1: a repeated request */
	struct rt_cmd cmd[RT_MAX_CMDS];
};

enum rt_origin { BLK_THREAD, BLK_FORKED, BLK_VFORKED,	/* a[0] of RQ_BLOCK */
		 BLK_ATTACHED };	/* it was running when the controller came; until it goes
					 * on */
enum rt_block_state { BLK_FREE, BLK_READY, BLK_LIVE, BLK_DEAD };

struct rt_waiting {			/* a signal that the program has not got yet */
	uint32_t sig;
	uint32_t shared;		/* 1: sent to the process, not to the thread */
	uint32_t ignored;		/* how often it had been ignored, struct rt_sighand */
	uint8_t info[128];
};
#define RT_MAX_WAITING 16

struct rt_block {			/* at gs:0 */
	uint64_t s_rcx, s_rdx, s_tmp, s_tmp2;
	uint64_t exit_id, exit_pc, cont;
	uint32_t held;
	uint32_t calling;		/* 1: during a call the kernel has the program's mask */
	uint64_t do_resolve, do_syscall, do_step, do_int80, do_check, do_count;
	uint64_t self, resume;
	uint64_t cursor;		/* below a block's size it is an offset: the thread has not
					 * begun */
	uint32_t tracing;
	uint32_t r11_use;		/* enum rt_r11_use */
	uint64_t pad2, s_r11, out_r11;
	uint64_t budget;		/* of RT_R11_BUDGET; negative: overdrawn */
	uint64_t shortcuts;		/* how often the thread has used the second table of
					 * `links` */
	uint32_t stay;
	uint32_t logged;		/* enum rt_logged */
	uint64_t until, do_safepoint, head;
	uint64_t pad7[2], tree_state, do_tree;
	uint32_t tree_pending, tree_event;
	struct rt_ctx ctx;
	uint32_t seen_pid, seen_tid;	/* the controller's numbers for them */
	uint32_t apart;			/* 1: ours may be another PID namespace's */
	uint32_t number;		/* the controller's, of this block */
	uint32_t fix_mask;
	uint32_t origin;		/* enum rt_origin */
	uint64_t real_mask;
	/* no assembly refers to what follows */
	uint64_t app_mask;		/* the program's signal mask, as it believes */
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
	uint64_t step_page;		/* RT_STEP_INPLACE: the page that is executable meanwhile;
					 * RT_STEP_TO_HEAD: the pc before */
	uint32_t syscall;		/* number of the call that is being made */
	uint32_t leaving;		/* 1: the process ends by exit_group(); in an instrumented
					 * executable: this thread stopped, another one ends it */
	/* Trace buffers. The process fills `chunk`. A full one is the controller's until `full` is
	 * 0 again. */
	uint32_t chunk, drop;		/* drop: nobody wants it, begin at its start again */
	uint32_t full[RT_CHUNKS];	/* futexes; 1 + bytes in it */
	/* Address in the code vault of a table of u64: link number -> original pc. 64-bit programs
	 * have a second table RT_LINKS_SIZE behind it: link number -> direct entry, for links in
	 * code that is mapped from a file and not patched; 0: ask. */
	uint64_t links;
	struct rt_mail mail;
	uint64_t stamp[RT_CHUNKS];	/* time stamp counter when `full` was set */
	/* PR_SET_SYSCALL_USER_DISPATCH: calls from outside of [from, from + length) are SIGSYS if
	 * the byte at `selector` says so */
	uint64_t dispatch_from, dispatch_length, dispatch_selector;
	uint32_t dispatch;
	uint32_t cleared;		/* a new process for which the kernel has no handlers. 1: it
					 * has none; 2: the program has */
	uint64_t told;			/* the budget as of the last RT_N_COUNTED */
	/* The consumer sets it before it empties a chunk: the budget when all are empty; 0: none */
	uint64_t grant;
	uint32_t steps;			/* of RT_STEP_TO_HEAD */
	uint32_t exec_all;		/* 1: READ_IMPLIES_EXEC; hidden from the kernel because of
					 * (2) */
	uint32_t pad6, nwaiting;
	struct rt_waiting waiting[RT_MAX_WAITING];
	/* At RT_LOG of log_home: bytes written, or read; replayed: bytes that there are; events
	 * so far. */
	uint64_t log_at, log_end, nlogged;
	uint64_t log_clock;		/* safepoints passed when `until` is 0 */
	uint64_t log_brk;		/* replayed: where the heap ends */
	uint64_t call_check, call_length;	/* of the call that is being made: see to_log.c */
	uint64_t log_mask;		/* replayed: app_mask, while a signal is given in spite
					 * of it */
	uint32_t log_place;		/* enum rt_log_place: where the thread leaves to */
	uint32_t deferred;		/* signals wait for such a place */
	uint32_t log_tid;		/* replayed: the number of the thread that begins */
	uint32_t log_execs;		/* replayed: behind the log another program is executed */
	/* Of a process with several threads: who executes, see runtime/token.c */
	uint64_t log_home;		/* the block whose log all threads of the process have */
	uint32_t thread_id;		/* from 1 on in the order in which they were made */
	uint32_t token_free;		/* 1: others may have the token, or have it */
	uint32_t turn;			/* futex; enum rt_turn */
	uint32_t token_quantum;		/* safepoints of the present part of its slice */
	uint64_t next_member, next_waiting;	/* addresses of blocks; 0: none */
	uint64_t priority;		/* of threads that take turns at random */
	uint64_t robust, clear_tid;	/* recorded: what the kernel would see to as it ends */
	/* ... and what it has in place of `robust`: a list with one lock, which it marks as
	 * abandoned when the thread ends, however it does (runtime/robust.c). A 32-bit thread's
	 * list head is three words from `next` on. */
	struct rt_alive {
		uint64_t next, offset, pending;
		uint64_t node;
		uint32_t lock, pad;
	} alive;
	uint32_t nheld;			/* at RT_LOCKS */
	uint32_t holds;			/* 1: it is one of RT_HOLDERS */
	uint64_t tid_at;		/* where its own number goes as it begins; 0: nowhere */
	/* Replayed: the thread stops (RQ_STOP) when it has passed stop_at - 1 safepoints, 0: never;
	 * stop_next 1: as soon as it would next leave the runtime. */
	uint64_t stop_at;
	uint32_t stop_next;
	uint32_t stop_signal;		/* at the stop: 1 if a signal has just been given, */
	uint64_t stop_from;		/* ... to a program that stood there */
	/* Of log_home, see runtime/group_token.c: 1: the process shares memory; when it had the
	 * group's token last; replayed: which it waits for, 0: for none; 1: it waits for a
	 * child. */
	uint32_t group_member, group_number, group_awaits, awaits_child;
	uint32_t tree;			/* 1: a calling-context tree grows; RT_TREE_*: */
	uint32_t tree_end;		/* pending: how what executed last has ended */
	uint64_t tree_next;		/* ... and where control is awaited then */
	uint32_t tree_nodes, tree_cells;	/* contexts, and what they take */
	uint32_t tree_made, tree_signals, tree_landings, tree_mask, tree_overflow;
	uint32_t tree_depth, tree_most;		/* contexts deep; contexts */
	uint32_t tree_hashed;			/* contexts in RT_TREE_SLOTS */
	uint32_t tree_fresh, pad8;		/* the last one, if no slot has it yet */
	/* A call or a signal has led to tree_undo_pc, where nothing has executed: before that */
	uint64_t tree_undo_pc, tree_undo_to, tree_undo_frame, tree_undo_next;
	uint32_t tree_undo_end, tree_undo_calls;
	uint64_t tree_unknown;		/* pc of an instruction that the decoder does not know, and
					 * that is executed in place */
	uint32_t not_copied;		/* replayed, of log_home: 1: some of its memory is not what
					 * fork() copies */
	uint32_t awaited;		/* 1: vfork()'s parent waits until it executes another
					 * program; 2: ... and becomes its tracer then */
	/* Recorded, of a process that has another one's memory: enum rt_lost, the controller's;
	 * and 1 + the stream that goes on where it has executed a program. The block is kept until
	 * one of those who are there still has set `lost` to 0. */
	uint32_t lost, lost_stream;
	uint32_t ends_here;		/* ... 1: a fault ends it, where it stands */
	uint32_t executes;		/* replayed, of a process that begins: 1: nothing is
					 * executed in it but another program */
	/* Recorded, of log_home: the limit of the stack when the controller looked last, if that
	 * was another one than before; and as the log has it. 0: it never was. */
	uint64_t stack_limit, stack_logged;
	uint32_t files, pad9;		/* replayed: 1 + the number of a table of descriptors
					 * (from_log.c), of a process that has another one's memory,
					 * but not its files */
};
enum rt_turn { RT_TURN_OTHERS, RT_TURN_OWN, RT_TURN_LEAVE /* another program is executed */,
	       RT_TURN_LOST /* its process has been killed */ };
enum rt_lost { RT_LOST_NOT, RT_LOST_KILLED, RT_LOST_EXECUTES };

enum rt_segment_end {
	RT_SEGMENT_FOREIGN,	/* of System V: a process has made or attached it that is not
				 * recorded */
	RT_SEGMENT_LARGE,	/* ... it is larger than RT_BLOCK_SIZE */
	RT_SEGMENT_LARGE_FILE,	/* of POSIX: likewise */
	RT_SEGMENT_GROWN,	/* ... somebody has mapped it when it was much smaller */
};
/* ---- what is logged of a process that is recorded -----------------------------------------------
 * What the kernel has written to the program's memory (RT_E_DATA) comes before the call that has
 * done it (RT_E_CALL). So a log that ends anywhere between two events makes sense. */
enum rt_logged { RT_LOG_NONE, RT_LOG_RECORD, RT_LOG_REPLAY, RT_LOG_OVER /* no more is recorded */ };

/* Where a signal may be given to the program: it is again when that is replayed. */
enum rt_log_place { RT_PLACE_NONE, RT_PLACE_CALL, RT_PLACE_SAFEPOINT,
		    RT_PLACE_EXIT /* only of a token: its thread has ended */ };

enum rt_event_type {
	RT_E_CALL = 1,	/* system call `nr`; a: its result, of 32-bit programs that of 32 bits, a
			 * check of the registers before it, pc
			 * behind it, flags before it; of a file that was mapped 1 + its number,
			 * of a process that was made 1 + that of its stream, of shared memory
			 * that was attached or mapped RT_SEGMENT(), or 0; the clock */
	RT_E_DATA,	/* a[0] address, a[1] length; the bytes follow */
	RT_E_INSN,	/* instruction of enum rt_odd_insn `nr`; a: pc behind it; rax, rbx, rcx, rdx
			 * or the only result */
	RT_E_SIGNAL,	/* signal `nr`; a: pc that it interrupts; 0: beside a call, else the clock,
			 * how many safepoints the process has passed; flags; check of the
			 * registers. struct siginfo follows */
	RT_E_SWITCH,	/* another thread has the token; enum rt_log_place `nr`: where the one
			 * before stands, in a call that it is about to make or at a safepoint;
			 * a: its rt_block.thread_id, its clock or 0, the other one's thread_id,
			 * check of its registers, its pc */
	RT_E_CHECK,	/* a safepoint; a: 0, the clock, 0, check of the registers, pc */
	RT_E_GROUP,	/* processes that share memory have had their token, and now this one has;
			 * enum rt_log_place `nr`: where it stands, RT_PLACE_NONE: it begins; a:
			 * 0, the clock at a safepoint or 0, the token's number, check of the
			 * registers or 0, pc. Number 0: from here on others may have it */
	RT_E_GONE,	/* a page of a file that is mapped, but has become shorter; a: its address,
			 * 0. From the event before on, who uses it gets SIGBUS */
	RT_E_MEMORY,	/* a[0] address, 0, a[2] length; the bytes follow, which are there from the
			 * event before on: of a file that is mapped and shared */
	RT_E_LOST,	/* a process that has another one's memory has been killed, or executes a
			 * program; a: the rt_block.thread_id of one of its threads, 0, 1 + the
			 * stream that begins as a copy of what executed the program or 0, that
			 * one's pid */
	RT_E_STACK,	/* another process has changed the limit of the stack, not long before; a:
			 * bytes, or ~0; 0 */
	RT_E_LAST = RT_E_STACK,
};
struct rt_event {
	uint32_t size;			/* with what follows; a multiple of 8 */
	uint16_t type, nr;
	uint64_t a[6];
};
#define RT_DATA_MAX 0x8000		/* bytes of one RT_E_DATA */
#define RT_EVENT_MAX (sizeof(struct rt_event) + RT_DATA_MAX)

/* si_int of a SIGTRAP by which the controller says that signals have waited too long; and that a
 * thread in futex() is to take its turn, for locks have lost their owner. */
#define RT_LOG_GIVE_UP 0x70756721u
#define RT_LOG_TAKE_TURN 0x70756722u
#define RT_AT_SAFEPOINT 0xffffu		/* in place of a call's number, a[2] of RQ_LOG_END */

/* Instructions whose results no other run repeats. */
enum rt_odd_insn { RT_I_NONE, RT_I_RDTSC, RT_I_RDTSCP, RT_I_RDRAND, RT_I_RDSEED, RT_I_CPUID,
		   RT_I_XGETBV, RT_I_RDPID };
/* What the cursor register holds in translated code, see (7). */
enum rt_r11_use {
	RT_R11_PROGRAM,	/* the program's value */
	RT_R11_CURSOR,	/* the cursor */
	RT_R11_STEP,	/* the program's value, while one instruction is executed in place */
	RT_R11_BUDGET,	/* the budget, in a counting copy; the cursor is in rt_block.cursor */
	RT_R11_CLOCK,	/* of struct rt_session's `bare`: `until` */
	RT_R11_TREE,	/* tree_state */
};
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
	uint32_t bell_asleep;		/* how many consumers sleep on it */
	uint32_t beat;			/* changes ten times a second */
	uint32_t awaited;		/* somebody waits for who has been answered RT_TELL: that
					 * one rings */
	uint64_t chaos;			/* recorded threads take turns at random, by this seed; 0:
					 * after slices of time */
	uint32_t check;			/* recorded: RQ_CHECK around calls */
	uint32_t bare;			/* recorded, replayed: nothing is counted but safepoints */
	uint64_t checks;		/* recorded: an RT_E_CHECK after so many safepoints; 0:
					 * none */
	/* Of processes that share memory, see runtime/group_token.c: who has the token, a futex in
	 * its lower half, and how many wait for it. */
#define RT_GROUP_FREE 0x80000000u
	uint64_t group;
	uint32_t group_waiting;
	uint32_t nholder;		/* threads of these processes that hold robust locks; who
					 * has the token changes it */
	uint32_t kept[2];		/* replayed: see struct rt_boot */
	uint32_t constants;		/* code relies on constants of files: RQ_CHANGES */
	uint32_t no_vdso;		/* programs do not find the kernel's vDSO */
};

/* ---- what a trace buffer holds ------------------------------------------------------------------
 * Records, each at a multiple of 4. There are two kinds.
 *
 * A block's record begins with RT_RECORD(): the block's number, and how many words of 4 bytes
 * follow (RT_MANY_WORDS: so many or more). So a reader finds the next record without the block's
 * plan. That would take two dependent loads for each record.
 *
 * A note begins with RT_NOTE(type, length). The length is that of what follows: 64-bit arguments,
 * then perhaps text, padded with zeros to a multiple of 4.
 *
 * What lies behind the cursor means nothing. */
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
	RT_N_STATE = 1,	/* rsp, fs base, gs base: control comes from where no block leads */
	RT_N_CUT,	/* instructions, rsi, rdi: only so many of the block before have happened.
			 * Bit 32 of the first says which instruction rsi and rdi are about.
			 * Set: the next one. It has recorded its values. If it is rep-prefixed it
			 * may have gone part of its way, up to these pointers. A gather, a scatter
			 * or a load or store of a tile has still to do the elements or rows whose
			 * bits rsi has.
			 * Clear: the last one, which has not recorded its results. If it is
			 * rep-prefixed these are where its pointers ended */
	RT_N_SYSCALL,	/* number, 6 arguments */
	RT_N_SYSRET,	/* result; -512 (ERESTARTSYS): interrupted, will be restarted or has not
			 * begun; name: that the thread has given itself */
	RT_N_SIGNAL,	/* signal, interrupted pc, handler */
	RT_N_SIGRETURN,	/* resumed pc */
	RT_N_MMAP,	/* address, length, protection, file offset; name */
	RT_N_MUNMAP,	/* address, length */
	RT_N_PROCESS,	/* pid, parent; name */
	RT_N_EXEC,	/* pid; name */
	RT_N_THREAD,	/* tid */
	RT_N_EXIT,	/* status, enum pm_event_flag */
	RT_N_UNKNOWN,	/* pc, 16 bytes from there, 1: 32-bit code; an instruction that the decoder
			 * does not know is about to be executed */
	RT_N_COUNTED,	/* instructions executed without records since the record before */
	RT_N_SKIP,	/* nothing: its arguments mean nothing */
	RT_N_STEPPED,	/* pc behind an instruction that was executed in place: it did not fault */
};

/* The controller writes it into the runtime's data before the runtime first runs. */
#define RT_BOOT_RANGES 96
struct rt_boot {
	uint64_t entry;			/* original pc at which the program begins */
	uint64_t block;			/* number of the first thread's block */
	uint64_t code;			/* i386: where its region begins in the code file */
	uint64_t vdso;			/* address, 0: none */
	uint32_t persona;		/* bits of the personality that are not the program's own */
	uint32_t nrange;
	uint32_t exec_all;		/* i386: as in struct rt_block */
	uint32_t load;			/* 1: the runtime has to load the program (struct rt_load),
					 * 2: as it was recorded (struct rt_start); RQ_BEGIN brings
					 * entry, vdso and ranges */
	struct rt_range {		/* executable mappings */
		uint64_t lo, hi;
		uint32_t prot, shared;
	} range[RT_BOOT_RANGES];
	char code_path[64], data_path[64];
	uint32_t passed[4];		/* descriptors + 1 of these paths, to be closed; 0: none */
	uint32_t kept[2];		/* replayed: descriptors + 1 of the data file and the code
					 * file, which a process has that may open neither any
					 * more; 0: none */
};

_Static_assert(sizeof(struct rt_range) * RT_BOOT_RANGES <= sizeof(struct rt_cmd) * RT_MAX_CMDS,
	       "an answer to RQ_BEGIN holds them");

/* Where struct rt_sighand (rt.h), to which rt_block.sighand leads, has a signal's action, and which
 * signals the kernel has the runtime's handler for; of 64-bit processes. */
#define RT_SIGHAND_ACT		32u
#define RT_SIGHAND_OURS		(65 * RT_SIGHAND_ACT)

/* At RT_PLACES, RT32_PLACES: the windows of entry_*.S. */
struct rt_places {
	uint64_t leave, window_end, pass, pass_insn, pass_done;
};

/* Behind the runtime's image, if the kernel executed the controller's file instead of the program
 * (map_program.c). */
struct rt_load {
	char program[64], interpreter[64];	/* paths to open them by; the second may be "" */
	char name[4096];		/* AT_EXECFN */
	uint32_t fix_random, no_vdso;	/* from struct pm_run_opts */
};

/* Behind the runtime's image, if a recorded program is replayed: what it began with. */
#define RT_START_MAPS 512
struct rt_start {
	uint64_t sp, pc, rax, rdx, mask, ignored, brk;	/* signals: bit n - 1 */
	uint32_t controller;		/* its pid */
	uint32_t memory;		/* its descriptor of a file with contents of pages */
	uint32_t echo;			/* 1: what it writes to standard output and error is
					 * wanted */
	uint32_t several;		/* 1: there may be more processes: */
	uint32_t others;		/* ... of the recording */
	uint32_t nmap, npart;
	uint32_t exec_all;		/* i386: as in struct rt_block */
	uint32_t widths;		/* 1: there are programs of both widths */
	uint32_t confined;		/* 1: a program of the other width has executed it: the
					 * process has its filter */
	struct rt_start_map {
		uint64_t lo, hi, off;
		uint32_t prot;
		uint32_t flags;		/* enum rt_start_flag */
		uint32_t file;		/* 1 + the controller's descriptor; 0: none */
		uint32_t npart;		/* so many of the parts, in order, belong here */
	} map[RT_START_MAPS];
	struct rt_start_part {		/* @n bytes at @at come from @off of `memory` */
		uint64_t at, n, off;
	} part[4 * RT_START_MAPS];
};
/* What a replayed process leaves to the program of the other width that it executes. */
struct rt_handover {
	uint8_t output[256];		/* of a descriptor: 1, 2: it is that one's, or a copy */
	struct { uint32_t then, now; } child[256];	/* numbers of processes */
	uint32_t next_child;
};
#define RT_STACK_MOST (64ull << 30)	/* of a stack without limit is mapped when replaying */
enum rt_start_flag { RT_START_STACK = 1, RT_START_SHARED = 2 };

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
_Static_assert(__builtin_offsetof(struct rt_block, r11_use) == RT_R11_USE, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, s_r11) == RT_S_R11, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, out_r11) == RT_OUT_R11, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, budget) == RT_BUDGET, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, stay) == RT_STAY, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, logged) == RT_LOGGED, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, until) == RT_UNTIL, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, do_safepoint) == RT_DO_SAFEPOINT, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, tree_state) == RT_TREE_STATE, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, tree_event) == RT_TREE_EVENT, "asm offset");
_Static_assert(sizeof(struct rt_tree_node) == RT_TREE_CELL &&
	       sizeof(struct rt_frame_of_call) == 16 &&
	       __builtin_offsetof(struct rt_tree_node, via) == RT_TREE_VIA &&
	       __builtin_offsetof(struct rt_tree_node, slot) == RT_TREE_SLOT, "in translated code");
_Static_assert(__builtin_offsetof(struct rt_block, ctx) == RT_CTX, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, fix_mask) == RT_FIX_MASK, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, real_mask) == RT_REAL_MASK, "asm offset");
_Static_assert(__builtin_offsetof(struct rt_block, mail) == 0x2b8 &&
	       sizeof(struct rt_mail) == 0x980 && sizeof(struct rt_boot) == 0x9c8 &&
	       __builtin_offsetof(struct rt_block, not_copied) == 0x16d8 &&
	       sizeof(struct rt_start) == 0x11060 &&
	       sizeof(struct rt_event) == 56 && sizeof(struct rt_session) == 0x60 &&
	       __builtin_offsetof(struct rt_session, checks) == 0x38,
	       "laid out alike for both widths");
_Static_assert(RT32_TRACE + RT_CHUNKS * RT32_CHUNK_STRIDE <= RT32_BLOCK_SIZE, "in the block");
_Static_assert(sizeof(struct rt_block) < 0x10000, "below the runtime's stack");
_Static_assert(sizeof(struct rt_session) <= RT_HOLDERS, "in front of it");

#endif

#endif
