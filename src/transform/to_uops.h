/* SPDX-License-Identifier: MIT */
/* to_uops.h - instructions with bytes in, the same with their Penn micro-ops out
 *
 * Behind each instruction's own events (PM_EV_INSN, references, PM_EV_BRANCH) come the PM_EV_UOP of
 * its macro-op: the templates of isa/x86/crack.h with this execution's addresses, outcome and
 * target. A repeated string instruction is one macro-op per iteration; with zero iterations only
 * its counter is looked at. A micro-op that refers to memory is left out if the trace has no
 * address for it (a masked access, an instruction cut short) and counted. References that a
 * template does not foresee (gathers, state saving) repeat its last micro-op of their kind. */
#ifndef PM_TRANSFORM_TO_UOPS_H
#define PM_TRANSFORM_TO_UOPS_H

#include "trace/pipeline.h"

struct pm_crack_stats {
	uint64_t insns;			/* macro-ops: executed instructions, rep iterations each */
	uint64_t uops;
	uint64_t integer, integer_specific;	/* executed, and by a recipe of their own */
	uint64_t other, other_specific;	/* SSE, AVX, x87 */
	uint64_t unknown;		/* not decoded: no micro-ops at all */
	uint64_t missing;		/* micro-ops left out for want of an address */
};

extern const struct pm_transform_ops pm_crack_ops;
void *pm_crack_new(void);
/* Borrowed until the transform is destroyed. */
const struct pm_crack_stats *pm_crack_stats(const void *self);
/* What one mnemonic's generic recipe was used for most; NULL-terminated pairs for a report: the @n
 * macro names executed most often by the generic recipe, with their counts. Returns how many. */
unsigned pm_crack_generic(const void *self, char (*name)[12], uint64_t *count, unsigned n);

#endif
