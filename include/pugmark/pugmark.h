/* SPDX-License-Identifier: MIT */
/* pugmark.h - events, facts, streams and sinks: the interface between what produces a trace and
 * what consumes it
 *
 * pugmark's own analyses use it, and so do plug-ins (`--sink ./mine.so`). A plug-in is a shared
 * object in C11 or C++17. It defines `pm_plugin` (at the end of this file). examples/ has two.
 *
 * A plug-in may call the functions that this file and err.h declare. The executable exports nothing
 * else. What a plug-in or its libraries define comes before what pugmark's libraries define, so it
 * may bring its own zstd or Zydis. Under another malloc() than libc's (LD_PRELOAD, sanitizers) it
 * must hide its own symbols for that (-Wl,-Bsymbolic).
 *
 * Units      addresses are bytes in the traced address space; sizes are bytes; times are
 *            nanoseconds since the trace began, with PM_HAS_CYCLES processor cycles.
 * Ownership  a batch is borrowed, and so is everything that it points to: both are valid until
 *            consume() returns. A stream and a code table are valid until finish() returns.
 * Errors     a callback returns PM_OK. If it fails, it fills the pm_err (err.h) and returns PM_ERR.
 *            It does not throw C++ exceptions.
 * Threads    no two threads call one sink object at the same time. A sink with PM_SINK_PER_STREAM
 *            has one object for each stream. These may run on different threads; merge() joins
 *            them at the end.
 * Stability  pugmark refuses a plug-in that was built with another PM_ABI. While PM_ABI stays,
 *            everything here keeps its meaning and its place. Structs may get new fields at their
 *            ends, and enums new values. A plug-in need not be rebuilt for these if it follows
 *            three rules:
 *            o Walk arrays with pm_event_next() and the pm_*_at() below. They know how far apart
 *              the elements are; [i] and ++ do not.
 *            o Skip events of kinds that you do not know.
 *            o To run with older pugmarks, too, ask PM_HAS_FIELD() before you read a field that
 *              they may not have. */
#ifndef PUGMARK_H
#define PUGMARK_H

#include <stddef.h>
#include <stdint.h>

#include "pugmark/err.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define PM_ABI		2
#define PM_NONE		UINT32_MAX	/* an id that is not there */

/* ---- facts: what a trace knows --------------------------------------------------------------
 * They are what `pugmark info` calls contents. A source offers facts, and a sink needs facts. The
 * pipeline compares the two once, before the first batch. */
enum pm_fact {
	PM_HAS_INSNS	= 1 << 0,	/* instructions: PM_EV_INSN, or blocks that expand to it */
	PM_HAS_BYTES	= 1 << 1,	/* the instructions' bytes (pm_insn.bytes) */
	PM_HAS_REFS	= 1 << 2,	/* data references with addresses */
	PM_HAS_SIZES	= 1 << 3,	/* ... and their sizes */
	PM_HAS_VALUES	= 1 << 4,	/* ... and the values transferred */
	PM_HAS_BRANCHES	= 1 << 5,	/* branch outcomes and targets */
	PM_HAS_REGS	= 1 << 6,	/* registers that an instruction or micro-op uses */
	PM_HAS_REGVALS	= 1 << 7,	/* register values */
	PM_HAS_UOPS	= 1 << 8,	/* micro-ops */
	PM_HAS_TIME	= 1 << 9,	/* timestamps */
	PM_HAS_CYCLES	= 1 << 10,	/* ... which are processor cycles, not nanoseconds */
	PM_HAS_SPACES	= 1 << 11,	/* address spaces told apart (pm_stream.space) */
	PM_HAS_PHYS	= 1 << 12,	/* addresses are physical */
	PM_HAS_LANES	= 1 << 13,	/* byte enables */
	PM_HAS_BUS	= 1 << 14,	/* bus transactions with their types */
	PM_HAS_KERNEL	= 1 << 15,	/* kernel events: schedule, fork, map... */
	PM_HAS_THREADS	= 1 << 16,	/* streams are threads of processes */
	PM_HAS_BLOCKS	= 1 << 17,	/* PM_EV_BLOCK with a code table */
	PM_HAS_REPS	= 1 << 18,	/* rep iterations and ends are marked */
	PM_HAS_LINES	= 1 << 19,	/* fetches are cache lines, not instructions */
	PM_HAS_OPCODES	= 1 << 20,	/* of branches pm_insn.bytes has the opcode, no more */
	PM_HAS_PAGES	= 1 << 21,	/* a reference's value is its canonical page: one number
					 * for a page of memory, wherever it is mapped */
	PM_HAS_OBJECTS	= 1 << 22	/* a reference is a request: its address is the number of
					 * an object, its value how many bytes that has */
};

