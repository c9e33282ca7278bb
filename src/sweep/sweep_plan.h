/* SPDX-License-Identifier: MIT */
/* sweep_plan.h - which simulations a sweep is made of: traces, times regions, times configurations
 *
 * A plan is a text file of lines KEY = VALUE or KEY NAME = VALUE. A line that begins with white
 * space continues the one before. What follows a # is a comment.
 *
 *	trace gzip = traces/gzip.pug	a trace, and what it is called
 *	traces = traces/x*.pug more/y	more, called as their files are
 *	format = champsim		of all traces; without it each is recognised
 *	base = /data			the folder that paths are relative to; else the plan's
 *	region middle = 10m..20m	instructions from..before, counted over all threads;
 *					or `all`.
 *					Without any: the whole trace
 *	let size = 16k..64k*2		a parameter: $size stands for its value
 *	sim l2 = cache:l1d=$size,8way;l2=256k..4m*2,8|16way
 *					a simulator and its configuration, as `pugmark sim --sim`
 *					takes them, with parameters (values.h)
 *
 * A parameter that stands where it is used is called after its place: l2, l2.way, l2.prefetch.
 *
 * Numbers    Nothing is stored for a job: its number says all. Jobs are numbered by trace, then
 *            region, then configuration, the last running fastest; of a configuration's parameters
 *            the last does.
 * Ownership  everything is in the plan's arena until sweep_plan_release(). */
#ifndef PM_SWEEP_PLAN_H
#define PM_SWEEP_PLAN_H

#include "base/values.h"

#define SWEEP_JOBS 1000000000ull	/* of a plan, at most */

struct sweep_trace { const char *name, *path; };
struct sweep_region { const char *name; uint64_t from, to; };	/* to UINT64_MAX: the end */
struct sweep_param {
	const char *name;
	struct pm_values values;
	unsigned line;
	bool used;			/* by a simulator */
};

struct sweep_sim {
	const char *name, *text;	/* as it was written */
	unsigned line;
	/* piece[i].text, then the value of parameter piece[i].param, -1: none */
	struct sweep_piece { const char *text; int param; } *piece;
	size_t npiece, cap_piece;
	int *param;			/* the different ones, in order; indices into the plan's */
	size_t nparam, cap_param;
	uint64_t first, n;		/* its configurations */
};

struct sweep_plan {
	struct pm_arena mem;
	const char *base, *format;	/* format NULL: by content */
	struct sweep_trace *trace;
	struct sweep_region *region;
	struct sweep_param *param;
	struct sweep_sim *sim;
	size_t ntrace, nregion, nparam, nsim, cap_trace, cap_region, cap_param, cap_sim;
	size_t nlet;			/* the first parameters are those of `let` */
	uint64_t nconfig, njob;
};

/* Read the plan in @path. Errors name the line. Configurations are not tried. */
enum pm_status sweep_plan_read(struct sweep_plan *p, const char *path, struct pm_err *err);
/* Try each configuration: an error names the line of the first that is wrong. @tell (or NULL) is
 * told now and then how many have been tried. */
enum pm_status sweep_plan_try(const struct sweep_plan *p, void (*tell)(void *arg, uint64_t n),
			      void *arg, struct pm_err *err);
/* It again as text that means the same wherever it is read, with no patterns of files. */
void sweep_plan_text(const struct sweep_plan *p, struct pm_buf *to);
void sweep_plan_release(struct sweep_plan *p);

struct sweep_job { size_t trace, region; uint64_t config; };
struct sweep_job sweep_plan_job(const struct sweep_plan *p, uint64_t number);
uint64_t sweep_plan_number(const struct sweep_plan *p, const struct sweep_job *j);
/* Whose configuration @config is. */
const struct sweep_sim *sweep_plan_sim(const struct sweep_plan *p, uint64_t config);
/* NAME:CONFIG, terminated, in place of what @to held. */
void sweep_plan_spec(const struct sweep_plan *p, uint64_t config, struct pm_buf *to);
/* Value of that simulator's parameter @i (index into sim->param) in @config. */
size_t sweep_plan_value(const struct sweep_plan *p, const struct sweep_sim *sim, size_t i,
			uint64_t config);
/* "all" or "A..B" into @buf, which is returned. */
const char *sweep_region_text(const struct sweep_region *r, char buf[static 48]);

#endif
