/* SPDX-License-Identifier: MIT */
/* cache_state.h - what a hierarchy of caches is made of: private to the files of cache_sim.h
 *
 *   cache_set.h       a set of lines and the policies (inline: each access needs them)
 *   cache_quick.h     hits of the first level that change no order (inline, too)
 *   cache_shadow.h    the 3C split of misses (inline, too)
 *   cache_run.c       events to accesses, each access of a level, and what it sends to the next
 *   cache_plain.c     the same for ordinary hierarchies, quicker; cache_refs.h: their first levels
 *   cache_module.c    levels with a module of ChampSim
 *   cache_regions.c   parts of a program
 *   cache_opt.c       levels with the policy OPT, after the end of the trace
 *   cache_family.c    several hierarchies in one pass; lru_family.c: their LRU levels; lru_below.c:
 *                     one below each of these
 *   cache_sim.c       life, results, sinks
 *
 * A way is one word: the line's address with flags in the bits that a line address leaves free.
 * LRU and FIFO sets list their ways newest first, so they need no clock, and an empty way is always
 * the last; the other policies keep a line where it was put. */
#ifndef PM_ANALYSE_CACHE_STATE_H
#define PM_ANALYSE_CACHE_STATE_H

#include "analyse/cache_out.h"
#include "analyse/cache_sim.h"
#include "analyse/names.h"

#define LINE_VALID	1u
#define LINE_DIRTY	2u
#define LINE_FRESH	4u		/* prefetched and not used yet */
#define LINE_FLAGS	7u

struct cache_wbuf { uint64_t line, mask; enum pm_cache_op op; };

struct cache_level {
	/* hot */
	uint64_t *tag;			/* ways of set 0, of set 1...: at a multiple of 64 bytes */
	void *tag_memory;
	uint64_t set_mask, line_mask;	/* line_mask clears the offset */
	unsigned line_shift, ways;
	bool ordered, quick;		/* quick: a plain hit sends nothing anywhere and triggers
					 * nothing */
	bool close;			/* ... or nothing but the prefetcher, and a write stays
					 * here, too */
	bool newest;			/* ... and both hold of a hit on the newest line of a set,
					 * or @strides are all that it triggers */
	bool plain;			/* lru, wb, wa and nothing else: cache_plain.c */
	bool lru;
	uint8_t *rrpv;
	uint64_t *plru;
	uint64_t plru_keep[64], plru_set[64];	/* by way: what being used does to the tree's
						 * bits */
	uint64_t (*access)[2], (*miss)[2];
	struct cache_stride *strides;	/* of the prefetcher `stride`; NULL: it is not that */
	unsigned degree;		/* ... how many addresses it wants */
	/* warm */
	struct pm_level_stats st;
	const struct pm_level_conf *conf;
	struct cache_level *next;		/* NULL: memory, or @out */
	struct cache_out *out;			/* what leaves it, for others; NULL: it goes on */
	unsigned index, hop;		/* hop: levels between this one and the processor */
	uint32_t *sub_valid, *sub_dirty;	/* by way, NULL without sub-blocks */
	unsigned sub_shift;
	uint64_t rnd, brrip_fills;
	unsigned psel;
	uint64_t *victim;		/* newest first */
	unsigned nvictim;
	struct cache_wbuf *wbuf;		/* oldest first */
	unsigned nwbuf;
	struct cache_prefetcher *prefetcher;
	bool every;			/* ... wants to know of each hit */
	struct cache_module *module;	/* of ChampSim, or two; NULL: none */
	struct cache_shadow *shadow;
	/* OPT: what arrived (address | bits), when each line comes again, and for each way */
	uint64_t *next_use, now_next;
	bool replay;
};

/* References that reached the OPT levels of one depth: line | OPT_* */
#define OPT_FETCH	0u
#define OPT_READ	2u
#define OPT_WRITE	4u
#define OPT_BACK	6u		/* bit 0: only a part of the line */
#define OPT_SIDE_D	8u
struct opt_tape { uint64_t *v; size_t n, cap; };

enum cache_region { REGION_CODE, REGION_STACK, REGION_HEAP, REGION_GLOBAL, REGION_OTHER, REGIONS };
struct cache_range { uint64_t lo, hi; enum cache_region region; };

