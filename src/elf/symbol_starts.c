/* SPDX-License-Identifier: MIT */
/* symbol_starts.c - all that is known to begin a function */
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"

struct starts {
	struct pm_elf_range *v;
	size_t n, cap;
};

static void add_start(const struct pm_elf *e, struct starts *s, uint64_t lo, uint64_t hi,
		      uint32_t from)
{
	const struct elf_range *t = elf_text_at(e, lo);

	if (!t)
		return;
	if (hi < lo || hi > t->hi)
		hi = lo;
	pm_grow(s->v, s->n, s->cap);
	s->v[s->n++] = (struct pm_elf_range){ lo, hi, from };
}

/* Pointers in the init and fini arrays: relocated ones are in the relocations, others in the
 * file. */
static void init_arrays(struct pm_elf *e, struct starts *s)
{
	bool is64 = gelf_getclass(e->elf) == ELFCLASS64;
	unsigned relative = is64 ? R_X86_64_RELATIVE : R_386_RELATIVE;
	Elf_Scn *scn = NULL, *rel;
	GElf_Shdr sh, rsh;

	while ((scn = elf_nextscn(e->elf, scn))) {
		size_t word = is64 ? 8 : 4;
		Elf_Data *d;

		if (!gelf_getshdr(scn, &sh))
			continue;
		if (sh.sh_flags & SHF_EXECINSTR) {
			const char *name = elf_section_name(e->elf, &sh);

			if (!strcmp(name, ".init") || !strcmp(name, ".fini"))
				add_start(e, s, sh.sh_addr, sh.sh_addr + sh.sh_size, PM_START_INIT);
		}
		if (sh.sh_type != SHT_INIT_ARRAY && sh.sh_type != SHT_FINI_ARRAY &&
		    sh.sh_type != SHT_PREINIT_ARRAY)
			continue;
		d = elf_rawdata(scn, NULL);
		for (size_t at = 0; d && d->d_buf && at + word <= d->d_size; at += word) {
			uint64_t v = 0;

			memcpy(&v, (const uint8_t *)d->d_buf + at, word);
			add_start(e, s, v, v, PM_START_INIT);
		}
		for (rel = NULL; (rel = elf_nextscn(e->elf, rel)); ) {
			Elf_Data *rd;
			size_t n;

			if (!gelf_getshdr(rel, &rsh) || rsh.sh_type != SHT_RELA ||
			    !(rsh.sh_flags & SHF_ALLOC) || !rsh.sh_entsize)
				continue;
			rd = elf_getdata(rel, NULL);
			n = rd ? rd->d_size / gelf_fsize(e->elf, ELF_T_RELA, 1, EV_CURRENT) : 0;
			for (size_t i = 0; i < n; i++) {
				GElf_Rela ra;

				if (gelf_getrela(rd, (int)i, &ra) &&
				    GELF_R_TYPE(ra.r_info) == relative &&
				    ra.r_offset >= sh.sh_addr &&
				    ra.r_offset - sh.sh_addr < sh.sh_size)
					add_start(e, s, (uint64_t)ra.r_addend,
						  (uint64_t)ra.r_addend, PM_START_INIT);
			}
		}
	}
}

static int by_start(const void *a, const void *b)
{
	const struct pm_elf_range *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

size_t pm_elf_functions(struct pm_elf *e, struct pm_elf_range **v)
{
	struct starts s = { 0 };
	GElf_Ehdr eh;
	size_t n = 0;

	elf_read_names(e);
	elf_read_frames(e);
	for (size_t i = 0; i < e->kept.nname; i++) {
		const struct elf_name *y = &e->kept.name[i];

		add_start(e, &s, y->lo, y->sized ? elf_name_end(y) : y->lo,
			  y->kind == PM_NAME_PLT ? PM_START_PLT : PM_START_SYMBOL);
	}
	for (size_t i = 0; i < e->kept.nframe; i++)
		add_start(e, &s, e->kept.frame[i].lo, e->kept.frame[i].hi, PM_START_FDE);
	if (gelf_getehdr(e->elf, &eh))
		add_start(e, &s, eh.e_entry, eh.e_entry, PM_START_ENTRY);
	init_arrays(e, &s);
	if (s.n)
		qsort(s.v, s.n, sizeof *s.v, by_start);
	for (size_t i = 0; i < s.n; i++) {
		if (n && s.v[n - 1].lo == s.v[i].lo) {
			s.v[n - 1].from |= s.v[i].from;
			if (s.v[i].hi > s.v[n - 1].hi)
				s.v[n - 1].hi = s.v[i].hi;
		} else {
			s.v[n++] = s.v[i];
		}
	}
	*v = s.v;
	return n;
}
