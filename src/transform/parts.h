/* SPDX-License-Identifier: MIT */
/* parts.h - many parts of one trace to a file each, in one pass
 *
 * Each part is what slice.h makes of these instructions of the whole trace. Parts may overlap. */
#ifndef PM_TRANSFORM_PARTS_H
#define PM_TRANSFORM_PARTS_H

#include "trace/pipeline.h"

struct pm_part {
	uint64_t from, count;		/* instructions over all streams */
	const char *path;		/* the .pug that it becomes; borrowed */
};

extern const struct pm_sink_ops pm_parts_ops;
/* @cut: @n of them, ascending by `from`; borrowed. @facts and @plural: the source's. @p: whose
 * names and info the files get; borrowed, it is the pipeline that this sink goes into. */
void *pm_parts_new(const struct pm_part *cut, size_t n, uint32_t facts, const char *plural,
		  const struct pm_pipeline *p);
/* All parts are complete. */
bool pm_parts_done(const void *self);
/* Instructions that have come. */
uint64_t pm_parts_insns(const void *self);

#endif
