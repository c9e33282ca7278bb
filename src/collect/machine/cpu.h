/* SPDX-License-Identifier: MIT */
/* cpu.h - the R4400: registers, TLB, functional caches, exceptions, and the interpreter that runs
 * it
 *
 * The processor knows nothing of the board: memory and devices are behind struct cpu_bus, so that
 * the machine (board.c) and CITCAT's replay run the very same code.
 *
 * Units      time is counted in retired instructions, with each exception counting as one more
 *            (`ticks`); Count advances every second tick.
 * Ownership  cpu_new()/cpu_free(). The bus and its context are borrowed.
 * Threads    one thread per processor.
 *
 * INVARIANTS - how the fast path stays exact
 * (1) dtag[i].r equals a tagged address only if the data cache line at index i holds that address,
 *     the current mode may read it, and no watchpoint is on it; dtag[i].w only if it may also be
 *     written and the line is dirty already. One compare replaces TLB, protection and cache tags.
 * (2) iline[i].tag likewise for instruction fetches; iline[i].op[] are the line's words, decoded.
 *     They are kept in a table by physical address and compared with the words that a fill brings,
 *     so what comes back into the cache need not be decoded again. A table entry serves one line.
 * (3) A tag is the virtual line address XORed with `salt`, which differs for every mode and
 *     address-space switch: what was allowed before a switch never matches after it.
 * (4) Whatever removes a right or a line clears its tags: TLB writes, fills, CACHE, watchpoints.
 * (5) Execution stops at exactly `left` ticks, whatever the decoded lines are: near the end, and
 *     where something is unusual, instructions run one at a time through the same handlers.
 *     So neither snapshots nor monitors nor the trace variant can change what happens. */
#ifndef PM_MACHINE_CPU_H
#define PM_MACHINE_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isa/mips/mips.h"
#include "pugmark/pugmark.h"

#define CPU_TLB		48
#define CPU_L1_SIZE	16384u
#define CPU_GRAIN	16u				/* smallest line */
#define CPU_GRAINS	(CPU_L1_SIZE / CPU_GRAIN)

enum {
	ST_IE = 1 << 0, ST_EXL = 1 << 1, ST_ERL = 1 << 2, ST_KSU = 3 << 3, ST_UX = 1 << 5,
	ST_SX = 1 << 6, ST_KX = 1 << 7, ST_IM = 0xff00, ST_BEV = 1 << 22, ST_RE = 1 << 25,
	ST_FR = 1 << 26, ST_CU0 = 1 << 28, ST_CU1 = 1 << 29,
	/* TS tells of hardware that broke; the others are 0 */
	ST_ZERO = 1 << 24 | 1 << 23 | 1 << 21 | 1 << 19,
};
#define CPU_EBASE	0x80000000u	/* of mips32r2, at power-on */
#define CONFIG_DB	0x10u		/* data lines of 32 bytes, not 16 */
#define CONFIG_IB	0x20u
#define CAUSE_BD	0x80000000u
#define CAUSE_TI	0x40000000u
#define CAUSE_IV	0x00800000u
#define CAUSE_WP	0x00400000u	/* watch exception postponed; release 2 shows it */

enum cpu_exc {
	EXC_INT, EXC_MOD, EXC_TLBL, EXC_TLBS, EXC_ADEL, EXC_ADES, EXC_IBE, EXC_DBE, EXC_SYS, EXC_BP,
	EXC_RI, EXC_CPU, EXC_OV, EXC_TR, EXC_VCEI, EXC_FPE, EXC_WATCH = 23, EXC_VCED = 31,
};

