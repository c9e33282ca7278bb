/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cur.h"
#include "base/mem.h"
#include "elf/kept.h"
#include "elf/symbols.h"

struct symbol {				/* while they are read, and of data */
	uint64_t lo, hi;
	const char *name;
	uint32_t outer;			/* the symbol around it; UINT32_MAX: none */
	uint8_t rank;			/* lower is the better name for an address */
	uint8_t kind;			/* enum pm_elf_name */
	bool sized;
};

struct range {
	uint64_t lo, hi;
};

_Static_assert(sizeof(struct symbol) == 32 && sizeof(struct elf_frame) == 16, "see sort_by_address()");

#define WORTH_KEEPING (128 << 10)	/* bytes of the file */

struct unit {				/* addresses of a compilation unit */
	uint64_t lo, hi;
	Dwarf_Off die;
};

struct pm_elf {
	char *path;
	int fd, debug_fd;		/* -1: not open */
	Elf *elf, *debug;		/* debug: the separate file; NULL: none */
	Dwarf *dwarf;
	char *build_id;			/* NULL: none */
	Dwarf_Aranges *aranges;		/* of the file; NULL: it has none */
	bool named, vars_named, looked_for_debug, looked_for_dwarf, scanned_frames, scanned_units;
	struct range *text;		/* executable sections, by address */
	size_t ntext, cap_text;
	struct symbol *sym;		/* until they are in `kept` */
	size_t nsym, cap_sym;
	struct elf_kept kept;		/* names: if `named`; frames: if `scanned_frames` */
	struct symbol *var;		/* data, by address; several of one address, the best first */
	size_t nvar, cap_var;
	struct elf_frame *fde;		/* until they are in `kept` */
	size_t nfde, cap_fde;
	struct unit *unit;		/* by address */
	size_t nunit, cap_unit;
	struct pm_arena mem;		/* names made here */
	char *demangled;
	size_t demangled_size;
};

/* ---- opening ----------------------------------------------------------------------------------- */

static int by_lo(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return (x->hi > y->hi) - (x->hi < y->hi);
}

/* Sort elements of 16 or 32 bytes by the address that each begins with: radix, for a compiler has
 * 10^5 of them and is asked for names after every run. Stable. */
static void sort_by_address(void *v, size_t n, size_t size)
{
	uint8_t *from = v, *to, *temp;
	uint64_t bits = 0, last = 0;
	bool sorted = true;

	for (size_t i = 0; i < n; i++) {
		uint64_t a;

		memcpy(&a, from + i * size, sizeof a);
		sorted &= a >= last;
		last = a;
		bits |= a;
	}
	if (sorted)
		return;
	to = temp = pm_realloc(NULL, n * size);
	for (unsigned shift = 0; shift < 64 && bits >> shift; shift += 11) {
		size_t at[2048] = { 0 }, sum = 0;
		uint8_t *swap;

		for (size_t i = 0; i < n; i++) {
			uint64_t a;

			memcpy(&a, from + i * size, sizeof a);
			at[a >> shift & 2047]++;
		}
		for (unsigned d = 0; d < NR(at); d++) {
			size_t c = at[d];

			at[d] = sum;
			sum += c;
		}
		for (size_t i = 0; i < n; i++) {
			uint64_t a;
			uint8_t *dest;

			memcpy(&a, from + i * size, sizeof a);
			dest = to + at[a >> shift & 2047]++ * size;
			if (size == 16)
				memcpy(dest, from + i * 16, 16);
			else
				memcpy(dest, from + i * 32, 32);
		}
		swap = from;
		from = to;
		to = swap;
	}
	if (from != v)
		memcpy(v, from, n * size);
	free(temp);
}

static const char *section_name(Elf *elf, const GElf_Shdr *sh)
{
	size_t strings;
	const char *s = NULL;

	if (!elf_getshdrstrndx(elf, &strings))
		s = elf_strptr(elf, strings, sh->sh_name);
	return s ? s : "";
}

