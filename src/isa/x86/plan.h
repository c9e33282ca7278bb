/* SPDX-License-Identifier: MIT */
/* plan.h - which values a block has to record so that every address of its references follows
 *
 * Most addresses need not be recorded one by one. They are sums of register values, and a block
 * uses few registers, changes most of them by constants, and addresses the stack through a stack
 * pointer whose course is known from instruction to instruction. A plan says which registers to
 * store, once each, and how every reference follows from what was stored.
 *
 * Whoever emits the code (collect/translate) and whoever reads the record (collect/consume) compute
 * the same plan from the same bytes, so plans are never stored.
 *
 * VALUES. References add up values: those recorded by the block, and some that the reader knows at
 * the block's beginning: the stack pointer and the segment bases. The reader keeps the stack
 * pointer through `rsp`, and is told wherever control arrives otherwise (signal handlers, new
 * threads). A recorded value's name says where it is, counted in bytes from the first one, a
 * multiple of 4, and what of it (enum x86_val_how). Values follow each other in the order of the
 * stores; a register takes 8 bytes, or 4 if the rest of it is known to follow from those. In
 * 32-bit code it takes 4, and addresses are sums modulo 2^32.
 *
 * ORDER of an instruction's references: reads in the order of the operands, then writes; an operand
 * that is read and written is one PM_EV_MODIFY. Masked vector moves are references to the whole
 * operand; hints (prefetch, multi-byte nop, cache control) make none. Gathers and scatters make one
 * for each element that their mask selects, from element 0 up; loads and stores of tiles one for
 * each row that the tile's configuration has, from the one up where a fault had stopped them. xsave
 * and its kin make one, of as many bytes as the state components have that it asks for and the
 * system has enabled: in the standard form, for xsavec in the compacted one. How many the processor
 * leaves out because they are in their initial state, or which form xrstor finds, is not known.
 *
 * Threads    a plan's arrays belong to it and are reused by the next x86_plan(). */
#ifndef PM_ISA_X86_PLAN_H
#define PM_ISA_X86_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isa/x86/decode.h"

enum x86_val_how {			/* the lower two bits of a name */
	X86_VAL_WHOLE,			/* as many bytes as an address has */
	X86_VAL_ZERO,			/* 4 bytes, the rest is zero */
	X86_VAL_SIGN,			/* 4 bytes, sign-extended */
};
#define X86_VAL_HOW(value)	((value) & 3u)
#define X86_VAL_AT(value)	((value) & ~3u)
#define X86_VAL_NONE	0xffffu
#define X86_VAL_RSP	0xfffeu		/* the stack pointer at the block's beginning */
#define X86_VAL_FS	0xfffdu		/* segment bases */
#define X86_VAL_GS	0xfffcu
#define X86_VAL_KNOWN	0xfff0u		/* from here on: not recorded by the block */

enum x86_ref_how {
	X86_REF_SUM,		/* base + index * scale + disp */
	X86_REF_SUM32,		/* the same, modulo 2^32, + segment */
	X86_REF_BITS,		/* SUM + (value `after` as a signed number of bits), in units of
				 * `size` */
	X86_REF_XLAT,		/* base + disp + low byte of (value `index` + `after`), in
				 * `scale` bytes, + segment */
	X86_REF_REP,		/* rep-prefixed: enum x86_rep in `scale`; `disp` masks addresses */
	X86_REF_SUM16,		/* as SUM32, modulo 2^16 */
	X86_REF_XSAVE,		/* SUM, or with lanes.a32 modulo 2^32; how much depends on the
				 * value `after` */
	X86_REF_VSIB,		/* gathers and scatters: base + element of the vector at `index`
				 * * scale + disp, for each element that the mask at `after` has;
				 * see struct x86_lanes */
	X86_REF_TILE,		/* base + row * (index * scale) + disp, for each row of tile
				 * lanes.n by the configuration at `after`; see x86_tile() */
};

enum x86_rep {	/* base: value of the source pointer before, index: of the destination */
	X86_REP_MOVS, X86_REP_CMPS, X86_REP_STOS, X86_REP_LODS, X86_REP_SCAS,
};

/* The elements of a gather or scatter, packed into one byte. */
struct x86_lanes {
	uint8_t n : 5;			/* elements, 2..16; TILE: its number */
	uint8_t wide : 1;		/* indices are 64 bits wide, else 32 */
	uint8_t k : 1;			/* the mask is a bit each, else the highest bit of
					 * elements of `size` bytes; XSAVE: the area is compacted */
	uint8_t a32 : 1;		/* the sum is modulo 2^32 */
};