enum cpu_cp0 {
	C0_INDEX,
	C0_RANDOM,
	C0_ENTRYLO0,
	C0_ENTRYLO1,
	C0_CONTEXT,
	C0_PAGEMASK,
	C0_WIRED,
	C0_BADVADDR = 8,
	C0_COUNT,
	C0_ENTRYHI,
	C0_COMPARE,
	C0_STATUS,
	C0_CAUSE,
	C0_EPC,
	C0_PRID,
	C0_CONFIG,
	C0_LLADDR,
	C0_WATCHLO,
	C0_WATCHHI,
	C0_XCONTEXT,
	C0_ECC = 26,
	C0_CACHEERR,
	C0_TAGLO,
	C0_TAGHI,
	C0_ERROREPC,
};

enum cpu_access { ACC_LOAD, ACC_STORE, ACC_FETCH };

/* One decoded instruction. `go` is the handler's address in the interpreter. */
struct cpu_op {
	const void *go;
	uint8_t rs, rt, rd, sa;		/* sa 0xff: not an instruction but the end of a line or
					 * slot */
	int32_t imm;			/* immediate, branch displacement, or the whole word */
};

struct cpu_iline {
	uint64_t tag;			/* (2), (3); ~0: none */
	struct cpu_op *op;		/* line's words and a terminator; NULL: not decoded */
	uint64_t bias;			/* address of an op's instruction = bias + (op >> 2) */
};

#define CPU_IBUFS	65536		/* 2 MiB of code in lines of 32 bytes: a kernel with what
					 * runs on it. Fewer, and lines of it displace each other */
struct cpu_ibuf {
	struct cpu_op op[9];
	uint8_t raw[32];
	uint64_t pa, va;		/* va only with a trace: the code table knows virtual
					 * addresses */
	uint32_t user;			/* the line that it serves, or served last */
	uint32_t epoch;			/* it is decoded if this is the processor's */
} __attribute__((aligned(16)));

struct cpu_tlb_entry {
	uint64_t vpn;			/* EntryHi without ASID */
	uint64_t mask;			/* address bits inside the pair of pages */
	uint32_t lo[2];			/* EntryLo: PFN 29:6, C 5:3, D 2, V 1; G kept apart */
	uint8_t asid;
	bool g;
	bool used;			/* the tags may hold something of it */
};

/* What the processor sees of the world. All addresses are physical. A fill or write-back is one
 * whole line; read and write are uncached, 1 to 8 bytes inside one doubleword (a store of 3, 5, 6
 * or 7 is part of a register); *val and val are numbers, in the processor's byte order. False: bus
 * error, and nothing was changed. */
struct cpu_bus {
	bool (*fill)(void *ctx, uint64_t pa, void *line, unsigned n, bool fetch);
	bool (*writeback)(void *ctx, uint64_t pa, const void *line, unsigned n);
	bool (*read)(void *ctx, uint64_t pa, unsigned size, uint64_t *val, bool fetch);
	bool (*write)(void *ctx, uint64_t pa, unsigned size, uint64_t val);
	/* MFC0 of Count and Cause: what the register would give comes in *val; replay puts what the
	 * log says. NULL: the register as it is. */
	void (*count_read)(void *ctx, uint32_t *val);
	void (*cause_read)(void *ctx, uint32_t *val);
	/* an exception was taken (also an interrupt); for monitors and traces */
	void (*exception)(void *ctx, enum cpu_exc code, uint64_t pc, bool bd);
	/* EntryHi's address space identifier changed; NULL: nobody asks */
	void (*space)(void *ctx, unsigned asid);
};

/* Where the trace variant of the interpreter puts events; flush() empties the buffer. */
struct cpu_trace {
	struct pm_event *ev;		/* next free */
	struct pm_event *first, *high;	/* buffer; flush when ev reaches high (some slack behind
					 * it) */
	void (*flush)(void *ctx, struct cpu_trace *t);
	void *ctx;
	bool on;
	bool counts;			/* the references are counted (cpu.nread, nwrite); all other
					 * events of instructions follow from the processor's own
					 * numbers, and none of them is in the buffer */
};

