/* SPDX-License-Identifier: MIT */
/* follow.h - what was the value in a register? told by the first address that is made of it
 *
 * Traces hold no register values, but addresses. A value that matters - what malloc returned - is
 * followed through the instructions: copies between registers, to and from memory (words on the
 * stack, fields), constants added to it. The first reference whose address is a register that holds
 * it plus a displacement tells it exactly. Given up when no place holds it any more, at a signal,
 * and after FOLLOW_INSNS instructions.
 *
 *	pm_follow_start(&f, width);			the value is in rax (eax); the branch that
 *                                                      brought it there is over
 *	pm_follow_insn(&f, &op, true);			for each instruction, then
 *	if (pm_follow_ref(&f, e, &value)) ...		for each of its references
 *
 * x86 only; 32-bit values are followed modulo 2^32. */
#ifndef PM_ANALYSE_FOLLOW_H
#define PM_ANALYSE_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "pugmark/pugmark.h"

#define FOLLOW_INSNS	4000
#define FOLLOW_SLOTS	8

/* An instruction as far as it matters here; once for all who follow. */
struct pm_follow_op {
	uint8_t how;			/* enum follow_how (follow.c); 0: not known */
	int8_t to, from;		/* registers, -1: none */
	int8_t base;			/* of the memory operand, if it is but base + disp; -1:
					 * it is not */
	int8_t read_base, write_base;	/* of string instructions */
	uint16_t writes;		/* registers that it changes */
	int64_t disp, add;
};

struct pm_follow {
	uint32_t left;			/* instructions; 0: nothing is followed */
	uint16_t known;			/* registers that hold value + off[] */
	int64_t off[16];
	struct { uint64_t addr; int64_t off; bool used; } slot[FOLLOW_SLOTS];
	unsigned next;			/* slot to be taken */
	uint8_t width;			/* bytes: 8, 4 */
	/* the instruction that runs */
	struct pm_follow_op op;
	uint64_t load, store;		/* addresses of the word that it loads, stores, pushes,
					 * pops; 0: none */
	bool seen;			/* its memory operand's reference */
};

struct pm_follow_decoder;
struct pm_follow_decoder *pm_follow_decoder_new(void);
void pm_follow_decoder_free(struct pm_follow_decoder *d);	/* NULL is fine */
void pm_follow_decode(struct pm_follow_decoder *d, const struct pm_insn *in,
		      struct pm_follow_op *op);

void pm_follow_start(struct pm_follow *f, unsigned width);
/* The next instruction begins; @counts: it is one of the FOLLOW_INSNS. */
void pm_follow_insn(struct pm_follow *f, const struct pm_follow_op *op, bool counts);
/* A reference of it. True: *@value is known, and following is over. */
bool pm_follow_ref(struct pm_follow *f, const struct pm_event *e, uint64_t *value);

#endif
