/* SPDX-License-Identifier: MIT */
/* core_feed.c - the sink `core`: gathers instructions, and what caches and predictors say */
#include <stdlib.h>
#include <string.h>

#include "analyse/calls.h"
#include "analyse/core_work.h"

void core_sink_free(struct core_sink *s)
{
	if (!s)
		return;
	pm_core_free(s->k);
	paging_free(s->paging);
	pm_cache_free(s->cache);
	if (s->dir)
		s->bp->destroy(s->dir);
	if (s->btb) {
		pm_bp_btb.destroy(s->btb);
		pm_bp_ras.destroy(s->ras);
		pm_bp_ittage.destroy(s->ittage);
	}
	core_decoders_free(&s->ds);
	free(s->known);
	core_rules_free(&s->rules);
	free(s->gathered);
	if (s->by) {
		pm_map_release(&s->by->at);
		pm_names_release(&s->by->names);
		free(s->by->row);
		free(s->by);
	}
	free(s);
}

struct blamed_row *core_blamed(struct core_sink *s, uint64_t pc)
{
	bool fresh;
	uint64_t *at = pm_map_put(&s->by->at, pc, &fresh);

	if (fresh) {
		*at = s->by->n;
		pm_grow(s->by->row, s->by->n, s->by->cap);
		memset(s->by->row + s->by->n, 0, sizeof *s->by->row);
		s->by->row[s->by->n++].pc = pc;
	}
	return s->by->row + *at;
}

static void blame_slots(void *ctx, uint64_t pc, enum pm_core_slot why, uint64_t slots)
{
	core_blamed(ctx, pc)->slots[why] += slots;
}

static void destroy(void *self)
{
	core_sink_free(self);
}

void core_build(struct core_sink *s)
{
	static const struct pm_core_static plain = { .class = PM_CORE_ALU, .uops = 1 };
	struct pm_bp_args a = { .n = 0 };

	const unsigned levels = s->cache_conf.level[s->cache_conf.n - 1].depth;

	for (unsigned reach = 0; reach < NR(s->level); reach++)
		s->level[reach] = reach >= levels ? 3 : reach;
	s->cache = pm_cache_from(&s->cache_conf);
	for (unsigned reach = 0; reach < NR(s->level); reach++)
		s->walk_lat[reach] = s->c.lat[s->level[reach]];
	if (s->paging_conf.tlb.n)
		s->paging = paging_new(&s->paging_conf, s->cache, s->walk_lat);
	s->k = pm_core_from(&s->c);
	pm_bp_defaults(s->bp, &s->bp_args);
	s->dir = s->bp->create(&s->bp_args);
	pm_bp_defaults(&pm_bp_btb, &a);
	s->btb = pm_bp_btb.create(&a);
	a.n = 0;
	pm_bp_defaults(&pm_bp_ras, &a);
	s->ras = pm_bp_ras.create(&a);
	s->ittage = pm_bp_ittage.create(&a);
	s->fetch_line = UINT64_MAX;
	s->gathered = pm_alloc(sizeof *s->gathered);
	core_rule_of(s->k, &plain, &s->plain);
	if (s->topdown)
		pm_core_slots_blame(s->k, blame_slots, s);
}

static void *create(const char *config, struct pm_err *err)
{
	struct core_sink *s = pm_alloc(sizeof *s);

	if (core_configure(s, "core", config, err)) {
		destroy(s);
		return NULL;
	}
	core_build(s);
	return s;
}

static void account(struct core_sink *s, const struct core_insn *op, const struct core_ref *load)
{
	const struct pm_core_blame *b = pm_core_blame(s->k);
	uint64_t *v = s->sum ? s->sum : core_blamed(s, op->pc)->v;

	v[BLAME_Ir] += op->len > 0;	/* what goes on with a long one has no bytes of its own */
	v[BLAME_Fm] += op->fetch_level > 0;
	v[BLAME_Bm] += op->redirect == PM_CORE_WRONG;
	for (unsigned i = 0; i < op->nload; i++) {
		v[BLAME_Lm] += load[i].level > 0;
		v[BLAME_Llm] += load[i].level == 3;
	}
	if (b->why && s->sum) {
		/* the branch before is to blame, and it was in the piece before */
		v = b->misled ? s->misled : s->sum;
		s->any_late |= v == s->late;
		v[BLAME_Cbr + (b->why - PM_CORE_BY_BRANCH)] += b->cycles;
	} else if (b->why) {
		core_blamed(s, b->pc)->v[BLAME_Cbr + (b->why - PM_CORE_BY_BRANCH)] += b->cycles;
	}
	s->misled = s->sum;
}

