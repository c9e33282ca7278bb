/* SPDX-License-Identifier: MIT */
/* memory.h - where references go: heat of pages and lines over time, strides of instructions, lines
 * that threads share
 *
 * Heat: references per page and, in 64 slices of time, per slice (slices double in length when the
 * trace grows, so any length fits). Strides: for each instruction that references memory the
 * distances between its successive addresses; the four most frequent candidates are kept (Misra and
 * Gries), so a stride that makes up more than a fifth is found for certain, and its count is a
 * lower bound. Sharing: a line is shared if two streams reference it and one writes; a transfer is
 * a reference by another stream than the last one where either writes; it is *false* sharing if no
 * byte that one stream writes is referenced by another. Up to four streams are kept apart per line.
 * The heat map is of all pages in the order of their addresses, neighbours put together so that
 * there are 48 rows or so; a row never bridges a gap of more than 64 MiB. Configuration: page=N
 * (4096), line=N (64), top=N (20). */
#ifndef PM_ANALYSE_MEMORY_H
#define PM_ANALYSE_MEMORY_H

#include <stdbool.h>

#include "pugmark/pugmark.h"

#define PM_HEAT_SLICES 64

struct pm_page_heat { uint64_t page, fetches, reads, writes; uint32_t slice[PM_HEAT_SLICES]; };
struct pm_stride { uint64_t pc, refs, last; int64_t stride[4]; uint64_t count[4]; };
struct pm_shared_line {
	uint64_t line, transfers, refs;
	uint32_t stream[4], n, last;
	bool last_wrote, overflow;
	uint64_t read[4], written[4];	/* bytes, for lines of 64; coarser parts for longer ones */
};

struct pm_memory;
struct pm_memory *pm_memory_new(uint64_t page, uint64_t line);
void pm_memory_batch(struct pm_memory *m, const struct pm_batch *b);
const struct pm_page_heat *pm_memory_pages(const struct pm_memory *m, size_t *n);
const struct pm_stride *pm_memory_strides(const struct pm_memory *m, size_t *n);
const struct pm_shared_line *pm_memory_lines(const struct pm_memory *m, size_t *n);
uint64_t pm_memory_slice(const struct pm_memory *m);	/* events per slice */
bool pm_line_shared(const struct pm_shared_line *l);
bool pm_line_falsely(const struct pm_shared_line *l);
void pm_memory_free(struct pm_memory *m);

extern const struct pm_sink_ops pm_sim_memory;
struct pm_names;
struct pm_names *pm_memory_names(void *self);	/* of the sink: see sims.h */

#endif
