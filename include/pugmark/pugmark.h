/* SPDX-License-Identifier: MIT */
/* pugmark.h - events, facts, streams, sinks: the one interface between whatever produces a trace
 * and whatever consumes it, inside pugmark and for users' own tools (`--sink ./mine.so`)
 *
 * Units      addresses: bytes in the traced address space; sizes: bytes; times: nanoseconds since
 *            the trace began unless a source declares cycles (PM_HAS_CYCLES).
 * Ownership  a batch and everything it points to is borrowed: it is valid until consume() returns.
 *            A stream and a code table live until finish().
 * Errors     a callback returns PM_OK, or PM_ERR after it has filled the pm_err.
 * Threads    one sink object is never called by two threads at a time. A sink that sets
 *            PM_SINK_PER_STREAM is instantiated once per stream and merged at the end, and its
 *            instances may run on different threads.
 * Stability  PM_ABI is checked when a plug-in is loaded; fields are only ever added at the end. */
#ifndef PUGMARK_H
#define PUGMARK_H

#include <stddef.h>
#include <stdint.h>

#include "pugmark/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PM_ABI		1
#define PM_NONE		UINT32_MAX	/* an id that is not there */

/* ---- facts: what a trace knows --------------------------------------------------------------
 * A source offers facts, a sink needs facts; the pipeline compares once, at the start. */
enum pm_fact {
	PM_HAS_INSNS	= 1u << 0,	/* instruction boundaries: PM_EV_INSN, or blocks that expand to it */
	PM_HAS_BYTES	= 1u << 1,	/* the instructions' bytes (pm_insn.bytes) */
	PM_HAS_REFS	= 1u << 2,	/* data references with addresses */
	PM_HAS_SIZES	= 1u << 3,	/* ... and their sizes */
	PM_HAS_VALUES	= 1u << 4,	/* ... and the values transferred */
	PM_HAS_BRANCHES	= 1u << 5,	/* branch outcomes and targets */
	PM_HAS_REGS	= 1u << 6,	/* which registers an instruction or micro-op reads and writes */
	PM_HAS_REGVALS	= 1u << 7,	/* register values */
	PM_HAS_UOPS	= 1u << 8,	/* micro-ops */
	PM_HAS_TIME	= 1u << 9,	/* timestamps */
	PM_HAS_CYCLES	= 1u << 10,	/* ... which are processor cycles, not nanoseconds */
	PM_HAS_SPACES	= 1u << 11,	/* address spaces told apart (pm_stream.space) */
	PM_HAS_PHYS	= 1u << 12,	/* addresses are physical */
	PM_HAS_LANES	= 1u << 13,	/* byte enables */
	PM_HAS_BUS	= 1u << 14,	/* bus transactions with their types */
	PM_HAS_KERNEL	= 1u << 15,	/* kernel events: schedule, fork, map... */
	PM_HAS_THREADS	= 1u << 16,	/* streams are threads of processes */
	PM_HAS_BLOCKS	= 1u << 17,	/* PM_EV_BLOCK with a code table */
	PM_HAS_REPS	= 1u << 18,	/* rep iterations and ends are marked */
	PM_HAS_LINES	= 1u << 19,	/* fetches are cache lines, not instructions (IDtrace -c) */
	PM_HAS_OPCODES	= 1u << 20,	/* of branches: pm_insn.bytes start with the opcode, rest unknown */
	PM_HAS_PAGES	= 1u << 21,	/* a reference's value is its canonical page (Laplace merges) */
};

