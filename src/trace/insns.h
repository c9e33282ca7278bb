/* SPDX-License-Identifier: MIT */
/* insns.h - what readers of traces with a record per instruction share: the code table that fills
 * as instructions are met, a stream per thread, and what only the record behind tells
 *
 * Ownership  each is released by its release function; all zeros is empty (pm_reps: see there).
 *            Instructions keep their numbers; what batches point to may move until
 *            pm_codes_lend(). */
#ifndef PM_TRACE_INSNS_H
#define PM_TRACE_INSNS_H

#include "base/mem.h"
#include "trace/pipeline.h"

/* ---- instructions by address ---------------------------------------------------------------- */
#define PM_CODES_MAX	(1u << 17)	/* instructions of an epoch: 4 MiB, and as much for
					 * finding them */
struct pm_codes {
	struct pm_map pcs;		/* pc -> the instruction met there last */
	struct pm_insn *insn;
	size_t n, cap;
	bool epochs;			/* the table may begin anew */
	bool once;			/* bytes are in the record of an instruction's first
					 * execution only */
	struct pm_code code;		/* for batches */

	struct pm_code_store *store;	/* with @once, the bytes that earlier epochs knew: a
					 * temporary file */
	struct pm_err err;		/* that it could not be used; for the reader to look at */
};
/* The number of the instruction at @pc whose bytes begin with those of the one met there last, or
 * are these: @any says that bytes behind it may follow; @len 0, that they are not in the record.
 * *@fresh: it was added, with no class, and all of @bytes as its own, or those that it had in an
 * earlier epoch. */
uint32_t pm_codes_put(struct pm_codes *c, uint64_t pc, const uint8_t *bytes, unsigned len, bool any,
		      enum pm_isa isa, bool *fresh);
/* The table as it is now, before a batch is lent. */
static inline void pm_codes_lend(struct pm_codes *c)
{
	c->code.insn = c->insn;
	c->code.ninsn = c->n;
}
/* Before a batch is begun: is the table as long as it should get? */
static inline bool pm_codes_full(const struct pm_codes *c)
{
	return c->epochs && c->n >= PM_CODES_MAX;
}
/* Begin anew with the instructions *@a and *@b (PM_NONE: none), which get their new numbers. */
void pm_codes_renew(struct pm_codes *c, uint32_t *a, uint32_t *b);
void pm_codes_release(struct pm_codes *c);

/* ---- streams by thread, numbered in order of appearance ------------------------------------- */
struct pm_streams {
	struct pm_stream **v;
	size_t n, cap;
};
struct pm_stream *pm_streams_of(struct pm_streams *s, uint32_t tid);
void pm_streams_release(struct pm_streams *s);

/* ---- a branch whose outcome and target the next instruction tells --------------------------- */
struct pm_outcome {
	bool pending;
	bool told;			/* the record itself said whether it was taken */
	struct pm_event ev;		/* PM_EV_BRANCH; addr, size, id, flags so far */
};
/* The event goes to @b. @known: the next instruction is at @next, else the trace ends or breaks off
 * here. Not taken or not known, the target is what the instruction's bytes say. */
void pm_outcome_tell(struct pm_outcome *o, struct pm_builder *b, const struct pm_codes *c,
		     bool known, uint64_t next);

/* ---- the repeated instruction that runs ----------------------------------------------------- */
struct pm_reps {
	uint32_t id;			/* PM_NONE: none; so it begins */
	uint64_t iters;
};
/* Another instruction follows: the repeated one is over. */
void pm_reps_end(struct pm_reps *r, struct pm_builder *b, const struct pm_codes *c);

#endif
