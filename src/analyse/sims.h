/* SPDX-License-Identifier: MIT */
/* sims.h - the simulators by name: what `pugmark sim` and `pugmark run --sim NAME:CONFIG` offer
 *
 * A specification is NAME[:CONFIG], as for every sink: pm_sink_add(pipeline, spec, pm_sims, err). */
#ifndef PM_ANALYSE_SIMS_H
#define PM_ANALYSE_SIMS_H

#include <stdbool.h>

#include "pugmark/pugmark.h"

extern const struct pm_sink_ops *const pm_sims[];	/* NULL-terminated */

/* What the simulator @self of @ops blames on instructions, after its finish(): into @c. False: it does
 * not tell instructions apart (see pm_sim_tells()). */
struct pm_costs;
bool pm_sim_costs(const struct pm_sink_ops *ops, void *self, struct pm_costs *c);
bool pm_sim_tells(const struct pm_sink_ops *ops);

#endif
