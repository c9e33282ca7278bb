/* SPDX-License-Identifier: MIT */
/* merged.h - Laplace's two traces as one source: what `merge` and `laplace` read */
#ifndef PM_CLI_MERGED_H
#define PM_CLI_MERGED_H

#include "cli/traces.h"
#include "transform/laplace.h"

/* @kernel: what the user wrote, NULL: the default. False: not an address. */
bool merged_kernel(const char *kernel, uint64_t *addr);
/* @events NULL: @refs holds them, too. @from: the format of @refs, NULL: guess. 0, or the exit
 * status after an error that was said. */
int merged_open(const char *refs, const char *events, const char *from, uint64_t kernel,
		struct pm_source *src);
/* Says so if references lay where no event had mapped anything. */
void merged_note(const struct pm_source *src);

#endif