/* ---- events --------------------------------------------------------------------------------- */
enum pm_kind {
	PM_EV_NONE = 0,
	/* addr = pc; size = bytes; id = index into pm_code.insn, or PM_NONE */
	PM_EV_INSN,
	/* addr = pc; id = index into pm_code.block; value = number of its instructions that
	 * executed: all, or fewer when a fault, signal or exit cut it. What its instructions do
	 * follows in program order: there id = which of its instructions, from 0 (PM_SLOT_OF). */
	PM_EV_BLOCK,
	/* data references. addr, size; value if PM_HAS_VALUES; id = instruction within the block
	 * after PM_EV_BLOCK, else the pc's index into pm_code.insn, or PM_NONE */
	PM_EV_READ, PM_EV_WRITE, PM_EV_MODIFY,	/* MODIFY: read, then write of the same bytes */
	/* outcome of a control transfer. addr = pc of the branch; value = where control went or,
	 * not taken, would have gone; flags: PM_BR_*; size = bytes of the instruction; id as for
	 * references */
	PM_EV_BRANCH,
	/* one iteration of a rep string instruction begins; addr = pc; id as for references */
	PM_EV_REP_ITER,
	PM_EV_REP_END,		/* it is over (also with zero iterations); value = iterations */
	PM_EV_UOP,		/* addr = pc; id = index into pm_batch.uop */
	PM_EV_LINE,		/* instruction cache line touched; addr, size = of the line */
	PM_EV_BUS,		/* addr, size; id = index into pm_batch.bus */
	/* id = register; value; size = bytes (16: they are in the arena at addr) */
	PM_EV_REG_READ, PM_EV_REG_WRITE,
	/* rare events; id = index into pm_batch.rare, which has code, arg and name; or PM_NONE */
	PM_EV_KERNEL,		/* pm_rare.code = enum pm_kernel, which says what its arguments are;
				 * value = how long the task has run, 0 unknown */
	PM_EV_INTERRUPT,	/* value = vector or exception code; addr = pc */
	PM_EV_DMA,		/* addr, size; flags: PM_REF_WRITE if memory is written */
	PM_EV_DEVICE,		/* device register access: addr, size, value; flags as DMA */
	PM_EV_SYSCALL,		/* value = number; arg[0..5] */
	PM_EV_SYSRET,		/* value = result; name = what a thread calls itself from now on */
	PM_EV_SIGNAL,		/* value = signal; addr = interrupted pc; arg[0] = handler */
	PM_EV_SIGRETURN,	/* addr = pc that is resumed */
	PM_EV_PROCESS,		/* process began: value = pid; arg[0] = parent, name = program */
	PM_EV_EXEC,		/* value = pid, name = program */
	PM_EV_THREAD,		/* thread began: value = tid */
	PM_EV_EXIT,		/* thread (or process: PM_EXIT_PROCESS) ended: value = status */
	PM_EV_MMAP,		/* addr, value = length; arg[0] prot, arg[1] offset, name = file */
	PM_EV_MUNMAP,		/* addr, value = length */
	PM_EV_SWITCH,		/* address space changes: value = new space */
	PM_EV_TIME,		/* value = time; addr = wall-clock when known */
	PM_EV_MARKER,		/* name = what a format or a user wanted to say */
	PM_EV_LOST,		/* value = events known to be missing here */
	PM_EV_OPAQUE,		/* bytes that only one format understands: addr = arena offset,
				 * size (65535: value is the size, if it is larger); kept by
				 * conversion from a format to itself */
	PM_EV_FRAME,		/* in the address space that runs, the page at addr is in the frame
				 * with the number value from now on; size = bytes of the page.
				 * Said again at will */
	PM_EV_COUNT		/* of this header's pugmark; there may be more later */
};

