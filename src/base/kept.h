/* SPDX-License-Identifier: MIT */
/* kept.h - what one run has found out and a later one would find out again, in files of the cache
 * directory
 *
 * A kept file is a header of 64 bytes and bytes that mean something to whoever keeps them, as the
 * machine has them. It gets its name when it is whole and is never changed, so that a reader sees a
 * whole file or none, and what cannot be written is not kept. It is read where it is mapped. A
 * checksum tells what is damaged; a file that has been checked is not checked again until it
 * changes (ledger.h). That is against accidents: who reads must stay inside whatever the bytes say.
 *
 * What is no good is dropped (kept_dir.h).
 *
 * Threads    pm_keep_in() comes first; else any. Processes: the last one that writes a name
 *            wins. */
#ifndef PM_BASE_KEPT_H
#define PM_BASE_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/kept_dir.h"

struct pm_kept_kind {
	char magic[8];
	uint32_t version;		/* another: as if there were none */
};

struct pm_kept {
	void *p;			/* aligned to 64 */
	size_t n;			/* bytes */
	size_t room;			/* there are so many, for whoever adds something; 0: they
					 * are read only */
	uint32_t spent;			/* see pm_kept_spend() */
	struct stat st;
	void *map;
	size_t len;
};

/* Kept files are in the directory @fd from now on; it is duplicated. -1: nowhere, as in the
 * beginning. */
void pm_keep_in(int fd);
/* True: there was one, and it is as it was written. With @room for so many bytes, those of the file
 * and zeros behind them, they can be written to; the file stays what it is. */
bool pm_kept_load(struct pm_kept *k, const char *name, const struct pm_kept_kind *kind,
		  size_t room);
void pm_kept_release(struct pm_kept *k);
void pm_kept_save(const char *name, const struct pm_kept_kind *kind, const void *p, size_t n);
/* Notes that @more has been done in vain because @k's file lacks something. That is up to whoever
 * keeps it: when all runs together have done so much, it is worth writing again. */
void pm_kept_spend(const struct pm_kept *k, uint32_t more);
void pm_kept_remove(const char *name);

#endif