struct x86_ref {
	int64_t disp;
	uint16_t size;			/* bytes; 0: not known, or TILE */
	uint16_t base, index;		/* values */
	uint16_t segment;		/* X86_VAL_NONE or a segment's base */
	uint16_t after;			/* REP: the destination pointer (without one, the source
					 * pointer) behind the instruction; BITS, XLAT: see there */
	uint8_t insn;			/* within the block */
	uint8_t kind, flags;		/* PM_EV_*, PM_REF_* (pugmark.h) */
	uint8_t how;			/* enum x86_ref_how */
	uint8_t scale;
	struct x86_lanes lanes;		/* VSIB; TILE; XSAVE */
};

/* Two values at most, of which the second may be a segment's base, make most addresses: value
 * `base` + value `index` * scale + disp. False: it takes more. */
struct x86_sum {
	uint16_t base, index;
	uint8_t scale;
};

static inline bool x86_ref_sum(const struct x86_ref *r, struct x86_sum *sum)
{
	const bool segment = r->segment != X86_VAL_NONE;

	*sum = (struct x86_sum){ r->base, segment ? r->segment : r->index, segment ? 1 : r->scale };
	return r->how == X86_REF_SUM && !(segment && r->index != X86_VAL_NONE);
}

enum x86_store_what {			/* the first two: of a GPR */
	X86_STORE_GPR,
	X86_STORE_LOW,			/* its low 4 bytes; 64-bit code */
	X86_STORE_K,			/* mask register, its low 16 bits */
	X86_STORE_V16, X86_STORE_V32, X86_STORE_V64,	/* vector register, that many bytes */
	X86_STORE_TILES,		/* the tiles' configuration: X86_TILES bytes, as
					 * sttilecfg writes them */
};

struct x86_store {
	uint8_t insn;
	uint8_t reg;			/* number */
	uint8_t what;			/* enum x86_store_what */
	bool after;			/* behind the instruction, else before it */
	uint16_t at, end;		/* the value, in bytes from the first one */
};

struct x86_forms;
struct x86_plan {
	struct x86_ref *ref;
	struct x86_store *store;	/* ascending by place in the block */
	size_t nref, nstore, cap_ref, cap_store;
	uint16_t size;			/* bytes of all values */
	uint16_t rsp;			/* behind the block the stack pointer is this value */
	int64_t rsp_add;		/* ... plus this */
	struct x86_forms *forms;	/* instructions looked at in detail, kept from plan to
					 * plan */
};

/* One instruction of the block, as decoded. */
struct x86_at {
	const uint8_t *p;
	uint64_t pc;
	struct x86_insn x;
};

/* @n instructions in the order of execution, which @at gives through @ctx; @wide: 64-bit code, else
 * 32-bit. A plan of the first so many of them has the same values, as far as it goes. */
void x86_plan(const struct x86_at *(*at)(void *ctx, uint32_t i), void *ctx, uint32_t n, bool wide,
	      struct x86_plan *plan);
void x86_plan_release(struct x86_plan *plan);

/* Is @x, whose bytes are at @p, a gather or scatter, or a load or store of a tile? Those record
 * many values: one that is followed by nothing else in its block leaves the number of a block's
 * values within bounds. */
bool x86_has_lanes(const struct x86_insn *x, const uint8_t *p);

/* The bytes of @r, of kind X86_REF_XSAVE; @rax is the value `after`. */
uint16_t x86_xsave_size(const struct x86_ref *r, uint64_t rax);

/* Is it of an instruction with x86_has_lanes()? */
static inline bool x86_ref_has_lanes(const struct x86_ref *r)
{
	return r->how == X86_REF_VSIB || r->how == X86_REF_TILE;
}

/* Does it go part of its way if it faults? Those that do leave behind how far they have come. */
static inline bool x86_ref_goes_on(const struct x86_ref *r)
{
	return r->how == X86_REF_REP || x86_ref_has_lanes(r);
}

/* The rows of @r, of kind X86_REF_TILE, that are to come: their addresses, without the segment's
 * base, go to @to, *size is how many bytes each has. @base and @stride are the values `base` and
 * `index`. *first is the number of the first one. Any configuration will do: what no processor
 * accepts has no more than 16 rows either. */
#define X86_TILES	64u
#define X86_TILE_ROWS	16u
unsigned x86_tile(const struct x86_ref *r, uint64_t base, uint64_t stride,
		  const uint8_t config[X86_TILES], uint64_t to[X86_TILE_ROWS], unsigned *first,
		  uint16_t *size);

/* The elements of @r, of kind X86_REF_VSIB: their addresses, without the segment's base, go to @to;
 * @base is the value of that name, @index and @mask are where those begin. Returns how many there
 * are. */
unsigned x86_lanes(const struct x86_ref *r, uint64_t base, const uint8_t *index,
		   const uint8_t *mask, uint64_t to[16]);

#endif
