/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>

#include "analyse/call_order.h"
#include "base/mem.h"

#define SIZE_MOST	(1u << 20)	/* of a cluster, bytes */
#define RARE		10		/* a caller of less than a tenth of the calls is none */
#define DILUTION_MOST	8		/* of the density of the cluster that is appended to */
#define NONE		UINT32_MAX

struct call_cluster {
	uint64_t size;
	double executed;
	uint32_t first, last;		/* functions; `next` links them */
	bool dead;
};

struct call_ranked { double key; uint32_t i; };

static int by_key(const void *a, const void *b)
{
	const struct call_ranked *x = a, *y = b;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

static double density(double executed, uint64_t size)
{
	return executed / (double)(size ? size : 1);
}

static bool goes_behind(const struct call_cluster *caller, const struct call_cluster *c)
{
	const uint64_t size = caller->size + c->size;

	return size <= SIZE_MOST && density(caller->executed + c->executed, size) * DILUTION_MOST >=
		density(caller->executed, caller->size);
}

static int by_callee(const void *a, const void *b)
{
	const struct pm_call_edge *x = a, *y = b;

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* Each function's most frequent caller; NONE: it has none, or only rare ones. */
static void find_callers(const struct pm_call_edge *edge, size_t nedge, uint32_t *caller)
{
	struct pm_call_edge *v = pm_alloc((nedge + 1) * sizeof *v);

	for (size_t i = 0; i < nedge; i++)
		v[i] = edge[i];
	qsort(v, nedge, sizeof *v, by_callee);
	for (size_t i = 0, j; i < nedge; i = j) {
		uint64_t all = 0, most = 0;
		uint32_t best = NONE;

		for (j = i; j < nedge && v[j].to == v[i].to; ) {
			const uint32_t from = v[j].from;
			uint64_t n = 0;

			for (; j < nedge && v[j].to == v[i].to && v[j].from == from; j++)
				n += v[j].count;
			all += n;
			if (from != v[i].to && n > most) {
				most = n;
				best = from;
			}
		}
		caller[v[i].to] = most >= all / RARE ? best : NONE;
	}
	free(v);
}

void pm_call_order(const struct pm_call_function *function, size_t n,
		   const struct pm_call_edge *edge, size_t nedge, uint32_t *order)
{
	struct call_cluster *cluster = pm_alloc((n + 1) * sizeof *cluster);
	uint32_t *caller = pm_alloc((n + 1) * sizeof *caller);
	uint32_t *in = pm_alloc((n + 1) * sizeof *in), *next = pm_alloc((n + 1) * sizeof *next);
	struct call_ranked *rank = pm_alloc((n + 1) * sizeof *rank);
	size_t nrank = 0;

	for (uint32_t i = 0; i < n; i++) {
		cluster[i] = (struct call_cluster){ function[i].size, function[i].executed, i, i,
					       false };
		in[i] = i;
		caller[i] = next[i] = NONE;
		rank[i] = (struct call_ranked){ function[i].executed, i };
	}
	find_callers(edge, nedge, caller);
	qsort(rank, n, sizeof *rank, by_key);
	for (size_t i = 0; i < n; i++) {
		const uint32_t f = rank[i].i, to = caller[f] == NONE ? in[f] : in[caller[f]];
		struct call_cluster *c = &cluster[in[f]], *before = &cluster[to];

		if (to == in[f] || !goes_behind(before, c))
			continue;
		c->dead = true;
		before->size += c->size;
		before->executed += c->executed;
		next[before->last] = c->first;
		before->last = c->last;
		for (uint32_t k = c->first; k != NONE; k = next[k])
			in[k] = to;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!cluster[i].dead)
			rank[nrank++] = (struct call_ranked){
				density(cluster[i].executed, cluster[i].size), i,
			};
	qsort(rank, nrank, sizeof *rank, by_key);
	for (size_t i = 0; i < nrank; i++)
		for (uint32_t k = cluster[rank[i].i].first; k != NONE; k = next[k])
			*order++ = k;
	free(cluster);
	free(caller);
	free(in);
	free(next);
	free(rank);
}