enum pm_event_flag {
	PM_BR_TAKEN	= 1 << 0,
	PM_BR_COND	= 1 << 1,
	PM_BR_INDIRECT	= 1 << 2,
	PM_BR_CALL	= 1 << 3,
	PM_BR_RET	= 1 << 4,	/* ends a call; not the return of an interrupt */

	PM_REF_WRITE	= 1 << 0,	/* DMA, device: memory or register is written */
	PM_REF_FILL	= 1 << 0,	/* read, write, line: a whole line between a cache and
					 * memory, filled or written back */
	PM_REF_STACK	= 1 << 1,	/* push, pop, call, ret: implicit stack operand */
	PM_REF_REP	= 1 << 2,	/* belongs to a rep string instruction */
	PM_REF_PREFETCH	= 1 << 3,
	PM_REF_UNCACHED	= 1 << 4,
	PM_REF_COPYBACK	= 1 << 5,	/* no access: the cache line is written back */
	PM_REF_INVAL	= 1 << 6,	/* no access: the cache line becomes invalid */
	PM_REF_ALL	= 1 << 7,	/* with these: all lines; size 0 */

	PM_BUS_LOCKED	= 1 << 0,	/* bus: of a locked instruction */

	PM_EXIT_PROCESS	= 1 << 0,
	PM_EXIT_SIGNAL	= 1 << 1	/* value is the signal */
};

struct pm_event {
	uint8_t kind;			/* enum pm_kind */
	uint8_t flags;			/* enum pm_event_flag, by kind */
	uint16_t size;			/* bytes */
	uint32_t id;			/* by kind; PM_NONE if there is none */
	uint64_t addr;
	uint64_t value;
};
#define PM_SLOT_OF(ev)	((ev)->id)	/* after PM_EV_BLOCK: which instruction of it, or PM_NONE */

enum pm_uop_flag_use { PM_UOP_NO_FLAGS, PM_UOP_READS_FLAGS, PM_UOP_WRITES_FLAGS };
enum pm_uop_outcome { PM_UOP_NO_BRANCH, PM_UOP_TAKEN, PM_UOP_NOT_TAKEN };
enum pm_uop_access { PM_UOP_NO_ACCESS, PM_UOP_LOAD, PM_UOP_STORE };

struct pm_uop {
	uint64_t pc;			/* of its instruction */
	int64_t imm;			/* immediate operand; 0: none */
	uint64_t mem;			/* address of the memory access; 0: none */
	uint64_t fall;			/* pc of the next instruction in memory */
	uint64_t target;		/* of a branch, taken or not; 0: none */
	int16_t src1, src2, dest;	/* -1 or register 0..255 */
	uint8_t flag_use;		/* enum pm_uop_flag_use: of the arithmetic flags */
	uint8_t outcome;		/* enum pm_uop_outcome */
	uint8_t access;			/* enum pm_uop_access */
	uint8_t msize;			/* bytes of the memory access; 0 if unknown */
	int32_t index;			/* within its instruction, from 1 */
	char macro[12], micro[23];	/* names of instruction and micro-op, terminated */
};

enum pm_bus_type {
	PM_BUS_FETCH, PM_BUS_READ, PM_BUS_WRITE, PM_BUS_WRITEBACK, PM_BUS_READ_INVAL,
	PM_BUS_IO_READ, PM_BUS_IO_WRITE, PM_BUS_INTACK, PM_BUS_SPECIAL, PM_BUS_INVALID
};