static void add_text(struct pm_elf *e, uint64_t lo, uint64_t size)
{
	if (!size || lo + size < lo)
		return;
	pm_grow(e->text, e->ntext, e->cap_text);
	e->text[e->ntext++] = (struct range){ lo, lo + size };
}

static void find_text(struct pm_elf *e)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Phdr ph;
	size_t n = 0;

	while ((scn = elf_nextscn(e->elf, scn)))
		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_ALLOC) &&
		    (sh.sh_flags & SHF_EXECINSTR) && sh.sh_type != SHT_NOBITS)
			add_text(e, sh.sh_addr, sh.sh_size);
	if (!e->ntext && !elf_getphdrnum(e->elf, &n))	/* section headers were stripped */
		for (size_t i = 0; i < n; i++)
			if (gelf_getphdr(e->elf, (int)i, &ph) && ph.p_type == PT_LOAD &&
			    (ph.p_flags & PF_X))
				add_text(e, ph.p_vaddr, ph.p_filesz);
	if (e->ntext)
		qsort(e->text, e->ntext, sizeof *e->text, by_lo);
}

/* The executable section around @addr, or NULL. */
static const struct range *text_at(const struct pm_elf *e, uint64_t addr)
{
	for (size_t i = 0; i < e->ntext; i++)
		if (addr >= e->text[i].lo && addr < e->text[i].hi)
			return &e->text[i];
	return NULL;
}

static char *read_build_id(Elf *elf)
{
	const void *bytes;
	ssize_t n = dwelf_elf_gnu_build_id(elf, &bytes);
	char *s;

	if (n <= 0 || n > 64)
		return NULL;
	s = pm_alloc(2 * (size_t)n + 1);
	for (ssize_t i = 0; i < n; i++)
		snprintf(s + 2 * i, 3, "%02x", ((const uint8_t *)bytes)[i]);
	return s;
}

static struct pm_elf *finish_open(struct pm_elf *e, const char *build_id, struct pm_err *err)
{
	if (!e->elf || elf_kind(e->elf) != ELF_K_ELF) {
		pm_fail_file(err, "expected an ELF file%s%s", e->elf ? "" : ": ",
			     e->elf ? "" : elf_errmsg(-1));
		pm_elf_close(e);
		return NULL;
	}
	e->build_id = read_build_id(e->elf);
	if (build_id && (!e->build_id || strcmp(build_id, e->build_id))) {
		pm_fail_file(err, "expected build id %s, found %s", build_id,
			     e->build_id ? e->build_id : "none");
		pm_elf_close(e);
		return NULL;
	}
	find_text(e);
	return e;
}

struct pm_elf *pm_elf_open(const char *path, const char *build_id, struct pm_err *err)
{
	struct pm_elf *e = pm_alloc(sizeof *e);

	e->fd = e->debug_fd = -1;
	e->path = pm_strdup(path);
	if (!err->msg[0])
		err->file = path;
	elf_version(EV_CURRENT);
	e->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (e->fd < 0) {
		pm_fail_errno(err, "cannot open");
		pm_elf_close(e);
		return NULL;
	}
	e->elf = elf_begin(e->fd, ELF_C_READ_MMAP, NULL);
	return finish_open(e, build_id, err);
}

struct pm_elf *pm_elf_open_memory(const void *p, size_t n, const char *name, struct pm_err *err)
{
	struct pm_elf *e = pm_alloc(sizeof *e);

	e->fd = e->debug_fd = -1;
	e->path = pm_strdup(name);
	if (!err->msg[0])
		err->file = name;
	elf_version(EV_CURRENT);
	e->elf = elf_memory((char *)(uintptr_t)p, n);
	return finish_open(e, NULL, err);
}

void pm_elf_close(struct pm_elf *e)
{
	if (!e)
		return;
	if (e->dwarf)
		dwarf_end(e->dwarf);
	if (e->debug)
		elf_end(e->debug);
	if (e->elf)
		elf_end(e->elf);
	if (e->debug_fd >= 0)
		close(e->debug_fd);
	if (e->fd >= 0)
		close(e->fd);
	pm_arena_release(&e->mem);
	free(e->text);
	elf_kept_release(&e->kept);
	free(e->sym);
	free(e->var);
	free(e->fde);
	free(e->unit);
	free(e->demangled);
	free(e->build_id);
	free(e->path);
	free(e);
}

