/* SPDX-License-Identifier: MIT */
/* costs.h - what every instruction cost: a row per instruction, a column per event
 *
 * Simulators that know whom to blame put their columns into one table (pm_sim_costs() in sims.h),
 * so that misses, mispredictions and stalls stand side by side. Events are named as callgrind names
 * them (Ir, D1mr, Bcm...); when two simulators use one name the later one's gets a digit behind it,
 * but Ir - executions - is there once.
 *
 * Addresses of different programs are not told apart: a table is about one program. */
#ifndef PM_ANALYSE_COSTS_H
#define PM_ANALYSE_COSTS_H

#include "base/mem.h"

#define PM_COSTS_MAX 64			/* columns */

struct pm_costs {
	struct pm_costs_column {
		char name[24];
		const char *about;
		bool trouble;
		bool own;		/* of instructions alone: no call has a share in it */
	} column[PM_COSTS_MAX];
	unsigned ncolumn;
	struct pm_map at;		/* pc -> row */
	uint64_t *pc;
	uint64_t *v[PM_COSTS_MAX];	/* v[column][row] */
	size_t n, cap;
};

/* A new column, the existing one for Ir; -1: no room. @about is borrowed for ever. @trouble: a
 * miss, a misprediction, a stall - what a short table shows first. */
int pm_costs_column(struct pm_costs *c, const char *name, const char *about, bool trouble);
/* -1: none of that name. */
int pm_costs_find(const struct pm_costs *c, const char *name);
/* The row of @pc: valid until the table is released. */
size_t pm_costs_row(struct pm_costs *c, uint64_t pc);
uint64_t pm_costs_total(const struct pm_costs *c, unsigned column);
void pm_costs_release(struct pm_costs *c);

#endif
