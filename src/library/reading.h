/* SPDX-License-Identifier: MIT */
/* reading.h - an open trace with its transforms, as the rest of the library sees it
 *
 * A trace that is open belongs to one caller: to pm_reader_next(), which pulls, or to a
 * pipeline, which is pushed to by pm_reading_run(). */
#ifndef PM_LIBRARY_READING_H
#define PM_LIBRARY_READING_H

#include "base/result.h"
#include "pugmark/library.h"
#include "trace/format.h"

#define PM_READING_TRANSFORMS 16

struct pm_reading {
	char *path, *format;		/* as the caller has them; format NULL: guessed */
	struct pm_source src;
	const struct pm_format *which;
	char *spec[PM_READING_TRANSFORMS];
	unsigned nspec;
	uint32_t facts;			/* behind the transforms */
	uint64_t bytes;			/* of the file; 0: not known */
	const void *slice;		/* the first that says when it is done; NULL: none */
	bool begun;			/* nothing can be changed any more */
};

/* NULL on error. */
struct pm_reading *pm_reading_open(const char *path, const char *format, struct pm_err *err);
enum pm_status pm_reading_transform(struct pm_reading *r, const char *spec, struct pm_err *err);
/* A pipeline with what the trace says about itself and its transforms; once. NULL on error. */
struct pm_pipeline *pm_reading_pipeline(struct pm_reading *r, unsigned threads,
					struct pm_err *err);
/* Does nothing behind this place belong to what is wanted? */
bool pm_reading_done(const void *r);
/* All of it through @p, which has been started, into @result. */
enum pm_status pm_reading_run(struct pm_reading *r, struct pm_pipeline *p, pm_progress *progress,
			      void *arg, struct pm_result *result, struct pm_err *err);
void pm_reading_close(struct pm_reading *r);		/* NULL is fine */

#endif
