/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "trace/counts.h"

struct pm_counts *pm_counts_new(void)
{
	struct pm_counts *c = pm_alloc(sizeof *c);

	c->status = c->signal = -1;
	return c;
}

void pm_counts_release_process(struct pm_counts_process *p)
{
	for (size_t k = 0; k < p->nthread; k++) {
		free(p->thread[k].count);
		free(p->thread[k].cut);
	}
	free(p->thread);
	free(p->unknown_at);
	free(p->edge);
	free(p->target);
	free(p->piece);
	free(p->object);
}

void pm_counts_free(struct pm_counts *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->nprocess; i++)
		pm_counts_release_process(&c->process[i]);
	free(c->process);
	pm_arena_release(&c->mem);
	free(c);
}

struct pm_counts_process *pm_counts_add_process(struct pm_counts *c, uint32_t pid, uint32_t parent,
						const char *program)
{
	pm_grow(c->process, c->nprocess, c->cap_process);
	c->process[c->nprocess] = (struct pm_counts_process){
		.pid = pid, .parent = parent, .program = pm_arena_strdup(&c->mem, program),
		.status = -1, .signal = -1,
	};
	return &c->process[c->nprocess++];
}

uint32_t pm_counts_add_object(struct pm_counts *c, struct pm_counts_process *p, const char *path,
			      const char *build_id, uint64_t bias, uint64_t lo, uint64_t hi)
{
	pm_grow(p->object, p->nobject, p->cap_object);
	p->object[p->nobject] = (struct pm_counts_object){
		.path = pm_arena_strdup(&c->mem, path),
		.build_id = build_id ? pm_arena_strdup(&c->mem, build_id) : NULL,
		.bias = bias, .lo = lo, .hi = hi,
	};
	return (uint32_t)p->nobject++;
}

uint32_t pm_counts_add_piece(struct pm_counts_process *p, struct pm_piece piece)
{
	pm_grow(p->piece, p->npiece, p->cap_piece);
	p->piece[p->npiece] = piece;
	return (uint32_t)p->npiece++;
}

struct pm_counts_thread *pm_counts_add_thread(struct pm_counts_process *p, uint32_t tid)
{
	pm_grow(p->thread, p->nthread, p->cap_thread);
	p->thread[p->nthread] = (struct pm_counts_thread){
		.tid = tid, .count = pm_alloc(p->npiece * sizeof *p->thread->count),
	};
	return &p->thread[p->nthread++];
}

void pm_counts_add_cut(struct pm_counts_thread *t, uint32_t piece, uint32_t done, uint64_t times)
{
	pm_grow(t->cut, t->ncut, t->cap_cut);
	t->cut[t->ncut++] = (struct pm_cut){ piece, done, times };
}
