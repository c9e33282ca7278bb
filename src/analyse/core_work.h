/* SPDX-License-Identifier: MIT */
/* core_work.h - the sink `core`: private to core_*.c
 *
 * core_ops.c knows what instructions are to the core, core_feed.c gathers them and has them timed
 * (core.c), core_results.c says what came out. */
#ifndef PM_ANALYSE_CORE_WORK_H
#define PM_ANALYSE_CORE_WORK_H

#include "analyse/bpred.h"
#include "analyse/cache_sim.h"
#include "analyse/core.h"
#include "analyse/names.h"

struct core_decoders { struct x86_decoder *d[2]; struct pm_forms *f[2]; };

/* pm_core_decode() for many. */
void core_decode_with(struct core_decoders *ds, const uint8_t *bytes, unsigned len, unsigned isa,
		      struct pm_core_static *s);
void core_uop_static(const struct pm_uop *u, struct pm_core_static *s);
void core_decoders_free(struct core_decoders *ds);

/* Per instruction: what it did, and what it is to blame for. */
#define BLAMES(B)								\
	B(Ir, "instructions executed", false)					\
	B(Fm, "fetches that missed the first level", true)			\
	B(Lm, "loads that missed the first level", true)			\
	B(Llm, "loads that went to memory", true)				\
	B(Bm, "mispredictions", true)						\
	B(Cbr, "cycles that commit waited after a misprediction", true)		\
	B(Cfe, "cycles that commit waited for instructions", true)		\
	B(Cme, "cycles that commit waited for missing loads", true)		\
	B(Cst, "cycles that commit waited for the store queue", true)		\
	B(Cco, "cycles that commit waited for latencies and ports", true)
enum {
#define B(name, about, trouble) BLAME_##name,
	BLAMES(B)
#undef B
	BLAME_COUNT
};

struct blamed_row { uint64_t pc, v[BLAME_COUNT], slots[PM_CORE_SLOTS]; };

struct blamed {
	struct pm_map at;
	struct blamed_row *row;
	size_t n, cap;
	struct pm_names names;
};

struct core_sink {
	struct pm_core *k;
	struct pm_core_conf c;
	struct pm_cache *cache;
	struct pm_cache_conf cache_conf;
	const struct pm_bp_ops *bp;
	struct pm_bp_args bp_args;
	void *dir, *btb, *ras, *ittage;
	struct core_decoders ds;
	struct pm_core_static *known;	/* by pm_code.insn; uops 0: not decoded yet */
	size_t cap_known;
	/* the instruction that is being gathered */
	struct pm_core_op op;
	bool open, uops;
	bool timeless;			/* instructions take no time: core_sample.h */
	uint64_t pc, fetch_line;
	uint64_t branches, top;
	struct blamed *by;		/* NULL: not asked for */
	bool topdown;			/* ... slots, too */
	/* as a meter: where costs go, and what belongs to the piece before */
	uint64_t *sum, *late, *misled;	/* misled: of @late and @sum, where the last instruction
					 * is */
	bool any_late;
};

/* The row of an instruction; moves rows. */
struct blamed_row *core_blamed(struct core_sink *s, uint64_t pc);
/* The instruction that is being gathered is complete. */
void core_submit(struct core_sink *s);
/* All instructions have been timed. */
void core_results(struct core_sink *s, struct pm_result *r);

#endif
