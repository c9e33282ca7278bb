/* SPDX-License-Identifier: MIT */
/* listing.h - a table of costs put in the order of the code: functions, source lines, instructions
 *
 * Instructions that no object covers belong to the function "???", those of an object without a
 * symbol to "[basename]". A line belongs to the function whose code it is in: code inlined from
 * elsewhere keeps its own file and line inside the function that it was inlined into.
 *
 * Ownership  a listing borrows the table, the names and the code book; strings are its own. */
#ifndef PM_ANALYSE_LISTING_H
#define PM_ANALYSE_LISTING_H

#include "analyse/costs.h"
#include "analyse/names.h"

/* The instructions' bytes, from the code tables of a trace: a sink that counts nothing. */
struct pm_code_book {
	struct pm_names names;
	struct pm_map at;		/* pc -> index */
	struct pm_insn *insn;
	size_t n, cap;
	const struct pm_code *table[64];
	unsigned ntable;
};
void pm_code_book_release(struct pm_code_book *k);
extern const struct pm_sink_ops pm_sink_code_book;	/* create() makes a struct pm_code_book */

/* Where addresses are those in files (see profile_costs.h), the object's number stands above this
 * bit: no address of a program reaches there. */
#define PM_LISTING_OBJECT_SHIFT	48
#define PM_LISTING_ADDRESS(pc)	((pc) & (UINT64_MAX >> (64 - PM_LISTING_OBJECT_SHIFT)))

struct pm_listing {
	const struct pm_costs *costs;
	struct pm_listing_insn {
		uint64_t pc;
		size_t row;			/* of the table */
		uint32_t function, file;	/* file 0: not known */
		unsigned line;
		const struct pm_insn *code;	/* NULL: the trace has no bytes */
	} *insn;				/* by function, then address */
	struct pm_listing_function {
		const char *name, *object;	/* object "" if there is none */
		uint64_t lo, base;	/* base: address - address in the object's file */
		size_t first, n;		/* insn[first .. first + n) */
	} *function;				/* by object, then address */
	const char **file;			/* [0] = "???" */
	size_t ninsn, nfunction, nfile;
	struct pm_arena mem;
};

struct pm_listing *pm_listing_new(const struct pm_costs *c, struct pm_names *names,
				  const struct pm_code_book *book); /* @book NULL: functions only */
void pm_listing_free(struct pm_listing *l);
/* Sums of insn[first .. first + n) by column. */
void pm_listing_sum(const struct pm_listing *l, size_t first, size_t n,
		    uint64_t v[static PM_COSTS_MAX]);
/* Functions by falling cost in @column; the caller free()s *@order. Returns their number. */
size_t pm_listing_top(const struct pm_listing *l, unsigned column, uint32_t **order);
/* One instruction as assembler; "" if its bytes are not known. */
void pm_listing_text(const struct pm_listing_insn *i, bool intel, char *buf, size_t size);

/* Source lines with their costs, by file and line; those of file 0 are left out. The caller
 * free()s. */
struct pm_listing_line { uint32_t file; unsigned line; uint64_t v[PM_COSTS_MAX]; };
size_t pm_listing_lines(const struct pm_listing *l, struct pm_listing_line **lines);

#endif
