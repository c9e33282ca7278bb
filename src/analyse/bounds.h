/* SPDX-License-Identifier: MIT */
/* bounds.h - what each resource alone allows a core, in one pass, for any number of cores
 *
 * The idea is that of A. Nasr-Esfahany et al., "Concorde: Fast and Accurate CPU Performance
 * Modeling with Compositional Analytical-ML Fusion", ISCA 2025: what each resource alone allows is
 * found by itself, window by window. Its second half, a network that learned how these go
 * together, is not here: here the strongest limit of a window is what the window takes.
 *
 * THE RULES (tests/oracle/bounds_slow.h has them by plain means)
 * (1) A *lane* is the core of core.h in which one resource is limited, as one configuration has it,
 *     and the others are not. Resources are those of PM_BOUNDS_RESOURCES. What is no resource is
 *     in every lane as the configuration has it: front, bubble, queue, lat, gap, forward; so are
 *     what caches and predictors say. No lane has more than BOUNDS_ROB micro-ops in its reorder
 *     buffer, which is the most that any core may have. One lane, `none`, has no other limit.
 * (2) Rules (1) to (6) of core.h hold, but for these: a load whose word a store before it may still
 *     have in its queue (the table of core.h (3) has the word) gets its data when its own latency
 *     in the first level is over, and not before forward cycles after that store issued; or 3 and
 *     that latency, if these are fewer. A line waits for others for no more than 2^22 cycles. Where
 *     a port is not limited, an operation issues as soon as it is ready, and takes no port.
 * (3) Instructions are cut into windows of `window` of them. A lane's cycles in a window are those
 *     by which its last commit is later than that of the window before.
 * (4) The *estimate* for a configuration sums up, over all windows, the most that any of its
 *     lanes took in it. That lane's resource limited the window; of several, the first in the
 *     list, `none` before all.
 * (5) The *bound* is the largest of: the cycles of those of its lanes that are marked `sure`; and
 *     for ports, of each set of ports, how many operations may issue only there, over how many
 *     ports these are.
 *
 * No core of core.h needs fewer cycles than the bound: in lanes that are sure, each time is the
 * largest of sums of times before it, and the core has all these sums, too, and more of them. Ports
 * and lines on their way are given to who comes first in program order, and there a core with more
 * limits can be luckier: their lanes count for the estimate only. The estimate is none of a bound:
 * windows that two resources limit in turn may overlap in the core.
 *
 * What it does not model is what the core does not, and what resources do to each other within a
 * window. Caches, latencies and predictors are not varied: those are other passes.
 *
 * Configuration: that of `core` without byinsn, topdown and fdip, where numbers may be lists and
 * ranges (base/values.h): every combination is a configuration. window=N (64), top=N: the quickest.
 *
 * Objects in one pipeline whose caches, predictors and windows are the same do one pass together,
 * in which a lane that several need is there once. Each says what it says alone. */
#ifndef PM_ANALYSE_BOUNDS_H
#define PM_ANALYSE_BOUNDS_H

#include "trace/sinks.h"

extern const struct pm_uniting_sink_ops pm_sim_bounds;

/* name, sure, what is limited. In a lane of `fetch` the bytes of a cycle are limited, too. */
#define PM_BOUNDS_RESOURCES(R)								\
	R(none, true, "dependences, latencies, mispredictions, misses in caches")	\
	R(rob, true, "the reorder buffer")						\
	R(iq, true, "the scheduler")							\
	R(lq, true, "the load queue")							\
	R(sq, true, "the store queue")							\
	R(width, true, "micro-ops dispatched and committed per cycle")			\
	R(fetch, true, "instructions and bytes fetched per cycle")			\
	R(alu, false, "integer ports")							\
	R(vec, false, "vector ports")							\
	R(loads, false, "load ports")							\
	R(stores, false, "store ports")							\
	R(mshr, false, "lines on their way")
enum pm_bounds_resource {
#define R(name, sure, about) PM_BOUNDS_##name,
	PM_BOUNDS_RESOURCES(R)
#undef R
	PM_BOUNDS_COUNT
};

#endif
