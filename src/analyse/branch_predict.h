/* SPDX-License-Identifier: MIT */
/* branch_predict.h - would a simple processor have predicted a branch?
 *
 * Conditional branches: 2^14 counters of two bits by (pc ^ history of 14) mod 2^14, as bpred's
 * gshare=14. Indirect jumps and calls: the target of last time, 2^12 by pc. Returns: 32 addresses.
 * Others are always right. free() it. */
#ifndef PM_ANALYSE_BRANCH_PREDICT_H
#define PM_ANALYSE_BRANCH_PREDICT_H

#include <stdbool.h>

#include "base/mem.h"
#include "pugmark/pugmark.h"

#define PREDICT_BITS	14
#define PREDICT_TARGETS	4096u
#define PREDICT_RETURNS	32u

struct branch_predictor {
	uint8_t counter[1 << PREDICT_BITS];
	uint32_t history, depth;
	uint64_t target[PREDICT_TARGETS], back[PREDICT_RETURNS];
};

static inline struct branch_predictor *branch_predictor_new(void)
{
	return pm_alloc(sizeof(struct branch_predictor));
}

static inline bool predict_direction(struct branch_predictor *p, uint64_t pc, bool taken)
{
	const uint32_t mask = (1u << PREDICT_BITS) - 1;
	uint8_t *c = &p->counter[(pc ^ p->history) & mask];
	const bool right = (*c >= 2) == taken;

	if (taken ? *c < 3 : *c > 0)
		*c += taken ? 1 : -1;
	p->history = (p->history << 1 | taken) & mask;
	return right;
}

/* The branch @in went to @to: was that predicted wrong? Learns from it. */
static inline bool branch_predict_misses(struct branch_predictor *p, const struct pm_insn *in,
					 uint64_t to)
{
	uint64_t *last;
	bool right = true;

	if (in->flow == PM_CLASS_CALL || in->flow == PM_CLASS_CALL_IND)
		p->back[p->depth++ % PREDICT_RETURNS] = in->pc + in->len;
	switch (in->flow) {
	case PM_CLASS_COND:
		return !predict_direction(p, in->pc, to != in->pc + in->len);
	case PM_CLASS_RET:
		return p->back[--p->depth % PREDICT_RETURNS] != to;
	case PM_CLASS_JUMP_IND:
	case PM_CLASS_CALL_IND:
		last = &p->target[in->pc % PREDICT_TARGETS];
		right = *last == to;
		*last = to;
	}
	return !right;
}

#endif
