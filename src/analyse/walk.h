/* SPDX-License-Identifier: MIT */
/* walk.h - through parts of a .pug file, by position: who walks says where to stop next, and
 * whether what lies between is wanted
 *
 * Positions count instructions over all streams, from 0. What belongs to an instruction
 * (references, its branch) is delivered with it. What is not wanted is skipped where that saves
 * decoding.
 *
 * Errors     PM_END: the file cannot be read in parts, *why says in which way.
 * Threads    one thread per walk; several walks of one file share nothing. */
#ifndef PM_ANALYSE_WALK_H
#define PM_ANALYSE_WALK_H

#include <stdbool.h>

#include "pugmark/pugmark.h"

struct pm_walk_ops {
	/* The next instruction is number @at. Returns where to stop next (> @at, or UINT64_MAX:
	 * never again), and *wanted: are the instructions up to there? Called first with 0. */
	uint64_t (*stop)(void *ctx, uint64_t at, bool *wanted);
	/* Events of wanted instructions, expanded, of one stream. */
	enum pm_status (*part)(void *ctx, const struct pm_batch *b, struct pm_err *err);
};
/* Ends when the trace does, or when the rest of it is not wanted. */
enum pm_status pm_walk(const char *path, const struct pm_walk_ops *ops, void *ctx,
		       struct pm_err *err);

struct pm_walk_facts {
	uint64_t insns, chunks;
	uint64_t identity;		/* of the file's contents: a hash of its totals */
	uint32_t facts;
	const char *plural;
};
/* Can the file at @path be walked? PM_END: no, and *why says why. */
enum pm_status pm_walk_facts(const char *path, struct pm_walk_facts *f, const char **why,
			     struct pm_err *err);

#endif
