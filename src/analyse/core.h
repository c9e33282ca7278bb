/* SPDX-License-Identifier: MIT */
/* core.h - a modern out-of-order core, good enough to rank designs
 *
 * Every instruction is placed in time once, in program order: when it was fetched, dispatched,
 * issued, completed and committed follows from the instructions before it and the resources that
 * they took. That is quick, needs no cycle loop, and gives older instructions the right of way.
 *
 * THE RULES (tests/oracle/core_slow.h implements them by looking through everything that went
 * before)
 * (1) Fetch: at most `fetch` instructions and `bytes` bytes per cycle; a taken branch ends the
 *     cycle's group; a miss in the instruction cache delays by its latency; the `queue`th
 *     instruction before must have been dispatched. After a mispredicted branch, fetch goes on in
 *     the cycle after it completes; after a taken branch whose target only the decoder finds,
 *     `bubble` cycles later.
 * (2) Dispatch: `front` cycles after fetch, `width` micro-ops per cycle, in order, when
 *     there is room in the reorder buffer (`rob` micro-ops, until commit), the scheduler (`iq`,
 *     until issue), the load queue (`lq`, until commit) and the store queue (`sq`, until written).
 * (3) A load issues from the cycle after dispatch, when its address registers are ready and a load
 *     port is free. Its data come after the latency of the cache level that has it (`lat`); from a
 *     store still in the queue to the same 8 bytes, `forward` cycles after that store issued; if
 *     the line is on its way, when it arrives. At most `mshr` lines are on their way; from memory
 *     one per `gap` cycles. (Lines and stored words are remembered in tables of 4096 and 1024
 *     entries by their low bits: a later one takes the place of an earlier one.)
 * (4) An operation issues when its registers and loaded values are ready and a port of its class is
 *     free (classes, latencies and ports: PM_CORE_CLASSES). Register moves and zeroing idioms take
 *     no port and no time; neither does the stack pointer's own arithmetic in push, pop, call, ret.
 * (5) A store issues when its address and data are ready and a store port is free. It is written
 *     after commit, one per cycle, in order, and not before its line has come.
 * (6) Commit: the cycle after completion, in order, `width` micro-ops per cycle. A serialising
 *     instruction dispatches when all before it have committed and holds up what follows until it
 *     has.
 *
 * (7) Where commit waits more than a cycle for an instruction, it is for one reason: if it was
 *     dispatched as soon as it came from the front end, the misprediction or bubble of the branch
 *     before it or its own miss in the instruction cache, if fetch waited for it; else a load of
 *     its own that missed; else a full store queue; else the rest.
 * (8) What became of the `width` slots of each cycle of dispatch: core_slots.h.
 *
 * (9) Where TLBs are configured, addresses are translated first: paging.h says how many cycles
 *     that takes. A line is fetched, a load looks for its data, and a store is issued that much
 *     later. What takes longer than `stlb` is a page walk; `walkers` of them go on at once, a
 *     further one waits for the first that ends.
 *
 * (10) With fdip=N,M branches are predicted ahead of fetch (fetch-directed instruction prefetching:
 *     G. Reinman, B. Calder, T. Austin, MICRO 1999; Y. Ishii et al., ISPASS 2021). A fetch block is
 *     the instructions that begin on one line, up to a taken branch. M (2) of them are predicted
 *     per cycle, in order, each when the Nth block before it has been fetched as a whole; after a
 *     misprediction from the cycle after the branch completes, after a branch that only the decoder
 *     finds from the cycle in which fetch goes on. A block is not fetched before it is predicted.
 *     What of it is missing in the instruction cache is asked for when it is predicted, instead of
 *     when fetch comes to it, and comes after its latency (and (9)), however many lines are on
 *     their way. A line is useful if it was asked for in a cycle before fetch came to it,
 *     and late if fetch had to wait for it nevertheless. Only what the trace executes is asked for,
 *     so every line is used.
 *
 * (11) With regs=N at most N results are between dispatch and commit: registers that instructions
 *     write, flags among them, but not the stack pointer where (4) leaves it out. Dispatch waits
 *     for the commits that make room; one with more results than N waits for all before it. A
 *     processor that renames gives each result a physical register, and has it back when a later
 *     write of the same register commits (K. C. Yeager, "The MIPS R10000 Superscalar
 *     Microprocessor", IEEE Micro, 1996). So a file of P, A of which hold what has been committed,
 *     has N = P - A. Here it is one file for all; processors have one for integers, one for
 *     vectors.
 *
 * What it does not model: wrong paths, speculative memory dependences (loads wait for exactly the
 * stores that they need), bank and register-port conflicts, coherence, frequency. Latencies of
 * instructions and their ports are those of no particular processor, but near AMD's Zen 3-5 and
 * Intel's Golden Cove as their optimisation manuals and public measurements give them.
 *
 * Configuration: preset=big|mid|small, or that of a processor (core_presets.c), then any of the
 * names above as name=N; ports as alu=N vec=N loads=N stores=N; lat=L1,L2,L3,MEM; bpred=PREDICTOR
 * (tagescl), one of conditional branches in bpred.h or a module of ChampSim (X.cc), which is asked
 * about all instructions; any cache level of cache_sim.h (l1i=...;l2=...), modules, too, to which
 * instructions have the number 0; TLBs of the simulator `tlb`
 * (itlb=64,full;dtlb=64,full;stlb=2048,8way), or tlb=none; stlblat=N cycles of the second, pwc=PDE,
 * PDPTE,PML4E entries of the page-walk caches, walkers=N; fdip=N or fdip=N,M; regs=N; byinsn:
 * stalls by instruction, topdown: slots, too, and by function; top=N (20) rows of these. */
