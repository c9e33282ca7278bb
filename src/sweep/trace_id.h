/* SPDX-License-Identifier: MIT */
/* trace_id.h - what a trace contains, as a number: two files with the same contents have the same
 *
 * Of a .pug trace it is SHA-256 over the headers of its chunks, code tables and streams, which have
 * a checksum of what follows each (docs/formats/pug.md): a few kilobytes are read. The description
 * (which program, when) is not part of it. Of any other file it is SHA-256 over all bytes.
 *
 * Errors     name the file. */
#ifndef PM_SWEEP_TRACE_ID_H
#define PM_SWEEP_TRACE_ID_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sha256.h"

struct sweep_trace_id {
	uint8_t sum[PM_SHA256];
	uint64_t insns;			/* 0: not known */
	/* of the file, to notice that it changes */
	uint64_t size, inode;
	int64_t mtime;			/* ns */
};

enum pm_status sweep_trace_identify(const char *path, struct sweep_trace_id *id,
				    struct pm_err *err);
/* Is the file @st as it was when @id was made? By size, time of change and inode. */
bool sweep_trace_same(const struct sweep_trace_id *id, const struct stat *st);

/* Identities on disk, so that large files are read once: lines in the file @path. */
struct sweep_trace_ids {
	struct sweep_trace_id *id;	/* by trace */
	bool *known;
	size_t n;
};
struct sweep_plan;
/* Those of all traces of @p: from the file @path where they are still true, else from the traces;
 * then kept there, if its folder is there. A trace that cannot be read is an error. */
enum pm_status sweep_trace_ids_get(struct sweep_trace_ids *ids, const struct sweep_plan *p,
				   const char *path, struct pm_err *err);
/* Keep them in the file @path; if that fails, they will be found again. */
void sweep_trace_ids_keep(const struct sweep_trace_ids *ids, const struct sweep_plan *p,
			  const char *path);
/* That of trace @i again. */
enum pm_status sweep_trace_ids_renew(struct sweep_trace_ids *ids, const struct sweep_plan *p,
				     size_t i, struct pm_err *err);
void sweep_trace_ids_release(struct sweep_trace_ids *ids);

#endif
