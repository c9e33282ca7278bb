/* SPDX-License-Identifier: MIT */
/* disasm.h - one x86 instruction as an assembler would write it */
#ifndef PM_ISA_X86_DISASM_H
#define PM_ISA_X86_DISASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Into @buf, AT&T's way or @intel's; addresses relative to rip are worked out behind a '#'. The
 * length of the instruction; "(unknown)" and 1 for bytes that are none. */
unsigned x86_text(const uint8_t *p, size_t n, uint64_t pc, bool i386, bool intel, char *buf,
		  size_t size);

#endif
