/* SPDX-License-Identifier: MIT */
/* cache_sim.h - any hierarchy of caches (and, with pages for lines, of TLBs)
 *
 * Configuration: `l1i=32k,8way,64,lru;l1d=32k,8way,64,lru,wb;l2=1m,16way,64;flush=50000`. A level
 * is l1..l8, with i or d behind it when instructions and data have one each. Fields of a level:
 * size, Nway (or `full`), line size, and any of
 *   lru fifo random plru srrip drrip opt   which line goes (default lru)
 *   wb wt, wa nwa         write back or through; allocate on a write miss or not (default wb,wa)
 *   nine incl excl        of the levels above: neither, inclusive (then no smaller than any of
 *                         them), exclusive (default nine)
 *   sub=N                 sub-blocks of N bytes with valid bits of their own (no victim cache
 *                         beside)
 *   victim=N              N lines that fell out last, fully associative
 *   wbuf=N                N write-buffer entries that merge writes to one line
 *   nofetch               a write that brings every byte of a line fetches nothing
 *   drain                 at the end of the trace what is dirty is written back
 *   prefetch=next|stride|stream|ipstride|ampm|spp|berti|pythia, degree=N
 *                         (default 4 of ipstride, ampm, spp, berti, else 1)
 *   X.cc, prefetch=X.cc   the policy, the prefetcher is a module of ChampSim (trace/champsim.h; of
 *                         `cache` and `core`, lines of 64 bytes, nine, no sub or victim): rule (10)
 *   3c                    split misses into compulsory, capacity, conflict
 *   seed=N                of `random`
 * Settings beside levels: flush=N (instructions) or flush=switch, spaces=shared, regions, byinsn.
 *
 * THE RULES - tests/oracle/cache_slow.h implements the same rules slowly, by time stamps and scans
 * (1) A reference is cut at the line boundaries of the first level; each piece is one access. A
 *     read-modify-write is a read, then a write. Traffic to the next level is cut at that level's
 *     lines.
 * (2) Hit: LRU and PLRU and RRIP are told, FIFO, random and OPT are not. A write hit makes the line
 *     dirty (wb) or is passed on (wt).
 * (3) Miss: the victim cache is asked, then the next level is read (the whole line, or the
 *     sub-blocks touched; nothing, if a write-back from above, or with nofetch any write, brings
 *     every byte of it); then a way
 *     is chosen: an empty one (position-indexed policies: the lowest), else the policy's; the line
 *     is entered; then the line that it replaced leaves: into the victim cache, or if dirty to the
 *     next level. A write miss with nwa only passes the write on. With wt a write allocates clean.
 * (4) incl: a line that leaves takes all its copies above with it; their dirtiness is its own.
 *     excl: a hit moves the line up (with its dirtiness), what the next level brings goes up
 *     without staying here; lines that leave the level above, dirty or clean, come down here.
 * (5) A write buffer keeps the bytes written (by 1/64 line, at least one byte); a full one sends
 *     its oldest entry. A miss on a buffered line sends that entry first.
 * (6) Prefetches fill quietly: no access of this level is counted, the level below sees the op
 *     `prefetch`. They never cross a 4 KiB boundary. Which lines a prefetcher wants, and when one
 *     was late: cache_prefetch.h.
 * (7) 3C: compulsory if the line was never looked up here before; capacity if a fully associative
 *     LRU cache of the same size misses too; conflict otherwise.
 * (8) A flush writes all dirty lines back, first level first, and empties everything but what rule
 *     (7) remembers and the predictors of (6).
 * (9) drain: after the last reference, level by level, first levels first (i before d). Lines
 *     stay and are clean then. What was dirty goes to the next level set by set, the last set
 *     first; of a set of an lru or fifo level the line that came (lru: was used) longest ago
 *     first, else the highest way first; then the victim cache's oldest line first; then the
 *     write buffer's oldest entry first. With nofetch and drain at every level, lru or fifo
 *     without sub-blocks, all levels count what Dinero IV's do.
 *
 * (10) Modules of ChampSim: called as ChampSim's documentation says, with these choices where time
 *      would decide. Demand writes and write-backs are WRITE, what a write reads from below is RFO,
 *      other reads and fetches are LOAD; the prefetcher is told of LOAD and of PREFETCH from above.
 *      The first level of data passes whole addresses, the others the line's. Prefetches and
 *      write-backs have pc 0. Each access: the prefetcher is told, then the policy; a miss is
 *      filled (an empty way first; a policy that answers with the number of ways keeps the line
 *      out: it goes on at once if it is dirty); then come CACHE_MODULE_CYCLES cycles, then all that
 *      the prefetcher has asked for, in that order, wherever it is. What is there already is left
 *      alone, and the policy not told. A prefetch for the next level only is that level's business
 *      alone. Of lru and fifo the way of a fill is 0: they keep a list.
 *
 * What it does not model: time (see timing), coherence between cores, physical addresses that the
 * trace does not hold (caches are indexed by the addresses in the trace; other address spaces are
 * told apart by a tag unless spaces=shared).
 *
 * Errors     pm_cache_new() fills err and returns NULL; nothing later can fail.
 * Threads    one thread per object. */
