/* SPDX-License-Identifier: MIT */
/* decode.h - what one x86 instruction does, as far as moving and instrumenting it needs to know
 *
 * A compact summary on top of Zydis. Everything in it but the target follows from the *form* of an
 * instruction - prefixes, opcode, modrm, sib; not the displacement and immediate bytes - so a
 * decoder remembers forms and asks Zydis for each form once.
 *
 * Registers  bit r = GPR r in hardware order (rax 0, rcx 1, rdx 2, rbx 3, rsp 4 ... r15 15).
 * Errors     x86_decode() returns false for bytes that are no instruction, that Zydis does not
 *            know, or that are cut off.
 * Threads    one decoder per thread. */
#ifndef PM_ISA_X86_DECODE_H
#define PM_ISA_X86_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_mode { X86_MODE_64, X86_MODE_32 };

/* What has to be done with an instruction that is to run somewhere else. */
enum x86_kind {
	X86_PLAIN,		/* nothing, or its rip-relative displacement */
	X86_JMP, X86_JCC,	/* direct */
	X86_JCX,		/* loop, loope, loopne, jcxz, jecxz, jrcxz: rel8 only */
	X86_XBEGIN,
	X86_CALL, X86_RET,
	X86_JMP_IND, X86_CALL_IND,
	X86_SYSCALL,		/* in 32-bit code sysenter, too */
	X86_INT80,
	X86_STEP,		/* works only in place: gs (32-bit code: fs), far transfers,
				 * 67-prefixed rip-relative... or gives the program's own segment
				 * another base, which the runtime notes then */
	X86_STOP,		/* always faults: ud2, hlt */
	X86_UNKNOWN,		/* not decoded; never from x86_decode() */
};

enum x86_flag {			/* arithmetic flags, x86_insn.fread and so on */
	X86_CF	= 1 << 0,
	X86_PF	= 1 << 1,
	X86_AF	= 1 << 2,
	X86_ZF	= 1 << 3,
	X86_SF	= 1 << 4,
	X86_OF	= 1 << 5,
	X86_ALL_FLAGS = 0x3f,
};

enum x86_prop {
	X86_MAY_FAULT	= 1 << 0,	/* memory operand, division, privileged, trap */
	X86_RIP		= 1 << 1,	/* memory operand relative to rip: its disp32 is at .disp */
	X86_REP		= 1 << 2,	/* rep-prefixed string instruction */
	X86_ADDR	= 1 << 3,	/* has an effective 0x67 prefix */
	X86_TLS		= 1 << 4,	/* memory operand through the program's own segment: fs, in
					 * 32-bit code gs; what goes through the other is
					 * X86_STEP */
	X86_SHIFT_IMM	= 1 << 5,	/* (inside the decoder: flags depend on the immediate) */
	X86_WIDE	= 1 << 6,	/* REX.W or equivalent */
	X86_INT		= 1 << 7,	/* (inside the decoder: kind depends on the immediate) */
};

#define X86_MAX_LEN	15

struct x86_insn {
	uint8_t len;
	uint8_t kind;			/* enum x86_kind */
	uint8_t class;			/* enum pm_insn_class */
	uint8_t prop;			/* enum x86_prop */
	uint8_t nref;			/* data references per execution (per iteration for rep) */
	uint8_t fread, fwrite, fkill;	/* flags read; possibly changed; certainly overwritten */
	uint16_t read, write, kill;	/* GPRs read; possibly changed; certainly overwritten,
					 * whole */
	uint8_t op;			/* offset of the last opcode byte */
	uint8_t modrm;			/* offset, 0: none */
	uint8_t disp, ndisp;		/* offset and bytes of the displacement */
	uint8_t imm, nimm;		/* offset and bytes of the (first) immediate or relative
					 * target */
};

/* Is @byte, in front of an opcode, a prefix in all modes? In 64-bit code REX, 40 to 4f, may
 * follow. */
static inline bool x86_is_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65: case 0x66: case 0x67:
	case 0xf0: case 0xf2: case 0xf3:
		return true;
	}
	return false;
}

struct x86_decoder;
struct x86_decoder *x86_decoder_new(enum x86_mode mode);
void x86_decoder_free(struct x86_decoder *d);	/* NULL is fine */

/* Decode the instruction at @p, of which @n bytes can be read. */
bool x86_decode(struct x86_decoder *d, const uint8_t *p, size_t n, struct x86_insn *out);

/* Where a direct branch at @pc goes, before 32-bit code's wrap at 4 GiB. */
uint64_t x86_target(const struct x86_insn *in, const uint8_t *p, uint64_t pc);

/* The value of the immediate, sign-extended. */
int64_t x86_imm(const struct x86_insn *in, const uint8_t *p);

/* Is it one whose result another run does not repeat? rdtsc, rdtscp, rdrand, rdseed, rdpid, cpuid,
 * xgetbv. */
bool x86_is_odd(const struct x86_insn *in, const uint8_t *p);

/* SAFEPOINTS of recordings, collect/translate/translate.h: is @in a transfer that passes one,
 * always or if it is taken and does not lead to a higher address than its own? */
enum x86_passes { X86_PASSES_NONE, X86_PASSES_BACK, X86_PASSES_ALWAYS };
enum x86_passes x86_passes(const struct x86_insn *in, bool i386);

#endif
