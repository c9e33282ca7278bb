/* SPDX-License-Identifier: MIT */
/* plt_slots.c - see plt_slots.h */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "elf/plt_slots.h"

/* bytes, of a file that is what it seems */
#define MAX_TABLE (16u << 20)
#define MAX_DYNAMIC 4096u

struct object {
	uint64_t bias;
	bool (*read)(void *ctx, void *to, uint64_t at, size_t n);
	void *ctx;
	uint64_t relocations, size, symbols;	/* of its dynamic section, in memory */
};

static bool read_at(const struct object *o, void *to, uint64_t at, size_t n)
{
	return o->read(o->ctx, to, at, n);
}

/* A pointer of the dynamic section: as it is in the file, or relocated by the linker, in its place.
 */
static uint64_t pointer(const struct object *o, uint64_t value)
{
	return value < o->bias ? value + o->bias : value;
}

static bool find_dynamic(struct object *o)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph = { 0 };
	Elf64_Dyn d;

	if (!read_at(o, &eh, o->bias, sizeof eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_phentsize != sizeof ph)
		return false;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		if (!read_at(o, &ph, o->bias + eh.e_phoff + i * sizeof ph, sizeof ph))
			return false;
		if (ph.p_type == PT_DYNAMIC)
			break;
		ph.p_memsz = 0;
	}
	for (uint64_t at = 0; at + sizeof d <= ph.p_memsz && at < MAX_DYNAMIC; at += sizeof d) {
		if (!read_at(o, &d, o->bias + ph.p_vaddr + at, sizeof d) || d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_JMPREL)
			o->relocations = pointer(o, d.d_un.d_ptr);
		else if (d.d_tag == DT_PLTRELSZ)
			o->size = d.d_un.d_val;
		else if (d.d_tag == DT_SYMTAB)
			o->symbols = pointer(o, d.d_un.d_ptr);
	}
	return o->relocations && o->symbols && o->size <= MAX_TABLE;
}

void elf_plt_slots(uint64_t bias, bool (*read)(void *ctx, void *to, uint64_t at, size_t n),
		   void *ctx, struct pm_map *slots)
{
	struct object o = { .bias = bias, .read = read, .ctx = ctx };
	Elf64_Rela *rel;
	Elf64_Sym *sym = NULL;
	size_t n, nsym = 0;

	if (!find_dynamic(&o))
		return;
	n = o.size / sizeof *rel;
	rel = pm_alloc(n * sizeof *rel + 1);
	if (!read_at(&o, rel, o.relocations, n * sizeof *rel))
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (ELF64_R_SYM(rel[i].r_info) >= nsym)
			nsym = ELF64_R_SYM(rel[i].r_info) + 1;
	if (nsym && nsym <= MAX_TABLE / sizeof *sym) {
		sym = pm_alloc(nsym * sizeof *sym);
		if (!read_at(&o, sym, o.symbols, nsym * sizeof *sym))
			n = 0;
	}
	for (size_t i = 0; sym && i < n; i++) {
		const Elf64_Sym *x = &sym[ELF64_R_SYM(rel[i].r_info)];

		if (ELF64_R_TYPE(rel[i].r_info) == R_X86_64_JUMP_SLOT &&
		    x->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(x->st_info) == STT_FUNC)
			*pm_map_put(slots, rel[i].r_offset, NULL) = x->st_value;
	}
	free(sym);
	free(rel);
}
