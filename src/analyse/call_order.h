/* SPDX-License-Identifier: MIT */
/* call_order.h - in which order functions should be
 *
 * By Ottoni and Maher, "Optimizing Function Placement for Large-Scale Data-Center Applications",
 * CGO 2017: call-chain clustering (C3), as hfsort and lld have it. The hottest function first, the
 * cluster of each goes behind that of its most frequent caller, so that a call leads a little way
 * forward. Clusters are ordered by density: how often a byte of theirs was executed. */
#ifndef PM_ANALYSE_CALL_ORDER_H
#define PM_ANALYSE_CALL_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct pm_call_function {
	uint64_t size;			/* bytes that were executed at all */
	double executed;		/* bytes, as often as they were */
};
struct pm_call_edge { uint32_t from, to; uint64_t count; };	/* of two functions */

/* Into @order the numbers of @n functions. */
void pm_call_order(const struct pm_call_function *function, size_t n,
		   const struct pm_call_edge *edge, size_t nedge, uint32_t *order);

#endif