#ifndef PM_ANALYSE_CORE_H
#define PM_ANALYSE_CORE_H

#include <stdbool.h>

#include "pugmark/pugmark.h"

/* name, latency, cycles that the port stays taken, ports: A any ALU, M the multiplier's, D the
 * divider's, B branch, V any vector, F the FP multipliers', G the FP adders', N none */
#define PM_CORE_CLASSES(C)						\
	C(MOVE,    0,  0, N, "register move, zeroing, nop")		\
	C(ALU,     1,  1, A, "add, logic, lea, shift, compare")	\
	C(BRANCH,  1,  1, B, "jump, call, return")			\
	C(MUL,     3,  1, M, "integer multiplication")			\
	C(DIV,    14,  8, D, "integer division")			\
	C(BIT,     2,  1, A, "popcnt, bsf, crc32 and relatives")	\
	C(VEC,     1,  1, V, "vector integer, logic, shuffle, move")	\
	C(VMUL,    3,  1, F, "vector integer multiplication")		\
	C(FADD,    3,  1, G, "floating-point add, compare, convert")	\
	C(FMUL,    3,  1, F, "floating-point multiplication")		\
	C(FMA,     4,  1, F, "fused multiply-add")			\
	C(FDIV,   12,  5, F, "floating-point division")		\
	C(FSQRT,  18,  8, F, "square root")				\
	C(X87,     5,  2, G, "x87 arithmetic")				\
	C(CROSS,   3,  1, V, "between integer and vector registers")	\
	C(SLOW,   20, 10, A, "locked, string and other microcoded")	\
	C(SYSTEM, 80, 40, A, "system call, cpuid, fence: serialising")
enum pm_core_class {
#define C(name, lat, busy, ports, about) PM_CORE_##name,
	PM_CORE_CLASSES(C)
#undef C
	PM_CORE_CLASS_COUNT
};

struct pm_core_conf {
	uint32_t fetch, bytes, queue, front, bubble, width, rob, iq, lq, sq, mshr, gap, forward;
	uint32_t alu, vec, loads, stores;
	uint32_t lat[4];		/* L1, L2, L3, memory: latency of a load found there */
	uint32_t stlb, walkers;		/* (9); 0 walkers: as many as there are walks */
	uint32_t fdip, blocks;		/* (10): N, M; N 0: nothing is predicted ahead */
	uint32_t regs;			/* (11); 0: as many as are needed */
};
enum pm_core_redirect { PM_CORE_STRAIGHT, PM_CORE_BUBBLE, PM_CORE_WRONG };

/* One instruction with everything that caches and predictors have to say about it. */
struct pm_core_op {
	uint64_t pc;				/* for pm_core_blame(), and (10) */
	uint64_t addr_regs, data_regs, writes;	/* bit = register */
	uint64_t load[4], store[4];		/* addresses */
	uint8_t load_level[4], store_level[4];	/* 0 L1 ... 3 memory */
	uint8_t load_size[4], store_size[4];
	uint16_t load_wait[4], store_wait[4], fetch_wait;	/* (9), cycles */
	uint8_t nload, nstore;
	uint8_t class, uops, len;		/* uops: at least 1 */
	uint8_t redirect;			/* enum pm_core_redirect */
	uint8_t fetch_level;			/* where its code was found; 0: no delay */
	bool taken, stack, serial;
};
#define PM_CORE_REGS 64
#define PM_CORE_RSP 4

#define PM_CORE_STATS(S)							\
	S(cycles, "cycles", "time until the last commit")			\
	S(instructions, "instructions", "executed")				\
	S(uops, "micro-ops", "dispatched")					\
	S(branches, "branches", "conditional, indirect and returns")		\
	S(mispredicted, "branches", "that sent fetch the wrong way")		\
	S(forwarded, "loads", "that got their data from the store queue")	\
	S(stall_branch, "cycles", "commit waited after a misprediction")	\
	S(stall_fetch, "cycles", "... for instructions: cache misses, bubbles")	\
	S(stall_memory, "cycles", "... for a load that missed the first level")	\
	S(stall_store, "cycles", "... because the store queue was full")	\
	S(stall_core, "cycles", "... for latencies, ports and everything else")
struct pm_core_stats {
#define S(name, unit, about) uint64_t name;
	PM_CORE_STATS(S)
#undef S
};

