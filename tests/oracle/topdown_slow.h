/* SPDX-License-Identifier: MIT */
/* oracle/topdown_slow.h - the top-down tree of src/analyse/core_slots.h, asked of each cycle by
 * itself, of what core_slow.h wrote down */
#ifndef ORACLE_TOPDOWN_H
#define ORACLE_TOPDOWN_H

#include "core_slow.h"

struct o_verdict { enum pm_core_slot why; uint64_t pc; };

/* The oldest operation that has not committed before cycle @t, of the first @n; @from: none before
 * it. What did it do in the cycle before? */
static struct o_verdict o_oldest_op(const struct o_core *o, size_t *from, size_t n, uint64_t t,
				 uint64_t pc)
{
	const struct o_op *h;

	while (*from < n && o->op[*from].commit < t)
		++*from;
	h = o->op + *from;
	if (*from == n)
		return (struct o_verdict){ PM_CORE_SLOT_ports, pc };
	if (h->load && t - 1 > h->load && t - 1 <= h->data) {
		static const enum pm_core_slot level[] = { PM_CORE_SLOT_l1, PM_CORE_SLOT_l2,
			PM_CORE_SLOT_l3, PM_CORE_SLOT_dram };

		return (struct o_verdict){ level[h->level], h->pc };
	}
	if (h->exec && t - 1 > h->exec && t - 1 <= h->done && t - 1 > h->data) {
		if (h->class == PM_CORE_DIV || h->class == PM_CORE_FDIV ||
		    h->class == PM_CORE_FSQRT)
			return (struct o_verdict){ PM_CORE_SLOT_divider, h->pc };
		if (h->class == PM_CORE_SYSTEM)
			return (struct o_verdict){ PM_CORE_SLOT_serial, h->pc };
	}
	return (struct o_verdict){ PM_CORE_SLOT_ports, h->pc };
}

/* Why operation @j did not enter in cycle @t, in which @used slots are taken. */
static struct o_verdict o_why(const struct o_core *o, size_t j, size_t *from, uint64_t t,
			      unsigned used)
{
	const struct o_op *op = o->op + j, *barrier = NULL;

	if (t < op->came) {
		if (t >= op->missed)
			return (struct o_verdict){ PM_CORE_SLOT_icache, op->pc };
		if (!j)
			return (struct o_verdict){ PM_CORE_SLOT_resteer, op->pc };
		if (op[-1].redirect == PM_CORE_WRONG) {
			if (t >= op[-1].dispatched + o->c.rob / o->c.width &&
			    t < op[-1].complete + 1)
				return o_oldest_op(o, from, j, t, op->pc);
			return (struct o_verdict){ PM_CORE_SLOT_speculation, op[-1].pc };
		}
		if (op[-1].redirect == PM_CORE_BUBBLE)
			return (struct o_verdict){ PM_CORE_SLOT_resteer, op[-1].pc };
		return (struct o_verdict){ PM_CORE_SLOT_bandwidth, op->pc };
	}
	if (used && used + op->uops > o->c.width)
		return (struct o_verdict){ PM_CORE_SLOT_bandwidth, op->pc };
	for (size_t i = j; i-- > 0 && !barrier && o->op[i].commit + 1 > t; )
		if (o->op[i].serial)
			barrier = o->op + i;
	if (op->serial && j && op[-1].commit >= t &&
	    (!barrier || barrier->commit < op[-1].commit))
		barrier = op;
	if (barrier)
		return (struct o_verdict){ PM_CORE_SLOT_serial, barrier->pc };
	if (op->left > t && op->left_commit < t)
		return (struct o_verdict){ PM_CORE_SLOT_store, op->pc };
	return o_oldest_op(o, from, j, t, op->pc);
}

/* @blame is told of each cycle's empty slots, and of the slots that an operation takes. */
static void o_topdown(const struct o_core *o,
		      void (*blame)(void *ctx, uint64_t pc, enum pm_core_slot why, uint64_t slots),
		      void *ctx)
{
	size_t j = 0, oldest = 0;

	for (uint64_t t = 0; t < o->commit; t++) {
		unsigned used = 0;
		struct o_verdict v;

		for (; j < o->nop && o->op[j].dispatched == t; j++) {
			unsigned n = o->op[j].uops;

			used += n;
			blame(ctx, o->op[j].pc, PM_CORE_SLOT_retiring,
			      n < o->c.width ? n : o->c.width);
		}
		if (used >= o->c.width)
			continue;
		v = j < o->nop ? o_why(o, j, &oldest, t, used)
			       : o_oldest_op(o, &oldest, o->nop, t, o->op[o->nop - 1].pc);
		blame(ctx, v.pc, v.why, o->c.width - used);
	}
}

#endif
