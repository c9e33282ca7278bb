/* SPDX-License-Identifier: MIT */
/* pug_join.h - one .pug of the parts of several files, each of which has traced other parts of the
 * same run
 *
 * Chunks are copied as they are, but for the numbers of code tables: each file has its own. The
 * number of a stream means the same stream in all of them. There is no PM_EV_TIME in them.
 *
 * Ownership  the output, the descriptors and their names stay the caller's, and live as long as the
 *            join; a name as long as @err.
 * Errors     PM_ERR, and @err says why, and where: in which file of parts. What has been written so
 *            far is a .pug that is cut.
 * Trust      the files are what pug_write.c has written just now, and yet they are not believed: a
 *            disk may be full. Checksums are looked at, and every number that leads somewhere.
 *            Columns are copied; whoever reads the whole checks them.
 * Threads    one at a time. */
#ifndef PM_TRACE_PUG_JOIN_H
#define PM_TRACE_PUG_JOIN_H

#include "trace/io.h"

struct pug_join;

/* @info: as struct pm_write_opts has it; @level: the name of how the chunks are packed. NULL and
 * @err: it cannot be written. */
struct pug_join *pug_join_new(struct pm_output *out, uint32_t facts, const char *level,
			      const char *const *info, struct pm_err *err);
struct pug_parts {			/* a file of them */
	unsigned number;		/* each has another one */
	int fd;
	const char *name;		/* what it is called in errors */
};
/* The records of @f from byte @from to byte @to, which pug_write_mark() has told. Parts of a file
 * come in its order. */
enum pm_status pug_join_part(struct pug_join *j, const struct pug_parts *f, uint64_t from,
			     uint64_t to, struct pm_err *err);
/* Nothing more comes. */
enum pm_status pug_join_finish(struct pug_join *j, struct pm_err *err);
uint64_t pug_join_insns(const struct pug_join *j);		/* in the chunks so far */
/* Events of each kind: what the index of @f, a whole file, says, is added. */
enum pm_status pug_join_count(struct pug_join *j, const struct pug_parts *f, struct pm_err *err);
const uint64_t *pug_join_kinds(const struct pug_join *j);
void pug_join_free(struct pug_join *j);			/* NULL is fine */

#endif
