/* SPDX-License-Identifier: MIT */
/* counts_text.h - executions per instruction address as text, for comparison with other tools and
 * for annotate */
#ifndef PM_ANALYSE_COUNTS_TEXT_H
#define PM_ANALYSE_COUNTS_TEXT_H

#include "base/err.h"
#include "trace/counts.h"

/* PREFIX.N for process image N (1, 2... in order of their beginning): lines "0xADDRESS COUNT",
 * ascending, addresses as in the process's memory, over all threads; before them, for each mapped
 * file, "# object BIAS FROM TO BUILD-ID PATH", with "-" for no build id. */
enum pm_status pm_counts_write(const struct pm_counts *c, const char *prefix, struct pm_err *err);

#endif
