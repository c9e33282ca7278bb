/* SPDX-License-Identifier: MIT */
/* ref_values.h - a trace of a recording with the value of every load and store (PM_HAS_VALUES)
 *
 * One replay makes the trace of the part that is wanted, in a temporary file, where each reference
 * has its position instead of its value. A second one stops at each, in front of the instruction
 * for what it loads, and behind it for what it stores. Where the trace is read values come in place
 * of positions.
 *
 * A value is that of up to eight bytes, least byte first; of a larger reference it is that of the
 * first eight. Of a PM_EV_MODIFY it is what has been stored.
 *
 * Ownership  the caller closes the source, and gives *@values to its pipeline.
 * Errors     PM_ERR, and @err says why: also what kept a replay from getting to its end.
 * Threads    it runs pm_run(): one at a time. */
#ifndef PM_QUERY_REF_VALUES_H
#define PM_QUERY_REF_VALUES_H

#include "collect/control/process.h"
#include "trace/format.h"

struct values_part {
	uint64_t skip, length;		/* instructions of all threads together; length 0: all */
};

/* @src, which reads the trace, has positions; the transform values_ops, with *@values, makes values
 * of them. It has to be the pipeline's first. @o: how to run, as for query_ask(). */
extern const struct pm_transform_ops values_ops;
enum pm_status values_open(const char *recording, const struct values_part *part,
			   const struct pm_run_opts *o, struct pm_source *src,
			   const struct pm_format **which, void **values, struct pm_err *err);

#endif
