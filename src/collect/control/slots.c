/* SPDX-License-Identifier: MIT */
/* slots.c - which functions of its own a module calls through pointers that a dynamic linker fills
 *
 * A library calls its own exported functions through its procedure linkage table, because another
 * one might define them, too: of sqlite3's calls two thirds. Nobody does, mostly. What is found
 * here is a guess, which the translation compares with the pointer (likely in translate.h). Source:
 * System V ABI, "Dynamic Linking"; its AMD64 supplement, R_X86_64_JUMP_SLOT. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "collect/control/session.h"

/* bytes, of a file that is what it seems */
#define MAX_TABLE (16u << 20)
#define MAX_DYNAMIC 4096u

struct dynamic {
	uint64_t relocations, size, symbols;
};

static bool read_all(struct session *s, void *to, uint64_t at, size_t n)
{
	return session_read(s, to, at, n) == (ssize_t)n;
}

/* A pointer of the dynamic section: as it is in the file, or relocated by the linker, in its place.
 */
static uint64_t pointer(const struct module *m, uint64_t value)
{
	return value < m->bias ? value + m->bias : value;
}

static bool find_dynamic(struct session *s, const struct module *m, struct dynamic *to)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph = { 0 };
	Elf64_Dyn d;

	*to = (struct dynamic){ 0 };
	if (!read_all(s, &eh, m->bias, sizeof eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_phentsize != sizeof ph)
		return false;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		if (!read_all(s, &ph, m->bias + eh.e_phoff + i * sizeof ph, sizeof ph))
			return false;
		if (ph.p_type == PT_DYNAMIC)
			break;
		ph.p_memsz = 0;
	}
	for (uint64_t at = 0; at + sizeof d <= ph.p_memsz && at < MAX_DYNAMIC; at += sizeof d) {
		if (!read_all(s, &d, m->bias + ph.p_vaddr + at, sizeof d) || d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_JMPREL)
			to->relocations = pointer(m, d.d_un.d_ptr);
		else if (d.d_tag == DT_PLTRELSZ)
			to->size = d.d_un.d_val;
		else if (d.d_tag == DT_SYMTAB)
			to->symbols = pointer(m, d.d_un.d_ptr);
	}
	return to->relocations && to->symbols && to->size <= MAX_TABLE;
}

static void find_slots(struct session *s, const struct module *m, struct pm_map *slots)
{
	struct dynamic d;
	Elf64_Rela *rel;
	Elf64_Sym *sym = NULL;
	size_t n, nsym = 0;

	if (!find_dynamic(s, m, &d))
		return;
	n = d.size / sizeof *rel;
	rel = pm_alloc(n * sizeof *rel + 1);
	if (!read_all(s, rel, d.relocations, n * sizeof *rel))
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (ELF64_R_SYM(rel[i].r_info) >= nsym)
			nsym = ELF64_R_SYM(rel[i].r_info) + 1;
	if (nsym && nsym <= MAX_TABLE / sizeof *sym) {
		sym = pm_alloc(nsym * sizeof *sym);
		if (!read_all(s, sym, d.symbols, nsym * sizeof *sym))
			n = 0;
	}
	for (size_t i = 0; sym && i < n; i++) {
		const Elf64_Sym *x = &sym[ELF64_R_SYM(rel[i].r_info)];

		if (ELF64_R_TYPE(rel[i].r_info) == R_X86_64_JUMP_SLOT && x->st_shndx != SHN_UNDEF &&
		    ELF64_ST_TYPE(x->st_info) == STT_FUNC)
			*pm_map_put(slots, rel[i].r_offset, NULL) = x->st_value;
	}
	free(sym);
	free(rel);
}

static const struct pm_map *slots_of(struct session *s, const struct module *m)
{
	for (size_t i = 0; i < s->nslots; i++)
		if (s->slots[i].ino == m->ino && s->slots[i].dev == m->dev)
			return &s->slots[i].to;
	pm_grow(s->slots, s->nslots, s->cap_slots);
	s->slots[s->nslots] = (struct slots){ .dev = m->dev, .ino = m->ino };
	find_slots(s, m, &s->slots[s->nslots].to);
	return &s->slots[s->nslots++].to;
}

uint64_t slot_target(struct session *s, const struct module *m, uint64_t slot)
{
	const uint64_t *to = pm_map_get(slots_of(s, m), slot - m->bias);

	return to ? *to + m->bias : 0;
}
