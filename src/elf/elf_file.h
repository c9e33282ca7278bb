/* SPDX-License-Identifier: MIT */
/* elf_file.h - an open ELF file: private to the files of symbols.h
 *
 *   symbols.c         opening, closing, executable sections, the separate debug file
 *   symbol_frames.c   functions by .eh_frame
 *   symbol_names.c    the symbol tables, the linker's stubs, variables, demangling
 *   symbol_lines.c    source lines
 *   symbol_rows.c     all source lines and functions
 *   symbol_starts.c   everything that begins a function */
#ifndef PM_ELF_ELF_FILE_H
#define PM_ELF_ELF_FILE_H

#include <elfutils/libdw.h>
#include <gelf.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "elf/kept_names.h"
#include "elf/symbols.h"

struct elf_symbol {			/* while they are read, and of data */
	uint64_t lo, hi;
	const char *name;
	uint32_t outer;			/* the symbol around it; UINT32_MAX: none */
	uint8_t rank;			/* lower is the better name for an address */
	uint8_t kind;			/* enum pm_elf_name */
	bool sized;
};

struct elf_range {
	uint64_t lo, hi;
};

_Static_assert(sizeof(struct elf_symbol) == 32 && sizeof(struct elf_frame) == 16, 
	       "see elf_sort_by_address()");

struct elf_unit {			/* addresses of a compilation unit */
	uint64_t lo, hi;
	Dwarf_Off die;
};

struct pm_elf {
	char *path;
	int fd, debug_fd;		/* -1: not open, or no longer */
	bool on_disk;			/* and this is the file: */
	struct stat file;
	Elf *elf, *debug;		/* debug: the separate file; NULL: none */
	Dwarf *dwarf;
	char *build_id;			/* NULL: none */
	Dwarf_Off has_room_for;		/* the unit whose lines were asked for last */
	Dwarf_Aranges *aranges;		/* of the file; NULL: it has none */
	bool named, vars_named, looked_for_debug, looked_for_dwarf, scanned_frames, scanned_units;
	struct elf_range *text;		/* executable sections, by address */
	size_t ntext, cap_text;
	struct elf_symbol *sym;		/* until they are in `kept` */
	size_t nsym, cap_sym;
	struct elf_kept kept;		/* names: if `named`; frames: if `scanned_frames` */
	struct elf_symbol *var;		/* data, by address; several of one address, the best
					 * first */
	size_t nvar, cap_var;
	struct elf_frame *fde;		/* until they are in `kept` */
	size_t nfde, cap_fde;
	struct elf_unit *unit;		/* by address */
	size_t nunit, cap_unit;
	struct pm_arena mem;		/* names made here */
	char *demangled;
	size_t demangled_size;
};

/* symbols.c */
const char *elf_section_name(Elf *elf, const GElf_Shdr *sh);	/* "" if it has none */
/* The executable section around @addr, or NULL. */
const struct elf_range *elf_text_at(const struct pm_elf *e, uint64_t addr);
/* Where a separate debug file would be. */
const char *elf_debug_path(const struct pm_elf *e, char *path, size_t size);
/* Open it as e->debug, if it is there; only the first call does anything. */
void elf_look_for_debug(struct pm_elf *e);

/* symbol_frames.c: e->kept.frame is there from the first call on */
void elf_read_frames(struct pm_elf *e);
/* The range around @addr, or NULL; *next: where the next one begins. */
const struct elf_frame *elf_frame_at(struct pm_elf *e, uint64_t addr, uint64_t *next);
/* Sort elements of 16 or 32 bytes by the address that each begins with: radix, for a compiler has
 * 10^5 of them and is asked for names after every run. Stable. */
void elf_sort_by_address(void *v, size_t n, size_t size);

/* symbol_lines.c: libdw does not look whether it gets memory for the lines of @unit: before it is
 * asked for them there has to be some. */
void elf_room_for_lines(struct pm_elf *e, Dwarf_Die *unit);

/* symbol_names.c: e->kept.name is there from the first call on */
void elf_read_names(struct pm_elf *e);
static inline uint64_t elf_name_end(const struct elf_name *s)
{
	return s->lo + s->size;
}

#endif
