/* SPDX-License-Identifier: MIT */
/* head.c - see head.h */
#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "elf/head.h"

#define PAGE 4096ull

void elf_head(int fd, struct elf_head *h)
{
	const ssize_t n = pread(fd, h->bytes, sizeof h->bytes, 0);

	h->fd = fd;
	h->n = n > 0 ? (size_t)n : 0;
}

/* Program headers are nearly always in front; tools that add some put them to the end of the
 * file. */
static bool program_header(const struct elf_head *h, unsigned i, uint64_t off, unsigned count,
			   unsigned each, void *to, size_t size)
{
	if (each != size || i >= count)
		return false;
	off += i * size;
	if (off > h->n || h->n - off < size)
		return pread(h->fd, to, size, (off_t)off) == (ssize_t)size;
	memcpy(to, h->bytes + off, size);
	return true;
}

bool elf_segment(const struct elf_head *h, unsigned i, struct segment *g)
{
	Elf64_Ehdr h64 = { 0 };
	Elf32_Ehdr h32 = { 0 };
	Elf64_Phdr p64;
	Elf32_Phdr p32;

	if (h->n < sizeof h32 || memcmp(h->bytes, ELFMAG, SELFMAG))
		return false;
	memcpy(&h32, h->bytes, sizeof h32);
	memcpy(&h64, h->bytes, h->n < sizeof h64 ? h->n : sizeof h64);
	if (h->bytes[EI_CLASS] == ELFCLASS64) {
		if (!program_header(h, i, h64.e_phoff, h64.e_phnum, h64.e_phentsize, &p64,
				    sizeof p64))
			return false;
		*g = (struct segment){ p64.p_type, p64.p_flags, p64.p_offset, p64.p_vaddr,
				       p64.p_filesz };
		return true;
	}
	if (!program_header(h, i, h32.e_phoff, h32.e_phnum, h32.e_phentsize, &p32, sizeof p32))
		return false;
	*g = (struct segment){ p32.p_type, p32.p_flags, p32.p_offset, p32.p_vaddr, p32.p_filesz };
	return true;
}

uint64_t elf_bias(const struct elf_head *h, uint64_t lo, uint64_t off)
{
	struct segment g;

	for (unsigned i = 0; elf_segment(h, i, &g); i++)
		if (g.type == PT_LOAD && (g.flags & PF_X) && (g.off & ~(PAGE - 1)) <= off &&
		    off < g.off + g.filesz)
			return lo - (g.vaddr - g.off + off);
	return 0;
}
