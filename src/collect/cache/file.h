/* SPDX-License-Identifier: MIT */
/* file.h - the layout of a file of translations, and whether bytes are one
 *
 * One file per text mapping of an ELF file, named after its build id (without one: after a hash
 * of the text), and not before it is complete, so that a reader sees a whole file or none; it is
 * never changed after that. Integers are the machine's own: a cache never leaves it.
 *
 *   struct cache_file   header; `sum` covers all sections, in their order, and then the header
 *                       (with sum 0)
 *   units, blocks, flows, links, relocations, entries (of the shadow; for outsiders), code; `used`,
 *                       a bit for each page of the shadow: has any run needed an entry of it?
 *   blocks, flows       lie on pages of their own: where text and module are where they were, the
 *                       file is mapped as it is
 *   counters, counted   of each block the number of its counter, of each counter its block. What
 *                       ran often lies side by side, then what ran at all: the counters that a
 *                       run needs fill its cache lines, and few pages. Not in files of traces and
 *                       of i386, where block and counter have one number
 *   map                 looked at when a signal or fault arrives
 *   lines, targets      of each line of text the number of its first target, and of one more
 *                       behind; targets by line and number: those of blocks that are entered
 *   shadow              as it lies in memory, sparse: pages that are all zero are not in the sum
 *
 * Code and shadow begin on pages. Where module, numbers and distance are what they were, which
 * is as good as always, a process maps both from here: nothing is copied, and what it does not
 * use costs nothing. Whoever has to write to it makes it own first (space/space.h (3)).
 *
 * INVARIANTS - tested under their numbers by tests/unit/test_cache_files.c, (1) and (2) with any
 * bytes by tests/fuzz/fuzz_cache.c, (3) by tests/process/damage.t
 * (1) Sections lie inside the file whatever has happened to it: cache_file_whole() is asked at each
 *     load.
 * (2) Every number that is used as an index is inside what it indexes, and the sum is right:
 *     cache_file_good(), asked once for the bytes as they are (base/ledger.h).
 * (3) Who looks at a file that has been mapped for a while must not rely on (2): it may have been
 *     cut short (base/guard.h). */
#ifndef PM_CACHE_FILE_H
#define PM_CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/space/space.h"

#define CACHE_MAGIC "pugmkTC\n"
#define CACHE_VERSION 21u

struct identity {
	uint64_t dev, ino, size, mtime, mtime_ns, ctime, ctime_ns;
};

struct saved_unit {
	uint32_t code, ncode, block, nblock;
};

struct saved_link {
	uint64_t target;		/* from lo; may lie outside the module */
	uint32_t site, stub;		/* site XL_NONE: has been resolved, for ever; stub: |
					 * COUNTING_LINK | STALE_LINK */
};
#define COUNTING_LINK 0x80000000u
#define STALE_LINK 0x40000000u
#define LINK_STUB (STALE_LINK - 1)

struct saved_outside {
	uint32_t block, code;
};

struct cache_file {
	char magic[8];
	uint32_t version, abi, kind, absolute, i386, zero;
	uint64_t build;			/* of pugmark: another translator, another cache */
	uint64_t sum, text_hash, text_len, file_off;
	struct identity id;
	uint64_t lo;			/* where the text was, or in a smaller program: blocks
					 * and absolute code depend on it */
	int64_t distance;		/* code - lo; i386: code */
	uint32_t ncode, nunit, nblock, nlink, nentry, nmap, ntarget, noutside;
	uint32_t nrel_pc, nrel_counter, nrel_link, nrel_place;
	uint32_t nused, module, block0, link0;	/* bytes; of the blocks; the numbers of the first
						 * block and link in the code */
	uint32_t ncounter;		/* 0 or nblock */
	uint32_t how_often_end[RAN_SETS];	/* where counters of each enum how_often end */
	uint64_t units, blocks, flows, links, rel_pc, rel_counter, rel_link, rel_place, entries,
		outsides;
	uint64_t counters, counted, code, used;
	uint64_t map, lines, targets, shadow, size;	/* shadow: 0: none, else to the end */
};

/* bytes that are summed and written at once; whole blocks */
#define CACHE_PIECE 65536u

/* Where section @what of mapped file @f is. */
#define AT(f, what) ((const void *)((const uint8_t *)(f) + (f)->what))

/* Numbers in `lines`. */
static inline uint64_t lines_of(uint64_t text_len)
{
	return text_len / TARGET_LINE + 2;
}

/* What the sums of sections begin with, what the header's is once they are known, and how a page
 * of the shadow is added. */
#define CACHE_SUM_SEED 3
uint64_t cache_file_sum(const struct cache_file *f, uint64_t sections);
uint64_t cache_shadow_sum(uint64_t sum, const void *page, uint64_t no);

/* Is the beginning of a file of @size bytes, which says that it is ours, such that all sections lie
 * where they should? Of @f the header can be looked at. */
bool cache_file_whole(const struct cache_file *f, uint64_t size);
/* ... and are all numbers in it, which is mapped up to the shadow, good? */
bool cache_file_consistent(const struct cache_file *f);
/* ... and all bytes what they were? They are read from @fd, -1: looked at in @f, which has no
 * shadow. */
bool cache_file_good(const struct cache_file *f, int fd);
/* *@sum becomes that of all sections. False: they cannot be read. */
bool cache_file_sections_sum(const struct cache_file *f, int fd, uint64_t *sum);

#endif