struct pm_cache {
	struct pm_cache_conf conf;
	struct cache_level level[PM_CACHE_LEVELS];
	struct cache_level *first_i, *first_d;
	unsigned own;			/* levels that it simulates from its events: the first
					 * ones; conf.n unless @family does */
	struct cache_family *family;	/* simulates it; NULL: it does so itself */
	bool warming;			/* prefetchers do not see what happens */
	bool storing;			/* the present reference is a write */
	uint32_t metadata;		/* what a module said of the prefetch that goes down */
	bool plain, turns;		/* plain: cache_plain.c takes its events. turns: levels may
					 * take turns, since none reaches upwards */
	struct cache_out *apart;	/* ... and do: what has left level i for level i + 1; NULL:
					 * they do not */
	struct pm_cache_memory mem;
	struct pm_cache_watch watch;	/* .to NULL: nobody watches */
	struct pm_cache_memory_stats mst;
	uint64_t pc, insns, flush_left;
	uint64_t refs[3][2];		/* references before splitting: fetch, read, write by
					 * class */
	unsigned reach;			/* how deep the present reference has gone */
	/* address spaces: the high 16 bits of an address and its space become a small number */
	struct pm_map segment;
	uint64_t *segment_high;		/* back again: the high bits of each */
	size_t nsegment, cap_segment;
	uint64_t space, segment0;
	bool began, other;		/* other: data references that no level takes */
	struct opt_tape tape[9];		/* by depth */
	uint64_t blamed[PM_CACHE_LEVELS];	/* misses of all instructions */
	/* byinsn */
	struct pm_map insn_at;
	struct pm_cache_insn *insn;
	size_t ninsn, cap_insn;
	struct pm_names names;
	/* regions */
	struct cache_range *range;
	size_t nrange, cap_range;
	uint64_t region_refs[REGIONS], region_miss[REGIONS];
	uint64_t brk;			/* where the heap that brk() moves begins; 0: not known
					 * yet */
	bool in_brk;			/* the system call whose result comes next */
};

/* One access within one line. True: it hit. */
bool pm_cache_line(struct pm_cache *c, struct cache_level *l, uint64_t addr, uint32_t size,
		   enum pm_cache_op op, unsigned cls);

/* cache_run.c: by the general path. @b may be NULL. */
void pm_cache_run(struct pm_cache *c, const struct pm_event *ev, size_t n,
		  const struct pm_batch *b);
/* cache_regions.c */
enum cache_region pm_cache_region_of(const struct pm_cache *c, uint64_t addr);
void pm_cache_region_event(struct pm_cache *c, const struct pm_event *e, const struct pm_batch *b);
/* Dinero's copy-back and invalidate at one level: of one line, or everything (PM_REF_ALL). */
void pm_cache_maintain(struct pm_cache *c, struct cache_level *l, uint64_t key, unsigned flags);
/* ... has been done at all levels before @to: whoever takes what leaves them is told. */
void pm_cache_maintained(struct pm_cache *c, uint64_t key, unsigned flags, unsigned to);
bool pm_cache_plain_level(const struct pm_level_conf *lc);
/* cache_plain.c: from now on levels take turns, if they may. */
void pm_cache_take_turns(struct pm_cache *c);
/* Rule (9) at those of the levels @from.. to before @to that are configured so. */
void pm_cache_copy_back(struct pm_cache *c, unsigned from, unsigned to);
/* cache_run.c: the same at one level, whether it is configured so or not. */
void pm_cache_copy_back_level(struct pm_cache *c, struct cache_level *l);
/* What has left levels @from.. to before @to is taken by those below, as far as that one. */
void pm_cache_drain(struct pm_cache *c, unsigned from, unsigned to);
/* Requests to level @from, which leave the simulated part of the hierarchy behind level @to - 1. */
void pm_cache_requests(struct pm_cache *c, unsigned from, unsigned to,
		       const struct cache_request *v, size_t n);
/* For who walks through events himself: what the caches call the address, after batches of this
 * space. */
void pm_cache_enter_space(struct pm_cache *c, uint64_t space);
uint64_t pm_cache_key(struct pm_cache *c, uint64_t addr);
/* @to is where @from is in the trace: instructions, references, address spaces. */
void pm_cache_copy_place(struct pm_cache *to, const struct pm_cache *from);
/* What a slice of the trace has of everything. */
void pm_cache_add_totals(struct pm_cache *c, uint64_t insns, const uint64_t refs[3][2], bool other);
void pm_cache_add_stats(struct pm_level_stats *to, const struct pm_level_stats *from);
/* Of a family: after its end, what it knows of @c becomes @c's own. */
void pm_cache_family_batch(struct cache_family *f, const struct pm_batch *b);
void pm_cache_family_end(struct cache_family *f);
void pm_cache_family_leave(struct cache_family *f, struct pm_cache *c);

#endif
