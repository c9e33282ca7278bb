/* SPDX-License-Identifier: MIT */
/* oracle/course_slow.h - the course's pipelines with counters that count down, cycle by cycle */
#ifndef ORACLE_COURSE_H
#define ORACLE_COURSE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/course.h"

static uint64_t o_inorder_cycles(const struct pm_uop *u, size_t n, unsigned latency, unsigned width)
{
	unsigned busy[256] = { 0 };
	uint64_t cycle = 0;
	size_t i = 0;

	while (i < n) {
		for (unsigned k = 0; k < width && i < n; k++, i++) {
			if ((u[i].src1 >= 0 && busy[u[i].src1]) ||
			    (u[i].src2 >= 0 && busy[u[i].src2]))
				break;
			if (u[i].dest >= 0)
				busy[u[i].dest] = u[i].access == PM_UOP_LOAD ? latency : 1;
		}
		for (int r = 0; r < 256; r++)
			if (busy[r])
				busy[r]--;
		cycle++;
	}
	return cycle;
}

/* All micro-ops for ever; renaming by "which micro-op writes what I read". */
struct o_op {
	const struct pm_uop *u;
	long producer[3];		/* index of the micro-op that writes a source, -1: long
					 * done */
	bool fetched, issued, done, committed, wrong;
	unsigned left;			/* cycles until done */
	uint64_t at[4];
};

/* @wrong[i]: branch i is mispredicted; @miss[i]: access i misses. Returns the cycles. */
static uint64_t o_ooo_cycles(const struct pm_uop *u, size_t n, const struct pm_ooo_conf *c,
			     const bool *wrong, const bool *miss, struct o_op **out)
{
	struct o_op *op = calloc(n + 1, sizeof *op);
	long writer[256], head = 0, tail = 0, blocked = -1;
	uint64_t cycle = 0, wait = 0;

	for (int r = 0; r < 256; r++)
		writer[r] = -1;
	while (head < (long)n) {
		/* commit */
		for (unsigned k = 0; k < c->width && head < tail && op[head].done; k++) {
			op[head].committed = true;
			op[head++].at[3] = cycle;
		}
		/* issue, oldest first */
		for (long i = head, k = 0; i < tail && k < c->width; i++) {
			bool ready = !op[i].issued;

			for (int s = 0; s < 3; s++)
				ready &= op[i].producer[s] < 0 || op[op[i].producer[s]].done;
			for (long j = head; ready && u[i].access == PM_UOP_LOAD &&
					    c->mem != PM_OOO_IGNORE && j < i;
			     j++)
				if (u[j].access == PM_UOP_STORE && !op[j].done &&
				    (c->mem == PM_OOO_CONSERVATIVE || u[j].mem == u[i].mem))
					ready = false;
			if (!ready)
				continue;
			op[i].issued = true;
			op[i].left = u[i].access == PM_UOP_LOAD
					     ? c->load + (miss && miss[i] ? c->miss : 0)
					     : 1;
			op[i].at[1] = cycle;
			op[i].at[2] = cycle + op[i].left;
			if (i == blocked) {
				blocked = -1;
				wait = op[i].left + c->restart;
			}
			k++;
		}
		/* fetch */
		for (unsigned k = 0; k < c->width && tail < (long)n && tail - head < (long)c->rob &&
				     blocked < 0 && !wait;
		     k++) {
			int src[3] = { u[tail].src1, u[tail].src2,
				u[tail].flag_use == PM_UOP_READS_FLAGS ? 49 : -1 };

			for (int s = 0; s < 3; s++)
				op[tail].producer[s] = src[s] < 0 ? -1 : writer[src[s]];
			if (u[tail].dest >= 0)
				writer[u[tail].dest] = tail;
			if (u[tail].flag_use == PM_UOP_WRITES_FLAGS)
				writer[49] = tail;
			op[tail].at[0] = cycle;
			if (u[tail].target && u[tail].flag_use == PM_UOP_READS_FLAGS && wrong &&
			    wrong[tail])
				blocked = tail;
			if (u[tail++].outcome == PM_UOP_TAKEN)
				break;
		}
		/* advance */
		for (long i = head; i < tail; i++)
			if (op[i].issued && !op[i].done && --op[i].left == 0)
				op[i].done = true;
		if (wait)
			wait--;
		cycle++;
	}
	if (out)
		*out = op;
	else
		free(op);
	return cycle;
}

#endif
