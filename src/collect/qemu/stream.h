/* SPDX-License-Identifier: MIT */
/* stream.h - what the plug-in inside QEMU tells pugmark: a ring of buffers in a memory file, and
 * words in it
 *
 * Both sides are built from this header, and the plug-in is a part of pugmark's executable, so the
 * two always agree. pugmark nevertheless trusts nothing that it reads here: the guest is in the
 * same process as the plug-in.
 *
 *   OFFSET                SIZE          CONTENTS
 *        0                4096          struct qs_ring
 *     4096 + i * QS_BYTES QS_BYTES      buffer i: words of 64 bits, used[i] of them
 *
 * The plug-in fills buffers in turn. `filled` and `emptied` count them, modulo 2^32; a side that
 * has to wait sleeps on the other one's counter (futex). No record crosses the end of a buffer.
 *
 *   BITS     a reference                    a block begins       a record
 *    0..1    0                              1                    2
 *       2    1: of a device's register                           2..7: enum qs_record
 *       3    1: written                                          8..31: words that follow
 *    4..6    log2 of its size
 *    7..15   which instruction of the block
 *   16..63   the lower 48 bits of its
 *            address, sign-extended         32..63: its number   32..63: by record */
#ifndef PM_QEMU_STREAM_H
#define PM_QEMU_STREAM_H

#include <stdint.h>

#define QS_MAGIC	0x53514d50u	/* "PMQS" */
#define QS_BUFFERS	8u
#define QS_BYTES	(256u << 10)
#define QS_WORDS	(QS_BYTES / 8)
#define QS_HEADER	4096u
#define QS_SIZE		(QS_HEADER + QS_BUFFERS * QS_BYTES)

struct qs_ring {
	uint32_t magic;			/* by pugmark; the plug-in refuses another one */
	uint32_t filled, emptied;
	uint32_t ended;			/* the plug-in fills no more */
	uint32_t enough;		/* by pugmark: the trace has ended */
	uint32_t used[QS_BUFFERS];	/* words */
};

enum qs_tag { QS_REF, QS_BLOCK, QS_RECORD };
#define QS_DEVICE	(1u << 2)
#define QS_WRITE	(1u << 3)
#define QS_SIZE_SHIFT	4
#define QS_SLOT_SHIFT	7
#define QS_ADDR_SHIFT	16
#define QS_MAX_INSNS	512u		/* of a block */
#define QS_MAX_LEN	15u		/* bytes of an instruction */

enum qs_record {
	/* 32..63: its number, one more than the last one's. Words: address; instructions, and in
	 * bit 16 whether it is 64-bit code; physical addresses of its first byte, and of its first
	 * one in the next page, QS_NOWHERE if it is not known, wanted, or there; a byte for the
	 * length of each instruction; their bytes. The last two are padded to words. */
	QS_DEFINE = 1,
	/* A reference whose address needs 64 bits. Words: the reference's; the address. */
	QS_WIDE_REF,
	/* A reference of the first instruction of block 32..63, which QEMU executes once more, by
	 * itself, in place of that of the block that runs: devices' registers. Words: as above. */
	QS_AGAIN,
	QS_SPACE,			/* words: the page directory from now on */
	QS_INTERRUPT,			/* 32..63: vector; words: where control will go back to */
	/* The block that begins next is that of a watched function, or the one behind its call.
	 * 32..62: which of struct qs_plan's; 63: behind. Words: the block's address; the values
	 * that the plan asks for, QS_TEXT words for one that is text. */
	QS_WATCHED,
	/* Where the page of a reference is that follows. Both sides keep a table of QS_PAGES
	 * entries, found by the lowest bits of the virtual page's number, and this replaces one.
	 * Words: number of the virtual page; of the physical one. */
	QS_WHERE,
	/* An instruction of the block that runs is about to do what no reference shows. 32..63: as
	 * bits 7..15 above in 0..8, enum qs_cycle in 9..11, log2 of the size in 12..13. Words: the
	 * port; what is written to it. */
	QS_CYCLE,
	QS_END,				/* nothing follows */
};

#define QS_NOWHERE	UINT64_MAX
#define QS_PAGES	4096u
enum qs_cycle { QS_IN = 1, QS_OUT, QS_HALT, QS_FLUSH, QS_INVALIDATE };
#define QS_CYCLE_SHIFT	9
#define QS_CYCLE_SIZE	12

#define QS_LEAVE	(1u << 31)
#define QS_TEXT		32u		/* words of text: terminated, cut if need be */

/* ---- what is watched: a memory file that pugmark fills before QEMU starts --------------- */
#define QS_WATCHES	64u
#define QS_VALUES	512u
#define QS_STEPS	6u
#define QS_KEPT		16u		/* values of a call that are kept until it returns */
#define QS_MARK		64u

enum qs_from {				/* where a value begins */
	QS_RDI, QS_RSI, QS_RDX, QS_RCX, QS_R8, QS_R9, QS_RAX, QS_ARGUMENTS,
	QS_SYMBOL = QS_ARGUMENTS,	/* with an address, as linked */
	QS_SAVED,			/* with a number: so it was when the function was called */
};
enum qs_kind {
	QS_NUMBER,
	QS_STRING,			/* the text at what results */
	QS_FRAME,			/* what results is an address in the kernel's map of all
					 * physical memory: the page's number */
	QS_PAGE,			/* ... is a page directory: the number of the page at
					 * `address` of the call's values, shifted by 12; bit 0: it
					 * is present, bit 1: it is part of a large one */
};

/* With each step: add, and read what is there, a pointer but for the last one. What cannot be read
 * is 0. */
struct qs_value {
	uint8_t from, steps, kind;
	uint8_t size;			/* bytes of the last step; 0: it reads nothing */
	uint8_t address;
	uint8_t unused[3];
	int32_t step[QS_STEPS];
	uint64_t start;			/* of QS_SYMBOL and QS_SAVED */
};

struct qs_watch {
	uint64_t at;			/* as linked; 0: the kernel has none */
	uint16_t first, enter, leave;	/* values; of the call, and behind them of the return */
	uint16_t returns;		/* is that wanted? */
};

struct qs_plan {
	uint32_t magic, nwatch;
	uint64_t early;			/* a function that runs before all others, as linked */
	uint64_t mark_at;		/* the kernel has these bytes there */
	uint8_t mark[QS_MARK];
	uint64_t memory_at;		/* where the kernel keeps the address of its map of all
					 * physical memory, as linked; 0: that is at `memory` */
	uint64_t memory;
	struct qs_watch watch[QS_WATCHES];
	struct qs_value value[QS_VALUES];
};

static inline uint64_t qs_record(enum qs_record type, unsigned words, uint32_t number)
{
	return QS_RECORD | (uint64_t)type << 2 | (uint64_t)words << 8 | (uint64_t)number << 32;
}
static inline unsigned qs_type(uint64_t word)
{
	return (unsigned)(word >> 2) & 0x3f;
}
static inline uint32_t qs_words(uint64_t word)
{
	return (uint32_t)word >> 8;
}
static inline uint32_t qs_number(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

#endif
