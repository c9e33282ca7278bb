/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "isa/x86/regs.h"
#include "isa/x86/zydis_regs.h"

int x86_reg_number(ZydisRegister r)
{
	ZydisRegister big;

	switch (ZydisRegisterGetClass(r)) {
	case ZYDIS_REGCLASS_GPR8:
	case ZYDIS_REGCLASS_GPR16:
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR64:
		big = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
		return big - ZYDIS_REGISTER_RAX;
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
		return 16 + (ZydisRegisterGetId(r) & 15);
	case ZYDIS_REGCLASS_X87:
	case ZYDIS_REGCLASS_MMX:
		return 32 + (ZydisRegisterGetId(r) & 7);
	case ZYDIS_REGCLASS_MASK:
		/* k0 as a write mask means none */
		return r == ZYDIS_REGISTER_K0 ? -1 : 40;
	case ZYDIS_REGCLASS_FLAGS:
		return X86_REG_FLAGS;
	default:
		break;
	}
	switch (r) {
	case ZYDIS_REGISTER_X87CONTROL:
	case ZYDIS_REGISTER_X87STATUS:
	case ZYDIS_REGISTER_X87TAG:
	case ZYDIS_REGISTER_MXCSR:
		return 43;
	default:
		return -1;
	}
}

static uint8_t class_of(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op,
			bool *indirect)
{
	bool direct = op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ||
		      op[0].type == ZYDIS_OPERAND_TYPE_POINTER;

	*indirect = false;
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return PM_CLASS_COND;
	case ZYDIS_CATEGORY_UNCOND_BR:
		*indirect = !direct;
		return direct ? PM_CLASS_JUMP : PM_CLASS_JUMP_IND;
	case ZYDIS_CATEGORY_CALL:
		*indirect = !direct;
		return direct ? PM_CLASS_CALL : PM_CLASS_CALL_IND;
	case ZYDIS_CATEGORY_RET:
		*indirect = true;
		return in->mnemonic == ZYDIS_MNEMONIC_RET ? PM_CLASS_RET : PM_CLASS_JUMP_IND;
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_INTERRUPT:
		return PM_CLASS_SYSCALL;
	default:
		return PM_CLASS_NONE;
	}
}

static ZydisDecoder decoders[2];	/* 32, 64 bits; constant once made */

static void make_decoders(void)
{
	ZydisDecoderInit(&decoders[0], ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32);
	ZydisDecoderInit(&decoders[1], ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

void x86_amend(ZydisDecodedInstruction *in, ZydisDecodedOperand *op)
{
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_MOVLPS: case ZYDIS_MNEMONIC_MOVLPD: case ZYDIS_MNEMONIC_MOVHPS:
	case ZYDIS_MNEMONIC_MOVHPD: case ZYDIS_MNEMONIC_MOVHLPS: case ZYDIS_MNEMONIC_MOVLHPS:
	case ZYDIS_MNEMONIC_SQRTSS: case ZYDIS_MNEMONIC_SQRTSD: case ZYDIS_MNEMONIC_RSQRTSS:
	case ZYDIS_MNEMONIC_RCPSS: case ZYDIS_MNEMONIC_ROUNDSS: case ZYDIS_MNEMONIC_ROUNDSD:
		if (op[0].type == ZYDIS_OPERAND_TYPE_REGISTER)
			op[0].actions |= ZYDIS_OPERAND_ACTION_READ;
		break;
	case ZYDIS_MNEMONIC_SWAPGS:
		in->operand_count = 0;
		break;
	default:
		break;
	}
}

bool x86_zydis(const uint8_t *bytes, unsigned len, bool wide, ZydisDecodedInstruction *in,
		ZydisDecodedOperand *op)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_decoders);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoders[wide], bytes, len, in, op)))
		return false;
	x86_amend(in, op);
	return true;
}

bool x86_is_hint(const ZydisDecodedInstruction *in)
{
	return in->meta.category == ZYDIS_CATEGORY_NOP ||
	       in->meta.category == ZYDIS_CATEGORY_WIDENOP ||
	       in->meta.category == ZYDIS_CATEGORY_PREFETCH ||
	       in->mnemonic == ZYDIS_MNEMONIC_CLFLUSH ||
	       in->mnemonic == ZYDIS_MNEMONIC_CLFLUSHOPT || in->mnemonic == ZYDIS_MNEMONIC_CLWB ||
	       in->mnemonic == ZYDIS_MNEMONIC_CLDEMOTE || in->mnemonic == ZYDIS_MNEMONIC_INVLPG;
}

static void add(uint64_t *set, ZydisRegister r)
{
	int n = x86_reg_number(r);

	if (n >= 0)
		*set |= 1ull << n;
}

bool x86_regs(const uint8_t *bytes, unsigned len, bool wide, struct x86_regs *out)
{
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

	*out = (struct x86_regs){ 0 };
	if (!x86_zydis(bytes, len, wide, &in, op))
		return false;
	out->len = in.length;
	out->modrm = in.attributes & ZYDIS_ATTRIB_HAS_MODRM ? in.raw.modrm.offset : 0;
	out->class = class_of(&in, op, &out->indirect);
	out->rep = in.attributes &
		   (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
	for (unsigned i = 0; i < in.operand_count; i++) {
		bool rd = op[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ;
		bool wr = op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

		if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER) {
			if (rd)
				add(&out->reads, op[i].reg.value);
			if (wr)
				add(&out->writes, op[i].reg.value);
		} else if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
			add(&out->reads, op[i].mem.base);
			add(&out->reads, op[i].mem.index);
			if (op[i].mem.type != ZYDIS_MEMOP_TYPE_MEM || !(rd || wr) ||
			    out->nmem == X86_MAX_MEM)
				continue;
			out->mem[out->nmem++] = (struct x86_mem){
				.size = op[i].size / 8, .read = rd, .write = wr,
				.stack = op[i].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
					 x86_reg_number(op[i].mem.base) == X86_REG_RSP,
			};
		}
	}
	return true;
}
