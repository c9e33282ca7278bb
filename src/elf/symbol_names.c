/* SPDX-License-Identifier: MIT */
/* symbol_names.c - what the symbol tables call code and data; the linker's stubs; demangling */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bound.h"
#include "elf/elf_file.h"

#define WORTH_KEEPING (128 << 10)	/* bytes of the file */

#define RANK_LABEL 16 /* and above: the symbol does not say that it is a function's */
static uint8_t rank_of(const GElf_Sym *s)
{
	unsigned type = GELF_ST_TYPE(s->st_info), bind = GELF_ST_BIND(s->st_info);
	uint8_t rank = type == STT_FUNC || type == STT_GNU_IFUNC ? 0 : RANK_LABEL;

	rank += s->st_size ? 0 : 8;
	return rank + (bind == STB_GLOBAL || bind == STB_GNU_UNIQUE ? 0 : bind == STB_WEAK ? 1 : 2);
}

/* The strings of section @link, which end inside it; NULL: ask elf_strptr(). */
static const char *strings_of(Elf *elf, size_t link, size_t *size)
{
	Elf_Scn *scn = elf_getscn(elf, link);
	Elf_Data *d = scn ? elf_getdata(scn, NULL) : NULL;

	*size = d && d->d_buf ? d->d_size : 0;
	return *size && !((const char *)d->d_buf)[*size - 1] ? d->d_buf : NULL;
}

static void add_symbol(struct pm_elf *e, struct elf_symbol s)
{
	pm_grow(e->sym, e->nsym, e->cap_sym);
	s.outer = UINT32_MAX;
	e->sym[e->nsym++] = s;
}

/* Code, or with @data what lies beside it. */
static void read_symbols(struct pm_elf *e, Elf *elf, unsigned section_type, bool data)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn))) {
		const Elf64_Sym *sym64;
		const char *strings;
		Elf_Data *d;
		size_t n, nstrings;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != section_type || !sh.sh_entsize)
			continue;
		d = elf_getdata(scn, NULL);
		n = d ? d->d_size / gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT) : 0;
		/* by the thousand, in every run: without two calls for each */
		sym64 = n && gelf_getclass(elf) == ELFCLASS64 && !((uintptr_t)d->d_buf % 8)
				? d->d_buf
				: NULL;
		strings = strings_of(elf, sh.sh_link, &nstrings);
		if (!data && e->cap_sym < e->nsym + n) {
			e->cap_sym = e->nsym + n;
			e->sym = pm_realloc(e->sym, e->cap_sym * sizeof *e->sym);
		}
		for (size_t i = 1; i < n; i++) {
			const char *name;
			unsigned type;
			GElf_Sym s;

			if (sym64)
				s = sym64[i];
			else if (!gelf_getsym(d, (int)i, &s))
				continue;
			if (s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_ABS)
				continue;
			type = GELF_ST_TYPE(s.st_info);
			if (data ? type != STT_OBJECT || !s.st_size :
			    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
			    !elf_text_at(e, s.st_value))
				continue;
			if (strings)
				name = s.st_name < nstrings ? strings + s.st_name : NULL;
			else
				name = elf_strptr(elf, sh.sh_link, s.st_name);
			if (!name || !*name)
				continue;
			if (data) {
				pm_grow(e->var, e->nvar, e->cap_var);
				e->var[e->nvar++] = (struct elf_symbol){
					.lo = s.st_value, .hi = s.st_value + s.st_size,
					.name = name, .rank = rank_of(&s), .sized = true,
				};
				continue;
			}
			add_symbol(e, (struct elf_symbol){
				.lo = s.st_value, .hi = s.st_value + s.st_size, .name = name,
				.rank = rank_of(&s), .kind = PM_NAME_SYMBOL, .sized = s.st_size > 0,
			});
		}
	}
}

static unsigned underscores(const char *s)
{
	unsigned n = 0;

	while (s[n] == '_')
		n++;
	return n;
}

static int by_symbol(const void *a, const void *b)
{
	const struct elf_symbol *x = a, *y = b;
	int c;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank - y->rank;
	c = (int)underscores(x->name) - (int)underscores(y->name);
	if (c)
		return c;
	c = (int)strlen(x->name) - (int)strlen(y->name);
	return c ? c : strcmp(x->name, y->name);
}

