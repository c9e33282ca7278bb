/* SPDX-License-Identifier: MIT */
/* zydis_regs.h - what files of this folder share about Zydis; nobody else includes Zydis's headers
 * for this purpose */
#ifndef PM_ISA_X86_ZYDIS_REGS_H
#define PM_ISA_X86_ZYDIS_REGS_H

#include <stdbool.h>

#include <Zydis/Zydis.h>

/* Penn number of @r, -1 if it has none (rip, segment registers, none at all). */
int x86_reg_number(ZydisRegister r);
/* Versions of Zydis differ about some operands, and traces must not: before 4.1 movlps and its
 * like, sqrtss and its like write all of their destination, and swapgs has no operand. What they do
 * not write of an xmm register stays (both manufacturers' manuals), so they read it. */
void x86_amend(ZydisDecodedInstruction *in, ZydisDecodedOperand *op);
/* ZydisDecoderDecodeFull(), amended. @op has room for ZYDIS_MAX_OPERAND_COUNT. @wide: 64-bit code,
 * else 32-bit. */
bool x86_zydis(const uint8_t *bytes, unsigned len, bool wide, ZydisDecodedInstruction *in,
		ZydisDecodedOperand *op);

/* Hints that touch no data, although Zydis gives them a memory operand. */
bool x86_is_hint(const ZydisDecodedInstruction *in);

#endif
