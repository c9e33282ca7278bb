/* SPDX-License-Identifier: MIT */
/* core_slots.h - what became of every dispatch slot: the top-down tree (A. Yasin, "A Top-Down
 * Method for Performance Analysis and Counters Architecture", ISPASS 2014)
 *
 * A core of `width` has width slots a cycle where micro-ops pass from the front end to the back
 * end. A slot is used by a micro-op, or it is empty for one reason, and one instruction is to
 * blame for that. THE RULES (tests/oracle/topdown_slow.h asks them anew for each cycle):
 * (1) A slot that a micro-op took retires: there are no wrong paths. An instruction with more
 *     micro-ops than width takes a whole cycle.
 * (2) In a cycle in which the front end had no instruction to give, empty slots are the front
 *     end's: the last cycles before the instruction came, as many as its miss in the instruction
 *     cache took, are that miss's; what is before them is bad speculation if a mispredicted branch
 *     stood before the instruction, a resteer if a branch that only the decoder found did (or
 *     nothing: the run begins), else bandwidth. The branch is to blame, else the instruction.
 *     But the wrong path would have filled the reorder buffer in rob / width cycles. If the branch
 *     takes longer than that to complete, the cycles from then until it has are those of (5).
 * (3) Where the instruction was there, and did not fit into what was left of the cycle, that is
 *     front-end bandwidth, too.
 * (4) All other empty slots are the back end's. If the instruction waits for a serialising one to
 *     commit, or is one itself and waits for all before it: serialising, and the serialising one is
 *     to blame. If it waits for room in the store queue, and the store that has to leave it has
 *     committed: store.
 * (5) Else the oldest instruction that has not committed is to blame. It is asked what it did a
 *     cycle before (to commit takes one). It waited for the data of a load: L1, L2, L3 or DRAM,
 *     where they, or the line they are in, came from. Or it was in the divider (or square root);
 *     or it was a serialising one. Or anything else - ports, latencies: ports.
 *     If all have committed, the instruction itself is to blame: ports.
 * (6) Behind the last instruction, until it commits, empty slots are those of (5).
 * So the slots of all leaves sum up to width * cycles, and so do those of all instructions. */
#ifndef PM_ANALYSE_CORE_SLOTS_H
#define PM_ANALYSE_CORE_SLOTS_H

#include <stdbool.h>

#include "analyse/core.h"

/* What is known about an instruction that has been dispatched, as far as (5) asks: the cycle of its
 * commit, and the low halves of earlier ones, which are less than 2^32 before. */
struct core_slots_head {
	uint64_t commit;
	uint32_t load, data;		/* the load whose data came last: issued, arrived */
	uint32_t exec, done;		/* in its port */
	bool loads;			/* there is such a load */
	uint8_t level;			/* where the data came from */
	uint8_t busy;			/* enum pm_core_slot while in its port */
};

/* An instruction that is about to be dispatched, and how it came to that. */
struct core_slots_wait {
	uint64_t pc;
	uint64_t before;		/* cycle in which the one before was dispatched */
	uint64_t came;			/* ... the front end had it */
	uint64_t missed;		/* ... without its miss in the instruction cache */
	uint64_t resolved;		/* ... the branch before had completed */
	uint64_t serial;		/* until then something serialising is waited for */
	uint64_t serial_pc;		/* ... which */
	uint64_t store, store_left;	/* a full store queue: its oldest has committed, has left */
	uint64_t dispatch;
	uint64_t branch_pc;
	uint8_t branch;			/* enum pm_core_slot: what the branch before is to blame
					 * for; SLOT_bandwidth: nothing */
	uint8_t used, uops;		/* slots in cycle `before`; ... that it needs */
};

struct core_slots {
	uint64_t total[PM_CORE_SLOTS];
	uint32_t width;
	struct core_slots_head *ring;	/* the last `size` instructions, in 2^n places */
	uint64_t *pc;			/* theirs, if @blame wants to know */
	uint32_t size, mask;
	uint64_t n, oldest;		/* so far; all before @oldest have committed */
	void (*blame)(void *ctx, uint64_t pc, enum pm_core_slot why, uint64_t slots);
	void *ctx;
};

void core_slots_init(struct core_slots *s, uint32_t width, uint32_t rob);
void core_slots_release(struct core_slots *s);
/* The slots before instruction @n, then the @slots that it takes, which the caller counts: what
 * becomes of it is his to fill in. */
void core_slots_before(struct core_slots *s, uint64_t n, const struct core_slots_wait *w);
static inline void core_slots_retire(struct core_slots *s, uint64_t n, uint64_t pc, unsigned slots)
{
	if (!s->blame)
		return;
	s->blame(s->ctx, pc, PM_CORE_SLOT_retiring, slots);
	s->pc[n & s->mask] = pc;
}
/* The same where fetch alone was in the way, and fetch went straight on: @cycles since that of the
 * one before, which has @used slots. Nobody is told whom to blame. */
static inline void core_slots_fetch(struct core_slots *s, uint64_t cycles, uint32_t used)
{
	s->total[PM_CORE_SLOT_bandwidth] +=
		cycles * s->width - (used < s->width ? used : s->width);
}
static inline struct core_slots_head *core_slots_at(struct core_slots *s, uint64_t n)
{
	return s->ring + (n & s->mask);
}
/* (6): there are @n. The last one was dispatched in cycle @dispatch, which has @used slots, and
 * commits in @commit. */
void core_slots_end(struct core_slots *s, uint64_t n, uint64_t dispatch, unsigned used,
		    uint64_t commit);

#endif