/* Where the linker's stubs jump through: GOT slot -> what the dynamic linker puts there. */
static void read_slots(struct pm_elf *e, struct pm_map *slots)
{
	unsigned irelative = gelf_getclass(e->elf) == ELFCLASS64 ? R_X86_64_IRELATIVE
								 : R_386_IRELATIVE;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh, symtab;

	while ((scn = elf_nextscn(e->elf, scn))) {
		Elf_Data *d, *syms = NULL;
		Elf_Scn *table;
		size_t n;

		if (!gelf_getshdr(scn, &sh) || (sh.sh_type != SHT_RELA && sh.sh_type != SHT_REL) ||
		    !(sh.sh_flags & SHF_ALLOC) || !sh.sh_entsize)
			continue;
		table = elf_getscn(e->elf, sh.sh_link);
		if (table && gelf_getshdr(table, &symtab) && symtab.sh_type == SHT_DYNSYM)
			syms = elf_getdata(table, NULL);
		d = elf_getdata(scn, NULL);
		n = d ? d->d_size / gelf_fsize(e->elf,
					       sh.sh_type == SHT_RELA ? ELF_T_RELA : ELF_T_REL, 1,
					       EV_CURRENT)
		      : 0;
		for (size_t i = 0; i < n; i++) {
			const char *name = NULL;
			GElf_Rela ra = { 0 };
			GElf_Rel r;
			GElf_Sym s;

			if (sh.sh_type == SHT_RELA) {
				if (!gelf_getrela(d, (int)i, &ra))
					continue;
			} else {
				if (!gelf_getrel(d, (int)i, &r))
					continue;
				ra.r_offset = r.r_offset;
				ra.r_info = r.r_info;
			}
			if (GELF_R_TYPE(ra.r_info) == irelative && ra.r_addend) {
				/* the resolver's own name, once the symbols are sorted */
				*pm_map_put(slots, ra.r_offset, NULL) =
					(uint64_t)ra.r_addend << 1 | 1;
				continue;
			}
			if (syms && GELF_R_SYM(ra.r_info) &&
			    gelf_getsym(syms, (int)GELF_R_SYM(ra.r_info), &s))
				name = elf_strptr(e->elf, symtab.sh_link, s.st_name);
			if (name && *name)
				*pm_map_put(slots, ra.r_offset, NULL) =
					(uint64_t)(uintptr_t)name << 1;
		}
	}
}

static const struct elf_name *symbol_at(const struct pm_elf *e, uint64_t addr, size_t *above)
{
	const struct elf_kept *k = &e->kept;
	const size_t lo = pm_upper_bound(k->name, k->nname, .lo, addr);
	uint32_t i;

	*above = lo;
	for (i = (uint32_t)lo - 1; i != UINT32_MAX && addr >= elf_name_end(&k->name[i]);
	     i = k->name[i].outer)
		;
	return i == UINT32_MAX ? NULL : &k->name[i];
}

/* The resolvers that @slots mention -> 1 + the best symbol there, before symbols are sorted. */
static void name_resolvers(const struct pm_elf *e, const struct pm_map *slots,
			   struct pm_map *resolvers)
{
	uint64_t key, val, *best;

	for (size_t j = 0; pm_map_next(slots, &j, &key, &val); )
		if (val & 1)
			pm_map_put(resolvers, val >> 1, NULL);
	for (size_t i = 0; i < e->nsym && resolvers->n; i++) {
		best = pm_map_get(resolvers, e->sym[i].lo);
		if (best && (!*best || by_symbol(&e->sym[i], &e->sym[*best - 1]) < 0))
			*best = i + 1;
	}
}

