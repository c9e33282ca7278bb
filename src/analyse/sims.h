/* SPDX-License-Identifier: MIT */
/* sims.h - the simulators by name: what `pugmark sim` and `pugmark run --sim NAME:CONFIG` offer
 *
 * A specification is NAME[:CONFIG], as for every sink: pm_sink_add(pipeline, spec, pm_sims,
 * err). */
#ifndef PM_ANALYSE_SIMS_H
#define PM_ANALYSE_SIMS_H

#include <stdbool.h>

#include "pugmark/pugmark.h"

extern const struct pm_sink_ops *const pm_sims[];	/* NULL-terminated */

/* The usual set, each as a specification, in the order in which a report shows them;
 * NULL-terminated. Those whose needs a trace does not meet are to be left out. */
extern const char *const pm_sims_usual[];
/* The simulator that a specification names, NULL: none of them. */
const struct pm_sink_ops *pm_sim_of(const char *spec);

/* Can it simulate a trace with @facts? Requests for objects are no addresses. */
bool pm_sim_suits(const struct pm_sink_ops *ops, uint32_t facts);
/* What pm_pipeline_start() does not say of the simulators in @p: that objects are no addresses. */
struct pm_pipeline;
enum pm_status pm_sims_check(const struct pm_pipeline *p, uint32_t facts, const char *plural,
			     struct pm_err *err);

/* Which results are alike: one more when a simulator begins to say something else. */
unsigned pm_sim_version(const struct pm_sink_ops *ops);
/* Is it `cache` or `tlb`? */
bool pm_sim_is_cache(const struct pm_sink_ops *ops);
/* The configuration in @spec, terminated, in place of what @to held: of caches and TLBs in one
 * notation with all that is left out (the same text if they are the same); of others as it was
 * written. */
struct pm_buf;
enum pm_status pm_sim_canonical(const char *spec, struct pm_buf *to, struct pm_err *err);
/* Is @spec a simulator and a configuration of it? Costs as little as that can. Any thread may ask
 * at any time about caches and TLBs, one at a time about others. */
enum pm_status pm_sim_try(const char *spec, struct pm_err *err);

/* Simulate the trace at @path by @threads threads with those of @p's simulators that can be
 * split (split.h); they get no batches then. @p has started. *left: how many sinks still need them;
 * into @names, terminated, what these are called. *why: NULL, or why nothing could be split. */
struct pm_pipeline;
void pm_sims_split(struct pm_pipeline *p, const char *path, unsigned threads, size_t *left,
		   struct pm_buf *names, const char **why);

/* What the simulator @self of @ops blames on instructions, after its finish(): into @c. False: it
 * does not tell instructions apart (see pm_sim_tells()). */
struct pm_costs;
bool pm_sim_costs(const struct pm_sink_ops *ops, void *self, struct pm_costs *c);
bool pm_sim_tells(const struct pm_sink_ops *ops);
bool pm_sim_tells_executions(const struct pm_sink_ops *ops);	/* its first column is Ir */
/* The same as costs of calls: a second simulator, configured as the sink @self of @ops is, that
 * counts in its stead what each piece costs. False: it tells nothing apart. m->n costs in the order
 * of its columns; @m belongs to the caller, who gives it back. */
struct pm_calls_meter;
bool pm_sim_meter(const struct pm_sink_ops *ops, const void *self, struct pm_calls_meter *m);
void pm_sim_meter_free(const struct pm_sink_ops *ops, struct pm_calls_meter *m);
/* Where the simulator looks names up, NULL if it names nothing: for pm_names_add(). */
struct pm_names;
struct pm_names *pm_sim_names(const struct pm_sink_ops *ops, void *self);

#endif
