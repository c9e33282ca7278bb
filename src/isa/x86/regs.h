/* SPDX-License-Identifier: MIT */
/* regs.h - which registers, flags and memory one x86 instruction uses, by the numbers that Penn
 * traces give registers
 *
 *    0-15  rax rcx rdx rbx rsp rbp rsi rdi r8-r15, whatever part of them
 *   16-31  xmm0-15, ymm and zmm likewise; AVX-512's upper sixteen share the numbers of the lower
 *   32-39  x87 stack and MMX registers, by their physical order in the operand
 *   40-42  floating-point temporaries of the cracker; 40 is also AVX-512's mask registers
 *      43  x87 control and status words, MXCSR where an instruction names it
 *   44-48  integer temporaries of the cracker
 *      49  flags
 * Segment, control and debug registers and rip have no number and are left out.
 *
 * Threads    nothing is shared: pure functions. */
#ifndef PM_ISA_X86_REGS_H
#define PM_ISA_X86_REGS_H

#include <stdbool.h>
#include <stdint.h>

#include "pugmark/pugmark.h"

#define X86_REG_FLAGS	49
#define X86_REG_RSP	4
#define X86_MAX_MEM	4

struct x86_mem {
	uint16_t size;			/* bytes; 0 unknown */
	bool read, write;
	bool stack;			/* implicit push or pop */
};

struct x86_regs {
	uint64_t reads, writes;		/* bit = register number; flags are bit 49 */
	struct x86_mem mem[X86_MAX_MEM];
	uint8_t nmem;
	uint8_t len;
	uint8_t modrm;			/* where it is, right behind the opcode; 0: there is none */
	uint8_t class;			/* enum pm_insn_class */
	bool indirect;
	bool rep;			/* a repeated string instruction */
};

/* False if the bytes are no instruction. */
bool x86_regs(const uint8_t *bytes, unsigned len, bool wide, struct x86_regs *out);

#endif
