/* SPDX-License-Identifier: MIT */
/* bounds_work.h - the simulator `bounds`: private to bounds*.c
 *
 * bounds_pass.c has the lanes of one pass: it looks up what no lane's time changes, and has eight
 * lanes at once go through the operations (bounds_run.c; what ports, schedulers and lines on their
 * way need is done lane by lane, in bounds_ports.h). bounds.c has the configurations, and what
 * came out.
 *
 * Times are cycles in 32 bits. Each lane has its own origin, which moves along (bounds_pass.c). */
#ifndef PM_ANALYSE_BOUNDS_WORK_H
#define PM_ANALYSE_BOUNDS_WORK_H

#include "analyse/bounds.h"
#include "analyse/core_work.h"

#define BOUNDS_FREE	INT32_MAX	/* a resource that is not limited */
#define BOUNDS_ROB	4096		/* what core_conf.c allows at most */
#define BOUNDS_WINDOWS	256		/* that are kept until the configurations are told */

/* ---- eight lanes ---------------------------------------------------------------------------- */

#define LANES 8
typedef int32_t lanes_t __attribute__((vector_size(4 * LANES)));

#define BOUNDS_FAR	(1 << 22)	/* (2): cycles that a line may have to wait */
/* Tables of words stored and of lines on their way, as in core.h (3). */
#define BOUNDS_WORDS	1024
#define BOUNDS_LINES	4096
#define BOUNDS_UOPS	8192		/* remembered: more than BOUNDS_ROB and an operation */
#define BOUNDS_PLACES	2048		/* of the other queues, which have at most 1024 */

/* Of a lane with ports or a scheduler: cycles from that of dispatch on, as in core.c. */
struct bounds_calendar {
	uint32_t *v, mask, from;
	uint32_t waiting;		/* iq: operations that have not issued */
	struct { uint32_t from, to; } full[PM_CORE_CLASS_COUNT + 2];
};

/* One lane's rare parts. */
struct bounds_lane {
	struct pm_core_conf c;
	uint32_t ports[PM_CORE_CLASS_COUNT + 2];	/* 0: not limited */
	bool has_iq, has_mshr;
	struct bounds_calendar calendar;
	uint32_t *line, nline;		/* heap of lines on their way, the first to come on top */
};

/* Where the last operation has left eight lanes. */
struct bounds_now { lanes_t fetch, insns, bytes, dispatch, slots, commit, commit_slots, done; };

enum { BOUNDS_LOAD = PM_CORE_CLASS_COUNT, BOUNDS_STORE };	/* as classes */
struct bounds_group {
	lanes_t reg[PM_CORE_REGS + 2];
	struct bounds_now now;
	lanes_t written, barrier, mem_free, ended;
	/* the configuration */
	lanes_t most_insns, most_bytes, front, bubble, width, gap, forward, lat[4];
	lanes_t queue_size, rob_size, lq_size, sq_size;
	uint32_t *column[LANES];	/* cycles of windows, NULL: nobody wants this lane */
	bool varied_queue, varied_rob, has_lq, has_sq, has_mshr;
	/* bits: lanes whose scheduler is limited; ... whose ports for a class are */
	uint8_t scheduled, reserving[PM_CORE_CLASS_COUNT + 2];
	struct bounds_lane lane[LANES];
	lanes_t *rob, *queue, *lq, *sq;	/* rings, as in core.c: commit, dispatch, commit, written */
	lanes_t *line, *word;		/* a line comes; a word's store issued */
};

/* A load, as no lane's time changes it. */
struct bounds_load {
	uint16_t line;			/* place in group.line, if it misses or waits */
	uint16_t wait;			/* cycles of paging */
	uint8_t level, words;		/* words: so many places of bounds_batch.word follow */
	bool stored;			/* a store may have it: (2) of bounds.h */
	bool waits;			/* for a line that may be on its way */
};
struct bounds_store { uint16_t word, wait; uint8_t words, level; };

struct bounds_batch {
	const struct core_insn *op;
	size_t n;
	uint64_t ninsn, nuop, nload, nstore;	/* before it */
	uint32_t window, in_window;		/* instructions of a window; of the open one */
	uint32_t first;				/* the open window's place in @column */
	struct bounds_load load[4 * CORE_GATHER + 1];
	struct bounds_store store[4 * CORE_GATHER + 1];
	uint16_t word[9 * (4 * CORE_GATHER + 1)];
};

