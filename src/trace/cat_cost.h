/* SPDX-License-Identifier: MIT */
/* cat_cost.h - what a CITCAT trace costs, as the thesis has it: sizes raw and packed (Fig. 5),
 * bytes on the bus against instructions (Fig. 4), ratios. Traces of the R4400 and of x86 guests
 * have these numbers under the same names.
 *
 * Units      bytes; instructions.
 * Ownership  a size_packer lies with the caller; size_packer_end() frees what is in it.
 * Threads    none. */
#ifndef PM_TRACE_CAT_COST_H
#define PM_TRACE_CAT_COST_H

#include <zlib.h>

#include "base/result.h"

#define CAT_RAW_INSN	10	/* bytes of a stored instruction, as the thesis assumes */

struct packed_size { uint64_t raw, packed; };

/* Bytes that come piece by piece, through gzip's compressor. */
struct size_packer {
	z_stream z;
	struct packed_size s;
};
void size_packer_begin(struct size_packer *k);
void size_packer_add(struct size_packer *k, const uint8_t *p, size_t n);
struct packed_size size_packer_end(struct size_packer *k);

/* In the open list "sizes": a kind of record, and how many there are. */
void cat_cost_row(struct pm_result *r, const char *name, uint64_t records, struct packed_size s);
/* The object "schedule": what @schedule and the initial state @ims cost for each of @work
 * instructions, those of idle loops left out. */
void cat_cost_schedule(struct pm_result *r, struct packed_size schedule, struct packed_size ims,
		       uint64_t work);
/* In the open list "curve": @bytes were on the bus when @insns had completed; the mean is that
 * since the last point. */
void cat_cost_point(struct pm_result *r, uint64_t insns, uint64_t bytes, uint64_t last_insns,
		    uint64_t last_bytes);

#endif