struct pm_bus {
	uint64_t time;			/* bus clocks since the previous one; UINT64_MAX unknown */
	uint8_t type;			/* enum pm_bus_type */
	uint8_t lanes;			/* active-low byte enables, 0 = all eight */
	uint8_t attr, agent;		/* memory type; bus agent */
	uint8_t raw[4];			/* the format's own control bytes, for exact round trips */
	uint64_t data;
};

/* What the kernel did (pm_rare.code of PM_EV_KERNEL), and pm_rare.arg[]. A file is three numbers:
 * inode, major and minor device. Other codes are events of which pugmark knows nothing but the
 * arguments. */
enum pm_kernel {
	PM_KERNEL_SCHEDULE	= 83,	/* pid, which runs from now on */
	PM_KERNEL_FORK		= 70,	/* pid, parent */
	PM_KERNEL_EXEC		= 88,	/* pid, file; name */
	PM_KERNEL_CONTEXT	= 65,	/* pid, its address space */
	PM_KERNEL_COPY_RANGE	= 68,	/* address space, new one, first address, end */
	PM_KERNEL_MAP_FILE	= 77,	/* pid, address, bytes, file, offset in pages; name */
	PM_KERNEL_MAP		= 109,	/* pid, address, bytes: of nothing but zeros */
	PM_KERNEL_MAP_SHARED	= 115,	/* pid, address, bytes, number of the shared memory */
	PM_KERNEL_MOVE		= 64,	/* pid, address, bytes, old address, old bytes */
	PM_KERNEL_UNMAP		= 85,	/* pid, address, bytes */
	PM_KERNEL_UNMAP_ALL	= 117,	/* address space */
	PM_KERNEL_COPY_ON_WRITE	= 67,	/* pid, address: the page has become the process's own */
	PM_KERNEL_OPEN		= 40,	/* pid, file, size; name */
	PM_KERNEL_CLOSE		= 41,	/* pid, file */
	PM_KERNEL_READ		= 60,	/* pid, file, offset, bytes */
	PM_KERNEL_WRITE		= 62,	/* pid, file, offset, bytes */
	PM_KERNEL_DELETE	= 45,	/* file */
	PM_KERNEL_TRUNCATE	= 116,	/* file, offset: its bytes from there on are gone */
	PM_KERNEL_CORE		= 99	/* core, from 0: the stream runs there from now on */
};

struct pm_rare {
	uint32_t code;			/* by kind; 0 where none is said above */
	uint32_t nargs;
	uint64_t arg[8];
	const char *name;		/* NULL or terminated, in the batch's arena */
};

/* ---- static code: what a block number stands for -------------------------------------------- */
enum pm_insn_class {
	PM_CLASS_NONE, PM_CLASS_JUMP, PM_CLASS_COND, PM_CLASS_CALL, PM_CLASS_RET,
	PM_CLASS_JUMP_IND, PM_CLASS_CALL_IND, PM_CLASS_SYSCALL
};
/* PM_ISA_MIPS: its bytes are little-endian words; PM_ISA_MIPS_BE: big-endian ones. */
enum pm_isa {
	PM_ISA_X86_64, PM_ISA_X86_32, PM_ISA_MIPS, PM_ISA_NONE, PM_ISA_RISCV, PM_ISA_MIPS_BE
};

struct pm_insn {
	uint64_t pc;
	uint8_t bytes[15];
	uint8_t len;
	uint8_t flow;			/* enum pm_insn_class: what it does to control flow */
	uint8_t nref;			/* data references per execution (per iteration for rep) */
	uint8_t rep;			/* 1: a rep-prefixed string instruction */
	uint8_t isa;			/* enum pm_isa */
	uint32_t object;		/* index into pm_code.object, PM_NONE for anonymous code */
};

struct pm_block {
	uint64_t pc;
	uint32_t insn, n;		/* first instruction, in pm_code.insn; how many it has */
};

struct pm_object {
	const char *path;
	const char *build_id;		/* hex, or NULL */
	uint64_t base;			/* load bias: address in memory - address in the ELF file */
	uint64_t lo, hi;		/* mapped text */
};

/* The code table: what ran so far. It grows while a trace runs. Indices stay valid; pointers may
 * move, so look them up again in each batch. */
