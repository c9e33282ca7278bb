/* SPDX-License-Identifier: MIT */
/* tree_grown.c - trees that have grown in traced processes (trace/growing.h), taken over */
#include <stdlib.h>
#include <string.h>

#include "analyse/tree_work.h"

static uint32_t hash(uint32_t seed, const char *s, size_t n)
{
	uint32_t h = 0x811c9dc5u ^ seed;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 0x01000193u;
	return h | 1;
}

static size_t rows(void *self, const char *path, uint64_t lo, uint64_t hi,
		   struct pm_growing_row **v)
{
	struct tree_sink *s = self;
	size_t n;

	pthread_mutex_lock(&s->lock);
	n = tree_functions_rows(&s->functions, &s->raw, path, lo, hi, v);
	pthread_mutex_unlock(&s->lock);
	return n;
}

static void about(void *self, uint32_t function, struct pm_growing_about *a)
{
	struct tree_sink *s = self;
	const struct tree_info *in;
	const char *name, *cold;

	pthread_mutex_lock(&s->lock);
	in = s->functions.info + function;
	name = s->raw.function[function].linkage;
	a->flags = in->flags;
	a->name = hash(in->object, name, strlen(name));
	cold = in->flags & TREE_PART ? strstr(name, ".cold") : NULL;
	a->part = cold ? hash(in->object, name, (size_t)(cold - name)) : 0;
	pthread_mutex_unlock(&s->lock);
}

/* Functions of generated code have the names of its process. */
static uint32_t made(struct tree_sink *s, uint32_t pid, uint64_t pc)
{
	static const struct pm_code none;
	bool fresh;
	uint64_t *at = pm_map_put(&s->made, pid, &fresh);
	struct tree_code *c;

	if (fresh) {
		c = pm_alloc(sizeof *c);
		c->code = &none;
		c->pid = pid;
		*at = (uint64_t)(uintptr_t)c;
	}
	c = (struct tree_code *)(uintptr_t)*at;
	return tree_generated(&s->functions, &s->raw, c, pc);
}

/* Is all of it new, and nothing too much or too deep? @root, the last context, is what it stands
 * below. @depth is overwritten. */
static bool is_new(const struct pm_tree *t, uint32_t root, const struct pm_grown *node, size_t n,
		   uint32_t *depth)
{
	depth[0] = t->node[root].depth;
	for (size_t i = 1; i < n; i++) {
		depth[i] = depth[node[i].parent] + 1;
		if (depth[i] > t->max_depth)
			return false;
	}
	return root + 1 == t->n && !t->overflow && t->n + n <= t->max_nodes;
}

static void grown(void *self, const struct pm_stream *stream, const struct pm_grown *node, size_t n)
{
	struct tree_sink *s = self;
	struct pm_tree *t = &s->raw;
	uint32_t *of = pm_alloc((n + 1) * sizeof *of);
	uint32_t root;
	bool fresh;

	pthread_mutex_lock(&s->lock);
	root = n > 1 ? tree_root_of(s, stream) : 0;
	fresh = is_new(t, root, node, n, of);
	if (fresh)
		pm_tree_reserve(t, n);
	of[0] = root;
	for (size_t i = 1; i < n; i++) {
		uint32_t f = node[i].function;

		if (f == PM_GROWN_MADE)
			f = made(s, stream->pid, node[i].pc);
		if (f >= t->nfunction)		/* the process has written over it */
			f = PM_TREE_OTHERS;
		of[i] = f == PM_TREE_OTHERS ? pm_tree_overflow(t) :
			fresh ? pm_tree_append(t, of[node[i].parent], f) :
			pm_tree_child(t, of[node[i].parent], f);
		t->node[of[i]].self += node[i].self;
		t->node[of[i]].calls += node[i].calls;
	}
	pthread_mutex_unlock(&s->lock);
	free(of);
}

void pm_tree_growing(void *sink, struct pm_growing *g)
{
	struct tree_sink *s = sink;

	*g = (struct pm_growing){ .self = s, .rows = rows, .about = about, .grown = grown,
		/* what they stand below has a place itself */
		.depth = s->max_depth - s->by_thread, .most = s->max_nodes - s->by_thread };
}

void tree_grown_release(struct tree_sink *s)
{
	uint64_t key, v;

	for (size_t i = 0; pm_map_next(&s->made, &i, &key, &v); ) {
		struct tree_code *c = (struct tree_code *)(uintptr_t)v;

		pm_map_release(&c->generated);
		free(c);
	}
	pm_map_release(&s->made);
}