#ifndef PM_ANALYSE_CACHE_H
#define PM_ANALYSE_CACHE_H

#include "base/mem.h"
#include "pugmark/pugmark.h"
#include "trace/sinks.h"

enum pm_cache_op { PM_OP_FETCH, PM_OP_READ, PM_OP_WRITE, PM_OP_BACK, PM_OP_PREFETCH, PM_OP_COUNT };
enum pm_cache_policy {
	PM_LRU, PM_FIFO, PM_RANDOM, PM_PLRU, PM_SRRIP, PM_DRRIP, PM_OPT,
	PM_MODULE		/* of ChampSim: no word of pm_cache_policies */
};
enum pm_cache_incl { PM_NINE, PM_INCL, PM_EXCL };
enum pm_cache_prefetch {
	PM_PF_NONE, PM_PF_NEXT, PM_PF_STRIDE, PM_PF_STREAM, PM_PF_IPSTRIDE, PM_PF_AMPM, PM_PF_SPP,
	PM_PF_BERTI, PM_PF_PYTHIA, PM_PF_MODULE	/* no word of pm_cache_prefetches */
};
extern const char *const pm_cache_policies[], *const pm_cache_incls[], *const pm_cache_prefetches[];

/* Beside the accesses and misses by operation and class. */
#define PM_LEVEL_STATS(S)								\
	S(sub_misses, "lookups", "hits on a line whose sub-block was not there")	\
	S(evictions, "lines", "valid lines that were replaced")				\
	S(writebacks, "lines", "lines that left dirty")					\
	S(invalidated, "lines", "lines taken away by an inclusive level below")		\
	S(flushed, "lines", "lines emptied by a flush")					\
	S(bytes_in, "bytes", "read from the next level")				\
	S(bytes_out, "bytes", "written to the next level")				\
	S(victim_hits, "lookups", "misses that the victim cache answered")		\
	S(wbuf_merged, "writes", "writes that found their line in the write buffer")	\
	S(wbuf_full, "writes", "writes that found the write buffer full")		\
	S(pf_issued, "lines", "lines brought by the prefetcher")			\
	S(pf_useful, "lines", "prefetched lines that were used")			\
	S(pf_late, "lines", "prefetched lines that were used soon after they were asked for")	\
	S(pf_unused, "lines", "prefetched lines that left unused")			\
	S(compulsory, "lookups", "misses on lines never seen before")			\
	S(capacity, "lookups", "misses that full associativity would not avoid")	\
	S(conflict, "lookups", "misses that full associativity would avoid")

struct pm_level_stats {
	/* by operation, and by class: 0 all else, 1 stack (PM_REF_STACK) */
	uint64_t access[PM_OP_COUNT][2], miss[PM_OP_COUNT][2];
#define S(name, unit, about) uint64_t name;
	PM_LEVEL_STATS(S)
#undef S
};

struct pm_champsim_module;
struct pm_level_conf {
	char name[8];
	unsigned depth;			/* 1.. */
	char side;			/* 'i', 'd' or 0 */
	uint64_t size;
	uint32_t ways, line, sub;	/* sub 0: none */
	enum pm_cache_policy policy;
	bool wb, wa;
	enum pm_cache_incl incl;
	uint32_t victim, wbuf, degree;
	enum pm_cache_prefetch prefetch;
	bool three_c, nofetch, drain;
	uint64_t seed;
	const struct pm_champsim_module *policy_module, *prefetch_module;
};

#define PM_CACHE_LEVELS 12
struct pm_cache_conf {
	struct pm_level_conf level[PM_CACHE_LEVELS];	/* sorted by depth, i before d */
	unsigned n;
	int next[PM_CACHE_LEVELS];	/* index of the level below, -1: memory */
	int first_i, first_d;		/* -1: such references are not simulated */
	uint64_t flush_insns;		/* 0: never */
	bool flush_switch, shared, regions, by_insn;
	bool tlb;			/* lines are pages; messages and results say so */
};
enum pm_status pm_cache_conf_parse(struct pm_cache_conf *cc, const char *what, const char *text,
				   struct pm_err *err);
