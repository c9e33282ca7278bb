/* SPDX-License-Identifier: MIT */
/* process.h - run a Linux program under translation
 *
 * Ownership  pm_run() gives a pm_counts to the caller (pm_counts_free()).
 * Errors     PM_ERR: the program was not started, or pugmark cannot go on; a program that fails is
 *            no error.
 * Threads    one pm_run() at a time per process: it owns SIGCHLD and ptrace meanwhile. */
#ifndef PM_PROCESS_PROCESS_H
#define PM_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/counts.h"

struct pm_run_opts {
	char **argv;			/* NULL-terminated; argv[0] is looked up in PATH */
	const char *cache_dir;		/* NULL: $XDG_CACHE_HOME/pugmark, ~/.cache/pugmark */
	bool no_cache;
	uint64_t cache_limit;		/* bytes */
	bool no_follow;			/* only the first process */
	bool aslr;			/* keep address-space randomisation */
	bool fix_random;		/* AT_RANDOM bytes fixed, for comparable runs */
};

enum pm_status pm_run(const struct pm_run_opts *o, struct pm_counts **out, struct pm_err *err);

#endif
