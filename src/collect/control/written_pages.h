/* SPDX-License-Identifier: MIT */
/* written_pages.h - which bytes of a process's private memory have been written since last time
 *
 * There is a copy of all its writable private memory, but for what pugmark has added. Pages are
 * compared with their copies. Which pages to compare, the kernel says (Linux 6.7 and later:
 * PAGEMAP_SCAN, and protection against writing that the kernel takes off by itself). Otherwise all
 * pages are compared: that is slow, and finds the same.
 *
 * Ownership  the caller owns a struct written_pages, { 0 } before written_open().
 * Errors     what cannot be read has not been written: the process may be ending.
 * Threads    the controller's. No thread of the process writes meanwhile, or nobody knows what
 *            was written before it. */
#ifndef PM_CONTROL_WRITTEN_PAGES_H
#define PM_CONTROL_WRITTEN_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/mem.h"
#include "base/proc_maps.h"

struct written_pages {
	pid_t pid;
	bool i386;			/* a 32-bit process */
	int pagemap, uffd;		/* -1: none */
	struct maps maps;
	struct pm_map copy;		/* page number -> its copy, as a pointer */
	struct pm_buf page;		/* bytes of pages that are being compared */
};

/* @uffd: a new userfaultfd of process @pid, which becomes ours; -1: all pages are compared. */
void written_open(struct written_pages *w, pid_t pid, bool i386, int uffd);
/* Can the kernel say which pages have been written? Then a userfaultfd of the process is wanted. */
bool written_kernel_tells(void);
/* Call @fn for each run of bytes that are not what they were the last time. NULL: for none. */
typedef void written_fn(void *ctx, uint64_t lo, uint64_t hi);
void written_compare(struct written_pages *w, written_fn *fn, void *ctx);
/* [lo, hi) is mapped anew, or no more, or empty again: nothing is known of it. */
void written_forget(struct written_pages *w, uint64_t lo, uint64_t hi);
void written_close(struct written_pages *w);

#endif