const char *pm_elf_build_id(const struct pm_elf *e)
{
	return e->build_id;
}

/* Where a separate debug file would be. */
static const char *debug_path(const struct pm_elf *e, char *path, size_t size)
{
	snprintf(path, size, "/usr/lib/debug/.build-id/%.2s/%s.debug", e->build_id, e->build_id + 2);
	return path;
}

static void look_for_debug(struct pm_elf *e)
{
	char path[256], *id;

	if (e->looked_for_debug)
		return;
	e->looked_for_debug = true;
	if (!e->build_id || strlen(e->build_id) < 4)
		return;
	debug_path(e, path, sizeof path);
	e->debug_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (e->debug_fd < 0)
		return;
	e->debug = elf_begin(e->debug_fd, ELF_C_READ_MMAP, NULL);
	id = e->debug ? read_build_id(e->debug) : NULL;
	if (e->debug && (!id || strcmp(id, e->build_id))) {
		elf_end(e->debug);
		e->debug = NULL;
	}
	free(id);
}

/* ---- .eh_frame ---------------------------------------------------------------------------------- */

static uint64_t encoded(struct pm_cur *c, unsigned enc, bool is64, uint64_t section)
{
	uint64_t at = section + pm_cur_at(c), v;

	switch (enc & 0x0f) {
	case DW_EH_PE_absptr:
		v = is64 ? pm_cur_u64(c, "address") : pm_cur_u32(c, "address");
		break;
	case DW_EH_PE_udata2: v = pm_cur_u16(c, "address"); break;
	case DW_EH_PE_udata4: v = pm_cur_u32(c, "address"); break;
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8: v = pm_cur_u64(c, "address"); break;
	case DW_EH_PE_sdata2: v = (uint64_t)(int16_t)pm_cur_u16(c, "address"); break;
	case DW_EH_PE_sdata4: v = (uint64_t)(int32_t)pm_cur_u32(c, "address"); break;
	default:
		pm_fail(c->err, pm_cur_at(c), "expected an address encoding, found 0x%02x", enc);
		return 0;
	}
	if ((enc & 0x70) == DW_EH_PE_pcrel)
		v += at;
	else if ((enc & 0x70) != DW_EH_PE_absptr)
		pm_fail(c->err, pm_cur_at(c), "expected an absolute or relative address");
	return is64 ? v : (uint32_t)v;
}

/* The FDEs' address encoding from the CIE that @c stands in; -1 if it cannot be told. */
static int cie_encoding(struct pm_cur c, bool is64)
{
	unsigned version = pm_cur_u8(&c, "version"), enc = DW_EH_PE_absptr;
	const char *aug = (const char *)c.p;

	while (pm_cur_u8(&c, "augmentation"))
		;
	if (pm_failed(c.err))
		return -1;
	if (!strcmp(aug, "eh") || (aug[0] && aug[0] != 'z'))
		return -1;
	pm_cur_varint(&c, "code alignment");
	pm_cur_varint(&c, "data alignment");
	if (version == 1)
		pm_cur_u8(&c, "return address");
	else
		pm_cur_varint(&c, "return address");
	if (!aug[0])
		return DW_EH_PE_absptr;
	pm_cur_varint(&c, "augmentation length");
	for (const char *a = aug + 1; *a; a++) {
		switch (*a) {
		case 'R':
			enc = pm_cur_u8(&c, "encoding");
			break;
		case 'L':
			pm_cur_u8(&c, "encoding");
			break;
		case 'P': {
			unsigned p = pm_cur_u8(&c, "encoding");

			encoded(&c, p & 0x0f, is64, 0);
			break;
		}
		case 'S': case 'B': case 'G':
			break;
		default:
			return -1;
		}
	}
	return pm_failed(c.err) ? -1 : (int)enc;
}

