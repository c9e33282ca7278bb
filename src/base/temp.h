/* SPDX-License-Identifier: MIT */
/* temp.h - files that nobody else looks at (yet), read and written at once wherever that is asked
 * for
 *
 * Errors     PM_ERR or -1, and @err says why. */
#ifndef PM_BASE_TEMP_H
#define PM_BASE_TEMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pugmark/err.h"

/* A temporary file without a name, to read and write; -1 after pm_fail. */
int pm_temp_file(struct pm_err *err);
/* All @n bytes at @at of it. */
enum pm_status pm_temp_read(int fd, void *p, size_t n, uint64_t at, struct pm_err *err);
enum pm_status pm_temp_write(int fd, const void *p, size_t n, uint64_t at, struct pm_err *err);

/* ---- files that get their names once they are whole -----------------------------------------
 * Until then they have none, where the file system can do that: whoever is killed leaves nothing
 * behind. */

/* A file without a name in directory @at of @dir, to be written; -1 and errno: none here. */
int pm_temp_unnamed(int dir, const char *at, unsigned mode);
/* Name it. False and errno (EEXIST) if that fails. */
bool pm_temp_link(int fd, int dir, const char *name);

/* From now on nobody can change the size of memory file @fd, nor what else seals @more (F_SEAL_*)
 * are about. False and errno: that cannot be had. */
bool pm_temp_seal(int fd, int more);

struct pm_beside {			/* what @path will be */
	int fd;				/* to write to; the owner's to close */
	char *name;			/* PATH.partPID, where it must have a name; else NULL */
};
/* False and errno if nothing can be made there. */
bool pm_beside_open(struct pm_beside *b, const char *path);
/* It becomes @path, in place of what may be there. @fd is b->fd or a copy of it. False and errno if
 * that fails. */
bool pm_beside_place(struct pm_beside *b, int fd, const char *path);
/* It is not wanted, or has been placed. */
void pm_beside_release(struct pm_beside *b);
/* The process is about to end: names of files that are not finished go. */
void pm_beside_abandon(void);

#endif
