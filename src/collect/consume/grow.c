/* SPDX-License-Identifier: MIT */
/* grow.c - trees that have grown in thread blocks (runtime/contexts.c), taken over as threads
 * end */
#include <stdlib.h>

#include "base/thread.h"
#include "collect/consume/trace_state.h"

void grow_begin(const struct tracer *t, struct rt_block *b)
{
	b->tree = 1;
	b->tree_nodes = 1;
	b->tree_mask = 4095;
	b->tree_depth = t->o.grow->depth;
	b->tree_node = RT_TREE_NODES;
	b->tree_frame = RT_TREE_FRAMES;
	b->tree_pending = 1;
}

/* The traced process can have written anything there. */
void grow_end(struct tracer *t, uint32_t i)
{
	const struct rt_block *b = trace_block(t, i);
	const uint8_t *base = (const uint8_t *)b;
	const struct rt_tree_node *node = (const void *)(base + RT_TREE_NODES);
	const uint64_t *made = (const void *)(base + RT_TREE_MADE);
	const uint32_t most = RT_TREE_NODES_MAX + RT_TREE_NODES_MAX / 4;
	const uint64_t at = (b->tree_node - RT_TREE_NODES) / sizeof *node;
	uint32_t n = b->tree_nodes;
	struct pm_grown *v;
	struct pm_stream s;

	if (!t->o.grow || !b->tree)
		return;
	pm_acquired_from_process(b);
	n = n > most ? most : n;
	v = pm_alloc((n + 1) * sizeof *v);
	for (uint32_t k = 0; k < n; k++) {
		const struct rt_tree_node x = node[k];

		v[k] = (struct pm_grown){ x.self, x.calls, 0, x.parent < k ? x.parent : 0,
					  x.function };
		if (x.function & RT_TREE_IS_MADE) {
			v[k].pc = made[x.function & (RT_TREE_MADE_MAX - 1)];
			v[k].function = PM_GROWN_MADE;
		}
		if (k == at)
			v[k].self += b->tree_count;
		t->grown += v[k].self;
	}
	/* the stream itself is the consumer's, which may be naming it */
	s = (struct pm_stream){ .index = t->stream[i].s->index,
				.pid = __atomic_load_n(&b->seen_pid, __ATOMIC_RELAXED),
				.tid = __atomic_load_n(&b->seen_tid, __ATOMIC_RELAXED) };
	s.space = s.pid;
	t->o.grow->grown(t->o.grow->self, &s, v, n);
	free(v);
}

void trace_mapped(const struct tracer *t, uint32_t i)
{
	uint8_t *base = (uint8_t *)trace_block(t, i);

	if (t->o.grow && trace_block(t, i)->tree)
		memset(base + RT_TREE_TARGETS, 0, RT_TREE_TARGETS_MASK + 16);
}