static void scan_frames(struct pm_elf *e, const uint8_t *p, size_t n, uint64_t section)
{
	bool is64 = gelf_getclass(e->elf) == ELFCLASS64;
	struct pm_err err = { 0 };
	struct pm_cur c = pm_cur_init(p, n, 0, &err);
	uint64_t last_cie = UINT64_MAX;
	int enc = -1;

	while (pm_cur_left(&c) >= 4 && !pm_failed(&err)) {
		uint64_t size = pm_cur_u32(&c, "length"), at, id, lo, hi;
		struct pm_cur body;
		const uint8_t *bytes;

		if (size == UINT32_MAX)
			size = pm_cur_u64(&c, "length");
		else if (!size)
			break;
		at = pm_cur_at(&c);
		bytes = pm_cur_bytes(&c, size, "frame");
		if (!bytes)
			break;
		body = pm_cur_init(bytes, size, at, &err);
		id = pm_cur_u32(&body, "id");
		if (!id)
			continue;
		if (id > at)
			break;
		if (at - id != last_cie) {
			/* a CIE's own length is in front of its body: 4 bytes, or 12 */
			struct pm_err bad = { 0 };
			struct pm_cur cie = pm_cur_init(p, n, 0, &bad);
			uint64_t len;

			last_cie = at - id;
			pm_cur_bytes(&cie, last_cie, "CIE");
			len = pm_cur_u32(&cie, "length");
			if (len == UINT32_MAX)
				len = pm_cur_u64(&cie, "length");
			if (pm_cur_u32(&cie, "id"))
				pm_fail(&bad, 0, "not a CIE");
			if (len < pm_cur_left(&cie) + 4)
				cie.end = cie.p + (len > 4 ? len - 4 : 0);
			enc = pm_failed(&bad) ? -1 : cie_encoding(cie, is64);
		}
		if (enc < 0)
			continue;
		lo = encoded(&body, (unsigned)enc, is64, section);
		hi = lo + encoded(&body, (unsigned)enc & 0x0f, is64, 0);
		if (pm_failed(&err) || hi <= lo || !text_at(e, lo))
			continue;
		pm_grow(e->fde, e->nfde, e->cap_fde);
		e->fde[e->nfde++] = (struct elf_frame){ lo, hi };
	}
	sort_by_address(e->fde, e->nfde, sizeof *e->fde);
}

static void frames(struct pm_elf *e)
{
	Elf_Scn *scn = NULL;
	Elf_Data *d = NULL;
	GElf_Shdr sh;

	if (e->scanned_frames)
		return;
	e->scanned_frames = true;
	while ((scn = elf_nextscn(e->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type != SHT_NOBITS &&
		    !strcmp(section_name(e->elf, &sh), ".eh_frame") &&
		    (d = elf_rawdata(scn, NULL)) && d->d_buf)
			scan_frames(e, d->d_buf, d->d_size, sh.sh_addr);
	e->kept.frame = e->fde;
	e->kept.nframe = e->nfde;
	e->fde = NULL;
}

/* ---- symbols ------------------------------------------------------------------------------------ */

static uint8_t rank_of(const GElf_Sym *s)
{
	unsigned type = GELF_ST_TYPE(s->st_info), bind = GELF_ST_BIND(s->st_info);
	uint8_t rank = type == STT_FUNC || type == STT_GNU_IFUNC ? 0 : 16;

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

static void add_symbol(struct pm_elf *e, struct symbol s)
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
		sym64 = n && gelf_getclass(elf) == ELFCLASS64 && !((uintptr_t)d->d_buf % 8) ? d->d_buf : NULL;
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
			    !text_at(e, s.st_value))
				continue;
			if (strings)
				name = s.st_name < nstrings ? strings + s.st_name : NULL;
			else
				name = elf_strptr(elf, sh.sh_link, s.st_name);
			if (!name || !*name)
				continue;
			if (data) {
				pm_grow(e->var, e->nvar, e->cap_var);
				e->var[e->nvar++] = (struct symbol){ .lo = s.st_value, .hi = s.st_value + s.st_size,
					.name = name, .rank = rank_of(&s), .sized = true };
				continue;
			}
			add_symbol(e, (struct symbol){
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
	const struct symbol *x = a, *y = b;
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
	unsigned irelative = gelf_getclass(e->elf) == ELFCLASS64 ? R_X86_64_IRELATIVE : R_386_IRELATIVE;
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
		n = d ? d->d_size / gelf_fsize(e->elf, sh.sh_type == SHT_RELA ? ELF_T_RELA : ELF_T_REL,
					       1, EV_CURRENT) : 0;
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
				*pm_map_put(slots, ra.r_offset, NULL) = (uint64_t)ra.r_addend << 1 | 1;
				continue;
			}
			if (syms && GELF_R_SYM(ra.r_info) &&
			    gelf_getsym(syms, (int)GELF_R_SYM(ra.r_info), &s))
				name = elf_strptr(e->elf, symtab.sh_link, s.st_name);
			if (name && *name)
				*pm_map_put(slots, ra.r_offset, NULL) = (uint64_t)(uintptr_t)name << 1;
		}
	}
}

