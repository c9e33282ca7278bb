/* SPDX-License-Identifier: MIT */
/* tree_sink.h - the sinks that make a tree of a trace (tree.h)
 *
 * Configuration: top=N (20) functions listed; depth=N (500); contexts=N (4194303); threads: each
 * thread has a tree of its own below [0], named after it; recursion: a function stays in the
 * context in which it was called first, however often it calls itself, by whatever way; lines: of
 * functions, too.
 *
 * `tree` counts instructions; blocks are all that it needs. `tree-costs` also counts what
 * simulators blame instructions for: it needs what they need, and is as slow. */
#ifndef PM_ANALYSE_TREE_SINK_H
#define PM_ANALYSE_TREE_SINK_H

#include "analyse/calls.h"
#include "analyse/tree.h"
#include "trace/chain.h"

extern const struct pm_chain_sink_ops pm_sim_tree;
extern const struct pm_sink_ops pm_sim_tree_costs;

/* `tree-costs`, before the first batch: count what @m measures (calls.h), too, under the names
 * event[0 .. m->n); NULL: not that one. The meter is borrowed. */
void pm_sim_tree_charge(void *self, const struct pm_calls_meter *m,
			const struct pm_tree_event *const *event);
/* The tree of either sink, once it has finished. */
const struct pm_tree *pm_sim_tree_of(const void *self);
/* ... before: its events are known. */
const struct pm_tree *pm_sim_tree_growing(const void *self);
struct pm_names *pm_sim_tree_names(void *self);	/* of `tree-costs`: see sims.h */


struct pm_growing;
/* Of pm_sim_tree, before the pipeline starts: trees that grow elsewhere go there. */
void pm_tree_growing(void *sink, struct pm_growing *g);

#endif
