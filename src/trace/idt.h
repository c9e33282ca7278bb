/* SPDX-License-Identifier: MIT */
/* idt.h - IDtrace's files beside the trace itself: block tables (.blk), counters (.cnt), hints; and
 * what its entries are called. Both widths: the original's 32 bits and ours of 64.
 *
 * Ownership  what parse functions fill in is released by the release functions. The bytes that were
 *            parsed are not needed afterwards.
 * Errors     a file that makes no sense: pm_err with the offset. Lengths are checked against the
 *            file's real size before anything is allocated. */
#ifndef PM_TRACE_IDT_H
#define PM_TRACE_IDT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "pugmark/pugmark.h"

/* ---- entries of a .trc ---------------------------------------------------------------------- */
enum idt_tag {
	/* | size code */
	IDT_RW = 0x00, IDT_RD = 0x10, IDT_WR = 0x20, IDT_RRD = 0x30, IDT_RWR = 0x40,
	IDT_REND = 0x50, IDT_LINE = 0x60, IDT_BBAD = 0x70, IDT_BBFP = 0x80, IDT_TARG = 0x90,
	IDT_OP1 = 0xa0, IDT_OP2 = 0xb0,
	IDT_POP = 0xc0, IDT_PUSH = 0xd0, /* | size code; ours, of cache traces */
};
/* Flags of opaque events of an execution trace. TARG: a target, value, was entry number id of the
 * block. BLOCK: the block whose record is at value is over. STOP: behind one that is over early,
 * what says so. PM_OPAQUE_INSIDE: it is not, but goes on for very long, and all targets before here
 * have been told. */
enum { IDT_OP_TARG = 3, IDT_OP_BLOCK = 4, IDT_OP_STOP = 6 };
enum { IDT_MAX_INSNS = 127 };		/* instructions per block record */

/* Bytes that a size code stands for, 0 if there is no such code: 1..5 are 1 2 4 8 10, in the wide
 * variant also 6..8: 16 32 64. */
unsigned idt_code_bytes(unsigned code, bool wide);
/* The largest code for at most @bytes (> 0); 10 only for exactly 10. */
unsigned idt_bytes_code(unsigned bytes, bool wide);

/* idt_id of an instruction: bits 0-7 opcode, 8-10 ModRM.reg of group opcodes, 11-12 map, 13-14
 * mandatory prefix, 15 rep on a string instruction. 0xffff if the bytes are no instruction. */
uint16_t idt_insn_id(const uint8_t *bytes, unsigned len, bool wide);
enum pm_insn_class idt_id_class(uint16_t id);
/* Opcode bytes of a control instruction behind its prefixes: 1, or 2 for 0f xx; 0 if none. */
unsigned idt_opcode(const uint8_t *bytes, unsigned len, bool wide, uint8_t op[2]);

/* ---- .blk, .blk64 --------------------------------------------------------------------------- */
struct idt_insn {
	uint16_t id;
	uint8_t size;			/* bytes, 1..15 */
	int8_t entries;			/* in the trace; -1, -2: rep with that many references */
};

/* That many or more, as for xsave of large states: all entries up to the block's end, which this
 * instruction is. */
#define IDT_MANY_ENTRIES 127

struct idt_block {
	uint64_t address;
	uint64_t offset;		/* of its record in the file: what BBFP entries hold */
	uint32_t insn, n;		/* blk->insn[insn .. insn + n) */
};
struct idt_blk {
	bool wide;
	int64_t oldt_offset;		/* address - file position in the original binary */
	uint32_t orig_magic, idt_magic;
	struct idt_block *block;
	struct idt_insn *insn;
	size_t nblock, cap_block, ninsn, cap_insn;
};
/* Bytes of the header, and what positions of records are multiples of. */
static inline unsigned idt_blk_head(bool wide)
{
	return wide ? 32 : 16;
}

static inline unsigned idt_blk_unit(bool wide)
{
	return wide ? 8 : 4;
}

enum pm_status idt_blk_parse(const uint8_t *p, size_t n, bool wide, struct idt_blk *to,
			     struct pm_err *err);
/* Adds a block of up to 127 (wide: 255) instructions and returns its index; its offset is set. */
uint32_t idt_blk_add(struct idt_blk *b, uint64_t address, const struct idt_insn *insn, unsigned n);
void idt_blk_write(const struct idt_blk *b, struct pm_buf *to);
void idt_blk_magic(const struct idt_blk *b, uint8_t *p);	/* its magic numbers, into what
								 * has been written */
/* Index of the block whose record is at @offset, PM_NONE if there is none. */
uint32_t idt_blk_at(const struct idt_blk *b, uint64_t offset);
void idt_blk_release(struct idt_blk *b);

/* ---- .cnt, .cnt64: one sum per block, of the last ones perhaps none ------------------------- */
struct idt_cnt {
	uint32_t orig_magic, idt_magic;
	uint64_t *count;
	size_t n;
	size_t given;			/* so many of them, the first ones, are in the file */
};
enum pm_status idt_cnt_parse(const uint8_t *p, size_t n, size_t blocks, bool wide,
			     struct idt_cnt *to, struct pm_err *err);
/* 32-bit counters: as many sets as the largest sum takes. */
void idt_cnt_write(const struct idt_cnt *c, bool wide, struct pm_buf *to);
void idt_cnt_release(struct idt_cnt *c);

/* ---- hint files ----------------------------------------------------------------------------- */
enum idt_hint_kind {
	IDT_TRACE_BEG, IDT_TRACE_END, IDT_MAIN_CALL, IDT_EXIT_CALL, IDT_JTAB, IDT_CURBRK,
};
struct idt_hint {
	enum idt_hint_kind kind;
	uint64_t addr, entries;		/* entries: of a jump table */
	uint64_t line;			/* in the file */
};
struct idt_hints {
	struct idt_hint *v;
	size_t n, cap;
};
enum pm_status idt_hints_parse(const char *text, size_t n, struct idt_hints *to,
			       struct pm_err *err);
void idt_hints_write(const struct idt_hints *h, struct pm_buf *to);
void idt_hints_release(struct idt_hints *h);

#endif