/* jmp *SLOT(%rip) or, for i386, jmp *SLOT and jmp *SLOT-GOT(%ebx): one in each entry of a PLT */
static void name_plt(struct pm_elf *e)
{
	bool is64 = gelf_getclass(e->elf) == ELFCLASS64;
	struct pm_map slots = { 0 }, resolvers = { 0 };
	uint64_t got = 0;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Ehdr eh;

	if (!gelf_getehdr(e->elf, &eh) || (eh.e_machine != EM_X86_64 && eh.e_machine != EM_386))
		return;
	read_slots(e, &slots);
	name_resolvers(e, &slots, &resolvers);
	while (slots.n && (scn = elf_nextscn(e->elf, scn)))
		if (gelf_getshdr(scn, &sh) && !strcmp(elf_section_name(e->elf, &sh), ".got.plt"))
			got = sh.sh_addr;
	while (slots.n && (scn = elf_nextscn(e->elf, scn))) {
		uint64_t each;
		Elf_Data *d;

		if (!gelf_getshdr(scn, &sh) || strncmp(elf_section_name(e->elf, &sh), ".plt", 4) ||
		    sh.sh_type == SHT_NOBITS || !(d = elf_rawdata(scn, NULL)) || !d->d_buf)
			continue;
		each = sh.sh_entsize == 8 || sh.sh_entsize == 16 ? sh.sh_entsize : 16;
		for (uint64_t at = 0; at + each <= d->d_size; at += each) {
			const uint8_t *p = (const uint8_t *)d->d_buf + at;

			for (unsigned k = 0; k + 6 <= each; k++) {
				uint64_t slot, *to;
				const char *name;
				int32_t disp;
				char *s;

				if (p[k] != 0xff ||
				    (p[k + 1] != 0x25 && (is64 || p[k + 1] != 0xa3)))
					continue;
				memcpy(&disp, p + k + 2, 4);
				if (is64)
					slot = sh.sh_addr + at + k + 6 + (uint64_t)(int64_t)disp;
				else
					slot = (uint32_t)(disp + (p[k + 1] == 0xa3 ? got : 0));
				to = pm_map_get(&slots, slot);
				if (!to)
					continue;
				name = (const char *)(uintptr_t)(*to >> 1);
				if (*to & 1) {
					const uint64_t *i = pm_map_get(&resolvers, *to >> 1);

					name = i && *i ? e->sym[*i - 1].name : NULL;
				}
				s = pm_arena_alloc(&e->mem, (name ? strlen(name) : 24) + 8);
				if (name)
					sprintf(s, "%s@plt", name);
				else
					sprintf(s, "ifunc_0x%" PRIx64 "@plt", *to >> 1);
				add_symbol(e, (struct elf_symbol){
					.lo = sh.sh_addr + at, .hi = sh.sh_addr + at + each,
					.name = s, .kind = PM_NAME_PLT, .sized = true,
				});
				break;
			}
		}
	}
	pm_map_release(&slots);
	pm_map_release(&resolvers);
}

/* Sort; the best name for each address; ends for those without a size; who lies in whom. */
static void arrange(struct pm_elf *e)
{
	uint64_t reach = 0;
	size_t n = 0;
	uint32_t outer = UINT32_MAX;

	if (!e->nsym)
		return;
	elf_sort_by_address(e->sym, e->nsym, sizeof *e->sym);
	for (size_t i = 0, k; i < e->nsym; i = k) {	/* several at one address */
		const struct elf_symbol *best = NULL;

		for (k = i; k < e->nsym && e->sym[k].lo == e->sym[i].lo; k++) {
			const struct elf_symbol *s = &e->sym[k];

			if (!s->sized && s->lo < reach)		/* a label inside a function */
				continue;
			if (!best || by_symbol(s, best) < 0)
				best = s;
		}
		if (!best)
			continue;
		if (best->hi > reach)
			reach = best->hi;
		e->sym[n++] = *best;
	}
	e->nsym = n;
	for (size_t i = 0; i < n; i++) {
		struct elf_symbol *s = &e->sym[i];

		if (!s->sized) {
			const struct elf_range *t = elf_text_at(e, s->lo);

			s->hi = t ? t->hi : s->lo;
			if (i + 1 < n && e->sym[i + 1].lo < s->hi)
				s->hi = e->sym[i + 1].lo;
		}
		while (outer != UINT32_MAX && e->sym[outer].hi <= s->lo)
			outer = e->sym[outer].outer;
		s->outer = outer;
		outer = (uint32_t)i;
	}
}

static bool has_symtab(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB)
			return true;
	return false;
}

static void all_symbols(struct pm_elf *e, bool data)
{
	if (has_symtab(e->elf)) {
		read_symbols(e, e->elf, SHT_SYMTAB, data);
	} else {
		elf_look_for_debug(e);
		if (e->debug)
			read_symbols(e, e->debug, SHT_SYMTAB, data);
	}
	read_symbols(e, e->elf, SHT_DYNSYM, data);
}

/* What was read takes its form for use and for keeping. */
static void pack(struct pm_elf *e)
{
	struct elf_name *v = pm_alloc(e->nsym * sizeof *v);
	struct pm_buf texts = { 0 };

	for (size_t i = 0; i < e->nsym; i++) {
		const struct elf_symbol *s = &e->sym[i];
		const uint64_t size = s->hi - s->lo;

		v[i] = (struct elf_name){ .lo = s->lo,
					  .size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX,
					  .text = (uint32_t)texts.n,
					  .outer = s->outer,
					  .kind = s->kind,
					  .sized = s->sized };
		pm_buf_add(&texts, s->name, strlen(s->name) + 1);
	}
	e->kept.name = v;
	e->kept.nname = e->nsym;
	e->kept.texts = (char *)texts.p;
	e->kept.ntext = texts.n;
	free(e->sym);
	e->sym = NULL;
	e->nsym = e->cap_sym = 0;
}

