/* SPDX-License-Identifier: MIT */
/* core_work.h - the sink `core`: private to core_*.c; thousands.c decodes with it
 *
 * core_ops.c knows what instructions are to the core, core_rules.c keeps that, once for those that
 * are alike. core_take.c takes them from events, or from blocks, whose instructions lie ready.
 * core_gather.c gathers them, asks the caches at once, and the predictors of many branches at a
 * time: neither depends on time. Then it has them timed (core.c). core_results.c says what came
 * out. core_feed.c is the sink. */
#ifndef PM_ANALYSE_CORE_WORK_H
#define PM_ANALYSE_CORE_WORK_H

#include "analyse/bpred.h"
#include "analyse/cache_sim.h"
#include "analyse/core.h"
#include "analyse/names.h"
#include "analyse/paging.h"
#include "trace/expand.h"

struct core_decoders {
	struct pm_forms *f[2];
	uint8_t class[4096];		/* + 1, by mnemonic; 0: not known yet */
};

/* pm_core_decode() for many. */
void core_decode_with(struct core_decoders *ds, const uint8_t *bytes, unsigned len, unsigned isa,
		      struct pm_core_static *s);
void core_uop_static(const struct pm_uop *u, struct pm_core_static *s);
void core_decoders_free(struct core_decoders *ds);

/* ---- timing: core.c ------------------------------------------------------------------------- */

/* What of an instruction is the same wherever it stands, for one core. */
struct core_rule {
	uint64_t addr_regs, data_regs, writes;	/* bit = register: for those with @many */
	uint32_t ports, issue;		/* issue: what a cycle of the calendar grows by */
	/* Registers; the rest of a list are places that are always ready, or never read. */
	uint8_t addr[2], data[3], to[2];
	bool many;			/* ... which has no room for them */
	bool serial;
	bool odd;			/* @many, @serial, or more of something than usual */
	uint8_t issues;			/* 1: from a port */
	uint8_t class, latency, busy;
	uint8_t busy_as;		/* enum pm_core_slot while in its port */
	uint8_t uops, slots, rob;	/* as many of them as a cycle, and the buffer, holds */
};

/* A reference: @level 0 the first ... 3 memory; @size at least 1; @wait: cycles of paging. */
struct core_ref { uint64_t addr; uint8_t size, level; uint16_t wait; };

/* An operation: an instruction, or a part of one with more than four loads or stores. */
struct core_insn {
	uint64_t pc;
	const struct core_rule *rule;
	uint8_t nload, nstore, len;
	uint8_t redirect : 2;		/* enum pm_core_redirect */
	bool taken : 1;
	uint8_t fetch_level;
	uint8_t shape;			/* enum core_shape */
	uint16_t fetch_wait;		/* cycles of paging */
};

/* What is known of an operation before it is looked at: what cannot be costs nothing then. A load
 * and a store make it USUAL, and it stays ANY. */
enum core_shape {
	CORE_BARE,			/* no loads and stores, and what is below */
	CORE_LOAD,			/* one load */
	CORE_STORE,			/* one store */
	CORE_USUAL,			/* its rule is not odd, it has no more than CORE_BYTES, and
					 * its code came without delay */
	CORE_ANY			/* or more */
};
#define CORE_BYTES	15		/* of the longest instruction */

static inline enum core_shape core_shape(const struct core_rule *r, unsigned len)
{
	return r->odd || len > CORE_BYTES ? CORE_ANY : CORE_BARE;
}

/* core_rules.c: rules that many instructions have in common. */
struct core_rules { struct core_rule **slot; size_t n, cap; };
/* What equals @r, until core_rules_free(). */
const struct core_rule *core_rule_kept(struct core_rules *t, const struct core_rule *r);
void core_rules_free(struct core_rules *t);

void core_rule_of(const struct pm_core *k, const struct pm_core_static *s, struct core_rule *r);
/* Tests set it: core_run() does without AVX2, as where there is none. */
extern bool core_run_plain;
/* @n operations; their loads and stores, one behind the other. */
void core_run(struct pm_core *k, const struct core_insn *op, size_t n, const struct core_ref *load,
	      const struct core_ref *store);

/* ---- the sink ------------------------------------------------------------------------------- */

/* Per instruction: what it did, and what it is to blame for. */
#define BLAMES(B)								\
	B(Ir, "instructions executed", false)					\
	B(Fm, "fetches that missed the first level", true)			\
	B(Lm, "loads that missed the first level", true)			\
	B(Llm, "loads that went to memory", true)				\
	B(Bm, "mispredictions", true)						\
	B(Cbr, "cycles that commit waited after a misprediction", true)		\
	B(Cfe, "cycles that commit waited for instructions", true)		\
	B(Cme, "cycles that commit waited for missing loads", true)		\
	B(Cst, "cycles that commit waited for the store queue", true)		\
	B(Cco, "cycles that commit waited for latencies and ports", true)
enum {
#define B(name, about, trouble) BLAME_##name,
	BLAMES(B)
#undef B
	BLAME_COUNT
};

struct blamed_row { uint64_t pc, v[BLAME_COUNT], slots[PM_CORE_SLOTS]; };

struct blamed {
	struct pm_map at;
	struct blamed_row *row;
	size_t n, cap;
	struct pm_names names;
};

/* Operations in program order, whose loads and stores lie one behind the other. */
#define CORE_GATHER	1024
#define CORE_COPY	4		/* operations that are copied at once: so many behind the
					 * last one may be anything */
