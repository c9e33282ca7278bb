/* SPDX-License-Identifier: MIT */
/* uops.h - what a course on computer architecture counts first in a micro-op trace
 *
 * uops     micro-ops per macro-op: mean and distribution
 * isize    bytes per macro-op (fall - pc at its first micro-op): mean and distribution
 * brdist   bits that a branch's distance takes, 2 + floor(log2(|target - pc|)), for every micro-op
 *          with a target; and what an instruction set with offsets of `bits=N` (8) would cost: one
 *          instruction more for each branch that needs more
 * mix      loads, stores, unconditional branches (a target, flags not read), conditional branches
 *          (flags read), everything else, in percent of the micro-ops
 * fusion   conditional branches right behind a micro-op that writes the flags: pairs, micro-ops in
 *          pairs, micro-ops saved if a pair were one
 *
 * All need PM_HAS_UOPS. */
#ifndef PM_ANALYSE_UOPS_H
#define PM_ANALYSE_UOPS_H

#include "pugmark/pugmark.h"

extern const struct pm_sink_ops pm_sink_uops, pm_sink_isize, pm_sink_brdist, pm_sink_mix,
	pm_sink_fusion;

#endif