/* bounds_run.c: @g and @h, unless it is NULL, go through all operations of @b; cycles of windows
 * that end go to the columns. */
void bounds_run(struct bounds_group *g, struct bounds_group *h, const struct bounds_batch *b);
/* ... as it does where the processor has no AVX2. */
void bounds_run_plain(struct bounds_group *g, struct bounds_group *h, const struct bounds_batch *b);

/* bounds_ports.c: what lanes with a calendar, or a heap of lines, do by themselves. @d, @t: when it
 * could be at first, in and out. */
void bounds_dispatch(struct bounds_group *g, lanes_t *d, unsigned entries);
/* A port; the cycle of dispatch is @now. */
void bounds_reserve(struct bounds_group *g, const lanes_t *now, unsigned class, unsigned busy,
		    lanes_t *t);
void bounds_leave(struct bounds_group *g, const lanes_t *t);	/* the scheduler */
void bounds_line(struct bounds_group *g, lanes_t *start);
void bounds_line_comes(struct bounds_group *g, const lanes_t *data);
/* The origin of the lane's times moves by @by, a multiple of any calendar's length. */
void bounds_move_lane(struct bounds_lane *k, uint32_t by);

/* ---- a pass --------------------------------------------------------------------------------- */

struct bounds_member {
	void (*told)(void *self, size_t windows);	/* columns have so many */
	void *self;
};

#define BOUNDS_BUCKETS 256		/* of cycles in a window: bounds_bucket_value() */
struct bounds_total {
	struct pm_core_conf c;
	enum pm_bounds_resource resource;	/* that is limited */
	uint32_t *column;		/* cycles of the windows that are not told yet */
	uint64_t cycles;
	uint64_t bucket[BOUNDS_BUCKETS];
};

/* Times that are later than @late let the origin move to @behind before dispatch: what was then is
 * over. It moves by multiples of @step, which is more than the cycles of any calendar. */
struct bounds_origin { int32_t late, behind, step; };

struct bounds_pass {
	void (*run)(struct bounds_group *g, struct bounds_group *h, const struct bounds_batch *b);
	struct bounds_origin origin;
	struct bounds_group **group;
	size_t ngroup, cap_group;
	struct bounds_total *lane;
	size_t nlane, cap_lane;
	struct pm_map lane_at;		/* by what it is */
	struct bounds_batch batch;
	uint64_t windows;
	uint64_t issues[PM_CORE_CLASS_COUNT], loads, stores;	/* operations by where they issue */
	uint64_t of_alu[8 + 1], of_vec[8 + 1];	/* (5) for so many; 0: not known yet */
	/* tables of core.h (3), without times: which word or line is there, + 1 */
	uint64_t word[BOUNDS_WORDS], line[BOUNDS_LINES];
	struct bounds_member *member;
	size_t nmember, cap_member;
	bool begun, over;
};

struct bounds_pass *bounds_pass_new(uint32_t window);
void bounds_pass_free(struct bounds_pass *p);
/* The lane in which @resource is limited as in @c. Before the first operation. */
size_t bounds_lane_of(struct bounds_pass *p, const struct pm_core_conf *c,
		      enum pm_bounds_resource resource);
/* At the end of each BOUNDS_WINDOWS windows, and at the end, columns have their cycles. */
void bounds_pass_tell(struct bounds_pass *p, void (*told)(void *self, size_t windows), void *self);
/* As core_run() takes them; rules say classes, registers and micro-ops. */
void bounds_pass_run(struct bounds_pass *p, const struct core_insn *op, size_t n,
		     const struct core_ref *load, const struct core_ref *store);
/* No operation follows. */
void bounds_pass_end(struct bounds_pass *p);
/* (5): cycles that the ports of @c take at least for what has issued. Behind the end. */
uint64_t bounds_of_ports(struct bounds_pass *p, const struct pm_core_conf *c);
/* The least value of bucket @k. */
uint64_t bounds_bucket_value(unsigned k);

#endif
