/* SPDX-License-Identifier: MIT */
/* elf_image.c - headers and bytes of an ELF file in memory: see elf_image.h */
#include <string.h>

#include "elf/elf_image.h"

bool elf_image_header(const uint8_t *file, size_t size, Elf64_Ehdr *eh)
{
	Elf32_Ehdr narrow;

	if (size < sizeof *eh)
		return false;
	memcpy(eh, file, sizeof *eh);
	if (elf_is_narrow(eh)) {
		memcpy(&narrow, file, sizeof narrow);
		eh->e_entry = narrow.e_entry;
		eh->e_phoff = narrow.e_phoff;
		eh->e_shoff = narrow.e_shoff;
		eh->e_phentsize = narrow.e_phentsize;
		eh->e_phnum = narrow.e_phnum;
	}
	return eh->e_phentsize == (elf_is_narrow(eh) ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr)) &&
	       eh->e_phoff <= size && (size - eh->e_phoff) / eh->e_phentsize >= eh->e_phnum;
}

Elf64_Phdr elf_image_segment(const uint8_t *file, const Elf64_Ehdr *eh, unsigned i)
{
	const uint8_t *p = file + eh->e_phoff + (size_t)i * eh->e_phentsize;
	Elf32_Phdr narrow;
	Elf64_Phdr ph;

	if (!elf_is_narrow(eh)) {
		memcpy(&ph, p, sizeof ph);
		return ph;
	}
	memcpy(&narrow, p, sizeof narrow);
	return (Elf64_Phdr){
		.p_type = narrow.p_type, .p_flags = narrow.p_flags, .p_offset = narrow.p_offset,
		.p_vaddr = narrow.p_vaddr, .p_paddr = narrow.p_paddr, .p_filesz = narrow.p_filesz,
		.p_memsz = narrow.p_memsz, .p_align = narrow.p_align,
	};
}

const uint8_t *elf_image_bytes(const struct elf_image *e, uint64_t addr, uint64_t *avail,
			       bool *exec)
{
	Elf64_Ehdr eh;

	if (!elf_image_header(e->file, e->size, &eh))
		return NULL;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		const Elf64_Phdr ph = elf_image_segment(e->file, &eh, i);
		const uint64_t at = addr - e->bias - ph.p_vaddr;

		if (ph.p_type != PT_LOAD || at >= ph.p_filesz || ph.p_offset > e->size ||
		    ph.p_filesz > e->size - ph.p_offset)
			continue;
		*avail = ph.p_filesz - at;
		if (exec)
			*exec = ph.p_flags & PF_X;
		return e->file + ph.p_offset + at;
	}
	return NULL;
}

uint64_t elf_word(const struct elf_image *e, const uint8_t *p)
{
	uint64_t v = 0;

	memcpy(&v, p, elf_word_size(e));
	return v;
}

bool elf_dynamic_entry(const struct elf_image *e, const uint8_t *p, uint64_t *tag,
		       uint64_t *value)
{
	*tag = elf_word(e, p);
	*value = elf_word(e, p + elf_word_size(e));
	return *tag != DT_NULL;
}

uint64_t elf_image_dynamic(const struct elf_image *e, uint64_t tag)
{
	const unsigned n = 2 * elf_word_size(e);
	Elf64_Ehdr eh;
	uint64_t t, v;

	if (!elf_image_header(e->file, e->size, &eh))
		return 0;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		const Elf64_Phdr ph = elf_image_segment(e->file, &eh, i);
		uint64_t avail = 0;
		const uint8_t *p = elf_image_bytes(e, ph.p_vaddr + e->bias, &avail, NULL);

		if (ph.p_type != PT_DYNAMIC || !p)
			continue;
		for (uint64_t k = 0; k + n <= ph.p_filesz && k + n <= avail &&
				     elf_dynamic_entry(e, p + k, &t, &v); k += n)
			if (t == tag)
				return v;
	}
	return 0;
}