struct pm_code {
	const struct pm_insn *insn;
	const struct pm_block *block;
	const struct pm_object *object;
	size_t ninsn, nblock, nobject;
	uint32_t epoch;			/* if it differs from the batch before, the table has begun
					 * anew, and older indices mean nothing. That keeps it
					 * small. Only sinks with PM_SINK_EPOCHS see it happen */
};

/* ---- streams and batches -------------------------------------------------------------------- */
struct pm_stream {
	uint32_t index;			/* 0.. in order of appearance */
	uint32_t pid, tid;		/* 0 unknown */
	uint64_t space;			/* address space; 0 unknown */
	const char *name;		/* NULL or e.g. the thread's program */
};

/* Bytes of each struct in the pugmark that runs. Elements of arrays are so far apart. */
struct pm_sizes {
	uint32_t sizes;			/* struct pm_sizes itself */
	uint32_t batch, stream, code;
	uint32_t event, uop, bus, rare;
	uint32_t insn, block, object;
};

struct pm_batch {
	const struct pm_sizes *sizes;	/* never NULL for plug-ins; NULL inside pugmark */
	const struct pm_stream *stream;
	const struct pm_code *code;	/* NULL unless PM_HAS_BLOCKS or PM_HAS_BYTES */
	const struct pm_event *ev;
	size_t n;
	const struct pm_uop *uop;	/* indexed by PM_EV_UOP's id */
	const struct pm_bus *bus;
	const struct pm_rare *rare;
	const uint8_t *arena;		/* bytes that events refer to by offset */
	size_t nuop, nbus, nrare, narena;
	uint64_t first_insn;		/* instructions of this stream before the batch */
};

/* Does a struct of @bytes have @field? PM_HAS_FIELD(b->sizes->event, struct pm_event, value) */
#define PM_HAS_FIELD(bytes, type, field) \
	((bytes) >= offsetof(type, field) + sizeof(((type *)0)->field))

/* Event @i of the batch. @i must be less than b->n. */
static inline const struct pm_event *pm_event_at(const struct pm_batch *b, size_t i)
{
	return (const struct pm_event *)((const char *)b->ev + i * b->sizes->event);
}

/* The event behind @ev. Behind the last event it is the end of the array, which may be compared but
 * not read. */
static inline const struct pm_event *pm_event_next(const struct pm_batch *b,
						   const struct pm_event *ev)
{
	return (const struct pm_event *)((const char *)ev + b->sizes->event);
}

/* Element @i of an array of @n elements that are @bytes apart; NULL if @i is not less than @n. */
static inline const void *pm_element(const void *array, size_t n, uint32_t i, uint32_t bytes)
{
	return i < n ? (const char *)array + (size_t)i * bytes : NULL;
}

/* What the id @id of an event stands for. NULL if the batch has no such element; @id may be
 * PM_NONE. Borrowed until consume() returns. */
static inline const struct pm_uop *pm_uop_at(const struct pm_batch *b, uint32_t id)
{
	return (const struct pm_uop *)pm_element(b->uop, b->nuop, id, b->sizes->uop);
}

static inline const struct pm_bus *pm_bus_at(const struct pm_batch *b, uint32_t id)
{
	return (const struct pm_bus *)pm_element(b->bus, b->nbus, id, b->sizes->bus);
}

static inline const struct pm_rare *pm_rare_at(const struct pm_batch *b, uint32_t id)
{
	return (const struct pm_rare *)pm_element(b->rare, b->nrare, id, b->sizes->rare);
}

static inline const struct pm_insn *pm_insn_at(const struct pm_batch *b, uint32_t id)
{
	const struct pm_code *c = b->code;

	return (const struct pm_insn *)pm_element(c ? c->insn : NULL, c ? c->ninsn : 0, id,
						  b->sizes->insn);
}

static inline const struct pm_block *pm_block_at(const struct pm_batch *b, uint32_t id)
{
	const struct pm_code *c = b->code;

	return (const struct pm_block *)pm_element(c ? c->block : NULL, c ? c->nblock : 0, id,
						   b->sizes->block);
}