/* ---- operations are gathered ----------------------------------------------------------------- */

/* One that wants to see all instructions sees them in order: the first of the operations that are
 * gathered may have had its branch before, the last one may have it yet to come. */
static void direct_among_others(struct core_sink *s, struct core_gathered *g)
{
	uint64_t other[CORE_GATHER];
	size_t n = 0, k = 0;

	for (size_t i = 0; i < g->n; i++) {
		bool is = !i && s->first_branched;

		for (; k < g->nbr && (g->br_op[k] == i || g->br_op[k] == CORE_NO_OP); k++) {
			s->bp->pass(s->dir, other, n);
			n = 0;
			s->bp->run(s->dir, g->br + k, 1, g->dir + k);
			is |= g->br_op[k] == i;
		}
		if (i + s->open == g->n)
			s->first_branched = is;
		else if (!is && g->op[i].len)
			other[n++] = g->op[i].pc;
	}
	s->bp->pass(s->dir, other, n);
	s->bp->run(s->dir, g->br + k, g->nbr - k, g->dir + k);
	if (!s->open)
		s->first_branched = false;
}

/* What the predictors say of all branches that are gathered. */
static void predict(struct core_sink *s, struct core_gathered *g)
{
	if (s->bp->pass)
		direct_among_others(s, g);
	else
		s->bp->run(s->dir, g->br, g->nbr, g->dir);
	pm_bp_btb.run(s->btb, g->br, g->nbr, g->btb);
	pm_bp_ras.run(s->ras, g->br, g->nbr, g->ras);
	pm_bp_ittage.run(s->ittage, g->br, g->nbr, g->ittage);
	for (size_t i = 0; i < g->nbr; i++) {
		const unsigned flags = g->br[i].flags;
		const bool wrong = flags & PM_BR_COND	    ? g->dir[i]
				   : flags & PM_BR_RET	    ? g->ras[i]
				   : flags & PM_BR_INDIRECT ? g->ittage[i]
							    : false;

		s->branches += (flags & (PM_BR_COND | PM_BR_RET | PM_BR_INDIRECT)) != 0;
		if (g->br_op[i] == CORE_NO_OP)
			continue;
		/* a direct branch that the BTB does not know is found by the decoder */
		g->op[g->br_op[i]].redirect =
			wrong ? PM_CORE_WRONG
			: g->btb[i] && !(flags & (PM_BR_INDIRECT | PM_BR_RET)) ? PM_CORE_BUBBLE
									       : PM_CORE_STRAIGHT;
	}
	g->nbr = 0;
}

/* The first @n of @g take time, and are accounted for if somebody asks. */
static void time_operations(struct core_sink *s, const struct core_gathered *g, size_t n)
{
	const struct core_ref *load = g->load, *store = g->store;

	if (s->instead) {
		s->instead(s->whose, g->op, n, load, store);
		return;
	}
	if (!s->by && !s->sum) {
		core_run(s->k, g->op, n, load, store);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		core_run(s->k, g->op + i, 1, load, store);
		account(s, g->op + i, load);
		load += g->op[i].nload;
		store += g->op[i].nstore;
	}
}

/* Has all operations timed, but for one that is still open. */
static void drain(struct core_sink *s)
{
	struct core_gathered *g = s->gathered;
	const size_t n = g->n - s->open;

	predict(s, g);
	if (!n)
		return;
	if (!s->timeless)
		time_operations(s, g, n);
	if (s->open) {
		const struct core_insn last = g->op[n];

		memmove(g->load, g->load + g->nload - last.nload, last.nload * sizeof *g->load);
		memmove(g->store, g->store + g->nstore - last.nstore,
			last.nstore * sizeof *g->store);
		g->rule[0] = *last.rule;
		g->op[0] = last;
		g->op[0].rule = g->rule;
		g->nload = last.nload;
		g->nstore = last.nstore;
	} else {
		g->nload = g->nstore = 0;
	}
	g->n = s->open;
}

void core_submit(struct core_sink *s)
{
	s->open = false;
	drain(s);
}

static inline unsigned page_wait(struct core_sink *s, enum pm_cache_op op, uint64_t addr,
				  unsigned size)
{
	return s->paging ? paging_wait(s->paging, op, addr, size) : 0;
}

