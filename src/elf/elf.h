/* SPDX-License-Identifier: MIT */
/* elf.h - is this file a program that the kernel would start? headers only, any input
 *
 * Reads the ELF header, the program headers, the interpreter's name and the build id with bounded
 * reads (no mmap: a file that shrinks meanwhile cannot hurt). Symbols and lines: symbols.h.
 *
 * Ownership  pm_elf_check() fills @info, pm_elf_info_release() empties it, also after an error.
 * Errors     one pm_err with the file, the byte offset, what was expected and what was found. */
#ifndef PM_ELF_ELF_H
#define PM_ELF_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct pm_elf_segment {			/* a program header, whatever the class of the file */
	uint32_t type, flags;		/* PT_*, PF_* */
	uint64_t off, vaddr, filesz, memsz, align;
};

struct pm_elf_info {
	bool script;			/* begins with "#!": only @interp is set */
	bool is64;			/* ELFCLASS64; else ELFCLASS32 */
	uint16_t machine, type;		/* EM_*, ET_EXEC or ET_DYN */
	uint64_t entry;
	uint64_t size;			/* of the file, bytes */
	char *interp;			/* the interpreter that the kernel loads; NULL: static */
	uint64_t interp_at;		/* where its name stands in the file */
	char build_id[2 * 64 + 1];	/* lower-case hex; "": the file has none */
	struct pm_elf_segment *seg;
	size_t nseg;
};

/* Accepts what Linux accepts: an executable or shared object of any machine, little-endian, whose
 * segments lie in the file and in user address space; or a script with "#!". Whether the machine
 * suits is the caller's decision (pm_elf_machine() names it). The interpreter must exist; whether
 * it is any good is for another pm_elf_check() to say. Permission to execute is not looked at. */
enum pm_status pm_elf_check(const char *path, struct pm_elf_info *info, struct pm_err *err);
/* The same for bytes in memory: tests and the fuzzer. */
enum pm_status pm_elf_check_memory(const void *p, size_t n, const char *name,
				   struct pm_elf_info *info, struct pm_err *err);
void pm_elf_info_release(struct pm_elf_info *info);

/* "x86-64", "AArch64", "machine 4711": into @buf if there is no name. */
const char *pm_elf_machine(unsigned machine, char buf[static 24]);

#endif
