/* SPDX-License-Identifier: MIT */
/* run_ends.h - what commands that run programs have in common: warnings, and how they end */
#ifndef PM_CLI_RUN_ENDS_H
#define PM_CLI_RUN_ENDS_H

#include <stdint.h>
#include <stdlib.h>

/* End as the program ended, without a second core file: @status, or signal @sig, not 0. */
int run_end_like(int status, int sig);
/* For pm_guard_last(): a fault of ours, not to be taken for one of the program. */
void run_say_death(void *ctx, int sig, unsigned removed);
void run_print_warning(void *ctx, const char *text);	/* for struct pm_warn */
void run_print_stat(const char *name, uint64_t n);	/* with PUGMARK_STATS in the environment */

/* What struct pm_run_opts begins with, in all of them. */
#define RUN_DEFAULTS								\
	.cache_limit = 1ull << 30, .warn = { run_print_warning, NULL },		\
	.stat = getenv("PUGMARK_STATS") ? run_print_stat : NULL

#endif