/* The lines of @op's code that are not the one that was fetched last. */
static __attribute__((noinline)) void fetch_lines(struct core_sink *s, struct core_insn *op,
						  uint64_t line, uint64_t last)
{
	for (; line <= last; line++)
		if (line != s->fetch_line) {
			const unsigned w = page_wait(s, PM_OP_FETCH, line << 6, 1),
				       l = s->level[pm_cache_access(s->cache, PM_OP_FETCH,
								    line << 6, 1, false, op->pc)];

			op->fetch_level = l > op->fetch_level ? l : op->fetch_level;
			op->fetch_wait = w > op->fetch_wait ? w : op->fetch_wait;
			s->fetch_line = line;
		}
}

static inline struct core_insn *begin(struct core_sink *s, uint64_t pc, unsigned len,
				      const struct core_rule *rule)
{
	struct core_gathered *g = s->gathered;
	const uint64_t line = pc >> 6, last = (pc + len - 1) >> 6;
	struct core_insn *op;

	if (g->n == CORE_GATHER) {
		s->open = false;
		drain(s);
	}
	op = g->op + g->n++;
	*op = (struct core_insn){ .pc = pc, .rule = rule };
	op->len = len;
	if ((line ^ s->fetch_line) | (line ^ last))
		fetch_lines(s, op, line, last);
	s->open = true;
	return op;
}

/* rep and its like: a further operation goes on. The branch, if it is one, ends the last. */
static struct core_insn *continue_insn(struct core_sink *s)
{
	struct core_gathered *g = s->gathered;
	struct core_insn *op;

	if (g->n == CORE_GATHER)
		drain(s);
	op = g->op + g->n++;
	s->continued += !s->timeless;
	*op = op[-1];
	op->nload = op->nstore = op->fetch_level = op->len = 0;
	op->fetch_wait = 0;
	op[-1].redirect = PM_CORE_STRAIGHT;
	for (size_t i = g->nbr; i-- > 0 && g->br_op[i] == g->n - 2; )
		g->br_op[i] = g->n - 1;
	return op;
}

static inline void reference(struct core_sink *s, enum pm_cache_op how, uint64_t addr,
			     unsigned size, bool stack)
{
	struct core_gathered *g = s->gathered;
	struct core_insn *op = g->op + g->n - 1;
	const uint64_t pc = s->pc;
	struct core_ref r = { addr, .size = size > 64 ? 64 : size ? size : 1 };

	r.wait = page_wait(s, how, addr, r.size);
	r.level = s->level[pm_cache_access(s->cache, how, addr, size, stack, pc)];
	if (!s->open)
		return;
	if (__builtin_expect(op->nload == 4 || op->nstore == 4, 0))
		op = continue_insn(s);
	if (how == PM_OP_READ) {
		g->load[g->nload++] = r;
		op->nload++;
	} else {
		g->store[g->nstore++] = r;
		op->nstore++;
	}
}

static inline void branch(struct core_sink *s, const struct pm_br *b)
{
	struct core_gathered *g = s->gathered;

	if (g->nbr == CORE_GATHER)
		drain(s);
	g->br[g->nbr] = *b;
	g->br_op[g->nbr++] = s->open ? g->n - 1 : CORE_NO_OP;
	if (s->open)
		g->op[g->n - 1].taken = b->flags & PM_BR_TAKEN;
}

/* Places for the rules of all instructions that a batch may name. */
static void more_rules(struct core_sink *s, const struct pm_code *code)
{
	if (code)
		s->known = pm_grow_zeroed(s->known, &s->cap_known, code->ninsn, sizeof *s->known);
}

static __attribute__((noinline)) const struct core_rule *decode(struct core_sink *s,
							       const struct pm_insn *in)
{
	struct pm_core_static st;
	struct core_rule r;

	core_decode_with(&s->ds, in->bytes, in->len, in->isa, &st);
	core_rule_of(s->k, &st, &r);
	return core_rule_kept(&s->rules, &r);
}

static inline const struct core_rule *rule_of(struct core_sink *s, const struct pm_batch *b,
					      const struct pm_event *e)
{
	const struct core_rule **r;

	if (!b->code || e->id >= b->code->ninsn)
		return &s->plain;
	r = s->known + e->id;
	if (__builtin_expect(!*r, 0))
		*r = decode(s, b->code->insn + e->id);
	return *r;
}

