/* SPDX-License-Identifier: MIT */
/* oracle/core_sink.h - the sink `core` as a whole: instructions are gathered from events first,
 * then asked of slow caches and slow predictors, then timed by the slow core
 *
 * What instructions are (pm_core_decode) is not done twice: it has its own test, by table. */
#ifndef ORACLE_CORE_SINK_H
#define ORACLE_CORE_SINK_H

#include "bpred_slow.h"
#include "cache_slow.h"
#include "core_slow.h"
#include "paging_slow.h"

struct o_row { uint64_t pc, times, fetch_miss, load_miss, memory, wrong, stall[PM_CORE_WHYS]; };

struct o_core_sink {
	struct o_core *core;
	struct pm_cache_conf cc;
	struct o_cache *cache;
	struct paging_conf tc;
	struct o_paging *paging;	/* NULL: none */
	struct o_tage *tage;
	struct o_ittage ittage;
	struct { uint64_t pc, target, used; } btb[1024][4];
	uint64_t stack[16], clock;
	unsigned depth;
	uint64_t line;			/* fetched last */
	uint64_t before;		/* pc of the operation before */
	struct pm_event *ev;		/* of one instruction */
	size_t n, cap;
	struct pm_insn insn;
	/* decoded last, by their bytes' hash: a decoder is half a megabyte */
	struct { uint8_t bytes[16]; struct pm_core_static is; unsigned len, isa; } decoded[4096];
	struct pm_core_stats st;
	struct o_row *row;
	size_t nrow, cap_row;
};

/* @tlbs: NULL: addresses are physical. */
static struct o_core_sink *o_core_sink_new(const struct pm_core_conf *c, const char *caches,
					   const char *tlbs)
{
	struct o_core_sink *o = calloc(1, sizeof *o);
	struct pm_err err = { 0 };

	o->core = o_core_new(c);
	if (pm_cache_conf_parse(&o->cc, "twin", caches, &err))
		abort();
	o->cache = o_cache_new(&o->cc);
	if (tlbs) {
		if (pm_cache_conf_parse(&o->tc.tlb, "tlb", tlbs, &err))
			abort();
		o->tc.stlb = c->stlb;
		memcpy(o->tc.upper, (uint32_t[]){ 32, 4, 2 }, sizeof o->tc.upper);
		o->paging = o_paging_new(&o->tc, o->cache, o->core->c.lat);
	}
	o->tage = o_tage_new();
	o->line = UINT64_MAX;
	return o;
}

static void o_core_sink_free(struct o_core_sink *o)
{
	o_core_free(o->core);
	if (o->paging)
		o_paging_free(o->paging);
	o_cache_free(o->cache);
	o_tage_free(o->tage);
	free(o->ittage.h.v);
	free(o->ittage.path.v);
	free(o->ev);
	free(o->row);
	free(o);
}

static struct o_row *o_row_of(struct o_core_sink *o, uint64_t pc)
{
	for (size_t i = 0; i < o->nrow; i++)
		if (o->row[i].pc == pc)
			return o->row + i;
	if (o->nrow == o->cap_row)
		o->row = realloc(o->row, (o->cap_row = o->cap_row * 2 + 64) * sizeof *o->row);
	o->row[o->nrow] = (struct o_row){ .pc = pc };
	return o->row + o->nrow++;
}

/* Where a reference was found: 0 the first level ... 3 memory, by which levels missed. */
static unsigned o_found(struct o_core_sink *o, enum pm_cache_op op, uint64_t addr, uint64_t size,
			bool stack, uint64_t pc)
{
	const unsigned deep = o_depth_of(o->cache, op, addr, size, stack, pc);

	return deep == o->cc.level[o->cc.n - 1].depth ? 3 : deep;
}

static unsigned o_wait(struct o_core_sink *o, enum pm_cache_op op, uint64_t addr, uint64_t size)
{
	return o->paging ? o_paging_wait(o->paging, op, addr, size) : 0;
}