struct cpu_config {
	bool big_endian;
	bool r2;			/* isa=mips32r2 */
	bool uncached;			/* the caches are disabled: every access is on the bus */
	unsigned iline, dline;		/* 16 or 32 bytes */
	uint32_t scache;		/* bytes of secondary cache: 0 (PC part), or 128 KiB .. 4
					 * MiB */
	unsigned sline;			/* 16, 32, 64 or 128 bytes */
};

struct cpu {
	/* ---- hot: the interpreter's ---- */
	uint64_t gpr[33];		/* [0] stays 0; [32] swallows writes to $0 */
	uint64_t hi, lo;
	uint64_t salt;
	uint64_t iwords;		/* bits of an address that say which word of its line */
	uint64_t nbranch;		/* branches, jumps and erets completed, taken or not */
	uint64_t nread, nwrite;		/* data references completed; only with trace.counts */
	uint64_t tgt;			/* where the branch under way goes */
	int64_t left;			/* ticks until `end`; current only outside and in slow
					 * paths */
	uint32_t status;
	uint32_t ishift;		/* log2 of the instruction line */
	uint32_t imask;			/* instruction lines - 1 */
	bool ok64;			/* 64-bit operations are allowed now */
	bool cp0_ok;
	bool attn;			/* look at the outside world before the next instruction */
	struct cpu_op scratch[2];	/* the delay slot being executed, and its terminator */
	struct cpu_op step[2];		/* the one instruction being executed alone */
	struct { uint64_t r, w; } dtag[CPU_GRAINS];
	struct cpu_iline iline[CPU_GRAINS + 1];	/* behind the last one is always one without tag */
	uint8_t ddata[CPU_L1_SIZE];
	uint8_t idata[CPU_L1_SIZE];

	/* ---- architectural state ---- */
	uint64_t pc;
	bool in_delay;			/* pc is in the delay slot of the branch before it, to
					 * tgt */
	uint64_t fpr[32];
	uint32_t fcr31;
	uint64_t c0[32];		/* as read, but Random, Count, Status and Cause */
	uint32_t cause;			/* without IP7..2, which are in `ip` */
	uint32_t ip;			/* bits 15:10 as in Cause: lines and timer */
	uint32_t userlocal, ebase, hwrena;	/* mips32r2 */
	bool llbit;
	uint64_t end;			/* ticks at which left is 0 */
	uint64_t random_base;		/* tick at which Random was 47 */
	int64_t count_offset;		/* Count = (ticks + idle) / 2 + count_offset */
	uint64_t idle;			/* ticks skipped by WAIT */
	uint64_t exceptions;		/* ticks that were not instructions */
	bool waiting;
	struct cpu_tlb_entry tlb[CPU_TLB];

	/* ---- caches ---- */
	uint64_t dptag[CPU_GRAINS];	/* physical line address; ~0: invalid; by line */
	uint64_t iptag[CPU_GRAINS];
	bool ddirty[CPU_GRAINS];
	uint8_t *sdata;			/* secondary cache, NULL: none */
	uint64_t *sptag;
	uint8_t *sflags;		/* bit 0 dirty, bits 3:1 PIdx: va 14:12 of the primary
					 * copy */
	uint32_t dshift, sshift, slines;

	/* ---- derived, rebuilt by cpu_sync() ---- */
	uint64_t asid_salt;
	struct { uint64_t tag, pa; uint8_t cca, dirty, index; } utlb[256];
	const struct cpu_bus *bus;
	void *ctx;
	struct cpu_trace trace;
	struct cpu_ibuf *ibuf;		/* CPU_IBUFS of them */
	uint32_t epoch;			/* grows when none of them is valid any more; never 0 */
	uint32_t *insn_id;		/* trace: pm_code index of each op: one per 16 bytes of
					 * ibuf[] */
	const void *decode_go, *end_go;	/* handlers of undecoded words and of line ends */
	uint32_t isa;
	enum cpu_exc exc;		/* being raised */
	uint8_t exc_ce;
	bool exc_refill;
	uint64_t bad_vaddr;
	uint64_t last_pa;		/* of the last slow load */
	bool trace_stop;		/* the trace ends after the current instruction */
	bool stuck;			/* an exception's vector raises it again, for ever */
	bool timer_moved;		/* Count or Compare was written: for the board */
	struct cpu_config cfg;
	/* trace: the pm_code index of a word at an address */
	uint32_t (*insn_intern)(void *ctx, uint64_t pc, uint32_t word);
	void *insn_ctx;
};

