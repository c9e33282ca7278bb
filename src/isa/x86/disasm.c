/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "isa/x86/disasm.h"

unsigned x86_text(const uint8_t *p, size_t n, uint64_t pc, bool i386, bool intel, char *buf,
		  size_t size)
{
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecoder dec;
	ZydisFormatter fmt;

	ZydisDecoderInit(&dec,
			 i386 ? ZYDIS_MACHINE_MODE_LONG_COMPAT_32 : ZYDIS_MACHINE_MODE_LONG_64,
			 i386 ? ZYDIS_STACK_WIDTH_32 : ZYDIS_STACK_WIDTH_64);
	if (!n || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&dec, p, n, &in, op))) {
		snprintf(buf, size, "(unknown)");
		return 1;
	}
	ZydisFormatterInit(&fmt, intel ? ZYDIS_FORMATTER_STYLE_INTEL : ZYDIS_FORMATTER_STYLE_ATT);
	ZydisFormatterSetProperty(&fmt, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&fmt, ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&fmt, ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&fmt, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&fmt, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	ZydisFormatterSetProperty(&fmt, ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE);
	ZydisFormatterFormatInstruction(&fmt, &in, op, in.operand_count_visible, buf, size, pc,
					NULL);
	for (unsigned i = 0; i < in.operand_count_visible; i++) {
		size_t at = strlen(buf);
		ZyanU64 a;

		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    op[i].mem.base == ZYDIS_REGISTER_RIP &&
		    ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&in, &op[i], pc, &a)))
			snprintf(buf + at, size - at, "  # 0x%llx", (unsigned long long)a);
	}
	return in.length;
}
