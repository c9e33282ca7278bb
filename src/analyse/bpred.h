/* SPDX-License-Identifier: MIT */
/* bpred.h - branch predictors: directions, targets, and which branches are to blame
 *
 * Configuration: predictors separated by ';', each with its sizes: `gshare=18,18;tagescl;ras=16`.
 *   taken nottaken btfn  static: always, never, backward taken and forward not
 *   idtrace=K            table of 2^K (10) counters -1..+1 by pc mod 2^K, taken unless negative,
 *                        starting at 0: the rule of the 1994 report
 *   bimodal=K            2^K (14) counters N n t T starting at N, by pc mod 2^K
 *   gshare=K,H           the same by (pc ^ history of H (K) bits) mod 2^K; newest outcome in bit 0
 *   tournament=K,H,B,C   gshare of 2^K with H (K) bits, bimodal of 2^B (K), and 2^C (K) choosers
 *                        B b g G starting at B, by pc; both always train, the chooser moves towards
 *                        the one that alone was right
 *   local=A,H            2^A (10) histories of H (10) bits by pc, one table of 2^H counters
 *   perceptron=A,H       2^A (10) rows of H (32) weights and a bias, 8 bits each; Jimenez and Lin's
 *                        threshold 1.93 H + 14
 *   tage, tagescl        see bp_tage.h; 64 KB
 *   btb=E,W              E (4096) entries in W (4) ways, LRU: misses of taken branches, and wrong
 *                        targets
 *   ras=E                E (16) return addresses, circular: wrong targets of returns
 *   ittage               indirect jumps and calls: wrong targets
 *   X.cc, X.cc=Y.cc      a branch predictor of ChampSim (trace/champsim.h), perhaps with its branch
 *                        target buffer Y: see below
 *   top=N                branches listed by name (20)
 *   debug=FILE           a line per conditional branch of bimodal, gshare, tournament (with K <=
 *                        16): tables before the update, history oldest first, pc, outcome,
 *                        prediction, correct or not, misses so far
 * History of gshare, tournament, local and perceptron: conditional branches only.
 *
 * ChampSim's rule for X.cc=Y.cc, for each instruction in order, branch or not (it does not know
 * yet): Y is asked for a target, and whether the branch is always taken; X is asked for a
 * direction. Taken is what either says, and what is not taken has target 0. A branch is
 * mispredicted if its target is another one (0 if it was not taken), or if it is conditional and
 * its direction is. Then Y and X are told. X.cc alone: the same, with no target and nothing always
 * taken; only conditional branches count, by their direction. A trace without instructions asks of
 * branches only.
 *
 * Micro-op traces count where they hold no branch events: a branch that reads the flags is a
 * conditional one. */
#ifndef PM_ANALYSE_BPRED_H
#define PM_ANALYSE_BPRED_H

#include <stdbool.h>

#include "pugmark/pugmark.h"
#include "trace/expand.h"

struct pm_br {
	uint64_t pc, target;		/* as PM_EV_BRANCH */
	uint8_t flags;			/* PM_BR_* */
	uint8_t size;			/* bytes to where a call returns to, or it does not jump:
					 * with its delay slot, if it has one */
};
/* Bytes of a delay slot behind each branch of @b. No trace has MIPS and something else. */
static inline unsigned pm_delay_slot(const struct pm_batch *b)
{
	const struct pm_code *c = b->code;

	return c && c->ninsn && pm_isa_is_mips(c->insn->isa) ? 4 : 0;
}
/* What PM_EV_BRANCH @ev says. @slot: of its batch, pm_delay_slot(). */
static inline struct pm_br pm_br_of(const struct pm_event *ev, unsigned slot)
{
	return (struct pm_br){ ev->addr, ev->value, ev->flags, (uint8_t)(ev->size + slot) };
}

struct pm_bp_args { uint64_t v[4]; unsigned n; };

struct pm_bp_ops {
	const char *name, *about;
	const char *args[5];		/* what the numbers are; NULL-ended */
	uint64_t lo[4], hi[4];
	/* Which branches it predicts: those with (flags & mask) == want. */
	uint8_t mask, want;
	void *(*create)(const struct pm_bp_args *a);
	/* Predict, compare, learn, in program order. miss[i] becomes 1 where it was wrong. */
	void (*run)(void *self, const struct pm_br *b, size_t n, uint8_t *miss);
	uint64_t (*bits)(const void *self);	/* storage that hardware would need */
	void (*destroy)(void *self);
	/* Of modules; NULL for all others. pass: instructions between branches that are none.
	 * by_type: further results. well: false, and @err says what went wrong. */
	void (*pass)(void *self, const uint64_t *pc, size_t n);
	void (*by_type)(void *self, struct pm_result *r);
	bool (*well)(void *self, struct pm_err *err);
};
extern const struct pm_bp_ops *const pm_bp_all[];	/* NULL-terminated */
const struct pm_bp_ops *pm_bp_find(const char *name);
/* Fill in what @a leaves out. */
void pm_bp_defaults(const struct pm_bp_ops *ops, struct pm_bp_args *a);

extern const struct pm_bp_ops pm_bp_tage, pm_bp_tagescl, pm_bp_ittage;	/* bp_tage.c */
extern const struct pm_bp_ops pm_bp_btb, pm_bp_ras;			/* bp_target.c */

/* bp_module.c: predictors of ChampSim, with a branch target buffer and without. Their arguments are
 * the addresses of modules. They have no bits() and are in no list. */
extern const struct pm_bp_ops pm_bp_module, pm_bp_module_btb;
struct pm_conf;
struct pm_conf_item;
/* "X.cc" or "X.cc=Y.cc" in the configuration @c. */
enum pm_status pm_bp_module_parse(struct pm_conf *c, const struct pm_conf_item *it,
				  const struct pm_bp_ops **ops, struct pm_bp_args *a,
				  struct pm_err *err);
void pm_bp_module_name(const struct pm_bp_args *a, char *to, size_t size);

/* ---- per branch ----------------------------------------------------------------------------- */
struct pm_branch_stat { uint64_t pc, executed, taken, miss; };
/* How many of the branches, taken by falling @by (0 executed, 1 misses), make @share of the sum. */
size_t pm_branch_concentration(const struct pm_branch_stat *v, size_t n, int by, double share);

extern const struct pm_sink_ops pm_sim_bpred;
struct pm_names;
struct pm_names *pm_bpred_names(void *self);	/* of the sink: see sims.h */
/* What the sink @self blames on instructions: executions and mispredictions. See sims.h. */
struct pm_costs;
void pm_bpred_costs(void *self, struct pm_costs *c);
/* Another one with the same predictors, as a meter of branches, then of what each got wrong. See
 * sims.h. */
struct pm_calls_meter;
void pm_bpred_meter(const void *self, struct pm_calls_meter *m);
void pm_bpred_meter_free(void *self);

#endif