/* It as text, each field of each level, in one order: equal if they configure the same. */
void pm_cache_conf_put(const struct pm_cache_conf *cc, struct pm_buf *to);
/* What the policy is called; to[64] may be used for it. */
const char *pm_cache_policy_name(const struct pm_level_conf *l, char *to);
const char *pm_cache_default(bool tlb);		/* what an empty configuration stands for */

/* What leaves the last level, in order: for filters and timing models. */
struct pm_cache_memory {
	void (*access)(void *to, enum pm_cache_op op, uint64_t addr, uint32_t size);
	void *to;
};

/* What prefetchers bring, and what of it is used for the first time, as it happens. */
struct pm_cache_watch {
	void (*brought)(void *to, unsigned level, uint64_t line);
	void (*used)(void *to, unsigned level, uint64_t line, bool late);
	void *to;
};

struct pm_cache;
struct pm_cache *pm_cache_new(const char *config, struct pm_err *err);
struct pm_cache *pm_cache_from(const struct pm_cache_conf *cc);
void pm_cache_memory(struct pm_cache *c, const struct pm_cache_memory *m);
void pm_cache_watch(struct pm_cache *c, const struct pm_cache_watch *w);
/* Instruction and data references of one stream; other events matter only to flush and regions. */
void pm_cache_batch(struct pm_cache *c, const struct pm_batch *b);
void pm_cache_events(struct pm_cache *c, const struct pm_event *ev, size_t n);
/* One reference, of a cache that gets no batches. Returns how deep it went: 0 a hit in the first
 * level ... n memory. */
unsigned pm_cache_access(struct pm_cache *c, enum pm_cache_op op, uint64_t addr, uint32_t size,
			 bool stack, uint64_t pc);
/* The same for the line at @addr, without prefetchers, to warm a cache (warm.h). */
void pm_cache_warm(struct pm_cache *c, enum pm_cache_op op, uint64_t addr);
void pm_cache_flush(struct pm_cache *c);
/* Ends the trace: levels with OPT are simulated now, and those with drain are drained. Once. */
void pm_cache_end(struct pm_cache *c);
/* Of a cache with modules: false, and @err says what went wrong in one; they are told that all is
 * over. */
bool pm_cache_modules_well(const struct pm_cache *c, struct pm_err *err);
void pm_cache_modules_end(struct pm_cache *c);
const struct pm_cache_conf *pm_cache_config(const struct pm_cache *c);
const struct pm_level_stats *pm_cache_stats(const struct pm_cache *c, unsigned level);
/* Bytes and operations that reached memory. */
struct pm_cache_memory_stats { uint64_t reads, writes, bytes_read, bytes_written; };
const struct pm_cache_memory_stats *pm_cache_memory_stats(const struct pm_cache *c);
uint64_t pm_cache_instructions(const struct pm_cache *c);	/* so far */
void pm_cache_result(struct pm_cache *c, struct pm_result *r);
void pm_cache_free(struct pm_cache *c);		/* NULL is fine */

/* Misses by instruction (setting byinsn): slot i of level l is miss[l]. */
struct pm_cache_insn {
	uint64_t pc, miss[PM_CACHE_LEVELS];
	/* lines prefetched after its accesses; prefetched lines that it used first; ... too soon */
	uint64_t prefetched[PM_CACHE_LEVELS], useful[PM_CACHE_LEVELS], late[PM_CACHE_LEVELS];
};
/* Sorted by first-level misses, most first; borrowed until the next call on @c. */
const struct pm_cache_insn *pm_cache_by_insn(struct pm_cache *c, size_t *n);

extern const struct pm_uniting_sink_ops pm_sim_cache, pm_sim_tlb;
struct pm_names;
struct pm_names *pm_cache_names(void *self);	/* of the sink: see sims.h */
/* What the sink @self blames on instructions: misses by level (setting byinsn). See sims.h. */
struct pm_costs;
void pm_cache_costs(void *self, struct pm_costs *c);
/* Another one, configured as @self is, as a meter of misses by level; no levels unless byinsn is
 * set. See sims.h. */
struct pm_calls_meter;
void pm_cache_meter(const void *self, struct pm_calls_meter *m);
void pm_cache_meter_free(void *self);

#endif
