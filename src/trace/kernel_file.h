/* SPDX-License-Identifier: MIT */
/* kernel_file.h - kernel events into a file of their own, beside a trace
 *
 * Units      times are those of the trace
 * Ownership  pm_kernel_file_new()/pm_kernel_file_free().
 * Errors     the first one comes out of pm_kernel_file_finish() at the latest. */
#ifndef PM_TRACE_KERNEL_FILE_H
#define PM_TRACE_KERNEL_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/pipeline.h"

struct pm_kernel_file;

/* The file @path, in the format that its name says, else laplace-events. @source: what messages
 * call the source. */
struct pm_kernel_file *pm_kernel_file_new(const char *path, const char *source, struct pm_err *err);
/* @type: the file type's letter, 0 none. */
void pm_kernel_file_add(struct pm_kernel_file *f, uint64_t time, const struct pm_rare *r,
			uint8_t type);
/* All that was added goes to the file now. */
void pm_kernel_file_push(struct pm_kernel_file *f);
uint64_t pm_kernel_file_events(const struct pm_kernel_file *f);
bool pm_kernel_file_failed(const struct pm_kernel_file *f);
/* Completes the file. If there was not one event, the error is @none, and there is no file. */
enum pm_status pm_kernel_file_finish(struct pm_kernel_file *f, const char *none,
				     struct pm_err *err);
void pm_kernel_file_free(struct pm_kernel_file *f);	/* NULL is fine */

#endif