static uint64_t end_of(const struct elf_name *s)
{
	return s->lo + s->size;
}

static const struct elf_name *symbol_at(const struct pm_elf *e, uint64_t addr, size_t *above)
{
	const struct elf_kept *k = &e->kept;
	size_t lo = 0, hi = k->nname;
	uint32_t i;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->name[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	*above = lo;
	for (i = (uint32_t)lo - 1; i != UINT32_MAX && addr >= end_of(&k->name[i]); i = k->name[i].outer)
		;
	return i == UINT32_MAX ? NULL : &k->name[i];
}

/* The resolvers that @slots mention -> 1 + the best symbol there, before symbols are sorted. */
static void name_resolvers(const struct pm_elf *e, const struct pm_map *slots, struct pm_map *resolvers)
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
		if (gelf_getshdr(scn, &sh) && !strcmp(section_name(e->elf, &sh), ".got.plt"))
			got = sh.sh_addr;
	while (slots.n && (scn = elf_nextscn(e->elf, scn))) {
		uint64_t each;
		Elf_Data *d;

		if (!gelf_getshdr(scn, &sh) || strncmp(section_name(e->elf, &sh), ".plt", 4) ||
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

				if (p[k] != 0xff || (p[k + 1] != 0x25 && (is64 || p[k + 1] != 0xa3)))
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
				add_symbol(e, (struct symbol){
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
	sort_by_address(e->sym, e->nsym, sizeof *e->sym);
	for (size_t i = 0, k; i < e->nsym; i = k) {	/* several at one address */
		const struct symbol *best = NULL;

		for (k = i; k < e->nsym && e->sym[k].lo == e->sym[i].lo; k++) {
			const struct symbol *s = &e->sym[k];

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
		struct symbol *s = &e->sym[i];

		if (!s->sized) {
			const struct range *t = text_at(e, s->lo);

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
		look_for_debug(e);
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
		const struct symbol *s = &e->sym[i];
		const uint64_t size = s->hi - s->lo;

		v[i] = (struct elf_name){ .lo = s->lo, .size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX,
			.text = (uint32_t)texts.n, .outer = s->outer, .kind = s->kind, .sized = s->sized };
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

static void names(struct pm_elf *e)
{
	struct stat file = { 0 }, debug = { 0 };
	bool keep;

	if (e->named)
		return;
	e->named = true;
	/* a small file is read as fast */
	keep = e->build_id && strlen(e->build_id) >= 4 && e->fd >= 0 && !fstat(e->fd, &file) && file.st_size > WORTH_KEEPING;
	if (keep) {
		char path[256];

		if (stat(debug_path(e, path, sizeof path), &debug))
			debug = (struct stat){ 0 };
		if (elf_kept_load(&e->kept, e->build_id, &file, &debug)) {
			e->scanned_frames = true;
			return;
		}
	}
	all_symbols(e, false);
	name_plt(e);
	arrange(e);
	pack(e);
	if (keep) {
		frames(e);
		elf_kept_save(&e->kept, e->build_id, &file, &debug);
	}
}

bool pm_elf_variable_at(struct pm_elf *e, uint64_t addr, struct pm_elf_function *f)
{
	size_t lo = 0, hi, i;

	if (!e->vars_named) {
		e->vars_named = true;
		all_symbols(e, true);
		if (e->nvar)
			qsort(e->var, e->nvar, sizeof *e->var, by_symbol);
	}
	hi = e->nvar;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (e->var[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return false;
	for (i = lo - 1; i && e->var[i - 1].lo == e->var[i].lo; i--)
		;
	for (; i < lo; i++)
		if (addr < e->var[i].hi) {
			*f = (struct pm_elf_function){ e->var[i].name, e->var[i].lo, e->var[i].hi, PM_NAME_SYMBOL };
			return true;
		}
	return false;
}

static const struct elf_frame *fde_at(struct pm_elf *e, uint64_t addr, uint64_t *next)
{
	const struct elf_kept *k = &e->kept;
	size_t lo = 0, hi;

	frames(e);
	hi = k->nframe;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->frame[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	*next = lo < k->nframe ? k->frame[lo].lo : UINT64_MAX;
	return lo && addr < k->frame[lo - 1].hi ? &k->frame[lo - 1] : NULL;
}

bool pm_elf_function_at(struct pm_elf *e, uint64_t addr, struct pm_elf_function *f)
{
	const struct elf_name *s;
	const struct elf_frame *r;
	uint64_t next;
	size_t above;

	names(e);
	s = symbol_at(e, addr, &above);
	*f = (struct pm_elf_function){ .hi = above < e->kept.nname ? e->kept.name[above].lo : UINT64_MAX };
	if (s && (s->sized || !(r = fde_at(e, addr, &next)) || r->lo <= s->lo)) {
		if (end_of(s) < f->hi)
			f->hi = end_of(s);
		if (!s->sized && fde_at(e, addr, &next) == NULL && next < f->hi)
			f->hi = next;
		f->name = e->kept.texts + s->text;
		f->lo = s->lo;
		f->kind = s->kind;
		return true;
	}
	r = fde_at(e, addr, &next);
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

/* ---- lines -------------------------------------------------------------------------------------- */

static int by_unit(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return (x->die > y->die) - (x->die < y->die);
}

static bool has_section(Elf *elf, const char *name)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type != SHT_NOBITS &&
		    !strcmp(section_name(elf, &sh), name))
			return true;
	return false;
}

/* The file that holds the lines: this one, the separate one, or NULL. */
static Elf *lines_from(struct pm_elf *e)
{
	if (has_section(e->elf, ".debug_line") || has_section(e->elf, ".zdebug_line"))
		return e->elf;
	look_for_debug(e);
	return e->debug;
}

bool pm_elf_lines_are_slow(struct pm_elf *e)
{
	Elf *from = e->looked_for_dwarf ? NULL : lines_from(e);
	Elf_Scn *scn = NULL;
	uint64_t packed = 0;
	GElf_Shdr sh;

	while (from && (scn = elf_nextscn(from, scn)))
		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_COMPRESSED))
			packed += sh.sh_size;
	return packed > 1u << 18;
}

static bool dwarf(struct pm_elf *e)
{
	size_t n = 0;
	Elf *from;

	if (e->looked_for_dwarf)
		return e->dwarf;
	e->looked_for_dwarf = true;
	from = lines_from(e);
	e->dwarf = from ? dwarf_begin_elf(from, DWARF_C_READ, NULL) : NULL;
	if (e->dwarf && (dwarf_getaranges(e->dwarf, &e->aranges, &n) || !n))
		e->aranges = NULL;
	return e->dwarf;
}

/* Units by address from the units themselves: not every compiler writes .debug_aranges, but where
 * they are they save reading every unit. */
static void scan_units(struct pm_elf *e)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	e->scanned_units = true;
	while (!dwarf_get_units(e->dwarf, cu, &cu, NULL, &type, &die, NULL)) {
		Dwarf_Addr base, lo, hi;
		ptrdiff_t at = 0;

		if (type != DW_UT_compile && type != DW_UT_skeleton && type != DW_UT_split_compile)
			continue;
		while ((at = dwarf_ranges(&die, at, &base, &lo, &hi)) > 0) {
			if (lo >= hi)
				continue;
			pm_grow(e->unit, e->nunit, e->cap_unit);
			e->unit[e->nunit++] = (struct unit){ lo, hi, dwarf_dieoffset(&die) };
		}
	}
	if (e->nunit)
		qsort(e->unit, e->nunit, sizeof *e->unit, by_unit);
}

static bool unit_at(struct pm_elf *e, uint64_t addr, Dwarf_Die *die)
{
	Dwarf_Arange *r = e->aranges ? dwarf_getarange_addr(e->aranges, addr) : NULL;
	size_t lo = 0, hi;
	Dwarf_Off off;

	if (r && !dwarf_getarangeinfo(r, NULL, NULL, &off))
		return dwarf_offdie(e->dwarf, off, die);
	if (!e->scanned_units)
		scan_units(e);
	hi = e->nunit;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (e->unit[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < e->unit[lo - 1].hi && dwarf_offdie(e->dwarf, e->unit[lo - 1].die, die);
}

bool pm_elf_has_lines(struct pm_elf *e)
{
	return dwarf(e);
}

bool pm_elf_line_at(struct pm_elf *e, uint64_t addr, const char **file, unsigned *line)
{
	Dwarf_Line *l;
	Dwarf_Die die;
	int n = 0;

	if (!text_at(e, addr) || !dwarf(e) || !unit_at(e, addr, &die))
		return false;
	l = dwarf_getsrc_die(&die, addr);
	if (!l || dwarf_lineno(l, &n) || n <= 0)
		return false;
	*file = dwarf_linesrc(l, NULL, NULL);
	*line = (unsigned)n;
	return *file != NULL;
}

/* ---- where functions begin ----------------------------------------------------------------------- */

struct starts {
	struct pm_elf_range *v;
	size_t n, cap;
};

static void add_start(const struct pm_elf *e, struct starts *s, uint64_t lo, uint64_t hi, uint32_t from)
{
	const struct range *t = text_at(e, lo);

	if (!t)
		return;
	if (hi < lo || hi > t->hi)
		hi = lo;
	pm_grow(s->v, s->n, s->cap);
	s->v[s->n++] = (struct pm_elf_range){ lo, hi, from };
}

/* Pointers in the init and fini arrays: relocated ones are in the relocations, others in the file. */
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
			const char *name = section_name(e->elf, &sh);

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
				    ra.r_offset >= sh.sh_addr && ra.r_offset - sh.sh_addr < sh.sh_size)
					add_start(e, s, (uint64_t)ra.r_addend, (uint64_t)ra.r_addend,
						  PM_START_INIT);
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

	names(e);
	frames(e);
	for (size_t i = 0; i < e->kept.nname; i++) {
		const struct elf_name *y = &e->kept.name[i];

		add_start(e, &s, y->lo, y->sized ? end_of(y) : y->lo,
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

/* ---- code ------------------------------------------------------------------------------------------ */

const uint8_t *pm_elf_code_at(struct pm_elf *e, uint64_t addr, size_t *n)
{
	size_t size, nph;
	const char *raw = elf_rawfile(e->elf, &size);
	GElf_Phdr ph;

	if (!raw || elf_getphdrnum(e->elf, &nph))
		return NULL;
	for (size_t i = 0; i < nph; i++) {
		if (!gelf_getphdr(e->elf, (int)i, &ph) || ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) ||
		    addr < ph.p_vaddr || addr - ph.p_vaddr >= ph.p_filesz)
			continue;
		if (ph.p_offset > size || ph.p_filesz > size - ph.p_offset)
			return NULL;
		*n = ph.p_filesz - (addr - ph.p_vaddr);
		return (const uint8_t *)raw + ph.p_offset + (addr - ph.p_vaddr);
	}
	return NULL;
}

unsigned pm_elf_machine_of(struct pm_elf *e)
{
	GElf_Ehdr eh;

	return gelf_getehdr(e->elf, &eh) ? eh.e_machine : EM_NONE;
}
