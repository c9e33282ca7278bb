/* SPDX-License-Identifier: MIT */
/* tally.h - events by kind and executed instructions of a run of events */
#ifndef PM_TRACE_TALLY_H
#define PM_TRACE_TALLY_H

#include "pugmark/pugmark.h"

struct pm_tally {
	uint64_t kind[PM_EV_COUNT];
	uint64_t insns;			/* PM_EV_INSN, and what blocks say */
};

/* In each entry 1 in twelve bits of the kind's own, for those that make up nearly everything. */
#define PM_TALLY_BITS	12
static const uint64_t pm_tally_one[256] = {
	[PM_EV_BLOCK] = 1, [PM_EV_READ] = 1ull << 12, [PM_EV_WRITE] = 1ull << 24,
	[PM_EV_MODIFY] = 1ull << 36,
	[PM_EV_INSN] = 1ull << 48,
};
static const uint64_t pm_tally_value[256] = { [PM_EV_BLOCK] = UINT64_MAX }; /* whose value counts */

/* HOT: no table in memory that equal neighbours would have to wait for. */
static inline uint64_t pm_tally_add(struct pm_tally *to, const struct pm_event *ev, size_t n)
{
	static const uint8_t common[] = { PM_EV_BLOCK, PM_EV_READ, PM_EV_WRITE, PM_EV_MODIFY,
		PM_EV_INSN };
	const uint64_t mask = (1u << PM_TALLY_BITS) - 1;
	uint64_t insns = 0;

	while (n) {
		const size_t run = n < mask ? n : mask;
		uint64_t a[2] = { 0, 0 }, v[2] = { 0, 0 }, seen = 0;
		size_t i = 0;

		for (; i + 2 <= run; i += 2) {
			a[0] += pm_tally_one[ev[i].kind];
			v[0] += ev[i].value & pm_tally_value[ev[i].kind];
			a[1] += pm_tally_one[ev[i + 1].kind];
			v[1] += ev[i + 1].value & pm_tally_value[ev[i + 1].kind];
		}
		if (i < run) {
			a[0] += pm_tally_one[ev[i].kind];
			v[0] += ev[i].value & pm_tally_value[ev[i].kind];
		}
		a[0] += a[1];
		insns += v[0] + v[1] + (a[0] >> 48 & mask);
		for (unsigned k = 0; k < sizeof common; k++) {
			uint64_t times = a[0] >> PM_TALLY_BITS * k & mask;

			to->kind[common[k]] += times;
			seen += times;
		}
		for (i = 0; seen < run; i++)
			if (!pm_tally_one[ev[i].kind]) {
				if (ev[i].kind < PM_EV_COUNT)
					to->kind[ev[i].kind]++;
				seen++;
			}
		ev += run;
		n -= run;
	}
	to->insns += insns;
	return insns;
}

#endif
