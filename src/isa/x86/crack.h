/* SPDX-License-Identifier: MIT */
/* crack.h - one x86 instruction as micro-ops in the manner of Penn traces
 *
 * What comes out is a template: which registers, which immediate, which micro-ops touch memory. The
 * addresses, the outcome of a branch and the target are the execution's and are filled in later
 * (transform/to_uops.h). Registers have the numbers of regs.h.
 *
 * CRACKING INVARIANTS, tested over all instruction forms (tests/unit/test_crack.c)
 * (1) The registers that the micro-ops read before any of them writes them, temporaries aside, are
 *     those that the decoder says the instruction reads; those that they write, likewise.
 * (2) A micro-op reads the flags if and only if the instruction does; writes them likewise - except
 *     inc and dec, which traces of the course show without W, and xor of a register with itself,
 *     which is a zero and reads nothing.
 * (3) One LOAD per memory operand read, one STORE per memory operand written.
 * (4) Opcode names fit: 11 and 22 characters.
 *
 * Threads    nothing is shared: a pure function. */
#ifndef PM_ISA_X86_CRACK_H
#define PM_ISA_X86_CRACK_H

#include <stdbool.h>
#include <stdint.h>

#define X86_CRACK_MAX	24

struct x86_uop {
	int16_t src1, src2, dest;	/* -1: none */
	char flags;			/* R W - */
	char branch;			/* 'D' direct, 'I' indirect, '-' none */
	char ldst;			/* L S - */
	uint8_t msize;			/* bytes of the access; 0 unknown or variable */
	int64_t imm;
	const char *micro;		/* static */
};

struct x86_cracked {
	char macro[12];
	uint8_t n, len;
	bool specific;			/* by a recipe of its own, not by the generic one */
	bool integer;			/* no SSE, AVX, x87, MMX */
	bool cond;			/* the branch may be not taken */
	bool rep;			/* one iteration of a repeated string instruction */
	struct x86_uop uop[X86_CRACK_MAX];
};

/* False if the bytes are no instruction. @wide: 64-bit code, else 32-bit. */
bool x86_crack(const uint8_t *bytes, unsigned len, bool wide, struct x86_cracked *out);

#endif
