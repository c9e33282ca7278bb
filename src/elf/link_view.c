/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "elf/link_view.h"

struct listed {
	struct pm_elf_symbol s;
	size_t index;			/* in the table */
};

static int by_address(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	if (x->s.lo != y->s.lo)
		return x->s.lo < y->s.lo ? -1 : 1;
	if (x->s.function != y->s.function)
		return x->s.function ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Is section @index in memory? *@code: executable; *@end: where it ends. */
static bool is_in_memory(Elf *elf, unsigned index, bool *code, uint64_t *end)
{
	Elf_Scn *scn = index && index < SHN_LORESERVE ? elf_getscn(elf, index) : NULL;
	GElf_Shdr sh;

	if (!scn || !gelf_getshdr(scn, &sh))
		return false;
	*code = sh.sh_flags & SHF_EXECINSTR;
	*end = sh.sh_addr + sh.sh_size;
	return sh.sh_flags & SHF_ALLOC;
}

/* What unwinds the stack names each function. */
static bool is_frames(Elf *elf, unsigned index)
{
	Elf_Scn *scn = elf_getscn(elf, index);
	GElf_Shdr sh;

	return scn && gelf_getshdr(scn, &sh) && !strcmp(elf_section_name(elf, &sh), ".eh_frame");
}

size_t pm_elf_symbols(struct pm_elf *e, struct pm_elf_symbol **v)
{
	struct listed *all = NULL;
	size_t n = 0, cap = 0;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(e->elf, scn))) {
		Elf_Data *d;
		GElf_Sym s;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB ||
		    !(d = elf_getdata(scn, NULL)))
			continue;
		for (int i = 1; gelf_getsym(d, i, &s); i++) {
			const unsigned type = GELF_ST_TYPE(s.st_info);
			const char *name = elf_strptr(e->elf, sh.sh_link, s.st_name);
			uint64_t end;
			bool code;

			if (type == STT_FILE || type == STT_SECTION || type == STT_TLS || !name ||
			    !*name || !is_in_memory(e->elf, s.st_shndx, &code, &end))
				continue;
			pm_grow(all, n, cap);
			all[n] = (struct listed){ { name, s.st_value, s.st_size, end,
						    GELF_ST_BIND(s.st_info) == STB_LOCAL,
						    type == STT_FUNC || type == STT_GNU_IFUNC,
						    code }, n };
			n++;
		}
	}
	if (n)
		qsort(all, n, sizeof *all, by_address);
	*v = pm_alloc_unset((n + 1) * sizeof **v);
	for (size_t i = 0; i < n; i++)
		(*v)[i] = all[i].s;
	free(all);
	return n;
}

bool pm_elf_section(struct pm_elf *e, const char *name, uint64_t *lo, uint64_t *hi)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(e->elf, scn)))
		if (gelf_getshdr(scn, &sh) && !strcmp(elf_section_name(e->elf, &sh), name)) {
			*lo = sh.sh_addr;
			*hi = sh.sh_addr + sh.sh_size;
			return true;
		}
	return false;
}

/* ---- relocations ----------------------------------------------------------------------------- */
struct pointer {				/* a relocation: the word at @at names @to */
	uint64_t at, to;
};

struct pointers {
	struct pointer *v;
	size_t n, cap;
};

static void add(struct pointers *to, uint64_t at, uint64_t addr)
{
	pm_grow(to->v, to->n, to->cap);
	to->v[to->n++] = (struct pointer){ at, addr };
}

/* Is the displacement at @at that of lea disp(%rip), REG? */
static bool is_lea(struct pm_elf *e, uint64_t at)
{
	size_t n = 0;
	const uint8_t *p = pm_elf_code_at(e, at - 2, &n);

	return p && n >= 2 && p[0] == 0x8d && (p[1] & 0xc7) == 5;
}

/* Relocations of section @sh: in code, the data that it takes the address of; in data, addresses
 * and distances. */
static void read_relocations(struct pm_elf *e, Elf_Scn *scn, const GElf_Shdr *sh, bool code,
			     struct pointers *data, struct pointers *words,
			     struct pointers *distances)
{
	Elf_Scn *table = elf_getscn(e->elf, sh->sh_link);
	Elf_Data *d = elf_getdata(scn, NULL), *sym = table ? elf_getdata(table, NULL) : NULL;
	GElf_Rela r;

	for (int i = 0; d && sym && gelf_getrela(d, i, &r); i++) {
		const unsigned type = GELF_R_TYPE(r.r_info);
		uint64_t to = (uint64_t)r.r_addend;
		GElf_Sym s;

		if (!gelf_getsym(sym, (int)GELF_R_SYM(r.r_info), &s))
			continue;
		to += s.st_value;
		if (type == R_X86_64_PC32 && code && is_lea(e, r.r_offset))
			add(data, r.r_offset, to + 4);
		else if (type == R_X86_64_PC32 && code)
			continue;
		else if (type == R_X86_64_PC32)
			add(distances, r.r_offset, to);
		else if (type == R_X86_64_64 || type == R_X86_64_32S || type == R_X86_64_32)
			add(code ? data : words, r.r_offset, to);
	}
}

static int by_at(const void *a, const void *b)
{
	const struct pointer *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static int by_to(const void *a, const void *b)
{
	const struct pointer *x = a, *y = b;

	return x->to < y->to ? -1 : x->to > y->to;
}

/* An entry of a table of distances is the target less the table's address; the relocation adds how
 * far the entry is from there. A table is what code names the address of. */
static void tables(const struct pointers *data, const struct pointers *distances,
		   struct pointers *to)
{
	size_t k = 0;

	for (size_t i = 0; i < distances->n; i++) {
		const struct pointer *x = &distances->v[i];

		while (k < data->n && data->v[k].to <= x->at)
			k++;
		if (k)
			add(to, x->at, x->to - (x->at - data->v[k - 1].to));
	}
}

size_t pm_elf_code_pointers(struct pm_elf *e, uint64_t **v)
{
	struct pointers data = { 0 }, words = { 0 }, distances = { 0 };
	Elf_Scn *scn = NULL;
	size_t n = 0;

	while ((scn = elf_nextscn(e->elf, scn))) {
		GElf_Shdr sh;
		uint64_t end;
		bool code;

		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA &&
		    is_in_memory(e->elf, sh.sh_info, &code, &end) && !is_frames(e->elf, sh.sh_info))
			read_relocations(e, scn, &sh, code, &data, &words, &distances);
	}
	if (data.n)
		qsort(data.v, data.n, sizeof *data.v, by_to);
	if (distances.n)
		qsort(distances.v, distances.n, sizeof *distances.v, by_at);
	tables(&data, &distances, &words);
	if (words.n)
		qsort(words.v, words.n, sizeof *words.v, by_to);
	*v = pm_alloc_unset((words.n + 1) * sizeof **v);
	for (size_t i = 0; i < words.n; i++)
		if (elf_text_at(e, words.v[i].to) && (!n || (*v)[n - 1] != words.v[i].to))
			(*v)[n++] = words.v[i].to;
	free(data.v);
	free(words.v);
	free(distances.v);
	return n;
}