static inline const struct pm_object *pm_object_at(const struct pm_batch *b, uint32_t id)
{
	const struct pm_code *c = b->code;

	return (const struct pm_object *)pm_element(c ? c->object : NULL, c ? c->nobject : 0, id,
						    b->sizes->object);
}

/* ---- results: a tree of named values, rendered by pugmark as table, JSON, CSV or HTML --------
 * finish() gets a pm_result that is open, and adds values to it. @name is the value's name in the
 * object that is open; it is NULL in a list. @unit is what is counted ("misses"); NULL: a bare
 * number. Strings are copied. None of these fails. One thread at a time uses a pm_result. */
struct pm_result;
/* Open an object, or a list, inside the one that is open. pm_result_end() closes it: call it
 * exactly once for each. */
void pm_result_begin(struct pm_result *r, const char *name);
void pm_result_begin_list(struct pm_result *r, const char *name);
void pm_result_end(struct pm_result *r);
void pm_result_u64(struct pm_result *r, const char *name, uint64_t v, const char *unit);
void pm_result_f64(struct pm_result *r, const char *name, double v, const char *unit);
void pm_result_str(struct pm_result *r, const char *name, const char *v);
/* A number that is shown in hexadecimal; in JSON it is a string, "0x...". */
void pm_result_hex(struct pm_result *r, const char *name, uint64_t v);
void pm_result_null(struct pm_result *r, const char *name);
void pm_result_bool(struct pm_result *r, const char *name, int v);

/* ---- sinks ---------------------------------------------------------------------------------- */
enum pm_sink_flag {
	/* The sink takes PM_EV_BLOCK. Without this flag it gets the instructions, references and
	 * branches of each block instead, in program order: some 3.5 times as many events. */
	PM_SINK_BLOCKS		= 1 << 0,
	PM_SINK_PER_STREAM	= 1 << 1,	/* one instance per stream; merge() joins them */
	PM_SINK_WHOLE		= 1 << 2,	/* finish() only if the trace was read to its end */
	PM_SINK_LIGHT		= 1 << 3,	/* consume() costs less than handing the batch to
						 * a thread */
	PM_SINK_EPOCHS		= 1 << 4,	/* code tables may begin anew: pm_code.epoch */
	PM_SINK_REFS		= 1 << 5	/* needs one of PM_HAS_INSNS, PM_HAS_LINES and
						 * PM_HAS_REFS */
};

struct pm_sink_ops {
	uint32_t abi;			/* PM_ABI */
	uint32_t size;			/* sizeof(struct pm_sink_ops); 0 inside pugmark */
	uint32_t needs;			/* enum pm_fact: all of these */
	uint32_t flags;			/* enum pm_sink_flag */
	const char *name;		/* what users type */
	const char *about;		/* one line */
	/* Make a sink object. @config is what the user wrote behind the name (`l1d=32k,...`), or
	 * ""; it is borrowed. NULL on error, with @err filled. */
	void *(*create)(const char *config, struct pm_err *err);
	/* Process one batch. Batches of a stream come in order. After PM_ERR no more come. */
	enum pm_status (*consume)(void *self, const struct pm_batch *b, struct pm_err *err);
	/* Add the counts of @other to @self; @other is destroyed afterwards. Sinks without
	 * PM_SINK_PER_STREAM leave it NULL. */
	void (*merge)(void *self, const void *other);
	/* The trace is over: flush, and add results to @r. @r is NULL if no results are needed. The
	 * callback may be NULL. */
	enum pm_status (*finish)(void *self, struct pm_result *r, struct pm_err *err);
	/* Free the object; nothing is called on it afterwards. @self may be NULL, and so may the
	 * callback. */
	void (*destroy)(void *self);
};

/* A plug-in defines this symbol. It must set abi, size, name, create() and consume(). pugmark reads
 * it once, when it loads the plug-in. Plug-ins stay loaded until the process ends. */
extern const struct pm_sink_ops pm_plugin;

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