/* ---- events --------------------------------------------------------------------------------- */
enum pm_kind {
	PM_EV_NONE = 0,
	/* addr = pc; size = bytes; id = pm_code.insn index or PM_NONE */
	PM_EV_INSN,
	/* addr = pc; id = pm_code.block index; value = number of its instructions that executed:
	 * all of them, or fewer when a fault, signal or exit cut it. References of the block follow
	 * in program order, each with `slot` = instruction index within the block. */
	PM_EV_BLOCK,
	/* data references. addr, size; value if PM_HAS_VALUES; id = PM_NONE or the pc's insn index;
	 * slot = instruction within the block after PM_EV_BLOCK, else 0 */
	PM_EV_READ, PM_EV_WRITE, PM_EV_MODIFY,	/* MODIFY: read, then write of the same bytes */
	/* outcome of a control transfer. addr = pc of the branch; value = where control went or, not
	 * taken, would have gone; flags: PM_BR_*; size = bytes of the instruction */
	PM_EV_BRANCH,
	/* id as for references: the instruction within the block, or the pc's insn index */
	PM_EV_REP_ITER,		/* one iteration of a rep string instruction begins; addr = pc */
	PM_EV_REP_END,		/* it is over (also with zero iterations); value = iterations */
	PM_EV_UOP,		/* addr = pc; id = index into pm_batch.uop */
	PM_EV_LINE,		/* instruction cache line touched; addr = line address, size = line size */
	PM_EV_BUS,		/* addr, size; id = index into pm_batch.bus */
	PM_EV_REG_READ, PM_EV_REG_WRITE,	/* id = register; value; size = bytes (16: arena at addr) */
	/* rare events; `id` = index into pm_batch.rare (a pm_rare) unless said otherwise */
	PM_EV_KERNEL,		/* kernel event: pm_rare.code = the tag character of the Laplace list */
	PM_EV_INTERRUPT,	/* value = vector or exception code; addr = pc */
	PM_EV_DMA,		/* addr, size; flags: PM_REF_WRITE if memory is written */
	PM_EV_DEVICE,		/* device register access: addr, size, value; flags as DMA */
	PM_EV_SYSCALL,		/* value = number; pm_rare.arg[0..5] */
	PM_EV_SYSRET,		/* value = result */
	PM_EV_SIGNAL,		/* value = signal; addr = interrupted pc; pm_rare.arg[0] = handler */
	PM_EV_SIGRETURN,	/* addr = pc that is resumed */
	PM_EV_PROCESS,		/* process began: value = pid; pm_rare: arg[0] parent, name = program */
	PM_EV_EXEC,		/* value = pid, name = program */
	PM_EV_THREAD,		/* thread began: value = tid */
	PM_EV_EXIT,		/* thread (or, flags & PM_EXIT_PROCESS, process) ended: value = status */
	PM_EV_MMAP,		/* addr, value = length; pm_rare: arg[0] prot, arg[1] offset, name = file */
	PM_EV_MUNMAP,		/* addr, value = length */
	PM_EV_SWITCH,		/* address space changes: value = new space */
	PM_EV_TIME,		/* value = time; addr = wall-clock when known */
	PM_EV_MARKER,		/* name = what a format or a user wanted to say */
	PM_EV_LOST,		/* value = events known to be missing here */
	PM_EV_OPAQUE,		/* bytes of a format that only the same format understands: addr = arena
				 * offset, size (65535: value is the size, if it is larger); kept by
				 * conversion from a format to itself */
	PM_EV_COUNT
};

enum pm_event_flag {
	PM_BR_TAKEN	= 1 << 0,
	PM_BR_COND	= 1 << 1,
	PM_BR_INDIRECT	= 1 << 2,
	PM_BR_CALL	= 1 << 3,
	PM_BR_RET	= 1 << 4,

	PM_REF_WRITE	= 1 << 0,	/* DMA, device: memory or register is written */
	PM_REF_STACK	= 1 << 1,	/* push, pop, call, ret: implicit stack operand */
	PM_REF_REP	= 1 << 2,	/* belongs to a rep string instruction */
	PM_REF_PREFETCH	= 1 << 3,
	PM_REF_UNCACHED	= 1 << 4,
	PM_REF_COPYBACK	= 1 << 5,	/* din 4; size 0 with PM_REF_ALL: the whole cache */
	PM_REF_INVAL	= 1 << 6,	/* din 5 */
	PM_REF_ALL	= 1 << 7,

