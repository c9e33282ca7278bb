/* SPDX-License-Identifier: MIT */
/* kept_names.h - the functions of an ELF file by address, in memory and kept between runs
 * (base/kept.h)
 *
 * Reading a symbol table, naming the linker's stubs and sorting take longer than many a program
 * runs, and the next run wants the same. What is kept is named after the file's build id and holds
 * for a file, and a separate debug file, of the same inode, size and times.
 *
 * Integers are the machine's own. Whatever a kept file holds, no access leaves it. */
#ifndef PM_ELF_KEPT_NAMES_H
#define PM_ELF_KEPT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/kept.h"

struct elf_name {
	uint64_t lo;
	uint32_t size;			/* bytes; at most 4 GiB */
	uint32_t text;			/* the name: where in `texts` */
	uint32_t outer;			/* the one around it; UINT32_MAX: none */
	uint8_t kind;			/* enum pm_elf_name */
	bool sized;			/* the file says where it ends */
	uint16_t pad;
};

struct elf_frame {			/* of .eh_frame */
	uint64_t lo, hi;
};

struct elf_kept {
	const struct elf_name *name;	/* by address, one for each */
	const struct elf_frame *frame;	/* by address */
	const char *texts;
	size_t nname, nframe, ntext;
	struct pm_kept from;		/* of no file: all three are allocated */
};

/* True: there was one, and it is as it was written. @debug: zeros if there is none. */
bool elf_kept_load(struct elf_kept *k, const char *build_id, const struct stat *file,
		   const struct stat *debug);
/* What cannot be written is not kept. */
void elf_kept_save(const struct elf_kept *k, const char *build_id, const struct stat *file,
		   const struct stat *debug);
void elf_kept_release(struct elf_kept *k);

#endif