static void one_uop(struct core_sink *s, const struct pm_uop *u)
{
	struct core_gathered *g = s->gathered;
	const unsigned len = u->index == 1 ? (unsigned)(u->fall - u->pc) & 15 : 0;
	struct pm_core_static st;
	struct core_insn *op;
	struct core_rule *rule;

	core_uop_static(u, &st);
	op = begin(s, u->pc, len ? len : 1, &s->plain);
	s->pc = u->pc;
	rule = g->rule + (op - g->op);
	core_rule_of(s->k, &st, rule);
	op->rule = rule;
	if (u->index != 1) {
		op->len = 0;
		s->continued += !s->timeless;
	}
	if (u->access == PM_UOP_LOAD || u->access == PM_UOP_STORE)
		reference(s, u->access == PM_UOP_LOAD ? PM_OP_READ : PM_OP_WRITE, u->mem,
			  u->msize ? u->msize : 8, false);
	if (u->target) {
		struct pm_br b = { u->pc, u->target,
			(u->outcome == PM_UOP_TAKEN ? PM_BR_TAKEN : 0) |
			(u->flag_use == PM_UOP_READS_FLAGS ? PM_BR_COND : 0) | (strcmp(u->macro,
				"CALL") ? 0 : PM_BR_CALL) |
			(strcmp(u->macro, "RET") ? 0 : PM_BR_RET) |
			(strcmp(u->micro, "JMP_REG") ? 0 : PM_BR_INDIRECT),
			(uint8_t)(u->fall - u->pc) };

		branch(s, &b);
	}
}

/* Are micro-ops all that there is? Beside instructions with bytes they come from a cracker that
 * another sink asked for, and may not change what this one says. */
static bool only_uops(const struct pm_batch *b)
{
	if (!b->nuop)
		return false;
	for (size_t i = 0; b->code && i < b->code->ninsn; i++)
		if (b->code->insn[i].len)
			return false;
	return true;
}

void core_take(struct core_sink *s, const struct pm_batch *b)
{
	const unsigned slot = pm_delay_slot(b);

	s->uops = s->uops || only_uops(b);
	more_rules(s, b->code);
	if (s->by)
		pm_names_learn(&s->by->names, b->code);
	for (const struct pm_event *e = b->ev, *end = e + b->n; e < end; e++) {
		if (__builtin_expect(s->uops, 0)) {
			/* micro-ops say it all; what stands beside them says it again */
			if (e->kind == PM_EV_UOP && e->id < b->nuop)
				one_uop(s, b->uop + e->id);
			continue;
		}
		switch (e->kind) {
		case PM_EV_INSN:
			begin(s, e->addr, e->size ? e->size & 255 : 1, rule_of(s, b, e));
			s->pc = e->addr;
			break;
		case PM_EV_READ:
		case PM_EV_MODIFY:
			reference(s, PM_OP_READ, e->addr, e->size, e->flags & PM_REF_STACK);
			if (e->kind == PM_EV_READ)
				break;
			/* fall through */
		case PM_EV_WRITE:
			reference(s, PM_OP_WRITE, e->addr, e->size, e->flags & PM_REF_STACK);
			break;
		case PM_EV_BRANCH: {
			struct pm_br br = pm_br_of(e, slot);

			branch(s, &br);
			break;
		}
		default:
			break;
		}
	}
	drain(s);
}

static bool modules_well(const struct core_sink *s, struct pm_err *err)
{
	return pm_cache_modules_well(s->cache, err) && (!s->bp->well || s->bp->well(s->dir, err));
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	core_take(self, b);
	return modules_well(self, err) ? PM_OK : PM_ERR;
}

static bool charge(void *self, const struct pm_batch *piece, bool over, uint64_t *sum,
		   uint64_t *late)
{
	struct core_sink *s = self;

	s->sum = sum;
	s->misled = s->late = late;
	s->any_late = false;
	core_take(s, piece);
	if (over)
		core_submit(s);
	return s->any_late;
}

void pm_core_meter(const void *self, struct pm_calls_meter *m)
{
	const struct core_sink *s = self;
	struct core_sink *t;

	*m = (struct pm_calls_meter){ 0 };
	if (!s->by)
		return;
	t = pm_alloc(sizeof *t);
	t->c = s->c;
	t->cache_conf = s->cache_conf;
	t->paging_conf = s->paging_conf;
	t->bp = s->bp;
	t->bp_args = s->bp_args;
	core_build(t);
	*m = (struct pm_calls_meter){ BLAME_COUNT, t, charge };
}

void pm_core_meter_free(void *self)
{
	destroy(self);
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct core_sink *s = self;

	core_submit(s);
	pm_cache_modules_end(s->cache);
	if (!modules_well(s, err))
		return PM_ERR;
	if (r)
		core_results(s, r);
	return PM_OK;
}

const struct pm_sink_ops pm_sim_core = {
	.abi = PM_ABI, .needs = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_BRANCHES, .name = "core",
	.about = "a modern out-of-order core: cycles, IPC, where the time goes",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};