	PM_EXIT_PROCESS	= 1 << 0,
	PM_EXIT_SIGNAL	= 1 << 1,	/* value is the signal */
};

struct pm_event {
	uint8_t kind;			/* enum pm_kind */
	uint8_t flags;			/* enum pm_event_flag, by kind */
	uint16_t size;			/* bytes */
	uint32_t id;			/* by kind; PM_NONE if there is none */
	uint64_t addr;
	uint64_t value;
};
#define PM_SLOT_OF(ev)	((ev)->id)	/* references inside a block: instruction index in the block */

/* One micro-op with the fields that Penn traces give it. */
struct pm_uop {
	uint64_t pc;
	int64_t imm;
	uint64_t mem, fall, target;
	int16_t src1, src2, dest;	/* -1 or register 0..255 */
	char flags, branch, ldst;	/* R W -, T N -, L S - */
	uint8_t msize;			/* bytes of the memory access; 0 if unknown */
	int32_t index;			/* 1 starts a macro-op */
	char macro[12], micro[23];	/* terminated */
};

struct pm_bus {
	uint64_t time;			/* bus clocks since the previous transaction; UINT64_MAX unknown */
	uint8_t type;			/* enum pm_bus_type */
	uint8_t lanes;			/* active-low byte enables, 0 = all eight */
	uint8_t attr, agent;		/* memory type; bus agent */
	uint8_t raw[4];			/* the format's own control bytes, for exact round trips */
	uint64_t data;
};
enum pm_bus_type {
	PM_BUS_FETCH, PM_BUS_READ, PM_BUS_WRITE, PM_BUS_WRITEBACK, PM_BUS_READ_INVAL,
	PM_BUS_IO_READ, PM_BUS_IO_WRITE, PM_BUS_INTACK, PM_BUS_SPECIAL, PM_BUS_INVALID,
};

struct pm_rare {
	uint32_t code;
	uint32_t nargs;
	uint64_t arg[8];
	const char *name;		/* NULL or terminated, in the batch's arena */
};

/* ---- static code: what a block number stands for -------------------------------------------- */
enum pm_insn_class {
	PM_CLASS_NONE, PM_CLASS_JUMP, PM_CLASS_COND, PM_CLASS_CALL, PM_CLASS_RET,
	PM_CLASS_JUMP_IND, PM_CLASS_CALL_IND, PM_CLASS_SYSCALL,
};

struct pm_insn {
	uint64_t pc;
	uint8_t bytes[15];
	uint8_t len;
	uint8_t class;			/* enum pm_insn_class: what it does to control flow */
	uint8_t nref;			/* data references per execution (per iteration for rep) */
	uint8_t rep;			/* 1: a rep-prefixed string instruction */
	uint8_t isa;			/* enum pm_isa */
	uint32_t object;		/* index into pm_code.object, PM_NONE for anonymous code */
};
enum pm_isa { PM_ISA_X86_64, PM_ISA_X86_32, PM_ISA_MIPS, PM_ISA_NONE, PM_ISA_RISCV };

struct pm_block {
	uint64_t pc;
	uint32_t insn, n;		/* code->insn[insn .. insn + n) */
};

struct pm_object {
	const char *path;
	const char *build_id;		/* hex, or NULL */
	uint64_t base;			/* load bias: address in memory - address in the ELF file */
	uint64_t lo, hi;		/* mapped text */
};

struct pm_code {			/* grows while a trace runs: indices stay, pointers may move */
	const struct pm_insn *insn;
	const struct pm_block *block;
	const struct pm_object *object;
	size_t ninsn, nblock, nobject;
	uint32_t epoch;			/* with another batch another number: the table has begun anew, so that
					 * it stays small; only for sinks that say PM_SINK_EPOCHS */
};

/* ---- streams and batches -------------------------------------------------------------------- */
struct pm_stream {
	uint32_t index;			/* 0.. in order of appearance */
	uint32_t pid, tid;		/* 0 unknown */
	uint64_t space;			/* address space; 0 unknown */
	const char *name;		/* NULL or e.g. the thread's program */
};

