/* SPDX-License-Identifier: MIT */
/* calls.h - functions, call graph and loops, from the control flow that was executed
 *
 * A function is what calls enter, and signals: named by its entry. When a call ends:
 * trace/call_stack.h. Self: instructions executed in the function; inclusive: also in what it
 * called, recursion counted once. A loop is a backward branch, not a call or return, with its
 * target: taken once per further iteration.
 * Configuration: top=N (20) entries listed. */
#ifndef PM_ANALYSE_CALLS_H
#define PM_ANALYSE_CALLS_H

#include <stdbool.h>

#include "pugmark/pugmark.h"

struct pm_function_count { uint64_t pc, calls, self, inclusive; };
/* entries of caller and callee */
struct pm_edge_count { uint64_t from, to, calls, inclusive; uint32_t id; };
struct pm_loop_count { uint64_t head, tail, back, leave; }; /* branch at tail: taken, not taken */

struct pm_calls;
/* Costs besides instructions. feed() sees all events in order, in pieces that lie in one function's
 * account, and adds what they cost to sum[.n]. @over: the piece ends with an instruction, else that
 * may go on in the next one. True: some of what the last instruction before this piece has to
 * answer for is known only now - a branch that misled fetch - and was put into late[.n], which is
 * all zero before. */
struct pm_calls_meter {
	unsigned n;
	void *self;			/* borrowed until pm_calls_end() */
	bool (*feed)(void *self, const struct pm_batch *piece, bool over, uint64_t *sum,
		     uint64_t *late);
};

struct pm_calls *pm_calls_new(void);
/* One meter more, before the first batch. */
void pm_calls_charge(struct pm_calls *c, const struct pm_calls_meter *m);
void pm_calls_batch(struct pm_calls *c, const struct pm_batch *b);
void pm_calls_end(struct pm_calls *c);		/* everything returns */
const struct pm_function_count *pm_calls_functions(const struct pm_calls *c, size_t *n);
const struct pm_edge_count *pm_calls_edges(const struct pm_calls *c, size_t *n);
/* Inclusive costs of @e, as the meters count them, one behind the other; NULL: there is none. */
const uint64_t *pm_calls_edge_costs(const struct pm_calls *c, const struct pm_edge_count *e);
const struct pm_loop_count *pm_calls_loops(const struct pm_calls *c, size_t *n);
void pm_calls_free(struct pm_calls *c);

extern const struct pm_sink_ops pm_sim_calls;
struct pm_names;
struct pm_names *pm_calls_names(void *self);	/* of the sink: see sims.h */
const struct pm_calls *pm_sim_calls_graph(const void *self); /* of the sink, once it has finished */
void pm_sim_calls_charge(void *self, const struct pm_calls_meter *m);

#endif
