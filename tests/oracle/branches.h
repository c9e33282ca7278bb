/* SPDX-License-Identifier: MIT */
/* oracle/branches.h - made-up branches with what real ones have: loops with fixed and varying trip
 * counts, correlated and biased conditions, calls and returns, switches */
#ifndef ORACLE_BRANCHES_H
#define ORACLE_BRANCHES_H

#include <stdlib.h>

#include "analyse/bpred.h"
#include "random.h"

static inline size_t o_branches(struct pm_br *b, size_t n, uint64_t seed)
{
	struct o_random r = o_random_init(seed);
	uint64_t stack[64], flags = 0;
	unsigned depth = 0;
	size_t k = 0;

#define BR(p, t, f) do {						\
	if (k == n)							\
		return n;						\
	b[k++] = (struct pm_br){ (p), (t), (f), 4 };			\
} while (0)
	while (k < n) {
		unsigned f = o_rnd(&r) % 24;
		uint64_t pc = 0x400000 + f * 0x340 + (f & 3);

		switch (f % 6) {
		case 0: {	/* a loop; the trip count is fixed, or varies */
			unsigned trips = f < 12 ? 5 + f : 1 + o_rnd(&r) % 9;

			for (unsigned i = 0; i < trips; i++) {
				bool odd = i & 1;

				BR(pc + 8, pc + 40, PM_BR_COND | (odd ? PM_BR_TAKEN : 0));
				BR(pc + 60, pc, PM_BR_COND | (i + 1 < trips ? PM_BR_TAKEN : 0));
			}
			break;
		}
		case 1:		/* biased */
			BR(pc, pc + 80, PM_BR_COND | (o_rnd(&r) % 16 ? PM_BR_TAKEN : 0));
			break;
		case 2: {	/* two conditions, and a third that is their exclusive or */
			bool x = o_rnd(&r) & 1, y = o_rnd(&r) % 3 == 0;

			BR(pc, pc + 16, PM_BR_COND | (x ? PM_BR_TAKEN : 0));
			BR(pc + 20, pc + 36, PM_BR_COND | (y ? PM_BR_TAKEN : 0));
			BR(pc + 40, pc + 56, PM_BR_COND | (x != y ? PM_BR_TAKEN : 0));
			flags = flags * 2 + x;
			break;
		}
		case 3:		/* call */
			if (depth < 64) {
				stack[depth++] = pc + 4;
				BR(pc, pc + 0x10000,
				   PM_BR_CALL | PM_BR_TAKEN | (f & 8 ? PM_BR_INDIRECT : 0));
			}
			break;
		case 4:		/* return, mostly to where the call came from */
			if (depth) {
				uint64_t to = stack[--depth];

				BR(0x420000 + f, o_rnd(&r) % 50 ? to : to + 16,
				   PM_BR_RET | PM_BR_TAKEN | PM_BR_INDIRECT);
			}
			break;
		case 5:		/* a switch that depends on earlier conditions */
			BR(pc, pc + 0x20000 + (flags & 7) * 48, PM_BR_INDIRECT | PM_BR_TAKEN);
			BR(pc + 30, pc + 0x100, PM_BR_COND | (flags & 4 ? PM_BR_TAKEN : 0));
			break;
		}
	}
#undef BR
	return k;
}

#endif