struct pm_packed;
struct pm_recent;
struct pm_batch {
	const struct pm_stream *stream;
	const struct pm_code *code;	/* NULL unless PM_HAS_BLOCKS or PM_HAS_BYTES */
	const struct pm_event *ev;
	size_t n;
	const struct pm_uop *uop;	/* indexed by PM_EV_UOP.id */
	const struct pm_bus *bus;
	const struct pm_rare *rare;
	const uint8_t *arena;		/* bytes that events refer to by offset */
	size_t nuop, nbus, nrare, narena;
	uint64_t first_insn;		/* instructions of this stream before the batch */
	const struct pm_packed *packed;	/* pugmark's own sinks: see trace/chain.h. NULL: events are all there is */
};

/* ---- results: a tree of named values, rendered by pugmark as table, JSON, CSV or HTML -------- */
struct pm_result;
/* Open an object (or list element, if @name is NULL) inside the current one; close it again. */
void pm_result_begin(struct pm_result *r, const char *name);
void pm_result_begin_list(struct pm_result *r, const char *name);
void pm_result_end(struct pm_result *r);
void pm_result_u64(struct pm_result *r, const char *name, uint64_t v, const char *unit);
void pm_result_f64(struct pm_result *r, const char *name, double v, const char *unit);
void pm_result_str(struct pm_result *r, const char *name, const char *v);
void pm_result_hex(struct pm_result *r, const char *name, uint64_t v);	/* "0x..." in JSON */
void pm_result_null(struct pm_result *r, const char *name);
void pm_result_bool(struct pm_result *r, const char *name, int v);

/* ---- sinks ---------------------------------------------------------------------------------- */
enum pm_sink_flag {
	PM_SINK_BLOCKS		= 1 << 0,	/* takes PM_EV_BLOCK as it is; without this flag blocks
						 * reach the sink expanded to instructions, references and
						 * branches in program order */
	PM_SINK_PER_STREAM	= 1 << 1,	/* one instance per stream; merge() joins them */
	PM_SINK_WHOLE		= 1 << 2,	/* finish() only if the trace was read to its end */
	PM_SINK_LIGHT		= 1 << 3,	/* consume() costs less than handing the batch to a thread */
	PM_SINK_CHAINS		= 1 << 4,	/* takes pm_batch.packed; only with PM_SINK_BLOCKS */
	PM_SINK_EPOCHS		= 1 << 5,	/* code tables may begin anew: pm_code.epoch */
	PM_SINK_LIGHT_CHAINS	= 1 << 6,	/* of packed batches, consume() is as PM_SINK_LIGHT says */
	PM_SINK_REFS		= 1 << 7,	/* needs PM_HAS_INSNS, PM_HAS_LINES or PM_HAS_REFS: one is enough */
};

struct pm_sink_ops {
	uint32_t abi;			/* PM_ABI */
	uint32_t needs;			/* enum pm_fact: all of these */
	uint32_t flags;			/* enum pm_sink_flag */
	const char *name;		/* what users type */
	const char *about;		/* one line */
	/* @config: what stands behind the name (`l1d=32k,...`), "" if nothing. NULL on error. */
	void *(*create)(const char *config, struct pm_err *err);
	enum pm_status (*consume)(void *self, const struct pm_batch *b, struct pm_err *err);
	/* Add @other's counts to @self; only with PM_SINK_PER_STREAM. */
	void (*merge)(void *self, const void *other);
	/* The trace is over: flush, and put results into @r (NULL: nobody asked). */
	enum pm_status (*finish)(void *self, struct pm_result *r, struct pm_err *err);
	void (*destroy)(void *self);	/* NULL is fine as argument */
	/* Only with PM_SINK_CHAINS: of data references, which it can do without; see trace/chain.h. */
	void (*recent)(const void *self, struct pm_recent *r);
};

/* A plug-in defines this symbol. */
extern const struct pm_sink_ops pm_plugin;

#ifdef __cplusplus
}
#endif
#endif