/* Of (10). */
#define PM_CORE_FDIP_STATS(S)							\
	S(fdip_issued, "lines", "that were missing as their block was predicted")	\
	S(fdip_useful, "lines", "... and were asked for before fetch came to them")	\
	S(fdip_late, "lines", "... but not early enough: fetch waited nevertheless")	\
	S(fdip_hidden, "cycles", "that they were on their way before fetch came to them")
struct pm_core_fdip_stats {
#define S(name, unit, about) uint64_t name;
	PM_CORE_FDIP_STATS(S)
#undef S
};

/* Leaves of the top-down tree, in its order; its branches are what their paths have in common.
 * name, event, path, meaning */
#define PM_CORE_SLOT_LIST(S)							\
	S(retiring, "Sre", "retiring", "took a micro-op")			\
	S(speculation, "Sbs", "bad_speculation", "waited for a mispredicted branch")	\
	S(icache, "Sic", "frontend_bound.latency.icache",			\
	  "waited for an instruction-cache miss")				\
	S(resteer, "Srs", "frontend_bound.latency.resteers",			\
	  "waited for a branch that the decoder found")			\
	S(bandwidth, "Sfb", "frontend_bound.bandwidth", "fetch was not wide enough")	\
	S(l1, "Sl1", "backend_bound.memory.l1", "waited for a load from the first level")	\
	S(l2, "Sl2", "backend_bound.memory.l2", "... the second level")		\
	S(l3, "Sl3", "backend_bound.memory.l3", "... the third level")		\
	S(dram, "Sdr", "backend_bound.memory.dram", "... memory")		\
	S(store, "Sst", "backend_bound.memory.store", "the store queue was full")	\
	S(divider, "Sdv", "backend_bound.core.divider", "waited for a division or root")	\
	S(serial, "Sse", "backend_bound.core.serializing",			\
	  "waited for a serialising instruction")				\
	S(ports, "Spt", "backend_bound.core.ports", "waited for ports and other latencies")
enum pm_core_slot {
#define S(name, event, path, about) PM_CORE_SLOT_##name,
	PM_CORE_SLOT_LIST(S)
#undef S
	PM_CORE_SLOTS
};

struct pm_core;
extern const struct pm_core_conf pm_core_big, pm_core_mid, pm_core_small;
struct pm_core *pm_core_from(const struct pm_core_conf *c);
/* times, if not NULL: fetch, dispatch, completion, commit. */
void pm_core_op(struct pm_core *k, const struct pm_core_op *op, uint64_t times[4]);
const struct pm_core_stats *pm_core_stats(const struct pm_core *k);
const struct pm_core_fdip_stats *pm_core_fdip_stats(const struct pm_core *k);
/* How long commit had to wait for the instruction given last, why, and whom that is to be blamed
 * on: itself, or - after a misprediction or bubble - the branch that misled fetch. */
enum pm_core_why {
	PM_CORE_NO_STALL,
	PM_CORE_BY_BRANCH,
	PM_CORE_BY_FETCH,
	PM_CORE_BY_MEMORY,
	PM_CORE_BY_STORE,
	PM_CORE_BY_CORE,
	PM_CORE_WHYS
};
/* by the one before */
struct pm_core_blame { uint64_t pc, cycles; enum pm_core_why why; bool misled; };
const struct pm_core_blame *pm_core_blame(const struct pm_core *k);
void pm_core_free(struct pm_core *k);
/* No instruction follows: the slots of each leaf, which sum up to width * cycles. */
const uint64_t *pm_core_slots(struct pm_core *k);
/* @blame is told whom slots are to be blamed on, as they are found. Before the first
 * instruction. */
void pm_core_slots_blame(struct pm_core *k,
			 void (*blame)(void *ctx, uint64_t pc, enum pm_core_slot why,
				       uint64_t slots),
			 void *ctx);
/* Ports of a class as a mask: ALUs from bit 0, vector from bit 8, loads from 16, stores from 20. */
uint32_t pm_core_ports(const struct pm_core_conf *c, unsigned class);

/* What the instruction's bytes say: registers, class, micro-ops (core_ops.c). */
struct pm_core_static {
	uint64_t addr_regs, data_regs, writes;
	uint8_t class, uops;
	bool stack, serial;
};
void pm_core_decode(const uint8_t *bytes, unsigned len, unsigned isa, struct pm_core_static *s);

extern const struct pm_sink_ops pm_sim_core;
struct pm_names;
struct pm_names *pm_core_names(void *self);	/* of the sink: see sims.h; NULL without byinsn */
/* What the sink @self blames on instructions: executions, misses by level, stalls. See sims.h. */
struct pm_costs;
void pm_core_costs(void *self, struct pm_costs *c);
/* Another one, configured as @self is, as a meter of the same; none unless byinsn is set. See
 * sims.h. */
struct pm_calls_meter;
void pm_core_meter(const void *self, struct pm_calls_meter *m);
void pm_core_meter_free(void *self);

#endif
