/* SPDX-License-Identifier: MIT */
/* traces.h - what the commands that read or write trace files have in common */
#ifndef PM_CLI_TRACES_H
#define PM_CLI_TRACES_H

#include "base/result.h"
#include "cli/cli.h"
#include "trace/format.h"
#include "transform/adapt.h"

/* Print the error; the exit status. */
int traces_fail(const struct pm_err *err);
/* Open @path, which may be "-". 0, or the exit status: the error is printed then. */
int traces_open(const char *path, const char *format, struct pm_source *src,
		 const struct pm_format **which);
/* The same; of a recording see replayed_open_by(). */
int traces_open_by(uint64_t jobs, const char *path, const char *format, struct pm_source *src,
		   const struct pm_format **which);
/* The same; see replayed_open_whole(). */
int traces_open_whole(const char *path, const char *format, struct pm_source *src,
		      const struct pm_format **which);
/* Recording @path, with values: *@values is for values_ops of collect/query/ref_values.h. */
struct values_part;
int traces_open_values(const char *path, const struct values_part *part, struct pm_source *src,
		       const struct pm_format **which, void **values);
/* One note to stderr for each thing that was written without what @from had. */
void traces_note_losses(const struct pm_result *r, uint32_t facts, const char *format,
			const char *out);
/* The results as JSON to @path ("-": stdout). */
int traces_json(const struct pm_result *r, const char *path);
/* The results as text; @to_stderr: standard output is taken by what was written. */
enum pm_status traces_show(const struct pm_result *r, bool to_stderr, struct pm_err *err);
/* What @out wants with @format, NULL: by its name. NULL: the error is printed, and the exit status
 * is 2. */
const struct pm_format *traces_output_format(const char *out, const char *format);
/* The usual simulators, as far as a trace with @facts has what they need. */
enum pm_status traces_add_usual(struct pm_pipeline *p, uint32_t facts, struct pm_err *err);

#endif
