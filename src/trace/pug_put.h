/* SPDX-License-Identifier: MIT */
/* pug_put.h - the file around the chunks of a .pug that is written: header, records, index
 *
 * Threads    one at a time. */
#ifndef PM_TRACE_PUG_PUT_H
#define PM_TRACE_PUG_PUT_H

#include "trace/io.h"
#include "trace/pug.h"

struct pug_put {			/* all zero, but for `out` */
	struct pm_output *out;
	uint64_t insns, events, time;	/* of the chunks so far; the caller counts */
	struct pm_buf index;		/* entries of the INDX record */
	uint64_t nindex;
};

struct pug_put_stream {
	uint64_t index, insns;
};

enum pm_status pug_put_header(struct pug_put *f, uint32_t facts, struct pm_err *err);
/* The text of INFO: @level's name, and @info, pairs that end in NULL; NULL: none. */
void pug_put_info(struct pm_buf *to, const char *level, const char *const *info);
/* @insns: of a chunk, else 0. */
enum pm_status pug_put_record(struct pug_put *f, enum pug_tag tag, uint64_t insns,
			      const struct pm_buf *payload, struct pm_err *err);
/* The end: totals, then where every record is; the trailer says where that is. */
enum pm_status pug_put_index(struct pug_put *f, const uint64_t kind[PM_EV_COUNT],
			     const struct pug_put_stream *stream, size_t nstream,
			     struct ZSTD_CCtx_s *z, struct pm_err *err);
void pug_put_release(struct pug_put *f);

#endif
