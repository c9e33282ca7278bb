/* SPDX-License-Identifier: MIT */
/* expand.h - blocks become instructions, references and branches in program order
 *
 * In: PM_EV_BLOCK events, each followed by its references, rep iterations and register values,
 * which carry the instruction's index within the block in `id` (PM_SLOT_OF). Out, per executed
 * instruction: PM_EV_INSN (id = index into pm_code.insn), then what it did, ids likewise; behind a
 * block's last instruction, if it transfers control and was executed, its PM_EV_BRANCH.
 *
 * A branch's outcome is where its stream goes next: the next block, or the pc that a signal
 * interrupted. It is therefore emitted just before the event that tells, possibly in a later batch;
 * events that tell nothing (a marker, a time) pass it. At the end of a stream an outcome that
 * nobody told is known only for direct jumps and calls; others are left out.
 *
 * Everything else passes through in its place. Streams are independent. Batches with neither a
 * block nor anything pending are forwarded untouched.
 *
 * After finish() another part of the trace may follow, which need not be the next one: of the parts
 * before, only what is true of the blocks themselves is kept, and instructions are counted on. */
#ifndef PM_TRACE_EXPAND_H
#define PM_TRACE_EXPAND_H

#include "trace/pipeline.h"

extern const struct pm_transform_ops pm_expand_ops;
void *pm_expand_new(void);

/* Static target of a direct branch, jump or call from the instruction's own bytes. False if it has
 * none (indirect, return) or the bytes are not known (len 0). */
bool pm_insn_target(const struct pm_insn *insn, uint64_t *target);
/* PM_BR_* of its branch event, but for PM_BR_TAKEN. */
uint8_t pm_insn_branch_flags(const struct pm_insn *insn);
/* Address of the instruction behind it in memory. */
static inline uint64_t pm_insn_next(const struct pm_insn *insn)
{
	return insn->pc + insn->len;
}
static inline bool pm_isa_is_mips(uint8_t isa)
{
	return isa == PM_ISA_MIPS || isa == PM_ISA_MIPS_BE;
}
/* The word that these bytes of an instruction are; false: it is none of MIPS, or they are not
 * known. */
bool pm_mips_word(uint8_t isa, const uint8_t *bytes, uint8_t len, uint32_t *word);
/* Where a branch not taken goes, and what a call returns to: behind the delay slot, if there is
 * one. */
static inline uint64_t pm_insn_fall(const struct pm_insn *insn)
{
	return pm_insn_next(insn) + (pm_isa_is_mips(insn->isa) && insn->flow ? 4 : 0);
}

/* The block that @ev, a PM_EV_BLOCK, says has executed; NULL: there is none such, and
 * pm_block_wrong() says why. */
static inline const struct pm_block *pm_block_begun(const struct pm_code *code,
						    const struct pm_event *ev)
{
	const struct pm_block *blk;

	if (!code || ev->id >= code->nblock)
		return NULL;
	blk = code->block + ev->id;
	return ev->value > blk->n || (uint64_t)blk->insn + blk->n > code->ninsn ? NULL : blk;
}
enum pm_status pm_block_wrong(const struct pm_code *code, const struct pm_event *ev,
			      struct pm_err *err);
/* @ev, a reference of @block, names an instruction that the block does not have. */
enum pm_status pm_slot_wrong(const struct pm_code *code, uint32_t block, const struct pm_event *ev,
			     struct pm_err *err);
/* Belongs to an instruction of the block that is open. */
static inline bool pm_in_block(uint8_t kind)
{
	return (kind >= PM_EV_READ && kind <= PM_EV_MODIFY) || kind == PM_EV_REP_ITER ||
	       kind == PM_EV_REP_END;
}

/* Does it say where control went from the block before: to its address? */
static inline bool pm_says_next(uint8_t kind)
{
	return kind == PM_EV_SIGNAL || kind == PM_EV_INTERRUPT || kind == PM_EV_INSN;
}
/* Is whatever comes next no successor of the block before? */
static inline bool pm_ends_path(uint8_t kind)
{
	return kind == PM_EV_EXEC || kind == PM_EV_EXIT || kind == PM_EV_SIGRETURN ||
	       kind == PM_EV_LOST || kind == PM_EV_INSN;
}
/* May it stand between the block's instructions? It says nothing of whether they have executed. */
static inline bool pm_is_aside(const struct pm_event *ev)
{
	return ev->kind == PM_EV_REG_READ || ev->kind == PM_EV_REG_WRITE ||
	       (ev->kind == PM_EV_OPAQUE && ev->flags == PM_OPAQUE_INSIDE);
}

/* How a block ends: what its branch event says whenever all of it has executed. */
struct pm_block_end {
	uint64_t pc, target, fall;
	uint32_t insn;			/* the transfer: index into pm_code.insn */
	uint16_t size;
	uint8_t flags;			/* but for PM_BR_TAKEN */
	/* none: it transfers nothing */
	enum { PM_END_UNKNOWN, PM_END_NONE, PM_END_DIRECT, PM_END_INDIRECT } kind : 8;
};
void pm_block_end_of(const struct pm_code *code, const struct pm_block *blk,
		     struct pm_block_end *e);
/* Control went to *@next (@told), or nobody said where. False: then there is no branch event. Else
 * *@flags are its flags, *@next its value. A branch to its own fall-through counts as not taken:
 * nothing can tell. */
static inline bool pm_block_went(const struct pm_block_end *e, bool told, uint64_t *next,
				 uint8_t *flags)
{
	bool cond = e->flags & PM_BR_COND;

	if (!told) {
		if (e->kind != PM_END_DIRECT || cond)
			return false;
		*next = e->target;
	}
	cond = cond && *next == e->fall;
	*flags = e->flags | (cond ? 0 : PM_BR_TAKEN);
	*next = cond ? e->target : *next;
	return true;
}

#endif
