/* SPDX-License-Identifier: MIT */
/* branch_sampler.h - stacks of branches, drawn from the exact counts of a profile
 *
 * A stack has the branches of one sample, newest first, as a processor records them. Each branch
 * and each range between two is expected in proportion to its count.
 *
 * Ownership  branch_sampler_end() releases; the object is borrowed until then.
 * Errors     none.
 * Threads    one at a time. */
#ifndef PM_ANALYSE_BRANCH_SAMPLER_H
#define PM_ANALYSE_BRANCH_SAMPLER_H

#include <linux/perf_event.h>

#include "analyse/branch_file.h"
#include "elf/elf.h"

#define SAMPLER_STACK	32		/* branches in a sample, as Intel's processors keep */

/* Branches by where they went, or ranges by where they end: @item stands for elements of the
 * object's array, ascending by key; @sum are the counts in front of each, and of all. */
struct draw_from {
	struct drawn { uint64_t key, count; uint32_t index; } *item;
	uint64_t *sum;
	size_t n;
};

struct branch_sampler {
	const struct pm_branch_object *o;
	struct pm_branch *branch;	/* the object's, and what it does not have */
	size_t nbranch;
	struct draw_from to, end;	/* branches by `to`, ranges by `hi` */
	uint32_t *drawn;		/* how often each branch has been drawn */
	bool predicted;
	uint64_t chance;		/* the state of xorshift.h */
	uint64_t load;			/* added to an address of the file */
	uint64_t outside;		/* where what is 0 there is */
};

/* @elf: the file of @o. .load and .outside are the caller's to set. */
void branch_sampler_begin(struct branch_sampler *s, const struct pm_branch_object *o,
			  struct pm_elf *elf);
void branch_sampler_end(struct branch_sampler *s);
uint64_t branch_sampler_all(const struct branch_sampler *s);	/* branches that were taken */
/* The stack of sample number @i, counted from 0 on, into @entry; its branches. */
size_t branch_sampler_fill(struct branch_sampler *s, uint64_t i,
			   struct perf_branch_entry entry[static SAMPLER_STACK]);

#endif
