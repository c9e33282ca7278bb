/* SPDX-License-Identifier: MIT */
/* course.h - the two pipelines that a computer-architecture course asks its students for, on
 * micro-op traces
 *
 * inorder - a scoreboard has a counter per register; a micro-op issues when the counters of both
 * sources are 0; its destination's counter becomes 1, or L for a load; all count down every cycle.
 * `width` micro-ops issue per cycle, in order. Configuration: latency=L (2), width=N (1), sweep
 * (all of latency 1..15 with width 1, and width 1..8 with this latency), debug=FILE: a line per
 * attempt: cycle, number, sources with (Ready) or (NotReady), destination, L/S/-, the scoreboard.
 *
 * ooo - registers are renamed (50 architectural; 49 is the flags; free registers first in first
 * out, from 50 up), a reorder buffer of `rob` micro-ops, `width` per cycle in every stage, the
 * oldest ready ones issue first. In every cycle: commit, issue, fetch and rename. A micro-op issues
 * in the cycle after its fetch at the earliest and when its sources are done; it is done `latency`
 * cycles later (loads: load, and miss more if the data cache misses) and commits then at the
 * earliest, in order. Memory:
 *   mem=ignore        loads wait for no store
 *   mem=conservative  a load waits until all older stores are done
 *   mem=perfect       a load waits until the older stores to its very address are done
 * Fetch ends a cycle's group at a taken branch, and after a mispredicted conditional branch stops
 * until the branch has issued and latency + restart cycles have passed.
 * Configuration: width=N (8) rob=N (128) load=N (4) miss=N (7) restart=N (3) mem=... (perfect)
 * bpred=perfect | a predictor of bpred.h with its sizes (perfect), dcache=SIZE,WAYS,LINE (none:
 * loads always hit), debug=FILE: number, cycles of fetch, issue, done, commit, mappings of sources
 * and destinations, [freed register], opcodes.
 *
 * What neither models: instruction fetch misses, wrong-path work, functional units, store
 * buffers. */
#ifndef PM_ANALYSE_COURSE_H
#define PM_ANALYSE_COURSE_H

#include <stdbool.h>

#include "pugmark/pugmark.h"

struct pm_inorder { uint64_t ready[256], cycle, insns; unsigned latency, width, slots; };
void pm_inorder_init(struct pm_inorder *p, unsigned latency, unsigned width);
void pm_inorder_run(struct pm_inorder *p, const struct pm_uop *u, size_t n);
uint64_t pm_inorder_cycles(const struct pm_inorder *p);

enum pm_ooo_mem { PM_OOO_IGNORE, PM_OOO_CONSERVATIVE, PM_OOO_PERFECT };
struct pm_ooo_conf {
	unsigned width, rob, load, miss, restart;
	enum pm_ooo_mem mem;
};
struct pm_ooo_stats { uint64_t cycles, uops, macros, branches, mispredicted, loads, load_misses; };
struct pm_ooo;
struct pm_ooo *pm_ooo_from(const struct pm_ooo_conf *c);
/* Any may be left out (NULL): then branches are foreseen, loads hit. @predict returns whether the
 * branch is mispredicted, and learns; @miss whether the access misses. */
struct pm_ooo_hooks {
	bool (*mispredict)(void *to, const struct pm_uop *u);
	bool (*miss)(void *to, const struct pm_uop *u);
	void *to;
	/* called at commit, in order */
	void (*commit)(void *to, const struct pm_uop *u, const uint64_t cycle[4],
		       const int map[5][2], const int freed[2]);
};
void pm_ooo_hooks(struct pm_ooo *o, const struct pm_ooo_hooks *h);
void pm_ooo_run(struct pm_ooo *o, const struct pm_uop *u, size_t n);
void pm_ooo_end(struct pm_ooo *o);	/* drain */
const struct pm_ooo_stats *pm_ooo_stats(const struct pm_ooo *o);
void pm_ooo_free(struct pm_ooo *o);

extern const struct pm_sink_ops pm_sim_inorder, pm_sim_ooo;

#endif