void elf_read_names(struct pm_elf *e)
{
	const struct stat *file = &e->file;
	struct stat debug = { 0 };
	bool keep;

	if (e->named)
		return;
	e->named = true;
	/* a small file is read as fast */
	keep = e->build_id && strlen(e->build_id) >= 4 && e->on_disk &&
	       file->st_size > WORTH_KEEPING;
	if (keep) {
		char path[256];

		if (stat(elf_debug_path(e, path, sizeof path), &debug))
			debug = (struct stat){ 0 };
		if (elf_kept_load(&e->kept, e->build_id, file, &debug)) {
			e->scanned_frames = true;
			return;
		}
	}
	all_symbols(e, false);
	name_plt(e);
	arrange(e);
	pack(e);
	if (keep) {
		elf_read_frames(e);
		elf_kept_save(&e->kept, e->build_id, file, &debug);
	}
}

void pm_elf_each_function(struct pm_elf *e, void (*each)(void *arg, const char *name, uint64_t lo),
			  void *arg)
{
	const struct elf_kept *k = &e->kept;

	elf_read_names(e);
	for (size_t i = 0; i < k->nname; i++)
		each(arg, k->texts + k->name[i].text, k->name[i].lo);
	/* only the best name of each address has been kept */
	all_symbols(e, false);
	for (size_t i = 0; i < e->nsym; i++)
		if (e->sym[i].rank < RANK_LABEL)
			each(arg, e->sym[i].name, e->sym[i].lo);
	free(e->sym);
	e->sym = NULL;
	e->nsym = e->cap_sym = 0;
}

bool pm_elf_variable_at(struct pm_elf *e, uint64_t addr, struct pm_elf_function *f)
{
	size_t i, lo;

	if (!e->vars_named) {
		e->vars_named = true;
		all_symbols(e, true);
		if (e->nvar)
			qsort(e->var, e->nvar, sizeof *e->var, by_symbol);
	}
	lo = pm_upper_bound(e->var, e->nvar, .lo, addr);
	if (!lo)
		return false;
	for (i = lo - 1; i && e->var[i - 1].lo == e->var[i].lo; i--)
		;
	for (; i < lo; i++)
		if (addr < e->var[i].hi) {
			*f = (struct pm_elf_function){ e->var[i].name, e->var[i].lo, e->var[i].hi,
						       PM_NAME_SYMBOL };
			return true;
		}
	return false;
}

bool pm_elf_function_at(struct pm_elf *e, uint64_t addr, struct pm_elf_function *f)
{
	const struct elf_name *s;
	const struct elf_frame *r;
	uint64_t next;
	size_t above;

	elf_read_names(e);
	s = symbol_at(e, addr, &above);
	*f = (struct pm_elf_function){ .hi = above < e->kept.nname ? e->kept.name[above].lo
								   : UINT64_MAX };
	if (s && (s->sized || !(r = elf_frame_at(e, addr, &next)) || r->lo <= s->lo)) {
		if (elf_name_end(s) < f->hi)
			f->hi = elf_name_end(s);
		if (!s->sized && elf_frame_at(e, addr, &next) == NULL && next < f->hi)
			f->hi = next;
		f->name = e->kept.texts + s->text;
		f->lo = s->lo;
		f->kind = s->kind;
		return true;
	}
	r = elf_frame_at(e, addr, &next);
	if (next < f->hi)
		f->hi = next;
	if (!r)
		return false;
	if (r->hi < f->hi)
		f->hi = r->hi;
	f->name = pm_arena_alloc(&e->mem, 24);
	sprintf((char *)(uintptr_t)f->name, "fde_0x%" PRIx64, r->lo);
	f->lo = r->lo;
	f->kind = PM_NAME_FDE;
	return true;
}

const char *pm_elf_demangle(struct pm_elf *e, const char *name)
{
	static char *(*demangle)(const char *, char *, size_t *, int *);
	static bool looked;
	const char *at = strchr(name, '@');
	char *s, *plain;
	int status = 0;

	if (name[0] != '_' || name[1] != 'Z')
		return name;
	if (!looked) {			/* the C++ library's own; without it names stay mangled */
		void *lib = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);

		looked = true;
		if (lib)
			*(void **)&demangle = dlsym(lib, "__cxa_demangle");
	}
	if (!demangle)
		return name;
	plain = pm_strdup(name);
	if (at)
		plain[at - name] = 0;
	s = demangle(plain, NULL, NULL, &status);
	free(plain);
	if (!s)
		return name;
	free(e->demangled);
	e->demangled_size = strlen(s) + (at ? strlen(at) : 0) + 1;
	e->demangled = pm_alloc(e->demangled_size);
	snprintf(e->demangled, e->demangled_size, "%s%s", s, at ? at : "");
	free(s);
	return e->demangled;
}
