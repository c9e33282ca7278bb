/* SPDX-License-Identifier: MIT */
/* tables.h - instructions that read jump tables: what tables.c and counted_tables.c share */
#ifndef PM_TRANSLATE_TABLES_H
#define PM_TRANSLATE_TABLES_H

#include "collect/translate/translate_internal.h"

enum { OP_ADD_TO = 0x01, OP_ADD = 0x03, OP_MOVSXD = 0x63, OP_MOV = 0x8b, OP_LEA = 0x8d,
       OP_GROUP1 = 0x81, OP_GROUP1_8 = 0x83, OP_GROUP5 = 0xff, PREFIX_16 = 0x66 };

struct operand {
	int reg;			/* the other one */
	int rm;				/* register; -1: memory */
	int base, index;		/* -1: none */
	unsigned scale;
	int32_t disp;
};

static inline uint8_t opcode(const struct insn *i)
{
	return i->p[i->x.op];
}

/* False: @i has no modrm byte, or a two-byte opcode. */
bool operand(const struct scratch *s, const struct insn *i, struct operand *o);

struct xl_table {
	uint64_t at;
	unsigned width;			/* of an entry, in bytes */
	bool relative;			/* entries are distances from @at */
};

/* Where entry @i of @t leads, which is within the text; false: there is none. */
bool table_entry(const struct xl_input *in, const struct xl_table *t, uint32_t i, uint64_t *to);
/* The address that `lea x(%rip)` has put into @reg before instruction @k, but not before @stop, as
 * far as the order in which they were found tells: within a block that is sure. */
bool lea_address(const struct scratch *s, size_t stop, size_t k, int reg, uint64_t *at);
/* Entries of the table of the jump at @k: one more than what the nearest comparison compares with,
 * if a branch on the result follows; 0: unknown. */
uint32_t entries(const struct scratch *s, size_t k);

#endif
