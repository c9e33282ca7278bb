/* SPDX-License-Identifier: MIT */
/* grow.c - trees that have grown in thread blocks (runtime/contexts.c), taken over as threads
 * end */
#include <stdlib.h>

#include "base/thread.h"
#include "collect/consume/trace_state.h"

void grow_begin(const struct tracer *t, struct rt_block *b)
{
	struct rt_tree_node *root = (void *)((uint8_t *)b + RT_TREE_NODES);
	struct rt_frame_of_call *frame = (void *)((uint8_t *)b + RT_TREE_FRAMES);

	b->tree = root->cells = root->hashed = 1;
	b->tree_nodes = b->tree_cells = 1;
	b->tree_hashed = b->tree_fresh = 0;
	b->tree_mask = 4095;
	b->tree_depth = t->o.grow->depth;
	b->tree_most = t->o.grow->most < RT_TREE_NODES_MAX ? t->o.grow->most : RT_TREE_NODES_MAX;
	b->tree_state = (uint64_t)RT_TREE_FRAMES << 32;
	frame[-1] = (struct rt_frame_of_call){ UINT64_MAX, RT_TREE_NODES, RT_TREE_NODES };
	b->tree_pending = 1;
}

struct grown {				/* a tree, as it is taken over */
	const uint8_t *base;		/* of the thread's block */
	struct pm_grown *v;
	size_t n, cap;
	uint32_t *number;		/* in v, of the context that begins at a cell, or 0 */
	uint32_t cells;
};

/* The context at cell @at; its cells, 0: there is none. The traced process can have written
 * anything there. */
static uint32_t add_context(struct grown *t, uint32_t at)
{
	const uint64_t *made = (const void *)(t->base + RT_TREE_MADE);
	const struct rt_tree_node x = *(const struct rt_tree_node *)(const void *)
		(t->base + RT_TREE_NODES + (uint64_t)at * RT_TREE_CELL);
	struct pm_grown *g;

	if (x.cells - 1u >= RT_TREE_MOST_CELLS)
		return 0;
	pm_grow(t->v, t->n, t->cap);	/* the process may have written over tree_nodes */
	g = t->v + t->n;
	*g = (struct pm_grown){ x.self, x.calls, 0, x.parent < at ? t->number[x.parent] : 0,
				x.function };
	if (x.function & RT_TREE_IS_MADE) {
		g->pc = made[x.function & (RT_TREE_MADE_MAX - 1)];
		g->function = PM_GROWN_MADE;
	}
	t->number[at] = (uint32_t)t->n++;
	return x.cells;
}

/* Where control is: a number of a cell, if it is known. */
static uint32_t innermost(const struct rt_block *b)
{
	const uint64_t frame = b->tree_state >> 32;
	const struct rt_frame_of_call *f = (const void *)((const uint8_t *)b + frame);

	return frame >= RT_TREE_FRAMES && frame < RT_TREE_SIGNALS && !(frame & 15) ?
		(f[-1].node - RT_TREE_NODES) / RT_TREE_CELL : UINT32_MAX;
}

void grow_end(struct tracer *t, uint32_t i)
{
	const struct rt_block *b = trace_block(t, i);
	const uint32_t at = innermost(b);
	struct pm_stream s;
	struct grown g = { .base = (const uint8_t *)b, .cells = b->tree_cells };

	if (!t->o.grow || !b->tree)
		return;
	pm_acquired_from_process(b);
	if (g.cells > RT_TREE_CELLS_MAX)
		g.cells = RT_TREE_CELLS_MAX;
	g.cap = (b->tree_nodes < g.cells ? b->tree_nodes : g.cells) + 1;
	g.v = pm_alloc_unset(g.cap * sizeof *g.v);
	g.number = pm_alloc((g.cells + 1) * sizeof *g.number);
	for (uint32_t k = 0, cells; k < g.cells && (cells = add_context(&g, k)); )
		k += cells;
	if (at < g.cells && g.n)
		g.v[g.number[at]].self += (uint32_t)b->tree_state;
	for (size_t k = 0; k < g.n; k++)
		t->grown += g.v[k].self;
	/* the stream itself is the consumer's, which may be naming it */
	s = (struct pm_stream){ .index = t->stream[i].s->index,
				.pid = __atomic_load_n(&b->seen_pid, __ATOMIC_RELAXED),
				.tid = __atomic_load_n(&b->seen_tid, __ATOMIC_RELAXED) };
	s.space = s.pid;
	if (g.n)
		t->o.grow->grown(t->o.grow->self, &s, g.v, g.n);
	free(g.v);
	free(g.number);
}

void trace_mapped(const struct tracer *t, uint32_t i)
{
	uint8_t *base = (uint8_t *)trace_block(t, i);

	if (t->o.grow && trace_block(t, i)->tree)
		memset(base + RT_TREE_TARGETS, 0, RT_TREE_TARGETS_MASK + 16);
}
