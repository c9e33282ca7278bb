/* SPDX-License-Identifier: MIT */
/* table.h - all results of a sweep as one table: a row for each job
 *
 * Columns: trace, region, simulator (the plan's names), key, status (done, failed, missing), cause
 * (of a failure); the plan's parameters, as text; then every number of the results, called by its
 * path (l2.mpki) without the simulator's own name. What stands in lists stays in the results.
 *
 * A row is in memory at a time, and for plots some numbers of each. */
#ifndef PM_SWEEP_TABLE_H
#define PM_SWEEP_TABLE_H

#include "base/string_table.h"
#include "sweep/sweep_dir.h"
#include "sweep/sweep_plan.h"

struct sweep_table {
	const struct sweep_dir *d;
	const struct sweep_plan *p;
	const struct sweep_trace_ids *ids;
	struct pm_arena mem;
	const char **param;		/* names, in the order of the plan, each once */
	size_t nparam, cap_param;
	struct pm_string_table number;	/* names of the results' numbers, by column */
	bool *whole;			/* each of its values is a whole number */
	size_t cap_whole;
	uint64_t rows, done, failed;
};

enum sweep_status { SWEEP_MISSING, SWEEP_DONE, SWEEP_FAILED };
extern const char *const sweep_status_names[];

struct sweep_row {			/* borrowed until the next */
	uint64_t number;		/* of the job */
	struct sweep_job job;
	const struct sweep_sim *sim;
	char key[SWEEP_KEY + 1];
	enum sweep_status status;
	const char *cause;		/* "": it has not failed */
	const char **param;		/* by column; NULL: this simulator has none */
	double *number_value;		/* by column; NaN: none */
	uint64_t *whole_value;		/* the same, if the column is whole */
};

/* Which columns there are: reads all results. @seen as for sweep_state_read(). */
enum pm_status sweep_table_open(struct sweep_table *t, const struct sweep_dir *d,
				const struct sweep_plan *p, const struct sweep_trace_ids *ids,
				void (*seen)(void *arg, uint64_t n), void *arg, struct pm_err *err);
void sweep_table_release(struct sweep_table *t);
/* Every row, in the order of the plan. */
enum pm_status sweep_table_each(struct sweep_table *t,
				enum pm_status (*row)(void *to, const struct sweep_row *r,
						      struct pm_err *err),
				void *to, struct pm_err *err);
/* Column of a parameter or number, -1: there is none. */
int sweep_table_param(const struct sweep_table *t, const char *name);
int sweep_table_number(const struct sweep_table *t, const char *name);

/* table_files.c: to files, NULL: not wanted; "-" is standard output. */
enum pm_status sweep_table_write(struct sweep_table *t, const char *csv, const char *json,
				 const char *parquet, struct pm_err *err);

#endif