/* Was the branch foreseen? */
static enum pm_core_redirect o_foreseen(struct o_core_sink *o, const struct pm_br *b)
{
	unsigned set = (b->pc ^ b->pc / 4096) % 1024;
	bool dir, target, back = true, known = true;
	int way = -1, old = 0;

	dir = o_tage_branch(o->tage, b, true) == !!(b->flags & PM_BR_TAKEN);
	target = o_ittage_branch(&o->ittage, b);
	if (b->flags & PM_BR_CALL) {
		if (o->depth == 16)
			memmove(o->stack, o->stack + 1, 15 * sizeof *o->stack), o->depth--;
		o->stack[o->depth++] = b->pc + b->size;
	} else if (b->flags & PM_BR_RET) {
		back = o->depth && o->stack[o->depth - 1] == b->target;
		o->depth -= o->depth > 0;
	}
	if (b->flags & PM_BR_TAKEN) {
		for (int w = 0; w < 4; w++) {
			if (o->btb[set][w].used && o->btb[set][w].pc == b->pc)
				way = w;
			if (o->btb[set][w].used < o->btb[set][old].used)
				old = w;
		}
		known = way >= 0 && o->btb[set][way].target == b->target;
		way = way < 0 ? old : way;
		o->btb[set][way].pc = b->pc;
		o->btb[set][way].target = b->target;
		o->btb[set][way].used = ++o->clock;
	}
	if (b->flags & (PM_BR_COND | PM_BR_RET | PM_BR_INDIRECT))
		o->st.branches++;
	if (b->flags & PM_BR_COND	? !dir
	    : b->flags & PM_BR_RET	? !back
	    : b->flags & PM_BR_INDIRECT ? !target
					: false)
		return PM_CORE_WRONG;
	return known || b->flags & (PM_BR_INDIRECT | PM_BR_RET) ? PM_CORE_STRAIGHT : PM_CORE_BUBBLE;
}

static void o_one_op(struct o_core_sink *o, const struct pm_core_op *op, uint64_t pc)
{
	struct pm_core_op placed = *op;
	struct o_row *row;
	uint64_t t[4];

	placed.pc = pc;
	o_core_op(o->core, &placed, t);
	o->st.cycles = t[3];
	o->st.instructions += op->len > 0;	/* not what goes on with it */
	o->st.uops += op->uops;
	o->st.mispredicted += op->redirect == PM_CORE_WRONG;
	switch (o->core->why) {
	case PM_CORE_BY_BRANCH:
		o->st.stall_branch += o->core->gap;
		break;
	case PM_CORE_BY_FETCH:
		o->st.stall_fetch += o->core->gap;
		break;
	case PM_CORE_BY_MEMORY:
		o->st.stall_memory += o->core->gap;
		break;
	case PM_CORE_BY_STORE:
		o->st.stall_store += o->core->gap;
		break;
	default:
		o->st.stall_core += o->core->gap;
	}
	o_row_of(o, o->core->misled ? o->before : pc)->stall[o->core->why] += o->core->gap;
	o->before = pc;
	row = o_row_of(o, pc);
	row->times += op->len > 0;
	row->fetch_miss += op->fetch_level > 0;
	row->wrong += op->redirect == PM_CORE_WRONG;
	for (int i = 0; i < op->nload; i++) {
		row->load_miss += op->load_level[i] > 0;
		row->memory += op->load_level[i] == 3;
	}
}

static struct pm_core_static o_decode(struct o_core_sink *o)
{
	unsigned h = o->insn.len;

	for (unsigned i = 0; i < o->insn.len; i++)
		h = h * 31 + o->insn.bytes[i];
	h %= sizeof o->decoded / sizeof *o->decoded;
	if (o->decoded[h].len != o->insn.len || o->decoded[h].isa != o->insn.isa ||
	    memcmp(o->decoded[h].bytes, o->insn.bytes, o->insn.len)) {
		memcpy(o->decoded[h].bytes, o->insn.bytes, o->insn.len);
		o->decoded[h].len = o->insn.len;
		o->decoded[h].isa = o->insn.isa;
		pm_core_decode(o->insn.bytes, o->insn.len, o->insn.isa, &o->decoded[h].is);
	}
	return o->decoded[h].is;
}

