/* SPDX-License-Identifier: MIT */
/* kept_dir.h - the cache directory, and any file in it: opened with care, dropped, in use
 *
 * What is no good is dropped: unlinked, and pm_kept_on_drop()'s function is told. So are the files
 * that a process uses which dies because of a fault of its own (guard.h), for they may be why: the
 * next run has to work.
 *
 * Threads    pm_kept_dir_set() and pm_kept_on_drop() come first; else any. */
#ifndef PM_BASE_KEPT_DIR_H
#define PM_BASE_KEPT_DIR_H

#include <stdbool.h>
#include <sys/stat.h>

/* The directory, which is duplicated; -1: none, as in the beginning. For pm_keep_in() (kept.h). */
void pm_kept_dir_set(int fd);
int pm_kept_dir(void);			/* borrowed */

/* File @name of directory @dir has been dropped. Any thread. */
typedef void pm_kept_tell(const char *dir, const char *name, const char *why);
void pm_kept_on_drop(pm_kept_tell *f);	/* NULL, as in the beginning: nobody is told */

/* The descriptor of a regular file that is ours, and that nobody else can write to; -1: there is
 * none. What else has the name is dropped; PM_KEPT_OTHER: that cannot be done. Never waits, follows
 * no link. @flags: O_RDONLY... */
#define PM_KEPT_OTHER (-2)
/* Of a file that is complete: nobody writes to it by mistake. */
#define PM_KEPT_MODE 0400
int pm_kept_open(const char *name, int flags, struct stat *st);
/* The file @name, if it is still the one of @st, is of no use to anybody. True: it is gone. */
__attribute__((format(printf, 3, 4)))
bool pm_kept_drop(const char *name, const struct stat *st, const char *why, ...);
/* @name is used: if this process dies of a fault, it may be why. */
void pm_kept_use(const char *name);
/* Removes what is used; how many files. For a signal's handler. */
unsigned pm_kept_abandon(void);

#endif
