/* SPDX-License-Identifier: MIT */
/* head.h - program headers of an ELF file that is about to be mapped, of either class: one read,
 * mostly
 *
 * For files that the kernel has accepted already; elf.h checks those that it may refuse. Nothing is
 * allocated. */
#ifndef PM_ELF_HEAD_H
#define PM_ELF_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_head {
	int fd;				/* borrowed */
	size_t n;			/* bytes that could be read; 0: none */
	uint8_t bytes[2048];
};

struct segment {
	uint32_t type, flags;		/* PT_*, PF_* */
	uint64_t off, vaddr, filesz;
};

/* The beginning of the file @fd. */
void elf_head(int fd, struct elf_head *h);
/* Its program header number @i; false: it has none. */
bool elf_segment(const struct elf_head *h, unsigned i, struct segment *g);
/* Address in memory less address in the file, if @off of the file is mapped to @lo; 0: nothing
 * executable is there. */
uint64_t elf_bias(const struct elf_head *h, uint64_t lo, uint64_t off);

#endif
