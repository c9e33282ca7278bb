/* SPDX-License-Identifier: MIT */
/* link_view.h - an ELF file as a linker sees it: all its symbols, and where data point into code
 *
 * Ownership  names are the pm_elf's, arrays the caller's to free().
 * Threads    as for pm_elf (symbols.h). */
#ifndef PM_ELF_LINK_VIEW_H
#define PM_ELF_LINK_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/symbols.h"

struct pm_elf_symbol {
	const char *name;
	uint64_t lo, size;
	uint64_t limit;			/* where its section ends */
	bool local, function;		/* function: its type says so */
	bool code;			/* in an executable section */
};

/* Those of .symtab that stand for something in memory, by address, functions in front of others,
 * else as they are in the table. Returns their number. */
size_t pm_elf_symbols(struct pm_elf *e, struct pm_elf_symbol **v);

/* The section @name; false: there is none. */
bool pm_elf_section(struct pm_elf *e, const char *name, uint64_t *lo, uint64_t *hi);

/* The addresses in executable sections that relocations of data name, ascending: jump tables, of
 * addresses and of distances, and function pointers. Only a file that was linked with
 * --emit-relocs has them all. Returns their number. */
size_t pm_elf_code_pointers(struct pm_elf *e, uint64_t **v);

#endif
