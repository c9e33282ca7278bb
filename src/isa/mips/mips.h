/* SPDX-License-Identifier: MIT */
/* mips.h - the MIPS instruction set as a table: decoding, classification, disassembly
 *
 * The table is insns.txt; tools/mipsgen.c makes the rows and the decoder's index from it. */
#ifndef PM_ISA_MIPS_MIPS_H
#define PM_ISA_MIPS_MIPS_H

#include <stddef.h>
#include <stdint.h>

#include "pugmark/pugmark.h"

enum mips_op {
#define INSN(id, name, match, mask, ops, class, isa) MIPS_##id,
#include "mips-insns.inc"
#undef INSN
	MIPS_NOPS,
	MIPS_RESERVED = MIPS_NOPS,	/* no instruction of the enabled instruction sets */
};

enum mips_class {
	MIPS_CLASS_alu, MIPS_CLASS_shift, MIPS_CLASS_cmov, MIPS_CLASS_muldiv, MIPS_CLASS_hilo,
	MIPS_CLASS_load, MIPS_CLASS_store, MIPS_CLASS_fload, MIPS_CLASS_fstore, MIPS_CLASS_fpu,
	MIPS_CLASS_fcmp, MIPS_CLASS_fmove, MIPS_CLASS_cp0, MIPS_CLASS_cache, MIPS_CLASS_trap,
	MIPS_CLASS_misc, MIPS_CLASS_cop2,
	MIPS_CLASS_branch, MIPS_CLASS_link, MIPS_CLASS_likely, MIPS_CLASS_likelink,
	MIPS_CLASS_jump, MIPS_CLASS_jumpr, MIPS_CLASS_eret,
};

enum mips_isa {			/* of a row; a processor enables a set of them */
	MIPS_ISA_MIPS1	= 1 << 0,
	MIPS_ISA_MIPS2	= 1 << 1,
	MIPS_ISA_MIPS3	= 1 << 2,
	MIPS_ISA_MIPS64	= 1 << 3,	/* MIPS III on 64-bit registers */
	MIPS_ISA_r2	= 1 << 4,	/* MIPS32 release 2 */
	MIPS_ISA_R4400	= MIPS_ISA_MIPS1 | MIPS_ISA_MIPS2 | MIPS_ISA_MIPS3 | MIPS_ISA_MIPS64,
	MIPS_ISA_32R2	= MIPS_ISA_MIPS1 | MIPS_ISA_MIPS2 | MIPS_ISA_MIPS3 | MIPS_ISA_r2,
};

struct mips_insn {
	const char *name, *ops;
	uint32_t match, mask;
	uint8_t class, isa;
};
extern const struct mips_insn mips_insns[MIPS_NOPS];

enum mips_op mips_decode(uint32_t word, unsigned isa);

/* Whether the instruction has a delay slot: every branch and jump, not eret. */
static inline int mips_has_slot(enum mips_op op)
{
	return op < MIPS_NOPS && mips_insns[op].class >= MIPS_CLASS_branch &&
	       mips_insns[op].class <= MIPS_CLASS_jumpr;
}

/* What it does to control flow, in the terms of pugmark.h; $31 makes the difference between jr and
 * a return, as compilers use it. */
enum pm_insn_class mips_flow(enum mips_op op, uint32_t word);
/* Bytes of the data reference; 0 if there is none. Unaligned halves (lwl...) count as the word. */
unsigned mips_ref_size(enum mips_op op);

/* General registers that it reads and writes, as bits; HI and LO are bits 32 and 33. False: it does
 * more than that (memory is not counted): coprocessors, traps. */
_Bool mips_gpr_use(enum mips_op op, uint32_t word, uint64_t *reads, uint64_t *writes);

extern const char *const mips_gpr_names[32];	/* "zero", "at", "v0"... (o32) */
extern const char *const mips_cp0_names[32];
/* One line of assembler, as the GNU assembler takes it, always terminated; reserved words print as
 * ".word 0x...". @pc: address of the instruction. */
void mips_disasm(uint32_t word, uint64_t pc, unsigned isa, char *buf, size_t size);

#endif
