/* SPDX-License-Identifier: MIT */
/* symbols.h - names, source lines and functions of an ELF file
 *
 * Everything is lazy: opening maps the file, the first name sorts the symbol table, the first line
 * opens the DWARF data. Separate debug files are found by build id under
 * /usr/lib/debug/.build-id. Where a function has no symbol its .eh_frame range names it
 * (fde_0x1234).
 *
 * Units      addresses are those in the ELF file: address in memory minus load bias.
 * Ownership  strings are borrowed and live until pm_elf_close().
 * Threads    one thread per pm_elf. */
#ifndef PM_ELF_SYMBOLS_H
#define PM_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct pm_elf;

/* NULL and @err if the file cannot be read as ELF. @build_id (hex, NULL: any): a file with another
 * one is refused, so that a program replaced since the run does not lend wrong names. */
struct pm_elf *pm_elf_open(const char *path, const char *build_id, struct pm_err *err);
/* From memory that the caller keeps: the vDSO's image. */
struct pm_elf *pm_elf_open_memory(const void *p, size_t n, const char *name, struct pm_err *err);
/* Our own vDSO: the same kernel gave a traced process the same image. NULL: there is none, or it
 * has another build id. */
struct pm_elf *pm_elf_open_vdso(const char *build_id);
void pm_elf_close(struct pm_elf *e);			/* NULL is fine */
const char *pm_elf_build_id(const struct pm_elf *e);	/* lower-case hex or NULL */

enum pm_elf_name { PM_NAME_NONE, PM_NAME_SYMBOL, PM_NAME_PLT, PM_NAME_FDE };

struct pm_elf_function {
	const char *name;		/* as in the file (mangled), "foo@plt", "fde_0x1234" */
	uint64_t lo;			/* where the function begins */
	uint64_t hi;			/* the answer is the same for the addresses asked..hi - 1 */
	enum pm_elf_name kind;
};
/* The function around @addr. False: nothing is known; then only f->hi is set. */
bool pm_elf_function_at(struct pm_elf *e, uint64_t addr, struct pm_elf_function *f);

/* The same for data: the variable around @addr, as the symbol table has it; hi is its end. */
bool pm_elf_variable_at(struct pm_elf *e, uint64_t addr, struct pm_elf_function *f);

/* The demangled form of a C++ or Rust name, or @name itself. Borrowed until the next call. */
const char *pm_elf_demangle(struct pm_elf *e, const char *name);

/* The source line of @addr: false if there is none. The file's name is absolute where known. */
bool pm_elf_line_at(struct pm_elf *e, uint64_t addr, const char **file, unsigned *line);
bool pm_elf_has_lines(struct pm_elf *e); /* does the file, or its debug file, have DWARF lines? */

/* Would the first line take tens of milliseconds, because much debugging information has to be
 * unpacked first? */
bool pm_elf_lines_are_slow(struct pm_elf *e);

/* All of them, by address: code from lo to hi - 1 is of that line. Code without a line has no row.
 * None at all if there is a file that @want refuses. The caller free()s *@v. Returns their
 * number. */
struct pm_elf_row { uint64_t lo, hi; const char *file; unsigned line; };
size_t pm_elf_rows(struct pm_elf *e, bool (*want)(const char *file), struct pm_elf_row **v);
/* Functions that have code, by address, with where they are declared; likewise. */
struct pm_elf_subprogram {
	const char *name, *file;	/* name: as in the symbol table (mangled) */
	unsigned line;
	uint64_t lo, hi;
};
size_t pm_elf_subprograms(struct pm_elf *e, struct pm_elf_subprogram **v);

/* The code at @addr, borrowed, with *@n bytes of it and what follows; NULL: the file has none
 * there. */
const uint8_t *pm_elf_code_at(struct pm_elf *e, uint64_t addr, size_t *n);
unsigned pm_elf_machine_of(struct pm_elf *e);	/* EM_* */
/* Where the page begins that its first segment, or its first executable one, begins in. */
uint64_t pm_elf_image_base(struct pm_elf *e);
uint64_t pm_elf_text_base(struct pm_elf *e);

/* Every name that a symbol gives to where a function begins, and those of PLT entries: several
 * names of one address, too. */
void pm_elf_each_function(struct pm_elf *e, void (*each)(void *arg, const char *name, uint64_t lo),
			  void *arg);

/* ---- where functions begin: for translation ahead of time -------------------------------------
 */
enum pm_elf_start {			/* who says so */
	PM_START_SYMBOL	= 1 << 0,
	PM_START_FDE	= 1 << 1,
	PM_START_ENTRY	= 1 << 2,	/* ELF entry point */
	PM_START_INIT	= 1 << 3,	/* init, fini and their arrays */
	PM_START_PLT	= 1 << 4,	/* a PLT entry */
};
struct pm_elf_range {
	uint64_t lo, hi;		/* hi == lo: the extent is unknown */
	uint32_t from;			/* enum pm_elf_start */
};
/* All of them by ascending address, each address once, all inside executable sections or segments;
 * *@v is the caller's to free(). Returns their number. */
size_t pm_elf_functions(struct pm_elf *e, struct pm_elf_range **v);

#endif