/* All events of an instruction are there. */
static void o_instruction(struct o_core_sink *o)
{
	const struct pm_event *e = o->ev;
	struct pm_core_op op = { 0 };
	struct pm_core_static st;

	if (!o->n)
		return;
	st = o_decode(o);
	op = (struct pm_core_op){ .addr_regs = st.addr_regs,
				  .data_regs = st.data_regs,
				  .writes = st.writes,
				  .class = st.class,
				  .uops = st.uops,
				  .stack = st.stack,
				  .serial = st.serial,
				  .len = e->size ? e->size : 1 };
	for (uint64_t a = e->addr; a < e->addr + op.len; a++) {
		unsigned l, w;

		if (a / 64 == o->line)
			continue;
		o->line = a / 64;
		w = o_wait(o, PM_OP_FETCH, a / 64 * 64, 1);
		op.fetch_wait = w > op.fetch_wait ? w : op.fetch_wait;
		l = o_found(o, PM_OP_FETCH, a / 64 * 64, 1, false, e->addr);
		op.fetch_level = l > op.fetch_level ? l : op.fetch_level;
	}
	for (size_t i = 1; i < o->n; i++) {
		const struct pm_event *x = o->ev + i;
		bool modify = x->kind == PM_EV_MODIFY;

		if (x->kind == PM_EV_BRANCH) {
			struct pm_br b = { x->addr, x->value, x->flags, (uint8_t)x->size };

			op.taken = b.flags & PM_BR_TAKEN;
			op.redirect = o_foreseen(o, &b);
			continue;
		}
		for (int k = 0; k < 1 + modify; k++) {
			bool write = x->kind == PM_EV_WRITE || k;
			const unsigned size = x->size > 64 ? 64 : x->size;
			const unsigned wait = o_wait(o, write ? PM_OP_WRITE : PM_OP_READ, x->addr,
						     size ? size : 1);
			unsigned l = o_found(o, write ? PM_OP_WRITE : PM_OP_READ, x->addr, x->size,
					     x->flags & PM_REF_STACK, e->addr);

			if (op.nload == 4 || op.nstore == 4) {	/* one operation holds no more */
				op.redirect = PM_CORE_STRAIGHT;
				o_one_op(o, &op, e->addr);
				op.nload = op.nstore = op.fetch_level = op.len = 0;
				op.fetch_wait = 0;
			}
			if (write) {
				op.store[op.nstore] = x->addr;
				op.store_size[op.nstore] = size;
				op.store_wait[op.nstore] = wait;
				op.store_level[op.nstore++] = l;
			} else {
				op.load[op.nload] = x->addr;
				op.load_size[op.nload] = size;
				op.load_wait[op.nload] = wait;
				op.load_level[op.nload++] = l;
			}
		}
	}
	o_one_op(o, &op, e->addr);
	o->n = 0;
}

static void o_core_event(struct o_core_sink *o, const struct pm_event *e,
			 const struct pm_code *code)
{
	bool insn = e->kind == PM_EV_INSN;

	if (insn) {
		o_instruction(o);
		o->insn = e->id < code->ninsn ? code->insn[e->id] : (struct pm_insn){ 0 };
	} else if (!o->n || (e->kind != PM_EV_READ && e->kind != PM_EV_WRITE &&
			     e->kind != PM_EV_MODIFY && e->kind != PM_EV_BRANCH)) {
		return;
	}
	if (o->n == o->cap)
		o->ev = realloc(o->ev, (o->cap = o->cap * 2 + 64) * sizeof *o->ev);
	o->ev[o->n++] = *e;
}

#endif
