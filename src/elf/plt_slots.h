/* SPDX-License-Identifier: MIT */
/* plt_slots.h - which functions of its own an object calls through pointers that a dynamic linker
 * fills
 *
 * A library calls its own exported functions through its procedure linkage table, because another
 * one might define them, too. What is found here is where such a pointer leads if nobody does.
 * Source: System V ABI, "Dynamic Linking"; its AMD64 supplement, R_X86_64_JUMP_SLOT.
 *
 * Units      addresses: in the file, but for @bias: address in memory less address in the file.
 * Errors     an object that makes no sense has no slots.
 * Threads    any. */
#ifndef PM_ELF_PLT_SLOTS_H
#define PM_ELF_PLT_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/* Of the 64-bit object that is mapped with @bias: address of each slot -> address of the function,
 * added to @slots. @read fetches all @n bytes at memory address @at, or returns false. */
void elf_plt_slots(uint64_t bias, bool (*read)(void *ctx, void *to, uint64_t at, size_t n),
		   void *ctx, struct pm_map *slots);

#endif
