/* SPDX-License-Identifier: MIT */
/* cache_opt.c - levels with the policy OPT: what reached them is kept, and simulated after the end,
 * when it is known which line comes again last: once from the end backwards, then forwards */
#include <stdlib.h>

#include "analyse/cache_state.h"

static void replay(struct pm_cache *c, unsigned depth)
{
	static const enum pm_cache_op ops[] = { PM_OP_FETCH, PM_OP_READ, PM_OP_WRITE, PM_OP_BACK };
	struct opt_tape *t = c->tape + depth;
	struct cache_level *side[2] = { NULL, NULL };
	struct pm_map next = { 0 };
	uint64_t *when = pm_alloc((t->n + 1) * sizeof *when);

	for (unsigned i = 0; i < c->conf.n; i++)
		if (c->conf.level[i].depth == depth) {
			c->level[i].replay = true;
			side[c->conf.level[i].side == 'd'] = c->level + i;
		}
	for (size_t i = t->n; i-- > 0; ) {
		/* rule (2) keys: the line and which of the two caches; 0 means never again */
		uint64_t *at = pm_map_put(&next, t->v[i] & ~7ull, NULL);

		when[i] = *at ? *at : UINT64_MAX;
		*at = i + 1;
	}
	pm_map_release(&next);
	for (size_t i = 0; i < t->n; i++) {
		uint64_t r = t->v[i];
		struct cache_level *l = side[(r & OPT_SIDE_D) != 0];
		enum pm_cache_op op = ops[(r & 7) >> 1];
		bool back = op == PM_OP_BACK;

		l->now_next = when[i];
		pm_cache_line(c, l, r & l->line_mask,
			      back && (r & 1) ? l->conf->line / 2 : l->conf->line, op,
			      back ? 0 : r & 1);
	}
	free(when);
	free(t->v);
	*t = (struct opt_tape){ 0 };
}

void pm_cache_end(struct pm_cache *c)
{
	for (unsigned depth = 1; depth < NR(c->tape); depth++) {
		if (c->tape[depth].n)
			replay(c, depth);
		for (unsigned i = 0; i < c->conf.n && !c->family; i++)
			if (c->conf.level[i].depth == depth)
				pm_cache_copy_back(c, i, i + 1);
	}
}
