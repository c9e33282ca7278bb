/* SPDX-License-Identifier: MIT */
/* elf_image.h - an ELF file in memory: its headers, its bytes by address, and the code addresses
 * that it gives away
 *
 * For files that are about to be translated: elf.h has accepted them, or somebody has changed them
 * since. Every access is checked against the file's size; what does not fit is not there.
 *
 * Units      addresses: bytes in the memory of the process, @bias above those in the file.
 * Ownership  the file's bytes are borrowed; nothing is allocated.
 * Errors     none: what makes no sense is left out.
 * Threads    any: nothing is written to. */
#ifndef PM_ELF_ELF_IMAGE_H
#define PM_ELF_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image {
	const uint8_t *file;		/* the whole file */
	size_t size;
	uint64_t bias;			/* address in memory less address in the file */
	bool narrow;			/* words of four bytes: ELFCLASS32 */
};

/* elf_image.c: headers of either width, as 64-bit ones. False: they are not all in the file. */
bool elf_image_header(const uint8_t *file, size_t size, Elf64_Ehdr *eh);
Elf64_Phdr elf_image_segment(const uint8_t *file, const Elf64_Ehdr *eh, unsigned i);
static inline bool elf_is_narrow(const Elf64_Ehdr *eh)
{
	return eh->e_ident[EI_CLASS] == ELFCLASS32;
}

/* The file's byte at memory address @addr, and how many follow in its segment; NULL: none. @exec,
 * unless NULL: the segment is executable. */
const uint8_t *elf_image_bytes(const struct elf_image *e, uint64_t addr, uint64_t *avail,
			       bool *exec);
/* A word of the file: four or eight bytes. */
static inline unsigned elf_word_size(const struct elf_image *e)
{
	return e->narrow ? 4 : 8;
}
uint64_t elf_word(const struct elf_image *e, const uint8_t *p);
/* The next entry of the dynamic section at @p; false: it is the last one. */
bool elf_dynamic_entry(const struct elf_image *e, const uint8_t *p, uint64_t *tag,
		       uint64_t *value);
/* The value of the file's first dynamic entry @tag, 0: it has none. */
uint64_t elf_image_dynamic(const struct elf_image *e, uint64_t tag);

/* code_addresses.c: addresses in [@lo, @hi) that relocations, pointers in data and unwind tables
 * give away, in memory. Calls @add for each, in any order, perhaps repeatedly. */
void elf_code_addresses(const struct elf_image *e, uint64_t lo, uint64_t hi,
			void (*add)(void *ctx, uint64_t addr), void *ctx);

#endif
