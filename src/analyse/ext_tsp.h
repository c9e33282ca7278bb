/* SPDX-License-Identifier: MIT */
/* ext_tsp.h - in which order the basic blocks of a function should be
 *
 * By Newell and Pupyrev, "Improved Basic Block Reordering", IEEE Trans. on Computers, 2020.
 * An order is as good as the sum of what its edges are worth: an edge that falls through as much
 * as it was taken; a jump forward of up to 1024 bytes, or back of up to 640, as much as a tenth of
 * that, less the farther it is. To find the best order is nearly the travelling salesman's problem;
 * this is the paper's greedy answer. Each block begins as a chain of its own. The two chains are
 * joined that gain the most, one behind the other or one inside the other, until no pair gains.
 *
 * The same input gives the same order on any machine.
 *
 * Units      sizes in bytes, counts in executions. */
#ifndef PM_ANALYSE_EXT_TSP_H
#define PM_ANALYSE_EXT_TSP_H

#include <stddef.h>
#include <stdint.h>

struct pm_tsp_block { uint64_t size, count; };
struct pm_tsp_edge { uint32_t from, to; uint64_t count; };	/* of two blocks, each pair once */

/* Into @order the numbers of @n blocks, 0 first: that is where the function is entered. */
void pm_ext_tsp(const struct pm_tsp_block *block, size_t n, const struct pm_tsp_edge *edge,
		size_t nedge, uint32_t *order);
/* What an order of them is worth. */
double pm_ext_tsp_score(const struct pm_tsp_block *block, size_t n, const struct pm_tsp_edge *edge,
			size_t nedge, const uint32_t *order);

#endif
