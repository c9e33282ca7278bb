/* SPDX-License-Identifier: MIT */
/* adapt.h - what lies between any source and any sink: what the source says about itself is passed
 * on, and what the sink needs is made of what there is */
#ifndef PM_TRANSFORM_ADAPT_H
#define PM_TRANSFORM_ADAPT_H

#include "base/result.h"
#include "trace/format.h"

/* A pipeline that knows what @src says about itself (.pug). Its sinks may have threads. */
struct pm_pipeline *pm_adapt_pipeline(struct pm_source *src, const struct pm_format *which);
/* Put in what makes @needs out of @facts: instructions with bytes are cracked into micro-ops.
 * Returns the facts that arrive behind it. Before any other transform or sink that wants them.
 * *@cracker (which may be NULL) is what pm_crack_stats() takes, NULL if nothing had to be
 * cracked. */
uint32_t pm_adapt(struct pm_pipeline *p, uint32_t facts, uint32_t needs, const void **cracker);
/* "cracked": how many instructions became how many micro-ops, by which recipes. NULL @cracker:
 * nothing. */
void pm_adapt_result(struct pm_result *r, const void *cracker);

#endif
