/* SPDX-License-Identifier: MIT */
/* branch_propeller.h - a branch profile as Propeller's layout: in which order clang should put the
 * basic blocks of functions, and lld the functions
 *
 *   clusters  for `clang -fbasic-block-sections=list=FILE`: for each function that was executed its
 *             names, and the ids of its blocks that were, in the order of ext_tsp.h:
 *		v1			clang 17 and later; before:
 *		f NAME ALIAS...		!NAME/ALIAS...
 *		c ID ID...		!!ID ID...
 *             What is not listed clang puts into a section of its own, NAME.cold. The form is that
 *             of the compiler that wrote the map of blocks.
 *   order     for `ld.lld --symbol-ordering-file`: the names of these functions, one a line, in the
 *             order of call_order.h
 *
 * Blocks are known by the map that clang writes (elf/block_map.h). An edge is a jump that was taken
 * from one block of a function to another, or a block that was executed after the one before it. A
 * jump to where a function begins is a call. A function whose name another one has, too, is left
 * out: clang could not tell them apart. */
#ifndef PM_ANALYSE_BRANCH_PROPELLER_H
#define PM_ANALYSE_BRANCH_PROPELLER_H

#include "analyse/branch_profile.h"
#include "base/err.h"

struct pm_propeller {
	struct pm_buf clusters, order;
	size_t functions, blocks;	/* listed */
	size_t unnamed;			/* executed functions that are left out */
};

/* @o's ELF file has to be the one that ran. */
enum pm_status pm_propeller_make(const struct pm_branch_object *o, struct pm_propeller *p,
				 struct pm_err *err);
/* False: o's ELF file is there and has no map of blocks. */
bool pm_propeller_can(const struct pm_branch_object *o);
void pm_propeller_release(struct pm_propeller *p);

#endif
