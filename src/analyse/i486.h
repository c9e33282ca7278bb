/* SPDX-License-Identifier: MIT */
/* i486.h - the processor of the IDtrace report's section 6.4: cache, write buffers, prefetcher,
 * cycles
 *
 * Rules. Time is in cycles; there is one bus.
 * (1) Unified write-through cache, LRU, no allocation on writes (a write hit is a use). A refill
 *     takes 2 cycles for the first 4 bytes and 1 for each further 4; a write takes 2 per aligned 4
 *     bytes.
 * (2) A write waits in one of `wbuf` buffers until it has been on the bus; when all are taken the
 *     processor waits for the oldest ("full"). Reads go before writes that have not started.
 * (3) An instruction's lines come from the prefetch buffer (32 bytes, two lines at least, always
 *     consecutive) or else from the cache; a miss there waits for the bus and the refill. A line
 *     that is still on its way is waited for. Fetching elsewhere starts the buffer anew.
 * (4) A data read that misses waits for the bus and the refill; one that crosses lines is two.
 * (5) After its references an instruction takes its own cycles. If the buffer has room and they are
 *     as many as a refill takes, the line behind it is prefetched in them: from the cache; else,
 *     if the bus is free of reads and writes for so long, from memory, into cache and buffer (a
 *     "memory prefetch").
 * (6) Every `flush` instructions the cache is emptied.
 * Own cycles come from a table by opcode (i486.c; Intel's clock counts, hits assumed) where the
 * trace has the instructions' bytes, else 1; a taken conditional jump takes 2 more.
 *
 * What it does not model: floating-point overlap, page misses, segment loads, misalignment
 * penalties, address-generation interlocks, the instruction's decode overlap of one cycle.
 * Opcodes that the i486 did not have take 1 cycle.
 *
 * Configuration: size=8k line=16 ways=4 wbuf=4 flush=50000 limit=N (instructions; 0: all) table6
 * (the eight configurations of the report's Tables 6 and 7). */
#ifndef PM_ANALYSE_I486_H
#define PM_ANALYSE_I486_H

#include <stdbool.h>

#include "pugmark/pugmark.h"

struct pm_i486_conf { uint32_t size, line, ways, wbuf; uint64_t flush; };

#define PM_I486_STATS(S)								\
	S(cycles, "cycles", "time")							\
	S(instructions, "instructions", "executed")					\
	S(reads, "lookups", "data reads, split at lines")				\
	S(read_misses, "lookups", "data reads that missed")				\
	S(writes, "writes", "aligned 4-byte writes")					\
	S(instr_misses, "lookups", "lines fetched from memory on demand")		\
	S(prefetches, "lines", "lines prefetched")					\
	S(memory_prefetches, "lines", "... of which from memory")			\
	S(full, "writes", "writes that found no free buffer")				\
	S(stall, "cycles", "waiting for the bus, refills and buffers")
struct pm_i486_stats {
#define S(name, unit, about) uint64_t name;
	PM_I486_STATS(S)
#undef S
};

struct pm_i486;
struct pm_i486 *pm_i486_new(const struct pm_i486_conf *c);
void pm_i486_insn(struct pm_i486 *m, uint64_t pc, unsigned len, unsigned cycles);
void pm_i486_more(struct pm_i486 *m, unsigned cycles);	/* the present instruction takes longer */
void pm_i486_read(struct pm_i486 *m, uint64_t addr, unsigned size);
void pm_i486_write(struct pm_i486 *m, uint64_t addr, unsigned size);
const struct pm_i486_stats *pm_i486_end(struct pm_i486 *m);
void pm_i486_free(struct pm_i486 *m);

extern const struct pm_sink_ops pm_sim_i486;

#endif
