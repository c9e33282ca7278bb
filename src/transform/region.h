/* SPDX-License-Identifier: MIT */
/* region.h - only the interesting parts of a program's run: from one point to another, some of
 * every so many instructions, without some libraries
 *
 * Regions begin and end between blocks (a block that holds the point belongs to what the point
 * begins), for all threads together, in the order in which their events arrive. What is about
 * threads, processes and mappings passes at all times. Where something was left out a stream has a
 * PM_EV_LOST with the number of instructions. */
#ifndef PM_TRANSFORM_REGION_H
#define PM_TRANSFORM_REGION_H

#include <stdbool.h>

#include "trace/pipeline.h"

enum pm_point_kind {
	PM_POINT_NONE,
	PM_POINT_ADDRESS,
	PM_POINT_FUNCTION,
	PM_POINT_COUNT,
	PM_POINT_SIGNAL
};

struct pm_point {
	enum pm_point_kind kind;
	uint64_t value;			/* address, instructions executed so far, signal */
	const char *function;
};

struct pm_region {
	struct pm_point start, stop;	/* a start that is met again after a stop begins anew */
	uint64_t after, length, every;	/* instructions, from the start on; length 0: no end;
					 * every 0: once */
	const char *const *exclude;	/* names of objects as in their paths, up to a dot or
					 * dash */
	unsigned nexclude;
	/* Addresses in the file at @path of the functions that @name means, ascending: *@v is the
	 * caller's to free(). Returns how many. */
	size_t (*find)(void *ctx, const char *path, const char *name, uint64_t **v);
	void *ctx;
};

extern const struct pm_transform_ops pm_region_ops;
/* @r is copied; what it points to is borrowed. */
void *pm_region_new(const struct pm_region *r);
/* What has happened, once the pipeline has finished; indexes: 0 the start, 1 the stop. */
struct pm_region_story {
	uint64_t executed, passed;	/* instructions */
	bool known[2]; /* some file has such a function (all other points are known) */
	bool reached[2];
};
void pm_region_story(const void *self, struct pm_region_story *s);
/* Is it behind us for good? Any thread may ask at any time. */
bool pm_region_over(const void *self);
/* File @i of those that were searched for functions; NULL: there are no more. */
const char *pm_region_file(const void *self, size_t i);
/* "main", "0x401000", "250M" (instructions), "SIGUSR1": false if it is none of these. */
bool pm_point_parse(const char *s, struct pm_point *p);

#endif
