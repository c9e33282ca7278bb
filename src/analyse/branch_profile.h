/* SPDX-License-Identifier: MIT */
/* branch_profile.h - which branches were taken, how often, and what ran between them
 *
 * What compilers and linkers otherwise make of a processor's branch records, with exact counts. For
 * each object (executable, library) there are
 *
 *	branches	from, to: a jump, call or return was taken that often. A conditional jump
 *			that was not taken is none. `from` is the address of its instruction; 0 is
 *			code of any other object, and code that is in no file.
 *	ranges		lo .. hi: the instructions from the one at lo to the one at hi ran one after
 *			the other that often. hi is a branch that was taken, or the last instruction
 *			before something that is no branch: a signal's delivery, the thread's end.
 *
 * Each instruction ran as often as ranges cover it, and each conditional jump fell through as often
 * as ranges pass it: both exactly. Which of the ranges through a place that go on together belong
 * together is not counted: a range's own beginning and end are one solution of many with the same
 * sums, and sums are all that readers of such ranges make of them.
 *
 * INVARIANTS - tests/process/branches.t tests them
 * (1) Of all ranges that cover an instruction the sum is its executions; branches are counted as
 *     often as they were taken (tests/oracle/compare-branches).
 * (2) It does not matter how the source cut the code into blocks and chains: a branch trace, an
 *     execution trace and a stored one give the same.
 *
 * Units      addresses are those in the ELF file: address in memory minus load bias.
 * Ownership  pm_branches_release(); strings are the profile's. */
#ifndef PM_ANALYSE_BRANCH_PROFILE_H
#define PM_ANALYSE_BRANCH_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "trace/chain.h"

struct pm_branch {
	uint64_t from, to, count, missed;	/* missed: predicted wrong; 0: nobody predicts */
	bool returns;			/* a return */
};

struct pm_branch_range {
	uint64_t lo, hi, count;
	bool returned;			/* a return came to lo */
};

struct pm_branch_object {
	char *path, *build_id;		/* build_id NULL: none */
	struct pm_branch *branch;	/* ascending by from, to */
	size_t nbranch, cap_branch;
	struct pm_branch_range *range;	/* ascending by lo, hi */
	size_t nrange, cap_range;
	uint64_t insns;			/* executed in it */
	/* Some of the instructions that ran: a file that has others there is another build. */
	struct pm_branch_code { uint64_t addr; uint8_t len, bytes[15]; } *code;
	size_t ncode, cap_code;
};
#define PM_BRANCH_CODE 4096		/* so many of them at most */

struct pm_branches {
	struct pm_branch_object *object;	/* in order of appearance */
	size_t n, cap;
	char *program;			/* what the first process ran last; NULL: not known */
	bool predicted;			/* a predictor said which branches were mispredicted */
};

void pm_branches_release(struct pm_branches *b);

/* The object of the program; NULL: it executed nothing, or is not known. */
const struct pm_branch_object *pm_branches_program(const struct pm_branches *b);

/* The sink. Configuration: "", or "predict": a predictor, gshare of 2^14 counters and the last
 * target of each indirect branch, says which would have been predicted wrong. */
extern const struct pm_chain_sink_ops pm_sim_branches;
/* What the sink @self has counted; after finish(). Borrowed from it. */
const struct pm_branches *pm_sim_branches_of(const void *self);

/* How much there is of it, per object, into the object that is open in @r; mispredictions only
 * where they were asked for. */
struct pm_result;
void pm_branches_result(const struct pm_branches *b, struct pm_result *r);

#endif