#define CORE_NO_OP	UINT32_MAX
#define CORE_LINE_SHIFT	6		/* code is fetched by lines */
struct core_gathered {
	struct core_insn op[CORE_GATHER + CORE_COPY];
	struct core_rule rule[CORE_GATHER];	/* of micro-ops, and of the first operation if it
						 * began in a batch before */
	struct core_ref load[4 * CORE_GATHER + 1], store[4 * CORE_GATHER + 1];
	struct pm_br br[CORE_GATHER];
	uint32_t br_op[CORE_GATHER];		/* the operation that it belongs to */
	uint8_t dir[CORE_GATHER], btb[CORE_GATHER], ras[CORE_GATHER], ittage[CORE_GATHER];
	size_t n, nload, nstore, nbr;
};

/* What there is to know about a block before it executes. */
struct core_block {
	struct pm_block_end end;
	uint32_t insn, n;		/* as pm_block */
	uint32_t cross;			/* its first instruction, but for number 0, that is not all
					 * in the line in which the one before ended; n: none */
	bool known;
};

/* A code table. */
struct core_code {
	const struct pm_code *code;
	struct core_insn *op;		/* by pm_code.insn; without a rule: not decoded yet */
	struct core_block *block;
	size_t cap_op, cap_block;	/* of @op CORE_COPY more than there are */
};

/* Where a stream stands in its block. */
struct core_place {
	struct core_code *code;
	uint32_t block;			/* PM_NONE: in none */
	uint32_t insn;			/* the block's first one */
	uint32_t n, size;		/* its instructions that executed; all of them, 0: in no
					 * block */
	uint32_t done;			/* ... of which gathered */
	uint32_t laid;			/* instructions before it lie ready: core_sink.laid */
	uint32_t check;			/* the next one whose lines may not be the last one's */
	uint32_t cross;			/* as core_block */
	uint32_t slot;			/* bytes of a delay slot */
	struct core_code *open;		/* of the block whose branch has yet to say where it went,
					 * NULL: none has */
	uint32_t open_block;
};

struct core_sink {
	struct pm_core *k;
	struct pm_core_conf c;
	struct pm_cache *cache;
	struct pm_cache_conf cache_conf;
	struct paging *paging;	/* NULL: addresses are physical */
	struct paging_conf paging_conf;
	uint32_t walk_lat[PM_CACHE_LEVELS + 1];	/* as @level, in cycles */
	uint8_t level[PM_CACHE_LEVELS + 1];	/* of a reference that went so deep: index into
						 * `lat`; memory is 3 whatever there is */
	const struct pm_bp_ops *bp;
	struct pm_bp_args bp_args;
	void *dir, *btb, *ras, *ittage;
	struct core_decoders ds;
	struct core_rules rules;
	struct core_rule plain;
	struct core_code **code;
	size_t ncode, cap_code;
	struct core_place *place;	/* by pm_stream.index */
	size_t cap_place;
	struct core_gathered *gathered;
	bool open, uops;		/* open: more may come of the last operation */
	bool laid;			/* behind it lies what the block has yet to execute */
	bool first_branched;		/* the predictor has seen the first one that is gathered */
	bool timeless;			/* instructions take no time: core_sample.h */
	/* NULL: @k has operations timed; else what gets them, as core_run() does */
	void (*instead)(void *whose, const struct core_insn *op, size_t n,
			const struct core_ref *load, const struct core_ref *store);
	void *whose;
	uint64_t pc, fetch_line;
	uint64_t continued;		/* operations that belong to the instruction before */
	uint64_t branches, top;
	struct blamed *by;		/* NULL: not asked for */
	bool topdown;			/* ... slots, too */
	/* as a meter: where costs go, and what belongs to the piece before */
	uint64_t *sum, *late, *misled;	/* misled: of @late and @sum, where the last instruction
					 * is */
	bool any_late;
};

/* core_presets.c */
struct core_preset {
	const char *name;
	struct pm_core_conf c;
	const char *caches;		/* as cache_sim.h has them, unless the configuration says */
	const char *tlbs;		/* likewise; NULL: none */
};
#define CORE_PRESET_NAMES "big, mid, small, zen3, zen4, zen5, golden-cove, neoverse-v2"
const struct core_preset *core_preset(const char *name);	/* NULL: there is none */

/* core_conf.c: @s->c, caches, predictor, what is asked for; @what: whose, for messages. */
enum pm_status core_configure(struct core_sink *s, const char *what, const char *config,
			      struct pm_err *err);
/* The setting @it of @to is the number @text; *known: there is such a setting. */
struct pm_conf;
struct pm_conf_item;
enum pm_status core_number(struct pm_conf *c, const struct pm_conf_item *it, const char *text,
			   struct pm_core_conf *to, bool *known, struct pm_err *err);
/* core_feed.c: what the settings ask for. */
void core_build(struct core_sink *s);
void core_sink_free(struct core_sink *s);
/* core_take.c: a batch without blocks. */
void core_take(struct core_sink *s, const struct pm_batch *b);
/* Any batch; what it costs to expand blocks is saved, all else is as if they were expanded. After
 * the last one: what streams have left open. */
enum pm_status core_take_blocks(struct core_sink *s, const struct pm_batch *b, struct pm_err *err);
void core_end_blocks(struct core_sink *s);
/* core_gather.c: the row of an instruction; moves rows. */
struct blamed_row *core_blamed(struct core_sink *s, uint64_t pc);
/* The instruction that is being gathered is complete. */
void core_submit(struct core_sink *s);
/* All instructions have been timed. */
void core_results(struct core_sink *s, struct pm_result *r);

#endif
