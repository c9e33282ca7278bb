/* SPDX-License-Identifier: MIT */
/* symbols.c - ELF files opened and closed; their executable sections and code */
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "elf/elf_file.h"

static int by_lo(const void *a, const void *b)
{
	const struct elf_range *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return (x->hi > y->hi) - (x->hi < y->hi);
}

const char *elf_section_name(Elf *elf, const GElf_Shdr *sh)
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
	e->text[e->ntext++] = (struct elf_range){ lo, lo + size };
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

const struct elf_range *elf_text_at(const struct pm_elf *e, uint64_t addr)
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

/* Each simulator has all of a program's libraries open, which may be hundreds, and debug files.
 * What is mapped needs no descriptor, but that libdw asks it for the directory of further files:
 * dwz's, and split units', whose skeletons have .debug_addr. */
static void leave_mapped(Elf *elf, int *fd)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) &&
		    (!strcmp(elf_section_name(elf, &sh), ".gnu_debugaltlink") ||
		     !strcmp(elf_section_name(elf, &sh), ".debug_addr")))
			return;
	if (elf_cntl(elf, ELF_C_FDREAD))
		return;
	close(*fd);
	*fd = -1;
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
	e->on_disk = !fstat(e->fd, &e->file);
	e = finish_open(e, build_id, err);
	if (e)
		leave_mapped(e->elf, &e->fd);
	return e;
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

struct pm_elf *pm_elf_open_vdso(const char *build_id)
{
	const uint8_t *v = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	struct pm_err err = { 0 };
	struct pm_elf *e;
	uint64_t shoff;
	uint16_t shentsize, shnum;

	if (!v)
		return NULL;
	memcpy(&shoff, v + 40, sizeof shoff);
	memcpy(&shentsize, v + 58, sizeof shentsize);
	memcpy(&shnum, v + 60, sizeof shnum);
	e = pm_elf_open_memory(v, shoff + (size_t)shentsize * shnum, "[vdso]", &err);
	if (e && build_id && (!pm_elf_build_id(e) || strcmp(build_id, pm_elf_build_id(e)))) {
		pm_elf_close(e);
		e = NULL;
	}
	return e;
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

const char *elf_debug_path(const struct pm_elf *e, char *path, size_t size)
{
	snprintf(path, size, "/usr/lib/debug/.build-id/%.2s/%s.debug", e->build_id,
		 e->build_id + 2);
	return path;
}

void elf_look_for_debug(struct pm_elf *e)
{
	char path[256], *id;

	if (e->looked_for_debug)
		return;
	e->looked_for_debug = true;
	if (!e->build_id || strlen(e->build_id) < 4)
		return;
	elf_debug_path(e, path, sizeof path);
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
	if (e->debug)
		leave_mapped(e->debug, &e->debug_fd);
}

const uint8_t *pm_elf_code_at(struct pm_elf *e, uint64_t addr, size_t *n)
{
	size_t size, nph;
	const char *raw = elf_rawfile(e->elf, &size);
	GElf_Phdr ph;

	if (!raw || elf_getphdrnum(e->elf, &nph))
		return NULL;
	for (size_t i = 0; i < nph; i++) {
		if (!gelf_getphdr(e->elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    !(ph.p_flags & PF_X) || addr < ph.p_vaddr || addr - ph.p_vaddr >= ph.p_filesz)
			continue;
		if (ph.p_offset > size || ph.p_filesz > size - ph.p_offset)
			return NULL;
		*n = ph.p_filesz - (addr - ph.p_vaddr);
		return (const uint8_t *)raw + ph.p_offset + (addr - ph.p_vaddr);
	}
	return NULL;
}

static uint64_t segment_base(struct pm_elf *e, unsigned flags)
{
	GElf_Phdr ph;
	size_t n = 0;

	if (elf_getphdrnum(e->elf, &n))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(e->elf, (int)i, &ph) && ph.p_type == PT_LOAD &&
		    (ph.p_flags & flags) == flags)
			return ph.p_vaddr & ~(uint64_t)4095;
	return 0;
}

uint64_t pm_elf_image_base(struct pm_elf *e)
{
	return segment_base(e, 0);
}

uint64_t pm_elf_text_base(struct pm_elf *e)
{
	return segment_base(e, PF_X);
}

unsigned pm_elf_machine_of(struct pm_elf *e)
{
	GElf_Ehdr eh;

	return gelf_getehdr(e->elf, &eh) ? eh.e_machine : EM_NONE;
}
