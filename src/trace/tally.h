/* SPDX-License-Identifier: MIT */
/* tally.h - events by kind and executed instructions of a run of events */
#ifndef PM_TRACE_TALLY_H
#define PM_TRACE_TALLY_H

#include <string.h>

#include "pugmark/pugmark.h"

struct pm_tally {
	uint64_t kind[PM_EV_COUNT];
	uint64_t insns;			/* PM_EV_INSN, and what blocks say */
};

/* HOT: four tables, so that equal neighbours do not wait for each other's store. @n < 2^32. */
static inline uint64_t pm_tally_add(struct pm_tally *to, const struct pm_event *ev, size_t n)
{
	uint32_t t[4][256];
	uint64_t insns = 0;
	size_t i = 0;

	memset(t, 0, sizeof t);
	for (; i + 4 <= n; i += 4) {
		t[0][ev[i].kind]++;
		t[1][ev[i + 1].kind]++;
		t[2][ev[i + 2].kind]++;
		t[3][ev[i + 3].kind]++;
		insns += ev[i].kind == PM_EV_BLOCK ? ev[i].value : 0;
		insns += ev[i + 1].kind == PM_EV_BLOCK ? ev[i + 1].value : 0;
		insns += ev[i + 2].kind == PM_EV_BLOCK ? ev[i + 2].value : 0;
		insns += ev[i + 3].kind == PM_EV_BLOCK ? ev[i + 3].value : 0;
	}
	for (; i < n; i++) {
		t[0][ev[i].kind]++;
		insns += ev[i].kind == PM_EV_BLOCK ? ev[i].value : 0;
	}
	for (unsigned k = 0; k < PM_EV_COUNT; k++)
		to->kind[k] += (uint64_t)t[0][k] + t[1][k] + t[2][k] + t[3][k];
	insns += (uint64_t)t[0][PM_EV_INSN] + t[1][PM_EV_INSN] + t[2][PM_EV_INSN] + t[3][PM_EV_INSN];
	to->insns += insns;
	return insns;
}

#endif
