/* SPDX-License-Identifier: MIT */
/* laplace.h - references and kernel events merged by time, and every reference given its canonical
 * page
 *
 * A canonical page is one number for an anonymous, shared or file page, whatever address it is
 * mapped at and by whom; numbers count from 1 in order of first use. The kernel events say what is
 * mapped where: they are replayed, an event before a reference of the same time. A reference to a
 * page that no event mapped gets a page of its own address space. Reads and writes of files touch
 * the file's pages: they come out as references without an address (PM_REF_UNCACHED). The kernel's
 * addresses mean the same in every address space.
 *
 * MERGE INVARIANTS, tested in tests/unit/test_laplace.c
 * (1) Two addresses have the same canonical page if and only if they see the same bytes: file pages
 *     by (device, inode, index), shared memory by its id, anonymous pages by the mapping they came
 *     with.
 * (2) A fork shares pages until a copy-on-write record; it separates one page of one address space.
 * (3) Unmapping and mapping again anonymously gives fresh pages; a deleted file's number is not
 *     reused.
 *
 * What comes out carries the page in `value` (PM_HAS_PAGES); kernel events pass unchanged. */
#ifndef PM_TRANSFORM_LAPLACE_H
#define PM_TRANSFORM_LAPLACE_H

#include "trace/pipeline.h"

/* Where the kernel's addresses begin: those of 32 bits from here on, and all whose first bit is
 * set. */
#define PM_LAPLACE_KERNEL	0xc0000000u

struct pm_laplace_counts {
	/* references of user addresses in known address spaces, before the end of the events */
	uint64_t user;
	uint64_t unmapped;		/* ... that no event had mapped */
	/* the first of those */
	uint64_t time, space, addr;
};

/* Takes both sources over: closing the result closes them. @events NULL: they stand among the
 * references. */
struct pm_source pm_laplace_merge(const struct pm_source *refs, const struct pm_source *events,
				  uint64_t kernel);
/* What a source that pm_laplace_merge() made has seen so far. */
const struct pm_laplace_counts *pm_laplace_counts(const struct pm_source *merge);

#endif
