/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "trace/idt_format.h"

const char *const idt_format_name[2][3] = {
	{ "idt-branch", "idt-cache", "idt-exec" }, { "idt-branch64", "idt-cache64", "idt-exec64" },
};

const char *const idt_kind_name[3] = { "branch", "cache", "execution" };

/* "x.trc.gz" -> "x.blk", or with what else than a block table is beside it. */
static char *companion_of(const char *path, bool wide, const char *suffix)
{
	size_t n = strlen(path), cut = 0;
	char *s = pm_alloc(n + 16);
	const char *from = wide ? ".trc64" : ".trc";

	memcpy(s, path, n);
	for (size_t i = 0; i + strlen(from) <= n; i++)
		if (!memcmp(s + i, from, strlen(from)) &&
		    (!s[i + strlen(from)] || s[i + strlen(from)] == '.'))
			cut = i;
	if (n > 4 && !strcmp(path + n - 4, ".otr"))	/* a FIFO */
		cut = n - 4;
	strcpy(s + (cut ? cut : n), suffix);
	return s;
}

char *idt_blk_path(const char *path, bool wide)
{
	return companion_of(path, wide, wide ? ".blk64" : ".blk");
}

char *idt_info_path(const char *path, bool wide)
{
	return companion_of(path, wide, wide ? ".trc64.info" : ".trc.info");
}

char *idt_idt_path(const char *path, bool wide)
{
	return companion_of(path, wide, ".idt");
}

char *idt_program_path(const char *path, bool wide)
{
	return companion_of(path, wide, "");
}

char *idt_modules_path(const char *path, bool wide)
{
	return companion_of(path, wide, ".mod");
}

bool idt_legal(enum idt_kind kind, unsigned tag, bool wide)
{
	unsigned k = tag & 0xf0;

	if (k <= IDT_RWR)
		return kind != IDT_BRANCH && (kind == IDT_EXEC || k != IDT_RW) &&
			idt_code_bytes(tag & 15, wide);
	if (k == IDT_POP || k == IDT_PUSH)
		return kind == IDT_CACHE && idt_code_bytes(tag & 15, wide);
	if (tag & 15)
		return false;
	switch (k) {
	case IDT_REND: return kind != IDT_BRANCH;
	case IDT_LINE: return kind == IDT_CACHE;
	case IDT_BBAD: case IDT_OP1: case IDT_OP2: return kind == IDT_BRANCH;
	case IDT_BBFP: case IDT_TARG: return kind == IDT_EXEC;
	}
	return false;
}

unsigned idt_entry_size(unsigned tag, bool wide)
{
	return (wide ? 9u : 5u) + ((tag & 0xf0) == IDT_OP1) + 2 * ((tag & 0xf0) == IDT_OP2);
}

bool idt_through_memory(const struct pm_insn *in, bool wide)
{
	uint8_t op[2];

	if (in->isa == PM_ISA_NONE || (in->flow != PM_CLASS_JUMP_IND &&
				       in->flow != PM_CLASS_CALL_IND))
		return false;
	for (unsigned i = 0; i + 1 < in->len; i++)
		if (idt_opcode(in->bytes + i, in->len - i, wide, op) == 1 && in->bytes[i] == 0xff)
			return in->bytes[i + 1] < 0xc0;
	return false;
}

enum idt_pushes idt_pushes(const struct pm_insn *in, bool wide)
{
	unsigned i = 0;
	uint8_t op[2];

	if (in->isa > PM_ISA_X86_32)
		return IDT_PLAIN;
	/* idt_opcode() has passed over the prefixes; where the opcode is, its value tells */
	if (idt_opcode(in->bytes, in->len, wide, op) != 1)
		return IDT_PLAIN;
	while (i < in->len && in->bytes[i] != op[0])
		i++;
	switch (op[0]) {
	case 0x60: return wide ? IDT_PLAIN : IDT_PUSHA;
	case 0x61: return wide ? IDT_PLAIN : IDT_POPA;
	case 0x9a: return wide ? IDT_PLAIN : IDT_FAR_CALL;
	case 0xff:
		return i + 1 < in->len && (in->bytes[i + 1] >> 3 & 7) == 3 ? IDT_FAR_CALL
									   : IDT_PLAIN;
	default: return IDT_PLAIN;
	}
}
