/* SPDX-License-Identifier: MIT */
/* cache_dir.h - where the cache directory is, and how much may lie in it
 *
 * What we execute comes from there, so a directory that others own or can write to is not used.
 * Ours are the files whose names begin with "pugmark-", or with a dot before that.
 *
 * Threads    any. Any number of processes use one directory. */
#ifndef PM_BASE_CACHE_DIR_H
#define PM_BASE_CACHE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The directory that users mean who name none: $XDG_CACHE_HOME/pugmark, ~/.cache/pugmark. False:
 * they have no home. */
bool pm_cache_directory(char *path, size_t n);
/* A descriptor of @path (NULL: as above), which is made if it is not there; the caller's. -1: it
 * cannot be used. Of a directory that was named, @err says why. */
int pm_cache_open(const char *path, struct pm_err *err);
/* Of our files in @fd whose names begin with "pugmark-" and then @kind ("": all), those that have
 * not been used for longest go until the rest has at most @limit bytes. The ledger stays. */
void pm_cache_limit(int fd, const char *kind, uint64_t limit);

#endif
