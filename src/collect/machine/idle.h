/* SPDX-License-Identifier: MIT */
/* idle.h - a transform for traces of the machine: leaves out idle loops and a warm-up
 *
 * An iteration of a short loop is idle if it is provably without effect: it stores nothing, its
 * branches and loads are those of the iteration before (same addresses, same values), and no
 * register that it writes is read in it before it is written. Only something asynchronous can end
 * such a loop. */
#ifndef PM_MACHINE_IDLE_H
#define PM_MACHINE_IDLE_H

#include <stdbool.h>

#include "trace/pipeline.h"

struct idle_config {
	bool big_endian;		/* of the traced machine */
	bool keep;			/* idle iterations are counted, but stay in the trace */
	uint64_t warmup;		/* instructions (idle ones not counted) left out at the
					 * start */
};
struct idle_counts {
	uint64_t total, idle;		/* instructions that came in; that were idle */
};

/* For pm_pipeline_transform(); the pipeline owns what idle_new() returns. */
extern const struct pm_transform_ops idle_ops;
void *idle_new(const struct idle_config *cfg);
const struct idle_counts *idle_counts(const void *self);	/* borrowed */

#endif
