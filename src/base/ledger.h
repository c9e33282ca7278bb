/* SPDX-License-Identifier: MIT */
/* ledger.h - what is known about the files of the cache directory, in a file beside them
 *
 * Files of the cache never change once they have a name. What runs find out about them is written
 * down here: that all their bytes have been checked, how much work they have failed to save, when
 * they were last of use.
 *
 * A file is recognized by device, inode, size, and times of modification and of change. The latter
 * is the kernel's: who changes a byte, or sets the other time, cannot set it. So what has been
 * checked is not read again until it changes or the machine is started: what was written before
 * that may have been lost on its way to the disk.
 *
 *   pugmark-ledger     BUCKETS times BUCKET records (ledger.c), found by the file's number; in a
 *                      bucket that is full the record that has not been used for longest makes room
 *
 * A record is found by a number of 64 bits and says by another one that the file has been checked:
 * what is damaged here is not found, and where the ledger is lost everything is checked again.
 *
 * Threads    pm_ledger_open() comes first; else any. Processes that write to a bucket at the same
 *            time may lose records, never mix them up. */
#ifndef PM_BASE_LEDGER_H
#define PM_BASE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#define PM_LEDGER_NAME "pugmark-ledger"

/* In the directory of kept files from now on. */
void pm_ledger_open(void);
void pm_ledger_close(void);		/* nothing is known, nothing written down */
/* Has the file been checked, as it is now? Notes that it is used. */
bool pm_ledger_checked(const struct stat *st);
/* It has been, since @st. Not noted of what has changed so recently that the next change may get
 * the same time. */
void pm_ledger_check(const struct stat *st);
/* How much has been spent for what the file lacks, in units of whoever asks; and that it is
 * more. */
uint32_t pm_ledger_spent(const struct stat *st);
void pm_ledger_spend(const struct stat *st, uint32_t more);
/* When it was last used or written, to the hour. */
time_t pm_ledger_used(const struct stat *st);

#endif
