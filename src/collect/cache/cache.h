/* SPDX-License-Identifier: MIT */
/* cache.h - translations of files, kept on disk between runs: the store of code spaces
 * (space/store.h)
 *
 * Ownership  cache_open() makes s->cache and s->store, cache_close() ends both; the directory is
 *            the user's.
 * Errors     a directory that was asked for and cannot be used; everything else only costs time.
 *            What is damaged is removed, with one line (kept.h).
 * Threads    one: the controller's. Any number of pugmarks use one directory. */
#ifndef PM_CACHE_CACHE_H
#define PM_CACHE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/space/space.h"

struct cache_opts {
	const char *dir;		/* NULL: as pm_cache_open() has it */
	uint64_t limit;			/* bytes that the directory may have */
	bool aslr;			/* places of libraries say nothing about those of the
					 * next run */
};

struct cache {
	struct cache_opts opts;
	int fd;				/* the directory */
	bool wrote, complained;
	struct journal *journal;	/* of all modules: a list */
};

/* Without a directory, and no need of one, s->store stays NULL. */
enum pm_status cache_open(struct spaces *s, const struct cache_opts *opts, struct pm_err *err);
void cache_close(struct spaces *s);
/* Has the file @program, as it is now, been seen to break the ABI of flags? (FLAGS in
 * translate.h) */
bool cache_knows_flags(const struct spaces *s, const char *program);

#endif
