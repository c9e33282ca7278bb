/* SPDX-License-Identifier: MIT */
/* idt_counts.h - what IDtrace's tools tell: from block counters, and from the rep instructions of a
 * trace
 *
 * Results are trees (pugmark.h). Counts need no program beside them: the block table says what each
 * instruction is. */
#ifndef PM_ANALYSE_IDT_COUNTS_H
#define PM_ANALYSE_IDT_COUNTS_H

#include "pugmark/pugmark.h"
#include "trace/idt_files.h"

/* Executed instructions and blocks, how few of them make 90 % of the instructions, the mix. */
void pm_idt_counts(const struct idt_blk *blk, const struct idt_cnt *cnt, struct pm_result *r);

/* "reps": how often rep instructions accessed how many bytes. Wants PM_HAS_REFS and their ends. */
extern const struct pm_sink_ops pm_reps_ops;

#endif