/* Lines are 16 or 32 bytes (128 at most in a secondary cache): copies of a known size are
 * inlined. */
static inline void cpu_copy_line(void *to, const void *from, unsigned n)
{
	if (n == 32)
		__builtin_memcpy(to, from, 32);
	else if (n == 16)
		__builtin_memcpy(to, from, 16);
	else
		__builtin_memcpy(to, from, n);
}

/* Of an uncached store of @size bytes at @pa, what byte @i and those behind it write to one word:
 * how many bytes, and in *v what number. Records of the bus hold a word at most. */
static inline unsigned cpu_word_of(uint64_t pa, unsigned size, unsigned i, uint64_t val, bool be,
				   uint32_t *v)
{
	unsigned n = 4 - ((unsigned)(pa + i) & 3);

	if (n > size - i)
		n = size - i;
	*v = (uint32_t)(val >> 8 * (be ? size - i - n : i));
	if (n < 4)
		*v &= (1u << 8 * n) - 1;
	return n;
}

struct cpu *cpu_new(const struct cpu_config *cfg, const struct cpu_bus *bus, void *ctx);
void cpu_free(struct cpu *c);
void cpu_reset(struct cpu *c);

/* Run until `left` ticks are used up or attn is set by a bus call or an instruction that needs the
 * world to look (interrupt enables, WAIT, ...). Exceptions are taken inside. Interrupts are not:
 * the caller asks cpu_irq_pending() and calls cpu_interrupt() between runs. Returns at an
 * instruction boundary; in_delay tells whether it is a delay slot. */
static inline void cpu_run(struct cpu *c);

static inline uint64_t cpu_ticks(const struct cpu *c)
{
	return c->end - (uint64_t)c->left;
}
static inline uint64_t cpu_instructions(const struct cpu *c)
{
	return cpu_ticks(c) - c->exceptions;
}
/* Let the next run last @ticks. */
static inline void cpu_budget(struct cpu *c, uint64_t ticks)
{
	c->end = cpu_ticks(c) + ticks;
	c->left = (int64_t)ticks;
}

static inline bool cpu_watch_due(const struct cpu *c)
{
	return c->cause & CAUSE_WP && !(c->status & (ST_EXL | ST_ERL));
}
bool cpu_irq_pending(const struct cpu *c);
void cpu_interrupt(struct cpu *c);
/* Set or clear interrupt line @n (2..7); 7 is the timer's own. */
void cpu_line(struct cpu *c, unsigned n, bool up);
uint32_t cpu_count(const struct cpu *c);
/* Ticks until Count reaches Compare: at least 1. */
uint64_t cpu_timer_ticks(const struct cpu *c);
uint32_t cpu_random(const struct cpu *c);
uint32_t cpu_cause(const struct cpu *c);

/* The architectural value of CP0 register @n; without side effects or log. */
uint64_t cpu_cp0_get(const struct cpu *c, unsigned n);
/* Set it as it is (snapshots, IMS, gdb), then call cpu_sync(). */
void cpu_cp0_set(struct cpu *c, unsigned n, uint64_t v);
/* Lines as Config.IB and DB say; nothing is in the primary caches. Then cpu_sync(). */
void cpu_set_lines(struct cpu *c);
/* Everything derived follows the state again: after any change from outside. */
void cpu_sync(struct cpu *c);
/* Dirty lines go to memory, and nothing is in any cache; takes no time. */
void cpu_flush_caches(struct cpu *c);

