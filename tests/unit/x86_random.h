/* SPDX-License-Identifier: MIT */
/* x86_random.h - random instructions that a test can execute */
#ifndef X86_RANDOM_H
#define X86_RANDOM_H

#include <stdbool.h>
#include <stdint.h>
#include <Zydis/Zydis.h>

#include "base/mem.h"
#include "isa/x86/decode.h"

static uint64_t rng_state = 0x2545f4914f6cdd1dull;

static uint64_t rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return rng_state;
}

/* Not to be tried: they do not depend on their inputs alone, or would wreck the test itself. */
static bool unfit(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_RDTSC: case ZYDIS_MNEMONIC_RDTSCP: case ZYDIS_MNEMONIC_RDRAND:
	case ZYDIS_MNEMONIC_RDSEED: case ZYDIS_MNEMONIC_RDPMC: case ZYDIS_MNEMONIC_CPUID:
	case ZYDIS_MNEMONIC_RDPID: case ZYDIS_MNEMONIC_RDPRU: case ZYDIS_MNEMONIC_RDFSBASE:
	case ZYDIS_MNEMONIC_WRFSBASE: case ZYDIS_MNEMONIC_WRPKRU: case ZYDIS_MNEMONIC_LFS:
	case ZYDIS_MNEMONIC_LSS: case ZYDIS_MNEMONIC_MONITOR: case ZYDIS_MNEMONIC_MONITORX:
	case ZYDIS_MNEMONIC_MWAIT: case ZYDIS_MNEMONIC_MWAITX: case ZYDIS_MNEMONIC_UMWAIT:
	case ZYDIS_MNEMONIC_TPAUSE: case ZYDIS_MNEMONIC_VMCALL: case ZYDIS_MNEMONIC_VMMCALL:
	case ZYDIS_MNEMONIC_POPF: case ZYDIS_MNEMONIC_POPFD: case ZYDIS_MNEMONIC_POPFQ:
	case ZYDIS_MNEMONIC_LDMXCSR: case ZYDIS_MNEMONIC_FLDCW: case ZYDIS_MNEMONIC_FLDENV:
	case ZYDIS_MNEMONIC_FRSTOR: case ZYDIS_MNEMONIC_FXRSTOR: case ZYDIS_MNEMONIC_FXRSTOR64:
	case ZYDIS_MNEMONIC_XRSTOR: case ZYDIS_MNEMONIC_XRSTOR64: case ZYDIS_MNEMONIC_VLDMXCSR:
	case ZYDIS_MNEMONIC_STMXCSR: case ZYDIS_MNEMONIC_VSTMXCSR:
	case ZYDIS_MNEMONIC_XSAVE: case ZYDIS_MNEMONIC_XSAVE64: case ZYDIS_MNEMONIC_XSAVEC:
	case ZYDIS_MNEMONIC_XSAVEC64: case ZYDIS_MNEMONIC_XSAVEOPT: case ZYDIS_MNEMONIC_XSAVEOPT64:
	case ZYDIS_MNEMONIC_FXSAVE: case ZYDIS_MNEMONIC_FXSAVE64: case ZYDIS_MNEMONIC_FNSAVE:
	case ZYDIS_MNEMONIC_FNSTENV: case ZYDIS_MNEMONIC_XGETBV: case ZYDIS_MNEMONIC_SMSW:
	case ZYDIS_MNEMONIC_STR: case ZYDIS_MNEMONIC_SLDT: case ZYDIS_MNEMONIC_SGDT:
	case ZYDIS_MNEMONIC_SIDT: case ZYDIS_MNEMONIC_LSL:
		return true;
	default:
		break;
	}
	/* x87 state is not seeded: it carries over from trial to trial */
	if (z->meta.isa_set == ZYDIS_ISA_SET_X87 || z->meta.isa_set == ZYDIS_ISA_SET_FCMOV)
		return true;
	/* far from every base register there may be memory of the test, at another place in every
	 * run */
	for (unsigned i = 0; i < z->operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (op[i].mem.disp.value > 0x10000 || op[i].mem.disp.value < -0x10000))
			return true;
	for (unsigned i = 0; i < z->operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
		    op[i].reg.value >= ZYDIS_REGISTER_ES && op[i].reg.value <= ZYDIS_REGISTER_GS)
			return true;
	return false;
}

/* X86_MAX_LEN bytes that begin with something like an instruction. Memory operands that modrm
 * names are [rsi + disp8]. */
static void random_insn(uint8_t *p)
{
	static const uint8_t prefix[] = { 0x66, 0xf2, 0xf3, 0x66, 0xf3, 0x67 };
	static const uint8_t vex_pp[] = { 0, 1, 2, 3 };
	unsigned n = 0, map = rng() % 20;

	for (unsigned i = 0; i < X86_MAX_LEN; i++)
		p[i] = rng() & 15 ? rng() : rng() & 3;
	if (map < 14) {
		while (rng() % 4 == 0 && n < 3)
			p[n++] = prefix[rng() % NR(prefix)];
		if (rng() & 1)
			p[n++] = 0x40 | (rng() & 15);
		if (map >= 8)
			p[n++] = 0x0f;
		if (map >= 12)
			p[n++] = map == 12 ? 0x38 : 0x3a;
		n++;			/* the opcode: random */
	} else {
		p[n++] = 0xc4;		/* BMI and friends live in VEX maps 2 and 3 */
		p[n++] = 0xe0 | (1 + rng() % 3);
		if (rng() & 1)
			p[n - 1] &= 0x5f | (rng() & 0xa0);
		p[n] = (rng() & 0xf8) | vex_pp[rng() & 3];
		n++;
		if (p[1] % 32 == 2 && rng() & 1)
			p[n] = 0xf0 | (rng() & 15);
		n++;
	}
	if (rng() % 3)
		p[n] |= 0xc0;		/* registers; else memory through rsi */
	else
		p[n] = 0x46 | (p[n] & 0x38);
}

#endif
