/* SPDX-License-Identifier: MIT */
/* sims.h - the simulators by name: what `pugmark sim` and `pugmark run --sim NAME:CONFIG` offer
 *
 * A specification is NAME[:CONFIG], as for every sink: pm_sink_add(pipeline, spec, pm_sims, err). */
#ifndef PM_ANALYSE_SIMS_H
#define PM_ANALYSE_SIMS_H

#include "pugmark/pugmark.h"

extern const struct pm_sink_ops *const pm_sims[];	/* NULL-terminated */

#endif