/* A debugger's view, which changes nothing: where the byte at @va is. *@at points into a data or
 * secondary cache that holds it (to the end of its line), or is NULL: then memory has it, at
 * physical address *@pa. False if nothing is mapped there. */
bool cpu_locate(struct cpu *c, uint64_t va, uint64_t *pa, uint8_t **at);

/* ---- for the interpreter (interp.h)
 * -------------------------------------------------------------- Slow paths: false means that
 * c->exc is to be raised. */
bool cpu_load(struct cpu *c, uint64_t va, unsigned size, uint64_t *val);
bool cpu_store(struct cpu *c, uint64_t va, unsigned size, uint64_t val);
/* A store that does not happen, with the exceptions of one that does: sc without a link. */
bool cpu_store_checked(struct cpu *c, uint64_t va, unsigned size);
/* lwl lwr ldl ldr: the aligned unit is loaded and merged into @reg; likewise the stores. */
bool cpu_load_part(struct cpu *c, uint64_t va, enum mips_op op, uint64_t *reg);
bool cpu_store_part(struct cpu *c, uint64_t va, enum mips_op op, uint64_t reg);
/* Make iline of @pc valid and return it; or, uncached, the word in *word and NULL with *ok set. */
struct cpu_iline *cpu_fetch(struct cpu *c, uint64_t pc, uint32_t *word, bool *ok);
void cpu_raise(struct cpu *c, uint64_t pc, bool bd);	/* c->exc; pc becomes the vector */
bool cpu_cp0_op(struct cpu *c, enum mips_op op, uint32_t word);
bool cpu_cache_op(struct cpu *c, unsigned op, uint64_t va);
/* A format or function that is reserved: Unimplemented Operation, in c->exc and FCR31. */
void cpu_fpu_reserved(struct cpu *c);
bool cpu_fpu_op(struct cpu *c, enum mips_op op, uint32_t word);
/* Where single register @r is in fpr[] seen as 32-bit halves: without FR, odd ones are upper
 * halves. */
static inline unsigned cpu_fpr_single(const struct cpu *c, unsigned r)
{
	return c->status & ST_FR ? 2 * r : 2 * (r & 30) + (r & 1);
}
bool cpu_rdhwr(struct cpu *c, unsigned n, uint64_t *val);
void cpu_eret(struct cpu *c);				/* sets c->pc */
/* Fields of a decoded word; `go` is the interpreter's business. */
void cpu_decode_fields(struct cpu_op *op, enum mips_op id, uint32_t word);

void cpu_run_le(struct cpu *c);
void cpu_run_be(struct cpu *c);
void cpu_run_le_trace(struct cpu *c);
void cpu_run_be_trace(struct cpu *c);
void cpu_run_le_count(struct cpu *c);
void cpu_run_be_count(struct cpu *c);

static inline void cpu_run(struct cpu *c)
{
	if (c->trace.on && c->trace.counts)
		(c->cfg.big_endian ? cpu_run_be_count : cpu_run_le_count)(c);
	else if (c->trace.on)
		(c->cfg.big_endian ? cpu_run_be_trace : cpu_run_le_trace)(c);
	else
		(c->cfg.big_endian ? cpu_run_be : cpu_run_le)(c);
}

/* ---- the state as a table: save, restore, print, compare ---- */
struct cpu_field {
	const char *name;
	size_t off, size;
	unsigned n;			/* elements of `size` bytes */
	const char *about;
};
extern const struct cpu_field cpu_fields[];		/* NULL-ended */
/* The first field (and element in *elem) in which they differ, NULL if none. */
const struct cpu_field *cpu_diff(const struct cpu *a, const struct cpu *b, unsigned *elem);
/* Element @elem as a number (its first 8 bytes, little-endian). */
uint64_t cpu_field_get(const struct cpu *c, const struct cpu_field *f, unsigned elem);
/* All registers as text, four to a line; caches and TLB are left out. Always terminated. */
void cpu_print(const struct cpu *c, char *buf, size_t size);

#endif
