/* SPDX-License-Identifier: MIT */
/* kept.h - what one run has found out and a later one would find out again, in files of the cache directory
 *
 * A kept file is a header of 64 bytes and bytes that mean something to whoever keeps them, as the machine has
 * them. It gets its name when it is whole, so that a reader sees a whole file or none, and what cannot be written
 * is not kept. It is read where it is mapped. A checksum tells what is damaged; files that were written, or summed
 * up, since the machine was started and not touched since are not summed up again, see pm_kept_trusted(). That is
 * against accidents: who reads must stay inside whatever the bytes say.
 *
 * Threads    pm_keep_in() comes first; else any. Processes: the last one that writes a name wins. */
#ifndef PM_BASE_KEPT_H
#define PM_BASE_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct pm_kept_kind {
	char magic[8];
	uint32_t version;		/* another: as if there were none */
};

struct pm_kept {
	void *p;			/* aligned to 64 */
	size_t n;			/* bytes */
	size_t room;			/* there are so many, for whoever adds something; 0: they are read only */
	uint32_t spent;			/* see pm_kept_spend() */
	uint64_t sum;
	void *map;
	size_t len;
};

/* Kept files are in the directory @fd from now on; it is duplicated. -1: nowhere, as in the beginning. */
void pm_keep_in(int fd);
/* True: there was one, and it is as it was written. With @room for so many bytes, those of the file and zeros
 * behind them, they can be written to; the file stays what it is. */
bool pm_kept_load(struct pm_kept *k, const char *name, const struct pm_kept_kind *kind, size_t room);
void pm_kept_release(struct pm_kept *k);
void pm_kept_save(const char *name, const struct pm_kept_kind *kind, const void *p, size_t n);
/* Notes that @more has been done in vain because @k's file, under that name, lacks something. That is up to whoever
 * keeps it: when all runs together have done so much, it is worth writing again. */
void pm_kept_spend(const struct pm_kept *k, const char *name, uint32_t more);
void pm_kept_remove(const char *name);

/* Whoever has written a file, or looked at all of it, since the machine was started says so by the
 * nanoseconds of its time: it is not looked at again. Who changes it changes them. */
bool pm_kept_trusted(const struct stat *st, uint64_t sum);
void pm_kept_stamp(int fd, uint64_t sum);
#define PM_KEPT_TOUCH 3600		/* seconds until a file's use is noted again: least recently used goes first */

#endif
