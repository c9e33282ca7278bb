/* SPDX-License-Identifier: MIT */
/* find.h - functions by the names that people give them
 *
 * What is typed may be the name as it is in the file; a C++ or Rust name as it is in the source,
 * with or without parameters and template arguments; or a pattern with * ? [] of either. A copy
 * that the compiler has made of a function (.isra.0, .constprop.1, .part.0...) goes by the
 * function's name. So does the unlikely part that it has moved away (.cold); but it is nothing that
 * is called, and is found only for want of all else.
 *
 * Threads    as for pm_elf (symbols.h). */
#ifndef PM_ELF_FIND_H
#define PM_ELF_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/near.h"
#include "elf/symbols.h"

/* Is the function that the file calls @name meant by @typed, or is it the unlikely part of one that
 * is? */
bool pm_elf_is_meant(struct pm_elf *e, const char *name, const char *typed);

/* Where functions begin that @typed means, ascending, each once: *@v is the caller's to free().
 * Returns their number. */
size_t pm_elf_find(struct pm_elf *e, const char *typed, uint64_t **v);

/* Names of functions in @e that look like @typed, besides those that are in @n already. */
void pm_elf_nearest(struct pm_elf *e, const char *typed, struct pm_nearest *n);

#endif
