/* SPDX-License-Identifier: MIT */
/* cachegrind.h - the rules of Valgrind's cachegrind, per instruction, function and source line
 *
 * I1 and D1 over a unified LL, all LRU; a reference is one access even where it covers two lines,
 * and one miss if either line was missing; LL is asked when the first level missed, with the whole
 * reference; writes are looked up as reads are; a read-modify-write is a read. Conditional
 * branches: 2^14 two-bit counters starting at 0, by 7 bits of global history over 7 bits of the
 * address; indirect jumps and calls (not returns): the last target in a table of 512 by address.
 *
 * Configuration: i1=SIZE,WAYS,LINE (32k,8way,64), d1=..., ll=... (8m,16way,64), top=N (20
 * instructions and functions). */
#ifndef PM_ANALYSE_CACHEGRIND_H
#define PM_ANALYSE_CACHEGRIND_H

#include <stdbool.h>

#include "trace/chain.h"

#define PM_CG_EVENTS(E)							\
	E(Ir, "instructions executed")					\
	E(I1mr, "instruction fetches that missed I1")			\
	E(ILmr, "... and LL")						\
	E(Dr, "data reads")						\
	E(D1mr, "data reads that missed D1")				\
	E(DLmr, "... and LL")						\
	E(Dw, "data writes")						\
	E(D1mw, "data writes that missed D1")				\
	E(DLmw, "... and LL")						\
	E(Bc, "conditional branches")					\
	E(Bcm, "... mispredicted")					\
	E(Bi, "indirect jumps and calls")				\
	E(Bim, "... mispredicted")
enum pm_cg_event {
#define E(name, about) PM_CG_##name,
	PM_CG_EVENTS(E)
#undef E
	PM_CG_COUNT
};
struct pm_cg_insn { uint64_t pc; uint64_t v[PM_CG_COUNT]; };
struct pm_cg_cache { uint32_t size, ways, line; };

struct pm_cg;
struct pm_cg *pm_cg_new(const struct pm_cg_cache c[3]);	/* I1, D1, LL */
void pm_cg_events(struct pm_cg *g, const struct pm_event *ev, size_t n);
/* The same, and @sum grows by what the events cost. */
void pm_cg_charge(struct pm_cg *g, const struct pm_event *ev, size_t n, uint64_t sum[PM_CG_COUNT]);
/* Blocks as they are, or instructions: the counts are the same. */
enum pm_status pm_cg_batch(struct pm_cg *g, const struct pm_batch *b, struct pm_err *err);
/* The same of a batch that is packed (trace/chain.h). */
enum pm_status pm_cg_packed(struct pm_cg *g, const struct pm_batch *b,
			    const struct pm_packed *packed, struct pm_err *err);
/* The trace is over; only now are the numbers below complete. */
void pm_cg_end(struct pm_cg *g);
const struct pm_cg_insn *pm_cg_insns(const struct pm_cg *g, size_t *n);
void pm_cg_totals(const struct pm_cg *g, uint64_t v[PM_CG_COUNT]);
void pm_cg_config(const struct pm_cg *g, struct pm_cg_cache c[3]);
/* The instructions by qsort()'s comparison @by of struct pm_cg_insn. Only after pm_cg_end(). */
void pm_cg_sort(struct pm_cg *g, int (*by)(const void *, const void *));
void pm_cg_free(struct pm_cg *g);

extern const struct pm_chain_sink_ops pm_sim_cachegrind;
struct pm_names;
struct pm_names *pm_cachegrind_names(void *self);	/* of the sink: see sims.h */
/* What the sink @self blames on instructions: its 13 events. See sims.h. */
struct pm_costs;
void pm_cachegrind_costs(void *self, struct pm_costs *c);
/* Another simulator with the caches of the sink @self, as a meter of its 13 events. See sims.h. */
struct pm_calls_meter;
void pm_cachegrind_meter(const void *self, struct pm_calls_meter *m);
void pm_cachegrind_meter_free(void *self);

#endif
