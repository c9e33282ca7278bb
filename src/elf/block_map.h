/* SPDX-License-Identifier: MIT */
/* block_map.h - basic blocks as clang numbers them: the sections .llvm_bb_addr_map of an executable
 *
 * clang writes such a section with -fbasic-block-address-map (clang 18 and before:
 * -fbasic-block-sections=labels). It has for each function
 *
 *	SIZE	FIELD
 *	1	version: 1 or 2. Version 0, by clang 14 and 15, has a section type of its own, and
 *		neither this byte nor the next
 *	1	features (enum below): what else there is
 *	uleb	number of ranges, if MULTI_RANGE; else it is 1
 *	each range:
 *	8	address
 *	uleb	number of blocks
 *		each block:
 *	uleb		version 2: its id; before, a block's id is its number in the function
 *	uleb		offset from the end of the block before in the range, or the range's
 *			address; version 0: from the function's address
 *	uleb		size
 *	uleb		what it is: bit 3: control may go on to the next block
 *	uleb	how often the function was called, if ENTRY_COUNT
 *	each block, if FREQUENCY or PROBABILITY:
 *	uleb	FREQUENCY
 *	uleb	PROBABILITY: number of successors, and for each its id and a probability (2 uleb)
 *
 * The last two fields are skipped. An id stays the same whatever order the blocks are in.
 *
 * Units      addresses are those in the ELF file.
 * Ownership  pm_block_map_release(), also after an error.
 * Errors     have the offset in the file, whose name the caller has put there; with PM_ERR @m is of
 *            no use.
 * Source     llvm/docs/Extensions.rst of LLVM 14 to 19, SHT_LLVM_BB_ADDR_MAP. */
#ifndef PM_ELF_BLOCK_MAP_H
#define PM_ELF_BLOCK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "elf/symbols.h"

struct pm_map_block {
	uint64_t lo, size;		/* size may be 0 */
	uint32_t id;
	bool goes_on;			/* control may go on to the next block */
};

struct pm_map_function {		/* blocks first .. first + n - 1, in the section's order */
	uint64_t lo;			/* where it begins, as does the first of them */
	size_t first, n;
};

struct pm_block_map {
	struct pm_map_function *function;
	size_t nfunction, cap_function;
	struct pm_map_block *block;
	size_t nblock, cap_block;
	unsigned version;		/* the highest of any function */
};

/* Of whatever version. */
bool pm_elf_has_block_map(struct pm_elf *e);
/* Functions at address 0, which the linker has thrown away, and without blocks are left out. A file
 * without any such section is an error, and so is a version that is not known. */
enum pm_status pm_block_map_read(struct pm_elf *e, struct pm_block_map *m, struct pm_err *err);
void pm_block_map_release(struct pm_block_map *m);

#endif
